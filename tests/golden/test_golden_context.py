"""`context` in markdown under `profile: lisp` against the Lisp oracle, byte for byte."""

from __future__ import annotations

from typing import Any

import harmless_records
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from oracles import context
from unfiltered import render as render_all

KINDS = [
    "code",
    "error",
    "text",
    "file",
    "repl-history",
    "custom",
    "man_page",
    "2nd-level",
    "stack-trace",
    "a1b",
]

METADATA = st.builds(
    lambda lines, keys, filename: {
        k: v
        for k, v in {"filename": filename, "start-line": lines[0], "end-line": lines[1]}.items()
        if k in keys
    },
    harmless_records.RANGE,
    st.sets(st.sampled_from(["filename", "start-line", "end-line"])),
    harmless_records.LABEL,
)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(KINDS), "content": harmless_records.CONTENT},
        optional={"metadata": METADATA | st.none()},
    ),
    max_size=5,
)


def render(records: list[dict[str, Any]]) -> str:
    return render_all(records, "context", "markdown", profile="lisp", group_by=None).text


@cases(150)
@given(RECORDS)
def test_context_prints_what_the_lisp_prints(records: list[dict[str, Any]]) -> None:
    assert render(records) == context.context_to_string(records)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_a_heading_with_each_word_capitalized(kind: str) -> None:
    record = {
        "type": kind,
        "content": "x",
        "metadata": {"filename": "src/a.lisp", "start-line": 5, "end-line": 5},
    }
    assert render([record]) == context.context_to_string([record])


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {"filename": ""},
        {"filename": "src/agent.lisp"},
        {"filename": "src/agent.lisp", "start-line": 0, "end-line": 0},
        {"filename": "src/agent.lisp", "start-line": 42, "end-line": 58},
        {"filename": "src/agent.lisp", "start-line": 42},
        {"filename": "src/agent.lisp", "end-line": 58},
        {"start-line": 42, "end-line": 58},
    ],
    ids=str,
)
def test_the_place_needs_a_file_name_and_both_lines(metadata: dict[str, Any] | None) -> None:
    record = {"type": "code", "content": "(foo)", "metadata": metadata}
    assert render([record]) == context.context_to_string([record])


@pytest.mark.parametrize("content", ["x\n", "\nx", "  x  ", "a\n\n\nb", "(quote `a)", "a ` b `` c"])
def test_content_stands_in_its_fence_as_it_is(content: str) -> None:
    record = {"type": "text", "content": content}
    assert render([record]) == context.context_to_string([record])


def test_no_items_leave_the_heading_alone() -> None:
    assert render([]) == "## Context\n\n"
