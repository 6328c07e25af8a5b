"""The data of a rendering: items in, a `Result` with its parts out."""

import copy
import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from .errors import Diagnostic, PromptForgeError
from .reasons import BUDGET_REASONS

if TYPE_CHECKING:
    from .rendering.report import Report

# No postponed annotations here: msgspec resolves them in the module that a class names as its home,
# and the package renames that to `promptforge`.
Origin = Literal["explicit", "similarity"]
ScoreOrder = Literal["given", "higher", "lower"]
NO_SCORE, BROKEN_SCORE = float("1"), float("0")
"""The score of an item that was given none, or no number: known by identity, for 1 and 0 are
scores as well; as a distance neither is near."""
_MARKS = (NO_SCORE, BROKEN_SCORE)
FAR = 1e9
"""Stands for a distance that is infinite or no number: as 0 it would be the best."""
CHANGE_KINDS = frozenset({"commit", "diff"})
MAX_CHANGES_NAMED = 24
"""Changes, or changed files, that are named: of a diff of hundreds the others compete."""
MAX_LINE_NUMBER = 2**31 - 1
"""Larger line numbers are taken for mistakes."""
MAX_CHARS_HASHED = 1 << 20
"""Characters hashed at once: the bytes of a gigabyte are another."""


class UnsoundMetadata(dict[str, Any]):
    """Metadata that marks an item with a field of the wrong type; loading checks it closely."""

    given: object
    """The original metadata."""


# Encoders omit defaults: a copy with the number 1 in the place of no score would not be named.
class Item(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    gc=False,
):
    """One retrieved piece. Only `content` or `summary` is needed."""

    kind: str = "text"
    """`code error text file repl-history custom man_page document mitre_attack …`: an open set."""
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
    """Where it comes from. The empty text is a path known to be empty; `None`: it has none."""
    url: str | None = None
    """Where it is on the web."""
    start_line: int | None = None
    """First line in `path`, from 1."""
    end_line: int | None = None
    """Last line in `path`, inclusive."""
    language: str | None = None
    """Language tag. `None`: found by `path`, else by `kind`. `"none"`: it has none."""
    score: float = NO_SCORE
    """Relevance; `score_order` says how it is meant."""
    score_order: ScoreOrder = "higher"
    """`higher` or `lower` numbers are better; `given`: their order is the rank of found items."""
    origin: Origin = "explicit"
    """`explicit`: named by the user. `similarity`: found by a search."""
    named: bool | None = None
    """True: an explicit item is shown at least in short before others are chosen. False: it
    competes, as the files of a folder do. `None`: it has no score of its own, so it is named too,
    but in a repository."""
    required: bool = False
    """Must appear whole; if it does not fit, `BudgetError` is raised."""
    metadata: dict[str, Any] = {}
    """Anything more; templates see it as plain data."""

    def __post_init__(self) -> None:
        """Check the fields once, so that loading can skip a million good items; refuse none."""
        if self.named is None and self.score is not NO_SCORE:
            msgspec.structs.force_setattr(self, "named", False)
        if not _is_sound(self):
            mark = UnsoundMetadata()
            mark.given = self.metadata
            if issubclass(type(self.metadata), dict):  # whatever its methods do, and its class says
                mark.update(dict.items(self.metadata))
            msgspec.structs.force_setattr(self, "metadata", mark)

    def __reduce__(self) -> tuple[object, ...]:
        """Return what a copy is made of; pickled, a number would not be known by identity."""
        marks = [place for place, mark in enumerate(_MARKS) if self.score is mark]
        return _copied, (msgspec.structs.asdict(self), *marks)

    @property
    def is_reserved(self) -> bool:
        """True if it is shown at least in short before others are chosen."""
        return self.named or (self.named is None and self.origin == "explicit")

    @property
    def relevance(self) -> float:
        """Its score, so that higher is better; 0 where only the order tells."""
        if self.score_order == "lower":
            return closeness(self.score)
        return self.score if self.score_order == "higher" else 0.0


class LoadedItems(list[Item]):
    """Items with the warnings of their loading; a rendering repeats these."""

    warnings: tuple[Diagnostic, ...] = ()
    listed: tuple[str, ...] = ()
    """Paths of files that lie in the folders and were not read; a tree shows them."""


def _copied(fields: dict[str, Any], mark: int | None = None) -> Item:
    if mark is not None:
        fields["score"] = _MARKS[mark]
    return Item(**fields)


