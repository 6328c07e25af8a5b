"""Trimming of man pages: name and synopsis stay; boilerplate goes first, then details.

A page is read as `man` sets it in columns. Headings of sections are not indented, headings of
subsections less than the text. A paragraph belongs to the nearest one before it that is indented
less, its option say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..text import table_rows
from ..text.format import Marks
from .pieces import ALWAYS, Piece, Pieces, UnderQuery, paragraph, split_lines

MAX_LINES_ALWAYS_KEPT = 3
"""Lines of the name or the synopsis that always stay; more may go, as the last of all."""
LINES_PER_PIECE = 4
"""Lines of a piece: a longer paragraph (a table, a listing) may lose lines from its end."""
MAX_SUBSECTION_INDENT = 4
"""Largest indent of a subsection's heading, in columns; text is indented more."""

# Kind of section → its names; the first that matches counts.
_SECTIONS = {name: re.compile(names) for name, names in table_rows("sections")}

# `TAR(1)      GNU TAR Manual      TAR(1)`: the line at the head or the foot of a page.
_RUNNING = re.compile(r"\S.*\S\s{3,}\S")
_TAG = re.compile(r"\s*(?:[-+]|\[[-+])\S")
_TAG_AND_TEXT = re.compile(r"\s*[-+\[]\S*(?: \S+)*\s{2,}\S")
_OPTION_NAME = re.compile(r"(?<![\w-])--?([A-Za-z][\w-]+)")
_KEEPS = {
    **{"first": 10, "next": 30, "other": 50, "description": 55},
    **{"status": 60, "options": 70, "examples": 80},
}
_DETAIL = 15
"""Deduction for a paragraph under another one, as against one under a heading."""


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a man page in pieces, one for each paragraph or option; None for any other text.

    A gap is a line `[…]`, indented as the text was. The name and the synopsis
    (up to `MAX_LINES_ALWAYS_KEPT` lines of each) always stay.
    """
    lines = split_lines(text)
    indents = [_indent(line) for line in lines]
    full = [indent for indent in indents if indent is not None]
    headings = sum(not indent for indent in full)
    if headings < 2 or headings * 2 > len(full):
        return None
    of_text = [indent for indent in full if indent > MAX_SUBSECTION_INDENT]
    base = min(of_text, default=MAX_SUBSECTION_INDENT + 1)
    parts = _Page(lines, indents).read()

    def gap(run: Sequence[Piece], marks: Marks) -> str:
        indent = max(base, _indent(run[0].text.split("\n", 1)[0]) or 0)
        mark = " " * indent + f"[{marks.gap}]"
        if run[-1] is parts[-1]:
            return mark
        # The blank line after the run stays: it parts the mark from the next paragraph.
        last = run[-1].text
        return mark + last[len(last.rstrip("\n")) :][:2]

    under_query = UnderQuery(label=_label, loose=True, opens=True)
    return Pieces(parts, gap, marks, paragraph, under_query=under_query)


def _label(piece: Piece) -> str:
    """Return the names of an option: `max-count` of `-m NUM, --max-count=NUM`; "" of other text."""
    line = piece.text.split("\n", 1)[0]
    if not _TAG.match(line):
        return ""
    return " ".join(_OPTION_NAME.findall(re.split(r"(?<=\S)\s{2,}", line, maxsplit=1)[0]))


def _indent(line: str) -> int | None:
    bare = line.lstrip()
    if not bare:
        return None
    return len(line[: len(line) - len(bare)].expandtabs())


class _Page:
    def __init__(self, lines: Sequence[str], indents: Sequence[int | None]) -> None:
        self._lines = lines
        self._indents = indents
        self._parts: list[Piece] = []
        self._over: list[tuple[int, int]] = []
        """Indents and pieces of the headings and options over this place."""
        self._kind = "first"
        self._left = 0
        """Lines of this section that still always stay."""
        self._opening = False
        """True until the first paragraph of the description."""

    def read(self) -> list[Piece]:
        """Return the pieces."""
        sections = 0
        for start, end in self._stretches():
            text = "".join(self._lines[start:end])
            indent = self._indents[start] or 0
            if indent > MAX_SUBSECTION_INDENT or self._lines[start].isspace():
                self._paragraph(self._lines[start:end], indent)
            elif indent:
                self._heading(text, indent)
            elif _RUNNING.match(text):
                self._parts.append(Piece(text, 5))
                self._over, self._kind = [], "first"
            else:
                sections += 1
                self._section(text.strip(), sections)
                self._heading(text, 0)
        return self._parts

    def _stretches(self) -> Iterator[tuple[int, int]]:
        """Yield first line and end of each heading and paragraph, with the blank lines after it."""
        start, deeper = 0, False
        for number in range(1, len(self._lines)):
            indent, before = self._indents[number], self._indents[number - 1]
            if indent is None:
                continue
            first = self._indents[start]
            parted = before is None or first is None or min(indent, first) <= MAX_SUBSECTION_INDENT
            if not parted and indent == first:
                # The tag of the next entry, with no blank line before it.
                above = self._lines[number - 1]
                tagged = _TAG.match(self._lines[number]) and _TAG_AND_TEXT.match(above)
                parted = deeper or bool(tagged)
            if parted:
                yield start, number
                start, deeper = number, False
            elif first is not None and indent > first:
                deeper = True
        yield start, len(self._lines)

    def _section(self, name: str, number: int) -> None:
        upper = name.upper()
        self._opening = upper == "DESCRIPTION"
        self._left = 0
        # Where a page is not English, its first two sections are taken for name and synopsis. A
        # page of ten thousand sections is not looked through for each.
        second = number == 2 and not self._opening
        second = second and not any(part.kind == "name" for part in self._parts)
        if number == 1 or second or upper in ("NAME", "SYNOPSIS"):
            self._kind, self._left = "always", MAX_LINES_ALWAYS_KEPT
        elif self._opening:
            self._kind = "description"
        else:
            found = (kind for kind, names in _SECTIONS.items() if names.fullmatch(upper))
            self._kind = next(found, "other")

    def _heading(self, text: str, indent: int) -> None:
        under = self._above(indent)
        kind = "name" if text.strip().upper() == "NAME" else ""
        # `Traditional usage` in a synopsis stays with the line under it, also under a query.
        keep = ALWAYS if self._kind == "always" and self._left > 0 else 0
        self._parts.append(Piece(text, keep, under, skeleton=True, kind=kind))
        self._over.append((indent, len(self._parts) - 1))

    def _above(self, indent: int) -> int:
        while self._over and self._over[-1][0] >= indent:
            self._over.pop()
        return self._over[-1][1] if self._over else -1

    def _paragraph(self, lines: Sequence[str], indent: int) -> None:
        under = self._above(indent)
        keep = self._keep_of_paragraph(lines[0], under)
        index = len(self._parts)
        cuts = [*range(0, max(1, len(lines) - LINES_PER_PIECE), LINES_PER_PIECE), len(lines)]
        staying = min(self._left, len(lines))
        if staying:
            filled = sum(1 for line in lines if not line.isspace())
            staying = len(lines) if filled <= staying else staying
            # Each line of a long one may stay alone, where a query needs the room.
            own = [0, staying] if staying == len(lines) else range(staying + 1)
            cuts = [*own, *(cut for cut in cuts if cut > staying)]
        for start, end in pairwise(cuts):
            piece = Piece("".join(lines[start:end]), keep, index if start else under)
            if end <= staying:
                piece = piece._replace(keep=ALWAYS)
            self._parts.append(piece)
        self._left -= min(staying, self._left)
        self._over.append((indent, index))

    def _keep_of_paragraph(self, line: str, under: int) -> float:
        if self._kind == "always":
            return 95.0
        if self._opening:
            self._opening = False
            return 90.0
        if self._kind in ("first", "next", "examples"):
            return _KEEPS[self._kind]
        # Under another paragraph it is a detail of that one, and no option of its own.
        if under >= 0 and not self._parts[under].skeleton:
            return min(_KEEPS[self._kind] - _DETAIL, 45)
        return _KEEPS["options" if _TAG.match(line) else self._kind]
