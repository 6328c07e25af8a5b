"""What the user named is shown before anything competes, in short if need be."""

from __future__ import annotations

import json
from typing import Any

import pytest

import promptforge as pf


def render(records: list[dict[str, Any]], budget: int, **options: Any) -> pf.Result:
    made = {"dedupe": False, "layout": "context", "max_tokens": budget, **options}
    result = pf.render(records, **made)
    assert result.tokens <= budget
    return result


def shown(result: pf.Result) -> set[int]:
    return {index for index, item in enumerate(result.items) if item.text}


def test_without_a_query_the_later_ones_go() -> None:
    named = [{"name": f"n{n}", "content": f"Word {n} " * 900} for n in range(20)]
    for budget in (100, 300, 700):
        count = len(shown(render(named, budget)))
        assert 0 < count < 20
        assert shown(render(named, budget)) == set(range(count))


def test_with_a_query_those_go_that_answer_it_least() -> None:
    named = [pf.Item(name=f"n{n}", content=f"Word {n} " * 900, named=True) for n in range(20)]
    named[17] = pf.Item(name="pump", content="The pump has a valve. " * 300, named=True)
    before: set[int] = set()
    for budget in (100, 300, 700):
        now = shown(pf.render(named, max_tokens=budget, query="Which valve has the pump?"))
        assert 17 in now and before <= now
        assert now - {17} == set(range(len(now) - 1))
        before = now


@pytest.mark.parametrize("query", [None, "part"])
def test_a_long_diff_leaves_the_files_of_a_folder_room(query: str | None) -> None:
    diff = [
        pf.Item(
            kind="diff",
            path=f"src/m{n}.py",
            content=f"diff --git a/m b/m\n-line {n}\n+ 2",
            named=True,
        )
        for n in range(200)
    ]
    files = [
        pf.Item(kind="code", path=f"lib/m{n}.py", content=f"def part{n}():\n    pass", named=False)
        for n in range(100)
    ]
    result = pf.render([*files, *diff], max_tokens=1500, query=query, packing="repository")
    kinds = [item.kind for item in result.items if item.text]
    assert kinds.count("diff") >= 20 and "code" in kinds
    few = pf.render([*files, *diff[:10]], max_tokens=700, query=query, packing="repository")
    kinds = [item.kind for item in few.items if item.text]
    assert kinds.count("diff") == 10 and "code" in kinds


def test_a_list_with_scores_competes_by_rank() -> None:
    hits = [
        {"name": f"n{n}", "content": f"Word {n} " * 60, "score": 1 - n / 1000} for n in range(1000)
    ]
    result = render(hits, 4000)
    whole = [item for item in result.items if item.status == "included"]
    assert len(whole) > 10 and len(whole) >= len([i for i in result.items if i.text]) - 1


def test_named_items_grow_together_and_the_shortest_is_whole_first() -> None:
    sizes = (20, 900, 120, 900)
    named = [
        {"name": f"n{n}", "content": " ".join(f"Sentence {n} {i}." for i in range(size))}
        for n, size in enumerate(sizes)
    ]
    for query in (None, "Which sentence is 1 17?"):
        items = render(named, 1500, query=query).items
        assert [item.status for item in items] == ["included", "trimmed", "trimmed", "trimmed"]
        tokens = [item.tokens for item in items]
        assert max(tokens[1:]) < 1.3 * min(tokens[1:])


def test_found_items_get_what_the_named_ones_leave_of_their_share() -> None:
    named = [{"name": f"n{n}", "content": f"Word {n} " * 900} for n in range(2)]
    hits = [
        {"name": f"h{n}", "content": f"Hit {n} " * 60, "score": 0.5 - n / 100} for n in range(20)
    ]
    for found in (hits, [{**hit, "origin": "similarity"} for hit in hits]):
        items = render([*named, *found], 2000).items
        sizes = [sum(item.tokens for item in part) for part in (items[:2], items[2:])]
        assert 1000 < sizes[0] < 1300 and 600 < sizes[1] < 900


