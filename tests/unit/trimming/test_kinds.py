"""Outlines, and texts without empty lines."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import HELPERS, TESTS

import promptforge as pf
from promptforge.trimming.kinds import (
    is_cut_within_data,
    language_by_content,
    without_empty_lines,
)

PROGRAMS = [
    *(HELPERS / name for name in ("judges.py", "parsers.py", "hostile_strings.py")),
    TESTS / "generated.py",
]


def _render(text: str, path: str = "a.py", **options: Any) -> pf.Result:
    return pf.render([{"content": text, "path": path, **options.pop("item", {})}], **options)


@given(st.text("a \n\r\t", max_size=40))
def test_only_empty_lines_go(text: str) -> None:
    left = without_empty_lines(text)
    assert [line for line in text.splitlines() if line.strip()] == left.splitlines()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_an_outline_names_every_function_and_is_a_program(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    result = _render(text, outline=True, max_tokens=100_000)
    shown = result.text.split("```python\n", 1)[1].rsplit("```", 1)[0]
    ast.parse(shown)
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert node.name in shown
    assert result.tokens < 0.7 * pf.render([{"content": text}], max_tokens=None).tokens
    assert result.items[0].status == "included"


def test_an_outline_of_a_document_is_its_headings() -> None:
    text = "# One\n\nwords of one\n\n## Two\n\nwords of two\n"
    shown = _render(text, path="a.md", outline=True).text
    assert "# One" in shown and "## Two" in shown and "words of two" not in shown


def test_an_outline_is_shortened_like_any_text() -> None:
    text = "".join(f"def task_{n}(value):\n    return value + {n}\n\n\n" for n in range(200))
    result = _render(text, outline=True, max_tokens=300)
    assert 200 < result.tokens <= 300
    assert "def task_0" in result.text and "return" not in result.text


def test_the_given_items_stay_as_they_are() -> None:
    items = [pf.Item(content="# a\n\nx = 1\n", path="a.py")]
    text = pf.render(items, comments=False, empty_lines=False).text
    assert "# a" not in text.replace("### a.py", "")
    assert items[0].content == "# a\n\nx = 1\n"


@pytest.mark.parametrize("option", [{"outline": True}, {"comments": False}, {"empty_lines": False}])
def test_lines_that_are_gone_have_no_numbers(option: dict[str, Any]) -> None:
    with pytest.raises(pf.OptionError, match="lines: each takes whole texts"):
        _render("x = 1", lines="each", **option)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The pump of the zeppelin is oiled every eleven days by one of the crew.", "text"),
        ("mov ax, 1\nint 21h\nret", None),
        ("def oil(pump):\n    return pump.oil()\n\ndef run():\n    pass\n", "python"),
    ],
)
def test_prose_is_prose_whatever_its_kind_says(text: str, language: str | None) -> None:
    assert language_by_content("code", text) == language


@pytest.mark.parametrize("above", ["", '"""Tables."""\n\n', "import os\n\n"])
@pytest.mark.parametrize("literal", ['"{}"', "(\n    '{}'\n)", "[\n    '{}',\n]", "b'{}'"])
def test_what_stands_below_a_giant_literal_is_shown(above: str, literal: str) -> None:
    data = literal.format("lorem ipsum " * 300)
    text = f"{above}DATA = {data}\n\n\ndef answer():\n    return 42\n\n\nclass Pool:\n    pass\n"
    for tokens in (60, 100, 400):
        shown = _render(text, max_tokens=tokens).text
        assert "def answer" in shown and "class Pool" in shown


def test_a_program_that_begins_with_no_literal_keeps_its_beginning() -> None:
    text = "import os\n\nsize = os.cpu_count()\n" + "print(size)\n" * 400
    assert not is_cut_within_data(text, 200)
    assert not is_cut_within_data("# only a comment\n" * 400, 200)
    assert is_cut_within_data(f"SIZES: list[int] = [\n{'    1,' * 400}\n]\n", 200)


@pytest.mark.parametrize(
    "head",
    ["const DATA = ", "export const rows: Row[] = ", "static DATA: &str = ", "var data = ",
     "data := ", "app.DATA = ", "DATA = b64decode(", "const text = `"],
)  # fmt: skip
def test_a_giant_literal_is_known_in_any_language(head: str) -> None:
    quote = "" if head.endswith("`") else '"'
    assert is_cut_within_data(f"import x\n\n{head}{quote}{'abc ' * 200}", 200)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", '"""# Kettles\n\nA `pool` of them.\n"""\n\nfrom .pool import Pool\n\n__all__ = ["Pool"]\n'),
        ("python", "# Copyright\n#\n# - one\n# - two\n\nimport kettle\n"),
        (None, "Say this:\nimport kettle\nand it boils.\n"),
    ],
)  # fmt: skip
def test_short_python_is_told_by_python(language: str | None, text: str) -> None:
    assert language_by_content("", text) == language
