"""Trimming of prose: sentences and lines go, and ` … ` stands for them.

The sentences of one paragraph, cut where no bracket, no code and no emphasis is open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from ..text.format import Marks
from ..text.split_points import unit_ends
from .pieces import Piece, Pieces, Slices

MIN_PIECE_CHARS = 30
"""Characters of the shortest piece."""
MIN_LINE_PIECE_CHARS = 160
"""The same where a line ends but no sentence: a line of code says little without the next."""
MAX_CHARS_HELD = 1 << 22
"""Characters of a text up to which all its pieces are held: those of a gigabyte are another."""
MAX_PROSE_PIECES = 8_000
"""Pieces of a text at the most, about: those of a longer text are longer."""
MAX_PIECE_CHARS = 4_096
"""They are no longer for that, or a gigabyte's would have room nowhere."""
_STOP = re.compile(
    # before a capital, a digit, or a letter of a script without cases
    r"""(?<=[.!?…])[)\]"'’”»]*+\s++(?=[("'‘“«\[]?[^\W_a-zß-ÿ])"""
    r"""|[。！？｡][」』”’）]*+\s*+"""
    r"""|(?P<line>\n(?:[^\S\n]*+\n)*+)"""  # blank lines too, not the indentation of the next
    r"""|\\n"""  # an escaped line end: text inside a string of JSON or of code
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:\w|Mr|Mrs|Ms|Dr|St|Prof|Rev|Gen|Col|Lt|Sgt|Capt|Sen|Rep|Gov|Hon|Jr|Sr"
    r"|Mt|Ft|No|Nos|Vol|Fig|Figs|Eq|Ref|Refs|Sec|Ch|pp|p|cf|vs|al|ca|approx|est|Inc|Ltd|Co|Corp"
    r"|e\.g|i\.e|U\.S|U\.K)\.\s*$"
)


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return `text` in sentences and lines; None if it is only one.

    A gap is ` … `, and there is no head.
    """
    ends = accumulate(map(len, split_prose(text)), initial=0)
    parts: Sequence[Piece] = Slices(text, list(ends), Piece)
    if len(text) <= MAX_CHARS_HELD:
        parts = list(parts)
    if len(parts) < 2:
        return None
    return Pieces(parts, _gap, marks._replace(marker=""), cuttable=True)


def split_prose(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, each with the white space after it: joined, they are it."""
    start, fair = 0, min(len(text) // MAX_PROSE_PIECES, MAX_PIECE_CHARS)
    least, least_line = max(MIN_PIECE_CHARS, fair), max(MIN_LINE_PIECE_CHARS, fair)
    for found in _STOP.finditer(text):
        end = found.end()
        wanted = least_line if found.lastgroup else least
        if end - start < wanted or len(text) - end < MIN_PIECE_CHARS:
            continue
        stop = found.start()
        if text[stop - 1] == "." and _ABBREVIATION.search(text, max(start, stop - 12), stop):
            continue
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _gap(run: Sequence[Piece], marks: Marks) -> str:
    """Return the mark, with the white space at the end of the run folded to one character."""
    # No blank before it: the text that stays there ends with its own.
    last = run[-1].text
    end = last[len(last.rstrip()) :]
    return marks.gap + ("\n" if "\n" in end else end[:1])


MIN_SENTENCE_CHARS = 25
"""Characters of the shortest sentence; a shorter one goes with the next."""

# Ends with a full stop, but no sentence does: an abbreviation, or one letter or digit (`1.`, `J.`).
_SHORT = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|etc|al|approx|Mr|Mrs|Ms|Dr|St|No|Fig|Sec|Vol)|(?<![^\s(])\w)\.$"
)

# Underscores within words (`snake_case`) and `<` before a blank open nothing.
_SIGNS = re.compile(r"\\.|[\[\]()`>]|\*+|(?<!\w)_+|_+(?!\w)|~~|<(?=[A-Za-z/!?])", re.DOTALL)
_CLOSES = {"]": "[", ")": "(", ">": "<"}


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, each with the white space after it."""
    start = seen = stop = 0
    open_signs: Counter[str] = Counter()
    for end in unit_ends(text, "sentence", 0, len(text)):
        if end < stop:  # one of many blank lines
            continue
        for found in _SIGNS.finditer(text, seen, end):
            _count_sign(found[0], open_signs)
        seen = stop = end
        while stop < len(text) and text[stop].isspace():
            stop += 1
        if stop == len(text) or stop - start < MIN_SENTENCE_CHARS or any(open_signs.values()):
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
