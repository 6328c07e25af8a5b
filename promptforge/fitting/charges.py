"""What rows cost, as far as it is known: learned from a sample, and exactly only for those that are asked for.

A row is one form of one candidate: a worth, a size that is cheap to know and a price that is not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

SAMPLE = 48
"""Rows priced at the most to learn from."""
DENSEST = 8
"""The sample is of one in so many rows: those that seem to bring the most per token, and more of them near the top."""
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
        self.live = (
            everything
            if self.worths is worths
            else [row for row in everything if self.worths[row] > 0]
        )
        """Rows of a worth above 0."""
        self.low, self.least = 0.0, 0.0
        """Shares of its estimate that a row is believed to cost at the least, and that it is charged at the least."""
        self._line, self._lines = self._learn()
        self.density = self._densities()
        """Worth per token of the estimate, by row."""
        self._ordered: list[list[int]] = []
        self._source = _sorted(self.density, self.live)

    def price(self, row: int) -> float:
        """Return the exact price of a row, asked for once."""
        found = self.known.get(row)
        if found is None:
            found = self.known[row] = self._price(row)
        return found

    def estimate(self, row: int) -> float:
        """Return roughly what a row of a worth costs."""
        return self.worths[row] / self.density[row]

    def floor(self, row: int) -> float:
        """Return what a row is charged at the least."""
        return self.least * self.worths[row] / self.density[row]

    def charge(self, row: int) -> float:
        """Return what a row takes of a budget: its price, or `floor` for the rare one that is far cheaper."""
        return max(self.price(row), self.floor(row))

    def least_of(self, row: int) -> tuple[float, float]:
        """Return the least that a row is charged, and the least that it is believed to cost."""
        estimate = self.worths[row] / self.density[row]
        return self.least * estimate, self.low * estimate

    def believe(self, row: int) -> tuple[float, float]:
        """Return what a row is charged, and what it is taken for in the order: its price, or the least of each."""
        floor, low = self.least_of(row)
        price = self.price(row)
        return (price if price > floor else floor), (price if price > low else low)

    def lines(self) -> Iterator[Line]:
        """Yield all lines there are."""
        yield self._line
        yield from self._lines.values()

    def ordered(self) -> Iterator[int]:
        """Yield the rows of a worth by the most worth per token that is believed possible."""
        for number in count():
            if number == len(self._ordered):
                part = next(self._source, None)
                if part is None:
                    return
                self._ordered.append(part)
            yield from self._ordered[number]

    def _learn(self) -> tuple[Line, Mapping[Hashable, Line]]:
        """Price a sample, nearer the top the denser, and fit lines to it: for all, and for each kind with enough."""
        worths, sizes = self.worths, self.sizes
        some = self.live[:: max(len(self.live) // _CHUNK, 1)]
        rough = {row: worths[row] / (sizes[row] + _FRAME) for row in some}
        top = sorted(some, key=rough.__getitem__, reverse=True)[
            : max(len(some) // DENSEST, 2 * ENOUGH)
        ]
        step = len(top) ** (1 / SAMPLE)
        places = {min(int(step**n + 1e-9), len(top)) - 1 for n in range(SAMPLE + 1)} if top else ()
        pairs = {row: (sizes[row], self.price(row)) for row in map(top.__getitem__, sorted(places))}
        line, lines = _fit([*pairs.values()]), {}
        kinds = (
            dict.fromkeys(pairs, None)
            if self.kinds is None
            else {row: self.kinds[row] for row in pairs}
        )
        for kind, number in Counter(kinds.values()).items():
            if number >= ENOUGH:
                lines[kind] = _fit([pair for row, pair in pairs.items() if kinds[row] == kind])
        ratios = sorted(
            p / lines.get(kinds[row], line).at(s) for row, (s, p) in pairs.items() if p > 0
        )
        if ratios:
            self.low = min(ratios[int(LOWEST * len(ratios))], 1.0)
            self.least = min(0.8 * self.low, 0.9 * ratios[0])
        return line, lines

    def _densities(self) -> list[float]:
        worths, sizes = self.worths, self.sizes
        if self.kinds is None or not self._lines:
            start, slope = self._line.start + TINY, self._line.slope
            found = [w / (start + slope * s) for w, s in zip(worths, sizes, strict=True)]
        else:
            lines = {kind: self._lines.get(kind, self._line) for kind in {*self.kinds}}
            starts = {kind: line.start + TINY for kind, line in lines.items()}
            slopes = {kind: line.slope for kind, line in lines.items()}
            rows = zip(worths, sizes, self.kinds, strict=True)
            found = [w / (starts[kind] + slopes[kind] * s) for w, s, kind in rows]
        for (
            row,
            price,
        ) in self.known.items():  # of the sample; so that the least believed is what is known
            found[row] = worths[row] / price * self.low if price > 0 else math.inf
        return found


def finite(worths: Sequence[float]) -> Sequence[float]:
    """Return worths to reckon with: NaN is worth nothing, infinity more than all that is finite."""
    if sum(worths) <= HUGE and min(worths, default=1) >= FAINT:  # no sum with NaN is
        return worths
    cut = [max(w, FAINT) if w > 0 else 0.0 for w in worths]
    beyond = 1 + sum(min(w, HUGE) for w in cut if w < math.inf)
    return [min(w, HUGE) if w < math.inf else beyond for w in cut]


def _sorted(density: Sequence[float], rows: Sequence[int]) -> Iterator[list[int]]:
    """Yield `rows` in parts, the densest first, then by number; of many, hardly more are sorted than are taken."""
    most = math.inf
    if len(rows) > _CHUNK:
        some = sorted((density[row] for row in rows[:: len(rows) // 1024]), reverse=True)
        for share in (1 / 16, 1 / 4):
            least = some[int(share * len(some))]
            part = [row for row in rows if density[row] > least]
            if most < math.inf:
                part = [row for row in part if density[row] <= most]
            yield sorted(part, key=density.__getitem__, reverse=True)
            most = least
    part = [row for row in rows if density[row] <= most]
    yield sorted(part, key=density.__getitem__, reverse=True)


def _fit(pairs: Sequence[tuple[float, float]]) -> Line:
    """Return the line with the least sum of squared relative errors, neither end of it below 0."""
    weights = [1 / (size + _FRAME) ** 2 for size, _ in pairs]
    total = sum(weights) or 1.0
    size = sum(w * s for w, (s, _) in zip(weights, pairs, strict=True)) / total
    price = sum(w * p for w, (_, p) in zip(weights, pairs, strict=True)) / total
    spread = sum(w * (s - size) ** 2 for w, (s, _) in zip(weights, pairs, strict=True))
    slope = sum(w * (s - size) * (p - price) for w, (s, p) in zip(weights, pairs, strict=True))
    slope = slope / spread if spread > 0 else 0.0
    if size and (
        spread <= 0 or slope * size > price
    ):  # one size only, or a line that would begin below 0
        return Line(0, price / size)
    return Line(price - slope * size, slope) if slope > 0 else Line(price, 0)
