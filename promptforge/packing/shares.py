"""Shorten a set of items to one common share, or to one common length."""

from __future__ import annotations

from collections.abc import Mapping

from .in_order import Packer
from .types import (
    CHARACTERS_PER_TOKEN,
    UNLIMITED,
    ZERO_COST,
    Cost,
    Variant,
    add_costs,
    budget_unit,
    content_variant,
    fits_within,
    subtract_costs,
)

MAX_PAGES_TRIED = 8
"""Pages measured at most to find the common share."""
CLOSE_ENOUGH_TOKENS = 8
"""Tokens (or characters) left over that are not worth another try."""
CLOSE_ENOUGH_SHARE = 0.002
"""Share of a large budget that is not worth another common share."""
MAX_LENGTHENED_IN_VAIN = 4
"""Items without a longer variant for what is left over, after which no other is tried."""
ITEMS_SAMPLED = 32
"""Items that tell what a share costs, before all are shortened to it."""
MAX_SHARE_OFF = 0.06
"""If the room is missed by more than this part, all items get another share."""
MAX_STEP = 4.0
"""Times that the common share grows or shrinks from one try to the next, at the most."""


class Shares:
    """Items shortened to one common share, none below its least variant, and what that costs.

    Costs of items guide, and few items change from one page to the next: the measure decides.
    """

    def __init__(
        self, packer: Packer, least: Mapping[int, Variant], limit: Cost, longest_first: bool
    ) -> None:
        self._packer, self._page, self._limit = packer, packer.page, limit
        self._walk, self._least = [*least], least
        self._contents = {i: content_variant(self._page.variants(i)) for i in least}
        self._sizes = {i: len(content.text) for i, content in self._contents.items()}
        self._longest = 0
        if longest_first:
            self._longest = max(self._sizes.values(), default=0)
        self._unit = budget_unit(limit)
        self._enough = max(CLOSE_ENOUGH_TOKENS, CLOSE_ENOUGH_SHARE * limit[self._unit])
        self._bare = self._measure(least)
        self._room = subtract_costs(limit, self._bare)

    def find(self) -> Mapping[int, Variant]:
        """Return variants of one share that leave next to no room."""
        best = {**self._least}
        if min(self._room) < 0 or self.leaves_little(self._bare) or not self._walk:
            return best
        share = self._guess()
        shown = {i: self._shortened(i, share) for i in self._walk}
        for tries in range(MAX_PAGES_TRIED):
            cost = self._measure(shown)
            left = subtract_costs(self._limit, cost)
            fits = fits_within(cost, self._limit)
            if fits:
                best = dict(shown)
                if self.leaves_little(cost):
                    break
            step = self._step(subtract_costs(cost, self._bare))
            # Far off, all items are shortened anew; near by a few do, the first or the last ones.
            if abs(step - 1) > MAX_SHARE_OFF and tries < MAX_PAGES_TRIED // 2:
                share = min(share * step, 1.0)
                shown = {i: self._shortened(i, share) for i in self._walk}
                continue
            # Further than that, so that not each item has to change.
            step = max(step, 1 + MAX_SHARE_OFF) if fits else min(step, 1 - MAX_SHARE_OFF)
            share = min(share * step, 1.0)
            if not self._change(shown, share, left) and fits:
                break
        return best

    def leaves_little(self, cost: Cost) -> bool:
        """Return True if a page of this cost has no room for a larger share."""
        return subtract_costs(self._limit, cost)[self._unit] <= self._enough

    def _measure(self, shown: Mapping[int, Variant]) -> Cost:
        return self._page.measure({**self._packer.chosen, **shown})

    def _kept(self, index: int, share: float) -> float:
        if self._longest:
            return min(self._sizes[index], share * self._longest)
        return share * self._sizes[index]

    def _shortened(self, index: int, share: float) -> Variant:
        """Return an item with a share of its content; with all of it where that costs no more."""
        content, kept = self._contents[index], self._kept(index, share)
        if kept >= self._sizes[index]:
            return content
        found = self._page.shortener.longest_within(index, UNLIMITED, kept)
        least = self._least[index]
        if found is None or len(found.text) < len(least.text):
            found = least
        cost = self._page.item_cost(index, found)
        may_fit = self._page.may_fit(index, content, cost)
        if may_fit and self._page.item_cost(index, content)[self._unit] <= cost[self._unit]:
            return content
        return found

    def _guess(self) -> float:
        """Return the share that has room by characters, put right by the cost of some items."""
        room = min(CHARACTERS_PER_TOKEN * self._room[0], self._room[1])
        share = self._share_of(room)
        if len(self._walk) <= 2 * ITEMS_SAMPLED:
            return share
        by_size = sorted(self._walk, key=self._sizes.__getitem__)
        sample = by_size[:: len(self._walk) // ITEMS_SAMPLED]
        # The first round is by characters alone, and Chinese takes far more tokens for as many: the
        # second round starts from what the first has learnt.
        for _ in range(2):
            cost = ZERO_COST
            for index in sample:
                cost = add_costs(cost, self._page.item_cost(index, self._shortened(index, share)))
                cost = subtract_costs(cost, self._page.item_cost(index, self._least[index]))
            kept = sum(self._kept(index, share) for index in sample) or 1.0
            part = sum(self._kept(index, share) for index in self._walk) / kept
            share = min(share * self._step((part * cost[0], part * cost[1])), 1.0)
        return share

    def _share_of(self, room: float) -> float:
        if not self._longest:
            return min(room / (sum(self._sizes.values()) or 1), 1.0)
        sizes = sorted(self._sizes.values())
        for place, size in enumerate(sizes):
            level = room / (len(sizes) - place)
            if level < size:  # it is cut, and so are all that are longer
                return level / self._longest
            room -= size
        return 1.0

    def _step(self, used: Cost) -> float:
        """Return the factor by which what is `used` beyond the attributions should grow."""
        factors = [room / cost for room, cost in zip(self._room, used, strict=True) if cost > 0]
        return min(max(min(factors, default=MAX_STEP), 1 / MAX_STEP), MAX_STEP)

    def _change(self, shown: dict[int, Variant], share: float, left: Cost) -> bool:
        """Bring items to another share, until no room is left, or as much as is missing.

        From the first on they become longer, from the last on shorter.
        """
        longer, changed = min(left) >= 0, False
        for index in self._walk if longer else reversed(self._walk):
            variant = self._shortened(index, share)
            added = subtract_costs(
                self._page.item_cost(index, variant), self._page.item_cost(index, shown[index])
            )
            if longer and not (added[self._unit] > 0 and fits_within(added, left)):
                continue
            if not longer and min(added) >= 0:
                continue
            shown[index], left, changed = variant, subtract_costs(left, added), True
            if min(left) >= 0 and (not longer or left[self._unit] <= self._enough):
                break
        return changed
