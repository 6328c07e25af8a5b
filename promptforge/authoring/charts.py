"""The picture of a budget: a bar of all that it was spent on, the items, and their worth over the budget.

SVG: the few shapes that a picture is made of. Whatever is text goes through `words`.

The picture of a budget as a page of its own: no script, nothing to be loaded, and all of it as tables too.

What a picture shows, worked out from a result: sums and labels, nothing that is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from ..errors import BudgetError
from ..model import Explanation, Result, ResultItem, path_with_lines
from ..text.escape import to_label

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_LIGHT = (
    "--paper:#fdfcfa;--ink:#22252a;--soft:#5c5f66;--line:#d9d5cc;--accent:#2f5d8a;--free:#ebe8e1;"
)

_DARK = (
    "--paper:#17191c;--ink:#e4e2dd;--soft:#a9abb0;--line:#3a3d43;--accent:#8ab6e0;--free:#2a2d32;"
)

_LIGHT_TINTS = (
    "#5b9bd5",
    "#6aab6c",
    "#c79350",
    "#b581c2",
    "#3fb0ab",
    "#d2806b",
    "#8f8bd0",
    "#a2a552",
)

_DARK_TINTS = (
    "#4985bf",
    "#4f9054",
    "#a87828",
    "#99669f",
    "#2c918d",
    "#b0634f",
    "#716eb0",
    "#82862f",
)


def _tints(colours: Iterable[str]) -> str:
    return "".join(f"--t{number}:{colour};" for number, colour in enumerate(colours))


STYLE = f"""
.pf {{ {_LIGHT}{_tints(_LIGHT_TINTS)} color-scheme: light dark; }}
@media (prefers-color-scheme: dark) {{ .pf {{ {_DARK}{_tints(_DARK_TINTS)} }} }}
.pf text {{ font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); }}
.pf .title {{ font-size: 17px; font-weight: 600; }}
.pf .head {{ font-weight: 600; }}
.pf .soft {{ fill: var(--soft); font-size: 12px; }}
.pf .end {{ text-anchor: end; }} .pf .middle {{ text-anchor: middle; }}
.pf .paper {{ fill: var(--paper); }} .pf .free {{ fill: var(--free); }}
.pf .frame {{ fill: var(--soft); }} .pf .whole {{ fill: none; stroke: var(--line); }}
.pf .line {{ stroke: var(--line); fill: none; }} .pf .now {{ stroke: var(--accent); stroke-dasharray: 3 3; }}
.pf .curve {{ stroke: var(--accent); stroke-width: 2; fill: none; }} .pf .dot {{ fill: var(--accent); }}
{"".join(f".pf .t{number} {{ fill: var(--t{number}); }} " for number in range(8))}
"""
"""The look of a picture, in light and dark."""

PATTERNS = (
    '<defs><pattern id="reserve" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 0V6" class="line" stroke-width="3"/></pattern>'
    '<pattern id="between" width="4" height="6" patternUnits="userSpaceOnUse">'
    '<rect width="2" height="6" class="frame"/></pattern></defs>'
)


def words(text: object, most: int = 80) -> str:
    """Return a text for XML, on one line, with what cannot be seen shown as escapes, its middle cut if it is long."""
    shown = _ILLEGAL.sub("\ufffd", to_label(str(text)))
    if len(shown) > most:
        shown = f"{shown[: most // 2]}…{shown[-(most - most // 2 - 1) :]}"
    return escape(shown)


def write(x: float, y: float, text: object, kind: str = "", most: int = 80) -> str:
    """Return a text at a place; `kind` is a class of `STYLE`."""
    mark = f' class="{kind}"' if kind else ""
    return f'<text x="{_number(x)}" y="{_number(y)}"{mark}>{words(text, most)}</text>'


def box(
    x: float, y: float, wide: float, high: float, kind: str, name: str = "", fill: str = ""
) -> str:
    """Return a rectangle; `name` is what it says when it is pointed at, `fill` a pattern's id."""
    style = f' fill="url(#{fill})"' if fill else f' class="{kind}"'
    place = f'x="{_number(x)}" y="{_number(y)}" width="{_number(max(wide, 0))}" height="{_number(high)}"'
    title = f"<title>{words(name, 200)}</title>" if name else ""
    return f"<rect {place}{style}>{title}</rect>"


