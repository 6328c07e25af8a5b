"""The functions made of item templates print what Jinja prints, at the same cost of fuel."""

from __future__ import annotations

import random
from typing import Any

import pytest
from campaigns.grammar import Grammar
from example_counts import cases
from hostile_strings import LABEL, STRINGS, TEXT
from hypothesis import given
from hypothesis import strategies as st

from promptforge.errors import TemplateError
from promptforge.files import FORMAT_EXTENSIONS
from promptforge.templating.autoescape import PRINTED_VALUE
from promptforge.templating.language import Fields, OpenFields
from promptforge.templating.limits import NO_CHANGES, FuelTank, count_chars
from promptforge.templating.loader import Layout, Templates
from promptforge.text.delimiters import TemplateLines
from promptforge.text.escape import VERBATIM, VerbatimContent, clean_content

SHIPPED = Templates()
LAYOUTS = [
    SHIPPED.layout(layout, syntax)
    for layout in SHIPPED.layouts()
    for syntax in SHIPPED.formats(layout)
]
KINDS = ["text", "code", "document", "man_page", "mitre_attack"]
FLAGS = st.fixed_dictionaries(
    {name: st.booleans() for name in ("headers", "line_numbers", "scores", "code")}
    | {"query": st.none() | LABEL}
)
NUMBER = st.none() | st.integers(0, 10**6)
METADATA = st.dictionaries(
    st.sampled_from(["technique_id", "tactics", "tools", "mitigations", "deep"]),
    st.none() | LABEL | st.lists(LABEL, max_size=3) | st.dictionaries(LABEL, NUMBER, max_size=2),
    max_size=5,
)
OWN = [
    "{{ item.content | fence }}",
    "{{ item.title }}{{ item.content | fence(item.language) }}{{ item.name }}",
    "<b>\n{{ item.content | fence }}\n{{ item.content | fence }}x",
    "{% if item.name %}<i{% else %}# {% endif %}\n\n{{ item.content | fence }}\n",
    "{{ item.summary | prose }}\n{{ item.content | fence }}\n",
    "{{ (item.content | fence) if code else item.name | default('none', true) | upper }}.\n",
    "{{ item.title }}\n{{ item.content | fence }}\n",
    "# {{ item.title }}\n{{ item.content | fence }}{% if scores %}\nx{% endif %}",
    "{% if item.score > 0.5 and not scores or item.kind in ('code', 'text') %}a{% elif code %}b{% endif %}",
    "{{ item.metadata.deep.deeper is defined }}{{ item.metadata.deep.a }}{{ item.score | percent }}",
    "{{ 'a' ~ item.name ~ 1.5 ~ query }}{{ item.start_line + 1 }}{{ item.metadata.tools | length }}",
    "{{ item.nope }}{{ item.name }}",
    "{{ item.name | default(1, x=2) }}{{ nowhere }}",
    "{{ item.title }}{{ 'x' | fence }}\n{{ item.name }}",
    "Text: {{ item.content }}{{ item.summary }}",
    "{% for tool in item.metadata.tools %}{{ tool }}, {% endfor %}{{ item.content }}",
    "{% set a = item.name %}{{ a }}",
    "{% if query == item.name %}{{ query | code }}{% endif %}{{ [item.name, 'x'] | join('-') }}",
    "/{{ item.name }}", " \n{{ item.name }}", "{% if item.name %}x{% endif %}y", "{# nothing #}",
]  # fmt: skip


@st.composite
def items(draw: st.DrawFn) -> Fields:
    """A hostile item as templates see it; its content may stand between delimiters."""
    texts = {
        name: draw(st.none() | LABEL)
        for name in ("id", "name", "path", "url", "lines", "line_range", "language", "origin")
    }
    syntax = draw(st.sampled_from(["md", "xml", "json", "txt", VERBATIM]))
    content, summary = (
        clean_content(text, syntax).text for text in (draw(TEXT), draw(TEXT) * draw(st.just(9)))
    )
    if syntax == VERBATIM:
        content = VerbatimContent(content, "nonce")
    return Fields(
        **texts,
        kind_title=draw(st.none() | LABEL),
        kind=draw(LABEL),
        title=draw(LABEL),
        form=draw(st.sampled_from(["content", "summary"])),
        start_line=draw(NUMBER),
        end_line=draw(NUMBER),
        score=draw(st.none() | st.floats(allow_nan=True)),
        metadata=OpenFields(draw(METADATA)),
        content=content,
        summary=draw(st.sampled_from([None, summary])),
    )


