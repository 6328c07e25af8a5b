"""Outputs: never over an input, never through a link; those of an earlier run are replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from signal import SIGKILL

import pytest
from commandline import run
from places import ROOT

from promptforge.files import marks

RECORDS = json.dumps([{"content": "x = 1", "path": "a.py"}])
PYTHON = {"PYTHONPATH": str(ROOT)}
HISTORY = json.dumps([{"role": "user", "content": "before"}])


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of somebody else with a file of the user's beside it; it is entered."""
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "victim.txt").write_text("precious")
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("README.md").write_text("# Read me\n\nAbout it.\n")
    Path("a.py").write_text("x = 1\n")
    Path("items.json").write_text(RECORDS)
    return folder


INPUTS = [
    "render . -o README.md",
    "render . --include *.py -o a.py",
    "render . -o ./a.py",
    "render README* -o README.md",
    "render --file *.py -o a.py",
    "render --doc README.md -o README.md",
    "render README.md . -o README.md",
    "render items.json -o hard.json",
    "render items.json -o Link/../items.json",
    "render . --split 100 -o part.md",
    "render --job job.yaml -o job.yaml",
    "render items.json --profile own.yaml -o own.yaml",
    "render items.json --templates templates -o templates/chunks/item.md.j2",
    "render --technique T1 items.json --attack attack.json -o attack.json",
    "render @list -o list",
    "render --files-from list -o list",
    "render --search x --in a.py -o a.py",
    "prompt items.json --history history.json --user q -o history.json",
    "prompt items.json --user-file README.md -o README.md",
    "prompt items.json --system-file README.md --user q -o README.md --json",
    "explain items.json --html items.json",
    "explain items.json -o items.json",
    "explain . -o README.md",
    "diff max_tokens=90 max_tokens=80 items.json -o items.json",
    "diff saved.json max_tokens=80 items.json -o saved.json",
]


@pytest.mark.parametrize("line", INPUTS)
def test_an_input_is_never_written_over(line: str) -> None:
    Path("job.yaml").write_text("items: [{content: x}]\n")
    Path("own.yaml").write_text("max_tokens: 900\n")
    Path("templates/chunks").mkdir(parents=True)
    Path("templates/chunks/item.md.j2").write_text("{{ item.content }}\n")
    Path("attack.json").write_text('[{"technique_id": "T1", "name": "n", "description": "d"}]')
    Path("list").write_text("a.py\n")
    Path("history.json").write_text(HISTORY)
    Path("Link").mkdir()
    os.link("items.json", "hard.json")
    assert run("render", "items.json", "--json", "-o", "saved.json").code == 0
    Path("part.1.md").write_text("mine")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    ran = run(*line.split())
    assert ran.code == 4, ran
    assert "is both the input and the output; choose another output" in ran.err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_changes_of_git_are_not_written_over(repository: Path) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", *arguments], check=True)
    Path("a.py").write_text("x = 2\n")
    for flag in ("--git-changed", "--git-diff"):
        ran = run("render", flag, "-o", "a.py")
        assert (ran.code, Path("a.py").read_text()) == (4, "x = 2\n"), ran
    Path("package-lock.json").write_text("{}")
    assert run("render", "--git-changed", "-o", "package-lock.json").code == 4


@pytest.mark.parametrize("command", ["render", "explain", "prompt --user q", "render --search x"])
@pytest.mark.parametrize(
    "name",
    [".env", ".editorconfig", ".gitattributes", "ignored.txt", "node_modules/x.js", "made.min.js"],
)
def test_a_file_that_is_left_out_is_not_written_over(name: str, command: str) -> None:
    for made in ("node_modules", ".git"):
        Path(made).mkdir()
    Path(".gitignore").write_text("ignored.txt\nout.md\n")
    Path(name).write_text("mine = 1\n")
    folder = ["--in", "."] if "--search" in command else ["."]
    for include in ([], ["--include", "*.py"]):
        ran = run(*command.split(), *folder, *include, "-o", name, "--no-secret-scan")
        assert (ran.code, Path(name).read_text()) == (4, "mine = 1\n"), ran
        assert name in ran.err and "choose another output" in ran.err


@pytest.mark.parametrize("name", [".env", ".env.local", "keys/id_ed25519", "a.pem", ".npmrc"])
def test_a_file_for_credentials_is_not_written_over_anywhere(name: str, tmp_path: Path) -> None:
    place = tmp_path / name
    place.parent.mkdir(exist_ok=True)
    assert run("render", "items.json", "-o", str(place)).code == 0
    assert run("render", "items.json", "-o", str(place)).code == 0, "it is ours"
    place.write_text("mine")
    ran = run("render", "items.json", "-o", str(place))
    assert (ran.code, place.read_text()) == (4, "mine"), ran
    assert "holds credentials; choose another output" in ran.err


