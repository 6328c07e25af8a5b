"""Contained texts are found as by comparing everything, in far fewer comparisons."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptforge import Item, render
from promptforge.packing.types import Variant
from promptforge.selection.merge import MAX_TEXTS_PER_LINE, ContainedTexts

LINES = st.lists(st.sampled_from(["a", "b", "cc", "", "dddd"]), min_size=1, max_size=6)
FORMS = [
    Variant("content", ""),
    Variant("expanded", ""),
    Variant("trimmed", ""),
    Variant("content", "", cut=True),
]


def _holds(one: Item, other: Item) -> bool:
    texts = ["\n{}\n".format((item.content or "").strip("\n")) for item in (one, other)]
    return texts[1] in texts[0]


@settings(max_examples=300, deadline=None)
@given(
    texts=st.lists(LINES.map("\n".join), min_size=1, max_size=8),
    required=st.sets(st.integers(0, 7), max_size=2),
    forms=st.lists(st.sampled_from(FORMS), min_size=8, max_size=8),
)
def test_as_comparing_everything_with_everything(
    texts: list[str], required: set[int], forms: list[Variant]
) -> None:
    items = [Item(content=text, required=n in required) for n, text in enumerate(texts)]
    contained = ContainedTexts(items)
    chosen: dict[int, Variant] = {}
    asked: list[int] = []
    for index, item in enumerate(items):
        holder, held = contained.find(index, chosen)
        several = "\n" in (item.content or "") and not item.required
        lines = [i for i in asked if "\n" in (items[i].content or "")] if several else []
        whole = [
            i
            for i in lines
            if i in chosen and chosen[i].name in ("content", "expanded") and not chosen[i].cut
        ]
        holders = [i for i in whole if _holds(items[i], item)]
        assert (holder in holders) if holders else holder is None
        if holder is None:
            assert list(held) == [i for i in lines if i in chosen and _holds(item, items[i])]
            chosen[index] = forms[index]
        asked.append(index)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The items with texts that were compared, once for each time."""
    found: list[int] = []
    text = ContainedTexts._text

    def noted(contained: ContainedTexts, index: int) -> str:
        found.append(index)
        return text(contained, index)

    monkeypatch.setattr(ContainedTexts, "_text", noted)
    return found


def _apart(items: list[Item]) -> None:
    contained = ContainedTexts(items)
    chosen: dict[int, Variant] = {}
    for index in range(len(items)):
        assert contained.find(index, chosen) == (None, [])
        chosen[index] = Variant("content", "")


@pytest.mark.parametrize("step", [1, 7])
def test_many_windows_of_one_file_are_not_compared_with_each_other(
    step: int, read: list[int]
) -> None:
    file = [f"line {n}" + "!" * (n % 13 == 0) * 9 for n in range(4000)]
    items = [
        Item(content="\n".join(file[start : start + 30]))
        for start in range(0, 2000 * step, step)
        if start < 3970
    ]
    _apart(items)
    assert len(read) < 10 * len(items)


def test_of_very_many_with_the_same_lines_only_so_many_are_compared(read: list[int]) -> None:
    items = [Item(content=f"{'x' * 40}\n{n}") for n in range(3 * MAX_TEXTS_PER_LINE)]
    _apart(items)
    assert len(read) <= len(items) * (MAX_TEXTS_PER_LINE + 2)


@pytest.mark.parametrize("packing", ["score", "proportional", "longest_first", "repository"])
def test_what_fits_without_contained_texts_is_shown_whole(packing: Any) -> None:
    lines = [f"line {number} says something about {number * 7}" for number in range(60)]
    items = [Item(content="\n".join(lines[cut : 60 - cut])) for cut in (0, 5, 10)]
    most = render(items[:1], max_tokens=5000).tokens + 60
    found = render(items, max_tokens=most, packing=packing).items
    assert [item.reason for item in found] == ["fits", "duplicate", "duplicate"]
