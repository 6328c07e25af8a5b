"""Fill a page in order: take items that fit whole, shorten others, go on to smaller ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, filterfalse, takewhile

from ..reasons import BUDGET, BUDGET_REASONS, DUPLICATE, MAX_ITEMS, MERGED, SECTION_BUDGET
from .turns import Turns
from .types import (
    CHARACTERS_PER_TOKEN,
    SHORTENED_VARIANTS,
    STUB_VARIANT,
    UNLIMITED,
    ZERO_COST,
    Cost,
    PackablePage,
    PackingStep,
    SectionLimits,
    Variant,
    add_costs,
    content_variant,
    fits_within,
    over_budget_error,
    subtract_costs,
)

MAX_FAILED_PAGES = 32
"""Pages measured in vain before items that cost no less than a failed one are passed over."""

MAX_CHARS_PER_TOKEN = 8
"""Characters of a token, at the most or so: an outline that lacks more is not measured anew."""

ITEMS_LOOKED_AT = 64
"""Items looked at together once the page is nearly full; then twice as many, and so on."""

MAX_ITEMS_COMPACTED = 200
"""Items that are made compact together where they have no room whole."""
MAX_TIMES_ROOM = 4
"""Of items that need more than so many times the room, none is looked for in another one."""

NO_SECTION_LIMITS = SectionLimits({}, {})
"""No section has a maximum."""


class PageState:
    """The items on a page, its cost, and the reason of every item that is not on it.

    The costs of items only roughly add up to the page's: they guide, and the measure decides.
    """

    def __init__(self, page: PackablePage, limit: Cost, section_limits: SectionLimits) -> None:
        self.page = page
        self.limit = limit
        self.chosen: dict[int, Variant] = {}
        self.reasons: dict[int, str] = {}
        self.duplicate_of: dict[int, int] = {}
        self.cost: Cost = ZERO_COST
        self.turns = Turns()
        self.limit_sections(section_limits)

    def limit_sections(self, section_limits: SectionLimits) -> None:
        """Hold sections to these maxima from now on; what is shown counts."""
        self._section_limits = section_limits
        self._spent = self._section_costs(self.chosen)

    def put(self, index: int, variant: Variant, cost: Cost) -> None:
        """Show an item in a variant; the page then costs `cost`."""
        self.remove(index)
        self.chosen[index], self.cost = variant, cost
        self.page.note_shown(index, variant)
        self.turns.changes.append((index, variant))
        self.reasons.pop(index, None)
        self._add_to_section(index, variant, 1)

    def remove(self, index: int) -> None:
        """Take an item off the page. The page's cost is then unknown."""
        variant = self.chosen.pop(index, None)
        if variant is not None:
            self.turns.changes.append((index, None))
            self._add_to_section(index, variant, -1)

    def drop_all(self, reasons: Mapping[int, str]) -> None:
        """Drop items for their reasons, and with them the duplicates they stood for."""
        for index in reasons.keys() & self.chosen.keys():
            self.remove(index)
        self.reasons |= reasons
        held = [d for d, holder in self.duplicate_of.items() if holder in reasons]
        for duplicate in held:
            self.reasons[duplicate] = reasons[self.duplicate_of.pop(duplicate)]

    def drop_duplicate(self, index: int, holder: int) -> None:
        """Drop an item that `holder` contains; its own duplicates are then those of `holder`."""
        self.remove(index)
        self.reasons[index] = DUPLICATE.name
        # A was within B, and now B is within C: so A is within C.
        held = [d for d, h in self.duplicate_of.items() if h == index]
        self.duplicate_of |= dict.fromkeys(held, holder)
        self.duplicate_of[index] = holder

    def drop_duplicates(self, holders: Mapping[int, int]) -> None:
        """Drop items that others contain, each with its holder."""
        for index, holder in holders.items():
            self.drop_duplicate(index, holder)

    def join_touching(self) -> bool:
        """Show chosen ranges that touch as one; True where that costs less or shows more.

        It never shows less, and costs more only where a shortened range is whole in the joined one.
        """
        whole = [i for i, v in self.chosen.items() if v.name == "content" and not v.cut]
        # A range within a chosen one was dropped as its duplicate: it is a part of it now.
        held, shown = self.duplicate_of.items(), set(whole)
        whole += [i for i, other in held if other in shown and self.page.is_within(i, other)]
        short = [i for i, v in self.chosen.items() if v.name in SHORTENED_VARIANTS]
        # Without its heading, the one that had no room may have some.
        if len(short) == 1 and self._join([*whole, *short], self.limit):
            return True
        return self._join(whole, self.cost)

    def _join(self, items: Sequence[int], limit: Cost) -> bool:
        """Show those of these items that touch as one, if the page costs at most `limit`."""
        before = self.cost
        page, joined = self.page.join(items)
        if not joined:
            return False
        # Only measuring tells whether the joined ranges cost less.
        members = {index for each in joined for index in each.members}
        chosen = {index: v for index, v in self.chosen.items() if index not in members}
        chosen |= {each.members[0]: each.variant for each in joined}
        cost = page.measure(chosen)
        fits = fits_within(cost, limit) and fits_within(cost, self.limit)
        # A shortened range is whole in the joined one: its section may have no room for that.
        if not (fits and self._sections_hold(chosen, page)):
            return False
        self.page = page
        self._spent = self._section_costs(self.chosen)
        for (first, *others), variant in joined:
            for index in others:
                self.drop_duplicate(index, first)
                self.reasons[index] = MERGED.name
            self.duplicate_of.pop(first, None)
            self.put(first, variant, cost)
            # Two halves of a file, joined, may hold a third text.
            held = page.duplicates(first, self.chosen)[1]
            self.drop_duplicates(dict.fromkeys(held, first))
        self.cost = page.measure(self.chosen)
        self._spent = self._section_costs(self.chosen)
        return self.cost != before

    def _section_costs(
        self, chosen: Mapping[int, Variant], page: PackablePage | None = None
    ) -> dict[str, float]:
        page = page or self.page
        costs = dict.fromkeys(self._section_limits.most, 0.0)
        for index, variant in chosen.items() if costs else ():
            section = self._section_limits.section.get(index)
            if section is not None:
                costs[section] += page.item_cost(index, variant)[0]
        return costs

    def _sections_hold(self, chosen: Mapping[int, Variant], page: PackablePage) -> bool:
        most, spent = self._section_limits.most, self._spent
        costs = self._section_costs(chosen, page)
        return all(cost <= max(most[name], spent[name]) for name, cost in costs.items())

    def _add_to_section(self, index: int, variant: Variant, sign: int) -> None:
        section = self._section_limits.section.get(index)
        if section is not None:
            self._spent[section] += sign * self.page.item_cost(index, variant)[0]

    def allowance(self, index: int) -> float:
        """Return the tokens that the item's section leaves for it."""
        section = self._section_limits.section.get(index)
        if section is None:
            return UNLIMITED
        left = self._section_limits.most[section] - self._spent[section]
        variant = self.chosen.get(index)
        return left if variant is None else left + self.page.item_cost(index, variant)[0]

    def free_places(self, step: PackingStep) -> int | None:
        """Return how many more items of a step may be shown; None: all.

        An item shown anew takes no new place.
        """
        if step.most is None or step.again:
            return step.most
        return max(0, step.most - sum(index in self.chosen for index in step.walk))

    # --- many at once -----------------------------------------------------------------------------

    def clear(self, walk: Sequence[int], again: bool) -> None:
        """Measure the page; with `again`, first take those of `walk` off that are on it."""
        before = [i for i in walk if i in self.chosen]
        for index in before if again else ():
            self.remove(index)
        if before or not self.chosen:
            self.cost = self.page.measure(self.chosen)

    def unsettled(self, walk: Sequence[int]) -> list[int]:
        """Return those of `walk` that are neither shown nor duplicates."""
        if not self.chosen and not self.duplicate_of:
            return list(walk)
        return [i for i in walk if i not in self.chosen and i not in self.duplicate_of]

    def distinct(
        self, walk: Sequence[int], limit: Cost | None = None
    ) -> tuple[dict[int, Variant], dict[int, int]]:
        """Return the longest variants of `walk` without duplicates, and each duplicate's holder.

        With `limit`, only of the first items that may fit together. Items shown by an earlier step
        stay as they are and are left out.
        """
        beside = dict(self.chosen)
        found: dict[int, Variant] = {}
        duplicate_of: dict[int, int] = {}
        room = subtract_costs(limit, self.cost) if limit else None
        for index in self.unsettled(walk):
            whole = self.page.variants(index)[0]
            left = None if room is None else self._room_after(index, whole, room)
            if room is not None and left is None:
                break
            holder, held = self.page.duplicates(index, beside)
            if holder is not None:
                duplicate_of[index] = holder
                continue
            room = left
            for other in held:
                variant = found.pop(other, None)
                if variant is not None:
                    del beside[other]
                    duplicate_of[other] = index
                    if room is not None:
                        room = add_costs(room, self.page.item_cost(other, variant))
            found[index] = beside[index] = whole
            self.page.note_shown(index, whole)
        return found, duplicate_of

    def surely_exceed(self, walk: Sequence[int], room: Cost) -> bool:
        """Return True where bounds show that these need more, without those that others contain."""
        page = self.page
        wide = MAX_TIMES_ROOM * room[0], MAX_TIMES_ROOM * room[1]
        if page.exceed(walk, wide):
            return True
        return page.exceed(walk, room) and page.exceed(self.distinct(walk)[0], room)

    def contained(self, shown: Mapping[int, Variant]) -> dict[int, int]:
        """Return those of `shown` that another one contains, which is whole; with their holders."""
        left = {**self.chosen, **shown}
        whole = [v.text for v in left.values() if v.name in ("content", "expanded") and not v.cut]
        longest = max(map(len, whole), default=-1)
        # Most of a set that is shortened is longer than what is whole of it: no look at its lines.
        short = [i for i in shown if len(content_variant(self.page.variants(i)).text) <= longest]
        for index in short:
            self.page.duplicates(index, {})  # so that each is known before the first is judged
            self.page.note_shown(index, shown[index])
        found: dict[int, int] = {}
        for index in short:
            variant = left.pop(index)
            holder = self.page.duplicates(index, left)[0]
            if holder is None:
                left[index] = variant
            else:
                found[index] = holder
        return found

    def _room_after(self, index: int, variant: Variant, room: Cost) -> Cost | None:
        """Return the room that an item leaves, at its least on the page; None: it has none."""
        spare = (self.page.shared_end_tokens, 0)
        if not self.page.may_fit(index, variant, add_costs(room, spare)):
            return None
        left = add_costs(subtract_costs(room, self.page.item_cost(index, variant)), spare)
        return left if min(left) >= 0 else None

    def count_fitting(self, variants: Iterable[tuple[int, Variant]], limit: Cost) -> int:
        """Return how many of these, from the first, may fit together, by their lowest cost."""
        room, count = subtract_costs(limit, self.cost), 0
        for index, variant in variants:
            left = self._room_after(index, variant, room)
            if left is None:
                break
            room, count = left, count + 1
        return count

    def show(self, variants: Mapping[int, Variant], limit: Cost) -> bool:
        """Show all of these if they and their sections keep the limits."""
        if self._section_limits.most and not self._sections_allow(variants):
            return False
        cost = self.page.measure({**self.chosen, **variants})
        if not fits_within(cost, limit):
            return False
        for index, variant in variants.items():
            self.put(index, variant, cost)
        return True

    def show_first(self, variants: Mapping[int, Variant], limit: Cost) -> int:
        """Show the first of these that have room together, found by halves; return their number."""
        members, low, high = list(variants.items()), 0, len(variants)
        count = high
        while low < high:
            if self.show(dict(members[:count]), limit):
                low = count
            else:
                high = count - 1
            count = (low + high + 1) // 2
        return low

    def _sections_allow(self, variants: Mapping[int, Variant]) -> bool:
        spent, most = dict(self._spent), self._section_limits.most
        for index, variant in variants.items():
            section = self._section_limits.section.get(index)
            if section is not None:
                before = self.chosen.get(index)
                spent[section] += self.page.item_cost(index, variant)[0]
                spent[section] -= self.page.item_cost(index, before)[0] if before else 0
        return all(spent[name] <= max(most[name], self._spent[name]) for name in most)

    def show_all(self, walk: Sequence[int], limit: Cost, again: bool = False) -> bool:
        """Show all of these whole, duplicates dropped, if they fit."""
        variants = self.page.variants
        wanted = [i for i in walk if i not in self.duplicate_of and (again or i not in self.chosen)]
        if all(self.chosen.get(i) == variants(i)[0] for i in wanted):
            return True
        room = limit
        for index in self.chosen.keys() & wanted:  # shown anew, they give back their cost
            room = add_costs(room, self.page.item_cost(index, self.chosen[index]))
        left = subtract_costs(room, self.cost)
        if self.surely_exceed(wanted, left):  # of a thousand items none is rendered to see it
            return False
        alone: Collection[int] = wanted
        if not again:
            found, duplicate_of = self.distinct(walk)
            alone = found
        if self.count_fitting(((i, variants(i)[0]) for i in alone), room) < len(alone):
            return False
        if self.chosen:  # else no page is printed for it: a template may want an item
            self.clear(walk, again)
        if again:
            found, duplicate_of = self.distinct(walk)
        shown = self.show(found, limit)
        if shown:
            self.drop_duplicates(duplicate_of)
        return shown


