"""Limits of templates: what runs away ends, honest templates have fuel to spare."""

from __future__ import annotations

from pathlib import Path

import pytest
import template_folders
from template_sources import render

import promptforge as pf
from promptforge.errors import TemplateError
from promptforge.templating import limits
from promptforge.text.delimiters import TemplateLines
from promptforge.text.escape import Safe


def chain(body: str, last: str, *, length: int = 30) -> dict[str, str]:
    """Return templates each of which draws on the next; `%s` in `body` is its name."""
    named = {f"t/_{n}.txt.j2": body.replace("%s", f"t/_{n + 1}.txt.j2") for n in range(length)}
    return {**named, f"t/_{length}.txt.j2": last}


def doubled(change: str, *, start: str = "'ab'", end: str = "{{ a }}") -> str:
    return f"{{% set a = {start} %}}\n" + f"{{% set a = {change} %}}\n" * 40 + end


MACROS = "".join(
    f"{{% macro m{n}() %}}{{{{ m{n - 1}() }}}}{{{{ m{n - 1}() }}}}{{% endmacro %}}\n"
    for n in range(1, 40)
)
RUNAWAYS: dict[str, tuple[str, str]] = {
    "a loop over a loop": (
        "{% for a in item.content %}\n{% for b in item.content %}{% endfor %}{% endfor %}",
        "a loop of",
    ),
    "text and text": (doubled("a ~ a"), "a text of"),
    "text plus text": (doubled("a + a"), "very many parts"),
    "list plus list": (doubled("a + a", start="[1]"), "very many parts"),
    "lists in lists": (doubled("[a, a]", start="[1]"), "very many parts"),
    "lists in lists compared": (
        doubled("[a, a]", start="[1]", end="{{ a == [a] }}"),
        "very many parts",
    ),
    "mappings in mappings": (doubled("{'a': a, 'b': a}", start="{'a': 1}"), "very many parts"),
    "join": (doubled("[a, a] | join(a)"), "too much work"),
    "a long separator": (
        "{% set a = item.metadata.tags | join(item.content) %}"
        "{{ item.metadata.tags | join(a) | length }}\n"
        "{% for b in item.metadata.tags %}{% set c = item.metadata.tags | join(a) %}{% endfor %}",
        "a text of",
    ),
    "a block that is set": (
        "{% set a %}ab{% endset %}\n" + "{% set a %}{{ a }}{{ a }}{% endset %}\n" * 40,
        "a text of",
    ),
    "a macro that doubles": (
        "{% macro m(a) %}\n{{ m(a ~ a) }}{% endmacro %}{{ m('ab') }}",
        "a text of",
    ),
    "macros that call twice": (
        "{% macro m0() %}x{% endmacro %}" + MACROS + "{{ m39() }}",
        "entered again and again",
    ),
    "a field that is not there": (
        "{% for a in item.content %}{% for b in [1, 2] %}{{ item.nope is defined }}{% endfor %}"
        "{% endfor %}",
        "the field 'nope', which is not there",
    ),
    "a long text searched": (
        "{% set a = item.content %}"
        + "{% set a = a ~ a %}" * 8
        + "{% for b in item.content %}{{ 'y' in a }}{% endfor %}",
        "a text of",
    ),
    "a field of very many parts": (
        "{% set a = 'a.' %}"
        + "{% set a = a ~ a %}" * 16
        + "{% for b in item.content %}{% set c = item.metadata.tags | sort(attribute=a) %}"
        "{% endfor %}",
        "a text of|sorting by a field",
    ),
    "names of months without end": (
        "{% set a = item.content ~ ' a' %}"
        + "{% set a = a ~ a %}" * 8
        + "{% for b in item.content %}{% set c = 0 | dateformat('%Y', a, a) %}{% endfor %}",
        "a text of",
    ),
    "a list printed": (
        "{% for a in item.content %}{% for b in [1, 2, 3, 4, 5, 6, 7, 8] %}{{ item.metadata }}"
        "{% endfor %}{% endfor %}",
        "too much work",
    ),
}


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("what", RUNAWAYS)
def test_what_runs_away_ends_with_its_line_and_the_reason(what: str) -> None:
    source, words = RUNAWAYS[what]
    with pytest.raises(TemplateError, match=words) as caught:
        render(source)
    assert str(caught.value).startswith("t/item.txt.j2:")
    assert "too much work for one text" in str(caught.value)
    assert render("{{ item.name }}").split() == ["n"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "more", "words"),
    [
        (
            "{% include 't/_0.txt.j2' %}",
            chain("{% include '%s' %}{% include '%s' %}", "x"),
            "entered again and again",
        ),
        (
            "{% extends 't/_0.txt.j2' %}{% block b %}{{ super() }}{{ super() }}{% endblock %}",
            chain(
                "{% extends '%s' %}{% block b %}{{ super() }}{{ super() }}{% endblock %}",
                "{% block b %}{% endblock %}",
            ),
            "entered again and again",
        ),
        (
            "{% from 't/_0.txt.j2' import m %}{{ m() }}",
            chain(
                "{% from '%s' import m as n %}{% macro m() %}{{ n() }}{{ n() }}{% endmacro %}",
                "{% macro m() %}x{% endmacro %}",
            ),
            "entered again and again",
        ),
        (
            "{% include 't/_0.txt.j2' %}",
            chain("{% include '%s' %}", "x", length=60),
            "more than 50 templates",
        ),
        (
            "{% include 't/_a.txt.j2' %}",
            {"t/_a.txt.j2": "{% include 't/item.txt.j2' %}"},
            "extends or includes itself",
        ),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", {}, "a macro calls itself"),
    ],
    ids=["includes", "super", "imports", "a long chain", "a circle", "recursion"],
)
def test_templates_that_draw_on_each_other_end(
    source: str, more: dict[str, str], words: str
) -> None:
    with pytest.raises(TemplateError, match=words):
        render(source, more=more)


