"""The decisions on items that lack room, as packing wrote them down; and larger limits.

`Decisions` reads the turns of a packing. It tries larger limits only for items that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from ..errors import BudgetError, TemplateError
from ..model import Decision
from ..packing.pack import Plan
from ..packing.turns import Turn
from ..packing.types import UNLIMITED, Cost, Variant, subtract_costs
from ..reasons import MAX_ITEMS, SECTION_BUDGET
from ..text.delimiters import BrokenDelimiterError
from ..text.words import late_property
from .page import Page, named_indices
from .planning import Printed, whole_at
from .what_if import MAX_VALUE, Outcome, Raises, tries_asked, tries_unasked

BUDGET, CHARACTERS, WINDOW = "budget", "characters", "window"
NAMED_SHARE, FOUND_SHARE = "named share", "found share"
"""Limits that bind an item; the others are `max_items` and `section NAME`."""
_SHARES = frozenset({NAMED_SHARE, FOUND_SHARE})
_OF_PAGE = frozenset({BUDGET, CHARACTERS, WINDOW, *_SHARES})
"""Limits of the page with all that stands on it."""
_SECTION = "section "
MAX_HEADING = 64
"""Tokens, or characters, that a heading and a separator beside an item take at most, or so."""
_UNITS = ("tokens", "characters", "items")


class Decisions:
    """The decisions of one packing on the items that it dropped or shortened."""

    def __init__(self, printed: Printed, lost: Sequence[int]) -> None:
        """Take a printed plan, and its items that lack room, the first to come back first."""
        self._printed, self._page, self._packed = printed, printed.page, printed.packed
        self.lost = lost
        self._options = printed.page.options
        self._raises: dict[str, Raises] = {}
        self._no_raises = Raises(lambda _: Outcome((), has_spare=True), 0, 0)
        self._shown: dict[int, Mapping[int, Variant]] = {}
        """Place of a turn → what the page held then."""
        self._sums: dict[tuple[int, str], dict[str, int]] = {}
        """Place of a turn and limit → what it counted of the page, by group."""

    # --- budgets --------------------------------------------------------------------------------

    @late_property
    def budgets(self) -> Raises:
        """Larger budgets in tokens; none where no item lacks tokens."""
        limited = self._options.max_tokens is not None and self.lost
        return self._raises_of(BUDGET) if limited else self._no_raises

    def budgets_of(self, index: int) -> Raises:
        """Return larger budgets that may show an item whole."""
        return self.budgets if index in self.lost else self._no_raises

    @late_property
    def foreseen(self) -> Iterator[None]:
        """The tries for all items together; to be run to the end."""
        tries = tries_unasked(len(self._page.candidates), self._characters)
        return self.budgets.foresee(self.lost, tries)

    @late_property
    def _characters(self) -> int:
        pool = self._page.candidates.pool
        return sum(len(pool[i].expanded or pool[i].content or "") for i in self._page.candidates)

    # --- one item -------------------------------------------------------------------------------

    def decide(self, index: int, reason: str, *, asked: bool = True) -> Decision | None:
        """Return the decision on an item that lacks room or a place; `None` for any other.

        Without `asked` no larger limit is tried for it: `missing` is `None` unless it is known.
        """
        turn = self._packed.turns.turn(index)
        if turn is None or (index not in self.lost and reason != MAX_ITEMS.name):
            return None
        limit = self._limit_of(index, turn, reason)
        missing = {limit: self._missing(index, limit, asked)}
        if asked and missing[limit] is None:
            # That limit alone does not bring the item in; another one may, or several together.
            others = (each for each in self._limits_of(index, turn) if each != limit)
            able = ({each: self._missing(index, each, asked)} for each in others)
            alone = next((each for each in able if None not in each.values()), None)
            missing = alone or self._together(index, turn, limit) or missing
        return self._record(index, turn, missing)

    def binding_option(self) -> str:
        """Return the option that sets the limit of the first item without room."""
        index = self.lost[0]
        turn = self._packed.turns.turn(index)
        if turn is None:
            return "max_tokens"
        limit = self._limit_of(index, turn, self._packed.reasons[index])
        # Its share of the budget: with more of that, it has more.
        return "max_tokens" if limit in _SHARES else next(iter(self._changes(limit, 0)))

    def _together(self, index: int, turn: Turn, first: str) -> dict[str, int | None]:
        """Return limits that together bring an item in, with what each is missing; {}: none do.

        Each is looked for with those before it raised, and those after it out of the way.
        """
        limits = {*self._limits_of(index, turn), first} - _SHARES  # a larger budget has larger ones
        changes: dict[str, Any] = {}
        for limit in limits:
            end = self._bounds_of(limit)[1]
            changes |= self._changes(limit, MAX_VALUE if end is None else end)
        missing: dict[str, int | None] = {}
        # The limit of the page is the last one: what stands before the item is known then.
        for limit in sorted(limits, key=lambda each: (each in _OF_PAGE, each != first)):
            now, end = self._bounds_of(limit)
            try_out = partial(self._outcome, limit, beside=changes)
            value = now
            if index not in try_out(now).whole:
                raises = Raises(try_out, now, end, tries_asked(self._characters))
                found = raises.find(index)
                if found is None:
                    return {}
                value, missing[limit] = found, found - now
            changes |= self._changes(limit, value)
        return dict(sorted(missing.items(), key=lambda each: each[0] != first))

    def _record(self, index: int, turn: Turn, lacking: Mapping[str, int | None]) -> Decision:
        page, variants = self._page, self._page.variants(index)
        (limit, missing), *others = lacking.items()
        unit = {MAX_ITEMS.name: 2, CHARACTERS: 1}.get(limit, 0)
        ahead, most = self._ahead(index, turn, limit), self._bounds_of(limit)[0]
        room = most - sum(ahead.values())
        if limit in _OF_PAGE:
            most = int(min(turn.most[unit], MAX_VALUE))
            room = most - int(self._cost_without(index, turn)[unit])
        needs, refused = 1, dict[str, int]()
        if limit != MAX_ITEMS.name:
            costs = [int(page.item_cost(index, variant)[unit]) for variant in variants]
            needs, chosen = costs[0], self._packed.chosen.get(index)
            longer = variants.index(chosen) if chosen in variants else len(variants)
            refused = {
                each.name: cost for each, cost in zip(variants[:longer], costs, strict=False)
            }
        if missing is not None:
            needs = room + missing
        return Decision(
            limit=limit,
            unit=_UNITS[unit],
            needs=needs,
            room=room,
            ahead=ahead,
            refused=refused,
            missing=missing,
            beside={name: number for name, number in others if number is not None},
        )

    def _limit_of(self, index: int, turn: Turn, reason: str) -> str:
        if reason == MAX_ITEMS.name:
            return reason
        section = turn.section or turn.step.section
        if section is None and reason == SECTION_BUDGET.name:
            section = self._section_of(index)
        if section is not None and self._maximum_of(section) is not None:
            return f"{_SECTION}{section}"
        if turn.most[1] < UNLIMITED:
            own = self._page.item_cost(index, self._page.variants(index)[0])
            if own[0] <= turn.most[0] - turn.cost[0]:
                return CHARACTERS
        share = self._share_of(index)
        if turn.step.shared and self._has_room_in_share(index, turn, share):
            return share
        return WINDOW if self._options.max_tokens == self._options.window_room else BUDGET

    def _share_of(self, index: int) -> str:
        return FOUND_SHARE if self._group(index) in ("found", "required") else NAMED_SHARE

    def _has_room_in_share(self, index: int, turn: Turn, share: str) -> bool:
        others = ("found",) if share == NAMED_SHARE else ("named", "other")
        ahead = self._ahead(index, turn, share)
        given_back = sum(ahead.get(group, 0) for group in others)
        room = turn.most[0] - self._cost_without(index, turn)[0] + given_back
        return self._page.item_cost(index, self._page.variants(index)[0])[0] <= room

    def _limits_of(self, index: int, turn: Turn) -> Iterator[str]:
        options = self._options
        if turn.step.shared:
            yield self._share_of(index)
        if options.max_tokens is not None:
            yield WINDOW if options.max_tokens == options.window_room else BUDGET
        section = self._section_of(index)
        if self._maximum_of(section) is not None:
            yield f"{_SECTION}{section}"
        if options.max_items is not None and self._group(index) == "found":
            yield MAX_ITEMS.name
        if options.max_chars is not None:
            yield CHARACTERS

    def _maximum_of(self, section: str) -> int | None:
        budgets = self._options.section_budgets or {}
        return budgets[section].max_tokens if section in budgets else None

    def _section_of(self, index: int) -> str:
        page = self._page
        key = page.section_key_of("kind" if page.group_by == "none" else page.group_by)
        return key(page.candidates.pool[index])

    def _cost_without(self, index: int, turn: Turn) -> Cost:
        shown = self._shown_at(turn).get(index)
        if shown is None or not turn.at_end:
            return turn.cost
        return subtract_costs(turn.cost, self._page.item_cost(index, shown))

    def _shown_at(self, turn: Turn) -> Mapping[int, Variant]:
        if turn.place not in self._shown:
            self._shown[turn.place] = self._packed.turns.shown_at(turn)
        return self._shown[turn.place]

    def _ahead(self, index: int, turn: Turn, limit: str) -> dict[str, int]:
        """Return the sums of the page at the turn of an item that count for a limit, by group."""
        key = turn.place, limit
        if key not in self._sums:
            self._sums[key] = self._sums_of(turn, limit)
        ahead, before = dict(self._sums[key]), self._shown_at(turn).get(index)
        if before is not None:
            ahead[self._group(index)] -= self._counted(index, before, limit)
        if limit in _OF_PAGE:
            around = int(self._cost_without(index, turn)[limit == CHARACTERS])
            ahead = {"templates": max(around - sum(ahead.values()), 0), **ahead}
        return {group: number for group, number in ahead.items() if number}

    def _sums_of(self, turn: Turn, limit: str) -> dict[str, int]:
        sums: dict[str, int] = {}
        for index, variant in self._shown_at(turn).items():
            group = self._group(index)
            sums[group] = sums.get(group, 0) + self._counted(index, variant, limit)
        return sums

    def _counted(self, index: int, variant: Variant, limit: str) -> int:
        if limit == MAX_ITEMS.name:
            return int(self._group(index) == "found")
        if limit.startswith(_SECTION) and self._section_of(index) != limit.removeprefix(_SECTION):
            return 0
        return int(self._page.item_cost(index, variant)[limit == CHARACTERS])

    def _group(self, index: int) -> str:
        item = self._page.candidates.pool[index]
        if item.required:
            return "required"
        if index in self._named:
            return "named"
        return "other" if item.origin == "explicit" else "found"

    @late_property
    def _named(self) -> frozenset[int]:
        return frozenset(named_indices(self._page.candidates, self._options))

    # --- larger limits --------------------------------------------------------------------------

    def _missing(self, index: int, limit: str, asked: bool) -> int | None:
        raises = self._raises_of(limit)
        found = raises.find(index) if asked else raises.known(index)
        return None if found is None else found - raises.now

    def _raises_of(self, limit: str) -> Raises:
        if limit not in self._raises:
            now, end = self._bounds_of(limit)
            tries = tries_asked(self._characters)
            self._raises[limit] = Raises(partial(self._outcome, limit), now, end, tries)
        return self._raises[limit]

    def _bounds_of(self, limit: str) -> tuple[int, int | None]:
        options = self._options
        if limit == CHARACTERS:
            return options.max_chars or 0, None
        if limit == WINDOW:
            return options.context_window or 0, None
        if limit in _SHARES:
            most, share = options.max_tokens or 0, options.explicit_share
            if limit == FOUND_SHARE:
                share = 1 - share
            return round(share * most), most
        if limit == MAX_ITEMS.name:
            return options.max_items or 0, len(self._page.candidates)
        if limit.startswith(_SECTION):
            page, name = self._page, limit.removeprefix(_SECTION)
            now = (options.section_budgets or {})[name].max_tokens or 0
            members = [i for i in page.candidates.kept if self._section_of(i) == name]
            costs = (page.item_cost(i, page.variants(i)[0])[0] for i in members)
            return now, now + int(sum(costs)) + 1
        return options.max_tokens or 0, options.window_room

    def _changes(self, limit: str, value: int) -> dict[str, Any]:
        options = self._options
        if limit == CHARACTERS:
            return {"max_chars": value}
        if limit == WINDOW:
            return {"context_window": value, "max_tokens": value - (options.reserve or 0)}
        if limit in _SHARES:
            share = value / (options.max_tokens or 1)
            return {"explicit_share": share if limit == NAMED_SHARE else 1 - share}
        if limit == MAX_ITEMS.name:
            return {"max_items": value}
        if limit.startswith(_SECTION):
            budgets, name = options.section_budgets or {}, limit.removeprefix(_SECTION)
            larger = msgspec.structs.replace(budgets[name], max_tokens=value)
            return {"section_budgets": {**budgets, name: larger}}
        return {"max_tokens": value}

    def _outcome(
        self, limit: str, value: int, beside: Mapping[str, Any] = MappingProxyType({})
    ) -> Outcome:
        try:
            page, packed, whole = whole_at(self._printed, {**beside, **self._changes(limit, value)})
        except (BudgetError, TemplateError, BrokenDelimiterError):  # no such text can be made
            return Outcome((), has_spare=True)
        left = [index for index in self.lost if index not in whole]
        return Outcome(whole, has_spare=all(_has_room(page, packed, limit, value, i) for i in left))


def _has_room(page: Page, packed: Plan, limit: str, value: int, index: int) -> bool:
    """Return True if an item is not whole on a page although the limit has room for it."""
    if limit not in (BUDGET, WINDOW, CHARACTERS):
        return False
    unit, room = int(limit == CHARACTERS), [UNLIMITED, UNLIMITED]
    room[unit] = value - packed.cost[unit] - MAX_HEADING
    return page.cost_within(index, page.variants(index)[0], (room[0], room[1])) is not None
