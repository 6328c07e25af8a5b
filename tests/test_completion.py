"""What a shell completes, and that completing loads no engine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from commandline import command, python, run

from promptforge.cli.main import COMMANDS

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
    "promptforge check --output-format sa": {"sarif"},
    "promptforge completion ": {"bash", "zsh", "fish"},
    "promptforge test --up": {"--update"},
    "promptforge list te": {"templates"},
    "promptforge schema ": {"layout", "profile"},
    "promptforge init --pre": {"--pretend"},
}


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
