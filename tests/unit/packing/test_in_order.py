"""Packings on real pages: who gets the room, and in which form."""

from __future__ import annotations

import random
from typing import Any

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from knapsack import bound

import promptforge as pf
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS

COUNT = pf.get_tokenizer("o200k_base").count


def words(number: int, seed: int = 0) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choice(["alpha", "beta", "gamma", "delta", "omega"]) for _ in range(number))


def item(name: str, size: int, **fields: Any) -> dict[str, Any]:
    return {"name": name, "content": words(size, sum(map(ord, name)) * 1000 + size), **fields}


def render(records: list[dict[str, Any]], budget: int, **options: Any) -> pf.Result:
    result = pf.render(
        records, max_tokens=budget, **{"layout": "context", "min_score": None, **options}
    )
    assert result.tokens == COUNT(result.text) <= budget
    return result


def kept(result: pf.Result) -> dict[str, tuple[str, int]]:
    """Return the status of each item and the words left of its content."""
    return {
        entry.name or "": (
            entry.status,
            sum(entry.text.count(w) for w in ("alpha", "beta", "gamma", "delta", "omega")),
        )
        for entry in result.items
    }


# --- a fixed set, all of which must be seen -------------------------------------------------------

SET = [item("a", 40), item("b", 400), item("c", 160), item("d", 20)]


@pytest.mark.parametrize("budget", [150, 250, 400, 600])
def test_even_cuts_every_content_by_the_same_share(budget: int) -> None:
    found = kept(render(SET, budget, packing="even"))
    # With its mark a word less would cost more than all of a short one.
    assert [status for status, _ in found.values()][1:3] == ["trimmed"] * 2
    shares = [
        left / size for (_, left), size in zip(found.values(), (40, 400, 160, 20), strict=True)
    ]
    assert (
        max(shares[1:3]) - min(shares[1:3]) < 0.06
    )  # long ones closely; a cut of a short one is a word or two off
    assert max(shares) - min(shares) < 0.25


@pytest.mark.parametrize("budget", [250, 400, 600])
def test_longest_first_leaves_the_short_ones_whole(budget: int) -> None:
    found = kept(render(SET, budget, packing="longest_first"))
    assert found["a"] == ("included", 40)
    assert found["d"] == ("included", 20)
    assert found["b"][0] == "trimmed"
    assert found["b"][1] >= found["c"][1] - 8


def test_the_oldest_go_first_and_the_one_at_the_edge_is_cut() -> None:
    found = kept(render(SET, 400, packing="drop_first"))
    assert [status for status, _ in found.values()] == [
        "dropped",
        "trimmed",
        "included",
        "included",
    ]
    assert [s for s, _ in kept(render(SET, 300, packing="drop_first", trim="none")).values()] == [
        "dropped", "dropped", "included", "included"
    ]  # fmt: skip


def test_the_last_of_the_list_go_and_the_one_at_the_edge_is_cut() -> None:
    found = kept(render(SET, 300, packing="drop_last"))
    assert [status for status, _ in found.values()] == ["included", "trimmed", "dropped", "dropped"]
    assert [s for s, _ in kept(render(SET, 300, packing="drop_last", trim="none")).values()] == [
        "included", "dropped", "dropped", "dropped"
    ]  # fmt: skip


