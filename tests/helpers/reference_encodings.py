"""Hostile texts, and the same encodings by tiktoken itself."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import tiktoken
from example_counts import cases
from hypothesis import strategies as st

from promptforge.tokenizers.bpe import BytePairCounter
from promptforge.tokenizers.registry import TOKENIZER_PACKAGES, is_installed, list_tokenizers
from promptforge.tokenizers.vocabulary import (
    MAX_TOKEN_BYTES,
    SHIPPED_VOCABULARIES,
    load_table,
    speed_up_pattern,
)

ENCODINGS = sorted(SHIPPED_VOCABULARIES)
BUILT_IN = [
    name
    for name, _ in list_tokenizers()
    if name not in (*TOKENIZER_PACKAGES, "NAME*FACTOR", "file:PATH")
]
INSTALLED = [name for name, family in TOKENIZER_PACKAGES.items() if is_installed(family)]
COUNTERS = [*BUILT_IN, *INSTALLED, "cl100k_base*1.4"]
RANKS = {name: load_table(name).all_ranks() for name in ENCODINGS}


def _encode_by(name: str, pattern: str) -> tiktoken.Encoding:
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=RANKS[name], special_tokens={})


TIKTOKEN = {name: _encode_by(name, SHIPPED_VOCABULARIES[name].pattern) for name in ENCODINGS}
"""The judges: tiktoken by the patterns as they are published."""
SPED_UP = {
    name: _encode_by(name, speed_up_pattern(SHIPPED_VOCABULARIES[name].pattern))
    for name in ENCODINGS
}
WHITE = (
    "\n",
    "\r",
    "\r\n",
    " ",
    "  ",
    "\t",
    "\x0b",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x1f",
    "\x85",
    "\xa0",
    "\u2028",
    "\u3000",
)
FAR = (
    "漢字",
    "の",
    "한",
    "😀",
    "👩\u200d🚀",
    "\u0301",
    "é",
    "ǅ",
    "Ⅷ",
    "²",
    "İ",
    "\u200b",
    "\u180e",
    "\ufeff",
    "\ud800",
)
NEAR = (
    "/",
    "//",
    "!",
    "...",
    "#",
    "```",
    "'s",
    "'LL",
    "a",
    "Word",
    "HELLO",
    "foo_bar",
    "-",
    "=",
    "0",
    "12",
    "3456",
)
HOSTILE = (*WHITE, *FAR, *NEAR, "<|endoftext|>")
PIECES = st.lists(st.one_of(st.sampled_from(HOSTILE), st.characters()), max_size=30).map("".join)
PARTS = st.lists(PIECES, max_size=6)
SCALE = cases(150)


def random_parts(seed: int) -> Iterator[list[str]]:
    """Yield thousands of hostile texts in parts, more than Hypothesis makes in the time."""
    random = Random(seed)
    for _ in range(2500):
        sizes = [random.choice((3, 10, 40)) for _ in range(random.randrange(8))]
        yield ["".join(random.choices(HOSTILE, k=random.randrange(size))) for size in sizes]


def count_by_tiktoken(name: str, text: str) -> int:
    text = "".join(
        "\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text
    )
    return len(TIKTOKEN[name].encode_ordinary(text))


def new_counter(name: str, kind: type[BytePairCounter] = BytePairCounter) -> BytePairCounter:
    """Return a counter that remembers nothing yet, without building its big table again."""
    return counter_by(SPED_UP[name], kind)


def counter_by(encoding: Any, kind: type[BytePairCounter] = BytePairCounter) -> BytePairCounter:
    """Return a counter by an encoding that is loaded already."""
    counter = kind("x", lambda: ("", {}), longest=MAX_TOKEN_BYTES, fingerprint="")
    counter._encoding = encoding
    return counter
