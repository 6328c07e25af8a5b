"""Which item's text holds another's, found by lines without comparing everything with everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .fitting.scale import Form
from .items import Item

LARGE = 1 << 20
"""Characters above which a text is not taken to its lines."""


class Twins:
    """The texts of the items asked about, by their lines.

    What holds a text has its longest line, which few others have: only where that is found are texts compared.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._longest: dict[int, str] = {}
        self._by_longest: dict[str, list[int]] = {}
        self._lines: set[str] = set()

    def find(self, index: int, chosen: Mapping[int, Form]) -> tuple[int | None, Sequence[int]]:
        """Return which of `chosen` holds the lines of this item whole, and which of them this item's lines hold.

        Only items of several lines are looked at: a single line is in too many texts to mean the same.
        """
        item = self._items[index]
        if not item.content or len(item.content) > LARGE or "\n" not in item.content:
            return None, ()
        lines = item.content.strip("\n").split("\n")
        longest = max(lines, key=len)
        seen, holds = longest in self._lines, not self._by_longest.keys().isdisjoint(lines)
        self._remember(index, longest, lines)
        if item.required:
            return None, ()
        if seen:
            mine = self._text(index)
            for other, form in chosen.items():
                if other != index and other in self._longest and _whole(form) and mine in self._text(other):
                    return other, ()
        held = []
        if holds:
            mine = self._text(index)
            for line in self._by_longest.keys() & lines:
                for other in self._by_longest[line]:
                    if other != index and other in chosen and self._text(other) in mine:
                        held.append(other)
        return None, sorted(held)

    def _remember(self, index: int, longest: str, lines: list[str]) -> None:
        if index not in self._longest:
            self._longest[index] = longest
            self._by_longest.setdefault(longest, []).append(index)
            self._lines.update(lines)

    def _text(self, index: int) -> str:
        """Return an item's lines with a line end before the first and after the last."""
        content = self._items[index].content or ""
        return "\n{}\n".format(content.strip("\n"))


def _whole(form: Form) -> bool:
    return form.name in ("content", "expanded") and not form.cut
