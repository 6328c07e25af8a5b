"""Entries of tables: the rows of CSV and TSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from ..text.words import late_pattern
from .entry_reader import HEADER, MAX_LINES_OF_A_VALUE, DataEntry, EntryReader

_END_OF_FIELD = late_pattern(r'(?:[^"]|"")*+"')
TABLES = ("csv", "tsv")


def read_rows(lines: Sequence[str]) -> list[DataEntry]:
    """Return the rows of a table; a field in quotes may go on in the next line."""
    reader = EntryReader(lines)
    delimiter = max(",;\t|", key=lines[0].count) if lines else ","
    # A lone quote within a field, as in `5" pipe`, is a sign as any other.
    opening = re.compile(f'(?:^|{re.escape(delimiter)})"')
    number = 0
    while number < len(lines):
        if lines[number].isspace():
            number += 1  # it goes with the row before
            continue
        start = number
        number = reader.find_end(start, partial(_end_of_row, lines, start, opening)) or start + 1
        entry = reader.add(start, float(bool(start)), kind="" if start else HEADER)
        entry.end = reader.next = number
    return reader.finish()


def _end_of_row(lines: Sequence[str], start: int, opening: re.Pattern[str]) -> int | None:
    is_quoted = False
    for number in range(start, min(start + MAX_LINES_OF_A_VALUE, len(lines))):
        place = 0
        while found := (_END_OF_FIELD.match if is_quoted else opening.search)(lines[number], place):
            is_quoted, place = not is_quoted, found.end()
        if not is_quoted:
            return number + 1
    return None
