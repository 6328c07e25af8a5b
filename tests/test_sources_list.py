"""The list of sources takes no item's room: it is shown where the page still has room for it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf

RENDERER = pf.Renderer()
ITEMS = [
    pf.Item(content=f"Line {i} of the text. " * (i + 1), path=f"docs/{i}.md", score=1 - i / 10)
    for i in range(6)
]


def kept(result: pf.Result) -> list[tuple[str, str]]:
    return [(item.id, item.status) for item in result.items]


@given(
    st.integers(20, 500),
    st.sampled_from(["markdown", "plain", "xml", "json", "yaml"]),
    st.sampled_from(["score", "value", "proportional", "drop_last", "repository"]),
)
def test_the_list_changes_no_item_and_exceeds_no_budget(
    max_tokens: int, format_name: str, packing: str
) -> None:
    options: dict[str, Any] = {"max_tokens": max_tokens, "format": format_name, "packing": packing}
    without = RENDERER.render(ITEMS, **options)
    result = RENDERER.render(ITEMS, sources=True, **options)
    assert result.tokens <= max_tokens
    assert kept(result) == kept(without)
    said = [d.code for d in result.warnings if d.code == "PF125"]
    if said:
        assert result.text == without.text
    assert "".join(result.text[span.start : span.end] for span in result.map) == result.text


def test_the_message_says_how_much_more_is_needed() -> None:
    whole = RENDERER.render(ITEMS, sources=True).tokens
    result = RENDERER.render(ITEMS, sources=True, max_tokens=whole - 3)
    (note,) = [d for d in result.warnings if d.code == "PF125"]
    assert note.message == "the list of sources is not shown: it needs 3 tokens more"
    assert RENDERER.render(ITEMS, sources=True, max_tokens=whole).tokens == whole


@pytest.mark.parametrize("max_tokens", [60, 120, 200])
def test_a_named_budget_still_brings_the_item_back_whole(max_tokens: int) -> None:
    result = RENDERER.render(ITEMS, sources=True, max_tokens=max_tokens)
    for item in result.items:
        if item.fits_at is not None:
            again = RENDERER.render(ITEMS, sources=True, max_tokens=item.fits_at)
            assert {i.id: i.status for i in again.items}[item.id] == "included"


def test_the_text_of_one_origin_has_its_own_list() -> None:
    items = [
        pf.Item(content="a", path="a.md", origin="similarity"),
        pf.Item(content="b", path="b.md", origin="explicit"),
    ]
    result = RENDERER.render(items, sources=True)
    assert "Sources" in result.explicit_text
    assert "a.md" not in result.explicit_text
