"""The command line: its product on standard output, one line on standard error, its exit code."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from commandline import ROOT, Ran, command, run

import promptforge as pf
from promptforge.cli.main import COMMANDS, GROUPS
from promptforge.model import RESULT_FIELDS

DATA = Path(__file__).parent / "data"
ITEM = {"content": "x = 1", "path": "a.py", "start_line": 3, "end_line": 3, "kind": "code"}
TEXT = pf.render([ITEM]).text + "\n"
"""The text and the line end of the pipe or file."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("items.json", [ITEM])


def write(path: str, content: object) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def said(ran: Ran, code: int, *words: str) -> None:
    """Assert one line with `words` on standard error, no output, and the exit code.

    Below it the line of a template may stand.
    """
    assert ran.code == code, ran
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert ran.err.startswith("promptforge: ") and ran.err.endswith("\n"), ran.err
    assert all(line.startswith("  ") and " | " in line for line in lines[1:]), ran.err
    assert all(word in ran.err for word in words), ran.err


# --- render: what goes in -------------------------------------------------------------------------


def test_items_from_a_file() -> None:
    assert run("render", "items.json") == (0, TEXT, "")


@pytest.mark.parametrize("arguments", [["-"], []])
def test_items_from_standard_input(arguments: list[str]) -> None:
    assert run("render", *arguments, stdin=json.dumps([ITEM])) == (0, TEXT, "")


def test_several_files_of_items_in_their_order() -> None:
    write("more.jsonl", '{"content": "first"}\n{"content": "second"}\n')
    out = run("render", "more.jsonl", "items.json", "--order", "given", "--group-by", "none").out
    assert out.index("first") < out.index("second") < out.index("x = 1")


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


# --- render: what comes out -----------------------------------------------------------------------


def test_json_is_every_field_of_the_result() -> None:
    ran = run("render", "items.json", "--json", "--query", "x")
    found = json.loads(ran.out)
    assert found.pop("promptforge") == 1
    expected: dict[str, Any] = pf.render([ITEM], query="x").to_dict()
    assert list(found) == list(RESULT_FIELDS) == list(expected)
    for name in ("build_seconds",):
        assert isinstance(found.pop(name), float)
        expected.pop(name)
    assert found == json.loads(json.dumps(expected))
    assert found["tokens"] == pf.get_tokenizer(found["tokenizer"]).count(found["text"])


def test_output_goes_to_a_file_at_one_stroke() -> None:
    target = write("out.md", "what was there before")
    linked = Path("link.md")
    os.link(
        target, linked
    )  # the old content stays where somebody still reads it: the file is replaced, not rewritten
    assert run("render", "items.json", "-o", "out.md") == (
        0,
        "",
        "promptforge: 1 item, 19 tokens: out.md\n",
    )
    assert target.read_bytes() == TEXT.encode()
    assert linked.read_text() == "what was there before"
    assert sorted(path.name for path in Path().iterdir()) == ["items.json", "link.md", "out.md"]


