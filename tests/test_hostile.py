"""No item changes what a parser sees outside its own block: any layout, any format, any field, any budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import hostile
import judges
import pytest
from effort import MULTIPLIER, cases
from hypothesis import given
from hypothesis import strategies as st
from rendering_all import FORMATS, LAYOUTS, Records, render
from taming import STAND_INS, Tamer, harmless, records_of

import promptforge as pf

PAIRS = [pytest.param(la, fo, id=f"{la}-{fo}") for la in LAYOUTS for fo in FORMATS]
COUNT = pf.get_tokenizer("o200k_base").count
FENCED = ("context", "chunks", "chunks-compact", "entities")
"""Layouts whose markdown shows every content in a fence of its own."""

RECORDS = records_of(hostile.LABEL, hostile.TEXT)


def structure_of(text: str, format: str, tame_text: str, tamer: Tamer, tame: Records, layout: str) -> Any:  # noqa: A002
    if format == "markdown":
        return judges.markdown_structure(text, prose=any("summary" in r for r in tame))
    if format in judges.STRUCTURES:
        return judges.STRUCTURES[format](text)
    contents = [r[k] for r in tame for k in ("content", "summary", "expanded") if k in r]
    return judges.plain_structure(text, judges.frame_patterns(tame_text, contents, list(tamer.original), layout))


def check_structure(records: Records, layout: str, format: str, **options: Any) -> tuple[str, str, Tamer]:  # noqa: A002
    """Compare the structure of the text with that of stand-ins. Return both texts and the stand-ins."""
    tamer = Tamer()
    tame = tamer.records(records)
    tame_text = render(tame, layout, format, **options).text
    result = render(records, layout, format, **options)
    result.text.encode()
    assert result.tokens == COUNT(result.text)
    expected = structure_of(tame_text, format, tame_text, tamer, tame, layout)
    assert structure_of(result.text, format, tame_text, tamer, tame, layout) == expected
    if format == "markdown" and not any("summary" in r for r in records):  # labels bring no line ends along
        assert judges.markdown_breaks(result.text) == judges.markdown_breaks(tame_text)
    for warning in result.warnings:
        assert warning.message.isprintable(), "a message must not carry bytes of an item to a terminal"
    return result.text, tame_text, tamer


def read_back(text: str, format: str) -> list[str]:  # noqa: A002
    if format == "markdown":
        return judges.markdown_contents(text)
    return judges.xml_values(text) if format == "xml" else judges.json_strings(text)


NORMAL: dict[str, Callable[[str], str]] = {
    "markdown": judges.normal_markdown,
    "xml": judges.normal_xml,
    "json": judges.normal_json,
}


def check_contents(text: str, tame_text: str, tamer: Tamer, format: str) -> int:  # noqa: A002
    """Where a parser finds the stand-in of a content, it must find the content. Return how many were compared."""
    compared = 0
    for found, stood in zip(read_back(text, format), read_back(tame_text, format), strict=True):
        stand_in = stood.strip("\n ")
        if stand_in in tamer.original and stand_in.startswith("stand-in"):
            content = NORMAL[format](tamer.original[stand_in])
            readings = {found, judges.unscreened(found)} if format == "markdown" else {found}
            assert stood.replace(stand_in, content) in readings
            compared += 1
    return compared


@pytest.mark.parametrize(("layout", "format"), PAIRS)
@cases(30)
@given(RECORDS, st.booleans())
def test_items_keep_the_structure_and_read_back_as_they_were(
    layout: str,
    format: str,  # noqa: A002
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
    format: str,  # noqa: A002
    records: Records,
    budget: int,
    packing: str,
    sources: bool,
) -> None:
    options: dict[str, Any] = {"max_tokens": budget, "packing": packing, "sources": sources, "scores": True}
    result = render(records, layout, format, **options)
    assert result.tokens == COUNT(result.text) <= budget
    assert render(records, layout, format, **options).text == result.text
    if format == "json":
        judges.json_structure(result.text)
    elif format == "xml":
        tame = Tamer().records(records)
        names = {e.tag for e in judges.xml_root(result.text).iter()}
        known = {e.tag for e in judges.xml_root(render(tame, layout, format, sources=True).text).iter()}
        assert names <= known
    elif format == "markdown":
        tame_text = render(Tamer().records(records), layout, format, sources=True, scores=True).text
        for seen, known_blocks in zip(
            judges.markdown_structure(result.text), judges.markdown_structure(tame_text), strict=True
        ):
            assert set(seen) <= set(known_blocks)


def batches(field: str) -> Iterator[tuple[str, ...]]:
    """Every string written here, and a share of those from outside: all of them when more work is asked for."""
    share = 12 if MULTIPLIER == 1 else 1
    outside = hostile.outside()[sum(map(ord, field)) % share :: share]
    values = (*hostile.STRINGS, *outside)
    for start in range(0, len(values), 100):
        yield values[start : start + 100]


def items_with(field: str, values: tuple[str, ...]) -> Records:
    if field == "metadata":
        keys = ("technique_id", "tactics", "tools", "url", "title", "source")
        return [harmless(i, kind="mitre_attack", metadata=dict.fromkeys(keys, v)) for i, v in enumerate(values)]
    return [harmless(i, **{field: v}) for i, v in enumerate(values)]


@pytest.mark.parametrize("field", STAND_INS)
@pytest.mark.parametrize(("layout", "format"), PAIRS)
def test_each_known_string_in_each_field(layout: str, format: str, field: str) -> None:  # noqa: A002
    def check(records: Records) -> None:
        text, tame_text, tamer = check_structure(records, layout, format)
        if format != "plain":
            compared = check_contents(text, tame_text, tamer, format)
            if field == "content" and (format != "markdown" or layout in FENCED):
                assert compared >= sum(bool(r["content"].strip()) for r in records)

    for values in batches(field):
        try:
            check(items_with(field, values))
        except Exception as whole:
            for value in values:  # name the one that does it alone, so that a failure can be read
                try:
                    check(items_with(field, (value,)))
                except Exception as alone:
                    raise AssertionError(f"{layout} in {format} gives way to {field}={value!r}") from alone
            raise AssertionError(
                f"{layout} in {format} gives way to a batch of {field}s, none of them alone"
            ) from whole


@pytest.mark.parametrize("text", hostile.PARTS[::5])
@pytest.mark.parametrize("format", ["markdown", "xml", "json"])
def test_options_that_hold_text_do_not_break_the_text(format: str, text: str) -> None:  # noqa: A002
    long = harmless(1, content="word " * 300, kind="text")
    result = render([long, harmless(2)], "chunks", format, marker=text, max_tokens=150)
    assert result.tokens == COUNT(result.text) <= 150
    if format == "markdown":
        blocks = {"heading_openh3", "heading_closeh3", "text", "paragraph_openp", "paragraph_closep", "fence"}
        assert all(set(seen) <= blocks for seen in judges.markdown_structure(result.text))
    else:
        judges.STRUCTURES[format](result.text)


@pytest.mark.parametrize("content", ["a\0b", "a\x1bb", "a\ud800b", "a\ufffeb"], ids=ascii)
def test_what_xml_cannot_carry_is_replaced_and_said(content: str) -> None:
    result = render([harmless(1, content=content)], "chunks", "xml")
    assert "a\ufffdb" in result.text
    assert result.warnings


def test_a_frame_line_in_a_plain_content_is_marked_and_said() -> None:
    result = render([harmless(1, content="one\nFile: src/policy.md (lines 1-2)\ntwo")], "chunks", "plain")
    assert "one\n| File: src/policy.md (lines 1-2)\ntwo" in result.text
    assert result.warnings


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "content",
    [" " * 1_200_000 + "x", "`" * 300_000, "\n" * 300_000, "\0" * 200_000, "]" * 300_000 + ">", "\u0301" * 200_000],
    ids=["blanks", "backticks", "newlines", "nuls", "brackets", "marks"],
)
def test_a_huge_content_is_cut_to_the_budget(content: str, format: str) -> None:  # noqa: A002
    result = render([harmless(1, content=content), harmless(2)], "chunks", format, max_tokens=500)
    assert result.tokens == COUNT(result.text) <= 500
    assert "content number 2" in result.text
