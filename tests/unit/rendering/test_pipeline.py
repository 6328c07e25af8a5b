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
