"""What rows cost, as far as it is known: learned from a sample, and exactly only for those that are asked for.

A row is one form of one candidate: a worth, a size that is cheap to know and a price that is not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

SAMPLE = 48
"""Rows priced at the most to learn from."""
DENSEST = 8
"""The sample is taken from one in so many rows, those that seem to bring the most per token, most of it near the top."""
ENOUGH = 8
"""Rows of a kind to be priced before it is estimated by itself."""
LOWEST = 0.25
"""Share of the sample that may cost less than it was believed to cost at the least; a wider band prices more rows in
vain, a narrower one takes more rows for worse than they are."""
HUGE = 1e290
"""What worths are cut to, so that sums of them stay finite,"""
FAINT = 1e-200
"""and what worths above 0 are raised to, so that a share of them stays above 0."""
TINY = 1e-9
"""So that no estimate is 0."""
_FRAME = 64  # characters a template adds, roughly; only the choice of the sample depends on it
_CHUNK = 4096


class Line(NamedTuple):
    """An estimate: `start + slope * size`."""

    start: float
    slope: float

    def at(self, size: float) -> float:
        """Return the estimate, above 0."""
        return self.start + self.slope * size + TINY


class Charges:
    """Worths and prices of rows. Nothing here depends on any budget, so neither do the orders made of it."""

    def __init__(
        self,
        worths: Sequence[float],
        sizes: Sequence[float],
        price: Callable[[int], float],
        kinds: Sequence[Hashable] | None = None,
    ) -> None:
        """Learn from the prices of up to `SAMPLE` rows, most of which any budget would choose."""
        self.worths = finite(worths)
        self.sizes = sizes
        self.kinds = kinds
        self._price = price
        self.known: dict[int, float] = {}
        """Prices by row, as far as they are known."""
        everything: Sequence[int] = range(len(worths))
        self.live = everything if min(self.worths, default=1) > 0 else [r for r in everything if self.worths[r] > 0]
        """Rows of a worth above 0."""
        self.low, self.least = 0.0, 0.0
        """Shares of its estimate that a row is believed to cost at the least, and that it is charged at the least."""
        self._line, self._lines = self._learn()
        self._keys = self._densities()
        self._ordered: list[int] = []
        self._source = _sorted(self._keys, self.live)

    def price(self, row: int) -> float:
        """Return the exact price of a row, asked for once."""
        found = self.known.get(row)
        if found is None:
            found = self.known[row] = self._price(row)
        return found

    def estimate(self, row: int) -> float:
        """Return roughly what a row of a worth costs."""
        return self.worths[row] / -self._keys[row]

    def possible(self, row: int) -> float:
        """Return the most worth per token that is believed possible of a row."""
        return -self._keys[row] / self.low if self.low else math.inf

    def floor(self, row: int) -> int:
        """Return what a row is charged at the least."""
        return int(self.least * self.worths[row] / -self._keys[row])

    def charge(self, row: int) -> float:
        """Return what a row takes of a budget: its price, or `floor` for the rare one that is far cheaper."""
        return max(self.price(row), self.floor(row))

    def believe(self, row: int) -> tuple[float, float]:
        """Return what a row is charged, and what it is taken for in the order: its price, or the least believed."""
        estimate = self.worths[row] / -self._keys[row]
        price = self.price(row)
        floor, low = int(self.least * estimate), self.low * estimate
        return (price if price > floor else floor), (price if price > low else low)

    def least_of(self, row: int) -> tuple[float, float]:
        """Return the least that `believe` may return."""
        estimate = self.worths[row] / -self._keys[row]
        return int(self.least * estimate), self.low * estimate

    def lines(self) -> Iterator[Line]:
        """Yield all lines there are."""
        yield self._line
        yield from self._lines.values()

    def ordered(self) -> Iterator[int]:
        """Yield the rows of a worth by the most worth per token that is believed possible."""
        at = 0
        while True:
            if at == len(self._ordered):
                row = next(self._source, None)
                if row is None:
                    return
                self._ordered.append(row)
            yield self._ordered[at]
            at += 1

    def _learn(self) -> tuple[Line, Mapping[Hashable, Line]]:
        """Price a sample, nearer the top the denser, and fit lines to it: for all, and for each kind with enough."""
        worths, sizes = self.worths, self.sizes
        rough = [-w / (s + _FRAME) for w, s in zip(worths, sizes, strict=True)]
        top = list(islice(_sorted(rough, self.live), max(len(self.live) // DENSEST, 2 * ENOUGH)))
        step = len(top) ** (1 / SAMPLE)
        places = {min(int(step**n + 1e-9), len(top)) - 1 for n in range(SAMPLE + 1)} if top else ()
        pairs = {row: (sizes[row], self.price(row)) for row in map(top.__getitem__, sorted(places))}
        line, lines = _fit([*pairs.values()]), {}
        kinds = dict.fromkeys(pairs, None) if self.kinds is None else {row: self.kinds[row] for row in pairs}
        for kind, count in Counter(kinds.values()).items():
            if count >= ENOUGH:
                lines[kind] = _fit([pair for row, pair in pairs.items() if kinds[row] == kind])
        ratios = sorted(p / lines.get(kinds[row], line).at(s) for row, (s, p) in pairs.items() if p > 0)
        if ratios:
            self.low = min(ratios[int(LOWEST * len(ratios))], 1.0)
            self.least = min(0.8 * self.low, 0.9 * ratios[0])
        return line, lines

    def _densities(self) -> list[float]:
        """Return each row's worth for each token of its estimate, below 0, so that the first is the best."""
        worths, sizes = self.worths, self.sizes
        if self.kinds is None or not self._lines:
            a, b = self._line
            keys = [-w / (a + b * s + TINY) for w, s in zip(worths, sizes, strict=True)]
        else:
            lines = {kind: self._lines.get(kind, self._line) for kind in {*self.kinds}}
            every = map(lines.__getitem__, self.kinds)
            keys = [-w / (a + b * s + TINY) for w, s, (a, b) in zip(worths, sizes, every, strict=True)]
        for row, price in self.known.items():  # of the sample; so that the least believed is what is known
            keys[row] = -worths[row] / price * self.low if price > 0 else -math.inf
        return keys


