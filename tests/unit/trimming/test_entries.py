"""Shorter data: the lines of the original, still readable, with the names of things."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from shipped_words import marks

import promptforge as pf
from promptforge.trimming.entries import divide
from promptforge.trimming.pieces import Pieces

MARKER = "[cut]"
WORDS = st.sampled_from(["name", "kind", "spec", "ports", "run", "a b", "x: y", "'", '"', "#5", ""])
SCALARS = st.one_of(
    WORDS,
    st.integers(-5, 99),
    st.booleans(),
    st.none(),
    st.just("one line\nand one more\n\n  deeper # no comment\n"),
    st.just("- no item\n---\nkey: no key"),
    st.just("long " * 40),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.dictionaries(st.sampled_from("abcdefg") | WORDS, inner, max_size=6),
    ),
    max_leaves=40,
)
STYLES = st.fixed_dictionaries(
    {
        "default_flow_style": st.sampled_from([False, None]),
        "default_style": st.sampled_from([None, None, '"', "'", "|", ">"]),
        "indent": st.integers(2, 4),
        "width": st.sampled_from([30, 80, 1000]),
        "explicit_start": st.booleans(),
    }
)


def pieces_of(text: str, language: str = "yaml") -> Pieces:
    found = divide(text, marks=marks(MARKER), language=language)
    assert found is not None
    return found


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the place of each scalar that is no text, and of each text as it begins."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, str(key)))
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, (*path, "[]"))
    elif isinstance(value, str):
        yield path, "text"
    elif value is not None:
        yield path, repr(value)


@pytest.mark.slow
@given(st.lists(VALUES, min_size=1, max_size=3), STYLES)
@cases(200)
def test_shorter_yaml_is_yaml_with_values_of_the_original_in_their_places(
    values: list[Any], style: dict[str, Any]
) -> None:
    text = yaml.safe_dump_all(values, sort_keys=False, allow_unicode=True, **style)
    found = divide(text, marks=marks(MARKER))
    if found is None:
        return
    assert "".join(part.text for part in found.parts) == text
    whole = {leaf for value in yaml.safe_load_all(text) for leaf in leaves(value)}
    shorter = found.variants()
    for number in range(0, len(shorter), max(1, len(shorter) // 10)):
        short = shorter[number].text
        assert MARKER in short
        left = {leaf for value in yaml.safe_load_all(short) for leaf in leaves(value)}
        # A text within a text may have lost its end, and what was a mapping may be empty.
        assert left <= whole, short


SERVICES = "".join(
    f"---\napiVersion: v1\nkind: Service\nmetadata:\n  name: svc{number}\n  labels:\n"
    f"    app: x{number}\n    tier: backend\n    zone: eu\nspec:\n  ports:\n"
    + "".join(f"  - port: {8000 + port}\n    name: p{port}\n" for port in range(12))
    for number in range(4)
)


def test_each_document_keeps_its_name_longest() -> None:
    found = pieces_of(SERVICES)
    short = next(each for each in found.variants() if len(each.text) < len(SERVICES) // 4).text
    assert [each["metadata"]["name"] for each in yaml.safe_load_all(short)] == [
        "svc0",
        "svc1",
        "svc2",
        "svc3",
    ]


def test_what_is_found_of_a_document_stands_under_its_name() -> None:
    item = pf.Item(content=SERVICES, path="k8s.yaml", kind="code", language="yaml")
    text = pf.render([item], max_tokens=120, query="which port has svc2").text
    assert "name: svc2" in text and "port: 8000" in text
    assert not any(f"name: svc{number}" in text for number in (0, 1, 3))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        # Items in the column of their key are under it.
        (
            "on:\n- push\n- pull\njobs:\n- a\n- b\n- c\n",
            ["on:\n- push\n- pull\n", "jobs:\n", "- a\n", "- b\n", "- c\n"],
        ),
        # A text stays under its key line by line; blank lines go with the one before.
        (
            "run: |\n  a\n\n  # b\n  c: d\nnext: 1\n",
            ["run: |\n", "  a\n\n", "  # b\n", "  c: d\n", "next: 1\n"],
        ),
        # A quoted text may go on in any column, a list in brackets end in that of its key.
        (
            'a: "x\ny: z\nw"\nb: [\n  1,\n  2\n]\nc: 3\n',
            ['a: "x\ny: z\nw"\n', "b: [\n  1,\n  2\n]\n", "c: 3\n"],
        ),
        # Comments go with the entry below them, a long one is a piece.
        ("# 1\na: 1\n# 2\nb: 2\n", ["# 1\na: 1\n", "# 2\nb: 2\n"]),
        ("#\n" * 5 + "a: 1\nb: 2\n", ["#\n" * 5, "a: 1\n", "b: 2\n"]),
        # The first names under a head are one piece with it.
        (
            "steps:\n  - name: Build\n    uses: x\n    with: {}\n    env: {}\n",
            ["steps:\n", "  - name: Build\n    uses: x\n", "    with: {}\n", "    env: {}\n"],
        ),
        # A template of Helm is read by its lines.
        (
            "a:\n  {{- if .x }}\n  b: 1\n  {{- end }}\nc: 2\n",
            ["a:\n", "  {{- if .x }}\n", "  b: 1\n", "  {{- end }}\n", "c: 2\n"],
        ),
        ("a: 1\r\nb:\r\n  - x\r\n  - y\r\n  - z\r\n", None),
    ],
)
def test_the_pieces(text: str, parts: list[str] | None) -> None:
    found = pieces_of(text)
    texts = [part.text for part in found.parts]
    assert texts == (parts or text.splitlines(keepends=True))


def test_an_anchor_stays_while_its_name_is_used() -> None:
    text = "all:\n  base: &base\n    x: 1\n    y: 2\n    z: 3\n" + "".join(
        f"name{number}: *base\n" for number in range(9)
    )
    for each in pieces_of(text).variants():
        yaml.safe_load(each.text)  # it fails where a name has no anchor


def each_part(text: str, language: str = "yaml") -> Iterator[str]:
    """Yield what is left of a text for each of its pieces alone, and for all but each."""
    pieces = pieces_of(text, language)
    numbers = range(len(pieces.parts))
    for number in numbers:
        yield pieces.text([number])
        yield pieces.text(set(numbers) - {number})
    for variants in (pieces.variants(), pieces.outlines()):
        yield from (variant.text for variant in variants)


@pytest.mark.parametrize(
    "text",
    [
        # An alias needs its anchor, also where that is in a list, or behind a tag.
        "a: &x 1\nb: 2\nc: [&y 3, 4]\nd: *x\ne: *y\nf: 5\ng: *x\nh:\n  <<: {i: *y}\n",
        "a:\n- !t &x\n  b: 1\n  c: 2\n  d: 3\n  e: 4\n- 5\n- *x\n",
        "a:\n  &x\n  b: 1\n  c: 2\n  d: 3\n  e: 4\nf: *x\n",
        # A text, a quoted one, a list in brackets may begin below their key and have any columns.
        "a:\n  one\n  two\n  three\n  four\nb: 1\n",
        "a:\n    one\n  two\n    three\n  four\nb: 1\n",
        "a:\n- b:\n    'one: 1\n    two'\n  c:\n    [1,\n    2,\n    3]\n  d: 4\n- e\n",
        "a: [\n1, # ]\n2\n]\nb: {c: [\n3\n], d: 4}\ne: 'x \\\ny'\nf: 5\n",
        "- 'one: 1\n  two'\n- three\n- four\n",
        # A comment may stand behind the mark of an item.
        "- # one\n  a: 1\n  b: 2\n  c: 3\n  d: 4\n- # two: 2\n  a: 5\n  b: 6\n  c: 7\n  d: 8\n",
        # A directive needs its document, the end of the one before it, and a few comments.
        "%TAG !e! tag:e,1:\n---\n!e!a\nb: 1\nc: 2\n...\n# 1\n# 2\n# 3\n# 4\n# 5\n%TAG !e! tag:e,2:\n---\n!e!a\nb: 3\n",
        # A text ends at a comment that is less deep than its first line.
        "--- >\n  one\n  two\n  three\n\n# four\n--- |2\n    one\n  two\n  three\n  four\n---\na: 1\nb: 2\n",
        # What opens a text below its key may be deeper than it, have a tag, and a comment.
        "a :\n  !t |+ # b: c\n first\n [d\n   # e\n k: f\n # g\nh:\n- !t > # i: j\n  first\n  k: l\n  # m\n- [n,\n  o]\n",
        # A key may have lines of its own.
        "a: 1\n? - b\n  - c\n: d\n? e: f\n: - g\n  - h\ni: 2\n",
    ],
)  # fmt: skip
def test_every_part_of_yaml_is_yaml(text: str) -> None:
    whole = {leaf for node in yaml.compose_all(text) for leaf in _nodes(node)}
    for part in each_part(text):
        left = {leaf for node in yaml.compose_all(part) for leaf in _nodes(node)}
        # A value may be left out under its key, and an item may be the first.
        assert left <= whole, part


def _nodes(node: Any, path: tuple[Any, ...] = ()) -> Iterator[Any]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _nodes(value, (*path, node.tag, str(yaml.serialize(key))))
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _nodes(value, (*path, node.tag))
    elif node is not None and node.value and node.style not in ("|", ">"):
        yield *path, node.tag, node.value


def test_keys_of_ruby_have_names() -> None:
    text = ":a: |\n  x\n  y: z\n  w\n:b:\n  :c: 1\n"
    assert [part.text for part in pieces_of(text).parts] == [
        ":a: |\n", "  x\n", "  y: z\n", "  w\n", ":b:\n  :c: 1\n",
    ]  # fmt: skip


def test_a_list_of_hundreds_leaves_room_for_the_rest() -> None:
    text = (
        "words:\n" + "".join(f"  - word{n}\n" for n in range(400)) + "last:\n  port: 1\n  to: 2\n"
    )
    short = next(each for each in pieces_of(text).variants() if len(each.text) < 200).text
    assert "port: 1" in short and "- word0" in short


@pytest.mark.parametrize(
    ("language", "text", "parts"),
    [
        (
            "ini",
            "; all\n[a]\nx = 1\ny =\n  1\n  2\nz = 2\n\n[b]\nx = 1\n\n",
            ["; all\n[a]\n", "x = 1\n", "y =\n  1\n  2\n", "z = 2\n\n", "[b]\nx = 1\n\n"],
        ),
        (
            "toml",
            't = """\n[x]\n"""\nl = [\n"]",\n[1],\n]\n\n[a]\nname = 1\nb = 2\nc = 3\nd = 4\n',
            ['t = """\n[x]\n"""\n', 'l = [\n"]",\n[1],\n]\n\n', "[a]\nname = 1\n", "b = 2\n", "c = 3\n", "d = 4\n"],
        ),
        ("properties", "a = 1, \\\n2\nb: 3\nc\n", ["a = 1, \\\n2\n", "b: 3\n", "c\n"]),
        (
            "dockerfile",
            "FROM x AS y\nRUN a && \\\n b\nENV C=1\nCMD d\nfrom z\nCMD e\n",
            ["FROM x AS y\n", "RUN a && \\\n b\n", "ENV C=1\n", "CMD d\n", "from z\nCMD e\n"],
        ),
        (
            "csv",
            'a,b\n1,"x\ny"\n\n2,5" pipe\n3,z\n',
            ["a,b\n", '1,"x\ny"\n\n', '2,5" pipe\n', "3,z\n"],
        ),
        ("toml", 'a = """\n' * 9, ['a = """\na = """\n'] * 4 + ['a = """\n']),
    ],
)  # fmt: skip
def test_the_pieces_of_settings_and_tables(language: str, text: str, parts: list[str]) -> None:
    assert [part.text for part in pieces_of(text, language).parts] == parts


def test_the_first_row_of_a_table_always_stays() -> None:
    text = "id,name\n" + "".join(f"{number},user{number}\n" for number in range(200))
    item = pf.Item(content=text, path="users.csv", kind="file", language="csv")
    for query, wanted in ((None, "0,user0\n"), ("which number has user77", "77,user77\n")):
        shown = pf.render([item], max_tokens=80, query=query).text
        assert "id,name\n" in shown and wanted in shown


def test_a_setting_stands_under_its_section() -> None:
    text = "".join(
        f"[part{n}]\nhost = h{n}\nport = {8000 + n}\nlog = no\nx = 1\n" for n in range(30)
    )
    for language in ("ini", "toml", "properties"):
        item = pf.Item(content=text, path="a", kind="file", language=language)
        shown = pf.render([item], max_tokens=90, query="which port has part13").text
        assert "[part13]\n" in shown and "port = 8013\n" in shown


@pytest.mark.parametrize("text", ["", "a: 1\n", "just a text\n", "\n\n", "# comment\n"])
def test_a_single_entry_has_no_pieces(text: str) -> None:
    assert divide(text, marks=marks(MARKER)) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["! " * 20_000, "a: " + "!" * 20_000 + " x", "'" * 20_000, "a:" * 20_000, "- " * 20_000,
     "k: 'x\n" * 10_000, "<!--" * 20_000, "<!" * 20_000, "<a " * 20_000, "<a>\n" * 900 + "</a>\n" * 900, "a = [\n" * 10_000, 'a,"\n' * 10_001, "".join(" " * n + "a:\n" for n in range(900)), "a: |\n" + " \n" * 10_000],
)  # fmt: skip
def test_odd_texts_take_linear_time(text: str) -> None:
    for language in ("yaml", "toml", "csv", "dockerfile", "xml"):
        found = divide(text, marks=marks(MARKER), language=language)
        assert found is None or "".join(part.text for part in found.parts) == text


@pytest.mark.parametrize(
    ("language", "text", "kept", "with_it", "without"),
    [
        # A table within an element of an array would be in the element before.
        ("toml", "[[a]]\nx = 1\n[a.b]\ny = 2\nz = 3\nw = 4\n[[a]]\nx = 5\n[a.b]\ny = 6\nz = 7\nw = 8\n", "w = 8\n", "[[a]]\nx = 5\n[a.b]\n", "x = 1"),
        ("toml", "[a]\nx = 1\n[target.'cfg(unix)'.b]\ny = 2\nz = 3\nw = 4\n  [c] # d\nx = 1\ny = 2\nz = 3\n", "w = 4\n", "[target.'cfg(unix)'.b]\n", "[a]"),
        ("toml", "[a]\nx = '\"\"\"'\n[b]\ny = '\"\"\"'\nz = 2\nw = 3\n", "w = 3\n", "[b]\n", "[a]"),
        ("ini", "[a]\nx = C:\\\n[mypy-b.*]\nx = 1\ny = 2\nz = 3\n", "z = 3\n", "[mypy-b.*]\n", "[a]"),
        ("ini", "[a]\nx = 1\ny = 2\nz = 3\n[[b]]\nx = 4\ny = 5\nz = 6\n[c]\nx = 7\n", "z = 6\n", "[a]\n; 3 lines left out\n[[b]]\n", "[c]"),
        # A comment does not end an instruction, and a here-document goes up to its word.
        ("dockerfile", "FROM x\nRUN a && \\\n# b\n\nc && \\\n  d\nRUN e\nRUN f\n", "  d\n", "RUN a && \\\n# b\n\nc && \\\n  d\n", "RUN e"),
        ("dockerfile", "FROM x\nRUN <<A cat <<-'B'\n#!/bin/sh\nFROM y\nA\n\tB\nRUN e\nRUN f\n", "FROM y\n", "RUN <<A cat <<-'B'\n#!/bin/sh\nFROM y\nA\n\tB\n", "RUN e"),
        ("dockerfile", "# escape=`\n\n  FROM x\nRUN a `\n b\nRUN c:\\\nRUN d\nRUN e\n", "RUN d\n", "# escape=`\n; [cut]"[:11], "RUN c"),
        # A lone quote in a field is no quote: the row goes on behind it.
        ("csv", 'a,b\n5" pipe,"x\ny"\n6,z\n7,z\n', 'y"\n', '5" pipe,"x\ny"\n', "6,z"),
        ("csv", 'a;b\n5,"x;"y\nz;"\n6;z\n7;z\n', 'z;"\n', '5,"x;"y\nz;"\n', "6;z"),
        # What a text's own entities are stays.
        ("xml", '<!DOCTYPE a [\n<!ENTITY x "]">\n<!-- \' -->\n]>\n<a>\n<b/>\n<c>&x;</c>\n<d/>\n<e/>\n<f/>\n</a>\n', "<e/>\n", '<!DOCTYPE a [\n<!ENTITY x "]">\n<!-- \' -->\n]>\n<a>\n', "<b/>"),
    ],
)  # fmt: skip
def test_a_piece_stays_with_what_it_needs(
    language: str, text: str, kept: str, with_it: str, without: str
) -> None:
    pieces = pieces_of(text, language)
    assert "".join(part.text for part in pieces.parts) == text
    (number,) = (i for i, part in enumerate(pieces.parts) if kept in part.text)
    shown = pieces.text([number])
    assert with_it in shown and kept in shown and without not in shown


def test_a_head_stands_below_what_must_be_first() -> None:
    for before, language in (
        ("\ufeff", "xml"),
        ("\ufeff<?xml version='1.0'?>\n", "xml"),
        ("# syntax=docker/dockerfile:1\n# escape=`\n", "dockerfile"),
    ):
        body = (
            "FROM x\nRUN a\nRUN b\n"
            if language == "dockerfile"
            else "<a>\n<b/>\n<c/>\n<d/>\n<e/>\n</a>\n"
        )
        pieces = divide(before + body, marks=marks("-->--<!-- ---"), language=language)
        assert isinstance(pieces, Pieces)
        shown = pieces.text([0])
        assert shown.startswith(before)
        if language == "xml":
            etree.fromstring(shown.encode())


CARGO = """\
[package]
name = "rip"
description = '''
[search] tool
  of "lines"
'''
keywords = [
  "regex",  # [one]
]

