"""A page in the making: long lists and texts are not printed one by one."""

from __future__ import annotations

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
