"""Which item's text holds another's, found by lines without comparing everything with everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .fitting.scale import Form
from .items import Item

LARGE = 1 << 20
"""Characters above which a text is not taken to its lines."""
MOST = 100
"""Of more texts that share each line, the first are compared."""


class Twins:
    """The texts of the items asked about, by their lines: only those are compared that share the rarest."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._by_longest: dict[str, list[int]] = {}
        self._known: set[int] = set()
        self._lines: set[str] = set()
        self._having: dict[str, list[int]] = {}
        """Line → items that have it; without the last ones, which wait until that is asked for."""
        self._waiting: list[tuple[int, list[str]]] = []

    def find(self, index: int, chosen: Mapping[int, Form]) -> tuple[int | None, Sequence[int]]:
        """Return which of `chosen` holds the lines of this item whole, and which of them this item's lines hold.

        Only items of several lines are looked at: a single line is in too many texts to mean the same.
        """
        item = self._items[index]
        if not item.content or len(item.content) > LARGE or "\n" not in item.content:
            return None, ()
        lines = item.content.strip("\n").split("\n")
        longest = max(lines, key=len)
        holders = self._sharing(lines) if longest in self._lines and not item.required else ()
        longests = self._by_longest.keys()
        held = () if item.required or longests.isdisjoint(lines) else longests & lines
        self._remember(index, longest, lines)
        if holders:
            mine = self._text(index)
            for other in holders:
                form = chosen.get(other)
                if (
                    other != index
                    and form is not None
                    and _whole(form)
                    and mine in self._text(other)
                ):
                    return other, ()
        found = []
        if held:
            mine = self._text(index)
            others = {other for line in held for other in self._by_longest[line][:MOST]}
            found = [
                other
                for other in sorted(others - {index})
                if other in chosen and self._text(other) in mine
            ]
        return None, found

    def _sharing(self, lines: list[str]) -> Sequence[int]:
        """Return the items that have the line which the fewest have."""
        for index, theirs in self._waiting:
            for line in theirs:
                self._having.setdefault(line, []).append(index)
        self._waiting.clear()
        return min((self._having.get(line, ()) for line in lines), key=len)[:MOST]

    def _remember(self, index: int, longest: str, lines: list[str]) -> None:
        if index not in self._known:
            self._known.add(index)
            self._by_longest.setdefault(longest, []).append(index)
            self._lines.update(lines)
            self._waiting.append((index, lines))

    def _text(self, index: int) -> str:
        """Return an item's lines with a line end before the first and after the last."""
        content = self._items[index].content or ""
        return "\n{}\n".format(content.strip("\n"))


def _whole(form: Form) -> bool:
    return form.name in ("content", "expanded") and not form.cut
