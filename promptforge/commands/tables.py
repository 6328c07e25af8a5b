"""Plain tables for a terminal or a pipe: no boxes, no colours, no cursor moves."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..escaping import label

WIDTH = 80
"""Columns of a table that goes to a pipe or a file."""

WIDEST = 120
"""Columns of a table on a wide terminal."""


class Column(NamedTuple):
    """One column: its heading, and how it is set."""

    heading: str
    right: bool = False
    """Align its cells to the right."""
    cut: bool = False
    """Shorten its longest cells where the table is too wide."""
    paths: bool = False
    """Keep the end of a path that is shortened: it names the file and its lines."""
    spare: int = 0
    """Leave the column out where room is short; the largest number goes first, 0 never goes."""
    least: int = 8
    """Terminal columns it keeps at least."""


def screen() -> int:
    """Return the terminal's columns, or those of a table in a pipe."""
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDTH
    return max(40, min(WIDEST, shutil.get_terminal_size((WIDTH, 24)).columns))


def shown(value: object, limit: int = 200) -> str:
    """Return an outside text on one line; controls and invisible characters become escapes."""
    text = str(value)
    if len(text) > limit:
        text = f"{text[: limit // 2]}…{text[-limit // 2 :]}"
    return label(text)


def plural(count: int, one: str, many: str) -> str:
    """Return `one` or `many`, as the count wants it."""
    if count == 1:
        return one
    return many


def width(text: str) -> int:
    """Return the terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    # Combining marks and format characters take no column of their own, wide East Asian ones two.
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 1 + (unicodedata.east_asian_width(char) in "WF")


def shorten(text: str, room: int, *, path: bool = False) -> str:
    """Return `text` in at most `room` columns: `…` replaces its middle, or a path's beginning."""
    if width(text) <= room:
        return text
    ends = room - 1
    head = ""
    if not (path and "/" in text):
        head = _upto(text, ends - ends // 2)
    return f"{head}…{_upto(text[::-1], ends - width(head))[::-1]}"


def _upto(text: str, room: int) -> str:
    for end, char in enumerate(text):
        room -= _columns(char)
        if room < 0:
            return text[:end]
    return text


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, total: int) -> Iterator[str]:
    """Yield the lines of a table, at most `total` columns wide where cutting can make it so.

    Cells are printed as they are: pass outside texts through `shown` first.
    """
    cells = [[column.heading for column in columns], *rows]
    wide = [max(width(row[n]) for row in cells) for n in range(len(columns))]
    gap = 1 + (sum(wide) + 2 * (len(wide) - 1) <= total)
    over = sum(wide) + gap * (len(wide) - 1) - total
    while over > 0:
        able = [n for n, column in enumerate(columns) if column.cut and wide[n] > column.least]
        if not able:
            break
        # The widest column gives one place at a time, so that all end about equally short.
        n = max(able, key=wide.__getitem__)
        wide[n] -= 1
        over -= 1
    spare = max(range(len(columns)), key=lambda n: columns[n].spare, default=0)
    if over > 0 and columns and columns[spare].spare:
        left = [n for n in range(len(columns)) if n != spare]
        fewer = [[row[n] for n in left] for row in rows]
        yield from table([columns[n] for n in left], fewer, total=total)
        return
    for row in cells:
        line = []
        for column, cell, room in zip(columns, row, wide, strict=True):
            text = cell
            if column.cut:
                text = shorten(cell, room, path=column.paths)
            pad = " " * (room - width(text))
            line.append((text + pad, pad + text)[column.right])
        yield (" " * gap).join(line).rstrip()
