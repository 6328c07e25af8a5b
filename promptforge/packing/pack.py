"""Pack items into a budget: choose them and a variant of each. Arithmetic over costs alone.

Some packings choose among all items; others keep a fixed set with every attribution, and shorten
all of it together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ..reasons import BUDGET
from .in_order import NO_SECTION_LIMITS, Packer
from .packings import PACKINGS, Packing
from .shares import CLOSE_ENOUGH_TOKENS, MAX_LENGTHENED_IN_VAIN
from .turns import Turns
from .types import (
    STUB_VARIANT,
    UNLIMITED,
    ZERO_COST,
    Cost,
    PackablePage,
    PackingStep,
    SectionLimits,
    Variant,
    add_costs,
    budget_unit,
    content_variant,
    fits_within,
    subtract_costs,
)

if TYPE_CHECKING:
    from .passages import PassageSource

MAX_SHARED_COST = 4
"""Tokens, or characters, that the end of an item may share with the page around it."""
MAX_WHOLE_IN_VAIN = 8
"""Pages measured with an item whole that costs too much so, after which no other is tried."""
MAX_JOINS = 4
"""Times that chosen items are joined and the room that this leaves is filled."""


class Plan(NamedTuple):
    """The shown items, and why the rest is not shown. Nothing changes a plan once it is made."""

    page: PackablePage
    """The page that the items stand on; ranges that were joined are one item there."""
    chosen: Mapping[int, Variant]
    walks: Sequence[Sequence[int]]
    """The items of each step, in the order of packing."""
    reasons: Mapping[int, str]
    """Dropped item → `budget`, `section_budget`, `max_items`, `duplicate` or `merged`."""
    duplicates: Mapping[int, int]
    """Duplicate → the chosen item that contains its text; a merged one → the range it is in."""
    cost: Cost
    turns: Turns
    """Each change of the page, and the turn of each item without room."""
    overhead_fits: bool
    """False where even the page without items exceeds the limit: then nothing is printed."""


def pack(  # noqa: PLR0913  these are the options of packing
    steps: Iterable[PackingStep],
    page: PackablePage,
    limit: Cost,
    *,
    packing: str = "score",
    trim: bool = True,
    stubs: bool = False,
    section_limits: SectionLimits | None = None,
    passages: PassageSource | None = None,
) -> Plan:
    """Choose items of `steps` and their variants, so that the page costs at most `limit`.

    `packing` is one of `PACKINGS`.
    `stubs`: show the attribution of an item that fits in no other variant. `passages`: with
    `score` and no limited section, show of each item the passages that answer the query.

    Raises `BudgetError` when a required item does not fit.
    """
    limits = section_limits or NO_SECTION_LIMITS
    way = PACKINGS[packing]
    packer = _make_packer(page, limit, way, trim, limits)
    beside_stubs = stubs and way.beside_stubs and passages is None and not limits.most
    if limits.most:
        passages = None
    walks: list[Sequence[int]] = []
    again: list[PackingStep] = []
    for step in steps:
        walks.append(step.walk)
        step_limit = packer.step_limit(step)
        if step.required:
            packer.require(step.walk)
            continue
        beside = beside_stubs and not step.named
        if beside and _pack_beside_stubs(packer, step, step_limit, way):
            packer.turns.end(step, packer.cost, step_limit)
            continue
        rest = _pack_step(packer, step, step_limit, way, passages)
        if stubs:
            packer.add_stubs(step, step_limit)
        packer.turns.end(step, packer.cost, step_limit)
        if step.share == 1 and step.room is None:  # else it has had its share, or its room
            again.append(rest)
    packer.limit_sections(limits)  # a fixed set has kept them as the room of a step
    _join(packer, again, way, stubs)
    if _show_whole(packer):
        packer.join_touching()
    return _plan(packer, walks)


def _plan(packer: Packer, walks: Sequence[Sequence[int]]) -> Plan:
    if not packer.chosen:
        packer.cost = packer.page.measure({})
    every = {**dict.fromkeys(chain.from_iterable(walks), BUDGET.name), **packer.reasons}
    # An item beyond the share of its step may be taken by a later one.
    reasons = {i: reason for i, reason in every.items() if i not in packer.chosen}
    overhead_fits = fits_within(packer.cost, packer.limit)
    decided = packer.chosen, walks, reasons, packer.duplicate_of, packer.cost, packer.turns
    return Plan(packer.page, *decided, overhead_fits)


def _make_packer(
    page: PackablePage, limit: Cost, way: Packing, trim: bool, limits: SectionLimits
) -> Packer:
    return Packer(
        page,
        limit,
        shorten=trim and way.shortens,
        step_down=way.shortens,
        first_only=way.stops,
        section_limits=NO_SECTION_LIMITS if way.fixed_set else limits,
    )


def _pack_step(
    packer: Packer, step: PackingStep, limit: Cost, way: Packing, passages: PassageSource | None
) -> PackingStep:
    if step.named:
        from .named import pack_named

        return pack_named(packer, step, limit, passages)
    if step.names and passages is not None:
        way = PACKINGS["repository"]
    return way.pack(packer, step, limit, passages)


def _join(packer: Packer, steps: Sequence[PackingStep], way: Packing, stubs: bool) -> None:
    """Join chosen items that touch; fill the room that this leaves, which may join more.

    Nothing is taken off the page: so joining never lowers the worth that is shown.
    """
    for _ in range(MAX_JOINS):
        if not packer.join_touching():
            return
        left = subtract_costs(packer.limit, packer.cost)
        if left[budget_unit(packer.limit)] <= CLOSE_ENOUGH_TOKENS:
            return
        packer.stopped = False
        for step in steps:
            walk = step.walk[::-1] if way.from_end else step.walk
            packer.pack(step._replace(walk=walk), packer.limit)
            if stubs:
                packer.add_stubs(step, packer.limit)
    packer.join_touching()


def _pack_beside_stubs(packer: Packer, step: PackingStep, limit: Cost, way: Packing) -> bool:
    """Pack into the room that the attributions of all items leave; False if these do not fit."""
    page, walk = packer.page, packer.unsettled(step.walk[:])
    packer.clear(walk, step.again)
    places = packer.free_places(step)
    stubs = dict.fromkeys(walk, STUB_VARIANT)
    # The page lacks the line end after the last one.
    room = add_costs(limit, (0, MAX_SHARED_COST))
    if places is not None and places < len(walk):
        return False
    if packer.count_fitting(stubs.items(), room) < len(walk):
        return False
    if way.together and packer.show_all(walk, limit):
        return True
    if not fits_within(page.measure({**packer.chosen, **stubs}), limit):
        return False
    # Twice: what was chosen at first needs no attribution beside it.
    for _ in range(2):
        reserved = ZERO_COST
        for index in packer.unsettled(walk):
            reserved = add_costs(reserved, page.item_cost(index, STUB_VARIANT))
        _pack_step(packer, step, subtract_costs(limit, reserved), way, None)
    # Separators and headings were not in the sum: the last ones give way.
    while not packer.show(dict.fromkeys(packer.unsettled(walk), STUB_VARIANT), limit):
        last = next(index for index in reversed(packer.chosen) if index in stubs)
        packer.drop_all({last: BUDGET.name})
    _lengthen_stubs(packer, walk, limit)
    return True


def _lengthen_stubs(packer: Packer, walk: Sequence[int], limit: Cost) -> None:
    misses = 0
    for index in walk:
        if misses == MAX_LENGTHENED_IN_VAIN:
            break
        if packer.chosen.get(index) == STUB_VARIANT:
            misses += not packer.take_shorter(index, limit)


def _show_whole(packer: Packer) -> bool:
    """Show whole what costs no more so on this page; True where something changed.

    Alone, a shortened text may cost less: by the line end after the last item, or by a token that
    two parts share.
    """
    page, changed, misses = packer.page, False, 0
    for index, variant in list(packer.chosen.items()):
        if variant.name not in ("trimmed", "outline") or misses == MAX_WHOLE_IN_VAIN:
            continue
        whole, shown = content_variant(page.variants(index)), page.item_cost(index, variant)
        # Cheap tests first: of a text of many megabytes no whole one is rendered.
        may_cost_less = len(whole.text) <= shown[1] + MAX_SHARED_COST
        if not may_cost_less and packer.limit[0] < UNLIMITED:
            room = shown[0] + MAX_SHARED_COST, UNLIMITED
            may_cost_less = page.may_fit(index, whole, room)
        if not may_cost_less or page.item_cost(index, whole)[0] > packer.allowance(index):
            continue
        holder, held = page.duplicates(index, packer.chosen)
        if holder is not None or held:
            continue
        cost = page.measure({**packer.chosen, index: whole})
        is_cheaper = cost[0] <= packer.cost[0] or cost[1] <= packer.cost[1]
        if is_cheaper and fits_within(cost, packer.limit):
            packer.put(index, whole, cost)
            changed = True
        else:
            misses += 1
    return changed