def test_a_file_of_output_is_as_readable_as_any_new_file() -> None:
    run("render", "items.json", "-o", "out.md")
    usual = write("usual", "")
    assert stat.S_IMODE(Path("out.md").stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


def test_json_goes_to_a_file_too_and_a_dash_is_standard_output() -> None:
    assert run("render", "items.json", "--json", "-o", "out.json").out == ""
    assert json.loads(Path("out.json").read_text())["text"] + "\n" == TEXT
    assert run("render", "items.json", "-o", "-").out == TEXT


def test_a_failed_run_leaves_the_old_output_alone() -> None:
    write("out.md", "before")
    write("req.json", [{"content": "word " * 50, "required": True}])
    said(run("render", "req.json", "--max-tokens", "3", "-o", "out.md"), 3, "required", "3")
    assert Path("out.md").read_text() == "before"


@pytest.mark.parametrize("target", ["nowhere/out.md", "."])
def test_an_output_that_cannot_be_written_is_named(target: str) -> None:
    ran = run("render", "items.json", "-o", target)
    said(ran, 4, target)
    assert ran.err.startswith(f"promptforge: {target}: "), (
        "the user's name for it, not that of a file on the way"
    )


@pytest.mark.parametrize("more", [[], ["--split", "60"]])
def test_a_folder_does_not_give_the_text_of_an_earlier_run(more: list[str]) -> None:
    for number in range(20):
        write(f"notes/{number}.md", f"note number {number}\n")
    found = []
    for _ in range(2):
        ran = run("render", "notes", "-o", "notes/all.md", *more)
        assert ran.code == 0
        found.append({path.name: path.read_text() for path in Path("notes").iterdir()})
    assert found[0] == found[1]
    assert "files that this run writes" in ran.err


@pytest.mark.parametrize("name", ["items.json", "./items.json"])
def test_an_output_does_not_replace_its_own_input(name: str) -> None:
    before = Path("items.json").read_text()
    said(run("render", name, "-o", "items.json"), 4, "is the input and the output")
    assert Path("items.json").read_text() == before


def test_an_output_that_is_no_file_is_written_to_and_stays_what_it_is() -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert run("render", "items.json", "-o", "pipe").code == 0
    assert os.read(reader, 10_000).decode() == TEXT and Path("pipe").is_fifo()
    os.close(reader)
    os.symlink("real.md", "link.md")
    write("real.md", "before")
    assert run("render", "items.json", "-o", "link.md").code == 0
    assert Path("link.md").is_symlink() and Path("real.md").read_text() == TEXT


# --- warnings and strict --------------------------------------------------------------------------


def test_warnings_go_to_standard_error_and_the_text_is_whole() -> None:
    write("bad.jsonl", '{"content": "good"}\n{"contnt": "bad"}\n')
    ran = run("render", "bad.jsonl")
    assert ran.code == 0
    assert ran.out == pf.render([{"content": "good"}]).text + "\n"
    assert all(
        line.startswith("promptforge: warning: bad.jsonl:2: ") for line in ran.err.splitlines()
    )
    assert "PF204" in ran.err


def test_strict_prints_no_text_and_exits_1() -> None:
    write("bad.jsonl", '{"content": "good"}\n{"contnt": "bad"}\n')
    ran = run("render", "bad.jsonl", "--strict")
    assert (ran.code, ran.out) == (1, "")
    assert "bad.jsonl:2" in ran.err
    assert run("render", "items.json", "--strict") == (0, TEXT, "")


def test_strict_does_not_mind_what_is_only_information() -> None:
    write("many.json", [{"content": f"words of number {n}", "path": f"f{n}"} for n in range(9)])
    ran = run("render", "many.json", "--strict", "--max-tokens", "60")
    assert ran.code == 0
    assert "promptforge: note: " in ran.err
    assert run("render", "many.json", "--strict", "--max-tokens", "60", "--quiet") == (
        0,
        ran.out,
        "",
    )


def test_a_source_that_is_missing_among_others_is_a_warning() -> None:
    ran = run("render", "items.json", "--file", "nope.py")
    assert (ran.code, ran.out) == (0, TEXT)
    assert "nope.py" in ran.err and "PF606" in ran.err


# --- exit codes -----------------------------------------------------------------------------------


def test_2_an_option_that_takes_another_value() -> None:
    said(run("render", "items.json", "--max-tokens", "few"), 2, "max_tokens", '"few"')
    said(run("render", "items.json", "--min-score", "2"), 2, "min_score", "0 to 1")
    said(run("render", "items.json", "--trim", "strcture"), 2, 'did you mean "structure"')
    said(run("render", "items.json", "-p", "claud"), 2, 'did you mean "claude"')
    said(run("render", "items.json", "--tokenizer", "o200k"), 2, 'did you mean "o200k_base"')


def test_2_a_command_or_option_that_does_not_exist_and_the_nearest_that_does() -> None:
    said(run("rendr"), 2, '"rendr"', 'did you mean "render"')
    said(run("render", "items.json", "--max-token", "3"), 2, "--max-token", "--max-tokens")
    said(run("--versio"), 2, "--versio")
    said(run("list", "layout"), 2, "layouts")
    said(run("schema", "layouts"), 2, 'did you mean "layout"?')
    said(run("show"), 2, "NAME")


def test_2_nothing_to_do() -> None:
    said(run("render"), 2, "nothing to render")
    said(run("count"), 2, "nothing to count")


def test_2_no_command_at_all_is_answered_with_the_help() -> None:
    ran = run()
    assert (ran.code, ran.out) == (2, "")
    assert "render" in ran.err and "Exit codes" in ran.err


def test_3_what_is_required_does_not_fit_and_json_says_by_how_much() -> None:
    write("req.json", [{"content": "word " * 50, "required": True}])
    said(run("render", "req.json", "--max-tokens", "3"), 3, "budget is 3")
    ran = run("render", "req.json", "--max-tokens", "3", "--json")
    error = json.loads(ran.out)["error"]
    assert ran.code == 3
    assert (error["code"], error["largest"]) == ("budget", 3)
    assert run("render", "req.json", "--max-tokens", error["needed"]).code == 0
    assert run("render", "req.json", "--max-tokens", error["needed"] - 1).code == 3


BAD = {
    "nope.json": None,
    "broken.json": "[{",
    "broken.jsonl": "nothing\nof it\n",
    "broken.yaml": "a: [",
    "number.json": "[" + "9" * 5000 + "]",
    "deep.json": "[" * 100_000,
    "nul.json": "\x00\x01",
    "items_is_no_list.json": '{"items": 5}',
}


@pytest.mark.parametrize("name", BAD)
def test_4_items_that_cannot_be_read(name: str) -> None:
    content = BAD[name]
    if content is not None:
        write(name, content)
    said(run("render", name), 4, name)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--file", "nope.py"], "nope.py"),
        (["--file", "items.json:5-2"], "items.json:5-2"),
        (["--file", "../../etc/passwd"], "no such file"),
        (["--doc", "."], "folder"),
        (["--doc", "nope.md"], "nope.md"),
        (["--man", "no-such-page-at-all"], "no-such-page-at-all"),
        (["--man", "-w"], "-w"),
        (["--technique", "T9001"], "--attack"),
        (["--technique", "T1", "--attack", "nope.json"], "nope.json"),
        (["--job", "nope.yaml"], "nope.yaml"),
        (["/dev/zero"], "not a file"),
    ],
)
def test_4_a_source_that_cannot_be_had(arguments: list[str], word: str) -> None:
    said(run("render", *arguments), 4, word)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["nope.txt"], "nope.txt"), (["/dev/zero"], "not a file")],
)
def test_4_a_file_that_cannot_be_counted(arguments: list[str], word: str) -> None:
    said(run("count", *arguments), 4, word)


