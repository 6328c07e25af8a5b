"""Token counts without a vocabulary, or from another model's: estimates, each under a name that says so.

`approximate-characters` and `approximate-words` reproduce the estimator of a C# program number for number: lengths in
UTF-16 units, divisions in 32-bit floating point, character classes by the general category of each UTF-16 unit (half
of a surrogate pair is neither letter, digit nor white space), white space as in .NET.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import re
import struct
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ..boundaries import WHITE, Unit
from ..counting import Counter


class Declared(NamedTuple):
    """A factor for a family whose tokenizer is not at hand."""

    hundredths: int
    """Tokens of the family for 100 tokens of o200k_base, at most: the largest ratio seen on any stretch of 2,000
    characters of prose, code, manual pages, Chinese and Japanese, Markdown and other languages. Text unlike all of
    that can need more."""
    family: str
    source: str
    """What the family's tokens were counted with."""
    as_of: str = "2026-11"
    """The month in which it was measured."""

    @property
    def factor(self) -> Fraction:
        """The factor itself."""
        return Fraction(self.hundredths, 100)


FACTORS: dict[str, Declared] = {
    "approximate-claude": Declared(
        212, "any Claude", "ctok 1.3.0, unofficial; Opus 4.7 is the hungriest"
    ),
    "approximate-claude-4": Declared(196, "Claude 3 to Opus 4.6", "ctok 1.3.0, unofficial"),
    "approximate-gemini": Declared(140, "Gemini", "Gemma 3's tokenizer"),
    "approximate-llama": Declared(123, "Llama 3", "its tokenizer"),
    "approximate-qwen": Declared(176, "Qwen 3", "its tokenizer"),
    "approximate-deepseek": Declared(125, "DeepSeek V3", "its tokenizer"),
    "approximate-mistral": Declared(144, "Mistral (tekken)", "its tokenizer"),
}
"""Name → factor. Anthropic publishes no tokenizer: ctok rebuilds its counts."""

_WHITE = re.compile(f"[{WHITE}]+")
_ASCII_ORDINARY = bytes(c for c in range(128) if chr(c).isalnum() or c in b"\t\n\x0b\x0c\r ")


def _single(value: float) -> float:
    """Round to 32-bit floating point."""
    result: float = struct.unpack("f", struct.pack("f", value))[0]
    return result


class _Classes(NamedTuple):
    ordinary: re.Pattern[str]
    upper: re.Pattern[str]
    lower: re.Pattern[str]


@functools.cache
def _classes() -> _Classes:
    """Build the character classes of .NET from the general categories, for characters of one UTF-16 unit."""
    members: dict[str, list[str]] = {}
    for category, run in itertools.groupby(map(chr, range(0x10000)), unicodedata.category):
        first, *rest = run
        members.setdefault(category, []).append(
            rf"\u{ord(first):04x}-\u{ord(rest[-1] if rest else first):04x}"
        )

    def match(*categories: str) -> str:
        return "".join(part for category in categories for part in members[category])

    ordinary = match("Lu", "Ll", "Lt", "Lm", "Lo", "Nd") + WHITE
    return _Classes(
        re.compile(f"[{ordinary}]+"), re.compile(f"[{match('Lu')}]"), re.compile(f"[{match('Ll')}]")
    )


def _measure(text: str) -> tuple[int, int]:
    """Return the length of `text` in UTF-16 units, and how many of them are no letter, digit or white space."""
    if text.isascii():
        return len(text), len(text.encode("ascii").translate(None, _ASCII_ORDINARY))
    special = _classes().ordinary.sub("", text)
    return _units(text), _units(special)


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _finish_characters(units: int, special: int) -> int:
    return math.ceil(_single(units) / 4) + special // 3


def estimate_by_characters(text: str) -> int:
    """Return a quarter of the length, rounded up, and a third of the characters that are no letter, digit or blank."""
    return _finish_characters(*_measure(text))


def _finish_words(words: int) -> int:
    return math.ceil(_single(_single(words) / 0.75))


