"""Bytes as choices: numbers, texts and members of lists, in the order in which they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import hostile_strings as hostile

T = TypeVar("T")
PARTS = [*hostile.PARTS, *hostile.STRINGS]


class Draw:
    """What some bytes choose; when they are used up, always the least."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, upto: int) -> int:
        """Return a number from 0 up to and with `upto`."""
        size = (upto.bit_length() + 7) // 8
        return int.from_bytes(self.take(size), "big") % (upto + 1)

    def true(self) -> bool:
        """Return a truth."""
        return bool(self.number(1))

    def of(self, choices: Sequence[T]) -> T:
        """Return one of these."""
        return choices[self.number(len(choices) - 1)]

    def text(self, upto: int = 300) -> str:
        """Return a text, lone surrogates in it too; now and then a hostile one that is known."""
        if self.number(255) < 64:
            return "".join(self.of(PARTS) for _ in range(1 + self.number(3)))
        return self.take(self.number(upto)).decode("utf-8", "surrogateescape")

    def rest(self) -> bytes:
        """Return all that is left."""
        return self._data[self._at :]
