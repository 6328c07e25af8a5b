"""A result as a page without a server: well-formed, self-contained, and its text is the result's."""

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
from promptforge.authoring.snapshot import draw_page, ghosts_of, query_hits, show_words

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
    pf.Item(kind="note", name="last", score=0.2, content="Short."),
]


def text_of(html: str) -> str:
    """Return the text of a drawing, without the ghosts."""
    (pre,) = ElementTree.fromstring(html).iter("pre")
    for parent in pre.iter():
        for child in [*parent]:
            if child.get("class") == "ghost":
                child.text = ""
    return "".join(pre.itertext())


@pytest.mark.parametrize(
    "options",
    [{"max_tokens": 120}, {"max_tokens": 4000}, {"max_tokens": None}, {"max_tokens": 0},
     {"max_tokens": 90, "format": "json"}, {"max_tokens": 90, "tokenizer": "approximate-claude"},
     {"max_tokens": 130, "format": "xml", "query": "greeting"}],
)  # fmt: skip
def test_the_text_is_the_result_s(options: dict[str, Any]) -> None:
    result = pf.render(ITEMS, **options)
    html = draw_page(result)
    assert text_of(html) == (result.text or "The text is empty.")
    page = ElementTree.fromstring(html)
    rows = [("".join(row.find("summary/bdi").itertext()), row) for row in page.iter("details")]  # type: ignore[union-attr]
    assert sorted(name for name, _ in rows) == ["guide.md", "last", "old.md", "src/greet.py:1-2"]
    for item in result.items:
        (row,) = (row for name, row in rows if name.startswith(item.path or item.name or ""))
        said = " ".join("".join(row.itertext()).split())
        if item.fits_at is not None and item.status != "included":
            assert f"fits at {item.fits_at:,}" in said
        if item.decision is not None:
            assert f"left {item.decision.room:,} of {item.decision.needs:,}" in said
            own = next(iter(item.decision.refused.values()))
            assert (f"({own:,} its own)" in said) == (own != item.decision.needs)
        assert (row.find("p/a") is not None) == (item.form is not None)
    wide = sum(int(found) for found in re.findall(r"flex-grow:(\d+)", html))
    assert wide >= (result.max_tokens or result.tokens)


def test_ghosts_stand_in_the_order_of_the_page() -> None:
    result = pf.render(ITEMS, max_tokens=110, trim="none")
    names = [item.name for item in result.items]
    dropped = names.index("old.md")
    assert result.items[dropped].status == "dropped"
    assert ghosts_of(result) == [(dropped, names.index("last"))]
    assert "old.md would stand here" in draw_page(result)
    hits = query_hits(pf.render(ITEMS, max_tokens=None, query="greeted"))
    assert len(hits) == pf.render(ITEMS, max_tokens=None).text.lower().count("greet")


def test_nothing_is_loaded_and_nothing_runs() -> None:
    html = draw_page(pf.render(ITEMS, max_tokens=120))
    assert not re.search(r"<script|\son\w+=|\bsrc=|href=\"[^#]|@import|url\(", html)
    assert "https:" not in html and "http:" not in html
    assert "default-src 'none'" in html and "prefers-color-scheme: dark" in html


HOSTILE = '</title><script>alert("1")</script>]]>&amp;<!--\x00\x1b[31m\u202e\ud800\ufffe'


@cases(40)
@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.sampled_from(["", HOSTILE]), st.floats(0, 1)),
        min_size=1,
        max_size=5,
    )
)
def test_names_and_texts_cannot_break_out(given_items: list[tuple[str, str, float]]) -> None:
    items = [
        pf.Item(
            content=f"text {n} {more} " * 9,
            name=name + more,
            kind=name or "x",
            path=more + name if n % 2 else None,
            score=score,
        )
        for n, (name, more, score) in enumerate(given_items)
    ]
    result = pf.render(items, max_tokens=60)
    for html in (draw_page(result), result._repr_html_()):
        root = etree.fromstring(html.encode())
        tags = {etree.QName(node).localname for node in root.iter(etree.Element)}
        assert not tags & {"script", "img", "iframe"}
        assert all(str(node.get("href")).startswith("#pf-") for node in root.iter("a"))


def test_a_notebook_draws_a_result() -> None:
    evil = "</pre><script>alert(1)</script>\x07"
    result = pf.render([*ITEMS, pf.Item(name=evil, content=evil)], max_tokens=300)
    html = result._repr_html_()
    assert "<script" not in html and "\x07" not in html
    assert f"{result.tokens:,} of 300" in html and html.count("<details") == len(result.items)
    assert "There were no items" in pf.render([])._repr_html_()
    assert '[data-jp-theme-light="false"] .pf, .vscode-dark .pf { \n  color-scheme: dark' in html
    kinds = ("text", "error")
    items = [pf.Item(kind=kinds[n % 2], content=f"item {n}") for n in range(900)]
    drawing = pf.render(items, max_tokens=None)._repr_html_()
    bar = drawing[drawing.index('class="bar"') : drawing.index("</header>")]
    assert bar.count("<i class=") == 2 and "error: 450 items" in bar and "and 700 more" in drawing


def test_a_long_name_loses_its_middle() -> None:
    assert show_words("a" * 50 + "b" * 50, 11) == "aaaaa…bbbbb"


def test_explain_writes_it(tmp_path: Path) -> None:
    source, page = tmp_path / "items.jsonl", tmp_path / "a.html"
    source.write_text(
        '{"content": "one two three"}\n{"content": "four five six", "score": 0.5}\n',
        encoding="utf-8",
    )
    ran = run("explain", source, "--max-tokens", "20", "--html", page)
    assert ran == run("explain", source, "--max-tokens", "20")
    first = page.read_bytes()
    assert run("explain", source, "--max-tokens", "20", "--html", page).code == 0
    assert page.read_bytes() == first
    assert run("explain", source, "--html", tmp_path / "no" / "a.html").code == 4