def printed(layout: Layout, kind: str, flags: dict[str, Any], item: Fields, fuel: int) -> Any:
    """Print an item twice: text, type of text, marked values and fuel, or the error."""
    tank = FuelTank(fuel)
    tank.own_lines = TemplateLines([("Source: ", PRINTED_VALUE), ("abc",), ("word",)])
    seen: list[list[str]] = []

    def mend(pieces: list[str]) -> list[str]:
        seen.append(pieces)
        return pieces

    found: list[Any] = []
    for show in (layout.printer(kind, flags, tank), layout.printer(kind, flags, tank, mend)):
        try:
            text, marked = show(item, count_chars(item.values()))
        except TemplateError as error:
            return [*found, str(error), error.where, error.excerpt, tank.left, tank.spent is None]
        found += [str.__str__(text), type(text), marked, tank.left, tank.changes]
    return [*found, seen[-1], list(map(type, seen[-1]))]


def compare(layout: Layout, kind: str, flags: dict[str, Any], item: Fields, fuel: int) -> None:
    by_function = printed(layout, kind, flags, item, fuel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Layout, "_function", lambda *given: None)
        by_jinja = printed(layout, kind, flags, item, fuel)
    assert by_function == by_jinja


def own_layout(body: str, ending: str = "md") -> Layout:
    """A layout with one item template, whose name is that of its syntax."""
    files = {f"own/item.{ending}.j2": body, f"own/layout.{ending}.j2": "{{ total }}"}
    formats = {end: name for name, end in FORMAT_EXTENSIONS.items()}
    return Templates([files]).layout("own", formats[ending])


@given(st.sampled_from(LAYOUTS), st.sampled_from(KINDS), FLAGS, items())
def test_a_shipped_template_prints_the_same_both_ways(
    layout: Layout, kind: str, flags: dict[str, Any], item: Fields
) -> None:
    compare(layout, kind, flags, item, 3_000_000)


@given(
    st.sampled_from(OWN),
    st.sampled_from(["md", "txt", "xml"]),
    FLAGS,
    items(),
    st.sampled_from([3_000_000, 0, -7_000, -8_000]),
)
def test_a_template_of_ones_own_prints_the_same_both_ways(
    body: str, ending: str, flags: dict[str, Any], item: Fields, fuel: int
) -> None:
    try:
        layout = own_layout(body, ending)
        layout.item_template("text")
    except TemplateError:  # a filter of Markdown in another syntax
        return
    compare(layout, "text", flags, item, fuel)


@given(st.integers(0, 10**6), FLAGS, items())
def test_a_hostile_template_prints_the_same_both_ways(
    seed: int, flags: dict[str, Any], item: Fields
) -> None:
    grammar = Grammar(seed)
    body = f"{grammar.expression(1)}{{{{ {grammar.expression(2)} }}}}\n{{{{ item.title }}}}"
    if random.Random(seed).random() < 0.5:
        body = f"{{% if {grammar.expression(2)} %}}{body}{{% endif %}}"
    try:
        layout = own_layout(body)
        layout.item_template("text")
    except TemplateError:
        return
    compare(layout, "text", flags, item, 3_000_000)


def test_every_shipped_item_template_has_a_function() -> None:
    flags = {"headers": True, "line_numbers": True, "scores": True, "code": True, "query": None}
    for layout in LAYOUTS:
        for kind in KINDS:
            template = layout.item_template(kind)
            function = layout._function(template, flags)
            assert function is not None and function.isolated, template.name


def test_a_label_is_remembered_for_the_class_of_its_text_alone() -> None:
    layout = own_layout("{{ item.name }}")
    show = layout.printer("text", {})
    plain = "<b>"
    for name, text in ((plain, "&lt;b>"), (clean_content(plain, "md").text, "&lt;b>")):
        assert show(Fields(name=name), 0)[0] == text
    assert [show(Fields(name=text), 0)[1] for text in STRINGS] == [NO_CHANGES] * len(STRINGS)