SAID: dict[str, tuple[int, str]] = {
    # a command line → its exit code, and what the one line on standard error says
    "render": (2, "nothing to render: name a file of items or a folder, pipe items in, or give"),
    "explain": (2, "nothing to render: name a file of items"),
    "prompt": (2, "nothing to make a prompt of: give items, or system"),
    "count": (2, "nothing to count: name a file or a folder, or pipe a text in"),
    "check": (2, "nothing to check: there is neither ./templates nor ./profiles"),
    "test": (2, "there is no folder ./tests; name a file of cases"),
    "diff": (2, "A is missing: promptforge diff [OPTIONS] A B [ITEMS]..."),
    "diff a": (2, "B is missing"),
    "diff a b": (2, '"a" is neither a file nor options such as profile=claude'),
    "show": (2, "NAME is missing: promptforge show [OPTIONS] NAME"),
    "show nothing": (2, "`promptforge list` and `promptforge list templates` print all names"),
    "show claud": (2, 'did you mean "claude"?'),
    "show dir": (2, "it is a file or folder, and show takes names"),
    "new": (2, "one of layout, format, kind, prompt, profile is missing: promptforge new"),
    "new thing x": (
        2,
        'there is no "thing" here; there are: format, kind, layout, profile, prompt',
    ),
    "new layout": (2, "NAME is missing: promptforge new"),
    "new layout x --from contxt": (2, 'did you mean "context"?'),
    "list layuts": (2, 'did you mean "layouts"?'),
    "rule PFXXX": (2, "`promptforge rule` lists them"),
    "completion csh": (2, 'there is no "csh" here'),
    "batch": (2, "INPUT is missing: promptforge batch"),
    "rendr": (2, 'there is no command "rendr"; did you mean "render"?'),
    "render --layot x": (2, 'there is no option "--layot"; did you mean "--layout"?'),
    "render --layout": (2, "--layout needs a value"),
    "render items.json --templates items.json": (
        2,
        '--templates takes a folder, and "items.json" is a file',
    ),
    "render items.json --templates nowhere": (2, '--templates: there is no folder "nowhere"'),
    "render items.jsn": (4, 'no such file or directory; did you mean "items.json"?'),
    "render dir": (4, "dir: a folder without files to read"),
    "render items.json --layout chnks": (2, 'did you mean "chunks"?'),
    "prompt items.json --user x --history dir": (4, "dir: not a file but a folder"),
    "prompt items.json --user x --to openi": (2, 'did you mean "openai"?'),
    "explain locked.json": (4, "locked.json: cannot read it: permission denied"),
    "count nope.txt": (4, "nope.txt: cannot read it: no such file or directory"),
    "check nope": (2, 'there is no file or folder "nope"'),
    "check items.json": (
        2,
        "neither a template (.j2), a layout.yaml nor a profile (.yaml); files of items are for",
    ),
    "check items.yaml": (2, "it holds items, which `promptforge render` takes"),
    "check cases.yaml": (2, "it holds cases, which `promptforge test` takes"),
    "check job.yaml": (2, "it is a job: `promptforge render --job`"),
    "check dir": (2, "holds no templates, layouts or profiles"),
    "test nope": (2, 'there is no file or folder "nope"'),
    "test dir": (2, "holds no file of cases (`cases:` in a .yaml file)"),
    "test items.yaml": (4, "a file of cases has the key `cases` with a list"),
}


