"""Pack items into a budget: choose them and a variant of each. Arithmetic over costs alone.

Some packings choose among all items; others keep a fixed set with every attribution, and shorten
all of it together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..reasons import BUDGET, MAX_ITEMS, SECTION_BUDGET
from ..text.words import late_property
from .in_order import NO_SECTION_LIMITS, Packer
from .shares import CLOSE_ENOUGH_TOKENS, MAX_LENGTHENED_IN_VAIN, Shares
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

Packing = Literal[
    "score",
    "value",
    "even",
    "longest_first",
    "drop_last",
    "drop_first",
    "whole",
    "stop",
    "repository",
]

BEST_FIRST_PACKINGS = frozenset({"score", "value", "repository"})
"""Packings that do not walk the page, or the caller's list, from its beginning."""
FIXED_SET_PACKINGS = frozenset({"even", "longest_first", "drop_last", "drop_first"})
"""Packings of a fixed set: they walk the caller's list, and each limited section is a step."""


MAX_SHARED_COST = 4
"""Tokens, or characters, that the end of an item may share with the page around it."""


MAX_WHOLE_IN_VAIN = 8
"""Pages measured with an item whole that costs too much so, after which no other is tried."""
MAX_JOINS = 4
"""Times that chosen items are joined and the room that this leaves is filled."""


class Reasons(Mapping[int, str]):
    """The reason of every item of the steps that is not chosen: `budget` if no other was found.

    Of a hundred thousand items the mapping itself is made only when somebody asks for it.
    """

    def __init__(
        self,
        walks: Sequence[Sequence[int]],
        chosen: Mapping[int, Variant],
        found: Mapping[int, str],
    ) -> None:
        self.walks, self._chosen = walks, chosen
        self.found = {i: reason for i, reason in found.items() if i not in chosen}
        """The reasons that were found on the way."""

    @late_property
    def _all(self) -> dict[int, str]:
        every = (index for walk in self.walks for index in walk)
        reasons = {**dict.fromkeys(every, BUDGET.name), **self.found}
        for index in self._chosen:  # beyond the share of its step, but taken by a later one
            reasons.pop(index, None)
        return reasons

    def __getitem__(self, index: int) -> str:
        return self.found.get(index) or self._all[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._all)

    @late_property
    def _length(self) -> int:
        if len(self.walks) == 1:
            return len(self.walks[0]) - len(self._chosen)
        return len(self._all)

    def __len__(self) -> int:
        return self._length


class Plan(NamedTuple):
    """The shown items, and why the rest is not shown. Nothing changes a plan once it is made."""

    page: PackablePage
    """The page that the items stand on; ranges that were joined are one item there."""
    chosen: Mapping[int, Variant]
    reasons: Reasons
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
    packing: Packing = "score",
    trim: bool = True,
    stubs: bool = False,
    section_limits: SectionLimits | None = None,
    passages: PassageSource | None = None,
) -> Plan:
    """Choose items of `steps` and their variants, so that the page costs at most `limit`.

    `packing` is one of:

    - `score`: best first; shorten (with `trim`) an item that does not fit, go on to smaller ones
    - `value`: the set that is worth most together
    - `whole`: like `score`, but nothing is shortened; `stop`: and the first misfit ends it
    - `even`: shorten all by one share; `longest_first`: the longest first; both keep
      every attribution
    - `drop_last`: drop from the end of the list; `drop_first`: from its beginning, the oldest
    - `repository`: outlines of as many items as most of the room holds, the best first; then
      items whole, and longer outlines; with `passages` these, and names of the next best items

    `stubs`: show the attribution of an item that fits in no other variant. `passages`: with
    `score` and no limited section, show of each item the passages that answer the query.

    Raises `BudgetError` when a required item does not fit.
    """
    limits = section_limits or NO_SECTION_LIMITS
    packer = _make_packer(page, limit, packing, trim, limits)
    beside_stubs = stubs and packing in ("score", "value") and passages is None and not limits.most
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
        if beside and _pack_beside_stubs(packer, step, step_limit, packing):
            packer.turns.end(step, packer.cost, step_limit)
            continue
        rest = _pack_step(packer, step, step_limit, packing, passages)
        if stubs:
            packer.add_stubs(step, step_limit)
        packer.turns.end(step, packer.cost, step_limit)
        if step.share == 1 and step.room is None:  # else it has had its share, or its room
            again.append(rest)
    packer.limit_sections(limits)  # a fixed set has kept them as the room of a step
    _join(packer, again, packing, stubs)
    if _show_whole(packer):
        packer.join_touching()
    if not packer.chosen:
        packer.cost = packer.page.measure({})
    reasons = Reasons(walks, packer.chosen, packer.reasons)
    overhead_fits = fits_within(packer.cost, limit)
    decided = packer.chosen, reasons, packer.duplicate_of, packer.cost, packer.turns
    return Plan(packer.page, *decided, overhead_fits)


