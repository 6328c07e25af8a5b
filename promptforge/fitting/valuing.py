"""The most worth for the budget: `packing: value` on a page, where prices only roughly add up."""

from __future__ import annotations

from collections.abc import Sequence

from .packing import TRIES, Packer
from .scale import UNLIMITED, Cost, Form, Part, minus, plus, within
from .worth import FORM_WORTH, Chooser

ROUNDS = 6
"""How often the choice is made anew after the page was measured."""
BEYOND = 256
"""Rows looked at, the most worth per token first, to fill what the choice leaves."""


def pack_worth(packer: Packer, part: Part, limit: Cost) -> None:
    """Show those of a part that are together worth most, then fill what is left."""
    scale = packer.scale
    walk = [i for i in part.walk if i not in packer.chosen and i not in packer.twins]
    unit = 0 if limit[0] < UNLIMITED or limit[1] == UNLIMITED else 1
    if (part.most is None or part.most >= len(walk)) and packer.show_all(walk, limit):
        return
    owners: list[int] = []
    forms: list[Form] = []
    for index in walk:
        for form in scale.forms(index):
            owners.append(index)
            forms.append(form)
    several = len(owners) > len(walk)
    ranks = part.ranks
    base = packer.cost = scale.measure(packer.chosen)
    room = minus(limit, base)
    both = limit[0] < UNLIMITED and limit[1] < UNLIMITED and room[1] > 0

    def price(row: int) -> float:
        if not scale.may_fit(owners[row], forms[row], room):
            return max(room[unit] + 1, len(forms[row].text) / 4)
        cost = scale.price(owners[row], forms[row])
        return max(cost[0], cost[1] * room[0] / room[1]) if both else cost[unit]

    chooser = Chooser(
        [(ranks[i] if ranks else 1.0) * FORM_WORTH.get(form.name, 1.0) for i, form in zip(owners, forms, strict=True)],
        [len(form.text) for form in forms],
        price,
        owners=owners if several else None,
        kinds=[form.name for form in forms] if several else None,
    )
    rows = _choose(packer, part, chooser, owners, forms, room[unit], limit)
    _show(packer, [(owners[row], forms[row]) for row in rows], limit)
    _fill(packer, part, [owners[row] for row in _some(chooser, rows)], limit)
    full = part.most is not None and sum(i in packer.chosen for i in walk) >= part.most
    for index in walk:
        if index not in packer.chosen:
            packer.reasons.setdefault(index, "max_items" if full else "budget")
    if packer.stubs:
        packer.add_stubs(walk, limit)


def _choose(
    packer: Packer, part: Part, chooser: Chooser, owners: list[int], forms: list[Form], target: float, limit: Cost
) -> list[int]:
    """Return the rows chosen for the page, which may cost more than their sum (headings) or less (where texts join)."""
    best: list[int] = []
    most, unit = target, 0 if limit[0] < UNLIMITED or limit[1] == UNLIMITED else 1
    for _ in range(ROUNDS):
        rows = chooser.choose(target).rows[: part.most]
        cost = packer.scale.measure({**packer.chosen, **{owners[row]: forms[row] for row in rows}})
        spare = limit[unit] - cost[unit]
        if not within(cost, limit):
            most = target
            target -= max(-spare, 1)
        else:
            best = rows
            if target + spare >= most or spare < 1:
                break
            target += spare
    return best or rows


def _some(chooser: Chooser, rows: Sequence[int]) -> list[int]:
    return [row for row, _ in zip(chooser.rest(rows), range(BEYOND), strict=False)]


def _show(packer: Packer, rows: list[tuple[int, Form]], limit: Cost) -> None:
    """Show these, without duplicates; while they are over the limit the least worth per token goes."""
    for index, form in rows:
        if packer.scale.price(index, form)[0] > packer.allowance(index):
            packer.drop(index, "section_budget")
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


def _fill(packer: Packer, part: Part, walk: list[int], limit: Cost) -> None:
    """Give what room is left to longer forms, to others that fit, and to a shortened one."""
    taken = sum(index in packer.chosen for index in part.walk)
    failed = 0
    for index in dict.fromkeys(walk):
        if failed > TRIES or (part.most is not None and taken >= part.most):
            break
        left = plus(minus(limit, packer.cost), (packer.scale.joint, 0))
        holder, _ = packer.scale.twins(index, packer.chosen)
        if holder is not None:
            packer.drop_twin(index, holder)
            continue
        forms = packer.scale.forms(index)
        if any(packer.take_form(index, form, packer.chosen, packer.cost, limit) for form in forms):
            taken += 1
        else:
            failed += packer.scale.may_fit(index, forms[-1], left)
    if packer.shorten and (part.most is None or taken < part.most):
        for index in [i for i in walk if i not in packer.chosen and i not in packer.twins][:TRIES]:
            if packer.lessen(index, limit):
                break
