"""The picture of a budget: a bar of all that it was spent on, the items, and their worth over the budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..explanations import Explanation
from ..results import Result, ResultItem
from . import drawing
from .drawing import box, line, write
from .shares import Part, Point, name_of

WIDE = 960
EDGE = 24
ROOM = WIDE - 2 * EDGE
ROWS = 40
"""Items that a picture lists."""
NAMED = 12
"""Parts of the bar that its legend lists."""
_STATUS = {"included": "in", "trimmed": "cut", "dropped": "out"}


def svg(
    result: Result,
    explanation: Explanation,
    parts: Sequence[Part],
    points: Sequence[Point],
    *,
    style: bool = True,
) -> str:
    """Return the picture as SVG; `style=False` where the page around it has `drawing.STYLE`."""
    shapes: list[str] = []
    y = EDGE + 14.0
    shapes.append(write(EDGE, y, headline(result), "title"))
    shapes.append(write(EDGE, y + 20, _made_of(result), "soft"))
    y = _bar(shapes, parts, y + 36)
    y = _items(shapes, result, y + 16)
    if len(points) > 1:
        y = _curve(shapes, result, points, y + 16)
    said = describe(result, explanation, points)
    return drawing.picture(WIDE, y + EDGE, headline(result), said, shapes, style=style)


def headline(result: Result) -> str:
    """Return what a picture is called."""
    most = (
        "no limit" if result.max_tokens is None else f"{result.tokens:,} of {result.max_tokens:,}"
    )
    return (
        f"Where {most} tokens went"
        if result.max_tokens is not None
        else f"Where {result.tokens:,} tokens went"
    )


def describe(result: Result, explanation: Explanation, points: Sequence[Point]) -> str:
    """Return the picture in words."""
    left = "" if explanation.left is None else f", {explanation.left:,} left"
    items = sum(section.tokens for section in explanation.sections)
    said = [
        f"{result.items_included:,} of {result.total_available:,} items are in the text, {result.items_trimmed:,} of "
        f"them shortened; {result.items_dropped:,} are left out.",
        f"Items take {items:,} tokens, headings and separators {explanation.between:,}, the frame of the templates "
        f"{explanation.frame if result.text else 0:,}{left}.",
    ]
    if explanation.next_at is not None:
        said.append(f"The least budget that brings something back is {explanation.next_at:,}.")
    if len(points) > 1:
        first, last = points[0], points[-1]
        said.append(
            f"From {first.budget:,} to {last.budget:,} tokens the worth of what is in the text goes from "
            f"{first.worth:.2f} to {last.worth:.2f}."
        )
    return " ".join(said)


def _made_of(result: Result) -> str:
    kind = "exact" if result.exact else "approximate"
    return (
        f"{result.layout} · {result.format} · profile {result.profile} · {kind}, {result.tokenizer}"
    )


def _fill(part: Part) -> dict[str, Any]:
    if part.what in ("item", "cut"):
        return {"kind": f"t{part.hue}"}
    return (
        {"kind": "", "fill": part.what}
        if part.what in ("between", "reserve")
        else {"kind": part.what}
    )


def _bar(shapes: list[str], parts: Sequence[Part], y: float) -> float:
    total = sum(part.tokens for part in parts) or 1
    x = float(EDGE)
    shapes.append(box(EDGE, y, ROOM, 28, "free"))
    for part in parts:
        wide = ROOM * part.tokens / total
        shapes.append(
            box(
                x,
                y,
                wide - (1 if wide > 3 else 0),
                28,
                name=f"{part.name}: {part.tokens:,}",
                **_fill(part),
            )
        )
        x += wide
    y += 46
    others = [part for part in parts if part.what not in ("item", "cut")]
    largest = sorted(
        (part for part in parts if part.what in ("item", "cut")), key=lambda part: -part.tokens
    )
    named = [*others, *largest[: NAMED - len(others)]]
    for number, part in enumerate(named):
        column, row = number % 3, number // 3
        x = EDGE + column * ROOM / 3
        shapes.append(box(x, y + row * 20 - 9, 10, 10, **_fill(part)))
        shapes.append(write(x + 16, y + row * 20, part.name, "soft", 34))
        shapes.append(write(x + ROOM / 3 - 20, y + row * 20, f"{part.tokens:,}", "soft end"))
    return y + 20 * ((len(named) + 2) // 3)


def listed(result: Result) -> list[ResultItem]:
    """Return the items in the order of packing, those that were no candidates last."""
    return sorted(result.items, key=lambda item: (item.rank is None, item.rank or 0))


def _items(shapes: list[str], result: Result, y: float) -> float:
    items = listed(result)
    rows = items[:ROWS]
    shapes.append(write(EDGE, y, "Items, in the order of packing", "head"))
    shapes.append(write(WIDE - EDGE, y, "tokens in the text, of those it takes whole", "soft end"))
    widest = max((max(item.tokens_full, item.tokens) for item in rows), default=1) or 1
    order = {source.id: number for number, source in enumerate(result.sources)}
    for row in rows:
        y += 22
        shapes.append(write(EDGE, y, _STATUS[row.status], "soft"))
        shapes.append(write(EDGE + 34, y, name_of(row), "" if row.form else "soft", 38))
        why = "" if row.reason == "fits" else row.reason.replace("_", " ")
        back = (
            f", {'whole' if row.form else 'back'} at {row.fits_at:,}"
            if row.fits_at is not None
            else ""
        )
        shapes.append(write(EDGE + 330, y, f"{why}{back}", "soft", 40))
        scale = 250 / widest
        left = EDGE + 560
        shapes.append(box(left, y - 10, max(row.tokens_full, row.tokens) * scale, 11, "whole"))
        if row.form:
            said = f"{name_of(row)}: {row.tokens:,} of {row.tokens_full:,}"
            shapes.append(
                box(left, y - 10, row.tokens * scale, 11, f"t{order.get(row.id, 0) % 8}", said)
            )
        cost = f"{row.tokens:,} / {row.tokens_full:,}" if row.form else f"{row.tokens_full:,}"
        shapes.append(write(WIDE - EDGE, y, cost, "soft end"))
    if len(items) > len(rows):
        y += 22
        shapes.append(write(EDGE, y, f"and {len(items) - len(rows):,} more", "soft"))
    return y + 20


def _curve(shapes: list[str], result: Result, points: Sequence[Point], y: float) -> float:
    high, left = 160.0, EDGE + 40.0
    most, best = points[-1].budget, max(point.worth for point in points) or 1.0

    def place(point: Point) -> tuple[float, float]:
        return left + (WIDE - EDGE - left) * point.budget / most, base - high * point.worth / best

    shapes.append(write(EDGE, y, "Worth of what is in the text, over the budget", "head"))
    base = y + 22 + high
    for share in (0, 0.5, 1):
        at = base - high * share
        shapes.append(line([(left, at), (WIDE - EDGE, at)], "line"))
        shapes.append(write(left - 8, at + 4, f"{best * share:.3g}", "soft end"))
    for step in range(5):
        budget = most * step // 4
        x = left + (WIDE - EDGE - left) * budget / most
        shapes.append(
            write(x, base + 18, f"{budget:,}", "soft end" if step == 4 else "soft middle")
        )
    shapes.append(line(_steps([place(point) for point in points]), "curve"))
    now = next((point for point in points if point.budget == result.max_tokens), None)
    if now is not None:
        x, at = place(now)
        shapes.append(line([(x, base), (x, base - high)], "now"))
        shapes.append(
            f'<circle class="dot" cx="{x:.1f}" cy="{at:.1f}" r="4"><title>now</title></circle>'
        )
    return base + 26


def _steps(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield a line in steps: nothing is known to come in between two budgets that were tried."""
    last = None
    for x, y in points:
        if last is not None:
            yield x, last
        yield x, y
        last = y
