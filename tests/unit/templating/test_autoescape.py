"""Escaping by itself: a place where no value is safe, and values that look as they would elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from template_folders import refusal
from template_sources import render

from promptforge.errors import TemplateError


@pytest.mark.parametrize(
    ("ending", "source", "words"),
    [
        ("xml", "<a {{ item.name }}>", "a value cannot stand in a tag"),
        ("xml", "<{{ item.name }}>", "a value cannot stand in a tag"),
        ("xml", "<a b={{ item.name }}>", "a value cannot stand in a tag"),
        ("xml", "<!-- {{ item.name }} -->", "a value cannot stand in a comment"),
        ("xml", "<![CDATA[{{ item.name }}]]>", "a value cannot stand in a CDATA section"),
        ("xml", "<a b='{{ item.name }}'>", "write attributes in double quotes"),
        ("html", "<a b='{{ item.name }}'>", "write attributes in double quotes"),
        ("md", "`{{ item.name }}`", "a value cannot stand between backticks"),
        (
            "md",
            "``{{ item.name }} `x` {{ item.path }}`` `{{ item.name }}`",
            "a value cannot stand between backticks",
        ),
        (
            "md",
            "```{{ item.language }}\n{{ item.content }}\n```",
            "a value cannot stand between backticks",
        ),
        (
            "md",
            "```\n{{ item.content }}\n```",
            "a value cannot stand in a fence of the template's own",
        ),
        (
            "md",
            "```\n{{ item.content | fence }}\n```",
            "a value cannot stand in a fence of the template's own",
        ),
        (
            "md",
            "<div>\nx\n{{ item.content | fence }}\n</div>",
            "a value cannot stand in a block of HTML",
        ),
        ("md", "<div>{{ item.name }}</div>", "a value cannot stand in a block of HTML"),
        ("md", "{{ item.name }}\n<br>", "a block of HTML must be followed by a blank line"),
        ("md", "#{{ item.name }}", "would make one word"),
        ("md", "1{{ item.name }}", "would make one word"),
        ("md", "x <!--\n{{ item.name }}\n-->", "opens a block of HTML"),
        ("json", '"{% if item.name %}"{% endif %}', "must both end inside quotes"),
        ("json", '"\\\\\\{{ item.name }}"', "a backslash before a value"),
        (
            "xml",
            '<x a="{% include "chunks/item.xml.j2" %}"/>',
            "cannot begin or end in an attribute",
        ),
        (
            "xml",
            '<x a="{% block t %}{{ item.name }}{% endblock %}"/>',
            "cannot begin or end in an attribute",
        ),
        ("xml", '{% include "chunks/item.txt.j2" %}', "is of another syntax than this template"),
        ("json", '{% include "chunks/item.txt.j2" %}', "is of another syntax than this template"),
        ("md", '{% extends "chunks/item.txt.j2" %}', "is of another syntax than this template"),
        ("md", '{% from "_sources.txt.j2" import m %}', "is of another syntax than this template"),
        ("md", "{{ {[1]: 2} }}", "the key of a mapping must be"),
        ("txt", "{{ loop }}", "is no value to print"),
        ("md", "~~~ {{ item.language }}\nx\n~~~", "a value cannot stand between backticks"),
        ("md", "C:\\{{ item.name }}", "a backslash before a value"),
        ("md", "<pre>\n{{ item.content }}\n</pre>", "opens a block of HTML"),
        ("md", "text\n<!--\n{{ item.name }}", "opens a block of HTML"),
        ("md", "  <SCRIPT>\n{{ item.name }}", "opens a block of HTML"),
        ("md", "<style>\n{{ item.name }}", "opens a block of HTML"),
        ("md", "<textarea>{{ item.name }}", "opens a block of HTML"),
        ("md", "<![CDATA[\n{{ item.name }}", "opens a block of HTML"),
        ("md", "<?x {{ item.name }} ?>", "opens a block of HTML"),
        ("json", "{{ item.name | code }}", '"code" makes Markdown'),
        ("xml", "{{ item.name | prose }}", '"prose" makes Markdown'),
    ],
)
def test_a_place_where_no_value_is_safe_is_refused(
    ending: str, source: str, words: str, tmp_path: Path
) -> None:
    message = refusal(tmp_path, source, ending)
    assert message.startswith(f"t/item.{ending}.j2:")
    assert words in message


@pytest.mark.unwatched
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{% macro m() %}x{% endmacro %}{{ m }}", "a macro is called"),
        ("{% macro m() %}x{% endmacro %}{{ 'a' ~ m }}", "a macro is called"),
        ("{% macro m() %}x{% endmacro %}{{ [m] | join }}", "a macro is called"),
        ("{% for a in [1] %}{{ [loop] }}{% endfor %}", "a macro is called"),
        ("{% extends 't/_p.txt.j2' %}{% block b %}{{ super }}{% endblock %}", "a macro is called"),
        ("{% extends 't/_p.txt.j2' %}{% block b %}{{ [super] }}{% endblock %}", "is called"),
        ("{{ item.score | decimals(-1) }}", "places of a number are 0 to 300"),
        ("{{ item.score | round(1000000000) }}", "places of a number are 0 to 300"),
        ("{% set \ufb01 = 1 %}{% set fi = 2 %}{{ \ufb01 }}", 'is the same as "fi"'),
        ("{% block \ufb01 %}1{% endblock %}{% block fi %}2{% endblock %}", 'is the same as "fi"'),
        ("{% from 't/_p.txt.j2' import m as \ufb01 %}{% set fi = 2 %}", 'is the same as "fi"'),
        ("{% macro m(a, a) %}{% endmacro %}", '"a" is given twice'),
        ("{{ 'abc' | truncate(length=2, length=3) }}", '"length" is given twice'),
    ],
)
def test_what_would_print_something_else_is_refused(source: str, words: str) -> None:
    more = {"t/_p.txt.j2": "{% block b %}x{% endblock %}{% macro m() %}x{% endmacro %}"}
    with pytest.raises(TemplateError, match=words):
        render(source, more=more)


def test_joined_values_look_as_printed_ones_do() -> None:
    source = "{{ none }}{{ true }}{{ item.metadata.tags }}"
    joined = "{{ none ~ true ~ item.metadata.tags }}"
    assert render(source) == render(joined)
