"""What comes out of a rendering: the text, and an account of every item."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from .diagnostics import Diagnostic
from .explanations import Explanation, Way

Status = Literal["included", "trimmed", "dropped"]


class ResultItem(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one item."""

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
    """`expanded content trimmed outline summary stub`; `None` when dropped."""
    text: str
    """Its part of the finished text; empty when dropped."""
    chars: int
    """Characters of `text`."""
    tokens: int
    """Tokens of `text` on its own."""
    tokens_full: int
    """Tokens it would take on its own in its longest form."""
    reason: str
    """Why: `fits required budget section_budget max_items min_score kinds paths languages duplicate merged combine`."""
    fits_at: int | None
    """When dropped or shortened for the budget: a number of tokens at which it comes back whole."""
    rank: int | None
    """Its place among the candidates, from 1, in the order in which they were packed; `None` when it was none."""
    section: str | None
    """Key of its section; `None` when dropped."""


class ResultSection(msgspec.Struct, frozen=True, kw_only=True):
    """One section of the page."""

    key: str
    title: str
    items: tuple[str, ...]
    """Ids of its items, in the order of the page."""
    tokens: int
    """Tokens of its items' texts."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One item of the text, as a source to be cited."""

    id: str
    name: str
    kind: str
    path: str | None
    line: int | None
    score: float


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Characters of the text that one line of a template printed for one item, or for none."""

    start: int
    end: int
    """The characters are `text[start:end]`."""
    item: str | None
    """Id of the item; `None` for what stands around items."""
    form: str | None
    """The item's form."""
    template: str
    line: int
    """Line of the template, from 1, that printed it."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What the text shows of one item, without what its template puts around it."""

    index: int
    """Its place among the items that were given."""
    form: str
    """`expanded content trimmed outline summary stub`."""
    content: str
    """Its content in this form, the marker included; escaping aside, as it stands in the text."""


class Result:
    """The finished text and everything known about it. What is costly is worked out when it is asked for."""

    def __init__(
        self,
        *,
        text: str,
        tokens: int,
        max_tokens: int | None,
        exact: bool,
        tokenizer: str,
        layout: str,
        format: str,  # noqa: A002  the public word for it
        profile: str,
        mode: str,
        query: str | None,
        counts: tuple[int, int, int],
        average_score: float,
        truncated: bool,
        files: tuple[str, ...],
        build_seconds: float,
        warnings: tuple[Diagnostic, ...],
        late: dict[str, Callable[[], Any]],
    ) -> None:
        self.text = text
        """The finished text."""
        self.tokens = tokens
        """Its tokens, counted by `tokenizer`."""
        self.max_tokens = max_tokens
        self.exact = exact
        """False when `tokenizer` is an estimate."""
        self.tokenizer = tokenizer
        self.layout = layout
        self.format = format
        self.profile = profile
        self.mode = mode
        """How explicit and similarity items were combined."""
        self.query = query
        self.items_included, self.items_trimmed, self.items_dropped = counts
        """Items in the text (the shortened ones among them); how many of these were shortened; items left out."""
        self.average_score = average_score
        """Mean score of the items in the text; 0 with none."""
        self.truncated = truncated
        """Whether the budget shortened or left out anything."""
        self.files = files
        """Paths of the items in the text, each once, in the order of the page."""
        self.build_seconds = build_seconds
        self.warnings = warnings
        self._late = late
        self._made: dict[str, Any] = {}

    def _get(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._late[name]()
        return self._made[name]

    @property
    def items(self) -> tuple[ResultItem, ...]:
        """Every item that was given, in the order it was given, and what became of it."""
        return tuple(self._get("items"))

    @property
    def sections(self) -> tuple[ResultSection, ...]:
        """The sections of the page."""
        return tuple(self._get("sections"))

    @property
    def sources(self) -> tuple[Source, ...]:
        """The items of the text as sources, in the order of the page."""
        return tuple(self._get("sources"))

    @property
    def shown(self) -> tuple[Shown, ...]:
        """The items of the text with what is shown of each, in the order of the page."""
        return tuple(self._get("shown"))

    @property
    def map(self) -> tuple[Span, ...]:
        """What printed each part of the text: spans that cover it, in order."""
        return tuple(self._get("map"))

    def explain(self) -> Explanation:
        """Return where the budget went, and what 1,000 tokens more would bring; `items` say why each is in or out."""
        found: Explanation = self._get("explanation")
        return found

    def ways(self) -> tuple[Way, ...]:
        """Return, for each reason why items are out, options that bring them back; where `fits_at` does, it says so."""
        return tuple(self._get("ways"))

    def recounted(self, tokens: int, note: Diagnostic) -> "Result":
        """Return the same with the tokens of the whole text as counted elsewhere, and a note of that."""
        other = copy.copy(self)
        other.tokens, other.warnings, other._made = tokens, (*self.warnings, note), {}

        def explanation() -> Explanation:
            found: Explanation = self._late["explanation"]()
            more = tokens - found.tokens
            left = None if found.left is None else found.left - more
            return msgspec.structs.replace(
                found, tokens=tokens, left=left, between=found.between + more
            )

        other._late = {**self._late, "explanation": explanation}
        return other

    @property
    def explicit_text(self) -> str:
        """The page with only the explicit items of the text."""
        return str(self._get("explicit_text"))

    @property
    def similarity_text(self) -> str:
        """The page with only the similarity items of the text."""
        return str(self._get("similarity_text"))

    @property
    def explicit_sources(self) -> tuple[str, ...]:
        """Names of the explicit items of the text."""
        return tuple(self._get("explicit_sources"))

    @property
    def manifest(self) -> dict[str, Any]:
        """Versions and hashes of everything the text depends on."""
        return dict(self._get("manifest"))

    @property
    def has_explicit(self) -> bool:
        """Whether an explicit item is in the text."""
        return bool(self.explicit_sources)

    @property
    def total_available(self) -> int:
        """Items in the text and items left out."""
        return self.items_included + self.items_dropped

    @property
    def inclusion_percentage(self) -> float:
        """Items in the text, as a percentage of all; 0 with none."""
        return self.items_included / self.total_available * 100 if self.total_available else 0.0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing but white space in the text."""
        return not self.text.strip()

    @property
    def chars(self) -> int:
        """Characters of the text."""
        return len(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        items = f"{self.items_included} of {self.total_available} items"
        return f"<Result {self.tokens} tokens, {items}, {self.layout} {self.format}>"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        return {name: msgspec.to_builtins(getattr(self, name)) for name in FIELDS}


FIELDS: Sequence[str] = (
    "text", "tokens", "max_tokens", "exact", "tokenizer", "layout", "format", "profile", "mode", "explicit_text",
    "similarity_text", "sections", "items", "files", "items_included", "items_trimmed", "items_dropped",
    "total_available", "inclusion_percentage", "average_score", "truncated", "is_empty", "chars", "query",
    "explicit_sources", "has_explicit", "sources", "build_seconds", "warnings", "manifest",
)  # fmt: skip
"""What a result says, in the order in which `--json` says it."""