@pytest.mark.slow
def test_honest_templates_have_fuel_to_spare() -> None:
    items = [
        {
            "content": f"{n} " * 200,
            "name": f"n{n}",
            "origin": "explicit",
            "metadata": {"tags": ["a"] * 20},
        }
        for n in range(300)
    ]
    page = (
        "{% for part in [explicit, similarity] %}{% for section in part %}"
        "{% for item in section.items %}\n"
        "{{ loop.index }}/{{ loop.length }} {{ item.text }}\n"
        "{% for other in items %}{% if other.name == item.name %}*{% endif %}{% endfor %}\n"
        "{% endfor %}{% endfor %}{% endfor %}"
    )
    item = "{% for tag in item.metadata.tags %}{{ tag | upper }}{% endfor %}"
    item += " {{ item.content ~ item.name }}"
    text = render(item, page=page, items=items, max_tokens=200_000)
    assert text.count("*") == 300
    everything = pf.render(items, layout="knowledge", packing="longest_first", max_tokens=20_000)
    assert everything.explain().tokens <= 20_000
    assert len(everything.items) == 300


def test_a_text_that_is_replaced_again_and_again_runs_out_of_fuel(tmp_path: Path) -> None:
    double = "{% set a = a | replace('x', 'xx') %}"
    with pytest.raises(TemplateError, match="too much work"):
        template_folders.render(tmp_path, "{% set a = 'x' %}" + double * 40 + "{{ a }}")


def test_a_marked_line_is_counted_beside_inert_addresses() -> None:
    tank = limits.FuelTank()
    tank.own_lines = TemplateLines([("Source from",)])
    tank.changes = limits.Changes(0, 2)
    limits.use_tank(tank, 0, 0)
    escaped = limits.mark_imitations(Safe)
    assert escaped("Source from") == "\\Source from"
    assert limits.mark_template_lines("a\nSource from\n") == "a\n| Source from\n"
    assert tank.changes == (2, 2)


def test_texts_in_lists_and_mappings_count_for_the_fuel() -> None:
    assert limits.count_chars(["ab", None, 7, ("c", ["de", {"key": "f"}])]) == 6


@pytest.mark.parametrize(
    ("metadata", "printed"),
    [
        ({"tags": ["one", "two"]}, "- one- two"),
        ({"tags": "one"}, "- one"),
        ({"tags": ""}, ""),
        ({"tags": None}, ""),
        ({}, ""),
    ],
)
def test_a_loop_takes_what_items_may_have_in_a_field(
    metadata: dict[str, object], printed: str
) -> None:
    for values in ("item.metadata.tags", "item.metadata.tags | default([])"):
        source = f"{{% for a in {values} %}}- {{{{ a }}}}{{% endfor %}}"
        assert render(source, items=[{"content": "x", "metadata": metadata}]).strip() == printed
