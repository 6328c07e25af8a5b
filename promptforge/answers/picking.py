"""Choose passages greedily: the likeliest to answer first, until the room is full."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from .evidence import DECAY, POWER, Evidence

SHARE = 50
"""Tokens of room for each document that may be opened."""
FEWEST = 3
"""Documents that may be opened in any room."""


class Pick(NamedTuple):
    """Passage `piece` of document `document`, both by number."""

    document: int
    piece: int


class Choice(NamedTuple):
    """The chosen passages, and those to try when room is left after all."""

    picks: list[Pick]
    """In the order they were chosen, the likeliest first; over the room, the last goes first."""
    aside: list[Pick]
    """Those that did not fit, in the same order."""


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
    """Return the passages to show within `room` tokens.

    `header` and `price` give the tokens of a document's header and of one passage, `gap` those
    between two. At most `allowed` documents are opened, and only those `among` these.
    """
    return _Greedy(evidence, room, header, price, gap, allowed, among).run()


class _Greedy:
    """Takes the passage of the best ratio of value to cost again and again.

    A heap holds passages by upper bounds of their ratio: opening a document lowers the worth of
    the words it holds, so values only fall, and a bound is computed anew only on top of the heap.
    Of a document not yet opened only the best passage is in the heap, by its value alone.
    """

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
        self._heap: list[tuple[float, int, int]] = []
        """(- upper bound of the ratio, document, passage)."""
        self._weights = list(evidence.weights)
        self._worth = evidence.worth
        self._version = 0
        """Documents opened so far; what depends on the weights is known for one version."""
        self._opened: set[int] = set()
        self._matches: dict[int, tuple[int, list[float], float]] = {}
        self._left: dict[int, tuple[int, list[int]]] = {}
        self._prices: dict[Pick, float] = {}
        self._headers: dict[int, float] = {}
        self._done: dict[int, set[int]] = {}
        """For each document the passages that are chosen or put aside."""
        self._taken: dict[int, set[int]] = {}
        self._under: dict[int, dict[int, list[int]]] = {}
        if allowed is None:
            allowed = max(FEWEST, int(room / SHARE))
        numbers = range(len(evidence)) if among is None else among
        ranked = sorted(numbers, key=lambda i: (-evidence.worth[i], i))
        self._allowed = sorted(ranked[:allowed])

    def run(self) -> Choice:
        choice = Choice([], [])
        for number in self._allowed:
            self._push_best(number)
        while self._heap:
            bound, number, piece = heapq.heappop(self._heap)
            done = self._done.setdefault(number, set())
            if piece in done:
                continue
            now = self._ratio(number, piece)
            # Other weights may have made another passage the best of a document not yet opened.
            if number not in self._opened and self._best(number) != piece:
                self._push_best(number)
                continue
            if now < -bound and self._heap and (-now, number, piece) > self._heap[0]:
                heapq.heappush(self._heap, (-now, number, piece))
                continue
            done.add(piece)
            cost = self._extra(number, piece) + self._cost(number, piece) + self._gap
            if cost <= self._room:
                self._room -= cost
                choice.picks.append(Pick(number, piece))
                self._take(number, piece)
            else:
                choice.aside.append(Pick(number, piece))
                if number not in self._opened:
                    self._push_best(number)
        return choice

    def _push(self, number: int, piece: int) -> None:
        heapq.heappush(self._heap, (-self._value(number, piece), number, piece))

    def _push_best(self, number: int) -> None:
        """Push the best passage left of a document that is not opened."""
        best = self._best(number)
        if best is not None:
            self._push(number, best)

    def _best(self, number: int) -> int | None:
        match = self._match(number)[0]
        version, left = self._left.get(number, (-1, []))
        if version != self._version:  # the worst first, so that the best is popped off the end
            left = sorted(range(len(match)), key=lambda p: (match[p], -p))
            self._left[number] = (self._version, left)
        done = self._done.get(number, ())
        while left and left[-1] in done:
            left.pop()
        return left[-1] if left else None

    def _take(self, number: int, piece: int) -> None:
        """Take a passage with the headings above it, and push what may be the next."""
        fresh = [piece, *self._missing(number, piece)]
        self._taken.setdefault(number, set()).update(fresh)
        self._done[number].update(fresh)
        if number in self._opened:
            # What stands under these needs them no longer, and so has a better ratio.
            again: Iterable[int] = (
                p for above in fresh for p in self._children(number).get(above, ())
            )
        else:
            self._opened.add(number)
            for t, _ in self._evidence.holds[number]:
                self._weights[t] *= DECAY
            self._worth = self._evidence.worths(self._weights)
            self._version += 1
            again = range(len(self._match(number)[0]))
        for p in again:
            if p not in self._done[number]:
                self._push(number, p)

    def _match(self, number: int) -> tuple[list[float], float]:
        """Return how well each passage answers by the present weights, and the best of these."""
        known = self._matches.get(number)
        if known is None or known[0] != self._version:
            found = self._evidence.reading(number).match(self._weights)
            known = self._matches[number] = (self._version, found, max(found, default=0.0))
        return known[1], known[2]

    def _value(self, number: int, piece: int) -> float:
        """Return the value of a passage, half of it the document's best: answers lie together."""
        match, best = self._match(number)
        return float((self._worth[number] + (match[piece] + best) / 2) ** POWER)

    def _ratio(self, number: int, piece: int) -> float:
        """Return the value for each token, up to a factor that all passages of one size share."""
        value = self._value(number, piece)
        extra = self._extra(number, piece)
        if not extra:
            return value
        cost = self._cost(number, piece)
        return value * cost / (cost + extra)

    def _extra(self, number: int, piece: int) -> float:
        """Return the cost beside the passage's own: missing headings, and its document's header."""
        extra = sum(self._cost(number, p) + self._gap for p in self._missing(number, piece))
        if number not in self._opened:
            if number not in self._headers:
                self._headers[number] = self._header(number) + self._gap
            extra += self._headers[number]
        return extra

    def _cost(self, number: int, piece: int) -> float:
        pick = Pick(number, piece)
        if pick not in self._prices:
            self._prices[pick] = self._price(number, piece)
        return self._prices[pick]

    def _missing(self, number: int, piece: int) -> list[int]:
        """Return the headings above a passage that are not taken yet, the nearest first."""
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
