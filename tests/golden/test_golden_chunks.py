"""`chunks` in its four formats against the C# oracle, byte for byte."""

from __future__ import annotations

from typing import Any

import harmless_records
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from oracles import chunks
from unfiltered import render as render_all

FORMATS = ["markdown", "xml", "json", "plain"]


def pascal(record: dict[str, Any]) -> dict[str, Any]:
    return {k[0].upper() + k[1:]: v for k, v in record.items()}


CAMEL = st.builds(
    lambda record, lines: record | {"startLine": lines[0], "endLine": lines[1]},
    st.fixed_dictionaries(
        {
            "filePath": st.sampled_from(["a.py", "src/b.cs", "lib/c d.ts", "Makefile"])
            | harmless_records.LABEL,
            "content": harmless_records.CONTENT,
            "relevance": harmless_records.SCORE,
        },
        optional={
            "language": harmless_records.LANGUAGE | st.none(),
            "expandedContext": harmless_records.CONTENT | st.none(),
        },
    ),
    harmless_records.RANGE,
)
RECORDS = st.lists(CAMEL | CAMEL.map(pascal), min_size=1, max_size=6)
SEPARATOR = st.sampled_from(["\n\n", "\n", "\n\n\n", "\n* * *\n"])
TEXT_ABOVE = st.none() | harmless_records.SENTENCE


def render(
    records: list[dict[str, Any]],
    *,
    format: str,
    group_by_file: bool = True,
    **options: Any,
) -> str:
    options["group_by"] = "file" if group_by_file else None
    options["order"] = "score" if group_by_file else "given"
    return render_all(records, "chunks", format, **options).text


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@cases(60)
@given(RECORDS, st.booleans(), st.booleans(), st.booleans(), st.booleans(), SEPARATOR)
def test_chunks_print_what_the_csharp_prints(
    format: str,
    records: list[dict[str, Any]],
    group_by_file: bool,
    headers: bool,
    line_numbers: bool,
    scores: bool,
    separator: str,
) -> None:
    options: dict[str, Any] = {
        "format": format,
        "group_by_file": group_by_file,
        "headers": headers,
        "scores": scores,
        "separator": separator,
    }
    lines = "range" if line_numbers else "none"
    printed = chunks.assemble(records, line_numbers=line_numbers, **options)
    assert render(records, lines=lines, **options) == printed


@pytest.mark.parametrize("format", ["markdown", "xml", "plain"])
@cases(30)
@given(RECORDS, TEXT_ABOVE, TEXT_ABOVE)
def test_header_and_footer_stand_around_the_chunks(
    format: str,
    records: list[dict[str, Any]],
    header: str | None,
    footer: str | None,
) -> None:
    expected = chunks.assemble(records, format=format, header=header, footer=footer)
    assert render(records, format=format, header=header, footer=footer) == expected


def chunk(**more: Any) -> dict[str, Any]:
    return {
        "filePath": "src/a.py",
        "content": "x = 1",
        "startLine": 1,
        "endLine": 2,
        "relevance": 1.0,
    } | more


EDGES = {
    "empty_path": chunk(filePath=""),
    "lines_from_zero": chunk(startLine=0, endLine=0),
    "no_language_whatever_the_path": chunk(language=None),
    "empty_language": chunk(language=""),
    "expansion_in_place_of_content": chunk(expandedContext="y = 2"),
    "empty_expansion": chunk(expandedContext=""),
    "empty_content": chunk(content=""),
    "blank_content": chunk(content=" \n"),
    "content_that_ends_in_a_newline": chunk(content="x = 1\n"),
    "content_that_ends_in_white_space": chunk(content="x = 1 \t\u00a0\u2003\n\n"),
    "content_that_begins_with_a_newline": chunk(content="\n\nx = 1"),
    "cdata_end": chunk(content="a]]>b ]]> ]] >"),
    "entities_and_tags": chunk(content="a &amp; b < c > d \"e\" 'f'"),
    "a_few_backticks": chunk(content="`a` ``b``"),
    "path_with_blanks": chunk(filePath="my docs/read me.md"),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", EDGES)
def test_edge_of_a_chunk(name: str, format: str) -> None:
    for record in (EDGES[name], pascal(EDGES[name])):
        assert render([record], format=format, scores=True) == chunks.assemble(
            [record], format=format, scores=True
        )


@pytest.mark.parametrize(
    "score", [0.0, 0.005, 0.015, 0.045, 0.125, 0.375, 0.5, 0.845, 0.855, 0.995, 0.999, 1.0, 1e-05]
)
@pytest.mark.parametrize("format", FORMATS)
def test_scores_round_half_to_even_of_the_decimal_value(score: float, format: str) -> None:
    record = chunk(relevance=score)
    assert render([record], format=format, scores=True) == chunks.assemble(
        [record], format=format, scores=True
    )


@pytest.mark.parametrize("format", ["markdown", "xml", "plain"])
def test_no_chunks_are_no_text_even_with_a_header(format: str) -> None:
    assert render([], format=format, header="Top", footer="End") == ""


@pytest.mark.parametrize("format", FORMATS)
def test_files_stand_by_their_best_chunk_and_chunks_by_line(format: str) -> None:
    records = [
        chunk(filePath="a", startLine=9, endLine=9, relevance=0.2),
        chunk(filePath="b", startLine=5, endLine=7, relevance=0.9),
        chunk(filePath="a", startLine=1, relevance=0.5),
        chunk(filePath="c", startLine=1, relevance=0.9),
        chunk(filePath="b", startLine=5, endLine=7, relevance=0.1, content="second of its line"),
    ]
    assert render(records, format=format) == chunks.assemble(records, format=format)
