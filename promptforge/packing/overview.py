"""`packing: repository`: the declarations that matter of many files, some files whole.

With a query the passages that answer are shown, and the names of the next best files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from ..reasons import MAX_ITEMS
from .shares import CLOSE_ENOUGH_TOKENS
from .types import (
    CHARACTERS_PER_TOKEN,
    STUB_VARIANT,
    UNLIMITED,
    Cost,
    PackingStep,
    Variant,
    add_costs,
    budget_unit,
    content_variant,
    min_cost,
    subtract_costs,
)

if TYPE_CHECKING:
    from .in_order import Packer
    from .passages import PassageSource

OUTLINE_SHARE = 0.7
"""Share of the room for outlines before files are shown whole."""
DECLARED_SHARE, TOKENS_PER_FILE = 0.75, 60
"""Share of the room for declarations, the best of all files, and its tokens for each file read."""
FILE_OVERHEAD, MAX_CUTS = 30, 5
"""Tokens of a file beside its declarations, about; times that their number is put right."""
IMPORTANT_SHARE = 0.03
"""Least share of the best one's rank that important items have: tests and data mostly have less."""
PROGRAM_SHARE = 1e-4
"""The same of programs that are no tests: what they declare comes before the texts of others."""
MIN_OUTLINE_TOKENS = 100
"""Tokens that an outline may have; twice, four times as many … where all important items have room
for it."""
WHOLE_OF_LIMIT = 0.1
"""Share of the limit that a file may take to be shown whole before more files are outlined."""
MAX_OUTLINES_IN_VAIN = 8
"""Outlines without room, one after the other or not, that end the search for one with room."""
NAMES_SHARE, MAX_NAMES_TOKENS = 0.06, 400
"""Share of the room for the bare names of the next best files, and its tokens at the most, with
`repository` and a query."""
CHANGES_SHARE = 0.15
"""Share of the room for the names of the first changes where changes alone answer a query."""


def pack_repository(
    packer: Packer, step: PackingStep, limit: Cost, passages: PassageSource | None
) -> None:
    """Outline many items, the best first; show whole what has room, then outline more.

    With passages show these instead, and name the next best items.
    """
    if passages is not None:
        from .passages import pack_passages

        pack_passages(packer, step, _without_names(packer, step, limit), passages)
        if not packer.unsettled(step.walk):  # no name needs the room
            pack_passages(packer, step._replace(again=True), limit, passages)
        packer.add_stubs(step, limit)
        _lengthen_names(packer, step, limit)
        return
    walk = [i for i in step.walk if i not in packer.chosen and i not in packer.duplicate_of]
    places = packer.free_places(step)
    if not packer.show_all(walk[:places], limit) and packer.shorten:
        _pack_overview(packer, step, limit)
        if packer.free_places(step) == 0:
            packer.reasons.update(dict.fromkeys(packer.unsettled(walk), MAX_ITEMS.name))
    else:
        packer.pack(step, limit)


def _pack_overview(packer: Packer, step: PackingStep, limit: Cost) -> None:
    """Show the first items of a step by their outlines, then longer; empty ones take no room."""
    page = packer.page
    texts = ((i, content_variant(page.variants(i)).text) for i in step.walk)
    every = [i for i, text in texts if text and not text.isspace()]  # `strip` would copy each
    step = step._replace(walk=every)
    walk = [i for i in every if i not in packer.chosen and i not in packer.duplicate_of]
    if not walk:
        return
    important = programs = walk
    if step.ranks:
        second = step.ranks[every[:2][-1]]  # the first is a README's
        important = [i for i in every if step.ranks[i] >= IMPORTANT_SHARE * second]
        programs = [i for i in walk if step.ranks[i] >= PROGRAM_SHARE * second]
    most = _outline_size(limit, len(important))
    shown = _show_declarations(packer, step, programs, limit)
    shown += _show_outlines(packer, step, every[:1], limit, 1, most)
    shown += _show_outlines(packer, step, important, limit, OUTLINE_SHARE, most)
    part = WHOLE_OF_LIMIT * limit[0], WHOLE_OF_LIMIT * limit[1]
    _show_longer(packer, shown, limit, lambda i, _: page.shortener.without_shared_comment(i), part)
    shown += _show_outlines(packer, step, important, limit, 1, most)
    _show_more_declarations(packer, step, shown, limit)
    # These have their places. A comment that another one shows is not worth the room that their
    # texts lack.
    longer = [i for i in shown if packer.chosen[i] != page.shortener.without_shared_comment(i)]
    coded = [i for i in longer if page.shortener.declarations(i)]
    # The first, where it is a README, has had its share already.
    others = [i for i in longer if i != every[0] and i not in coded]
    _show_longer(packer, [*coded, *others], limit, lambda i, _: page.variants(i)[0])
    packer.pack(step._replace(walk=coded, most=None), limit)
    # Of data, such as one line of a database, a little more says all that the rest does.
    _show_longer(
        packer, others, limit, lambda i, room: page.shortener.outline_within(i, *room), part
    )
    # The text of a program says more than the names of tests.
    rest = _show_outlines(packer, step, walk, limit, 1, most)
    _show_longer(packer, rest, limit, lambda i, _: page.variants(i)[0])
    shown += rest
    packer.step_down, stepping_down = not shown, packer.step_down
    packer.pack(step, limit)
    packer.step_down = stepping_down
    packer.pack(step._replace(walk=[*others, *rest, *every[:1]], most=None), limit)