@pytest.mark.parametrize(
    "line", ["render .", "render . --split 100", "batch rows.jsonl", "explain ."]
)
def test_nothing_is_written_into_the_folder_of_git(line: str) -> None:
    Path("rows.jsonl").write_text('{"items": [{"content": "x"}]}\n')
    Path(".git/objects").mkdir(parents=True)
    Path(".git/config").write_text("[core]\n")
    for name in (".git/config", ".git/new.jsonl", "../repository/.git/HEAD"):
        ran = run(*line.split(), "-o", name)
        assert ran.code == 4 and "lies in the folder of git" in ran.err, ran
    assert os.listdir(".git/objects") == [] and sorted(os.listdir(".git")) == ["config", "objects"]


def test_an_ignored_output_of_another_home_is_known_by_its_content(tmp_path: Path) -> None:
    Path(".gitignore").write_text("out.md\n")
    for _ in range(2):
        assert run("render", ".", "-o", "out.md").code == 0
        (tmp_path / "home/promptforge/written.json").unlink()
    Path("out.md").write_text("My own notes.\n")
    assert run("render", ".", "-o", "out.md").code == 4


OUTPUTS = [
    "render . -o context.md",
    "render . -o context.out",
    "render . --json -o saved.json",
    "render --file *.py -o all.py",
    "render . --split 100 -o part.md",
    "prompt . --user q --to openai -o prompt.json",
    "explain . -o table.txt --html page.html",
]


@pytest.mark.parametrize("line", OUTPUTS)
def test_the_output_of_an_earlier_run_is_replaced(line: str) -> None:
    for _ in range(3):
        ran = run(*line.split())
        assert ran.code == 0, ran
        Path("a.py").write_text(Path("a.py").read_text() + "y = 2\n")


def test_an_output_that_came_with_a_clone_is_known_by_its_content(tmp_path: Path) -> None:
    assert run("render", ".", "-o", "context.md").code == 0
    (tmp_path / "home/promptforge/written.json").unlink()
    assert run("render", ".", "-o", "context.md").code == 0
    Path("context.md").write_text("My own notes.\n")
    assert run("render", ".", "-o", "context.md").code == 4
    assert Path("context.md").read_text() == "My own notes.\n"


@pytest.mark.parametrize("target", ["../victim.txt", "{root}/victim.txt", "hop", "a.py"])
def test_no_output_goes_through_a_link(tmp_path: Path, target: str) -> None:
    Path("hop").symlink_to("../victim.txt")
    for name in ("context.md", "part.1.md"):
        Path(name).symlink_to(target.replace("{root}", str(tmp_path)))
    Path("out").symlink_to("..")
    for line in (
        "render items.json -o context.md",
        "render items.json -o ./context.md",
        "render items.json -o out/victim.txt",
        "render items.json -o out/new.txt",
        "prompt items.json --user q -o context.md",
        "explain items.json --html context.md",
        "render items.json --split 100 -o part.md",
        "batch rows.jsonl -o out/made.jsonl",
    ):
        Path("rows.jsonl").write_text('{"items": []}\n')
        ran = run(*line.split())
        assert ran.code == 4 and "is a link to" in ran.err and "--follow" in ran.err, ran
    assert (tmp_path / "victim.txt").read_text() == "precious"
    assert Path("a.py").read_text() == "x = 1\n" and not (tmp_path / "new.txt").exists()
    assert run("render", "items.json", "-o", "out/victim.txt", "--follow").code == 0
    assert (tmp_path / "victim.txt").read_text() != "precious"


def test_parts_are_written_over_parts_alone() -> None:
    line = ["render", "items.json", "--split", "100", "-o", "part.md"]
    assert run(*line).code == run(*line).code == 0
    Path("part.1.md").write_text("mine")
    ran = run(*line)
    assert (ran.code, Path("part.1.md").read_text()) == (4, "mine")
    assert "not the output of an earlier run; remove it, or choose another output" in ran.err


KILLED = """
import os, signal, sys
from promptforge.cli import main, output
write_whole, left = output.write_whole, int(sys.argv[1])
def killed_at(target, **given):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return write_whole(target, **given)
output.write_whole = killed_at
main.main(sys.argv[2:])
"""


@pytest.mark.slow
def test_a_killed_run_is_continued_over_its_own_parts_alone() -> None:
    line = ["render", "b.json", "--split", "100", "-o", "part.md"]
    # Files that are written before the kill: some parts stay of this run, some of that.
    for run_number, writes in enumerate([2, 0, 3, 1, 0]):
        records = [{"content": f"value = {run_number} + {n}\n" * 9} for n in range(5)]
        Path("b.json").write_text(json.dumps(records))
        command = [sys.executable, "-c", KILLED, str(writes), *line]
        assert subprocess.run(command, env={**os.environ, **PYTHON}).returncode == -SIGKILL
    Path("part.5.md").write_text("mine")  # it was marked, and never written
    ran = run(*line)
    assert (ran.code, Path("part.5.md").read_text()) == (4, "mine"), ran
    Path("part.5.md").unlink()
    ran = run(*line)
    assert ran.code == 0, ran
    assert "value = 4 + 4" in Path("part.5.md").read_text()


def test_the_list_is_written_once_for_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(marks, "write_settings", lambda name, _: calls.append(name))
    Path("b.json").write_text(json.dumps([{"content": "value = 1\n" * 20}] * 5))
    assert run("render", "b.json", "--split", "100", "-o", "part.md").code == 0
    assert len(list(Path().glob("part.*.md"))) > 1 and calls == ["written.json"]


