"""Views of items are remembered as far as there is room."""

from __future__ import annotations

import math
from typing import Any

import pytest

import promptforge as pf
from promptforge.rendering import context


@pytest.mark.slow
def test_views_are_remembered_only_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(context, "MAX_VIEW_CHARS", 100_000)
    renderer = pf.Renderer()
    for number in range(300):
        renderer.render([pf.Item(content=f"text {number} {'x' * number * 50}")])
        renderer.render([pf.Item(content=f"text {number}")], layout="documents")
    views = [view for each in renderer._pipeline._views.values() for view, _ in each.values()]
    assert views
    assert sum(2048 + len(view["text"]) for view in views) <= 100_000


@pytest.mark.parametrize("layout", ["chunks", "chunks-compact"])
@pytest.mark.parametrize("said", ["option", "item"])
def test_a_distance_is_printed_as_relevance_so_that_more_is_better(layout: str, said: str) -> None:
    order: Any = "lower" if said == "option" else "given"
    own: Any = "given" if said == "option" else "lower"
    found = [
        pf.Item(content=c, path=c, origin="similarity", score=score, score_order=own)
        for c, score in (("near", 0.25), ("far", 1.0))
    ]
    renderer = pf.Renderer(layout=layout, scores=True)
    assert renderer.render(found, score_order=order).text.count("80%") == 1
    text = renderer.render(found, score_order="higher").text  # no view of the other order
    assert "25%" in text and "80%" not in text


@pytest.mark.parametrize("layout", ["chunks", "chunks-compact", "entities"])
@pytest.mark.parametrize("syntax", ["markdown", "xml", "json", "yaml"])
def test_no_relevance_is_printed_where_no_distance_was_given(layout: str, syntax: Any) -> None:
    found = [
        pf.Item(content="near", path="a", origin="similarity", score=0.25),
        pf.Item(content="unknown", path="b", origin="similarity"),
    ]
    renderer = pf.Renderer(layout=layout, format=syntax, scores=True)
    shown = [renderer.render([each], score_order="lower").text for each in found]
    assert [any(s in text for s in ("elevance", "%")) for text in shown] in (
        [True, False],
        [False, False],  # the layout prints no scores in this syntax
    )
    assert "unknown" in shown[1]


@pytest.mark.parametrize("scores", [(1.5, None), (None, 1.5)])
def test_a_range_without_a_distance_takes_that_of_the_range_it_joins(scores: Any) -> None:
    found: list[dict[str, Any]] = [
        {"content": "l1\nl2\nl3", "start_line": 1, "end_line": 3, "score": scores[0]},
        {"content": "l3\nl4\nl5", "start_line": 3, "end_line": 5, "score": scores[1]},
    ]
    items = [{"path": "a.py", "kind": "code", "origin": "similarity"} | each for each in found]
    result = pf.render(items, score_order="lower", scores=True)
    assert "Relevance: 40%" in result.text and "Lines 1-5" in result.text
    assert result.items[0].score == 1.5


def test_a_broken_score_is_the_worst_of_distances_and_of_scores() -> None:
    items = [
        {"content": content, "name": content, "origin": "similarity", "score": score}
        for content, score in (("broken", math.nan), ("near", 0.5))
    ]
    for order in ("lower", "higher"):
        result = pf.render(items, score_order=order, max_items=1)
        assert [each.name for each in result.items if each.status == "included"] == ["near"]


def test_a_list_of_sources_has_the_score_that_the_items_show() -> None:
    found = pf.Item(content="x", path="a", origin="similarity", score=0.25)
    templates = {
        "mine/layout.yaml": "base: chunks\n",
        "_sources.md.j2": "{% for s in sources %}{{ s.score }}{% endfor %}",
        "mine/item.md.j2": "{{ item.content }}",
    }
    renderer = pf.Renderer(templates=templates, layout="mine", sources=True)
    assert "0.8" in renderer.render([found], score_order="lower").text


@pytest.mark.parametrize("syntax", ["markdown", "xml", "json", "yaml", "toon", "plain"])
@pytest.mark.parametrize("layout", ["chunks", "chunks-compact", "documents", "context"])
def test_a_page_stands_beside_its_path(layout: str, syntax: Any) -> None:
    found = [
        {"page_content": "Phones.", "metadata": {"source": "w.pdf", "page": 0}},
        {"page_content": "More.", "metadata": {"source": "w.pdf", "page": 4, "title": "Warranty"}},
        {"page_content": "None.", "metadata": {"source": "w.pdf"}},
    ]
    text = pf.render(found, layout=layout, format=syntax).text
    assert [text.count(said) for said in ("w.pdf", "w.pdf, page 0", "w.pdf, page 4")] == [3, 1, 1]
    named = pf.Item(content="x", path="a.py", name="the rule, page of notes")
    assert "page" not in pf.render([named], layout=layout, format=syntax).text
