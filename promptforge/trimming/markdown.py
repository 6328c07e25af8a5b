"""Trimming of Markdown: whole blocks go, deep and late sections first; headings stay longest.

Blocks are those of CommonMark, and tables as GitHub has them, cut at the lines where the parser
says they begin. A long fence loses lines of code, a table rows, a list items, a long paragraph
sentences: each is valid without.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ..text.format import Marks
from .blocks import (
    LINES_OF_HEADER,
    MAX_CHARS_KEPT,
    MAX_LINES_WHOLE,
    WHITE,
    LineReader,
    Place,
    make_document,
)
from .pieces import ALWAYS, Piece, Pieces, introduces

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_NESTED = frozenset(("paragraph_open", "heading_open", "list_item_open", "fence", "html_block"))
_PREFIX = re.compile(r"[ \t>]*")
_HTML_WHOLE = re.compile(
    r"(?is)<!--.*?(?:-->|\Z)|<(tr|dd|li|p|pre|script|style|svg)\b.*?(?:</\1\s*>|\Z)"
    r"|<[a-z/][^<>]*>"
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")
_FRONT = re.compile(
    r"---[ \t\r]*+\n"
    r"(?:(?!---|\.\.\.)(?:\w[\w.-]*+[ \t]*+:|[ \t#]|-[ \t]|(?=[\r\n]))[^\n]*+\n)++"
    r"(?:---|\.\.\.)[ \t\r]*+(?:\n|\Z)"
)

# In a shortened paragraph such a line might become the underline of a heading or of a table's head.
_RISKY = re.compile(r"[\r\n][ \t]*[|:=-]")

# Badges and comments: a paragraph that begins with a picture, HTML without text.
_PICTURE = re.compile(
    r"\[?!\[|<!--|(?:<(?:p|div|center|a|picture|source|img|br|h1)\b[^<>]*>\s*)+?<img\b|<img\b"
)


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a Markdown document in pieces; None if it is one block.

    The title, the first sentence after it and a few link definitions always stay.
    """
    return make_document(_Blocks(text).read(), marks)


