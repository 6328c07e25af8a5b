"""The best sets of rows under a limit: pure arithmetic over worths and charges that are looked up as late as can be.

A knapsack with classes: of the rows of one owner at most one is taken. `Steps` is the classic order of such a problem,
the upper hull of every class, its steps by worth per token. The sets that are looked at are the beginnings of that
order, each with any of the next few steps. Which sets these are does not depend on the limit, so a higher limit, which
allows more of them, never gives less.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from .charges import Charges

WIDTH = 8
"""Steps of which any may be taken beyond a beginning,"""
WIDE = 14
"""and beyond a short one, of fewer than twice `WIDTH`: where few rows fit, each that could be better counts."""
_HOP = WIDTH // 2


class Found(NamedTuple):
    """A set: the steps of an order that make it, and perhaps a row beside them."""

    worth: float
    steps: Steps
    start: int
    """It has the steps before this one,"""
    mask: int = 0
    """and those after it whose bit is set."""
    extra: int = -1
    """A row taken instead of all others of its owner."""

    def rows(self) -> list[int]:
        """Return the rows, the most worth per token first; the extra row is the last."""
        taken = [
            *range(self.start),
            *(self.start + bit for bit in range(WIDE) if self.mask >> bit & 1),
        ]
        below = {self.steps.below[step] for step in taken}
        rows = [row for row in map(self.steps.rows.__getitem__, taken) if row not in below]
        if self.extra < 0:
            return rows
        owner = self.steps.owner
        return [*(row for row in rows if owner(row) != owner(self.extra)), self.extra]


_Step = tuple[float, int, int, float, float]
# Less than nothing for each token, 1 if the price is known, the row; what it is charged and believed to take more.


class Steps:
    """The steps of all hulls over the rows charged at most `cap`, most worth per token first, read as far as asked."""

    def __init__(
        self,
        charges: Charges,
        cap: float,
        owners: Sequence[int] | None,
        forms: Mapping[int, Sequence[int]],
    ):
        """Take rows from `charges`; `forms` has the rows of each owner that has several."""
        self.charges = charges
        self.cap = cap
        self._owners = owners
        self._forms = forms
        self.rows: list[int] = []
        self.below: list[int] = []
        """For each step, the row that its row takes the place of, or -1."""
        self.worth = [0.0]
        """Worth of the first n steps."""
        self.cost = [0.0]
        """Charge of the first n steps."""
        self.peak = [0.0]
        """The highest charge of the first n steps or fewer."""
        self.slope: list[float] = []
        """Worth per token believed of each step."""
        self.largest = 0.0
        """The highest charge of a row read."""
        self._believed = [0.0]
        self._next = self._read()

    def owner(self, row: int) -> int:
        """Return whose form a row is."""
        return row if self._owners is None else self._owners[row]

    def read(self, count: int) -> bool:
        """Read on until there are `count` steps; return False if there are fewer."""
        while len(self.rows) < count:
            if next(self._next, None) is None:
                return False
        return True

    def fitting(self, limit: float) -> int:
        """Return how many of the first steps fit before one does not."""
        while self.peak[-1] <= limit and self.read(len(self.rows) + 1):
            pass
        return bisect_right(self.peak, limit) - 1

    def bound(self, limit: float) -> float:
        """Return a number that no set of rows of these under `limit` is worth more than."""
        count = self.fitting(limit)
        if count == len(self.rows):
            return self.worth[-1]
        # What the first steps are worth above the rate of the next, and all tokens at that rate: but a row charged less
        # than it was believed to cost is charged at least this part of that.
        charges, rate = self.charges, self.slope[count]
        if rate == math.inf:
            return math.inf
        surplus = self.worth[count + 1] - rate * self._believed[count + 1]
        stretch = charges.low / charges.least if charges.least else 1.0
        return surplus + (rate * limit * stretch if limit > 0 else 0.0)

    def best(self, limit: float, found: Found) -> Found:
        """Return the best beginning with any of the next steps within `limit`, or `found` if it is worth as much."""
        count = self.fitting(limit)
        if self.worth[count] > found.worth:
            found = Found(self.worth[count], self, count)
        if count == len(self.rows):
            return found
        for start in range(count - count % _HOP, max(count - WIDE, -1), -_HOP):
            if start + _width(start) > count:
                found = self._vary(start, limit - self.cost[start], found)
        return found

    def _vary(self, start: int, room: float, found: Found) -> Found:
        """Try all sets of the steps from `start` on, as far as they may be better than `found`."""
        end = start + _width(start)
        self.read(end)
        classes: dict[int, list[tuple[float, float, int]]] = {}
        for step in range(start, min(end, len(self.rows))):
            options = classes.setdefault(self.owner(self.rows[step]), [])
            cost, worth, bits = options[-1] if options else (0.0, 0.0, 0)
            cost += self.cost[step + 1] - self.cost[step]
            worth += self.worth[step + 1] - self.worth[step]
            options.append((cost, worth, bits | 1 << (step - start)))
        count = bisect_right(
            self.cost, room + self.cost[start], lo=start, hi=min(end, len(self.cost))
        )
        at = min(count, len(self.rows)) - 1
        cost, worth = (after[at + 1] - after[at] for after in (self.cost, self.worth))
        rate = worth / cost if cost > 0 else 0.0
        ahead = sum(
            max(0.0, *(w - rate * c for c, w, _ in options)) for options in classes.values()
        )
        base = self.worth[start] + rate * room
        states = [(0.0, 0.0, 0)]
        for options in classes.values():
            ahead -= max(0.0, *(w - rate * c for c, w, _ in options))
            grown = [
                (cost + c, worth + w, mask | bits)
                for c, w, bits in options
                for cost, worth, mask in states
                if cost + c <= room
            ]
            for _, worth, mask in grown:
                if self.worth[start] + worth > found.worth:
                    found = Found(self.worth[start] + worth, self, start, mask)
            states = sorted(states + grown, key=_by_cost)
            kept = []
            most = -1.0
            for state in states:
                if state[1] > most and base + state[1] - rate * state[0] + ahead > found.worth:
                    most = state[1]
                    kept.append(state)
            states = kept
            if not states:
                break
        return found

    # --- the order ----------------------------------------------------------------------------------------------------

    def _read(self) -> Iterator[int]:
        """Append step by step. What is queued has the least negative slope first; an unknown price before a known."""
        charges, forms, worths, cap = self.charges, self._forms, self.charges.worths, self.cap
        density, low, share, owners = charges.density, charges.low, charges.least, self._owners
        queue: list[_Step] = []
        level: dict[int, int] = {}  # by owner of several rows: the row it has reached, or -1
        for row in chain(charges.ordered(), (-1,)):
            possible = math.inf if row < 0 else -density[row] / low if low else -math.inf
            while queue and (
                queue[0][0] < possible
                or (queue[0][0] == possible and queue[0][1] and queue[0][2] < row)
            ):
                slope, known, best, charge, believed = heapq.heappop(queue)
                owner = best if owners is None else owners[best]
                if known:
                    self._append(best, level.get(owner, -1), -slope, charge, believed)
                    yield best
                else:
                    charges.price(best)
                if owner in level:
                    level[owner] = best if known else level[owner]
                    self._queue(owner, queue, level)
            if row < 0:
                return
            owner = row if owners is None else owners[row]
            if owner in forms:
                if owner not in level:
                    level[owner] = -1
                    self._queue(owner, queue, level)
            else:
                estimate = worths[row] / density[row]
                floor, least = share * estimate, low * estimate
                if floor <= cap:
                    charge = believed = charges.price(row)
                    charge = charge if charge > floor else floor
                    believed = believed if believed > least else least
                    if charge <= cap:
                        slope = -worths[row] / believed if believed else -math.inf
                        heapq.heappush(queue, (slope, 1, row, charge, believed))

    def _queue(self, owner: int, queue: list[_Step], level: dict[int, int]) -> None:
        """Queue the next step of an owner: of its rows above the one it has reached, that of the steepest slope."""
        charges, worths = self.charges, self.charges.worths
        at = level[owner]
        worth, paid, taken = (worths[at], *charges.believe(at)) if at >= 0 else (0.0, 0.0, 0.0)
        best: _Step | None = None
        for row in self._forms[owner]:
            if worths[row] <= worth:
                continue
            known = row in charges.known
            charge, believed = charges.believe(row) if known else charges.least_of(row)
            if charge <= self.cap:
                slope = (
                    (worth - worths[row]) / (believed - taken) if believed > taken else -math.inf
                )
                step = (slope, int(known), row, charge - paid, believed - taken)
                best = step if best is None else min(best, step)
        if best is not None:
            heapq.heappush(queue, best)

    def _append(self, row: int, below: int, slope: float, charge: float, believed: float) -> None:
        worths = self.charges.worths
        cost, peak = self.cost[-1] + charge, self.peak[-1]
        self.rows.append(row)
        self.below.append(below)
        self.worth.append(self.worth[-1] + worths[row] - (worths[below] if below >= 0 else 0.0))
        self.cost.append(cost)
        self.peak.append(cost if cost > peak else peak)
        self.slope.append(slope)
        self._believed.append(self._believed[-1] + believed)
        charge = charge if below < 0 else self.charges.charge(row)
        if charge > self.largest:
            self.largest = charge


def _width(start: int) -> int:
    return WIDE if start < 2 * WIDTH else WIDTH


def _by_cost(state: tuple[float, float, int]) -> tuple[float, float]:
    return state[0], -state[1]
