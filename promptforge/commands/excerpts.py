"""Print a line of a file with a mark below the mistake."""

from __future__ import annotations

from collections.abc import Iterator

from ..escaping import label
from .tables import width

WIDEST = 100
"""Characters of a source line that are shown."""


def excerpt(source: str, line: int, column: int, end: int = 0) -> Iterator[str]:
    """Yield a numbered line of source, and marks below the columns `column` to `end` (exclusive)."""
    # A long line is cut around the column, so that the mistake stands in the middle.
    start = max(0, min(column - WIDEST // 2, len(source) - WIDEST))
    part = source[start : start + WIDEST]
    before = _shown(part[: column - 1 - start])
    marked = _shown(part[column - 1 - start : max(end, column + 1) - 1 - start])
    after = _shown(part[max(end, column + 1) - 1 - start :])
    cut = "…" * bool(start)
    more = "…" * (start + WIDEST < len(source))
    margin = " " * len(str(line))
    yield f"  {line} | {cut}{before}{marked}{after}{more}".rstrip()
    yield f"  {margin} | {' ' * width(cut + before)}{'^' * max(1, width(marked))}"


def _shown(text: str) -> str:
    return label(text.replace("\t", "    "))
