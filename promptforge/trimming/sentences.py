"""The sentences of one paragraph, cut where no bracket, no code and no emphasis is open."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..boundaries import ends

LEAST = 25
"""A sentence has at least so many characters; a shorter one goes with the next."""

_SHORT = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|etc|al|approx|Mr|Mrs|Ms|Dr|St|No|Fig|Sec|Vol)|(?<![^\s(])\w)\.$"
)
"""Ends with a full stop and no sentence does: an abbreviation, or one letter or digit (`1.`, `J.`)."""
# Underscores within words (`snake_case`) and `<` before a blank open nothing.
_SIGNS = re.compile(r"\\.|[\[\]()`>]|\*+|(?<!\w)_+|_+(?!\w)|~~|<(?=[A-Za-z/!?])", re.DOTALL)
_CLOSES = {"]": "[", ")": "(", ">": "<"}


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, each with the white space after it: joined, they are the paragraph."""
    start = seen = stop = 0
    open_: dict[str, int] = {}
    for end in ends(text, "sentence", 0, len(text)):
        if end < stop:  # one of many blank lines
            continue
        _count(text, seen, end, open_)
        seen = end
        stop = end
        while stop < len(text) and text[stop].isspace():
            stop += 1
        # A small letter goes on with the sentence: `the file .bashrc is read.`
        if stop == len(text) or text[stop].islower() or stop - start < LEAST or any(open_.values()):
            continue
        if not _SHORT.search(text, max(start, end - 8), end):
            yield text[start:stop]
            start = stop
    if start < len(text):
        yield text[start:]


def _count(text: str, start: int, end: int, open_: dict[str, int]) -> None:
    """Bring `open_`, how often each sign is open, from `start` to `end`."""
    for found in _SIGNS.finditer(text, start, end):
        sign = found[0]
        if sign in "[(<":
            open_[sign] = open_.get(sign, 0) + 1
        elif sign in _CLOSES:
            open_[_CLOSES[sign]] = max(0, open_.get(_CLOSES[sign], 0) - 1)
        elif sign[0] != "\\":
            open_[sign] = 1 - open_.get(sign, 0)
