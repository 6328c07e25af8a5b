"""Packing builds the page a few times, however many files and tokens there are."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from example_counts import EFFORT

import promptforge as pf
from promptforge.packing.named import MAX_ITEMS_ANSWERING
from promptforge.rendering.page import Page

WORDS = ["alpha", "beta", "gamma", "retry", "cache", "server", "token", "limit", "page", "walk"]
MAX_BUILDS, MAX_BUILDS_OF_ANSWERING = 40, 12
"""Builds at most; those of each named item that answers a query, besides."""


def _files(number: int) -> list[dict[str, Any]]:
    """Return programs that call one another, and a document for every fourth of them."""
    rng = random.Random(1)

    def function(name: str) -> str:
        words = " ".join(rng.choices(WORDS, k=8))
        called = f"f{rng.randrange(number)}_0"
        return f'def {name}(a, b):\n    """{words}."""\n    return {called}(a, {rng.choice(WORDS)})'

    def file(index: int) -> dict[str, Any]:
        size = rng.choice([1, 2, 3, 6])
        if index % 4 == 3:
            parts = (f"# Part {n}\n\n{' '.join(rng.choices(WORDS, k=20))}." for n in range(size))
            return {"path": f"docs/{index}.md", "content": "\n\n".join(parts), "kind": "document"}
        parts = (function(f"f{index}_{n}") for n in range(size))
        path = f"src/p{index % 40}/m{index}.py"
        return {"path": path, "content": "\n\n".join(parts), "kind": "code"}

    return [file(index) for index in range(number)]


@pytest.mark.nightly
@pytest.mark.parametrize("packing", ["repository", "score"])
@pytest.mark.parametrize("query", [None, "retry the cache"])
def test_2000_files_are_packed_into_any_budget_by_few_builds_of_the_page(
    query: str | None, packing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, builds, render = _files(2000), list[int](), Page.render

    def count(page: Page, chosen: Mapping[int, Any], **options: Any) -> list[str]:
        builds.append(len(chosen))
        return render(page, chosen, **options)

    monkeypatch.setattr(Page, "render", count)
    most = MAX_BUILDS
    if query is not None and packing == "score":
        most += MAX_ITEMS_ANSWERING * MAX_BUILDS_OF_ANSWERING
    everything = pf.render(files, max_tokens=None, packing=packing, query=query).tokens
    budgets = [1000, 3500, 12_000, 40_000, everything // 2, everything - 1000, everything - 1]
    budgets += [everything, 5_000_000]
    for budget in budgets[:: 1 if EFFORT >= 1 else 3]:
        builds.clear()
        result = pf.render(files, max_tokens=budget, packing=packing, query=query)
        assert result.tokens <= budget and len(builds) <= most, budget
