"""The options of a rendering: one vocabulary for profiles (YAML), Python keywords and flags."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from ..errors import Diagnostics, OptionError, show_value
from .schema import Vocabulary, Where, rules_of

# One pattern for Python and for JSON Schema: in Python, `$` alone lets a final newline through.
_NAME = r"^(shipped/)?[A-Za-z0-9][A-Za-z0-9_.-]*$(?!\n)"

_TAG = r"^[A-Za-z0-9_+#.-]+$(?!\n)"

LibraryName = Annotated[
    str, Meta(pattern=_NAME, extra={"takes": "a name of letters, digits, '_', '.' and '-'"})
]
"""A layout, a format or a profile; `shipped/NAME` is the original behind a user's file of the same name."""

FenceTag = Annotated[
    str, Meta(pattern=_TAG, extra={"takes": "a language tag such as python or c++"})
]
"""A language tag after the backticks of a fence."""

_Word = Annotated[str, Meta(min_length=1, extra={"takes": "a word"})]

_Part = Literal["system", "instructions", "context", "history", "question"]

PROMPT_PARTS: tuple[_Part, ...] = get_args(_Part)
"""The parts of a whole prompt, in their default order."""

_Count = Annotated[int, Meta(ge=0, le=2**63 - 1, extra={"takes": "a whole number from 0 up"})]

_Share = Annotated[float, Meta(ge=0, le=1)]


