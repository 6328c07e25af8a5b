"""Patterns of `include` and `exclude`: as of `.gitignore`, and names as a user types them."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import run
from git_space import make

import promptforge as pf

FILES = ["!bang.txt", "#hash.txt", "pages/[id].vue", "pages/a b.vue", "src/a.py", "src/in/a.py"]


def paths(**filters: str) -> list[str]:
    return sorted(str(item.path) for item in pf.load(".", **filters))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        *((name, [name]) for name in FILES),
        *((f"./{name}", [name]) for name in FILES),
        *((f"{{top}}/{name}", [name]) for name in FILES),
        ("./src/*.py", ["src/a.py"]),
        ("{top}/src/*.py", ["src/a.py"]),
        ("././src/", ["src/a.py", "src/in/a.py"]),
        ("a.py", ["src/a.py", "src/in/a.py"]),
    ],
)
def test_a_name_is_taken_as_it_is_typed(folder: Path, pattern: str, wanted: list[str]) -> None:
    make(folder, {name: f"the text of {name}\n" for name in FILES})
    pattern = pattern.replace("{top}", str(folder))
    assert paths(include=pattern) == wanted
    assert paths(exclude=pattern) == [name for name in FILES if name not in wanted]
    assert "no file matches" not in run("render", ".", "--exclude", pattern).err


@pytest.mark.parametrize("flag", ["--include", "--exclude"])
def test_a_pattern_without_a_file_is_named(folder: Path, flag: str) -> None:
    make(folder, {"src/a.py": "x = 1\n", "src/b.py": "y = 1\n"})
    said = f'no file matches {flag} "src/a.py"; patterns are relative to the folder'
    ran = run("render", "src", flag, "src/a.py", flag, "b.py")
    assert ran.code == 0 and f"note: {said} [PF613]" in ran.err
    if flag == "--include":
        ran = run("render", "src", flag, "src/a.py")
        assert ran.code == 4 and f"narrowed them down; {said}" in ran.err


@pytest.mark.parametrize("flag", ["--include", "--exclude"])
def test_a_pattern_without_a_folder_to_narrow_down_is_named(folder: Path, flag: str) -> None:
    make(folder, {"src/a.py": "x = 1\n", "items.json": '[{"path": "a.py", "content": "x"}]'})
    ran = run("render", "items.json", flag, "*.py")
    said = f'no folder is read, and {flag} "*.py" narrows down the files of folders'
    assert ran.code == 0 and f"note: {said}; --paths keeps items by their path [PF613]" in ran.err
    assert "PF613" not in run("render", "items.json", "src", "--include", "*.py").err


def test_a_pattern_that_matches_in_one_folder_or_what_is_ignored_is_not_named(
    folder: Path,
) -> None:
    make(folder, {"src/a.py": "x = 1\n", "doc/b.py": "y = 1\n", "src/node_modules/c.py": "z\n"})
    excluded = ["--exclude", "b.py", "--exclude", "node_modules", "--exclude", "!c.py"]
    assert "no file" not in run("render", "src", "doc", *excluded).err


@pytest.mark.parametrize("pattern", ["../b/*.py", "*.rb"])
def test_a_pattern_that_is_named_as_a_file_gets_the_flag_for_it(folder: Path, pattern: str) -> None:
    make(folder, {"a.py": "x = 1\n"})
    ran = run("render", pattern)
    assert ran.code == 4
    assert f"{pattern}: cannot read it" in ran.err and "takes a pattern" in ran.err
    assert run("render", pattern, "a.py").code == 0
