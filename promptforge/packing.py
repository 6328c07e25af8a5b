"""Best first: take what fits whole, shorten what does not, go on to smaller ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from .scale import FREE, SHORTENED, STUB, UNLIMITED, Cost, Form, Part, Quotas, Scale, excess, least, minus, plus, within

TRIES = 32
"""Pages measured in vain before an item that costs no less than one that failed is not tried any more."""
_NO_QUOTAS = Quotas({}, {})


class Packer:
    """A page that is being filled. Prices of items roughly add up, so they guide; the measure of the page decides."""

    def __init__(
        self,
        scale: Scale,
        limit: Cost,
        *,
        shorten: bool = True,
        step_down: bool = True,
        first_only: bool = False,
        stubs: bool = False,
        quotas: Quotas = _NO_QUOTAS,
    ) -> None:
        """Of what does not fit whole: `shorten` cuts it, `step_down` tries its summary, `first_only` ends with it."""
        self.scale = scale
        self.limit = limit
        self.shorten = shorten
        self.step_down = step_down
        self.first_only = first_only
        self.stubs = stubs
        self.chosen: dict[int, Form] = {}
        self.reasons: dict[int, str] = {}
        self.twins: dict[int, int] = {}
        self.cost: Cost = FREE
        self.stopped = False
        self._quotas = quotas
        self._spent = dict.fromkeys(quotas.most, 0.0)
        # Pages measured in vain since an item was taken, and the least price among them; forms sought in vain.
        self._tries = 0
        self._failed_price: float = 0
        self._misses = 0

    # --- what is on the page ----------------------------------------------------------------------------------------

    def put(self, index: int, form: Form, cost: Cost) -> None:
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

    def _charge(self, index: int, form: Form, sign: int) -> None:
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

    def goal(self, part: Part) -> Cost:
        """Return what the page may cost when a part is done."""
        limit = self.limit
        if part.share < 1:
            limit = (_share(limit[0], part.share), _share(limit[1], part.share))
        if part.room is not None:
            limit = (min(limit[0], self.cost[0] + part.room), limit[1])
        return limit

    # --- many at once -----------------------------------------------------------------------------------------------

    def distinct(self, walk: Sequence[int]) -> tuple[dict[int, Form], dict[int, int]]:
        """Return the longest forms of `walk` without duplicates, and these with the holder of their text.

        What an earlier part showed of `walk` is shown no more.
        """
        again = [i for i in walk if i in self.chosen]
        for index in again:
            self.remove(index)
        if again or not self.chosen:
            self.cost = self.scale.measure(self.chosen)
        beside = dict(self.chosen)
        found: dict[int, Form] = {}
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

    def reach(self, forms: Mapping[int, Form], limit: Cost) -> int:
        """Return how many of these, from the first, may have room together by what they cost at the least."""
        scale, room = self.scale, minus(limit, self.cost)
        for count, (index, form) in enumerate(forms.items()):
            if not scale.may_fit(index, form, plus(room, (scale.joint, 0))):
                return count
            room = plus(minus(room, scale.price(index, form)), (scale.joint, 0))
            if room[0] < 0 or room[1] < 0:
                return count
        return len(forms)

    def show(self, forms: Mapping[int, Form], limit: Cost) -> bool:
        """Show all of these if they fit."""
        cost = self.scale.measure({**self.chosen, **forms})
        if not within(cost, limit):
            return False
        for index, form in forms.items():
            self.put(index, form, cost)
        return True

    def show_all(self, walk: Sequence[int], limit: Cost) -> bool:
        """Show all of these whole if they fit, without duplicates."""
        forms = {i: self.scale.forms(i)[0] for i in walk}
        if self.reach(forms, limit) < len(forms):
            return False
        found, twins = self.distinct(walk)
        shown = self.show(found, limit)
        if shown:
            self.drop_twins(twins)
        return shown

    # --- packing ----------------------------------------------------------------------------------------------------

    def require(self, walk: Sequence[int]) -> None:
        """Show all of these whole; raises `BudgetError`."""
        for index in walk:
            forms = self.scale.forms(index)
            self.put(index, next((f for f in forms if f.name == "content"), forms[0]), self.cost)
        if walk:
            self.cost = self.scale.measure(self.chosen)
        if walk and not within(self.cost, self.limit):
            raise excess("the required items need", self.cost, self.limit, "raise it or require less")

    def pack(self, part: Part) -> None:
        """Take what fits of a part."""
        limit = self.goal(part)
        walk = part.walk
        if self.chosen or self.twins:
            walk = [i for i in walk if i not in self.twins and self._may_grow(i)]
        self._misses = 0
        seen, taken = self._take_front(walk, limit, part.most)
        self._take_rest(walk[seen:], limit, part, taken)
        if self.stubs:
            self.add_stubs(walk, limit, part.most)

    def _may_grow(self, index: int) -> bool:
        form = self.chosen.get(index)
        return form is None or form.name in SHORTENED

    def _take_front(self, walk: Sequence[int], limit: Cost, most: int | None) -> tuple[int, int]:
        """Take items from the front of `walk` while the sum of prices says that they fit.

        Returns how many were seen, and how many taken.
        """
        scale, spent = self.scale, self.cost
        prices: dict[int, Cost] = {}
        seen = 0
        for index in walk if not self.stopped else ():
            form = scale.forms(index)[0]
            room = minus(limit, spent)
            if index in self.chosen or (most is not None and len(prices) >= most):
                break
            if not scale.may_fit(index, form, room):
                break
            price = scale.price(index, form)
            if not within(price, room) or price[0] > self.allowance(index):
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
                spent = minus(spent, prices.pop(other))
            spent = plus(spent, price)
            prices[index] = price
            self.put(index, form, self.cost)
        while prices:
            cost = scale.measure(self.chosen)
            if within(cost, limit):
                self.cost = cost
                break
            while prices and not within(cost, limit):  # separators and headings were not in the sum
                index, price = prices.popitem()
                cost = minus(cost, price)
                seen = walk.index(index)
                self.remove(index)
                for twin in [t for t, holder in self.twins.items() if holder == index]:
                    del self.twins[twin], self.reasons[twin]
                    seen = min(seen, walk.index(twin))
        return seen, len(prices)

    def _take_rest(self, walk: Sequence[int], limit: Cost, part: Part, taken: int) -> None:
        """Take what fits whole, rank by rank; of each rank, shorten then what was too large."""
        queue = deque(self._able(walk, limit))
        waiting: deque[int] = deque()
        room = self.cost
        while queue or waiting:
            if self.stopped or (part.most is not None and taken >= part.most):
                reason = "budget" if self.stopped else "max_items"
                self.reasons.update((i, reason) for i in (*waiting, *queue) if i not in self.chosen)
                return
            whole = bool(queue) and (not waiting or part.level(queue[0]) == part.level(waiting[0]))
            index = queue.popleft() if whole else waiting.popleft()
            new = index not in self.chosen
            if self._take(index, limit) if whole else self._take_less(index, limit):
                taken += new
                self._misses = 0
            elif index not in self.twins:
                self._fail(index, new)
                if whole and self.step_down:
                    waiting.append(index)
                self._misses += not whole
            # The first failure shows what else must fail, and so does each further taking away of room.
            if (not whole and self._misses in (1, TRIES)) or self._halved(room, limit):
                room = self.cost
                queue, waiting = deque(self._able(queue, limit)), deque(self._able(waiting, limit))

    def _halved(self, before: Cost, limit: Cost) -> bool:
        return self.cost != before and any(
            2 * a < b for a, b in zip(minus(limit, self.cost), minus(limit, before), strict=True)
        )

    def _fail(self, index: int, new: bool) -> None:
        if new:
            self.reasons[index] = "section_budget" if self.allowance(index) < UNLIMITED else "budget"
            self.stopped = self.first_only

    def _able(self, indices: Sequence[int], limit: Cost) -> Sequence[int]:
        if self.first_only or not indices:
            return indices
        able = self.scale.able(indices, minus(limit, self.cost), self.shorten and self._misses < TRIES)
        if len(able) < len(indices):
            gone = set(indices).difference(able) if able else indices
            self.reasons.update(dict.fromkeys(gone, "budget"))
            for index in self.chosen.keys() & gone:
                del self.reasons[index]
        return able

    def _take(self, index: int, limit: Cost) -> bool:
        """Take an item whole."""
        holder, held = self.scale.twins(index, self.chosen)
        if holder is not None:
            self.drop_twin(index, holder)
            return False
        others: Mapping[int, Form] = self.chosen
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

    def take_form(self, index: int, form: Form, others: Mapping[int, Form], cost: Cost, limit: Cost) -> bool:
        """Show an item in this form beside `others`, which cost `cost`, if it fits."""
        roomy = plus(minus(limit, cost), (self.scale.joint, 0))
        if not self.scale.may_fit(index, form, roomy):
            return False
        price = self.scale.price(index, form)
        if not within(price, roomy) or price[0] > self.allowance(index):
            return False
        if self._tries > TRIES and price[0] >= self._failed_price > 0:
            return False
        cost = self.scale.measure({**others, index: form})
        if not within(cost, limit):
            self._tries += 1
            self._failed_price = min(self._failed_price, price[0]) if self._tries > 1 else price[0]
            return False
        self.put(index, form, cost)
        self._tries = 0
        return True

    def _take_less(self, index: int, limit: Cost) -> bool:
        """Take an item shortened, else by its summary."""
        if self.shorten and self._misses < TRIES and self.lessen(index, limit):
            return True
        summary = self.scale.forms(index)[-1]
        if summary.name != "summary" or index in self.chosen:
            return False
        return self.take_form(index, summary, self.chosen, self.cost, limit)

    def lessen(self, index: int, limit: Cost) -> bool:
        """Show an item in the longest shorter form that fits; what was shortened before only if it becomes longer."""
        before = self.chosen.get(index)
        others = {i: form for i, form in self.chosen.items() if i != index} if before else self.chosen
        most = self.allowance(index)
        room = None if most == UNLIMITED else (most, UNLIMITED)
        shorter = self.scale.shorten(index, others, limit, room)
        if shorter is None or (before and len(shorter[0].text) <= len(before.text)):
            return False
        self.put(index, *shorter)
        return True

    def add_stubs(self, walk: Sequence[int], limit: Cost, most: int | None = None) -> None:
        """Show what fitted in no other form as its attribution and the marker, as long as there is room."""
        misses = 0
        for index in walk:
            if self.reasons.get(index) == "budget" and misses < TRIES:
                if self.take_form(index, STUB, self.chosen, self.cost, least(limit, self.limit)):
                    misses = 0
                else:
                    misses += 1


def _share(most: float, share: float) -> float:
    return most * share if most < UNLIMITED else most
