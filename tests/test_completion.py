"""What a shell completes, and that completing loads no engine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from commandline import command, python, run

from promptforge.cli import COMMANDS

HEAVY = {"jinja2", "tiktoken", "tokenizers", "yaml", "markdown_it", "promptforge.rendering", "promptforge.templates"}
WATCH = """
import sys
from promptforge.cli import main
try:
    main([])
except SystemExit:
    pass
print(" ".join(sys.modules), file=sys.stderr)
"""


def complete(line: str) -> tuple[list[str], set[str]]:
    """Return what bash is offered at the end of a line, and the modules that are loaded then."""
    words = line.split()
    env = {
        "_PROMPTFORGE_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - (not line.endswith(" "))),
    }
    ran = python("-c", WATCH, env=env)
    return [word.partition(",")[2] for word in ran.out.split()], set(ran.err.split())


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("promptforge ", set(COMMANDS)),
        ("promptforge render --max-t", {"--max-tokens"}),
        ("promptforge explain --layout kno", {"knowledge", "knowledge-long"}),
        ("promptforge render --format ", {"markdown", "xml", "json", "plain"}),
        ("promptforge diff -p cl", {"claude"}),
        ("promptforge count --tokenizer o200", {"o200k_base"}),
        ("promptforge render --packing whol", {"whole"}),
        ("promptforge new layout x --from ent", {"entities"}),
        ("promptforge show chunks/item.m", {"chunks/item.md.j2"}),
        ("promptforge rule PF80", {"PF801", "PF802"}),
        ("promptforge check --output-format sa", {"sarif"}),
        ("promptforge completion ", {"bash", "zsh", "fish"}),
        ("promptforge test --up", {"--update"}),
        ("promptforge list te", {"templates"}),
        ("promptforge schema ", {"layout", "profile"}),
        ("promptforge init --pre", {"--pretend"}),
    ],
)
def test_a_line_is_completed_without_the_engine(line: str, some: set[str]) -> None:
    offered, modules = complete(line)
    begun = "" if line.endswith(" ") else line.split()[-1]
    assert some <= set(offered)
    assert all(word.startswith(begun) for word in offered)
    assert not modules & HEAVY


def test_names_of_the_users_own_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t" / "ours").mkdir(parents=True)
    (tmp_path / "t" / "ours" / "layout.memo.txt.j2").write_text("x")
    monkeypatch.setenv("PROMPTFORGE_TEMPLATES", str(tmp_path / "t"))
    assert complete("promptforge render --layout o")[0] == ["ours"]
    assert complete("promptforge render --format m")[0] == ["markdown", "memo"]


def test_what_is_not_there_is_completed_by_nothing() -> None:
    for line in ("promptforge nosu", "promptforge render --layout zzz"):
        assert complete(line)[0] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell(shell: str) -> None:
    ran = run("completion", shell)
    assert ran.code == 0 and "_PROMPTFORGE_COMPLETE" in ran.out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=ran.out.encode(), check=True)
    assert command("completion", shell).out == ran.out
