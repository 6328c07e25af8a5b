"""The command line: its product on standard output, one line on standard error, its exit code."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from commandline import ITEM, command, python, run, said, write
from places import ROOT

import promptforge as pf
from promptforge.cli.main import COMMANDS, command_group
from promptforge.model import RESULT_FIELDS

TEXT = pf.render([ITEM]).text + "\n"
"""The text and the line end of the pipe or file."""


@pytest.fixture(autouse=True)
def _items(folder: Path) -> None:
    write("items.json", [ITEM])


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
        "promptforge: 1 item, 19 of 4,000 tokens: out.md\n",
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


@pytest.mark.parametrize("target", ["nowhere/out.md", ".", "new/"])
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
    assert "written by this run" in ran.err


@pytest.mark.parametrize("command", [["render", "notes"], ["count", "notes"]])
@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_folder_does_not_give_the_file_that_the_shell_writes(
    command: list[str], descriptor: int
) -> None:
    write("notes/a.md", "first note\n")
    write("notes/all.md", "what came before >>\n")
    kept = os.dup(descriptor)
    target = os.open("notes/all.md", os.O_WRONLY | os.O_APPEND)
    try:
        os.dup2(target, descriptor)
        ran = run(*command)
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)
        os.close(target)
    assert "a.md" in ran.out and "all.md" not in ran.out
    assert "written by this run (all.md)" in ran.err


@pytest.mark.parametrize("name", ["items.json", "./items.json"])
def test_an_output_does_not_replace_its_own_input(name: str) -> None:
    before = Path("items.json").read_text()
    said(run("render", name, "-o", "items.json"), 4, "is both the input and the output")
    assert Path("items.json").read_text() == before


def test_an_output_that_is_no_file_is_written_to_and_stays_what_it_is() -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert run("render", "items.json", "-o", "pipe").code == 0
    assert os.read(reader, 10_000).decode() == TEXT and Path("pipe").is_fifo()
    os.close(reader)
    os.symlink("real.md", "link.md")
    write("real.md", "before")
    assert run("render", "items.json", "-o", "link.md").code == 4
    assert Path("real.md").read_text() == "before"
    assert run("render", "items.json", "-o", "link.md", "--follow").code == 0
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


@pytest.mark.slow
def test_strict_prints_no_text_and_exits_1() -> None:
    write("bad.jsonl", '{"content": "good"}\n{"contnt": "bad"}\n')
    ran = run("render", "bad.jsonl", "--strict")
    assert (ran.code, ran.out) == (1, "")
    warning, said = ran.err.splitlines()
    assert warning.startswith("promptforge: ") and "bad.jsonl:2" in warning
    assert said == "promptforge: 1 warning, and strict mode takes none"
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


# --- as a process of its own ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_flag_with_one_dash_is_refused_by_its_name(name: str) -> None:
    found = command_group.get_command(click.Context(command_group), name)
    assert found is not None
    for flag in (each for param in found.params for each in (*param.opts, *param.secondary_opts)):
        if len(flag) > 3 and flag.startswith("--"):
            said(run(name, flag[1:], "1"), 2, f'"{flag[1:]}"; did you mean "{flag}"?')
    assert [path.name for path in Path().iterdir()] == ["items.json"]


def test_a_value_that_looks_like_a_flag_is_a_value() -> None:
    assert run("render", "items.json", "-o", "-outline").code == 0
    assert run("render", "items.json", "-qotext").code == 0
    assert Path("-outline").read_text() == Path("text").read_text() == TEXT
    assert run("render", "items.json", "-Oclean=true").out == TEXT


def test_help_and_version_are_had_by_the_words_of_other_programs() -> None:
    assert run("help") == run("--help")
    assert run("help", "render") == run("render", "--help")
    assert run("version") == run("-V") == run("--version")


def test_it_is_a_program() -> None:
    assert command("render", stdin=json.dumps([ITEM]).encode()) == (0, TEXT, "")
    version = command("--version")
    assert version.out == f"promptforge {pf.__version__}\n"
    assert command("render", "nope.json").code == 4


def test_ctrl_c_while_modules_load_ends_as_later() -> None:
    program = """
import runpy, sys
class Interrupt:
    def find_spec(self, name, *rest):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
