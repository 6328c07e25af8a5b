"""The options of a rendering: one vocabulary for profiles (YAML), Python keywords and flags.

To add an option, add a field to `Options`, its name to `OPTION_GROUPS` and a line to
`profiles/default.yaml`, then run `python -m tests.generated`.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..errors import OptionError, did_you_mean
from ..text.words import is_pattern
from .schema import Former, Vocabulary, matching, rules_of

LibraryName = Annotated[
    str,
    matching(
        "(shipped/)?[A-Za-z0-9][A-Za-z0-9_.-]*", "a name of letters, digits, '_', '.' and '-'"
    ),
]
"""A layout, format or profile. `shipped/NAME` is the original behind a user's file of that name."""
FenceTag = Annotated[str, matching("[A-Za-z0-9_+#.-]+", "a language tag such as python or c++")]
"""A language tag after the backticks of a fence."""
_Word = Annotated[str, Meta(min_length=1, extra={"takes": "a word"})]
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1, extra={"takes": "a whole number from 0 up"})]
_Share = Annotated[float, Meta(ge=0, le=1)]
PROMPT_PARTS = ("system", "instructions", "history", "context", "question")
_RESERVED = ("tools", "recall", "part", "prompt", "left_out", "filler")
"""Words that have a meaning beside the parts."""
_PART_TAKES = f"{' | '.join(PROMPT_PARTS)} | other word"
_PART_NAME = "[a-z][a-z0-9_]{0,39}"
_Part = Annotated[
    str, Meta(pattern=rf"^{_PART_NAME}$(?!\n)", extra={"takes": _PART_TAKES, "words": PROMPT_PARTS})
]
REPEATABLE_PARTS = ("instructions", "question")
"""Parts of a prompt that may come twice: before and after others."""
MAX_CACHE_BREAKPOINTS = 4


_Pixels = Annotated[int, Meta(ge=1, le=1 << 20)]
_Tokens = Annotated[int, Meta(ge=0, le=1 << 40)]


class ImageCost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Tokens of an image: so many for each patch of it, after it was scaled down."""

    patch: _Pixels | None = None
    """Pixels of each side of a patch; without it, every image costs `max_tokens`."""
    patch_tokens: Annotated[float, Meta(ge=0, le=1 << 20)] = 1.0
    base_tokens: _Tokens = 0
    """Tokens beside those of the patches."""
    long_side: _Pixels | None = None
    """Pixels to which the longer side is scaled down."""
    short_side: _Pixels | None = None
    """Pixels to which the shorter side is scaled down after that."""
    max_tokens: _Tokens | None = None
    """Most tokens; none: no limit for an image of known size."""

    def tokens(self, size: tuple[int, int]) -> int:
        """Return the tokens of an image of this width and height, which must have a `patch`.

        ImageCost(patch=512, patch_tokens=170, base_tokens=85).tokens((512, 513))  # 425
        """
        assert self.patch is not None
        size = _scale_down(size, max(size), self.long_side)
        size = _scale_down(size, min(size), self.short_side)
        patches = -(-size[0] // self.patch) * -(-size[1] // self.patch)
        tokens = self.base_tokens + ceil(patches * self.patch_tokens)
        return tokens if self.max_tokens is None else min(tokens, self.max_tokens)


def _scale_down(size: tuple[int, int], side: int, limit: int | None) -> tuple[int, int]:
    """Scale a size so that its `side` is no longer than `limit`; both sides are rounded up."""
    if limit is None or side <= limit:
        return size
    return -(-size[0] * limit // side), -(-size[1] * limit // side)


class SectionBudget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The budget of one section: a guaranteed least, and a most."""

    share: _Share = 0.0
    min_tokens: _Count = 0
    max_tokens: _Count | None = None
    """Most tokens of its items together, without headings."""


class PartBudget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The most that a part of one's own may cost."""

    share: _Share | None = None
    max_tokens: _Count | None = None


