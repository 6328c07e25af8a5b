"""Each ending has its syntax, and each format its ending."""

from __future__ import annotations

from promptforge.syntax.syntaxes import syntax_of


def test_an_unknown_ending_is_plain_text() -> None:
    known = ("md", "markdown", "xml", "html", "svg", "json", "jsonl", "yml", "txt", "slides.md")
    assert [syntax_of(ending).name for ending in known] == [
        *("markdown", "markdown", "xml", "xml", "xml"),
        *("json", "json", "yaml", "plain", "markdown"),
    ]
    assert {syntax_of(ending).name for ending in ("org", "", "MD", "md.org")} == {"plain"}
