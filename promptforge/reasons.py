"""Why an item is in or out: one `Reason` each, with its sentences and what brings an item back.

Messages, `explain`, the preview and remedies read this table. A filter of `selection/filter.py` is
an entry here and a function there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Changes = dict[str, Any]
"""Options and their new values."""


LostItem = Any
"""A dropped or shortened item as a remedy sees it: `rendering.remedies.LostItem`."""


class Note(NamedTuple):
    """The diagnostic on items that a reason dropped, with the braces of `Reason.sentence`."""

    code: str
    one: str
    """The words after a number of 1."""
    many: str
    """The words after any other number."""
    way_out: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Reason:
    """One reason. Text in braces stands for values: `{option}` for its option, `{NAME}` for others.

    >>> MIN_SCORE.fill(MIN_SCORE.sentence, {"min_score": 0.5})
    'found by a search with a score below 0.5'
    """

    name: str
    """The word in a result: `budget`."""
    short: str
    """A few words for a label."""
    sentence: str
    """The same as a clause that explains it."""
    option: str | None = None
    """The option that drops the item."""
    remedy: Callable[[LostItem], Iterable[Changes]] = lambda _lost: ()
    """Yields changes of options that may bring an item back, the likeliest first."""
    note: Note | None = None
    field: str | None = None
    """The field of an item that its filter looks at, where a message can list the values."""
    keeps: bool = False
    """True if the item is whole in the text."""
    lacks_room: bool = False
    """True if a larger budget brings the item back."""

    def fill(self, text: str, options: Mapping[str, Any], option: str | None = None) -> str:
        """Return a sentence with the values of `options`; `option` is its option as users write
        it there, such as a flag.
        """
        values: dict[str, Any] = {each.option: "none" for each in REASONS.values() if each.option}
        values |= {name: value for name, value in options.items() if value is not None}
        return text.format_map({**values, "option": option or self.option})


def _filter(name: str, short: str, sentence: str, **others: Any) -> Reason:
    """Return the reason of a filter that an option of the same name sets, and `none` lifts."""
    note = Note(
        "PF122", "item was dropped by {option}", "items were dropped by {option}",
        "{option}: none keeps all",
    )  # fmt: skip
    lifted = {"remedy": lambda _lost: [{name: None}], "note": note}
    return Reason(name=name, short=short, sentence=sentence, option=name, **{**lifted, **others})


def _more_found(lost: LostItem) -> Iterator[Changes]:
    place, last = lost.found_places()
    yield {"max_items": place}
    yield {"max_items": last}


def _one_more_kind(lost: LostItem) -> Iterator[Changes]:
    kind = lost.item.kind
    # A kind that no one can type as one word of an option: lift the filter.
    if not kind.isprintable() or set(kind) & set(", "):
        yield {"kinds": None}
    else:
        yield {"kinds": (*(lost.options.kinds or ()), kind)}


def _lower_score(lost: LostItem) -> Iterator[Changes]:
    yield {"min_score": math.floor(lost.item.score * 100) / 100 or None}


def _more_for_section(lost: LostItem) -> Iterator[Changes]:
    yield from lost.more_for_section()
    yield from lost.more_room()


FITS = Reason(name="fits", short="fits", sentence="it fits", keeps=True)
REQUIRED = Reason(name="required", short="required", sentence="it is required", keeps=True)
PIN, WHOLE, OUTLINE = (
    Reason(name=word, short=word, sentence=f"{why} ({{option}})", option="overrides", keeps=True)
    for word, why in (
        ("pin", "you pinned it"), ("whole", "you want it whole"), ("outline", "you want outlines"),
    )
)  # fmt: skip
NEVER = Reason(
    name="never",
    short="ruled out",
    sentence="you ruled it out ({option})",
    option="overrides",
    remedy=lambda lost: [
        {"overrides": {k: v for k, v in lost.options.overrides.items() if v != "never"} or None}
    ],
)
BUDGET = Reason(
    name="budget",
    short="too little room",
    sentence="too little room",
    option="max_tokens",
    remedy=lambda lost: lost.more_room(),
    lacks_room=True,
)
SECTION_BUDGET = Reason(
    name="section_budget",
    short="its section is full",
    sentence="its section has used up its share (section_budgets)",
    option="section_budgets",
    remedy=_more_for_section,
    lacks_room=True,
)
MAX_ITEMS = Reason(
    name="max_items",
    short="past max_items",
    sentence="past the {max_items} found items that {option} lets in",
    option="max_items",
    remedy=_more_found,
    note=Note(
        "PF112",
        "found item is past max_items {max_items}",
        "found items are past max_items {max_items}",
    ),
)
MIN_SCORE = _filter(
    "min_score",
    "below min_score",
    "found by a search with a score below {min_score}",
    remedy=_lower_score,
    note=Note(
        "PF121",
        "found item scores below min_score {min_score:g}",
        "found items score below min_score {min_score:g}",
        "a lower min_score keeps more",
    ),
)
MIN_WORTH = _filter(
    "min_worth", "below min_worth", "its worth by the query is below {min_worth} of the best"
)
KINDS = _filter(
    "kinds",
    "not one of the kinds",
    "its kind is not one of {option}",
    field="kind",
    remedy=_one_more_kind,
)
PATHS = _filter("paths", "no path matches", "its path matches none of {option}", field="path")
LANGUAGES = _filter(
    "languages",
    "not one of the languages",
    "its language is not one of {option}",
    field="language",
)
MAX_AGE = _filter(
    "max_age", "older than max_age", "older than the newest item by more days than {max_age}"
)
DUPLICATE = Reason(
    name="duplicate",
    short="duplicate",
    sentence="another item contains its text",
    option="dedupe",
    remedy=lambda _lost: [{"dedupe": False}],
    note=Note(
        "PF120",
        "duplicate was skipped",
        "duplicates were skipped",
    ),
)
MERGED = Reason(
    name="merged",
    short="joined with its neighbour",
    sentence="shown as a part of a range of its file that it touches",
    option="merge_overlaps",
    remedy=lambda _lost: [{"merge_overlaps": False}],
)
COMBINE = Reason(
    name="combine",
    short="named items come first",
    sentence="found by a search, and the items you named come first",
    option="combine",
    remedy=lambda _lost: [{"combine": "combined"}],
)

REASONS: Mapping[str, Reason] = {
    each.name: each for each in tuple(globals().values()) if isinstance(each, Reason)
}
"""All reasons by name. Accounts list them in this order, whatever the order of the items."""
BUDGET_REASONS = frozenset(each.name for each in REASONS.values() if each.lacks_room)
"""Names of the reasons of items that had too little room."""
