"""What git knows as sources: changes, commits, changed files, and texts from a pipe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commandline import ROOT, run

import promptforge as pf

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def git(folder: Path, *arguments: str) -> str:
    made = subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True)
    return made.stdout.decode()


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two commits with changes on top, as the working directory."""
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "-b", "main")
    for name, text in {"a.py": "x = 1\n", "b name.md": "old\n", "gone.txt": "bye\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/c.py").write_text("c = 1\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "First\n\nWith a body.")
    (tmp_path / "a.py").write_text("x = 2\n")
    git(tmp_path, "commit", "-qam", "Second: `x`")
    (tmp_path / "b name.md").write_text("new\n")
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "sub/c.py").write_text("c = 2\n")
    (tmp_path / "new ü.py").write_text("new = 1\n")
    (tmp_path / "picture").write_bytes(b"\0\1")
    return tmp_path


def gathered(*arguments: str) -> list[dict[str, object]]:
    ran = run("render", *arguments, "--json", "--quiet", "--max-tokens", "9000")
    assert ran.code == 0, ran.err
    found: list[dict[str, object]] = json.loads(ran.out)["items"]
    return found


def test_changes_are_one_item_a_file(space: Path) -> None:
    items = pf.load(git_diff="")
    assert [(item.kind, item.language, item.path) for item in items] == [
        ("diff", "diff", "b name.md"),
        ("diff", "diff", "gone.txt"),
        ("diff", "diff", "sub/c.py"),
    ]
    joined = "".join(f"{item.content}\n" for item in items)
    assert joined == git(space, "diff", "HEAD")
    assert [item.path for item in pf.load(git_diff="HEAD~1 HEAD")] == ["a.py"]
    assert [item.path for item in pf.load(git_diff="", workspace="sub")] == ["c.py"]
    assert [each["path"] for each in gathered("--git-diff", "HEAD~1..HEAD")] == ["a.py"]


def test_a_file_that_was_only_renamed_has_its_new_name(space: Path) -> None:
    git(space, "mv", "a.py", "moved.py")
    assert "moved.py" in [item.path for item in pf.load(git_diff="")]


def test_commits_are_items_with_their_message(space: Path) -> None:
    second, first = pf.load(git_log=9)
    assert (first.kind, second.id) == ("commit", git(space, "rev-parse", "HEAD").strip())
    assert (second.name or "").endswith(" Second: `x`")
    assert first.content is not None and first.content.startswith(
        f"commit {first.id}\nAuthor: Ada\n"
    )
    assert first.content.endswith("\n\nFirst\n\nWith a body.")
    assert len(gathered("--git-log", "1")) == 1


def test_changed_files_are_read_as_they_are_now(space: Path) -> None:
    items = pf.load(git_changed="")
    assert [(item.kind, item.path) for item in items] == [
        ("file", "b name.md"),
        ("code", "new ü.py"),
        ("code", "sub/c.py"),
    ]
    assert [d.code for d in items.warnings] == ["PF604"]
    assert [item.path for item in pf.load(git_changed="HEAD~1 HEAD")] == ["a.py"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--git-diff", "nope"], "git diff: bad revision 'nope'"),
        (["--git-diff", "HEAD HEAD"], 'nothing has changed in "HEAD HEAD"'),
        (["--git-log", "1", "--workspace", "/"], "not a git repository"),
    ],
)
def test_what_git_refuses_is_said_in_its_words(
    space: Path, arguments: list[str], message: str
) -> None:
    ran = run("render", *arguments)
    assert ran.code == 4 and message in ran.err


@pytest.mark.parametrize("name", ["git_diff", "git_changed"])
def test_revisions_are_no_flags(space: Path, name: str) -> None:
    given: dict[str, Any] = {name: "--output=stolen"}
    with pytest.raises(pf.ItemError, match="holds a flag"):
        pf.load(**given)
    assert not (space / "stolen").exists()


def test_no_program_of_the_repository_is_run(space: Path) -> None:
    (space / "hook").write_text("#!/bin/sh\ntouch ran\n")
    (space / "hook").chmod(0o755)
    (space / ".gitattributes").write_text("*.py diff=own\n")
    for name in ("diff.external", "core.fsmonitor", "diff.own.textconv", "core.pager"):
        git(space, "config", name, str(space / "hook"))
    assert pf.load(git_diff="", git_log=1, git_changed="")
    assert not (space / "ran").exists()


def test_without_git_that_is_said(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(space))
    ran = run("render", "--git-diff")
    assert (ran.code, ran.err) == (4, "promptforge: git: git is not installed\n")


def test_a_text_comes_from_a_pipe_under_a_name(space: Path) -> None:
    diff = git(space, "diff", "HEAD~1", "HEAD")
    ran = run("render", "--file", "-", "--name", "x.diff", "--json", stdin=diff)
    (item,) = json.loads(ran.out)["items"]
    assert (item["kind"], item["path"]) == ("diff", "x.diff")
    assert diff.rstrip("\n") in json.loads(ran.out)["text"]
    ran = run("render", "--file", "/dev/stdin", "-q", stdin="hello")
    assert ran.out == "### standard input\n\n```text\nhello\n```\n"
    ran = run("render", "-", "--file", "-", stdin="[]")
    assert ran.code == 2 and "only one input" in ran.err


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_shell_may_put_a_command_in_the_place_of_a_file(space: Path) -> None:
    command = 'python -m promptforge render <(echo \'[{"content": "a"}]\') --file <(echo hi) -q'
    places = {
        "PYTHONPATH": str(ROOT),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    made = subprocess.run(
        ["bash", "-c", command], cwd=space, capture_output=True, text=True, env=places, check=True
    )
    assert "\na\n" in made.stdout and "\nhi\n" in made.stdout
