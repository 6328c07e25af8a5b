"""Pieces that a template prints → one text, with every fence on lines of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..safe import Block, Closes, Opens, Safe, Tags
from . import fuel


def join(parts: Iterable[str], mend: Callable[[list[str]], list[str]] | None = None) -> Safe:
    """Join what a template prints, keeping fences whole: see `weld`; `mend` sees the pieces before they are one."""
    pieces = weld(parts) if mend is None else mend(weld(parts))
    if not pieces:
        return Safe("")
    return _WELDED[isinstance(pieces[0], Opens), isinstance(pieces[-1], Closes)]("".join(pieces))


_WELDED = {(False, False): Safe, (True, False): Opens, (False, True): Closes, (True, True): Block}


def weld(parts: Iterable[str]) -> list[str]:
    """Return the non-empty parts, with a line end put in wherever a fence would not stand on lines of its own.

    A fence opens only at the start of a line (three blanks may precede it) and outside a block of HTML, and closes only
    on a line that holds nothing else.
    """
    pieces = list(filter(None, parts))
    fuel.burn_text(sum(map(len, pieces)))
    if _FENCED.isdisjoint(map(type, pieces)):
        return pieces
    welded: list[str] = []
    shut = False
    for piece in pieces:
        if shut and piece[0] != "\n":
            welded.append("\n")
        shut = False
        kind = type(piece)
        if kind in _FENCED:
            shut = kind is not Opens
            if welded and kind is not Closes and not _blank(welded):
                tail = _tail(welded)
                if (
                    tail[-1] != "\n"
                ):  # be it blanks: content at the margin would end the list a fence is indented in
                    welded.append("\n")
                    tail += "\n"
                if kind is not Tags and tail[tail.rfind("\n", 0, -1) + 1 :].lstrip().startswith(
                    "<"
                ):
                    welded.append("\n")
        welded.append(piece)
    return welded


_FENCED = frozenset({Opens, Closes, Block, Tags})


def _blank(pieces: list[str]) -> bool:
    """Return whether it is plain to see that an empty line ends them."""
    last = pieces[-1]
    before = last[-2:-1] or (pieces[-2][-1] if len(pieces) > 1 else "")
    return before == last[-1] == "\n"


def _tail(pieces: list[str]) -> str:
    tail = ""
    for piece in reversed(pieces):
        tail = piece + tail
        if tail.count("\n") > 1:
            break
    return tail
