"""Entries of data in lines: what is under what, by the columns that lines begin in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from ..text.words import late_pattern
from .program import IN_STRING, paragraphs_of_comments

DOCUMENT, SECTION = "document", "section"
"""Kinds of the lines `---` and `[name]`, which all up to the next one is under."""
HEADER = "header"
"""The kind of the first row of a table, and of the outermost element: these always stay."""
RECORD, FAILURE = "record", "failure"
"""Kinds of a line that says nothing without what is below it, and of one that says what failed."""
_MAX_LINES_OF_COMMENTS = 4
"""Lines up to which comments go with the entry after them; more are a piece."""
DOCUMENT_LINE = late_pattern(r"(?:---|\.\.\.)(?=\s|\Z)")
_NO_BRACKETS = late_pattern(r""""(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|\#.*""")
MAX_LINES_OF_A_VALUE = 1_000
"""Lines that are looked through for the bracket or quote that ends a value."""
_BRACKET = late_pattern(r"[ \t]*[\]}]")


@dataclass(slots=True)
class DataEntry:
    """A key, an item of a list, a section, a document, a row, or a line of a text."""

    first: int
    """Its first line, comments above it included."""
    code: int
    end: int
    """The line after its own; its children follow."""
    parent: int = -1
    key: str = ""
    kind: str = ""
    """`DOCUMENT`, `SECTION`, `HEADER`, or `IN_STRING` for a line of a text."""
    closes: int = -1
    """The entry that it ends: a line `</name>`."""
    anchored: bool = False
    """True if others may say `*name` in the place of its value."""
    column: float = -1.0
    """The column that the lines of a value below it are deeper than."""
    needs: list[int] = field(default_factory=list)
    """Earlier entries that it says nothing without: anchors, the element of an array it is in."""
    place: int = 0
    """Its place among those of one parent."""
    children: list[int] = field(default_factory=list)
    last: int = 0
    """The line after all that is under it."""


class EntryReader:
    """The entries so far, and those that the next line may be under."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.entries: list[DataEntry] = []
        self._lines = lines
        self.next = 0
        """The first line that is in no entry yet."""
        self._searched = 0
        """The first line from which the end of a value is looked for again."""
        self._around: list[tuple[float, int]] = []
        """Columns and numbers of entries, the outermost first."""

    def add(self, line: int, column: float, key: str = "", kind: str = "") -> DataEntry:
        """Add the entry that begins in a line, with comments above it.

        Blank lines go with the entry before: a mark in the place of this one is as deep as its
        first line.
        """
        while self._around and self._around[-1][0] >= column:
            self._around.pop()
        parent = self._around[-1][1] if self._around else -1
        while self.entries and self.next < line and self._lines[self.next].isspace():
            self.next += 1
            self.entries[-1].end = self.next
        above = self._lines[self.next : line]
        if len(above) > _MAX_LINES_OF_COMMENTS and kind != IN_STRING:
            for part in paragraphs_of_comments("".join(above)):
                end = self.next + part.count("\n")
                self.entries.append(DataEntry(self.next, self.next, end, parent))
                self.next = end
        number = len(self.entries)
        entry = DataEntry(self.next, line, line + 1, parent, key, kind)
        self.entries.append(entry)
        self._around.append((column, number))
        self.next = line + 1
        return entry

    def column_above(self, column: float) -> float:
        """Return the column that a value which begins in a column is deeper than."""
        around = [number for above, number in self._around if above < column]
        return self.entries[around[-1]].column if around else -1.0

    def find_end(
        self, line: int, find: Callable[[], int | None], reach: int = MAX_LINES_OF_A_VALUE
    ) -> int | None:
        """Return the line after a value that goes on below a line; None where it has no end.

        Where one has none, the next `reach` lines are not searched from: 10,000 may be `a: [`.
        """
        if line < self._searched:
            return None
        end = find()
        self._searched = line + reach if end is None else 0
        return end

    def finish(self) -> list[DataEntry]:
        """Return all entries; what follows the last goes with it."""
        if self.entries:
            self.entries[-1].end = len(self._lines)
        return self.entries


def end_of_brackets(
    lines: Sequence[str], number: int, value: str, aside: re.Pattern[str] = _NO_BRACKETS
) -> int | None:
    """Return the line after a value in brackets that goes on in line `number`; None: no end."""
    left = 0
    for end, line in enumerate(chain([value], lines[number : number + MAX_LINES_OF_A_VALUE])):
        line = aside.sub("", line)
        left += sum(map(line.count, "[{")) - sum(map(line.count, "]}"))
        if left <= 0:
            return number + end
    return None


def end_of_deeper(
    lines: Sequence[str], start: int, column: float, until: re.Pattern[str] | None = None
) -> int:
    """Return the line after those that are deeper than a column, or close a bracket in it.

    The first one that begins with `until` is the next.
    """
    end = start
    for number in range(start, len(lines)):
        line = lines[number]
        bare = line.lstrip(" \t")
        if not bare.strip():
            continue
        depth = len(line) - len(bare)
        if DOCUMENT_LINE.match(line) or (until and until.match(line, depth)):
            break
        if depth <= column and not (depth == column and _BRACKET.match(line)):
            break
        end = number + 1
    return end
