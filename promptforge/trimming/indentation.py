"""Shorter forms of programs in any language, by the depth of their lines alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .blocks import DEEPEST, IMPORT, NONE, SIGNATURE, Block, Blocks
from .pieces import Pieces

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_END = re.compile(
    r"\s*(?:[)}\]]|</|(?:end|fi|done|esac|else|elif|elsif|elseif|except|finally|catch|rescue|ensure)\b|#\})"
)
"""What begins the last line of a block, or the next part of it."""
_CONTROL = re.compile(
    r"\s*(?:if|else|elif|elsif|for|foreach|while|until|unless|switch|match|case|when|do|loop|try|catch|with|begin|"
    r"return|let|const|var|defer|select|repeat)\b"
)
_IMPORT = re.compile(
    r"\s*(?:import|from|use|using|include|require|package|#include|#import|extern crate|@import)\b"
)
_COMMENT = re.compile(
    r"\s*(?://|/\*|\*[ /\n]|--|;|%|#(?!\s*(?:include|define|undef|if|ifn?def|else|elif|endif|pragma|import)\b))"
)
_SHALLOW = 2
"""Headers less deep than this are skeleton: functions, and the methods of classes."""


def divide(text: str, *, marker: str, language: str | None = None) -> Pieces | None:
    """Return the lines of a program as pieces, each under the shallower line before it; None where no line is deeper.

    A line with deeper lines below it is a header, the deeper run its body, and a line of the header's own depth that
    begins with what ends a block (`}`, `end`, `else`) goes on with it and stays as long.
    """
    lines = _LINE.findall(text)
    depths = _depths(lines)
    if len({depth for depth in depths if depth >= 0}) < 2:
        return None
    return _Reader(lines, depths).read().pieces(language, marker)


def _depths(lines: Sequence[str]) -> list[int]:
    """Return how far each line is from the margin, a tab to the next multiple of 8; -1: blank."""
    depths = []
    for line in lines:
        bare = line.lstrip(" \t")
        margin = line[: len(line) - len(bare)]
        depths.append(len(margin.expandtabs(8)) if bare.strip() else -1)
    return depths


class _Reader:
    """Goes through the lines once, with the headers that are open."""

    def __init__(self, lines: Sequence[str], depths: Sequence[int]) -> None:
        self.lines = lines
        self.depths = depths
        self.blocks = Blocks(lines)
        self.lists: dict[
            int, int
        ] = {}  # the headers of which all that is under them is part: `import (`
        self.open: list[
            tuple[int, int, int]
        ] = []  # of each open header: its depth, its number, the body it is in

    def read(self) -> Blocks:
        below = self._below()
        next_line = 0
        for line, depth in enumerate(self.depths):
            if depth < 0 or _COMMENT.match(self.lines[line]):  # it goes with the next
                continue
            ended = -1
            while self.open and self.open[-1][0] >= depth:
                if self.open[-1][0] == depth:
                    ended = self.open[-1][1]
                self.open.pop()
            self._add(next_line, line, ended, below[line] > depth)
            next_line = line + 1
        if next_line < len(self.lines):
            self.blocks.add(Block(next_line), next_line)
        return self.blocks

    def _below(self) -> list[int]:
        """Return the depth of the next line that is not blank, for each line."""
        below = [-1] * len(self.lines)
        for line in range(len(self.lines) - 2, -1, -1):
            below[line] = self.depths[line + 1] if self.depths[line + 1] >= 0 else below[line + 1]
        return below

    def _add(self, first: int, line: int, ended: int, heads: bool) -> None:
        text = self.lines[line]
        under, home = (self.open[-1][1], self.open[-1][2]) if self.open else (-1, -1)
        heads = heads and len(self.open) < DEEPEST
        if ended >= 0 and _END.match(text):
            number = self.blocks.add(Block(first, ended, shuts=ended, body=home), line)
        else:
            rank = self.lists[under] if under in self.lists else self._rank(text, heads)
            number = self.blocks.add(Block(first, under, rank, body=home), line)
            if heads and rank and text.rstrip().endswith("("):
                self.lists[number] = rank
        if heads:
            skeleton = self.blocks.found[number].skeleton or home < 0
            self.open.append((self.depths[line], number, number if skeleton else home))

    def _rank(self, text: str, heads: bool) -> int:
        if not self.open and _IMPORT.match(text):
            return IMPORT
        return (
            SIGNATURE if heads and len(self.open) < _SHALLOW and not _CONTROL.match(text) else NONE
        )
