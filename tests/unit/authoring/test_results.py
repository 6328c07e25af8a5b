"""Charts of a budget: well-formed, self-contained, and their figures are the result's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import hypothesis.strategies as st
import pytest
from commandline import run
from example_counts import cases
from hypothesis import given
from lxml import etree

import promptforge as pf
from promptforge.authoring.results import BudgetChart, show_words
from promptforge.model import Result

SVG = "{http://www.w3.org/2000/svg}"
ITEMS = [
    pf.Item(
        kind="code",
        path="src/greet.py",
        start_line=1,
        end_line=2,
        score=0.9,
        content="def greet(): ...",
    ),
    pf.Item(kind="document", name="guide.md", score=0.7, content="Greetings are polite. " * 8),
    pf.Item(kind="document", name="old.md", score=0.3, content="Greetings were longer once. " * 30),
]


def drawn(items: Any = ITEMS, **options: Any) -> tuple[Result, str, str, BudgetChart]:
    """Render, and return the result, its image, its page and the chart."""
    result = pf.render(items, **options)
    chart = BudgetChart(result)
    return result, chart.svg(), chart.html(), chart


@pytest.mark.parametrize(
    "options",
    [{"max_tokens": 120}, {"max_tokens": 4000}, {"max_tokens": 0}, {"max_tokens": None},
     {"max_tokens": 60, "reserve": 9},
     {"max_tokens": 90, "format": "json"}, {"max_tokens": 90, "tokenizer": "approximate-claude"}],
)  # fmt: skip
def test_the_parts_are_the_budget(options: dict[str, Any]) -> None:
    result, svg, html, chart = drawn(**options)
    parts, points = chart.parts, chart.points
    spent = sum(part.tokens for part in parts if part.what not in ("free", "reserve"))
    # Tokens may join where parts meet; then `between` is below 0 and is not drawn.
    assert spent == result.tokens - min(0, result.explain().between)
    assert sum(part.tokens for part in parts if part.what == "reserve") == options.get("reserve", 0)
    if result.max_tokens is not None:
        assert (
            sum(part.tokens for part in parts if part.what == "free")
            == result.max_tokens - result.tokens
        )
        now = next(point for point in points if point.budget == result.max_tokens)
        assert now.items == result.items_included
    else:
        assert points == []
    for text in (svg, html):
        ElementTree.fromstring(text)


def test_a_reserve_leaves_the_text_its_bar() -> None:
    """That of an LLM's window is a hundred times the text."""
    _, svg, html, _ = drawn(max_tokens=120, reserve=128_000)
    bars = [
        rect
        for rect in ElementTree.fromstring(svg).iter(f"{SVG}rect")
        if rect.get("height") == "28" and rect.find(f"{SVG}title") is not None
    ]
    assert sum(float(str(rect.get("width"))) for rect in bars) > 880  # of 912
    assert not any("answer" in str(rect.findtext(f"{SVG}title")) for rect in bars)
    assert "for the answer, beside the budget" in svg and 'title="for the answer' not in html
    assert "for the answer, beside the budget 128,000</li>" in html


def test_it_says_everything_in_words_too() -> None:
    result, svg, html, chart = drawn(max_tokens=120)
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    found = [node for tag in ("title", "desc") if (node := root.find(f"{SVG}{tag}")) is not None]
    named = {node.get("id"): node.text for node in found}
    assert list(named) == str(root.get("aria-labelledby")).split()
    assert named["pf-title"] == f"Where {result.tokens:,} of 120 tokens went"
    assert f"{result.items_included} of 3 items are in the text" in str(named["pf-description"])
    page = ElementTree.fromstring(html)
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    assert [row[0] for row in rows[1:4]] == ["src/greet.py:1-2", "guide.md", "old.md"]
    for item, row in zip(result.items, rows[1:4], strict=True):
        assert row[1] == item.status and row[6] == f"{item.tokens_full:,}"
        assert row[8] == ("" if item.fits_at is None else f"{item.fits_at:,}")
    assert len(rows) == 1 + 3 + 1 + len(chart.points)