_PART_BUDGETS_TAKE = (
    "a mapping of parts, each with a share of the window or tokens, such as {memory: {share: 0.1,"
    " max_tokens: 900}}"
)
_PartBudgets = Annotated[dict[str, PartBudget], Meta(extra={"takes": _PART_BUDGETS_TAKE})]
_SECTION_BUDGETS_TAKE = (
    "a mapping of sections, each with a share from 0 to 1 or tokens, such as {man_page:"
    " {share: 0.5, min_tokens: 200, max_tokens: 900}}"
)
_SectionBudgets = Annotated[dict[str, SectionBudget], Meta(extra={"takes": _SECTION_BUDGETS_TAKE})]
_IMAGES_TAKE = (
    "a mapping of details, each with a cost, such as {auto: {patch: 32, patch_tokens: 1.2,"
    " long_side: 2048, max_tokens: 3000}}"
)
_Images = Annotated[dict[str, ImageCost], Meta(extra={"takes": _IMAGES_TAKE})]
Rerank = Callable[[str, list[str]], Any]
"""Returns a score for each text, the higher the better it answers the query; it may be async."""
_Tokenizer = Annotated[
    Any, Meta(extra={"takes": "a tokenizer's name, or an object with name and count(text)"})
]
_Pattern = Annotated[str, Meta(extra={"takes": "gitignore pattern"})]
PROMPT_OPTIONS = (
    "max_prompt_tokens", "prompt", "prompt_order", "part_budgets", "system_role", "history_share",
    "compact_at", "compact_to", "keep_tools", "recall_share", "thoughts", "message_tokens",
    "call_tokens", "prompt_tokens", "image_tokens", "images", "page_tokens", "second_tokens",
    "cite", "citation", "cache_after",
)  # fmt: skip
"""Options of whole prompts: a context alone is the same with any value of them."""


def is_own_part(name: object) -> bool:
    """Return whether a part of one's own may have this name: no slip for one that has a meaning."""
    if not isinstance(name, str) or name in (*PROMPT_PARTS, *_RESERVED):
        return False
    return bool(re.fullmatch(_PART_NAME, name)) and not did_you_mean(name, PROMPT_PARTS)


def _are_parts(names: tuple[str, ...]) -> bool:
    return all(name in PROMPT_PARTS or is_own_part(name) for name in names)


def _is_order(parts: tuple[str, ...]) -> bool:
    once = all(parts.count(part) <= 1 + (part in REPEATABLE_PARTS) for part in parts)
    return once and _are_parts(parts)


def _is_cache_after(parts: tuple[str, ...] | None) -> bool:
    named = parts or ()
    return len(set(named)) == len(named) <= MAX_CACHE_BREAKPOINTS and _are_parts(named)


