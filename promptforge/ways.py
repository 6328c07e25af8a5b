"""What would bring an item back: options that are changed one after the other, and tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from .errors import BudgetError, TemplateError
from .explanations import Way
from .grouping import key_of
from .page import Page
from .returns import CANDIDATES, Returns, walk

STEPS = 6
"""So many options are changed, one for each reason that comes to light, before an item is given up."""

LOOKED_AT = 64
"""Of more items that the budget left out, only the first are asked whether a number of tokens brings them back."""

REACH = 200
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
    def back(self) -> Returns:
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


def ways(state: State, again: Again) -> list[Way]:
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
            Way(
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
    left = None if len(state.page.entries) <= CANDIDATES else LOOKED_AT
    for index in state.ranked:
        reason = state.reason(index)
        if reason in ("fits", "required"):
            continue
        if reason in _LOST:
            if left == 0 or state.back.beyond is not None:
                continue
            left = None if left is None else left - 1
            if state.back.near(index):
                continue
        found.setdefault(reason, []).append(index)
    return found


def _try(state: State, again: Again, index: int) -> tuple[dict[str, Any], State] | None:
    """Return changes that bring an item back whole, or that at least remove the reason why it is out, and all then.

    `None` where there are none.
    """
    first, removed = state.reason(index), None
    changes: dict[str, Any] = {}
    for _ in range(STEPS):
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
        found = [i for i in walk(state.page) if state.page.entries[i].item.origin == "similarity"]
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
    key = key_of("kind" if page.by == "none" else page.by)
    name = key(page.entries.pool[index])
    budget = (page.options.section_budgets or {}).get(name)
    if budget is None or budget.max_tokens is None:
        return
    line = [
        i
        for i in walk(page)
        if key(page.entries.pool[i]) == name and state.reason(i) != "duplicate"
    ]
    before = line[: line.index(index) + 1]
    for these in (before, line):
        most = int(sum(page.price(i, page.forms(i)[0])[0] for i in these))
        budgets = {
            **(page.options.section_budgets or {}),
            name: msgspec.structs.replace(budget, max_tokens=most),
        }
        yield {"section_budgets": budgets}


def _more_room(state: State, index: int) -> Iterator[dict[str, Any]]:
    """Yield limits that hold all up to an item, then ones that hold everything."""
    page, options = state.page, state.page.options
    line = [i for i in walk(page) if state.reason(i) != "duplicate"]
    if index not in line:
        return
    for these in (line[: line.index(index) + 1], line):
        if len(these) > REACH:
            return
        tokens, chars = page.measure({i: page.forms(i)[0] for i in these})
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
