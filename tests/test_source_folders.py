"""Folders as sources: what git sees is read, what no reader wants is left out and said.

git itself is the judge of what it ignores, and is used for real.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commandline import ROOT, run
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.cli.output import print_message, reading_progress
from promptforge.errors import Diagnostics
from promptforge.sources import credentials, folders
from promptforge.sources.credentials import find_credential

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def write(folder: Path, **files: str) -> None:
    """Write files; in their names `__` stands for `/`."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def make(folder: Path, files: dict[str, str]) -> None:
    write(folder, **files)


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with files of every sort, as the working directory."""
    place = tmp_path / "space"
    make(
        place,
        {
            "app.py": "import os\n",
            "docs/guide.md": "# Guide\n",
            ".github/workflows/ci.yml": "on: push\n",
            ".gitignore": "build/\n*.log\n",
            "web/.gitignore": "!kept.log\n/dist\n",
            "web/kept.log": "kept\n",
            "web/other.txt": "text\n",
            "web/dist/x.js": "dist\n",
            "build/out.py": "built\n",
        },
    )
    git(place, "init", "-q")
    git(place, "add", "-A")
    # Not tracked: a secret, a new file, and one that git ignores.
    make(place, {".env": "KEY=1\n", "new.py": "new = 1\n", "debug.log": "noise\n"})
    monkeypatch.chdir(place)
    return place


def paths(*arguments: str) -> list[str]:
    """Return the paths of the items that the command line gathers, sorted."""
    ran = run("render", *arguments, "--json", "--max-tokens", "20000", "--quiet")
    assert ran.code == 0, ran.err
    return sorted(item["path"] for item in json.loads(ran.out)["items"])


TRACKED = [".github/workflows/ci.yml", ".gitignore", "app.py", "docs/guide.md"]
WEB = ["web/.gitignore", "web/kept.log", "web/other.txt"]


def test_a_folder_is_read_as_git_sees_it(space: Path) -> None:
    assert paths(".") == sorted([*TRACKED, "new.py", *WEB])
    assert paths("docs", "web/") == ["docs/guide.md", *WEB]
    assert paths("--file", "docs") == ["docs/guide.md"]
    assert paths(str(space / "docs")) == [str(space / "docs/guide.md")]


def test_hidden_and_ignored_files_come_when_they_are_asked_for(space: Path) -> None:
    assert paths(".", "--hidden") == sorted([*TRACKED, ".env", "new.py", *WEB])
    wanted = ["app.py", "build/out.py", "debug.log", "docs/guide.md", "new.py"]
    assert paths(".", "--ignored") == [*wanted, "web/dist/x.js", "web/kept.log", "web/other.txt"]
    assert paths(".", "--no-ignore") == paths(".", "--ignored")
    assert paths("build") == ["build/out.py"]  # ignored, and named


def test_what_a_user_ignores_everywhere_is_ignored_here(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(
        space,
        {"home/ignore": "new.py\n", "home/config": f"[core]\nexcludesFile = {space}/home/ignore"},
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(space / "home/config"))
    assert "new.py" not in paths(".")
    (space / ".ignore").write_text("docs/\n")  # as of other tools: over tracked files too
    assert "docs/guide.md" not in paths(".")


def test_patterns_narrow_a_folder_down(space: Path) -> None:
    assert paths(".", "--include", "*.py", "--include", "docs/") == [
        "app.py",
        "docs/guide.md",
        "new.py",
    ]
    assert paths(".", "--exclude", "web/", "--exclude", ".*") == [
        "app.py",
        "docs/guide.md",
        "new.py",
    ]
    assert paths(".", "--include", "*.py", "--exclude", "new*") == ["app.py"]
    left = paths(".", "--include", "*", "--include", "!docs/")
    assert "docs/guide.md" not in left and {"app.py", "new.py"} <= {*left}
    # What takes folders back takes no file back, as in .gitignore.
    assert paths(".", "--exclude", "*", "--exclude", "!*/", "--exclude", "!*.md") == [
        "docs/guide.md"
    ]
    ran = run("render", ".", "--include", "*.rs")
    assert (ran.code, ran.err) == (
        4,
        "promptforge: .: a folder without files to read, as they were narrowed down\n",
    )


@pytest.mark.parametrize("pattern", ["docs/**,*.py", "*.{py,md}", "docs/, web/"])
@pytest.mark.parametrize("flag", ["--include", "--exclude"])
def test_several_patterns_in_one_are_refused_as_they_would_match_nothing(
    space: Path, flag: str, pattern: str
) -> None:
    ran = run("render", ".", flag, pattern)
    assert ran.code == 4
    assert f"{flag} {pattern}: no file matches it, but some match a part" in ran.err.replace(
        '"', ""
    )
    assert f"repeat {flag} for each part" in ran.err
    make(space, {"docs/a,b.md": "comma\n", "docs/c{1,2}.md": "braces\n"})
    assert paths(".", "--include", "docs/a,b.md", "--include", "*{1,2}.md") == [
        "docs/a,b.md",
        "docs/c{1,2}.md",
    ]
    assert len(paths(".", "--exclude", "no,such")) > 3


def test_what_nobody_wants_is_left_out_and_said_once(space: Path) -> None:
    make(
        space,
        {
            "uv.lock": "locked = 1\n",
            "web/package-lock.json": "{}\n",
            "web/jquery.min.js": "x\n",
            "web/bundle.js": "a;" * 3000,
            "web/long.txt": "a;" * 3000,
            "api_pb2.py": "# -*- coding: utf-8 -*-\n# Code generated by protoc. DO NOT EDIT.\n",
            "about.py": "TEXT = '@generated'\n",
            "image.png": "\x89PNG\0\0",
            "paper.pdf": "%PDF-1.7 without a zero",
        },
    )
    ran = run("render", ".", "--json", "--max-tokens", "20000")
    new = {item["path"] for item in json.loads(ran.out)["items"]} - {*TRACKED, *WEB, "new.py"}
    assert new == {"web/long.txt", "about.py"}
    assert ran.err == (
        "promptforge: note: .: left out files without text: 2 (image.png, paper.pdf), generated"
        " files: 1 (api_pb2.py), lock files: 2 (uv.lock, web/package-lock.json), minified files: 2"
        " (web/bundle.js, web/jquery.min.js); name a file that is meant, or give --ignored [PF608]\n"
    )
    assert paths(".", "--include", "*.lock") == ["uv.lock"]
    assert paths("--file", "uv.lock", "web/jquery.min.js") == ["uv.lock", "web/jquery.min.js"]
    assert {"uv.lock", "api_pb2.py", "web/bundle.js"} <= set(paths(".", "--ignored"))
    assert "image.png" not in paths(".", "--ignored")


def test_pointers_of_git_lfs_are_no_data(space: Path) -> None:
    oid = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12345\n"
    write(space, **{"data.csv": pointer, "model.bin": pointer, "about.txt": f"As in:\n{pointer}"})
    ran = run("render", ".", "--json", "--max-tokens", "20000")
    found = {item["path"] for item in json.loads(ran.out)["items"]}
    assert "about.txt" in found and found.isdisjoint({"data.csv", "model.bin"})
    assert "pointers of Git LFS: 2 (data.csv, model.bin)" in ran.err
    assert "git lfs pull fetches the files of Git LFS" in ran.err
    assert paths("--file", "data.csv") == ["data.csv"]


@pytest.mark.parametrize(
    ("look", "suffix"),
    [
        ((), "md"),
        (("--format", "xml"), "md"),
        (("--outline",), "md"),
        (("--number-lines",), "md"),
        (("--format", "json"), "json"),
        (("--format", "yaml", "--layout", "knowledge"), "yml"),
        (("--format", "json", "--outline", "--layout", "documents"), "json"),
    ],
)
def test_an_earlier_output_is_left_out_and_hides_no_source(
    space: Path, look: tuple[str, ...], suffix: str
) -> None:
    functions = "\n\n".join(
        f'def task_{n}(x: int) -> int:\n    """Do task {n} < {n + 1}."""\n    return x + {n}'
        for n in range(30)
    )
    make(space, {"tasks.py": functions, "more.py": functions.replace("task", "step")})
    before = paths(".", "--max-tokens", "none")
    assert run("render", ".", "--max-tokens", "none", "-o", f"old.{suffix}", *look).code == 0
    assert run("render", ".", "--split", "650", "-o", f"parts.{suffix}", *look).code == 0
    assert len(list(space.glob(f"parts.*.{suffix}"))) > 2
    ran = run("render", ".", "--max-tokens", "none", "--json")
    assert [item["path"] for item in json.loads(ran.out)["items"]] == before
    assert "left out texts packed of the other files:" in ran.err
    assert f"old.{suffix}" in paths("--file", f"old.{suffix}", "tasks.py", "--max-tokens", "none")
    assert f"old.{suffix}" in paths(".", "--ignored", "--max-tokens", "none")
    git(space, "add", "-A", ":!old.*", ":!parts.*")
    git(space, "commit", "-qm", "More")
    assert "but for those that are left out" in run("render", "--git-changed").err
    make(space, {"tasks.py": functions + "\n"})
    assert paths("--git-changed", "--max-tokens", "none") == ["tasks.py"]
    assert f"old.{suffix}" in paths("--git-changed", "--ignored", "--max-tokens", "none")


def test_a_part_that_holds_one_line_of_a_file_is_an_earlier_output(space: Path) -> None:
    make(space, {"one.py": '"""All the tasks of a day."""\n'})
    part = [{"file": "one.py", "content": '"""All the tasks of a day."""', "startLine": 1}]
    make(space, {"out.1.json": json.dumps(part)})
    assert "out.1.json" not in paths(".", "--max-tokens", "none")


def test_of_many_files_of_a_name_the_next_ones_are_meant(space: Path) -> None:
    names = "\n".join(f"{folder} = {{}}" for folder in "abcd")
    files = {f"{folder}/values.toml": f"{names}\nof_{folder} = 1\n" for folder in "abcd"}
    packed = (
        "# a/values.toml\n" + files["a/values.toml"] + "# b/values.toml\n" + files["b/values.toml"]
    )
    manual = "# values.toml\n" + files["b/values.toml"]
    said = "".join(f"Word {n} of its own.\n" for n in range(9))
    make(space, {**files, "all.md": packed, "a/README.md": manual + said, "c/used.md": manual})
    assert {"a/README.md", "all.md", "c/used.md"} - set(paths(".", "--max-tokens", "none")) == {
        "all.md"
    }


def test_data_that_names_files_or_holds_lines_of_them_is_no_earlier_output(space: Path) -> None:
    listed = json.dumps({"files": [{"path": name, "text": "of\nmine"} for name in TRACKED]})
    make(space, {"list.json": listed, "list.yaml": "".join(f"- file: {n}\n" for n in TRACKED)})
    make(space, {"broken.json": '{"file": "app.py"', "deep.json": '{"file":' + "[" * 9000})
    kept = set(paths(".", "--max-tokens", "none"))
    assert {"list.json", "list.yaml", "broken.json", "deep.json"} <= kept


def test_a_page_that_quotes_or_copies_others_is_no_earlier_output(space: Path) -> None:
    page = "# guide.md\n\nSee app.py for more of what this program does and how it is used.\n"
    quoting = "# A tour\n\nThe program starts here.\n\n## app.py\n\nimport os\nprint(os.name)\n\nAnd so it ends.\n"
    make(space, {"guide.md": page, "docs/guide.md": page + "One more.\n", "tour.md": quoting})
    make(space, {"files.txt": "".join(f"# {name}\n" for name in TRACKED)})
    assert {"docs/guide.md", "tour.md", "files.txt"} <= set(paths(".", "--max-tokens", "none"))


def test_a_repository_runs_no_program_and_leads_nowhere_else(space: Path, tmp_path: Path) -> None:
    make(tmp_path, {"outside/secret.py": "secret"})
    (space / "hook").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (space / "hook").chmod(0o755)
    git(space, "config", "core.fsmonitor", str(space / "hook"))
    # A tracked folder that has become a link since, and a link to a file.
    shutil.rmtree(space / "docs")
    (space / "docs").symlink_to(tmp_path / "outside")
    make(tmp_path, {"outside/guide.md": "secret"})
    (space / "link.py").symlink_to(tmp_path / "outside/secret.py")
    for flags in ((), ("--ignored",), ("--hidden",)):
        assert not {"docs/guide.md", "docs/secret.py", "link.py"} & set(paths(".", *flags))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("flags", [(), ("--ignored",)], ids=["as git sees it", "all files"])
def test_links_are_left_out_and_said(space: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    make(tmp_path, {"outside/secret.py": "secret"})
    (space / "link.py").symlink_to(tmp_path / "outside/secret.py")
    (space / "linked").symlink_to(tmp_path / "outside")
    assert "left out" in (said := run("render", ".", *flags).err) and "links: 2" in said


def test_inside_a_hook_of_git_the_folder_is_still_the_one_that_is_named(
    space: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nowhere/index"))
    assert "new.py" in paths(".") and ".github/workflows/ci.yml" in paths(".")


def test_files_of_submodules_are_files_of_the_folder(space: Path, tmp_path: Path) -> None:
    make(tmp_path, {"library/lib.py": "lib\n"})
    git(tmp_path / "library", "init", "-q")
    git(tmp_path / "library", "add", "-A")
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
    git(tmp_path / "library", *who, "commit", "-qm", "first")
    git(space, *who, "submodule", "add", "-q", str(tmp_path / "library"), "lib")
    assert "lib/lib.py" in paths(".")


def test_what_git_has_and_the_folder_lacks_is_said(space: Path, tmp_path: Path) -> None:
    test_files_of_submodules_are_files_of_the_folder(space, tmp_path)
    git(space, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x")
    git(tmp_path, "clone", "-q", "space", "copy")
    copy = tmp_path / "copy"
    said = pf.load(".", workspace=copy).warnings
    fetch = "git submodule update --init fetches the files of submodules"
    expected = f"left out submodules without files: 1 (lib); {fetch}"
    assert [(d.where, d.message) for d in said] == [(".", expected)]
    git(copy, "sparse-checkout", "set", "docs")
    said = pf.load(".", workspace=copy).warnings
    assert "tracked files that are not there: 4 (" in said[0].message
    assert str(said[0]).startswith(".: left out")
    back = "git restore, or git sparse-checkout add, brings tracked files back"
    assert said[0].message.endswith(f"; {back}; {fetch}")
    git(copy, "sparse-checkout", "add", "web")
    git(copy, "-c", "protocol.file.allow=always", "submodule", "update", "--init")
    back_again = {item.path for item in pf.load(".", workspace=copy)}
    assert {"lib/lib.py", "web/kept.log"} < back_again


def test_a_clone_in_a_folder_is_said(space: Path) -> None:
    make(space, {"clone/c.py": "c"})
    git(space / "clone", "init", "-q")
    said = pf.load(".", workspace=space).warnings
    expected = "left out other repositories: 1 (clone/); name another repository that is meant"
    assert [d.message for d in said] == [expected]
    assert [item.path for item in pf.load("clone", workspace=space)] == ["clone/c.py"]


def test_files_that_are_marked_as_generated_are_left_out(space: Path) -> None:
    marks = "api/* linguist-generated=true\n*.pb.go linguist-generated\nkeep.pb.go -linguist-generated\n"
    make(space, {".gitattributes": marks, "api/a.py": "a", "b.pb.go": "b", "keep.pb.go": "k"})
    git(space, "add", "-A")
    found = pf.load(".", workspace=space)
    assert {"api/a.py", "b.pb.go"}.isdisjoint(item.path for item in found)
    assert "keep.pb.go" in [item.path for item in found]
    assert "generated files: 2 (api/a.py, b.pb.go)" in found.warnings[-1].message
    assert [item.path for item in pf.load(".", workspace=space, include="api/*")] == ["api/a.py"]
    assert not pf.load("docs", workspace=space).warnings
    assert "api/a.py" in [item.path for item in pf.load(".", workspace=space, ignored=True)]


def test_a_name_that_is_no_text_is_a_name(space: Path) -> None:
    name = os.fsencode(space) + b"/\xff.py"
    try:
        with open(name, "w") as file:
            file.write("odd = 1\n")
    except OSError:
        pytest.skip("this file system has names of text alone")
    ran = run("render", ".", "--max-tokens", "20000")
    assert "odd = 1" in ran.out and "\\udcff.py" in ran.out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_or_socket_in_a_folder_is_said_and_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name is short
    make(tmp_path, {"a.py": "a"})
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
    said = pf.load(".").warnings
    assert "pipes, sockets and devices: 2 (pipe, sock)" in said[0].message
    for name in ("pipe", "sock"):
        ran = run("render", name)
        assert (ran.code, ran.err) == (
            4,
            f"promptforge: {name}: not a file but a pipe, socket or device\n",
        )
    assert "pipe: a pipe, socket or device; skipped" in run("render", "--file", "*").err


def test_a_notebook_that_is_named_is_a_text_too(space: Path) -> None:
    make(space, {"n.ipynb": '{"cells": [{"source": ["x"], "outputs": [{"name": "stdout"}]}]}'})
    ran = run("render", "n.ipynb")
    assert (ran.code, ran.err) == (0, "") and '"outputs"' in ran.out


def test_bytes_are_said_of_files_in_the_text_alone(space: Path) -> None:
    (space / "app.py").write_bytes(b"app = '\xe9'\n" + b"line = 1\n" * 9)
    assert "PF301" in run("render", ".", "--max-tokens", "20000").err
    ran = run("render", ".", "--max-tokens", "60", "--query", "guide", "--packing", "whole")
    assert "app" not in ran.out and "PF301" not in ran.err


def test_a_folder_without_a_repository_heeds_both_sorts_of_files(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": "a", "b.log": "b", "c/d.tmp": "d", "c/e.py": "e", ".hidden/f": "f"})
    make(tmp_path, {".gitignore": "*.log\n", "c/.ignore": "*.tmp\n"})
    loaded = pf.load(tmp_path, workspace=tmp_path)
    assert [Path(item.path or "").name for item in loaded] == ["a.py", "e.py"]
    loaded = pf.load(".", workspace=tmp_path, hidden=True, exclude="*ignore")
    assert [item.path for item in loaded] == [".hidden/f", "a.py", "c/e.py"]
    loaded = pf.load(".", workspace=tmp_path, ignored=True, include=["*.log", "*.tmp"])
    assert [item.path for item in loaded] == ["b.log", "c/d.tmp"]


def test_a_folder_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": "a", "closed/b.py": "b"})
    diagnostics = Diagnostics()
    error = PermissionError(13, "Permission denied", str(tmp_path / "closed"))
    real = os.scandir
    with pytest.MonkeyPatch.context() as patch:

        def scan(path: str) -> object:
            if str(path).endswith("closed"):
                raise error
            return real(path)

        patch.setattr(os, "scandir", scan)  # root may read everything
        found = list(folders.read_folder(".", workspace=tmp_path, diagnostics=diagnostics))
        with pytest.raises(pf.ItemError, match="closed: cannot read it: permission denied"):
            list(folders.read_folder("closed", workspace=tmp_path, diagnostics=Diagnostics()))
    assert [name for name, _, _ in found] == ["a.py"]
    assert [d.code for d in diagnostics] == ["PF601"]


def test_a_folder_that_git_may_not_read_is_said(space: Path) -> None:
    (space / "closed").mkdir(mode=0)
    lead: list[str] = []
    if not os.getuid():  # root reads everything, unless this right is taken from it
        rights = "-dac_override,-dac_read_search"
        lead = ["setpriv", "--bounding-set", rights, "--inh-caps", rights]
        if not shutil.which("setpriv") or subprocess.run([*lead, "true"], check=False).returncode:
            pytest.skip("root reads everything here")
    ran = subprocess.run(
        [*lead, sys.executable, "-m", "promptforge", "render", "."],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "could not open directory 'closed/': Permission denied [PF601]" in ran.stderr
    assert "import os" in ran.stdout


def test_a_huge_folder_is_cut_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {f"{n}/a.py": "a" for n in range(9)})
    monkeypatch.setattr(folders, "MAX_NAMES_VISITED", 12)
    loaded = pf.load(".", workspace=tmp_path)
    assert 0 < len(loaded) < 9 and [d.code for d in loaded.warnings] == ["PF602"]


@pytest.mark.parametrize("separator", ["\n", "\0"])
def test_a_list_of_files_is_taken_from_a_file_or_a_pipe(space: Path, separator: str) -> None:
    names = "app.py\ndocs/guide.md\n".replace("\n", separator)
    (space / "list").write_text(names)
    assert paths("--files-from", "list") == ["app.py", "docs/guide.md"]
    ran = run("render", "--files-from", "-", "--json", stdin=names)
    assert [item["path"] for item in json.loads(ran.out)["items"]] == ["app.py", "docs/guide.md"]
    assert run("render", "--files-from", "nowhere").code == 4
    for form in (["@list"], ["--file", "@list"], ["@list", "-0"][: 2 if separator == "\0" else 1]):
        assert paths(*form) == ["app.py", "docs/guide.md"]
    again = json.loads(run("render", "@-", "--json", stdin=names).out)
    assert again["text"] == json.loads(ran.out)["text"]
    twice = run("render", "@-", "--files-from", "-", stdin=names)
    assert (twice.code, "only one input" in twice.err) == (2, True)
    (space / "@list").write_text("mine\n")  # a file of that name is meant
    assert paths("--file", "@list") == ["@list"]


def test_a_list_of_another_day_is_said_in_one_line(space: Path) -> None:
    (space / "list").write_text("\n".join([*(f"gone{n}.py" for n in range(9)), "app.py"]))
    ran = run("render", "--files-from", "list")
    assert "import os" in ran.out
    assert ran.err.count("gone") == 3
    assert "gone0.py, gone1.py, gone2.py and 6 more: left out: cannot read it: no such" in ran.err
    (space / "list").write_text("\n".join(f"gone{n}.py" for n in range(9)))
    ran = run("render", "--files-from", "list")
    assert (ran.code, ran.err.count("\n")) == (4, 1)


def test_a_list_of_one_name_with_a_line_end_in_it_needs_the_flag(space: Path) -> None:
    (space / "two\nlines.py").write_text("x = 1\n")
    (space / "list").write_text("two\nlines.py")
    assert paths("--files-from", "list", "-0") == ["two\nlines.py"]


def test_files_after_file_are_files_as_a_shell_makes_them_of_a_pattern(space: Path) -> None:
    make(space, {"a.json": '{"a": 1}\n', "b.json": '{"b": 2}\n'})
    assert paths("--file", "a.json", "b.json", "app.py") == ["a.json", "app.py", "b.json"]
    (space / "items.json").write_text('[{"path": "from_items.py", "content": "x"}]')
    assert paths("--file", "app.py", "items.json") == ["app.py", "from_items.py"]
    assert paths("--file", "app.py", "--hidden", "new.py") == ["app.py", "new.py"]


def test_reading_is_shown_after_a_second_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for term, is_terminal in (("xterm", True), ("dumb", False), ("xterm", False)):
        stream = io.StringIO()
        is_a_tty = is_terminal or term == "dumb"
        monkeypatch.setattr(stream, "isatty", lambda answer=is_a_tty: answer)
        monkeypatch.setenv("TERM", term)
        monkeypatch.setattr(sys, "stderr", stream)
        # The second call comes after a second, the third too soon for another line.
        monkeypatch.setattr(time, "monotonic", iter((0.0, 0.5, 1.0, 1.05)).__next__)
        with reading_progress() as show:
            for number in (1, 4_200, 4_201):
                show(number, 20_000)
        shown = stream.getvalue()
        assert ("reading 4,200 of 20,000 files" in shown) == is_terminal
        assert "4,201" not in shown and shown.endswith("\x1b[K" * is_terminal)


def test_a_dumb_terminal_gets_no_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", stream)
    for term in ("xterm", "dumb"):
        monkeypatch.setenv("TERM", term)
        print_message("said", "note")
    in_colours, plain = stream.getvalue().splitlines()
    assert "\x1b[36mnote:" in in_colours and plain == "promptforge: note: said"


def test_messages_have_colours_where_they_are_wanted(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (space / "app.lock").write_text("x")
    (plain, color) = (run("render", ".", *more).err for more in ((), ("--color",)))
    assert "\x1b[" not in plain and "\x1b[36mnote:\x1b[0m" in color
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" in run("render", ".", "--color").err
    assert "\x1b[" not in run("render", ".", "--no-color").err


SECRETS = {
    # In two parts, so that no scanner takes this file for the place of one.
    "a private key": "-----BEGIN RSA "
    + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\n5Ux8zQ==\n",
    "an AWS access key": "aws_access_key_id = AKIA" + "I7QXSU2JTPNN4B6M",
    "a GitHub token": "token: ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "a GitLab token": "glpat-" + "Zx9_kLm3nPq7RsTuVw2y",
    "a Slack token": "xoxb-" + "123456789012-abcdefGHIJKL",
    "a SendGrid key": "SG."
    + "Zx9_kLm3nPq7RsTuVw2yAb."
    + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcdefg",
    "an Azure storage key": "AccountKey=" + "AbCdEfGhIjKlMnOpQrStUvWxYz+/" * 3 + "0A==",
    "a Telegram token": "1234567890:AA" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456",
    "a Google API key": "key=AIza" + "SyD4e8fGhIjKlMnOpQrStUvWxYz01234567"[:35],
    "a Stripe key": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "an Anthropic key": "sk-ant-" + "api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "an OpenAI key": "sk-proj-" + "AbCdEfGhIjKlMnOpQrSt" + "T3BlbkFJ" + "AbCdEfGhIjKlMnOpQrSt",
    "a Hugging Face token": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",
    "an npm token": "//registry/:_authToken=npm_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "a PyPI token": "pypi-AgEI" + "cHlwaS5vcmcCJGFiY2RlZmdoLWlqa2wtbW5vcC1xcnN0LXV2d3h5ejAxMjM",
    "an age key": "AGE-SECRET-KEY-1"
    + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
    + "QPZRY9X8GF2TVDW0S3JN54KHCE",
    "an AWS secret key": "aws_secret_access_key = " + "AbCdEfGhIjKlMnOpQr/tUvWxYz+123456789abcd",
    "an Amazon Bedrock key": "ABSK" + "AbCdEfGhIjKlMnOpQrStUvWxYz+/" * 4,
    "a Slack webhook": "https://hooks.slack.com/services/"
    + "T0ABCDEFG/B0ABCDEFG/AbCdEfGhIjKlMnOpQrStUvWx",
    "a Google OAuth secret": "GOCSPX-" + "AbCdEfGhIjKlMnOpQrStUvWxYz01",
    "a Google access token": "ya29." + "a0AbCdEfGhIjKlMnOpQrStUvWxYz01234567",
    "a Stripe webhook secret": "whsec_" + "AbCdEfGhIjKlMnOpQrStUvWxYz+12345",
    "an Azure access key": "SharedAccessKey=" + "AbCdEfGhIjKlMnOpQrStUvWxYz+/0123456789abcde" + "=",
    "an Azure client secret": "x = " + "a1b8Q~" + "AbCdEfGhIjKlMnOpQrStUvWxYz.~0123",
    "an Azure DevOps token": "AbCdEfGhIjKlMnOpQrS" * 4 + "AZDO" + "1a2B",
    "a password in an address": "postgres://bob:" + "ZeA5jbsBXA3hcM@db.acme.io/x",
}


@pytest.mark.parametrize(
    "written",
    [
        "{0}\n{1}", "  {0}\n  {1}", "# {0}\n# {1}", "+{0}\n+{1}", "-{0}\n-{1}", '"{0}\\n{1}\\n"',
        "{0}\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,0F\r\n\r\n{1}",
        "{0}\nVersion: 1\nComment: a: b: c\n\n{1}",
        '"{0}\\n" +\n    "{1}\\n" +', "'{0}',\n'{1}',", 'x = "{{\\"k\\": \\"{0}\\\\n{1}\\\\n\\"}}"',
    ],
)  # fmt: skip
def test_a_key_is_found_however_its_lines_begin(written: str) -> None:
    begin = "-----BEGIN " + "PRIVATE KEY-----"
    text = written.format(begin, "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn")
    assert find_credential(f"a\n{text}\n") == "a private key"


def test_headers_of_a_key_are_read_in_one_pass() -> None:
    assert find_credential("-----BEGIN PRIVATE KEY-----\n" + "a: " * 100_000) is None


def bytes_of(secret: str) -> list[str]:
    """Return the parts of a sample that nobody may see: its long words with a digit or a capital."""
    words = re.findall(r"[A-Za-z0-9+/_.~-]{12,}", secret.replace("PRIVATE KEY", ""))
    return [word for word in words if re.search("[A-Z0-9]", word) and word != "SharedAccessKey"]


def commit(space: Path) -> None:
    about = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    git(space, *about, "commit", "-qam", "x", "--allow-empty")


@pytest.mark.parametrize("name", SECRETS)
def test_a_credential_is_masked_in_its_place_and_said_once(space: Path, name: str) -> None:
    secret = SECRETS[name]
    (space / "app.py").write_text(f"before\n{secret}\nafter\n")
    (space / "same.md").write_text(f"It is\n{secret}\n")
    commit(space)
    ran = run("render", ".", "--max-tokens", "20000", "--strict", "--number-lines")
    assert ran.code == 0, ran.err
    (said,) = [line for line in ran.err.splitlines() if "[PF609]" in line]
    assert f"app.py ({name})" in said and f"same.md ({name})" in said
    assert "--no-secret-scan takes all as it is" in said
    is_key = name == "a private key"  # the sample has no end
    assert ("before" in ran.out, "REDACTED" in ran.out) == (not is_key, not is_key)
    if not is_key:
        assert re.search(r"(?m)^3[: |\t]+after$", ran.out)
    assert secret in run("render", ".", "--no-secret-scan", "--max-tokens", "20000").out
    assert secret.split("\n")[0] in run("render", "app.py").out  # named


def split_and_batch(space: Path) -> str:
    """Return what `--split` and `batch` write about a folder."""
    ran = run("render", ".", "--split", "400", "-o", "parts/x.md")
    (space / "requests.jsonl").write_text('{"items": ["."], "id": "a"}\n')
    done = run("batch", "requests.jsonl", "-o", "answers.jsonl", "--jobs", "1")
    written = [path.read_text() for path in [*space.glob("parts/*"), *space.glob("answers*")]]
    assert written, ran.err + done.err
    return "".join(written) + ran.out + ran.err + done.out + done.err


@pytest.mark.slow
@pytest.mark.parametrize("name", SECRETS)
def test_no_output_holds_the_bytes_of_a_credential(space: Path, name: str) -> None:
    secret = SECRETS[name]
    (space / "parts").mkdir()
    (space / "app.py").write_text(f"before\n{secret}\nafter\n")
    outputs = [split_and_batch(space)]
    for path in [*space.glob("parts/*"), *space.glob("answers*"), space / "requests.jsonl"]:
        path.unlink()
    for flags in (["."], ["--git-diff"], ["--git-changed"], ["--search", "before after"]):
        for more in ([], ["--json"], ["--format", "xml"], ["--tree"], ["--query", "before"]):
            if "--search" not in flags or not more:
                ran = run("render", *flags, *more, "--max-tokens", "20000")
                outputs.append(ran.out + ran.err)
    for command in ("explain", "count"):
        ran = run(command, ".", "--json")
        outputs.append(ran.out + ran.err)
    message = f"subject {secret}"
    git(space, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", message)
    ran = run("render", "--git-log", "3", "--json")
    outputs.append(ran.out + ran.err)
    for output in outputs:
        assert not [each for each in bytes_of(secret) if each in output]


@pytest.mark.parametrize(
    ("begin", "rest", "name"),
    [
        ("ghs_", "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEf", "a GitHub token"),
        ("github_pat_", "11ABCDEFG0" + "AbCdEfGhIjKl" + "_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
         + "AbCdEfGhIjKlMnOpQrStUvW", "a GitHub token"),
        ("gldt-", "AbCdEfGhIjKlMnOpQrSt", "a GitLab token"),
        ("glrt-", "t1_AbCdEfGhIjKlMnOpQrSt", "a GitLab token"),
        ("glpat-", "AbCdEfGhIjKlMnOpQrStUvWxYz0.01.0a1b2c3d4", "a GitLab token"),
        ("ASIA", "Q4J5X6Y7Z2A3B4C5", "an AWS access key"),
        ('"SecretAccessKey": "', 'AbCdEfGhIjKlMnOpQr/tUvWxYz+123456789abcd"', "an AWS secret key"),
        ("xapp-", "1-A0ABCDEFG-1234567890-" + "0a1b2c3d4e5f" * 5, "a Slack token"),
        ("xoxe.xoxp-", "1-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "a Slack token"),
        ("https://hooks.slack.com/triggers/", "T0ABCDEFG/1234567890/AbCdEfGhIjKlMnOpQrStUvWx", "a Slack webhook"),
        ("rk_live_", "4eC39HqLyjWDarjtT1zdp7dc", "a Stripe key"),
        ("sk-ant-", "admin01-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "an Anthropic key"),
        ("sk-svcacct-", "AbCdEfGhIjKlMnOpQrSt" + "T3Blbk" + "FJAbCdEfGhIjKlMnOpQrSt", "an OpenAI key"),
        ("pypi-AgEN", "dGVzdC5weXBpLm9yZwIkYWJjZGVmZ2gtaWprbC1tbm9wLXFyc3QtdXZ3eHl6", "a PyPI token"),
        ("mongodb+srv://bob:", "ZeA5jbsBXA3hcM@cluster0.acme.mongodb.net", "a password in an address"),
        ("-----BEGIN ENCRYPTED ", "PRIVATE KEY-----\nMIIFHDBOBgkqhkiG9w0BBQ0wQTApBgk", "a private key"),
        ("-----BEGIN PGP ", "PRIVATE KEY BLOCK-----\n\nlQOYBGPdy2sBCADOrQZz4bKnMVE5", "a private key"),
    ],
)  # fmt: skip
def test_the_other_forms_of_a_credential_are_found_too(begin: str, rest: str, name: str) -> None:
    assert find_credential(f"short\n{begin}{rest}\n") == name


def test_with_the_extra_more_kinds_are_found() -> None:
    pytest.importorskip("detect_secrets")
    for text in ("password = 'abcdef123456'", "10.20.30.40", "import os\n", "# SG.x",
                 "ftp://user:pw@host/x", "http://bob:PASSWORD@db", "https://u:***@h.io", "a://b:<pw>@c"):  # fmt: skip
        assert find_credential(text) is None
    for name, text in {
        "Cloudant Credentials": "cloudant_password = '" + "a1b2c3d4" * 8 + "'",
        "IBM COS HMAC Credentials": "cos_secret_access_key='" + "0A1b2c3d4e5f" * 4 + "'",
        "IBM Cloud IAM Key": "ibm_api_key='" + "a1_-" * 11 + "'",
        "SoftLayer Credentials": "softlayer_api_key='" + "a1" * 32 + "'",
        "Artifactory Credentials": "key: AP6" + "a1B2c3D4" * 2,
        "Mailchimp Access Key": "a1b2c3d4" * 4 + "-us21",
        "Discord Bot Token": "x=M" + "a1-B" * 6 + ".Ab-c_1." + "a1b" * 9,
        "Square OAuth Secret": "sq0csp-" + "a-B" * 14 + "c",
        "Twilio API Key": "sid: AC" + "a1b2c3d4" * 4,
    }.items():
        assert find_credential(f"short line\n{text}\n") == f"what looks like {name}"
    function = "convert_number_values_for_function_call_args"  # as long as a key of IBM
    assert find_credential(f"ibm_cloud_key = {function}") is None
    assert find_credential("cl_key = " + "abcdwxyz" * 3)  # Cloudant's name for a user


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        (".env", "DB_URL=postgres://admin:hunter2pass@db/prod", True),
        ("a/prod.env", 'export API_KEY="abcdef123456"', True),
        (".env.local", "DB_PASSWORD=hunter2pass", True),
        (".netrc", "machine github.com login me password s3cretpassw0rd", True),
        (".pgpass", "localhost:5432:db:me:s3cretpassw0rd", True),
        (".git-credentials", "https://me:s3cretpassw0rd@github.com", True),
        (".env.example", "API_KEY=abcdef123456", False),
        (".env", "PORT=8080\nAPI_KEY=\nTOKEN=${TOKEN}", False),
        ("environment.py", "API_KEY = 'abcdef123456'", False),
    ],
)
def test_in_a_file_for_passwords_any_password_counts(name: str, text: str, held: bool) -> None:
    assert find_credential(text, name) == ("a password or key" if held else None)


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE", "ghp_" + "x" * 36, "-----BEGIN PRIVATE KEY-----", "hf_transformers",
        "if '-----BEGIN RSA PRIVATE KEY-----' in text:\n    return True\n", "npm_config_registry",
        "sk-ant-api03-...", "sk-learn", "data:image/png;base64,AIzaSy",
        "key: |-\n  -----BEGIN RSA PRIVATE KEY-----\n  ...\n  -----END RSA PRIVATE KEY-----\n",
        "## -----BEGIN EC PRIVATE KEY-----\n##     ...\n## -----END EC PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n  REDACTED\n  -----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n" + "REDACTED" * 8,
        "https://hooks.slack.com/services/T00000000/B00000000/" + "X" * 24,
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
        "https://a:longenough99@localhost:8000", "http://svc:longenough99@api.example.com/",
        "redis://u:longenough99@127.0.0.1:6379", "http://u:longenough99@[::1]:6379", "http://u:longenough99@x.test",
        "postgres://postgres:postgres@db/x", "postgres://app_user:changeme@db/app", "postgresql://user:mypassword@db",
        "s3://{access_key}:{secret_key}@bucket/x", "https://user:<secret-word>@host", "http://me:${LONG_NAME}@host",
        "https://user:$LONG_NAME@host", "<https://server:8080/a>; mail: me@example.org",
        "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\n...\nw5Ux8zQ==\n-----END",
    ],
)  # fmt: skip
def test_what_only_speaks_of_credentials_holds_none(text: str) -> None:
    assert find_credential(text) is None


def test_a_search_looks_where_a_folder_is_read(space: Path) -> None:
    (space / ".github/note.md").write_text("import os\n")  # not tracked, and hidden
    assert paths("--search", "import") == ["app.py"]
    assert paths("--search", "import", "--hidden") == [".github/note.md", "app.py"]
    assert paths("--search", "import", "--hidden", "--exclude", "*.py") == [".github/note.md"]


NAMES = st.sampled_from(["a", "b", "a.py", "b.py", "c.log", "d-e"])
PATTERN = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "!"]),
    st.sampled_from(["", "/", "**/", "a/"]),
    NAMES | st.sampled_from(["*", "*.py", "?", "[ab]", "a*", "*?*", "*[!a]*[^.]*", "*.*p*y"]),
    st.sampled_from(["", "/", "/**", "/*", "/**/b", "/**/[!b]*/**/*a*"]),
)


@given(
    st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8),
    st.dictionaries(
        st.sampled_from(["", "a", "b", "a/b"]), st.lists(PATTERN, max_size=4), max_size=3
    ),
)
def test_without_git_the_same_files_are_ignored(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], rules: dict[str, list[str]]
) -> None:
    top = tmp_path_factory.mktemp("walk")
    for name in [*names, *(f"{folder}/.gitignore" for folder in rules)]:
        place = top / name
        lines = rules.get(name.removesuffix("/.gitignore"), []) if ".gitignore" in name else ["x"]
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("\n".join(lines))
        except OSError:  # a name is a file here and a folder there
            continue
    git(top, "init", "-q")
    found = folders._walk(top, Diagnostics(), folders.FolderFilter())
    by_git = folders._ask_git(top, Diagnostics(), hidden=False)
    assert by_git is not None
    assert sorted(found) == sorted(by_git)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 12 + "b", "a" * 250),
        ("a?[!b]" * 3 + "*a?*" * 9 + "b", "a" * 250),
        ("**/a/" * 12 + "b", "a/" * 120 + "a"),
        ("**/*a*a/" * 9 + "b", "aa/" * 80 + "a"),
    ],
)
@pytest.mark.parametrize("flag", ["", "--exclude", "--paths"])
def test_a_pattern_of_many_stars_is_no_work(
    tmp_path: Path, pattern: str, path: str, flag: str
) -> None:
    place = tmp_path / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("shown")
    (tmp_path / ".gitignore").write_text("" if flag else pattern)
    more = [f"!{pattern}", "*"] if flag == "--paths" else [pattern]
    flags = [word for each in more for word in (flag, each)] if flag else []
    command = [sys.executable, "-m", "promptforge", "render", ".", "--packing", "score", *flags]
    ran = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120,
        capture_output=True, text=True,
    )  # fmt: skip
    assert "shown" in ran.stdout, ran.stderr


@pytest.mark.parametrize(
    "source", [["."], ["--file", "**/*.txt"], ["--search", "word", "--in", "."]]
)
def test_folders_in_folders_end_somewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for depth in (2, 250):
        place = tmp_path / "/".join("a" * depth)
        place.mkdir(parents=True)
        (place / f"{depth}.txt").write_text(f"word {depth}")
    ran = run("render", *source, "--packing", "score")
    assert ran.code == 0 and "word 2" in ran.out and "word 250" not in ran.out
    assert "skipped: more than 200 folders deep" in ran.err


def test_of_many_notes_of_one_code_the_others_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(9):
        (tmp_path / f"{number}.md").write_text(f"Part {number} holds <|im_start|> as text.\n")
    ran = run("render", ".")
    notes = [line for line in ran.err.splitlines() if "[PF707]" in line]
    assert len(notes) == 6 and "4 more of these" in notes[-1]


def test_a_file_like_those_of_its_name_was_not_packed_of_them(tmp_path: Path) -> None:
    """Each `pom.xml` names its parent's, and is made of lines that the others have as well."""
    body = "".join(
        f"  <dependency>org.example:library-{n}:1.{n}.0</dependency>\n" for n in range(20)
    )
    for name in ("pom.xml", "core/pom.xml", "extras/pom.xml"):
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        parent = "" if name == "pom.xml" else "  <relativePath>../pom.xml</relativePath>\n"
        place.write_text(f"<project>\n{parent}{body}</project>\n")
    loaded = pf.load(".", workspace=tmp_path)
    assert [item.path for item in loaded] == ["core/pom.xml", "extras/pom.xml", "pom.xml"]


