"""Find items with texts that contain each other, without comparing everything with everything.

A text that another contains has all its lines there. So only texts that share a line are compared:
the rarest line of the smaller, or the longest, by which every text is indexed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model import Item
from ..packing.types import Variant

MAX_CONTAINED_CHARACTERS = 1 << 20
"""Characters above which a text is not split into lines."""

MAX_TEXTS_PER_LINE = 100
"""Texts compared that share one line: the first."""


class ContainedTexts:
    """The texts of the items asked about so far, indexed by their lines."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._by_longest: dict[str, list[int]] = {}
        """Longest line of a text → items."""
        self._known: set[int] = set()
        self._lines: set[str] = set()
        self._having: dict[str, list[int]] = {}
        """Line → items that have it."""
        # Indexing every line is the dear part. Texts wait for it until one shares its longest line
        # with any text before it; in most lists none ever does.
        self._waiting: list[tuple[int, list[str]]] = []

    def find(self, index: int, chosen: Mapping[int, Variant]) -> tuple[int | None, list[int]]:
        """Return the one of `chosen` that contains this item, and those that this item contains.

        Only items of several lines are compared: a single line stands in many texts by chance.
        """
        item = self._items[index]
        if (
            not item.content
            or len(item.content) > MAX_CONTAINED_CHARACTERS
            or "\n" not in item.content
        ):
            return None, []
        lines = item.content.strip("\n").split("\n")
        longest = max(lines, key=len)
        holders: Sequence[int] = ()
        held: set[str] = set()
        if not item.required:
            if longest in self._lines:
                holders = self._sharing(lines)
            held = self._by_longest.keys() & lines
        self._remember(index, longest, lines)
        if not holders and not held:
            return None, []
        mine = self._text(index)
        for other in holders:
            form = chosen.get(other)
            if form is None or other == index or not _is_whole(form):
                continue
            if mine in self._text(other):
                return other, []
        others = {other for line in held for other in self._by_longest[line][:MAX_TEXTS_PER_LINE]}
        return None, [
            other
            for other in sorted(others - {index})
            if other in chosen and self._text(other) in mine
        ]

    def _sharing(self, lines: list[str]) -> Sequence[int]:
        """Return the items that share the rarest of these lines."""
        for index, theirs in self._waiting:
            for line in theirs:
                self._having.setdefault(line, []).append(index)
        self._waiting.clear()
        return min((self._having.get(line, ()) for line in lines), key=len)[:MAX_TEXTS_PER_LINE]

    def _remember(self, index: int, longest: str, lines: list[str]) -> None:
        if index not in self._known:
            self._known.add(index)
            self._by_longest.setdefault(longest, []).append(index)
            self._lines.update(lines)
            self._waiting.append((index, lines))

    def _text(self, index: int) -> str:
        """Return an item's lines with a line end at both ends, so that only whole lines match."""
        return "\n{}\n".format((self._items[index].content or "").strip("\n"))


def _is_whole(form: Variant) -> bool:
    return form.name in ("content", "expanded") and not form.cut
