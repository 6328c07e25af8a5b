"""Variants of reStructuredText: docutils reads each again; it has blocks of the document in their places."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache
from typing import ClassVar

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive, Parser, directives
from docutils.utils import new_document
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import divided, marks

import promptforge as pf
from promptforge.trimming.blocks import MAX_NESTING
from promptforge.trimming.pieces import Pieces
from promptforge.trimming.rst import divide

MARKER = "[cut]"
MARK = re.compile(r"\[…[^\]]*\]|\[cut\][^\n]*")

DOCUMENT = """\
:author: someone
:status: draft

======
Kettle
======

Kettle boils water. It is small. It has one button, and a lid that opens.

.. image:: kettle.png

.. _install:

Install
=======

Fetch it, then::

    make
    make install

From source
-----------

* Get a compiler.
* Build it.

=====  ======
Part   Weight
=====  ======
lid    12

body   800
=====  ======

Use
===

.. function:: press(seconds)
   :async:

   Press the button. See the `manual`_.

   .. note::

      Mind the steam.

depth
    How deep the water is.

.. _manual: http://kettle.example
"""


class Signature(Directive):
    """`.. function::` of Sphinx, which docutils alone does not know."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"async": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return what it holds, in a node with its name."""
        found = nodes.container(classes=[self.arguments[0]])
        self.state.nested_parse(self.content, self.content_offset, found)
        return [found]


directives.register_directive("function", Signature)


def parsed(text: str) -> nodes.document:
    """Return a document as docutils reads it; what it finds wrong is in it, too."""
    settings = get_default_settings(Parser())
    settings.report_level, settings.halt_level = 5, 6
    document = new_document("kettle.rst", settings)
    Parser().parse(text, document)
    return document


def mistakes(document: nodes.document) -> list[str]:
    return [
        found.astext() for found in document.findall(nodes.system_message) if found["level"] > 1
    ]


Leaf = tuple[tuple[str, ...], str]


