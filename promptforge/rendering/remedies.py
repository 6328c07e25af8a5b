"""Remedies: options that bring back the items that a text lacks, found by rendering with them.

Options are changed one after the other, as each change may bring another reason to light.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import BudgetError, TemplateError
from ..model import Item, Remedy
from ..packing.packings import PACKINGS
from ..reasons import BUDGET_REASONS, DUPLICATE, MERGED, REASONS, Changes

if TYPE_CHECKING:
    from ..config.options import Options
    from .report import Report

MAX_CANDIDATES_TRIED = 2000
"""Of more candidates, items that lack room alone have no remedy but a budget."""
MAX_OPTIONS_CHANGED = 6
"""Options changed for one item, one for each reason that comes to light."""
MAX_ITEMS_MEASURED = 64
"""The room for more items than these, side by side, is not worked out: it takes as long as a
render of them all, and no larger budget is then named for what another reason keeps out."""


def packing_order(report: Report) -> list[int]:
    """Return the candidates in the order in which they were packed."""
    options, pool, walks = report.page.options, report.page.candidates.pool, []
    for walk in report.packed.walks:
        # Beyond `max_items` the last found ones have no place.
        if PACKINGS[options.packing].from_end:
            most = options.max_items if pool[walk[0]].origin == "similarity" else None
            walk = [*walk[:most][::-1], *walk]
        walks.append(walk)
    return list(dict.fromkeys(chain.from_iterable(walks)))


def find_remedies(report: Report) -> Iterator[Remedy]:
    """Yield, for each reason of lost items, options that bring the best of them back.

    Items that a number of tokens brings back need no remedy.
    """
    for reason, members in _lost_by_reason(report).items():
        best = members[0]
        if reason not in BUDGET_REASONS:
            best = max(members, key=report.page.candidates.ranks.__getitem__)
        changes, after = _remedy(report, best)
        back = sum(map(after.is_whole, members)) if after else 0
        plain: dict[str, Any] = msgspec.to_builtins(changes)  # as anyone can give them as options
        for name, value in plain.items():
            plain[name] = list(value) if isinstance(value, tuple) else value
        yield Remedy(
            reason=reason, items=len(members), item=report.name(best), options=plain, back=back
        )


def _lost_by_reason(report: Report) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    few, options = len(report.page.candidates) <= MAX_CANDIDATES_TRIED, report.page.options
    # Where the budget alone limits, some budget brings each back: none has to be tried.
    others = (options.max_chars, options.max_items, options.section_budgets, options.context_window)
    few = few and any(each is not None for each in others)
    for index in report.ranked:
        reason = report.reason(index)
        if REASONS[reason].keeps:
            continue
        if reason != MERGED.name and report.kept(index) != index:  # it comes back with that one
            continue
        if reason in BUDGET_REASONS:
            kept = report.kept(index)
            if options.max_tokens is not None and (
                not few or report.decisions.budgets_of(kept).ever(kept)
            ):
                continue
        found.setdefault(reason, []).append(index)
    return found


def _remedy(before: Report, index: int) -> tuple[dict[str, Any], Report | None]:
    """Return changes that include an item whole, or at least remove its first reason.

    Each change may bring another reason to light. Without a remedy there are no changes.
    """
    changes: dict[str, Any] = {}
    first_reason, report = before.reason(index), before
    removed: tuple[dict[str, Any], Report | None] = ({}, None)
    for _ in range(MAX_OPTIONS_CHANGED):
        try:
            steps = (step for step in _steps(report, index) if not step.items() <= changes.items())
            step = next(steps, None)
            if step is None:
                break
            changes = {**changes, **step}
            report = before.with_options(changes)
        except (BudgetError, TemplateError):
            break
        if report.is_whole(index):
            return changes, report
        only_room_is_short = (
            report.reason(index) in BUDGET_REASONS and first_reason not in BUDGET_REASONS
        )
        if removed[1] is None and only_room_is_short:
            removed = changes, report
    return removed


@dataclass(frozen=True)
class LostItem:
    """An item that is not whole in the text, as the remedy of a reason asks of it."""

    report: Report
    index: int

    @property
    def item(self) -> Item:
        """The `Item`."""
        return self.report.page.candidates.pool[self.index]

    @property
    def options(self) -> Options:
        """The `Options` in force."""
        return self.report.page.options

    def found_places(self) -> tuple[int, int]:
        """Return its place among the found items in packing order, from 1, and their number."""
        pool = self.report.page.candidates.pool
        found = [i for i in packing_order(self.report) if pool[i].origin == "similarity"]
        return found.index(self.index) + 1, len(found)

    def more_for_section(self) -> Iterator[Changes]:
        """Yield a limit of the section with room up to the item, then with room for all."""
        page, budgets = self.report.page, self.options.section_budgets or {}
        key = page.section_key_of("kind" if page.group_by == "none" else page.group_by)
        name = key(self.item)
        if name not in budgets or budgets[name].max_tokens is None:
            return
        pool = page.candidates.pool
        section = [i for i in _distinct_order(self.report) if key(pool[i]) == name]
        for these in (section[: section.index(self.index) + 1], section):
            most = int(sum(page.item_cost(i, page.variants(i)[0])[0] for i in these))
            larger = msgspec.structs.replace(budgets[name], max_tokens=most)
            yield {"section_budgets": {**budgets, name: larger}}

    def more_room(self) -> Iterator[Changes]:
        """Yield what leaves more room: without named items first, larger limits, other packing."""
        options = self.options
        found = self.item.origin == "similarity"
        named = "explicit" in self.report.page.candidates.columns.origins
        if found and named and options.combine != "combined":
            yield {"combine": "combined"}
        yield from self._larger_limits()
        if options.section_budgets:
            yield {"section_budgets": None}
        if PACKINGS[options.packing].stops:
            yield {"packing": "whole"}

    def _larger_limits(self) -> Iterator[Changes]:
        """Yield limits that hold all up to the item, then ones that hold everything."""
        page, options = self.report.page, self.options
        order = _distinct_order(self.report)
        if self.index not in order:
            return
        before = order[: order.index(self.index) + 1]
        # Packing adds up characters of items alone; the end of a finished page may have been
        # trimmed since. So the exact limit can be a few characters short, and the next try has
        # some to spare.
        for these, spare in ((before, 0), (before, 16), (order, 0), (order, 16)):
            if len(these) > MAX_ITEMS_MEASURED:
                return
            tokens, chars = map(int, page.measure({i: page.variants(i)[0] for i in these}))
            needed = {"max_tokens": tokens, "max_chars": chars + spare}
            if options.context_window is not None:
                needed["context_window"] = tokens + (options.reserve or 0)
            given = {name: getattr(options, name) for name in needed}
            step = {n: v for n, v in needed.items() if given[n] is not None and v > given[n]}
            if step:
                yield step


def _steps(report: Report, index: int) -> Iterable[Changes]:
    reason = REASONS[report.reason(index)]
    if reason is not MERGED:
        index = report.kept(index)
    return reason.remedy(LostItem(report, index))


def _distinct_order(report: Report) -> list[int]:
    shown_within = (DUPLICATE.name, MERGED.name)
    return [i for i in packing_order(report) if report.reason(i) not in shown_within]
