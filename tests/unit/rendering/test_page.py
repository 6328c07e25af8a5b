"""A page in the making: long lists and texts are not printed one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import promptforge as pf
from promptforge.packing.types import Variant
from promptforge.rendering.page import Page

pytestmark = pytest.mark.unwatched


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows with each page that is rendered."""
    pages: list[None] = []
    render = Page.render

    def counting(self: Page, chosen: Mapping[int, Variant], **options: Any) -> list[str]:
        pages.append(None)
        return render(self, chosen, **options)

    monkeypatch.setattr(Page, "render", counting)
    return pages


def test_many_items_that_nearly_fit_are_not_all_tried(rendered: list[None]) -> None:
    result = pf.render([{"content": f"x{i}"} for i in range(3000)])
    assert 4000 - result.tokens <= 8
    assert len(rendered) < 150  # pages, for 2,637 items that are left out


@pytest.mark.slow
def test_items_with_a_title_each_before_them_are_not_added_one_by_one(rendered: list[None]) -> None:
    # Alone they cost 9 tokens, on the page 15: its first 900 are 13,000 tokens.
    records = [{"content": f"x{i}"} for i in range(3000)]
    result = pf.render(records, layout="documents", max_tokens=8000)
    assert 8000 - result.tokens <= 8
    assert len(rendered) < 100  # pages, for 540 items
    rendered.clear()
    assert pf.render(records, layout="documents", max_tokens=None, max_chars=8000).chars <= 8000
    assert len(rendered) < 100


def test_passages_of_a_long_text_are_not_added_one_by_one(rendered: list[None]) -> None:
    records = [
        {"content": "Some Sentence here with words.\n" * 3_000},
        {"content": "good words", "score": 0.5},
    ]
    result = pf.render(records, query="words and kinds", max_tokens=10_000)
    assert 10_000 - result.tokens <= 8
    assert len(rendered) < 40  # pages, for some 1,400 passages


FLOODS = [
    {"id": name, "name": name, "content": f"The flood of {name} took many houses.", "path": "f.md",
        "origin": "similarity"}
    for name in ("spring", "summer", "autumn")
]  # fmt: skip


@pytest.mark.parametrize("layout", ["chunks", "context", "documents", "entities", "knowledge"])
def test_blanks_of_json_give_way_to_items(layout: str) -> None:
    def render(budget: int | None) -> pf.Result:
        return pf.render(FLOODS, layout=layout, format="json", max_tokens=budget, dedupe=False)

    every = render(None)
    assert render(every.tokens).text == every.text
    tight = render(every.tokens - 1)
    assert tight.items_included == 3 and json.loads(tight.text) == json.loads(every.text)
    assert tight.tokens < 0.93 * every.tokens and "  " not in tight.text
    # Each item has a line of its own, and each part of the text a place in the templates.
    assert all(line.count("The flood of") < 2 for line in tight.text.split("\n"))
    assert "".join(tight.text[span.start : span.end] for span in tight.map) == tight.text
    lines = {(span.template, span.line) for span in tight.map if span.item}
    assert lines <= {(span.template, span.line) for span in every.map if span.item}
    less = render(tight.tokens - 1)
    assert less.items_included < 3 or less.truncated
    lost = next(item for item in less.items if item.status != "included")
    assert lost.fits_at is not None and lost.fits_at <= tight.tokens + 1


def test_lines_of_json_and_sentences_beside_it_keep_their_blanks() -> None:
    page = "{% for item in items %}\n{{ item.text }}\n{% endfor %}"
    templates = {
        "mine/layout.yaml": "base: chunks\n",
        "mine/layout.jsonl.j2": page,
        "mine/item.jsonl.j2": '{"text": {{ item.content }}}',
    }
    text = pf.render(FLOODS, layout="mine", format="jsonl", templates=templates, max_tokens=30).text
    assert len(text.splitlines()) == 2 and all(map(json.loads, text.splitlines()))
    assert text.startswith('{"text": "')


@pytest.mark.parametrize("most", [60, 75, 90, 93])
def test_blanks_of_json_keep_the_maximum_of_a_section(most: int) -> None:
    items = [{"content": f"alpha beta {n} gamma delta", "path": f"d{n}.md"} for n in range(3)]
    options: dict[str, Any] = {"layout": "chunks", "format": "json", "group_by": "origin"}
    budgets = {"explicit": {"max_tokens": most}}
    result = pf.render(items, section_budgets=budgets, max_tokens=1_000, **options)
    (section,) = result.sections
    assert section.tokens <= most and len(section.items) == 3
