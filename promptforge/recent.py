"""A bounded memory of what was worked out about a text."""

from __future__ import annotations

from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """A memory of values by text, of at most `size` characters: what was not asked for lately is forgotten.

    Threads may share it: each step is one operation of a dict, and a value lost to a race is computed again.
    """

    def __init__(self, size: int) -> None:
        self._half = size // 2
        self._room = self._half
        self._new: dict[str, Value] = {}
        self._old: dict[str, Value] = {}

    def get(self, text: str) -> Value | None:
        """Return what was remembered of `text`."""
        found = self._new.get(text)
        if found is None and (found := self._old.get(text)) is not None:
            self.put(text, found)
        return found

    def put(self, text: str, value: Value) -> None:
        """Remember `value` of `text`, unless `text` is very long."""
        if len(text) > self._half >> 1:
            return
        self._room -= len(text) + 64
        if self._room < 0:
            self._old, self._new, self._room = self._new, {}, self._half
        self._new[text] = value
