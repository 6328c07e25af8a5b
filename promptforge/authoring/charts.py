"""Draw the budget of one result: the use of its tokens, its items, the worth of more tokens.

The drawing is in the templates of `chart_templates/`; this module works out the figures. A chart is
an SVG image, or a page that runs no script, loads nothing, and has all figures as tables too.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jinja2

from ..model import Result, ResultItem, path_with_lines
from ..text.escape import to_label

CURVE_STEPS = 24
"""Steps between the budgets of the curve; budgets that bring an item back come besides."""
MAX_RETURNS_IN_CURVE = 12
"""The most budgets of the latter kind."""
MAX_ITEMS_IN_BAR = 200
"""Items up to this number have a part of the bar each; more are shown by section."""
TINTS = 8
"""Colours of items, in turn."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class BudgetPart(NamedTuple):
    """One use of the budget."""

    what: str
    """`frame` (overhead), `between`, `item`, `cut` (a trimmed item), `free` or `reserve`."""
    name: str
    tokens: int
    tint: int = 0


class BudgetPoint(NamedTuple):
    """A budget, and the worth and number of the items that its text would hold."""

    budget: int
    worth: float
    items: int


def draw_result(result: Result) -> str:
    """Draw a result for a notebook: where its tokens went, its items, its text."""
    report = result.report
    placed = report.placed if result.text else {}
    items = [report.items[index] for index in report.ranked]
    spent = sum(item.tokens for item in placed.values())
    parts = [
        BudgetPart("between", "templates, headings, separators", result.tokens - spent),
        *_item_parts(result),
    ]
    if result.max_tokens is not None:
        parts.append(BudgetPart("free", "free", result.max_tokens - result.tokens))
    parts = [part for part in parts if part.tokens > 0]
    drawing = _load("notebook.html.j2")
    return drawing.render(result=result, parts=parts, items=items, points=())


class BudgetChart:
    """The chart of one result."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._explanation = result.explain()
        self.parts = [part for part in self._parts() if part.tokens > 0]
        """The bar, from left to right."""
        self.points = _points(result)
        """The curve; empty without a budget in tokens."""

    def svg(self) -> str:
        """Draw the chart as an image."""
        return self._draw("chart.svg.j2", alone=True)

    def html(self) -> str:
        """Draw the chart as a page."""
        return self._draw("page.html.j2", alone=False)

    def _draw(self, template: str, *, alone: bool) -> str:
        # Items that were no candidates have no rank and come last.
        items = sorted(self._result.items, key=lambda item: (item.rank is None, item.rank or 0))
        return _load(template).render(
            result=self._result,
            explanation=self._explanation,
            parts=self.parts,
            points=self.points,
            items=items,
            tints={source.id: n % TINTS for n, source in enumerate(self._result.sources)},
            alone=alone,
        )

    def _parts(self) -> list[BudgetPart]:
        result, explanation, parts = self._result, self._explanation, []
        if result.text:
            parts += [
                BudgetPart("frame", "overhead of the templates", explanation.frame),
                BudgetPart("between", "headings and separators", explanation.between),
            ]
        parts += _item_parts(result)
        reserve = result.manifest["options"]["reserve"]
        return [
            *parts,
            BudgetPart("free", "free", explanation.left or 0),
            BudgetPart("reserve", "kept for the answer", reserve or 0),
        ]


def _item_parts(result: Result) -> list[BudgetPart]:
    """Return the parts of the items in the order of the page; very many are shown in groups."""
    placed, items, parts = result.report.placed, result.report.items, []
    if not result.text:
        return []
    if len(placed) <= MAX_ITEMS_IN_BAR:
        for n, index in enumerate(placed):
            what = "cut" if items[index].status == "trimmed" else "item"
            parts.append(BudgetPart(what, _name(items[index]), items[index].tokens, n % TINTS))
        return parts
    groups: dict[str, list[int]] = {}
    for index, item in placed.items():
        groups.setdefault(item.title or items[index].kind, []).append(item.tokens)
    for n, (name, tokens) in enumerate(groups.items()):
        parts.append(BudgetPart("item", f"{name}: {len(tokens):,} items", sum(tokens), n % TINTS))
    return parts


def curve_budgets(most: int, *others: int) -> list[int]:
    """Return the budgets of a curve up to `most`, and others that are wanted besides."""
    steps = {most * step // CURVE_STEPS for step in range(CURVE_STEPS + 1)}
    return sorted({*steps, *others})


def _points(result: Result) -> list[BudgetPoint]:
    now = result.max_tokens
    if now is None:
        return []
    fits_at = {item.fits_at for item in result.items if item.fits_at is not None}
    returns = sorted(budget for budget in fits_at if budget > now)
    last = max(now + now // 2, min(returns[-1] if returns else 0, 4 * now), 10)
    back = (budget for budget in returns[:MAX_RETURNS_IN_CURVE] if budget <= last)
    budgets = curve_budgets(last, now, *back)
    found = ((budget, result.report.worth_at(budget)) for budget in budgets)
    return [BudgetPoint(budget, *point) for budget, point in found if point]


@cache
def _load(template: str) -> jinja2.Template:
    # Every value is escaped, so no name of an item can end its element.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "chart_templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        comma=lambda number: f"{number:,}",
        most_tokens=lambda item: max(item.tokens_full, item.tokens),
        name=_name,
        as_xml=lambda text: _NOT_XML.sub("\ufffd", text),
        number=lambda number: f"{number:.1f}".rstrip("0").rstrip("."),
        words=show_words,
    )
    return environment.get_template(template)


def _name(item: ResultItem) -> str:
    if item.path:
        return path_with_lines(item.path, item.start_line, item.end_line)
    return item.name or item.id


def show_words(text: str, limit: int = 80) -> str:
    """Show a text on one line, invisible characters as escapes; a long one loses its middle."""
    shown = _NOT_XML.sub("\ufffd", to_label(text))
    if len(shown) > limit:
        shown = f"{shown[: limit // 2]}…{shown[-(limit - limit // 2 - 1) :]}"
    return shown
