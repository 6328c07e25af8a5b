"""With a query: of every candidate the pieces that answer it, as many as there is room for."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from .in_order import Packer
from .types import Cost, PackingStep, Variant, budget_unit, fits_within, subtract_costs

MAX_PASSAGES_RETRIED = 12
"""Pieces put aside that are tried again when the page leaves room after all."""

MIN_TOKENS_TO_CUT_A_PASSAGE = 8
"""Tokens left for which it is worth cutting one more piece."""


class ChosenPassage(NamedTuple):
    """A piece of an item."""

    item: int
    piece: int


class PassageSource(Protocol):
    """What is known of the pieces of the candidates."""

    def among(self, walk: Sequence[int]) -> list[int]:
        """Return those of `walk` that were read closely."""
        ...

    def choose(
        self, walk: Sequence[int], room: float, unit: int, most: int | None
    ) -> tuple[list[ChosenPassage], list[ChosenPassage]]:
        """Return the pieces to show within `room`, the likeliest to answer first, and those that were put aside."""
        ...

    def form(self, index: int, pieces: Collection[int]) -> Variant:
        """Return an item with only these pieces of its text."""
        ...

    def cost(self, pick: ChosenPassage, unit: int) -> float:
        """Return the tokens (`unit` 0) or characters (1) of a piece."""
        ...

    def part(
        self, pick: ChosenPassage, pieces: Collection[int], room: float, unit: int
    ) -> Variant | None:
        """Return an item with these pieces and as much of one more as has room; `None`: nothing of it has."""
        ...


def pack_passages(packer: Packer, part: PackingStep, limit: Cost, extracts: PassageSource) -> None:
    """Show the pieces of a part that answer the query."""
    places = packer.places(part)
    most = len(part.walk) if places is None else places
    if most >= len(part.walk) and packer.show_all(part.walk, limit, part.again):
        return
    found, twins = packer.distinct(extracts.among(part.walk), part.again)
    packer.drop_twins(twins)
    packer.cost = packer.scale.measure(packer.chosen)
    unit = budget_unit(limit)
    sheet = _Sheet(packer, extracts, limit, unit)
    picks, aside = extracts.choose(
        list(found), subtract_costs(limit, packer.cost)[unit], unit, most
    )
    sheet.fill(picks, aside, most)
    for index, form in sheet.forms().items():
        packer.put(index, form, sheet.cost)
    packer.cost = sheet.cost
    left = [
        index for index in part.walk if index not in packer.chosen and index not in packer.twins
    ]
    # What no passage has room for, or nobody read closely. With a large budget that is most items: those that fit by
    # the sum of their costs are taken in one go, since a page measured for each takes time by the square.
    seen = packer.take_front(left, limit, packer.places(part))
    packer.take_rest(left[seen:], limit, part)
    for index in left:
        if index not in packer.chosen and index not in packer.twins:
            packer.drop(index, packer.reasons.get(index, "budget"))


class _Sheet:
    """The pieces that are shown."""

    def __init__(self, packer: Packer, extracts: PassageSource, limit: Cost, unit: int) -> None:
        self.kept: dict[int, set[int]] = {}
        self._packer = packer
        self._extracts = extracts
        self._limit = limit
        self._unit = unit
        self._partial: dict[int, Variant] = {}
        self.cost: Cost = packer.cost

    def forms(self) -> dict[int, Variant]:
        """Return the items that are shown, each with its pieces."""
        found = {index: self._extracts.form(index, pieces) for index, pieces in self.kept.items()}
        return {**found, **self._partial}

    def fill(
        self, picks: Sequence[ChosenPassage], aside: Sequence[ChosenPassage], most: int
    ) -> None:
        """Show `picks` as far as the page has room; then of those put aside what fits into what is left."""
        shown = list(picks)
        for pick in shown:
            self.kept.setdefault(pick.item, set()).add(pick.piece)
        gone: list[ChosenPassage] = []
        while shown and not self._measured():
            unit = 0 if self.cost[0] > self._limit[0] else 1  # either may be what is too much
            over = self.cost[unit] - self._limit[unit]
            while shown and over > 0:
                pick = shown.pop()
                gone.append(pick)
                over -= max(self._extracts.cost(pick, unit), 1)
                self.kept[pick.item].discard(pick.piece)
                if not self.kept[pick.item]:
                    del self.kept[pick.item]
        if not shown:
            self._measured()
        rest = [*reversed(gone), *aside]
        self._add(deque(rest), most)
        self._cut(rest)

    def _add(self, rest: deque[ChosenPassage], most: int) -> None:
        """Show what fits into what is left, as many pieces at a time as there should be room for."""
        failed, size = 0, len(rest)
        while (
            rest
            and failed < MAX_PASSAGES_RETRIED
            and (rest[0].item in self.kept or len(self.kept) < most)
        ):
            batch = self._first(rest, size, most)
            if batch and self._shown(batch):
                for _ in batch:
                    rest.popleft()
            elif len(batch) > 1:
                size = len(batch) // 2
            else:
                rest.popleft()
                failed, size = failed + 1, len(rest)

    def _first(self, rest: Iterable[ChosenPassage], size: int, most: int) -> list[ChosenPassage]:
        """Return so many of the first of `rest` as there should be room for, `size` at the most."""
        room = self._left() + 2
        items = set(self.kept)
        batch: list[ChosenPassage] = []
        for pick in islice(rest, size):
            room -= self._extracts.cost(pick, self._unit)
            items.add(pick.item)
            if room < 0 or len(items) > most or pick.piece in self.kept.get(pick.item, ()):
                break
            batch.append(pick)
        return batch

    def _shown(self, picks: Iterable[ChosenPassage]) -> bool:
        """Show these too if all of them fit together."""
        before, kept = self.cost, self.kept
        self.kept = {item: set(pieces) for item, pieces in kept.items()}
        for pick in picks:
            self.kept.setdefault(pick.item, set()).add(pick.piece)
        if self._measured():
            return True
        self.kept, self.cost = kept, before
        return False

    def _measured(self) -> bool:
        self.cost = self._packer.scale.measure({**self._packer.chosen, **self.forms()})
        return fits_within(self.cost, self._limit)

    def _left(self) -> float:
        return self._limit[self._unit] - self.cost[self._unit]

    def _cut(self, picks: Sequence[ChosenPassage]) -> None:
        """Show the beginning of one more piece of an item that is shown already."""
        for pick in picks:
            pieces = self.kept.get(pick.item)
            if pieces is None or pick.piece in pieces or self._left() < MIN_TOKENS_TO_CUT_A_PASSAGE:
                continue
            before = self.cost
            for spare in (self._left(), self._left() - 3):
                form = self._extracts.part(pick, pieces, spare, self._unit)
                if form is None:
                    break
                self._partial = {pick.item: form}
                if self._measured():
                    return
            self._partial, self.cost = {}, before
            return
