"""The shipped templates and their contracts, the order of folders, and refused templates."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2 import nodes
from places import TESTS

import promptforge as pf
from promptforge.config.options import PROMPT_PARTS
from promptforge.errors import OptionError, ProfileError, TemplateError
from promptforge.files import (
    FORMAT_EXTENSIONS,
    MAX_TEMPLATE_BYTES,
    TemplateFile,
    read_template_file,
    shipped_folder,
)
from promptforge.templating import loader
from promptforge.templating.language import FILTERS, Fields
from promptforge.templating.loader import Templates

SHIPPED = Templates()
NAMES = [name for name in SHIPPED.names() if name.endswith(".j2")]
LAYOUTS = [
    "chunks",
    "chunks-compact",
    "cited",
    "context",
    "documents",
    "entities",
    "knowledge",
    "knowledge-long",
]
ITEM = {"content": "x = 1", "path": "a.py", "kind": "code", "start_line": 1, "end_line": 1}
PAGE = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"


def write(folder: Path, files: Mapping[str, str]) -> Templates:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Templates([folder])


def refusal(folder: Path, source: str, ending: str = "txt") -> str:
    templates = write(folder, {f"t/item.{ending}.j2": source})
    with pytest.raises(TemplateError) as caught:
        templates.compile(f"t/item.{ending}.j2")
    return str(caught.value)


def render(folder: Path, item: str, ending: str = "txt", page: str = PAGE, **record: object) -> str:
    write(folder, {f"t/layout.{ending}.j2": page, f"t/item.{ending}.j2": item})
    format = next((f for f, e in FORMAT_EXTENSIONS.items() if e == ending), ending)  # noqa: A001
    return pf.render([{**ITEM, **record}], templates=folder, layout="t", format=format).text


# --- the shipped ones -----------------------------------------------------------------------------


def parse(name: str) -> nodes.Template:
    return jinja2.Environment(trim_blocks=True, lstrip_blocks=True).parse(SHIPPED.source(name)[0])


def compiled(name: str) -> Any:
    """Return the facts about one template alone, without those it draws on."""
    SHIPPED.compile(name)
    return SHIPPED._environment.facts(name)


def said(comment: str, word: str) -> set[str]:
    """Return the names after `Uses:` or `Blocks:` in a comment, without the words in brackets."""
    match = re.search(rf"\b{word}s?: (.*?)\.(?:\s|$)", re.sub(r"\([^)]*\)", "", comment))
    return {re.split(r"\s", part.strip())[0] for part in match[1].split(",")} if match else set()


@pytest.mark.parametrize("name", NAMES)
def test_the_first_comment_of_a_template_names_what_it_uses(name: str) -> None:
    source, found = SHIPPED.source(name)
    assert found.shipped
    match = re.match(r"\{# ([A-Z].*?) #\}\n", source, re.DOTALL)
    assert match, "a template begins with a comment, on lines of its own"
    comment = " ".join(match[1].split())
    assert re.match(r"[^:]*[^:]\. |.*\.$|.*: .*\. ", comment), "a sentence comes first"
    root = parse(name)
    own = compiled(name)
    assert said(comment, "Use") == own.names
    parents = [node for node in root.body if isinstance(node, nodes.Extends)]
    inherited = {b.name for p in own.parents if parents for b in parse(p).find_all(nodes.Block)}
    assert said(comment, "Block") == {b.name for b in root.find_all(nodes.Block)} - inherited
    if parents:
        assert source[match.end() :].startswith("{% extends "), "a line between would be printed"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("format", FORMAT_EXTENSIONS)
def test_every_layout_has_every_format(layout: str, format: str) -> None:
    assert SHIPPED.formats(layout) == list(FORMAT_EXTENSIONS)
    assert SHIPPED.settings(layout).description
    assert "x = 1" in pf.render([ITEM], layout=layout, format=format, on_error="raise").text


def test_the_shipped_layouts() -> None:
    assert SHIPPED.layouts() == LAYOUTS


def test_every_shipped_template_is_read_by_some_look_or_by_another_template() -> None:
    used = {name for name in NAMES if name.startswith("prompt/")}
    assert {name.split("/")[2].split(".")[0] for name in used} == {*PROMPT_PARTS, "prompt"}
    for layout in LAYOUTS:
        for format in FORMAT_EXTENSIONS:  # noqa: A001
            todo = SHIPPED.layout(layout, format).files()
            while todo:
                name = todo.pop()
                used.add(name)
                todo += compiled(name).parents
    assert used == set(NAMES)


# --- what is found where --------------------------------------------------------------------------


def test_the_first_folder_wins_and_shipped_is_always_the_original(tmp_path: Path) -> None:
    for number in ("one", "two"):
        write(tmp_path / number, {"chunks/item.txt.j2": number})
    write(tmp_path / "two", {"chunks/error.txt.j2": "error"})
    templates = Templates([tmp_path / "one", tmp_path / "two"])
    assert templates.source("chunks/item.txt.j2")[0] == "one"
    assert templates.source("chunks/error.txt.j2")[0] == "error"
    assert templates.source("chunks/item.md.j2")[1].shipped
    text, found = templates.source("shipped/chunks/item.txt.j2")
    assert text == SHIPPED.source("chunks/item.txt.j2")[0]
    assert found.shipped


def test_a_kinds_own_look_comes_before_item_and_both_before_the_bases(tmp_path: Path) -> None:
    files = {
        "low/layout.txt.j2": PAGE,
        "low/item.txt.j2": "low item",
        "low/code.txt.j2": "low code",
        "high/layout.yaml": "base: low",
        "high/item.txt.j2": "high item",
    }
    look = write(tmp_path, files).layout("high", "plain")
    assert look.printer("text", {})(Fields(), 0)[0] == "high item"
    assert look.printer("code", {})(Fields(), 0)[0] == "low code"
    assert look.page_name == "low/layout.txt.j2"
    assert look.files() == ["high/item.txt.j2", "low/code.txt.j2", "low/layout.txt.j2"]


@pytest.mark.parametrize(
    "kind", ["layout", "item", "_part", "../chunks/item", "a/b", "Code", "", "x" * 65, "a.b", "é"]
)
def test_a_kind_that_is_no_plain_word_looks_like_any_item(kind: str, tmp_path: Path) -> None:
    look = write(
        tmp_path, {"t/layout.txt.j2": PAGE, "t/item.txt.j2": "item", "t/_part.txt.j2": "part"}
    ).layout("t", "plain")
    assert look.printer(kind, {})(Fields(), 0)[0] == "item"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../outside.md.j2",
            "t/../../outside.md.j2",
            "t/..",
            "/etc/passwd",
            "t//item.md.j2",
            "./t/item.md.j2",
            "",
        ),
        *(
            "t/item.md.j2\n",
            "t\\item.md.j2",
            "-t/item.md.j2",
            ".hidden",
            "t/\0",
            "shipped/../x",
            "shipped/",
            "~/x",
        ),
    ],
)
def test_a_name_that_is_no_name_is_not_found(name: str, tmp_path: Path) -> None:
    (tmp_path / "outside.md.j2").write_text("secret")
    templates = write(tmp_path / "mine", {"t/item.md.j2": "x"})
    assert templates.find("t/item.md.j2") is not None
    assert templates.find(name) is None
    with pytest.raises(TemplateError, match="there is no template"):
        templates.source(name)


def test_a_link_that_leaves_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside.txt.j2").write_text("secret")
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "item.txt.j2").write_text("secret")
    write(tmp_path / "mine", {"t/real.txt.j2": "real"})
    (tmp_path / "mine" / "t" / "item.txt.j2").symlink_to(tmp_path / "outside.txt.j2")
    (tmp_path / "mine" / "u").symlink_to(tmp_path / "far")
    (tmp_path / "mine" / "t" / "near.txt.j2").symlink_to("real.txt.j2")
    templates = Templates([tmp_path / "mine"])
    assert templates.find("t/item.txt.j2") is None
    assert templates.find("u/item.txt.j2") is None
    assert templates.source("t/near.txt.j2")[0] == "real"


def test_a_folder_that_is_a_link_is_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "real", {"t/item.txt.j2": "x"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Templates([tmp_path / "link"]).source("t/item.txt.j2")[0] == "x"


def test_a_file_too_large_or_not_utf8_is_refused_with_its_path(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"t/big.txt.j2": "x" * (MAX_TEMPLATE_BYTES + 1), "t/full.txt.j2": "x" * MAX_TEMPLATE_BYTES},
    )
    (tmp_path / "t" / "bad.txt.j2").write_bytes(b"caf\xe9")
    templates = Templates([tmp_path])
    assert templates.compile("t/full.txt.j2")
    for name, words in (
        ("t/big.txt.j2", "larger than 256 kB"),
        ("t/bad.txt.j2", "line 1 is not UTF-8 text"),
    ):
        with pytest.raises(TemplateError, match=words) as caught:
            templates.compile(name)
        assert caught.value.where == str(tmp_path / name)


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "item.txt.j2").write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert Templates([tmp_path]).source("t/item.txt.j2")[0] == "a\nb"


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="there is no template folder"):
        Templates([tmp_path / "none"])


def test_unknown_layouts_and_formats_name_the_nearest() -> None:
    with pytest.raises(OptionError, match='there is no layout "chunk"; did you mean "chunks"'):
        SHIPPED.layout("chunk", "markdown")
    with pytest.raises(OptionError, match='has no format "markdwon"; did you mean "markdown"'):
        SHIPPED.layout("chunks", "markdwon")
    with pytest.raises(OptionError, match=r'there is no layout "\.\./x"'):
        SHIPPED.layout("../x", "markdown")


def test_layouts_based_on_each_other_are_named_in_their_circle(tmp_path: Path) -> None:
    templates = write(tmp_path, {"a/layout.yaml": "base: b", "b/layout.yaml": "base: a"})
    with pytest.raises(TemplateError, match="the layouts a → b → a are based on each other"):
        templates.settings("a")
    templates = write(tmp_path, {"a/layout.yaml": "base: chunsk"})
    with pytest.raises(TemplateError, match='there is no layout "chunsk"; did you mean "chunks"'):
        templates.settings("a")


def test_an_unknown_key_of_a_layout_names_file_line_and_the_nearest(tmp_path: Path) -> None:
    templates = write(tmp_path, {"t/layout.yaml": "base: chunks\nseparater: x\n"})
    with pytest.raises(
        ProfileError, match=r'layout\.yaml:2: unknown key "separater"; did you mean "separator"'
    ):
        templates.settings("t")


# --- what a template may not do -------------------------------------------------------------------

OUTSIDE: dict[str, tuple[str, str]] = {
    "multiplication": ("{{ 'a' * 9 }}", '"*" is not part'),
    "power": ("{{ 9 ** 9 }}", '"**" is not part'),
    "division": ("{{ 9 / 3 }}", '"/" is not part'),
    "floor division": ("{{ 9 // 3 }}", '"//" is not part'),
    "modulo": ("{{ '%s' % 3 }}", '"%" is not part'),
    "a slice": ("{{ item.content[0:2] }}", '"slice" is not part'),
    "a filter block": ("{% filter upper %}x{% endfilter %}", '"filterblock" is not part'),
    "a call block": (
        "{% macro m() %}{% endmacro %}{% call m() %}x{% endcall %}",
        '"callblock" is not part',
    ),
    "with": ("{% with a = 1 %}{{ a }}{% endwith %}", '"with" is not part'),
    "autoescape": ("{{ item }}{% autoescape false %}{{ item }}{% endautoescape %}", "is not part"),
    "import as": ('{% import "chunks/item.txt.j2" as c %}', '"import" is not part'),
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
    "safe": ("{{ item.name | safe }}", 'unknown filter "safe"'),
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


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ item.pth }}", 'there is no field "pth"; did you mean "path"?'),
        ("{{ item.author }}", "is in its metadata: item.metadata.author"),
        ("{% for a, b in item.metadata %}{% endfor %}", "for takes one name: of fields the key"),
        ("{{ itm.path }}", 'unknown variable "itm"; did you mean "item"?'),
        ("{{ headrs }}", 'unknown variable "headrs"; did you mean "headers"?'),
        ("{{ item.name.first }}", '"first" was asked of nothing (null), which has no fields'),
        ("{{ item.path.first }}", '"first" was asked of a str, which has no fields'),
        (
            "{% for a in item.score %}{% endfor %}",
            "a loop goes through a list, and this is a float",
        ),
        ("{% for x in items %}{% endfor %}", 'unknown variable "items"'),
        (
            '{% include "t/itm.txt.j2" %}',
            'there is no template "t/itm.txt.j2"; did you mean "t/item.txt.j2"?',
        ),
    ],
)
def test_what_is_not_there_is_named_with_the_nearest(
    source: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(TemplateError) as caught:
        render(tmp_path, f"one\n{source}", metadata={"key": 1})
    assert words in str(caught.value)


def test_metadata_is_an_open_set(tmp_path: Path) -> None:
    item = "{{ item.metadata.a.b }}|{{ item.metadata.a.none }}"
    item += "|{{ item.metadata.none }}|{{ item.metadata.none is none }}"
    assert render(tmp_path, item, metadata={"a": {"b": 1}}).strip() == "1|||true"


def test_a_template_that_draws_on_itself_is_told_of_the_original(tmp_path: Path) -> None:
    for files in (
        {"chunks/layout.md.j2": '{% extends "chunks/layout.md.j2" %}'},
        {"chunks/item.md.j2": '{% include "chunks/item.md.j2" %}'},
        {
            "chunks/item.md.j2": '{% include "chunks/other.md.j2" %}',
            "chunks/other.md.j2": '{% include "chunks/item.md.j2" %}',
        },
    ):
        name = next(iter(files))
        templates = write(tmp_path / str(len(files)) / name.split("/")[1], files)
        with pytest.raises(TemplateError, match=f"extends or includes itself.*shipped/{name}"):
            templates.facts(name)
        result = pf.render([ITEM], templates=templates.folders[0], layout="chunks")
        assert result.text == pf.render([ITEM], layout="chunks").text
        assert "itself" in result.warnings[0].message


# --- a template that fails ------------------------------------------------------------------------

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
        pf.render([ITEM], templates=tmp_path, layout="chunks", on_error="raise")
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


# --- what filters and tests do --------------------------------------------------------------------


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
            "2.3 2 0 1" + "0" * 22,
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


def test_a_text_that_is_replaced_again_and_again_runs_out_of_fuel(tmp_path: Path) -> None:
    double = "{% set a = a | replace('x', 'xx') %}"
    with pytest.raises(TemplateError, match="too much work"):
        render(tmp_path, "{% set a = 'x' %}" + double * 40 + "{{ a }}")


@pytest.mark.parametrize(
    "change", ["upper", "replace('~', '')", "title", "truncate(30)", "indent(2)"]
)
def test_no_filter_makes_a_content_into_a_line_of_the_template(change: str, tmp_path: Path) -> None:
    item = "SOURCE: {{ item.path }}\n{{ item.content | " + change + " }}"
    content = "text\nsource: a\nS~OURCE: b\nSource: c"
    text = render(tmp_path, item, "txt", path="p.py", content=content)
    assert [line for line in text.splitlines() if line.startswith("SOURCE")] == ["SOURCE: p.py"]


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
    tried = Path(__file__).read_text(encoding="utf-8") + (
        TESTS / "unit" / "text" / "test_escape.py"
    ).read_text("utf-8")
    assert [name for name in FILTERS if not re.search(rf"\| {name}\b", tried)] == []


def test_shipped_files_are_read_again_where_one_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(shipped_folder("templates"), tmp_path / "templates")
    item = copy / "chunks" / "item.md.j2"
    looked: list[Path] = []

    def read(path: Path) -> TemplateFile:
        looked.append(path)
        return read_template_file(path)

    monkeypatch.setattr(loader, "shipped_folder", lambda _: copy)
    monkeypatch.setattr(loader, "read_template_file", read)
    for text in (item.read_text("utf-8"), "{# One. #}\nnew\n", "{# One. #}\nnewer\n"):
        item.write_text(text, encoding="utf-8")
        for _ in range(2):
            assert Templates().source("chunks/item.md.j2")[0] == text
    assert looked == [item] * 3  # and none of the others
