"""The longest beginning of a text that has at most n tokens, found with about one count of that beginning."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..boundaries import Unit, ends, first_join, is_join, last_end, last_join

AHEAD = 1024
"""Characters without a place where counts add up, in which every end of a unit is tried."""
TRIES = 16
"""Ends of a unit tried one after the other; then the steps grow."""
GROWTH = 16
"""How many times as much is looked at next where there was no place at which counts add up."""


class Encoder(Protocol):
    """What a cut needs of a counter."""

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        ...

    def encode(self, text: str) -> list[int] | None:
        """Return the tokens, `None` if that cannot be."""
        ...

    def decode(self, tokens: list[int]) -> bytes:
        """Return the bytes of tokens."""
        ...


class Edge(NamedTuple):
    """Where the first n tokens of a text end, which is the same for cuts at any unit."""

    low: int
    """The last place at or before the edge, found so far, where counts add up."""
    tokens: int
    """Tokens of the text up to `low`."""
    place: int
    stop: int
    """Up to where the text was looked at."""


def find_edge(text: str, n: int, encoder: Encoder) -> Edge | None:
    """Return where the first `n` tokens of a text end, 1 or more; `None` if the encoder gave up on a stretch of it.

    Needs an encoder for which counts add up as `boundaries` says, and whose tokens' bytes are the text's.
    """
    base, left, room = 0, n, 4 * n + 64
    while True:
        join = last_join(text, base, base + room) if base + room < len(text) else None
        stop = join or min(base + room, len(text))
        tokens = encoder.encode(text[base:stop])
        if tokens is None:
            return None
        if len(tokens) > left:
            break
        if stop == len(text):
            return Edge(len(text), n - left + len(tokens), len(text), stop)
        if join:
            left -= len(tokens)
            base, room = join, 4 * left + 64
        else:  # " " * 1_200_000: a token has up to 128 of them, and going there by small steps counts all again
            room = min(max(2 * room, room * left // (len(tokens) or 1) * 9 // 8), GROWTH * room)
    kept = encoder.decode(tokens[:left])
    edge = base + len(kept.decode("utf-8", "ignore"))
    low = last_join(text, base, edge + 1) or base
    if low - base < edge - low:
        return Edge(low, n - left + len(encoder.encode(text[base:low]) or ()), edge, stop)
    used = left
    spare = len(kept) - len(text[base:low].encode("utf-8", "surrogatepass"))
    while spare > 0:
        used -= 1
        spare -= len(encoder.decode(tokens[used : used + 1]))
    return Edge(low, n - left + used, edge, stop)


def cut_at_edge(text: str, n: int, unit: Unit, encoder: Encoder, edge: Edge) -> str:
    """Return the cut of `text` (see `Counter.cut`), by what `find_edge` found of it and `n`."""
    return text if edge.low == len(text) else _Search(text, n, unit, encoder, edge).run(edge.stop)


class _Search:
    """Tries ends of a unit near the edge, where the first n tokens of the text end."""

    def __init__(self, text: str, n: int, unit: Unit, encoder: Encoder, edge: Edge) -> None:
        self._text = text
        self._n = n
        self._unit: Unit = unit
        self._count = encoder.count
        self._low, self._tokens, self._edge, _ = edge

    def run(self, stop: int) -> str:
        """Return the beginning that ends at the last end that fits, looking no further than `stop`."""
        text, edge = self._text, self._edge
        high = first_join(text, edge, stop) or stop
        if high - self._low <= AHEAD:
            for place in reversed(
                ends(text, self._unit, max(edge - 1, 0), min(high + 1, len(text)))
            ):
                if place > edge and self._fits(place):
                    return text[:place]
        place, tries = last_end(text, self._unit, edge), 0
        while place > 0 and not self._fits(place):
            tries += 1
            place = last_end(text, self._unit, place - 1 - (place // 8 if tries > TRIES else 0))
        return text[:place]

    def _fits(self, place: int) -> bool:
        """Return whether the text up to `place` has at most n tokens, counting only from the nearest known place."""
        text, low = self._text, self._low
        if is_join(text, place):
            return place <= self._edge
        # Joins of the beginning alone: what follows `place` must not make one.
        join = last_join(text, 0, place) or 0
        tokens = self._count(text[join:place])
        between = self._count(text[low:join]) if join >= low else -self._count(text[join:low])
        return self._tokens + between + tokens <= self._n
