"""The pipeline remembers results of all threads, as far as there is room."""

from __future__ import annotations

import pytest

import promptforge as pf
from promptforge.rendering import pipeline


def test_results_of_all_threads_are_remembered_only_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "MAX_CHARS_REMEMBERED", 1000)
    lists = [[pf.Item(content=letter * 400)] for letter in "abc"]
    renderers = [pf.Renderer() for _ in lists]
    texts = [renderer.render(items) for renderer, items in zip(renderers, lists, strict=True)]
    remembered = [renderer._pipeline._last.slot.made is not None for renderer in renderers]
    assert remembered == [False, True, True]
    again = [renderer.render(items) for renderer, items in zip(renderers, lists, strict=True)]
    assert [result.text for result in again] == [result.text for result in texts]
    renderers[0].render([pf.Item(content="d" * 1001)])
    assert renderers[0]._pipeline._last.slot.made is None
