"""`entities` in markdown, xml and plain against the TypeScript oracle, byte for byte."""

from __future__ import annotations

from typing import Any

import harmless_records
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from oracles import entities
from unfiltered import render as render_all

FORMATS = ["markdown", "xml", "plain"]

KINDS = [
    "function",
    "method",
    "class",
    "interface",
    "type",
    "file",
    "module",
    "document",
    "section",
    "requirement",
    "feature",
    "session",
    "message",
    "decision",
    "widget",
    "error",
]

PATHS = st.sampled_from([f"src/x.{e}" for e in entities.LANGUAGES] + ["a.d.ts", "B.PY", "py"])

ENTITY = st.fixed_dictionaries(
    {"name": harmless_records.NAME, "type": st.sampled_from(KINDS)},
    optional={
        "filePath": PATHS | st.sampled_from(["", None]),
        "startLine": st.integers(0, 99_999) | st.none(),
        "content": harmless_records.CONTENT,
        "summary": harmless_records.SENTENCE,
    },
).filter(lambda e: e.get("content") or e.get("summary"))
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"entityId": st.uuids().map(str), "score": harmless_records.SCORE, "entity": ENTITY}
    ),
    max_size=6,
)


def render(
    records: list[dict[str, Any]],
    *,
    format: str,
    group_by_type: bool = True,
    **options: Any,
) -> str:
    options |= {"group_by": "category" if group_by_type else None, "order": "score"}
    return render_all(records, "entities", format, **options).text


@pytest.mark.parametrize("format", FORMATS)
@cases(80)
@given(RECORDS, st.booleans(), st.booleans(), st.booleans())
def test_entities_print_what_the_typescript_prints(
    format: str,
    records: list[dict[str, Any]],
    group_by_type: bool,
    sources: bool,
    code: bool,
) -> None:
    options: dict[str, Any] = {
        "format": format,
        "group_by_type": group_by_type,
        "sources": sources,
        "code": code,
    }
    assert render(records, **options) == entities.assemble(records, **options)


def result(
    name: str = "login", kind: str = "function", score: float = 1.0, **more: Any
) -> dict[str, Any]:
    return {"entityId": name, "score": score, "entity": {"name": name, "type": kind, **more}}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "record",
    [
        result(content="x", filePath="a.py", startLine=0),
        result(content="x", filePath="a.py", startLine=1),
        result(content="x", startLine=7),
        result(content="x", filePath="", startLine=7),
        result(summary="s", content="x", filePath="a.py"),
        result(summary="s"),
        result(summary="", content="x"),
        result(summary="s", content=""),
        result(content="x\n"),
        result(content="a < b && c ]]> d", summary=""),
        result(summary="s", filePath="dir/a b.js", startLine=3),
        result(kind="unheard-of", content="x"),
    ],
    ids=lambda r: str(r["entity"]),
)
def test_edge_of_an_entity(record: dict[str, Any], format: str) -> None:
    for code in (True, False):
        expected = entities.assemble([record], format=format, sources=True, code=code)
        assert render([record], format=format, sources=True, code=code) == expected


@pytest.mark.parametrize(
    "path",
    [f"a.{e}" for e in entities.LANGUAGES]
    + ["a.TSX", "a.d.ts", "py", "src/py", "a.rb", "a.c", "Makefile", "src/a."],
)
def test_the_fence_names_one_of_eight_extensions_or_nothing(path: str) -> None:
    record = result(content="x", filePath=path)
    assert render([record], format="markdown") == entities.assemble([record])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "content",
    [
        "a" * 500,
        "a" * 501,
        "a" * 2000,
        "word " * 200,
        "line one\n" * 100,
        "a" * 499 + "😀" + "b",
        "a" * 499 + "\n" + "b",
    ],
    ids=["500", "501", "2000", "words", "lines", "emoji", "newline"],
)
def test_a_content_past_the_limit_is_cut_there_and_marked(content: str, format: str) -> None:
    record = result(content=content, filePath="a.ts")
    shown = render(
        [record], format=format, item_max_chars=500, marker=entities.MARKER, trim="prefix"
    )
    assert shown == entities.assemble([record], format=format, limit=500)


@pytest.mark.parametrize("format", FORMATS)
def test_ten_sources_are_listed_in_the_order_shown(format: str) -> None:
    records = [result(f"n{i}", KINDS[i], 0.9 - i / 100, summary="s") for i in range(12)]
    assert render(records, format=format, sources=True) == entities.assemble(
        records, format=format, sources=True
    )


@pytest.mark.parametrize("format", FORMATS)
def test_with_no_entities_the_sources_leave_their_blank_line(format: str) -> None:
    assert render([], format=format, sources=True) == "\n\n"
    assert render([], format=format) == ""