def line(points: Iterable[tuple[float, float]], kind: str) -> str:
    """Return a line through points."""
    return f'<polyline class="{kind}" points="{" ".join(f"{_number(x)},{_number(y)}" for x, y in points)}"/>'


def picture(
    wide: int,
    high: float,
    title: str,
    description: str,
    shapes: Iterable[str],
    *,
    style: bool = True,
) -> str:
    """Return a whole SVG with a title and a description for those who cannot see it."""
    size = f'width="{wide}" height="{_number(high)}" viewBox="0 0 {wide} {_number(high)}"'
    named = 'role="img" aria-labelledby="pf-title pf-description"'
    sheet = f"<style>{STYLE}</style>" if style else ""
    head = f'<title id="pf-title">{words(title)}</title><desc id="pf-description">{words(description, 2000)}</desc>'
    paper = box(0, 0, wide, high, "paper")
    body = "\n".join([head, sheet, PATTERNS, paper, *shapes])
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="pf" {size} {named}>\n{body}\n</svg>\n'


def attribute(text: object) -> str:
    """Return a text as a quoted attribute."""
    return quoteattr(_ILLEGAL.sub("\ufffd", to_label(str(text))))


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


POINTS = 24
"""Budgets at which the worth is worked out, besides those at which something comes back."""

BACK = 12
"""How many of the latter."""

PARTS = 200
"""With more items in the text than these, a picture shows sections instead."""


class BudgetPart(NamedTuple):
    """A part of the budget."""

    what: str
    """`frame`, `between`, `item`, `cut` (an item that was shortened), `free` or `reserve`."""
    name: str
    tokens: int
    hue: int = 0
    """Which of eight tints."""


class BudgetPoint(NamedTuple):
    """A budget, and what would be in the text with it."""

    budget: int
    worth: float
    items: int


def chart_label(item: ResultItem) -> str:
    """Return what a picture calls an item."""
    if item.path:
        return path_with_lines(item.path, item.start_line, item.end_line)
    return item.name or item.id


def budget_parts(result: Result, explanation: Explanation, reserve: int | None) -> list[BudgetPart]:
    """Return the parts of the budget, in the order of a picture."""
    found = []
    if result.text:
        found.append(BudgetPart("frame", "frame of the templates", explanation.frame))
        found.append(BudgetPart("between", "headings and separators", explanation.between))
    shown = {item.id: item for item in result.items if item.form is not None}
    if len(shown) <= PARTS:
        listed = [shown[source.id] for source in result.sources]
        for hue, item in enumerate(listed):
            found.append(
                BudgetPart(
                    "cut" if item.status == "trimmed" else "item",
                    chart_label(item),
                    item.tokens,
                    hue % 8,
                )
            )
    else:
        for hue, section in enumerate(explanation.sections):
            name = f"{section.title or 'items'}: {section.items:,} items"
            found.append(BudgetPart("item", name, section.tokens, hue % 8))
    found.append(BudgetPart("free", "free", explanation.left or 0))
    found.append(BudgetPart("reserve", "kept for the answer", reserve or 0))
    return [part for part in found if part.tokens > 0]


def worth_curve(result: Result, at: Callable[[int], Result]) -> list[BudgetPoint]:
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


def _points(budgets: Sequence[int], at: Callable[[int], Result]) -> Iterator[BudgetPoint]:
    for budget in budgets:
        try:
            result = at(budget)
        except BudgetError:  # what is required does not fit
            continue
        taken = result._get("taken").values() if result.text else ()
        yield BudgetPoint(budget, sum(item.worth for item in taken), len(taken))


WIDE = 960

EDGE = 24

ROOM = WIDE - 2 * EDGE

ROWS = 40
"""Items that a picture lists."""

NAMED = 12
"""Parts of the bar that its legend lists."""

_STATUS = {"included": "in", "trimmed": "cut", "dropped": "out"}


