"""Plain tables for a terminal or a pipe: no boxes, no colours, and nothing that moves a cursor."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..escaping import label

WIDTH = 80
"""Columns of a table that is not printed on a terminal."""

WIDEST = 120
"""Columns of a table on a terminal that has more."""


class Column(NamedTuple):
    """One column: its heading, and how it is set."""

    heading: str
    right: bool = False
    cut: bool = False
    """Whether its longest cells may be cut to make the table fit, in their middle."""
    paths: bool = False
    """Whether of a path the end is kept: there are its file and its lines."""
    spare: int = 0
    """Whether it is left out where there is no room for all, the columns with the largest numbers first."""
    least: int = 8
    """Columns below which it is not cut."""


def screen() -> int:
    """Return how many columns there are."""
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDTH
    return max(40, min(WIDEST, shutil.get_terminal_size((WIDTH, 24)).columns))


def shown(value: object, limit: int = 200) -> str:
    """Return a text from outside on one line, with escapes for what moves a terminal or cannot be seen."""
    text = value if isinstance(value, str) else str(value)
    return label(text if len(text) <= limit else f"{text[: limit // 2]}…{text[-limit // 2 :]}")


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shorten(text: str, room: int, *, path: bool = False) -> str:
    """Return `text` in at most `room` columns, `…` in the place of its middle, or of the beginning of a `path`."""
    if width(text) <= room:
        return text
    ends = room - 1
    head = "" if path and "/" in text else _upto(text, ends - ends // 2)
    return f"{head}…{_upto(text[::-1], ends - width(head))[::-1]}"


def _upto(text: str, room: int) -> str:
    for end, char in enumerate(text):
        room -= _columns(char)
        if room < 0:
            return text[:end]
    return text


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, total: int) -> Iterator[str]:
    """Yield the lines of a table that is at most `total` columns wide, if cutting what may be cut can do it.

    Cells are printed as they are: texts from outside have been through `shown`.
    """
    cells = [[column.heading for column in columns], *rows]
    wide = [max(width(row[n]) for row in cells) for n in range(len(columns))]
    gap = 2 if sum(wide) + 2 * (len(wide) - 1) <= total else 1
    over = sum(wide) + gap * (len(wide) - 1) - total
    while over > 0:
        able = [n for n, column in enumerate(columns) if column.cut and wide[n] > column.least]
        if not able:
            spare = max(range(len(columns)), key=lambda n: columns[n].spare, default=0)
            if columns and columns[spare].spare:
                left = [n for n in range(len(columns)) if n != spare]
                yield from table(
                    [columns[n] for n in left],
                    [[row[n] for n in left] for row in rows],
                    total=total,
                )
                return
            break
        n = max(able, key=wide.__getitem__)
        wide[n] -= 1
        over -= 1
    for row in cells:
        line = []
        for column, cell, room in zip(columns, row, wide, strict=True):
            text = shorten(cell, room, path=column.paths) if column.cut else cell
            pad = " " * (room - width(text))
            line.append(pad + text if column.right else text + pad)
        yield (" " * gap).join(line).rstrip()
