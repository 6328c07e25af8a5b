"""Pack a fixed set: every item keeps its attribution, and all are shortened together."""

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

MAX_PAGES_TRIED = 12
"""Common shares tried at most; each builds one page."""

CLOSE_ENOUGH_TOKENS = 8
"""Tokens (or characters) left over that are not worth another try."""

KeptSize = Callable[[float, float], float]
"""Common share (0 to 1) and own size → the size an item keeps."""


def pack_proportionally(
    packer: Packer, walk: Sequence[int], limit: Cost, *, longest_first: bool, again: bool = False
) -> None:
    """Show all of `walk`, shortened by one share, or with `longest_first` to one common size.

    Items at the end are dropped only where not even all attributions fit.
    """
    page = packer.page
    whole, duplicate_of = packer.distinct(walk, again)
    packer.drop_duplicates(duplicate_of)
    walk = list(whole)
    if packer.count_fitting(whole.items(), limit) == len(walk) and packer.show(whole, limit):
        return
    walk = _keep_attributions(packer, walk, limit)
    unit = budget_unit(limit)
    contents = {i: content_variant(page.variants(i)) for i in walk}
    sizes = {
        i: page.item_cost(i, contents[i])[unit] - page.item_cost(i, STUB_VARIANT)[unit]
        for i in walk
    }
    longest = max(sizes.values(), default=0)

    def kept(share: float, size: float) -> float:
        return min(size, share * longest) if longest_first else share * size

    def shortened(share: float) -> dict[int, Variant]:
        found = {}
        for i in walk:
            size = kept(share, sizes[i])
            bounds = [UNLIMITED, UNLIMITED]
            bounds[unit] = size
            if size >= sizes[i]:
                found[i] = contents[i]
            else:
                found[i] = page.longest_within(i, *bounds) or STUB_VARIANT
        return found

    guess = _estimate_share(packer, walk, sizes, kept, limit)
    packer.show(_search(packer, shortened, guess, walk, limit), limit)
    for index in walk:  # rounding left some room over
        if packer.chosen[index] != whole[index] and not packer.take_shortened(index, limit):
            continue
        if subtract_costs(limit, packer.cost)[unit] <= CLOSE_ENOUGH_TOKENS:
            break


def _search(
    packer: Packer,
    shortened: Callable[[float], dict[int, Variant]],
    guess: float,
    walk: Sequence[int],
    limit: Cost,
) -> Mapping[int, Variant]:
    """Return the variants for the largest share found that fits `limit`."""
    unit = budget_unit(limit)
    best: dict[int, Variant] = dict.fromkeys(walk, STUB_VARIANT)
    # The guess is a sum of costs, so the true share is near it; the room it misses is filled later.
    low, high = 0.0, min(1.0, 1.25 * guess)
    # `left` and `over`: how far off both ends are, as far as is known.
    left, over = 1.0, 1.0
    for attempt in range(MAX_PAGES_TRIED):
        # Interpolation is much quicker than halving but may get stuck, so the two alternate.
        part = left / (left + over) if attempt % 2 else 0.5
        share = low + (high - low) * min(max(part, 0.05), 0.95)
        if attempt == 0 and 0 < guess < 1:
            share = guess
        tried = shortened(share)
        cost = packer.page.measure({**packer.chosen, **tried})
        room = limit[unit] - cost[unit]
        if fits_within(cost, limit):
            low, best, left = share, tried, max(room, 1.0)
            if room <= CLOSE_ENOUGH_TOKENS:
                break
        else:
            high, over = share, max(-room, 1.0)
    return best


def _keep_attributions(packer: Packer, walk: Sequence[int], limit: Cost) -> list[int]:
    """Return the first items of `walk` with room for all their attributions; drop the rest."""
    page = packer.page
    left = list(walk[: packer.count_fitting(((i, STUB_VARIANT) for i in walk), limit)])
    cost = page.measure({**packer.chosen, **dict.fromkeys(left, STUB_VARIANT)})
    while left and not fits_within(cost, limit):
        while left and not fits_within(cost, limit):
            cost = subtract_costs(cost, page.item_cost(left.pop(), STUB_VARIANT))
        cost = page.measure({**packer.chosen, **dict.fromkeys(left, STUB_VARIANT)})
    for index in walk[len(left) :]:
        packer.drop(index, "budget")
    return left


def _estimate_share(
    packer: Packer, walk: Sequence[int], sizes: Mapping[int, float], kept: KeptSize, limit: Cost
) -> float:
    """Return the share that makes the sum of kept sizes meet the limit."""
    unit = budget_unit(limit)
    bare = packer.page.measure({**packer.chosen, **dict.fromkeys(walk, STUB_VARIANT)})
    room = limit[unit] - bare[unit]
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        if sum(kept(middle, size) for size in sizes.values()) <= room:
            low = middle
        else:
            high = middle
    return low


def pack_drop_last(
    packer: Packer, walk: Sequence[int], limit: Cost, *, again: bool = False
) -> None:
    """Show `walk` from its beginning while there is room; shorten the next item, drop the rest."""
    page = packer.page
    shown, duplicate_of = packer.distinct(walk, again)
    packer.drop_duplicates(duplicate_of)
    left = list(shown)
    fitting = packer.count_fitting(shown.items(), limit)
    shown = dict(list(shown.items())[:fitting])
    while shown and not packer.show(shown, limit):
        cost, last = page.measure({**packer.chosen, **shown}), len(shown)
        while shown and (len(shown) == last or not fits_within(cost, limit)):
            index, variant = shown.popitem()
            cost = subtract_costs(cost, page.item_cost(index, variant))
    for place, index in enumerate(left[len(shown) :]):
        if place or not packer.shorten or not packer.take_shortened(index, limit):
            packer.drop(index, "budget")
