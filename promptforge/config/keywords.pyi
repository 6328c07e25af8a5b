# Generated from `Options` by `python -m tests.generated`.
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from ..tokenizers.counters import Tokenizer
from .options import Rerank

class OptionKeywords(TypedDict, total=False):
    """Every option as a keyword; see `Options` for their meaning."""

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
    max_age: int | None
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
        "even",
        "longest_first",
        "drop_last",
        "drop_first",
        "whole",
        "stop",
        "repository",
    ]
    overrides: Mapping[str, str] | None
    stubs: bool
    section_budgets: Mapping[str, Mapping[str, float | None]] | None
    trim: Literal["structure", "prefix", "none"] | None
    compact: bool
    marker: str
    headers: bool
    lines: Literal["none", "range", "each"]
    scores: bool
    sources: bool
    tree: bool
    code: bool
    outline: bool
    clean: bool
    comments: bool
    empty_lines: bool
    control_text: Literal["keep", "escape"]
    framing: Literal["auto", "tagged"]
    separator: str | None
    header: str | None
    footer: str | None
    fence_language: str | None
    context_window: int | None
    reserve: int | None
    max_prompt_tokens: int | None
    prompt: str
    prompt_order: str | Sequence[str]
    part_budgets: Mapping[str, Mapping[str, float | None]] | None
    system_role: Literal["system", "developer", "user"]
    history_share: float
    compact_at: float
    compact_to: float
    keep_tools: str | Sequence[str] | None
    recall_share: float
    thoughts: Literal["auto", "keep", "drop"]
    message_tokens: int
    call_tokens: int
    prompt_tokens: int
    image_tokens: int
    images: Mapping[str, Mapping[str, float | None]] | None
    page_tokens: int | None
    second_tokens: int | None
    cite: bool
    citation: str | None
    cache_after: str | Sequence[str] | None
    strict: bool
