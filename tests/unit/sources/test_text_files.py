"""Files of text as items: whole, by range, by pattern, with front matter."""

from __future__ import annotations

import gzip
import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from commandline import run

import promptforge as pf
from promptforge.errors import Diagnostics, ItemError
from promptforge.model import Item
from promptforge.sources import text_files, workspace


@pytest.fixture
def space(tmp_path: Path) -> Path:
    (tmp_path / "src" / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    for name in (
        "src/b.py",
        "src/a.py",
        "src/deep/c.py",
        "src/deep/er/d.py",
        ".hidden/e.py",
        "src/.f.py",
    ):
        (tmp_path / name).write_text(f"# {name}\n")
    (tmp_path / "ten.txt").write_text("".join(f"{i}\n" for i in range(1, 11)))
    (tmp_path / "src" / "picture.png").write_bytes(b"\x89PNG\x00\x00")
    return tmp_path


def load(spec: str, space: Path, context_lines: int = 0) -> tuple[list[Item], list[str]]:
    diagnostics = Diagnostics()
    items = text_files.load_files(
        spec, workspace=space, diagnostics=diagnostics, context_lines=context_lines
    )
    return items, [f"{d.code} {d.where}" for d in diagnostics]


def test_a_whole_file(space: Path) -> None:
    assert load("src/a.py", space) == (
        [Item(kind="code", content="# src/a.py", path="src/a.py", language="python")],
        [],
    )
    item = load("ten.txt", space)[0][0]
    assert (item.kind, item.language, item.origin, item.start_line) == (
        "file",
        "text",
        "explicit",
        None,
    )


@pytest.mark.parametrize(
    ("spec", "context", "start", "end"),
    [
        ("ten.txt:3", 0, 3, 3),
        ("ten.txt:3-5", 0, 3, 5),
        ("ten.txt:3-", 0, 3, 10),
        ("ten.txt:10-10", 0, 10, 10),
        ("ten.txt:3-5", 1, 2, 6),
        ("ten.txt:2-9", 5, 1, 10),
        ("ten.txt:3-5", -4, 3, 5),
    ],
)
def test_a_range_and_its_context(
    spec: str, context: int, start: int, end: int, space: Path
) -> None:
    items, said = load(spec, space, context)
    assert said == []
    assert (items[0].start_line, items[0].end_line) == (start, end)
    assert items[0].content == "\n".join(str(i) for i in range(start, end + 1))
    assert items[0].path == "ten.txt"


def test_ranges_that_are_not_there(space: Path) -> None:
    items, said = load("ten.txt:8-99", space)
    assert (items[0].start_line, items[0].end_line, said) == (8, 10, ["PF605 ten.txt"])
    for spec, message in (
        ("ten.txt:0-3", "lines count from 1"),
        ("ten.txt:5-3", "lines count from 1"),
        ("ten.txt:11", "line 11 lies past the end; the last line is 10"),
        ("ten.txt:x-3", "no such file"),
    ):
        with pytest.raises(ItemError, match=message):
            load(spec, space)


def test_line_ends_of_all_three_kinds_count(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes(b"a\r\nb\rc\nd\x0be\xe2\x80\xa8f")
    assert load("f.txt:2", tmp_path)[0][0].content == "b"
    assert load("f.txt:1-2", tmp_path)[0][0].content == "a\r\nb"
    assert load("f.txt:4", tmp_path)[0][0].content == "d\x0be\u2028f"


def test_a_file_whose_name_looks_like_a_range_or_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "a:3").write_text("colon")
    (tmp_path / "[x].txt").write_text("bracket")
    assert load("a:3", tmp_path)[0][0].content == "colon"
    assert load("[x].txt", tmp_path)[0][0].content == "bracket"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("src/*.py", ["src/a.py", "src/b.py"]),
        ("src/**/*.py", ["src/a.py", "src/b.py", "src/deep/c.py", "src/deep/er/d.py"]),
        ("**/*.py", ["src/a.py", "src/b.py", "src/deep/c.py", "src/deep/er/d.py"]),
        ("**/**/d.py", ["src/deep/er/d.py"]),
        ("src/*/*.py", ["src/deep/c.py"]),
        ("src/[ab].py", ["src/a.py", "src/b.py"]),
        ("s?c/a.py", ["src/a.py"]),
        ("src/.*.py", ["src/.f.py"]),
        (".hidden/*", [".hidden/e.py"]),
        ("src/deep/**", ["src/deep/c.py", "src/deep/er/d.py"]),
    ],
)
def test_patterns(pattern: str, names: list[str], space: Path) -> None:
    items, said = load(pattern, space)
    assert [i.path for i in items] == names
    assert said == []
    absolute, _ = load(str(space / pattern), space)
    assert [i.path for i in absolute] == [str(space / name) for name in names]


