"""No item changes what a parser sees outside its own block: any layout, any format, any field, any
budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hostile_strings as hostile
import judges
import pytest
from example_counts import EFFORT, cases
from harmless_records import STAND_INS, HarmlessCopier, harmless, records_of
from hypothesis import given
from hypothesis import strategies as st
from structures import COUNT, check_contents, check_known, check_structure
from unfiltered import FORMATS, LAYOUTS, Records, render

import promptforge as pf

PAIRS = [pytest.param(la, fo, id=f"{la}-{fo}") for la in LAYOUTS for fo in FORMATS]
FENCED = ("context", "chunks", "chunks-compact", "entities")
"""Layouts whose markdown shows every content in a fence of its own."""

RECORDS = records_of(hostile.LABEL, hostile.TEXT)


@pytest.mark.parametrize(("layout", "format"), PAIRS)
@cases(30)
@given(RECORDS, st.booleans())
def test_items_keep_the_structure_and_read_back_as_they_were(
    layout: str,
    format: str,
    records: Records,
    sources: bool,
) -> None:
    text, tame_text, tamer = check_structure(records, layout, format, sources=sources)
    if format != "plain":
        check_contents(text, tame_text, tamer, format)


@pytest.mark.parametrize(("layout", "format"), PAIRS)
@cases(30)
@given(RECORDS, st.integers(0, 300), st.sampled_from(["score", "whole", "stop"]), st.booleans())
def test_every_budget_holds_and_what_is_cut_is_still_one_block(
    layout: str,
    format: str,
    records: Records,
    budget: int,
    packing: str,
    sources: bool,
) -> None:
    options: dict[str, Any] = {
        "max_tokens": budget,
        "packing": packing,
        "sources": sources,
        "scores": True,
    }
    result = render(records, layout, format, **options)
    assert result.tokens == COUNT(result.text) <= budget
    assert render(records, layout, format, **options).text == result.text
    tame_text = render(
        HarmlessCopier().records(records), layout, format, sources=True, scores=True
    ).text
    check_known(result.text, tame_text, format)


def batches(field: str, layout: str, format: str) -> Iterator[tuple[str, ...]]:
    """A third of the strings written here, the others with the next layouts, and a share of those
    from outside.

    Less work is a ninth, the others with the next layouts and formats; more work is all of them.
    """
    part, share = (9, 60) if EFFORT < 1 else (3, 20) if EFFORT < 2 else (1, 1)
    turn = LAYOUTS.index(layout) + 3 * FORMATS.index(format)
    outside = hostile.outside()[sum(map(ord, field)) % share :: share]
    values = (*hostile.STRINGS[turn % part :: part], *outside)
    for start in range(0, len(values), 100):
        yield values[start : start + 100]


def items_with(field: str, values: tuple[str, ...]) -> Records:
    if field == "metadata":
        keys = ("technique_id", "tactics", "tools", "url", "title", "source")
        return [
            harmless(i, kind="mitre_attack", metadata=dict.fromkeys(keys, v))
            for i, v in enumerate(values)
        ]
    return [harmless(i, **{field: v}) for i, v in enumerate(values)]


def check_strings(values: tuple[str, ...], layout: str, format: str, field: str) -> None:
    """Fail with the name of the string that breaks the structure."""

    def check(records: Records) -> None:
        text, tame_text, tamer = check_structure(records, layout, format)
        if format != "plain":
            compared = check_contents(text, tame_text, tamer, format)
            if field == "content" and (format != "markdown" or layout in FENCED):
                assert compared >= sum(bool(r["content"].strip()) for r in records)

    try:
        check(items_with(field, values))
    except Exception as whole:
        for value in values:  # name the one that does it alone, so that a failure can be read
            try:
                check(items_with(field, (value,)))
            except Exception as alone:
                raise AssertionError(
                    f"{layout} in {format} gives way to {field}={value!r}"
                ) from alone
        raise AssertionError(
            f"{layout} in {format} gives way to a batch of {field}s, none of them alone"
        ) from whole


CLASSES = (
    *(hostile.LINE_ENDS, hostile.FENCES, hostile.CLOSERS, hostile.TAGS, hostile.PLAIN),
    *(hostile.MARKDOWN, hostile.NAMES, hostile.ATTRIBUTES, hostile.CHARACTERS, hostile.HTML),
    *(hostile.GFM, hostile.AUTOLINKS, hostile.OTHER_READERS),
)


@pytest.mark.parametrize("field", STAND_INS)
@pytest.mark.parametrize(("layout", "format"), PAIRS)
def test_one_string_of_each_class_in_each_field(layout: str, format: str, field: str) -> None:
    turn = LAYOUTS.index(layout) + 5 * FORMATS.index(format)
    check_strings(tuple(each[turn % len(each)] for each in CLASSES), layout, format, field)


@pytest.mark.nightly
@pytest.mark.unwatched
@pytest.mark.parametrize("field", STAND_INS)
@pytest.mark.parametrize(("layout", "format"), PAIRS)
def test_each_known_string_in_each_field(layout: str, format: str, field: str) -> None:
    for values in batches(field, layout, format):
        check_strings(values, layout, format, field)


@pytest.mark.slow
@pytest.mark.parametrize("text", hostile.PARTS[::5])
@pytest.mark.parametrize("format", ["markdown", "xml", "json", "yaml", "toon"])
def test_options_that_hold_text_do_not_break_the_text(format: str, text: str) -> None:
    long = harmless(1, content="word " * 300, kind="text")
    if "\ud800" in text:
        with pytest.raises(pf.OptionError, match="marker takes text"):
            render([long], "chunks", format, marker=text)
        return
    result = render([long, harmless(2)], "chunks", format, marker=text, max_tokens=150)
    assert result.tokens == COUNT(result.text) <= 150
    if format == "markdown":
        blocks = {
            "heading_openh3",
            "heading_closeh3",
            "text",
            "paragraph_openp",
            "paragraph_closep",
            "fence",
        }
        assert all(set(seen) <= blocks for seen in judges.markdown_structure(result.text))
    else:
        judges.STRUCTURES[format](result.text)


@pytest.mark.parametrize("content", ["a\0b", "a\x1bb", "a\ud800b", "a\ufffeb"], ids=ascii)
def test_what_xml_cannot_carry_is_replaced_and_said(content: str) -> None:
    result = render([harmless(1, content=content)], "chunks", "xml")
    assert "a\ufffdb" in result.text
    assert result.warnings


def test_a_frame_line_in_a_plain_content_is_marked_and_said() -> None:
    result = render(
        [harmless(1, content="one\nFile: src/policy.md (lines 1-2)\ntwo")], "chunks", "plain"
    )
    assert "one\n| File: src/policy.md (lines 1-2)\ntwo" in result.text
    assert result.warnings


def test_a_line_that_could_be_the_bare_title_of_a_section_is_marked_too() -> None:
    records = [
        harmless(1, content="one\n  Text\nText two"),
        harmless(2, kind="text", content="Code"),
    ]
    result = render(records, "knowledge-long", "plain")
    assert "one\n|   Text\nText two" in result.text
    assert result.text.endswith("| Code")
    assert (
        "| Code" not in render(records, "knowledge", "plain").text
    )  # its titles stand between dashes


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "content",
    [
        " " * 1_200_000 + "x",
        "`" * 300_000,
        "\n" * 300_000,
        "\0" * 200_000,
        "]" * 300_000 + ">",
        "\u0301" * 200_000,
    ],
    ids=["blanks", "backticks", "newlines", "nuls", "brackets", "marks"],
)
def test_a_huge_content_is_cut_to_the_budget(content: str, format: str) -> None:
    result = render([harmless(1, content=content), harmless(2)], "chunks", format, max_tokens=500)
    assert result.tokens == COUNT(result.text) <= 500
    assert "content number 2" in result.text
