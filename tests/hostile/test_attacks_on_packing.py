"""Inputs on which a packing once went round for ever, fell over, or broke the text that it
shortened.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import promptforge as pf

pytestmark = pytest.mark.unwatched

COUNT = pf.get_tokenizer("o200k_base").count
ANSWERS = [
    {"name": name, "text": f"First of {name}. Then the tar will extract. Is it last? Yes."}
    for name in "abcdefghij"
]
SPREAD = ["even", "longest_first", "drop_last"]


@pytest.mark.parametrize("chars", [0, 5, 300, 900])
@pytest.mark.parametrize("tokens", [None, 40, 4000])
def test_a_query_ends_where_only_characters_are_short(chars: int, tokens: int | None) -> None:
    records = [
        {"content": "Alpha beta. " * 200},
        {"kind": "document", "content": "Gamma delta. " * 200},
    ]
    result = pf.render(records, query="alpha", max_chars=chars, max_tokens=tokens)
    assert len(result.text) <= chars
    assert len(result.items) == len(records)
    assert all((item.reason == "budget") == (item.status != "included") for item in result.items)


@pytest.mark.parametrize("most", [0, 3, 30, 200])
@pytest.mark.parametrize("packing", SPREAD)
def test_a_section_with_a_maximum_is_kept_by_packings_that_show_a_set(
    packing: Any, most: int
) -> None:
    records: list[dict[str, Any]] = [
        {"id": "long", "kind": "document", "content": "Words in a row. " * 90},
        {"id": "other", "kind": "man_page", "content": "Others go there. " * 90},
        {"id": "tiny", "kind": "document", "content": "x"},
    ]
    budgets = {"document": {"max_tokens": most}}
    result = pf.render(records, packing=packing, layout="knowledge", section_budgets=budgets)
    found = {item.id: item for item in result.items}
    assert set(found) == {"long", "other", "tiny"}
    assert found["other"].status == "included"
    assert found["long"].tokens + found["tiny"].tokens <= most
    assert COUNT(result.text) == result.tokens


@pytest.mark.parametrize("packing", ["score", "value", *SPREAD])
@pytest.mark.parametrize("indent", [None, 1])
def test_json_stays_json_where_a_query_chooses_what_is_kept(
    packing: Any, indent: int | None
) -> None:
    record = {"kind": "document", "language": "json", "content": json.dumps(ANSWERS, indent=indent)}
    page = pf.render(
        [record],
        layout="context",
        format="json",
        max_tokens=150,
        query="tar extract",
        packing=packing,
    )
    assert page.items[0].status == "trimmed"
    # Records of one shape are a table.
    start = '{"columns":["name","text"],"rows":['
    held = [value for value in _strings(json.loads(page.text)) if value.startswith(start)]
    assert held
    assert all(len(json.loads(value)["rows"]) > 1 for value in held)


@pytest.mark.parametrize("packing", ["even", "longest_first"])
def test_a_long_run_without_a_break_keeps_its_attribution(packing: Any) -> None:
    result = pf.render(
        [{"content": "a" * 60_000}, {"content": "b"}], packing=packing, max_tokens=300
    )
    assert COUNT(result.text) == result.tokens <= 300
    assert result.items[0].status == "trimmed"


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _strings(part)]
