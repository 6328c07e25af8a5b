"""What git knows as sources: changes, commits, changed files, and texts from a pipe."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from commandline import run
from places import ROOT

import promptforge as pf
from promptforge.errors import Diagnostics
from promptforge.sources import changes
from promptforge.sources import git as sources_git
from promptforge.sources.changes import load_diff
from promptforge.sources.folders import FolderFilter

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


@pytest.mark.slow
def test_what_folders_leave_out_is_left_out_of_changes(space: Path) -> None:
    (space / "uv.lock").write_text("locked = 1\n")
    git(space, "add", "uv.lock")
    changed = ("--git-changed", "--git-diff")
    assert {item["path"] for item in gathered(*changed, "--include", "*.py")} == {
        "new ü.py",
        "sub/c.py",
    }
    found = gathered(*changed, "--exclude", "sub/", "--exclude", "*.md")
    assert [item["path"] for item in found] == ["gone.txt", "uv.lock", "new ü.py"]
    ran = run("render", "--git-changed")
    assert "1 lock files (uv.lock)" in ran.err and "locked" not in ran.out
    assert "locked" in run("render", "--git-changed", "--ignored").out
    for source in changed:
        ran = run("render", source, "--include", "*.go")
        assert (ran.code, "no selected file has changed in" in ran.err) == (4, True)


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


def test_changes_come_before_a_folder_however_many_they_are(space: Path) -> None:
    for number in range(30):
        (space / f"sub/m{number}.py").write_text(f"def option{number}(): pass\n")
    git(space, "add", "sub")
    git(space, "commit", "-qm", "Options", "sub")
    (space / "a.py").write_text("x = 3\n")
    (space / "b name.md").write_text("newer\n")
    files = pf.load(".")
    for changed in (pf.load(git_diff=""), pf.load(git_changed=""), pf.load(git_log=3)):
        result = pf.render([*files, *changed], query="option", max_tokens=400)
        shown = {(item.kind, item.path or item.name) for item in result.items if item.text}
        asked = {(item.kind, item.path or item.name) for item in changed}
        assert len(asked) > 2 and asked < shown


def test_a_file_that_was_only_renamed_has_its_new_name(space: Path) -> None:
    git(space, "mv", "a.py", "moved.py")
    assert "moved.py" in [item.path for item in pf.load(git_diff="")]


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
def test_a_name_that_git_quotes_is_the_path(space: Path) -> None:
    names = [
        'a"b.py',
        "t\tü.py",
        "back\\slash/n.py",
        "line\nend.py",
        "\x1b[31m.py",
        'q"/.env',
        ".env",
    ]
    for name in names:
        (space / name).parent.mkdir(exist_ok=True)
        (space / name).write_text("password = hunter22hunter33\n")
    git(space, "add", "-A")
    found = {item.path for item in pf.load(git_diff="")}
    assert found.issuperset(names[:-2]) and found.isdisjoint(names[-2:])  # these hold passwords
    git(space, "commit", "-qm", "Names")
    (space / names[0]).rename(space / 'n"ew.py')
    git(space, "add", "-A")
    assert [item.path for item in pf.load(git_diff="")] == ['n"ew.py']


def test_commits_are_items_with_their_message(space: Path) -> None:
    second, first = pf.load(git_log=9)
    assert (first.kind, second.id) == ("commit", git(space, "rev-parse", "HEAD").strip())
    assert (second.name or "").endswith(" Second: `x`")
    assert first.content is not None and first.content.startswith(
        f"commit {first.id}\nAuthor: Ada\n"
    )
    message, _, changed = first.content.rpartition("\n\n")
    assert message.endswith("\n\nFirst\n\nWith a body.")
    assert {"A a.py"} <= set(changed.split("\n"))
    assert len(gathered("--git-log", "1")) == 1


def test_a_commit_names_its_changed_files(space: Path) -> None:
    git(space, "add", "-A")
    git(space, "commit", "-qm", "Rest")
    (space / "sub").mkdir(exist_ok=True)
    for number in range(60):
        (space / f"sub/ö {number:02}.txt").write_text("x\n")
    git(space, "add", "-A")
    git(space, "commit", "-qm", "Sixty")
    (item,) = pf.load(git_log=1)
    lines = (item.content or "").partition("Sixty\n\n")[2].split("\n")
    assert (len(lines), lines[-1]) == (51, "… 10 more files")
    (item,) = pf.load(git_log=1, workspace=space / "sub")  # names count from there
    assert "\nA ö 00.txt\n" in (item.content or "")
    git(space, "checkout", "-qb", "other", "HEAD~1")
    (space / "b.py").write_text("y = 1\n")
    git(space, "add", "-A")
    git(space, "commit", "-qm", "Other")
    git(space, "merge", "-q", "-m", "Both", "-")
    merge = pf.load(git_log=1)[0]
    assert (merge.content or "").endswith("\n\nBoth")


def test_changed_files_are_read_as_they_are_now(space: Path) -> None:
    items = pf.load(git_changed="")
    assert [(item.kind, item.path) for item in items] == [
        ("file", "b name.md"),
        ("code", "new ü.py"),
        ("code", "sub/c.py"),
    ]
    assert [d.code for d in items.warnings] == ["PF604"]
    assert [item.path for item in pf.load(git_changed="HEAD~1 HEAD")] == ["a.py"]


def test_a_lock_file_takes_what_the_code_of_a_diff_leaves(space: Path) -> None:
    (space / ".gitattributes").write_text("*.gen linguist-generated\n")
    rows = "".join(f"example.org/mod/part{number} v1.0.{number}\n" for number in range(400))
    names = ("sub/go.sum", "part.gen", "uv.lock")
    for name in names:
        (space / name).write_text(rows)
    (space / "code.py").write_text("".join(f"call({number})\n" for number in range(80)))
    git(space, "add", "-AN")
    asked = ("--max-tokens", "1000", "--json")
    diff = git(space, "diff", "--", ".", ":!part.gen")  # a pipe brings no `.gitattributes`
    for ran in (run("render", "--git-diff", *asked), run("render", *asked, stdin=diff)):
        found = {item["path"]: item for item in json.loads(ran.out)["items"]}
        assert found.pop("code.py")["status"] == "included"
        assert all(found[name]["status"] == "trimmed" for name in names if name in found)
        assert all(found[name]["tokens"] < 200 for name in names if name in found)
    assert [item.metadata for item in pf.load(git_diff="", include="*.gen")] == [
        {"linguist": {"generated": True}}
    ]


@pytest.mark.parametrize("files", [4, 30])  # git names the first 24 as the user would
def test_the_changed_file_that_answers_takes_the_room(space: Path, files: int) -> None:
    body = "".join(f"    step_{number} = load({number})\n" for number in range(20))
    for number in range(files):
        text = f"def part_{number}(load):\n{body}    return step_1\n\n\n"
        (space / f"m{number:02}.py").write_text(text * 6)
    refund = "".join(f"    refund_{number} = pay_back({number})\n" for number in range(40))
    text = (space / "m03.py").read_text()
    (space / "m03.py").write_text(f"{text}def refund(order, pay_back):\n{refund}    return order\n")
    asked = ("--git-changed", "--query", "where is an order refunded", "--max-tokens", "1200")
    assert "refund_0" in run("render", *asked).out and "refund_39" in run("render", *asked).out


def test_long_outputs_of_a_changed_notebook_are_searched_for_credentials(space: Path) -> None:
    lines = [f"line {number}\n" for number in range(200)]
    lines[100] = "token ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a\n"
    output = {"output_type": "stream", "name": "stdout", "text": lines}
    cell = {"cell_type": "code", "source": ["run()"], "outputs": [output]}
    (space / "a.ipynb").write_text(json.dumps({"nbformat": 4, "cells": [cell], "metadata": {}}))
    (item,) = pf.load(git_changed="", include="*.ipynb")
    assert "line 101" in (item.expanded or "") and "ghp_" not in (item.expanded or "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--git-diff", "nope"], "git diff: bad revision 'nope'\n"),
        (["--git-diff", "a.py"], "'a.py'; the name of a file stands before --git-diff"),
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
def test_a_nul_in_a_revision_is_said(space: Path, name: str) -> None:
    given: dict[str, Any] = {name: "HEAD\0"}
    with pytest.raises(pf.ItemError, match="git diff: a NUL in what git is asked for"):
        pf.load(**given)


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


@pytest.mark.slow
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


# What came with a repository's own settings: in an archive, or as files of a repository around it.

SIGNED = (
    "tree {tree}\nparent {parent}\nauthor A <a@b> 1700000000 +0000\n"
    "committer A <a@b> 1700000000 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n"
    " -----END PGP SIGNATURE-----\n\nSigned\n"
)


@pytest.fixture
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that leaves a file `canary.ran` beside it."""
    program = tmp_path_factory.mktemp("programs") / "canary"
    program.write_text(f"#!/bin/sh\n: > {program}.ran\ncat\n")
    program.chmod(0o755)
    return program


