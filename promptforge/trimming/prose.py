"""Trimming of prose: sentences and lines go, and ` … ` stands for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .pieces import Piece, Pieces

LEAST = 30
"""Characters of the shortest piece."""
LINES = 160
"""The same where a line ends but no sentence: a line of code says little without the next."""
MOST = 8_000
"""Pieces of a text at the most, about: those of a longer text are longer."""

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


def divide(text: str, *, marker: str = "", language: str | None = None) -> Pieces | None:
    """Return `text` in sentences and lines; None if it is only one.

    A gap is ` … `, and there is no head, whatever the `marker`.
    """
    parts = [Piece(part) for part in sentences(text)]
    if len(parts) < 2:
        return None
    return Pieces(parts, _gap, lambda gone, total: "", loose=True)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, each with the white space after it: joined, they are it."""
    start, fair = 0, len(text) // MOST
    least, least_line = max(LEAST, fair), max(LINES, fair)
    for found in _STOP.finditer(text):
        end = found.end()
        wanted = least_line if found.lastgroup else least
        if end - start < wanted or len(text) - end < LEAST:
            continue
        stop = found.start()
        if text[stop - 1] == "." and _ABBREVIATION.search(text, max(start, stop - 12), stop):
            continue
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _gap(run: Sequence[Piece]) -> str:
    """Return the mark, with the white space at the end of the run folded to one character."""
    # No blank before it: the text that stays there ends with its own.
    last = run[-1].text
    end = last[len(last.rstrip()) :]
    return "…" + ("\n" if "\n" in end else end[:1])