@pytest.mark.parametrize("packing", ["even", "longest_first"])
@pytest.mark.parametrize("format", FORMAT_EXTENSIONS)
def test_attributions_outlive_contents(packing: str, format: str) -> None:
    records = [item(f"name{n}", 200, path=f"src/file{n}.txt") for n in range(5)]
    whole = render(records, 10**6, layout="chunks", format=format)
    result = render(records, whole.tokens // 6, packing=packing, layout="chunks", format=format)
    assert all(entry.status == "trimmed" for entry in result.items)
    assert all(f"src/file{n}.txt" in result.text for n in range(5))


@pytest.mark.parametrize("packing", ["even", "longest_first", "drop_last"])
def test_where_not_even_attributions_fit_the_last_go(packing: str) -> None:
    result = render([item(f"n{n}", 200) for n in range(20)], 100, packing=packing)
    statuses = [entry.status for entry in result.items]
    assert statuses == sorted(statuses, key=["included", "trimmed", "dropped"].index)
    assert statuses[-1] == "dropped"
    assert statuses[0] != "dropped"


@pytest.mark.parametrize("packing", ["even", "longest_first"])
def test_a_part_of_a_shortened_item_is_shown_beside_it(packing: str) -> None:
    lines = [f"line {n} of {words(9, n)}" for n in range(60)]
    part = {"path": "a", "start_line": 31, "end_line": 34, "content": "\n".join(lines[30:34])}
    records = [{"path": "a", "start_line": 1, "end_line": 60, "content": "\n".join(lines)}, part]
    shortened = render(records, 300, packing=packing)
    assert [entry.status == "dropped" for entry in shortened.items] == [False, False]
    whole = render(records, 5000, packing=packing)
    assert [entry.status for entry in whole.items] == ["included", "dropped"]


@pytest.mark.parametrize("packing", ["even", "longest_first"])
def test_a_large_program_with_little_room_shows_its_beginning(packing: str) -> None:
    body = "".join(f"def work_{n}(a, b):\n    return a + b * {n}\n\n" for n in range(1000))
    program = f'"""It adds and multiplies."""\n{body}'
    records = [{"path": f"{n}.py", "kind": "code", "content": program} for n in "abc"]
    records = [{**each, "content": each["content"] + f"# {each['path']}\n"} for each in records]
    result = render(records, 180, packing=packing, layout="chunks")
    assert result.text.count("It adds and multiplies") == 3
    assert result.tokens > 160


def test_with_value_others_come_in_place_of_what_chosen_ones_contain() -> None:
    parts = ["\n".join(f"line {n} of {words(9, n)}" for n in range(at, at + 9)) for at in range(99)]
    whole = "\n".join(f"line {n} of {words(9, n)}" for n in range(60))
    records = [{"name": f"p{n}", "content": part, "score": 0.3} for n, part in enumerate(parts)]
    every = [{"name": "all", "content": whole, "score": 9.0}, *records]
    # Else each part is cut to the line that no better one has.
    result = render(every, 1500, packing="value", merge_overlaps=False)
    statuses = [entry.status for entry in result.items]
    assert statuses[0] == "included"
    assert set(statuses[1:53]) == {"dropped"}  # all of their lines are in the first
    assert statuses[53:].count("included") >= 3
    assert result.tokens > 1400


def test_the_end_of_a_list_comes_back_first_where_the_oldest_go() -> None:
    records = [{"name": f"n{n}", "content": f"{n} alpha beta"} for n in range(2100)]
    result = render(records, 200, packing="drop_first")
    lost = [n for n, entry in enumerate(result.items) if entry.status == "dropped"]
    budgets = [result.items[n].fits_at or 0 for n in lost[-3:]]
    assert budgets == sorted(budgets, reverse=True)
    back = render(records, budgets[-3], packing="drop_first").items
    assert [back[n].status for n in lost[-3:]] == ["included"] * 3


# --- stubs ----------------------------------------------------------------------------------------


def test_a_stub_keeps_the_attribution_of_what_did_not_fit() -> None:
    records = [
        item("first", 60, score=0.9),
        {**item("second", 300, score=0.5), "content": "x" * 5000},
    ]
    without = render(records, 100, packing="score", trim="none", layout="chunks")
    assert without.items[1].status == "dropped"
    result = render(records, 100, packing="score", trim="none", stubs=True, layout="chunks")
    assert (result.items[1].status, result.items[1].form) == ("trimmed", "stub")
    assert "second" in result.text
    assert "[Content truncated...]" in result.text


# --- sections -------------------------------------------------------------------------------------

KINDS = [item(f"m{n}", 120, kind="man_page", score=0.9) for n in range(6)]
KINDS += [item(f"d{n}", 120, kind="document", score=0.3) for n in range(6)]


def of_kind(result: pf.Result, kind: str) -> int:
    return sum(
        entry.tokens for entry in result.items if entry.kind == kind and entry.status != "dropped"
    )


def test_a_section_is_sure_of_its_share() -> None:
    plain = render(KINDS, 600, layout="knowledge")
    assert of_kind(plain, "document") == 0
    shared = render(KINDS, 600, layout="knowledge", section_budgets={"document": {"share": 0.5}})
    assert 200 <= of_kind(shared, "document") <= 310
    assert of_kind(shared, "man_page") > 200
    least = render(
        KINDS, 600, layout="knowledge", section_budgets={"document": {"min_tokens": 150}}
    )
    assert 100 <= of_kind(least, "document") <= 310


def test_a_section_takes_no_more_than_its_maximum_and_leaves_the_rest_to_others() -> None:
    result = render(
        KINDS, 600, layout="knowledge", section_budgets={"man_page": {"max_tokens": 200}}
    )
    assert of_kind(result, "man_page") <= 200
    assert of_kind(result, "document") > 250
    assert "section_budget" in {entry.reason for entry in result.items if entry.status == "dropped"}


def test_what_a_section_leaves_the_others_take() -> None:
    records = [*KINDS[:6], item("only", 30, kind="document", score=0.1)]
    result = render(records, 600, layout="knowledge", section_budgets={"document": {"share": 0.5}})
    assert of_kind(result, "document") < 60
    assert of_kind(result, "man_page") > 450


def test_a_budget_for_a_section_that_is_not_there_is_said() -> None:
    result = render(KINDS, 600, layout="knowledge", section_budgets={"documents": {"share": 0.5}})
    assert [w for w in result.warnings if w.code == "PF104" and '"document"' in w.message]


# --- worth ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.unwatched
@cases(20)
@given(st.integers(0, 10**6), st.integers(300, 1500))
def test_value_comes_near_what_can_be_reached(seed: int, budget: int) -> None:
    rng = random.Random(seed)
    records = [item(f"n{n}", rng.randrange(5, 60), score=rng.random()) for n in range(150)]
    records = [
        {**record, "content": f"{n} {record['content']}"} for n, record in enumerate(records)
    ]
    result = render(records, budget, packing="value", trim="none", layout="chunks", group_by="none")
    worth = sum(entry.score for entry in result.items if entry.status == "included")
    full = pf.render(records, max_tokens=10**7, layout="chunks", group_by="none", min_score=None)
    costs = [entry.tokens for entry in full.items]
    assert all(costs)
    most = bound([entry.score for entry in full.items], costs, budget)
    assert worth >= 0.96 * most  # few items: the last one alone is some percent
    plain = render(records, budget, packing="score", trim="none", layout="chunks", group_by="none")
    assert worth >= sum(entry.score for entry in plain.items if entry.status == "included") - 1e-9


# --- the query ------------------------------------------------------------------------------------


def test_rerank_none_leaves_the_order_alone() -> None:
    records = [
        {"name": f"n{n}", "content": f"Text {n} says little.", "score": 0.6 - n / 100}
        for n in range(5)
    ]
    records.append({"name": "answer", "content": "The lighthouse was built in 1871.", "score": 0.5})
    asked: dict[str, Any] = {"query": "lighthouse built", "order": "score"}
    names = [s.name for s in render(records, 10**4, **asked, rerank="none").sources]
    assert names == ["n0", "n1", "n2", "n3", "n4", "answer"]
    assert render(records, 10**4, **asked).sources[0].name == "answer"


# --- together -------------------------------------------------------------------------------------

ALL = ["score", "value", "even", "longest_first", "drop_last", "whole", "stop"]


@pytest.mark.parametrize("packing", ALL)
@pytest.mark.parametrize("query", [None, "gamma delta"])
def test_a_maximum_holds_for_every_packing(packing: str, query: str | None) -> None:
    budgets = {"man_page": {"max_tokens": 200}}
    for budget in (400, 10**6):
        result = render(
            KINDS, budget, layout="knowledge", packing=packing, query=query, section_budgets=budgets
        )
        assert of_kind(result, "man_page") <= 200


@pytest.mark.parametrize("packing", ALL)
@pytest.mark.parametrize("query", [None, "gamma delta"])
def test_what_a_section_is_sure_of_it_keeps(packing: str, query: str | None) -> None:
    budgets = {"document": {"min_tokens": 250}}
    records = [{**r, "content": f"{r['name']} {r['content']}"} for r in KINDS]
    result = render(
        records, 600, layout="knowledge", packing=packing, query=query, section_budgets=budgets
    )
    assert of_kind(result, "document") >= 100


@pytest.mark.parametrize("packing", ALL)
@pytest.mark.parametrize("query", [None, "gamma delta"])
def test_no_more_found_items_are_shown_than_asked_for(packing: str, query: str | None) -> None:
    records = [
        item(f"n{n}", 30, origin="similarity", kind="code" if n % 2 else "text") for n in range(12)
    ]
    result = render(
        records, 400, packing=packing, query=query, stubs=True, max_items=3, group_by="kind",
        section_budgets={"code": {"min_tokens": 150}},
    )  # fmt: skip
    assert 0 < sum(entry.status != "dropped" for entry in result.items) <= 3
    limited = {"section_budgets": {"code": {"max_tokens": 150}}, "group_by": "kind"}
    result = render(records, 4000, packing=packing, query=query, max_items=3, **limited)
    assert 0 < sum(entry.status != "dropped" for entry in result.items) <= 3


def test_what_another_item_holds_is_never_left_out_for_one_that_is_not_there() -> None:
    whole = "\n".join(f"line {n} of {words(9, n)}" for n in range(40))
    part = "\n".join(whole.split("\n")[10:14])
    records: list[dict[str, Any]] = [
        {"name": "big", "content": whole},
        {"name": "small", "content": part},
    ]
    result = render(records, 90, query="line 12", packing="score")
    shown = {entry.name for entry in result.items if entry.status != "dropped"}
    assert shown
    for entry in result.items:
        assert entry.reason != "duplicate" or "big" in shown


# --- attacks that once hung -----------------------------------------------------------------------


@pytest.mark.parametrize("packing", ["even", "longest_first", "drop_last"])
def test_a_section_that_may_take_nothing_takes_nothing(packing: Any) -> None:
    result = pf.render(
        [{"content": "some text"}],
        packing=packing,
        group_by="kind",
        section_budgets={"text": {"max_tokens": 0}},
    )
    assert result.items[0].status == "dropped"


def test_the_found_side_keeps_its_part_and_the_named_one_is_cut_rather_than_dropped() -> None:
    rng = random.Random(0)
    text = ["alpha", "beta", "gamma", "delta", "tar", "extract", "the", "of"]
    records = [
        {"id": f"e{n}", "content": " ".join(rng.choice(text) for _ in range(150))} for n in range(3)
    ]
    records.append(
        {"id": "s", "content": "short found thing", "origin": "similarity", "kind": "document"}
    )
    for budget in range(250, 420, 7):
        result = render(records, budget, layout="knowledge", combine="combined")
        shown = {entry.id for entry in result.items if entry.status != "dropped"}
        assert "s" in shown
        assert shown & {"e0", "e1", "e2"}


def test_stubs_of_a_section_stay_within_what_it_may_take() -> None:
    for packing in ALL:
        result = render(
            [{**r, "content": f"{r['name']} {r['content']}"} for r in KINDS], 600, layout="knowledge", packing=packing,
            stubs=True, section_budgets={"man_page": {"max_tokens": 200}},
        )  # fmt: skip
        assert of_kind(result, "man_page") <= 200


@pytest.mark.parametrize("packing", ["even", "longest_first", "drop_last"])
def test_what_the_maximum_of_a_section_leaves_out_says_so(packing: str) -> None:
    result = render(
        KINDS,
        10**5,
        layout="knowledge",
        packing=packing,
        section_budgets={"man_page": {"max_tokens": 40}},
    )
    assert {e.reason for e in result.items if e.kind == "man_page" and e.status == "dropped"} == {
        "section_budget"
    }
    assert all(e.status == "included" for e in result.items if e.kind == "document")
