"""Pack what the user named: each item at least in short, then all of them up to one length.

Found items compete for what is left. So a question, or one long source, never costs another source
its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .in_order import Packer
from .shares import MAX_LENGTHENED_IN_VAIN, Shares
from .types import (
    SHORTENED_VARIANTS,
    Cost,
    PackingStep,
    add_costs,
    fits_within,
    min_cost,
    subtract_costs,
)

if TYPE_CHECKING:
    from .passages import PassageSource

MAX_ITEMS_ANSWERING = 24
"""Items that show what answers the query instead of as much from their structure."""


def pack_named(
    packer: Packer, step: PackingStep, limit: Cost, passages: PassageSource | None
) -> PackingStep:
    """Show each item of a step at least in short, then longer up to `limit`, the shortest first.

    Those in `step.last` grow after the others. Where not all have room in short, the last ones of
    the walk go. With `passages` each shows of these what its length has room for. Returns the step
    with the items that are shown.
    """
    if not step.again:
        if packer.show_all(step.walk, limit):
            return step
        _show_in_short(packer, step.walk)
    shown = [index for index in step.walk if index in packer.chosen]
    _level(packer, [index for index in shown if index not in step.last], limit, passages)
    _level(packer, [index for index in shown if index in step.last], limit, passages)
    return step._replace(walk=shown)


def _show_in_short(packer: Packer, walk: Sequence[int]) -> None:
    """Show the least variants of the first items that have room together within the whole limit."""
    page, taken = packer.page, list[int]()
    packer.clear(walk, again=True)
    left = packer.unsettled(walk)
    least = ((index, page.shortener.least(index)) for index in left)
    for index in left[: packer.count_fitting(least, packer.limit)]:
        holder, _ = page.duplicates(index, packer.chosen)
        variant = page.shortener.least(index)
        if holder is not None:
            packer.drop_duplicate(index, holder)
        elif page.item_cost(index, variant)[0] <= packer.allowance(index):
            packer.put(index, variant, packer.cost)
            taken.append(index)
    shown = {index: packer.chosen[index] for index in taken}
    for index in taken:
        packer.remove(index)

    # The sum knew no headings and no list of sources. By halves: 1,000 items may have no score.
    if packer.show_first(shown, packer.limit) == len(left):
        return
    after = next(iter(index for index in packer.unsettled(left)), None)
    # So little room may still hold a few words of the first that had no place.
    if after is not None:
        packer.take_shorter(after, packer.limit)


def _level(
    packer: Packer, walk: Sequence[int], limit: Cost, passages: PassageSource | None
) -> None:
    """Show items longer, none shorter than it is, up to one common length that has room."""
    page = packer.page
    before = {index: packer.chosen[index] for index in walk}
    if all(variant == page.variants(index)[0] for index, variant in before.items()):
        return
    for index in walk:
        packer.remove(index)
    packer.cost = page.measure(packer.chosen)
    shares = Shares(packer, before, limit, longest_first=True)
    shown = shares.find()
    packer.drop_duplicates(packer.contained(shown))
    longer = {i: variant for i, variant in shown.items() if i not in packer.duplicate_of}
    if not packer.show(longer, packer.limit):
        packer.show(before, packer.limit)

    answering = list[int]()
    if passages is not None:
        answering = passages.divided(_cut(packer, walk))[:MAX_ITEMS_ANSWERING]
        _answer_all(packer, walk, answering, limit, passages)
    _lengthen(packer, shares, walk, limit, answering)


def _lengthen(
    packer: Packer,
    shares: Shares,
    walk: Sequence[int],
    limit: Cost,
    answering: Sequence[int],
) -> None:
    """Show items longer while there is room, at first none longer than the longest.

    Items that answer grow to a whole alone: more of one might cost its answer.
    """
    misses, cut = 0, _cut(packer, walk)
    for place, index in enumerate([*cut, *cut]):
        if misses == MAX_LENGTHENED_IN_VAIN or shares.leaves_little(packer.cost):
            break
        if index in packer.chosen:
            most = limit
            if place < len(cut):
                most = _room_up_to_longest(packer, walk, index, limit)
            longer = packer.take_whole(index, most)
            if not longer and index not in answering:
                longer = packer.take_shortened(index, most)
            misses += not longer


def _cut(packer: Packer, walk: Sequence[int]) -> list[int]:
    """Return the items that are shorter than they could be, the shortest first."""
    page, chosen = packer.page, packer.chosen
    left = [i for i in walk if i in chosen and chosen[i] != page.variants(i)[0]]
    return sorted(left, key=lambda index: page.item_cost(index, chosen[index]))


def _room_up_to_longest(packer: Packer, walk: Sequence[int], index: int, limit: Cost) -> Cost:
    costs = [packer.page.item_cost(i, packer.chosen[i]) for i in (index, *_cut(packer, walk)[-1:])]
    if not fits_within(packer.cost, limit):
        return packer.cost
    if costs[0] == costs[-1]:
        return limit
    return min_cost(limit, add_costs(packer.cost, subtract_costs(costs[-1], costs[0])))


def _answer_all(
    packer: Packer,
    walk: Sequence[int],
    answering: Sequence[int],
    limit: Cost,
    passages: PassageSource,
) -> None:
    """Show of cut items the passages that answer, each in the room that it has."""
    from .passages import pack_passages

    for index in answering:
        if index not in packer.chosen:  # the answer of another holds it
            continue
        variant, cost = packer.chosen[index], packer.cost
        if variant.name not in SHORTENED_VARIANTS:
            continue
        room = _room_up_to_longest(packer, walk, index, limit)
        pack_passages(packer, PackingStep([index], again=True), room, passages)
        if index not in packer.chosen:
            packer.put(index, variant, cost)
