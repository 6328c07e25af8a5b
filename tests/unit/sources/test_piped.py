"""What is piped: texts of programs are texts, and items with a mistake an error with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import run

from promptforge.errors import Diagnostics
from promptforge.sources import piped

LIST = "apiVersion: v1\nitems:\n- kind: Pod\n  status:\n    conditions:\n"
TEXTS = {
    "front matter": "---\ntitle: x\n---\n\n# Manual\n\nThe flux torque is 12 Nm.\n",
    "summary in front matter": "---\nsummary: y: z\n---\n\n# Manual\n\nSome words.\n",
    "log": "[00001] INFO a\n[00002] WARN b\n",
    "dmesg": "[    0.000000] Linux version 6.1\n[    0.100000] Command line: x\n",
    "prefixed JSON": '[app] {"content": 1}\n[app] {"content": 2}\n',
    "mail": "From: a@b.c\nSubject: Specs: new\n\nThe torque is 12 Nm.\n\ncontent: [x\n",
    "headers": "Host: x.y\nAccept: */*\n",
    "package": "Package: x\nDescription: does: it\n More: words\n",
    "manifests": "kind: Pod\nspec:\n  containers:\n  - name: c\n---\nkind: Service\n",
    "one manifest": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n",
    "list of manifests": f"{LIST}    - message: a b\n    - message: c d\nkind: List\n",
    "compose": "name: app\nservices:\n  web:\n    image: x\n",
    "ini": "[section]\nkey = value\n",
    "toml": '[[tool.y]]\nb = [1, 2]\nname = "a"\n',
    "link": "[Manual](https://x.y/z) has it all.\n\nThe torque is 12 Nm.\n",
    "badge": "[![Build](https://x/y.svg)](https://x/y)\n\n# Title\n",
    "citation": '[1] A. Author, "Title", 2024.\n[2] B. Author.\n',
    "heading and points": "# Notes\n\n- one\n- two\n",
    "points with a colon": "- Torque: 12 Nm\n- Speed: 3 m/s\n",
    "tasks": "- [ ] Write it: now\n- [x] Done: it\n",
    "changelog": "# Changelog\n\n## [1.0.0] - 2024-01-01\n\n- Fixed: x\n",
    "transcript": "Alice: Hello\nBob: Hi: how are you?\n",
    "attribute": "[Serializable]\npublic class A { }\n",
    "attribute of C++": "[[nodiscard]] int f() { return 1; }\n",
    "test of a shell": '[ "$a" = b ] && echo yes\n',
    "template": '{% extends "a" %}\n{% block x %}a{% endblock %}\n',
    "block": "{\n  int x = 1;\n  f(x);\n}\n",
    "comment": "{/* content: */}\n<div>{x}</div>\n",
    "makefile": "all:\n\techo a\n",
}
MISTAKES = {
    "comma": ('[\n  {"content": "a"}\n  {"content": "b"}\n]', 3),
    "comma in an object": ('{"content": "a"\n "path": "x"}', 2),
    "colon": ('{"content" "a"}', 1),
    "comma of texts": ('["a"\n "b"]', 2),
    "no end": ('[{"content": "a"},\n {"content": "b', 2),
    "quote": ('[{"content": "a}, {"content": "b"}]', 1),
    "other quotes": ("[{'content': 'a'}]", 1),
    "no quotes": ("[\n{content: a b}]", 2),
    "comment": ('[\n  // first\n  {"content": "a"}\n]', 2),
    "numbers": ("[1, 2]", 1),
    "nothing": ("[{}]", 1),
    "indent": ("- content: a\n   path: x\n", 2),
    "indent in a list": ("items:\n  - path: x\n    content: a\n   summary: y\n", 4),
    "indent below a comment": ("# mine\n\n- content: a\n   path: x\n", 4),
    "flow": ("- content: [a\n", 1),
    "colon in a text": ("- path: a.md\n  content: x: y\n", 2),
    "tab": ("- content: a\n\tpath: x\n", 2),
    "documents": ("---\ncontent: a\n---\ncontent: b\n", 3),
    "name of a field": ("- contnet: a\n  path: x\n", 1),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_program_prints_is_a_text(tmp_path: Path, name: str) -> None:
    ran = run("render", "--layout", "cited", "--format", "plain", stdin=TEXTS[name], cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "note: <stdin>: read as " in ran.err
    for line in TEXTS[name].splitlines():
        assert line in ran.out


@pytest.mark.parametrize("name", MISTAKES)
def test_items_with_a_mistake_are_an_error_with_its_place(tmp_path: Path, name: str) -> None:
    text, line = MISTAKES[name]
    ran = run("render", stdin=text, cwd=tmp_path)
    assert ran.code == 4 and ran.out == ""
    assert ran.err.startswith(f"promptforge: <stdin>:{line}")
    assert "; `--file -` takes it as a text" in ran.err


def test_a_piped_notebook_is_read_as_one(tmp_path: Path) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": ["a line of output\n"]}
    cells = [
        {"cell_type": "markdown", "source": ["The flux torque is 12 Nm."]},
        *[{"cell_type": "code", "source": "f()", "outputs": [output]} for _ in range(3)],
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (tmp_path / "nb.ipynb").write_text(text)
    by_path = run("render", "nb.ipynb", cwd=tmp_path)
    piped = run("render", "--name", "nb.ipynb", stdin=text, cwd=tmp_path)
    assert piped.out == by_path.out and "12 Nm" in piped.out
    unnamed = run("render", stdin=text, cwd=tmp_path)
    assert unnamed.out == by_path.out.replace("nb.ipynb", "standard input")
    assert "shown as Markdown: 4 cells [PF611]" in unnamed.err


@pytest.mark.parametrize("name", ["citation", "heading and points"])
def test_a_file_whose_name_tells_nothing_is_read_as_its_pipe(tmp_path: Path, name: str) -> None:
    (tmp_path / "NOTES").write_text(TEXTS[name])
    ran = run("render", "--layout", "cited", "--format", "plain", "NOTES", cwd=tmp_path)
    assert ran.code == 0 and TEXTS[name] in ran.out


def test_a_file_of_comments_alone_holds_no_items(tmp_path: Path) -> None:
    ran = run("render", stdin="# nothing yet\n\n", cwd=tmp_path)
    assert "holds no items" in ran.err and "read as" not in ran.err


def test_a_piped_notebook_is_named_as_a_piped_text_is(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = {"cell_type": "markdown", "source": "Words."}
    for text in (json.dumps({"cells": [cell], "nbformat": 4}), "Words of a text.\n"):
        monkeypatch.setattr(piped, "read_named", lambda *_, text=text, **__: (text, "<stdin>"))
        found = piped.load_stream("-", stream_name=None, workspace=".", diagnostics=Diagnostics())
        assert [item.named for item in found] == [True]


def test_lines_of_unknown_kind_are_said_to_be_text(tmp_path: Path) -> None:
    prices = "".join(f"Kettle {n}            {n}.50\n" for n in range(9))
    ran = run("render", "-", stdin=prices, cwd=tmp_path)
    assert "read as text" in ran.err and "listing" not in ran.err
