"""More budget brings what is said, and at the budget that is named for an item the item is back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commandline import run
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sample_records import RECORDS
from unfiltered import FORMATS, LAYOUTS, render

import promptforge as pf

PACKINGS = [
    "score",
    "value",
    "proportional",
    "longest_first",
    "drop_last",
    "drop_first",
    "whole",
    "stop",
    "repository",
]


def test_more_budget_brings_what_is_said() -> None:
    result = pf.render(RECORDS, max_tokens=120, group_by="kind")
    more = {item.id: item for item in pf.render(RECORDS, max_tokens=1120, group_by="kind").items}
    gains = result.explain().gains
    assert gains is not None
    assert {each for gain in gains for each in gain.items} == {"b", "c", "d"}
    before = {item.id: item.tokens for item in result.items}
    for gain in gains:
        ids = [item.id for item in more.values() if item.section == gain.key]
        assert gain.tokens == sum(more[each].tokens - before[each] for each in ids)
    assert sum(gain.worth for gain in gains) == pytest.approx(
        0.7 + 0.6 + 0.8 * (1 - before["b"] / more["b"].tokens), abs=1e-5
    )


def test_there_are_no_gains_without_a_budget_or_where_all_fits() -> None:
    assert pf.render(RECORDS, max_tokens=None).explain().gains is None
    assert pf.render(RECORDS, max_tokens=10**6).explain().gains == ()


ITEM = st.fixed_dictionaries(
    {
        "content": st.integers(1, 60).map("word ".__mul__)
        | st.integers(2, 30).map("A line.\n".__mul__),
        "score": st.sampled_from([0.2, 0.5, 0.5, 0.9]),
        "kind": st.sampled_from(["document", "man_page", "code"]),
        "origin": st.sampled_from(["explicit", "explicit", "similarity"]),
        "path": st.sampled_from([None, "a.py", "b.py"]),
    },
    optional={"summary": st.just("in short"), "required": st.booleans()},
)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(ITEM, min_size=1, max_size=6),
    st.sampled_from(PACKINGS),
    st.sampled_from(LAYOUTS),
    st.sampled_from(FORMATS),
    st.integers(10, 300),
    st.sampled_from(
        [
            {},
            {"stubs": True},
            {"max_items": 1},
            {"trim": "none"},
            {"max_chars": 400},
            {"dedupe": True},
        ]
    ),
    st.sampled_from(["combined", "explicit_first"]),
)
def test_at_the_budget_that_is_named_the_item_is_back_whole(
    records: list[dict[str, Any]],
    packing: str,
    layout: str,
    format: str,
    budget: int,
    more: dict[str, Any],
    combine: str,
) -> None:
    options = {"packing": packing, "combine": combine, **more}
    records = [{**record, "id": f"i{n}"} for n, record in enumerate(records)]
    try:
        result = render(records, layout, format, max_tokens=budget, **options)
    except pf.BudgetError:
        assume(False)
    for item in result.items:
        if item.fits_at is not None:
            assert item.fits_at > budget
            assert item.status in ("dropped", "trimmed")
            again = render(records, layout, format, max_tokens=item.fits_at, **options)
            back = {each.id: each for each in again.items}
            assert back[item.id].status == "included"
        elif (
            item.reason == "budget" and combine == "combined"
        ):  # else what is named makes what was found give way
            assert {"max_items", "max_chars", "dedupe"} & set(more), (
                "only the budget is short, so some brings it back"
            )


def test_what_no_budget_brings_back_has_none() -> None:
    chars = pf.render(RECORDS, max_tokens=200, max_chars=300).items
    assert {item.id for item in chars if item.reason == "budget"} >= {"b", "c"}
    assert {item.fits_at for item in chars} == {None}
    window = pf.render(RECORDS, max_tokens=50, context_window=100).items
    assert [item.id for item in window if item.reason == "budget" and item.fits_at is None][:2] == [
        "b",
        "c",
    ]
    capped = pf.render(
        RECORDS, max_tokens=500, group_by="kind", section_budgets={"document": {"max_tokens": 60}}
    ).items
    assert {item.fits_at for item in capped if item.kind == "document"} == {None}


def test_the_table_ends_with_what_more_budget_brings() -> None:
    ran = run(
        "explain",
        "--layout",
        "context",
        "--max-tokens",
        "230",
        "--packing",
        "whole",
        stdin=json.dumps(RECORDS),
    )
    lines = ran.out.splitlines()
    assert lines[-2].startswith("1,000 tokens more bring") and lines[-1].split()[-1] == "notes"


def test_a_worse_piece_never_takes_the_room_of_one_that_would_have_fitted() -> None:
    records = [
        {
            "path": "tar.md",
            "content": "The tar program saves many files in one archive.",
            "origin": "similarity",
        },
        {
            "path": "gzip.md",
            "content": "The gzip program compresses one file.",
            "origin": "similarity",
        },
    ]
    options: dict[str, Any] = {
        "format": "plain",
        "headers": False,
        "query": "what does tar do",
        "min_score": None,
    }
    least = pf.render(records[:1], **options).tokens
    for budget in range(least, least + 12):
        assert (
            "tar program saves many files" in pf.render(records, max_tokens=budget, **options).text
        )
