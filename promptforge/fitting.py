"""Which items in which form: arithmetic over prices. No text, no templates, no tokenizer.

A cost is a pair (tokens, characters); a limit is such a pair too. Prices of items roughly add up, so they guide; the
`measure` of a whole page decides.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from .errors import BudgetError

Cost = tuple[float, float]
"""Tokens, characters."""

FREE: Cost = (0, 0)
UNLIMITED = math.inf


TRIES = 32
"""Pages measured in vain before an item that costs no less than one that failed is not tried any more."""


class Form(NamedTuple):
    """One way to show an item."""

    name: str
    """`expanded content summary trimmed`."""
    text: str
    """The text that stands for its content."""
    cut: bool = False
    """Whether text is missing at its end, which a marker must say."""


class Scale(Protocol):
    """What fitting must know of the page. All of it is a pure function of its arguments."""

    joint: int
    """Tokens by which an item may cost less on the page than alone: what its ends share with their neighbours."""

    def forms(self, index: int) -> Sequence[Form]:
        """Return the whole forms of an item, the longest first."""
        ...

    def price(self, index: int, form: Form) -> Cost:
        """Return what an item costs alone."""
        ...

    def may_fit(self, index: int, form: Form, room: Cost) -> bool:
        """Return False where it is cheap to see that an item is more than `room`; True decides nothing."""
        ...

    def able(self, indices: Sequence[int], room: Cost, trim: bool) -> Sequence[int]:
        """Return those of which it is not cheap to see that no form, nor with `trim` a shorter one, has room."""
        ...

    def twins(self, index: int, chosen: Mapping[int, Form]) -> tuple[int | None, Sequence[int]]:
        """Return which of `chosen` holds an item's whole text, and which of them its text holds."""
        ...

    def measure(self, chosen: Mapping[int, Form]) -> Cost:
        """Return what the page costs with just these items on it."""
        ...

    def shorten(self, index: int, chosen: Mapping[int, Form], limit: Cost) -> tuple[Form, Cost] | None:
        """Return the best shorter form of an item beside `chosen` within `limit`, and what the page then costs."""
        ...


class Part(NamedTuple):
    """Items to be packed together, best first."""

    walk: Sequence[int]
    share: float = 1.0
    """How much of the limit the page may cost when this part is done; 1: all of it."""
    most: int | None = None
    """How many of the items may be chosen."""
    required: bool = False
    """All of them, whole, or `BudgetError`."""
    ranks: Mapping[int, float] = {}
    """Equal for items that are equally good: of these, all that fit whole come before any is shortened."""

    def level(self, index: int) -> object:
        """Return what is equal for items that are equally good; an item without a rank is like no other."""
        return self.ranks.get(index, (index,))


class Fit(NamedTuple):
    """What fits."""

    chosen: dict[int, Form]
    reasons: dict[int, str]
    """Index of an item of the walk that is not chosen → `budget`, `max_items` or `duplicate`."""
    twins: dict[int, int]
    """Index of a duplicate → that of the chosen item that holds its text."""
    cost: Cost
    frame_fits: bool
    """False where even the page without items is over the limit: then nothing may be printed."""


def within(cost: Cost, limit: Cost) -> bool:
    """Return whether `cost` is at most `limit` in both units."""
    return cost[0] <= limit[0] and cost[1] <= limit[1]


def plus(a: Cost, b: Cost) -> Cost:
    """Return the sum of two costs."""
    return a[0] + b[0], a[1] + b[1]


def minus(a: Cost, b: Cost) -> Cost:
    """Return the difference of two costs."""
    return a[0] - b[0], a[1] - b[1]


def excess(what: str, cost: Cost, limit: Cost, way_out: str) -> BudgetError:
    """Return the error for a cost over its limit, in the unit in which it is over."""
    unit = 0 if cost[0] > limit[0] else 1
    needed, most = int(cost[unit]), int(limit[unit])
    word = ("tokens", "characters")[unit]
    message = f"{what} {needed:,} {word} and the budget is {most:,}; {way_out}"
    return BudgetError(message, needed=needed, largest=most)