def test_a_pattern_passes_over_what_it_cannot_read(space: Path) -> None:
    (space / "src" / "out.py").symlink_to("/etc/hostname")
    (space / "src" / "gone.py").symlink_to("nowhere")
    (space / "src" / "again").symlink_to(".")
    os.mkfifo(space / "src" / "pipe.py")
    items, said = load("src/**", space)
    assert [i.path for i in items] == ["src/a.py", "src/b.py", "src/deep/c.py", "src/deep/er/d.py"]
    assert sorted(said) == [
        "PF601 src/gone.py",
        "PF601 src/pipe.py",
        "PF604 src/picture.png",
        "PF701 src/out.py",
    ]


def test_patterns_that_match_nothing_or_leave_the_workspace(space: Path) -> None:
    for pattern in ("*.rs", "nowhere/*.py", "ten.txt/*", "src/deep/*/*/*"):
        with pytest.raises(ItemError, match="no file matches"):
            load(pattern, space)
    with pytest.raises(ItemError, match="outside the workspace"):
        load("../*", space)


def test_patterns_are_bounded(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MAX_FILES_MATCHED", 1)
    assert load("src/*.py", space)[1] == ["PF602 src/*.py"]
    monkeypatch.setattr(workspace, "MAX_NAMES_VISITED", 2)
    assert "PF602 src/**/*.py" in load("src/**/*.py", space)[1]


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"\xff.py")).write_text("x")
    except OSError:
        pytest.skip("the file system takes only UTF-8 names")
    items, _ = load("*.py", tmp_path)
    assert items[0].content == "x"


# Documents.


def document(text: str, tmp_path: Path) -> tuple[Item, list[str]]:
    (tmp_path / "docs").mkdir(exist_ok=True)
    (tmp_path / "docs" / "attack-guide.md").write_bytes(text.encode())
    diagnostics = Diagnostics()
    found = text_files.load_documents(
        "docs/attack-guide.md", workspace=tmp_path, diagnostics=diagnostics
    )
    return found[0], [f"{d.code} {d.where}" for d in diagnostics]


@pytest.mark.parametrize(
    ("text", "content", "metadata", "said"),
    [
        ("# T\n\nx\n", "# T\n\nx", {}, []),
        ("---\ntitle: T\ntags: [a]\n---\n\n# T\n", "# T", {"title": "T", "tags": ["a"]}, []),
        ("\ufeff---\r\ntitle: T\r\n...\r\nx", "x", {"title": "T"}, []),
        ("---\n---\nx", "---\n---\nx", {}, []),
        ("---\ntitle: T\n---", "", {"title": "T"}, []),
        ("---\nprose between rules\n---\nx", "---\nprose between rules\n---\nx", {}, []),
        (
            "---\na: 1\nb: [\n---\nx",
            "---\na: 1\nb: [\n---\nx",
            {},
            ["PF205 docs/attack-guide.md:4"],
        ),
        ("---\na: !x 1\n---\nx", "---\na: !x 1\n---\nx", {}, ["PF205 docs/attack-guide.md:2"]),
        ("---\nn: .nan\n---\nx", "x", {"n": "nan"}, ["PF203 docs/attack-guide.md"]),
        ("---\ntitle: never closed\nx", "---\ntitle: never closed\nx", {}, []),
        ("\n---\ntitle: T\n---\n", "\n---\ntitle: T\n---", {}, []),
    ],
)
def test_front_matter(
    text: str, content: str, metadata: dict[str, object], said: list[str], tmp_path: Path
) -> None:
    item, spoken = document(text, tmp_path)
    assert item == Item(
        kind="document",
        name="attack-guide.md",
        path="docs/attack-guide.md",
        content=content,
        metadata=metadata,
    )
    assert spoken == said


