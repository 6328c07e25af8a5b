"""Shorter YAML is YAML: values of the original in their places, under their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
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
        # A text ends at a comment that is less deep than its first line.
        "--- >\n  one\n  two\n  three\n\n# four\n--- |2\n    one\n  two\n  three\n  four\n---\na: 1\nb: 2\n",
        # What opens a text below its key may be deeper than it, have a tag, and a comment.
        "a :\n  !t |+ # b: c\n first\n [d\n   # e\n k: f\n # g\nh:\n- !t > # i: j\n  first\n  k: l\n  # m\n- [n,\n  o]\n",
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
    "text",
    ["a: 1\n? - b\n  - c\n: d\ni: 2\n", "%TAG !e! tag:e,1:\n---\n!e!a\nb: 1\nc: 2\n...\n"],
)
def test_directives_and_keys_with_lines_of_their_own_are_not_divided(text: str) -> None:
    assert divide(text, marks=marks(MARKER), language="yaml") is None