def shares(explicit: Cost, similarity: Cost, limit: Cost, share: float) -> float:
    """Return the share of `limit` that explicit items may take, from what each side would cost whole.

    Each side is sure of its part (`share` and the rest); what one does not need, the other may use.
    """
    if within(plus(explicit, similarity), limit):
        return 1.0
    left = [1 - s / m for s, m in zip(similarity, limit, strict=True) if 0 < m < UNLIMITED]
    return max([share, *([min(left)] if left else [])])


def fit(parts: Iterable[Part], scale: Scale, limit: Cost, *, packing: str = "score", trim: bool = True) -> Fit:
    """Return which items of `parts` to show, in which form, so that the page costs at most `limit`.

    `packing`: `score` takes the best first, shortens (with `trim`) what does not fit whole and goes on to smaller ones;
    `whole` never shortens; `stop` ends at the first that does not fit. Raises `BudgetError` when a required item does
    not fit.
    """
    packer = _Packer(scale, limit, packing, trim and packing == "score")
    frame = scale.measure({})
    for part in parts:
        packer.pack(part)
    if not packer.chosen:
        packer.cost = frame
    for index in packer.chosen:  # past the share of its part, then taken after all by a later one
        packer.reasons.pop(index, None)
    return Fit(packer.chosen, packer.reasons, packer.twins, packer.cost, within(packer.cost, limit))