Language = Callable[[Item], str | None]
"""Tells the language of an item, or `None` for an unknown one."""


def meaning_of(item: Item, score_order: ScoreOrder) -> ScoreOrder:
    """Return what an item's score means: of a found one the caller's word beats the store's."""
    if score_order == "given" or item.origin != "similarity":
        return item.score_order
    return score_order


def closeness(distance: float) -> float:
    """Return a number that falls as a distance grows, never below 0; 0 for none or a broken one."""
    if distance is NO_SCORE or distance is BROKEN_SCORE:
        return 0.0
    return 1 / (1 + distance) if distance > 0 else 1 - distance


_fields = attrgetter(*Item.__struct_fields__)


def _is_sound(item: Item) -> bool:
    # Loading a million items spends its time here: one tuple is twice as fast as sixteen
    # attributes, and plain comparisons beat any loop over the fields. A subclass of `str` is not
    # sound: a Markup would pass every escaping.
    # fmt: off
    (kind, content, expanded, summary, own_id, name, path, url,
     start, end, language, score, order, origin, named, required, metadata) = _fields(item)
    # fmt: on
    return (
        type(kind) is str
        and kind != ""
        and kind != "markdown"  # another word for document
        and (type(content) is str or (content is None and type(summary) is str))
        and (name is None or type(name) is str)
        and (path is None or type(path) is str)
        and (url is None or type(url) is str)
        and (language is None or type(language) is str)
        and (start is None or (type(start) is int and 0 <= start <= MAX_LINE_NUMBER))
        and (end is None or (type(end) is int and (start or 0) <= end <= MAX_LINE_NUMBER))
        and type(score) is float
        and score - score == 0  # not so for infinity and NaN
        and type(order) is str
        and (order == "higher" or order == "given" or order == "lower")
        and type(origin) is str
        and (origin == "explicit" or origin == "similarity")
        and (named is None or type(named) is bool)
        and type(required) is bool
        and type(metadata) is dict
        and (summary is None or type(summary) is str)
        and (expanded is None or type(expanded) is str)
        and (own_id is None or type(own_id) is str)
    )


def path_with_lines(path: str, start: int | None, end: int | None) -> str:
    """Return a path with its lines, as far as they are known: `a.py:3-9`."""
    if start is None:
        return path
    return f"{path}:{start}" if end is None else f"{path}:{start}-{end}"


def read_date(value: object) -> datetime | None:
    """Return a date or date-time in ISO 8601, or a number of seconds since 1970; None without one.

    >>> read_date("2026-11-05")
    datetime.datetime(2026, 11, 5, 0, 0)
    """
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value.strip())
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def item_id(item: Item) -> str:
    """Return the item's own id, or one made of its fields: equal items have equal ids."""
    if item.id:
        return item.id
    place = (item.kind, item.path, item.start_line, item.end_line, item.name)
    parts = (*place, item.content, item.summary)
    texts = ["" if part is None else str(part) for part in parts]
    if sum(map(len, texts)) <= MAX_CHARS_HASHED:  # a long text is not copied whole
        texts = ["\0".join(texts)]
    digest = hashlib.sha256()
    for text in chain(texts[:1], *(("\0", text) for text in texts[1:])):
        for start in range(0, len(text), MAX_CHARS_HASHED):
            digest.update(text[start : start + MAX_CHARS_HASHED].encode("utf-8", "surrogatepass"))
    return f"{item.kind[:40]}-{digest.hexdigest()[:12]}"


def readable_text(item: Item) -> str:
    """Return the text of an item that is read."""
    return item.content or item.expanded or item.summary or ""


def item_texts(item: Item) -> Iterator[str]:
    """Yield every text of an item."""
    named = (item.id, item.kind, item.name, item.path, item.url, item.language)
    waiting: list[object] = [*named, item.content, item.expanded, item.summary, item.metadata]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += map(str, value)
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