def test_nothing_is_loaded_and_nothing_runs() -> None:
    _, svg, html, _ = drawn(max_tokens=120)
    for text in (svg, html):
        assert not re.search(r"<script|\son\w+=|\bsrc=|href=|@import|url\((?!#)", text)
        assert set(re.findall(r"https?://[^\"' <]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in html
    assert "prefers-color-scheme: dark" in svg and "prefers-color-scheme: dark" in html


HOSTILE = '</title><script>alert("1")</script>]]>&amp;<!--\x00\x1b[31m\u202e\ud800\ufffe'


@cases(40)
@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.sampled_from(["", HOSTILE]), st.floats(0, 1)),
        min_size=1,
        max_size=5,
    )
)
def test_names_cannot_break_out(given_items: list[tuple[str, str, float]]) -> None:
    items = [
        pf.Item(
            content=f"text {n} " * 9,
            name=name + more,
            path=more + name if n % 2 else None,
            score=score,
        )
        for n, (name, more, score) in enumerate(given_items)
    ]
    _, svg, html, chart = drawn(items, max_tokens=60)
    for text in (svg, html):
        root = etree.fromstring(text.encode())
        assert not {etree.QName(node).localname for node in root.iter(etree.Element)} & {
            "script",
            "a",
            "img",
        }
    found = ElementTree.fromstring(svg)
    assert len(list(found.iter(f"{SVG}desc"))) == 1
    titles = (
        1
        + len(chart.parts)
        + sum(item.form is not None for item in pf.render(items, max_tokens=60).items)
        + 1
    )
    assert len(list(found.iter(f"{SVG}title"))) == titles


@pytest.mark.slow
@pytest.mark.unwatched
def test_very_many_items_are_drawn_by_section() -> None:
    items = [
        pf.Item(content=f"piece {n}", name=f"n{n}", kind=("code", "text")[n % 2])
        for n in range(600)
    ]
    result, svg, html, chart = drawn(items, layout="knowledge", max_tokens=50_000)
    assert result.items_included == 600
    assert sum(part.what == "item" for part in chart.parts) == 2
    assert "and 560 more" in svg and len(svg) < 60_000
    ElementTree.fromstring(html)


def test_what_cannot_fit_is_left_out_of_the_curve() -> None:
    required = [pf.Item(content="word " * 50, required=True), *ITEMS]
    *_, chart = drawn(required, max_tokens=200)
    assert chart.points and min(point.budget for point in chart.points) > 50


def test_a_long_name_loses_its_middle() -> None:
    assert show_words("a" * 50 + "b" * 50, 11) == "aaaaa…bbbbb"


def test_explain_writes_them(tmp_path: Path) -> None:
    source = tmp_path / "items.jsonl"
    source.write_text(
        '{"content": "one two three"}\n{"content": "four five six", "score": 0.5}\n',
        encoding="utf-8",
    )
    ran = run(
        "explain",
        source,
        "--max-tokens",
        "20",
        "--html",
        tmp_path / "a.html",
        "--svg",
        tmp_path / "a.svg",
    )
    assert ran == run("explain", source, "--max-tokens", "20")
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag == f"{SVG}svg"
    first = (tmp_path / "a.html").read_bytes()
    assert run("explain", source, "--max-tokens", "20", "--html", tmp_path / "a.html").code == 0
    assert (tmp_path / "a.html").read_bytes() == first
    assert run("explain", source, "--html", tmp_path / "no" / "a.html").code == 4


def test_a_notebook_draws_a_result() -> None:
    evil = "</pre><script>alert(1)</script>\x07"
    result = pf.render([*ITEMS, pf.Item(name=evil, content=evil)], max_tokens=300)
    html = result._repr_html_()
    assert "<script" not in html and "\x07" not in html
    assert html.count("<i class=") >= 2 * result.items_included
    assert f"{result.tokens:,} of 300" in html and "guide.md" in html
    assert html.count("<tr") == len(result.items)
    assert "There were no items" in pf.render([])._repr_html_()
    assert '[data-jp-theme-light="false"] .pf, .vscode-dark .pf { --paper: #17191c' in html
    kinds = ("text", "error")
    items = [pf.Item(kind=kinds[n % 2], content=f"item {n}") for n in range(900)]
    drawing = pf.render(items, max_tokens=None)._repr_html_()
    assert drawing.count("<i class=") < 100 and "error: 450 items" in drawing
