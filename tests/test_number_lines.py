"""Numbered lines: every number is that of the line in its file, whatever was cut."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf

HERE = Path(__file__).parent
SOURCES = {
    path.name: path.read_text(encoding="utf-8")
    for path in (HERE / "judges.py", HERE / "parsers.py", HERE.parent / "README.md")
}
_NUMBERED = re.compile(r"(?m)^(\d+): (.*)$")


def _render(text: str, **options: Any) -> pf.Result:
    item = {"content": text, "path": options.pop("path", "a.txt"), **options.pop("item", {})}
    return pf.render([item], **{"format": "plain", "number_lines": True, **options})


def _check(result: pf.Result, text: str, first: int = 1) -> int:
    """Compare each numbered line with that of the text; return their number."""
    lines = text.split("\n")
    found = _NUMBERED.findall(result.text)
    for number, shown in found:
        begins = re.split(r" ?\[?…|  # \d+ lines? left", shown)[0]  # a gap may follow in the line
        assert begins.strip() in lines[int(number) - first], number
    numbers = [int(number) for number, _ in found]
    assert numbers == sorted(set(numbers))
    return len(found)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("query", [None, "labels that hold a tag"])
@pytest.mark.parametrize("trim", ["structure", "prefix"])
@pytest.mark.parametrize("budget", [80, 300, 1000, 100_000])
def test_numbers_are_those_of_the_file(name: str, query: str, trim: str, budget: int) -> None:
    text = SOURCES[name]
    result = _render(text, path=name, query=query, trim=trim, max_tokens=budget)
    assert result.tokens <= budget
    assert _check(result, text) > (budget > 80)
    if budget == 100_000:
        assert len(_NUMBERED.findall(result.text)) == len(text.splitlines())


def test_a_chunk_goes_on_where_it_begins() -> None:
    item = {"start_line": 41, "end_line": 42}
    assert "\n41: one\n42: two" in _render("one\ntwo", item=item).text


def test_the_lines_around_a_chunk_come_before_its_own() -> None:
    item = {"start_line": 41, "end_line": 41, "expanded": "before\none\nafter"}
    assert "40: before\n41: one\n42: after" in _render("one", item=item).text
    unrelated = {"start_line": 41, "end_line": 41, "expanded": "another text"}
    assert "41: another" not in _render("one", item=unrelated).text


def test_a_summary_has_no_lines() -> None:
    assert "1: " not in _render("", item={"content": None, "summary": "In short."}).text


def test_json_is_cut_by_its_lines() -> None:
    text = "[\n" + ",\n".join(f'  "number {n} of many"' for n in range(200)) + "\n]\n"
    assert _check(_render(text, path="a.json", max_tokens=120), text) > 2


@given(st.text("ab\n ", max_size=80), st.integers(1, 50), st.integers(1, 60))
def test_any_text_keeps_its_lines(text: str, first: int, budget: int) -> None:
    item = {"start_line": first, "end_line": first + text.count("\n")}
    result = _render(text, item=item, max_tokens=budget, marker="")
    assert result.tokens <= budget
    _check(result, text, first)


def test_an_author_writes_the_number() -> None:
    words = 'words: {line_number: "{start} | "}'
    sources = [{"chunks/layout.yaml": words}]
    assert "\n1 | one" in _render("one\ntwo", templates=sources).text
