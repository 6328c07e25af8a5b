"""The languages of files, by name and by ending."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptforge.sources.text_files import file_item
from promptforge.text.languages import is_code, language_of

NAMES = {
    "a.py": "python", "a.pyi": "python", "a.ts": "typescript", "a.tsx": "typescript",
    "a.js": "javascript", "a.jsx": "javascript", "a.go": "go", "a.rs": "rust", "a.java": "java",
    "a.c": "c", "a.h": "c", "a.hpp": "cpp", "a.cc": "cpp", "a.cs": "csharp", "a.fs": "fsharp",
    "a.m": "objectivec", "a.mm": "objectivec", "a.rb": "ruby", "a.lisp": "lisp", "a.el": "lisp",
    "a.sh": "bash", "a.zsh": "zsh", "a.ps1": "powershell", "a.S": "asm",
    "Dockerfile": "dockerfile", "Makefile": "makefile", "CMakeLists.txt": "cmake",
    "Gemfile": "ruby", "a.json": "json", "a.ipynb": "json", "a.yaml": "yaml", "a.toml": "toml",
    "Cargo.lock": "toml", "a.csproj": "xml", "a.svg": "xml", "a.md": "markdown",
    "LICENSE.md": "markdown", "README": "text", "a.txt": "text", "a.conf": "ini",
    "a.md.j2": "jinja", "a.tf": "hcl", "a.tex": "latex", "a.diff": "diff", "a.yara": "yara",
    "a.sql": "sql", "a.adoc": "asciidoc", "README.asc": "asciidoc",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    assert language_of(name) == NAMES[name]
    assert language_of(f"some.py/{name}") == NAMES[name]
    assert language_of(f"C:\\some.py\\{name}") == NAMES[name]


@pytest.mark.parametrize(
    "name", ["", "noext", "a.", ".", "a.p```y", "a.py\n# x", "a.png", "src/", "x" * 300 + ".py"]
)
def test_names_that_do_not_tell(name: str) -> None:
    assert language_of(name) is None


def test_what_is_code() -> None:
    assert is_code("python") and is_code("bash") and is_code("sql")
    assert not any(
        is_code(tag) for tag in (None, "text", "markdown", "json", "yaml", "xml", "ini", "csv")
    )


@given(
    st.text()
    | st.builds("{}.{}".format, st.text(), st.sampled_from(["py", "md", "ts", "x"]) | st.text())
)
def test_any_name_gives_a_harmless_tag(name: str) -> None:
    tag = language_of(name)
    assert tag is None or re.fullmatch(r"[a-z0-9+#-]{1,20}", tag)


@pytest.mark.parametrize(
    ("first", "language"),
    [
        ("#!/usr/bin/env python3", "python"), ("#! /bin/sh", "bash"), ("#!/bin/bash -e", "bash"),
        ("#!/usr/bin/env -S node --no-warnings", "javascript"), ("#!/usr/bin/python3.11", "python"),
        ("#!/usr/bin/perl -w", "perl"), ("#!/bin/strange", None), ("#!", None), ("#!/bin/env", None),
        ("# python", None), ("#!/" + "a" * 100_000, None), ("#!/b/python\u0007", None),
    ],
)  # fmt: skip
def test_a_script_without_a_suffix_tells_its_language_in_its_first_line(
    first: str, language: str | None
) -> None:
    item = file_item("bin/tool", f"{first}\nx\n")
    assert item.language == language
    assert item.kind == ("code" if language else "file")
    assert file_item("tool.rb", "#!/bin/sh\n").language == "ruby"


def test_translations_of_qt_are_no_programs() -> None:
    assert file_item("de.ts", '<?xml version="1.0"?>\n<TS language="de">\n').language == "xml"
    assert file_item("de.ts", "<!DOCTYPE TS><TS>\n").kind == "file"
    assert file_item("app.ts", "export const a = 1\n").language == "typescript"
