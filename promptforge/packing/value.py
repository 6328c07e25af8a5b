"""Merged into `worth`.

Merged into `worth`.

The most worth under a budget: the chooser of `packing: value`. Arithmetic over rows.

A row is one variant of one candidate. It has a worth, a size in characters that is cheap to know, and a cost in tokens
that is not: a cost means a rendering and a count. Rows of one owner exclude one another.

The most worth for the budget: `packing: value` on a page, where prices only roughly add up.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from .in_order import Packer
from .types import (
    UNLIMITED,
    Cost,
    PackingStep,
    Variant,
    add_costs,
    budget_unit,
    fits_within,
    subtract_costs,
)

VARIANT_WORTH = {"expanded": 1.1, "content": 1.0, "outline": 0.5, "summary": 0.3, "stub": 0.05}
"""Share of its score that an item is worth in a variant; a trimmed content the share of its text that is left.

A summary of a tenth of the tokens for 0.3 of the worth brings three times as much per token: where there is room for
little, more items are seen. A content still takes the place of a summary before an item a third as good is shown at all.
Were a summary worth more, pages of many summaries and no content would win, and answers stand in contents.
A longer variant adds surroundings of the evidence: worth little, taken when there is room to spare.
"""

SAMPLE_SIZE = 48
"""Rows whose costs are asked for at first, to learn what a size costs."""

MIN_ROWS_OF_A_KIND = 8
"""Sampled rows of a kind that are enough to estimate it by itself."""

LOWEST_QUANTILE = 0.1
"""Share of the sample that may cost less than the lower bound of its estimate."""

WINDOW = 8
"""Steps after a prefix; every subset of them is tried."""

_HOP = WINDOW // 2

_OVERHEAD_CHARACTERS = 64  # of an item's template, roughly; only the choice of the sample needs it

_MAX_WORTH = 1e290  # worths are cut to this, so that sums of them stay finite

_MIN_WORTH = 1e-200  # and raised to this, so that a share of one stays above 0


class WorthChoice(NamedTuple):
    """Rows to take under a limit."""

    rows: list[int]
    """The rows, the most worth per token first: those that must go go from the end."""
    worth: float
    cost: float
    """The sum of their costs."""


class WorthChooser:
    """Choose from the same rows for any limit, and remember the costs from one limit to the next.

    A higher limit never brings less worth, because only sets of a family are tried that does not depend on the limit:
    prefixes of one order, with any of the next few steps or with one later row.
    Equal input gives equal choices; of equal rows the first is taken.
    """

    def __init__(
        self,
        worths: Sequence[float],
        sizes: Sequence[float],
        cost: Callable[[int], float],
        *,
        owners: Sequence[int] | None = None,
        kinds: Sequence[Hashable] | None = None,
    ) -> None:
        """Take rows as parallel lists. `cost` is asked at most once for a row, and for few that are not chosen.

        Without `owners` each row is a candidate by itself. Rows of each of `kinds` have an estimate of their own.
        Rows worth 0 or less, or NaN, are never chosen.
        """
        self._given = worths
        self._worths = _finite(worths)
        self._owners = range(len(worths)) if owners is None else owners
        self._ask = cost
        self._costs: dict[int, float] = {}
        self._orders: dict[float, _Order] = {}
        self._bounds = self._lower_bounds(sizes, kinds or [None] * len(worths))
        self._best_cases = sorted(
            (-worth / bound if bound else -math.inf, False, row)
            for row, (worth, bound) in enumerate(zip(self._worths, self._bounds, strict=True))
            if worth > 0
        )

    def cost(self, row: int) -> float:
        """Return the exact cost of a row, asked for once."""
        if row not in self._costs:
            self._costs[row] = self._ask(row)
        return self._costs[row]

    def _lower_bounds(self, sizes: Sequence[float], kinds: Sequence[Hashable]) -> list[float]:
        """Estimate costs by size from a sample, and return the least that each row is taken to cost."""
        live = [row for row, worth in enumerate(self._worths) if worth > 0]
        some = live[:: max(len(live) // 4096, 1)]
        some.sort(key=lambda row: (sizes[row] + _OVERHEAD_CHARACTERS) / self._worths[row])
        # The nearer to the top, the denser the sample: any budget would choose these rows, so no cost is asked in vain.
        top = some[: max(len(some) // 8, 2 * MIN_ROWS_OF_A_KIND)]
        step = len(top) ** (1 / SAMPLE_SIZE)
        places = {min(int(step**n + 1e-9), len(top)) - 1 for n in range(SAMPLE_SIZE + 1) if top}
        sample: dict[Hashable, list[int]] = {}
        for place in sorted(places):
            sample.setdefault(kinds[top[place]], []).append(top[place])
        everything = [row for rows in sample.values() for row in rows]
        general = _line([(sizes[row], self.cost(row)) for row in everything])
        lines = dict.fromkeys(kinds, general)
        for kind, rows in sample.items():
            if len(rows) >= MIN_ROWS_OF_A_KIND:
                lines[kind] = _line([(sizes[row], self.cost(row)) for row in rows])

        def estimate(row: int) -> float:
            start, slope = lines[kinds[row]]
            return start + slope * sizes[row]

        ratios = sorted(self.cost(row) / (estimate(row) or 1) for row in everything)
        low = min(ratios[int(LOWEST_QUANTILE * len(ratios))], 1.0) if ratios else 0.0
        bounds = [
            low * (lines[kind][0] + lines[kind][1] * size)
            for kind, size in zip(kinds, sizes, strict=True)
        ]
        for row, known in self._costs.items():
            bounds[row] = known
        return bounds

    def choose(self, limit: float) -> WorthChoice:
        """Return the rows that bring the most worth for costs of at most `limit` in all."""
        best, rows, cap = 0.0, list[int](), limit
        while cap >= 0:
            order = self._order(cap)
            worth, found = order.best(limit, best)
            if worth > best:
                best, rows = worth, found
            # A row nearly as large as the limit can block better sets of small rows, and it was no candidate for
            # a smaller limit. So the order without the largest row is tried too, while it could still be better.
            cap = math.nextafter(order.largest, -1)
            if order.bound(cap) <= best:
                break
        return WorthChoice(rows, sum(self._worths[row] for row in rows), sum(map(self.cost, rows)))

    def _order(self, cap: float) -> _Order:
        if cap not in self._orders:
            self._orders[cap] = _Order(self._worths, self._owners, self._steps(cap))
        return self._orders[cap]

    def _steps(self, cap: float) -> Iterator[tuple[int, int, float]]:
        """Yield steps of the upper hulls of all owners by worth per token: the row, the row it replaces, its cost.

        One heap holds rows of known cost and rows of a lower bound. A row is asked for its cost when nothing known is
        better than its best case, so the order is exact although most costs are never asked for.
        """
        worths, owners, bounds = self._worths, self._owners, self._bounds
        heap = [entry for entry in self._best_cases if bounds[entry[2]] <= cap]  # sorted: a heap
        reached: dict[int, int] = {}
        while heap:
            key, known, row = heapq.heappop(heap)
            below = reached.get(owners[row], -1)
            worth = worths[row] - (worths[below] if below >= 0 else 0.0)
            cost = max(self.cost(row), bounds[row])
            added = cost - (max(self.cost(below), bounds[below]) if below >= 0 else 0.0)
            if worth <= 0 or cost > cap:
                continue
            slope = -worth / added if added > 0 else -math.inf
            # A row's slope only falls when its owner has reached another row: then it waits for its new turn.
            if not known or slope > key:
                heapq.heappush(heap, (slope, True, row))
                continue
            reached[owners[row]] = row
            yield row, below, added

    def rest(self, rows: Sequence[int]) -> Iterator[int]:
        """Yield all rows of the owners that have none in `rows`, by worth per token as far as known, then the worthless.

        Asks for no cost.
        """
        taken = {self._owners[row] for row in rows}
        free = [row for row in range(len(self._worths)) if self._owners[row] not in taken]

        def place(row: int) -> tuple[bool, bool, float]:
            given, cost = self._given[row], self._costs.get(row, self._bounds[row])
            if not given > 0:
                return True, given != given, -given if given == given else 0.0
            return False, row not in self._costs, -self._worths[row] / max(cost, 1e-9)

        yield from sorted(free, key=place)


class _Order:
    """Steps in their order, read as far as asked, with running sums."""

    def __init__(
        self,
        worths: Sequence[float],
        owners: Sequence[int],
        steps: Iterator[tuple[int, int, float]],
    ) -> None:
        self._worths = worths
        self._owners = owners
        self._steps = steps
        self._rows: list[tuple[int, int]] = []  # a row, and the row that it replaces or -1
        self._worth = [0.0]  # of the first n steps
        self._cost = [0.0]
        self.largest = -1.0
        """The highest cost of a row that was read."""
        self._owner_cost: dict[int, float] = {}

    def _read(self, count: int) -> bool:
        """Read until there are `count` steps; return False if there are fewer."""
        while len(self._rows) < count:
            row, below, added = next(self._steps, (-1, -1, 0.0))
            if row < 0:
                return False
            self._rows.append((row, below))
            gained = self._worths[row] - (self._worths[below] if below >= 0 else 0.0)
            self._worth.append(self._worth[-1] + gained)
            self._cost.append(self._cost[-1] + added)
            owner = self._owners[row]
            self._owner_cost[owner] = self._owner_cost.get(owner, 0.0) + added
            self.largest = max(self.largest, self._owner_cost[owner])
        return True

    def _fitting(self, limit: float) -> int:
        """Return how many of the first steps fit into `limit`."""
        while self._cost[-1] <= limit and self._read(len(self._rows) + 1):
            pass
        return bisect_right(self._cost, limit) - 1

    def bound(self, limit: float) -> float:
        """Return the worth that no choice under `limit` exceeds: the last step is taken in part (Dantzig 1957)."""
        if limit < 0:
            return 0.0
        count = self._fitting(limit)
        if count == len(self._rows):
            return self._worth[count]
        rate = self._worth[count + 1] - self._worth[count]
        rate /= self._cost[count + 1] - self._cost[count]
        return self._worth[count] + rate * (limit - self._cost[count])

    def best(self, limit: float, least: float) -> tuple[float, list[int]]:
        """Return the best set of the family within `limit` with its worth; no rows if it is worth `least` or less."""
        count = self._fitting(limit)
        found: _Set = max((least, 0, ()), (self._worth[count], count, ()), key=_worth_of)
        if count < len(self._rows):
            self._read(count + WINDOW)
            for start in range(count - count % _HOP, max(count - WINDOW, -1), -_HOP):
                found = max(found, self._vary(start, limit), key=_worth_of)
            found = max([found, *self._exchange(count, limit)], key=_worth_of)
        worth, start, more = found
        if worth <= least:
            return least, []
        taken = [self._rows[step] for step in (*range(start), *more)]
        replaced = {below for _, below in taken}
        return worth, [row for row, _ in taken if row not in replaced]

    def _exchange(self, count: int, limit: float) -> Iterator[_Set]:
        """Yield, for each step after those that fit, the set with it in place of as many of the last as it needs."""
        for step in range(count, min(count + WINDOW, len(self._rows))):
            if self._rows[step][1] >= 0:
                continue
            cost = self._cost[step + 1] - self._cost[step]
            if cost <= limit:
                start = bisect_right(self._cost, limit - cost) - 1
                yield self._worth[start] + self._worth[step + 1] - self._worth[step], start, (step,)

    def _vary(self, start: int, limit: float) -> _Set:
        """Return the best of all sets made of the first `start` steps and any of the next few."""
        by_owner: dict[int, list[int]] = {}
        for step in range(start, min(start + WINDOW, len(self._rows))):
            by_owner.setdefault(self._owners[self._rows[step][0]], []).append(step)
        states: list[tuple[float, float, tuple[int, ...]]]
        states = [(self._cost[start], self._worth[start], ())]
        for steps in by_owner.values():
            for cost, worth, more in list(states):
                for step in steps:  # of one owner, each step needs those before it
                    cost += self._cost[step + 1] - self._cost[step]
                    worth += self._worth[step + 1] - self._worth[step]
                    more = (*more, step)
                    if cost > limit:
                        break
                    states.append((cost, worth, more))
        _, worth, more = max(states, key=lambda state: state[1])
        return worth, start, more


_Set = tuple[float, int, tuple[int, ...]]
"""Its worth, how many of the first steps it has, and the steps beside these."""


def _worth_of(found: _Set) -> float:
    return found[0]


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return start and slope of the line of least squared relative errors, neither below 0."""
    weights = [1 / (size + _OVERHEAD_CHARACTERS) ** 2 for size, _ in points]
    total = sum(weights) or 1.0
    size = sum(w * s for w, (s, _) in zip(weights, points, strict=True)) / total
    cost = sum(w * c for w, (_, c) in zip(weights, points, strict=True)) / total
    spread = sum(w * (s - size) ** 2 for w, (s, _) in zip(weights, points, strict=True))
    joint = sum(w * (s - size) * (c - cost) for w, (s, c) in zip(weights, points, strict=True))
    slope = joint / spread if spread > 0 else 0.0
    if size and (spread <= 0 or slope * size > cost):
        return 0.0, cost / size  # one size only, or a line that would begin below 0
    return cost - max(slope, 0.0) * size, max(slope, 0.0)


