"""At which budget an item that the budget shortened or left out comes back.

What would bring an item back: options that are changed one after the other, and tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, Protocol

import msgspec

from ..errors import BudgetError, TemplateError
from ..model import Remedy
from ..packing.pack import FIXED_SET_PACKINGS, Packed
from ..packing.types import UNLIMITED, Variant
from ..selection.group import section_key_of
from .page import Page
from .plan import BEST_FIRST_PACKINGS

MAX_PAGES_MEASURED = 64
"""Of the first so many items the page that brings each back is measured; of those after, it is a sum that suffices."""

MAX_BUDGETS_TRIED = 12
"""So many budgets are really tried, if trying is cheap."""

MOST_TRIED = 40
"""So many are tried where shares and worths decide and the candidates are few."""

FEW = 64
"""With more candidates than these, packings that show a bit of everything are too slow to be tried often."""

MAX_CANDIDATES_TRIED = 2000
"""With more candidates than these, trying one budget takes too long to be done unasked."""

_ORIGIN = attrgetter("origin")

_IN_ORDER = frozenset({"score", "whole", "stop", "drop_last"})
"""Packings that take the first items of the walk, as long as these fit, whatever comes after."""

Whole = Callable[[int], Collection[int]]
"""A budget in tokens → the items that are on the page with it, not shortened."""


def packing_order(page: Page) -> list[int]:
    """Return the candidates in the order in which they are packed."""
    pool, ranks, kept = page.entries.pool, page.entries.ranks, page.entries.kept
    order = [i for i in kept if pool[i].required]
    for origin in ("explicit", "similarity"):
        side = [i for i in kept if pool[i].origin == origin and not pool[i].required]
        if page.options.packing in BEST_FIRST_PACKINGS:
            side.sort(key=ranks.__getitem__, reverse=True)
        as_they_are = page.options.packing in BEST_FIRST_PACKINGS | FIXED_SET_PACKINGS
        order += side if as_they_are else page.walk(side)
    return order


class BudgetHints:
    """Budgets in tokens at which items are on the page whole, worked out no further than they are asked for."""

    def __init__(
        self,
        page: Page,
        fit: Packed,
        order: Sequence[int],
        short: Collection[int],
        whole: Whole,
        ahead: int,
    ) -> None:
        """Make them for the items in `short`: shortened, or left out for the budget; `whole` tries a budget.

        `order`: the candidates as `walk` gives them.
        `ahead`: of very many candidates just one budget is tried, so much larger than the one there is.
        """
        self._page, self._fit, self._short, self._whole = page, fit, short, whole
        self._now = page.options.max_tokens
        self._ahead = ahead
        line = [i for i in _maybe_fitting(page, order) if fit.reasons.get(i) != "duplicate"]
        self._line = line if short and self._now is not None else []
        origins = set(map(_ORIGIN, map(page.entries.pool.__getitem__, self._line)))
        options = page.options
        shared = (options.combine == "combined" and len(origins) > 1) or bool(
            options.section_budgets
        )
        self._ordered = options.packing in _IN_ORDER and not shared and page.extractor() is None
        self._few = len(page.entries) <= MAX_CANDIDATES_TRIED
        self._streams = [_Stream(page, self._line, short)]
        if self._ordered and options.combine == "explicit_first" and len(origins) > 1:
            # Found items are on the page as long as no named one is.
            sides = (
                [i for i in self._line if (page.entries[i].item.origin == "explicit") is named]
                for named in (True, False)
            )
            self._streams = [_Stream(page, side, short) for side in sides]

    def at(self, index: int) -> int | None:
        """Return a budget that brings an item back whole; `None` where none is known to do it.

        There is none, or characters or the number of items are what is short.
        """
        found = self.near(index)
        if found is not None or self._few or self._ordered or index not in self._short:
            return found
        return self._everything.get(index)

    def near(self, index: int) -> int | None:
        """Return the same as far as it can be told without the price of everything."""
        if self._now is None or index not in self._short:
            return None
        if not self._few and self._ordered:
            return self._offer(index)
        return self._found.get(index)

    @property
    def beyond(self) -> int | None:
        """The budget that is too little for what `near` has none for; `None` where that is not known of all."""
        return None if self._few or self._ordered or self._now is None else self._now + self._ahead

    def first(self) -> tuple[int, int] | None:
        """Return the least of these budgets, as far as is known, and the item that it brings back."""
        if not self._few and self._ordered:
            offers = [
                (tokens, i)
                for stream in self._streams
                for i, tokens in stream.first()
                if self._offer(i)
            ]
        else:
            offers = [(tokens, i) for i, tokens in self._found.items()]
        return min(offers, default=None)

    def _offer(self, index: int) -> int | None:
        named, *found = self._streams
        tokens = named.at(index)
        if tokens is None and found:
            tokens = found[0].at(index)
            least = next((each for _, each in named.first()), UNLIMITED)
            tokens = None if tokens is None or tokens >= least else tokens
        return None if tokens is None else max(tokens, (self._now or 0) + 1)

    @cached_property
    def _found(self) -> dict[int, int]:
        """What is known of few candidates, and of many that are not packed in order."""
        if self._now is None or not self._line:
            return {}
        if not self._few:
            more = self._now + self._ahead
            return dict.fromkeys(set(self._short) & set(self._whole(more)), more)
        if not self._ordered:
            return self._sought(self._everything)
        return self._sought(
            {i: tokens for i in self._short if (tokens := self._offer(i)) is not None}
        )

    @cached_property
    def _everything(self) -> dict[int, int]:
        """The price of a page with everything, below which shares and worths decide."""
        cost = self._page.measure({i: self._page.variants(i)[0] for i in self._line})
        most = max(int(cost[0]), (self._now or 0) + 1)
        return (
            dict.fromkeys(set(self._line) & set(self._short), most)
            if _in_reach(self._page, cost)
            else {}
        )

    def _sought(self, offers: dict[int, int]) -> dict[int, int]:
        """Return the offers, each lowered to the least budget that was tried and brought its item back.

        Trying stops when at one token less each is known not to be back, or after a number that is set beforehand.
        """
        packing, candidates = self._page.options.packing, len(self._page.entries)
        trials = MAX_BUDGETS_TRIED  # enough where the offers are the least but for what is seldom
        if not self._ordered:
            trials = max(
                MAX_BUDGETS_TRIED,
                min(MOST_TRIED, MOST_TRIED * MAX_BUDGETS_TRIED // max(1, candidates)),
            )
        if packing in FIXED_SET_PACKINGS and not self._ordered:  # one takes many pages
            trials = (
                min(trials, MOST_TRIED * MAX_BUDGETS_TRIED // 2 // max(1, candidates))
                if candidates <= FEW
                else 1
            )
        search = _Search(self._whole, offers, self._now or 0, sure=self._ordered)
        if not self._ordered and offers:
            search.refuse(max(offers.values()))
        for budget in self._guesses(offers, trials // 2):
            search.attempt(budget)
        while len(search.tried) < trials and (middle := search.between()) is not None:
            search.attempt(middle)
        return search.high

    def _guesses(self, offers: Mapping[int, int], most: int) -> list[int]:
        """Return budgets that may do, about so many: the page as it is and one item whole; what others come back at.

        Where shares and worths decide, most of them lie anywhere, closer together where a little more is enough.
        """
        page, now, chosen = self._page, self._now or 0, self._fit.chosen
        some = sorted(offers, key=lambda i: (offers[i], i))[:MOST_TRIED]
        least = []
        for index in some:
            before = page.item_cost(index, chosen[index])[0] if index in chosen else 0
            need = (
                self._fit.cost[0]
                + page.item_cost(index, page.variants(index)[0])[0]
                - before
                + page.shared_end_tokens
            )
            least.append(int(max(need, now + 1)))
        if self._ordered:
            first = sorted({offers[i] for i in some})[
                : 2 * most - 3
            ]  # that they do is not sure before it is tried
            return list(dict.fromkeys([*first, *sorted(least)]))[: max(most, len(first))]
        span = max(offers.values(), default=now) - now
        steps = [now + span * step * step // most**2 for step in range(1, most)]
        return sorted({*sorted(set(least))[: most // 2], *steps})


class _Stream:
    """The candidates in the order in which they are packed, each with the price of a page up to it."""

    def __init__(self, page: Page, line: Sequence[int], short: Collection[int]) -> None:
        self._ahead = _in_order(page, line, short)
        self._left = set(line) & set(short)
        self._seen: dict[int, int] = {}

    def at(self, index: int) -> int | None:
        """Return the price of the page that ends with an item; `None` where it is not in reach."""
        while index in self._left and self._step():
            continue
        return self._seen.get(index)

    def first(self) -> list[tuple[int, int]]:
        """Return the first item that is in reach, with its price; nothing where none is."""
        while not self._seen and self._step():
            continue
        return list(self._seen.items())[:1]

    def _step(self) -> bool:
        for index, tokens in self._ahead:
            self._left.discard(index)
            self._seen[index] = tokens
            return True
        self._left.clear()
        return False


class _Search:
    """Budgets that were tried: for each item the least that brought it back, and the largest below that did not."""

    def __init__(self, whole: Whole, offers: Mapping[int, int], now: int, *, sure: bool) -> None:
        """Start from offers, which are known to do; `sure`: and that a token less would not, but much less might."""
        self.tried: dict[int, Collection[int]] = {}
        self.high = dict(offers)
        self._whole = whole
        self._low = {i: tokens - 1 if sure else now for i, tokens in offers.items()}
        self._now = now

    def refuse(self, budget: int) -> None:
        """Try a budget that should bring everything back, and forget what it does not."""
        back = self.tried[budget] = self._whole(budget)
        self.high = {i: tokens for i, tokens in self.high.items() if i in back}

    def attempt(self, budget: int) -> None:
        """Try a budget."""
        if budget in self.tried or all(budget > tokens for tokens in self.high.values()):
            return
        back = self.tried[budget] = self._whole(budget)
        for index, tokens in list(self.high.items()):
            if index in back and budget < tokens:
                self.high[index] = budget
                vain = (b for b, found in self.tried.items() if b < budget and index not in found)
                self._low[index] = max(vain, default=self._now)
            elif index not in back and budget == tokens:
                del self.high[index]
            elif index not in back and self._low[index] < budget < tokens:
                self._low[index] = budget

    def between(self) -> int | None:
        """Return the budget to be tried next: in the middle of what is not known of the item that is nearest."""
        open_ = [(tokens, i) for i, tokens in self.high.items() if tokens - self._low[i] > 1]
        return (min(open_)[0] + self._low[min(open_)[1]]) // 2 if open_ else None


def _maybe_fitting(page: Page, line: Sequence[int]) -> Iterator[int]:
    """Yield the candidates but those past `max_items`: these come in only while others of them cannot."""
    left = page.options.max_items
    for index in line:
        item = page.entries.pool[index]
        if item.origin == "similarity" and not item.required and left is not None:
            if left <= 0:
                continue
            left -= 1
        yield index


def _in_reach(page: Page, cost: tuple[float, float]) -> bool:
    options = page.options
    if options.context_window is not None and cost[0] > options.context_window - (
        options.reserve or 0
    ):
        return False
    return cost[1] <= (UNLIMITED if options.max_chars is None else options.max_chars)


def _in_order(page: Page, line: Sequence[int], short: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the items of `short` that can come back, each with the price of a page up to it."""
    above: dict[int, Variant] = {}
    at, left, cost = 0, MAX_PAGES_MEASURED, (0.0, 0.0)
    while at < len(line) and left:
        index = line[at]
        at += 1
        if page.duplicates(index, above)[0] is not None:
            continue
        above[index] = page.variants(index)[0]
        if index in short:
            cost, left = page.measure(above), left - 1
            if not _in_reach(page, cost):
                return
            yield index, int(cost[0])
    # Sums: each item at its price and the most that a page was seen to add for one, its heading included.
    empty, extra = page.measure({}), [0.0, 0.0]
    for index in line[:MAX_PAGES_MEASURED] if at < len(line) else ():
        form = page.variants(index)[0]
        alone, price = page.measure({index: form}), page.item_cost(index, form)
        extra = [max(extra[u], alone[u] - empty[u] - price[u]) for u in (0, 1)]
    for index in line[at:]:
        price = page.item_cost(index, page.variants(index)[0])
        cost = (
            cost[0] + price[0] + extra[0] + page.shared_end_tokens,
            cost[1] + price[1] + extra[1],
        )
        if not _in_reach(page, cost):
            return
        if index in short:
            yield index, int(cost[0])