@pytest.mark.parametrize("line", SAID)
def test_what_is_said_of_a_command_line_that_cannot_be_run(line: str) -> None:
    code, words = SAID[line]
    for name, text in (
        ("items.yaml", "- {content: x}"),
        ("cases.yaml", "cases: []"),
        ("job.yaml", "knowledge: {}"),
        ("locked.json", "[]"),
    ):
        write(name, text)
    Path("dir").mkdir()
    Path("locked.json").chmod(0)
    if "locked" in line and os.access("locked.json", os.R_OK):
        pytest.skip("whoever runs the tests may read everything")
    ran = run(*line.split())
    said(ran, code, words)
    assert ran.err.count("\n") == 1 and "Error" not in ran.err


def test_2_a_layout_or_format_that_is_not_there() -> None:
    said(run("render", "items.json", "--layout", "chnks"), 2, 'did you mean "chunks"')
    said(run("render", "items.json", "--format", "markdwn"), 2, 'did you mean "markdown"')


def test_2_a_name_that_show_does_not_know() -> None:
    said(run("show", "chunks/item.md.j"), 2, 'did you mean "chunks/item.md.j2"')
    said(run("show", "items.json"), 2, "it is a file")


def test_5_a_template_of_the_users_that_does_not_compile() -> None:
    write("own/mine/layout.md.j2", "fine\n{% if %}\n")
    said(
        run("render", "items.json", "--templates", "own", "--layout", "mine"),
        5,
        "mine/layout.md.j2:2",
    )


def test_5_a_template_of_the_users_that_fails_is_replaced_by_the_shipped_one() -> None:
    write("own/chunks/item.md.j2", "{{ itm.content }}")
    ran = run("render", "items.json", "--templates", "own")
    assert (ran.code, ran.out) == (5, TEXT)
    assert "chunks/item.md.j2:1" in ran.err and "itm" in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("max_tokns: 3\nitems: [items.json]\n", 4, ("job.yaml:1", 'did you mean "max_tokens"')),
        ("knowledge:\n  documnts: [a]\n", 4, ("job.yaml:2", 'did you mean "documents"')),
        ("profile: 5\nitems: [items.json]\n", 4, ("job.yaml:1", "profile")),
        ("items: [items.json\n", 4, ("job.yaml:", "YAML")),
        ("- a\n", 4, ("job.yaml:1", "keys")),
        ("<context><documnts/></context>", 4, ("job.yaml:1", 'did you mean "documents"')),
        ("<context>\n<documents>", 4, ("job.yaml:2", "XML")),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><context/>", 4, ("job.yaml:1", "DOCTYPE")),
    ],
)
def test_a_job_that_is_wrong(content: str, code: int, words: tuple[str, ...]) -> None:
    write("job.yaml", content)
    said(run("render", "--job", "job.yaml"), code, *words)


def test_a_bad_value_in_a_job_is_left_out_and_said() -> None:
    write("job.yaml", "items: [items.json]\nformat: 5\n")
    ran = run("render", "--job", "job.yaml")
    assert ran.code == 0
    assert ran.out
    assert ran.err.startswith("promptforge: warning: job.yaml:2: format takes ")
    assert ran.err.endswith("; left out [PF101]\n")
    assert run("render", "--job", "job.yaml", "--strict").code == 1


