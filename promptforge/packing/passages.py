"""Pack with a query: show of each candidate the passages that answer it, best first."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple, Protocol

from ..reasons import BUDGET
from .in_order import Packer
from .types import Cost, PackingStep, Variant, budget_unit, fits_within

MAX_PASSAGES_RETRIED = 12
"""Passages set aside that are tried again when the page leaves room after all."""
MIN_TOKENS_OF_A_CUT_PASSAGE = 8
"""Fewer tokens of a passage say nothing: a word before a long formula."""


class ChosenPassage(NamedTuple):
    """A passage of an item."""

    item: int
    number: int
    """Its place among the passages of the item, from 0."""


class PassageRoom(NamedTuple):
    """Room for passages."""

    size: float
    beside: float
    """Cost of an item on the page beyond its own: a separator, deeper indentation."""
    unit: int
    """0 for tokens, 1 for characters."""


class PassageSource(Protocol):
    """The passages of the candidates, as packing sees them."""

    of_files: bool
    """True for files of a repository: they have ranks, and 0 is that of one without evidence."""

    def divided(self, walk: Sequence[int]) -> list[int]:
        """Return the items of `walk` that were divided into passages."""

    def choose(
        self, walk: Sequence[int], room: PassageRoom, max_items: int | None
    ) -> tuple[list[ChosenPassage], Iterable[ChosenPassage]]:
        """Return the passages to show within `room`, the best first, and those set aside."""

    def variant(self, index: int, numbers: Collection[int]) -> Variant:
        """Return an item with only these passages of its text."""

    def cost(self, passage: ChosenPassage, unit: int) -> float:
        """Return the tokens (`unit` 0) or characters (1) of a passage."""

    def least(self, passage: ChosenPassage, unit: int) -> float:
        """Return a lower bound of what a passage costs, which is cheap to tell."""

    def may_grow(self, index: int) -> bool:
        """Return True for an item that is shown with its answer, and with more if there is room."""

    def variant_with_beginning(
        self, passage: ChosenPassage, numbers: Collection[int], room: float, unit: int
    ) -> Variant | None:
        """Return an item with these passages and the beginning of one more, if some of it fits."""


def pack_passages(packer: Packer, step: PackingStep, limit: Cost, passages: PassageSource) -> None:
    """Show the passages of a step's items that answer the query, then other items that fit."""
    free = packer.free_places(step)
    max_items = len(step.walk) if free is None else free
    if max_items >= len(step.walk) and packer.show_all(step.walk, limit, step.again):
        return
    divided = passages.divided(step.walk)
    packer.clear(divided, step.again)
    found, duplicate_of = packer.distinct(divided)
    packer.drop_duplicates(duplicate_of)
    packer.cost = packer.page.measure(packer.chosen)
    shown = _ShownPassages(packer, passages, limit, max_items)
    shown.fill(*passages.choose(list(found), shown.measure_room(list(found)), max_items))
    for index, variant in shown.variants().items():
        packer.put(index, variant, shown.cost)
    packer.cost = shown.cost

    def is_left(index: int) -> bool:
        return index not in packer.chosen and index not in packer.duplicate_of

    # Items without room for a passage, or never divided: with a large budget, most of them.
    # take_front() takes them by the sum of costs; a page measured for each is quadratic.
    left = [index for index in step.walk if is_left(index)]
    seen = packer.take_front(left, limit, packer.free_places(step))
    growing = [index for index in step.walk if index in shown.numbers and passages.may_grow(index)]
    rest = left[seen:]
    if passages.of_files and step.ranks:  # a part that says nothing of the query is worth no room
        rest = [index for index in rest if step.ranks[index]]
    packer.take_rest([*growing, *rest], limit, step)
    packer.take_rest(list(filter(is_left, left[seen:])), limit, step._replace(whole=True))
    packer.drop_all({i: packer.reasons.get(i, BUDGET.name) for i in filter(is_left, left)})


class _Waiting:
    """Passages without room, in order; they are worked out as far as they are looked at."""

    def __init__(self, passages: Iterable[ChosenPassage]) -> None:
        self._passages = iter(passages)
        self._known: list[ChosenPassage] = []

    def after(self, place: int) -> Iterator[ChosenPassage]:
        """Yield the passages from a place on."""
        yield from self._known[place:]
        for passage in self._passages:
            self._known.append(passage)
            yield passage