def test_documents_by_pattern(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("b")
    (tmp_path / "a.md").write_text("a")
    found = text_files.load_documents("*.md", workspace=tmp_path, diagnostics=Diagnostics())
    assert [i.name for i in found] == ["a.md", "b.md"]
    with pytest.raises(ItemError, match="no such file"):
        text_files.load_documents("c.md", workspace=tmp_path, diagnostics=Diagnostics())


@pytest.mark.parametrize("name", ["page.gz", "page.ai"])
def test_a_document_that_is_no_text_is_refused_as_a_file_is(name: str, tmp_path: Path) -> None:
    data = gzip.compress(b"x" * 50, mtime=1)
    (tmp_path / name).write_bytes(b"%PDF-1.7\n1 0 obj" if name.endswith("ai") else data)
    for load in (text_files.load_documents, text_files.load_files):
        with pytest.raises(ItemError, match=r"not text but|a binary file"):
            load(name, workspace=tmp_path, diagnostics=Diagnostics())


def test_a_file_among_the_arguments_may_have_a_range(folder: Path) -> None:
    Path("a.py").write_text("x = 1\ny = 2\nz = 3\n")
    ran = run("render", "a.py:2-3")
    assert (ran.code, ran.err) == (0, "")
    assert "y = 2\nz = 3" in ran.out and "x = 1" not in ran.out
    assert "lines count from 1" in run("render", "a.py:3-2").err


@pytest.mark.slow
def test_a_budget_that_nobody_asked_for_is_said(folder: Path) -> None:
    Path("a.py").write_text("value = 1\n" * 3_000)
    said = "; the budget is 4,000 tokens; --max-tokens N or none takes more"
    Path("items.yaml").write_text("- content: " + "value " * 5_000)
    for words in (["a.py"], ["--file", "a.py"], ["--doc", "a.py"], ["items.yaml"]):
        assert said in run("render", *words).err
        assert "the budget is" not in run("render", *words, "--max-tokens", "500").err
        assert "the budget is" not in run("render", *words, "--max-tokens", "none").err


def test_a_file_without_a_name_that_tells_is_a_text_where_it_holds_no_items(folder: Path) -> None:
    digest = "Directory structure:\n└── a.py\n\n====\nFILE: a.py\n====\nprint(1)\n"
    for name in ("digest.txt", "LICENSE"):
        Path(name).write_text(digest, encoding="utf-8")
        ran = run("render", name)
        assert ran.code == 0 and digest in ran.out
        assert f"note: {name}: read as text: it holds no items [PF201]" in ran.err
    Path("items.txt").write_text('[{"content": "a", "path": "b.md"}]')
    assert "### b.md" in run("render", "items.txt").out
    Path("broken.txt").write_text('[{"content": ')
    assert "not valid JSON" in run("render", "broken.txt").err
    assert "no such file" in run("render", "none.txt").err


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/tool",
        "https://gitlab.com/acme/tool/-/tree/main/src",
        "https://git.example.org/acme/tool.git",
        "ssh://git@example.org/acme/tool.git",
    ],
)
def test_a_repository_elsewhere_is_cloned_first(folder: Path, url: str) -> None:
    ran = run("render", url)
    assert ran.code == 4
    assert ran.err == (
        f"promptforge: {url}: a repository; clone it first, `git clone --depth 1`,"
        " and name the folder\n"
    )


