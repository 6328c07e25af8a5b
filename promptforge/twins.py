"""Which item's text holds another's, found by lines without comparing everything with everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .items import Item
from .scale import Form


class _Lines(NamedTuple):
    text: str
    """The lines, with a line end before the first and after the last."""
    longest: str
    """The line that tells most: what holds the text has it too."""
    every: frozenset[str]


class Twins:
    """The texts of the items asked about, by their lines."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._lines: dict[int, _Lines] = {}
        self._having: dict[str, list[int]] = {}
        self._by_longest: dict[str, list[int]] = {}

    def find(self, index: int, chosen: Mapping[int, Form]) -> tuple[int | None, Sequence[int]]:
        """Return which of `chosen` holds the lines of this item whole, and which of them this item's lines hold.

        Only items of several lines are asked about: a single line is in too many texts to mean the same.
        """
        item = self._items[index]
        if not item.content or item.required or "\n" not in item.content:
            return None, ()
        mine = self._lines.get(index)
        if mine is None:
            mine = self._read(index, item.content)
        for other in self._having[mine.longest]:
            form = chosen.get(other)
            if other != index and form is not None and _whole(form) and mine.text in self._lines[other].text:
                return other, ()
        held = []
        for line in mine.every & self._by_longest.keys():
            for other in self._by_longest[line]:
                if other != index and other in chosen and self._lines[other].text in mine.text:
                    held.append(other)
        return None, sorted(held)

    def _read(self, index: int, content: str) -> _Lines:
        lines = content.strip("\n").split("\n")
        read = self._lines[index] = _Lines("\n".join(("", *lines, "")), max(lines, key=len), frozenset(lines))
        for line in read.every:
            self._having.setdefault(line, []).append(index)
        self._by_longest.setdefault(read.longest, []).append(index)
        return read


def _whole(form: Form) -> bool:
    return form.name in ("content", "expanded") and not form.cut
