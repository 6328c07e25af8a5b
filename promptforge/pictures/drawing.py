"""SVG: the few shapes that a picture is made of. Whatever is text goes through `words`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from ..escaping import label

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
    shown = _ILLEGAL.sub("\ufffd", label(str(text)))
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
    return quoteattr(_ILLEGAL.sub("\ufffd", label(str(text))))


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