def has_run(program: Path) -> bool:
    mark = Path(f"{program}.ran")
    ran = mark.exists()
    mark.unlink(missing_ok=True)
    return ran


def load_everything(canary: Path) -> list[pf.Item]:
    """Load all that git is asked for. No program may run."""
    found: list[pf.Item] = []
    wanted: list[dict[str, Any]] = [
        {"git_diff": ""}, {"git_diff": "HEAD~1"}, {"git_log": 9}, {"git_changed": ""},
        {"files": ["."]},
    ]  # fmt: skip
    for source in wanted:
        try:
            found += pf.load(**source)
        except pf.ItemError as error:
            assert "canary" not in str(error)
        assert not has_run(canary), source
    return found


def notes_of_diff(space: Path) -> list[str]:
    said = Diagnostics()
    load_diff("", workspace=space, diagnostics=said, wanted=FolderFilter())
    return [d.message for d in said if d.code == "PF610"]


@pytest.mark.slow
def test_no_program_of_a_repository_is_run(space: Path, canary: Path) -> None:
    (space / "a.py").write_text("x = 3\n")
    (space / ".gitattributes").write_text("*.py filter=a=b diff=theirs\n*.md diff=driver\n")
    tree = git(space, "rev-parse", "HEAD~1^{tree}").strip()
    (space / "signed").write_text(
        SIGNED.format(tree=tree, parent=git(space, "rev-parse", "HEAD").strip())
    )
    signed = git(space, "hash-object", "-t", "commit", "-w", "signed").strip()
    git(space, "update-ref", "HEAD", signed)
    for name in ("filter.a=b.clean", "diff.theirs.textconv", "diff.driver.command", "gpg.program"):
        git(space, "config", name, str(canary))
    git(space, "config", "log.showSignature", "true")
    hooks = space / ".git/hooks"
    for hook in ("post-index-change", "reference-transaction"):
        shutil.copy(canary, hooks / hook)
    subprocess.run(["git", "add", "-A"], cwd=space, capture_output=True, check=False)
    (space / "a.py").write_text("x = 4\n")
    git(space, "diff", "HEAD")  # the control
    assert has_run(canary)
    git(space, "log")
    assert has_run(canary)
    git(space, "config", "core.fsmonitor", str(canary))
    assert "+x = 4" in "".join(item.content or "" for item in load_everything(canary))
    [said] = notes_of_diff(space)
    assert said.startswith('not run: filters of the repository\'s own settings: "a=b"; changes')
    git(space, "config", "--unset", "filter.a=b.clean")
    git(space, "config", "filter.a=b.process", str(canary))
    git(space, "config", "filter.a=b.required", "true")
    assert "+x = 4" in "".join(item.content or "" for item in load_everything(canary))


