"""A fixed set, all of which must be seen: every item keeps its attribution, and all give way together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .in_order import Packer
from .types import (
    STUB_VARIANT,
    UNLIMITED,
    Cost,
    Variant,
    budget_unit,
    content_variant,
    fits_within,
    subtract_costs,
)

MAX_SHARES_TRIED = 12
"""Common measures tried at the most; each builds one page."""

CLOSE_ENOUGH_TOKENS = 8
"""Tokens, or characters, left over that are not worth another try."""

Target = Callable[[float, float], float]
"""Returns the size that an item keeps, from the common measure (0 to 1) and its own size."""


def proportional(measure: float, size: float) -> float:
    """Return what is left of `size` if all lose the same share."""
    return measure * size


def levelled(longest: float) -> Target:
    """Return the target for which the longest are shortened first, to one common size."""
    return lambda measure, size: min(size, measure * longest)


def pack_proportionally(
    packer: Packer, walk: Sequence[int], limit: Cost, *, longest_first: bool, again: bool = False
) -> None:
    """Show all of `walk` in forms that fit `limit` together; only where not even attributions do the last go."""
    scale = packer.scale
    whole, twins = packer.distinct(walk, again)
    packer.drop_twins(twins)
    walk = list(whole)
    if packer.reach(whole.items(), limit) == len(walk) and packer.show(whole, limit):
        return
    contents = {i: content_variant(scale.forms(i)) for i in walk}
    walk = _seen(packer, walk, limit)
    unit = budget_unit(limit)
    sizes = {
        i: scale.price(i, contents[i])[unit] - scale.price(i, STUB_VARIANT)[unit] for i in walk
    }
    target = levelled(max(sizes.values(), default=0)) if longest_first else proportional

    def forms(measure: float) -> dict[int, Variant]:
        found = {}
        for i in walk:
            size = target(measure, sizes[i])
            bounds = (size, UNLIMITED) if unit == 0 else (UNLIMITED, size)
            found[i] = contents[i] if size >= sizes[i] else scale.sized(i, *bounds) or STUB_VARIANT
        return found

    guess = _guess(packer, walk, sizes, target, limit, unit)
    low, high = (
        0.0,
        min(1.0, 1.25 * guess),
    )  # the sum of prices is not far off; what it leaves is filled below
    best: dict[int, Variant] = dict.fromkeys(walk, STUB_VARIANT)
    spare, over = 1.0, 1.0  # how far off both ends are, as far as is known
    for step in range(MAX_SHARES_TRIED):
        # In every other step by how far off they are, which is much quicker and may get stuck.
        share = spare / (spare + over) if step % 2 else 0.5
        middle = (
            guess
            if step == 0 and 0 < guess < 1
            else low + (high - low) * min(max(share, 0.05), 0.95)
        )
        tried = forms(middle)
        cost = scale.measure({**packer.chosen, **tried})
        left = limit[unit] - cost[unit]
        if fits_within(cost, limit):
            low, best, spare = middle, tried, max(left, 1.0)
            if left <= CLOSE_ENOUGH_TOKENS:
                break
        else:
            high, over = middle, max(-left, 1.0)
    packer.show(best, limit)
    for index in walk:  # what rounding left over
        if packer.chosen[index] != whole[index] and not packer.lessen(index, limit):
            continue
        if subtract_costs(limit, packer.cost)[unit] <= CLOSE_ENOUGH_TOKENS:
            break


def _seen(packer: Packer, walk: Sequence[int], limit: Cost) -> list[int]:
    """Return those of `walk`, from its beginning, whose attributions have room together."""
    reach = packer.reach(((index, STUB_VARIANT) for index in walk), limit)
    left = list(walk[:reach])
    cost = packer.scale.measure({**packer.chosen, **dict.fromkeys(left, STUB_VARIANT)})
    while left and not fits_within(cost, limit):
        while left and not fits_within(cost, limit):
            cost = subtract_costs(cost, packer.scale.price(left.pop(), STUB_VARIANT))
        cost = packer.scale.measure({**packer.chosen, **dict.fromkeys(left, STUB_VARIANT)})
    for index in walk[len(left) :]:
        packer.drop(index, "budget")
    return left


def _guess(
    packer: Packer,
    walk: Sequence[int],
    sizes: Mapping[int, float],
    target: Target,
    limit: Cost,
    unit: int,
) -> float:
    """Return the measure at which prices add up to the limit."""
    room = (
        limit[unit]
        - packer.scale.measure({**packer.chosen, **dict.fromkeys(walk, STUB_VARIANT)})[unit]
    )
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        if sum(target(middle, size) for size in sizes.values()) <= room:
            low = middle
        else:
            high = middle
    return low


def pack_drop_last(
    packer: Packer, walk: Sequence[int], limit: Cost, *, again: bool = False
) -> None:
    """Show `walk` from its beginning as far as there is room, the item at the edge shortened; the rest goes."""
    scale = packer.scale
    shown, twins = packer.distinct(walk, again)
    packer.drop_twins(twins)
    left = list(shown)
    reach = packer.reach(shown.items(), limit)
    shown = dict(list(shown.items())[:reach])
    while shown and not packer.show(shown, limit):
        cost, last = scale.measure({**packer.chosen, **shown}), len(shown)
        while shown and (len(shown) == last or not fits_within(cost, limit)):
            index, form = shown.popitem()
            cost = subtract_costs(cost, scale.price(index, form))
    for place, index in enumerate(left[len(shown) :]):
        if place or not packer.shorten or not packer.lessen(index, limit):
            packer.drop(index, "budget")
