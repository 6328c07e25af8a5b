"""A bounded memory of what was worked out about a text."""

from __future__ import annotations

import hashlib
from typing import Generic, TypeVar

Value = TypeVar("Value")
LONG = 1 << 20
"""Characters of a text from which on it is remembered by its sha256."""


class Recent(Generic[Value]):
    """A memory of values by text, of at most `size` characters: what was not asked for lately is forgotten.

    Threads may share it: each step is one operation of a dict, and a value lost to a race is computed again.
    """

    def __init__(self, size: int) -> None:
        self._half = size // 2
        self._room = self._half
        self._new: dict[str | bytes, Value] = {}
        self._old: dict[str | bytes, Value] = {}

    def get(self, text: str) -> Value | None:
        """Return what was remembered of `text`."""
        key = _key(text)
        found = self._new.get(key)
        if found is None and (found := self._old.get(key)) is not None:
            self._put(key, found)
        return found

    def put(self, text: str, value: Value) -> None:
        """Remember `value` of `text`."""
        self._put(_key(text), value)

    def _put(self, key: str | bytes, value: Value) -> None:
        if len(key) > self._half >> 1:
            return
        self._room -= len(key) + 64
        if self._room < 0:
            self._old, self._new, self._room = self._new, {}, self._half
        self._new[key] = value


def _key(text: str) -> str | bytes:
    return (
        text if len(text) < LONG else hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    )