def estimate_by_words(text: str) -> int:
    """Return four thirds of the words, where long words and words of mixed case count once more for each."""
    words = 0
    if text.isascii():
        for word in text.encode(
            "ascii"
        ).split():  # bytes.split() knows the white space of ASCII alone, as .NET does
            words += 1 + (len(word) > 10) + (word != word.lower() and word != word.upper())
        return _finish_words(words)
    classes = _classes()
    for piece in _WHITE.split(text):
        if piece:
            mixed = (
                classes.upper.search(piece) is not None and classes.lower.search(piece) is not None
            )
            words += 1 + (_units(piece) > 10) + mixed
    return _finish_words(words)


def _fingerprint(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


class CharacterCounter(Counter):
    """`characters`: a budget in characters (Unicode code points)."""

    def __init__(self) -> None:
        super().__init__("characters", exact=True, fingerprint=_fingerprint("characters"))

    def count(self, text: str) -> int:
        """Return the length."""
        return len(text)

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return the sum of the lengths."""
        return sum(map(len, parts))

    def at_least(self, text: str, limit: int) -> int:
        """Return the length, or `limit + 1`."""
        return min(len(text), max(limit, 0) + 1)


class CharacterEstimate(Counter):
    """`approximate-characters`."""

    def __init__(self) -> None:
        super().__init__(
            "approximate-characters",
            exact=False,
            fingerprint=_fingerprint("approximate-characters"),
        )

    def count(self, text: str) -> int:
        """Return the estimate by characters."""
        return estimate_by_characters(text)

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return the estimate of the parts together: both of its terms add up before they are rounded."""
        units = special = 0
        for part in parts:
            more_units, more_special = _measure(part)
            units += more_units
            special += more_special
        return _finish_characters(units, special)

    def at_least(self, text: str, limit: int) -> int:
        """Return a quarter of the characters: UTF-16 units are never fewer."""
        return min(_finish_characters(len(text), 0), max(limit, 0) + 1)


class WordEstimate(Counter):
    """`approximate-words`."""

    def __init__(self) -> None:
        super().__init__(
            "approximate-words", exact=False, fingerprint=_fingerprint("approximate-words")
        )

    def count(self, text: str) -> int:
        """Return the estimate by words."""
        return estimate_by_words(text)

    def at_least(self, text: str, limit: int) -> int:
        """Return four thirds of the words at the beginning."""
        limit = max(limit, 0)
        beginning = text[: 8 * (limit + 1)]
        words = len(beginning.split(None, limit)) - sum(map(beginning.count, "\x1c\x1d\x1e\x1f"))
        return min(_finish_words(max(words, 0)), limit + 1)


class ScaledCounter(Counter):
    """The count of another counter times a factor, rounded up."""

    def __init__(self, name: str, counter: Counter, factor: Fraction) -> None:
        super().__init__(
            name, exact=False, fingerprint=_fingerprint(f"{factor} {counter.fingerprint}")
        )
        self._counter = counter
        self._up, self._down = factor.as_integer_ratio()

    def _scale(self, tokens: int) -> int:
        return -(-tokens * self._up // self._down)

    def _unscale(self, tokens: int) -> int:
        return tokens * self._down // self._up

    def count(self, text: str) -> int:
        """Return the scaled count."""
        return self._scale(self._counter.count(text))

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return the scaled count of the parts together."""
        return self._scale(self._counter.count_parts(parts))

    def at_least(self, text: str, limit: int) -> int:
        """Return the scaled bound."""
        limit = max(limit, 0)
        return min(self._scale(self._counter.at_least(text, self._unscale(limit))), limit + 1)

    def most_chars(self, tokens: int) -> float:
        """Return what as many tokens as these are in the other counter's can fill."""
        return self._counter.most_chars(self._unscale(tokens))

    def exceeds(self, text: str, limit: int) -> bool:
        """Tell it as the other counter does."""
        return self._counter.exceeds(text, self._unscale(limit))

    def count_upto(self, text: str, limit: int) -> int:
        """Return the scaled count, or `limit + 1`."""
        limit = max(limit, 0)
        return min(self._scale(self._counter.count_upto(text, self._unscale(limit))), limit + 1)

    def cut(self, text: str, n: int, unit: Unit) -> str:
        """Cut at what `n` tokens are in the other counter's."""
        return self._counter.cut(text, self._unscale(n), unit)
