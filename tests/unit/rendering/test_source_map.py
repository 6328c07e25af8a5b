"""The map of a text: every character has its template line and, where it is an item's, its item."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from unfiltered import FORMATS, LAYOUTS, render

import promptforge as pf
from promptforge.model import Span
from promptforge.templating.loader import Templates

RECORDS: list[dict[str, Any]] = [
    {"id": "c", "kind": "code", "path": "a.py", "start_line": 1, "end_line": 3,
        "content": "f:\n```\nx", "score": 0.9},
    {"id": "same", "kind": "code", "path": "a.py", "start_line": 1, "end_line": 3,
        "content": "f:\n```\nx"},
    {"id": "m", "kind": "man_page", "name": "tar", "content": "tar - archive", "summary": "short"},
    {"id": "s", "kind": "class", "name": "C", "summary": "only this", "origin": "similarity",
        "score": 0.8},
    {
        "id": "t",
        "kind": "mitre_attack",
        "name": "dump",
        "content": "T",
        "metadata": {"technique_id": "T1003", "tactics": ["a"], "tools": ["b"], "url": "http://x"},
    },
    {"id": "d", "kind": "document", "path": "d.md", "content": "many words " * 99,
        "origin": "similarity"},
]  # fmt: skip
SETTINGS: list[dict[str, Any]] = [
    {},
    {"header": "Head\nline", "footer": "Foot", "sources": True, "scores": True},
    {"headers": False, "lines": "none", "max_tokens": 150},
    {"order": "edges", "max_tokens": 90, "separator": "\n~~~\n"},
    {"max_tokens": None},
]


def covering(result: pf.Result) -> dict[str | None, str]:
    """Assert that the spans cover the text in order; return the text of each item and the rest."""
    at, texts = 0, defaultdict[str | None, str](str)
    for span in result.map:
        assert span.start == at < span.end
        texts[span.item] += result.text[at : span.end]
        at = span.end
    assert at == len(result.text)
    return texts


def at(result: pf.Result, words: str) -> Span:
    """Return the span in which `words` begin."""
    start = result.text.index(words)
    return next(span for span in result.map if span.start <= start < span.end)


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("options", SETTINGS, ids=str)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_character_of_every_look_has_its_place(
    layout: str, format: str, options: dict[str, Any]
) -> None:
    result = render(RECORDS, layout, format, **options)
    texts = covering(result)
    for item in result.items:
        ends = (
            item.text,
            item.text.rstrip(),
        )  # the last one's end goes where the layout trims the page's
        assert texts.pop(item.id, "") in ends
    assert set(texts) <= {None}
    forms = {item.id: item.form for item in result.items}
    templates = Templates()
    for span in result.map:
        assert span.form == (None if span.item is None else forms[span.item])
        line = templates.source(span.template)[0].split("\n")[span.line - 1]
        assert re.fullmatch(
            printable(line), result.text[span.start : span.end].strip(), re.DOTALL
        ), (span, line)


BLANK = re.escape(" ")


def printable(line: str) -> str:
    """Return the pattern of a line that a template can print: its own text and any values."""
    parts = re.split(r"({{.*?}}|{%.*?%}|{#.*?(?:#}|$))", line)
    return "".join(
        ".*"
        if part.startswith("{{")
        else ""
        if part[:2] in ("{%", "{#")
        else rf"\s*(?:{re.escape(part.strip()).replace(BLANK, ' ?')})?\s*"  # JSON may have none
        for part in parts
    )


TEXT = st.text(
    alphabet=st.sampled_from(list("ab`~#<>&\"'|\\\n\r\t []!-*_{}%\u202e\u200b\ud800é😀\x00")),
    max_size=60,
)


@cases(60)
@given(
    st.lists(TEXT, max_size=4),
    TEXT,
    st.sampled_from(LAYOUTS),
    st.sampled_from(FORMATS),
    st.integers(0, 200),
)
def test_hostile_items_have_their_places_too(
    contents: list[str], name: str, layout: str, format: str, budget: int
) -> None:  # fmt: skip
    records = [
        {"id": f"i{n}", "name": name, "kind": "code", "content": text}
        for n, text in enumerate(contents)
    ]
    result = render(records, layout, format, max_tokens=budget, trim="none")
    texts = covering(result)
    for item in result.items:
        assert texts[item.id] in (item.text, item.text.rstrip())


def folder(path: Path, **files: str) -> Path:
    for name, text in files.items():
        file = path / "mine" / f"{name}.md.j2"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return path


def test_templates_of_ones_own_with_blocks_includes_and_loops(tmp_path: Path) -> None:
    folder(
        tmp_path,
        layout='{# P. #}\n{% extends "mine/_frame.md.j2" %}\n{% block body %}\n'
        "{% for item in items %}\n"
        'Number {{ loop.index }}:\n{{ item.text }}\n{% include "mine/_after.md.j2" %}\n'
        "{% endfor %}\n{% endblock %}\n",
        _frame="{# F. #}\nTop\n{% block body %}\n{% endblock %}\nBottom\n",
        _after="{# A. #}\n\nafter {{ item.name }}\n{# b #}\n",
        item="{# I. #}\n{% macro mark(x) %}\n<{{ x }}>\n{% endmacro %}\none\n"
        "{% if item.nowhere is defined %}\n"
        "never\n{% else %}\n{{ mark(item.name) }}{{ item.content }}\n{% endif %}\n",
    )
    items = [
        {"id": "a", "name": "n", "content": "first"},
        {"id": "b", "name": "n2", "content": "second"},
    ]
    result = pf.render(items, layout="mine", templates=tmp_path, rerank="none", order="given")
    texts = covering(result)
    places = {
        words: (span.item, span.template.removeprefix("mine/"), span.line)
        for words in ("Top", "Number", "1", "one", "first", "second", "after n", "n2", "Bottom")
        if (span := at(result, words))
    }
    assert places == {
        "Top": (None, "_frame.md.j2", 2),
        "Number": (None, "layout.md.j2", 5),
        "1": (None, "layout.md.j2", 5),
        "one": ("a", "item.md.j2", 5),
        "first": ("a", "item.md.j2", 9),
        "second": ("b", "item.md.j2", 9),
        "after n": (None, "_after.md.j2", 3),
        "n2": ("b", "item.md.j2", 9),
        "Bottom": (None, "_frame.md.j2", 5),
    }
    assert (
        texts["b"].endswith("n2") and "second" in texts["b"]
    )  # the include prints a name of the item, too


def test_a_page_that_prints_fields_of_items_itself(tmp_path: Path) -> None:
    folder(
        tmp_path,
        layout="{# P. #}\n{% for item in items %}\n- {{ item.name }} {{ item.content }}\n"
        "{{ separator }}\n{% endfor %}",
        item="{# I. #}\n{{ item.content }}\n",
    )
    items = [
        {"id": "a", "name": "n", "content": "first"},
        {"id": "b", "name": "m", "content": "second"},
    ]
    result = pf.render(items, layout="mine", templates=tmp_path, separator="==", order="given")
    places = [
        (at(result, words).item, at(result, words).line)
        for words in ("- n", "n first", "first", "==", "second")
    ]
    assert places == [(None, 3), ("a", 3), ("a", 3), (None, 4), ("b", 3)]


def test_a_line_end_that_a_fence_needed_is_counted(tmp_path: Path) -> None:
    folder(
        tmp_path,
        layout="{# P. #}\n{% for item in items %}\nhere: {{ item.text }} and on\n{% endfor %}\n",
        item="{# I. #}\n{{ item.content | fence }}\n",
    )
    result = pf.render([{"id": "a", "content": "x"}], layout="mine", templates=tmp_path)
    assert result.text == "here: \n```\nx\n```\n and on\n"
    assert covering(result) == {"a": "```\nx\n```", None: "here: \n\n and on\n"}


def test_equal_looks_are_told_apart() -> None:
    equal_items = [{"id": name, "content": "same"} for name in ("a", "b")]
    one = [{"summary": "same", "content": text * 99, "path": "p"} for text in ("a ", "b ")]
    for items in (equal_items, one):
        result = pf.render(items, dedupe=False, max_tokens=60, trim="none")
        named = [span.item for span in result.map if span.item]
        assert list(dict.fromkeys(named)) == [item.id for item in result.items]


def test_no_text_has_no_spans() -> None:
    assert pf.render([{"content": "x"}], layout="context", max_tokens=1).map == ()
    assert pf.render([]).map == ()


def test_the_map_is_not_part_of_what_a_result_says() -> None:
    assert "map" not in pf.render([{"content": "x"}]).to_dict()
