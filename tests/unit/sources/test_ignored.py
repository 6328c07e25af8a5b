"""What no reader wants of a folder: ignored files, and folders that tools fill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import run
from git_space import git, make, needs_git

import promptforge as pf


def paths(folder: Path, *names: str, **how: object) -> list[str]:
    """Return the paths that a source has, sorted."""
    found = pf.load(*(names or (".",)), workspace=folder, **how)  # type: ignore[arg-type]
    return sorted(item.path or "" for item in found)


def said(folder: Path, **how: object) -> str:
    """Return what is said of a folder's files."""
    return " ".join(w.message for w in pf.load(".", workspace=folder, **how).warnings)  # type: ignore[arg-type]


FILLED = {
    "web/node_modules/zod/index.js": "1\n",
    "venv/pyvenv.cfg": "home = /usr\n",
    "venv/lib/x.py": "x = 1\n",
    "rust/target/debug/out.d": "a\n",
    "rust/Cargo.toml": "[package]\n",
    "cache/CACHEDIR.TAG": "Signature\n",
    "cache/x.txt": "1\n",
    "app/bower_components/a.py": "1\n",
    "ios/Pods/A/a.m": "1\n",
    "target/kept.py": "1\n",
}
KEPT = ["rust/Cargo.toml", "target/kept.py"]


@needs_git
@pytest.mark.parametrize("in_git", [False, True])
def test_folders_that_tools_fill_are_left_out_and_said(tmp_path: Path, in_git: bool) -> None:
    make(tmp_path, FILLED)
    if in_git:
        git(tmp_path, "init", "-q")
    assert paths(tmp_path) == KEPT
    assert "6 installed or built (" in said(tmp_path)
    assert len(paths(tmp_path, ignored=True)) == len(FILLED)
    assert paths(tmp_path, "venv") == ["venv/lib/x.py", "venv/pyvenv.cfg"]  # somebody names it


@needs_git
def test_what_git_tracks_in_such_a_folder_is_read(tmp_path: Path) -> None:
    make(tmp_path, FILLED)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", "web")
    assert "web/node_modules/zod/index.js" in paths(tmp_path)


def test_without_git_rules_above_a_named_folder_count(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "drop.py\n", "a/src/drop.py": "d\n", "a/src/keep.py": "k\n"})
    assert paths(tmp_path, "a/src") == paths(tmp_path) == ["a/src/keep.py"]
    assert paths(tmp_path / "a", ".") == ["src/drop.py", "src/keep.py"]  # the rules lie outside


@needs_git
@pytest.mark.parametrize("in_git", [False, True])
@pytest.mark.parametrize("name", [".cursorignore", ".aiexclude", ".geminiignore"])
def test_ignore_files_of_other_tools_count_and_are_named(
    tmp_path: Path, name: str, in_git: bool
) -> None:
    make(tmp_path, {name: "secret/\n*.key\n", "secret/a.py": "1\n", "b.key": "1\n", "c.py": "1\n"})
    if in_git:
        git(tmp_path, "init", "-q")
        git(tmp_path, "add", "-A")
    kept = {name, "c.py"} if in_git else {"c.py"}
    assert set(paths(tmp_path)) == kept
    assert f"2 ignored by {name} (b.key, secret/a.py)" in said(tmp_path)
    assert "b.key" in paths(tmp_path, ignored=True)


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("app/(group)/[slug]/page.tsx", ["app/(group)/[slug]/page.tsx"]),
        ("app/(group)/[slug]", ["app/(group)/[slug]/page.tsx"]),
        ("[slug]/*.tsx", []),
        ("**/[slug]/*.tsx", ["app/(group)/[slug]/page.tsx"]),
        ("app/[a-z].ts", ["app/x.ts"]),
        ("app/\\[...all\\].ts", ["app/[...all].ts"]),
        ("app/[...all].ts", ["app/[...all].ts"]),
    ],
)
def test_brackets_are_letters_where_a_name_has_them(
    tmp_path: Path, pattern: str, wanted: list[str]
) -> None:
    every = ["app/(group)/[slug]/page.tsx", "app/[...all].ts", "app/x.ts"]
    make(tmp_path, dict.fromkeys(every, "1\n"))
    if wanted:
        assert paths(tmp_path, include=pattern) == wanted
    left = [path for path in every if path not in wanted]
    assert paths(tmp_path, exclude=pattern) == left


