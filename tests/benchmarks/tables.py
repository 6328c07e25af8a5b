"""Results as tables of at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .packing import Cell, Work

WIDTH = 100


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows under heads, the first column to the left, the others to the right."""
    lines = [list(heads), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    return "\n".join(
        "  ".join(
            c.ljust(w) if not i else c.rjust(w)
            for i, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def packed(work: Work, cells: Iterable[Cell]) -> str:
    """Return the table of one work."""
    heads = ("", "x floor", "CPU ms", "used %", "over", "items", "worth %", "peak MB", "runs")
    rows, notes = [], []
    for cell in cells:
        if cell.note.startswith(">"):
            rows.append((cell.subject, cell.note, *[""] * 6, str(cell.runs)))
        elif cell.note:
            notes.append(f"{cell.subject}: left out, {cell.note}")
        else:
            percents = [
                _figure(None if share is None else 100 * share) for share in (cell.used, cell.worth)
            ]
            rows.append(
                (
                    cell.subject,
                    f"{cell.ratio:.2f}"
                    if cell.ratio is not None and cell.ratio < 10
                    else _figure(cell.ratio, 0),
                    _figure(cell.milliseconds),
                    percents[0],
                    str(cell.over),
                    str(cell.shown),
                    percents[1],
                    _figure(cell.peak_mb),
                    str(cell.runs),
                )
            )
    title = f"{work.items:,} items into {work.budget:,} tokens"
    return "\n".join([title, table(heads, rows), *notes])


def _figure(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def grown(works: Sequence[Work], cells: Sequence[Sequence[Cell]], subject: str) -> str:
    """Return how the cost of `subject` grows from one work to the next, which differ in their items
    alone.
    """
    rows = []
    for work, found in zip(works, cells, strict=True):
        cell = next(cell for cell in found if cell.subject == subject)
        each = None if cell.milliseconds is None else 1000 * cell.milliseconds / work.items
        ratio = "" if cell.ratio is None else f"{cell.ratio:.2f}"
        rows.append(
            (
                f"{work.items:,} items",
                ratio,
                _figure(cell.milliseconds),
                _figure(each),
                _figure(cell.peak_mb),
            )
        )
    title = f"growth of {subject}: candidates for {works[0].budget:,} tokens"
    return title + "\n" + table(("", "x floor", "CPU ms", "us an item", "peak MB"), rows)
