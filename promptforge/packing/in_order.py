"""The page that is being filled: what is on it, what it costs, and why anything is not on it.

Best first: take what fits whole, shorten what does not, go on to smaller ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from .types import (
    SHORTENED_VARIANTS,
    STUB_VARIANT,
    UNLIMITED,
    ZERO_COST,
    Cost,
    PackablePage,
    PackingStep,
    SectionLimits,
    Variant,
    add_costs,
    content_variant,
    fits_within,
    over_budget_error,
    subtract_costs,
)


class Board:
    """The items that are shown. Prices of items roughly add up, so they guide; the measure of the page decides."""

    def __init__(self, scale: PackablePage, limit: Cost, quotas: SectionLimits) -> None:
        self.scale = scale
        self.limit = limit
        self.chosen: dict[int, Variant] = {}
        self.reasons: dict[int, str] = {}
        self.twins: dict[int, int] = {}
        self.cost: Cost = ZERO_COST
        self._quotas = quotas
        self._spent = dict.fromkeys(quotas.most, 0.0)

    def put(self, index: int, form: Variant, cost: Cost) -> None:
        """Show an item in a form; the page then costs `cost`."""
        self.remove(index)
        self.chosen[index], self.cost = form, cost
        self.reasons.pop(index, None)
        self._charge(index, form, 1)

    def remove(self, index: int) -> None:
        """Show an item no more. What the page costs then is not known."""
        form = self.chosen.pop(index, None)
        if form is not None:
            self._charge(index, form, -1)

    def drop(self, index: int, reason: str) -> None:
        """Say why an item is not shown, and with it those whose text it held."""
        self.remove(index)
        self.reasons[index] = reason
        for twin in [t for t, holder in self.twins.items() if holder == index]:
            del self.twins[twin]
            self.reasons[twin] = reason

    def drop_twin(self, index: int, holder: int) -> None:
        """Leave out an item whose text is in that of another."""
        self.remove(index)
        self.reasons[index] = "duplicate"
        self.twins |= dict.fromkeys([t for t, h in self.twins.items() if h == index], holder)
        self.twins[index] = holder

    def drop_twins(self, twins: Mapping[int, int]) -> None:
        """Leave out items whose text is in that of others, each with its holder."""
        for index, holder in twins.items():
            self.drop_twin(index, holder)

    def _charge(self, index: int, form: Variant, sign: int) -> None:
        section = self._quotas.section.get(index)
        if section is not None:
            self._spent[section] += sign * self.scale.price(index, form)[0]

    def allowance(self, index: int) -> float:
        """Return the tokens that an item may cost, by what its section has left."""
        section = self._quotas.section.get(index)
        if section is None:
            return UNLIMITED
        form = self.chosen.get(index)
        own = self.scale.price(index, form)[0] if form is not None else 0
        return self._quotas.most[section] - self._spent[section] + own

    def places(self, part: PackingStep) -> int | None:
        """Return how many more of a part may be shown; `None`: all. What may be shown anew takes no place."""
        if part.most is None or part.again:
            return part.most
        return max(0, part.most - sum(index in self.chosen for index in part.walk))

    # --- many at once -----------------------------------------------------------------------------------------------

    def distinct(
        self, walk: Sequence[int], again: bool = False
    ) -> tuple[dict[int, Variant], dict[int, int]]:
        """Return the longest forms of `walk` without duplicates, and these with the holder of their text.

        What an earlier part showed of `walk` stays as it is and is not among them; with `again` it is shown no more.
        """
        before = [i for i in walk if i in self.chosen]
        if not again:
            walk = [i for i in walk if i not in self.chosen] if before else walk
        for index in before if again else ():
            self.remove(index)
        if before or not self.chosen:
            self.cost = self.scale.measure(self.chosen)
        beside = dict(self.chosen)
        found: dict[int, Variant] = {}
        twins: dict[int, int] = {}
        for index in walk:
            if index in self.twins:
                continue
            holder, held = self.scale.twins(index, beside)
            if holder is not None:
                twins[index] = holder
                continue
            for other in held:
                if found.pop(other, None) is not None:
                    del beside[other]
                    twins[other] = index
            found[index] = beside[index] = self.scale.forms(index)[0]
        return found, twins

    def reach(self, forms: Iterable[tuple[int, Variant]], limit: Cost) -> int:
        """Return how many of these, from the first, may have room together by what they cost at the least."""
        scale, room, count = self.scale, subtract_costs(limit, self.cost), 0
        for index, form in forms:
            if not scale.may_fit(index, form, add_costs(room, (scale.joint, 0))):
                break
            room = add_costs(subtract_costs(room, scale.price(index, form)), (scale.joint, 0))
            if room[0] < 0 or room[1] < 0:
                break
            count += 1
        return count

    def show(self, forms: Mapping[int, Variant], limit: Cost) -> bool:
        """Show all of these if they fit, and their sections may take so much."""
        if self._quotas.most and not self._allowed(forms):
            return False
        cost = self.scale.measure({**self.chosen, **forms})
        if not fits_within(cost, limit):
            return False
        for index, form in forms.items():
            self.put(index, form, cost)
        return True

    def _allowed(self, forms: Mapping[int, Variant]) -> bool:
        spent = dict(self._spent)
        for index, form in forms.items():
            section = self._quotas.section.get(index)
            if section is not None and index not in self.chosen:
                spent[section] += self.scale.price(index, form)[0]
        return all(spent[section] <= most for section, most in self._quotas.most.items())

    def show_all(self, walk: Sequence[int], limit: Cost, again: bool = False) -> bool:
        """Show all of these whole if they fit, without duplicates."""
        forms = self.scale.forms
        wanted = [i for i in walk if i not in self.twins and (again or i not in self.chosen)]
        if all(self.chosen.get(i) == forms(i)[0] for i in wanted):
            return True
        room = limit
        for index in self.chosen.keys() & wanted:  # what they cost now they may cost anew
            room = add_costs(room, self.scale.price(index, self.chosen[index]))
        if self.reach(((i, forms(i)[0]) for i in wanted), room) < len(wanted):
            return False
        found, twins = self.distinct(walk, again)
        shown = self.show(found, limit)
        if shown:
            self.drop_twins(twins)
        return shown


MAX_FAILED_PAGES = 32
"""Pages measured in vain before an item that costs no less than one that failed is not tried any more."""

ITEMS_LOOKED_AT = 64
"""Items that are looked at in one go when what fits easily is on the page; then twice as many, and so on."""

NO_SECTION_LIMITS = SectionLimits({}, {})
"""No section has a maximum."""


class Packer(Board):
    """A page that takes items one by one."""

    def __init__(
        self,
        scale: PackablePage,
        limit: Cost,
        *,
        shorten: bool = True,
        step_down: bool = True,
        first_only: bool = False,
        quotas: SectionLimits = NO_SECTION_LIMITS,
    ) -> None:
        """Of what does not fit whole: `shorten` cuts it, `step_down` tries its summary, `first_only` ends with it."""
        super().__init__(scale, limit, quotas)
        self.shorten = shorten
        self.step_down = step_down
        self.first_only = first_only
        self.stopped = False
        # Pages measured in vain since an item was taken, and the least price among them; forms sought in vain.
        self._tries = 0
        self._failed_price: float = 0
        self._misses = 0

    def goal(self, part: PackingStep) -> Cost:
        """Return what the page may cost when a part is done, asked before it is begun."""
        limit = self.limit
        if part.room is not None and not self.chosen:
            self.cost = self.scale.measure({})
        if part.share < 1:
            limit = (_share(limit[0], part.share), _share(limit[1], part.share))
        if part.room is not None:
            limit = (min(limit[0], self.cost[0] + part.room), limit[1])
        return limit

    def require(self, walk: Sequence[int]) -> None:
        """Show all of these whole; raises `BudgetError`."""
        for index in walk:
            self.put(index, content_variant(self.scale.forms(index)), self.cost)
        if walk:
            self.cost = self.scale.measure(self.chosen)
        if walk and not fits_within(self.cost, self.limit):
            raise over_budget_error(
                "the required items need", self.cost, self.limit, "raise it or require less"
            )

    def pack(self, part: PackingStep, limit: Cost) -> None:
        """Take what fits of a part."""
        walk = part.walk
        if self.chosen or self.twins:
            walk = [i for i in walk if i not in self.twins and self._may_grow(i)]
        for index in self.reasons.keys() & walk if self.reasons else ():  # of an earlier part
            del self.reasons[index]
        self._misses = 0
        seen = self.take_front(walk, limit, self.places(part))
        self.take_rest(walk[seen:], limit, part)

    def _may_grow(self, index: int) -> bool:
        form = self.chosen.get(index)
        return form is None or form.name in SHORTENED_VARIANTS

    def take_front(self, walk: Sequence[int], limit: Cost, most: int | None) -> int:
        """Take items from the front of `walk` while the sum of prices says that they fit; return how many were seen."""
        scale, spent = self.scale, self.cost
        scale.prepare(walk if most is None else walk[:most], subtract_costs(limit, spent))
        prices: dict[int, Cost] = {}
        seen = 0
        for index in walk if not self.stopped else ():
            form = scale.forms(index)[0]
            room = subtract_costs(limit, spent)
            if index in self.chosen or (most is not None and len(prices) >= most):
                break
            if not scale.may_fit(index, form, room):
                break
            price = scale.price(index, form)
            if not fits_within(price, room) or price[0] > self.allowance(index):
                break
            seen += 1
            holder, held = scale.twins(index, self.chosen)
            if holder is not None:
                self.drop_twin(index, holder)
                continue
            if any(other not in prices for other in held):  # chosen with an earlier part: it stays
                held = ()
            for other in held:
                self.drop_twin(other, index)
                spent = subtract_costs(spent, prices.pop(other))
            spent = add_costs(spent, price)
            prices[index] = price
            self.put(index, form, self.cost)
        while prices:
            cost = scale.measure(self.chosen)
            if fits_within(cost, limit):
                self.cost = cost
                break
            while prices and not fits_within(
                cost, limit
            ):  # separators and headings were not in the sum
                index, price = prices.popitem()
                cost = subtract_costs(cost, price)
                seen = walk.index(index)
                self.remove(index)
                for twin in [t for t, holder in self.twins.items() if holder == index]:
                    del self.twins[twin], self.reasons[twin]
                    seen = min(seen, walk.index(twin))
        return seen

    def take_rest(self, walk: Sequence[int], limit: Cost, part: PackingStep) -> None:
        """Take what fits whole, rank by rank; of each rank, shorten then what was too large."""
        places = self.places(part)
        queue: deque[int] = deque()
        waiting: deque[int] = deque()
        room, ahead, stride = self.cost, 0, ITEMS_LOOKED_AT
        while True:
            while not queue and ahead < len(
                walk
            ):  # no more is looked at than there may be room for
                queue.extend(self._able(walk[ahead : ahead + stride], limit))
                ahead, stride = ahead + stride, 2 * stride
            if not queue and not waiting:
                return
            if self.stopped or (places is not None and places <= 0):
                if not self.stopped:
                    left = (i for i in chain(waiting, queue, walk[ahead:]) if i not in self.chosen)
                    self.reasons.update(dict.fromkeys(left, "max_items"))
                return
            whole = bool(queue) and (not waiting or part.level(queue[0]) == part.level(waiting[0]))
            index = queue.popleft() if whole else waiting.popleft()
            new = index not in self.chosen
            if self._take(index, limit) if whole else self._take_less(index, limit):
                places = places - new if places is not None else None
                self._misses = 0
            elif index not in self.twins:
                self._fail(index, new)
                if whole and self.step_down:
                    waiting.append(index)
                self._misses += not whole
            # The first failure shows what else must fail, and so does each further taking away of room.
            if (not whole and self._misses in (1, MAX_FAILED_PAGES)) or self._halved(room, limit):
                room = self.cost
                queue, waiting = deque(self._able(queue, limit)), deque(self._able(waiting, limit))

    def _halved(self, before: Cost, limit: Cost) -> bool:
        return self.cost != before and any(
            2 * a < b
            for a, b in zip(
                subtract_costs(limit, self.cost), subtract_costs(limit, before), strict=True
            )
        )

    def _fail(self, index: int, new: bool) -> None:
        if new:
            if self._over_quota(index):
                self.reasons[index] = "section_budget"
            self.stopped = self.first_only

    def _over_quota(self, index: int) -> bool:
        """Return whether an item would be too much for its section in any form."""
        most, form = self.allowance(index), self.scale.forms(index)[-1]
        if most == UNLIMITED:
            return False
        return (
            not self.scale.may_fit(index, form, (most, UNLIMITED))
            or self.scale.price(index, form)[0] > most
        )

    def _able(self, indices: Sequence[int], limit: Cost) -> Sequence[int]:
        if self.first_only or not indices:
            return indices
        return self.scale.able(
            indices,
            subtract_costs(limit, self.cost),
            self.shorten and self._misses < MAX_FAILED_PAGES,
        )

    def _take(self, index: int, limit: Cost) -> bool:
        """Take an item whole."""
        holder, held = self.scale.twins(index, self.chosen)
        if holder is not None:
            self.drop_twin(index, holder)
            return False
        others: Mapping[int, Variant] = self.chosen
        cost = self.cost
        if held or index in self.chosen:
            others = {i: form for i, form in self.chosen.items() if i not in held and i != index}
            cost = self.scale.measure(others)
        forms = self.scale.forms(index)
        for form in forms:
            if form.name == "summary" and form is not forms[0]:
                break
            if self.take_form(index, form, others, cost, limit):
                for other in held:
                    self.drop_twin(other, index)
                return True
        return False

    def take_form(
        self, index: int, form: Variant, others: Mapping[int, Variant], cost: Cost, limit: Cost
    ) -> bool:
        """Show an item in this form beside `others`, which cost `cost`, if it fits."""
        roomy = add_costs(subtract_costs(limit, cost), (self.scale.joint, 0))
        if not self.scale.may_fit(index, form, roomy):
            return False
        price = self.scale.price(index, form)
        if not fits_within(price, roomy) or price[0] > self.allowance(index):
            return False
        if self._tries > MAX_FAILED_PAGES and price[0] >= self._failed_price > 0:
            return False
        cost = self.scale.measure({**others, index: form})
        if not fits_within(cost, limit):
            self._tries += 1
            self._failed_price = min(self._failed_price, price[0]) if self._tries > 1 else price[0]
            return False
        self.put(index, form, cost)
        self._tries = 0
        return True

    def _take_less(self, index: int, limit: Cost) -> bool:
        """Take an item shortened, else by its summary."""
        if self.shorten and self._misses < MAX_FAILED_PAGES and self.lessen(index, limit):
            return True
        summary = self.scale.forms(index)[-1]
        if summary.name != "summary" or index in self.chosen:
            return False
        return self.take_form(index, summary, self.chosen, self.cost, limit)

    def lessen(self, index: int, limit: Cost) -> bool:
        """Show an item in the longest shorter form that fits; what was shortened before only if it becomes longer."""
        before = self.chosen.get(index)
        others = (
            {i: form for i, form in self.chosen.items() if i != index} if before else self.chosen
        )
        most = self.allowance(index)
        room = None if most == UNLIMITED else (most, UNLIMITED)
        shorter = self.scale.shorten(index, others, limit, room)
        if shorter is None or (before and len(shorter[0].text) <= len(before.text)):
            return False
        self.put(index, *shorter)
        return True

    def add_stubs(self, part: PackingStep, limit: Cost) -> None:
        """Show what fitted in no other form as its attribution and the marker, as long as there is room."""
        misses, places = 0, self.places(part)
        for index in part.walk:
            if misses >= MAX_FAILED_PAGES or places == 0:
                break
            if index not in self.chosen and self.reasons.get(index, "budget") in (
                "budget",
                "section_budget",
            ):
                shown = self.take_form(index, STUB_VARIANT, self.chosen, self.cost, limit)
                misses = 0 if shown else misses + 1
                places = places - shown if places is not None else None


def _share(most: float, share: float) -> float:
    return most * share if most < UNLIMITED else most