def draw_svg(
    result: Result,
    explanation: Explanation,
    parts: Sequence[BudgetPart],
    points: Sequence[BudgetPoint],
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
    return picture(WIDE, y + EDGE, headline(result), said, shapes, style=style)


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


def describe(result: Result, explanation: Explanation, points: Sequence[BudgetPoint]) -> str:
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


def _fill(part: BudgetPart) -> dict[str, Any]:
    if part.what in ("item", "cut"):
        return {"kind": f"t{part.hue}"}
    return (
        {"kind": "", "fill": part.what}
        if part.what in ("between", "reserve")
        else {"kind": part.what}
    )


def _bar(shapes: list[str], parts: Sequence[BudgetPart], y: float) -> float:
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
        shapes.append(write(EDGE + 34, y, chart_label(row), "" if row.form else "soft", 38))
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
            said = f"{chart_label(row)}: {row.tokens:,} of {row.tokens_full:,}"
            shapes.append(
                box(left, y - 10, row.tokens * scale, 11, f"t{order.get(row.id, 0) % 8}", said)
            )
        cost = f"{row.tokens:,} / {row.tokens_full:,}" if row.form else f"{row.tokens_full:,}"
        shapes.append(write(WIDE - EDGE, y, cost, "soft end"))
    if len(items) > len(rows):
        y += 22
        shapes.append(write(EDGE, y, f"and {len(items) - len(rows):,} more", "soft"))
    return y + 20


def _curve(shapes: list[str], result: Result, points: Sequence[BudgetPoint], y: float) -> float:
    high, left = 160.0, EDGE + 40.0
    most, best = points[-1].budget, max(point.worth for point in points) or 1.0

    def place(point: BudgetPoint) -> tuple[float, float]:
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


ROWS_PAGES = 2000
"""Items that the table lists."""

_STYLE = """
body.pf { background: var(--paper); color: var(--ink); font: 14px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  max-width: 960px; margin: 0 auto; padding: 12px; }
svg { max-width: 100%; height: auto; display: block; }
h2 { font-size: 15px; margin: 24px 0 6px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 10px 3px 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { font-weight: 600; } tbody th { font-weight: 400; min-width: 12em; } .n { text-align: right; white-space: nowrap; }
.out { color: var(--soft); }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def draw_html(
    result: Result,
    explanation: Explanation,
    parts: Sequence[BudgetPart],
    points: Sequence[BudgetPoint],
) -> str:
    """Return the page."""
    picture = draw_svg(result, explanation, parts, points, style=False)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{words(headline(result))}</title>
<style>{STYLE}{_STYLE}</style>
</head>
<body class="pf">
<main>
<h1 hidden="hidden">{words(headline(result))}</h1>
{picture}<p>{words(describe(result, explanation, points), 2000)}</p>
{_items_pages(result)}{_curve_pages(points)}</main>
</body>
</html>
"""


def _table(caption: str, heads: Sequence[tuple[str, str]], rows: Sequence[str]) -> str:
    columns = "".join(f'<th scope="col" class="{kind}">{head}</th>' for head, kind in heads)
    body = "\n".join(rows)
    return (
        f'<h2>{caption}</h2>\n<div class="wide"><table>\n<thead><tr>{columns}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>\n"
    )


def _items_pages(result: Result) -> str:
    items = listed(result)
    rows = []
    for item in items[:ROWS_PAGES]:
        cells = [
            item.kind,
            f"{item.score:.2f}" if abs(item.score) < 1000 else f"{item.score:.3g}",
            item.form or "",
        ]
        figures = [f"{item.tokens:,}" if item.form else "", f"{item.tokens_full:,}"]
        back = "" if item.fits_at is None else f"{item.fits_at:,}"
        rows.append(
            f'<tr class="{"in" if item.form else "out"}"><th scope="row">{words(chart_label(item), 160)}</th>'
            f"<td>{item.status}</td>"
            + "".join(f"<td>{words(cell)}</td>" for cell in cells)
            + "".join(f'<td class="n">{figure}</td>' for figure in figures)
            + f'<td>{words(item.reason)}</td><td class="n">{back}</td></tr>'
        )
    heads = [
        *(("item", ""), ("status", ""), ("kind", ""), ("score", ""), ("form", "")),
        *(("tokens", "n"), ("whole", "n"), ("why", ""), ("fits at", "n")),
    ]
    more = f"<p>and {len(items) - ROWS_PAGES:,} more</p>\n" if len(items) > ROWS_PAGES else ""
    return _table("Items", heads, rows) + more if items else "<p>There were no items.</p>\n"


def _curve_pages(points: Sequence[BudgetPoint]) -> str:
    if len(points) < 2:
        return ""
    rows = [
        f'<tr><td class="n">{point.budget:,}</td><td class="n">{point.worth:.2f}</td>'
        f'<td class="n">{point.items:,}</td></tr>'
        for point in points
    ]
    return _table("Worth over the budget", [("budget", "n"), ("worth", "n"), ("items", "n")], rows)
