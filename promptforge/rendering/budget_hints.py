"""Budgets and options that bring back the items of a text that were trimmed or dropped.

A budget that is named for an item (`fits_at`) has been tried, or it is the measured cost of a page
with that item and all before it. Trying means packing again on a page that remembers costs: much
cheaper than rendering. Tries are limited, so a budget is true but not always the least.
Remedies are other options, changed one after the other and rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import BudgetError, TemplateError
from ..model import Item, Remedy
from ..packing.pack import BEST_FIRST_PACKINGS, FIXED_SET_PACKINGS, Packed
from ..packing.types import UNLIMITED, Cost, Variant
from ..reasons import BUDGET_REASONS, DUPLICATE, MERGED, REASONS, Changes
from ..text.words import late_property
from .page import Page, divide_named

if TYPE_CHECKING:
    from ..config.options import Options
    from .report import Report

MAX_PAGES_MEASURED = 64
"""Pages measured along the packing order; beyond, sums of costs say enough."""
MIN_TRIES = 12
MAX_TRIES = 40
"""Budgets tried; the fewer candidates, the more."""
MIN_TRIES_OF_MANY_PAGES = 3
MAX_CHARACTERS_TRIED = 600_000
"""Characters in all tries together, with packings that measure many pages in each."""
MAX_CHARACTERS_COUNTED = 1 << 24
"""The same with any packing, and of all texts: of longer ones no budget is looked for."""
MAX_CANDIDATES_TRIED = 2000
"""With more candidates, only one larger budget is tried unasked."""
MAX_OPTIONS_CHANGED = 6
"""Options changed for one item, one for each reason that comes to light."""
MAX_ITEMS_ASKED = 64
"""Of more candidates than `MAX_CANDIDATES_TRIED`, so many are asked for a budget."""
MAX_ITEMS_MEASURED = 200
"""The room for more items than these, side by side, is not worked out."""

_IN_ORDER = frozenset({"score", "whole", "stop", "drop_last", "drop_first"})
"""Packings that take the first items of the order as long as they fit, whatever comes after."""


def packing_order(page: Page) -> list[int]:
    """Return the candidates in the order in which they are packed."""
    pool, ranks, packing = page.candidates.pool, page.candidates.ranks, page.options.packing
    order = [i for i in page.candidates.kept if pool[i].required]
    for origin in ("explicit", "similarity"):
        side = [
            i for i in page.candidates.kept if pool[i].origin == origin and not pool[i].required
        ]
        if packing in BEST_FIRST_PACKINGS:
            named, rest = divide_named(side, page.candidates, page.options)
            newest = page.candidates.newest_first(rest)
            side = [*named, *sorted(newest, key=ranks.__getitem__, reverse=True)]
        elif packing == "drop_first":
            most = len(side)
            if origin == "similarity" and page.options.max_items is not None:
                most = page.options.max_items
            side = [*side[:most][::-1], *side[most:]]
        elif packing not in FIXED_SET_PACKINGS:
            side = page.walk(side)
        order += side
    return order


class BudgetHints:
    """Budgets in tokens that bring items back whole, worked out no further than asked for.

    `at`, `near` and `first` try all that is to be tried. Who cannot wait calls `advance`, and asks
    between two tries.
    """

    def __init__(
        self,
        page: Page,
        packed: Packed,
        lost: Collection[int],
        whole_at: Callable[[int], Collection[int]],
        step: int,
    ) -> None:
        """Take the items trimmed or dropped for the budget, and a function that tries a budget.

        `whole_at` returns the items that are whole with a budget. `step` is the larger budget that
        is tried with very many candidates, as tokens more than now.
        """
        self._page, self._packed, self._lost = page, packed, lost
        self._whole_at, self._step = whole_at, step
        self._now = page.options.max_tokens or 0
        limited = page.options.max_tokens is not None and lost
        order = [i for i in packing_order(page) if packed.reasons.get(i) != DUPLICATE.name]
        self._order: list[int] = []
        self._characters = sum(_characters(page.candidates.pool[i]) for i in order)
        if limited and self._characters <= MAX_CHARACTERS_COUNTED:
            self._order = list(_without_max_items(page, order))
        self._few = len(page.candidates) <= MAX_CANDIDATES_TRIED
        options = page.options
        sides = len({page.candidates.pool[i].origin for i in self._order})
        named = page.candidates.columns.names and options.packing in BEST_FIRST_PACKINGS
        shared = (
            named or options.section_budgets or (options.combine != "explicit_only" and sides > 1)
        )
        self._ordered = (
            options.packing in _IN_ORDER and not (named or shared) and page.query_passages() is None
        )
        self._tried: dict[int, Collection[int]] = {}
        self._offers: dict[int, int] = {}
        self.so_far: Mapping[int, int] = {}
        """Items → the least budgets known to bring them back, after the tries so far."""
        # Generators: nothing is tried or measured before somebody asks.
        self._tries = self._try_budgets()
        self._curve = _cost_curve(page, self._order, lost)
        self._on_curve: dict[int, int] = {}

    def at(self, index: int) -> int | None:
        """Return a budget that includes an item whole; None where no budget is known to do it.

        Then characters are short, or the number of items, or the window of the LLM.
        """
        found = self.near(index)
        if found is not None or self._few or self._ordered or index not in self._lost:
            return found
        return self._cost_of_everything if index in self._order else None

    def near(self, index: int) -> int | None:
        """Return the same without asking for the cost of thousands of items."""
        if index not in self._lost:
            return None
        if self._ordered and not self._few:
            return self._cost_up_to(index)
        while self.advance():
            continue
        return self.so_far.get(index)

    def advance(self) -> bool:
        """Try one more budget; return False where no more are to be tried."""
        try:
            self.so_far = next(self._tries)
        except StopIteration:
            return False
        return True

    @property
    def beyond(self) -> int | None:
        """A budget that is too small for all items without one by `near`; None: not known."""
        limited = self._page.options.max_tokens is not None
        if not limited or self._few or self._ordered or not self._order:
            return None
        return self._now + self._step

    def first(self) -> tuple[int, int] | None:
        """Return the least of these budgets, as far as is known, and the item it brings back."""
        if self._ordered and not self._few:
            while not self._on_curve and self._follow_curve():
                continue
            return min(((cost, i) for i, cost in self._on_curve.items()), default=None)
        while self.advance():
            continue
        return min(((budget, i) for i, budget in self.so_far.items()), default=None)

    # --- along the order ------------------------------------------------------------------------

    def _cost_up_to(self, index: int) -> int | None:
        while index not in self._on_curve and self._follow_curve():
            continue
        return self._on_curve.get(index)

    def _follow_curve(self) -> bool:
        for index, tokens in self._curve:
            self._on_curve[index] = max(tokens, self._now + 1)
            return True
        return False

    @late_property
    def _cost_of_everything(self) -> int | None:
        """The cost of a page with every item whole, if that is allowed."""
        cost = self._page.measure({i: self._page.variants(i)[0] for i in self._order})
        if not _is_allowed(self._page, cost):
            return None
        return max(int(cost[0]), self._now + 1)

    # --- by trying ------------------------------------------------------------------------------

    def _try_budgets(self) -> Iterator[dict[int, int]]:
        """Yield, after each try, the least budgets that bring items back, as far as is known."""
        if not self._order:
            return
        if not self._few:
            self._try(self._now + self._step)
            yield self._least()
            return
        if self._ordered:
            self._offers = {i: cost for i in self._order if (cost := self._cost_up_to(i))}
            yield self._least()
        tries = self._number_of_tries()
        for budget in self._near_guesses(tries // 2):
            self._try(budget)
            yield self._least()
        if not self._ordered and (everything := self._cost_of_everything):
            self._try(everything)
            self._offers = dict.fromkeys(self._tried[everything], everything)
            yield self._least()
            for budget in self._spread(everything, tries // 2):
                self._try(budget)
                yield self._least()
        while len(self._tried) < tries and (middle := self._between(self._least())):
            self._try(middle)
            yield self._least()

    def _number_of_tries(self) -> int:
        most = MAX_CHARACTERS_COUNTED // (self._characters + 1)
        if self._ordered:
            return min(MIN_TRIES, most)  # the curve is exact but for rare cases
        candidates = max(1, len(self._order))
        tries = max(MIN_TRIES, min(MAX_TRIES, 480 // candidates))
        if self._page.options.packing in FIXED_SET_PACKINGS:
            # One try measures many pages: of three long documents 40 tries would take 40 times
            # as long as the rendering.
            tries = min(tries, 240 // candidates, MAX_CHARACTERS_TRIED // (self._characters + 1))
        return min(max(MIN_TRIES_OF_MANY_PAGES, tries), most)

    def _try(self, budget: int) -> None:
        if budget not in self._tried:
            self._tried[budget] = self._whole_at(budget)

    def _least(self) -> dict[int, int]:
        """Return for each item the least budget known to include it."""
        found = {i: b for i, b in self._offers.items() if i in self._tried.get(b, (i,))}
        for budget, whole in self._tried.items():
            for index in whole:
                if index in self._lost and budget < found.get(index, UNLIMITED):
                    found[index] = budget
        return {i: found[i] for i in found if i in self._lost}

    def _between(self, least: Mapping[int, int]) -> int | None:
        """Return the middle of the open range of the item that is nearest to coming back."""
        for budget, index in sorted((budget, index) for index, budget in least.items()):
            # Only tries below it: where shares decide, an item that is whole with 3,000 tokens may
            # be short with 4,000, so a miss above a hit says nothing.
            vain = [b for b, whole in self._tried.items() if b < budget and index not in whole]
            low = max([*vain, budget - 1 if self._is_curve_point(index, budget) else self._now])
            if budget - low > 1:
                return (budget + low) // 2
        return None

    def _is_curve_point(self, index: int, budget: int) -> bool:
        # A token less than the page up to the item holds it only where a later page is shorter.
        return self._ordered and self._on_curve.get(index) == budget

    def _near_guesses(self, most: int) -> list[int]:
        """Return budgets worth trying first: those of the curve, the page now and one item more."""
        page, chosen, now = self._page, self._packed.chosen, self._now
        if page.options.packing == "repository":  # a file comes back whole at a share of the limit
            return [2 * now, 4 * now, 8 * now]
        nearest = [index for index in self._order if index in self._lost]
        if self._ordered:
            nearest = sorted(self._offers, key=lambda i: (self._offers[i], i))
        enough = set()
        for index in nearest[:MAX_TRIES]:
            added = page.item_cost(index, page.variants(index)[0])[0] + page.shared_end_tokens
            if index in chosen:
                added -= page.item_cost(index, chosen[index])[0]
            enough.add(int(max(self._packed.cost[0] + added, now + 1)))
        if not self._ordered:
            return sorted(enough)[: most // 2]
        first = sorted({self._offers[i] for i in nearest[:MAX_TRIES]})[: max(0, 2 * most - 3)]
        return list(dict.fromkeys([*first, *sorted(enough)]))[: max(most, len(first))]

    def _spread(self, everything: int, most: int) -> list[int]:
        """Return budgets up to the largest, closer together near the present one.

        Where shares or worths decide, an item may come back anywhere.
        """
        # Squares: half of the tries lie in the first quarter, where the user would rather go.
        now, span = self._now, everything - self._now
        return sorted({now + span * step * step // most**2 for step in range(1, most)})


def _characters(item: Item) -> int:
    return max(len(text or "") for text in (item.content, item.expanded, item.summary))


def _without_max_items(page: Page, order: Sequence[int]) -> Iterator[int]:
    """Yield the candidates but those past `max_items`: these come in only where others cannot."""
    left = UNLIMITED if page.options.max_items is None else page.options.max_items
    for index in order:
        item = page.candidates.pool[index]
        counts = item.origin == "similarity" and not item.required
        if left > 0 or not counts:
            left -= counts
            yield index


def _is_allowed(page: Page, cost: Cost) -> bool:
    limits = (page.options.window_room, page.options.max_chars)
    return all(most is None or part <= most for part, most in zip(cost, limits, strict=True))


def _cost_curve(
    page: Page, order: Sequence[int], lost: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yield the lost items that can come back, each with the cost of a page up to it."""
    above: dict[int, Variant] = {}
    place, left, cost = 0, MAX_PAGES_MEASURED, (0.0, 0.0)
    while place < len(order) and left:
        index = order[place]
        place += 1
        # It costs nothing and comes with its holder, which has a place of its own on the curve.
        if page.duplicates(index, above)[0] is not None:
            continue
        above[index] = page.variants(index)[0]
        if index in lost:
            cost, left = page.measure(above), left - 1
            if not _is_allowed(page, cost):
                return
            yield index, int(cost[0])
    if place == len(order):
        return
    # From here on sums: each item at its own cost, and the most that one was seen to add for
    # headings and separators. Sums are never too low, and they do not measure a page of thousands.
    empty, extra = page.measure({}), [0.0, 0.0]
    for index in order[:MAX_PAGES_MEASURED]:
        variant = page.variants(index)[0]
        alone, own = page.measure({index: variant}), page.item_cost(index, variant)
        extra = [max(extra[unit], alone[unit] - empty[unit] - own[unit]) for unit in (0, 1)]
    extra[0] += page.shared_end_tokens
    for index in order[place:]:
        own = page.item_cost(index, page.variants(index)[0])
        cost = (cost[0] + own[0] + extra[0], cost[1] + own[1] + extra[1])
        if not _is_allowed(page, cost):
            return
        if index in lost:
            yield index, int(cost[0])


