"""Trimming of reStructuredText: whole blocks go, deep and late sections first; titles stay longest.

A block is what begins in one column, with all that is deeper below it. Titles and the signatures of
functions and classes (`.. function::`) are the outline. A long literal block loses lines, a long
paragraph sentences. A table is never divided: a mark in it would make it another one.
"""

from __future__ import annotations

import re

from ..text.format import Marks
from ..text.words import late_patterns
from .blocks import MAX_CHARS_KEPT, MAX_LINES_WHOLE, MAX_NESTING, LineReader, Place, make_document
from .pieces import ALWAYS, Piece, Pieces, introduces, split_lines

_TITLE_LINE = re.compile(r"""([!-/:-@\[-`{-~])\1*+[ \t\r]*\n?\Z""")
"""A line under or above a title: one sign, repeated."""
SHORTEST_UNDERLINE = 4
"""Characters from which a line under a longer title still makes it one."""
_TABLE = re.compile(r"=+(?:[ ]+=+)+[ \t\r]*\n?\Z")
_MARKED = re.compile(
    r"(?:[-*+•‣⁃]|\(?(?:[A-Za-z#]|\d+|[ivxlcdm]+|[IVXLCDM]+)[.)]|:[^:\s][^:\n]*+:|\.\.|__|--?\w\S*)"
    r"(?=\s|\Z)"
)
"""The beginnings of items, fields, options and directives: only deeper lines go on with these."""
_EXPLICIT = re.compile(
    r"\.\.[ \t]+(?:(?P<anchor>_[^\n]*:)[ \t\r]*\n?\Z|(?P<link>_|\[|\|)"
    r"|(?P<name>[\w.+-]+(?::[\w.+-]+)*)[ \t]*::)|__[ \t]"
)
_DIRECTIVES = late_patterns("directives")
_LITERAL = _DIRECTIVES["literal"]
"""Directives with lines that no mark can spoil."""
_TABLES = _DIRECTIVES["tables"]
_UNSEEN = _DIRECTIVES["unseen"]
"""Directives that say nothing by themselves."""
_SIGNATURE = _DIRECTIVES["signature"]
"""Directives of Sphinx that define a name; `c:function` and the like do, too."""
MAX_LINES_OF_A_TABLE = 1_000
"""Lines that are looked through for the end of a table."""
_UNBROKEN = re.compile(r">>>[ \t]|\|[ \t]|\+[-=]")
"""The beginnings of sessions of Python, verses and tables, which go on to the next blank line."""
_RISKY = re.compile(r"""\n[ \t]*([!-/:-@\[-`{-~])\1*[ \t\r]*(?:\n|\Z)""")
"""A line that would be an underline if it came second."""


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a document in reStructuredText in pieces; None if it is one block.

    The title, the first sentence after it and a few link definitions always stay.
    """
    return make_document(_Blocks(text).read(), marks)


class _Blocks(LineReader):
    risky = _RISKY

    def __init__(self, text: str) -> None:
        super().__init__(split_lines(text))
        bare = [line.expandtabs().rstrip() for line in self._lines]
        self._depths = [len(line) - len(line.lstrip()) if line else None for line in bare]
        """Columns in which the lines begin; None for blank ones."""
        self._titles = self._find_titles()
        """First line of a title → its level and the line after it."""
        self._link_keep = ALWAYS
        self._lead: int | None = None
        """The first of the anchors (`.. _name:`) that belong to the next block."""

    def _find_titles(self) -> dict[int, tuple[int, int]]:
        styles: dict[tuple[str, bool], int] = {}
        """Sign and whether it is above too → level: the first style is that of the highest."""
        found: dict[int, tuple[int, int]] = {}
        end = 0
        for number in range(len(self._lines)):
            if number < end or not self._may_begin_title(number, end):
                continue
            over = _TITLE_LINE.match(self._lines[number])
            under = self._underline(number + bool(over), anywhere=bool(over))
            if under is None or (over and over[1] != under):
                continue
            level = styles.setdefault((under, bool(over)), len(styles))
            end = number + 2 + bool(over)
            found[number] = level, end
        return found

    def _may_begin_title(self, number: int, end: int) -> bool:
        """Tell whether a line stands in the first column, after a blank line or a title."""
        if self._depths[number] != 0:
            return False
        before = number - 1
        return number == end or self._depths[before] is None or self._lines[before][:3] == ".. "

    def _underline(self, number: int, *, anywhere: bool) -> str | None:
        """Return the sign that is repeated under a line of text, if it makes that a title."""
        if number + 1 >= len(self._lines) or self._depths[number] is None:
            return None
        text = self._lines[number].rstrip()
        under = _TITLE_LINE.match(self._lines[number + 1])
        if under is None or not (anywhere or self._depths[number] == 0):
            return None
        if _TITLE_LINE.match(text) and len(text) >= SHORTEST_UNDERLINE:
            return None
        length = len(self._lines[number + 1].rstrip())
        if length < min(len(text.strip()), SHORTEST_UNDERLINE):
            return None
        return under[1]

    def _before_mark(self, line: int) -> str:
        """Return what stands before a mark in place of this line: a line end, the indentation."""
        apart = "\n" * (line > 0 and self._depths[line - 1] is not None)
        return apart + self._indentation(line)

    def _indentation(self, line: int) -> str:
        text = self._lines[line]
        return text[: len(text) - len(text.lstrip(" \t"))]

    def read(self) -> list[Piece]:
        """Return the pieces."""
        levels = [level for level, _ in self._titles.values()]
        self._has_title = levels.count(0) == 1
        explicit = filter(None, map(_EXPLICIT.match, self._lines))
        links = sum(len(found.string) for found in explicit if found["link"])
        if links > MAX_CHARS_KEPT:
            self._link_keep = 1.0
        self._read(0, len(self._lines))
        return self._parts

    def _read(self, number: int, stop: int) -> None:
        while number < stop:
            if self._depths[number] is None:  # before the first block
                self._lead = number if self._lead is None else self._lead
                number += 1
                continue
            start = number if self._lead is None else self._lead
            if number in self._titles:
                level, end = self._titles[number]
                end = self._skip_blank(end, stop)
                self._heading(level, self._slice(start, end), self._before_mark(start))
                self._lead = None
            else:
                end = self._end_of_block(number, stop)
                self._add_block(start, number, end)
            number = end
        if self._lead is not None:
            self._add(self._slice(self._lead, stop), self._keep(), self._under())
            self._lead = None

    def _end_of_lines(self, number: int, stop: int) -> int:
        """Return the line after those that follow each other in one column, from this one on."""
        depth, end = self._depths[number], number + 1
        while end < stop and self._depths[end] == depth and end not in self._titles:
            end += 1
        return end

    def _end_of_block(self, number: int, stop: int) -> int:
        depth = self._depths[number] or 0
        line = self._lines[number].lstrip(" \t")
        end = number + 1
        if _UNBROKEN.match(line):
            while end < stop and self._depths[end] is not None:
                end += 1
            return self._skip_blank(end, stop)
        if _TABLE.match(line):
            end = self._end_of_table(number, stop)
        elif not _MARKED.match(line):
            end = self._end_of_lines(number, stop)
        # Blank lines have no column, and go with what is before them.
        columns = ((line, self._depths[line]) for line in range(end, stop))
        return next((line for line, at in columns if at is not None and at <= depth), stop)

    def _end_of_table(self, number: int, stop: int) -> int:
        """Return the line after the border that ends a table, with a blank line after it."""
        for end in range(number + 1, min(stop, number + MAX_LINES_OF_A_TABLE)):
            depth = self._depths[end]
            if depth is not None and depth < (self._depths[number] or 0):
                break
            last = end + 1 == stop or self._depths[end + 1] is None
            if last and _TABLE.match(self._lines[end].lstrip(" \t")):
                return end + 1
        return self._end_of_lines(number, stop)

    def _add_block(self, start: int, number: int, end: int) -> None:
        """Add the block from a line to before another; what it takes along begins at `start`."""
        line = self._lines[number].lstrip(" \t")
        explicit = _EXPLICIT.match(line)
        if explicit and explicit["anchor"]:
            self._lead = start
            return
        self._lead = None
        place = self._keep(), self._under(), self._before_mark(start)
        text = self._slice(start, end)
        if explicit and not explicit["name"]:
            self._add(text, self._link_keep, kind=place[2])
            return
        if line.startswith("..") and not explicit and _MARKED.match(line):  # a comment
            self._add(text, 0, *place[1:])
            return
        self._fresh, self._intro = False, -1
        if explicit:
            self._directive(explicit["name"].lower(), start, number, end, place)
        elif _MARKED.match(line):
            self._add(text, *place)
        else:
            self._text_block(start, number, end, place)

    def _directive(self, name: str, start: int, number: int, end: int, place: Place) -> None:
        """Add a directive: of a nested one its blocks are pieces of their own."""
        body = number
        while body < end and self._depths[body] is not None:
            body += 1
        body = self._skip_blank(body, end)
        if _UNSEEN.fullmatch(name):
            self._add(self._slice(start, end), 0, *place[1:])
        elif _LITERAL.fullmatch(name) and body < end:
            self._literal(start, body, end, place)
        else:
            is_name = bool(_SIGNATURE.fullmatch(name))
            if _TABLES.fullmatch(name):
                body = end
            elif not is_name:
                body = self._end_of_first(start, body, end)
            head = self._add(self._slice(start, body), *place)
            self._parts[head] = self._parts[head]._replace(skeleton=is_name)
            self._nested(head, body, end)

    def _end_of_first(self, start: int, body: int, end: int) -> int:
        """Return the line after the first block of what a note or a term holds: it needs one."""
        if end - start <= MAX_LINES_WHOLE or body == end or self._nesting >= MAX_NESTING:
            return end
        return self._end_of_block(body, end)

    def _nested(self, head: int, start: int, end: int) -> None:
        if self._nesting >= MAX_NESTING:
            self._add(self._slice(start, end), self._parts[head].keep, head)
            return
        first, self._first = self._first, False  # a note is not how a document begins
        self._fresh = True
        self._read_within(head, start, end)
        self._first = first

    def _literal(self, start: int, body: int, end: int, place: Place) -> None:
        """Add what ends in a literal block: its lines are pieces, if there are many."""
        stop = end
        while self._depths[stop - 1] is None:
            stop -= 1
        if stop - body <= MAX_LINES_WHOLE:
            self._add(self._slice(start, end), *place)
            return
        lines = [line for line in range(body, stop) if self._depths[line] is not None]
        least = min(lines, key=lambda line: self._depths[line] or 0)
        indentation = self._indentation(least)
        head, inner = self._slice(start, body + 1), self._lines[body + 1 : stop]
        self._add_lines([head, *inner, self._slice(stop, end)], place, indentation + "line")

    def _text_block(self, start: int, number: int, end: int, place: Place) -> None:
        """Add a paragraph, a definition or a table, with what is below it."""
        stop = self._end_of_lines(number, end)
        line = self._lines[number].lstrip(" \t")
        if line.startswith(">>>") and _UNBROKEN.match(line):
            self._literal(start, number, end, place)
            return
        if _TABLE.match(line) or _UNBROKEN.match(line):
            self._add(self._slice(start, end), *place)
            return
        body = self._skip_blank(stop, end)
        text = self._slice(start, body)
        if body == end:
            if introduces(text):
                self._intro = len(self._parts)
            self._paragraph(text, *place)
        elif text.rstrip().endswith("::"):
            self._first = False
            self._literal(start, body, end, place)
        elif body == stop:  # a term; its definition is below
            body = self._end_of_first(start, body, end)
            head = self._add(self._slice(start, body), *place)
            self._nested(head, body, end)
        else:
            head = len(self._parts)
            self._paragraph(text, *place)
            self._nested(head, body, end)
