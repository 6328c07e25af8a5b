"""The options as keywords, for type checkers and editors.

Generated from `options.py`: run `python -m tests.generated`, never edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from ..tokenizers.counters import Tokenizer
    from .options import Rerank

PromptPart = Literal["system", "instructions", "context", "history", "question"]


class OptionKeywords(TypedDict, total=False):
    """Every option by its name; see `Options` for their meaning and defaults."""

    layout: str
    format: str
    tokenizer: str | Tokenizer
    max_tokens: int | None
    max_chars: int | None
    max_items: int | None
    item_max_chars: int | None
    paths: str | Sequence[str] | None
    languages: str | Sequence[str] | None
    kinds: str | Sequence[str] | None
    min_score: float | None
    min_worth: float | None
    score_order: Literal["given", "higher", "lower"]
    query: str | Sequence[str] | None
    rerank: Literal["none", "keyword_boost", "mmr"] | Rerank | None
    group_by: str | None
    order: Literal["score", "given", "file", "edges"]
    dedupe: bool
    merge_overlaps: bool
    combine: Literal["explicit_only", "explicit_first", "combined", "similarity_fallback"]
    explicit_share: float
    packing: Literal[
        "score",
        "value",
        "proportional",
        "longest_first",
        "drop_last",
        "drop_first",
        "whole",
        "stop",
        "repository",
    ]
    stubs: bool
    section_budgets: Mapping[str, Mapping[str, float | None]] | None
    trim: Literal["structure", "prefix", "none"] | None
    marker: str
    headers: bool
    line_numbers: bool
    number_lines: bool
    scores: bool
    sources: bool
    tree: bool
    code: bool
    outline: bool
    comments: bool
    empty_lines: bool
    control_text: Literal["keep", "escape"]
    framing: Literal["auto", "fenced", "xml", "json", "yaml", "plain", "tagged"]
    separator: str | None
    header: str | None
    footer: str | None
    fence_language: str | None
    context_window: int | None
    reserve: int | None
    prompt: str
    prompt_order: PromptPart | Sequence[PromptPart]
    system_role: Literal["system", "developer", "user"]
    history_share: float
    message_tokens: int
    call_tokens: int
    prompt_tokens: int
    image_tokens: int
    images: Mapping[str, Mapping[str, float | None]] | None
    page_tokens: int | None
    second_tokens: int | None
    cite: bool
    citation: str | None
    cache_after: PromptPart | Sequence[PromptPart] | None
    on_error: Literal["warn", "raise"]
