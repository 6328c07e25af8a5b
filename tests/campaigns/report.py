"""What a campaign found: figures, and the cases that broke a promise."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SHOWN = 3000
"""Characters of a case that broke a promise; the facts have all of it."""


@dataclass
class Report:
    """Figures of one campaign."""

    name: str
    cases: int
    seed: int
    """The first of the seeds."""
    seeds: int = 1
    figures: dict[str, float | int | str] = field(default_factory=dict)
    """What was measured or counted, by what it is."""
    table: list[tuple[str, ...]] = field(default_factory=list)
    """Rows of a table, the first of them its head."""
    notes: list[str] = field(default_factory=list)
    """What is said line by line."""
    broken: list[dict[str, Any]] = field(default_factory=list)
    """Each case that broke a promise: `promise`, and whatever reproduces it."""

    def lines(self) -> Iterator[str]:
        """Yield the report as a table."""
        seeds = (
            f"seed {self.seed}"
            if self.seeds == 1
            else f"seeds {self.seed} to {self.seed + self.seeds - 1}"
        )
        yield f"{self.name}: {self.cases:,} cases, {seeds}, Python {platform.python_version()}"
        widths = [max(map(len, column)) for column in zip(*self.table, strict=True)]
        for first, *others in self.table:
            cells = (f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
            yield f"  {first:<{widths[0]}}  {'  '.join(cells)}"
        for note in self.notes:
            yield f"  {note}"
        wide = max(map(len, self.figures), default=0)
        for what, figure in self.figures.items():
            yield f"  {what:<{wide}}  {_shown(figure):>10}"
        yield f"  {'broken promises':<{wide}}  {len(self.broken):>10,}"
        for case in self.broken[:20]:
            yield f"  {case}"[:SHOWN]

    def facts(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "name": self.name,
            "cases": self.cases,
            "seed": self.seed,
            "seeds": self.seeds,
            "figures": self.figures,
            "table": self.table,
            "notes": self.notes,
            "broken": self.broken,
        }


def together(reports: list[Report]) -> Report:
    """Return the report of runs of one campaign with seeds that follow each other."""
    first = reports[0]
    whole = Report(first.name, sum(report.cases for report in reports), first.seed, len(reports))
    whole.table = [("with a seed", "least", "most", "in all")]
    for what in dict.fromkeys(what for report in reports for what in report.figures):
        figures = [report.figures.get(what, 0) for report in reports]
        numbers = [figure for figure in figures if not isinstance(figure, str)]
        if not numbers:
            whole.figures[what] = figures[0]
            continue
        summed = all(isinstance(number, int) for number in numbers)
        cells = min(numbers), max(numbers), sum(numbers) if summed else ""
        whole.table.append((what, *map(_shown, cells)))
    whole.notes = list(dict.fromkeys(note for report in reports for note in report.notes))
    whole.broken = [{**case, "seed": report.seed} for report in reports for case in report.broken]
    return whole


def _shown(figure: float | str) -> str:
    return (
        f"{figure:,}"
        if isinstance(figure, int)
        else f"{figure:.2f}"
        if isinstance(figure, float)
        else figure
    )