class Packer(PageState):
    """A page that takes items one by one.

    For an item that does not fit whole: `shorten` cuts it, `step_down` tries its summary, and
    `first_only` ends the packing.
    """

    def __init__(
        self,
        page: PackablePage,
        limit: Cost,
        *,
        shorten: bool = True,
        step_down: bool = True,
        first_only: bool = False,
        section_limits: SectionLimits = NO_SECTION_LIMITS,
    ) -> None:
        super().__init__(page, limit, section_limits)
        self.shorten = shorten
        self.step_down = step_down
        self.first_only = first_only
        self.stopped = False
        # Pages measured in vain since the last item was taken, and the least cost among them.
        self._failed_pages = 0
        self._failed_cost: float = 0
        # Items for which no shorter variant was found since the last item was taken.
        self._misses = 0
        self._hopeless: Collection[int] = ()
        """Those of the queue that surely have no room, where nothing is shortened."""

    def step_limit(self, step: PackingStep) -> Cost:
        """Return the most the page may cost after a step; ask before the step begins."""
        limit = self.limit
        if step.room is not None and not self.chosen:
            self.cost = self.page.measure({})
        if step.share < 1:
            limit = (_share(limit[0], step.share), _share(limit[1], step.share))
        if step.room is not None:
            limit = (min(limit[0], self.cost[0] + step.room), limit[1])
        return limit

    def require(self, walk: Sequence[int]) -> None:
        """Show all of these whole. Raises `BudgetError`."""
        if not walk:
            return
        for index in walk:
            self.put(index, content_variant(self.page.variants(index)), self.cost)
        self.cost = self.page.measure(self.chosen)
        if not fits_within(self.cost, self.limit):
            way_out = "raise it or require less"
            raise over_budget_error("the required items need", self.cost, self.limit, way_out)

    def pack(self, step: PackingStep, limit: Cost) -> None:
        """Take the items of a step that fit."""
        walk = step.walk
        if self.chosen or self.duplicate_of:
            walk = [i for i in walk if i not in self.duplicate_of and self._may_grow(i)]
        if self.reasons:
            for index in self.reasons.keys() & walk:  # reasons of an earlier step
                del self.reasons[index]
        places = self.free_places(step)
        seen = self.take_front(walk, limit, places)
        may_hold_all = seen < len(walk) and (places is None or places >= len(walk))
        if not (may_hold_all and self._show_compact(walk, limit)):
            self.take_rest(walk, limit, step, seen)

    def show_all(self, walk: Sequence[int], limit: Cost, again: bool = False) -> bool:
        """Show all of these whole, else some of them compact, duplicates dropped, if they fit."""
        return super().show_all(walk, limit, again) or self._show_compact(walk, limit)

    def _show_compact(self, walk: Sequence[int], limit: Cost) -> bool:
        if not self.shorten or len(walk) > MAX_ITEMS_COMPACTED:
            return False
        chars = min(CHARACTERS_PER_TOKEN * limit[0], limit[1])
        found, duplicate_of = self.distinct(walk)
        found |= {index: self.chosen[index] for index in walk if index in self.chosen}
        shown: dict[int, Variant] = {}
        room = MAX_TIMES_ROOM * chars
        for index, variant in found.items():  # a hundred tables of JSON, and room for one
            shown[index] = self.page.shortener.compact(index, chars) or variant
            room -= len(shown[index].text)
            if room < 0:
                return False
        if shown == found or not self.show(shown, limit):
            return False
        self.drop_duplicates(duplicate_of)
        return True

    def _may_grow(self, index: int) -> bool:
        variant = self.chosen.get(index)
        if variant is None or variant.name in (*SHORTENED_VARIANTS, "compact"):
            return True
        # Within its share the content alone had room; what the other side left is for `expanded`.
        return variant.name == "content" and self.page.variants(index)[0].name == "expanded"

    # --- the front: by the sum of costs, measured once --------------------------------------------

    def take_front(self, walk: Sequence[int], limit: Cost, max_items: int | None) -> int:
        """Take items from the front of `walk` while their costs add up to less than the room.

        The page is measured once at the end instead of once an item. Returns the number seen.
        """
        if self.stopped:
            return 0
        page, spent = self.page, self.cost
        costs: dict[int, Cost] = {}
        places: dict[int, int] = {}
        seen = 0
        for index in walk:
            if index in self.chosen or (max_items is not None and len(costs) >= max_items):
                break
            variant = page.variants(index)[0]
            room = subtract_costs(limit, spent)
            cost = page.cost_within(index, variant, room)
            if cost is None or cost[0] > self.allowance(index):
                break
            places[index] = seen
            seen += 1
            holder, held = page.duplicates(index, self.chosen)
            if holder is not None:
                self.drop_duplicate(index, holder)
                continue
            if any(other not in costs for other in held):  # chosen by an earlier step: it stays
                held = ()
            for other in held:
                self.drop_duplicate(other, index)
                spent = subtract_costs(spent, costs.pop(other))
            spent = add_costs(spent, cost)
            costs[index] = cost
            self.put(index, variant, self.cost)
        return self.take_back(costs, places, limit)

    def take_back(self, costs: dict[int, Cost], places: Mapping[int, int], limit: Cost) -> int:
        """Remove the last items of the front until the measured page fits; return the number seen.

        Separators and headings were not in the sum, so a page of many sections can be over. Each
        item takes its share of them with it: 900 titles in a list cost more than what they head.
        """
        seen = len(places)
        while costs:
            cost = self.page.measure(self.chosen)
            if fits_within(cost, limit):
                self.cost = cost
                break
            tokens, chars = subtract_costs(cost, self.cost)
            shared = (
                max(tokens - sum(each for each, _ in costs.values()), 0) / len(costs),
                max(chars - sum(each for _, each in costs.values()), 0) / len(costs),
            )
            while costs and not fits_within(cost, limit):
                index, item_cost = costs.popitem()
                cost = subtract_costs(cost, add_costs(item_cost, shared))
                seen = places[index]
                self.remove(index)
                for duplicate in [d for d, h in self.duplicate_of.items() if h == index]:
                    del self.duplicate_of[duplicate], self.reasons[duplicate]
                    seen = min(seen, places.get(duplicate, seen))
        return seen

    # --- the rest: item by item, each page measured -----------------------------------------------

    def take_rest(
        self, walk: Sequence[int], limit: Cost, step: PackingStep, start: int = 0
    ) -> None:
        """Take items that fit whole, from a place of `walk` on, rank by rank.

        After each rank shorten its misfits.
        """
        self._misses, self._hopeless = 0, ()
        free = self.free_places(step)
        places = UNLIMITED if free is None else free
        queue: deque[int] = deque()
        misfits: deque[int] = deque()
        # No further ahead than there may be room for: of 100,000 items most never count.
        room, place, stride = self.cost, start, ITEMS_LOOKED_AT
        while True:
            while not queue and place < len(walk):
                queue.extend(self._maybe_fitting(walk[place : place + stride], limit, step))
                place, stride = place + stride, 2 * stride
            if self.stopped or not (queue or misfits):
                return
            if places <= 0:
                left = filterfalse(self.chosen.__contains__, chain(misfits, queue, walk[place:]))
                self.reasons.update(dict.fromkeys(left, MAX_ITEMS.name))
                return
            if self._refuse_hopeless(queue, step, limit):
                continue
            whole = _next_is_whole(step, queue, misfits)
            index = (queue if whole else misfits).popleft()
            is_new = index not in self.chosen
            take = self.take_whole if whole else partial(self.take_shorter, shorten=not step.whole)
            if take(index, limit):
                places -= is_new
                self._misses = 0
            elif index not in self.duplicate_of:
                self._fail(index, step, limit, is_new, whole)
                if whole and self.step_down:
                    misfits.append(index)
                self._misses += not whole
            # The first miss shows which others must fail, and so does each halving of the room.
            missed = not whole and self._misses in (1, MAX_FAILED_PAGES)
            if missed or self._room_halved(room, limit):
                room = self.cost
                queue = deque(self._maybe_fitting(queue, limit, step))
                misfits = deque(self._maybe_fitting(misfits, limit, step))

    def _refuse_hopeless(self, queue: deque[int], step: PackingStep, limit: Cost) -> bool:
        refused = [*takewhile(self._hopeless.__contains__, queue)]
        for _ in refused:
            queue.popleft()
        self.turns.refuse(refused, step, self.cost, limit, None)
        return bool(refused)

    def _room_halved(self, before: Cost, limit: Cost) -> bool:
        if self.cost == before:
            return False
        # By halves: filtering again after each item would take quadratic time, and half the room
        # already lets only half as many fit.
        now, then = subtract_costs(limit, self.cost), subtract_costs(limit, before)
        return 2 * now[0] < then[0] or 2 * now[1] < then[1]

    def _fail(self, index: int, step: PackingStep, limit: Cost, is_new: bool, whole: bool) -> None:
        if whole:
            self._write_turn(index, step, limit)
        if is_new:
            if self._over_section_limit(index):
                self.reasons[index] = SECTION_BUDGET.name
            self.stopped = self.first_only

    def _write_turn(self, index: int, step: PackingStep, limit: Cost) -> None:
        page, cost, before = self.page, self.cost, self.chosen.get(index)
        if before is not None:
            cost = subtract_costs(cost, page.item_cost(index, before))
        allowance, section = self.allowance(index), None
        if allowance < limit[0] - cost[0]:
            section = self._section_limits.section[index]
        self.turns.refuse((index,), step, cost, limit, section)

    def _over_section_limit(self, index: int) -> bool:
        most, variant = self.allowance(index), self.page.variants(index)[-1]
        if most == UNLIMITED:
            return False
        return self.page.cost_within(index, variant, (most, UNLIMITED)) is None

    def _maybe_fitting(
        self, indices: Sequence[int], limit: Cost, step: PackingStep
    ) -> Sequence[int]:
        if self.first_only or not indices:
            return indices
        page, room = self.page, subtract_costs(limit, self.cost)
        may_shorten = not step.whole and self._may_shorten()
        found = page.maybe_fitting(indices, room, may_shorten)
        if may_shorten and not (self.step_down or self._section_limits.most):
            # Each has its turn all the same. To try 2,000 files and to compare them line by line
            # with those shown took longer than all the rest of a packing.
            left = {*found}.difference(page.maybe_fitting(found, room, False), self.chosen)
            self._hopeless = {*filterfalse(page.may_be_held, left)}
        return found

    def take_whole(self, index: int, limit: Cost) -> bool:
        """Show an item whole, in place of those it contains."""
        holder, held = self.page.duplicates(index, self.chosen)
        if holder is not None:
            self.drop_duplicate(index, holder)
            return False
        others, cost, variants = self._others(index), self.cost, self.page.variants(index)
        if held:
            others = {i: v for i, v in others.items() if i not in held}
            cost = self.page.measure(others)
        elif index in self.chosen:  # about: a page that is measured for each has quadratic time
            cost = subtract_costs(cost, self.page.item_cost(index, self.chosen[index]))
        for variant in variants:
            if variant.name == "summary" and variant is not variants[0]:
                break
            if self.take_variant(index, variant, others, cost, limit):
                self.drop_duplicates(dict.fromkeys(held, index))
                return True
        return False

    def take_variant(
        self, index: int, variant: Variant, others: Mapping[int, Variant], cost: Cost, limit: Cost
    ) -> bool:
        """Show an item in this variant beside `others`, which cost `cost`, if it fits."""
        page = self.page
        room = add_costs(subtract_costs(limit, cost), (page.shared_end_tokens, 0))
        item_cost = page.cost_within(index, variant, room)
        if item_cost is None or item_cost[0] > self.allowance(index):
            return False
        # 20,000 items that nearly fit would measure 20,000 pages: after 32, only cheaper ones.
        if self._failed_pages > MAX_FAILED_PAGES and item_cost[0] >= self._failed_cost > 0:
            return False
        cost = page.measure({**others, index: variant})
        if not fits_within(cost, limit):
            self._failed_pages += 1
            # The least cost that failed since the last success: what costs as much fails too.
            if self._failed_pages == 1:
                self._failed_cost = item_cost[0]
            self._failed_cost = min(self._failed_cost, item_cost[0])
            return False
        self.put(index, variant, cost)
        self._failed_pages = 0
        return True

    def _may_shorten(self) -> bool:
        return self.shorten and self._misses < MAX_FAILED_PAGES

    def take_shorter(self, index: int, limit: Cost, *, shorten: bool = True) -> bool:
        """Show an item shortened, else its summary."""
        if shorten and self._may_shorten() and self.take_shortened(index, limit):
            return True
        summary = self.page.variants(index)[-1]
        before = self.chosen.get(index)
        if summary.name != "summary" or before not in (None, STUB_VARIANT):
            return False
        others = self._others(index)
        cost = self.page.measure(others) if before else self.cost
        return self.take_variant(index, summary, others, cost, limit)

    def _others(self, index: int) -> Mapping[int, Variant]:
        # A copy for each of 4,000 items that do not fit would take quadratic time.
        if index not in self.chosen:
            return self.chosen
        return {i: v for i, v in self.chosen.items() if i != index}

    def take_shortened(self, index: int, limit: Cost) -> bool:
        """Show an item in its longest shorter variant that fits.

        An item that was shortened before changes only if it becomes longer.
        """
        before = self.chosen.get(index)
        least = len(before.text) if before else -1
        if before and before.name == "outline":
            if least > MAX_CHARS_PER_TOKEN * (limit[0] - self.cost[0]):
                return False
            # An outline says more than the beginning of a program with as many characters.
            full = self.page.shortener.outline_within(index, UNLIMITED, UNLIMITED)
            least = max(2 * least, len(full.text) if full else 0)
        others = self._others(index)
        most = self.allowance(index)
        room = None if most == UNLIMITED else (most, UNLIMITED)
        shorter = self.page.shortener.shorten(index, others, limit, room)
        if shorter is None or shorter[0] == before:
            return False
        is_longer = len(shorter[0].text) > least
        # With its marks a cut text may be longer than the whole, which is better all the same.
        if not is_longer and shorter[0].name in SHORTENED_VARIANTS:
            return False
        self.put(index, *shorter)
        return True

    def add_stubs(self, step: PackingStep, limit: Cost) -> None:
        """Show the attributions of items that fit in no other variant, while there is room."""
        misses, places = 0, self.free_places(step)
        for index in step.walk:
            if misses >= MAX_FAILED_PAGES or places == 0:
                break
            reason = self.reasons.get(index, BUDGET.name)
            if index in self.chosen or reason not in BUDGET_REASONS:
                continue
            shown = self.take_variant(index, STUB_VARIANT, self.chosen, self.cost, limit)
            misses = 0 if shown else misses + 1
            if places is not None:
                places -= shown


def _next_is_whole(step: PackingStep, queue: Sequence[int], misfits: Sequence[int]) -> bool:
    """Return True while whole items of the misfits' rank are left: these come before cut ones."""
    if not queue or not misfits:
        return bool(queue)
    return step.level(queue[0]) == step.level(misfits[0])


def _share(most: float, share: float) -> float:
    # Rounded: a share is a number of tokens over a budget, and their product may lack 1e-14.
    return round(most * share, 6) if most < UNLIMITED else most
