"""Lines of plain text that could be the template's own are marked."""

from __future__ import annotations

import re

import hostile_strings as hostile
import pytest
from example_counts import cases
from hypothesis import example, given
from hypothesis import strategies as st

from promptforge.syntax.contents import clean_content
from promptforge.syntax.syntax import PRINTED_VALUE
from promptforge.syntax.syntaxes import syntax_of
from promptforge.text.delimiters import LINE_END_CHARACTERS, TemplateLines

FRAME: list[tuple[object, ...]] = [
    ("File: ", PRINTED_VALUE, " (lines ", PRINTED_VALUE, ")"),
    ("-" * 40,),
    ("--- ", PRINTED_VALUE, " ---"),
    ("  [", PRINTED_VALUE, "]"),
    (PRINTED_VALUE,),
    (PRINTED_VALUE, " x ", PRINTED_VALUE),
    ("",),
]


def test_a_frame_without_a_line_of_its_own_guards_nothing() -> None:
    lines = TemplateLines([(PRINTED_VALUE,), ("",), ("x",), (PRINTED_VALUE, ":", PRINTED_VALUE)])
    assert lines.mark("x\na:b\n\ny") == ("x\na:b\n\ny", 0, [])


@pytest.mark.parametrize(
    "line",
    [
        "File: a",
        "File:",
        "  File: a (lines 1-2)",
        "-" * 40,
        " " + "-" * 40 + "  ",
        "--- Man Pages ---",
        "[x]",
        "  [x]",
    ],
)
@pytest.mark.parametrize("end", hostile.LINE_ENDS[:9])
def test_a_line_that_could_be_of_the_frame_is_prefixed(line: str, end: str) -> None:
    lines = TemplateLines(FRAME)
    cleaned = clean_content(f"one{end}{line}{end}two", syntax_of("txt"), lines)
    end = "\n" if end == "\r" else end
    assert cleaned.text == f"one{end}| {line}{end}two"
    assert [code for code, _ in cleaned.notes if code == "PF304"] == ["PF304"]
    assert clean_content(line, syntax_of("txt"), lines).text == f"| {line}"


@pytest.mark.parametrize(
    "text", ["", "one", "a File: b", "-" * 39, "-" * 41, "x ---", "| File: a", "profile: x", "a x"]
)
def test_other_lines_stay_as_they_are(text: str) -> None:
    assert clean_content(text, syntax_of("txt"), TemplateLines(FRAME)) == (text, (), 0)


@cases(300)
@given(hostile.TEXT)
def test_the_guard_only_adds_its_mark_and_leaves_no_line_of_the_frame(text: str) -> None:
    lines = TemplateLines(FRAME)
    cleaned = clean_content(text, syntax_of("txt"), lines).text
    assert lines.mark(cleaned)[1] == 0
    assert cleaned.replace("| ", "") == clean_content(text, syntax_of("txt")).text.replace("| ", "")


@cases(300)
@given(st.lists(st.one_of(hostile.TEXT, st.sampled_from(["File: a", "-" * 40, "[x]"])), max_size=4))
@example(["one", "-" * 20 + "\x1b[2K" + "-" * 20])
@example(["a", "\u202e]x[  "])
def test_the_first_line_of_the_frame_is_found_in_a_text_as_line_by_line(texts: list[str]) -> None:
    lines, text = TemplateLines(FRAME), "\n".join(texts)
    pattern = f"[{LINE_END_CHARACTERS}]"
    assert lines.first(text) == next(filter(lines.match, re.split(pattern, text)), None)
