"""A printed plan is data: other budgets and options are asked of it, and change nothing in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import promptforge as pf
from promptforge.rendering.planning import at, whole_at
from promptforge.trimming import declarations
from promptforge.trimming.declarations import rate_declarations
from promptforge.trimming.pieces import Piece

ITEMS = [pf.Item(name=name, content=f"{name} " * 60) for name in ("one", "two", "three")]


def test_other_budgets_and_options_are_asked_of_the_plan() -> None:
    report = pf.render(ITEMS, max_tokens=100, packing="whole").report
    before = dict(report.packed.chosen)
    assert not [name for name, value in vars(report).items() if callable(value)]
    page, packed = at(report, {"max_tokens": 150})
    assert len(before) < len(packed.chosen) == len(whole_at(report, {"max_tokens": 150})[2])
    assert (
        "".join(page.parts(packed.chosen)) == pf.render(ITEMS, max_tokens=150, packing="whole").text
    )
    every = report.with_options({"max_tokens": None})
    assert every.text == pf.render(ITEMS, max_tokens=None, packing="whole").text
    assert report.packed.chosen == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.text = ""  # type: ignore[misc]


def test_a_budget_is_tried_with_what_the_rendering_knows_of_its_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rated: list[int] = []

    def rate(parts: Sequence[Piece], holders: Mapping[str, int]) -> dict[int, float]:
        rated.append(len(parts))
        return rate_declarations(parts, holders)

    monkeypatch.setattr(declarations, "rate_declarations", rate)
    code = "".join(f"def name_{n}(text):\n    return text.strip() * {n}\n\n\n" for n in range(40))
    items = [
        pf.Item(kind="code", path=f"src/m{n}.py", language="python", content=f"N = {n}\n\n\n{code}")
        for n in range(4)
    ]
    report = pf.render(items, max_tokens=400, packing="repository").report
    before, costs = len(rated), dict(report.pages[0]._costs)
    assert before and costs
    page, packed = at(report, {"max_tokens": 420})
    assert len(rated) == before and page.measure(packed.chosen)[0] <= 420
    assert costs.items() <= report.trial_pages[0]._costs.items()


@pytest.mark.parametrize("packing", ["drop_last", "value", "score"])
def test_a_tree_in_another_budget_names_as_many_files_as_a_rendering_in_it(packing: str) -> None:
    sizes = (5, 9, 30, 8, 60, 7, 12, 40)
    items = [
        pf.Item(path=f"{folder}/f.md", content="One sentence of words. " * size)
        for folder, size in zip("abcdefgh", sizes, strict=True)
    ]
    options: dict[str, Any] = {"tree": True, "packing": packing}
    report = pf.render(items, max_tokens=150, **options).report
    for budget in (200, 800, 600):
        page, packed = at(report, {"max_tokens": budget})
        rendered = pf.render(items, max_tokens=budget, **options)
        assert "".join(page.parts(packed.chosen)) == rendered.text


@pytest.mark.parametrize("packing", ["score", "value", "whole", "even"])
def test_chunks_that_overlap_are_cut_apart_alike_in_each_budget(packing: str) -> None:
    lines = [
        f"Sentence {n} says that the word{n} and the name{n} go together.\n" for n in range(80)
    ]
    items = [
        pf.Item(path="a.md", content="".join(lines[n : n + 10]), score=(7 * n) % 61 / 61)
        for n in range(0, 80, 5)
    ]
    options: dict[str, Any] = {"packing": packing}
    report = pf.render(items, max_tokens=100, **options).report
    page, packed = at(report, {"max_tokens": 1000})
    rendered = pf.render(items, max_tokens=1000, **options)
    assert "".join(page.parts(packed.chosen)) == rendered.text
