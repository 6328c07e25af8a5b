"""Token counts without a vocabulary, or from another model's: estimates, named as such.

`approximate-characters` and `approximate-words` reproduce the estimator of a C# program number for
number: lengths in UTF-16 units, divisions in 32-bit floating point, white space as in .NET, and
character classes by the general category of each UTF-16 unit.
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

from ..text.split_points import WHITE_SPACE_CHARACTERS, Unit
from .base import Counter


class FamilyFactor(NamedTuple):
    """The factor for a family of LLMs without a public tokenizer here."""

    hundredths: int
    """Tokens of the family for 100 tokens of o200k_base, at most.

    The largest ratio on any stretch of 2,000 characters of prose, code, manual pages, Chinese and
    Japanese, Markdown and other languages. Text unlike all of that can need more.
    """
    family: str
    source: str
    """The tool that counted the family's tokens."""
    as_of: str = "2026-11"
    """The month of the measurement."""

    @property
    def factor(self) -> Fraction:
        """The factor itself."""
        return Fraction(self.hundredths, 100)


# Anthropic publishes no tokenizer: ctok rebuilds its counts.
FAMILY_FACTORS: dict[str, FamilyFactor] = {
    "approximate-claude": FamilyFactor(
        212, "any Claude", "ctok 1.3.0, unofficial; Opus 4.7 is the hungriest"
    ),
    "approximate-claude-4": FamilyFactor(196, "Claude 3 to Opus 4.6", "ctok 1.3.0, unofficial"),
    "approximate-gemini": FamilyFactor(140, "Gemini", "Gemma 3's tokenizer"),
    "approximate-llama": FamilyFactor(123, "Llama 3", "its tokenizer"),
    "approximate-qwen": FamilyFactor(176, "Qwen 3", "its tokenizer"),
    "approximate-deepseek": FamilyFactor(125, "DeepSeek V3", "its tokenizer"),
    "approximate-mistral": FamilyFactor(144, "Mistral (tekken)", "its tokenizer"),
}
"""Name of the estimate → its factor."""
_WHITE = re.compile(f"[{WHITE_SPACE_CHARACTERS}]+")
_ASCII_ORDINARY = bytes(c for c in range(128) if chr(c).isalnum() or c in b"\t\n\x0b\x0c\r ")


def _single(value: float) -> float:
    """Round to 32-bit floating point."""
    result: float = struct.unpack("f", struct.pack("f", value))[0]
    return result


@functools.cache
def _classes() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Build the character classes of .NET: letters, digits and blanks; upper case; lower case."""
    # A character of two UTF-16 units, an emoji say, counts by its halves: each is of category Cs,
    # and so neither letter, digit nor white space.
    members: dict[str, str] = {}
    for category, run in itertools.groupby(map(chr, range(0x10000)), unicodedata.category):
        codes = [ord(char) for char in run]
        ranges = members.setdefault(category, "")
        members[category] = rf"{ranges}\u{codes[0]:04x}-\u{codes[-1]:04x}"
    ordinary = "".join(members[category] for category in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"))
    upper, lower = re.compile(f"[{members['Lu']}]"), re.compile(f"[{members['Ll']}]")
    return re.compile(f"[{ordinary}{WHITE_SPACE_CHARACTERS}]+"), upper, lower


def _units(text: str) -> int:
    """Return the length in UTF-16 units."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _measure(text: str) -> tuple[int, int]:
    """Return the UTF-16 units of `text`, and those that are no letter, digit or white space."""
    if text.isascii():
        return len(text), len(text.encode("ascii").translate(None, _ASCII_ORDINARY))
    return _units(text), _units(_classes()[0].sub("", text))


def _estimate_by_characters(units: int, special: int) -> int:
    """Return a quarter of the units, rounded up, and a third of the special ones."""
    return math.ceil(_single(units) / 4) + special // 3


def _estimate_by_words(words: int) -> int:
    """Return four thirds of the words."""
    return math.ceil(_single(_single(words) / 0.75))