def _show_declarations(
    packer: Packer, step: PackingStep, walk: Sequence[int], limit: Cost
) -> list[int]:
    """Show of the first files the declarations that others use most; return the files.

    They are worth their file's rank and the use of their names: so a large file has its main names
    before many small ones stand there whole.
    """
    page, unit, ranks = packer.page, budget_unit(limit), step.ranks
    packer.cost = page.measure(packer.chosen)
    free = limit[unit] - packer.cost[unit]
    room = DECLARED_SHARE * free
    scale = CHARACTERS_PER_TOKEN if unit else 1
    places = packer.free_places(step)
    if not ranks or not 0 < room < UNLIMITED:
        return []
    files = list(walk[: int(room / TOKENS_PER_FILE / scale) + 1][:places])
    taken = _best_declarations(packer, step, files, room, unit)
    costs = dict[int, Cost]()
    for index, (variant, cost) in taken.items():
        if cost[0] <= packer.allowance(index) and sum(c[unit] for c in costs.values()) <= room:
            costs[index] = cost
            packer.put(index, variant, packer.cost)
    # A tree grows by each file shown: Dapper's declarations took 5,200 of 6,000 tokens, and the
    # README had no room.
    most = list(limit)
    if step.walk[0] not in packer.chosen:
        most[unit] -= WHOLE_OF_LIMIT * free + FILE_OVERHEAD * scale
    packer.take_back(costs, {index: n for n, index in enumerate(costs)}, (most[0], most[1]))
    if not costs:
        packer.cost = page.measure(packer.chosen)
    return list(costs)


def _show_more_declarations(
    packer: Packer, step: PackingStep, shown: Sequence[int], limit: Cost
) -> None:
    """Show more declarations of programs that are outlined, the best of all in the room left."""
    page, unit, chosen = packer.page, budget_unit(limit), packer.chosen
    outlined = [i for i in shown if chosen[i].name == "outline" and page.shortener.declarations(i)]
    room = limit[unit] - packer.cost[unit]
    room += sum(page.item_cost(index, chosen[index])[unit] for index in outlined)
    if step.ranks and outlined:
        taken = _best_declarations(packer, step, outlined, room, unit)
        longer = {i: v for i, (v, _) in taken.items() if len(v.text) > len(chosen[i].text)}
        packer.show_first(longer, limit)


def _best_declarations(
    packer: Packer, step: PackingStep, files: Sequence[int], room: float, unit: int
) -> dict[int, tuple[Variant, Cost]]:
    """Return the outlines of files with the best declarations that have room, and their costs."""
    page, ranks, taken = packer.page, step.ranks, dict[int, tuple[Variant, Cost]]()
    scale = CHARACTERS_PER_TOKEN if unit else 1
    ranked = [index for index in files if ranks[index] > 0]  # a changed file's diff has rank 0
    declared = (page.shortener.declarations(index, ranks[index]) for index in ranked)
    rows = sorted(chain.from_iterable(declared))
    target = room
    for _ in range(MAX_CUTS):
        least = _least_worth(rows, target / scale)
        held = rows[: bisect_right(rows, -least, key=itemgetter(0))]
        outlined = {index for _, index, _ in held}
        taken = {}
        for index in filter(outlined.__contains__, files):
            variant = page.shortener.outline_of_worth(index, least / ranks[index])
            if variant is not None:
                taken[index] = _whole_if_cheaper(packer, index, variant)
        used = sum(cost[unit] for _, cost in taken.values())
        if used <= room:
            break
        target *= 0.97 * room / used
    return taken


def _least_worth(rows: Sequence[tuple[float, int, int]], tokens: float) -> float:
    """Return the worth of the last of the best declarations that have room in so many tokens."""
    seen: set[int] = set()
    least = 0.0
    for value, index, size in rows:
        least = -value
        tokens -= size / CHARACTERS_PER_TOKEN + FILE_OVERHEAD * (index not in seen)
        seen.add(index)
        if tokens < 0:
            break
    return least


def _lengthen_names(packer: Packer, step: PackingStep, limit: Cost) -> None:
    """Show some content of the first bare names while there is room: of one file, say.

    A file that says nothing of the query stays a name.
    """
    for index in step.walk:
        if packer.chosen.get(index) != STUB_VARIANT:
            continue
        if step.ranks and not step.ranks[index]:
            return
        left = subtract_costs(limit, packer.cost)[budget_unit(limit)]
        if left <= CLOSE_ENOUGH_TOKENS or not packer.take_shortened(index, limit):
            return


