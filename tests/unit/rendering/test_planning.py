"""A printed plan is data: other budgets and options are asked of it, and change nothing in it."""

from __future__ import annotations

import dataclasses

import pytest

import promptforge as pf
from promptforge.rendering.planning import at, whole_at

ITEMS = [pf.Item(name=name, content=f"{name} " * 60) for name in ("one", "two", "three")]


def test_other_budgets_and_options_are_asked_of_the_plan() -> None:
    report = pf.render(ITEMS, max_tokens=100, packing="whole").report
    printed, before = report.printed, dict(report.packed.chosen)
    assert not [name for name, value in vars(printed).items() if callable(value)]
    page, packed = at(printed, {"max_tokens": 150})
    assert len(before) < len(packed.chosen) == len(whole_at(printed, {"max_tokens": 150})[2])
    assert (
        "".join(page.parts(packed.chosen)) == pf.render(ITEMS, max_tokens=150, packing="whole").text
    )
    every = printed.with_options({"max_tokens": None})
    assert every.text == pf.render(ITEMS, max_tokens=None, packing="whole").text
    assert report.packed.chosen == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        printed.text = ""  # type: ignore[misc]
