"""Templates read without being run: the variables that they see, and the files they draw on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import nodes
from linted_folders import ITEM, PAGE, found, write
from places import ROOT

from promptforge.config.options import Options
from promptforge.lint import template_reader as shapes
from promptforge.lint.template_reader import parse_template
from promptforge.model import Item
from promptforge.rendering.context import Setting
from promptforge.rendering.page import Page
from promptforge.selection.filter import Candidates
from promptforge.templating.language import LineNumber
from promptforge.templating.limits import NO_CHANGES, Changes
from promptforge.templating.loader import Templates
from promptforge.tokenizers.registry import get_tokenizer

pytestmark = pytest.mark.usefixtures("folder")


def test_what_may_be_absent_may_be_asked_about() -> None:
    text = (
        "{% if item.metadata.author.name is defined %}x{% endif %}{{ item.metadata.a }}\n"
        '{{ nobody | default("x") }} {{ item.metadata["a b"] }} {% if nobody is undefined %}'
        "y{% endif %}\n"
        "{% set a %}{{ item.name }}{% endset %}{{ a }} {% set b = item.name %} {{ b }}\n"
        "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(item.name) }}\n"
    )
    write({"templates/mine/layout.md.j2": PAGE, "templates/mine/item.md.j2": text})
    assert found() == []


LOOP = "{% for t in item.metadata.tags %}"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{{% set x = item.name %}}{LOOP}{{% set x = t %}}{{{{ x }}}}{{% endfor %}}", None),
        (f"{LOOP}{{% set n = 1 %}}{{% set n = n + 1 %}}{{{{ n }}}}{{% endfor %}}", None),
        ("{{ item.name | upper | code }} {{ item.content | framed | default('') }}", None),
        ('{% if item.origin == "search" %}a{% endif %}', "PF849"),
        ('{% if item.form in ["outline", "stubs"] %}a{% endif %}', "PF849"),
        ('{% if item.kind == "manpage" %}a{% endif %}', "PF821"),
        ('{% if item.origin == "similarity" and item.form != "stub" %}a{% endif %}', None),
        (
            '{% if item.metadata.form == "pdf" and item.kind in ["ours", "code"] %}a{% endif %}',
            None,
        ),
    ],
)
def test_what_does_nothing_is_found(text: str, code: str | None) -> None:
    write({"templates/mine/layout.md.j2": PAGE, "templates/mine/item.md.j2": f"{ITEM}{text}\n"})
    assert [line.rpartition(" ")[2] for line in found()] == ([code] if code else [])


def test_a_kind_that_the_layout_names_is_not_misspelt() -> None:
    text = ITEM + '{% if item.kind == "codes" %}a{% endif %}'
    write({"templates/mine/layout.md.j2": PAGE, "templates/mine/item.md.j2": text})
    assert len(found()) == 1
    write({"templates/mine/layout.yaml": "kinds: {codes: {title: Codes}}"})
    assert found() == []


@pytest.mark.slow
def test_a_block_sees_what_the_template_above_gives_it() -> None:
    page = (
        '{% extends "knowledge/layout.md.j2" %}\n'
        "{% block section_heading %}\n# {{ section.title }} {{ super() }}\n{% endblock %}\n"
    )
    write({"templates/mine/layout.md.j2": page, "templates/mine/layout.yaml": "base: knowledge"})
    assert found() == []
    write({"templates/mine/layout.md.j2": page.replace("section.title", "section.titel")})
    assert found() == ["templates/mine/layout.md.j2:3:14: PF806"]


def test_a_piece_sees_what_those_that_include_it_see() -> None:
    write(
        {
            "templates/mine/layout.md.j2": "{% for one in items %}\n"
            '{% include "mine/_one.md.j2" +%}\n{% endfor %}\n',
            "templates/mine/_one.md.j2": "{{ one.text }} {{ query }}",
            "templates/mine/item.md.j2": ITEM,
        }
    )
    assert found() == []
    write({"templates/mine/_one.md.j2": "{{ one.txt }} {{ two }}"})
    assert found() == [
        "templates/mine/_one.md.j2:1:8: PF806",
        "templates/mine/_one.md.j2:1:18: PF802",
    ]


def test_the_shapes_are_what_templates_really_see() -> None:
    seen: list[dict[str, Any]] = []

    class Looking:
        """A look that notes what a page is given."""

        def __init__(self, look: Any) -> None:
            self._look = look
            self.page_uses = frozenset(shapes.PAGE_VARIABLES)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._look, name)

        def render_page(self, variables: dict[str, Any], tank: object) -> tuple[list[str], Changes]:
            seen.append(variables)
            return [], NO_CHANGES

    item = Item(kind="code", content="x", path="a.py", origin="similarity")
    named = Item(kind="code", content="y")
    look: Any = Looking(Templates().layout("knowledge", "markdown"))
    candidates = Candidates([item, named], [1.0, 1.0], [0, 1], {})
    counter, options = get_tokenizer("characters"), Options(sources=True)
    page = Page(candidates, Setting(look, options, counter, lambda _: None, lambda _: None))
    page.render({0: page.variants(0)[0], 1: page.variants(1)[0]})
    (variables,) = seen
    assert set(variables) == set(shapes.PAGE_VARIABLES)
    assert set(variables["items"][0]) == set(shapes._SHAPES["shown_item"].fields or {})
    assert set(variables["items"][0]) - {"text"} == set(shapes._SHAPES["item"].fields or {})
    for name in ("sections", "explicit", "similarity"):
        assert set(variables[name][0]) == set(shapes._SHAPES["section"].fields or {})
    assert set(variables["sources"][0]) == set(shapes._SHAPES["source"].fields or {})
    assert {"item", *page.views._flags} == set(shapes.ITEM_VARIABLES)


@given(st.text("{}%#- \nitemname.|'\"é👍", max_size=60))
@settings(max_examples=75)
def test_no_text_of_a_template_breaks_the_reading(text: str) -> None:
    parsed = parse_template(text, "a/item.md.j2")
    for problem in parsed.problems:
        assert 0 <= problem.start <= len(text)
    if parsed.root is not None:
        for node in parsed.root.find_all(nodes.Node):
            if isinstance(node.lineno, LineNumber):
                assert text.count("\n", 0, node.lineno.offset) + 1 == node.lineno


@pytest.mark.slow
def test_templates_that_include_each_other_without_end_are_read_in_no_time() -> None:
    for n in range(40):  # 2 to the 40 ways
        text = f'{{% include "mine/_{n + 1}.md.j2" %}}' * 2
        write({f"templates/mine/_{n}.md.j2": text if n < 39 else "{{ nosuch }}"})
    write(
        {
            "templates/mine/layout.md.j2": '{% include "mine/_0.md.j2" %}' + PAGE,
            "templates/mine/item.md.j2": ITEM,
        }
    )
    assert found() == ["templates/mine/_39.md.j2:1:4: PF802"]
    write({"templates/mine/_39.md.j2": "x"})
    assert found() == ["templates/mine/_38.md.j2:1:1: PF817"]  # where its fuel was used up


@pytest.mark.parametrize(
    "text", ["{{ " + "(" * 5000, "{% if 1 %}" * 3000, "{{ a" + ".b" * 5000 + " }}", "{" * 9999]
)
def test_what_nests_without_end_is_said_and_not_followed(text: str) -> None:
    write({"templates/mine/layout.yaml": "base: chunks", "templates/mine/item.md.j2": text})
    assert all("templates/mine/item.md.j2" in line for line in found())


def test_a_piece_that_only_shipped_pages_draw_on_is_read_and_not_unused() -> None:
    shipped = (ROOT / "templates" / "_page.md.j2").read_text("utf-8")
    write({"templates/_page.md.j2": shipped + "{{ headr }}"})
    line = shipped.count("\n") + 1
    assert found() == [f"templates/_page.md.j2:{line}:4: PF802"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Answer by this:\n{context}\n", ["PF801"]),
        ("{% for item in items %}\n{documents}\n{% endfor %}", ["PF801"]),
        ("{{ item.name }}: {context}", ["PF851"]),
        ("Fill `{context}` by `str.format`.\n\n{{ item.text }}", ["PF851"]),
        ("{% raw %}{context}{% endraw %} {{ item.text }}", []),
        ("{# {{ item.text }} #}\n{context}\n", ["PF801"]),
        ("{% raw %}{{ item.text }}{% endraw %}\n{context}\n", ["PF801"]),
    ],
)
def test_a_word_in_single_braces_is_an_error_only_where_nothing_else_is_printed(
    text: str, codes: list[str]
) -> None:
    problems = parse_template(text, "item.md.j2").problems
    assert [each.code for each in problems if each.code in ("PF801", "PF851")] == codes