def test_files_that_are_named_beside_a_folder_come_first(folder: Path) -> None:
    files = {f"src/h{n}.c": f"int h{n}(int a) {{ return a + {n}; }}\n" for n in range(60)}
    make(folder, files | {"notes/zz.txt": "the note that I named\n"})
    out = run("render", "src", "notes/zz.txt", "src/h59.c", "--max-tokens", "300", "-q").out
    assert "the note that I named" in out
    assert out.count("### src/h59.c") == 1


def test_a_tree_has_every_path(folder: Path) -> None:
    make(folder, {f"many/{n:03}.py": f"x = {n}\n" for n in range(40)})
    make(folder, {"envs/dev/main.tf": "a = 1\n", "envs/prod/main.tf": "a = 1\n", "z/q/w.py": "1\n"})
    (folder / "lib.jar").write_bytes(b"PK\3\4\0")
    flags = ["--include", "envs/**", "--include", "many/007.py", "--exclude", "many/008.py"]
    out = run("render", ".", "--tree", *flags, "--format", "json", "-q").out
    tree = json.loads(out)["tree"]
    by_path = {entry.get("path"): entry for entry in tree}
    assert by_path["envs/prod/main.tf"] == {
        "folder": False,
        "path": "envs/prod/main.tf",
        "tokens": 0,
        "sameText": True,
    }
    assert by_path["z/q/"]["notShown"] == by_path["lib.jar"]["notShown"] == 1
    assert sum("many/0" in (path or "") for path in by_path) == 11  # the file and ten others
    assert by_path[None]["notShown"] == 28
    assert "many/008.py" not in out
    small = run("render", ".", "--tree", "--max-tokens", "260", "-q").out
    assert "more not shown)" in small and "envs/prod/main.tf" in small


@pytest.mark.parametrize(
    "name",
    [
        "git@github.com:a/b.git",
        "ssh://git@gitlab.com/a/b",
        "https://github.com/a/b",
        "github.com/a/b",
        "me@host.example:a/b",
        "git+https://github.com/a/b",
        "git://example.org/a/b",
        "gh:a/b",
    ],
)
def test_the_address_of_a_repository_gets_a_hint(folder: Path, name: str) -> None:
    for words in (["render"], ["count"], ["explain"], ["render", "--file"], ["render", "--doc"]):
        ran = run(*words, name)
        assert ran.code == 4 and "clone it first" in ran.err, ran


@pytest.mark.parametrize("line", ["!", "[z-a]", "a\\"])
def test_a_pattern_that_cannot_be_read_ends_no_run(folder: Path, line: str) -> None:
    make(folder, {"a.py": "x = 1\n", "b.py": "y = 2\n", ".ignore": f"{line}\nb.py\n"})
    assert paths(folder) == ["a.py"]
    for flag in ("--include", "--exclude"):
        refused = run("render", ".", flag, line)
        assert refused.code == 4 and "not a gitignore pattern" in refused.err
    with pytest.raises(pf.OptionError, match="a list of gitignore patterns"):
        pf.render([{"content": "x"}], paths=["*", line])


def test_each_text_of_a_folder_shows_its_whole_tree(folder: Path) -> None:
    make(folder, {"src/a.py": "x = 1\n", "b.bin": "\0\1"})
    loaded = pf.load(".")
    renderer = pf.Renderer(tree=True)
    assert "b.bin (not shown)" in renderer.render(loaded).text
    assert renderer.render(loaded).text in renderer.prompt(loaded).text
    assert renderer.prompt(loaded).warnings == renderer.render(loaded).warnings
