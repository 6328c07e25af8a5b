"""Which item's text holds another's, found by lines without comparing everything with everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .fitting.scale import Form
from .items import Item


class Twins:
    """The texts of the items asked about, by their lines."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._texts: dict[int, str] = {}  # with a line end before the first line and after the last
        self._longest: dict[int, str] = {}
        self._having: dict[str, list[int]] = {}
        self._by_longest: dict[str, list[int]] = {}

    def find(self, index: int, chosen: Mapping[int, Form]) -> tuple[int | None, Sequence[int]]:
        """Return which of `chosen` holds the lines of this item whole, and which of them this item's lines hold.

        Only items of several lines are asked about: a single line is in too many texts to mean the same.
        """
        item = self._items[index]
        if not item.content or item.required or "\n" not in item.content:
            return None, ()
        lines = item.content.strip("\n").split("\n")
        if index not in self._texts:
            self._texts[index] = "\n".join(("", *lines, ""))
            self._longest[index] = max(lines, key=len)  # the line that tells most: what holds the text has it too
        mine = self._texts[index]
        for other in self._having.get(self._longest[index], ()):
            form = chosen.get(other)
            if other != index and form is not None and _whole(form) and mine in self._texts[other]:
                return other, ()
        held = set()
        for line in self._by_longest.keys() & lines:
            for other in self._by_longest[line]:
                if other != index and other in chosen and self._texts[other] in mine:
                    held.add(other)
        self._remember(index, lines)
        return None, sorted(held)

    def _remember(self, index: int, lines: list[str]) -> None:
        known = self._by_longest.setdefault(self._longest[index], [])
        if index not in known:
            known.append(index)
            for line in set(lines):
                if line in self._having:
                    self._having[line].append(index)
                else:
                    self._having[line] = [index]


def _whole(form: Form) -> bool:
    return form.name in ("content", "expanded") and not form.cut