def leaves(node: nodes.Element, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Yield each text with all that it stands under."""
    if isinstance(node, nodes.section):
        path += (node[0].astext(),)
    for child in node.children:
        if isinstance(child, nodes.TextElement):
            yield (*path, type(child).__name__), child.astext()
        elif isinstance(child, nodes.Element) and not isinstance(child, nodes.system_message):
            name = " ".join([type(child).__name__, *child.get("classes", [])])
            yield from leaves(child, (*path, name))


def is_in_order(few: tuple[str, ...], all_: tuple[str, ...]) -> bool:
    rest = iter(all_)
    return all(each in rest for each in few)


@cache
def read(text: str) -> tuple[list[str], list[Leaf]]:
    """Return what is wrong in a document, and its texts with single blanks."""
    document = parsed(text)
    return mistakes(document), [(path, " ".join(said.split())) for path, said in leaves(document)]


def assert_a_part(short: str, whole: str) -> None:
    """Assert that docutils finds in `short` nothing but blocks of `whole`, each in its place."""
    document = parsed(short)
    wrong, known = read(whole)
    assert mistakes(document) == wrong
    for path, text in leaves(document):
        for part in MARK.split(text):
            stretch = " ".join(part.split())
            assert not stretch or any(
                stretch in said and is_in_order(path, place) for place, said in known
            ), (path, stretch)


def every_variant(pieces: Pieces) -> Iterator[str]:
    worth = {index: float(len(part.text) % 7) for index, part in enumerate(pieces.parts)}
    for variants in (pieces.variants(), pieces.variants(worth), pieces.outlines()):
        yield from (variant.text for variant in variants)


@pytest.mark.slow
def test_a_document_in_pieces() -> None:
    pieces = divided(divide, DOCUMENT)
    for text in every_variant(pieces):
        assert_a_part(text, DOCUMENT)
    texts = [variant.text for variant in pieces.variants()]
    assert texts[-1] == (
        "[cut]\n\n[…]\n\n======\nKettle\n======\n\n"
        "Kettle boils water. It is small. […]\n\n[…]\n\n"
        ".. _manual: http://kettle.example\n"
    )


def test_titles_and_signatures_stay_longest() -> None:
    pieces = divided(divide, DOCUMENT)
    outline = pieces.text([index for index, part in enumerate(pieces.parts) if part.skeleton])
    for line in (
        "Kettle\n",
        "Install\n",
        "From source\n",
        "Use\n",
        ".. function:: press(seconds)\n",
    ):
        assert line in outline
    assert "make" not in outline and "steam" not in outline


def test_a_long_literal_block_loses_lines() -> None:
    body = "".join(f"    step {number}\n" for number in range(20))
    text = f"Do it::\n\n{body}\nThen rest.\n"
    pieces = divided(divide, text)
    shorter = pieces.text([0, 1, 2, len(pieces.parts) - 1])
    assert "    step 4\n    […]\n\nThen rest.\n" in shorter
    for variant in every_variant(divided(divide, text)):
        assert_a_part(variant, text)


def test_a_query_finds_its_section() -> None:
    words = ("steam", "lids", "handles", "cables", "switches", "rust", "scale", "noise")
    sections = [
        f"Part {number}\n------\n\nIt is about {word}. One of them is here to stay for good.\n\n"
        for number, word in enumerate(words)
    ]
    text = "Kettle\n======\n\nA kettle.\n\n" + "".join(sections)
    item = pf.Item(kind="document", content=text, path="kettle.rst")
    found = pf.render([item], query="cables", max_tokens=70, layout="context").text
    assert "Part 3\n------\n\nIt is about cables." in found
    assert "noise" not in found


WORDS = st.lists(
    st.sampled_from(["kettle", "water", "``lid``", "*hot*", "steam", "`a`_", "x_y", "3"]),
    min_size=2,
    max_size=7,
).map(" ".join)
SENTENCES = st.lists(WORDS.map(lambda words: f"The {words}."), min_size=1, max_size=12).map(
    lambda found: "\n".join(found)
)


def indented(text: str, by: int) -> str:
    return "".join(
        " " * by + line if line.strip() else line for line in text.splitlines(keepends=True)
    )


def _blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        st.builds(lambda name, text: f".. function:: {name}()\n\n{indented(text, 3)}",
                  st.sampled_from("fgh"), body),
        st.builds(lambda text: f".. note::\n\n{indented(text, 2)}", body),
        st.builds(lambda term, text: f"term {term}\n{indented(text, 4)}", WORDS, body),
        st.builds(lambda text: f"* one\n\n{indented(text, 2)}\n* two\n", body),
        st.builds(lambda text: f"Quoted here:\n\n{indented(text, 4)}", body),
    )  # fmt: skip


LINES = st.lists(st.sampled_from(["make", "  deeper", "", "* a", "=====", "end."]), max_size=14)
BLOCKS = st.recursive(
    st.one_of(
        SENTENCES.map(lambda text: text + "\n"),
        LINES.map(lambda lines: "Run it::\n\n    first\n"
                  + "".join(f"    {line}".rstrip() + "\n" for line in lines)),
        LINES.map(lambda lines: ".. code-block:: sh\n\n   first\n"
                  + "".join(f"   {line}".rstrip() + "\n" for line in lines)),
        st.lists(WORDS, min_size=1, max_size=12).map(
            lambda words: "".join(f">>> {word}\n" for word in words)
        ),
        st.sampled_from([
            "=== ===\n a   b\n=== ===\n c   d\n\n e   f\n=== ===\n",
            "+---+---+\n| a | b |\n+---+---+\n", ".. a comment\n", "| a verse\n| of two\n",
            "1. one\n2. two\n", ":field: text\n", ".. image:: a.png\n", "-o FILE  output\n",
        ]),
    ),
    _blocks,
    max_leaves=5,
)  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Return a document with sections of one to three levels."""
    parts, level = [], -1
    for number in range(draw(st.integers(1, 5))):
        level = draw(st.integers(0, min(level + 1, 2)))
        title = f"Section {number}"
        parts.append(f"{title}\n{'=-~'[level] * len(title)}\n")
        parts += draw(st.lists(BLOCKS, min_size=1, max_size=4))
    return "\n".join(parts)


@pytest.mark.slow
@given(documents())
@cases(90, shrink=False)
def test_a_shorter_document_has_blocks_of_the_original(text: str) -> None:
    # What is wrong in itself, as a list that ends without a blank line, proves nothing.
    if read(text)[0] or divide(text, marks=marks(MARKER)) is None:
        return
    variants = list(every_variant(divided(divide, text)))
    for shorter in itertools.islice(variants, 0, None, max(1, len(variants) // 5)):
        assert_a_part(shorter, text)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "text",
    ["== ==\nx\n\n" * 5_000, "".join(" " * n + f"t{n}\n" for n in range(900)), ".. _a: :\n" * 9_000,
     ".. " + "a:" * 20_000, ":a" * 20_000, "=" * 20_000 + "\nx\n", "a\n=\n" * 9_000, ">>> a\n" * 9_000,
     "".join(" " * 2 * n + "* t\n\n" for n in range(500)), "a\n\n  b\n\n" * 4_000, "`" * 20_000],
)  # fmt: skip
def test_odd_texts_take_linear_time(text: str) -> None:
    found = divide(text, marks=marks(MARKER))
    assert found is None or "".join(part.text for part in found.parts) == text


def test_what_is_nested_too_deep_is_one_piece() -> None:
    text = "".join(f"{'  ' * depth}.. note::\n\n" for depth in range(MAX_NESTING + 30))
    text += "  " * (MAX_NESTING + 30) + "Deep.\n"
    assert len(divided(divide, f"A title\n=======\n\n{text}").parts) <= MAX_NESTING + 5
