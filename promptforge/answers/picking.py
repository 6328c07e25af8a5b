"""Which pieces of which documents to take: the likeliest first, until the room is full."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from .evidence import DECAY, POWER, Evidence

SHARE = 50
"""One document may be opened for so many tokens of room."""
FEWEST = 3
"""So many documents may be opened in any room."""


class Pick(NamedTuple):
    """Piece `piece` of document `document`."""

    document: int
    piece: int


class Choice(NamedTuple):
    """What to take, and what to try when room is left after all."""

    picks: list[Pick]
    """In the order they were chosen, the likeliest first: over the room, the last goes first."""
    aside: list[Pick]
    """What did not fit, in the same order."""


def choose(
    evidence: Evidence,
    *,
    room: float,
    header: Callable[[int], float],
    price: Callable[[int, int], float],
    gap: float = 2,
    allowed: int | None = None,
    among: Collection[int] | None = None,
) -> Choice:
    """Return the pieces to take within `room` tokens, of `allowed` documents at the most and only of those `among`."""
    return _Greedy(evidence, room, header, price, gap, allowed, among).run()


class _Greedy:
    def __init__(
        self,
        evidence: Evidence,
        room: float,
        header: Callable[[int], float],
        price: Callable[[int, int], float],
        gap: float,
        allowed: int | None,
        among: Collection[int] | None,
    ) -> None:
        self._evidence = evidence
        self._room = room
        self._header = header
        self._price = price
        self._gap = gap
        self._open: set[int] = set()
        self._weights = list(evidence.weights)
        self._worth = evidence.worth
        self._version = 0
        self._begun: set[int] = set()
        self._matches: dict[int, tuple[int, list[float], float]] = {}
        self._left: dict[int, tuple[int, list[int]]] = {}
        self._prices: dict[Pick, float] = {}
        self._headers: dict[int, float] = {}
        self._done: dict[int, set[int]] = {}
        self._taken: dict[int, set[int]] = {}
        self._under: dict[int, dict[int, list[int]]] = {}
        most = max(FEWEST, int(room / SHARE)) if allowed is None else allowed
        numbers = range(len(evidence)) if among is None else among
        ranked = sorted(numbers, key=lambda i: (-evidence.worth[i], i))
        self._allowed = sorted(ranked[:most])

    def run(self) -> Choice:
        picks: list[Pick] = []
        aside: list[Pick] = []
        heap: list[tuple[float, int, int]] = []
        for number in self._allowed:
            self._push_best(heap, number)
        while heap:
            bound, number, piece = heapq.heappop(heap)
            if piece in self._done.setdefault(number, set()):
                continue
            now = self._ratio(number, piece)
            if number not in self._begun:
                best = self._best(number)
                if best != piece:
                    self._push_best(heap, number)
                    continue
            if now < -bound and heap and (-now, number, piece) > heap[0]:
                heapq.heappush(heap, (-now, number, piece))
                continue
            self._done[number].add(piece)
            cost = self._extra(number, piece) + self._cost(number, piece) + self._gap
            if cost > self._room:
                aside.append(Pick(number, piece))
                if number not in self._begun:
                    self._push_best(heap, number)
                continue
            self._room -= cost
            picks.append(Pick(number, piece))
            self._take(heap, number, piece)
        return Choice(picks, aside)

    def _push_best(self, heap: list[tuple[float, int, int]], number: int) -> None:
        """Put the best piece left of a document that is not begun into the heap; its value is above its ratio."""
        best = self._best(number)
        if best is not None:
            heapq.heappush(heap, (-self._value(number, best), number, best))

    def _best(self, number: int) -> int | None:
        match = self._match(number)[0]
        version, left = self._left.get(number, (-1, []))
        if version != self._version:  # the worst first, so that the best is the last
            left = sorted(range(len(match)), key=lambda p: (match[p], -p))
            self._left[number] = (self._version, left)
        done = self._done.get(number, ())
        while left and left[-1] in done:
            left.pop()
        return left[-1] if left else None

    def _take(self, heap: list[tuple[float, int, int]], number: int, piece: int) -> None:
        taken = self._taken.setdefault(number, set())
        fresh = [piece, *self._missing(number, piece)]
        taken.update(fresh)
        self._done[number].update(fresh)
        if number not in self._begun:
            self._begun.add(number)
            self._open.add(number)
            for t, _ in self._evidence.holds[number]:
                self._weights[t] *= DECAY
            self._worth = self._evidence.worths(self._weights)
            self._version += 1
            again: Iterable[int] = range(len(self._match(number)[0]))
        else:
            again = [p for above in fresh for p in self._children(number).get(above, ())]
        for p in again:
            if p not in self._done[number]:
                heapq.heappush(heap, (-self._value(number, p), number, p))

    def _match(self, number: int) -> tuple[list[float], float]:
        """Return how well each piece of a document answers by the weights of now, and the best of them."""
        known = self._matches.get(number)
        if known is None or known[0] != self._version:
            found = self._evidence.reading(number).match(self._weights)
            known = self._matches[number] = (self._version, found, max(found, default=0.0))
        return known[1], known[2]

    def _value(self, number: int, piece: int) -> float:
        """Return the worth of a piece, half-way to that of the best of its document: what is wanted lies together."""
        match, best = self._match(number)
        return float((self._worth[number] + (match[piece] + best) / 2) ** POWER)

    def _ratio(self, number: int, piece: int) -> float:
        value = self._value(number, piece)
        extra = self._extra(number, piece)
        if not extra:
            return value
        cost = self._cost(number, piece)
        return value * cost / (cost + extra)

    def _extra(self, number: int, piece: int) -> float:
        """Return what a piece costs beside itself: the header of its document, and what it stands under."""
        above = sum(self._cost(number, p) + self._gap for p in self._missing(number, piece))
        if number in self._open:
            return above
        if number not in self._headers:
            self._headers[number] = self._header(number) + self._gap
        return above + self._headers[number]

    def _cost(self, number: int, piece: int) -> float:
        pick = Pick(number, piece)
        if pick not in self._prices:
            self._prices[pick] = self._price(number, piece)
        return self._prices[pick]

    def _missing(self, number: int, piece: int) -> list[int]:
        """Return what a piece stands under that is not taken yet."""
        under = self._evidence.reading(number).passages.under
        found: list[int] = []
        if under is not None:
            taken = self._taken.get(number, ())
            piece = under[piece]
            while piece >= 0 and piece not in taken:
                found.append(piece)
                piece = under[piece]
        return found

    def _children(self, number: int) -> dict[int, list[int]]:
        if number not in self._under:
            found: dict[int, list[int]] = {}
            for piece, above in enumerate(self._evidence.reading(number).passages.under or ()):
                found.setdefault(above, []).append(piece)
            self._under[number] = found
        return self._under[number]
