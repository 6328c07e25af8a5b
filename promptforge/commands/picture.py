"""Write pictures of a budget to files."""

from __future__ import annotations

from collections.abc import Callable

from ..pictures import budget, pages, shares
from ..results import Result
from .output import write


def draw(result: Result, at: Callable[[int], Result], html: str | None, svg: str | None) -> None:
    """Write the picture of a result to the files that are named; `at` renders another budget."""
    explanation = result.explain()
    reserve = result.manifest["options"]["reserve"]
    parts, points = shares.parts(result, explanation, reserve), shares.curve(result, at)
    if html:
        write(pages.html(result, explanation, parts, points), html)
    if svg:
        write(budget.svg(result, explanation, parts, points), svg)