def test_records_without_a_text_are_bad_input() -> None:
    write("hits.json", '[{"id": 1, "score": 0.5, "payload": {"year": 1999}}]')
    said(
        run("render", "hits.json"), 4, "hits.json:1", "Qdrant point with id, score, payload (year)"
    )


def test_an_error_as_json_is_one_object() -> None:
    ran = run("render", "nope.json", "--json")
    error = json.loads(ran.out)
    assert (ran.code, error["promptforge"], error["error"]["code"]) == (4, 1, "item")
    assert ran.err == f"promptforge: {error['error']['message']}\n"
    assert error["error"]["where"] == "nope.json"


@pytest.mark.parametrize(
    "arguments",
    [["render", "\x1b[31m\nforged: line"], ["show", "\x1b[31m\nforged: line"], ["\x1b[2J"]],
)
def test_no_message_moves_the_terminal_or_forges_a_line(arguments: list[str]) -> None:
    ran = run(*arguments)
    assert ran.code in (2, 4, 5)
    assert ran.err.count("\n") == 1 and "\x1b" not in ran.err


# --- folders of the user's ------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["flag", "environment"])
def test_templates_of_the_users_own(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write("own/mine/layout.md.j2", "mine: {{ items | length }}")
    write("own/mine/layout.yaml", "description: A layout of mine\nbase: chunks\n")
    arguments = ["--templates", "own"] if by == "flag" else []
    if by == "environment":
        monkeypatch.setenv("PROMPTFORGE_TEMPLATES", os.pathsep.join(["own", ""]))
    assert "A layout of mine" in run("list", "layouts", *arguments).out
    assert "mine/layout.md.j2" in run("list", "templates", *arguments).out
    assert run("show", "mine/layout.md.j2", *arguments).out == "mine: {{ items | length }}"
    assert run("show", "mine").code == (0 if by == "environment" else 2)


@pytest.mark.parametrize("by", ["flag", "environment"])
def test_a_template_of_the_same_name_wins(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write("own/chunks/item.md.j2", "mine: {{ item.content }}")
    arguments = ["--templates", "own"] if by == "flag" else []
    if by == "environment":
        monkeypatch.setenv("PROMPTFORGE_TEMPLATES", "own")
    ran = run("render", "items.json", *arguments)
    assert ran.code == 0
    assert ran.out.startswith("mine: x = 1")


@pytest.mark.parametrize("by", ["flag", "environment"])
def test_profiles_of_the_users_own(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write("own/mine.yaml", "description: A profile of mine\nformat: xml\nmax_tokens: 123\n")
    arguments = ["--profiles", "own"] if by == "flag" else []
    if by == "environment":
        monkeypatch.setenv("PROMPTFORGE_PROFILES", "own")
    assert "A profile of mine" in run("list", "profiles", *arguments).out
    assert "max_tokens: 123" in run("show", "mine", *arguments).out
    result = json.loads(run("render", "items.json", "-p", "mine", "--json", *arguments).out)
    assert (result["profile"], result["format"], result["max_tokens"]) == ("mine", "xml", 123)


def test_a_folder_by_flag_comes_before_one_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("one/mine.yaml", "max_tokens: 111\n")
    write("two/mine.yaml", "max_tokens: 222\n")
    monkeypatch.setenv("PROMPTFORGE_PROFILES", "two")
    result = json.loads(
        run("render", "items.json", "-p", "mine", "--json", "--profiles", "one").out
    )
    assert result["max_tokens"] == 111


def test_a_profile_may_be_a_file() -> None:
    write("somewhere.yaml", "max_tokens: 77\n")
    assert (
        json.loads(run("render", "items.json", "-p", "somewhere.yaml", "--json").out)["max_tokens"]
        == 77
    )


def test_a_profile_with_a_mistake_is_named_with_its_line() -> None:
    write("own/mine.yaml", "format: xml\nmax_tokns: 3\n")
    said(
        run("render", "items.json", "--profiles", "own", "-p", "mine"),
        2,
        "mine.yaml:2",
        'did you mean "max_tokens"',
    )


@pytest.mark.parametrize("flag", ["--templates", "--profiles"])
def test_a_folder_that_is_not_there_is_named(flag: str) -> None:
    ran = run("render", "items.json", flag, "nowhere")
    assert ran.code in (2, 5)
    said(ran, ran.code, "nowhere")


# --- count, list, show, schema --------------------------------------------------------------------


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
    for line in (
        "render f/b.md", "render --file f/b.md", "render --doc f/b.md", "count f/b.md",
        "render --job f/b.md", "render --search text --in f/b.md", "prompt f/a.md --user-file f/b.md",
        "prompt f/a.md --history f/b.md", "render --technique T1003 --attack f/b.md",
    ):  # fmt: skip
        said(run(*line.split()), 4, "f/b.md: no text but ")
    said(run("render", "f/b.md"), 4, "no text but ")
    for line in (
        "render f",
        "render --file f/*.md",
        "render --search text --in f",
        "count f/a.md f/b.md",
    ):
        ran = run(*line.split())
        assert ran.code == 0 and "a" in ran.out and "text" in ran.err, line


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
    rows = [line.split() for line in run("count", "a", "--tree").out.splitlines()]
    assert [name for _, name in rows] == ["a/", "two.txt", "b/", "one.txt", "total"]
    numbers = [int(number) for number, _ in rows]
    assert numbers[0] == numbers[-1] == numbers[1] + numbers[2]
    assert numbers[2] == numbers[3]


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
    things = {"layouts", "formats", "profiles", "tokenizers", "prompts", "framings"}
    assert set(found) == {"promptforge", *things}
    assert {row["name"] for row in found["layouts"]} == {
        path.parent.name for path in (ROOT / "templates").glob("*/layout.yaml")
    }
    assert {row["name"]: row["formats"] for row in found["framings"]}["tagged"] == [
        "markdown",
        "xml",
        "plain",
    ]
    assert {row["name"] for row in found["profiles"]} == {
        path.stem for path in (ROOT / "profiles").glob("*.yaml")
    }
    assert all(
        row["description"] for rows in found.values() if isinstance(rows, list) for row in rows
    )


def test_list_of_profiles_is_a_table_that_helps_to_choose(tmp_path: Path) -> None:
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
    assert max(map(len, lines)) <= 100
    rows = json.loads(run("list", "profiles", "--json", "--profiles", str(tmp_path)).out)[
        "profiles"
    ]
    assert [line.split()[0] for line in lines[1:] if line[0] != " "] == [
        row["name"] for row in rows
    ]
    (row,) = [row for row in rows if row["name"] == "claude-4.5"]
    assert (row["context_window"], row["reserve"], row["as_of"]) == (
        200000,
        64000,
        "2026-11-22",
    ) and row["match"]


def test_list_of_formats_has_ones_own_with_its_syntax_and_layouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("new", "format", "slides", "--from", "markdown", "--layout", "knowledge").code == 0
    rows = json.loads(run("list", "formats", "--json", "--templates", "templates").out)["formats"]
    (own,) = [row for row in rows if row["name"] == "slides"]
    assert (own["ending"], own["layouts"]) == ("slides.md", ["knowledge", "knowledge-long"])
    assert own["description"].endswith("escaped as markdown, in knowledge, knowledge-long")
    assert {row["name"] for row in rows} == {"markdown", "xml", "json", "yaml", "plain", "slides"}
    assert "slides" not in run("list", "formats").out


@pytest.mark.parametrize("text", ["20k", "20_000", "20K", "0.02m", "20.0k"])
def test_a_budget_in_thousands(text: str) -> None:
    ran = run("render", "items.json", "--max-tokens", text, "--json")
    assert json.loads(ran.out)["max_tokens"] == 20_000
    assert run("diff", f"max_tokens={text}", "max_tokens=20000", "items.json").code == 0


def test_a_budget_in_thousands_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text("items: {content: a text}\nmax_tokens: 2k\n")
    Path("items.json").write_text('["a text"]')
    Path("mine.yaml").write_text("max_tokens: 2k\n")
    for arguments in (["--job", "job.yaml"], ["items.json", "--profile", "mine.yaml"]):
        assert json.loads(run("render", *arguments, "--json").out)["max_tokens"] == 2000
    Path("rows.jsonl").write_text('{"items": [{"content": "a"}], "max_tokens": "2k"}\n')
    assert run("batch", "rows.jsonl", "-o", "out", "--to", "context", "--workers", "1").code == 0
    Path("promptforge.toml").write_text("max_tokens = '2kk'\n")
    said(run("trust", "."), 2, "promptforge.toml:1: max_tokens takes", '"2kk"')


@pytest.mark.parametrize("text", ["k", "1.2345k", "1/2k", "1e3k", "20 k", "2kk", "-2k"])
def test_a_number_that_is_none_is_named(text: str) -> None:
    said(run("render", "items.json", f"--max-tokens={text}"), 2, "max_tokens takes", text)


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


def test_every_option_is_a_flag() -> None:
    out = run("render", "--help").out
    whole = run("prompt", "--help").out
    from promptforge.config.options import OPTION_VOCABULARY as VOCABULARY
    from promptforge.config.options import PROMPT_OPTIONS as PROMPT

    for name in set(VOCABULARY) - {"on_error"}:
        flag = rf"--{name.replace('_', '-')}\b"
        assert bool(re.search(flag, out)) is (name not in PROMPT), name
        assert re.search(flag, whole), name


@pytest.mark.parametrize("name", ["batch", "explain", "prompt", "render"])
def test_the_help_shows_every_flag_once(name: str) -> None:
    from promptforge.cli import batch, explain, flags, render

    out = run(name, "--help").out
    modules = {"batch": batch, "explain": explain}
    command = getattr(modules.get(name, render), f"{name}_command")
    for option in command.params:
        if isinstance(option, click.Option):
            flag = next(each for each in option.opts if each.startswith("--"))
            assert len(re.findall(rf"(?m)^  (?:-\w, )?{flag}(?![\w-])", out)) == 1, flag
    headings = [line[:-1] for line in out.splitlines() if re.fullmatch(r"[A-Z][^:]+:", line)]
    assert headings == [h for h in (*flags.HELP_GROUPS, "Output") if h in headings]


def test_a_list_is_given_by_giving_the_flag_again() -> None:
    write(
        "two.json",
        [{"content": "a", "kind": "code"}, {"content": "b", "kind": "error"}, {"content": "c"}],
    )
    found = json.loads(
        run("render", "two.json", "--kinds", "code", "--kinds", "error", "--json").out
    )
    assert [item["status"] for item in found["items"]] == ["included", "included", "dropped"]


def test_a_yes_or_no_is_given_both_ways() -> None:
    with_scores = run("render", "items.json", "--scores", "--no-line-numbers").out
    assert "Relevance" in with_scores and "Lines" not in with_scores


# --- as a process of its own ----------------------------------------------------------------------


def test_it_is_a_program() -> None:
    assert command("render", stdin=json.dumps([ITEM]).encode()) == (0, TEXT, "")
    version = command("--version")
    assert re.fullmatch(r"promptforge \d+\.\d+\.\d+\n", version.out)
    assert command("render", "nope.json").code == 4


def test_a_reader_that_goes_away_is_no_error() -> None:
    write("many.json", [{"content": f"{n} " * 500, "path": f"f{n}"} for n in range(300)])
    arguments = [sys.executable, "-m", "promptforge", "render", "many.json", "--max-tokens", "none"]
    with subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path.cwd(),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_a_standard_output_that_takes_nothing_is_said(redirection: str) -> None:
    line = f'exec "{sys.executable}" -m promptforge render items.json {redirection}'
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        cwd=Path.cwd(),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 4
    assert done.stderr.decode().startswith("promptforge: ") and done.stderr.count(b"\n") == 1, (
        done.stderr
    )


def test_an_encoding_of_the_terminal_that_knows_no_umlaut_changes_no_byte() -> None:
    write("umlaut.json", [{"content": "größer 日本 😀"}])
    ran = command("render", "umlaut.json", env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert ran.code == 0
    assert "größer 日本 😀" in ran.out


def test_a_list_is_a_flag_several_times_or_with_commas() -> None:
    Path("kinds.json").write_text(
        '[{"kind": "ticket", "content": "a"}, {"kind": "code", "content": "b"}]'
    )
    one, other = (
        run("render", "kinds.json", *flags).out
        for flags in (["--kinds", "ticket,code"], ["--kinds", "ticket", "--kinds", "code"])
    )
    assert one == other == run("render", "kinds.json").out
    left = run("render", "kinds.json", "--kinds", "tickt").err
    assert 'the kinds there are: "code", "ticket" [PF114]' in left
    Path("paths.json").write_text('[{"path": "src/a.py", "content": "a"}, {"content": "b"}]')
    left = run("render", "paths.json", "--paths", "lib/**").err
    assert 'the paths there are: "src/a.py" [PF114]' in left


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