def _without_names(packer: Packer, step: PackingStep, limit: Cost) -> Cost:
    """Return a limit less the room for the bare names of the next best items.

    Of a few changes all names have room: nothing else says that a file has changed.
    """
    unit = budget_unit(limit)
    most = MAX_NAMES_TOKENS * (CHARACTERS_PER_TOKEN if unit else 1)
    room = NAMES_SHARE * limit[unit]
    if step.names:
        walk = packer.unsettled(step.walk[: step.names])
        names = sum(packer.page.item_cost(index, STUB_VARIANT)[unit] for index in walk)
        room = max(room, min(names, CHANGES_SHARE * limit[unit]))
    less = [0.0, 0.0]
    less[unit] = min(room, most)
    return subtract_costs(limit, (less[0], less[1]))


def _outline_size(limit: Cost, items: int) -> float:
    unit = budget_unit(limit)
    most = MIN_OUTLINE_TOKENS * (CHARACTERS_PER_TOKEN if unit else 1)
    # Powers of two: outlines are remembered by their size, so a budget a little larger finds
    # those of the budget before.
    while 2 * most <= OUTLINE_SHARE * limit[unit] / max(1, items) < UNLIMITED:
        most *= 2
    return most


def _show_outlines(
    packer: Packer,
    step: PackingStep,
    walk: Sequence[int],
    limit: Cost,
    share: float,
    most_of_outline: float,
) -> list[int]:
    """Show the outlines of the first items, within a share of the room; return the items."""
    page, unit = packer.page, budget_unit(limit)
    packer.cost = page.measure(packer.chosen)
    room = share * (limit[unit] - packer.cost[unit])
    bounds = [UNLIMITED, UNLIMITED]
    bounds[unit] = most_of_outline
    most = list(limit)
    most[unit] = packer.cost[unit] + room
    places = packer.free_places(step)
    costs, misses = dict[int, Cost](), 0
    for index in walk:
        if misses == MAX_OUTLINES_IN_VAIN or (places is not None and len(costs) >= places):
            break
        if index in packer.chosen or index in packer.duplicate_of:
            continue
        room_for_it = list(bounds)
        if index == step.walk[0] and most_of_outline < WHOLE_OF_LIMIT * limit[unit] < UNLIMITED:
            most_of_first = max(0.9 * room, most_of_outline)
            room_for_it[unit] = min(WHOLE_OF_LIMIT * limit[unit], most_of_first)
        variant = _outline_within(packer, index, (room_for_it[0], room_for_it[1]))
        if variant is None:
            continue
        variant, cost = _whole_if_cheaper(packer, index, variant)
        # An outline that is too long says little of the next one: some misses are let pass.
        if cost[unit] > room or cost[0] > packer.allowance(index):
            misses += 1
            if places is not None:  # the first ones have the places
                break
            continue
        room -= cost[unit]
        costs[index] = cost
        packer.put(index, variant, packer.cost)
    packer.take_back(costs, {index: n for n, index in enumerate(costs)}, (most[0], most[1]))
    if not costs:
        packer.cost = page.measure(packer.chosen)
    return list(costs)


def _outline_within(packer: Packer, index: int, room: Cost) -> Variant | None:
    page, unit = packer.page, budget_unit(room)
    rows = page.shortener.declarations(index)
    if not rows or not room[unit] < UNLIMITED:
        return page.shortener.outline_within(index, room[0], room[1])
    scale = CHARACTERS_PER_TOKEN if unit else 1
    return page.shortener.outline_of_worth(index, _least_worth(rows, room[unit] / scale))


def _whole_if_cheaper(packer: Packer, index: int, outline: Variant) -> tuple[Variant, Cost]:
    """Return an outline, or the whole text where it costs no more: an outline has marks."""
    page = packer.page
    cost = page.item_cost(index, outline)
    whole = content_variant(page.variants(index))
    whole_cost = page.cost_within(index, whole, cost)
    if whole_cost is not None:
        holder, held = page.duplicates(index, packer.chosen)
        if holder is None and not held:
            return whole, whole_cost
    return outline, cost


def _show_longer(
    packer: Packer,
    items: Sequence[int],
    limit: Cost,
    find: Callable[[int, Cost], Variant | None],
    most: Cost = (UNLIMITED, UNLIMITED),
) -> None:
    """Show the longer variants that `find` gives for outlined items, where these have room.

    No item has more than `most`. The page is measured once, or by halves.
    """
    page = packer.page
    longer: dict[int, Variant] = {}
    left = subtract_costs(limit, packer.cost)
    for index in items:
        before = packer.chosen[index]
        freed = page.item_cost(index, before)
        room = min_cost(add_costs(left, freed), most)
        variant = find(index, room)
        if variant is None or len(variant.text) <= len(before.text):
            continue
        cost = page.cost_within(index, variant, room)
        if cost is None or cost[0] > packer.allowance(index):
            continue
        holder, held = page.duplicates(index, packer.chosen)
        if holder is None and not held:
            longer[index] = variant
            left = subtract_costs(left, subtract_costs(cost, freed))
    # Costs only roughly add up: the least important ones go until the measured page fits.
    packer.show_first(longer, limit)