def _count_words(text: str) -> int:
    """Count words; one of more than ten units counts again, and so does one of mixed case."""
    words = 0
    if text.isascii():
        # bytes.split() knows the white space of ASCII alone, as .NET does; str.split() has more.
        for word in text.encode("ascii").split():
            words += 1 + (len(word) > 10) + (word != word.lower() and word != word.upper())
        return words
    _, upper, lower = _classes()
    for piece in filter(None, _WHITE.split(text)):
        mixed = bool(upper.search(piece) and lower.search(piece))
        words += 1 + (_units(piece) > 10) + mixed
    return words


class _Formula(Counter):
    """A counter that its name defines; its fingerprint is the hash of the name."""

    def __init__(self, name: str, *, exact: bool = False) -> None:
        fingerprint = hashlib.sha256(name.encode()).hexdigest()
        super().__init__(name, exact=exact, fingerprint=fingerprint)


class CharacterCounter(_Formula):
    """`characters`: a budget in characters (Unicode code points)."""

    def __init__(self) -> None:
        super().__init__("characters", exact=True)

    def count(self, text: str) -> int:
        """Return the length."""
        return len(text)

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return the sum of the lengths."""
        return sum(map(len, parts))

    def at_least(self, text: str, limit: int) -> int:
        """Return the length, or `limit + 1`."""
        return min(len(text), max(limit, 0) + 1)


class CharacterEstimate(_Formula):
    """`approximate-characters`: a quarter of the characters, more for punctuation."""

    def __init__(self) -> None:
        super().__init__("approximate-characters")

    def count(self, text: str) -> int:
        """Return the estimate by characters."""
        return _estimate_by_characters(*_measure(text))

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return the estimate of the joined parts: both its terms add up before the rounding."""
        units = special = 0
        for part in parts:
            more_units, more_special = _measure(part)
            units += more_units
            special += more_special
        return _estimate_by_characters(units, special)

    def at_least(self, text: str, limit: int) -> int:
        """Return a quarter of the characters: UTF-16 units are never fewer."""
        return min(_estimate_by_characters(len(text), 0), max(limit, 0) + 1)


class WordEstimate(_Formula):
    """`approximate-words`: four thirds of the words, more for long and mixed-case ones."""

    def __init__(self) -> None:
        super().__init__("approximate-words")

    def count(self, text: str) -> int:
        """Return the estimate by words."""
        return _estimate_by_words(_count_words(text))

    def at_least(self, text: str, limit: int) -> int:
        """Return four thirds of the words at the beginning."""
        limit = max(limit, 0)
        beginning = text[: 8 * (limit + 1)]
        # str.split() parts words at these four too, and .NET does not.
        words = len(beginning.split(None, limit)) - sum(map(beginning.count, "\x1c\x1d\x1e\x1f"))
        return min(_estimate_by_words(max(words, 0)), limit + 1)


class ScaledCounter(Counter):
    """The count of another counter times a factor, rounded up."""

    def __init__(self, name: str, counter: Counter, factor: Fraction) -> None:
        key = f"{factor} {counter.fingerprint}"
        fingerprint = hashlib.sha256(key.encode()).hexdigest()
        super().__init__(name, exact=False, fingerprint=fingerprint)
        self._counter = counter
        self._up, self._down = factor.as_integer_ratio()

    def _scale(self, tokens: int) -> int:
        return -(-tokens * self._up // self._down)

    def _unscale(self, tokens: int) -> int:
        """Return the largest count of the other counter with a scaled count of at most `tokens`."""
        return tokens * self._down // self._up

    def count(self, text: str) -> int:
        """Return the scaled count."""
        return self._scale(self._counter.count(text))

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return the scaled count of the joined parts."""
        return self._scale(self._counter.count_parts(parts))

    def at_least(self, text: str, limit: int) -> int:
        """Return the scaled bound."""
        limit = max(limit, 0)
        return min(self._scale(self._counter.at_least(text, self._unscale(limit))), limit + 1)

    def most_chars(self, tokens: int) -> float:
        """Return the bound of the other counter for as many of its tokens."""
        return self._counter.most_chars(self._unscale(tokens))

    def count_upto(self, text: str, limit: int) -> int:
        """Return the scaled count, or `limit + 1`."""
        limit = max(limit, 0)
        return min(self._scale(self._counter.count_upto(text, self._unscale(limit))), limit + 1)

    def cut(self, text: str, n: int, unit: Unit) -> str:
        """Cut at as many tokens of the other counter."""
        return self._counter.cut(text, self._unscale(n), unit)
