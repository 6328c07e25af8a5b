"""Counters of tokens: their base, those of the user's own, and estimates without a vocabulary.

`approximate-characters` and `approximate-words` reproduce the estimator of a C# program number for
number: lengths in UTF-16 units, divisions in 32-bit floating point, white space as in .NET, and
character classes by the general category of each UTF-16 unit.
"""

import bisect
import functools
import hashlib
import math
import operator
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from ..errors import TokenizerError, quote, show_value
from ..files.access import read_bytes
from ..text.characters import categories
from ..text.words import WHITE_SPACE_CHARACTERS, Unit, last_unit_end, late_pattern, unit_ends

Value = TypeVar("Value")
MAX_CHARS_CACHED = 1 << 24
"""Characters of text with remembered counts, for each counter."""
MIN_CHARS_HASHED = 1 << 13
"""A text of so many characters is remembered by its sha256 instead of by itself.

A folder's files are then counted once, however many there are: by themselves, the 31 million
characters of a standard library would push one another out.
"""


@runtime_checkable
class Tokenizer(Protocol):
    """A counter of your own.

    An attribute `exact` (bool) is optional: set it to False if the counts are estimates.
    """

    name: str

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        ...


class Counter:
    """A tokenizer as the engine uses it, shared by all threads.

    A subclass defines `count`. It may define the other methods too, where it knows a faster way.
    """

    def __init__(self, name: str, *, exact: bool, fingerprint: str) -> None:
        self.name = name
        self.exact = exact
        """False for an estimate."""
        self.fingerprint = fingerprint
        """Equal for two counters only if they count alike: sha256 (hex), or `custom`."""

    def __repr__(self) -> str:
        return f"<Counter {self.name}>"

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`; control tokens in it count as ordinary text."""
        raise NotImplementedError

    def settle(self, make: Callable[["Counter"], Any]) -> Any:
        """Return the result of `make` (counter → result) that a provider's own count allows.

        None for a counter that asks no provider.
        """
        return None

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return exactly `count("".join(parts))`; subclasses remember parts they saw before."""
        return self.count("".join(parts))

    def count_ended(self, text: str, tokens: int, end: str) -> int:
        """Return `count(text + end)`, where `text` alone has so many tokens."""
        return self.count(text + end)

    def at_least(self, text: str, limit: int) -> int:
        """Return a lower bound of `count(text)`, at most `limit + 1`, in time bound by `limit`."""
        return 0

    def words_at_least(self, text: str, limit: int) -> int:
        """Return a lower bound as `at_least` does, which holds with more blanks between words."""
        return 0

    def most_chars(self, tokens: int) -> float:
        """Return the greatest number of characters that so many tokens can hold."""
        return math.inf

    def count_upto(self, text: str, limit: int) -> int:
        """Return `count(text)`, or `limit + 1` if it is above `limit`, by as little as needed."""
        limit = max(limit, 0)
        least = self.at_least(text, limit)
        if least > limit:
            return least
        return min(self.count(text), limit + 1)

    def cut(self, text: str, n: int, unit: Unit) -> str:
        """Return the longest prefix found of at most `n` tokens that ends where a `unit` ends.

        A text that fits comes back whole; "" comes back if not even one unit fits. A line keeps
        its line feed; a sentence and a word end before the white space. Of a huge text, not much
        more is read than `n` tokens take.
        """
        if n <= 0:
            return ""
        # Most tokens have fewer than eight characters; a run of blanks may have a hundred.
        size = 8 * n + 64
        while size < len(text) and self.count(text[:size]) <= n:
            size *= 2
        if size >= len(text) and self.count(text) <= n:
            return text
        places = unit_ends(text, unit, 0, min(size, len(text)))
        index = bisect.bisect_right(places, n, key=lambda place: self.count(text[:place]))
        # Counts can fall as a text grows ("\n" * 15 and "\n" * 16), so the next few may fit again.
        for place in reversed(places[index : index + 8]):
            if self.count(text[:place]) <= n:
                return text[:place]
        return text[: places[index - 1]] if index else ""


class CustomCounter(Counter):
    """A counter of the user's own; its counts are used as they are."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        exact = bool(getattr(tokenizer, "exact", True))
        super().__init__(tokenizer.name, exact=exact, fingerprint="custom")
        self._count: Callable[[str], object] = tokenizer.count

    def count(self, text: str) -> int:
        """Return the count of the user's function.

        Raises `TokenizerError` if the function fails or returns no whole number of 0 or more.
        """
        try:
            found = self._count(text)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of a library in Rust is no Exception
            raise TokenizerError(
                f"tokenizer {quote(self.name)}: count() failed on a text of {len(text)} characters:"
                f" {type(error).__name__}: {quote(str(error))}"
            ) from error
        # operator.index takes numpy's integers too, and no float; True is an int, but no count.
        try:
            tokens = operator.index(found)  # type: ignore[arg-type]
        except TypeError:
            tokens = -1
        if tokens < 0 or isinstance(found, bool):
            shown = type(found).__name__
            if isinstance(found, int):
                shown = str(found)
            raise TokenizerError(
                f"tokenizer {quote(self.name)}: count() returned {quote(shown)};"
                " it must be a whole number, 0 or more"
            )
        return tokens


def require_text(given: object) -> None:
    """Raise `TokenizerError` for what is no text."""
    if not issubclass(type(given), str):
        raise TokenizerError(f"a count is of a text (str); got {show_value(given)}")


class RecentCache(Generic[Value]):
    """A cache of values by text, of at most `size` characters; it forgets the least recently used.

    Two generations stand in for an order of use: a full young one becomes the old one, and the
    old one is dropped. Each step is one operation of a dict, so threads may share the cache
    without a lock; a value lost to a race is computed again.
    """

    def __init__(self, size: int, count_chars: Callable[[Value], int] = lambda _: 0) -> None:
        """Take the size, and a function from a value to the characters it holds."""
        self._count_chars = count_chars
        self._half = size // 2
        self._room = self._half
        self._new: dict[str | bytes, Value] = {}
        self._old: dict[str | bytes, Value] = {}

    def get(self, text: str) -> Value | None:
        """Return the value remembered for `text`, None if there is none."""
        try:
            key = text if len(text) < MIN_CHARS_HASHED else _key(text)
            found = self._new.get(key)
        except (TypeError, AttributeError):
            require_text(text)
            raise
        if found is None and (found := self._old.get(key)) is not None:
            self._put(key, found)
        return found

    def put(self, text: str, value: Value) -> None:
        """Remember `value` for `text`."""
        self._put(_key(text), value)

    def _put(self, key: str | bytes, value: Value) -> None:
        chars = len(key) + self._count_chars(value)
        # One text of more than a quarter would push out all others.
        if chars > self._half >> 1:
            return
        self._room -= chars + 64
        if self._room < 0:
            self._old, self._new, self._room = self._new, {}, self._half
        self._new[key] = value


def _key(text: str) -> str | bytes:
    if len(text) < MIN_CHARS_HASHED:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


# --- estimates ------------------------------------------------------------------------------------


class FamilyEstimate(NamedTuple):
    """The estimate for a family of LLMs without a public tokenizer here: an upper bound.

    It counts tokens of o200k_base, and characters by class: a family's vocabulary may be poor in a
    script, in digits or in signs, and a single factor is then too little there, or too much for
    all else. `python -m tests.benchmarks.estimates` fits the rates; of the texts held out, at least
    99.5 % take no more than the estimate of their family.
    """

    family: str
    source: str
    """The tool that counted the family's tokens."""
    token: int
    """Hundredths of a token for each token of o200k_base."""
    unusual: int
    """Hundredths more for each token of o200k_base beyond `ORDINARY_RATES`."""
    rates: Mapping[str, int]
    """Class of characters → hundredths of a token more for each of its characters."""
    as_of: str = "2026-11"
    """The month of the measurement."""


LATIN_CLASSES = ("digit", "upper", "lower", "space", "line", "sign", "control", "latin_1")
"""Classes of the first 256 characters."""
BLOCK_CLASSES: dict[str, tuple[int, ...]] = {
    "latin": (0x01, 0x02), "greek": (0x03, 0x1F), "cyrillic": (0x04,), "hebrew": (0x05,),
    "arabic": (0x06, 0x07, 0x08, 0xFB, 0xFC, 0xFD), "devanagari": (0x09,), "gujarati": (0x0A,),
    "tamil": (0x0B,), "telugu": (0x0C,), "malayalam": (0x0D,), "thai": (0x0E,), "tibetan": (0x0F,),
    "georgian": (0x10,), "ethiopic": (0x12, 0x13), "khmer": (0x17,), "vietnamese": (0x1E,),
    "punctuation": (0x20,), "symbol": tuple(range(0x21, 0x2C)), "kana": (0x30, 0xFF),
    "han": (*range(0x34, 0xA0), 0xF9, 0xFA), "hangul": (0x11, *range(0xAC, 0xD8)),
    "emoji": (*range(0xD8, 0xE0), 0xFE), "other": (),
}  # fmt: skip
"""Class → high bytes of its UTF-16 units; it has the name of the best known script among them.

A character beyond U+FFFF, most emoji say, is two units of `emoji`. Other bytes are `other`.
"""
CHARACTER_CLASSES = (*LATIN_CLASSES, *BLOCK_CLASSES)
ORDINARY_RATES = {"digit": 129, "upper": 17, "lower": 23, "space": 9, "line": 45, "sign": 51}
"""Class → hundredths of a token of o200k_base for each character of English prose and code.

A text that takes more is in a language that o200k_base knows little, and a family still less.
"""
FAMILY_ESTIMATES = msgspec.json.decode(
    read_bytes(Path(__file__).with_name("estimates.json")), type=dict[str, FamilyEstimate]
)
"""Name of the estimate → its rates. Anthropic publishes no tokenizer: ctok rebuilds its counts."""


def _latin_class(char: str) -> str:
    if char.isascii() and char.isalpha():
        return "upper" if char.isupper() else "lower"
    if char in "\n\r\t":
        return "line"
    if char in " 0123456789":
        return "space" if char == " " else "digit"
    if not char.isascii():
        return "latin_1"
    return "sign" if char.isprintable() else "control"


_NUMBER_OF = {name: number for number, name in enumerate(CHARACTER_CLASSES)}
_NO_BLOCK = 255
"""The first 256 characters, in the table of blocks."""
_LATIN_TABLE = bytes(_NUMBER_OF[_latin_class(chr(code))] for code in range(256))
_BLOCK_OF = {byte: name for name, block in BLOCK_CLASSES.items() for byte in block}
_BLOCK_TABLE = bytes(
    [_NO_BLOCK, *(_NUMBER_OF[_BLOCK_OF.get(byte, "other")] for byte in range(1, 256))]
)


def count_classes(text: str) -> list[int]:
    """Return how many characters of each of `CHARACTER_CLASSES` a text has.

    Those beyond U+00FF are counted as UTF-16 units.
    """
    # Two translations and a search per class; a loop over characters takes eight times as long.
    latin = text.encode("latin-1", "ignore").translate(_LATIN_TABLE)
    counts = [latin.count(number) for number in range(len(LATIN_CLASSES))]
    if len(latin) == len(text):
        return [*counts, *[0] * len(BLOCK_CLASSES)]
    blocks = text.encode("utf-16-le", "surrogatepass")[1::2].translate(_BLOCK_TABLE)
    return [*counts, *(blocks.count(n) for n in range(len(counts), len(CHARACTER_CLASSES)))]


_WHITE = late_pattern(f"[{WHITE_SPACE_CHARACTERS}]+")
_ASCII_ORDINARY = bytes(c for c in range(128) if chr(c).isalnum() or c in b"\t\n\x0b\x0c\r ")


def _single(value: float) -> float:
    result: float = struct.unpack("f", struct.pack("f", value))[0]
    return result


@functools.cache
def _classes() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Build the character classes of .NET: letters, digits and blanks; upper case; lower case."""
    # A character of two UTF-16 units, an emoji say, counts by its halves: each is of category Cs,
    # and so neither letter, digit nor white space.
    members: dict[str, str] = {}
    for category, run in categories(0x10000):
        members[category] = rf"{members.get(category, '')}\u{run[0]:04x}-\u{run[-1]:04x}"
    ordinary = "".join(members[category] for category in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"))
    upper, lower = re.compile(f"[{members['Lu']}]"), re.compile(f"[{members['Ll']}]")
    return re.compile(f"[{ordinary}{WHITE_SPACE_CHARACTERS}]+"), upper, lower


def _units(text: str) -> int:
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _estimate_by_words(words: int) -> int:
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

    def count(self, text: str) -> int:
        """Return the length."""
        require_text(text)
        return len(text)

    def at_least(self, text: str, limit: int) -> int:
        """Return the length, or `limit + 1`."""
        return min(len(text), max(limit, 0) + 1)

    def cut(self, text: str, n: int, unit: Unit) -> str:
        """Cut at the last end of a unit; see `Counter.cut`."""
        if n >= len(text):
            return text
        return text[: last_unit_end(text, unit, max(n, 0))]


class CharacterEstimate(_Formula):
    """`approximate-characters`: a quarter of the characters, more for punctuation."""

    def count(self, text: str) -> int:
        """Return the estimate: a third of what is no letter, digit or white space counts more."""
        require_text(text)
        if text.isascii():
            special = len(text.encode("ascii").translate(None, _ASCII_ORDINARY))
        else:
            special = _units(_classes()[0].sub("", text))
        return math.ceil(_single(_units(text)) / 4) + special // 3

    def at_least(self, text: str, limit: int) -> int:
        """Return a quarter of the characters: UTF-16 units are never fewer."""
        return min(math.ceil(_single(len(text)) / 4), max(limit, 0) + 1)


class WordEstimate(_Formula):
    """`approximate-words`: four thirds of the words, more for long and mixed-case ones."""

    def count(self, text: str) -> int:
        """Return the estimate by words."""
        require_text(text)
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
        return self._counter.most_chars(self._unscale(max(tokens, 0)))

    def count_upto(self, text: str, limit: int) -> int:
        """Return the scaled count, or `limit + 1`."""
        limit = max(limit, 0)
        return min(self._scale(self._counter.count_upto(text, self._unscale(limit))), limit + 1)

    def cut(self, text: str, n: int, unit: Unit) -> str:
        """Cut at as many tokens of the other counter."""
        return self._counter.cut(text, self._unscale(n), unit)


class FamilyCounter(ScaledCounter):
    """The estimate for a family: another counter's tokens and the characters, at their rates.

    No rate is below 0, so that the bounds by the tokens alone hold.
    """

    def __init__(self, name: str, counter: Counter, estimate: FamilyEstimate) -> None:
        super().__init__(name, counter, Fraction(estimate.token, 100))
        key = f"{estimate} {ORDINARY_RATES} {counter.fingerprint}"
        self.fingerprint = hashlib.sha256(key.encode()).hexdigest()
        self._token, self._unusual = estimate.token, estimate.unusual
        self._rates = [estimate.rates.get(name, 0) for name in CHARACTER_CLASSES]
        self._ordinary = [ORDINARY_RATES.get(name, 0) for name in CHARACTER_CLASSES]

    def _estimate(self, tokens: int, text: str) -> int:
        classes = count_classes(text)
        unusual = 100 * tokens - sum(map(operator.mul, classes, self._ordinary))
        total = self._token * tokens + sum(map(operator.mul, classes, self._rates))
        total += max(0, unusual) * self._unusual // 100
        return int(-(-total // 100))

    def count(self, text: str) -> int:
        """Return the estimate."""
        return self._estimate(self._counter.count(text), text)

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return the estimate of the joined parts."""
        return self._estimate(self._counter.count_parts(parts), "".join(parts))

    count_upto = Counter.count_upto

    def cut(self, text: str, n: int, unit: Unit) -> str:
        """Cut at as many tokens of the other counter at most, then by the estimate."""
        return Counter.cut(self, super().cut(text, n, unit), n, unit)
