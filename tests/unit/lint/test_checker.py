"""`promptforge check`: each code at the right character, and silence where all is well."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commandline import run
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import nodes
from places import GOLDEN, ROOT

from promptforge.config.options import Options
from promptforge.lint import samples
from promptforge.lint import template_reader as shapes
from promptforge.lint.checker import LintTargets, check
from promptforge.lint.findings import load_codes
from promptforge.lint.template_reader import parse_template
from promptforge.model import Item
from promptforge.rendering.context import Setting
from promptforge.rendering.page import Page
from promptforge.selection.filter import Candidates
from promptforge.templating.failures import LineNumber
from promptforge.templating.loader import Templates
from promptforge.tokenizers.counters import Counter
from promptforge.tokenizers.registry import get_tokenizer

PAGE = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
ITEM = "{# One. #}\n{{ item.title }}\n"
LONG = ITEM + "{{ item.content | fence }}\n"


pytestmark = pytest.mark.usefixtures("folder")


def write(files: dict[str, str | bytes]) -> None:
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def found(*paths: str, notes: bool = False) -> list[str]:
    """Return the findings as `place: CODE`, without the notes."""
    ran = run("check", *paths)
    lines = re.findall(r"^(\S.*?: PF\d+)( note)?", ran.out, re.MULTILINE)
    assert ran.code == int(any(not note for _, note in lines)), ran
    return [line for line, note in lines if notes or not note]


def marked(out: str) -> list[str]:
    """Return what stands above each row of carets."""
    rows = out.splitlines()
    return [
        above[below.index("^") : below.rindex("^") + 1]
        for above, below in itertools.pairwise(rows)
        if re.fullmatch(r" +\| *\^+", below)
    ]


# --- each code ------------------------------------------------------------------------------------

TEMPLATES: dict[str, tuple[str, str, str]] = {
    # what an item's template says → the code, the place, what is marked
    "{% if item.name }": ("PF801", "1:1", "{% if item.name }"),
    "{{ itm.name }}": ("PF802", "1:4", "itm"),
    "{% for a in [1] %}{% endfor %}{{ a }}": ("PF802", "1:34", "a"),
    "{% if item.name %}{% elif nme %}{% endif %}": ("PF802", "1:27", "nme"),
    "{{ loop.index }}": ("PF802", "1:4", "loop"),
    "{{ items | length }}": ("PF802", "1:4", "items"),
    "größe → {{ item.name | uper }}": ("PF803", "1:24", "uper"),
    '{{ item.name | truncate("80") }}': ("PF803", "1:16", "truncate"),
    "{% if item.name is not defind %}{% endif %}": ("PF804", "1:24", "defind"),
    '{% include "_surces.md.j2" %}': ("PF805", "1:12", '"_surces.md.j2"'),
    "x\n\n  {{ item.pth }}": ("PF806", "3:11", "pth"),
    "a { % if item.name % }": ("PF801", "1:3", "{ % if item.name % }"),
    "a { { item.name } }": ("PF801", "1:3", "{ { item.name } }"),
    "a ${item.name}": ("PF801", "1:3", "${item.name}"),
    "{{ item['pth'] }}": ("PF806", "1:9", "'pth'"),
    "{{ item.text }}": ("PF806", "1:9", "text"),
    "{{ item.name.first }}": ("PF806", "1:14", "first"),
    '{% include "mine/item.md.j2" %}': ("PF807", "1:12", '"mine/item.md.j2"'),
    "{{ item.name.upper() }}": ("PF808", "1:14", "upper"),
    "{{ 2 * 3 }}": ("PF808", "1:6", "*"),
    "a `{{ item.name }}` b": ("PF809", "1:12", "name"),
    "<pre>\n{{ item.name }}": ("PF809", "1:1", "<pre"),
    "```\n{{ item.content }}\n```": ("PF809", "2:9", "content"),
    "{{ item.content }}": ("PF810", "1:4", "item.content"),
    "{{ item.kind }}{{ item.name }}": ("PF811", "1:19", "item.name"),
    "- {{ item.content | fence }}": ("PF816", "1:21", "fence"),
    "{% if item.start_line > 3 %}{% endif %}": (
        "PF814",
        "1:1",
        "{% if item.start_line > 3 %}{% endif %}",
    ),
}


@pytest.mark.parametrize("text", TEMPLATES)
def test_an_items_template(text: str) -> None:
    code, place, word = TEMPLATES[text]
    write({"templates/mine/layout.md.j2": PAGE, "templates/mine/item.md.j2": text})
    said = found()
    assert f"templates/mine/item.md.j2:{place}: {code}" in said
    out = run("check").out
    assert word in marked(out)


@pytest.mark.parametrize(
    "text", ["", "# {{ item.title }}\n", "{% raw %}\n{{ item.content }}\n{% endraw %}\n"]
)
def test_a_template_without_the_text_of_its_item(text: str) -> None:
    write({"templates/mine/layout.md.j2": PAGE, "templates/mine/item.md.j2": text})
    assert any("PF829" in line for line in found(notes=True))
    write({"templates/mine/item.md.j2": "{{ item.summary or item.content | prose }}\n"})
    assert not any("PF829" in line for line in found(notes=True))


def test_what_was_meant_as_a_tag_becomes_one_and_braces_of_other_kinds_stay() -> None:
    text = "{# Uses: item. #}\n{ % if item.name % }{item.name}{ % endif % }\n"
    write({"templates/mine/layout.md.j2": PAGE, "templates/mine/item.md.j2": text})
    run("check", "--fix", "--quiet")
    fixed = Path("templates/mine/item.md.j2").read_text()
    assert fixed == "{# Uses: item. #}\n{% if item.name %}{{ item.name }}{% endif %}\n"
    write(
        {
            "templates/mine/item.md.j2": "{# Uses: item. #}\n{a} { b } ${HOME} %}"
            " { 5 % } {{ '{ % if x % }' }}\n"
        }
    )
    assert "PF801" not in run("check", "--quiet").out


PAGES: dict[str, tuple[str, str]] = {
    "{% for s in sections %}{% for i in s.itms %}{{ i.text }}{% endfor %}{% endfor %}": (
        "PF806",
        "1:38",
    ),
    "{% for item in items %}{{ item.txt }}{% endfor %}": ("PF806", "1:32"),
    "{% for x in sources %}{{ x.nme }}{% endfor %}{{ headers }}": ("PF802", "1:49"),
    '{% extends "_page.md.j2" %}\nHello\n{% block body %}{% endblock %}': ("PF812", "2:1"),
    '{# x #}\n\n{% extends "_page.md.j2" %}\n{% block body %}{% endblock %}': ("PF812", "2:1"),
    '{% extends "_page.md.j2" %}\n{% block bdy %}{% endblock %}': ("PF813", "2:10"),
    '{% extends "_pge.md.j2" %}': ("PF805", "1:12"),
    '{% from "_page.md.j2" import nosuch %}': ("PF805", "1:30"),
}


@pytest.mark.parametrize("text", PAGES)
def test_a_page(text: str) -> None:
    code, place = PAGES[text]
    write({"templates/mine/layout.md.j2": text, "templates/mine/item.md.j2": ITEM})
    assert f"templates/mine/layout.md.j2:{place}: {code}" in found()


FILES: dict[str, tuple[str, str]] = {
    "templates/knowledge/man_pag.md.j2": ("PF821", ITEM),
    "templates/chunks/item.htm.j2": ("PF820", "x"),
    "templates/chnks/item.md.j2": ("PF820", ITEM),
    "templates/_piece.md.j2": ("PF820", "x"),
    "templates/loose.md.j2": ("PF820", "x"),
    "templates/prompt/ours/contxt.txt.j2": ("PF820", "x"),
    "templates/prompt/ours/context.txt.j2": ("PF802", "{{ contxt }}"),
    "templates/prompt/ours/history.txt.j2": (
        "PF806",
        "{% for m in history %}{{ m.txt }}{% endfor %}",
    ),
    "templates/mine2/tikcet.md.j2": ("PF821", ITEM),
    "templates/mine/layout.txt.j2": ("PF822", "x"),
    "templates/mine/layout.yml": ("PF824", "base: chunks"),
    "templates/chunks/item.md.jinja2": ("PF824", "x"),
    "templates/chunks/deep/item.md.j2": ("PF824", "x"),
    "templates/chunks/two words.md.j2": ("PF824", "x"),
    "templates/chunks/item.json.j2": ("PF815", '{"a": {{ item.name }}'),
    "templates/chunks/item.xml.j2": ("PF815", "<a>{{ item.name }}</b>"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file(name: str) -> None:
    code, text = FILES[name]
    write({name: text, "templates/mine2/layout.yaml": "base: chunks\nsections: [ticket]"})
    got = [line.split(": ") for line in found()]
    assert code in [line[-1] for line in got]


SETTINGS: dict[str, tuple[str, str]] = {
    "base: [": ("PF830", "1"),
    "bse: chunks": ("PF831", "1:1"),
    "base: chunks\nmax_tokens: 5": ("PF831", "2:1"),
    "base: chunks\nheaders: yes # no": ("PF832", "2:10"),
    "group_by: auto": ("PF832", "1:11"),
    "base: chnks": ("PF833", "1:7"),
    "base: mine": ("PF833", "1:7"),
    'base: chunks\ndescription: "a\u200bb"': ("PF834", "2"),
}


@pytest.mark.parametrize("text", SETTINGS)
def test_the_settings_of_a_layout(text: str) -> None:
    code, place = SETTINGS[text]
    write({"templates/mine/layout.yaml": text})
    assert any(
        line.startswith(f"templates/mine/layout.yaml:{place}") and line.endswith(code)
        for line in found()
    )


PROFILES: dict[str, tuple[str, str]] = {
    "- a": ("PF830", "1"),
    "max_tokns: 5": ("PF831", "1:1"),
    "sections: [a]": ("PF831", "1:1"),
    "max_tokens: -5": ("PF832", "1:13"),
    "extends: claud": ("PF833", "1:10"),
    "extends: mine": ("PF833", "1:10"),
    "extends: two": ("PF833", "1:10"),
    "layout: chunk": ("PF836", "1:9"),
    "format: htm": ("PF836", "1:9"),
    "tokenizer: o20k_base": ("PF836", "1:12"),
    "tokenizer: file:nowhere.json": ("PF836", "1:12"),
    "tokenizer: file:/dev/null": ("PF847", "1:12"),
    "tokenizer: o20k_base*1.3": ("PF836", "1:12"),
    "tokenizer: o200k_base*x": ("PF836", "1:12"),
    "framing: fenced\nformat: xml": ("PF107", "1:10"),
    "extends: claude\nreserve: 2000000": ("PF840", "2:10"),
    "context_window: 8000\nreserve: 2000\nmax_tokens: 7000": ("PF841", "3:13"),
    "section_budgets: {code: {share: 0.7}, man_page: {share: 0.5}}": ("PF842", "1:18"),
    "max_tokens: 100\nsection_budgets: {code: {min_tokens: 700}}": ("PF842", "2:18"),
    "section_budgets: {code: {min_tokens: 700, max_tokens: 5}}": ("PF842", "1:18"),
}


@pytest.mark.parametrize("text", PROFILES)
def test_a_profile(text: str) -> None:
    code, place = PROFILES[text]
    write(
        {
            "profiles/mine.yaml": text,
            "profiles/two.yaml": "extends: three",
            "profiles/three.yaml": "extends: mine",
        }
    )
    assert any(
        line.startswith(f"profiles/mine.yaml:{place}") and line.endswith(code)
        for line in found("profiles")
    )


def test_a_page_that_costs_more_than_there_is() -> None:
    write({"templates/mine/layout.md.j2": "word " * 50 + PAGE, "templates/mine/item.md.j2": ITEM})
    write({"profiles/small.yaml": "max_tokens: 20"})
    ran = run("check", "--costs", "templates", "--profiles", "profiles", "--profile", "small")
    assert "PF843" in ran.out
    assert "PF843" not in run("check", "--costs", "templates").out


def test_notes_fail_nothing() -> None:
    write({"templates/chunks/item.md.j2": b"\xef\xbb\xbf{# One. #}\r\n{{ item.title }}\r\n"})
    assert found(notes=True) == [
        "templates/chunks/item.md.j2: PF823",
        "templates/chunks/item.md.j2: PF826",
        "templates/chunks/item.md.j2: PF829",
    ]


# --- silence --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_shipped_has_nothing_against_it() -> None:
    ran = run("check", "--no-costs", ROOT / "templates", ROOT / "profiles")
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.slow
def test_prompt_templates_and_kinds_of_ones_own_are_right_as_they_are() -> None:
    for part in ("system", "instructions", "question", "context", "history", "prompt"):
        path = ROOT / "templates" / "prompt" / "default" / f"{part}.txt.j2"
        write({f"templates/prompt/ours/{part}.txt.j2": path.read_text("utf-8")})
    write(
        {
            "templates/mine/layout.yaml": "base: chunks\nsections: [ticket]",
            "templates/mine/ticket.md.j2": ITEM,
        }
    )
    write({"profiles/ours.yaml": "tokenizer: o200k_base*1.3\nprompt: ours"})
    assert found() == found("profiles") == []


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


# --- what the shapes say is what is so ------------------------------------------------------------


def test_the_shapes_are_what_templates_really_see() -> None:
    seen: list[dict[str, Any]] = []

    class Looking:
        """A look that notes what a page is given."""

        def __init__(self, look: Any) -> None:
            self._look = look
            self.page_uses = frozenset(shapes.PAGE_VARIABLES)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._look, name)

        def render_page(self, variables: dict[str, Any], tank: object) -> tuple[list[str], int]:
            seen.append(variables)
            return [], 0

    item = Item(kind="code", content="x", path="a.py", origin="similarity")
    named = Item(kind="code", content="y")
    look: Any = Looking(Templates().layout("knowledge", "markdown"))
    candidates = Candidates([item, named], [1.0, 1.0], [0, 1], {})
    counter, options = get_tokenizer("characters"), Options(sources=True)
    page = Page(candidates, Setting(look, options, counter, lambda _: None, lambda _: None))
    page.show_sources(shown=True)
    page.render({0: page.variants(0)[0], 1: page.variants(1)[0]})
    (variables,) = seen
    assert set(variables) == set(shapes.PAGE_VARIABLES)
    assert set(variables["items"][0]) == set(shapes.SHOWN_ITEM_SHAPE.fields or {})
    assert set(variables["items"][0]) - {"text"} == set(shapes.ITEM_SHAPE.fields or {})
    for name in ("sections", "explicit", "similarity"):
        assert set(variables[name][0]) == set(shapes.SECTION_SHAPE.fields or {})
    assert set(variables["sources"][0]) == set(shapes.SOURCE_SHAPE.fields or {})
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


# --- ways to say it -------------------------------------------------------------------------------


def test_json_github_and_sarif_say_the_same() -> None:
    write(
        {
            "templates/mine/item.md.j2": "größe, {{ item.pth }}:\n%0A",
            "templates/mine/layout.yaml": "base: chunks",
        }
    )
    (one,) = json.loads(run("check", "--json").out)["findings"]
    assert one["source"].startswith("größe") and (
        one["line"],
        one["column"],
        one["end_column"],
    ) == (1, 16, 19)
    assert one["fixable"] and one["severity"] == "error" and one["code"] == "PF806"
    github = run("check", "--output-format", "github").out
    assert github == (
        "::error file=templates/mine/item.md.j2,line=1,col=16,endColumn=19,title=PF806::"
        'PF806 an item has no field "pth"; did you mean "path"?\n'
    )
    sarif = json.loads(run("check", "--output-format", "sarif").out)
    assert sarif["version"] == "2.1.0" and sarif["$schema"].endswith("sarif-2.1.0.json")
    (ran,) = sarif["runs"]
    (result,) = ran["results"]
    assert ran["tool"]["driver"]["name"] == "promptforge"
    assert ran["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "PF806"
    assert result["level"] in ("none", "note", "warning", "error") and result["message"]["text"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "templates/mine/item.md.j2"
    assert place["region"] == {"startLine": 1, "startColumn": 16, "endColumn": 19}
    assert ran["columnKind"] == "unicodeCodePoints"


def test_the_caret_stands_below_the_word_also_after_wide_characters() -> None:
    write(
        {
            "templates/mine/item.md.j2": "名前\t{{ item.pth }}",
            "templates/mine/layout.yaml": "base: chunks",
        }
    )
    rows = run("check").out.splitlines()
    assert rows[1:] == ["  1 | 名前    {{ item.pth }}", "    | " + " " * 16 + "^^^"]


def test_a_very_long_line_is_cut_around_the_place() -> None:
    write(
        {
            "templates/mine/item.md.j2": "x" * 5000 + "{{ item.pth }}",
            "templates/mine/layout.yaml": "base: chunks",
        }
    )
    out = run("check").out
    assert max(map(len, out.splitlines())) < 130
    assert marked(out) == ["pth"]


def test_costs_are_measured_by_rendering() -> None:
    write(
        {
            "templates/mine/layout.md.j2": "# A heading of four words\n" + PAGE,
            "templates/mine/item.md.j2": LONG,
        }
    )
    facts = json.loads(run("check", "--json", "--costs").out)
    (cost,) = facts["costs"]
    assert (cost["layout"], cost["format"], facts["tokenizer"]) == (
        "mine",
        "markdown",
        "o200k_base",
    )
    assert 5 <= cost["page"] <= 8
    write({"templates/mine/item.md.j2": LONG + "one two three four five\n"})
    more = json.loads(run("check", "--json", "--costs").out)["costs"][0]
    assert more["page"] == cost["page"] and more["items"]["item"] - cost["items"]["item"] in (
        5,
        6,
    )


# --- putting right --------------------------------------------------------------------------------


FAR = {
    "profiles/mine.yaml": "model: x\noptions: [a]\nmax_tokens: 5\nmax_tokns: 6\n",
    "tests/mine.yaml": "items: a.json\noptions: {layout: x}\ncases:\n- text: x\n",
    "profiles/cases.yaml": "items: a.json\ncases: [\n",
    "templates/mine/layout.md.j2": '{% extends "mine/layout.md.j2" %}\n{% block a %}'
    "{{ sectoins }}{% endblock %}\n",
    "templates/mine/item.md.j2": '{% include "nowhere/at/all.j2" %}{{ itm.name | uper }}',
}
"""Files with words that are not near to one other word, or that are not understood as a whole."""


def test_only_a_near_word_is_put_right_and_nothing_of_what_is_not_understood() -> None:
    write({**FAR, "templates/mine/layout.yaml": "base: chunks"})
    assert run("check", "tests", "--fix", "-q").code == 2
    ran = run("check", "--fix", "-q")
    assert {name: Path(name).read_text() for name in FAR} == FAR
    assert "layout.md.j2:2" not in ran.out, "what a template sees that draws on itself is not known"
    assert "profiles/cases.yaml: PF827 note: a file of cases" in run("check").out
    assert "promptforge test" in run("check", "tests").err


def test_what_can_be_put_right_is_and_a_difference_changes_nothing() -> None:
    files: dict[str, str | bytes] = {
        "templates/context/layout.md.j2": b"\xef\xbb\xbf{# x #}\r\n\r\n"
        b'{% extends "context/layout.md.j2" %}\r\n',
        "templates/mine/item.md.j2": "{{ item.pth | uper }} {{ itm.name is defind }}\n"
        "{{ item.content }}",
        "templates/mine/layout.yaml": "bse: chunks",
        "profiles/mine.yaml": "max_tokns: 500\n",
        "profiles/schema.json": "{}",
    }
    write(files)
    before = {name: Path(name).read_bytes() for name in files}
    ran = run("check", "--diff")
    assert (
        ran.code == 1
        and "+max_tokens: 500" in ran.out
        and '+{% extends "shipped/context/layout.md.j2" %}' in ran.out
    )
    assert {name: Path(name).read_bytes() for name in files} == before
    ran = run("check", "--fix")
    assert (
        Path("templates/context/layout.md.j2").read_text()
        == '{# x #}\n{% extends "shipped/context/layout.md.j2" %}\n'
    )
    assert Path("templates/mine/item.md.j2").read_text() == (
        "{{ item.path | upper }} {{ item.name is defined }}\n{{ item.content }}"
    )
    assert (
        Path("profiles/mine.yaml").read_text()
        == "# yaml-language-server: $schema=schema.json\nmax_tokens: 500\n"
    )
    assert [line for line in ran.out.splitlines() if ": PF" in line and " note: " not in line] == [
        "templates/mine/item.md.j2:2:4: PF810 a long text without a filter is printed on one "
        "line; add | framed,"
        " or | prose"
    ]
    assert run("check", "--diff").out == ""


def test_a_word_with_two_near_ones_is_left_alone() -> None:
    write(
        {
            "templates/mine/item.md.j2": "{{ item.name is ndefined }}",
            "templates/mine/layout.yaml": "base: chunks",
        }
    )
    assert not json.loads(run("check", "--json").out)["findings"][0]["fixable"]


# --- hostile folders ------------------------------------------------------------------------------


def test_what_is_not_there_or_nothing_to_check_is_usage() -> None:
    for arguments in ([], ["nowhere"], ["a.txt"], ["empty.d"]):
        write({"a.txt": "x", "empty.d/x.txt": "y"})
        ran = run("check", *arguments)
        assert (ran.code, ran.out) == (2, "") and ran.err.count("\n") == 1, arguments


def test_one_file_is_checked_with_all_that_it_builds_on() -> None:
    write(
        {
            "t/mine/layout.yaml": "base: chunks",
            "t/mine/item.md.j2": "{{ a }}",
            "t/mine/item.txt.j2": "{{ b }}",
        }
    )
    assert found("t/mine/item.md.j2") == ["t/mine/item.md.j2:1:4: PF802"]
    assert found("t/mine") == ["t/mine/item.md.j2:1:4: PF802", "t/mine/item.txt.j2:1:4: PF802"]
    assert found("t") == found("t/mine")


def test_prompts_are_checked_from_wherever_they_are_named() -> None:
    path = "t/prompt/ours/question.txt.j2"
    write({path: "{{ qestion }}", "t/prompt/ours/system.txt.j2": "{{ sytem }}"})
    for name in ("t", "t/prompt", "t/prompt/ours"):
        assert len(found(name)) == 2
    assert found(path) == [f"{path}:1:4: PF802"]
    for folder, name in (
        ("t/prompt/ours", "question.txt.j2"),
        ("t/prompt", "ours/question.txt.j2"),
    ):
        assert "question.txt.j2:1:4: PF802" in run("check", name, cwd=Path(folder)).out


@pytest.mark.slow
def test_templates_that_include_each_other_without_end_are_read_in_no_time() -> None:
    for n in range(40):  # 2 to the 40 ways
        text = f'{{% include "mine/_{n + 1}.md.j2" %}}' * 2
        write({f"templates/mine/_{n}.md.j2": text if n < 39 else "{{ nosuch }}"})
    write(
        {
            "templates/mine/layout.md.j2": '{% include "mine/_0.md.j2" %}',
            "templates/mine/item.md.j2": ITEM,
        }
    )
    assert found() == ["templates/mine/_39.md.j2:1:4: PF802"]
    write({"templates/mine/_39.md.j2": "x"})
    assert found() == ["templates/mine/_38.md.j2:1:1: PF817"]  # where its fuel was used up


LOOP = "{% for a in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] %}"
HEAVY = [
    LOOP * 9 + "x" + "{% endfor %}" * 9,
    "{% for a in item.content %}" * 9 + "x" + "{% endfor %}" * 9,
    '{% set a = "x" %}' + "{% set a = a ~ a %}" * 60 + "{{ a }}",
    "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro a0() %}x{% endmacro %}"
    + "".join(
        f"{{% macro a{n + 1}() %}}{{{{ a{n}() }}}}{{{{ a{n}() }}}}{{% endmacro %}}"
        for n in range(40)
    )
    + "{{ a40() }}",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", HEAVY)
def test_a_sample_that_does_too_much_is_broken_off(text: str) -> None:
    write({"templates/mine/layout.yaml": "base: chunks", "templates/mine/item.txt.j2": text})
    code = "PF814" if "m()" in text else "PF817"  # a macro that calls itself is said so
    assert f"templates/mine/item.txt.j2:1:1: {code}" in found()


@pytest.mark.parametrize(
    "text", ["{{ " + "(" * 5000, "{% if 1 %}" * 3000, "{{ a" + ".b" * 5000 + " }}", "{" * 9999]
)
def test_what_nests_without_end_is_said_and_not_followed(text: str) -> None:
    write({"templates/mine/layout.yaml": "base: chunks", "templates/mine/item.md.j2": text})
    assert all("templates/mine/item.md.j2" in line for line in found())


def test_bytes_that_are_no_text_and_files_too_large() -> None:
    write(
        {
            "templates/mine/layout.yaml": "base: chunks",
            "templates/mine/item.md.j2": b"\xff\xfe",
            "profiles/a.yaml": b"\xff",
        }
    )
    write({"templates/mine/item.txt.j2": "x" * 300_000})
    assert found() == [
        "profiles/a.yaml: PF825",
        "templates/mine/item.md.j2: PF825",
        "templates/mine/item.txt.j2: PF825",
    ]


def test_a_link_out_of_the_folder_is_not_followed() -> None:
    write({"secret.txt": "secret", "templates/mine/layout.yaml": "base: chunks"})
    Path("templates/mine/item.md.j2").symlink_to(Path("secret.txt").absolute())
    assert found() == ["templates/mine/item.md.j2: PF824"]
    assert "secret" not in run("check", "--json").out


def test_no_vocabulary_is_loaded_unless_costs_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def counter(name: str) -> Counter:
        asked.append(name)
        return get_tokenizer("characters")

    monkeypatch.setattr(samples, "get_tokenizer", counter)
    write({"templates/mine/item.md.j2": LONG, "templates/mine/layout.yaml": "base: chunks"})
    assert run("check", "--no-costs").code == 0 and set(asked) == {"characters"}
    assert run("check").code == 0 and set(asked) == {"characters", "o200k_base"}


def test_a_piece_that_only_shipped_pages_draw_on_is_read_and_not_unused() -> None:
    shipped = (ROOT / "templates" / "_page.md.j2").read_text("utf-8")
    write({"templates/_page.md.j2": shipped + "{{ headr }}"})
    line = shipped.count("\n") + 1
    assert found() == [f"templates/_page.md.j2:{line}:4: PF802"]


def test_a_profile_may_name_what_lies_beside_it() -> None:
    write({"templates/mine/layout.yaml": "base: chunks", "profiles/a.yaml": "layout: mine"})
    assert found("profiles") == found("profiles/a.yaml") == []


@pytest.mark.slow
@pytest.mark.unwatched
def test_thousands_of_files() -> None:
    for n in range(200):
        write(
            {
                f"templates/l{n}/layout.yaml": "base: chunks",
                f"templates/l{n}/item.md.j2": "{{ item.pth }}",
            }
        )
    targets = LintTargets()
    targets.add(Path("templates"))
    report = check(targets)
    assert report.files == 400 and len(report.findings) == 200


# --- codes ----------------------------------------------------------------------------------------

CODES = load_codes()


def test_every_code_that_the_source_says_is_explained_and_no_other() -> None:
    said = {
        code
        for path in (ROOT / "promptforge").rglob("*.py")
        for code in re.findall(r'"(PF\d{3})"', path.read_text(encoding="utf-8"))
    }
    assert said == set(CODES)
    assert list(CODES) == sorted(CODES)


@pytest.mark.parametrize("code", CODES)
def test_an_explanation_is_whole(code: str) -> None:
    ran = run("rule", code.lower())
    assert ran.code == 0 and ran.out.startswith(f"{code} (")
    assert "Example:" in ran.out and "Way out: " in ran.out
    assert all(CODES[code])
    assert max(map(len, ran.out.splitlines())) <= 160


def test_a_code_that_is_not_there() -> None:
    ran = run("rule", "PF999")
    assert ran.code == 2 and ran.err.count("\n") == 1
    assert run("rule").out.count("\n") == len(CODES)


@pytest.mark.slow
@pytest.mark.unwatched
def test_a_copy_of_all_that_is_shipped_stands_in_for_it() -> None:
    shutil.copytree(ROOT / "templates", "templates")
    assert found() == []
    assert {line.split(": ")[1] for line in found(notes=True)} == {"PF823"}


@pytest.mark.slow
def test_items_that_share_a_line_are_found_at_the_file_that_lets_them() -> None:
    write({"templates/entities/layout.yaml": 'separator: " "\n'})
    assert found() == ["templates/entities/layout.yaml: PF846"]
    write({"templates/entities/layout.yaml": 'separator: "\\n"\n'})
    assert found() == []
    page = "{% for item in items %}{{ item.text }}{% endfor %}"
    write({"templates/mine/layout.txt.j2": page, "templates/mine/item.txt.j2": ITEM})
    assert found() == ["templates/mine/layout.txt.j2: PF846"]
    write({"templates/mine/layout.txt.j2": "{% for item in items %}{{ item.text }}\n{% endfor %}"})
    assert found() == []


@pytest.mark.slow
def test_the_settings_of_all_layouts_are_checked() -> None:
    write(
        {
            "templates/layout.yaml": "base: chunks\nwords: {gap: '{count}'}\n"
            "kinds: {runbook: {trim_as: manpage}}\n"
        }
    )
    assert found() == [
        "templates/layout.yaml:1:1: PF831",
        "templates/layout.yaml:2:14: PF832",
        "templates/layout.yaml:3:28: PF832",
    ]
    write(
        {
            "templates/layout.yaml": "words: {gap: '...'}\n",
            "templates/chunks/layout.yaml": "base: shipped/knowledge\n",
        }
    )
    assert found() == found("templates") == found("templates/layout.yaml") == []


# --- messages -------------------------------------------------------------------------------------

FOLDER = GOLDEN / "errors" / "check"
SILENT = {"an empty profile"}


class Case(NamedTuple):
    """One mistake."""

    title: str
    text: str
    """All of the case, as it stands in its file."""
    files: dict[str, str]
    said: str


def cases(path: Path) -> list[Case]:
    """Return the cases of a file of cases."""
    everywhere, *blocks = re.split(r"(?m)^=== ", path.read_text(encoding="utf-8"))
    common = _files(everywhere)
    found = []
    for block in blocks:
        title, _, rest = block.partition("\n")
        given, _, said = rest.partition(">>>\n")
        found.append(Case(title, rest, common | _files(given), said))
    return found


def _files(text: str) -> dict[str, str]:
    parts = re.split(r"(?m)^--- (.*)\n", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


CASES = {path: cases(path) for path in sorted(FOLDER.glob("*.txt"))}


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=lambda path: str(path.stem))
def test_what_is_said_of_a_mistake(path: Path, tmp_path: Path, update_golden: bool) -> None:
    for number, case in enumerate(CASES[path]):
        work = tmp_path / str(number)
        for name, text in case.files.items():
            file = work / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        ran = run("check", "--quiet", cwd=work)
        if update_golden:
            whole = path.read_text(encoding="utf-8")
            new = case.text.removesuffix(case.said) + ran.out
            path.write_text(
                whole.replace(f"=== {case.title}\n{case.text}", f"=== {case.title}\n{new}", 1),
                "utf-8",
            )
            continue
        assert ran.out == case.said, case.title
        assert ran.err == ""
        assert ran.code == int(bool(ran.out)) and bool(ran.out) is (case.title not in SILENT), (
            case.title
        )
        assert "Jinja" not in ran.out, case.title


def test_there_are_many() -> None:
    titles = [case.title for each in CASES.values() for case in each]
    assert len(titles) == len(set(titles)) >= 90
