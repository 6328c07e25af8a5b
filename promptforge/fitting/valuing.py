"""The most worth for the budget: `packing: value` on a page, where prices only roughly add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from .packing import Packer
from .scale import UNLIMITED, Cost, Form, Part, minus, plus, unit_of, within
from .worth import FORM_WORTH, Chooser

FAILURES = 8
"""Items that nearly fit into what is left and do not, before no more are tried."""
SHORTENED_TRIES = 4
"""Items of which a shortened form is sought for what is left at the end."""
ROUNDS = 6
"""How often the choice is made anew after the page was measured."""


def pack_worth(packer: Packer, part: Part, limit: Cost) -> None:
    """Show those of a part that are together worth most, then fill what is left."""
    walk = [i for i in part.walk if i not in packer.chosen and i not in packer.twins]
    places = packer.places(part)
    if (places is None or places >= len(walk)) and packer.show_all(walk, limit):
        return
    packer.cost = packer.scale.measure(packer.chosen)
    rows = _Rows(packer, walk, part.ranks, limit)
    chooser, chosen = rows.choose(places)
    refused = _show(packer, [(rows.owners[row], rows.forms[row]) for row in chosen], limit)
    _fill(packer, part, [*refused, *(rows.owners[row] for row in chooser.rest(chosen))], limit)
    if packer.places(part) == 0:
        for index in walk:
            if index not in packer.chosen:
                packer.reasons.setdefault(index, "max_items")


class _Rows:
    """The forms of the items of a part, as rows to choose from."""

    def __init__(
        self, packer: Packer, walk: Sequence[int], ranks: Sequence[float], limit: Cost
    ) -> None:
        self._packer = packer
        self._scale = packer.scale
        self._limit = limit
        self._room = minus(limit, packer.cost)
        self._unit = unit_of(limit)
        self._both = limit[0] < UNLIMITED and limit[1] < UNLIMITED and self._room[1] > 0
        lowest = min((ranks[i] for i in walk), default=0.0) if ranks else 0.0
        base = (
            lowest - 0.01 if lowest <= 0 else 0.0
        )  # what is worth nothing is still worth more than room left over
        pairs = [(index, form) for index in walk for form in self._scale.forms(index)]
        self.owners = [index for index, _ in pairs]
        self.forms = [form for _, form in pairs]
        self._several = len(pairs) > len(walk)
        self._worths = [
            (ranks[i] - base if ranks else 1.0) * FORM_WORTH.get(form.name, 1.0)
            for i, form in pairs
        ]

    def choose(self, places: int | None) -> tuple[Chooser, list[int]]:
        """Return the rows for the page, which may cost more than their sum (separators, headings) or less (joins)."""
        unit, target = self._unit, self._room[self._unit]
        chooser, most, best = self._chooser(0.0), UNLIMITED, []
        rows: list[int] = []
        for turn in range(ROUNDS):
            rows = chooser.choose(target).rows[:places]
            cost = self._scale.measure(
                {**self._packer.chosen, **{self.owners[row]: self.forms[row] for row in rows}}
            )
            spare = self._limit[unit] - cost[unit]
            if within(cost, self._limit):
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

    def _chooser(self, between: float) -> Chooser:
        return Chooser(
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
        cost = self._scale.price(index, form)
        return (
            max(cost[0], cost[1] * self._room[0] / self._room[1])
            if self._both
            else cost[self._unit]
        )


def _show(packer: Packer, rows: list[tuple[int, Form]], limit: Cost) -> list[int]:
    """Show these, without duplicates; while they are over the limit the least worth per token goes.

    Returns those that are too much for their section in this form.
    """
    refused = []
    for index, form in rows:
        if packer.scale.price(index, form)[0] > packer.allowance(index):
            packer.drop(index, "section_budget")
            refused.append(index)
            continue
        holder, held = packer.scale.twins(index, packer.chosen)
        if holder is not None:
            packer.drop_twin(index, holder)
            continue
        for other in held:
            packer.drop_twin(other, index)
        packer.put(index, form, packer.cost)
    shown = [index for index, _ in rows if index in packer.chosen]
    packer.cost = packer.scale.measure(packer.chosen)
    while shown and not within(packer.cost, limit):
        packer.drop(shown.pop(), "budget")
        packer.cost = packer.scale.measure(packer.chosen)
    return refused


def _fill(packer: Packer, part: Part, walk: Iterable[int], limit: Cost) -> None:
    """Give what room is left to others that fit whole, and then to a shortened one."""
    scale, places = packer.scale, packer.places(part)
    rest = [i for i in dict.fromkeys(walk) if i not in packer.chosen and i not in packer.twins]
    failed = 0
    for index in scale.able(rest, minus(limit, packer.cost), False):
        if failed > FAILURES or places == 0:
            break
        left = plus(minus(limit, packer.cost), (scale.joint, 0))
        forms = [form for form in scale.forms(index) if scale.may_fit(index, form, left)]
        if not forms:
            continue
        holder, _ = scale.twins(index, packer.chosen)
        if holder is not None:
            packer.drop_twin(index, holder)
        elif any(
            packer.take_form(index, form, packer.chosen, packer.cost, limit) for form in forms
        ):
            places = places - 1 if places is not None else None
        else:
            failed += 1
    if packer.shorten and places != 0:
        waiting = (i for i in rest if i not in packer.chosen and i not in packer.twins)
        any(packer.lessen(index, limit) for index in islice(waiting, SHORTENED_TRIES))