def test_two_outputs_have_two_names() -> None:
    ran = run("explain", "items.json", "-o", "a.txt", "--html", "./a.txt")
    assert ran.code == 2 and "two outputs have the same name" in ran.err


@pytest.mark.parametrize("name", ["../other", "../other/b.py", "{root}/other/b.py"])
def test_what_the_user_types_may_lie_anywhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/b.py").write_text("beside = 1\n")
    name = name.replace("{root}", str(tmp_path))
    for words in (["render", name], ["count", name], ["render", "--file", name]):
        ran = run(*words)
        assert ran.code == 0, ran
    assert "beside = 1" in run("render", name).out
    assert "beside = 1" in run("render", "--search", "beside", "--in", name).out


def test_a_link_is_read_through_by_follow(tmp_path: Path) -> None:
    Path("notes.md").symlink_to("../victim.txt")
    ran = run("render", "notes.md")
    assert ran.code == 4 and "precious" not in ran.out + ran.err and "--follow" in ran.err
    assert "precious" in run("render", "notes.md", "--follow").out
    assert "precious" in run("render", str(tmp_path / "victim.txt")).out


def test_results_of_a_batch_go_through_no_link(folder: Path) -> None:
    Path("rows.jsonl").write_text('{"items": [{"content": "x"}], "id": "a"}\n')
    Path("victim.txt").write_text("precious")
    Path("out.jsonl").symlink_to("victim.txt")
    ran = run("batch", "rows.jsonl", "-o", "out.jsonl")
    assert ran.code == 4 and "--follow" in ran.err
    assert Path("victim.txt").read_text() == "precious"


@pytest.mark.parametrize("made_by", ["clone", "archive"])
def test_a_link_of_a_stranger_leads_nowhere_by_a_whole_name_either(
    tmp_path: Path, made_by: str
) -> None:
    theirs = tmp_path / "theirs/deep"
    theirs.mkdir(parents=True)
    if made_by == "clone":
        (theirs / ".git").mkdir()
    (theirs / "notes.md").symlink_to(tmp_path / "victim.txt")
    (theirs / "out").symlink_to(tmp_path)
    ran = run("render", str(theirs / "notes.md"))
    assert ran.code == 4 and "a link points outside the folder; name its target" in ran.err
    assert run("render", str(theirs / "out/victim.txt")).code == 4
    assert run("render", f"{theirs}/n*.md").code == 4
    for flag in ("-o", "--html"):
        ran = run("explain", "items.json", flag, str(theirs / "out/new.txt"))
        assert ran.code == 4 and "is a link to" in ran.err, ran
    assert not (tmp_path / "new.txt").exists()
    assert run("render", str(theirs / "notes.md"), "--follow").code == 0


def test_a_link_of_ones_own_on_the_way_is_followed(tmp_path: Path) -> None:
    (tmp_path / "disk/desk").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/desk").symlink_to(tmp_path / "disk/desk")
    (tmp_path / "disk/desk/b.py").write_text("beside = 1\n")
    assert "beside = 1" in run("render", str(tmp_path / "home/desk/b.py")).out
    assert run("render", "items.json", "-o", str(tmp_path / "home/desk/new.md")).code == 0
    assert (tmp_path / "disk/desk/new.md").is_file()


@pytest.mark.parametrize("line", ["init desk", "init .", "new layout mine", "new profile mine"])
def test_a_project_is_not_begun_behind_a_link(tmp_path: Path, line: str) -> None:
    (tmp_path / "out").mkdir()
    for name in ("desk", "templates", "profiles"):
        Path(name).symlink_to("../out")
    ran = run(*line.split())
    assert ran.code == 4 and "nothing is written through it" in ran.err
    assert "--follow" not in ran.err, "the command has no such flag"
    assert not list((tmp_path / "out").iterdir())


def test_preview_saves_into_no_folder_behind_a_link(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    (tmp_path / "out").mkdir()
    Path("templates").symlink_to("../out")
    ran = run("preview", "items.json", "--edit", "--templates", "templates")
    assert ran.code == 4 and "is a link to" in ran.err


def test_cases_behind_a_link_are_not_run(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    cases = "items: [{content: x}]\ncases: [{name: a, file: gold.txt}]\n"
    (tmp_path / "mine/cases.yaml").write_text(cases)
    (tmp_path / "mine/gold.txt").write_text("gold")
    Path("tests").symlink_to("../mine")
    assert run("test", "--update").code == 4
    assert (tmp_path / "mine/gold.txt").read_text() == "gold"


@pytest.mark.parametrize("name", ["rows.jsonl", "*.jsonl", "."])
def test_a_batch_reads_no_rows_behind_a_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.jsonl").write_text('{"items": [{"content": "x"}]}\n')
    Path("rows.jsonl").symlink_to("../rows.jsonl")
    line = ["batch", name, "-o", "../made.jsonl"]
    ran = run(*line)
    assert ran.code == 4 and "follow links by --follow" in ran.err
    assert run(*line, "--follow").code == 0
