"""A program as blocks: a header, what stands in it, and its end, all in whole lines; and what goes first of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .left_out import gap_in, head_in
from .pieces import Piece, Pieces

NONE, SAYING, IMPORT, SIGNATURE = range(4)
"""Ranks of skeleton: none, what a thing says of itself, an import, a signature: the higher stays longer."""
DEEPEST = 60
"""How many blocks within blocks are told apart; what lies deeper is one piece."""
_TRIVIA = 4
"""Comments of more lines than this before a statement are a piece of their own."""


class Block(NamedTuple):
    """The lines from `first` to the next block's first."""

    first: int
    under: int = -1
    skeleton: int = NONE
    shuts: int = -1
    body: int = -1
    """The header of the body it belongs to, whose pieces go one after another from the end; -1: it is its own."""
    kind: str = ""


class Blocks:
    """The blocks of a text as they are found, in the order of their lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.found: list[Block] = []

    def add(self, block: Block, code: int) -> int:
        """Add a block whose own first line is `code`, after comments and blank lines; return its number.

        A long comment before it, and any before the end of a block, becomes a piece of its own.
        """
        apart = _TRIVIA if block.shuts < 0 else 0
        if code - block.first > apart and any(
            line.strip() for line in self.lines[block.first : code]
        ):
            self.found.append(Block(block.first, block.under, body=block.body))
            block = block._replace(first=code)
        self.found.append(block)
        return len(self.found) - 1

    def pieces(self, language: str | None, marker: str) -> Pieces | None:
        """Return the pieces; None where they are fewer than two."""
        if len(self.found) < 2:
            return None
        found = self._lifted()
        ends = [block.first for block in found[1:]] + [len(self.lines)]
        keeps = _keeps(found, ends)
        parts = [
            Piece(
                "".join(self.lines[block.first : end]),
                keep,
                block.under,
                block.skeleton > NONE,
                block.kind,
                block.shuts,
            )
            for block, end, keep in zip(found, ends, keeps, strict=True)
        ]
        return Pieces(parts, gap_in(language), head_in(language, marker))

    def _lifted(self) -> list[Block]:
        """Return the blocks; one that skeleton stands under is skeleton itself."""
        found = self.found
        for block in reversed(found):
            if block.skeleton and block.under >= 0 and not found[block.under].skeleton:
                found[block.under] = found[block.under]._replace(skeleton=SIGNATURE)
        return found


def _keeps(found: Sequence[Block], ends: Sequence[int]) -> list[float]:
    """Return how long each stays: bodies go largest first, then what things say, imports, and the deepest signatures.

    The pieces of one body are equal, so that they go from its end.
    """
    home = [i if block.body < 0 else block.body for i, block in enumerate(found)]
    size: Counter[tuple[int, bool]] = Counter()
    for i, (block, end) in enumerate(zip(found, ends, strict=True)):
        if not block.skeleton and block.shuts < 0:
            size[home[i], block.body < 0] += end - block.first
    ranks = {
        key: rank
        for rank, (key, _) in enumerate(
            sorted(size.items(), key=lambda pair: (-pair[1], -pair[0][0]))
        )
    }
    depth: list[int] = []
    keeps: list[float] = []
    for i, block in enumerate(found):
        depth.append(depth[block.under] + 1 if block.under >= 0 else 0)
        if block.skeleton:
            deep = min(depth[i], DEEPEST) if block.skeleton == SIGNATURE else 0
            keeps.append(len(ranks) + (DEEPEST + 1) * block.skeleton - deep)
        else:
            keeps.append(ranks.get((home[i], block.body < 0), 0))
    return keeps