def finite(worths: Sequence[float]) -> Sequence[float]:
    """Return worths to reckon with: NaN is worth nothing, infinity more than all that is finite."""
    if math.isfinite(sum(worths)) and min(worths, default=1) >= FAINT and max(worths, default=1) <= HUGE:
        return worths
    cut = [max(w, FAINT) if w > 0 else 0.0 for w in worths]
    beyond = 1 + sum(min(w, HUGE) for w in cut if w < math.inf)
    return [min(w, HUGE) if w < math.inf else beyond for w in cut]


def _sorted(keys: Sequence[float], rows: Sequence[int]) -> Iterator[int]:
    """Yield `rows` by key, then number; of many, no more are sorted than are taken."""
    rest = rows
    if len(rest) > _CHUNK:
        some = sorted(keys[row] for row in rest[:: len(rest) // 1024])
        for share in (1 / 16, 1 / 4):
            end = some[int(share * len(some))]
            yield from sorted([row for row in rest if keys[row] < end], key=keys.__getitem__)
            rest = [row for row in rest if keys[row] >= end]
    yield from sorted(rest, key=keys.__getitem__)


def _fit(pairs: Sequence[tuple[float, float]]) -> Line:
    """Return the line with the least sum of squared relative errors, neither end of it below 0."""
    weights = [1 / (size + _FRAME) ** 2 for size, _ in pairs]
    total = sum(weights) or 1.0
    size = sum(w * s for w, (s, _) in zip(weights, pairs, strict=True)) / total
    price = sum(w * p for w, (_, p) in zip(weights, pairs, strict=True)) / total
    spread = sum(w * (s - size) ** 2 for w, (s, _) in zip(weights, pairs, strict=True))
    slope = sum(w * (s - size) * (p - price) for w, (s, p) in zip(weights, pairs, strict=True))
    slope = slope / spread if spread > 0 else 0.0
    if size and (spread <= 0 or slope * size > price):  # one size only, or a line that would begin below 0
        return Line(0, price / size)
    return Line(price - slope * size, slope) if slope > 0 else Line(price, 0)
