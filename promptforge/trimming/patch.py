"""Trimming of diffs: lines around a change go first, then changes, file by file from the end.

The lines of lock files and their like go first of all. The later changes of a long file go before
those of other files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..text.format import Marks
from ..text.unwanted import unwanted_name
from .pieces import Piece, Pieces, TrimmedVariants, UnderQuery, line_gap, split_lines

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@|@@@+ .* @@@+")
_FILE = re.compile(r"diff --git |diff -|Index: |--- .*\n\Z")
_AROUND_UNWANTED, _UNWANTED, _AROUND, _LATER, _CHANGED, _ABOVE = range(6)
"""Order of leaving: lines of lock files, around a change, changed ones, above the first file."""
MAX_FIRST_CHANGES = 40
"""Changed lines of a file before its later ones."""


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a diff as pieces; `None` for a text without a hunk.

    A changed line needs the line of its hunk, and this the lines that name the file.
    """
    lines = split_lines(text)
    parts: list[Piece] = []
    file = hunk = -1
    number = changed = 0
    found = is_unwanted = False
    while number < len(lines):
        hunk_head = _HUNK.match(lines[number])
        if hunk_head:
            found = True
            hunk = len(parts)
            keep = _UNWANTED if is_unwanted else _CHANGED
            parts.append(Piece(lines[number], keep, file, skeleton=True))
            end = _end_of_hunk(lines, number, hunk_head)
            for line in lines[number + 1 : end]:
                keep = _AROUND_UNWANTED if is_unwanted else _AROUND
                if line[0] in "+-" and is_unwanted:
                    keep = _UNWANTED
                elif line[0] in "+-":
                    changed += 1
                    keep = _CHANGED if changed <= MAX_FIRST_CHANGES else _LATER
                parts.append(Piece(line, keep, hunk))
            number = end
        elif _begins_file(lines, number):
            end = number + 1
            while end < len(lines) and not _HUNK.match(lines[end]):
                if _begins_file(lines, end) and not lines[end].startswith("--- "):
                    break
                end += 1
            file, changed = len(parts), 0
            # The last name in the line; a time may follow it.
            name = lines[number].partition("\t")[0].strip().strip('"').replace(" ", "/")
            is_unwanted = unwanted_name(name) is not None
            parts.append(Piece("".join(lines[number:end]), _CHANGED, skeleton=True))
            number = end
        else:
            parts.append(Piece(lines[number], _ABOVE, file))
            number += 1
    under_query = UnderQuery(_CHANGED, facts_together=True)
    return _Changes(parts, line_gap, marks, under_query=under_query) if found else None


class _Changes(Pieces):
    def outlines(self) -> TrimmedVariants:
        """Return none: names of files and numbers of lines do not say what is changed, nor why."""
        return super(_Changes, self.with_parts(())).outlines()


def _begins_file(lines: Sequence[str], number: int) -> bool:
    if not _FILE.match(lines[number]):
        return False
    # `--- ` is a heading of Markdown's rule, too, or a deleted comment of SQL: `+++ ` must follow.
    if lines[number].startswith("--- "):
        return number + 1 < len(lines) and lines[number + 1].startswith("+++ ")
    return True


def _end_of_hunk(lines: Sequence[str], start: int, head: re.Match[str]) -> int:
    """Return the line after a hunk: its head counts the lines, `-- a` among them is a deletion."""
    number = start + 1
    if head[1] is None:  # of a merge: signs of several columns
        while number < len(lines) and lines[number][0] in " +-\\":
            number += 1
        return number
    old, new = (1 if count is None else int(count) for count in (head[2], head[4]))
    while number < len(lines) and (old > 0 or new > 0 or lines[number].startswith("\\")):
        sign = lines[number][0]
        if sign not in " +-\\\n\r":
            break
        old -= sign not in "+\\"
        new -= sign not in "-\\"
        number += 1
    return number
