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

_CHARS_SEEN = 1 << 16
"""Of the rest of a huge text this much is split into lines at first: a part holds little of it."""


def spread(
    candidates: Sequence[Item], render: Callable[[Sequence[Item]], Result]
) -> Iterator[Result]:
    """Yield parts until all candidates are shown; one too long for a part goes on in the next.

    `render` makes a part of the first of the items that fit. Raises `BudgetError` where a part
    has no room for a single character.
    """
    left = [replace(item, required=False) for item in candidates]
    near = 1
    while left:
        # All that is left, each time: `packing: stop` shows the first of them that fit.
        part = render(left)
        # Not `part.items`: that hashes all that is left, for each of thousands of parts.
        over = [i for i in range(len(left)) if part.report.reason(i) == BUDGET.name]
        if len(over) == len(left):
            head, rest, near = _cut(left[over[0]], near, lambda item: bool(render([item]).sources))
            part = render([head])
            left[over[0]] = rest
            left.insert(0, left.pop(over[0]))
        else:
            left = [left[index] for index in over]
        yield part


def _cut(item: Item, near: int, fits: Callable[[Item], bool]) -> tuple[Item, Item, int]:
    """Return the longest beginning of an item that fits, the rest, and the lines of the beginning.

    The search begins at `near` lines. Both parts know their lines.
    """
    text = item.content or item.expanded or item.summary or ""
    first = item.start_line or 1

    def piece(content: str, line: int) -> Item:
        end = line + max(0, content.count("\n") - content.endswith("\n"))
        lines: dict[str, Any] = {"start_line": line, "end_line": end}
        return replace(item, content=content, expanded=None, summary=None, **lines)

    def fit(number: int) -> bool:
        return fits(piece("".join(lines[:number]), first))

    seen, count = _CHARS_SEEN, 0
    while True:
        lines = text[:seen].splitlines(keepends=True)
        limit = len(lines) - 1
        count = _most(limit, max(count, near), fit)
        if count < limit or seen >= len(text):
            break
        seen *= 4
    chars = sum(map(len, lines[:count]))
    if not count:  # a line of a megabyte is cut at a character
        chars = _most(len(text) - 1, 1, lambda number: fits(piece(text[:number], first)))
    if not chars:
        name = item.path or item.name or item.id or item.kind
        message = f"a part has no room for any of {quote(name)}; raise max_tokens (--split)"
        raise BudgetError(message, needed=0, largest=0)
    rest = piece(text[chars:], first + text.count("\n", 0, chars))
    return piece(text[:chars], first), rest, count


def _most(limit: int, near: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `limit` that fits, 0 where none does.

    The search goes away from `near` by steps that double, then by halves.
    """
    low, high, step = 0, limit + 1, 1
    middle = max(1, min(near, limit))
    while high - low > 1:
        if fits(middle):
            low = middle
        else:
            high = middle
        if low and high <= limit:
            middle = (low + high) // 2
        else:
            middle = min(low + step, limit) if low else max(high - step, 1)
            step *= 2
    return low
