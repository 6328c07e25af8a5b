"""Notebooks are read as Markdown: cells in order, outputs as text, pictures counted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commandline import run
from markdown_it import MarkdownIt

from promptforge.errors import Diagnostics
from promptforge.sources.notebook import read_notebook
from promptforge.sources.text_files import load_files

PICTURE = {
    "output_type": "display_data",
    "data": {"image/png": "iVBORw0KGgo" * 500, "text/plain": ["<Figure size 640x480>"]},
}
CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "source": ["# Kettles\n", "How long they boil."]},
    {
        "cell_type": "code",
        "source": ["text = '''\n", "```\n", "'''\n", "print(text)"],
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["```\n", "end\n"]}, PICTURE],
    },
    {"cell_type": "code", "source": "boil(", "outputs": [
        {"output_type": "error", "ename": "SyntaxError", "evalue": "x",
         "traceback": ["\x1b[0;31mSyntaxError\x1b[0m: never closed"]}
    ]},
    {"cell_type": "code", "source": "1 + 1", "outputs": [
        {"output_type": "execute_result", "data": {"text/plain": "2", "text/html": "<b>2</b>"}}
    ]},
    {"cell_type": "code", "source": "", "outputs": []},
    {"cell_type": "raw", "source": "as it is"},
]  # fmt: skip


def notebook(cells: Any, **more: Any) -> str:
    language = {"language_info": {"name": "python"}}
    return json.dumps(
        {"cells": cells, "metadata": language, "nbformat": 4, "nbformat_minor": 5, **more}
    )


def test_cells_and_outputs_stand_in_their_order() -> None:
    found = read_notebook(notebook(CELLS))
    assert found is not None and (found.cells, found.left_out) == (6, 1)
    blocks = [(t.type, t.info, t.content) for t in MarkdownIt().parse(found.text) if t.content]
    assert blocks == [
        ("inline", "", "Kettles"),
        ("inline", "", "How long they boil."),
        ("fence", "python", "text = '''\n```\n'''\nprint(text)\n"),
        ("fence", "text", "```\nend\n"),
        ("fence", "python", "boil(\n"),
        ("fence", "text", "SyntaxError: never closed\n"),
        ("fence", "python", "1 + 1\n"),
        ("fence", "text", "2\n"),
        ("fence", "", "as it is\n"),
    ]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"cells": []}', '{"nbformat": 4}', notebook([1]), notebook("x"),
     "[" * 100_000, notebook(None)],
)  # fmt: skip
def test_other_json_is_no_notebook(text: str) -> None:
    assert read_notebook(text) is None


@pytest.mark.parametrize("value", [None, 5, [], {}, [5, None], {"a": 1}, "x"])
@pytest.mark.parametrize("key", ["source", "outputs", "cell_type"])
def test_odd_cells_are_read_as_far_as_they_go(key: str, value: Any) -> None:
    odd = {"cell_type": "code", "source": "a", key: value}
    found = read_notebook(notebook([odd, *CELLS], metadata=value))
    assert found is not None and "How long they boil." in found.text


@pytest.mark.parametrize("key", ["data", "text", "traceback"])
@pytest.mark.parametrize("value", [None, 5, [5], {"text/plain": 5}, {"image/png": None}])
def test_odd_outputs_too(key: str, value: Any) -> None:
    cell = {"cell_type": "code", "source": "a", "outputs": [{key: value}, 5]}
    assert read_notebook(notebook([cell])) is not None


def test_it_is_said_and_a_range_shows_the_lines_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text(notebook(CELLS))
    said = Diagnostics()
    (item,) = load_files("n.ipynb", workspace=tmp_path, diagnostics=said)
    assert item.language == "markdown" and "iVBORw0KGgo" not in (item.content or "")
    assert [each.message for each in said] == [
        "shown as Markdown: 6 cells; 1 output left out, without text"
    ]
    (item,) = load_files("n.ipynb:1-1", workspace=tmp_path, diagnostics=said)
    assert "iVBORw0KGgo" in (item.content or "")


def test_a_folder_with_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text(notebook(CELLS))
    ran = run("render", ".", cwd=tmp_path)
    assert re.search("n.ipynb.*shown as Markdown", ran.err) and "How long they boil." in ran.out


@pytest.mark.parametrize("source", [{"x": 1}, 5, None, ["a\n", 7]])
def test_a_source_that_is_no_text_is_said(source: object, folder: Path) -> None:
    cells = [{"cell_type": "markdown", "source": "# Seen"}, {"cell_type": "code", "source": source}]
    (folder / "n.ipynb").write_text(json.dumps({"nbformat": 4, "cells": cells}))
    assert "2 cells; 1 cell whose source is not text" in run("render", "--file", "n.ipynb").err


def test_an_output_of_another_form_is_counted_as_left_out() -> None:
    outputs = [{"output_type": "stream", "text": {"a": "lost"}}, {"output_type": "stream"}]
    cells = [{"cell_type": "code", "source": "1", "outputs": outputs}]
    found = read_notebook(json.dumps({"nbformat": 4, "cells": cells}))
    assert found is not None and found.left_out == 1


def test_long_outputs_lose_their_middle_before_any_cell_goes(tmp_path: Path) -> None:
    lines = [f"epoch {n}\n" for n in range(2000)]
    printed = {"output_type": "stream", "name": "stdout", "text": lines}
    cells = [
        {"cell_type": "code", "source": "train()", "outputs": [printed]},
        {"cell_type": "code", "source": "model.fit(x)", "outputs": []},
        {"cell_type": "markdown", "source": "# Conclusion"},
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"nbformat": 4, "cells": cells}))
    short = run("render", "n.ipynb", "--max-tokens", "400", cwd=tmp_path).out
    assert "[… 1,987 lines left out]" in short and "epoch 2\n" in short and "epoch 1999" in short
    assert "model.fit(x)" in short and "# Conclusion" in short
    whole = run("render", "n.ipynb", "--max-tokens", "none", cwd=tmp_path).out
    assert "epoch 1000\n" in whole and "left out" not in whole


def test_a_notebook_with_worksheets_is_read_as_one_of_today() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Kettles"]},
        {"cell_type": "markdown", "source": ["They boil."]},
        {"cell_type": "code", "language": "python", "input": ["boil()"], "outputs": [
            {"output_type": "stream", "stream": "stdout", "text": ["hot\n"]},
            {"output_type": "pyout", "text": ["100"]},
            {"output_type": "pyerr", "traceback": ["Traceback", "E: dry"]},
            {"output_type": "display_data", "png": "aaaa", "text": ["<Figure>"]},
        ]},
    ]  # fmt: skip
    data = {
        "nbformat": 3,
        "metadata": {},
        "worksheets": [{"cells": cells[:2]}, {"cells": cells[2:]}],
    }
    found = read_notebook(json.dumps(data))
    assert found is not None and (found.cells, found.left_out, found.unread) == (3, 1, 0)
    outputs = "".join(f"\n\n```text\n{text}\n```" for text in ("hot", "100", "Traceback\nE: dry"))
    assert found.text == "## Kettles\n\nThey boil.\n\n```python\nboil()\n```" + outputs
    for wrong in ([{"cells": 1}], [{"cells": [1]}], [1], []):
        assert read_notebook(json.dumps({"nbformat": 3, "worksheets": wrong})) is None