PAGES = [
    "{% for item in items %}{{ item.text }}{% if not loop.last %}{{ separator }}{% endif %}{% endfor %}",
    "{% for item in items %}{{ loop.index }}/{{ loop.length }} {{ item.title }}{{ item.text }}\n{% endfor %}",
    "{{ items | length }}{% for item in items %}{% if loop.first %}{{ header }}{% endif %}{{ loop.index0 }}"
    "{% for tool in item.metadata.tools %}{{ tool }}{{ loop.last }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% for item in items %}{{ item.text }}{% else %}nothing{% endfor %}{{ footer }}",
    "{% if header or tree %}b {{ header }}{% endif %}{% for item in items %}{{ item.nope }}{% endfor %}",
    "{% for item in items if item.name %}{{ item.name }}{% endfor %}{{ item.name }}",
    "{% for item in items %}{{ loop.previtem.title }}{{ item.text }}{{ loop.revindex }}{% endfor %}",
    "{% for section in sections %}{{ section.title }}\n{% for item in section.items %}{{ item.text }}"
    "{{ separator }}{% endfor %}{{ loop.index }}{% endfor %}{% for x in header %}{{ x }}{% endfor %}",
    '{% extends "base.md.j2" %}{% block body scoped %}{{ item.name }}{{ loop.last }}{% endblock %}{{ item.x }}',
    '{% extends "base.md.j2" %}{% block end %}{% include "end.md.j2" %}{% endblock %}',
    '{% for item in items %}{% include "each.md.j2" %}{% if item.name %}{% include "end.md.j2" %}{% endif %}{% endfor %}',
    '{% for item in items %}{% block a %}{{ item.name }}{% endblock %}{% endfor %}',
    '{% extends "base.md.j2" %}{% block body %}{{ super() }}{% endblock %}',
    '{% extends "base.md.j2" %}{% block end %}{% if total %}{% block title %}T{% endblock %}{% endif %}{% endblock %}',
    '{% extends "base.md.j2" %}{% block body %}B{% endblock %}{% block end %}{% include "inner.md.j2" %}{% endblock %}',
    '{{ footer }}{% include "end.md.j2" ignore missing %}{% include "end.md.j2" without context %}',
    "{% for a in items %}{% for b in items %}{{ a.name }}{{ b.content | fence }}{% endfor %}x{% endfor %}",
]  # fmt: skip


BESIDE = {
    "base.md.j2": "{{ header }}{% for item in items %}{% block body scoped %}{{ item.text }}{% endblock %}"
    "{% block title %}{{ total }}{% endblock %}{% endfor %}{% block end %}{% endblock %}{{ footer }}",
    "end.md.j2": "{{ separator }}{% for item in items %}{{ item.kind }}{{ loop.index }}{% endfor %}",
    "each.md.j2": "{{ item.text }}{{ loop.index }}",
    "inner.md.j2": "{% if total %}{% block body %}I{% endblock %}{% endif %}",
}


def page_printed(layout: Layout, variables: dict[str, Any], fuel: int) -> Any:
    tank = FuelTank(fuel)
    tank.own_lines = TemplateLines([("Source: ", PRINTED_VALUE), ("abc",), ("word",)])
    try:
        pieces, marked = layout.render_page(variables, tank)
    except TemplateError as error:
        return str(error), error.where, error.excerpt, tank.left, tank.spent is None
    return pieces, list(map(type, pieces)), marked, tank.left, tank.changes


PAGE_GIVEN = (
    st.lists(items(), min_size=8, max_size=12),
    st.fixed_dictionaries({name: st.none() | LABEL for name in ("header", "footer")}),
    LABEL,
    st.sampled_from([3_000_000, 0, -7_000, -20_000]),
)


def compare_pages(
    layout: Layout, shown: list[Fields], around: dict[str, Any], separator: str, fuel: int
) -> None:
    flags = {"headers": True, "line_numbers": True, "scores": True, "code": True, "query": None}
    show = layout.printer("text", flags)
    for item in shown:
        item["text"] = show(item, count_chars(item.values()))[0]
    variables = {**around, "separator": separator, "items": shown, "total": len(shown)}
    variables |= dict.fromkeys(("query", "sources", "tree"))
    sections = [
        Fields(key="a", title="A", items=shown[:5]),
        Fields(key="b", title="B", items=shown[5:]),
    ]
    variables |= {"sections": sections, "explicit": sections[:1], "similarity": sections[1:]}
    by_function = page_printed(layout, variables, fuel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Layout, "_function", lambda *given: None)
        by_jinja = page_printed(layout, variables, fuel)
    assert by_function == by_jinja


@pytest.mark.slow
@given(st.sampled_from(LAYOUTS), *PAGE_GIVEN)
def test_a_shipped_page_prints_the_same_both_ways(
    layout: Layout, shown: list[Fields], around: dict[str, Any], separator: str, fuel: int
) -> None:
    compare_pages(layout, shown, around, separator, fuel)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
@cases(12)
@given(*PAGE_GIVEN)
def test_a_page_of_ones_own_prints_the_same_both_ways(
    page: str, shown: list[Fields], around: dict[str, Any], separator: str, fuel: int
) -> None:
    files = {"own/item.md.j2": "{{ item.content | fence }}", "own/layout.md.j2": page, **BESIDE}
    layout = Templates([files]).layout("own", "markdown")
    compare_pages(layout, shown, around, separator, fuel)


def test_shipped_pages_have_functions() -> None:
    names = ("header", "footer", "query", "sources", "tree")
    variables: dict[str, Any] = {**dict.fromkeys(names), "separator": "", "total": 1}
    lists: dict[str, Any] = {"items": [], "sections": [], "explicit": [], "similarity": []}
    missing = {
        layout.page_name
        for layout in LAYOUTS
        if not layout._function(layout._page, variables | lists)
    }
    assert missing == {"knowledge/layout.json.j2"}  # it sets a variable
