"""What came with a project is used only where the user has trusted it, as it was then."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from commandline import run

from promptforge.authoring import trust

PAGE = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
ARGUMENTS = ["render", "items.json", "--layout", "own", "--format", "plain"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("PROMPTFORGE_TEMPLATES", "PROMPTFORGE_PROFILES"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    write(folder, "templates/own/layout.txt.j2", PAGE)
    write(folder, "templates/own/item.txt.j2", "theirs: {{ item.content }}")
    write(folder, "profiles/theirs.yaml", "layout: own\nformat: plain\n")
    (folder / "items.json").write_text('[{"content": "x"}]')
    monkeypatch.chdir(folder)
    return folder


def write(project: Path, name: str, text: str) -> None:
    path = project / ".promptforge" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_it_is_found_and_not_used_until_it_is_trusted(project: Path) -> None:
    ran = run(*ARGUMENTS)
    assert (ran.code, ran.out) == (2, "")
    assert 'there is no layout "own"' in ran.err
    ran = run("render", "items.json", "--layout", "context")
    assert ran.code == 0
    assert "PF706" in ran.err
    assert "`promptforge trust .` lists and trusts them" in ran.err
    assert run("render", "items.json", "--strict").code == 1
    assert run("trust").code == 0
    assert run(*ARGUMENTS) == (0, "theirs: x\n", "")
    assert run("render", "items.json", "--profile", "theirs") == (0, "theirs: x\n", "")
    assert "own" in run("list", "layouts").out
    assert "theirs: {{" in run("show", "own/item.txt.j2").out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("templates/own/item.txt.j2", "theirs, otherwise"),
        ("templates/chunks/item.txt.j2", "a new one"),
        ("profiles/theirs.yaml", "layout: own\nformat: plain\nmax_tokens: 9\n"),
        ("profiles/more.yaml", "max_tokens: 9\n"),
        ("profiles/more.yml", "max_tokens: 9\n"),
    ],
)
def test_any_change_takes_the_trust_away(project: Path, name: str, text: str) -> None:
    run("trust")
    before = (
        (project / ".promptforge" / name).read_text()
        if (project / ".promptforge" / name).exists()
        else None
    )
    write(project, name, text)
    assert run(*ARGUMENTS).code == 2
    shown = run("trust", "--show")
    assert (shown.code, "something changed after it was trusted" in shown.err) == (1, True)
    if before is None:
        (project / ".promptforge" / name).unlink()
    else:
        write(project, name, before)
    assert run(*ARGUMENTS) == (0, "theirs: x\n", "")


def test_it_shows_what_it_trusts(project: Path) -> None:
    write(project, "templates/own/_part.txt.j2", "{# a\u200bb #}")
    shown = run("trust", "--show", "--json")
    facts = json.loads(shown.out)
    assert (shown.code, facts["state"]) == (1, "unknown")
    assert [(f["name"], f["size"], f["invisible"]) for f in facts["files"]] == [
        ("profiles/theirs.yaml", 26, 0),
        ("templates/own/_part.txt.j2", 9, 1),
        ("templates/own/item.txt.j2", 26, 0),
        ("templates/own/layout.txt.j2", len(PAGE), 0),
    ]
    ran = run("trust")
    assert "1 invisible characters" in ran.out
    assert all(f["sha256"][:12] in ran.out for f in facts["files"])
    assert facts["sha256"][:12] in ran.err
    assert run("trust", "--show").code == 0


def test_trust_is_taken_back(project: Path) -> None:
    run("trust", str(project))
    assert "trusted no longer" in run("trust", "--remove", "--", str(project)).err
    assert run(*ARGUMENTS).code == 2
    assert "was not trusted" in run("trust", "--remove").err


def test_the_workspace_is_where_it_is_looked_for(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    run("trust")
    items = str(project / "items.json")
    arguments = ["render", items, "--layout", "own", "--format", "plain"]
    assert run(*arguments, cwd=tmp_path / "elsewhere").code == 2
    assert (
        run(*arguments, "--workspace", str(project), cwd=tmp_path / "elsewhere").out
        == "theirs: x\n"
    )


def test_ones_own_folder_comes_first_and_needs_no_trust(project: Path, tmp_path: Path) -> None:
    run("trust")
    mine = tmp_path / "mine" / "own" / "item.txt.j2"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine: {{ item.content }}")
    assert run(*ARGUMENTS, "--templates", str(tmp_path / "mine")).out == "mine: x\n"


def test_a_copy_of_a_trusted_folder_is_not_trusted(project: Path, tmp_path: Path) -> None:
    run("trust")
    project.rename(tmp_path / "copy")
    assert run(*ARGUMENTS, cwd=tmp_path / "copy").code == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_what_is_no_file_neither_hangs_nor_counts(project: Path) -> None:
    os.mkfifo(project / ".promptforge" / "templates" / "own" / "code.txt.j2")
    os.mkfifo(project / ".promptforge" / "profiles" / "pipe.yaml")
    (project / ".promptforge" / "templates" / "out.txt.j2").symlink_to("/etc/hostname")
    (project / ".promptforge" / "templates" / "zero.txt.j2").symlink_to("/dev/zero")
    assert len(json.loads(run("trust", "--json").out)["files"]) == 3
    assert run(*ARGUMENTS) == (0, "theirs: x\n", "")


def test_a_profile_that_is_a_link_is_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("max_tokens: 1")
    (project / ".promptforge" / "profiles" / "more.yaml").symlink_to(tmp_path / "secret.yaml")
    ran = run("trust")
    assert (ran.code, "a link; a project's profiles must be files of its own" in ran.err) == (
        2,
        True,
    )
    ran = run("render", "items.json")
    assert (ran.code, "PF706" in ran.err) == (0, True)


def test_a_folder_with_nothing_in_it_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("trust").code == 2
    (tmp_path / ".promptforge").mkdir()
    assert run("trust").code == 2
    (tmp_path / "items.json").write_text('[{"content": "x"}]')
    assert run("render", "items.json").err == ""


def test_a_list_that_cannot_be_read_trusts_nothing(project: Path) -> None:
    run("trust")
    trust.trust_list_path().write_text("{")
    assert run(*ARGUMENTS).code == 2
    ran = run("render", "items.json")
    assert (ran.code, "the list of trusted folders cannot be read" in ran.err) == (0, True)
    assert "trusted.json" in run("trust").err


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files")
def test_the_list_is_its_owners_alone(project: Path) -> None:
    run("trust")
    assert trust.trust_list_path().stat().st_mode & 0o077 == 0
    assert [path.name for path in trust.trust_list_path().parent.iterdir()] == ["trusted.json"]
