"""Facts about characters, frozen: those of Unicode 14.0 on each Python.

Each Python brings its own version of Unicode. What a later version adds is a letter on one Python,
unknown on another, and equal input would give other bytes. So what Unicode 14.0, the version of
Python 3.11, does not know counts as unknown everywhere. Facts about the characters that it knows do
not change: their case, marks and normal forms are promised by Unicode.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal

from . import table_text

STAND_IN = "\U0010fffd"
"""A character of private use, no letter, mark or blank on any Python."""
MAX_CHARACTERS_KNOWN = 50_000
_known: set[str] = set()


@cache
def _edges() -> list[int]:
    # Distances, in base 36, between the edges of the runs of unassigned characters, from 0: the
    # first run begins at the first edge and ends before the second.
    steps = table_text("unassigned").split()
    return list(itertools.accumulate(int(step, 36) for step in steps))


def is_later(char: str) -> bool:
    """Tell whether a character is not in Unicode 14.0: it is unknown, or was added since."""
    return bisect_right(_edges(), ord(char)) % 2 == 1


def freeze(text: str) -> str:
    """Return a text as Unicode 14.0 sees it, with `STAND_IN` for each character added since.

    It is for reading, never for printing; both texts are equally long.
    """
    if text.isascii():
        return text
    if _known.issuperset(text):
        return text
    if len(_known) > MAX_CHARACTERS_KNOWN:
        _known.clear()
    chars = set(text)
    later = {char for char in chars if is_later(char)}
    _known.update(chars - later)
    return text.translate(dict.fromkeys(map(ord, later), STAND_IN)) if later else text


def category(char: str) -> str:
    """Return the general category of a character: `Lu`, `Mn`; `Cn` if it is unknown."""
    return "Cn" if is_later(char) else unicodedata.category(char)


def categories(stop: int) -> Iterator[tuple[str, range]]:
    """Yield the runs of known characters below `stop` with the category of each run."""
    edges = [0, *_edges()]
    for start, end in zip(edges[::2], edges[1::2], strict=False):
        codes = range(start, min(end, stop))
        for name, run in itertools.groupby(codes, lambda code: unicodedata.category(chr(code))):
            first, *others = run
            yield name, range(first, first + 1 + len(others))


def normalize(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """Return a text in a normal form of Unicode 14.0."""
    return change_known(text, lambda part: unicodedata.normalize(form, part))


def change_known(text: str, change: Callable[[str], str]) -> str:
    """Return a text with each run of known characters changed."""
    frozen = freeze(text)
    if frozen is text:
        return change(text)

    def change_run(run: re.Match[str]) -> str:
        part = text[run.start() : run.end()]
        return part if run[0][0] == STAND_IN else change(part)

    return re.sub(f"{STAND_IN}+|[^{STAND_IN}]+", change_run, frozen)
