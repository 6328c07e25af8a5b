"""Flags of the command line: one for each option, in the help once, with values that complete."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import click
import pytest
from commandline import ITEM, command, python, run, said, write
from places import ROOT

from promptforge.cli.flags import COMMON_FLAGS_SHOWN, RARE_OPTIONS
from promptforge.cli.main import COMMANDS


@pytest.fixture(autouse=True)
def _items(folder: Path) -> None:
    write("items.json", [ITEM])


@pytest.mark.parametrize("text", ["20k", "20_000", "20K", "0.02m", "20.0k"])
def test_a_budget_in_thousands(text: str) -> None:
    ran = run("render", "items.json", "--max-tokens", text, "--json")
    assert json.loads(ran.out)["max_tokens"] == 20_000
    assert run("diff", f"max_tokens={text}", "max_tokens=20000", "items.json").code == 0


@pytest.mark.slow
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


def test_every_option_is_a_flag() -> None:
    out = run("render", "--help").out
    whole = run("prompt", "--help").out
    from promptforge.config.options import OPTION_VOCABULARY as VOCABULARY
    from promptforge.config.options import PROMPT_OPTIONS as PROMPT

    for name in VOCABULARY:
        flag = rf"--{name.replace('_', '-')}\b"
        rare = name in RARE_OPTIONS
        assert bool(re.search(flag, out)) is (name not in PROMPT and not rare), name
        assert bool(re.search(flag, whole)) is not rare, name


def test_options_that_a_profile_sets_have_flags_that_the_help_leaves_out() -> None:
    by_flag = run("render", "items.json", "--item-max-chars", "3").out
    by_name = run("render", "items.json", "-O", "item_max_chars=3", "-O", "max-tokens=4k").out
    assert by_flag == by_name != run("render", "items.json").out


def test_earlier_words_are_read_from_variables_and_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("place.json", [{**ITEM, "path": "a.py", "start_line": 1, "end_line": 1}])
    without = run("render", "place.json", "--lines", "none").out
    assert without != run("render", "place.json").out
    assert run("render", "place.json", "-O", "line_numbers=no").out == without
    assert run("diff", "line_numbers=no", "lines=none", "place.json", "--exit-code").code == 0
    monkeypatch.setenv("PROMPTFORGE_LINE_NUMBERS", "no")
    assert run("render", "place.json").out == without


@pytest.mark.parametrize(("given", "message"), [
    ("max_tokns=3", 'unknown option "max_tokns"; did you mean "max_tokens"?'),
    ("max_tokens", '-O takes KEY=VALUE; got "max_tokens"'),
    ("explicit_share=2", "explicit_share takes a number from 0 to 1; got 2.0"),
    ("section_budgets={", "-O section_budgets"),
    ("line_numbers=perhaps", "line_numbers takes true or false"),
])  # fmt: skip
def test_a_bad_setting_is_named(given: str, message: str) -> None:
    ran = run("render", "items.json", "-O", given)
    assert ran.code in (2, 4) and message in ran.err


@pytest.mark.parametrize("name", ["batch", "explain", "prompt", "render"])
def test_the_help_shows_every_flag_once(name: str) -> None:
    from promptforge.cli import batch, explain, flags, preview, render

    out = run(name, "--help").out
    modules = {"batch": batch, "explain": explain, "prompt": preview}
    command = getattr(modules.get(name, render), f"{name}_command")
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            flag = next((each for each in option.opts if each.startswith("--")), option.opts[0])
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
    with_scores = run("render", "items.json", "--scores", "--lines=none").out
    assert "Relevance" in with_scores and "Lines" not in with_scores


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


HEAVY = {
    "jinja2",
    "tiktoken",
    "tokenizers",
    "yaml",
    "markdown_it",
    "promptforge.rendering.renderer",
    "promptforge.templating.loader",
}
WATCH = """
import contextlib, io, json, os, sys
from promptforge.cli.main import main
os.environ["_PROMPTFORGE_COMPLETE"] = "bash_complete"
seen = []
for line in json.load(sys.stdin):
    os.environ["COMP_WORDS"] = line
    os.environ["COMP_CWORD"] = str(len(line.split()) - (not line.endswith(" ")))
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([])
    out.flush()
    words = [word.partition(",")[2] for word in out.buffer.getvalue().decode().split()]
    seen.append([words, list(sys.modules)])
