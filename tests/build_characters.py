"""Write `promptforge/text/unassigned.txt`, a table of characters, by the Python that knows them.

    python3.11 tests/build_characters.py

It takes a Python with Unicode 14.0, the version of the oldest Python that promptforge runs on.
"""

from __future__ import annotations

import itertools
import sys
import textwrap
import unicodedata
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).parent.parent / "promptforge/text/unassigned.txt"
VERSION = "14.0.0"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base_36(number: int) -> str:
    """Return a number as `int(text, 36)` reads it."""
    rest, digit = divmod(number, 36)
    return (base_36(rest) if rest else "") + DIGITS[digit]


def steps() -> Iterator[str]:
    """Yield the distances between the edges of the runs of characters that are not assigned."""
    last = 0
    codes = range(sys.maxunicode + 1)
    for unassigned, run in itertools.groupby(codes, lambda c: unicodedata.category(chr(c)) == "Cn"):
        start = next(run)
        if start or unassigned:
            yield base_36(start - last)
            last = start


def table() -> str:
    """Return the lines of the table."""
    return "\n".join(textwrap.wrap(" ".join(steps()), 96))


if __name__ == "__main__":
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"this Python knows Unicode {unicodedata.unidata_version}, and not {VERSION}")
    TABLE.write_text(f"{table()}\n", encoding="utf-8")
