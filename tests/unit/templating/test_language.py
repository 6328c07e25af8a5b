"""The language of templates: filters, tests and tags that there are, and what is outside of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jinja2
import pytest
from places import TESTS
from template_folders import refusal, render, write

from promptforge.errors import TemplateError
from promptforge.syntax.syntax import Syntax
from promptforge.syntax.syntaxes import syntax_named
from promptforge.templating import limits
from promptforge.templating.language import FILTERS, Environment
from promptforge.text.escape import Escape


def said(comment: str, word: str) -> set[str]:
    """Return the names after `Uses:` or `Blocks:` in a comment, without the words in brackets."""
    match = re.search(rf"\b{word}s?: (.*?)\.(?:\s|$)", re.sub(r"\([^)]*\)", "", comment))
    return {re.split(r"\s", part.strip())[0] for part in match[1].split(",")} if match else set()


OUTSIDE: dict[str, tuple[str, str]] = {
    "multiplication": ("{{ 'a' * 9 }}", '"*" is not part'),
    "power": ("{{ 9 ** 9 }}", '"**" is not part'),
    "division": ("{{ 9 / 3 }}", '"/" is not part'),
    "floor division": ("{{ 9 // 3 }}", '"//" is not part'),
    "modulo": ("{{ '%s' % 3 }}", '"%" is not part'),
    "a slice": ("{{ item.content[0:2] }}", "a slice is not part"),
    "a filter block": ("{% filter upper %}x{% endfilter %}", '"filter" as a tag is not part'),
    "a call block": (
        "{% macro m() %}{% endmacro %}{% call m() %}x{% endcall %}",
        '"call" is not part',
    ),
    "with": ("{% with a = 1 %}{{ a }}{% endwith %}", '"with" is not part'),
    "autoescape": (
        "{{ item }}{% autoescape false %}{{ item }}{% endautoescape %}",
        "nothing switches",
    ),
    "import as": ('{% import "chunks/item.txt.j2" as c %}', "import … as is not part"),
    "set of a field": ("{% set item.x = 1 %}", "is not part"),
    "a method": ("{{ item.content.upper() }}", "only macros and super() can be called"),
    "format": ("{{ '{0}'.format(item) }}", "only macros and super() can be called"),
    "a field with two underscores": ("{{ item.__class__ }}", 'no value has a field "__class__"'),
    "a field with one underscore": ("{{ item._x }}", 'no value has a field "_x"'),
    "recursion": (
        "{% for a in items recursive %}{{ loop(a) }}{% endfor %}",
        "a recursive loop is not part",
    ),
    "a name made up": ("{% include item.path %}", "must be written out in quotes"),
    "names to try": ('{% include ["a.txt.j2", "b.txt.j2"] %}', "must be written out in quotes"),
    "a parent made up": ("{% extends item.path %}", "must be written out in quotes"),
    "an import made up": ("{% from item.path import x %}", "must be written out in quotes"),
    "an unknown filter": ("{{ item.name | uper }}", 'unknown filter "uper"; did you mean "upper"'),
    "safe": ("{{ item.name | safe }}", 'unknown filter "safe"; each value is escaped by its place'),
    "int": ("{{ item.score | int }}", 'unknown filter "int"; round, decimals and percent print'),
    "attr": ("{{ item | attr('x') }}", 'unknown filter "attr"'),
    "map": ("{{ items | map('x') }}", 'unknown filter "map"'),
    "an escape by its inner name": ("{{ item.name | xml.text }}", "unknown filter"),
    "an unknown test": ("{{ item.name is strng }}", 'unknown test "strng"; did you mean "string"'),
    "callable": ("{{ item is callable }}", 'unknown test "callable"'),
    "a tag of no language": ("{% do item %}", 'there is no tag "do"'),
    "an end that is missing": ("{% if item %}", "{% if %} is not closed"),
    "a Markdown filter in plain text": ("{{ item.content | fence }}", '"fence" makes Markdown'),
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_what_is_outside_the_language_is_refused_with_its_line(what: str, tmp_path: Path) -> None:
    source, words = OUTSIDE[what]
    message = refusal(tmp_path, f"one\ntwo {source}")
    assert message.startswith("t/item.txt.j2:2: ")
    assert words in message


@pytest.mark.parametrize(
    "source",
    [
        "{{ item.metadata.__class__ }}",
        "{{ item['__class__'] }}",
        "{{ item.content['upper'] }}",
        "{{ item.score['real'] }}",
        "{{ items }}",
        "{{ loop }}",
        "{{ range }}",
        "{{ cycler }}",
        "{{ namespace }}",
        "{{ lipsum }}",
    ],
)
def test_no_object_of_the_engine_can_be_reached(source: str, tmp_path: Path) -> None:
    with pytest.raises(TemplateError) as caught:
        render(tmp_path, source)
    assert re.match(r"t/item\.txt\.j2:1: ", str(caught.value))


def test_metadata_is_an_open_set(tmp_path: Path) -> None:
    item = "{{ item.metadata.a.b }}|{{ item.metadata.a.none }}"
    item += "|{{ item.metadata.none }}|{{ item.metadata.none is none }}"
    assert render(tmp_path, item, metadata={"a": {"b": 1}}).strip() == "1|||true"


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("{{ item.metadata.list | join }}", "a, b"),
        ("{{ item.metadata.list | join('/') }}", "a/b"),
        ("{{ item.metadata.none | join }}", ""),
        ("{{ 'x' | join('/') }}", "x"),
        (
            "{{ item.metadata.list | first }}{{ item.metadata.list | last }}"
            "{{ item.metadata.list | length }}",
            "ab2",
        ),
        ("{{ [] | first }}{{ [] | last }}{{ [] | length }}{{ 3 | length }}", "00"),
        (
            "{{ item.metadata.none | default('-') }}{{ '' | default('-') }}{{ 0 | default('-') }}",
            "--0",
        ),
        ("{{ item.nothing | default('-') }}{{ nothing | default('-') }}", "--"),
        ("{{ ' Ab ' | trim }}{{ 'Ab' | upper }}{{ 'Ab' | lower }}", "AbABab"),
        ("{{ 'repl-history' | capitalize }}", "Repl-History"),
        ("{{ ' a' | framed('python') }}{{ 3 | framed }}", "\\x20a3"),
        ("{{ 0.855 | percent }} {{ 0.125 | decimals(2) }} {{ 3 | decimals(0) }}", "86% 0.12 3"),
        (
            "{{ 2.345 | round(1) }} {{ 2.5 | round }} {{ 'x' | round }} {{ 1e22 | round }}",
            "2.3 2 x 1" + "0" * 22,
        ),
        (
            "{{ \"the user's GUIDE\" | title }} {{ 'ab cd efgh' | truncate(6) }}",
            "The User's Guide ab cd…",
        ),
        (
            "{{ 'abc' | truncate(3) }}{{ 'abcd' | truncate(2, '..') }}{{ 'ab' | truncate(1) }}",
            "abc..…",
        ),
        ("{{ 'a-b-c' | replace('-', '+') }}{{ 'a-b-c' | replace('-', '', 1) }}", "a+b+cab-c"),
        ("{{ [3, 'b', 'A', none, 1] | sort | join(' ') }}", "1 3 A b "),
        ("{{ [{'n': 2}, {'n': 1}, {}] | sort('n', reverse=true) | first | tojson }}", "{}"),
        ("{{ ['a', 1, none, {'b': 0.5}] | tojson }}", '["a", 1, null, {"b": 0.5}]'),
        ("{{ '2026-11-05' | dateformat }} {{ 0 | dateformat('%H:%M') }}", "2026-11-05 00:00"),
        (
            "{{ '2026-11-05T09:08:07Z' | dateformat('%-d. %B %y, %A %-H:%M:%S') }}",
            "5. November 26, Thursday 9:08:07",
        ),
        (
            "{{ '2026-02-01' | dateformat('%d. %b', months='Jänner Feber') }} {{ 'soon' | dateformat }}",
            "01. Feb soon",
        ),
        (
            "{{ item.content | indent(2) }}|{{ item.content | indent(1, first=true) }}",
            "x = 1| x = 1",
        ),
        ("{{ 'a' ~ 1 ~ 'b' }}", "a1b"),
        ("{{ 1 + 2 - 4 }}", "-1"),
        ("{{ true }} {{ none }} {{ 1.0 }}", "true  1.0"),
        ("{{ 'y' if item.score is number and item.kind is string else 'n' }}", "y"),
        (
            "{{ 'y' if 1 is odd and 2 is even and 'a' in ['a'] and item.name is none else 'n' }}",
            "y",
        ),
        ("{{ 'y' if nothing is undefined and item is defined else 'n' }}", "y"),
        (
            "{% for a in item.metadata.list %}{{ loop.index }}{{ a }}{{ ',' if not loop.last }}"
            "{% endfor %}",
            "1a,2b",
        ),
        ("{% for a in [] %}{% else %}none{% endfor %}", "none"),
        (
            "{% macro m(a, b='z') %}{{ a }}{{ b }}{% endmacro %}{{ m('x') }}{{ m('x', b='y') }}",
            "xzxy",
        ),
        ("{% set a %}x{{ item.kind }}{% endset %}{{ a }}{{ a }}", "xcodexcode"),
    ],
)
def test_filters_tests_and_tags(source: str, printed: str, tmp_path: Path) -> None:
    assert render(tmp_path, source, metadata={"list": ["a", "b"]}).rstrip("\n") == printed


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{{ 'a' | replace('', 'b') }}", "replace takes a text to look for"),
        ("{{ 'a' | indent(1000) }}", "indent takes a width from 0 to 100; got 1000"),
        ("{{ 'a' | sort }}", "sort takes a list"),
        ("{{ '2026-01-01' | dateformat('%Q') }}", 'dateformat has no "%Q"; it has %Y'),
        ("{{ '2026-01-01' | dateformat('%B', months='') }}", "list index out of range"),
        (
            "{{ item.content | replace('x', item.content * 3) }}",
            "is not part of the template language",
        ),
    ],
)
def test_a_filter_that_cannot_do_it_names_the_line(source: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(TemplateError) as caught:
        render(tmp_path, source)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "change", ["upper", "replace('~', '')", "title", "truncate(30)", "indent(2)"]
)
def test_no_filter_makes_a_content_into_a_line_of_the_template(change: str, tmp_path: Path) -> None:
    item = "SOURCE: {{ item.path }}\n{{ item.content | " + change + " }}"
    content = "text\nsource: a\nS~OURCE: b\nSource: c"
    text = render(tmp_path, item, "txt", path="p.py", content=content)
    assert [line for line in text.splitlines() if line.startswith("SOURCE")] == ["SOURCE: p.py"]


NESTED = {
    "md": ("**{{ item.path }}**\n\n{{ item.content | framed }}", "1. **p.py**\n\n   ````\n   ```"),
    "xml": ("<a>\n{{ item.content }}\n</a>", "1. <a>\n   ```\n\n   &lt;b\n   </a>"),
    "yaml": ("a:\n  - {{ item.content }}", "- a:\n     - |2-\n       ```\n\n       <b"),
    "txt": ("a: {{ item.path }}\n{{ item.content }}", "1. a: p.py\n   ```\n\n   <b"),
}


@pytest.mark.parametrize("ending", NESTED)
def test_a_finished_text_is_indented_as_it_is(ending: str, tmp_path: Path) -> None:
    item, begins = NESTED[ending]
    page = "{% for item in items %}1. {{ item.text | trim | indent(3) }}\n{% endfor %}"
    if ending == "yaml":
        page = page.replace("1.", "-")
    text = render(tmp_path, item, ending, page, path="p.py", content="```\n\n<b")
    assert text.startswith(begins)


def test_prose_stands_in_a_list_and_a_fence_begins_a_line(tmp_path: Path) -> None:
    item = "- {{ item.content | prose | indent(2) }}\n- {{ item.content | framed | indent(2) }}"
    text = render(tmp_path, item, "md", content="# a\nb")
    assert text.rstrip("\n") == "- \\# a\n  b\n- \n```\n  # a\n  b\n  ```"


def test_a_filter_does_not_change_the_marks_of_another(tmp_path: Path) -> None:
    message = '"truncate" cannot change what "code" has made; write it before: | truncate | code'
    with pytest.raises(TemplateError) as caught:
        render(tmp_path, "{{ item.content | code | truncate(9) }}", "md")
    assert message in str(caught.value)
    assert "a_name" in render(
        tmp_path, "{{ item.name | prose | truncate(9) }}", "md", name="a_name b"
    )


@pytest.mark.parametrize(
    ("item", "page"),
    [
        ("x:\n{{ item.content | framed | indent }}", "{{ item.text }}"),
        ("**x**\n{{ item.content | framed }}\nend", "{{ item.text | indent }}"),
    ],
)
def test_a_fence_is_not_moved_to_where_it_stays_open(item: str, page: str, tmp_path: Path) -> None:
    page = "{% for item in items %}" + page + "{% endfor %}"
    with pytest.raises(TemplateError, match=r"leaves a fence open.* write indent\(3\) or less"):
        render(tmp_path, item, "md", page, content="<b>\n\n")
    assert render(tmp_path, "{{ item.content | prose | indent }}", "md", content="a\nb")
    assert render(tmp_path, "{{ item.name | prose | default('none') }}", "md").strip() == "none"


def test_json_prints_a_value_once(tmp_path: Path) -> None:
    item = '{"a": {{ item.metadata | tojson }}, "b": {{ item.content | tojson }}}'
    page = "[{% for item in items %}{{ item.text }}{% endfor %}]"
    printed = render(tmp_path, item, "json", page, metadata={"k": ["v"]}, content='q"')
    assert json.loads(printed) == [{"a": {"k": ["v"]}, "b": 'q"'}]


def test_line_ends_follow_the_rules_that_authors_are_told(tmp_path: Path) -> None:
    item = "a{% if item.kind %}b{% endif %}\nc{% if item.kind %}d{% endif +%}\ne\n\n"
    item += "{%- if item.kind %}f{% endif %}\n"
    assert (
        render(tmp_path, item, page="{% for item in items %}{{ item.text }}{% endfor %}")
        == "abcd\nef"
    )


def test_macros_from_another_file(tmp_path: Path) -> None:
    write(tmp_path, {"_m.xml.j2": '{% macro tag(a) %}<t a="{{ a }}">{{ a }}</t>{% endmacro %}'})
    item = '{% from "_m.xml.j2" import tag %}{{ tag(item.path) }}'
    assert render(tmp_path, item, "xml", path='"<').strip() == '<t a="&quot;&lt;">"&lt;</t>'


def test_every_filter_has_been_tried_here() -> None:
    elsewhere = TESTS / "unit" / "syntax" / "test_markdown_syntax.py"
    tried = Path(__file__).read_text("utf-8") + elsewhere.read_text("utf-8")
    assert [name for name in FILTERS if not re.search(rf"\| {name}\b", tried)] == []


def test_a_thread_sees_all_escapes_of_a_syntax_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment(jinja2.DictLoader({}), syntax_named)
    made: list[str] = []

    def watched(syntax: Syntax, place: str) -> Escape:
        made.append(place)
        assert not any(name.startswith("plain.") for name in environment.filters)
        return limits.metered_escape(syntax, place)

    monkeypatch.setattr("promptforge.templating.language.metered_escape", watched)
    environment._add_escapes(syntax_named("plain"))
    assert "plain.inline" in environment.filters and "inline" in made