MAX_OPTIONS_CHANGED = 6
"""So many options are changed, one for each reason that comes to light, before an item is given up."""

MAX_ITEMS_ASKED = 64
"""Of more items that the budget left out, only the first are asked whether a number of tokens brings them back."""

MAX_ITEMS_MEASURED = 200
"""The room for more items than these, one beside the other, is not worked out."""

_LOST = frozenset({"budget", "section_budget"})


class State(Protocol):
    """A rendering, as far as it is asked here."""

    @property
    def page(self) -> Page:
        """The page."""
        ...

    @property
    def ranked(self) -> Sequence[int]:
        """All items, the candidates first, in the order in which they were packed."""
        ...

    @property
    def hints(self) -> BudgetHints:
        """Budgets in tokens that bring items back."""
        ...

    def reason(self, index: int) -> str:
        """Return why an item is in the text as it is, or why it is not."""
        ...

    def status(self, index: int) -> str:
        """Return `included`, `trimmed` or `dropped`."""
        ...

    def name(self, index: int) -> str:
        """Return the id of an item."""
        ...


Again = Callable[[Mapping[str, Any]], State]
"""Changes of options → the same rendering with them."""


def find_remedies(state: State, again: Again) -> list[Remedy]:
    """Return for each reason why items are out or cut what brings the best of them back, and how many with it."""
    found = []
    for reason, members in _reasons(state).items():
        best = (
            max(members, key=lambda index: state.page.entries.ranks[index])
            if reason not in _LOST
            else members[0]
        )
        tried = _try(state, again, best)
        back = (
            0 if tried is None else sum(tried[1].status(index) == "included" for index in members)
        )
        options = {} if tried is None else _plain(tried[0])
        found.append(
            Remedy(
                reason=reason, items=len(members), item=state.name(best), options=options, back=back
            )
        )
    return found


