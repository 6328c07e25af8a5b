"""The picture of a budget as a page of its own: no script, nothing to be loaded, and all of it as tables too."""

from __future__ import annotations

from collections.abc import Sequence

from ..explanations import Explanation
from ..results import Result
from . import budget, drawing
from .drawing import words
from .shares import Part, Point, name_of

ROWS = 2000
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


def html(
    result: Result, explanation: Explanation, parts: Sequence[Part], points: Sequence[Point]
) -> str:
    """Return the page."""
    picture = budget.svg(result, explanation, parts, points, style=False)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{words(budget.headline(result))}</title>
<style>{drawing.STYLE}{_STYLE}</style>
</head>
<body class="pf">
<main>
<h1 hidden="hidden">{words(budget.headline(result))}</h1>
{picture}<p>{words(budget.describe(result, explanation, points), 2000)}</p>
{_items(result)}{_curve(points)}</main>
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


def _items(result: Result) -> str:
    items = budget.listed(result)
    rows = []
    for item in items[:ROWS]:
        cells = [
            item.kind,
            f"{item.score:.2f}" if abs(item.score) < 1000 else f"{item.score:.3g}",
            item.form or "",
        ]
        figures = [f"{item.tokens:,}" if item.form else "", f"{item.tokens_full:,}"]
        back = "" if item.fits_at is None else f"{item.fits_at:,}"
        rows.append(
            f'<tr class="{"in" if item.form else "out"}"><th scope="row">{words(name_of(item), 160)}</th>'
            f"<td>{item.status}</td>"
            + "".join(f"<td>{words(cell)}</td>" for cell in cells)
            + "".join(f'<td class="n">{figure}</td>' for figure in figures)
            + f'<td>{words(item.reason)}</td><td class="n">{back}</td></tr>'
        )
    heads = [
        *(("item", ""), ("status", ""), ("kind", ""), ("score", ""), ("form", "")),
        *(("tokens", "n"), ("whole", "n"), ("why", ""), ("fits at", "n")),
    ]
    more = f"<p>and {len(items) - ROWS:,} more</p>\n" if len(items) > ROWS else ""
    return _table("Items", heads, rows) + more if items else "<p>There were no items.</p>\n"


def _curve(points: Sequence[Point]) -> str:
    if len(points) < 2:
        return ""
    rows = [
        f'<tr><td class="n">{point.budget:,}</td><td class="n">{point.worth:.2f}</td>'
        f'<td class="n">{point.items:,}</td></tr>'
        for point in points
    ]
    return _table("Worth over the budget", [("budget", "n"), ("worth", "n"), ("items", "n")], rows)