@functools.cache
def _parser() -> MarkdownIt:
    """Return a parser that finds blocks, and leaves inline text alone."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _rank(token: Token) -> tuple[int, float]:
    """Return the rank of a nested block that holds what follows, and the line where it ends."""
    if token.type == "heading_open":
        return int(token.tag[1:]), float("inf")
    return (9, token.map[1]) if token.type == "list_item_open" and token.map else (0, 0)


def _join_html(lines: Sequence[str]) -> list[str]:
    """Return lines of HTML; those of one tag, comment, or row of a table are joined."""
    text = "".join(lines)
    whole = [(found.start(), found.end()) for found in _HTML_WHOLE.finditer(text)]
    joined, place, number = list[str](), 0, 0
    for line in lines:
        while number < len(whole) and whole[number][1] <= place:
            number += 1
        if joined and number < len(whole) and whole[number][0] < place:
            joined[-1] += line
        else:
            joined.append(line)
        place += len(line)
    return joined


class _Span(NamedTuple):
    start: int
    end: int
    token: Any
    """`"front"` for front matter, None for link definitions: the parser has no tokens for them."""


class _Blocks(LineReader):
    risky = _RISKY

    def __init__(self, text: str) -> None:
        super().__init__(list(filter(None, _LINE.findall(text))))
        self._text = text

    def _is_blank(self, number: int) -> bool:
        return not self._lines[number].strip(WHITE)

    def _line_ends_before(self, line: int) -> str:
        """Return the line ends between the line before and a mark in place of this one."""
        if line == 0 or self._is_blank(line - 1):
            return ""
        return "\n\n" if self._lines[line - 1][-1] == "\r" else "\n"

    def read(self) -> list[Piece]:
        """Return the pieces."""
        tokens = _parser().parse(self._text)
        mapped = [token for token in tokens if token.map]
        spans = self._spans([token for token in mapped if token.level == 0 and token.nesting >= 0])
        items = [
            token.map[0]
            for token in mapped
            if token.map and token.type == "list_item_open" and token.level == 1
        ]
        self._nested = {
            token.map[0]: token
            for token in reversed(mapped)
            if token.map and 1 <= token.level <= 3 and token.type in _NESTED
        }
        tags = [
            span.token.tag for span in spans if getattr(span.token, "type", None) == "heading_open"
        ]
        self._has_title = bool(tags) and tags[0] == min(tags) and tags.count(tags[0]) == 1
        links = sum(len(self._slice(span.start, span.end)) for span in spans if span.token is None)
        link_keep = ALWAYS if links <= MAX_CHARS_KEPT else 1
        for span in spans:
            self._read_span(span, items, link_keep)
        if self._parts:  # blank lines before the first block
            above = self._slice(0, spans[0].start)
            self._parts[0] = self._parts[0]._replace(text=above + self._parts[0].text)
        return self._parts

    def _read_span(self, span: _Span, items: Sequence[int], link_keep: float) -> None:
        start, end, token = span
        kind = self._line_ends_before(start)
        text = self._slice(start, end)
        if token is None:
            self._add(text, link_keep, kind=kind)
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

    def _spans(self, blocks: Sequence[Token]) -> list[_Span]:
        maps = [(token.map[0], token.map[1]) for token in blocks if token.map]
        found = _FRONT.match(self._text)
        done = 0
        if found:
            done = len(_LINE.findall(found[0])) - found[0].endswith("\n")
        # If a list or HTML goes on after it, it is no front matter.
        if any(start < done < end for start, end in maps):
            done = 0
        starts: list[tuple[int, Any]] = []
        if done:
            starts.append((0, "front"))
        last = len(self._lines)
        for token, (start, end) in zip([*blocks, None], [*maps, (last, last)], strict=True):
            if start < done:
                continue
            done = self._skip_blank(done, start)
            # The parser has no token for these lines: link definitions.
            if done < start:
                starts.append((done, None))
            if token:
                starts.append((start, token))
            done = end
        ends = [*(start for start, _ in starts), last][1:]
        return [_Span(start, end, token) for (start, token), end in zip(starts, ends, strict=True)]

    def _list(self, cuts: Sequence[int]) -> None:
        keep, under = self._keep(), self._under()
        for start, end in pairwise(cuts):
            self._container(start, end, (keep, under, self._line_ends_before(start)))
        self._fresh, self._intro = False, -1

    def _container(self, start: int, end: int, place: Place) -> None:
        """Add an item of a list, or a quote; a long one loses blocks."""
        cuts = [start]
        if end - start > MAX_LINES_WHOLE:
            cuts += [line for line in range(start + 1, end) if line in self._nested]
        keep, index, kind = place
        # What holds a block: ranks, ends, pieces.
        intro, open_ = -1, [(0, float(end), index)]
        for first, last in pairwise([*cuts, end]):
            token = self._nested.get(first)
            if first > start and token:
                kind = _PREFIX.findall(self._lines[first])[0]
                if self._lines[first - 1].strip(f">{WHITE}"):
                    kind = f"{self._line_ends_before(first)}{kind}"
                rank, until = _rank(token)
                while len(open_) > 2 and (open_[-1][1] <= first or 0 < rank <= open_[-1][0]):
                    open_.pop()
                index = intro if intro >= 0 else open_[-1][2]
            text = self._slice(first, last)
            added = self._add(text, keep, index, kind)
            if first == start:
                open_.append((0, float(end), added))
            elif token and rank:
                open_.append((rank, min(until, end), added))
            intro = added if introduces(text.rstrip(f"> {WHITE}")) else -1

    def _leaf(self, token: Any, lines: list[str], place: Place, *, is_closed: bool) -> None:
        """Add a block of code or HTML by its lines."""
        keep, under, kind = place
        if token.type == "html_block":
            keep, lines = keep - 2, _join_html(lines)
        elif not is_closed:
            lines.append("")
        prefix = "    " * (token.type == "code_block")
        if len(lines) > LINES_OF_HEADER:
            self._add_lines(lines, (keep, under, kind), f"{prefix}line")
        else:
            self._add("".join(lines), keep, under, kind)

    def _block(self, token: Any, start: int, end: int, kind: str) -> None:
        text, keep, under = self._slice(start, end), self._keep(), self._under()
        self._fresh, self._intro = False, -1
        stop = end
        while stop > start and self._is_blank(stop - 1):
            stop -= 1
        long = stop - start > MAX_LINES_WHOLE
        # A fence at the end of a text may have no closing line, as in a chunk that begins in code.
        last, mark = self._lines[stop - 1].strip(), token.markup
        is_closed = bool(mark) and len(last) >= len(mark) and not last.strip(mark[:1])
        if _PICTURE.match(text.lstrip()) and not (long and token.type == "table_open"):
            self._add(text, 0, under, kind)
        elif token.type == "paragraph_open":
            if introduces(text):
                self._intro = len(self._parts)
            self._paragraph(text, keep, under, kind)
        elif token.type == "table_open" and long:
            # The line end after the last row parts the table from the next block: it always stays.
            rest = self._slice(stop - 1, end)
            row = self._slice(stop - 1, stop).rstrip("\r\n \t" if end == stop else "\r\n")
            lines = [*self._lines[start : stop - 1], row, rest[len(row) :]]
            self._add_lines(lines, (keep, under, kind), "row")
        elif token.type in ("fence", "code_block", "html_block") and long:
            lines = [*self._lines[start : stop - 1], self._slice(stop - 1, end)]
            self._leaf(token, lines, (keep, under, kind), is_closed=is_closed)
        elif token.type == "blockquote_open":
            self._container(start, end, (keep, under, kind))
        else:
            self._add(text, keep - 2 * (token.type == "html_block"), under, kind)
