"""A text cut into pieces that may be left out one by one: the base of all trimming by structure."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

ALWAYS = math.inf
"""The `keep` of a piece that is never left out."""


class Rung(NamedTuple):
    """One shorter variant of a text: valid in its own syntax, with a mark for each gap."""

    text: str
    name: str = "trimmed"
    """`trimmed`, or `outline` if only the skeleton is left."""


class Ladder(Protocol):
    """The shorter variants of one text, from long to short."""

    def __len__(self) -> int:
        """Return their number; 0: the text cannot be shortened."""
        ...

    def rung(self, number: int) -> Rung:
        """Return one of them; 0 is the longest."""
        ...


class Piece(NamedTuple):
    """A stretch of a text that stays or goes as one."""

    text: str
    keep: float = 0.0
    """The order of leaving where no query says otherwise: the lowest goes first.

    Of equal pieces the last goes first. `ALWAYS`: the piece stays.
    """
    under: int = -1
    """The earlier piece that this one needs: its heading, its signature; -1: none."""
    skeleton: bool = False
    """A heading or signature: part of an outline, but worth nothing by itself."""
    kind: str = ""
    """A word for the `Gap` of this text: it tells a row of a table from a paragraph, say."""
    closes: int = -1
    """The piece that this one ends, and stays exactly as long as; -1: none.

    A closing brace, say, or an `except` after its `try`.
    """


Gap = Callable[[Sequence[Piece]], str]
"""Returns the mark that replaces a run of pieces."""
Head = Callable[[int, int], str]
"""Returns the head of a shortened text, from the lines left out and the lines in all."""
Size = Callable[[str], int]
"""Returns the size of a piece in the unit of the head, if that is not lines."""


class Pieces:
    """A text cut into pieces: joined, they are the text. A piece is never reworded."""

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
        """True if a piece may be cut at a word too, because nothing has to be closed."""
        self._gap = gap
        self._head = head
        if size is None:
            self._sizes = _count_lines_begun(self.parts)
        else:
            self._sizes = [size(part.text) for part in self.parts]
        self._total = sum(self._sizes)
        self._always = frozenset(i for i, part in enumerate(self.parts) if part.keep == ALWAYS)
        self._closing = [(i, part.closes) for i, part in enumerate(self.parts) if part.closes >= 0]

    def closed(self, kept: Collection[int]) -> set[int]:
        """Return `kept` with all pieces that they need, and all that always stay."""
        found = set(self._always)
        for index in kept:
            while index >= 0 and index not in found:
                found.add(index)
                index = self.parts[index].under
        # One by one, not all at once: a piece that closes one may itself be closed by the next.
        found.update(end for end, start in self._closing if start in found)
        return found

    def text(self, kept: Collection[int], beginning: tuple[int, str] | None = None) -> str:
        """Return the text of these pieces and all they need, with a mark at each gap.

        It has no mark if nothing is left out. `beginning`: the index of one more piece, and the
        part of it that stays.
        """
        staying = self.closed(kept)
        if len(staying) == len(self.parts):
            return "".join(part.text for part in self.parts)
        shown = {index: self.parts[index].text for index in staying}
        if beginning is not None:
            shown.setdefault(*beginning)
        out: list[str] = []
        following = 0
        for index in sorted(shown):
            if following < index:
                out.append(self._gap(self.parts[following:index]))
            out.append(shown[index])
            # A piece with only its beginning shown is in the gap after it.
            following = index + (index in staying)
        if following < len(self.parts):
            out.append(self._gap(self.parts[following:]))
        gone = self._total - sum([self._sizes[index] for index in staying])
        return self._head(gone, self._total) + "".join(out)

    def ladder(self, worth: Mapping[int, float] | None = None) -> Ladder:
        """Return the variants made by leaving out one piece after another.

        `worth` (of pieces, by a query) goes before `keep`.
        """
        order = self._order(worth or {})
        count = len(order)
        if not self.closed(()):
            count = max(0, count - 1)  # a mark alone is no variant
        return _Steps(self, order, count)

    def _order(self, worth: Mapping[int, float]) -> list[int]:
        """Return the pieces that may go, the first to go first; a heading goes after its text."""
        value = [(worth.get(i, 0.0), part.keep) for i, part in enumerate(self.parts)]
        # From the end: each piece lifts the one that it needs to its own value.
        for index in range(len(self.parts) - 1, -1, -1):
            under = self.parts[index].under
            if under >= 0:
                value[under] = max(value[under], value[index])
        staying = self.closed(())
        going = [i for i, part in enumerate(self.parts) if i not in staying and part.closes < 0]
        return sorted(going, key=lambda i: (value[i], -i))


def _count_lines_begun(parts: Sequence[Piece]) -> list[int]:
    """Return how many lines begin in each piece; one that only ends in it does not go with it."""
    found, fresh = [], True
    for text in (part.text for part in parts):
        found.append((fresh and text != "") + text.count("\n") - text.endswith("\n"))
        if text:
            fresh = text.endswith("\n")
    return found


class _Steps:
    """The variants of pieces: number k leaves out the k + 1 pieces that go first."""

    def __init__(self, pieces: Pieces, order: Sequence[int], count: int) -> None:
        self._pieces = pieces
        self._order = order
        self._count = count

    def __len__(self) -> int:
        return self._count

    def rung(self, number: int) -> Rung:
        left = self._order[number + 1 :]
        text = self._pieces.text(left)
        if left and all(self._pieces.parts[i].skeleton for i in left):
            return Rung(text, "outline")
        return Rung(text)
