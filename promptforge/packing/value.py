"""`packing: value`: the items that are together worth most, by worth per token.

`choose_rows` is arithmetic over rows. A row is one variant of one item: it has a worth, a size in
bytes that is cheap to know, and a cost that takes a rendering and a count to know.
`pack_most_worth` applies it to a page, where costs only roughly add up, and fills the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from ..reasons import BUDGET, MAX_ITEMS, SECTION_BUDGET
from .in_order import ITEMS_LOOKED_AT, Packer
from .types import (
    UNLIMITED,
    Cost,
    PackingStep,
    Variant,
    budget_unit,
    fits_within,
    sort_best_first,
    subtract_costs,
)

VARIANT_WORTH = {"expanded": 1.1, "content": 1.0, "outline": 0.5, "summary": 0.3, "stub": 0.05}
"""Share of its score that an item is worth in a variant.

A summary of a tenth of the tokens for 0.3 of the worth brings three times as much per token: where
there is room for little, more items are seen. A content still takes the place of a summary before
an item a third as good is shown at all. Were a summary worth more, pages of summaries alone would
win, and answers stand in contents.
"""
MAX_CHOICES = 4
"""Choices made for one page, each with what the page before has taught."""
FIRST_ROWS, ROWS_GROWTH = 32, 1.3
"""Rows read at first, the most worth by their sizes; then so many times as many, and so on."""
ROOM_READ, LARGEST_SHARE = 1.25, 1 / 8
"""Rows are read until they cost so many times the limit, none counted with more than this share."""
OVERHEAD_BYTES = 64
"""Bytes of an item's template, roughly: only the order in which rows are read needs them."""
MIN_COST = 1e-9
MAX_WORTH = 1e290
"""Worths are cut to this, so that sums of them stay finite."""


def pack_most_worth(packer: Packer, step: PackingStep, limit: Cost) -> PackingStep:
    """Show the items of a step that are together worth most, then fill the rest of the room.

    Returns the step with its items by the most worth per token.
    """
    walk = packer.unsettled(step.walk)
    places = packer.free_places(step)
    # Where everything fits there is nothing to choose, and no cost of a row is asked for.
    if (places is None or places >= len(walk)) and packer.show_all(walk, limit):
        return step
    packer.cost = packer.page.measure(packer.chosen)
    rows = _PageRows(packer, walk, step.ranks, limit)
    rows.show(rows.choose(places))
    rates = rows.rates(max(step.walk, default=-1) + 1)
    # Of all of the step: what is chosen already may have the highest index, and be joined later.
    step = step._replace(walk=sort_best_first(step.walk, rates), ranks=[0.0] * len(rates))
    left = sort_best_first(packer.unsettled(walk), rates)
    # Shortened, any of 100,000 might fit: so all are tried whole first, and few then are shortened.
    packer.take_rest(left, limit, step._replace(whole=True))
    _shorten_some(packer, left, limit, step)
    if packer.free_places(step) == 0:
        for index in packer.unsettled(walk):
            packer.reasons.setdefault(index, MAX_ITEMS.name)
    return step


def _shorten_some(packer: Packer, walk: Sequence[int], limit: Cost, step: PackingStep) -> None:
    left = (i for i in walk if i not in packer.chosen and i not in packer.duplicate_of)
    packer.take_rest([*islice(left, ITEMS_LOOKED_AT)], limit, step)


class _PageRows:
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
        self._worths = [
            (rank - base) * VARIANT_WORTH.get(name, 1.0)
            for rank, name in zip(ranked, self._names, strict=True)
        ]
        self._costs: dict[int, float] = {}

    def _variant(self, row: int) -> Variant:
        name = self._names[row]
        return next(v for v in self._page.variants(self._items[row]) if v.name == name)

    def choose(self, places: int | None) -> dict[int, Variant]:
        """Return items in variants that fit on the page together, the best rate first."""
        # What an item costs on the page beyond its own text (a separator, the heading of its
        # section) is learned from the page before.
        between, variants = 0.0, dict[int, Variant]()
        for _ in range(MAX_CHOICES):
            chosen = self._choose(between, places)
            variants = {self._items[row]: self._variant(row) for row in chosen}
            held = self._packer.contained(variants)
            if held:  # others have their room
                for row, index in enumerate(self._items):
                    if index in held:
                        self._worths[row] = 0.0
                continue
            cost = self._page.measure({**self._packer.chosen, **variants})
            if not chosen or fits_within(cost, self._limit):
                break
            between += max(self._in_unit(subtract_costs(cost, self._limit)), 1) / len(chosen)
        return variants

    def _choose(self, between: float, places: int | None) -> list[int]:
        room = self._room[self._unit]
        rows = Rows(self._worths, self._sizes, self._items, lambda row: self._cost(row) + between)
        best = choose_rows(rows, room)
        if places is None or len(best) <= places:
            return best
        # Short places make worth count more than its rate: fewer items are looked at.
        best, count = best[:places], places
        by_worth = sort_best_first(range(len(self._worths)), self._worths)
        while 0 < count < len(by_worth):
            worths = [0.0] * len(by_worth)
            for row in by_worth[:count]:
                worths[row] = self._worths[row]
            found = choose_rows(rows._replace(worths=worths), room)[:places]
            best = max(best, found, key=lambda some: sum(self._worths[row] for row in some))
            count *= 2
        return best

    def _cost(self, row: int) -> float:
        if row not in self._costs:
            index, variant = self._items[row], self._variant(row)
            cost = self._room[self._unit] + 1
            if self._page.may_fit(index, variant, self._room):
                cost = self._in_unit(self._page.item_cost(index, variant))
            self._costs[row] = cost
        return self._costs[row]

    def _in_unit(self, cost: Cost) -> float:
        """Return a cost as one number: under both limits in tokens, by the one it takes more of."""
        if UNLIMITED in self._limit or self._room[1] <= 0:
            return cost[self._unit]
        return max(cost[0], cost[1] * self._room[0] / self._room[1])

    def show(self, variants: Mapping[int, Variant]) -> None:
        """Show these items but duplicates; while the page is over, the last one goes."""
        packer = self._packer
        for index, variant in variants.items():
            holder, held = self._page.duplicates(index, packer.chosen)
            if self._page.item_cost(index, variant)[0] > packer.allowance(index):
                packer.drop_all({index: SECTION_BUDGET.name})
            elif holder is not None:
                packer.drop_duplicate(index, holder)
            else:
                packer.drop_duplicates(dict.fromkeys(held, index))
                packer.put(index, variant, packer.cost)
        shown = [index for index in variants if index in packer.chosen]
        packer.cost = self._page.measure(packer.chosen)
        while shown and not fits_within(packer.cost, self._limit):
            packer.drop_all({shown.pop(): BUDGET.name})  # a shorter variant may still fit
            packer.cost = self._page.measure(packer.chosen)

    def rates(self, count: int) -> list[float]:
        """Return the worth per token of each of `count` items, of unread ones by their sizes."""
        room, rates = self._room[self._unit], [-UNLIMITED] * count
        known = {row: cost for row, cost in self._costs.items() if cost <= room}
        scale = sum(known.values()) / (sum(map(self._size, known)) or 1)
        for row, index in enumerate(self._items):
            cost = known.get(row, self._size(row) * scale)
            rates[index] = max(rates[index], self._worths[row] / max(cost, MIN_COST))
        return rates

    def _size(self, row: int) -> int:
        return self._sizes[row] + OVERHEAD_BYTES


