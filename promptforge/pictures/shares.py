"""What a picture shows, worked out from a result: sums and labels, nothing that is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..errors import BudgetError
from ..explanations import Explanation
from ..items import span
from ..results import Result, ResultItem

POINTS = 24
"""Budgets at which the worth is worked out, besides those at which something comes back."""
BACK = 12
"""How many of the latter."""
PARTS = 200
"""With more items in the text than these, a picture shows sections instead."""


class Part(NamedTuple):
    """A part of the budget."""

    what: str
    """`frame`, `between`, `item`, `cut` (an item that was shortened), `free` or `reserve`."""
    name: str
    tokens: int
    hue: int = 0
    """Which of eight tints."""


class Point(NamedTuple):
    """A budget, and what would be in the text with it."""

    budget: int
    worth: float
    items: int


def name_of(item: ResultItem) -> str:
    """Return what a picture calls an item."""
    if item.path:
        return span(item.path, item.start_line, item.end_line)
    return item.name or item.id


def parts(result: Result, explanation: Explanation, reserve: int | None) -> list[Part]:
    """Return the parts of the budget, in the order of a picture."""
    found = []
    if result.text:
        found.append(Part("frame", "frame of the templates", explanation.frame))
        found.append(Part("between", "headings and separators", explanation.between))
    shown = {item.id: item for item in result.items if item.form is not None}
    if len(shown) <= PARTS:
        listed = [shown[source.id] for source in result.sources]
        for hue, item in enumerate(listed):
            found.append(
                Part(
                    "cut" if item.status == "trimmed" else "item",
                    name_of(item),
                    item.tokens,
                    hue % 8,
                )
            )
    else:
        for hue, section in enumerate(explanation.sections):
            name = f"{section.title or 'items'}: {section.items:,} items"
            found.append(Part("item", name, section.tokens, hue % 8))
    found.append(Part("free", "free", explanation.left or 0))
    found.append(Part("reserve", "kept for the answer", reserve or 0))
    return [part for part in found if part.tokens > 0]


def curve(result: Result, at: Callable[[int], Result]) -> list[Point]:
    """Return what is in the text over the budget; `at` renders the same with another one. Empty without a budget."""
    now = result.max_tokens
    if now is None:
        return []
    back = sorted(
        {item.fits_at for item in result.items if item.fits_at is not None and item.fits_at > now}
    )
    most = max(now + now // 2, min(back[-1] if back else 0, 4 * now), 10)
    steps = {most * step // POINTS for step in range(POINTS + 1)}
    return [
        *_points(
            sorted(steps | {now} | {each for each in back if each <= most and each in back[:BACK]}),
            at,
        )
    ]


def _points(budgets: Sequence[int], at: Callable[[int], Result]) -> Iterator[Point]:
    for budget in budgets:
        try:
            result = at(budget)
        except BudgetError:  # what is required does not fit
            continue
        taken = result._get("taken").values() if result.text else ()
        yield Point(budget, sum(item.worth for item in taken), len(taken))