class ResultPart(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of a result; `dict(part)` has them by name, as FastAPI reads any object."""

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yield the name and the value of each field."""
        return iter(msgspec.structs.asdict(self).items())


class SectionCost(ResultPart, frozen=True, kw_only=True):
    """The cost of one section."""

    key: str
    title: str
    items: int
    """Number of its included items."""
    tokens: int
    """Tokens of its items' texts."""


class Gain(ResultPart, frozen=True, kw_only=True):
    """The gain of a budget that is larger by so many tokens."""

    tokens: int
    items: tuple[str, ...]
    """Ids of the items that are whole then; where there are none, of those that are longer."""
    says: str
    """The gain in a sentence, which every screen prints."""


class Explanation(ResultPart, frozen=True, kw_only=True):
    """The share of each part in the budget, and the gain of a larger one."""

    tokens: int
    max_tokens: int | None
    left: int | None
    """Unused tokens of the budget."""
    overhead: int
    """Tokens of the context without any item."""
    between: int
    """Tokens of headings and separators: `tokens` less `overhead` and the items' own."""
    sections: tuple[SectionCost, ...]
    gain: Gain | None
    """The gain of 500 tokens more; `None` without a budget in tokens."""


class Remedy(ResultPart, frozen=True, kw_only=True):
    """Options that bring back items dropped or trimmed for one reason; they were tried."""

    reason: str
    items: int
    """Number of items dropped or trimmed for it."""
    item: str
    """Id of the item that was tried: the best of them."""
    options: dict[str, Any]
    """Options that bring it back whole, over those in force; empty when none were found.

    With `back` 0 they remove every obstacle but the budget: the room was too costly to work out.
    """
    back: int
    """Number of these items that are whole in the text with `options`."""


class Decision(ResultPart, frozen=True, kw_only=True):
    """The reason why an item is not whole, as it was written down when packing refused it.

    A limit raised by `missing`, and those of `beside` by theirs, bring it in whole; packing was
    tried with that.
    """

    limit: str
    """`budget characters window max_items`, `section NAME`, `named share` or `found share`."""
    unit: str
    """`tokens`, `characters` or `items`: what the other fields count."""
    needs: int
    """Its own part; once `missing` is known, with the part that items before it take first."""
    room: int
    """The rest of the limit at its turn."""
    ahead: dict[str, int]
    """The parts before it: `required`, `named`, `found`, `other` items, and `templates`."""
    refused: dict[str, int]
    """Variants that had no room, with what each takes."""
    missing: int | None
    """`needs` less `room`; `None`: not looked for, or no limit brings it in."""
    beside: dict[str, int]
    """Other limits that bind it together with this one, with what each of them is missing."""


Status = Literal["included", "trimmed", "dropped"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResultItem:
    """One item after the rendering: its status, variant, cost and reason.

    `tokens_full`, `fits_at`, `too_small` and `decision` are worked out when first asked for.
    """

    id: str
    kind: str
    name: str | None
    path: str | None
    start_line: int | None
    end_line: int | None
    line_range: str | None
    """`line 5` or `lines 5-8`."""
    score: float
    origin: str
    status: Status
    form: str | None
    """`expanded content compact trimmed outline summary stub`; `None` when dropped."""
    text: str
    """Its part of the finished text; empty when dropped."""
    chars: int
    """Characters of `text`."""
    tokens: int
    """Tokens of `text` on its own."""
    tokens_full: int = dataclasses.field(init=False, repr=False, compare=False)
    """Tokens of its longest variant on its own."""
    reason: str
    """Why: the name of a `Reason`, such as `fits` or `budget`."""
    fits_at: int | None = dataclasses.field(init=False, repr=False, compare=False)
    """When dropped or trimmed for the budget: a budget in tokens at which it comes back whole.

    Smaller ones, in steps of 2 %, were tried and are too small. Plain data has `None` for items
    that come back far beyond the budget; `too_small` is known for them.
    """
    too_small: int | None = dataclasses.field(init=False, repr=False, compare=False)
    """The largest budget that was tried and is too small."""
    decision: Decision | None = dataclasses.field(init=False, repr=False, compare=False)
    """When it lacks room or a place: the limit that kept it out, and what it needs of it."""
    rank: int | None
    """Its place in the order of packing, from 1; `None` for an item that was no candidate."""
    ranking_score: float | None
    """Its score after the query, reranking and fusion, which packing goes by; `None` as `rank`."""
    place: int | None
    """Its place in the text, from 1; `None` when dropped. `items` are in the order given."""
    section: str | None
    """Key of its section; `None` when dropped."""
    late: dataclasses.InitVar[Callable[[str, bool], Any]]
    """Works out the fields that cost renderings, by their names; False: with few tries."""

    def __post_init__(self, late: Callable[[str, bool], Any]) -> None:
        """Keep `late`."""
        self.__dict__["_late"] = late

    def __getstate__(self) -> dict[str, object]:
        """Return the values of all fields as far as they are known after few tries."""
        return {field.name: self.known(field.name) for field in dataclasses.fields(self)}

    def __getattr__(self, name: str) -> Any:
        if name not in LATE_FIELDS or "_late" not in self.__dict__:
            raise AttributeError(name)
        value = self.__dict__["_late"](name, True)
        if name != "too_small":
            self.__dict__[name] = value
        return value

    def known(self, name: str) -> Any:
        """Return a field; one that costs many tries may be `None`, if few do not find it."""
        if name in self.__dict__ or name not in LATE_FIELDS or "_late" not in self.__dict__:
            return getattr(self, name)
        return self.__dict__["_late"](name, False)


def budget_words(fits_at: int | None, too_small: int | None) -> str:
    """Return the budget that brings an item back; where it is not known, what it exceeds.

    >>> budget_words(1234, 1100), budget_words(None, 1100), budget_words(None, None)
    ('1,234', '≥1,101', '')
    """
    if fits_at is not None:
        return f"{fits_at:,}"
    return "" if too_small is None else f"≥{too_small + 1:,}"


LATE_FIELDS = ("tokens_full", "fits_at", "too_small", "decision")
"""Fields of a `ResultItem` that are worked out when asked for."""


class ResultSection(ResultPart, frozen=True, kw_only=True):
    """One section of the context."""

    key: str
    title: str
    items: tuple[str, ...]
    """Ids of its items, in the order of the context."""
    tokens: int
    """Tokens of its items' texts."""


class Source(ResultPart, frozen=True, kw_only=True):
    """One included item, as a source to be cited."""

    id: str
    name: str
    kind: str
    path: str | None
    url: str | None
    line: int | None
    score: float


class Span(ResultPart, frozen=True, kw_only=True):
    """A range of the text, printed by one line of a template for one item or for none."""

    start: int
    end: int
    """The characters are `text[start:end]`."""
    item: str | None
    """Id of the item; `None` for the text around items."""
    form: str | None
    """The item's variant."""
    template: str
    line: int
    """Line of the template, from 1, that printed it."""


class ShownItem(ResultPart, frozen=True, kw_only=True):
    """The content of one included item, without its template's own text."""

    index: int
    """Its place among the given items, from 0."""
    form: str
    """`expanded content compact trimmed outline summary stub`."""
    content: str
    """The content of this variant, with its marker, before escaping."""


STORED_ANSWERS = (
    "items", "sections", "sources", "shown", "map", "explicit_text", "similarity_text",
    "explicit_sources", "manifest",
)  # fmt: skip
"""Answers of a report that a pickled result takes along."""
STORED_IF_KNOWN = ("explanation", "remedies", "next_item")
"""Answers that cost many renderings: a pickled result has them if somebody asked before."""


class StoredReport:
    """The answers that a pickled result took along; it has no templates to work out others."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        message = f"this result was pickled before its {name} was worked out; ask for it first"
        raise PromptForgeError(message)


class Result:
    """The finished text and its report. Costly parts are worked out when first asked for.

    A pickled result keeps all fields of `to_dict`, `shown` and `map`. It has `explain()` and
    `remedies()` only if they were called before.
    """

    def __init__(
        self, report: "Report", warnings: tuple[Diagnostic, ...], build_seconds: float
    ) -> None:
        page, chosen = report.page, report.packed.chosen
        options, shown = page.options, [page.candidates.pool[index] for index in report.order]
        self.report = report
        """Answers that are worked out when somebody asks."""
        self.text = report.text
        """The finished text."""
        self.tokens = report.tokens
        """Its tokens, counted by `tokenizer`."""
        self.max_tokens = options.max_tokens
        self.exact = page.counter.exact
        """False when `tokenizer` is an estimate."""
        self.tokenizer = page.counter.name
        self.layout = options.layout
        self.format = options.format
        self.profile = report.profile.name
        self.mode = options.combine
        """The option `combine`: the mix of explicit and similarity items."""
        self.query = options.query
        self.items_included = len(shown)
        """Items in the text, the trimmed ones among them."""
        self.items_trimmed = len(report.trimmed)
        self.items_dropped = len(report.given) - len(shown)
        scores = [page.candidates.pool[index].score for index in chosen]
        self.average_score = sum(scores) / len(scores) if scores else 0.0
        """Mean score of the included items; 0 with none."""
        self.truncated = bool(report.trimmed or report.counts.keys() & BUDGET_REASONS)
        """True when the budget trimmed or dropped an item."""
        self.files = tuple(dict.fromkeys(item.path for item in shown if item.path is not None))
        """Paths of the included items, each once, in the order of the context."""
        self.build_seconds = build_seconds
        self.warnings = warnings

    def __copy__(self) -> "Result":
        other = object.__new__(Result)
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, object]:
        """Work out what a copy in another process can no longer work out."""
        stored = StoredReport()
        for name in STORED_ANSWERS:
            stored.__dict__[name] = getattr(self.report, name)
        for name in STORED_IF_KNOWN:
            if name in self.report.__dict__:
                stored.__dict__[name] = self.report.__dict__[name]
        return {**self.__dict__, "report": stored}

    @property
    def items(self) -> tuple[ResultItem, ...]:
        """Every given item with its status, in the order given."""
        return self.report.items

    @property
    def sections(self) -> tuple[ResultSection, ...]:
        """The sections of the context."""
        return self.report.sections

    @property
    def sources(self) -> tuple[Source, ...]:
        """The included items as sources, in the order of the context."""
        return self.report.sources

    @property
    def shown(self) -> tuple[ShownItem, ...]:
        """The included items with their contents, in the order of the context."""
        return self.report.shown

    @property
    def map(self) -> tuple[Span, ...]:
        """The source map of the text: spans that cover it, in order."""
        return self.report.map

    @property
    def next(self) -> ResultItem | None:
        """The item that the smallest larger budget brings, at its `fits_at`."""
        return self.report.next_item

    def explain(self) -> Explanation:
        """Return how the budget was spent, and the gain of 500 tokens more."""
        return self.report.explanation

    def remedies(self) -> tuple[Remedy, ...]:
        """Return, for each reason of dropped items, options that bring them back."""
        return self.report.remedies

    def recounted(self, tokens: int, note: Diagnostic) -> "Result":
        """Return a copy with `tokens` counted elsewhere, and a `note` that says so."""
        other = copy.copy(self)
        other.tokens, other.warnings = tokens, (*self.warnings, note)
        other.report = dataclasses.replace(self.report, tokens=tokens)
        return other

    @property
    def explicit_text(self) -> str:
        """The context with the explicit items alone."""
        return self.report.explicit_text

    @property
    def similarity_text(self) -> str:
        """The context with the similarity items alone."""
        return self.report.similarity_text

    @property
    def explicit_sources(self) -> tuple[str, ...]:
        """Names of the included explicit items."""
        return self.report.explicit_sources

    @property
    def manifest(self) -> dict[str, Any]:
        """Versions and hashes of everything that the text depends on."""
        return dict(self.report.manifest)

    @property
    def has_explicit(self) -> bool:
        """True when an explicit item is in the text."""
        return bool(self.explicit_sources)

    @property
    def total_available(self) -> int:
        """Items included and items dropped."""
        return self.items_included + self.items_dropped

    @property
    def inclusion_percentage(self) -> float:
        """Included items as a percentage of all; 0 with none."""
        return self.items_included / max(self.total_available, 1) * 100

    @property
    def is_empty(self) -> bool:
        """True when no item is shown: the text may still hold a header or an empty list."""
        return not self.items_included

    @property
    def chars(self) -> int:
        """Characters of the text."""
        return len(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        items = f"{self.items_included} of {self.total_available} items"
        return f"<Result {self.tokens} tokens, {items}, {self.layout} {self.format}>"

    def _repr_html_(self) -> str:
        if isinstance(self.report, StoredReport):
            raise NotImplementedError  # a notebook then shows `repr`
        # By name: the drawing is on a floor above, and notebooks alone ask for it.
        snapshot = import_module(f"{__package__}.authoring.snapshot")
        return str(snapshot.draw_result(self))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        plain = {name: getattr(self, name) for name in RESULT_FIELDS}
        plain["items"] = [item.__getstate__() for item in self.items]
        return {name: msgspec.to_builtins(value) for name, value in plain.items()}


RESULT_FIELDS: Sequence[str] = (
    "text", "tokens", "max_tokens", "exact", "tokenizer", "layout", "format", "profile", "mode",
    "explicit_text", "similarity_text", "sections", "items", "files", "items_included",
    "items_trimmed", "items_dropped", "total_available", "inclusion_percentage", "average_score",
    "truncated", "is_empty", "chars", "query", "explicit_sources", "has_explicit", "sources",
    "build_seconds", "warnings", "manifest",
)  # fmt: skip
"""The fields of a result, in the order of `--json`."""
