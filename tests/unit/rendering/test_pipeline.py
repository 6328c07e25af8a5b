"""The pipeline remembers results of all threads, as far as there is room."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import promptforge as pf
from promptforge.rendering import pipeline


def test_a_thread_remembers_its_last_result_unless_that_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "MAX_CHARS_REMEMBERED", 1000)
    lists = [[pf.Item(content=letter * length)] for letter, length in (("a", 1000), ("b", 1001))]
    renderers = [pf.Renderer(), pf.Renderer(profile="claude")]
    for items in lists:
        for renderer in renderers:
            result = renderer.render(items)
            made = pipeline._LAST.made
            assert (made is None) == (len(items[0].content or "") > 1000)
            assert renderer.render(items).text == result.text
    assert renderers[0].render(lists[0]).text != renderers[1].render(lists[0]).text
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(lambda: pipeline._LAST.made).result() is None


def test_records_of_the_last_rendering_are_the_items_of_the_next_one() -> None:
    def records(page: object, score: float) -> list[dict[str, object]]:
        about = {"name": f"{page!r}", "metadata": {"page": page}}
        return [{"content": "a hat", "score": score, **about}, {"content": "a peg"}]

    renderer = pf.Renderer()
    first = renderer.render(records(1, 0.5))
    again = renderer.render(records(1, 0.5), query="peg")
    assert [*map(id, again.report.given)] == [*map(id, first.report.given)]
    # What is equal may print otherwise.
    for page, score in ((True, 0.5), (1.0, 0.5), (1, 0.0)):
        other = renderer.render(records(page, score), scores=True)
        held = renderer.render(records(page, -score or -0.0), scores=True)
        assert other.report.given[0].metadata["page"] is page
        assert str(held.report.given[0].score) == str(-score or -0.0)


def test_an_item_without_a_score_is_not_the_one_with_a_score_of_1() -> None:
    def records(**score: float) -> list[dict[str, object]]:
        order = {"score_order": "lower", "origin": "similarity", "named": False}
        texts = [(f"Alpha beta {n}. " * 12, {"score": 3.0} if n else score) for n in (1, 0)]
        return [{"content": text, **order, **own} for text, own in texts]

    def statuses(renderer: pf.Renderer, **score: float) -> list[str]:
        return [item.status for item in renderer.render(records(**score)).items]

    alone = statuses(pf.Renderer(layout="knowledge", max_tokens=70))
    renderer = pf.Renderer(layout="knowledge", max_tokens=70)
    assert statuses(renderer, score=1.0) != statuses(renderer) == alone


def test_a_duplicate_is_noted_beside_the_metadata_of_the_moment() -> None:
    texts = [f"Line {number} of a list with many lines." for number in range(300)]
    items = [pf.Item(content=text, metadata={"page": 1}) for text in (*texts, texts[0])]
    renderer = pf.Renderer(dedupe=True)
    renderer.render(items, query="line 7")
    items[0].metadata["page"] = 2
    found = renderer.render(items, query="line 8").report.page.candidates
    assert found.pool[0].metadata["page"] == 2
    assert found.dropped == {300: "duplicate"}