# --- remedies -----------------------------------------------------------------------------------

_Rerender = Callable[[Mapping[str, Any]], "Report"]
"""Changes of options → the report of the same rendering with them."""


def find_remedies(report: Report, rerender: _Rerender) -> Iterator[Remedy]:
    """Yield, for each reason of lost items, options that bring the best of them back.

    Items that a number of tokens brings back need no remedy.
    """
    for reason, members in _lost_by_reason(report).items():
        best = members[0]
        if reason not in BUDGET_REASONS:
            best = max(members, key=report.page.candidates.ranks.__getitem__)
        changes, after = _remedy(report, rerender, best)
        back = sum(map(after.is_whole, members)) if after else 0
        plain: dict[str, Any] = msgspec.to_builtins(changes)  # as anyone can give them as options
        for name, value in plain.items():
            plain[name] = list(value) if isinstance(value, tuple) else value
        yield Remedy(
            reason=reason, items=len(members), item=report.name(best), options=plain, back=back
        )


def _lost_by_reason(report: Report) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    left = UNLIMITED if len(report.page.candidates) <= MAX_CANDIDATES_TRIED else MAX_ITEMS_ASKED
    for index in report.ranked:
        reason = report.reason(index)
        if REASONS[reason].keeps:
            continue
        if reason != MERGED.name and report.kept(index) != index:  # it comes back with that one
            continue
        if reason in BUDGET_REASONS:
            if left == 0 or report.hints.beyond is not None:
                continue
            left -= 1
            if report.hints.near(index):
                continue
        found.setdefault(reason, []).append(index)
    return found


def _remedy(
    before: Report, rerender: _Rerender, index: int
) -> tuple[dict[str, Any], Report | None]:
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
            report = rerender(changes)
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
class _Lost:
    """An item that is not whole in the text, as `LostItem` asks of it."""

    report: Report
    index: int

    @property
    def item(self) -> Item:
        return self.report.page.candidates.pool[self.index]

    @property
    def options(self) -> Options:
        return self.report.page.options

    def found_places(self) -> tuple[int, int]:
        """See `LostItem`."""
        pool = self.report.page.candidates.pool
        found = [i for i in packing_order(self.report.page) if pool[i].origin == "similarity"]
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
        if options.packing == "stop":
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
    """Return changes that may remove the reason of an item, the likeliest first."""
    reason = REASONS[report.reason(index)]
    if reason is not MERGED:
        index = report.kept(index)
    return reason.remedy(_Lost(report, index))


def _distinct_order(report: Report) -> list[int]:
    shown_within = (DUPLICATE.name, MERGED.name)
    return [i for i in packing_order(report.page) if report.reason(i) not in shown_within]
