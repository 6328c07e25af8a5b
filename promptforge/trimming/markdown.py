"""Shorter forms of a Markdown document: whole blocks go, the deepest and last sections first, headings stay longest.

Blocks are those of CommonMark and of tables as GitHub has them, cut at the lines where the parser says they begin.
A long fence loses lines of code, a long table rows, a list items, a long paragraph sentences: each is whole without.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from .left_out import lines_of, say, top
from .pieces import ALWAYS, Piece, Pieces
from .sentences import sentences

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 1 << 24
"""Characters of a text that is not read for its blocks (about 8 seconds)."""
SHORT = 400
"""Characters up to which the title, the first sentence and all link definitions together always stay."""
LONG_LINES = 8
"""A fence or a table of more lines may lose some of them."""
SHOWN_LINES = 3
"""Lines of a fence or a table that stay as long as it does, its first line or its header among them."""
LONG_PARAGRAPH = 300
"""A paragraph of more characters may lose sentences."""

_WHITE = " \t\r\n"
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")
_FRONT = re.compile(
    r"---[ \t\r]*+\n"
    r"(?:(?!---|\.\.\.)(?:\w[\w.-]*+[ \t]*+:|[ \t#]|-[ \t]|(?=[\r\n]))[^\n]*+\n)++"
    r"(?:---|\.\.\.)[ \t\r]*+(?:\n|\Z)"
)
# Paragraphs and blank lines alone: no line begins in a way that makes another block of it, or of the line before.
_PROSE = re.compile(
    r"""(?:[ \t]*+\n|[ ]{0,3}+(?:[^\W\d_]|["'(.,;!?$%/@^{}\\)\]“”‘’„«»…]|\*\*?(?=[^\s*]))[^\r\n]*+(?:\n|\Z))*+\Z"""
)
# In a shortened paragraph such a line might become the underline of a heading or of the head of a table.
_RISKY = re.compile(r"[\r\n][ \t]*[|:=-]")
# Badges and comments: a paragraph that begins with a picture, HTML that is none of text.
_PICTURE = re.compile(
    r"\[?!\[|<!--|(?:<(?:p|div|center|a|picture|source|img|br|h1)\b[^<>]*>\s*)+?<img\b|<img\b"
)


def divide(text: str, *, marker: str, language: str | None = None) -> Pieces | None:
    """Return a Markdown document in pieces; `None` if it is one block, or too long to be read.

    A gap is a paragraph `[… 12 lines left out]`, in a fence or a table such a line or row, in a paragraph `[…]`;
    at the head stands `marker` and how much is gone. The title, the first sentence after it and a few link
    definitions always stay.
    """
    if len(text) > LONGEST:
        return None
    parts = _Blocks(text).read()
    if len(parts) < 2:
        return None

    def gap(run: Sequence[Piece]) -> str:
        mark = _mark(run)
        return mark.rstrip("\n") if run[-1] is parts[-1] else mark

    def head(gone: int, lines: int) -> str:
        said = top(marker, gone, lines) if gone else f"{marker} sentences left out"
        return f"{said}\n\n" if marker else ""

    return Pieces(parts, gap, head)


def _mark(run: Sequence[Piece]) -> str:
    kind, last = run[0].kind, run[-1].text
    if kind == "sentence":
        return "[…]" + last[len(last.rstrip()) :]
    mark = f"[… {say(lines_of(run), 'row' if kind == 'row' else 'line')}]"
    end = "\n" if last.endswith(("\n", "\r")) else ""
    if kind == "line":
        return mark + end
    if kind == "row":
        return f"| {mark} |{end}"
    return kind + mark + end * 2


@functools.cache
def _parser() -> MarkdownIt:
    """Return what reads blocks and leaves inline text alone; the library is imported when first needed."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


class _Paragraph(NamedTuple):
    """A paragraph as the parser has it."""

    map: tuple[int, int]
    type: str = "paragraph_open"
    level: int = 0
    nesting: int = 1


def _prose(text: str) -> list[_Paragraph]:
    """Return the paragraphs of a text that is nothing else; the parser takes longer to load than they take to find."""
    found, start = [], -1
    lines = text.split("\n")
    for number, line in enumerate([*lines, ""]):
        if line.strip(" \t"):
            start = number if start < 0 else start
        elif start >= 0:
            found.append(_Paragraph((start, number)))
            start = -1
    return found


class _Blocks:
    """The pieces of one document, as they are found from top to bottom."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [
            found.start() for found in _LINE.finditer(text) if found.start() < len(text)
        ]
        self._starts.append(len(text))
        self._parts: list[Piece] = []
        self._headings: list[tuple[int, int]] = []
        """Level and piece of the headings over this place."""
        self._has_title = False
        self._title = -1
        self._intro = -1
        """The paragraph before that ends in a colon: what comes next stands under it."""
        self._first = True
        """Whether the document's first paragraph is still to come."""
        self._fresh = False
        """Whether this is the first block of its section."""

    def _slice(self, start: int, end: int) -> str:
        return self._text[self._starts[start] : self._starts[end]]

    def _blank(self, line: int) -> bool:
        return not self._slice(line, line + 1).strip(_WHITE)

    def _joined(self, line: int) -> str:
        """Return the line ends that part a mark from the line before: none after a blank one, two after a bare CR."""
        if line == 0 or self._blank(line - 1):
            return ""
        return "\n\n" if self._text[self._starts[line] - 1] == "\r" else "\n"

    def _add(self, text: str, keep: float, under: int = -1, kind: str = "", shuts: int = -1) -> int:
        if text:
            self._parts.append(Piece(text, keep, under, kind=kind, shuts=shuts))
        return len(self._parts) - 1

    def _under(self) -> int:
        return self._intro if self._intro >= 0 else self._headings[-1][1] if self._headings else -1

    def _keep(self) -> float:
        return 50 - 5 * min(self._depth(), 8) + (2 if self._fresh else 0)

    def _depth(self) -> int:
        """Return under how many headings this place is, the title not counted."""
        return len(self._headings) - (self._title >= 0 and bool(self._headings))

    def read(self) -> list[Piece]:
        """Return the pieces."""
        prose = _PROSE.match(self._text)
        tokens: Sequence[Token | _Paragraph] = (
            _prose(self._text) if prose else _parser().parse(self._text)
        )
        blocks = [
            token for token in tokens if token.level == 0 and token.nesting >= 0 and token.map
        ]
        items = [
            token.map[0]
            for token in tokens
            if token.type == "list_item_open" and token.level == 1 and token.map
        ]
        spans = self._spans(blocks)
        tags = [
            token.tag
            for _, _, token in spans
            if token and token != "front" and token.type == "heading_open"
        ]
        self._has_title = bool(tags) and tags[0] == min(tags) and tags.count(tags[0]) == 1
        linked = sum(
            self._starts[end] - self._starts[start] for start, end, token in spans if token is None
        )
        for start, end, token in spans:
            kind = self._joined(start)
            text = self._slice(start, end)
            if token is None:
                self._add(text, ALWAYS if linked <= SHORT else 1, kind=kind)
            elif token == "front":
                self._add(text, 1 if self._has_title else 90, kind=kind)
            elif token.type == "heading_open":
                self._heading(int(token.tag[1:]), text, kind)
            elif token.type == "hr" and self._parts:  # shorter than a mark in its place
                self._parts[-1] = self._parts[-1]._replace(text=self._parts[-1].text + text)
            elif token.type.endswith("list_open"):
                cuts = items[bisect_left(items, start) : bisect_left(items, end)]
                self._list([start, *cuts[1:], end])
            else:
                self._block(token, start, end, kind)
        if self._parts:  # blank lines before the first block
            self._parts[0] = self._parts[0]._replace(
                text=self._slice(0, spans[0][0]) + self._parts[0].text
            )
        return self._parts

    def _spans(self, blocks: Sequence[Token | _Paragraph]) -> list[tuple[int, int, Any]]:
        """Return first line, end and token of each block, blank lines after it included; `None`: link definitions."""
        maps = [(token.map[0], token.map[1]) for token in blocks if token.map]
        found = _FRONT.match(self._text)
        done = len(_LINE.findall(found[0])) - found[0].endswith("\n") if found else 0
        if any(
            start < done < end for start, end in maps
        ):  # a list or HTML goes on after it: it is no front matter
            done = 0
        starts: list[tuple[int, Any]] = [(0, "front")] if done else []
        last = len(self._starts) - 1
        for token, (start, end) in zip([*blocks, None], [*maps, (last, last)], strict=True):
            if start < done:
                continue
            while done < start and self._blank(done):
                done += 1
            if done < start:
                starts.append((done, None))
            if token:
                starts.append((start, token))
            done = end
        ends = [*(start for start, _ in starts), last][1:]
        return [(start, end, token) for (start, token), end in zip(starts, ends, strict=True)]

    def _heading(self, level: int, text: str, kind: str) -> None:
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        under = self._headings[-1][1] if self._headings else -1
        index = len(self._parts)
        depth = self._depth() + 1
        if self._has_title and self._title < 0:
            self._title = index
            keep = ALWAYS if len(text) <= SHORT else 300.0
        else:
            keep = 200.0 if depth == 1 else 50 - 5 * min(depth, 8) + 3
        self._parts.append(Piece(text, keep, under, joint=True, kind=kind))
        self._headings.append((level, index))
        self._fresh, self._intro = True, -1

    def _list(self, cuts: Sequence[int]) -> None:
        keep, under = self._keep(), self._under()
        for start, end in pairwise(cuts):
            self._add(self._slice(start, end), keep, under, self._joined(start))
        self._fresh, self._intro = False, -1

    def _block(self, token: Any, start: int, end: int, kind: str) -> None:
        """Add a block that is no list and no heading."""
        text, keep, under = self._slice(start, end), self._keep(), self._under()
        stop = end
        while stop > start and self._blank(stop - 1):
            stop -= 1
        index, intro = len(self._parts), -1
        picture = _PICTURE.match(text.lstrip())
        if token.type == "paragraph_open" and not picture:
            self._paragraph(text, 100 if self._first else keep, under, kind)
            self._first = False
            intro = index if text.rstrip(_WHITE).endswith(":") else -1
        elif token.type == "table_open" and stop - start > LONG_LINES:
            self._rows(start, stop, end, keep, under, kind)
        elif token.type == "fence" and stop - start > LONG_LINES and self._shuts(token, stop):
            self._add(self._slice(start, start + SHOWN_LINES), keep, under, kind)
            for line in range(start + SHOWN_LINES, stop - 1):
                self._add(self._slice(line, line + 1), keep, index, "line")
            self._add(self._slice(stop - 1, end), keep, shuts=index)
        else:
            low = picture or token.type == "html_block"
            self._add(text, (0 if picture else keep - 2) if low else keep, under, kind)
        self._fresh, self._intro = False, intro

    def _shuts(self, token: Any, stop: int) -> bool:
        """Return whether the last line of a fence is its closing one; at the end of a text it may have none."""
        line = self._slice(stop - 1, stop).strip()
        return len(line) >= len(token.markup) and not line.strip(token.markup[0])

    def _rows(self, start: int, stop: int, end: int, keep: float, under: int, kind: str) -> None:
        """Add a table: its head, its rows, and the line end after them, which parts it from what follows."""
        index = self._add(self._slice(start, start + SHOWN_LINES), keep, under, kind)
        for line in range(start + SHOWN_LINES, stop - 1):
            self._add(self._slice(line, line + 1), keep, index, "row")
        rest = self._slice(stop - 1, end)
        row = rest.rstrip("\r\n \t") if end == stop else self._slice(stop - 1, stop).rstrip("\r\n")
        self._add(row, keep, index, "row")
        self._add(rest[len(row) :], keep, shuts=index)

    def _paragraph(self, text: str, keep: float, under: int, kind: str) -> None:
        body = text.rstrip(_WHITE)
        found = [body]
        first = keep == 100
        if (len(body) > LONG_PARAGRAPH or first) and not _RISKY.search(body):
            found = list(sentences(body))
        if len(found) == 1:
            self._add(text, ALWAYS if first and len(text) <= SHORT else keep, under, kind)
            return
        index = self._add(
            found[0], ALWAYS if first and len(found[0]) <= SHORT else keep, under, kind
        )
        for sentence in found[1:]:
            self._add(sentence, keep, index, "sentence")
        self._add(text[len(body) :], keep, shuts=index)