def _finite(worths: Sequence[float]) -> Sequence[float]:
    """Return worths to reckon with: NaN is worth nothing, infinity more than all that is finite."""
    if sum(worths) <= _MAX_WORTH and min(worths, default=1) >= _MIN_WORTH:  # no sum with NaN is
        return worths
    cut = [max(w, _MIN_WORTH) if w > 0 else 0.0 for w in worths]
    beyond = 1 + sum(min(w, _MAX_WORTH) for w in cut if w < math.inf)
    return [min(w, _MAX_WORTH) if w < math.inf else beyond for w in cut]


MAX_FAILED_FILLS = 8
"""Items that nearly fit into what is left and do not, before no more are tried."""

MAX_ITEMS_SHORTENED = 4
"""Items of which a shortened form is sought for what is left at the end."""

MAX_CHOICES = 6
"""How often the choice is made anew after the page was measured."""


def pack_most_worth(packer: Packer, part: PackingStep, limit: Cost) -> None:
    """Show those of a part that are together worth most, then fill what is left."""
    walk = [i for i in part.walk if i not in packer.chosen and i not in packer.duplicate_of]
    places = packer.free_places(part)
    if (places is None or places >= len(walk)) and packer.show_all(walk, limit):
        return
    packer.cost = packer.page.measure(packer.chosen)
    rows = _Rows(packer, walk, part.ranks, limit)
    chooser, chosen = rows.choose(places)
    refused = _show(packer, [(rows.owners[row], rows.forms[row]) for row in chosen], limit)
    _fill(packer, part, [*refused, *(rows.owners[row] for row in chooser.rest(chosen))], limit)
    if packer.free_places(part) == 0:
        for index in walk:
            if index not in packer.chosen:
                packer.reasons.setdefault(index, "max_items")