class SectionBudget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The budget of one section: a guaranteed least, and a most."""

    share: _Share = 0.0
    """Guaranteed share of `max_tokens`."""
    min_tokens: _Count = 0
    """Guaranteed tokens."""
    max_tokens: _Count | None = None
    """Most tokens of its items together, without headings."""


_SectionBudgets = Annotated[
    dict[str, SectionBudget],
    Meta(
        extra={
            "takes": "a mapping of sections, each with a share from 0 to 1 or tokens, such as {man_page: {share: 0.5,"
            " min_tokens: 200, max_tokens: 900}}"
        }
    ),
]

_Tokenizer = Annotated[
    Any, Meta(extra={"takes": "a tokenizer's name, or an object with name and count(text)"})
]

PROMPT_OPTIONS = (
    "prompt", "prompt_order", "system_role", "history_share", "message_tokens", "call_tokens",
    "prompt_tokens", "cite", "citation", "cache_after",
)  # fmt: skip
"""Options of whole prompts: a context alone is the same with any value of them."""

REPEATABLE_PARTS = ("instructions", "question")
"""Parts of a prompt that may come twice: before and after others."""

MAX_CACHE_BREAKPOINTS = 4
"""Cache breakpoints that OpenAI and Anthropic take in one request."""


def _is_order(parts: tuple[str, ...]) -> bool:
    return all(parts.count(part) <= 1 + (part in REPEATABLE_PARTS) for part in parts)


def _is_cached(parts: tuple[str, ...] | None) -> bool:
    return parts is None or len(set(parts)) == len(parts) <= MAX_CACHE_BREAKPOINTS


def _is_tokenizer(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value)
    try:
        return isinstance(getattr(value, "name", None), str) and callable(
            getattr(value, "count", None)
        )
    except Exception:  # from a property of a hostile object
        return False


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Every option with its default. Build one with `apply`, which checks; the constructor itself does not."""

    layout: Annotated[LibraryName, "Which sections there are and how an item shows itself."] = (
        "chunks"
    )
    format: Annotated[
        LibraryName, "The syntax of the text: markdown, xml, json, plain, or one the user added."
    ] = "markdown"
    tokenizer: Annotated[
        _Tokenizer,
        "What counts tokens: o200k_base, cl100k_base, approximate-…, by an extra qwen-3 and the like, NAME*FACTOR,"
        " file:PATH; an object in Python.",
    ] = "o200k_base"
    max_tokens: Annotated[
        _Count | None, "Ceiling of the finished text in tokens of the tokenizer; none: no ceiling."
    ] = 4000
    max_chars: Annotated[
        _Count | None, "Ceiling of the finished text in characters; none: no ceiling."
    ] = None
    max_items: Annotated[
        _Count | None, "How many items found by a search may be shown; none: no limit."
    ] = 10
    item_max_chars: Annotated[
        _Count | None, "Cut the content of each item to so many characters first; none: do not."
    ] = None
    paths: Annotated[
        tuple[str, ...] | None,
        "Keep items whose path matches one of these gitwildmatch patterns; none: keep all.",
    ] = None
    languages: Annotated[
        tuple[str, ...] | None, "Keep items in these languages; none: keep all."
    ] = None
    kinds: Annotated[tuple[str, ...] | None, "Keep items of these kinds; none: keep all."] = None
    min_score: Annotated[
        _Share | None,
        "Drop items found by a search that score less, where scores lie in 0 to 1; none: drop none.",
    ] = 0.5
    query: Annotated[
        str | None,
        "What is asked: items are ranked by it, and of what is cut the pieces that answer stay; none: not known.",
    ] = None
    rerank: Annotated[
        Literal["none", "keyword_boost", "mmr"],
        "How items are ranked beside their scores: by the words of the query, or each beside what came before (mmr).",
    ] = "keyword_boost"
    group_by: Annotated[
        _Word,
        "One section a file, kind, category, origin or value of a metadata key, or none; auto: the layout's.",
    ] = "auto"
    order: Annotated[
        Literal["score", "given", "file", "edges"],
        "How the chosen items are shown; edges puts the best first and last. It chooses nothing.",
    ] = "score"
    dedupe: Annotated[bool, "Show equal or contained content once."] = True
    merge_overlaps: Annotated[bool, "Join overlapping or touching ranges of one file."] = True
    combine: Annotated[
        Literal["explicit_only", "explicit_first", "combined", "similarity_fallback"],
        "How named and found items go together: found ones only where none is named, in all but combined.",
    ] = "explicit_first"
    explicit_share: Annotated[
        _Share,
        "Share of the budget for items the user named, in combine: combined; what is left over moves.",
    ] = 0.6
    packing: Annotated[
        Literal["score", "value", "proportional", "longest_first", "drop_last", "whole", "stop"],
        "Which items, in which form: the best first, the most worth, all a bit shorter, the longest shorter, the last"
        " left out, whole ones only, or whole until one does not fit.",
    ] = "score"
    stubs: Annotated[
        bool,
        "Show what fits in no other form as its heading and the marker, where there is room left.",
    ] = False
    section_budgets: Annotated[
        _SectionBudgets | None,
        "By section: the share of the budget or the tokens it is sure of, and those it may take; none: as it comes.",
    ] = None
    trim: Annotated[
        Literal["structure", "prefix", "none"],
        "How an item is shortened: by its kind (structure), at a line, sentence or word (prefix), or not (none);"
        " a text without any of these is cut at a character.",
    ] = "structure"
    marker: Annotated[str, "The text that says that something was cut; it counts."] = (
        "[Content truncated...]"
    )
    headers: Annotated[bool, "Show a heading for each item."] = True
    line_numbers: Annotated[bool, "Show the range of lines of an item."] = True
    scores: Annotated[bool, "Show the score of an item."] = False
    sources: Annotated[bool, "Show a list of sources."] = False
    code: Annotated[bool, "Show contents; without it only names, places and summaries."] = True
    control_text: Annotated[
        Literal["keep", "escape"],
        "Control tokens of the profile in an item's texts: as they are, or written apart by a backslash.",
    ] = "keep"
    framing: Annotated[
        Literal["auto", "fenced", "xml", "json", "plain", "tagged"],
        "What keeps a content in its place: the format's own way (auto: a fence, escapes, quotes, marked lines), or"
        " tags around it as it is, with a word that nothing else on the page holds (tagged).",
    ] = "auto"
    separator: Annotated[str | None, "Text between two items; none: the layout's own."] = None
    header: Annotated[str | None, "Text before everything; none: nothing."] = None
    footer: Annotated[str | None, "Text after everything; none: nothing."] = None
    fence_language: Annotated[
        FenceTag | None, "One tag for every fence; none: each item's own language."
    ] = None
    context_window: Annotated[
        _Count | None, "Tokens the LLM takes in all, prompt and answer; none: not known."
    ] = None
    reserve: Annotated[
        _Count | None, "Tokens of the window kept for the LLM's answer; none: nothing is kept."
    ] = None
    prompt: Annotated[
        LibraryName, "The set of templates that the parts of a whole prompt are printed by."
    ] = "default"
    prompt_order: Annotated[
        tuple[_Part, ...],
        "The parts of a whole prompt in their order; instructions and question may come twice, others once.",
    ] = PROMPT_PARTS
    system_role: Annotated[
        Literal["system", "developer", "user"],
        "Whose message the system text is; user: it opens the first message of the user.",
    ] = "system"
    history_share: Annotated[
        _Share, "Share of the window, less what is fixed, for the history; what is left over moves."
    ] = 0.3
    message_tokens: Annotated[
        _Count, "Tokens that the LLM's own frame adds to each message, at the most."
    ] = 8
    call_tokens: Annotated[
        _Count,
        "Tokens that its frame adds to each call of a tool, each argument of one and each result, at the most.",
    ] = 16
    prompt_tokens: Annotated[
        _Count, "Tokens that the LLM's own frame adds once, its answer's opening included."
    ] = 16
    cite: Annotated[
        bool,
        "Ask for citations: as blocks of the provider's own where it has them, else by the words of citation.",
    ] = False
    citation: Annotated[
        str | None, "The sentence that asks for citations, with cite; none: no sentence."
    ] = None
    cache_after: Annotated[
        tuple[_Part, ...] | None,
        "Parts after which the stable beginning of a prompt may be cached, four at the most; none: nothing is marked.",
    ] = None
    on_error: Annotated[
        Literal["warn", "raise"],
        "warn: bad data never fails, the result says what happened; raise: it is an error.",
    ] = "warn"


