"""The laws of lenient and strict, over anything at all that a caller may hand in.

L1 a lenient run never raises for data; an impossible option is an error. L2 strict and lenient say
the same. L3 where nothing is said, the bytes are the same. L4 nothing changes silently. L5 fallbacks
keep escaping and budget. L6 one bad item costs itself alone. L7 what is said carries no bytes of an
item, and is capped.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import hostile_strings as hostile
import pytest
from example_counts import cases
from harmless_records import harmless
from hostile_strings import ODD
from hypothesis import given
from hypothesis import strategies as st
from structures import COUNT
from unfiltered import FORMATS, LAYOUTS, render

import promptforge as pf
from promptforge.errors import MAX_DIAGNOSTICS_PER_CODE
from promptforge.prompts.providers import ShapeName
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS

FIELDS = [
    "kind", "content", "expanded", "summary", "id", "name", "path", "start_line", "end_line", "language", "score",
    "origin", "metadata", "no_such_field",
]  # fmt: skip
"""All but `required`, which asks for an error."""
OPTIONS = [
    "max_tokens", "max_chars", "max_items", "item_max_chars", "paths", "languages", "kinds", "min_score", "query",
    "rerank", "group_by", "order", "dedupe", "merge_overlaps", "combine", "explicit_share", "packing", "trim", "marker",
    "headers", "scores", "code", "separator", "header", "footer", "fence_language", "context_window", "reserve",
    "section_budgets", "stubs", "control_text", "tokenizer",
]  # fmt: skip
BROKEN = {
    "unclosed": "{% for a in item.content %}",
    "no such field": "{{ item.nope }}",
    "only of some": "{% if item.name != 'name1' %}{{ item.nope }}{% endif %}x",
    "division": "{{ 1 / 0 }}",
    "endless": "{% for a in range(9999999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "power": "{{ 9**(9**9) }}",
    "escape": "{{ ''.__class__.__mro__ }}",
    "outside": "{% include '../../../etc/passwd' %}",
}
"""Templates that fail."""
NAME = st.sampled_from(sorted(ODD))
RECORD = st.dictionaries(st.sampled_from(FIELDS), NAME, max_size=3) | NAME
"""A record in words: a harmless one with odd fields, or an odd value in its place."""
RECORDS = st.lists(RECORD, max_size=4)
CHANGES = st.dictionaries(st.sampled_from(OPTIONS), NAME, max_size=2)
LOOK = st.fixed_dictionaries(
    {"layout": st.sampled_from(LAYOUTS), "format": st.sampled_from(FORMATS)}
)
BUDGET = st.sampled_from([0, 1, 40, 200, 4000])


def made(words: Any, number: int = 0) -> Any:
    """Return a fresh record of its words."""
    if isinstance(words, str):
        return ODD[words]()
    return harmless(number, id=f"i{number}") | {field: ODD[name]() for field, name in words.items()}


def all_made(records: list[Any]) -> list[Any]:
    return [made(words, number) for number, words in enumerate(records)]


def is_taken(option: str, value: Any) -> bool:
    try:
        pf.Renderer().check(**{option: value})
    except pf.OptionError:
        return False
    return True


def grave(warnings: tuple[Any, ...]) -> list[Any]:
    return [d for d in warnings if d.severity != "info"]


@cases(36)
@given(RECORDS, CHANGES, LOOK, BUDGET)
def test_l1_a_lenient_run_never_raises(
    records: list[Any], changes: dict[str, str], look: dict[str, str], budget: int
) -> None:
    options = {"max_tokens": budget, **look, **{name: ODD[odd]() for name, odd in changes.items()}}
    try:
        result = pf.render(all_made(records), **options)
    except pf.OptionError as error:
        assert error.option in changes
        return
    result.text.encode()
    assert result.tokens == pf.get_tokenizer(result.tokenizer).count(result.text)
    assert result.max_tokens is None or result.tokens <= result.max_tokens
    json.dumps(result.to_dict())
    assert len(result.items) <= len(records)


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
def test_l1_nor_for_what_is_no_list_of_records(odd: str) -> None:
    if odd == "generator":
        return  # a million records of an endless one are read
    try:
        assert pf.render(ODD[odd]()).warnings
    except pf.ItemError as error:
        assert str(error.where).startswith("items")
        with pytest.raises(pf.ItemError):
            pf.Renderer().prompt(ODD[odd](), user="Why?")
    else:
        assert pf.Renderer().prompt(ODD[odd](), user="Why?").text


@pytest.mark.slow
@cases(30)
@given(RECORDS, st.sampled_from(["text", "roles", "openai", "anthropic", "gemini"]))
def test_l1_nor_does_a_prompt(records: list[Any], to: ShapeName) -> None:
    prompt = pf.Renderer().prompt(all_made(records), user="Why?", to=to, max_tokens=300)
    json.dumps(prompt.to_dict())
    assert "Why?" in prompt.text


@cases(30)
@given(RECORDS, CHANGES, LOOK, BUDGET)
def test_l2_strict_and_lenient_say_the_same(
    records: list[Any], changes: dict[str, str], look: dict[str, str], budget: int
) -> None:
    changes = {
        name: odd
        for name, odd in changes.items()
        if name in ("separator", "marker", "header", "footer")
    }

    def run(strict: Any) -> pf.Result:
        options = {
            "max_tokens": budget,
            **look,
            **{name: ODD[odd]() for name, odd in changes.items()},
        }
        texts = {
            name: value
            for name, value in options.items()
            if name not in changes or is_taken(name, value)
        }
        return pf.render(all_made(records), strict=strict, **texts)

    lenient = run(False)
    try:
        strict = run(True)
    except (
        pf.BudgetError
    ):  # a frame that does not fit is refused as what is required and does not fit
        assert "PF110" in [d.code for d in lenient.warnings]
        return
    except pf.StrictError as error:
        assert list(error.diagnostics) == grave(lenient.warnings)
        assert isinstance(error.result, pf.Result)
        strict = error.result
    else:
        assert not grave(lenient.warnings)
    assert "PF110" not in [d.code for d in lenient.warnings]
    assert strict.warnings == lenient.warnings


@cases(30)
@given(st.lists(hostile.TEXT, max_size=4), LOOK, BUDGET)
def test_l3_where_nothing_is_said_the_bytes_are_the_same(
    texts: list[str], look: dict[str, str], budget: int
) -> None:
    records = [harmless(number, content=text) for number, text in enumerate(texts)]
    lenient = render(records, **look, max_tokens=budget)
    if not grave(lenient.warnings):
        assert render(records, **look, max_tokens=budget, strict=True).text == lenient.text


@cases(36)
@given(
    st.dictionaries(
        st.sampled_from(["content", "name", "path", "language", "kind"]), hostile.LABEL, min_size=1
    )
)
def test_l4_nothing_changes_silently(fields: dict[str, str]) -> None:
    record = harmless(0, id="it", **fields)
    result = render([record], "documents", "json")
    if result.warnings:
        return
    [entry] = result.items
    [shown] = result.shown
    assert (entry.status, entry.form, shown.content) == ("included", "content", record["content"])
    assert record["content"] in strings(json.loads(result.text))
    assert (
        entry.kind == (record["kind"] if record["kind"] != "markdown" else "document")
        or not record["kind"]
    )


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in strings(part)]


@pytest.mark.parametrize("field", [*FIELDS, "required"])
def test_l4_a_value_that_was_not_taken_is_said(field: str) -> None:
    for odd in ODD:
        plain = issubclass(
            type(ODD[odd]()),
            (dict, type(None)) if field == "metadata" else (str, int, float, type(None)),
        )
        result = render([made({field: odd})], "chunks", "markdown")
        assert result.warnings or plain, odd


@cases(45)
@given(st.sampled_from(OPTIONS), NAME)
def test_l4_an_option_that_is_not_taken_is_an_error(option: str, odd: str) -> None:
    try:
        taken = pf.Renderer().check(**{option: ODD[odd]()})
    except pf.OptionError as error:
        assert option in str(error)
        with pytest.raises(pf.OptionError):
            pf.render([harmless(0)], **{option: ODD[odd]()})
        return
    assert hasattr(taken, option)
    pf.render([harmless(0)], **{option: ODD[odd]()})


@cases(15, shrink=False)
@given(
    st.sampled_from(sorted(BROKEN)), st.lists(hostile.TEXT, min_size=1, max_size=3), LOOK, BUDGET
)
def test_l5_fallbacks_keep_escaping_and_budget(
    broken: str, texts: list[str], look: dict[str, str], budget: int
) -> None:
    records = [harmless(number, content=text, name=text) for number, text in enumerate(texts)]
    ending = FORMAT_EXTENSIONS[look["format"]]
    theirs = {f"{look['layout']}/layout.{ending}.j2": BROKEN[broken]}
    fallen = render(records, **look, max_tokens=budget, templates=theirs)
    shipped = render(records, **look, max_tokens=budget)
    assert fallen.text == shipped.text
    assert fallen.tokens == COUNT(fallen.text) <= budget
    assert [d.code for d in fallen.warnings if d.severity == "error"] == ["PF401"]
    assert [d for d in fallen.warnings if d.code != "PF401"] == list(shipped.warnings)


@cases(45)
@given(RECORD, LOOK)
def test_l6_one_bad_item_costs_itself_alone(bad: Any, look: dict[str, str]) -> None:
    good = [harmless(1, id="good-1"), harmless(2, id="good-2")]
    # A good one in its place: labels of sections and numbers are as they would be.
    between = render([good[0], harmless(0, id="bad"), good[1]], **look)
    result = render([good[0], made(bad), good[1]], **look)

    def texts(of: pf.Result) -> dict[str, str]:
        return {
            item.id: item.text.replace('index="2"', 'index="3"')
            for item in of.items
            if item.id in ids
        }

    ids = {"good-1", "good-2"}
    if len(result.items) == len(between.items):
        assert texts(result) == texts(between)
    for number in (1, 2):
        assert f"content number {number}" in result.text
    assert {item.status for item in result.items if item.id in ids} == {"included"}


@cases(30)
@given(
    st.dictionaries(
        st.sampled_from(FIELDS), hostile.LABEL | NAME.map(lambda odd: ODD[odd]()), max_size=4
    ),
    LOOK,
)
def test_l7_what_is_said_carries_no_bytes_of_an_item(
    fields: dict[str, Any], look: dict[str, str]
) -> None:
    result = render([harmless(0) | fields], **look)
    for said in result.warnings:
        assert said.message.isprintable() and str(said).isprintable()
        assert len(str(said)) < 3000
        assert said.where is None or said.where.isprintable()


def test_l7_and_is_capped(caplog: pytest.LogCaptureFixture) -> None:
    odd = [
        {"content": "x", "name": f"\u202e{number}", "start_line": -1}
        for number in range(MAX_DIAGNOSTICS_PER_CODE * 2)
    ]
    bad = [{"contnt": number} for number in range(MAX_DIAGNOSTICS_PER_CODE * 2)]
    same = [
        {"content": f"x\x1b{number}", "id": "\x1b\n"} for number in range(MAX_DIAGNOSTICS_PER_CODE)
    ]
    with caplog.at_level(logging.DEBUG, "promptforge"):
        result = pf.render([*odd, *bad, *same], max_items=None, max_tokens=10**6)
    codes = [d.code for d in result.warnings]
    assert max(map(codes.count, codes)) == MAX_DIAGNOSTICS_PER_CODE + 1
    assert [d.message for d in result.warnings if "more like this" in d.message]
    assert all(record.getMessage().isprintable() for record in caplog.records)