# What it needs.
[dependencies]
log = { version = "1", features = ["std"] }

[[bin]]
path = "src/main.rs"

[[bin]]
path = "src/other.rs"
"""


def _is_part(part: object, whole: object) -> bool:
    """Tell whether all tables and keys of a part stand at their places in the whole."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _is_part(held, whole[key]) for key, held in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return all(any(_is_part(held, other) for other in whole) for held in part)
    return part == whole


@pytest.mark.parametrize("text", [CARGO, Path("pyproject.toml").read_text("utf-8")])
def test_a_part_of_toml_has_its_keys_in_their_tables(text: str) -> None:
    pieces = pieces_of(text, "toml")
    outlines, variants = pieces.outlines(), pieces.variants()
    assert len(outlines) > 4 and len(variants) > 4
    for variant in (*outlines, *variants):
        assert _is_part(tomllib.loads(variant.text), tomllib.loads(text)), variant.text


def test_an_outline_of_toml_begins_with_what_the_project_is() -> None:
    outlines = pieces_of(CARGO, "toml").outlines()
    for number in range(len(outlines) - 2):
        assert '[package]\nname = "rip"\n' in outlines[number].text


NAMES = st.sampled_from(["dependency", "version", "a:b", "name"])
TEXTS = st.sampled_from([None, "1.0", " a & b < c ", "two\nlines", "<!-- no comment -->", "]]>"])