class _Rows:
    """The forms of the items of a part, as rows to choose from."""

    def __init__(
        self, packer: Packer, walk: Sequence[int], ranks: Sequence[float], limit: Cost
    ) -> None:
        self._packer = packer
        self._scale = packer.page
        self._limit = limit
        self._room = subtract_costs(limit, packer.cost)
        self._unit = budget_unit(limit)
        self._both = limit[0] < UNLIMITED and limit[1] < UNLIMITED and self._room[1] > 0
        lowest = min((ranks[i] for i in walk), default=0.0) if ranks else 0.0
        base = (
            lowest - 0.01 if lowest <= 0 else 0.0
        )  # what is worth nothing is still worth more than room left over
        pairs = [(index, form) for index in walk for form in self._scale.variants(index)]
        self.owners = [index for index, _ in pairs]
        self.forms = [form for _, form in pairs]
        self._several = len(pairs) > len(walk)
        self._worths = [
            (ranks[i] - base if ranks else 1.0) * VARIANT_WORTH.get(form.name, 1.0)
            for i, form in pairs
        ]

    def choose(self, places: int | None) -> tuple[WorthChooser, list[int]]:
        """Return the rows for the page, which may cost more than their sum (separators, headings) or less (joins)."""
        unit, target = self._unit, self._room[self._unit]
        chooser, most, best = self._chooser(0.0), UNLIMITED, []
        rows: list[int] = []
        for turn in range(MAX_CHOICES):
            rows = chooser.choose(target).rows[:places]
            cost = self._scale.measure(
                {**self._packer.chosen, **{self.owners[row]: self.forms[row] for row in rows}}
            )
            spare = self._limit[unit] - cost[unit]
            if fits_within(cost, self._limit):
                best = rows
                if target + spare >= most or spare < 1:
                    break
                target += spare
            elif turn == 0 and rows:  # each costs so much more beside others than alone
                more = cost[unit] - self._packer.cost[unit] - sum(self._price(row) for row in rows)
                chooser = self._chooser(max(more / len(rows), 0.0))
            else:
                most = target
                target -= max(-spare, 1)
        return chooser, best or rows

    def _chooser(self, between: float) -> WorthChooser:
        return WorthChooser(
            self._worths,
            [len(form.text) for form in self.forms],
            lambda row: self._price(row) + between,
            owners=self.owners if self._several else None,
            kinds=[form.name for form in self.forms] if self._several else None,
        )

    def _price(self, row: int) -> float:
        index, form = self.owners[row], self.forms[row]
        if not self._scale.may_fit(index, form, self._room):
            return max(self._room[self._unit] + 1, len(form.text) / 4)
        cost = self._scale.item_cost(index, form)
        return (
            max(cost[0], cost[1] * self._room[0] / self._room[1])
            if self._both
            else cost[self._unit]
        )