OPTION_VOCABULARY = Vocabulary(
    "option",
    rules_of(
        Options,
        none={"group_by": "none", "rerank": "none", "trim": "none"},
        verbatim=("query", "citation"),
        allow={"tokenizer": _is_tokenizer, "prompt_order": _is_order, "cache_after": _is_cached},
    ),
)
"""Name, type, default and documentation of every option: flags and the JSON Schema are made from it."""


def apply_options(
    base: Options, changes: Mapping[str, Any], *, where: Where | None = None
) -> Options:
    """Return `base` with `changes`, each name and value checked.

    `where` gives the `file:line` of a name for messages. Raises `OptionError` for an unknown name
    or a bad value; with `where`, `ProfileError`.
    """
    if not changes:
        return base
    return msgspec.structs.replace(
        base, **{name: OPTION_VOCABULARY.check(name, changes[name], where) for name in changes}
    )


def apply_options_leniently(
    base: Options, changes: Mapping[str, Any], diagnostics: Diagnostics
) -> Options:
    """Return `base` with the good values of `changes`; say each bad one as PF101.

    Raises `OptionError` for an unknown name: a misspelt option must not go unnoticed.
    """
    good = {}
    for name, value in changes.items():
        if name not in OPTION_VOCABULARY:
            OPTION_VOCABULARY.refuse(name)
        try:
            good[name] = OPTION_VOCABULARY.check(name, value)
        except OptionError as error:
            diagnostics.add("PF101", f"{error}; used {show_value(getattr(base, name))} instead")
    return msgspec.structs.replace(base, **good) if good else base
