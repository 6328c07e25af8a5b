"""A program as blocks of whole lines, each a header, a body or an end, in the order of leaving."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .left_out import code_gap, code_head
from .pieces import Piece, Pieces

NONE, SAYING, IMPORT, SIGNATURE = range(4)
"""Ranks of skeleton: none, a docstring's first line, an import, a signature; high stays long."""
DEEPEST = 60
"""Blocks within blocks that are told apart; anything deeper is one piece."""
_TRIVIA = 4
"""Lines up to which comments go with the statement after them; longer ones are a piece."""


class Block(NamedTuple):
    """The lines from `first` to the next block's first."""

    first: int
    under: int = -1
    skeleton: int = NONE
    closes: int = -1
    body: int = -1
    """The header of its body, with pieces that go one after another from the end; -1: its own."""
    kind: str = ""


class Blocks:
    """The blocks of a text, added in the order of their lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.found: list[Block] = []

    def add(self, block: Block, code: int) -> int:
        """Add a block with its first line of code at `code`, after comments; return its number.

        A long comment before it, or any before the end of a block, becomes a piece of its own.
        """
        apart = _TRIVIA if block.closes < 0 else 0
        comments = self.lines[block.first : code]
        if len(comments) > apart and any(line.strip() for line in comments):
            self.found.append(Block(block.first, block.under, body=block.body))
            block = block._replace(first=code)
        self.found.append(block)
        return len(self.found) - 1

    def pieces(self, language: str | None, marker: str) -> Pieces | None:
        """Return the pieces; None if there are fewer than two."""
        found = self.found
        if len(found) < 2:
            return None
        # A block with skeleton under it is skeleton itself.
        for block in reversed(found):
            if block.skeleton and block.under >= 0 and not found[block.under].skeleton:
                found[block.under] = found[block.under]._replace(skeleton=SIGNATURE)
        ends = [block.first for block in found[1:]] + [len(self.lines)]
        parts = [
            Piece(
                "".join(self.lines[block.first : end]),
                keep,
                block.under,
                block.skeleton > NONE,
                block.kind,
                block.closes,
            )
            for block, end, keep in zip(found, ends, _keeps(found, ends), strict=True)
        ]
        return Pieces(parts, code_gap(language), code_head(language, marker))


def _keeps(found: Sequence[Block], ends: Sequence[int]) -> list[float]:
    """Return the `keep` of each: bodies go largest first, then docstrings, imports, signatures.

    Of signatures the deepest go first. The pieces of one body are equal, so it goes from its end.
    """
    # By body: its header, and whether the piece is that header's own.
    homes = [(i, True) if block.body < 0 else (block.body, False) for i, block in enumerate(found)]
    sizes: Counter[tuple[int, bool]] = Counter()
    for home, block, end in zip(homes, found, ends, strict=True):
        if not block.skeleton and block.closes < 0:
            sizes[home] += end - block.first
    largest_first = sorted(sizes, key=lambda home: (-sizes[home], -home[0]))
    ranks = {home: rank for rank, home in enumerate(largest_first)}
    depths: list[int] = []
    keeps: list[float] = []
    for home, block in zip(homes, found, strict=True):
        depths.append(depths[block.under] + 1 if block.under >= 0 else 0)
        if block.skeleton:
            keep = len(ranks) + (DEEPEST + 1) * block.skeleton
            if block.skeleton == SIGNATURE:
                keep -= min(depths[-1], DEEPEST)
            keeps.append(keep)
        else:
            keeps.append(ranks.get(home, 0))
    return keeps
