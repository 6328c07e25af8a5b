"""The report of a rendering: its figures add up, and ranks are the order of packing."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from sample_records import RECORDS
from unfiltered import FORMATS, LAYOUTS, render

import promptforge as pf
from promptforge.rendering import source_map


@pytest.mark.parametrize("budget", [0, 3, 40, 150, 10**6, None])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_figures_add_up_to_the_tokens(layout: str, format: str, budget: int | None) -> None:
    result = render(RECORDS, layout, format, max_tokens=budget)
    found = result.explain()
    shown = [item for item in result.items if item.status != "dropped"]
    assert (found.tokens, found.max_tokens) == (result.tokens, budget)
    assert found.left == (None if budget is None else budget - result.tokens)
    assert sum(section.tokens for section in found.sections) == sum(item.tokens for item in shown)
    assert sum(section.items for section in found.sections) == len(shown)
    assert {section.key for section in found.sections} == {item.section for item in shown}
    if result.text:
        assert (
            found.overhead + found.between + sum(section.tokens for section in found.sections)
            == result.tokens
        )
    else:
        assert found.overhead > (budget or 0) or not shown
    empty = render(RECORDS, layout, format, max_items=0, min_score=1.0, max_tokens=None)
    assert found.overhead <= empty.explain().overhead
    if format != "json" or result.items_included == len(result.items):  # else it has no blanks
        assert found.overhead == empty.explain().overhead


def test_the_frame_is_what_a_page_without_items_costs() -> None:
    items = [{"content": "x", "origin": "similarity", "score": 0.1}]
    empty = pf.render(items, layout="context", min_score=0.5)
    assert empty.items_included == 0
    assert (
        pf.render(RECORDS, layout="context").explain().overhead
        == empty.tokens
        == empty.explain().overhead
        > 0
    )


def test_ranks_are_the_order_of_packing() -> None:
    found = {
        item.id: item.rank
        for item in pf.render([*RECORDS, {**RECORDS[3], "id": "e"}], max_tokens=200).items
    }
    assert found == {"a": 1, "b": 2, "c": 3, "d": 4, "e": None}
    given = pf.render(
        list(reversed(RECORDS)), max_tokens=200, packing="drop_last", trim="none"
    ).items
    assert [item.rank for item in given] == [1, 2, 3, 4]


ORDERED: list[dict[str, Any]] = [
    {"id": "a", "content": "Requests are tried again.", "score": 0.3, "origin": "similarity"},
    {"id": "b", "content": "tar -x extracts files.", "kind": "man_page"},
    {"id": "c", "content": "The limit is in tokens.", "score": 0.9, "origin": "similarity"},
    {"id": "d", "content": "Extract with tar -x.", "path": "d.py", "score": 0.6, "kind": "code"},
]


@pytest.mark.slow
@pytest.mark.parametrize("order", ["score", "given", "file", "edges"])
@pytest.mark.parametrize("group", ["none", "kind", "path"])
def test_each_list_has_the_order_of_the_text(group: str, order: str) -> None:
    options: dict[str, Any] = {"group_by": group, "order": order, "query": "extract"}
    for layout, syntax in itertools.product(LAYOUTS, FORMATS):
        result = render(ORDERED, layout, syntax, sources=True, **options)
        placed = sorted((item.place, item.id) for item in result.items if item.place)
        told = [name for _, name in placed]
        assert [place for place, _ in placed] == [1, 2, 3, 4]
        assert told == [source.id for source in result.sources]
        assert told == [*dict.fromkeys(span.item for span in result.map if span.item)]


def test_the_score_that_ranked_is_told_beside_the_one_given() -> None:
    def told(**options: Any) -> list[tuple[float | None, int | None]]:
        items = pf.render(ORDERED, combine="combined", min_score=0.5, **options).items
        assert [item.score for item in items] == [0.3, 1.0, 0.9, 0.6]
        return [(item.ranking_score, item.rank) for item in items]

    assert told() == [(None, None), (1.0, 1), (0.9, 3), (0.6, 2)]
    _, (named, _), (limit, _), (code, _) = told(query="extract")
    assert named and limit and code and named > code > limit


def test_very_many_sections_are_told() -> None:
    records = [{"content": f"x{n}", "path": f"f{n}.py"} for n in range(80)]
    found = pf.render(records).explain()
    assert len(found.sections) == 80
    assert (
        found.overhead + found.between + sum(section.tokens for section in found.sections)
        == found.tokens
    )


def test_found_items_come_back_only_below_the_budget_of_a_named_one() -> None:
    records = [{"id": "n", "content": "named " * 200}]
    records += [
        {"id": f"f{i}", "content": f"found {i} " * 30, "origin": "similarity"} for i in range(4)
    ]
    options: dict[str, Any] = {"packing": "whole", "min_score": None}
    for budget in (60, 100, 150, 200):
        result = pf.render(records, max_tokens=budget, **options)
        offers = {item.id: item.fits_at for item in result.items if item.fits_at}
        assert "n" in offers and (budget > 100 or len(offers) > 1)
        for name, tokens in offers.items():
            again = pf.render(records, max_tokens=tokens, **options)
            assert name in {item.id for item in again.items if item.status == "included"}


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"max_tokens": 3}, "max_tokens"),
        ({"max_chars": 10}, "max_chars"),
        ({"max_chars": 10, "max_tokens": 3}, "max_tokens"),
        ({"context_window": 10, "reserve": 5}, "context_window"),
        ({"section_budgets": {"text": {"max_tokens": 3}}, "group_by": "kind"}, "section_budgets"),
        ({"max_tokens": 3, "explicit_share": 0.5}, "max_tokens"),
    ],
)
def test_where_all_are_dropped_the_limit_that_bound_them_is_named(
    options: dict[str, Any], option: str
) -> None:
    items = [pf.Item(content="alpha beta gamma delta epsilon zeta eta theta " * 9)]
    if "explicit_share" in options:
        items.append(pf.Item(content="word " * 90, origin="similarity", score=0.5))
    (message,) = (d.message for d in pf.render(items, **options).warnings if d.code == "PF114")
    assert message.endswith(f"; a larger {option} has room for more")


LOOP = "{% for item in items %}"
ITEMS = [
    {"kind": "code", "name": "a", "content": "one"},
    {"kind": "text", "name": "b", "content": "two", "origin": "similarity", "score": 0.5},
]


def _left_out(page: str, item: str = "{{ item.content | prose }}") -> str:
    """Return the end of the message about items that the templates leave out."""
    templates = {"mine/layout.md.j2": page, "mine/item.md.j2": item}
    result = pf.render(ITEMS, templates=templates, layout="mine")
    return "".join(each.message for each in result.warnings if each.code == "PF133")


@pytest.mark.parametrize(
    ("page", "item", "names"),
    [
        (LOOP + "{% if item.kind == 'code' %}{{ item.text }}{% endif %}{% endfor %}", "x", '"b"'),
        ("{% for s in explicit %}{{ s.title }}{% endfor %}", "x", '"a", "b"'),
        (LOOP + "{% if loop.first %}{{ item.text }}{% endif %}{% endfor %}", "x", '"b"'),
        ("{% extends '_page.md.j2' %}{% block boddy %}{{ items }}{% endblock %}", "x", '"a", "b"'),
        (LOOP + "{{ item.text }}{% endfor %}", "{% if item.score < 1 %}x{% endif %}\n\n", '"a"'),
        ("Hello", "x", '"a", "b"'),
    ],
)
def test_an_item_that_the_templates_leave_out_is_named(page: str, item: str, names: str) -> None:
    assert f" that had room: {names}; print {{{{ item.text }}}}" in _left_out(page, item)


@pytest.mark.parametrize(
    "page",
    [
        LOOP + "{{ item.text }}{% endfor %}",
        LOOP + "| {{ item.title }} | {{ item.content }} |\n{% endfor %}",
        "{% set all %}" + LOOP + "{{ item.text }}{% endfor %}{% endset %}{{ all }}",
        "{% macro m(list) %}{% for item in list %}{{ item.text }}{% endfor %}{% endmacro %}"
        "{{ m(items) }}",
        "{% for s in sections %}{% for item in s['items'] %}{{ item.text }}{% endfor %}{% endfor %}",
        "{{ items | tojson }}",
        LOOP + "{{ item }}{% endfor %}",
    ],
)
def test_a_page_prints_items_in_its_own_way(page: str) -> None:
    assert _left_out(page) == ""


def test_an_item_without_a_text_is_not_left_out_by_templates() -> None:
    items = [{"name": "a", "content": "one"}, {"name": "b", "content": ""}]
    page = {"mine/layout.md.j2": LOOP + "{{ item.text }}{% endfor %}"}
    result = pf.render(
        items, templates=page | {"mine/item.md.j2": "{{ item.content | framed }}"}, layout="mine"
    )
    assert "PF133" not in [each.code for each in result.warnings]


def test_a_page_that_needs_most_of_its_fuel_is_printed() -> None:
    turns = "{% for o in items %}{% for p in [1, 2, 3, 4, 5, 6, 7, 8] %}{% if o.path == item.path"
    turns += " and p == 3 %}{{ o.name }}{% endif %}{% endfor %}{% endfor %}"
    page = {"mine/layout.md.j2": LOOP + turns + "{{ item.text | trim }}\n{% endfor %}"}
    page["mine/item.md.j2"] = "{{ item.content | framed }}"
    items = [{"name": f"n{n}", "path": f"f{n}.py", "content": f"x{n} = {n}"} for n in range(45)]
    assert "x44" in pf.render(items, templates=page, layout="mine", max_tokens=None).text


@pytest.mark.parametrize(("times", "content"), [(0, "A text long enough to tell of it."), (1, "x")])
def test_a_page_that_prints_each_content_is_not_printed_again(
    times: int, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def find_unprinted(page: object, *_: object) -> list[int]:
        asked.append(page)
        return []

    monkeypatch.setattr(source_map, "find_unprinted", find_unprinted)
    page = LOOP + "{{ item.content }}\n{% endfor %}"
    templates = {"mine/layout.md.j2": page, "mine/item.md.j2": "x"}
    made = pf.render([content], templates=templates, layout="mine")
    assert content in made.text
    assert len(asked) == times
