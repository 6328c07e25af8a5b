"""The most worth under a budget: the chooser of `packing: value`. No text, no templates, no tokenizer.

Rows are the forms of candidates: the n-th form of a candidate is a row with a worth, a size that is cheap to know (its
characters) and a price in tokens that is not. Rows of one owner exclude one another.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from .charges import Charges
from .knapsack import Found, Steps

FORM_WORTH = {"expanded": 1.1, "content": 1.0, "outline": 0.5, "summary": 0.3, "stub": 0.05}
"""The share of its score that an item is worth in a form; a trimmed content the share of its text that is left.

What counts is how a share compares with the share of the tokens. A summary of a tenth of the tokens for 0.3 of the
worth brings three times as much per token: where there is room for little, more items are seen, and a content still
takes the place of a summary before a third as good an item is shown at all. Were it worth more, pages of many summaries
and no content would win, and answers stand in contents. What a longer form adds stands around the evidence, so it is
worth little, and is taken when there is room to spare. These are judgements, not measurements.
"""
LARGE = 64
"""Of the rows that hardly fit by themselves, how many are tried, those of the most worth."""


class Choice(NamedTuple):
    """What to take under a limit."""

    rows: list[int]
    """The rows, the most worth per token first: what must go goes from the end."""
    worth: float
    cost: float
    """The sum of their prices."""


class Chooser:
    """Chooses from the same rows for any limit. What it learnt of prices for one it knows for the next.

    More limit is never less worth: exactly, as far as prices are sums. Equal input, equal choice; of equals the first.
    """

    def __init__(
        self,
        worths: Sequence[float],
        sizes: Sequence[float],
        price: Callable[[int], float],
        *,
        owners: Sequence[int] | None = None,
        kinds: Sequence[Hashable] | None = None,
    ) -> None:
        """Take rows as parallel lists. `price` is asked at most once for a row, and for few that are not chosen.

        Without `owners` each row is a candidate. Prices are learnt by size for each of `kinds` by itself. Of a row
        above every limit that is to come any price above it will do. Rows worth 0 or less, or NaN, are never chosen.
        """
        self._worths = worths
        self._charges = Charges(worths, sizes, price, kinds)
        self._owners = owners
        self._forms: dict[int, list[int]] = {}
        if owners is not None:
            for row in self._charges.live:
                self._forms.setdefault(owners[row], []).append(row)
            self._forms = {owner: rows for owner, rows in self._forms.items() if len(rows) > 1}
        self._steps: dict[float, Steps] = {}
        self._large: list[int] | None = None
        self._widest = max(sizes, default=0)

    def choose(self, limit: float) -> Choice:
        """Return the rows that bring the most worth for prices of at most `limit` in all."""
        limit = math.floor(limit) if limit < math.inf else limit
        cap = _cap_of(limit)
        steps = self._steps_of(cap)
        if limit < 0:
            return Choice([], 0.0, 0.0)
        found = self._best(steps, limit, Found(0.0, steps, 0))
        # What smaller limits allow is allowed here; it can be more only where rows are nearly as large as the limit.
        while cap > 0 and cap < math.inf:
            under = math.ceil(cap) - 1
            cap = _cap_of(under)
            if steps.bound(under) <= found.worth:
                break
            if steps.largest > cap or self._hardly_fitting(cap, under):
                found = self._best(self._steps_of(cap), under, found)
        rows = found.rows()
        return Choice(
            rows,
            sum(map(self._charges.worths.__getitem__, rows)),
            sum(map(self._charges.price, rows)),
        )

    def rest(self, rows: Sequence[int]) -> Iterator[int]:
        """Yield all rows of the owners that have none in `rows`, the most worth per token first, then the worthless.

        The order is as exact as prices are known; nothing is priced for it.
        """
        charges = self._charges
        taken = {self._owner(row) for row in rows}
        known = {
            row: charges.worths[row] / max(price, 1e-9) for row, price in charges.known.items()
        }
        seen = sorted(
            (row for row in known if charges.worths[row] > 0), key=lambda row: (-known[row], row)
        )
        for row in (
            *seen,
            *(row for row in charges.ordered() if row not in known),
            *self._worthless(),
        ):
            if self._owner(row) not in taken:
                yield row

    def _worthless(self) -> list[int]:
        given = ((row, worth) for row, worth in enumerate(self._worths) if not worth > 0)
        return [
            row
            for row, _ in sorted(given, key=lambda pair: (pair[1] != pair[1], -pair[1], pair[0]))
        ]

    def _owner(self, row: int) -> int:
        return row if self._owners is None else self._owners[row]

    def _steps_of(self, cap: float) -> Steps:
        if cap not in self._steps:
            self._steps[cap] = Steps(self._charges, cap, self._owners, self._forms)
        return self._steps[cap]

    def _best(self, steps: Steps, limit: float, found: Found) -> Found:
        """Return the best set of steps within `limit`, or of a beginning and one row above their cap."""
        found = steps.best(limit, found)
        charges = self._charges
        for row in self._hardly_fitting(steps.cap, limit):
            worth = charges.worths[row]
            if worth + steps.bound(limit - max(steps.cap, charges.floor(row))) > found.worth:
                charge = charges.charge(row)
                if steps.cap < charge <= limit:
                    count = steps.fitting(limit - charge)
                    with_it = Found(worth, steps, count, extra=row)
                    with_it = with_it._replace(worth=sum(charges.worths[r] for r in with_it.rows()))
                    found = max(found, with_it, key=lambda f: f.worth)
        return found

    def _hardly_fitting(self, cap: float, limit: float) -> list[int]:
        """Return rows of much worth that may be charged more than `cap` and no more than `limit`."""
        charges = self._charges
        if not _may_exceed(
            max((line.at(self._widest) for line in charges.lines()), default=0), cap
        ):
            return []
        if self._large is None:
            self._large = heapq.nlargest(LARGE, charges.live, key=charges.worths.__getitem__)
        found = []
        for row in self._large:
            if charges.floor(row) <= limit and _may_exceed(charges.estimate(row), cap):
                price = charges.known.get(row)
                if price is None or cap < max(price, charges.floor(row)) <= limit:
                    found.append(row)
        return found


def bound(
    worths: Sequence[float],
    prices: Sequence[float],
    limit: float,
    owners: Sequence[int] | None = None,
) -> float:
    """Return the most that any choice can be worth: as if the last row taken could be taken in part.

    That is the linear relaxation of the knapsack problem with classes (Sinha and Zoltners 1979, for one row an owner
    Dantzig 1957), without the rows that alone are over the limit.
    """
    classes: dict[int, list[tuple[float, float]]] = {}
    for row, (worth, price) in enumerate(zip(worths, prices, strict=True)):
        if worth > 0 and price <= limit:
            classes.setdefault(row if owners is None else owners[row], []).append((price, worth))
    steps = []
    for forms in classes.values():
        hull = [(0.0, 0.0)]
        for price, worth in sorted(forms, key=lambda form: (form[0], -form[1])):
            if worth <= hull[-1][1]:
                continue
            while len(hull) > 1 and _turns_up(hull[-2], hull[-1], (price, worth)):
                hull.pop()
            hull.append((price, worth))
        steps += [(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(hull)]
    steps.sort(key=lambda step: step[0] / step[1] if step[1] else math.inf, reverse=True)
    total = 0.0
    for worth, price in steps:
        if price > limit:
            return total + worth * limit / price
        total += worth
        limit -= price
    return total


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (c[1] - b[1]) * (b[0] - a[0]) >= (b[1] - a[1]) * (c[0] - b[0])


def _may_exceed(estimate: float, cap: float) -> bool:
    return 1.5 * estimate > cap


def _cap_of(limit: float) -> float:
    """Return the largest of 1, 2, … 15, 16, 18, 20, … 30, 32, 36, … up to `limit`: eight to each doubling."""
    if limit < 16 or limit == math.inf:
        return limit
    scale = 1 << (int(limit).bit_length() - 4)
    return int(limit) // scale * scale
