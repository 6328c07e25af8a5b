"""Any text in any language is divided without an error, and its marks are comments."""

from __future__ import annotations

import hostile_strings as hostile
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_pieces import PROGRAMS, SHOP, divide, kept, whole
from shipped_words import marks as shipped_marks

from promptforge.trimming import code

LANGUAGES = [None, "python", "zig", "sql", "css", *PROGRAMS]


@pytest.mark.parametrize(
    ("language", "mark"),
    [
        ("sql", "-- …"),
        ("css", "/* … */"),
        ("lisp", "; …"),
        ("html", "<!-- … -->"),
        (None, "…"),
        ("klingon", "…"),
        ("yaml", "# …"),
    ],
)
def test_marks_are_comments(language: str | None, mark: str) -> None:
    pieces = code.divide(
        "a {\n  b\n  c\n}\nd {\n  e\n}\n", marks=shipped_marks("-->*/"), language=language
    )
    assert pieces
    assert f"a {{\n  {mark}" in pieces.variants()[1].text


@given(
    st.lists(st.sampled_from([*hostile.STRINGS, *PROGRAMS.values(), SHOP, "\n", "  ", "{\n"])),
    st.sampled_from(LANGUAGES),
)
def test_the_pieces_are_the_text_whatever_it_is(strings: list[str], language: str | None) -> None:
    text = "".join(strings)
    pieces = divide(text, marks=shipped_marks("[cut]"), language=language)
    if pieces is None:
        return
    assert whole(pieces) == text
    assert all(part.parent < i and part.closes < i for i, part in enumerate(pieces.parts))
    lines = kept(pieces)
    assert lines == sorted(lines, reverse=True)
    variants = pieces.variants()
    assert variants[0].text and variants[len(variants) - 1].text


@pytest.mark.unwatched
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "\ud800",
        "(" * 9999,
        "-" * 99999 + "1",
        pytest.param("{\n" * 9999, marks=pytest.mark.slow),
        "{\n" * 99,
        "if a:\n" * 999,
        pytest.param("/* ' \n`" * 9999, marks=pytest.mark.slow),
        "/* ' \n`" * 99,
        "\ufeff",
    ],
)
def test_nothing_is_raised(text: str, language: str | None) -> None:
    for cut in (text, "def f():\n  a\n  b\n" + text):
        pieces = divide(cut, marks=shipped_marks("[cut]"), language=language)
        assert pieces is None or whole(pieces) == cut


@pytest.mark.parametrize("deep", [1, 50, 70, 400])
def test_what_lies_too_deep_is_one_piece(deep: int) -> None:
    text = "".join("  " * n + "{\n" for n in range(deep)) + "".join(
        "  " * n + "}\n" for n in reversed(range(deep))
    )
    for language in (None, "javascript", "c"):
        pieces = divide(text, marks=shipped_marks("[cut]"), language=language)
        assert pieces is None or whole(pieces) == text