def test_filters_of_the_users_own_settings_are_run(
    space: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (space / ".gitattributes").write_text("*.md filter=mine\n")
    settings = canary.parent / "settings"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    git(space, "config", "--global", "filter.mine.clean", f"{canary}; echo mine")
    git(space, "config", "filter.mine.clean", "false")
    assert "+mine" in "".join(item.content or "" for item in pf.load(git_diff=""))
    assert has_run(canary) and notes_of_diff(space) == []


def test_a_filter_whose_name_is_no_text_is_not_run(space: Path, canary: Path) -> None:
    (space / "a.py").write_text("x = 44\n")
    (space / ".gitattributes").write_bytes(b"*.py filter=\xff\n")
    with (space / ".git/config").open("ab") as settings:
        settings.write(b'[filter "\xff"]\nclean = ' + bytes(canary) + b"\n")
    git(space, "diff", "HEAD")  # the control
    assert has_run(canary)
    assert "+x = 44" in "".join(item.content or "" for item in load_everything(canary))
    assert "\\udcff" in notes_of_diff(space)[0]


@pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")
def test_git_lfs_runs_no_program_that_a_repository_names(
    space: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(canary.parent / "settings"))
    git(space, "lfs", "install")
    (space / ".gitattributes").write_text("*.py filter=lfs\n")
    (space / "a.py").write_text("x = 44\n")
    assert "+version https://git-lfs" in "".join(
        item.content or "" for item in pf.load(git_diff="")
    )
    git(space, "config", "lfs.extension.any.clean", str(canary))
    git(space, "config", "lfs.extension.any.priority", "0")
    git(space, "diff", "HEAD")  # the control
    assert has_run(canary)
    (space / "a.py").write_text("x = 555\n")
    assert "+x = 555" in "".join(item.content or "" for item in load_everything(canary))
    assert 'own settings: "lfs"; changes' in notes_of_diff(space)[0]


def test_an_index_names_no_file_outside(space: Path, tmp_path: Path) -> None:
    inner = space / "inner"
    (inner / "xx").mkdir(parents=True)
    (space / "notes").write_text("private\n")
    git(inner, "init", "-q")
    git(inner, "commit", "-qm", "None", "--allow-empty")
    (inner / "xx/notes").write_text("x\n")
    git(inner, "add", "-A")
    index = inner / ".git/index"
    made = index.read_bytes()[:-20].replace(b"xx/notes", b"../notes")
    index.write_bytes(made + hashlib.sha1(made).digest())
    assert "private" in git(inner, "diff", "HEAD")  # the control
    with pytest.raises(pf.ItemError, match=r'outside of the repository: "\.\./notes"; git reset'):
        pf.load(git_diff="", workspace=inner)


@pytest.mark.parametrize("url", ["/nowhere", "ssh://nowhere/it", "ext::{canary}"])
def test_objects_that_are_not_there_are_not_fetched(space: Path, canary: Path, url: str) -> None:
    blob = git(space, "rev-parse", "HEAD~1:a.py").strip()
    (space / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for name, value in {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "origin",
        "remote.origin.promisor": "true", "remote.origin.url": url.format(canary=canary),
        "remote.origin.uploadpack": str(canary), "core.sshCommand": str(canary),
        "protocol.ext.allow": "always", "remote.origin.fetch": "+refs/*:refs/remotes/origin/*",
    }.items():  # fmt: skip
        git(space, "config", name, value)
    load_everything(canary)


def test_a_repository_names_no_other_folder_as_its_files(space: Path, canary: Path) -> None:
    (canary.parent / "a.py").write_text("private\n")
    git(space, "config", "core.worktree", str(canary.parent))
    assert "private" in git(space, "diff", "HEAD")  # the control
    assert "private" not in "".join(item.content or "" for item in load_everything(canary))


def test_a_broken_repository_is_not_the_one_around_it(space: Path) -> None:
    inner = space / "inner"
    (inner / ".git/objects").mkdir(parents=True)
    (inner / ".git/refs").mkdir()
    (inner / ".git/HEAD").write_text("ref\n")
    for wanted in ({"git_diff": ""}, {"git_diff": "HEAD~1"}, {"git_log": 9}, {"git_changed": ""}):
        with pytest.raises(pf.ItemError, match="not a git repository"):
            pf.load(workspace=inner, **cast(Any, wanted))
    (inner / ".git/HEAD").write_text("ref: refs/heads/main\n")  # the control
    (inner / "new.py").write_text("x\n")
    assert [item.path for item in pf.load(workspace=inner, git_changed="")] == ["new.py"]


def test_a_hook_of_another_repository_names_no_objects(
    space: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path))
    assert len(pf.load(git_log=9)) == 2


@pytest.mark.parametrize("linked", [False, True])
def test_files_that_look_like_a_repository_are_none(
    space: Path, canary: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    inner = space / "sub/inner"
    shutil.copytree(space / ".git", inner)
    outer = inner
    if linked:  # as `git worktree add` writes it
        outer = space / "sub"
        for name in ("objects", "refs", "config", "info"):
            shutil.move(inner / name, outer / name)
        (inner / "commondir").write_text("..\n")
        (inner / "config.worktree").write_text(f"[core]\nworktree = {inner}\n")
    (outer / "config").write_text(
        "[core]\nrepositoryformatversion = 1\nbare = false\n"
        f"{'' if linked else f'worktree = {inner}'}\n[extensions]\nworktreeConfig = {linked}\n"
        f'[filter "f"]\nclean = {canary}\n'
    )
    (outer / "info/attributes").write_text("* filter=f\n")
    (inner / "a.py").write_text("x = 5\n")
    monkeypatch.chdir(inner)
    git(inner, "diff", "HEAD", "--", ".")
    assert has_run(canary)  # the control
    load_everything(canary)


@pytest.mark.parametrize(
    "setting", ["mailmap.file", "diff.orderFile", "core.excludesFile", "core.attributesFile"]
)
def test_a_pipe_that_a_repository_names_is_not_waited_for(
    space: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setattr("promptforge.sources.git.MAX_GIT_SECONDS", 10)
    (space / "a.py").write_text("x = 3\n")
    os.mkfifo(space / ".git/pipe")
    git(space, "config", setting, ".git/pipe")
    assert len(pf.load(git_log=9)) == 2
    assert "+x = 3" in "".join(item.content or "" for item in pf.load(git_diff=""))
    ran = run("render", ".", "--tree")
    assert ran.code == 0 and "git: " not in ran.err and "PF601" not in ran.err


def test_a_repository_in_which_git_waits_is_asked_once(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptforge.sources.git.MAX_GIT_SECONDS", 1)
    monkeypatch.setattr("promptforge.sources.git.SLOW_GIT_SECONDS", 9)
    shutil.rmtree(space / ".git/logs")
    (space / ".git/refs/heads/main").unlink()
    os.mkfifo(space / ".git/refs/heads/main")
    ran = run("render", ".", "--git-diff", "--max-tokens", "2k")
    assert "promptforge lists them itself: it did not answer" in ran.err and "x = 2" in ran.out
    monkeypatch.setenv("PATH", "")  # no git is started any more
    with pytest.raises(pf.ItemError, match="did not answer in 1 s and is not asked again"):
        pf.load(git_log=9)


@pytest.mark.parametrize(
    "name", ["config", "HEAD", "index", "info/exclude", "../.gitignore", "../deep/er/.gitignore"]
)
def test_a_pipe_in_the_place_of_a_file_of_git_is_named_soon(
    space: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("promptforge.sources.git.SLOW_GIT_SECONDS", 0.1)
    (space / "deep/er").mkdir(parents=True)
    (space / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(space / ".git" / name)
    ran = run("render", ".", "--max-tokens", "2k")
    assert "git cannot list the files" in ran.err and "is a pipe, not a file" in ran.err
    assert "x = 2" in ran.out


@pytest.mark.skipif(sys.platform != "linux", reason="nothing limits another process's memory")
def test_git_has_a_limit_of_memory(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptforge.sources.git.MAX_GIT_BYTES", 64 << 20)
    (space / "a.py").write_text("x = 3\n")
    (space / ".git/info/attributes").symlink_to("/dev/zero")
    with pytest.raises(pf.ItemError, match="Out of memory"):
        pf.load(git_diff="")


def test_git_prints_no_more_than_there_is_room_for(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptforge.sources.git.MAX_BYTES_FROM_GIT", 1 << 20)
    (space / "a.py").write_text("x\n" * (1 << 20))
    with pytest.raises(pf.ItemError, match="git diff: git prints more than 1 MiB; ask for fewer"):
        pf.load(git_diff="")
    assert len(pf.load(git_log=9)) == 2


def test_files_of_a_folder_know_how_many_commits_ago_they_changed(space: Path) -> None:
    ages = {item.path: item.metadata.get("commits_ago") for item in pf.load(".")}
    assert ages["a.py"] == 1 and ages["b name.md"] == ages["sub/c.py"] == 2
    assert ages["new ü.py"] is None
    assert {item.path: item.metadata for item in pf.load("sub")} == {"sub/c.py": {"commits_ago": 1}}


def test_of_equal_scores_what_changed_last_has_the_room(space: Path) -> None:
    for name in ("0.py", "1.py", "2.py"):
        (space / name).write_text(f"value_{name[0]} = 'some words that take room'\n")
        git(space, "add", name)
        git(space, "commit", "-qm", name)
    git(space, "mv", "1.py", "3.py")
    git(space, "commit", "-qm", "Moved")
    ran = run("render", ".", "--include", "[0-9].py", "--packing", "score", "--max-tokens", "50")
    assert "### 3.py" in ran.out and "### 2.py" in ran.out and "### 0.py" not in ran.out


@pytest.mark.slow
def test_a_folder_without_a_query_is_packed_as_a_repository(space: Path) -> None:
    def packing(*arguments: str) -> tuple[str, str]:
        facts = json.loads(run("explain", *arguments, "--json").out)
        return facts["manifest"]["options"]["packing"], facts["set_by"].get("packing", "")

    assert packing(".") == ("repository", "the input")
    assert packing("--file", "sub") == ("repository", "the input")
    assert packing("--file", "*.py") == ("repository", "the input")
    names = [f"{n}.py" for n in range(5)]
    for name in [*names, "[id].py"]:
        (space / name).write_text("x = 1\n")
    assert packing(*names) == packing("--file", *names) == ("repository", "the input")
    (space / "list").write_text("\n".join(names))
    assert packing("@list") == ("repository", "the input")
    assert packing(*names[1:]) == packing("[id].py") == ("score", "")
    assert packing(".", "--query", "x") == ("score", "")
    assert packing(".", "--packing", "whole") == ("whole", "--packing")
    assert packing("a.py") == ("score", "")
    (space / "mine.yaml").write_text("packing: value\n")
    assert packing(".", "--profile", "mine.yaml")[0] == "value"


def test_files_of_git_itself_are_no_text(space: Path) -> None:
    git(space, "clone", "-q", "--bare", ".", "outer/bare.git")
    (space / "outer/note.md").write_text("Beside it.\n")
    assert [item.path for item in pf.load("outer", workspace=space)] == ["outer/note.md"]
    ran = run("render", "outer/bare.git")
    assert ran.code == 4 and "a repository without files" in ran.err


def test_before_the_first_commit_all_that_is_added_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    ran = run("render", "--git-diff")
    assert (ran.code, "nothing has changed" in ran.err) == (4, True)
    (tmp_path / "a.py").write_text("x = 1\n")
    git(tmp_path, "add", "a.py")
    assert "+x = 1" in run("render", "--git-diff").out
    assert "x = 1" in run("render", "--git-changed").out


def test_a_conflict_is_shown_as_it_stands(space: Path) -> None:
    (space / "c.py").write_text("a\n")
    git(space, "add", "-A")
    git(space, "commit", "-qm", "0")
    git(space, "checkout", "-qb", "other")
    for branch, line in (("other", "theirs"), ("main", "ours")):
        git(space, "checkout", "-q", branch)
        (space / "c.py").write_text(f"{line}\n")
        git(space, "commit", "-qam", line)
    subprocess.run(["git", *WHO, "merge", "other"], cwd=space, capture_output=True)
    assert "+<<<<<<< HEAD" in run("render", "--git-diff").out
    git(space, "checkout", "-qf", "--detach")
    assert run("render", "--git-diff").code == 4


def test_a_change_keeps_the_line_ends_of_windows(space: Path) -> None:
    (space / "a.py").write_bytes(b"x = 1\r\ny = 2\r\n")
    (space / "b name.md").write_bytes(b"old\r\n")
    git(space, "-c", "core.autocrlf=false", "commit", "-qam", "Line ends")
    for arguments, stdin in (
        (["--git-diff", "HEAD~1"], None),
        ([], git(space, "diff", "HEAD~1")),
        ([], git(space, "show", "HEAD")),
    ):
        ran = run("render", *arguments, "--max-tokens", "9000", stdin=stdin)
        assert "+x = 1\r\n+y = 2\r\n" in ran.out and "-old\n+old\r\n" in ran.out
        assert "PF303" not in ran.err


def test_a_piped_diff_is_one_item_a_file(space: Path) -> None:
    diff = git(space, "diff", "HEAD~1", "HEAD")
    for words in ((), ("-",)):
        ran = run("render", *words, "--json", stdin=diff)
        items = json.loads(ran.out)["items"]
        assert {item["kind"] for item in items} == {"diff"}
        assert len(items) == diff.count("diff --git ")
        assert "note: <stdin>: read as a diff of" in ran.err


def test_changes_in_the_colors_of_a_terminal_are_read_as_those_without(space: Path) -> None:
    for command in (("diff", "HEAD~1"), ("show", "HEAD"), ("log", "-p")):
        plain = run("render", stdin=git(space, *command))
        colored = run("render", stdin=git(space, *command, "--color=always"))
        assert colored.out == plain.out != ""
        assert ", without its colors" in colored.err
        assert ", without its colors" not in plain.err


def test_colors_that_a_file_holds_stay_in_its_diff(space: Path) -> None:
    (space / "a.py").write_text("print('\x1b[31mhot\x1b[m')\n")
    ran = run("render", stdin=git(space, "diff"))
    assert "without its colors" not in ran.err
    colored = run("render", stdin=git(space, "diff", "--color=always"))
    assert colored.out == ran.out and ran.out.count("hot") == 1
    assert "PF703" in ran.err and "PF703" in colored.err


def test_a_line_of_a_diff_with_many_colors_is_read_once() -> None:
    head = "\x1b[1mdiff --git a/a b/a\x1b[m\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n"
    line = "+" + "\x1b[m" * 100_000 + "y\x1b[m \x1b[m"
    ran = run("render", "--max-tokens", "none", stdin=f"{head}{line}\n")
    assert ran.code == 0 and "without its colors" in ran.err


@pytest.mark.parametrize("mode", ["--color-words", "--word-diff=color"])
def test_a_diff_whose_colors_alone_tell_the_changes_keeps_them(space: Path, mode: str) -> None:
    (space / "words.txt").write_text("one two three\nfour\n")
    git(space, "add", "-A")
    git(space, "commit", "-qm", "Words")
    (space / "words.txt").write_text("one TWO three\nfour\nfive\n")
    ran = run("render", stdin=git(space, "diff", "--color=always", mode))
    assert "without its colors" not in ran.err and "\x1b[31mtwo" in ran.out


def test_a_repository_of_another_user_says_how_it_is_trusted(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    hint = f"; git config --global --add safe.directory {space} trusts it"
    ran = run("render", "--git-log", "1")
    assert ran.code == 4 and ran.err.endswith(f"{hint}\n")
    assert hint in run("render", ".").err


@pytest.mark.parametrize(
    "setting", ["diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.renames=copies"]
)
def test_a_piped_diff_names_its_files_whatever_the_settings_are(space: Path, setting: str) -> None:
    git(space, "mv", "a.py", "a moved.py")
    (space / "new ü.py").chmod(0o755)
    git(space, "add", "-A")
    diff = git(space, "-c", setting, "diff", "HEAD")
    items = json.loads(run("render", "--json", stdin=diff).out)["items"]
    expected = ["a moved.py", "b name.md", "gone.txt", "new ü.py", "picture", "sub/c.py"]
    assert sorted(item["path"] for item in items) == expected


def test_a_piped_diff_of_a_merge_has_all_its_files(space: Path) -> None:
    git(space, "add", "-A")
    git(space, "commit", "-qm", "Third")
    git(space, "checkout", "-qb", "other", "HEAD~1")
    (space / "sub/c.py").write_text("theirs\n")
    git(space, "commit", "-qam", "Theirs")
    git(space, "checkout", "-q", "main")
    subprocess.run(["git", *WHO, "merge", "other"], cwd=space, capture_output=True)
    (space / "a.py").write_text("x = 3\n")
    diff = git(space, "diff")
    assert "diff --cc sub/c.py" in diff and "diff --git a/a.py" in diff
    items = json.loads(run("render", "--json", stdin=diff).out)["items"]
    assert {item["path"]: item["kind"] for item in items} == {"a.py": "diff", "sub/c.py": "diff"}


@pytest.mark.parametrize(
    "command",
    [
        ("show",),
        ("log", "-p", "--stat"),
        ("log", "-p", "--format=fuller", "--decorate"),
        ("format-patch", "--stdout", "--root"),
    ],
)
def test_piped_commits_are_one_item_each(space: Path, command: tuple[str, ...]) -> None:
    text = git(space, *command, "HEAD")
    ran = run("render", "--json", stdin=text)
    items = json.loads(ran.out)["items"]
    count = text.count("\ndiff --git a/a.py")
    assert f"read as {count} commit" in ran.err
    assert [item["kind"] for item in items] == ["commit"] * count
    assert {item["name"][7:] for item in items} <= {
        " First",
        " Second: `x`",
        " [PATCH 1/2] First",
        " [PATCH 2/2] Second: `x`",
    }
    assert git(space, "rev-parse", "HEAD").strip() in {item["id"] for item in items}
    shown = run("render", "--layout", "cited", "--format", "plain", stdin=text).out
    assert "".join(shown.split()) == "".join(text.split())


def test_a_piped_diff_of_another_program_is_a_diff(space: Path) -> None:
    (space / "was.py").write_text("x = 1\n")
    ran = subprocess.run(["diff", "-u", "was.py", "a.py"], cwd=space, capture_output=True)
    for text in (ran.stdout.decode(), f"diff -u was.py a.py\n{ran.stdout.decode()}"):
        (item,) = json.loads(run("render", "--json", stdin=text).out)["items"]
        assert item["kind"] == "diff"


def test_a_shallow_clone_says_where_the_earlier_commits_are(space: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{space}", str(shallow))
    hint = "; this clone is shallow, git fetch --unshallow brings the earlier commits"
    with pytest.raises(pf.ItemError, match=f"bad revision 'HEAD~1'{hint}"):
        pf.load(workspace=shallow, git_diff="HEAD~1")
    with pytest.raises(pf.ItemError, match=f"bad revision 'HEAD~1'{hint}"):
        pf.load(workspace=shallow, git_changed="HEAD~1")
    with pytest.raises(pf.ItemError) as caught:
        pf.load(workspace=space, git_diff="HEAD~9")
    assert "shallow" not in str(caught.value)


@pytest.mark.parametrize("option", ["git_log", "context_lines"])
@pytest.mark.parametrize("number", ["--all", -1, 1.5, None])
def test_a_number_that_is_none_is_an_error(option: str, number: Any) -> None:
    message = f'^{option} must be a whole number from 0 on, not "{number}"$'
    with pytest.raises(pf.OptionError, match=message):
        pf.load(files="x.py", **{option: number})


def test_a_commit_lists_fifty_files_and_the_number_of_the_others() -> None:
    names = [f"M\tf{number}" for number in range(changes.MAX_FILES_OF_COMMIT + 1)]
    assert changes._list_changed("\n".join(names[:-1])).endswith(f"\nM f{len(names) - 2}")
    assert changes._list_changed("\n".join(names)).endswith(f"\nM f{len(names) - 2}\n… 1 more file")


def test_ceilings_of_the_user_stay_beside_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/mnt/slow")
    environment = sources_git._git_environment(tmp_path / "top", {})
    assert environment["GIT_CEILING_DIRECTORIES"].split(os.pathsep) == [str(tmp_path), "/mnt/slow"]