def _element(name: str, text: str | None, attributes: dict[str, str], inside: list[Any]) -> Any:
    element = ElementTree.Element(name.replace(":", "."), attributes)
    element.text = text
    element.extend(inside)
    return element


ELEMENTS = st.recursive(
    st.builds(_element, NAMES, TEXTS, st.dictionaries(st.just("x"), st.sampled_from([">", '"', "\n"])), st.just([])),
    lambda inner: st.builds(_element, NAMES, TEXTS, st.just({}), st.lists(inner, max_size=6)),
    max_leaves=40,
)  # fmt: skip


def _paths(element: Any, above: str = "") -> Counter[str]:
    path = f"{above}/{element.tag}"
    return Counter([path]) + sum((_paths(each, path) for each in element), Counter())


@pytest.mark.slow
@given(
    ELEMENTS,
    st.sampled_from(
        ["", "<?xml version='1.0'?>\n", "<!DOCTYPE x [\n<!ELEMENT x ANY>\n]>\n<!--\n<x>\n-->\n"]
    ),
)
@cases(200)
def test_shorter_xml_is_xml_with_elements_of_the_original(root: Any, before: str) -> None:
    ElementTree.indent(root)
    text = before + ElementTree.tostring(root, encoding="unicode") + "\n"
    found = divide(text, marks=marks(MARKER), language="xml")
    if found is None:
        return
    assert "".join(part.text for part in found.parts) == text
    whole = _paths(ElementTree.fromstring(text))
    for each in found.variants():
        left = etree.fromstring(each.text.encode(), etree.XMLParser(remove_comments=True))
        assert _paths(left) <= whole and MARKER in each.text


def test_a_dependency_is_found_with_its_version() -> None:
    text = "<project>\n  <dependencies>\n" + "".join(
        f"    <dependency>\n      <groupId>org.x{n}</groupId>\n      <artifactId>lib{n}</artifactId>\n"
        f"      <version>{n}.7</version>\n    </dependency>\n"
        for n in range(40)
    ) + "  </dependencies>\n</project>\n"  # fmt: skip
    item = pf.Item(content=text, path="pom.xml", kind="file", language="xml")
    shown = pf.render([item], max_tokens=130, query="which version of lib22").text
    assert "lib22</artifactId>\n      <version>22.7</version>" in shown
    assert shown.count("<project>") == shown.count("</project>") == 1