def _make_packer(
    page: PackablePage, limit: Cost, packing: Packing, trim: bool, limits: SectionLimits
) -> Packer:
    whole_only = packing in ("whole", "stop")
    return Packer(
        page,
        limit,
        shorten=trim and not whole_only,
        step_down=not whole_only,
        first_only=packing == "stop",
        section_limits=NO_SECTION_LIMITS if packing in FIXED_SET_PACKINGS else limits,
    )


def _pack_step(
    packer: Packer, step: PackingStep, limit: Cost, packing: Packing, passages: PassageSource | None
) -> PackingStep:
    """Pack a step; return it as what is left of it may be packed again."""
    if step.named:
        from .named import pack_named

        return pack_named(packer, step, limit, passages)
    if packing in FIXED_SET_PACKINGS:
        _pack_fixed_set(packer, step, limit, packing)
    elif packing == "repository":
        from .overview import pack_repository

        pack_repository(packer, step, limit, passages)
    elif packing == "value":
        from .value import pack_most_worth

        return pack_most_worth(packer, step, limit)
    elif passages is not None:
        from .passages import pack_passages

        pack_passages(packer, step, limit, passages)
    else:
        packer.pack(step, limit)
    return step


def _join(packer: Packer, steps: Sequence[PackingStep], packing: Packing, stubs: bool) -> None:
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
            if packing in FIXED_SET_PACKINGS:
                _lengthen(packer, step, packing)
            elif packing == "value":
                from .value import fill_with_best

                fill_with_best(packer, step, packer.limit)
            else:
                packer.pack(step, packer.limit)
            if stubs:
                packer.add_stubs(step, packer.limit)
    packer.join_touching()


def _pack_beside_stubs(packer: Packer, step: PackingStep, limit: Cost, packing: Packing) -> bool:
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
    if packing == "value" and packer.show_all(walk, limit):
        return True
    if not fits_within(page.measure({**packer.chosen, **stubs}), limit):
        return False
    # Twice: what was chosen at first needs no attribution beside it.
    for _ in range(2):
        reserved = ZERO_COST
        for index in packer.unsettled(walk):
            reserved = add_costs(reserved, page.item_cost(index, STUB_VARIANT))
        _pack_step(packer, step, subtract_costs(limit, reserved), packing, None)
    # Separators and headings were not in the sum: the last ones give way.
    while not packer.show(dict.fromkeys(packer.unsettled(walk), STUB_VARIANT), limit):
        packer.drop(next(index for index in reversed(packer.chosen) if index in stubs), BUDGET.name)
    _lengthen_stubs(packer, walk, limit)
    return True


def _lengthen_stubs(packer: Packer, walk: Sequence[int], limit: Cost) -> None:
    """Show the first items longer that are attributions alone, while there is room."""
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


def _lengthen(packer: Packer, step: PackingStep, packing: Packing) -> None:
    """Show items of a fixed set longer, in their order, while there is room."""
    limit = packer.limit
    for index in reversed(step.walk) if packing == "drop_first" else step.walk:
        variant = packer.chosen.get(index)
        if index in packer.duplicate_of or variant == packer.page.variants(index)[0]:
            continue
        dropped = variant is None and packer.reasons.get(index, BUDGET.name) == BUDGET.name
        if variant is None and not (dropped and packing in ("drop_last", "drop_first")):
            continue
        longer = packer.take_whole(index, limit) or packer.take_shortened(index, limit)
        left = subtract_costs(limit, packer.cost)[budget_unit(limit)]
        if left <= CLOSE_ENOUGH_TOKENS or not (longer or variant):
            return


# --- a fixed set: every attribution stays ---------------------------------------------------------


def _pack_fixed_set(packer: Packer, step: PackingStep, limit: Cost, packing: Packing) -> None:
    walk = list(step.walk)
    if not step.again:
        walk = [index for index in walk if index not in packer.chosen]
    free = packer.free_places(step)
    if free is not None:
        packer.drop_all(dict.fromkeys(walk[free:], MAX_ITEMS.name))
        walk = walk[:free]
    if packing == "drop_first":
        walk.reverse()
    if packing in ("drop_last", "drop_first") or not packer.shorten:
        pack_drop_last(packer, walk, limit, again=step.again)
    else:
        longest_first = packing == "longest_first"
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
            packer.drop(index, BUDGET.name)
        has_room = False
