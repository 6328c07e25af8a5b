"""The sentences of one paragraph, cut where no bracket, no code and no emphasis is open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ..boundaries import ends

LEAST = 25
"""Characters of the shortest sentence; a shorter one goes with the next."""

# Ends with a full stop, but no sentence does: an abbreviation, or one letter or digit (`1.`, `J.`).
_SHORT = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|etc|al|approx|Mr|Mrs|Ms|Dr|St|No|Fig|Sec|Vol)|(?<![^\s(])\w)\.$"
)
# Underscores within words (`snake_case`) and `<` before a blank open nothing.
_SIGNS = re.compile(r"\\.|[\[\]()`>]|\*+|(?<!\w)_+|_+(?!\w)|~~|<(?=[A-Za-z/!?])", re.DOTALL)
_CLOSES = {"]": "[", ")": "(", ">": "<"}


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, each with the white space after it."""
    start = seen = stop = 0
    open_signs: Counter[str] = Counter()
    for end in ends(text, "sentence", 0, len(text)):
        if end < stop:  # one of many blank lines
            continue
        for found in _SIGNS.finditer(text, seen, end):
            _count_sign(found[0], open_signs)
        seen = stop = end
        while stop < len(text) and text[stop].isspace():
            stop += 1
        if stop == len(text) or stop - start < LEAST or any(open_signs.values()):
            continue
        # A small letter goes on with the sentence: `the file .bashrc is read.`
        if not text[stop].islower() and not _SHORT.search(text, max(start, end - 8), end):
            yield text[start:stop]
            start = stop
    if start < len(text):
        yield text[start:]


def _count_sign(sign: str, open_signs: Counter[str]) -> None:
    """Count how often each sign is open: brackets nest, all others open and close in turn."""
    if sign in "[(<":
        open_signs[sign] += 1
    elif sign in _CLOSES:
        open_signs[_CLOSES[sign]] = max(0, open_signs[_CLOSES[sign]] - 1)
    elif sign[0] != "\\":
        open_signs[sign] = 1 - open_signs[sign]
