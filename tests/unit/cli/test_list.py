"""Names, counts, sources and help on the command line: each thing, command and flag is there once."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from commandline import ITEM, python, run, said, write
from places import ROOT

import promptforge as pf
from promptforge.cli.main import COMMANDS, GROUPS
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS


@pytest.fixture(autouse=True)
def _items(folder: Path) -> None:
    write("items.json", [ITEM])


def test_count_says_how_many_and_how_sure() -> None:
    write("one.txt", "one two three")
    write("two.txt", "é" * 50)
    ran = run("count", "one.txt", "two.txt")
    numbers = [int(line.split()[0].replace(",", "")) for line in ran.out.splitlines()]
    counter = pf.get_tokenizer("o200k_base")
    assert numbers == [counter.count("one two three"), counter.count("é" * 50), sum(numbers[:2])]
    assert ran.err == "promptforge: exact, by o200k_base\n"
    assert run("count", "one.txt", "--tokenizer", "approximate-words").err.startswith(
        "promptforge: approximate"
    )


@pytest.mark.parametrize("data", [
    b"%PDF-1.7 a short one", b"\x1f\x8b\x08 packed", b"PK\x03\x04", b"\x28\xb5\x2f\xfd$", b"\x89PNG\0",
])  # fmt: skip
def test_a_file_is_binary_wherever_it_is_named(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f").mkdir()
    Path("f/a.md").write_text("a text")
    Path("f/b.md").write_bytes(data)
    words = "a binary file" if b"PNG" in data else "not text but "
    for line in (
        "render f/b.md", "render --file f/b.md", "render --doc f/b.md", "count f/b.md",
        "render --job f/b.md", "render --search text --in f/b.md", "prompt f/a.md --user-file f/b.md",
        "prompt f/a.md --history f/b.md", "render --technique T1003 --attack f/b.md",
    ):  # fmt: skip
        said(run(*line.split()), 4, f"f/b.md: {words}")
    for line in (
        "render f",
        "render --file f/*.md",
        "render --search text --in f",
        "count f/a.md f/b.md",
    ):
        ran = run(*line.split())
        told = line == "render f" and "without text" in ran.err
        assert ran.code == 0 and "a" in ran.out and (told or "b.md" in ran.err), line


def test_count_of_a_folder_names_the_largest_file_first() -> None:
    for name, words in (("src/few.txt", 3), ("src/core/many.txt", 50), ("src/.hidden", 9)):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write(name, "word " * words)
    ran = run("count", "src")
    names = [line.split()[1] for line in ran.out.splitlines()]
    assert names == ["src/core/many.txt", "src/few.txt", "total"]
    assert "src/.hidden" in run("count", "src", "--hidden").out
    assert "many" not in run("count", "src", "--exclude", "core/").out
    found = json.loads(run("count", "src", "--json").out)
    assert found["tokens"] == sum(row["tokens"] for row in found["files"])
    os.chdir("src")
    assert "few.txt" in run("count", "../src").out


def test_count_as_a_tree_sums_up_folders() -> None:
    Path("a/b").mkdir(parents=True)
    write("a/b/one.txt", "one two three")
    write("a/two.txt", "one " * 30)
    rows = [line.split() for line in run("count", "a", "--tree", "--depth", "3").out.splitlines()]
    assert [row[-1] for row in rows] == ["a/", "two.txt", "b/", "one.txt", "total"]
    numbers = [int(row[0]) for row in rows]
    assert numbers[0] == numbers[-1] == numbers[1] + numbers[2]
    assert numbers[2] == numbers[3]
    filled = [row[1].count("█") for row in rows[:3]]
    assert filled == [10, round(10 * numbers[1] / numbers[0]), round(10 * numbers[2] / numbers[0])]
    shallow = run("count", "a", "--tree").out
    assert "one.txt" not in shallow and "1 name below; --depth 3 shows all" in shallow


def test_count_of_standard_input_under_a_profile() -> None:
    found = json.loads(run("count", "--json", "-p", "claude", stdin="one two three").out)
    assert found["tokenizer"] == "approximate-claude" and found["exact"] is False
    assert found["tokens"] == pf.get_tokenizer("approximate-claude").count("one two three")
    assert found["files"] == [{"file": "-", "tokens": found["tokens"], "chars": 13}]


def test_list_names_all_there_is() -> None:
    out = run("list").out
    for name in ("chunks", "knowledge", "markdown", "claude", "default", "o200k_base", "file:PATH"):
        assert name in out
    found = json.loads(run("list", "--json").out)
    things = {"layouts", "formats", "profiles", "tokenizers", "prompts"}
    assert set(found) == {"promptforge", *things}
    assert {row["name"] for row in found["layouts"]} == {
        path.parent.name for path in (ROOT / "templates").glob("*/layout.yaml")
    }
    assert {row["name"] for row in found["profiles"]} == {
        path.stem for path in (ROOT / "profiles").glob("*.yaml")
    }
    assert all(
        row["description"] for rows in found.values() if isinstance(rows, list) for row in rows
    )


def test_list_of_profiles_is_a_table_that_helps_to_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in (60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert max(map(len, run("list", "profiles").out.splitlines())) <= columns
    (tmp_path / "mine.yaml").write_text(
        "description: 'long \\x1b[31m words '\nextends: claude\nmax_tokens: x\n", "utf-8"
    )
    (tmp_path / "own.yaml").write_text(f"description: {'word ' * 40}\nextends: claude\n", "utf-8")
    ran = run("list", "profiles", "--profiles", str(tmp_path))
    lines = ran.out.splitlines()
    assert lines[0].split() == [
        "name",
        "family",
        "layout",
        "format",
        "tokenizer",
        "window",
        "as",
        "of",
    ]
    assert "own claude documents xml approximate-claude 1,000,000" in " ".join(ran.out.split())
    assert "    not usable: " in ran.out and "\x1b" not in ran.out
    rows = json.loads(run("list", "profiles", "--json", "--profiles", str(tmp_path)).out)[
        "profiles"
    ]
    special = ["assembler", "knowledge-long", "lisp"]
    names = [row["name"] for row in rows]
    assert [line.split()[0] for line in lines[1:] if line[0] != " "] == [
        name for name in names if name not in special
    ]
    assert {*special} <= {*names}
    assert ran.err.endswith("profiles for one job, not one LLM: assembler, knowledge-long, lisp\n")
    (row,) = [row for row in rows if row["name"] == "claude-4.5"]
    assert (row["context_window"], row["reserve"], row["as_of"]) == (
        200000,
        64000,
        "2026-11-22",
    ) and row["match"]


@pytest.mark.parametrize("line", ["list layouts", "list", "show evil"])
def test_a_folder_that_no_rendering_uses_is_said_beside_what_it_holds(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("templates/evil").mkdir(parents=True)
    Path("templates/evil/layout.yaml").write_text("base: chunks\n")
    said = "templates is here, and only used with --templates templates or in a project"
    assert said in run(*line.split()).err
    assert said not in run(*line.split(), "--templates", "templates").err


def test_list_of_formats_has_ones_own_with_its_syntax_and_layouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("new", "format", "slides", "--from", "markdown", "--layout", "knowledge").code == 0
    rows = json.loads(run("list", "formats", "--json", "--templates", "templates").out)["formats"]
    (own,) = [row for row in rows if row["name"] == "slides"]
    assert (own["ending"], own["layouts"]) == ("slides.md", ["knowledge", "knowledge-long"])
    assert own["description"].endswith("escaped as markdown, in knowledge, knowledge-long")
    assert {row["name"] for row in rows} == {*FORMAT_EXTENSIONS, "slides"}
    assert "slides" in run("list", "formats").out  # ./templates counts, as for `check`


@pytest.mark.parametrize("arguments", [[], ["--format", "plain"], ["--max-tokens", "0"]])
def test_a_line_end_of_the_pipe_follows_the_text(tmp_path: Path, arguments: list[str]) -> None:
    text = json.loads(run("render", "items.json", *arguments, "--json").out)["text"]
    end = "\n" * bool(text)
    assert run("render", "items.json", *arguments).out == text + end
    for _ in range(2):
        assert run("render", "items.json", *arguments, "-o", str(tmp_path / "out")).out == ""
        assert (tmp_path / "out").read_text("utf-8") == text + end
    assert run("prompt", "items.json", "--user", "Why?", *arguments).out.endswith(">\n")


@pytest.mark.parametrize("what", ["layouts", "formats", "tokenizers", "templates"])
def test_list_of_one_thing(what: str) -> None:
    ran = run("list", what)
    found = json.loads(run("list", what, "--json").out)
    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in ran.out.splitlines()] == [
        row["name"] for row in found[what]
    ]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("chunks/item.md.j2", "templates/chunks/item.md.j2"),
        ("chunks", "templates/chunks/layout.yaml"),
        ("claude", "profiles/claude.yaml"),
        ("claude.yaml", "profiles/claude.yaml"),
    ],
)
def test_show_prints_the_file_and_says_where_it_is(name: str, file: str) -> None:
    ran = run("show", name)
    assert (ran.code, ran.out) == (0, (ROOT / file).read_text(encoding="utf-8"))
    assert ran.err == f"promptforge: {ROOT / file}\n"
    assert json.loads(run("show", name, "--json").out)["text"] == ran.out


def test_show_of_a_layout_says_that_a_profile_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("init", str(tmp_path / "own")).code == 0
    monkeypatch.chdir(tmp_path / "own")
    said = run("show", "mine").err
    assert said.endswith("layout.yaml; the profile of this name: promptforge show mine.yaml\n")
    assert run("show", "mine.yaml").out.startswith("# yaml-language-server: $schema=schema.json")
    told = run("check", "tests").err
    assert "or profiles; it holds cases, which `promptforge test` takes" in told


def test_schema_is_that_of_the_profiles_folder() -> None:
    ran = run("schema")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == json.loads(
        (ROOT / "profiles" / "schema.json").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("name", ["count", "list", "prompt", "render", "schema", "show"])
def test_help_of_every_command(name: str) -> None:
    ran = run(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: promptforge {name}")
    assert name in run("--help").out


def test_the_help_shows_every_command_once() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)


def test_a_list_keeps_to_the_screen_and_is_a_line_each_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback: os.terminal_size((80, 24)))
    from promptforge.cli import list as listing

    line = f"  context  {'a word ' * 20}"
    assert listing.wrap_row(line, 11) == line
    monkeypatch.setattr(sys, "stdout", Screen())
    first, *rest = listing.wrap_row(line, 11).split("\n")
    assert (
        rest
        and all(len(each) <= 80 for each in (first, *rest))
        and all(each[:11].isspace() for each in rest)
    )


class Screen:
    def isatty(self) -> bool:
        return True


def test_help_loads_no_file_reader_and_no_engine() -> None:
    program = (
        "import sys\nfrom promptforge.cli.main import main\ntry:\n    main(['--help'])\n"
        "except SystemExit:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    loaded = {name for name in python("-c", program).err.split() if name.startswith("promptforge")}
    assert loaded <= {
        f"promptforge{each}" for each in ("", "._version", ".errors", ".cli", ".cli.main")
    }


@pytest.mark.slow
def test_a_terminal_gets_colors_and_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    run("init", "desk")
    write("desk/templates/mine/item.md.j2", "{{ item.lines_range }}")
    commands = (
        ["list"], ["list", "profiles"], ["count", "desk", "--tree"], ["check", "desk"],
        ["check", "desk", "--diff"], ["test", "desk"], ["rule"],
    )  # fmt: skip
    plain = [run(*command).out for command in commands]
    monkeypatch.setenv("FORCE_COLOR", "1")
    painted = [run(*command).out for command in commands]
    assert all("\x1b[" in text for text in painted)
    assert [re.sub("\x1b\\[[0-9;]*m", "", text) for text in painted] == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert [run(*command).out for command in commands] == plain
