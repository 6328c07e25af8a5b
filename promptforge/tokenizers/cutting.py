"""The longest beginning of a text that has at most n tokens, found with about one count of it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..boundaries import Unit, ends, first_join, is_join, last_end, last_join

MAX_CHARS_TRIED = 1024
"""Characters without a split point in which every end of a unit is tried."""
MAX_SINGLE_STEPS = 16
"""Ends of a unit tried one by one; then the steps grow."""
MAX_GROWTH = 16
"""Factor by which the next look reaches farther where there was no split point."""


class Encoder(Protocol):
    """The part of a counter that a cut needs."""

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        ...

    def encode(self, text: str) -> list[int] | None:
        """Return the tokens; None if the library gives up."""
        ...

    def decode(self, tokens: list[int]) -> bytes:
        """Return the bytes of tokens."""
        ...


class Edge(NamedTuple):
    """The place where the first n tokens of a text end: the same for cuts at any unit."""

    low: int
    """The last split point at or before the edge that was found."""
    tokens: int
    """Tokens of the text up to `low`."""
    place: int
    stop: int
    """The text was read up to here."""


def find_edge(text: str, n: int, encoder: Encoder) -> Edge | None:
    """Return where the first `n` (1 or more) tokens of a text end; None if the encoder gave up.

    The counts of the encoder must add up at split points, and the bytes of its tokens must be
    those of the text.
    """
    base, left, room = 0, n, 4 * n + 64
    while True:
        join = None
        if base + room < len(text):
            join = last_join(text, base, base + room)
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
        else:
            # " " * 1_200_000: a token has up to 128 of them, and small steps count all again.
            room = min(max(2 * room, room * left // (len(tokens) or 1) * 9 // 8), MAX_GROWTH * room)
    kept = encoder.decode(tokens[:left])
    edge = base + len(kept.decode("utf-8", "ignore"))
    low = last_join(text, base, edge + 1) or base
    # The tokens up to `low` are found from the nearer side: by encoding the text before it ...
    if low - base < edge - low:
        return Edge(low, n - left + len(encoder.encode(text[base:low]) or ()), edge, stop)
    # ... or by walking back over the tokens after it. A token may not reach over a split point,
    # so the walk ends exactly there.
    used = left
    spare = len(kept) - len(text[base:low].encode("utf-8", "surrogatepass"))
    while spare > 0:
        used -= 1
        spare -= len(encoder.decode(tokens[used : used + 1]))
    return Edge(low, n - left + used, edge, stop)


def cut_at_edge(text: str, n: int, unit: Unit, encoder: Encoder, edge: Edge) -> str:
    """Return the cut of `text` (see `Counter.cut`) by the edge that `find_edge` found for `n`."""
    if edge.low == len(text):
        return text

    def fits(place: int) -> bool:
        """Tell whether the text up to `place` has at most n tokens; count from a known place on."""
        if is_join(text, place):
            return place <= edge.place
        # Split points of the beginning alone: those made by the text behind `place` do not count.
        join = last_join(text, 0, place) or 0
        tokens = edge.tokens + encoder.count(text[join:place])
        if join >= edge.low:
            tokens += encoder.count(text[edge.low : join])
        else:
            tokens -= encoder.count(text[join : edge.low])
        return tokens <= n

    # A cut may end a little behind the edge: " the" is one token, " t" and "he" may be two.
    high = first_join(text, edge.place, edge.stop) or edge.stop
    if high - edge.low <= MAX_CHARS_TRIED:
        near = ends(text, unit, max(edge.place - 1, 0), min(high + 1, len(text)))
        for place in reversed(near):
            if place > edge.place and fits(place):
                return text[:place]
    place, tries = last_end(text, unit, edge.place), 0
    while place > 0 and not fits(place):
        tries += 1
        step = 1
        if tries > MAX_SINGLE_STEPS:
            step += place // 8
        place = last_end(text, unit, place - step)
    return text[:place]
