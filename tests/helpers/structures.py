"""What a reader sees of hostile records, beside what it sees of harmless ones in their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import judges
from harmless_records import HarmlessCopier
from judges import asked, once
from unfiltered import Records, render

import promptforge as pf

COUNT = pf.get_tokenizer("o200k_base").count


def structure_of(
    text: str, format: str, tame_text: str, tamer: HarmlessCopier, tame: Records, layout: str
) -> Any:
    """Return what the parsers of `format` see; in plain text, what a reader of lines sees who knows
    `tame_text`.
    """
    ask: Callable[..., Any] = once if text == tame_text else asked
    if format == "markdown":
        return ask(judges.markdown_structure, text, prose=any("summary" in r for r in tame))
    if format in judges.STRUCTURES:
        return ask(judges.STRUCTURES[format], text)
    contents = [r[k] for r in tame for k in ("content", "summary", "expanded") if k in r]
    return judges.plain_structure(
        text, judges.frame_patterns(tame_text, contents, list(tamer.original), layout)
    )


KEPT = 2000
"""Harmless texts that are remembered."""
_rendered: dict[str, str] = {}


def tame_text_of(tame: Records, layout: str, format: str, **options: Any) -> str:
    """Return the text of harmless records, which come again and again."""
    key = ascii((tame, layout, format, options))
    text = _rendered.pop(key, None)
    text = _rendered[key] = render(tame, layout, format, **options).text if text is None else text
    if len(_rendered) > KEPT:
        del _rendered[next(iter(_rendered))]
    return text


def check_structure(
    records: Records, layout: str, format: str, **options: Any
) -> tuple[str, str, HarmlessCopier]:
    """Compare the structure of the text with that of stand-ins. Return both texts and the
    stand-ins.
    """
    tamer = HarmlessCopier()
    tame = tamer.records(records)
    tame_text = tame_text_of(tame, layout, format, **options)
    result = render(records, layout, format, **options)
    result.text.encode()
    assert result.tokens == COUNT(result.text)
    expected = structure_of(tame_text, format, tame_text, tamer, tame, layout)
    assert structure_of(result.text, format, tame_text, tamer, tame, layout) == expected
    if format == "markdown" and not any(
        "summary" in r for r in records
    ):  # labels bring no line ends along
        assert judges.markdown_breaks(result.text) == once(judges.markdown_breaks, tame_text)
    for warning in result.warnings:
        assert warning.message.isprintable(), (
            "a message must not carry bytes of an item to a terminal"
        )
    return result.text, tame_text, tamer


READERS: dict[str, Callable[[str], list[str]]] = {
    "markdown": judges.markdown_contents,
    "xml": judges.xml_values,
    "json": judges.json_strings,
    "yaml": judges.yaml_strings,
    "toon": judges.toon_strings,
}


def read_back(text: str, format: str) -> list[str]:
    """Return the values that a parser of `format` finds."""
    return READERS[format](text)


NORMAL: dict[str, Callable[[str], str]] = {
    "markdown": judges.normal_markdown,
    "xml": judges.normal_xml,
    "json": judges.normal_json,
    "yaml": judges.normal_json,
    "toon": judges.normal_json,
}


def check_contents(text: str, tame_text: str, tamer: HarmlessCopier, format: str) -> int:
    """Where a parser finds the stand-in of a content, it must find the content. Return how many
    were compared.
    """
    compared = 0
    for found, stood in zip(
        read_back(text, format), once(read_back, tame_text, format), strict=True
    ):
        stand_in = stood.strip("\n ")
        if stand_in in tamer.original and stand_in.startswith("stand-in"):
            content = NORMAL[format](tamer.original[stand_in])
            readings = {found, judges.unscreened(found)} if format == "markdown" else {found}
            assert stood.replace(stand_in, content) in readings
            compared += 1
    return compared


BLOCKS = {"markdown": "```\nharmless\n```", "xml": "harmless", "plain": "harmless"}


def check_tagged(records: Records, layout: str, format: str, **options: Any) -> int:
    """Check that contents between tags come back as they were, and that a parser sees beside them
    what it sees beside stand-ins. Return how many contents were compared.
    """
    tamer = HarmlessCopier()
    tame = tamer.records(records)
    tame_text = tame_text_of(tame, layout, format, framing="tagged", **options)
    result = render(records, layout, format, framing="tagged", **options)
    assert result.tokens == COUNT(result.text)
    if any(d.code == "PF306" for d in result.warnings):  # what a summary holds looks like a tag
        text, tame_text, tamer = check_structure(records, layout, format, **options)
        assert text == result.text
        return 0
    found, stood = judges.tagged(result.text)[0], judges.tagged(tame_text)[0]
    assert found == [
        judges.normal_json(tamer.original.get(stand_in, stand_in)) for stand_in in stood
    ]
    text, tame_text = (judges.untagged(each, BLOCKS[format]) for each in (result.text, tame_text))
    expected = structure_of(tame_text, format, tame_text, tamer, tame, layout)
    assert structure_of(text, format, tame_text, tamer, tame, layout) == expected
    return len(found)


def check_known(text: str, whole: str, format: str) -> None:
    """Check that a text cut to a budget has no block, element or key that the harmless `whole` text
    has not.
    """
    if format in ("json", "yaml", "toon"):
        judges.STRUCTURES[format](text)
    elif format == "xml":
        assert _elements(text) <= once(_elements, whole)
    elif format == "markdown":
        known = once(judges.markdown_structure, whole)
        for seen, there in zip(judges.markdown_structure(text), known, strict=True):
            assert set(seen) <= set(there)


def _elements(text: str) -> set[str | Any]:
    return {element.tag for element in judges.xml_root(text).iter()}
