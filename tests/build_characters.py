"""Write the table of characters of `promptforge/text/characters.py`, by the Python that knows them.

    python3.11 tests/build_characters.py

It takes a Python with Unicode 14.0, the version of the oldest Python that promptforge runs on.
"""

from __future__ import annotations

import itertools
import re
import sys
import textwrap
import unicodedata
from collections.abc import Iterator
from pathlib import Path

MODULE = Path(__file__).parent.parent / "promptforge/text/characters.py"
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
    source = MODULE.read_text(encoding="utf-8")
    new = re.sub(r'(?s)(_EDGES = """\n).*?(\n""")', rf"\g<1>{table()}\g<2>", source)
    MODULE.write_text(new, encoding="utf-8")
