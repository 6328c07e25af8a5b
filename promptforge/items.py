"""Items: the input of a rendering."""

from operator import attrgetter
from typing import Any, Literal

import msgspec

# No postponed annotations here: msgspec resolves them in the module that a class names as its home,
# and the package renames that to `promptforge`.
Origin = Literal["explicit", "similarity"]

MAX_LINE = 2**31 - 1
"""Larger line numbers are taken for mistakes."""


class Unsound(dict[str, Any]):
    """Metadata that marks an item with a field of the wrong type; loading checks it closely."""

    given: object
    """The original metadata."""


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One retrieved piece. Only `content` or `summary` is needed."""

    kind: str = "text"
    """`code error text file repl-history custom man_page document mitre_attack function …`: open."""
    content: str | None = None
    """The text itself."""
    expanded: str | None = None
    """A longer variant, shown in place of `content` when it fits."""
    summary: str | None = None
    """A shorter variant."""
    id: str | None = None
    """`None`: derived from the other fields while rendering; equal items have equal ids."""
    name: str | None = None
    """Entity, command or technique name; title."""
    path: str | None = None
    """Where it comes from. The empty text is a path known to be empty; `None` is no path."""
    start_line: int | None = None
    """First line in `path`, from 1."""
    end_line: int | None = None
    """Last line in `path`, inclusive."""
    language: str | None = None
    """Language tag. `None`: found by `path`, else by `kind`. `"none"`: it has none."""
    score: float = 1.0
    """Relevance, higher is better."""
    origin: Origin = "explicit"
    """`explicit`: named by the user. `similarity`: found by a search."""
    required: bool = False
    """Must appear whole; if it does not fit, `BudgetError` is raised."""
    metadata: dict[str, Any] = {}
    """Anything more; templates see it as plain data."""

    def __post_init__(self) -> None:
        """Check the fields once, here, so that loading can skip a million good items; refuse none."""
        if not _is_sound(self):
            mark = Unsound()
            mark.given = self.metadata
            if isinstance(self.metadata, dict):
                mark.update(self.metadata)
            msgspec.structs.force_setattr(self, "metadata", mark)


_fields = attrgetter(*Item.__struct_fields__)


def _is_sound(item: Item) -> bool:
    # One tuple of locals is twice as fast as fourteen attributes. A subclass of `str` is not sound:
    # a Markup would pass every escaping.
    kind, content, expanded, summary, own_id, *place, score, origin, required, metadata = _fields(
        item
    )
    name, path, start, end, language = place
    return (
        type(kind) is str
        and (type(content) is str or (content is None and type(summary) is str))
        and (name is None or type(name) is str)
        and (path is None or type(path) is str)
        and (language is None or type(language) is str)
        and (start is None or (type(start) is int and 0 <= start <= MAX_LINE))
        and (end is None or (type(end) is int and (start or 0) <= end <= MAX_LINE))
        and type(score) is float
        and score - score == 0  # not so for infinity and NaN
        and type(origin) is str
        and (origin == "explicit" or origin == "similarity")
        and type(required) is bool
        and type(metadata) is dict
        and (summary is None or type(summary) is str)
        and (expanded is None or type(expanded) is str)
        and (own_id is None or type(own_id) is str)
        and kind != ""
        and kind != "markdown"  # another word for document
    )


def span(path: str, start: int | None, end: int | None) -> str:
    """Return a path with its lines, as far as they are known: `a.py:3-9`."""
    last = "" if end is None else f"-{end}"
    return path if start is None else f"{path}:{start}{last}"
