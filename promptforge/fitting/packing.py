"""Best first: take what fits whole, shorten what does not, go on to smaller ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import chain

from .board import Board
from .scale import (
    SHORTENED,
    STUB,
    UNLIMITED,
    Cost,
    Form,
    Part,
    Quotas,
    Scale,
    content_of,
    excess,
    minus,
    plus,
    within,
)

TRIES = 32
"""Pages measured in vain before an item that costs no less than one that failed is not tried any more."""
STRIDE = 64
"""Items that are looked at in one go when what fits easily is on the page; then twice as many, and so on."""
NO_QUOTAS = Quotas({}, {})
"""No section has a maximum."""


class Packer(Board):
    """A page that takes items one by one."""

    def __init__(
        self,
        scale: Scale,
        limit: Cost,
        *,
        shorten: bool = True,
        step_down: bool = True,
        first_only: bool = False,
        quotas: Quotas = NO_QUOTAS,
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

    def goal(self, part: Part) -> Cost:
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
            self.put(index, content_of(self.scale.forms(index)), self.cost)
        if walk:
            self.cost = self.scale.measure(self.chosen)
        if walk and not within(self.cost, self.limit):
            raise excess(
                "the required items need", self.cost, self.limit, "raise it or require less"
            )

    def pack(self, part: Part, limit: Cost) -> None:
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
        return form is None or form.name in SHORTENED

    def take_front(self, walk: Sequence[int], limit: Cost, most: int | None) -> int:
        """Take items from the front of `walk` while the sum of prices says that they fit; return how many were seen."""
        scale, spent = self.scale, self.cost
        scale.prepare(walk if most is None else walk[:most], minus(limit, spent))
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
        return seen

    def take_rest(self, walk: Sequence[int], limit: Cost, part: Part) -> None:
        """Take what fits whole, rank by rank; of each rank, shorten then what was too large."""
        places = self.places(part)
        queue: deque[int] = deque()
        waiting: deque[int] = deque()
        room, ahead, stride = self.cost, 0, STRIDE
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
            if (not whole and self._misses in (1, TRIES)) or self._halved(room, limit):
                room = self.cost
                queue, waiting = deque(self._able(queue, limit)), deque(self._able(waiting, limit))

    def _halved(self, before: Cost, limit: Cost) -> bool:
        return self.cost != before and any(
            2 * a < b for a, b in zip(minus(limit, self.cost), minus(limit, before), strict=True)
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
            indices, minus(limit, self.cost), self.shorten and self._misses < TRIES
        )

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

    def take_form(
        self, index: int, form: Form, others: Mapping[int, Form], cost: Cost, limit: Cost
    ) -> bool:
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

    def add_stubs(self, part: Part, limit: Cost) -> None:
        """Show what fitted in no other form as its attribution and the marker, as long as there is room."""
        misses, places = 0, self.places(part)
        for index in part.walk:
            if misses >= TRIES or places == 0:
                break
            if index not in self.chosen and self.reasons.get(index, "budget") in (
                "budget",
                "section_budget",
            ):
                shown = self.take_form(index, STUB, self.chosen, self.cost, limit)
                misses = 0 if shown else misses + 1
                places = places - shown if places is not None else None


def _share(most: float, share: float) -> float:
    return most * share if most < UNLIMITED else most