def _is_tokenizer(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value)
    try:
        return isinstance(getattr(value, "name", None), str) and callable(value.count)
    except Exception:  # from a property of a hostile object
        return False


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Every option with its default. Only `apply_options` checks the values."""

    # fmt: off
    # An option is one entry: name, type, sentence, default.
    layout: Annotated[LibraryName, "Layout: the sections, and how an item looks."] = "chunks"
    format: Annotated[LibraryName,
        "Output syntax: markdown, xml, json, yaml, toon, plain; or one of your own."] = "markdown"
    tokenizer: Annotated[_Tokenizer,
        "Counts tokens: o200k_base, cl100k_base, approximate-claude …, NAME*FACTOR, file:PATH;"
        " with an extra, qwen-3 and others; in Python also an object."] = "o200k_base"
    max_tokens: Annotated[_Count | None,
        "Token budget of the context, or none; none by default in a prompt with a window."] = 4000
    max_chars: Annotated[_Count | None,
        "Character budget of the context, or none."] = None
    max_items: Annotated[_Count | None, "Keep at most N retrieved items, or none for all."] = None
    item_max_chars: Annotated[_Count | None,
        "Cut each item's content to N characters first, or none."] = None
    paths: Annotated[tuple[_Pattern, ...] | None,
        "Keep only items whose path matches one of these gitignore patterns."] = None
    languages: Annotated[tuple[str, ...] | None,
        "Keep only items in these languages."] = None
    kinds: Annotated[tuple[str, ...] | None, "Keep only items of these kinds."] = None
    min_score: Annotated[_Share | None,
        "Drop retrieved items with a lower score, where scores lie in 0 to 1."] = None
    min_worth: Annotated[_Share | None,
        "Drop retrieved items that score below this fraction of the best match."] = None
    max_age: Annotated[_Count | None,
        "Drop items dated (metadata.date) more than N days before the newest."] = None
    score_order: Annotated[Literal["given", "higher", "lower"],
        "How to read scores: higher is better, lower is better, or rank only (given)."] = "given"
    query: Annotated[str | tuple[str, ...] | None,
        "Rank items by this question; passages that answer it stay. Several questions share the"
        " budget."] = None
    rerank: Annotated[Literal["none", "keyword_boost", "mmr"] | Rerank,
        "Rank by scores and query words (keyword_boost) or by difference from better items (mmr);"
        " in Python also by a function of a query and texts."] = "keyword_boost"
    group_by: Annotated[_Word,
        "One section for each file, kind, category, origin, or value of a metadata key; none: one"
        " section; auto: the layout decides."] = "auto"
    order: Annotated[Literal["score", "given", "file", "edges"],
        "Order of the chosen items; edges puts the best first and last."] = "score"
    dedupe: Annotated[bool, "Skip duplicates."] = True
    merge_overlaps: Annotated[bool, "Join ranges of one file that touch."] = True
    combine: Annotated[
        Literal["explicit_only", "explicit_first", "combined", "similarity_fallback"],
        "How to combine named and retrieved items; only combined shows both."] = "combined"
    explicit_share: Annotated[_Share,
        "Share of the budget for named items when combined; unused room moves."] = 0.6
    packing: Annotated[
        Literal["score", "value", "even", "longest_first", "drop_last", "drop_first",
            "whole", "stop", "repository"],
        "How to fill the budget. Best first (score), the most worth (value), all a bit"
        " shorter (even), the longest shorter (longest_first), the last left out"
        " (drop_last) or the first (drop_first), whole items only (whole), whole until one does not"
        " fit (stop), outlines of many files and then whole files, the most important first"
        " (repository)."] = "score"
    overrides: Annotated[dict[str, Literal["pin", "never", "whole", "outline"]] | None,
        "Pin items or leave them out, by id or path: {a.py: whole, b.py: never}; pin, outline:"
        " before all others."] = None
    stubs: Annotated[bool,
        "Show an item that does not fit as its heading and the marker."] = False
    section_budgets: Annotated[_SectionBudgets | None,
        "Minimum and maximum budgets by section, as shares or tokens."] = None
    trim: Annotated[Literal["structure", "prefix", "none"],
        "How to shorten an item: by its kind (structure), at a line, sentence or word (prefix), or"
        " never (none)."] = "structure"
    compact: Annotated[bool,
        "Before an item is cut, write it without blanks, JSON as tables, HTML as its main part,"
        " equal lines of a log counted."] = True
    marker: Annotated[str,
        "Marker shown where text was cut (counts toward the budget)."] = "[Content truncated...]"
    headers: Annotated[bool, "Show a heading for each item."] = True
    lines: Annotated[Literal["none", "range", "each"],
        "Show the line numbers of an item: its range in the heading (range), before each line too"
        " (each), or none."] = "range"
    scores: Annotated[bool, "Show the score of an item."] = False
    sources: Annotated[bool, "List the sources."] = False
    tree: Annotated[bool,
        "Show a file tree first, each file with its tokens."] = False
    code: Annotated[bool, "Show contents; off: only names, places and summaries."] = True
    outline: Annotated[bool,
        "Show only signatures (code) or headings (documents)."] = False
    clean: Annotated[bool,
        "Show the main part of pages of HTML, without scripts and navigation."] = False
    comments: Annotated[bool,
        "Keep comments; --no-comments needs the extra comments."] = True
    empty_lines: Annotated[bool, "Keep empty lines."] = True
    control_text: Annotated[Literal["keep", "escape"],
        "Control tokens of the profile in items: keep them, or escape them by a"
        " backslash."] = "keep"
    framing: Annotated[Literal["auto", "tagged"],
        "How content is fenced or escaped: as the format needs (auto), or between tags with a nonce"
        " (tagged)."] = "auto"
    separator: Annotated[str | None, "Text between two items [default: the layout's]."] = None
    header: Annotated[str | None, "Text before everything."] = None
    footer: Annotated[str | None, "Text after everything."] = None
    fence_language: Annotated[FenceTag | None,
        "One language tag for every fence [default: each item's own]."] = None
    context_window: Annotated[_Count | None,
        "Context window of the LLM, in tokens."] = None
    reserve: Annotated[_Count | None,
        "Tokens of the window reserved for the answer."] = None
    max_prompt_tokens: Annotated[_Count | None,
        "Token budget of a whole prompt, within the window, or none."] = None
    prompt: Annotated[LibraryName,
        "Template set for the parts of a prompt."] = "default"
    prompt_order: Annotated[tuple[_Part, ...],
        "The parts of a whole prompt in order, your own among them; instructions and question may"
        " come twice."] = PROMPT_PARTS
    part_budgets: Annotated[_PartBudgets | None,
        "Most tokens, or most of the window, for parts of your own; none: whole."] = None
    system_role: Annotated[Literal["system", "developer", "user"],
        "Role of the system text; user: it opens the first user message."] = "system"
    history_share: Annotated[_Share,
        "Share of the window for the history, without fixed parts; the unused rest moves."] = 0.3
    compact_at: Annotated[_Share,
        "Share of the window, less fixed parts, over which results of tools are"
        " shortened."] = 1.0
    compact_to: Annotated[_Share,
        "Share of that to which they are shortened then, the oldest first."] = 0.5
    keep_tools: Annotated[tuple[str, ...] | None,
        "Tools with results that are shortened last; none: no tool."] = None
    recall_share: Annotated[_Share,
        "Share of the room of a shortened history for passages of it that answer the"
        " question."] = 0.1
    thoughts: Annotated[Literal["auto", "keep", "drop"],
        "Signed thoughts of Claude behind what was shortened: left out; auto: those of the turn"
        " that runs stay."] = "auto"
    message_tokens: Annotated[_Count,
        "Most tokens that the LLM's chat template adds to each message."] = 8
    call_tokens: Annotated[_Count,
        "Most tokens that it adds to each tool call, each argument of one, and each result."] = 16
    prompt_tokens: Annotated[_Count,
        "Most tokens that it adds once, with the opening of the answer."] = 16
    image_tokens: Annotated[_Count,
        "Most tokens of an image of the history with no cost in images, as one of unknown size;"
        " a file costs ten such images."] = 5000
    images: Annotated[_Images | None,
        "Costs of images by the detail that they name (auto: none); none: each costs"
        " image_tokens."] = None
    page_tokens: Annotated[_Count | None,
        "Most tokens of a page of a PDF of the history; none: the file costs ten images."] = None
    second_tokens: Annotated[_Count | None,
        "Most tokens of a second of a recording in WAV; none: it costs ten images."] = None
    cite: Annotated[bool,
        "Ask for citations: by the provider's own blocks, or by the sentence in citation."] = False
    citation: Annotated[str | None,
        "The sentence that asks for citations, with cite; none: no sentence."] = None
    cache_after: Annotated[tuple[_Part, ...] | None,
        "Parts after which the prompt may be cached, at most four; none: no marks."] = None
    strict: Annotated[bool, "Fail on any warning: exit 1, nothing on standard output."] = False
    # fmt: on

    @property
    def line_numbers(self) -> bool:
        """True where headings show the range of lines; templates see it by this name."""
        return self.lines != "none"

    @property
    def number_lines(self) -> bool:
        """True where each line of a content has its number."""
        return self.lines == "each"

    @property
    def queries(self) -> tuple[str, ...]:
        """The questions; none without one."""
        asked = self.query if isinstance(self.query, tuple) else (self.query,)
        return tuple(filter(None, asked))

    @property
    def window_room(self) -> int | None:
        """Tokens of a whole prompt: the window less the reserve; None without a limit."""
        if self.context_window is None:
            return self.max_prompt_tokens
        room = self.context_window - (self.reserve or 0)
        return room if self.max_prompt_tokens is None else min(room, self.max_prompt_tokens)

    @property
    def raise_window(self) -> str:
        """The words of messages about a prompt that is too long: what to change."""
        if self.window_room == self.max_prompt_tokens:
            return "raise max_prompt_tokens"
        return "raise context_window or lower reserve"

    @property
    def query_text(self) -> str | None:
        """The questions as one text, a line each."""
        return self.query if self.query is None else "\n".join(self.queries)

    def plain(self, tokenizer: str | None = None) -> dict[str, Any]:
        """Return all options as plain data, functions by their names; `tokenizer` is the name of an
        object.
        """
        found = msgspec.structs.asdict(self)
        if tokenizer is not None:
            found["tokenizer"] = tokenizer
        if callable(self.rerank):
            found["rerank"] = getattr(self.rerank, "__qualname__", type(self.rerank).__qualname__)
        return found


FILES_HINT = (
    'files are named by paths, as in .gitignore: paths: ["*", "!tests/"]; a file .ignore beside '
    "the files leaves some out, too"
)
"""The hint for people who look for `include` or `exclude` among the options."""
TEMPLATE_OPTIONS = {
    "headers": "headers", "lines": "line_numbers", "scores": "scores", "code": "code",
    "sources": "sources", "tree": "tree", "header": "header", "footer": "footer",
}  # fmt: skip
"""Option without an effect where no template uses its variable → the variable."""


class _FormerOptions(msgspec.Struct):
    line_numbers: Annotated[bool, "lines: range or none."] = True
    number_lines: Annotated[bool, "lines: each."] = False
    on_error: Annotated[Literal["warn", "raise"], "strict."] = "warn"


def _renew_options(values: dict[str, Any]) -> dict[str, Any]:
    """Return options with `lines` and `strict` in the place of the words before them; later wins.

    >>> _renew_options({"lines": "range", "number_lines": True, "on_error": "raise"})
    {'lines': 'each', 'strict': True}
    """
    renewed: dict[str, Any] = {}
    for name, value in values.items():
        if name == "on_error":
            renewed["strict"] = value == "raise"
        elif name not in _FORMER_NAMES:
            renewed[name] = value
        elif value:
            each = name == "number_lines" or renewed.get("lines") == "each"
            renewed["lines"] = ("range", "each")[each]
        elif name == "line_numbers" and renewed.get("lines") != "each":
            renewed["lines"] = "none"
        elif name == "number_lines" and renewed.get("lines") != "none":
            renewed["lines"] = "range"
    return renewed


_FORMER_NAMES = frozenset(_FormerOptions.__struct_fields__)
# Each was the framing that its own format has.
_FORMER_FRAMINGS = ("fenced", "xml", "json", "yaml", "toon", "plain")
FORMER_OPTIONS = Former(
    rules_of(_FormerOptions),
    {"line_numbers": "lines", "number_lines": "lines", "on_error": "strict"},
    {("packing", "proportional"): "even"}
    | {("framing", name): "auto" for name in _FORMER_FRAMINGS},
    _renew_options,
)
OPTION_VOCABULARY = Vocabulary(
    "option",
    rules_of(
        Options,
        none={"group_by": "none", "rerank": "none", "trim": "none"},
        verbatim=("query", "citation"),
        allow={
            "tokenizer": _is_tokenizer,
            "paths": lambda patterns: all(map(is_pattern, patterns or ())),
            "prompt_order": _is_order,
            "cache_after": _is_cache_after,
        },
    ),
    {
        "question": "Renderer.prompt takes the question as `user`",
        "context": "Renderer.prompt takes the context as `items`, its first argument",
        "messages": "Renderer.prompt takes earlier messages as `history`",
        "user": "`question` in a job file, --user, or `user` of Renderer.prompt gives the question",
        **dict.fromkeys(("include", "exclude"), FILES_HINT),
    },
    FORMER_OPTIONS,
)
"""Name, type, default and sentence of every option: flags and the JSON Schema are made of it."""

OPTION_GROUPS = {
    "Files of folders": "paths languages kinds",
    "Texts of a prompt": "prompt prompt_order part_budgets system_role cite citation cache_after",
    "Size": (
        "max_tokens max_chars max_items item_max_chars section_budgets tokenizer context_window"
        " reserve max_prompt_tokens history_share compact_at compact_to keep_tools recall_share"
        " thoughts message_tokens call_tokens prompt_tokens"
    ),
    "What is chosen": (
        "query rerank min_score min_worth max_age score_order packing trim compact stubs dedupe"
        " merge_overlaps combine explicit_share overrides"
    ),
    "Layout": (
        "layout format tree sources headers lines scores code outline clean"
        " comments empty_lines group_by order"
        " header footer separator marker fence_language framing control_text"
    ),
}
"""Heading in `--help` and on the page of the preview → its options; the others come last."""


def apply_options(base: Options, changes: Mapping[str, Any]) -> Options:
    """Return `base` with `changes`.

    Raises `OptionError` for an unknown name, a bad value, a reserve that leaves no window.
    """
    if not changes:
        return base
    checked = {name: OPTION_VOCABULARY.check(name, changes[name]) for name in changes}
    checked = _renew_options(checked)
    made = msgspec.structs.replace(base, **checked)
    window, reserve = made.context_window, made.reserve
    if window is not None and reserve and reserve >= window:
        name = "reserve" if "reserve" in changes else "context_window"
        if name in changes:  # else the fault is of the base, and was said
            message = f"reserve {reserve:,} leaves nothing of the context_window, {window:,}"
            raise OptionError(f"{message}; lower it, or raise the window", option=name)
    return made


# --- options written down -------------------------------------------------------------------------

_PLAIN_SCALAR = re.compile(r"(?:\.\./)*[A-Za-z][A-Za-z0-9_./+-]*")
_YAML_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"})
"""Words that a reader of YAML, or promptforge, does not take for a text."""


def as_flags(options: Mapping[str, Any]) -> str:
    """Return options as one types them; in words the flags to leave out."""
    typed, left_out = [], []
    for name, value in options.items():
        flag = flag_name(name)
        if value is None and name in ("kinds", "paths", "languages"):
            # These take a list, and `none` would be a kind of that name.
            left_out.append(f"leaving out {flag}")
        elif isinstance(value, bool):
            typed.append(flag.replace("--", ("--no-", "--")[value], 1))
        elif name in ("paths", "query") and isinstance(value, list | tuple):
            # One of these may hold a comma.
            typed += [f"{flag} {shlex.quote(each)}" for each in value]
        else:
            typed.append(f"{flag} {shlex.quote(flag_value(value))}")
    return " and ".join(filter(None, [" ".join(typed), *left_out]))


def flag_name(option: str) -> str:
    """Return the flag of an option: `--max-tokens`."""
    return f"--{option.replace('_', '-')}"


def flag_value(value: object) -> str:
    """Return the value of an option as the word after its flag."""
    if value is None:
        return "none"
    if isinstance(value, dict):
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
    if isinstance(value, list | tuple):
        return ",".join(value)
    return str(value)


def as_command(words: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the words of a command, and options after them, as one line for a shell."""
    kept = {name: value for name, value in options.items() if value is not None}
    # `none` takes a limit away; a filter is taken away by an empty list, which no flag can say.
    kept |= {n: None for n in options if n not in kept and n not in ("kinds", "paths", "languages")}
    return f"{shlex.join(words)} {as_flags(kept)}".rstrip()


def as_profile(extends: str | None, options: Mapping[str, Any]) -> str:
    """Return options as a profile that extends another."""
    values = {"extends": extends, **options} if extends else options
    shown = {name: "none" if v is None else yaml_value(v) for name, v in values.items()}
    return "".join(f"{name}: {value}\n" for name, value in shown.items())


def yaml_value(value: object) -> str:
    """Return plain data on one line of YAML, with unprintable characters escaped."""
    text = value if isinstance(value, str) else ""
    if _PLAIN_SCALAR.fullmatch(text) and text.lower() not in _YAML_WORDS:
        return text
    # A value of JSON is one of YAML, but for characters that YAML wants escaped.
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def as_python(items: str, arguments: Mapping[str, Any]) -> str:
    """Return Python that renders the same; `items` is the expression that makes the items."""
    given = "".join(f", {name}={value!r}" for name, value in arguments.items())
    lines = ["import promptforge as pf", "", f"items = {items}"]
    return "\n".join([*lines, f"result = pf.render(items{given})", "print(result.text)", ""])
