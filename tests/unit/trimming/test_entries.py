"""Shorter data: the lines of the original, still readable, with the names of things."""

from __future__ import annotations

import pytest
from lxml import etree
from shipped_words import marks

import promptforge as pf
from promptforge.trimming.entries import divide
from promptforge.trimming.pieces import Pieces

MARKER = "[cut]"


def pieces_of(text: str, language: str = "yaml") -> Pieces:
    found = divide(text, marks=marks(MARKER), language=language)
    assert found is not None
    return found


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


@pytest.mark.parametrize("text", ["", "a: 1\n", "just a text\n", "\n\n", "# comment\n"])
def test_a_single_entry_has_no_pieces(text: str) -> None:
    assert divide(text, marks=marks(MARKER)) is None


@pytest.mark.nightly
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
        ("ini", "[a]\nx = 1\ny = 2\nz = 3\n[[b]]\nx = 4\ny = 5\nz = 6\n[c]\nx = 7\n", "z = 6\n", "[a]\n; …\n[[b]]\n", "[c]"),
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


@pytest.mark.parametrize("language", ["dockerfile", "toml", "yaml"])
def test_a_long_comment_on_data_is_cut_by_its_paragraphs(language: str) -> None:
    said = "".join(f"# line {n} of the licence\n" for n in range(5))
    data = {"dockerfile": "FROM x\nCMD e\n", "toml": "[a]\nx = 1\n", "yaml": "a: 1\nb: 2\n"}
    text = f"{said}#\n# sold as it is\n#\n{said}\n{data[language]}"
    pieces = pieces_of(text, language)
    assert "".join(part.text for part in pieces.parts) == text
    (asked,) = (n for n, part in enumerate(pieces.parts) if "as it is" in part.text)
    assert "# …\n# sold as it is\n#\n# …\n" in pieces.text([asked])


@pytest.mark.parametrize("letter", ["\U0001fae8", "\u1c89"])
def test_data_with_a_letter_that_is_newer_than_the_tables_answer(letter: str) -> None:
    rows = "".join(f"- name: kettle {n}\n  said: hot {letter} {n}\n" for n in range(40))
    found = pf.render(
        [{"content": rows, "path": "a.yaml"}, {"content": rows[:90], "path": "b.yaml"}],
        query="kettle 31", max_tokens=100,
    )  # fmt: skip
    assert "kettle 31" in found.text
