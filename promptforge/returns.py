"""At which budget an item that the budget shortened or left out comes back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from .fitting.fit import SPREAD
from .fitting.scale import UNLIMITED, Form
from .page import Page
from .planning import BEST_FIRST

MEASURED = 64
"""Up to so many items, the page that brings each back is measured; above, it is a sum that suffices."""

TRIED = 12
"""So many budgets are really tried, if trying is cheap."""

FEW = 64
"""With more candidates than these, packings that show a bit of everything are too slow to be tried often."""

CANDIDATES = 2000
"""With more candidates than these, trying one budget takes too long to be done unasked."""

_IN_ORDER = frozenset({"score", "whole", "stop", "drop_last"})
"""Packings that take the first items of the walk, as long as these fit, whatever comes after."""

Whole = Callable[[int], Collection[int]]
"""A budget in tokens → the items that are on the page with it, not shortened."""


def walk(page: Page) -> list[int]:
    """Return the candidates in the order in which they are packed."""
    entries = page.entries.values()
    order = [e.index for e in entries if e.item.required]
    for origin in ("explicit", "similarity"):
        side = [e for e in entries if e.item.origin == origin and not e.item.required]
        if page.options.packing in BEST_FIRST:
            side.sort(key=lambda entry: -entry.rank)
        indices = [entry.index for entry in side]
        as_they_are = page.options.packing in BEST_FIRST | SPREAD
        order += indices if as_they_are else page.walk(indices)
    return order


def come_back(page: Page, reasons: Mapping[int, str], short: Collection[int], whole: Whole) -> dict[int, int]:
    """Return, for items in `short`, a budget in tokens at which the item is on the page as it is meant to be.

    An item is not in the answer where no budget in tokens is known to do it: there is none, or characters or the
    number of items are what is short. `reasons` says why items are not on the page; `whole` tries a budget.
    """
    options = page.options
    if not short or options.max_tokens is None:
        return {}
    least = options.max_tokens + 1
    line = [i for i in _able(page, walk(page)) if reasons.get(i) != "duplicate"]
    both = {page.entries[i].item.origin for i in line}
    shared = (options.combine == "combined" and len(both) > 1) or bool(options.section_budgets)
    in_order = options.packing in _IN_ORDER and not shared
    if in_order and options.combine == "explicit_first" and len(both) > 1:
        # Found items are on the page as long as no named one is.
        named = [i for i in line if page.entries[i].item.origin == "explicit"]
        offers = dict(_in_order(page, named, short))
        most = min(offers.values(), default=UNLIMITED)
        found = _in_order(page, [i for i in line if i not in set(named)], short)
        offers |= {index: tokens for index, tokens in found if tokens < most}
    elif in_order:
        offers = dict(_in_order(page, line, short))
    else:  # below the price of everything, shares and worths decide
        cost = page.measure({i: page.forms(i)[0] for i in line})
        offers = dict.fromkeys(set(line) & set(short), int(cost[0])) if _in_reach(page, cost) else {}
    offers = {index: max(least, tokens) for index, tokens in offers.items()}
    if offers and len(page.entries) <= CANDIDATES:
        offers = _tried(offers, whole, _budgets(page, offers, least, in_order))
    return offers


def _able(page: Page, line: Sequence[int]) -> Iterator[int]:
    """Yield the candidates but those past `max_items`: these come in only while others of them cannot."""
    left = page.options.max_items
    for index in line:
        item = page.entries[index].item
        if item.origin == "similarity" and not item.required and left is not None:
            if left <= 0:
                continue
            left -= 1
        yield index


def _in_reach(page: Page, cost: tuple[float, float]) -> bool:
    options = page.options
    if options.context_window is not None and cost[0] > options.context_window - (options.reserve or 0):
        return False
    return cost[1] <= (UNLIMITED if options.max_chars is None else options.max_chars)


def _in_order(page: Page, line: Sequence[int], short: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the items of `short` that can come back, each with the price of a page up to it."""
    above: dict[int, Form] = {}
    if len(short) <= MEASURED:
        for index in line:
            above[index] = page.forms(index)[0]
            if index in short:
                cost = page.measure(above)
                if not _in_reach(page, cost):
                    return
                yield index, int(cost[0])
        return
    # Sums: each item at its price and the most that a page was seen to add for one, its heading included.
    total = page.measure({})
    extra = [0.0, 0.0]
    for index in line[:MEASURED]:
        form = page.forms(index)[0]
        alone, price = page.measure({index: form}), page.price(index, form)
        extra = [max(extra[u], alone[u] - total[u] - price[u]) for u in (0, 1)]
    for index in line:
        price = page.price(index, page.forms(index)[0])
        total = (total[0] + price[0] + extra[0] + page.joint, total[1] + price[1] + extra[1])
        if not _in_reach(page, total):
            return
        if index in short:
            yield index, int(total[0])


def _budgets(page: Page, offers: Mapping[int, int], least: int, in_order: bool) -> list[int]:
    """Return the budgets to be tried, the smallest first."""
    if in_order:
        return sorted(set(offers.values()))[:TRIED]
    most, steps = max(offers.values()), TRIED
    if page.options.packing in SPREAD:  # proportional: nothing is whole before everything is
        steps = 4 if page.options.packing == "longest_first" and len(page.entries) <= FEW else 0
    # Closer together where a little more is enough.
    return sorted({most, *(least + (most - least) * step * step // steps**2 for step in range(steps))})


def _tried(offers: Mapping[int, int], whole: Whole, budgets: Sequence[int]) -> dict[int, int]:
    """Return the offers, each replaced by the least budget that was tried and brought its item back."""
    found: dict[int, int] = {}
    for budget in budgets:
        back = whole(budget)
        found.update({index: budget for index in offers if index in back and index not in found})
    return found | {i: tokens for i, tokens in offers.items() if i not in found and tokens > budgets[-1]}
