"""Items in as many texts as they need: each goes on where the one before ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ..errors import BudgetError, quote
from ..model import Item, Result
from ..reasons import BUDGET

AS_GIVEN = {
    "packing": "stop", "trim": "none", "rerank": "none", "order": "given", "dedupe": False,
    "merge_overlaps": False, "combine": "combined", "explicit_share": 1.0, "max_items": None,
    "item_max_chars": None, "section_budgets": None, "stubs": False, "outline": False,
    "comments": True, "empty_lines": True, "clean": False,
}  # fmt: skip
"""Options of each part: what they choose or shorten was chosen and shortened once, for all."""


def spread(
    candidates: Sequence[Item], render: Callable[[Sequence[Item]], Result]
) -> Iterator[Result]:
    """Yield parts until all candidates are shown; one too long for a part goes on in the next.

    `render` makes a part of the first of the items that fit. Raises `BudgetError` where a part
    has no room for a single character.
    """
    left = [replace(item, required=False) for item in candidates]
    while left:
        # All that is left, each time: `packing: stop` shows the first of them that fit.
        part = render(left)
        over = [i for i, item in enumerate(part.items) if item.reason == BUDGET.name]
        if len(over) == len(left):
            head, rest = _cut(left[over[0]], lambda item: bool(render([item]).sources))
            part = render([head])
            left[over[0]] = rest
            left.insert(0, left.pop(over[0]))
        else:
            left = [left[index] for index in over]
        yield part


def _cut(item: Item, fits: Callable[[Item], bool]) -> tuple[Item, Item]:
    """Return the longest beginning of an item that fits, and the rest; both know their lines."""
    text = item.content or item.expanded or item.summary or ""
    lines = text.splitlines(keepends=True)
    first = item.start_line or 1

    def piece(content: str, line: int) -> Item:
        end = line + max(0, content.count("\n") - content.endswith("\n"))
        lines: dict[str, Any] = {"start_line": line, "end_line": end}
        return replace(item, content=content, expanded=None, summary=None, **lines)

    count = _most(len(lines) - 1, lambda number: fits(piece("".join(lines[:number]), first)))
    chars = sum(map(len, lines[:count]))
    if not count:  # a line of a megabyte is cut at a character
        chars = _most(len(text) - 1, lambda number: fits(piece(text[:number], first)))
    if not chars:
        name = item.path or item.name or item.id or item.kind
        message = f"a part has no room for any of {quote(name)}; raise max_tokens (--split)"
        raise BudgetError(message, needed=0, largest=0)
    return piece(text[:chars], first), piece(text[chars:], first + text.count("\n", 0, chars))


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `limit` that fits, 0 where none does."""
    low, step = 0, 1
    while step <= limit and fits(step):  # a part holds little of a huge text
        low, step = step, 2 * step
    high = min(step, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
