"""Templates that run away, reach out or break the compiler: each is refused, or ends early."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from campaigns import templates as campaign
from example_counts import MULTIPLIER

import promptforge as pf
from promptforge.errors import (
    MAX_GUESSES,
    TemplateError,
    certain_correction,
    did_you_mean,
)
from promptforge.files import MAX_NAME_PARTS, MAX_TEMPLATE_BYTES, MAX_TEMPLATE_FILES
from promptforge.lint.checker import LintTargets, check
from promptforge.templating.loader import Templates

PAGE = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
ITEMS = [{"content": "x" * 2000, "name": "n", "metadata": {"tags": ["a"] * 50}} for _ in range(5)]


def render(
    source: str,
    *,
    more: Mapping[str, str] | None = None,
    page: str = PAGE,
    items: object = ITEMS,
    **options: Any,
) -> str:
    texts = {"t/layout.txt.j2": page, "t/item.txt.j2": source, **(more or {})}
    return pf.render(items, templates=texts, layout="t", format="plain", **options).text


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


@pytest.mark.unwatched
@pytest.mark.parametrize("what", RUNAWAYS)
def test_what_runs_away_ends_with_its_line_and_the_reason(what: str) -> None:
    source, words = RUNAWAYS[what]
    with pytest.raises(TemplateError, match=words) as caught:
        render(source)
    assert str(caught.value).startswith("t/item.txt.j2:")
    assert "too much work for one text" in str(caught.value)
    assert render("{{ item.name }}").split() == ["n"]


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


@pytest.mark.unwatched
@pytest.mark.parametrize(
    "source",
    [
        *(
            "{{ 9**(9**9) }}",
            '{% if false %}{{ "x" * 10**10 }}{% endif %}',
            "{{ 'a' % 9 }}",
            "{{ 1 // 0 }}",
        ),
        *(
            "{{ " + "-" * 20_000 + "1 }}",
            "{{ " + "1 + " * 20_000 + "1 }}",
            "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        ),
        *(
            "{{ " + "a ~ " * 9000 + "a }}",
            "{{ a" + " | upper" * 300 + " }}",
            "{{ a" + ".a" * 300 + " }}",
        ),
        *(
            "{% for a in [1] %}" * 30 + "{% endfor %}" * 30,
            "{% if a %}" * 300 + "{% endif %}" * 300,
        ),
        *(
            "{% if a %}" + "{% elif a %}" * 5000 + "{% endif %}",
            "{{ " + "9" * 100_000 + " }}",
            "{{ a }}\n" * 10_000,
        ),
        *(
            "{{ [" + "1, " * 50_000 + "] }}",
            "{{ item.name(*items) }}",
            "{{ items | join(*items) }}",
            "{{ item(**item) }}",
        ),
        "".join(f"{{% for a{n} in [1, 2] %}}" for n in range(18)) + "{% endfor %}" * 18,
    ],
    ids=lambda source: source[:30],
)
def test_what_would_hang_the_compiler_is_refused_before(source: str) -> None:
    with pytest.raises(TemplateError) as caught:
        Templates([{"t/item.txt.j2": source}]).compile("t/item.txt.j2")
    assert str(caught.value).startswith("t/item.txt.j2")


def test_of_very_many_names_the_near_ones_are_compared() -> None:
    names = [f"variable_name_{n}" for n in range(1000)]
    assert did_you_mean("variable_nam_7", [*names, "x"]) == '; did you mean "variable_name_7"?'
    # None of so many names is certainly the one: `check --fix` would write it.
    assert certain_correction("variable_nam_7", names) is None
    assert certain_correction("variable_nam_7", names[:20]) is None
    assert certain_correction("variable_nam_7", names[7:8]) == "variable_name_7"
    assert did_you_mean("a" * 100_000, ["a" * 99_999]) == ""
    assert certain_correction("a" * 100_000, ["a" * 99_999]) is None


def test_very_many_wrong_names_are_all_found(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "layout.yaml").write_text("description: x\n")
    wrong = "".join(f"{{{{ wanted_name{n} }}}}\n" for n in range(MAX_GUESSES + 9))
    (tmp_path / "t" / "item.txt.j2").write_text("{% set wanted_name = 1 %}\n" + wrong)
    targets = LintTargets()
    targets.add(tmp_path)
    found = [one for one in check(targets).findings if one.code == "PF802"]
    assert len(found) == MAX_GUESSES + 9
    assert ["did you mean" in one.message for one in found] == [True] * 100 + [False] * 9


@pytest.mark.parametrize(
    "source", ["{{ %s }}", "{{ item.%s }}", "{{ item | %s }}", "{% set %s = 1 %}"]
)
def test_a_name_without_end_is_no_name(source: str) -> None:
    # It stood in the message, and was compared with others of its length, letter by letter.
    with pytest.raises(TemplateError, match="a name of more than 200 characters") as caught:
        render(source.replace("%s", "a" * 100_000))
    assert len(str(caught.value)) < 200


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


def test_a_folder_is_read_with_care(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "t" / "deep" / "deeper" / "deepest").mkdir(parents=True)
    (folder / "t" / "item.txt.j2").write_text("x")
    (folder / "t" / "deep" / "x.txt.j2").write_text("x")
    (folder / "t" / "deep" / "deeper" / "x.txt.j2").write_text("deeper than names go")
    (folder / "t" / "-rf.txt.j2").write_text("no name of a template")
    (folder / "t" / "{evil}\n.txt.j2").write_text("nor this")
    (folder / "t" / "round").symlink_to("..")
    (folder / "t" / "zero.txt.j2").symlink_to("/dev/zero")
    (folder / "t" / "gone.txt.j2").symlink_to("nowhere")
    (folder / "t" / "loop.txt.j2").symlink_to("loop.txt.j2")
    (tmp_path / "secret.txt.j2").write_text("secret")
    (folder / "t" / "out.txt.j2").symlink_to(tmp_path / "secret.txt.j2")
    (folder / "t" / "big.txt.j2").write_bytes(b"x" * (MAX_TEMPLATE_BYTES + 1))
    templates = Templates([folder])
    assert sorted(templates.own[0]) == ["t/big.txt.j2", "t/deep/x.txt.j2", "t/item.txt.j2"]
    assert max(name.count("/") for name in templates.own[0]) < MAX_NAME_PARTS
    with pytest.raises(TemplateError, match="is larger than 256 kB"):
        templates.compile("t/big.txt.j2")


def test_a_pipe_in_a_folder_does_not_hang(tmp_path: Path) -> None:
    os = pytest.importorskip("os")
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes on this system")
    os.mkfifo(tmp_path / "item.txt.j2")
    assert Templates([tmp_path]).own == ({},)


def test_a_folder_of_too_many_templates_is_refused(tmp_path: Path) -> None:
    for number in range(MAX_TEMPLATE_FILES + 1):
        (tmp_path / f"{number}.txt.j2").touch()
    with pytest.raises(TemplateError, match="more than 2000 template files"):
        Templates([tmp_path])


@pytest.mark.slow
@pytest.mark.unwatched
def test_hostile_templates_by_the_grammar_break_no_promise() -> None:
    number = 80 if MULTIPLIER == 1 else 250 * MULTIPLIER
    report = campaign.run(number, seed=MULTIPLIER, every_nth_sandboxed=2, seconds=campaign.STUCK)
    assert not report.broken
    assert report.figures["stopped for too much work"]
    assert report.figures["rendered"]
