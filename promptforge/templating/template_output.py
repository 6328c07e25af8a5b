"""Joining the pieces that a template prints, with every fence on lines of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..text.escape import DelimitedBlock, FencedBlock, FenceEnd, FenceStart, Safe
from .limits import burn_for_text

_FENCED = frozenset({FenceStart, FenceEnd, FencedBlock, DelimitedBlock})

_JOINED = {
    (False, False): Safe,
    (True, False): FenceStart,
    (False, True): FenceEnd,
    (True, True): FencedBlock,
}
"""Type of a joined text: does its first piece open a fence, does its last one close one."""


class PrintedItem(NamedTuple):
    """The text of one item."""

    text: Safe
    imitations: int
    """Number of values in it that were marked, since they look like a line of a template."""


class PrintedPage(NamedTuple):
    """The text of a page, in pieces; the text of each item is one of them."""

    pieces: list[str]
    imitations: int
    """Number of values in it that were marked, since they look like a line of a template."""


def join_output(parts: Iterable[str], mend: Callable[[list[str]], list[str]] | None = None) -> Safe:
    """Return the pieces as one text, fences whole; `mend` may change the pieces first."""
    pieces = isolate_fences(parts)
    if mend is not None:
        pieces = mend(pieces)
    if not pieces:
        return Safe("")
    return _JOINED[isinstance(pieces[0], FenceStart), isinstance(pieces[-1], FenceEnd)](
        "".join(pieces)
    )


def isolate_fences(parts: Iterable[str]) -> list[str]:
    """Return the non-empty parts, with line ends added so that each fence has its own lines.

    A fence opens only at the start of a line and outside a block of HTML, and closes only on a line
    that holds nothing else.
    """
    pieces = list(filter(None, parts))
    burn_for_text(sum(map(len, pieces)))
    if _FENCED.isdisjoint(map(type, pieces)):
        return pieces
    welded: list[str] = []
    closed = False
    for piece in pieces:
        if closed and piece[0] != "\n":
            welded.append("\n")
        kind = type(piece)
        closed = kind in _FENCED and kind is not FenceStart
        if kind in _FENCED and kind is not FenceEnd and welded and not _ends_blank(welded):
            tail = _tail(welded)
            # Even after blanks alone: content at the margin would end the list around the fence.
            if tail[-1] != "\n":
                welded.append("\n")
                tail += "\n"
            last = tail[tail.rfind("\n", 0, -1) + 1 :]
            # A block of HTML goes on to the next blank line, and in it a fence is not one.
            if kind is not DelimitedBlock and last.lstrip().startswith("<"):
                welded.append("\n")
        welded.append(piece)
    return welded


def _ends_blank(pieces: list[str]) -> bool:
    """Tell whether the last two characters are line ends, as far as two pieces show."""
    last = pieces[-1]
    before = last[-2:-1]
    if not before and len(pieces) > 1:
        before = pieces[-2][-1]
    return before == last[-1] == "\n"


def _tail(pieces: list[str]) -> str:
    """Return the end of the text, with at least its last line whole."""
    tail = ""
    for piece in reversed(pieces):
        tail = piece + tail
        if tail.count("\n") > 1:
            break
    return tail