def _show(packer: Packer, rows: list[tuple[int, Variant]], limit: Cost) -> list[int]:
    """Show these, without duplicates; while they are over the limit the least worth per token goes.

    Returns those that are too much for their section in this form.
    """
    refused = []
    for index, form in rows:
        if packer.page.item_cost(index, form)[0] > packer.allowance(index):
            packer.drop(index, "section_budget")
            refused.append(index)
            continue
        holder, held = packer.page.duplicates(index, packer.chosen)
        if holder is not None:
            packer.drop_duplicate(index, holder)
            continue
        for other in held:
            packer.drop_duplicate(other, index)
        packer.put(index, form, packer.cost)
    shown = [index for index, _ in rows if index in packer.chosen]
    packer.cost = packer.page.measure(packer.chosen)
    while shown and not fits_within(packer.cost, limit):
        packer.drop(shown.pop(), "budget")
        packer.cost = packer.page.measure(packer.chosen)
    return refused


def _fill(packer: Packer, part: PackingStep, walk: Iterable[int], limit: Cost) -> None:
    """Give what room is left to others that fit whole, and then to a shortened one."""
    page, places = packer.page, packer.free_places(part)
    rest = [
        i for i in dict.fromkeys(walk) if i not in packer.chosen and i not in packer.duplicate_of
    ]
    failed = 0
    for index in page.maybe_fitting(rest, subtract_costs(limit, packer.cost), False):
        if failed > MAX_FAILED_FILLS or places == 0:
            break
        left = add_costs(subtract_costs(limit, packer.cost), (page.shared_end_tokens, 0))
        forms = [form for form in page.variants(index) if page.may_fit(index, form, left)]
        if not forms:
            continue
        holder, _ = page.duplicates(index, packer.chosen)
        if holder is not None:
            packer.drop_duplicate(index, holder)
        elif any(
            packer.take_variant(index, form, packer.chosen, packer.cost, limit) for form in forms
        ):
            places = places - 1 if places is not None else None
        else:
            failed += 1
    if packer.shorten and places != 0:
        waiting = (i for i in rest if i not in packer.chosen and i not in packer.duplicate_of)
        any(packer.take_shortened(index, limit) for index in islice(waiting, MAX_ITEMS_SHORTENED))