def test_a_section_with_a_maximum_holds_its_named_items_to_it() -> None:
    named = [
        {"name": f"n{n}", "kind": ("note", "text")[n % 2], "content": f"Word {n} " * 900}
        for n in range(4)
    ]
    result = render(named, 1500, section_budgets={"note": {"max_tokens": 200}})
    notes = [item for item in result.items if item.kind == "note"]
    assert shown(result) == set(range(4)) and sum(item.tokens for item in notes) <= 200


def test_what_a_query_asks_for_is_shown_within_a_named_item() -> None:
    lines = [f"The pump of the {n}th house has a valve." for n in range(300)]
    lines[200] = "Turn the crank to drain the cistern."
    others = [{"name": f"n{n}", "content": f"Word {n} " * 900} for n in range(3)]
    named = [*others, {"name": "manual", "content": "\n\n".join(lines)}]
    result = render(named, 400, query="how is the cistern drained?")
    assert "Turn the crank" in result.text and shown(result) == set(range(4))


@pytest.mark.parametrize("syntax", ["plain", "json", "yaml", "toon"])
def test_an_answer_grows_in_each_format(syntax: Any) -> None:
    rows = [{"name": f"colour-{n}", "value": f"hsl({n}, {n % 7}0%, 63%)"} for n in range(60)]
    item = {"kind": "tool_result", "content": json.dumps({"vars": rows})}
    result = render([item], 300, query="hsl 43", format=syntax)
    assert 260 < result.tokens <= 300 and "colour-43" in result.text


@pytest.mark.parametrize("named", [True, None])
def test_changes_alone_answer_a_query_and_the_others_are_names(named: bool | None) -> None:
    def change(number: int, lines: list[str]) -> pf.Item:
        path = f"src/part_{number}.py"
        head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,9 @@\n"
        return pf.Item(content=head + "\n".join(lines), path=path, kind="diff", named=named)

    answer = ["+# waits longer after each refused login", *(f"+wait({n})" for n in range(30))]
    items = [change(n, [f"+job_{n}_{k}(entry)" for k in range(60)]) for n in range(9)]
    items.insert(4, change(9, answer))
    query = "how long does a refused login wait?"
    found = pf.render(items, query=query, max_tokens=600)
    assert "\n".join(answer) in found.text and found.tokens <= 600
    assert sum(item.status != "dropped" for item in found.items) > 1
    beside = pf.Item(content="One page.\n" * 9, kind="document", name="page")
    found = pf.render([beside, *items], query=query, max_tokens=1_500)
    assert not [item for item in found.items if item.status == "dropped"]


def _changed(path: str, lines: list[str]) -> pf.Item:
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,9 @@\n"
    return pf.Item(content=head + "\n".join(lines), path=path, kind="diff", named=True)


def test_a_few_changes_all_keep_their_names_beside_an_answer() -> None:
    answer = [f"+login.wait({n})" for n in range(90)]
    items = [_changed(f"src/a_{n}.py", [f"+job_{k}(entry)" for k in range(60)]) for n in range(5)]
    items.append(_changed("login.py", answer))
    found = pf.render(items, query="how long does a login wait?", max_tokens=500)
    assert not [item for item in found.items if item.status == "dropped"]
    assert found.text.count("login.wait") > 20


def test_no_room_is_kept_for_names_where_all_changes_answer() -> None:
    items = [_changed(f"p{n}.py", [f"+login.wait({n}, {k})" for k in range(60)]) for n in range(3)]
    found = pf.render(items, query="login wait", max_tokens=1_550)
    assert all(item.status != "dropped" for item in found.items) and 1_520 < found.tokens <= 1_550


def test_metadata_of_the_users_own_makes_no_change_of_an_item() -> None:
    texts = [f"Plants of office {n} are watered on monday. " * 30 for n in range(9)]
    texts.append("Refunds are paid within a week. " + texts[0])

    def render_with(metadata: dict[str, bool]) -> str:
        items = [pf.Item(name=f"n{n}", content=t, metadata=metadata) for n, t in enumerate(texts)]
        return pf.render(items, query="when are refunds paid", max_tokens=700).text

    assert render_with({"changed": True}) == render_with({})
