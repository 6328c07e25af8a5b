"""Prose in sentences: what is left of it stands as it was written, with ` … ` where something is gone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .pieces import Piece, Pieces

LEAST = 30
"""A piece has at least so many characters."""
LINES = 160
"""The same where a line ends but no sentence: lines of code and of lists say little without their neighbours."""
MOST = 8_000
"""Pieces of a text at the most, about: those of a longer text are longer."""

_STOP = re.compile(
    r"""(?<=[.!?…])[)\]"'’”»]*+\s++(?=[("'‘“«\[]?[^\W_a-zß-ÿ])"""  # before a capital, a digit, a script without cases
    r"""|[。！？｡][」』”’）]*+\s*+"""
    r"""|(?P<line>\n(?:[^\S\n]*+\n)*+)"""  # blank lines too, not the indentation of the next
    r"""|\\n"""  # an escaped line end: text inside a string of JSON or of code
)
_SHORT = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:\w|Mr|Mrs|Ms|Dr|St|Prof|Rev|Gen|Col|Lt|Sgt|Capt|Sen|Rep|Gov|Hon|Jr|Sr|Mt|Ft|No|Nos|Vol|Fig|Figs|Eq"
    r"|Ref|Refs|Sec|Ch|pp|p|cf|vs|al|ca|approx|est|Inc|Ltd|Co|Corp|e\.g|i\.e|U\.S|U\.K)\.\s*$"
)


def divide(text: str, *, marker: str = "", language: str | None = None) -> Pieces | None:
    """Return `text` in sentences and lines; `None` if it is but one. A gap is ` … `, whatever the `marker`."""
    parts = [Piece(part) for part in sentences(text)]
    return Pieces(parts, _gap, _head, loose=True) if len(parts) > 1 else None


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, each with the white space after it: joined, they are the text."""
    start, fair = 0, len(text) // MOST
    least, lines = max(LEAST, fair), max(LINES, fair)
    for found in _STOP.finditer(text):
        end = found.end()
        if end - start < (lines if found.lastgroup else least) or len(text) - end < LEAST:
            continue
        if text[found.start() - 1] == "." and _SHORT.search(
            text, max(start, found.start() - 12), found.start()
        ):
            continue
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _gap(run: Sequence[Piece]) -> str:
    """Return the mark, with the white space at the end of the run, folded: what comes before has its own."""
    last = run[-1].text
    end = last[len(last.rstrip()) :]
    return "…" + ("\n" if "\n" in end else end[:1])


def _head(gone: int, total: int) -> str:
    return ""
