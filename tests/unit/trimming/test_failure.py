"""Shorter texts of what failed: a trace, or the end of a log with the reason."""

from __future__ import annotations

import pytest

import promptforge as pf

NPM = (
    "> app@1.0.0 build\n> vite build\n\n"
    + "".join(f"transforming ({n}) node_modules/pkg{n}/index.js\n" for n in range(900))
    + "\nsrc/App.tsx:14:9 - Property 'foo' does not exist on type 'Bar'.\n\n"
    + "build was not completed\n"
)
QUOTA = "".join(f"wrote chunk {n}\n" for n in range(1500)) + "could not write 1500: disk quota\n"
REASONS = {NPM: "Property 'foo' does not exist", QUOTA: "disk quota"}


@pytest.mark.parametrize("text", REASONS)
@pytest.mark.parametrize("query", [None, "why is transforming chunk 7 wrong?"])
def test_an_error_without_a_trace_keeps_its_end(text: str, query: str | None) -> None:
    item = pf.Item(content=text, kind="error")
    result = pf.render([item], max_tokens=250, query=query, profile="gpt")
    assert REASONS[text] in result.text


def test_equal_lines_of_an_error_are_counted() -> None:
    text = "start\n" + "noise line\n" * 3000 + "ValueError: the real one\n"
    result = pf.render([pf.Item(content=text, kind="error")], max_tokens=100)
    assert "2,999 equal lines\nValueError: the real one" in result.text