class Rows(NamedTuple):
    """Rows to choose from, as parallel sequences."""

    worths: Sequence[float]
    """One of 0 or less, or NaN, is never chosen."""
    sizes: Sequence[int]
    owners: Sequence[int]
    """Rows of one owner exclude one another."""
    cost: Callable[[int], float]


class _Step(NamedTuple):
    rate: float
    """Worth that it adds for each unit of cost."""
    row: int
    below: int | None
    added: float


def choose_rows(rows: Rows, limit: float) -> list[int]:
    """Return the rows that are worth most together for costs of at most `limit` in all.

    The best rate comes first, and of equal ones the first given. Costs of few rows are asked for.

    A higher limit never brings less worth. Of steps in one order, each taken where it has room, the
    first that a lower limit refuses is worth more than all that could follow in its room. The sets
    of rows that are tried are nested, and a higher limit tries all that a lower one tries.

    >>> choose_rows(Rows([1, 9, 5], [40, 40, 40], [0, 1, 2], lambda row: 10), 20)
    [1, 2]
    """
    worths = [min(worth, MAX_WORTH) if worth > 0 else 0.0 for worth in rows.worths]
    rates = [w / (size + OVERHEAD_BYTES) for w, size in zip(worths, rows.sizes, strict=True)]
    order = sort_best_first(range(len(worths)), rates)
    rows, read, steps = rows._replace(worths=worths), dict[int, list[int]](), list[_Step]()
    best, most, spent, single = list[int](), 0.0, 0.0, list[int]()
    place, count = 0, FIRST_ROWS
    while place < len(order) and spent <= ROOM_READ * limit:
        for row in order[place:count]:
            steps += _steps_with(row, read.setdefault(rows.owners[row], []), rows)
            read[rows.owners[row]].append(row)
            cost = rows.cost(row)
            spent += min(cost, max(LARGEST_SHARE * limit, 1))
            if cost <= limit and worths[row] > sum(worths[each] for each in single):
                single = [row]
        steps.sort(key=lambda step: step.rate, reverse=True)
        # One of much worth may have no room beside many that are worth a little more a token.
        tried = [_take(steps, rows.owners, limit), single]
        if not place:  # so few are also tried without each of them in turn
            tried += (_take(steps, rows.owners, limit, row) for row in order[:count])
        for found in tried:
            worth = sum(worths[row] for row in found)
            if worth > most:
                best, most = found, worth
        place, count = count, int(count * ROWS_GROWTH)
    return best


def _steps_with(row: int, others: Sequence[int], rows: Rows) -> Iterator[_Step]:
    """Yield the steps to a row from none, and between it and others of its owner."""
    cost, worth = rows.cost(row), rows.worths[row]
    if worth > 0:
        yield _Step(worth / max(cost, MIN_COST), row, None, cost)
    for other in others:
        below, above = sorted((other, row), key=rows.cost)
        added, more = rows.cost(above) - rows.cost(below), rows.worths[above] - rows.worths[below]
        if more > 0:
            yield _Step(more / max(added, MIN_COST), above, below, added)


def _take(
    steps: Sequence[_Step], owners: Sequence[int], limit: float, without: int | None = None
) -> list[int]:
    """Return the rows of the steps that have room, each tried once in order; but for one row."""
    taken: dict[int, int] = {}
    for _, row, below, added in steps:
        if added <= limit and taken.get(owners[row]) == below and row != without:
            taken[owners[row]] = row
            limit -= added
    return [*taken.values()]
