"""Failures of templates: the shipped one stands in, and the error names the template and the line."""

from __future__ import annotations

from pathlib import Path

import pytest
from template_folders import ITEM, PAGE, render, write

import promptforge as pf
from promptforge.errors import TemplateError


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ item.pth }}", 'there is no field "pth"; did you mean "path"?'),
        ("{{ item.author }}", "is in its metadata: item.metadata.author"),
        ("{{ item.text }}", 'there is no field "text"; here it is "content"'),
        ("{{ title }}", 'unknown variable "title"; did you mean "item.title"?'),
        ("{{ doc.content }}", 'unknown variable "doc"; here it is "item"'),
        ("{{ loop.index }}", "a page numbers items by {{ loop.index }}. {{ item.text }}"),
        ("{{$name}}", "{{$ is of another template language"),
        ("{% for a, b in item.metadata %}{% endfor %}", "for takes one name: of fields the key"),
        ("{{ itm.path }}", 'unknown variable "itm"; did you mean "item"?'),
        ("{{ headrs }}", 'unknown variable "headrs"; did you mean "headers"?'),
        ("{{ item.name.first }}", '"first" was asked of nothing, which has no fields'),
        (
            "{{ item.path.first }}",
            '"first" was asked of a text, which has no fields; a filter stands after |',
        ),
        (
            "{% for a in item.score %}{% endfor %}",
            "a loop goes through a list, and this is a number",
        ),
        ("{% for x in items %}{% endfor %}", 'unknown variable "items"'),
        (
            '{% include "t/itm.txt.j2" %}',
            'there is no template "t/itm.txt.j2"; did you mean "t/item.txt.j2"?',
        ),
        ("{{ item.metadata.none[0] }}", "there is no [0] here; | first gives the first of a list"),
        ('{% if item.kind is "a" %}{% endif %}', "to compare with a text, write =="),
        ('{% if item.kind is not "a" %}{% endif %}', "to compare with a text, write !="),
        ('{{ f"{item.name}" }}', "a text in quotes stands where }} belongs"),
        ("{% if item.id %}{% else %}{% elif item %}{% endif %}", "{% elif %} stands after {% else"),
        ("{{ item.id | replace('a') }}", '"replace" takes other values in brackets'),
        ("{{ item.id | default('a', true) }}", '"default" takes other values in brackets'),
        ("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", 'the macro "m" takes fewer values'),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}", 'without its value "a"'),
        ("{% include 't/item' %}", 'its name ends in .j2, such as "t/item.txt.j2"'),
        ("{% if item.name %}{% else %}{% else if item.path %}{% endif %}", "elif for else if"),
        ("{% raw", "{% is not closed; write %} where it ends"),
        ("{% raw %} a", "{% raw %} is not closed; write {% endraw %} where it ends"),
    ],
)
def test_what_is_not_there_is_named_with_the_nearest(
    source: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(TemplateError) as caught:
        render(tmp_path, f"one\n{source}", metadata={"key": 1})
    assert words in str(caught.value)


FAILING = {
    "does not compile": {"chunks/item.md.j2": "{% if %}"},
    "is outside the language": {"chunks/item.md.j2": "{{ item.content.upper() }}"},
    "has an unknown field": {"chunks/item.md.j2": "{{ item.nothing }}"},
    "fails on the page": {"chunks/layout.md.j2": "{{ nothing.at.all }}"},
    "is no text": {"chunks/item.md.j2": "\udcff"},
}


@pytest.mark.parametrize("how", FAILING)
def test_a_failing_template_gives_way_to_the_shipped_one_and_it_is_said(
    how: str, tmp_path: Path
) -> None:
    for name, text in FAILING[how].items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    result = pf.render([ITEM], templates=tmp_path, layout="chunks")
    assert result.text == pf.render([ITEM], layout="chunks").text
    (warning,) = (w for w in result.warnings if w.code == "PF401")
    assert warning.severity == "error"
    assert "the shipped templates were used instead" in warning.message
    with pytest.raises(pf.PromptForgeError) as caught:
        pf.render([ITEM], templates=tmp_path, layout="chunks", strict=True)
    assert isinstance(caught.value, pf.StrictError | pf.TemplateError)


def test_a_failing_template_of_a_layout_of_ones_own_raises(tmp_path: Path) -> None:
    write(tmp_path, {"own/layout.md.j2": PAGE, "own/item.md.j2": "{{ item.nothing }}"})
    with pytest.raises(
        TemplateError, match=r'own/item\.md\.j2:1: .* "nothing"; .* item\.metadata\.n'
    ):
        pf.render([ITEM], templates=tmp_path, layout="own")


def test_an_error_names_the_template_and_the_line_that_failed_not_the_page(tmp_path: Path) -> None:
    files = {
        "t/layout.txt.j2": PAGE,
        "t/item.txt.j2": '\n\n{% include "t/_part.txt.j2" %}',
        "t/_part.txt.j2": "\n\n\n{{ item.oops }}",
    }
    write(tmp_path, files)
    with pytest.raises(TemplateError) as caught:
        pf.render([ITEM], templates=tmp_path, layout="t", format="plain")
    assert caught.value.where == "t/_part.txt.j2:4"


def test_a_macro_of_another_file_sees_its_own_values_alone(tmp_path: Path) -> None:
    write(tmp_path, {"_m.txt.j2": "{% macro head() %}{{ query }}{% endmacro %}"})
    with pytest.raises(TemplateError, match="a macro sees its own values alone, so give it query"):
        render(tmp_path, '{% from "_m.txt.j2" import head %}{{ head() }}')
