"""A text in pieces, of which any may be left out: what every way of shortening by structure is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

ALWAYS = math.inf
"""The `keep` of a piece that is never left out."""


class Rung(NamedTuple):
    """One shorter form of a text: whole in its own syntax, with marks where something is gone."""

    text: str
    name: str = "trimmed"
    """`trimmed`, or `outline` where nothing but the skeleton is left."""


class Ladder(Protocol):
    """The shorter forms of one text, from long to short."""

    def __len__(self) -> int:
        """Return how many there are; 0: the text cannot be shortened."""
        ...

    def rung(self, number: int) -> Rung:
        """Return one of them: 0 is the longest."""
        ...


class Piece(NamedTuple):
    """A stretch of a text that stays or goes as one."""

    text: str
    keep: float = 0.0
    """How long it stays if no query says otherwise: the lowest goes first, of equals the last; `ALWAYS`: it stays."""
    under: int = -1
    """The piece before it without which it may not stand: its heading, its signature; -1: none."""
    joint: bool = False
    """Whether it is skeleton (a heading, a signature): worth nothing without what stands under it, but an outline."""
    kind: str = ""
    """What the divider calls it, so that its `Gap` can tell a row of a table from a paragraph."""
    shuts: int = -1
    """The piece that this one ends (a closing brace, `except` after `try`): it stays exactly as long; -1: none."""


Gap = Callable[[Sequence[Piece]], str]
"""Returns what stands in place of a run of pieces that are gone."""
Head = Callable[[int, int], str]
"""Returns what stands before a shortened text, from the lines that are gone and the lines there were."""
Size = Callable[[str], int]
"""Returns how much of what a head speaks of is in a piece, where that is not lines."""


class Pieces:
    """A text cut into pieces: joined, they are the text. Nothing here is ever said in other words, it stays or goes."""

    def __init__(
        self,
        parts: Sequence[Piece],
        gap: Gap,
        head: Head,
        size: Size | None = None,
        *,
        loose: bool = False,
    ) -> None:
        self.parts = tuple(parts)
        self.loose = loose
        """Whether a piece may be cut at a word too, since nothing has to be closed."""
        self._gap = gap
        self._head = head
        self._sizes = [size(part.text) for part in self.parts] if size else _begun(self.parts)
        self._all = sum(self._sizes)
        self._always = frozenset(i for i, part in enumerate(self.parts) if part.keep == ALWAYS)
        self._ends = [(i, part.shuts) for i, part in enumerate(self.parts) if part.shuts >= 0]

    def closed(self, kept: Collection[int]) -> set[int]:
        """Return `kept` with what its pieces stand under, and all that always stays."""
        found = set(self._always)
        for index in kept:
            while index >= 0 and index not in found:
                found.add(index)
                index = self.parts[index].under
        found.update(
            end for end, start in self._ends if start in found
        )  # lazily: an end may be a start itself
        return found

    def text(self, kept: Collection[int], beginning: tuple[int, str] | None = None) -> str:
        """Return the text with only these pieces (closed) left in it, and a mark at each gap; whole if none is gone.

        `beginning`: of one more piece, its index, so much.
        """
        staying = self.closed(kept)
        if len(staying) == len(self.parts):
            return "".join(part.text for part in self.parts)
        shown = {index: self.parts[index].text for index in staying}
        if beginning is not None and beginning[0] not in shown:
            shown[beginning[0]] = beginning[1]
        out: list[str] = []
        following = 0
        for index in sorted(shown):
            if following < index:
                out.append(self._gap(self.parts[following:index]))
            out.append(shown[index])
            following = index + (
                index in staying
            )  # what is gone of a piece that has only begun is marked after it
        if following < len(self.parts):
            out.append(self._gap(self.parts[following:]))
        gone = self._all - sum([self._sizes[index] for index in staying])
        return self._head(gone, self._all) + "".join(out)

    def ladder(self, worth: Mapping[int, float] | None = None) -> Ladder:
        """Return the forms that come of leaving pieces out one by one; `worth` (of pieces) goes before `keep`."""
        order = self._order(worth or {})
        return _Steps(
            self, order, len(order) if self.closed(()) else max(0, len(order) - 1)
        )  # a mark alone is no form

    def _order(self, worth: Mapping[int, float]) -> list[int]:
        """Return the pieces that may go, the first to go first; one goes after all that stand under it."""
        value = [(worth.get(i, 0.0), part.keep) for i, part in enumerate(self.parts)]
        for index in range(len(self.parts) - 1, -1, -1):  # what stands under a piece holds it up
            under = self.parts[index].under
            if under >= 0:
                value[under] = max(value[under], value[index])
        staying = self.closed(())
        going = [i for i, part in enumerate(self.parts) if i not in staying and part.shuts < 0]
        return sorted(going, key=lambda i: (value[i], -i))


def _begun(parts: Sequence[Piece]) -> list[int]:
    """Return how many lines begin in each piece: one that only ends in a piece is not gone with it."""
    found, fresh = [], True
    for text in (part.text for part in parts):
        found.append((fresh and text != "") + text.count("\n") - text.endswith("\n"))
        fresh = text.endswith("\n") if text else fresh
    return found


class _Steps:
    """Rung k leaves out the k + 1 pieces that go first."""

    def __init__(self, pieces: Pieces, order: Sequence[int], count: int) -> None:
        self._pieces = pieces
        self._order = order
        self._count = count

    def __len__(self) -> int:
        return self._count

    def rung(self, number: int) -> Rung:
        left = self._order[number + 1 :]
        outline = bool(left) and all(self._pieces.parts[i].joint for i in left)
        return Rung(self._pieces.text(left), "outline" if outline else "trimmed")
