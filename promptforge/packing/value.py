"""`packing: value`: the items that are together worth most.

`WorthChooser` is arithmetic over rows. A row is one variant of one item: it has a worth, a size in
characters that is cheap to know, and a cost that takes a rendering and a count to know. Rows are
taken by worth per token, over costs that are looked up as late as can be; then one pass exchanges
the last ones. Of the bound that no choice exceeds it reaches 99 % and more from 500 items on.
`pack_most_worth` applies it to a page, where costs only roughly add up.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import filterfalse, islice
from typing import NamedTuple

from ..reasons import BUDGET, MAX_ITEMS, SECTION_BUDGET
from .in_order import ITEMS_LOOKED_AT, Packer
from .types import (
    UNLIMITED,
    BestFirst,
    Cost,
    PackingStep,
    Variant,
    budget_unit,
    fits_within,
    subtract_costs,
)

VARIANT_WORTH = {"expanded": 1.1, "content": 1.0, "outline": 0.5, "summary": 0.3, "stub": 0.05}
"""Share of its score that an item is worth in a variant.

A summary of a tenth of the tokens for 0.3 of the worth brings three times as much per token: where
there is room for little, more items are seen. A content still takes the place of a summary before
an item a third as good is shown at all. Were a summary worth more, pages of summaries alone would
win, and answers stand in contents.
"""
MAX_UNUSED_UNITS = 8
"""Tokens (or characters) left over that are worth no other choice: each one measures a page."""
MAX_UNUSED_SHARE = 0.001
"""The same of a large budget, as a share of it."""
MAX_CHOICES = 6
"""Choices made for one page, each with what the page before has taught."""
SAMPLE_SIZE = 48
"""Rows with a cost asked for at first, to learn what a size costs."""
MIN_ROWS_OF_A_KIND = 8
"""Sampled rows of a kind that are enough for an estimate of its own."""
LOWEST_QUANTILE = 0.25
"""Share of the sample that may cost less than the lower bound of its estimate: with a lower bound
more costs are asked in vain, with a higher one more rows stand too late in the order."""
WINDOW = 8
"""Steps after a prefix; every subset of them is tried."""
_OVERHEAD_CHARACTERS = 64  # of an item's template, roughly; only the choice of the sample needs it
_MAX_WORTH = 1e290  # worths are cut to this, so that sums of them stay finite
_MIN_WORTH = 1e-200  # and raised to this, so that a share of one stays above 0


def pack_most_worth(packer: Packer, step: PackingStep, limit: Cost) -> PackingStep:
    """Show the items of a step that are together worth most, then fill the rest of the room.

    Returns the step with its items in another order: those shown, then the others, the most worth
    per token first.
    """
    walk = packer.unsettled(step.walk[:])
    places = packer.free_places(step)
    # Where everything fits there is nothing to choose, and no cost of a row is asked for.
    if (places is None or places >= len(walk)) and packer.show_all(walk, limit):
        return step
    packer.cost = packer.page.measure(packer.chosen)
    rows = _PageRows(packer, walk, step.ranks, limit)
    rest = rows.show(rows.choose(places))
    left = {*rest.unordered}
    shown = [*filterfalse(left.__contains__, step.walk[:])]  # these have places of `most`
    order = rest.after(shown)
    # Of all of the step: what is chosen already may have the highest index, and be joined later.
    equal = step._replace(walk=order, ranks=[0.0] * (max(order, default=0) + 1))
    # Shortened, any of 100,000 might fit: so all are tried whole first, and few then are shortened.
    shorten, packer.shorten = packer.shorten, False
    packer.take_rest(order, limit, equal, len(shown))
    packer.shorten = shorten
    _shorten_some(packer, order, limit, equal)
    if packer.free_places(step) == 0:
        for index in walk:
            if index not in packer.chosen:
                packer.reasons.setdefault(index, MAX_ITEMS.name)
    return equal


def fill_with_best(packer: Packer, step: PackingStep, limit: Cost) -> None:
    """Show more items of a step that `pack_most_worth` returned: whole ones, then a shorter one."""
    shorten, packer.shorten = packer.shorten, False
    packer.pack(step, limit)
    packer.shorten = shorten
    _shorten_some(packer, step.walk, limit, step)


def _shorten_some(packer: Packer, walk: Sequence[int], limit: Cost, step: PackingStep) -> None:
    left = (i for i in walk if i not in packer.chosen and i not in packer.duplicate_of)
    packer.take_rest([*islice(left, ITEMS_LOOKED_AT)], limit, step)


class _PageRows:
    """The variants of some items on a page, as rows to choose from."""

    def __init__(
        self, packer: Packer, walk: Sequence[int], ranks: Sequence[float], limit: Cost
    ) -> None:
        self._packer, self._page, self._limit = packer, packer.page, limit
        self._room, self._unit = subtract_costs(limit, packer.cost), budget_unit(limit)
        self._items, self._names, self._sizes = self._page.whole_variants(walk)
        # An item of rank 0 is still worth more than unused room.
        ranked = [ranks[i] for i in self._items] if ranks else [1.0] * len(self._items)
        lowest = min(ranked, default=0.0)
        base = min(lowest - 0.01, 0.0) if lowest <= 0 else 0.0
        shares = {name: VARIANT_WORTH.get(name, 1.0) for name in {*self._names}}
        self._worths = [
            (rank - base) * shares[name] for rank, name in zip(ranked, self._names, strict=True)
        ]
        self._chooser = self._new_chooser(0.0)
        self._held: set[int] = set()
        """Items that others contain which were chosen with them."""

    def _new_chooser(self, between: float) -> WorthChooser:
        """Return a chooser; `between` is the cost of an item on the page beyond its own."""
        return WorthChooser(
            self._worths,
            self._sizes,
            lambda row: self._cost(row) + between,
            owners=self._items,
            kinds=self._names,
        )

    def _variant(self, row: int) -> Variant:
        name = self._names[row]
        return next(v for v in self._page.variants(self._items[row]) if v.name == name)

    def _variants(self, rows: Iterable[int]) -> dict[int, Variant]:
        """Return the items of these rows, each in its variant."""
        return {self._items[row]: self._variant(row) for row in rows}

    def choose(self, places: int | None) -> list[int]:
        """Return rows that fit on the page and leave next to no room.

        The page costs more than their sum (separators, headings) or less (merged ends). So the
        target moves by the difference, until one that is too large is met.
        """
        target, too_large, best = self._room[self._unit], UNLIMITED, list[int]()
        rows, unused = best, max(MAX_UNUSED_UNITS, MAX_UNUSED_SHARE * target)
        for turn in range(MAX_CHOICES):
            rows = self._choose_distinct(target)[:places]
            cost = self._page.measure({**self._packer.chosen, **self._variants(rows)})
            spare = self._limit[self._unit] - cost[self._unit]
            if fits_within(cost, self._limit):
                best = rows
                if target + spare >= too_large or spare <= unused:
                    break
                target += spare
            # The first page has taught what an item costs beyond its own text (a separator, the
            # heading of its section): with that on each row, the choice is made again.
            elif turn == 0 and rows:
                alone = self._packer.cost[self._unit] + sum(self._cost(row) for row in rows)
                self._chooser = self._new_chooser(max((cost[self._unit] - alone) / len(rows), 0.0))
                self._chooser.exclude(self._held)
            else:
                # What was too large once is never the target again: or two targets would take
                # turns until all choices are used up.
                too_large = target
                target -= max(-spare, 1)
        return best or rows

    def _choose_distinct(self, target: float) -> list[int]:
        """Return rows for `target`; in place of items that others of them contain, other ones."""
        for _ in range(MAX_CHOICES):
            rows = self._chooser.choose(target).rows
            held = self._packer.contained(self._variants(rows))
            if not held:
                break
            self._held.update(held)
            self._chooser.exclude(held.keys())
        return rows

    def _cost(self, row: int) -> float:
        index, variant = self._items[row], self._variant(row)
        if not self._page.may_fit(index, variant, self._room):
            # Any cost above the room will do, as long as larger rows cost more.
            return max(self._room[self._unit] + 1, len(variant.text) / 4)
        cost = self._page.item_cost(index, variant)
        if UNLIMITED in self._limit or self._room[1] <= 0:
            return cost[self._unit]
        # With both limits, the one that an item takes more of, in tokens.
        return max(cost[0], cost[1] * self._room[0] / self._room[1])

    def show(self, chosen: list[int]) -> BestFirst:
        """Show these rows but duplicates; return the other items, the most worth per token first.

        While the page is over the limit, the least worth per token goes.
        """
        packer, refused, variants = self._packer, list[int](), self._variants(chosen)
        for index, variant in variants.items():
            holder, held = self._page.duplicates(index, packer.chosen)
            if self._page.item_cost(index, variant)[0] > packer.allowance(index):
                packer.drop(index, SECTION_BUDGET.name)
                refused.append(index)
            elif holder is not None:
                packer.drop_duplicate(index, holder)
            else:
                packer.drop_duplicates(dict.fromkeys(held, index))
                packer.put(index, variant, packer.cost)
        shown = [index for index in variants if index in packer.chosen]
        packer.cost = self._page.measure(packer.chosen)
        while shown and not fits_within(packer.cost, self._limit):
            refused.append(shown.pop())  # not for good: a shorter variant may still fit
            packer.drop(refused[-1], BUDGET.name)
            packer.cost = self._page.measure(packer.chosen)
        rest = self._chooser.rest(chosen).owners(self._items)
        return rest.after(i for i in refused if i not in packer.duplicate_of)


class WorthChoice(NamedTuple):
    """Rows to take under a limit."""

    rows: list[int]
    """The most worth per token first: rows that must go go from the end."""
    worth: float
    cost: float


class _Step(NamedTuple):
    """A step of an owner from one of its rows, or none, to the next."""

    row: int
    below: int
    """The row before, or -1."""
    added: float
    """Cost beyond that of the row before."""
    rated: float
    """The same as the order rates it: a row rarely costs less than its lower bound."""
    cost: float
    """Cost of the row."""


_NO_ROW = (-1, 0.0, 0.0, 0.0)
_BEST, _NO_CASE = 1e308, (0.0, False, -1)
"""The best case of a row that may cost nothing, and what comes after all rows with worth."""
_Set = tuple[float, int, tuple[int, ...]]
"""A set of steps: its worth, how many of the first steps it has, and those beside them."""


class WorthChooser:
    """Choose from the same rows for any limit, and remember costs from one limit to the next.

    A higher limit never brings less worth: the sets that are tried do not depend on the limit.
    They are prefixes of one order, with any of the next few steps or with one later row.
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
        """Take rows as parallel lists; `cost` is asked at most once for a row, and for few.

        Rows of one owner exclude one another. Each of `kinds` has an estimate of its own.
        Rows worth 0 or less, or NaN, are never chosen.
        """
        # A caller's scores may be NaN or infinite; sums of them would be NaN, and nothing chosen.
        self._given, self._worths = worths, _finite(worths)
        self._owners = range(len(worths)) if owners is None else owners
        self._ask, self._costs = cost, dict[int, float]()
        self._orders: dict[float, _Order] = {}
        # A row costs this share of its lower bound at least: so there is a bound of worth.
        self._least_share = 1.0
        self._bounds = self._lower_bounds(sizes, kinds or [None] * len(worths))
        self._best_cases = [
            (worth / bound if bound else _BEST) if worth > 0 else self._place_without_worth(row)
            for row, (worth, bound) in enumerate(zip(self._worths, self._bounds, strict=True))
        ]
        """The most worth per token that each row may have; of one without worth what was given."""
        if math.inf in self._best_cases:
            self._best_cases = [min(case, _BEST) for case in self._best_cases]
        self._by_best_case = BestFirst(range(len(worths)), self._best_cases)

    def exclude(self, owners: Collection[int]) -> None:
        """Choose no rows of these owners from now on."""
        if not owners:
            return
        self._orders.clear()
        excluded = [row for row, owner in enumerate(self._owners) if owner in owners]
        self._worths = list(self._worths)
        for row in excluded:
            self._worths[row], self._best_cases[row] = 0.0, self._place_without_worth(row)
        self._by_best_case = BestFirst(range(len(self._worths)), self._best_cases)

    def _place_without_worth(self, row: int) -> float:
        # NaN, unequal to itself, has no place among numbers: it comes last.
        return self._given[row] if self._given[row] <= 0 else -math.inf

    def cost(self, row: int) -> float:
        """Return the exact cost of a row, asked for once."""
        if row not in self._costs:
            self._costs[row] = self._ask(row)
        return self._costs[row]

    def _lower_bounds(self, sizes: Sequence[float], kinds: Sequence[Hashable]) -> list[float]:
        """Estimate costs by size from a sample; return the least that each row is taken to cost."""
        live = [row for row, worth in enumerate(self._worths) if worth > 0]
        some = live[:: max(len(live) // 4096, 1)]
        some.sort(key=lambda row: (sizes[row] + _OVERHEAD_CHARACTERS) / self._worths[row])
        # The nearer to the top, the denser the sample: these rows any budget would choose, so
        # hardly a cost is asked in vain.
        top = some[: max(len(some) // 8, 2 * MIN_ROWS_OF_A_KIND)]
        step = len(top) ** (1 / SAMPLE_SIZE)
        places = {min(int(step**n + 1e-9), len(top)) - 1 for n in range(SAMPLE_SIZE + 1) if top}
        sample: dict[Hashable, list[int]] = {}
        for place in sorted(places):
            sample.setdefault(kinds[top[place]], []).append(top[place])
        everything = [row for rows in sample.values() for row in rows]
        general = _line([(sizes[row], self.cost(row)) for row in everything])
        lines = dict.fromkeys({*kinds}, general)
        for kind, rows in sample.items():
            if len(rows) >= MIN_ROWS_OF_A_KIND:
                lines[kind] = _line([(sizes[row], self.cost(row)) for row in rows])
        estimates = [
            (line := lines[kind])[0] + line[1] * size
            for kind, size in zip(kinds, sizes, strict=True)
        ]
        ratios = sorted(self.cost(row) / (estimates[row] or 1) for row in everything)
        low = min(ratios[int(LOWEST_QUANTILE * len(ratios))], 1.0) if ratios else 0.0
        if low:
            self._least_share = min(0.8, 0.9 * ratios[0] / low)
        found = [low * estimate for estimate in estimates]
        for row, cost in self._costs.items():
            found[row] = cost
        return found

    def choose(self, limit: float) -> WorthChoice:
        """Return the rows that bring the most worth for costs of at most `limit` in all."""
        best, rows = 0.0, list[int]()
        cap = math.inf if limit >= 0 else limit
        while cap >= 0:  # the order without a cap serves all limits that no row comes near
            if cap not in self._orders:
                self._orders[cap] = _Order(
                    self._worths, self._owners, self._steps(cap), 1 / (self._least_share or 1.0)
                )
            order = self._orders[cap]
            best, rows = order.best(limit, best) or (best, rows)
            # A row nearly as large as the limit can block better sets of small rows, and for a
            # smaller limit it was no candidate. So the order without the largest row is tried
            # too, while it could still be better.
            cap = min(limit, math.nextafter(order.largest, -1))
            if order.bound(cap) <= best:
                break
        return WorthChoice(rows, sum(self._worths[row] for row in rows), sum(map(self.cost, rows)))

    def _steps(self, cap: float) -> Iterator[_Step]:
        """Yield steps by worth per token.

        These are the upper hulls of a knapsack with classes (Sinha and Zoltners 1979). A heap
        holds rows of known cost. A row is asked for its cost when nothing known is better than its
        best case: so most costs are never asked for.
        """
        worths, owners, bounds, share = self._worths, self._owners, self._bounds, self._least_share
        reached: dict[int, tuple[int, float, float, float]] = {}
        heap: list[tuple[float, bool, int]] = []
        unknown = ((-self._best_cases[row], False, row) for row in self._by_best_case)
        following = next(unknown, _NO_CASE)
        while True:
            if following < _NO_CASE and not (heap and heap[0] < following):
                key, known, row = following
                following = next(unknown, _NO_CASE)
                if share * bounds[row] > cap:
                    continue
            elif heap:
                key, known, row = heapq.heappop(heap)
            else:
                return
            below, worth_below, cost_below, rated_below = reached.get(owners[row], _NO_ROW)
            cost, worth = max(self.cost(row), share * bounds[row]), worths[row] - worth_below
            if worth <= 0 or cost > cap:
                continue
            rated = max(cost, bounds[row])
            slope = -worth / (rated - rated_below) if rated > rated_below else -math.inf
            # The slope of a row falls when its owner has reached another row: it waits again.
            if not known or slope > key:
                heapq.heappush(heap, (slope, True, row))
                continue
            reached[owners[row]] = row, worths[row], cost, rated
            yield _Step(row, below, cost - cost_below, rated - rated_below, cost)

    def rest(self, rows: Sequence[int]) -> BestFirst:
        """Return rows of the owners without one in `rows`: the most worth per token known first.

        Rows of unknown cost come after, by their best case, then worthless ones. Asks no cost.
        """
        taken = {self._owners[row] for row in rows}
        known = {
            row for row in self._costs if self._worths[row] > 0 and self._owners[row] not in taken
        }

        def order(row: int) -> tuple[float, float, int]:
            rate = self._worths[row] / max(self._costs[row], 1e-9)
            return -rate, -self._best_cases[row], row

        unknown = [
            row for row, owner in enumerate(self._owners) if owner not in taken and row not in known
        ]
        return BestFirst(unknown, self._best_cases, sorted(known, key=order))


class _Order:
    """Steps in their order, read as far as asked, with running sums."""

    def __init__(
        self, worths: Sequence[float], owners: Sequence[int], steps: Iterator[_Step], stretch: float
    ) -> None:
        """`stretch`: the most that a row is rated above its cost."""
        self._worths, self._owners, self._source, self._stretch = worths, owners, steps, stretch
        self._steps: list[_Step] = []
        # Of the first n steps: worth, cost, highest cost so far, rating.
        self._worth, self._cost, self._peak, self._rated = [0.0], [0.0], [0.0], [0.0]
        self.largest = -1.0
        """The highest cost of a row that was read."""

    def _read(self, count: int) -> bool:
        """Read until there are `count` steps; return False if there are fewer."""
        while len(self._steps) < count:
            step = next(self._source, None)
            if step is None:
                return False
            below = self._worths[step.below] if step.below >= 0 else 0.0
            self._steps.append(step)
            self._worth.append(self._worth[-1] + self._worths[step.row] - below)
            self._cost.append(self._cost[-1] + step.added)
            self._peak.append(max(self._peak[-1], self._cost[-1]))
            self._rated.append(self._rated[-1] + step.rated)
            self.largest = max(self.largest, step.cost)
        return True

    def _fitting(self, limit: float) -> int:
        """Return how many of the first steps fit into `limit`."""
        while self._peak[-1] <= limit and self._read(len(self._steps) + 1):
            pass
        return bisect_right(self._peak, limit) - 1

    def bound(self, limit: float) -> float:
        """Return a worth that no choice exceeds (Dantzig 1957).

        That is the surplus of the first steps over the rate of the next, and all tokens at that
        rate. A token of cost may be rated as more than one, by `stretch`.
        """
        if limit < 0:
            return 0.0
        count = self._fitting(limit)
        if count == len(self._steps):
            return self._worth[-1]
        if self._steps[count].rated <= 0:
            return math.inf
        rate = (self._worth[count + 1] - self._worth[count]) / self._steps[count].rated
        surplus = self._worth[count + 1] - rate * self._rated[count + 1]
        return surplus + (rate * limit * self._stretch if limit else 0.0)

    def best(self, limit: float, least: float) -> tuple[float, list[int]] | None:
        """Return the best set within `limit` and its worth, if it is worth more than `least`."""
        count = self._fitting(limit)
        sets: list[_Set] = [(self._worth[count], count, ())]
        if count < len(self._steps):
            self._read(count + WINDOW)
            half = WINDOW // 2
            # From every fourth step on: so a higher limit tries all sets that a lower one tried,
            # and its worth is never less.
            for start in range(count - count % half, max(count - WINDOW, -1), -half):
                sets.append(self._vary(start, limit))
            sets += self._exchange(count, limit)
        worth, start, more = max(sets, key=lambda found: found[0])
        if worth <= least:
            return None
        taken = [self._steps[number] for number in (*range(start), *more)]
        replaced = {step.below for step in taken}
        return worth, [step.row for step in taken if step.row not in replaced]

    def _exchange(self, count: int, limit: float) -> Iterator[_Set]:
        """Yield, for each of the next steps, a set with it instead of the last ones that fit."""
        for step in range(count, min(count + WINDOW, len(self._steps))):
            cost = self._steps[step].added
            if self._steps[step].below < 0 and cost <= limit:
                start = bisect_right(self._peak, limit - cost) - 1
                yield self._worth[start] + self._worth[step + 1] - self._worth[step], start, (step,)

    def _vary(self, start: int, limit: float) -> _Set:
        """Return the best of all sets made of the first `start` steps and any of the next few."""
        by_owner: dict[int, list[int]] = {}
        for step in range(start, min(start + WINDOW, len(self._steps))):
            by_owner.setdefault(self._owners[self._steps[step].row], []).append(step)
        sets: list[tuple[float, float, tuple[int, ...]]]
        sets = [(self._cost[start], self._worth[start], ())]
        for steps in by_owner.values():
            # Of a copy: a set made here has a row of this owner already, and takes no second one.
            for cost, worth, more in list(sets):
                for step in steps:  # of one owner, each step needs those before it
                    cost += self._steps[step].added
                    worth += self._worth[step + 1] - self._worth[step]
                    more = (*more, step)
                    if cost > limit:
                        break
                    sets.append((cost, worth, more))
        _, worth, more = max(sets, key=lambda found: found[1])
        return worth, start, more


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return start and slope of the line of least squared relative errors, neither below 0."""
    weights = [1 / (size + _OVERHEAD_CHARACTERS) ** 2 for size, _ in points]
    weighted, total = list(zip(weights, points, strict=True)), sum(weights) or 1.0
    size = sum(w * s for w, (s, _) in weighted) / total
    cost = sum(w * c for w, (_, c) in weighted) / total
    spread = sum(w * (s - size) ** 2 for w, (s, _) in weighted)
    slope = 0.0
    if spread > 0:
        slope = max(sum(w * (s - size) * (c - cost) for w, (s, c) in weighted) / spread, 0.0)
    if size and (spread <= 0 or slope * size > cost):
        return 0.0, cost / size  # one size only, or a line that would begin below 0
    return cost - slope * size, slope


def _finite(worths: Sequence[float]) -> Sequence[float]:
    """Return worths to reckon with: NaN is worth nothing, infinity more than all that is finite."""
    if sum(worths) <= _MAX_WORTH and min(worths, default=1) >= _MIN_WORTH:  # no sum with NaN is
        return worths
    cut = [max(w, _MIN_WORTH) if w > 0 else 0.0 for w in worths]
    beyond = 1 + sum(min(w, _MAX_WORTH) for w in cut if w < math.inf)
    return [min(w, _MAX_WORTH) if w < math.inf else beyond for w in cut]