@pytest.mark.parametrize("repository", [False, True])
@pytest.mark.parametrize(
    ("patterns", "seconds", "message"),
    [
        (10_001, 10, "are more than 10,000 or 256 kB"),
        (2_000, 0.001, "take more than 0.001 s"),
    ],
)
def test_patterns_that_take_minutes_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    repository: bool,
    patterns: int,
    seconds: float,
    message: str,
) -> None:
    make(tmp_path, {"a/b.py": "x\n", "c.py": "y\n"})
    (tmp_path / ".ignore").write_text("".join(f"*{n}*b*\n" for n in range(patterns)))
    if repository:
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.setattr("promptforge.sources.folders.MAX_IGNORE_SECONDS", seconds)
    refused = f"the patterns of .gitignore and .ignore {message}; --ignored reads the folder"
    with pytest.raises(pf.ItemError, match=refused):
        pf.load(files=["."], workspace=tmp_path)
    found = pf.load(files=["."], workspace=tmp_path, ignored=True)
    assert [item.path for item in found] == ["a/b.py", "c.py"]


def test_a_thousand_patterns_are_tried_at_once(tmp_path: Path) -> None:
    lines = [f"*{n}.log" for n in range(1000)] + ["!kept7.log", "gone/", "!a/", "b"]
    make(tmp_path, {"x7.log": "", "kept7.log": "1", "gone/a": "1", "a/b": "1", "a/c": "1"})
    (tmp_path / ".gitignore").write_text("\n".join(lines))
    begun = time.process_time()
    rules = folders.IgnoreRules(tmp_path)
    seen = [
        name for name in ("x7.log", "kept7.log", "gone/", "a/", "a/b", "a/c") if not rules(name)
    ]
    assert seen == ["kept7.log", "a/", "a/c"]
    for n in range(10_000):
        assert not rules(f"file{n}.py")
    assert time.process_time() - begun < 5  # one by one they take three times as long as at once


def test_a_long_word_in_a_file_of_passwords_is_read_once() -> None:
    begun = time.process_time()
    assert find_credential("token" * 20_000, ".env") is None
    assert find_credential("token" * 20_000 + " = a1b2c3d4", ".env") is not None
    assert time.process_time() - begun < 5  # a word of two thirds took 10 s


LETTERS_OF_LINES = ["a", "B7_", "-" * 10, "_c" * 10, "d" * 9, "é", "\ud800", ".", " ", "=", "\n"]


@given(st.lists(st.sampled_from(LETTERS_OF_LINES), max_size=20).map("".join))
def test_lines_with_a_long_word_are_found_as_line_by_line(text: str) -> None:
    expected = [line for line in text.split("\n") if re.search(r"\b[\w-]{20}", line, re.ASCII)]
    assert list(credentials._lines_with_long_words(text)) == expected


def test_the_start_of_a_token_without_end_is_read_once() -> None:
    pytest.importorskip("detect_secrets")
    parts = ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N"]
    token = ".".join(parts)
    assert find_credential(f"x = '{token}'") == "what looks like JSON Web Token"
    begun = time.process_time()
    assert find_credential("eyJa.b " + "eyJ" * 100_000) is None
    assert time.process_time() - begun < 5