class _Packer:
    def __init__(self, scale: Scale, limit: Cost, packing: str, trim: bool) -> None:
        self.scale = scale
        self.limit = limit
        self.packing = packing
        self.trim = trim
        self.chosen: dict[int, Form] = {}
        self.reasons: dict[int, str] = {}
        self.twins: dict[int, int] = {}
        self.cost: Cost = FREE
        self.taken = 0
        self.stopped = False
        self.failed_at: Cost | None = None
        self.tries = 0  # pages measured in vain since an item was taken, and the least price among them
        self.failed_price: float = 0

    def pack(self, part: Part) -> None:
        if part.required:
            self.require(part.walk)
            return
        limit = (self.limit[0] * part.share, self.limit[1] * part.share) if part.share < 1 else self.limit
        self.lengthen(part.walk, limit)
        walk = [i for i in part.walk if i not in self.chosen and i not in self.twins]
        self.taken = 0
        done = self.take_prefix(walk, limit, part.most)
        self.pack_rest(walk[done:], limit, part)

    def pack_rest(self, walk: Sequence[int], limit: Cost, part: Part) -> None:
        """Take what fits whole, rank by rank; of each rank, shorten then what was too large."""
        queue = deque(self.able(walk, limit))
        waiting: deque[int] = deque()
        while queue or waiting:
            if self.stopped or (part.most is not None and self.taken >= part.most):
                reason = "budget" if self.stopped else "max_items"
                self.reasons.update(dict.fromkeys([*waiting, *queue], reason))
                return
            tried_whole = bool(queue) and (not waiting or part.level(queue[0]) == part.level(waiting[0]))
            index = queue.popleft() if tried_whole else waiting.popleft()
            taken = self.take(index, limit) if tried_whole else self.take_less(index, limit)
            if taken:
                self.taken += 1
                self.reasons.pop(index, None)
            elif index not in self.twins:
                self.reasons[index] = "budget"
                self.stopped = self.packing == "stop"
                if tried_whole and self.packing == "score":
                    waiting.append(index)
            if taken or (
                not tried_whole and self.failed_at != self.cost
            ):  # the first failure shows what else must fail
                self.failed_at = self.cost
                queue, waiting = deque(self.able(queue, limit)), deque(self.able(waiting, limit))

    def able(self, indices: Sequence[int], limit: Cost) -> Sequence[int]:
        if self.packing == "stop" or not indices:
            return indices
        able = self.scale.able(indices, minus(limit, self.cost), self.trim)
        if len(able) < len(indices):
            self.reasons.update(dict.fromkeys({*indices}.difference(able), "budget"))
        return able

    def require(self, walk: Sequence[int]) -> None:
        for index in walk:
            forms = self.scale.forms(index)
            self.chosen[index] = next((f for f in forms if f.name == "content"), forms[0])
        if walk:
            self.cost = self.scale.measure(self.chosen)
        if walk and not within(self.cost, self.limit):
            raise excess("the required items need", self.cost, self.limit, "raise it or require less")

    def take_prefix(self, walk: Sequence[int], limit: Cost, most: int | None) -> int:
        """Take items from the front of `walk` while the sum of prices says that they fit; return how many were seen."""
        spent = self.cost
        prices: dict[int, Cost] = {}
        seen = 0
        for index in walk if not self.stopped else ():
            form = self.scale.forms(index)[0]
            room = minus(limit, spent)
            if (most is not None and len(prices) >= most) or not self.scale.may_fit(index, form, room):
                break
            price = self.scale.price(index, form)
            if not within(price, room):
                break
            seen += 1
            holder, held = self.scale.twins(index, self.chosen)
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
            self.chosen[index] = form
        while prices:
            cost = self.scale.measure(self.chosen)
            if within(cost, limit):
                self.cost = cost
                break
            while prices and not within(cost, limit):  # separators and headings were not in the sum
                index, price = prices.popitem()
                cost = minus(cost, price)
                seen = walk.index(index)
                del self.chosen[index]
                for twin in [t for t, holder in self.twins.items() if holder == index]:
                    del self.twins[twin], self.reasons[twin]
                    seen = min(seen, walk.index(twin))
        self.taken = len(prices)
        return seen

    def drop_twin(self, index: int, holder: int) -> None:
        self.chosen.pop(index, None)
        self.reasons[index] = "duplicate"
        self.twins[index] = holder

    def take(self, index: int, limit: Cost) -> bool:
        room = minus(limit, self.cost)
        holder, held = self.scale.twins(index, self.chosen)
        if holder is not None:
            self.drop_twin(index, holder)
            return False
        others = {i: form for i, form in self.chosen.items() if i not in held} if held else self.chosen
        if held:
            room = minus(limit, self.scale.measure(others))
        roomy = plus(room, (self.scale.joint, 0))
        forms = self.scale.forms(index)
        for form in forms:
            if form.name == "summary" and form is not forms[0]:
                break
            if self.take_form(index, form, others, roomy, limit):
                for other in held:
                    self.drop_twin(other, index)
                return True
        return False

    def take_form(self, index: int, form: Form, others: Mapping[int, Form], roomy: Cost, limit: Cost) -> bool:
        if not self.scale.may_fit(index, form, roomy) or not within(self.scale.price(index, form), roomy):
            return False
        price = self.scale.price(index, form)
        if self.tries > TRIES and price[0] >= self.failed_price and self.failed_price > 0:
            return False
        cost = self.scale.measure({**others, index: form})
        if not within(cost, limit):
            self.tries += 1
            self.failed_price = min(self.failed_price, price[0]) if self.tries > 1 else price[0]
            return False
        self.chosen[index], self.cost, self.tries = form, cost, 0
        return True

    def take_less(self, index: int, limit: Cost) -> bool:
        """Take an item shortened, else by its summary."""
        if self.trim and self.shorten(index, limit):
            return True
        summary = self.scale.forms(index)[-1]
        roomy = plus(minus(limit, self.cost), (self.scale.joint, 0))
        return summary.name == "summary" and self.take_form(index, summary, self.chosen, roomy, limit)

    def lengthen(self, walk: Sequence[int], limit: Cost) -> None:
        """Try again what was shortened when there was less room."""
        for index in walk:
            form = self.chosen.get(index)
            if form is not None and form.name == "trimmed":
                cost = self.cost
                del self.chosen[index]
                self.cost = self.scale.measure(self.chosen)
                if not (self.take(index, limit) or self.take_less(index, limit)):
                    self.chosen[index], self.cost = form, cost

    def shorten(self, index: int, limit: Cost) -> bool:
        shorter = self.scale.shorten(index, self.chosen, limit)
        if shorter is None:
            return False
        self.chosen[index], self.cost = shorter
        return True