def test_an_encoding_that_the_file_names_is_heard(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\nx = '\xe9'\n")
    (tmp_path / "b.xml").write_bytes(
        '<?xml version="1.0" encoding="koi8-r"?><a>да</a>'.encode("koi8-r")
    )
    (tmp_path / "c.py").write_bytes(b"# coding: iso-8859-99\nx = '\xe9'\n")
    (tmp_path / "d.py").write_bytes(b"# coding: unicode_escape\nx = '\\x41\xe9'\n")
    loaded = pf.load(".", workspace=tmp_path)
    assert [(item.content or "").split("\n")[-1] for item in loaded] == [
        "x = 'é'",
        '<?xml version="1.0" encoding="koi8-r"?><a>да</a>',
        "x = 'é'",
        "x = '\\x41é'",
    ]
    assert [(d.code, d.where, d.severity) for d in loaded.warnings] == [
        ("PF301", "c.py:2", "info"),
        ("PF301", "d.py:2", "info"),
    ]
    assert "read as cp1252, a guess" in loaded.warnings[0].message
    assert "PF702" not in {d.code for d in pf.render(loaded).warnings}


def test_packed_bytes_without_a_zero_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.br").write_bytes(b"\x1b\x0e\xff\x01packed")
    (tmp_path / "dos.txt").write_bytes(b"caf\xe9\r\n\x1a")
    (tmp_path / "long.txt").write_bytes(b"\x01" + b"a" * 8190 + "é".encode())
    loaded = pf.load(".", workspace=tmp_path)
    assert [item.path for item in loaded] == ["dos.txt", "long.txt"]
    assert "1 without text (a.br)" in loaded.warnings[-1].message
    with pytest.raises(pf.ItemError, match="a binary file"):
        pf.load("a.br", workspace=tmp_path)


def test_a_list_of_names_is_refused_where_one_name_stands(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("A = 1\n")
    names: Any = ["a.py"]
    with pytest.raises(pf.OptionError, match=r"load\(\*names\)"):
        pf.load(names, workspace=tmp_path)
    assert pf.load(*names, workspace=tmp_path)[0].content == "A = 1"


def test_a_piped_text_is_read_where_it_can_be_no_items(folder: Path) -> None:
    log = "commit 1234567\nAuthor: A <a@b.c>\n\n    Say it\n"
    ran = run("render", stdin=log)
    assert ran.code == 0 and log in ran.out
    assert "note: <stdin>: read as text: it holds no items" in ran.err
    ran = run("render", "--name", "app.py", stdin="x = [1]\n")
    assert ran == (0, "### app.py\n\n```python\nx = [1]\n```\n", "")
    assert (
        "### b.md"
        in run(
            "render",
            "--name",
            "b.json",
            stdin='[{"content": "", "path": "b.md"}, {"content": "a", "path": "b.md"}]',
        ).out
    )


@pytest.mark.parametrize(
    "text", ['[{"content": ', '{"name": "a"}', "- content: [a\n", "text: 1\ntext: 2"]
)
def test_piped_data_that_holds_no_items_is_an_error_with_the_way_out(
    folder: Path, text: str
) -> None:
    ran = run("render", stdin=text)
    assert ran.code == 4
    assert "`--file -` takes it as a text, `--files-from -` as a list of files" in ran.err


def test_a_piped_list_of_files_is_an_error_with_the_way_out(folder: Path) -> None:
    for name in ("a.py", "b c.py"):
        Path(name).write_text("x = 1\n")
    ran = run("render", stdin="a.py\nb c.py\n")
    message = "a list of files; `--files-from -` reads them, `--file -` takes the list"
    assert (ran.code, ran.err) == (4, f"promptforge: <stdin>: {message}\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # `description` is the text of many stores' records: it alone was in the text.
        ("package.json", '{"name": "pad", "version": "1", "description": "Pads all your texts"}'),
        ("open api.json", '{"openapi": "3", "info": {"description": "An API for all users"}}'),
        ("ci.yml", "name: CI\non: [push]\njobs:\n  test:\n    steps:\n      - run: make\n"),
    ],
)
def test_an_object_that_is_no_item_is_a_text(folder: Path, name: str, text: str) -> None:
    Path(name).write_text(text)
    ran = run("render", name)
    assert ran.code == 0 and text.strip() in ran.out
    assert f"`--file {shlex.quote(name)}` takes it as a text without a warning [PF201]" in ran.err
    assert run("render", "--file", name) == (0, ran.out, "")


def test_one_object_with_a_text_is_an_item(folder: Path) -> None:
    for record in ({"text": "a b", "more": 1}, {"name": "n", "description": "Words of a record"}):
        Path("one.json").write_text(json.dumps(record))
        assert "{" not in run("render", "one.json").out


def test_a_file_of_broken_items_says_how_it_is_read_as_a_text(folder: Path) -> None:
    for text in ('[{"contents": 1}]', '[{"content": '):
        Path("a b.json").write_text(text)
        ran = run("render", "a b.json")
        assert ran.code == 4 and "; `--file 'a b.json'` takes it as a text\n" in ran.err


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read_and_said(folder: Path, encoding: str) -> None:
    text = "class Grüße { } // 日本\r\n" * 700
    Path("a.cs").write_bytes(text.encode(encoding))
    for paths in (".", "a.cs"):
        loaded = pf.load(paths)
        assert [item.content for item in loaded] == [text.removesuffix("\r\n")]
        assert [(d.code, d.severity, d.where) for d in loaded.warnings] == [
            ("PF301", "info", "a.cs")
        ]


@pytest.mark.parametrize(
    "data",
    [
        b"\1\0\2\0\3\0\4\0",  # numbers of two bytes
        b"a\0\0\0b\0\0\0",  # and of four
        "abc\0def\0".encode("utf-16-le"),
        "abcdefgh".encode("utf-16-le") + b"\0\xd8",
        b"a\0b\0c",
    ],
)
def test_zeros_alone_make_no_utf_16(folder: Path, data: bytes) -> None:
    Path("a.txt").write_bytes(data)
    with pytest.raises(ItemError, match="a binary file"):
        pf.load(files="a.txt")
