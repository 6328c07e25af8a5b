"""The law of intent: what the user named is shown before anything else is chosen."""

from __future__ import annotations

from typing import Any

import harmless_records
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf

WORDS = harmless_records.SENTENCE
TEXT = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)
NAMED = st.lists(
    st.fixed_dictionaries({"content": TEXT, "kind": st.sampled_from(["document", "man_page"])}),
    min_size=1,
    max_size=5,
).map(lambda records: [{**r, "name": f"named {n}"} for n, r in enumerate(records)])
FOUND = st.lists(
    st.fixed_dictionaries({"content": TEXT, "score": st.floats(0.1, 0.9)}), max_size=4
).map(lambda records: [{**r, "name": f"found {n}"} for n, r in enumerate(records)])
QUERY = st.none() | WORDS
LEAST_TOKENS = 75
"""Tokens of an item in short, with the headings around it."""


def render(records: list[dict[str, Any]], budget: int, **options: Any) -> pf.Result:
    made = {"dedupe": False, "layout": "context", "max_tokens": budget, **options}
    result = pf.render(records, **made)
    assert result.tokens <= budget
    return result


def shown(result: pf.Result, named: list[dict[str, Any]]) -> set[int]:
    return {index for index, item in enumerate(result.items[: len(named)]) if item.text}


@pytest.mark.slow
@cases(60)
@given(NAMED, FOUND, QUERY, st.sampled_from(["score", "value"]), st.booleans(), st.integers(0, 900))
def test_every_named_item_is_shown_where_the_least_variants_fit(
    named: list[dict[str, Any]],
    found: list[dict[str, Any]],
    query: str | None,
    packing: str,
    similar: bool,
    more: int,
) -> None:
    if similar:
        found = [{**record, "origin": "similarity"} for record in found]
    options = {"query": query, "packing": packing}
    most = render(named, 10**6, **options).tokens
    budget = min(most, LEAST_TOKENS * len(named)) + more
    result = render([*named, *found], budget, **options)
    assert shown(result, named) == set(range(len(named)))


@pytest.mark.slow
@cases(40)
@given(NAMED, FOUND, QUERY, st.booleans())
def test_more_budget_never_drops_a_named_item_and_each_that_is_left_out_is_said(
    named: list[dict[str, Any]], found: list[dict[str, Any]], query: str | None, sources: bool
) -> None:
    before = set[int]()
    for budget in range(20, 420, 20):
        result = render([*named, *found], budget, query=query, sources=sources)
        now = shown(result, named)
        assert before <= now
        said = " ".join(warning.message for warning in result.warnings if warning.code == "PF111")
        if now:
            assert all(f'"named {n}"' in said for n in range(len(named)) if n not in now)
        before = now
