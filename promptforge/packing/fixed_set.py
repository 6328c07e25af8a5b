"""Packings of a fixed set: every item keeps its attribution, and all are shortened together."""

from __future__ import annotations

from collections.abc import Sequence

from ..reasons import BUDGET, MAX_ITEMS, SECTION_BUDGET
from .in_order import Packer
from .shares import MAX_LENGTHENED_IN_VAIN, Shares
from .types import STUB_VARIANT, Cost, PackingStep, fits_within, subtract_costs


def pack_fixed_set(
    packer: Packer,
    step: PackingStep,
    limit: Cost,
    *,
    shortens: bool = True,
    longest_first: bool = False,
    from_end: bool = False,
) -> None:
    """Show a step's items: shortened by one share or to one length, or from one end while they fit.

    `from_end` keeps the last ones.
    """
    walk = list(step.walk)
    if not step.again:
        walk = [index for index in walk if index not in packer.chosen]
    free = packer.free_places(step)
    if free is not None:
        packer.drop_all(dict.fromkeys(walk[free:], MAX_ITEMS.name))
        walk = walk[:free]
    if from_end:
        walk.reverse()
    if not (shortens and packer.shorten):
        pack_drop_last(packer, walk, limit, again=step.again)
    else:
        pack_proportionally(packer, walk, limit, longest_first=longest_first, again=step.again)
    # Here a section with a maximum is a step of its own, so its room says why an item is short.
    if step.room is not None and limit[0] < packer.limit[0]:
        short = [index for index in step.walk if packer.reasons.get(index) == BUDGET.name]
        packer.reasons.update(dict.fromkeys(short, SECTION_BUDGET.name))


def pack_proportionally(
    packer: Packer, walk: Sequence[int], limit: Cost, *, longest_first: bool, again: bool = False
) -> None:
    """Show all of `walk`, shortened by one share, or with `longest_first` to one common size.

    Sizes are characters: to know the tokens of contents, all that is left out would be counted.
    Items at the end are dropped only where not even all attributions fit.
    """
    page = packer.page
    packer.clear(walk, again)
    # By lower bounds: what is surely too much needs no rendering to tell it.
    if not packer.surely_exceed(walk, subtract_costs(limit, packer.cost)):
        found, duplicate_of = packer.distinct(walk)
        may_fit = packer.count_fitting(found.items(), limit) == len(found)
        if may_fit and packer.show(found, limit):
            packer.drop_duplicates(duplicate_of)
            return
    walk = _keep_attributions(packer, packer.unsettled(walk), limit)
    shares = Shares(packer, dict.fromkeys(walk, STUB_VARIANT), limit, longest_first)
    shown = shares.find()
    packer.drop_duplicates(packer.contained(shown))
    packer.show({i: v for i, v in shown.items() if i not in packer.duplicate_of}, limit)
    misses = 0
    for index in walk:  # rounding left some room over
        if shares.leaves_little(packer.cost) or misses == MAX_LENGTHENED_IN_VAIN:
            break
        if index in packer.chosen and packer.chosen[index] != page.variants(index)[0]:
            misses += not packer.take_shortened(index, limit)


def _keep_attributions(packer: Packer, walk: Sequence[int], limit: Cost) -> list[int]:
    """Return the first items of `walk` with room for all their attributions; drop the rest."""
    page = packer.page
    # By sums of single costs, so that a page of 20,000 headings is not printed to be cut.
    left = list(walk[: packer.count_fitting(((i, STUB_VARIANT) for i in walk), limit)])
    cost = page.measure({**packer.chosen, **dict.fromkeys(left, STUB_VARIANT)})
    # Down by sums, which cost nothing; a page is measured only where they say that it fits.
    while left and not fits_within(cost, limit):
        while left and not fits_within(cost, limit):
            cost = subtract_costs(cost, page.item_cost(left.pop(), STUB_VARIANT))
        cost = page.measure({**packer.chosen, **dict.fromkeys(left, STUB_VARIANT)})
    packer.drop_all(dict.fromkeys(walk[len(left) :], BUDGET.name))
    return left


def pack_drop_last(
    packer: Packer, walk: Sequence[int], limit: Cost, *, again: bool = False
) -> None:
    """Show `walk` from its beginning while there is room; shorten the next item, drop the rest."""
    page = packer.page
    packer.clear(walk, again)
    shown, duplicate_of = packer.distinct(walk, limit)
    packer.drop_duplicates(duplicate_of)
    while shown and not packer.show(shown, limit):
        cost, last = page.measure({**packer.chosen, **shown}), len(shown)
        # One goes in any case: by sums the rest may fit, and the measured page has just not.
        while shown and (len(shown) == last or not fits_within(cost, limit)):
            index, variant = shown.popitem()
            cost = subtract_costs(cost, page.item_cost(index, variant))
    has_room = True
    for index in packer.unsettled(walk):  # by sums a few too many may have gone
        if (has_room and packer.take_whole(index, limit)) or index in packer.duplicate_of:
            continue
        if not (has_room and packer.shorten and packer.take_shortened(index, limit)):
            packer.drop_all({index: BUDGET.name})
        has_room = False
