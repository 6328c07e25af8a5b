"""Views of items are remembered as far as there is room."""

from __future__ import annotations

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
