"""A line of a file with a mark below it."""

from __future__ import annotations

from collections.abc import Iterator

from ..escaping import label
from .tables import width

WIDEST = 100
"""Characters of a source line that are shown."""


def excerpt(source: str, line: int, column: int, end: int = 0) -> Iterator[str]:
    """Yield a line of source with its number, and below it a mark under the columns from `column` to before `end`."""
    start = max(0, min(column - WIDEST // 2, len(source) - WIDEST)) if len(source) > WIDEST else 0
    part = source[start : start + WIDEST]
    before = _shown(part[: column - 1 - start])
    marked = _shown(part[column - 1 - start : max(end, column + 1) - 1 - start])
    after = _shown(part[max(end, column + 1) - 1 - start :])
    cut = "…" if start else ""
    more = "…" if start + WIDEST < len(source) else ""
    margin = " " * len(str(line))
    yield f"  {line} | {cut}{before}{marked}{after}{more}".rstrip()
    yield f"  {margin} | {' ' * width(cut + before)}{'^' * max(1, width(marked))}"


def _shown(text: str) -> str:
    return label(text.replace("\t", "    "))
