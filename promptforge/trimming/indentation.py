"""Trimming of programs in any language by the depth of their lines alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .blocks import DEEPEST, IMPORT, NONE, SIGNATURE, Block, Blocks
from .left_out import split_lines
from .pieces import Pieces

# The last line of a block, or the next part of it, begins so.
_BLOCK_END = re.compile(
    r"\s*(?:[)}\]]|</|#\}"
    r"|(?:end|fi|done|esac|else|elif|elsif|elseif|except|finally|catch|rescue|ensure)\b)"
)
_CONTROL = re.compile(
    r"\s*(?:if|else|elif|elsif|for|foreach|while|until|unless|switch|match|case|when|do|loop|try|"
    r"catch|with|begin|return|let|const|var|defer|select|repeat)\b"
)
_IMPORT_LINE = re.compile(
    r"\s*(?:import|from|use|using|include|require|package|#include|#import|extern crate|@import)\b"
)
_COMMENT = re.compile(
    r"\s*(?://|/\*|\*[ /\n]|--|;|%"
    r"|#(?!\s*(?:include|define|undef|if|ifn?def|else|elif|endif|pragma|import)\b))"
)
_SKELETON_DEPTH = 2
"""Headers less deep than this are skeleton: functions, and the methods of classes."""


def divide(text: str, *, marker: str, language: str | None = None) -> Pieces | None:
    """Return the lines of a program as pieces, each under the shallower line before it.

    None if no line is deeper than another. A line with deeper lines below it is a header, and the
    deeper run its body. The next line of the header's depth belongs to it too if it begins as the
    end of a block does (`}`, `end`, `else`).
    """
    lines = split_lines(text)
    depths = [_depth(line) for line in lines]
    if len({depth for depth in depths if depth >= 0}) < 2:
        return None
    reader = _LineReader(lines, depths)
    reader.read()
    return reader.blocks.pieces(language, marker)


def _depth(line: str) -> int:
    """Return the columns before a line, a tab reaching to the next multiple of 8; -1: blank."""
    bare = line.lstrip(" \t")
    if not bare.strip():
        return -1
    return len(line[: len(line) - len(bare)].expandtabs(8))


class _OpenHeader(NamedTuple):
    depth: int
    number: int
    body: int


class _LineReader:
    """Goes through the lines once, with a stack of open headers."""

    def __init__(self, lines: Sequence[str], depths: Sequence[int]) -> None:
        self.lines = lines
        self.depths = depths
        self.blocks = Blocks(lines)
        # Headers with nothing but list items under them, as `import (`: all have one rank.
        self.lists: dict[int, int] = {}
        self.open: list[_OpenHeader] = []

    def read(self) -> None:
        next_depths = self._next_depths()
        next_line = 0
        for line, depth in enumerate(self.depths):
            # A comment or a blank line goes with the next line of code.
            if depth < 0 or _COMMENT.match(self.lines[line]):
                continue
            ended = -1
            while self.open and self.open[-1].depth >= depth:
                header = self.open.pop()
                ended = header.number if header.depth == depth else -1
            self._add(next_line, line, ended, next_depths[line] > depth)
            next_line = line + 1
        if next_line < len(self.lines):
            self.blocks.add(Block(next_line), next_line)

    def _next_depths(self) -> list[int]:
        """Return for each line the depth of the next one that is not blank."""
        found = [-1] * len(self.lines)
        for line in range(len(self.lines) - 2, -1, -1):
            found[line] = self.depths[line + 1] if self.depths[line + 1] >= 0 else found[line + 1]
        return found

    def _add(self, first: int, line: int, ended: int, heads: bool) -> None:
        text = self.lines[line]
        under = body = -1
        if self.open:
            under, body = self.open[-1].number, self.open[-1].body
        heads = heads and len(self.open) < DEEPEST
        if ended >= 0 and _BLOCK_END.match(text):
            number = self.blocks.add(Block(first, ended, closes=ended, body=body), line)
        else:
            rank = self.lists[under] if under in self.lists else self._rank(text, heads)
            number = self.blocks.add(Block(first, under, rank, body=body), line)
            if heads and rank and text.rstrip().endswith("("):
                self.lists[number] = rank
        if heads:
            # Outside of any body, or in the skeleton, a header begins a body of its own.
            if self.blocks.found[number].skeleton or body < 0:
                body = number
            self.open.append(_OpenHeader(self.depths[line], number, body))

    def _rank(self, text: str, heads: bool) -> int:
        if not self.open and _IMPORT_LINE.match(text):
            return IMPORT
        if heads and len(self.open) < _SKELETON_DEPTH and not _CONTROL.match(text):
            return SIGNATURE
        return NONE