print(json.dumps(seen))
"""


def complete(*lines: str) -> list[tuple[list[str], set[str]]]:
    """Return the words that bash is offered at the end of each line, and the modules loaded."""
    ran = python("-c", WATCH, stdin=json.dumps(lines).encode())
    assert (ran.code, ran.err) == (0, "")
    return [(offered, set(modules)) for offered, modules in json.loads(ran.out)]


LINES: dict[str, set[str]] = {
    "promptforge ": set(COMMANDS),
    "promptforge render --max-t": {"--max-tokens"},
    "promptforge explain --layout kno": {"knowledge", "knowledge-long"},
    "promptforge render --format ": {"markdown", "xml", "json", "plain"},
    "promptforge diff -p cl": {"claude"},
    "promptforge count --tokenizer o200": {"o200k_base"},
    "promptforge render --packing whol": {"whole"},
    "promptforge new layout x --from ent": {"entities"},
    "promptforge show chunks/item.m": {"chunks/item.md.j2"},
    "promptforge show prompt/l": {"prompt/lisp"},
    "promptforge show prompt/lisp/p": {"prompt/lisp/prompt.txt.j2"},
    "promptforge new prompt x --from l": {"lisp"},
    "promptforge prompt --prompt d": {"default"},
    "promptforge rule PF80": {"PF801", "PF802"},
    "promptforge guide ra": {"rag-service"},
    "promptforge check --output-format sa": {"sarif"},
    "promptforge completion ": {"bash", "zsh", "fish"},
    "promptforge test --up": {"--update"},
    "promptforge list te": {"templates"},
    "promptforge schema ": {"layout", "profile"},
    "promptforge init --pre": {"--pretend"},
}


@pytest.mark.slow
def test_lines_are_completed_without_the_engine() -> None:
    for (line, some), (offered, modules) in zip(LINES.items(), complete(*LINES), strict=True):
        begun = "" if line.endswith(" ") else line.split()[-1]
        assert some <= set(offered), line
        assert all(word.startswith(begun) for word in offered), line
        assert not modules & HEAVY, line


def test_names_of_the_users_own_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t" / "ours").mkdir(parents=True)
    (tmp_path / "t" / "ours" / "layout.memo.txt.j2").write_text("x")
    monkeypatch.setenv("PROMPTFORGE_TEMPLATES", str(tmp_path / "t"))
    lines = complete("promptforge render --layout o", "promptforge render --format m")
    assert [offered for offered, _ in lines] == [["ours"], ["markdown", "memo"]]


@pytest.mark.slow
def test_names_of_files_are_left_to_the_shell() -> None:
    for line in ("render src/m", "render --file src/m", "count src/m", "render --job src/m"):
        ran = python(
            "-c",
            "import sys; sys.argv[0] = 'promptforge'; from promptforge.cli.main import main; main()",
            env={
                "_PROMPTFORGE_COMPLETE": "bash_complete",
                "COMP_WORDS": f"promptforge {line}",
                "COMP_CWORD": str(len(line.split())),
            },
        )
        assert ran.out == "file,src/m\n", line


def test_what_is_not_there_is_completed_by_nothing() -> None:
    assert [
        offered for offered, _ in complete("promptforge nosu", "promptforge render --layout zzz")
    ] == [[], []]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell(shell: str) -> None:
    ran = run("completion", shell)
    assert ran.code == 0 and "_PROMPTFORGE_COMPLETE" in ran.out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=ran.out.encode(), check=True)
    assert command("completion", shell).out == ran.out


def test_the_oldest_click_that_is_allowed_has_no_generic_types() -> None:
    folder = ROOT / "promptforge" / "cli"
    bases = re.compile(r"(?m)^class \w+\(click\.\w+\[")
    assert not [path.name for path in folder.glob("*.py") if bases.search(path.read_text("utf-8"))]


GROUPED = ("render", "prompt", "preview", "explain", "diff", "batch", "mcp")


@pytest.mark.parametrize("name", GROUPED)
def test_short_help_fits_one_screen_and_long_help_has_every_flag(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    short, whole = run(name, "-h"), run(name, "--help")
    assert (short.code, whole.code) == (0, 0)
    lines = short.out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 84, short.out
    assert re.fullmatch(rf"\d+ more options: promptforge {name} --help", lines[-1])
    flags = {*re.findall(r"(?<![\w-])--[a-z][\w-]*", short.out)} - {"--help"}
    assert 3 <= len(flags) <= 2 * COMMON_FLAGS_SHOWN
    assert not [flag for flag in flags if flag not in whole.out]


def test_a_template_is_completed_below_the_folder_begun_and_none_above() -> None:
    from promptforge.cli.flags import complete_source

    context, parameter = click.Context(click.Command("show")), click.Argument(["source"])
    found = complete_source(context, parameter, "documents/")
    assert found and all(name.startswith("documents/") for name in found)
    assert complete_source(context, parameter, "../") == []
