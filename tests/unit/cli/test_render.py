"""`promptforge render`: items from files, standard input, ranges and jobs, and the flags that win."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from commandline import ITEM, run, said, write
from places import DATA

import promptforge as pf

TEXT = pf.render([ITEM]).text + "\n"
"""The text and the line end of the pipe or file."""


@pytest.fixture(autouse=True)
def _items(folder: Path) -> None:
    write("items.json", [ITEM])


def test_items_from_a_file() -> None:
    assert run("render", "items.json") == (0, TEXT, "")


@pytest.mark.parametrize("arguments", [["-"], []])
def test_items_from_standard_input(arguments: list[str]) -> None:
    assert run("render", *arguments, stdin=json.dumps([ITEM])) == (0, TEXT, "")


def test_several_files_of_items_in_their_order() -> None:
    write("more.jsonl", '{"content": "first"}\n{"content": "second"}\n')
    out = run("render", "more.jsonl", "items.json", "--order", "given", "--group-by", "none").out
    assert out.index("first") < out.index("second") < out.index("x = 1")


@pytest.mark.parametrize("content", ["", "[]", "# none", '{"items": []}'])
def test_a_file_without_items_is_named(content: str) -> None:
    write("none.json", content)
    assert run("render", "none.json") == (
        0,
        "",
        "promptforge: note: none.json: holds no items [PF115]\n",
    )
    assert run("render", "none.json", "items.json").out == TEXT


@pytest.mark.parametrize("content", ["null", "5", '"text"', "true", "[null]", "~"])
def test_a_value_that_is_no_list_of_items_is_an_error(content: str) -> None:
    for name in ("wrong.json", "wrong.yaml"):
        write(name, content)
        ran = run("render", name)
        assert (ran.code, ran.out) == (4, "") and f"{name}:1: " in ran.err
    assert run("render", "-", stdin=content).code == 4


def test_a_file_and_its_range() -> None:
    write("src/b.py", "one = 1\ntwo = 2\nthree = 3\n")
    whole, part = run("render", "--file", "src/b.py"), run("render", "--file", "src/b.py:2-2")
    assert (whole.code, part.code) == (0, 0)
    assert "one = 1\ntwo = 2\nthree = 3" in whole.out
    assert "two = 2" in part.out and "one = 1" not in part.out
    assert "one = 1" in run("render", "--file", "src/b.py:2-2", "--context-lines", "1").out


def test_a_pattern_of_files_inside_a_workspace() -> None:
    write("place/src/b.py", "b = 1\n")
    write("place/src/deep/c.py", "c = 1\n")
    write("place/src/d.txt", "d = 1\n")
    ran = run("render", "--workspace", "place", "--file", "src/**/*.py")
    assert ran.code == 0
    assert "b = 1" in ran.out and "c = 1" in ran.out and "d = 1" not in ran.out


def test_a_document() -> None:
    write("guide.md", "---\ntitle: A guide\n---\nRead me first.\n")
    ran = run("render", "--doc", "guide.md", "--layout", "knowledge", "--format", "plain")
    assert ran.code == 0
    assert "Read me first." in ran.out


@pytest.mark.skipif(shutil.which("man") is None, reason="no man")
def test_a_man_page() -> None:
    if subprocess.run(["man", "-w", "tar"], capture_output=True, check=False).returncode:
        pytest.skip("no man page of tar")
    ran = run("render", "--man", "tar", "--layout", "knowledge", "--max-tokens", "300")
    assert ran.code == 0
    assert "tar" in ran.out and "NAME" in ran.out


def test_a_technique_of_a_bundle() -> None:
    ran = run(
        "render", "--technique", "T9001", "--attack", DATA / "bundle.json", "--layout", "knowledge"
    )
    assert ran.code == 0
    assert "Cookie Jar Opening" in ran.out and "T9001" in ran.out


def test_a_job_in_yaml() -> None:
    write("guide.md", "The guide.\n")
    write("src/a.py", "a = 1\n")
    job = "layout: knowledge\nformat: xml\nmax_tokens: 700\n"
    job += "knowledge:\n  documents: [guide.md]\n  mitre_techniques: T9001\n"
    job += (
        f"attack: {DATA / 'bundle.json'}\nfiles: src/*.py\nitems: [items.json, content: in place]\n"
    )
    write("job.yaml", job)
    ran = run("render", "--job", "job.yaml", "--json", "--allow-outside")
    assert ran.code == 0, ran.err
    result = json.loads(ran.out)
    assert (result["layout"], result["format"], result["max_tokens"]) == ("knowledge", "xml", 700)
    for part in ("The guide.", "a = 1", "x = 1", "in place", "Cookie Jar Opening"):
        assert part in result["text"]
    assert (
        json.loads(
            run(
                "render", "--job", "job.yaml", "--json", "--max-tokens", "650", "--allow-outside"
            ).out
        )["max_tokens"]
        == 650
    )


def test_a_job_in_xml() -> None:
    write("guide.md", "The guide.\n")
    write(
        "job.xml",
        "<context><documents>guide.md</documents>"
        "<mitre_techniques><technique>T9001</technique></mitre_techniques></context>",
    )
    ran = run(
        "render", "--job", "job.xml", "--attack", DATA / "bundle.json", "--layout", "knowledge"
    )
    assert ran.code == 0, ran.err
    assert "The guide." in ran.out and "Cookie Jar Opening" in ran.out


def test_a_flag_wins_over_a_job_and_a_job_over_a_profile() -> None:
    write("job.yaml", "profile: claude\nformat: plain\nitems: [items.json]\n")
    profile = json.loads(run("render", "items.json", "-p", "claude", "--json").out)
    job = json.loads(run("render", "--job", "job.yaml", "--json").out)
    flag = json.loads(run("render", "--job", "job.yaml", "--json", "--format", "json").out)
    assert [r["format"] for r in (profile, job, flag)] == ["xml", "plain", "json"]
    assert [r["profile"] for r in (profile, job, flag)] == ["claude"] * 3


@pytest.mark.parametrize("budget", range(5, 40))
def test_what_goes_through_a_pipe_costs_no_more_than_the_budget(folder: Path, budget: int) -> None:
    items = [{"content": "one two three. " * n, "path": f"{n}.md"} for n in range(1, 4)]
    Path("items.json").write_text(json.dumps(items))
    ran = run("render", "items.json", "--max-tokens", str(budget))
    assert ran.code == 0
    assert pf.get_tokenizer("o200k_base").count(ran.out) <= budget


@pytest.mark.parametrize("flags", [["--max-tokens", "600"], ["-O", "max-tokens=600"]])
def test_parts_hold_everything_so_a_budget_of_all_is_refused(flags: list[str]) -> None:
    ran = run("render", "items.json", "--split", "500", *flags, "-o", "part.md")
    said(ran, 2, "--split N writes everything", "--max-tokens cannot hold", "leave out one")
    ran = run("render", "items.json", "--split", "500", "--max-tokens", "none", "-o", "part.md")
    assert ran.code == 0


def test_a_standing_budget_gives_way_to_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    write("job.yaml", "items: [items.json]\nmax_tokens: 600\n")
    ran = run("render", "--job", "job.yaml", "--split", "500", "-o", "part.md")
    assert ran.code == 0
    assert "note: job.yaml:2: max_tokens is not used: --split writes everything" in ran.err
    monkeypatch.setenv("PROMPTFORGE_MAX_TOKENS", "600")
    ran = run("render", "items.json", "--split", "500", "-p", "claude", "-o", "part.md")
    assert (ran.code, "max_tokens" in ran.err) == (0, False)