def _plain(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes as anyone can give them as options."""
    plain: dict[str, Any] = msgspec.to_builtins(changes)
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()
    }


def _reasons(state: State) -> dict[str, list[int]]:
    """Return the items that are out or cut by their reason; those that tokens alone bring back are not among them."""
    found: dict[str, list[int]] = {}
    left = None if len(state.page.entries) <= MAX_CANDIDATES_TRIED else MAX_ITEMS_ASKED
    for index in state.ranked:
        reason = state.reason(index)
        if reason in ("fits", "required"):
            continue
        if reason in _LOST:
            if left == 0 or state.hints.beyond is not None:
                continue
            left = None if left is None else left - 1
            if state.hints.near(index):
                continue
        found.setdefault(reason, []).append(index)
    return found


def _try(state: State, again: Again, index: int) -> tuple[dict[str, Any], State] | None:
    """Return changes that bring an item back whole, or that at least remove the reason why it is out, and all then.

    `None` where there are none.
    """
    first, removed = state.reason(index), None
    changes: dict[str, Any] = {}
    for _ in range(MAX_OPTIONS_CHANGED):
        try:
            step = next(
                (step for step in _steps(state, index) if not step.items() <= changes.items()), None
            )
            if step is None:
                break
            changes = {**changes, **step}
            state = again(changes)
        except (BudgetError, TemplateError):
            break
        if state.status(index) == "included":
            return changes, state
        if removed is None and state.reason(index) in _LOST and first not in _LOST:
            removed = changes, state
    return removed


def _steps(state: State, index: int) -> Iterator[dict[str, Any]]:
    """Yield what may remove the reason for which an item is out, the likeliest first."""
    options, item = state.page.options, state.page.entries.pool[index]
    reason = state.reason(index)
    if reason == "kinds":
        plain = item.kind.isprintable() and not set(item.kind) & set(", ")
        yield {"kinds": (*(options.kinds or ()), item.kind) if plain else None}
    elif reason in ("paths", "languages"):
        yield {reason: None}
    elif reason == "min_score":
        yield {"min_score": math.floor(item.score * 100) / 100 or None}
    elif reason == "duplicate":
        yield {"dedupe": False}
    elif reason == "merged":
        yield {"merge_overlaps": False}
    elif reason == "combine":
        yield {"combine": "combined"}
    elif reason == "max_items":
        found = [
            i
            for i in packing_order(state.page)
            if state.page.entries[i].item.origin == "similarity"
        ]
        yield {"max_items": found.index(index) + 1}
        yield {"max_items": len(found)}
    elif reason == "section_budget":
        yield from _more_for_section(state, index)
    if reason in _LOST:
        if (
            item.origin == "similarity"
            and options.combine != "combined"
            and "explicit" in state.page.entries.origins
        ):
            yield {"combine": "combined"}
        yield from _more_room(state, index)
        if options.section_budgets:
            yield {"section_budgets": None}
        if options.packing == "stop":
            yield {"packing": "whole"}


def _more_for_section(state: State, index: int) -> Iterator[dict[str, Any]]:
    """Yield a maximum of its section that an item has room in, after those that come before it."""
    page = state.page
    key = section_key_of("kind" if page.by == "none" else page.by)
    name = key(page.entries.pool[index])
    budget = (page.options.section_budgets or {}).get(name)
    if budget is None or budget.max_tokens is None:
        return
    line = [
        i
        for i in packing_order(page)
        if key(page.entries.pool[i]) == name and state.reason(i) != "duplicate"
    ]
    before = line[: line.index(index) + 1]
    for these in (before, line):
        most = int(sum(page.item_cost(i, page.variants(i)[0])[0] for i in these))
        budgets = {
            **(page.options.section_budgets or {}),
            name: msgspec.structs.replace(budget, max_tokens=most),
        }
        yield {"section_budgets": budgets}


def _more_room(state: State, index: int) -> Iterator[dict[str, Any]]:
    """Yield limits that hold all up to an item, then ones that hold everything."""
    page, options = state.page, state.page.options
    line = [i for i in packing_order(page) if state.reason(i) != "duplicate"]
    if index not in line:
        return
    for these in (line[: line.index(index) + 1], line):
        if len(these) > MAX_ITEMS_MEASURED:
            return
        tokens, chars = page.measure({i: page.variants(i)[0] for i in these})
        step: dict[str, Any] = {}
        if options.max_tokens is not None and tokens > options.max_tokens:
            step["max_tokens"] = int(tokens)
        if options.context_window is not None and tokens > options.context_window - (
            options.reserve or 0
        ):
            step["context_window"] = int(tokens) + (options.reserve or 0)
        if options.max_chars is not None and chars > options.max_chars:
            step["max_chars"] = int(chars)
        if step:
            yield step
