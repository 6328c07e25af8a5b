"""A bounded cache of results by text."""

from __future__ import annotations

import hashlib
from typing import Generic, TypeVar

Value = TypeVar("Value")

MIN_CHARS_HASHED = 1 << 20
"""Characters from which a text is remembered by its sha256 instead of by itself."""


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
        key = _key(text)
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
