"""Everything in several texts: nothing is lost between them, and each is within the budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import TESTS

import promptforge as pf
from promptforge.rendering.split import _most, spread

FILES = sorted((TESTS / "unit" / "sources").glob("test_*.py"))


def _contents(parts: list[pf.Result]) -> str:
    """Return what stands in the fences of all parts, together."""
    found = []
    for part in parts:
        found += re.findall(r"(?ms)^(`{3,})\w*\n(.*?)^\1$", part.text + "\n")
    return "".join(content for _, content in found)


def _lines(text: str) -> list[str]:
    # A fence ends on a line of its own, so a content's last line end shows as an empty line.
    return [line for line in text.split("\n") if line.strip()]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [700, 3000, 20_000])
def test_all_lines_of_all_files_are_in_the_parts_in_order(budget: int) -> None:
    items = [{"content": p.read_text(encoding="utf-8"), "path": p.name} for p in FILES]
    parts = pf.Renderer().split(items, max_tokens=budget)
    assert all(0 < part.tokens <= budget for part in parts)
    assert len(parts) > 1
    given = "".join(item["content"] for item in items)
    assert _lines(_contents(parts)) == _lines(given)


def test_the_rest_of_a_file_knows_its_lines() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 301))
    parts = pf.Renderer().split([{"content": text, "path": "a.txt"}], max_tokens=400)
    for part in parts:
        numbers = re.findall(r"(?m)^line (\d+)", part.text)
        assert f"Lines {numbers[0]}-{numbers[-1]}" in part.text


def test_one_line_of_a_megabyte_goes_on_too() -> None:
    text = "word " * 20_000
    parts = pf.Renderer().split([{"content": text, "path": "a.txt"}], max_tokens=3000)
    assert "".join(re.findall("word ?", _contents(parts))).count("word") == 20_000


def test_what_is_filtered_or_double_is_so_in_all_parts() -> None:
    items: list[dict[str, Any]] = [
        {"content": f"text {number} " * 30, "kind": ("code", "error")[number % 2]}
        for number in range(20)
    ]
    parts = pf.Renderer().split([*items, *items], kinds=["code"], max_tokens=300)
    text = "".join(part.text for part in parts)
    assert [f"text {number} " in text for number in range(20)] == [True, False] * 10
    assert text.count("text 4 ") == 30


@pytest.mark.slow
@given(st.lists(st.text("ab\n ", max_size=60), max_size=6), st.integers(60, 120))
def test_any_texts_are_all_there(texts: list[str], budget: int) -> None:
    items = [{"content": text, "path": f"{n}.txt"} for n, text in enumerate(texts)]
    parts = pf.Renderer().split(items, max_tokens=budget, dedupe=False)
    assert all(part.tokens <= budget for part in parts)
    shown = "".join(_contents(parts).split())
    assert shown == "".join("".join(texts).split())


def test_no_room_at_all_is_an_error() -> None:
    with pytest.raises(pf.BudgetError, match="no room for any of"):
        pf.Renderer().split([{"content": "x" * 90, "path": "a.txt"}], max_tokens=3)
    assert len(pf.Renderer().split([], max_tokens=3)) == 1


def test_the_search_of_a_part_begins_where_the_last_part_ended() -> None:
    """Each part of a large file took sixteen renders, and all its lines were split again."""
    lines = "".join(f"line {number} says a little\n" for number in range(1500))
    renders = 0

    def render(these: Sequence[pf.Item]) -> pf.Result:
        nonlocal renders
        renders += 1
        return renderer.render(list(these), max_tokens=400, packing="stop", trim="none")

    renderer = pf.Renderer()
    parts = list(spread([pf.Item(content=lines, path="a.txt")], render))
    assert len(parts) > 25
    assert renders < 7 * len(parts)
    assert _lines(_contents(parts)) == _lines(lines)


def test_most_is_found_from_wherever_the_search_begins() -> None:
    for limit in range(9):
        for most in range(limit + 1):
            for near in (1, 3, 8, 50):
                assert _most(limit, near, most.__ge__) == most


def test_no_part_hashes_all_that_is_left() -> None:
    """60,000 functions in 7,500 parts took 460 s, most of them for the ids of 1,500 files."""
    items = [{"content": f"line {number}\n" * 40, "path": f"{number}.txt"} for number in range(9)]
    parts = pf.Renderer().split(items, max_tokens=500)
    assert len(parts) > 3
    assert all("items" not in vars(part.report) for part in parts)