runpy.run_module("promptforge", run_name="__main__")
"""
    assert python("-c", program) == (130, "", "")


@pytest.mark.slow
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


_FULL = "no space left on device"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("render items.json >/dev/full", f"standard output: {_FULL}"),
        ("render items.json --json >/dev/full", f"standard output: {_FULL}"),
        ("render items.json >&-", "standard output: it is closed"),
        ("render items.json --json >&-", "standard output: it is closed"),
        ("render items.json -o /dev/full", f"/dev/full: {_FULL}"),
        ("count items.json >/dev/full", f"standard output: {_FULL}"),
        ("render - <&-", "<stdin>: cannot read it: it is closed"),
        ("prompt --user-file - <&-", "<stdin>: cannot read it: it is closed"),
        ("batch - -o made.jsonl <&-", "<stdin>: cannot read it: it is closed"),
        ("render nope.json 2>/dev/full", None),
        ("render nope.json 2>&-", None),
    ],
)
def test_a_stream_that_takes_or_gives_nothing_is_said(line: str, words: str | None) -> None:
    ran = in_shell(line)
    assert ran.returncode == 4
    assert ran.stderr == (f"promptforge: {words}\n" if words else "")


@pytest.mark.slow
def test_notes_that_nobody_can_read_leave_the_text_as_it_is() -> None:
    write("long.json", [{"content": "word " * 90}])
    line = "render long.json --max-tokens 30"
    heard, unheard = in_shell(line), in_shell(f"{line} 2>/dev/full")
    assert "PF111" in heard.stderr
    assert (unheard.returncode, unheard.stdout) == (0, heard.stdout)


@pytest.mark.parametrize(
    ("arguments", "code"), [(["list"], 0), (["--help"], 0), (["render", "nope.json"], 4)]
)
def test_a_pipe_without_a_reader_does_not_change_the_exit_code(
    arguments: list[str], code: int
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "promptforge", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(words, stdout=writer, stderr=writer, env=env).returncode == code
    os.close(writer)


def in_shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a command line with its redirections, as a process of its own."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "{sys.executable}" -m promptforge {line}'],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_an_encoding_of_the_terminal_that_knows_no_umlaut_changes_no_byte() -> None:
    write("umlaut.json", [{"content": "größer 日本 😀"}])
    ran = command("render", "umlaut.json", env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert ran.code == 0
    assert "größer 日本 😀" in ran.out


def test_the_budget_holds_for_the_bytes_of_a_file() -> None:
    """The line end after the last line was one token more than the budget."""
    Path("words.txt").write_text("alpha beta")
    words = ("render", "--file", "words.txt", "--format", "plain", "-q")
    text = run(*words).out.removesuffix("\n")
    most = pf.get_tokenizer("o200k_base").count(text)
    for more, end in ((0, ""), (1, "\n")):
        assert run(*words, "--max-tokens", str(most + more), "-o", "out.md").code == 0
        assert Path("out.md").read_text() == text + end
    for chars in range(len(text), len(text) + 3):
        assert run(*words, "--max-chars", str(chars), "-o", "out.md").code == 0
        assert len(Path("out.md").read_text()) <= chars
    assert run(*words, "--split", str(most), "-o", "part.md").code == 0
    assert Path("part.1.md").read_text() == text


@pytest.mark.slow
def test_the_window_holds_for_the_line_end_of_a_prompt() -> None:
    Path("words.txt").write_text("alpha beta " * 40)
    words = ("prompt", "--file", "words.txt", "--user", "Why?", "--to", "text", "-q")
    bare = ("--message-tokens", "0", "--prompt-tokens", "0", "--reserve", "0")
    count = pf.get_tokenizer("o200k_base").count
    for window in range(60, 80):
        assert count(run(*words, *bare, "--context-window", str(window)).out) <= window
    assert run(*words, *bare).out.endswith("\n")


@pytest.mark.slow
def test_a_folder_says_at_most_two_notes_and_all_of_them_when_asked() -> None:
    for number in range(9):
        write(f"{number}.md", f"Part {number} holds <|im_start|> as text.\n" * 40)
    write("copy.md", "Part 0 holds <|im_start|> as text.\n" * 40)
    write("uv.lock", "version = 1\n")
    write("b.pem", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n")
    short = run("render", ".", "--max-tokens", "300").err.splitlines()
    assert len(short) == 2
    told = {*re.findall(r"PF\d{3}", " ".join(short))}
    whole = run("render", ".", "--max-tokens", "300", "-v").err
    assert told == {*re.findall(r"PF\d{3}", whole)} > {"PF111", "PF120", "PF608"}
    assert "uv.lock" in whole and "-v prints these notes whole" in short[0]


def test_a_budget_that_nobody_asked_for_is_said_beside_the_window() -> None:
    Path("folder").mkdir()
    Path("folder/long.py").write_text("".join(f"value_{n} = {n}\n" for n in range(800)))
    said = run("render", "folder", "--profile", "claude").err
    assert (
        "; the budget is 4,000 tokens, and the window of the LLM 1,000,000;"
        ' the most important files come first; --query "…" asks for others;'
        " --max-tokens N or none takes more [PF111]\n"
    ) in said


def test_a_budget_that_was_asked_for_stands_beside_the_count_alone() -> None:
    Path("folder").mkdir()
    Path("folder/long.py").write_text("".join(f"value_{n} = {n}\n" for n in range(80)))
    said = run("render", "folder", "--max-tokens", "200", "-o", "out.md").err
    assert "the budget is" not in said and " of 200 tokens: out.md\n" in said


def test_a_profile_that_nobody_has_may_be_made() -> None:
    ran = run("render", "items.json", "--profile", "zephyr-9b")
    said(ran, 2, "; there are: ", "; default fits any LLM", "`promptforge new profile zephyr-9b`")
    assert "new profile" not in run("render", "items.json", "--profile", "claud").err