class _ShownPassages:
    def __init__(self, packer: Packer, source: PassageSource, limit: Cost, max_items: int) -> None:
        self.numbers: dict[int, set[int]] = {}
        """Item → numbers of its passages."""
        self.cost: Cost = packer.cost
        self.unit = budget_unit(limit)
        self._packer = packer
        self._source = source
        self._limit = limit
        self._max_items = max_items
        self._partial: dict[int, Variant] = {}

    def measure_room(self, items: Sequence[int]) -> PassageRoom:
        page, unit = self._packer.page, self.unit
        shown: dict[int, Variant] = {}
        own, around = 0.0, [self._packer.cost[unit]]
        # JSON has objects and lists around the first item, and indents all of them.
        for index in items[:2]:
            shown[index] = self._source.variant(index, ())
            own += page.item_cost(index, shown[index])[unit]
            around.append(page.measure({**self._packer.chosen, **shown})[unit] - own)
        first, *more = around[1:] or around
        beside = max(0.0, more[0] - first) if more else 0.0
        return PassageRoom(self._limit[unit] - first, beside, unit)

    def variants(self) -> dict[int, Variant]:
        found = {index: self._source.variant(index, n) for index, n in self.numbers.items()}
        return {**found, **self._partial}

    def fill(self, best: Sequence[ChosenPassage], aside: Iterable[ChosenPassage]) -> None:
        """Show `best` as far as the page has room, then of `aside` as much as still fits."""
        shown = list(best)
        for passage in shown:
            self._include(passage)
        while shown and not self._fits():
            unit = int(self.cost[0] <= self._limit[0])  # tokens or characters may be over
            over = self.cost[unit] - self._limit[unit]
            while shown and over > 0:
                passage = shown.pop()
                over -= max(self._source.cost(passage, unit), 1)
                self.numbers[passage.item].discard(passage.number)
                if not self.numbers[passage.item]:
                    del self.numbers[passage.item]
        if not shown:
            self._fits()
        rest = _Waiting(chain(best[len(shown) :], aside))
        self._add(rest)
        self._cut(rest)

    def _include(self, passage: ChosenPassage) -> None:
        self.numbers.setdefault(passage.item, set()).add(passage.number)

    def _add(self, rest: _Waiting) -> None:
        """Show more passages, as many at once as should fit; halve the batch when they do not."""
        place = failed = 0
        size: int | None = None
        while failed < MAX_PASSAGES_RETRIED:
            first = next(rest.after(place), None)
            if first is None:
                return
            if first.item not in self.numbers and len(self.numbers) >= self._max_items:
                return
            batch = self._first_fitting(islice(rest.after(place), size))
            if batch and self._show(batch):
                place += len(batch)
            elif len(batch) > 1:
                size = len(batch) // 2
            else:
                place, failed, size = place + 1, failed + 1, None

    def _first_fitting(self, passages: Iterable[ChosenPassage]) -> list[ChosenPassage]:
        room = self._room() + 2
        items = set(self.numbers)
        batch: list[ChosenPassage] = []
        for passage in passages:
            if self._source.least(passage, self.unit) > room:
                break
            room -= self._source.cost(passage, self.unit)
            items.add(passage.item)
            shown = passage.number in self.numbers.get(passage.item, ())
            if room < 0 or len(items) > self._max_items or shown:
                break
            batch.append(passage)
        return batch

    def _show(self, passages: Iterable[ChosenPassage]) -> bool:
        cost, numbers = self.cost, self.numbers
        self.numbers = {item: set(shown) for item, shown in numbers.items()}
        for passage in passages:
            self._include(passage)
        if self._fits():
            return True
        self.numbers, self.cost = numbers, cost
        return False

    def _fits(self) -> bool:
        self.cost = self._packer.page.measure({**self._packer.chosen, **self.variants()})
        return fits_within(self.cost, self._limit)

    def _room(self) -> float:
        return self._limit[self.unit] - self.cost[self.unit]

    def _cut(self, rest: _Waiting) -> None:
        """Show the beginning of one more passage of an item that is shown already."""
        before, tried = self.cost, 0
        if self._room() < MIN_TOKENS_OF_A_CUT_PASSAGE:
            return
        for passage in rest.after(0):
            shown = self.numbers.get(passage.item)
            if shown is None or passage.number in shown:
                continue
            if tried == MAX_PASSAGES_RETRIED:
                return
            tried += 1
            # The seam to the text before it may cost a token or two: try again with less room.
            for room in (self._room(), self._room() - 3):
                variant = self._source.variant_with_beginning(passage, shown, room, self.unit)
                if variant is None:
                    break
                self._partial = {passage.item: variant}
                if self._fits():
                    return
                self.cost = before
            self._partial = {}
