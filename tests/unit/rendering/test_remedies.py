"""Remedies are true: with the options that an explanation names, the item is back."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from commandline import run
from example_counts import cases
from hypothesis import assume, given
from hypothesis import strategies as st
from unfiltered import PACKINGS

import promptforge as pf
from promptforge.cli.explain import (
    item_lines,
    reason_lines,
)
from promptforge.cli.output import Column, table_lines, text_columns
from promptforge.config.options import as_flags
from promptforge.model import Remedy
from promptforge.reasons import REASONS

RECORDS: list[dict[str, Any]] = [
    {
        "id": "a",
        "kind": "code",
        "path": "src/a.py",
        "start_line": 3,
        "end_line": 5,
        "content": "x = 1\nx = 2\nx = 3\n",
    },
    {
        "id": "a2",
        "kind": "code",
        "path": "src/a.py",
        "start_line": 5,
        "end_line": 6,
        "content": "x = 3\ny = 4\n",
    },
    {
        "id": "b",
        "kind": "document",
        "name": "guide",
        "content": "A sentence about it. " * 9,
        "score": 0.8,
    },
    {
        "id": "c",
        "kind": "document",
        "name": "notes",
        "content": "Words in a row. " * 9,
        "score": 0.7,
    },
    {
        "id": "c2",
        "kind": "document",
        "name": "copy",
        "content": "Words in a row. " * 9,
        "score": 0.7,
    },
    {
        "id": "s1",
        "origin": "similarity",
        "name": "first",
        "content": "Found by a search. " * 4,
        "score": 0.9,
    },
    {
        "id": "s2",
        "origin": "similarity",
        "name": "second",
        "content": "Found after it.",
        "score": 0.6,
    },
    {
        "id": "s3",
        "origin": "similarity",
        "name": "third",
        "content": "Found, and far off.",
        "score": 0.234,
    },
]
SITUATIONS: list[dict[str, Any]] = [
    {"max_tokens": 60},
    {"max_tokens": 60, "max_items": 1, "combine": "combined", "stubs": True, "query": "sentence"},
    {"max_items": 0, "packing": "stop"},
    {
        "group_by": "kind",
        "section_budgets": {"document": {"max_tokens": 40}},
        "combine": "combined",
    },
    {"max_chars": 200, "packing": "value"},
    {"context_window": 100, "reserve": 20},
    {"kinds": ["code"], "max_tokens": 90},
    {"paths": ["lib/*"]},
    {"languages": ["python"]},
    {"min_score": 0.7, "combine": "explicit_only"},
    {"layout": "documents", "format": "xml", "max_tokens": 3},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", SITUATIONS, ids=str)
def test_of_every_missing_item_it_is_said_what_brings_it_back(
    options: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "items.json"
    file.write_text(json.dumps(RECORDS), encoding="utf-8")
    given_flags = shlex.split(as_flags(options))
    said = run("explain", file, *given_flags)
    assert said.code == 0 and all(text_columns(line) <= 80 for line in said.out.splitlines())
    found = json.loads(run("explain", file, *given_flags, "--json").out)
    ways = {way["reason"]: way for way in found["remedies"]}
    missing = [item for item in found["items"] if item["status"] != "included"]
    assert missing
    words = " ".join(said.out.split())
    for item in missing:
        assert f"{item['reason']} {REASONS[item['reason']].sentence.partition('{')[0]}" in words
        assert item["fits_at"] or item["too_small"] or ways[item["reason"]]["options"]
    for way in ways.values():
        assert f"{as_flags(way['options'])} brings" in words
        lifted = {
            name
            for name, value in way["options"].items()
            if value is None and name in ("paths", "languages")
        }
        changes = {**options, **way["options"]}
        typed = as_flags({name: value for name, value in changes.items() if name not in lifted})
        again = pf.render(RECORDS, **changes)
        assert run("render", file, *shlex.split(typed)).out.rstrip("\n") == again.text.rstrip("\n")
        shown = [i.id for i in again.items if i.status == "included" or i.reason == "merged"]
        assert way["item"] in shown


ITEM = st.fixed_dictionaries(
    {
        "content": st.integers(1, 40).map("word ".__mul__)
        | st.integers(2, 20).map("A line.\n".__mul__),
        "score": st.sampled_from([0.2, 0.5, 0.5, 0.9]),
        "kind": st.sampled_from(["document", "man_page", "code"]),
        "origin": st.sampled_from(["explicit", "similarity"]),
        "path": st.sampled_from([None, "a.py", "b.py"]),
    },
    optional={"summary": st.just("in short"), "required": st.booleans()},
)
MORE: list[dict[str, Any]] = [
    {},
    {"max_items": 1},
    {"max_chars": 150},
    {"kinds": ["code"]},
    {"context_window": 90},
    {
        "section_budgets": {"document": {"max_tokens": 30}, "code": {"share": 0.3}},
        "group_by": "kind",
    },
]


@cases(45)
@given(
    st.lists(ITEM, min_size=1, max_size=6),
    st.sampled_from(PACKINGS),
    st.integers(0, 150),
    st.sampled_from(MORE),
    st.sampled_from(["combined", "explicit_first", "similarity_fallback"]),
)
def test_what_is_said_to_bring_items_back_does(
    records: list[dict[str, Any]], packing: str, budget: int, more: dict[str, Any], combine: str
) -> None:
    records = [{**record, "id": f"i{n}"} for n, record in enumerate(records)]
    options = {"max_tokens": budget, "packing": packing, "combine": combine, **more}
    try:
        result = pf.render(records, **options)
    except pf.BudgetError:
        assume(False)
    known: defaultdict[str, list[str]] = defaultdict(list)
    for item in result.items:
        if item.status != "included" and item.fits_at is None:
            known[item.reason].append(item.id)
        elif item.fits_at is not None and item.fits_at <= budget + 150:
            assert item.id not in _whole(records, options, {"max_tokens": item.fits_at - 1})
    ways = {way.reason: way for way in result.remedies()}
    assert set(ways) == set(known)
    for reason, way in ways.items():
        assert way.options and way.item in known[reason]
        back = _whole(records, options, way.options)
        assert way.item in back
        assert (way.items, way.back) == (len(known[reason]), len(back & set(known[reason])))
    _more_is_true(result, pf.render(records, **{**options, "max_tokens": budget + 500}))


def _whole(
    records: list[dict[str, Any]], options: dict[str, Any], changes: dict[str, Any]
) -> set[str]:
    result = pf.render(records, **{**options, **changes})
    return {item.id for item in result.items if item.status == "included"}


def _more_is_true(before: pf.Result, after: pf.Result) -> None:
    old, new = (
        {item.id for item in result.items if item.status == "included"}
        for result in (before, after)
    )
    gain = before.explain().gain
    assert gain is not None and new - old <= set(gain.items)


def test_what_is_tried_in_vain_is_said() -> None:
    way = Remedy(reason="paths", items=3, item="x", options={}, back=0)
    lines = list(
        reason_lines({"paths": 3}, [way], {"x": "name"}, {"max_items": None, "min_score": 0.5})
    )
    assert (
        " ".join(lines[1].split())
        == "no single change of an option that was tried brings name back"
    )
    way = Remedy(
        reason="paths",
        items=3,
        item="x",
        options={"paths": None, "dedupe": False, "max_chars": None},
        back=1,
    )
    lines = list(
        reason_lines({"paths": 3}, [way], {"x": "name"}, {"max_items": None, "min_score": 0.5})
    )
    said = "--no-dedupe --max-chars none and leaving out --paths brings name back, not the 2 others"
    assert " ".join(" ".join(lines[1:]).split()) == said


class Counted:
    """A tokenizer that says how often it was asked."""

    name, exact, asked = "counted", True, 0

    def count(self, text: str) -> int:
        self.asked += 1
        return len(text.split()) + text.count("\n")


@pytest.mark.parametrize("packing", ["score", pytest.param("value", marks=pytest.mark.slow)])
def test_a_table_of_few_rows_costs_no_cost_of_thousands(packing: Any) -> None:
    records = [{"content": f"text {n} " * (3 + n % 7), "name": f"n{n}"} for n in range(2300)]
    counter = Counted()
    result = pf.render(records, tokenizer=counter, max_tokens=100, packing=packing)
    before = counter.asked
    lines = list(item_lines(result.report, False))
    result.explain(), result.remedies()
    assert counter.asked - before < 2 * len(records), "each try asked for the cost of every item"
    assert any("more (budget" in line for line in lines) and len(lines) == 63
    rows = [line.split() for line in lines if line.startswith("out") and "more" not in line]
    assert len(rows) > 10
    items = {item.name: item for item in result.items}
    for row in rows:
        number = int(row[-1].strip("≥").replace(",", ""))
        if row[-1].startswith("≥"):
            assert items[row[2]].known("fits_at") is None
            assert number == (items[row[2]].known("too_small") or 0) + 1 > 100
        else:
            assert number == items[row[2]].known("fits_at")


def test_a_narrow_table_leaves_out_what_matters_least() -> None:
    columns = [
        Column("", spare=1),
        Column("item", cut=True, least=10),
        Column("kind", cut=True, spare=2),
        Column("why"),
    ]
    rows = [["in", "a name that is long", "document", "fits"]]
    assert [list(table_lines(columns, rows, total=total))[1] for total in (40, 32, 22, 15)] == [
        "in  a name that is long  document  fits",
        "in a name …is long document fits",
        "in a name …s long fits",
        "a nam…long fits",
    ]


def test_an_item_that_holds_another_range_keeps_its_own_id() -> None:
    records = [{**RECORDS[1], "id": "first"}, {**RECORDS[0], "id": "second"}]
    assert [(item.id, item.reason) for item in pf.render(records).items] == [
        ("first", "fits"),
        ("second", "merged"),
    ]
