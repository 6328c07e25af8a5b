"""The counter of tokens as the engine uses it, and a cache of counts by text."""

from __future__ import annotations

import bisect
import hashlib
import math
import operator
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

from ..errors import TokenizerError, quote
from ..text.split_points import Unit, unit_ends

Value = TypeVar("Value")
MAX_CHARS_CACHED = 1 << 24
"""Characters of text with remembered counts, for each counter."""
MIN_CHARS_HASHED = 1 << 20
"""A text of more characters is remembered by its sha256 instead of by itself."""


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

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return exactly `count("".join(parts))`; subclasses remember parts they saw before."""
        return self.count("".join(parts))

    def at_least(self, text: str, limit: int) -> int:
        """Return a lower bound of `count(text)`, at most `limit + 1`, in time bound by `limit`."""
        return 0

    def words_at_least(self, text: str, limit: int) -> int:
        """Return a lower bound as `at_least` does, which holds with more blanks between words."""
        return 0

    def quick_test(self, limit: int) -> Callable[[str], object] | None:
        """Return a test that is true of texts with more than `limit` words, in one call in C.

        None where there is no such test. It refuses fewer texts than `at_least`, and holds as
        `words_at_least` does.
        """
        return None

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


class RecentCache(Generic[Value]):
    """A cache of values by text, of at most `size` characters; it forgets the least recently used.

    Two generations stand in for an order of use: a full young one becomes the old one, and the
    old one is dropped. Each step is one operation of a dict, so threads may share the cache
    without a lock; a value lost to a race is computed again.
    """

    def __init__(self, size: int) -> None:
        self._half = size // 2
        self._room = self._half
        self._new: dict[str | bytes, Value] = {}
        self._old: dict[str | bytes, Value] = {}

    def get(self, text: str) -> Value | None:
        """Return the value remembered for `text`, None if there is none."""
        key = text if len(text) < MIN_CHARS_HASHED else _key(text)
        found = self._new.get(key)
        if found is None and (found := self._old.get(key)) is not None:
            self._put(key, found)
        return found

    def put(self, text: str, value: Value) -> None:
        """Remember `value` for `text`."""
        self._put(_key(text), value)

    def _put(self, key: str | bytes, value: Value) -> None:
        # One text of more than a quarter would push out all others.
        if len(key) > self._half >> 1:
            return
        self._room -= len(key) + 64
        if self._room < 0:
            self._old, self._new, self._room = self._new, {}, self._half
        self._new[key] = value


def _key(text: str) -> str | bytes:
    if len(text) < MIN_CHARS_HASHED:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
