"""Options are typed: editors complete their names, type checkers find wrong ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from generated import files
from places import ROOT

from promptforge.config.profiles import PROFILE_VOCABULARY, read_values
from promptforge.errors import ProfileError

MISTAKES = """
import promptforge as pf

pf.render([], max_tokens="4k")
pf.render([], packing="bets")
pf.Renderer(max_token=3)
pf.Renderer().prompt([], framing="xlm")
pf.render([], max_tokens=900, packing="whole", paths=["src/**"],
section_budgets={"a": {"share": 1}})
"""
PROGRAM = """
import promptforge as pf
renderer = pf.Renderer(profile="claude", max_tokens=900)
prompt = renderer.prompt(["a text"], user="Why?", history=[], to="anthropic")
stored: list[dict[str, object]] = list(prompt.sent())
share: float = prompt.prefix.share
paths: list[str | None] = [source.path for source in prompt.sources]
first: dict[str, object] = prompt[0]
renderer.prompt(user="q", to="opena")  # type: ignore[arg-type]
"""


def test_generated_files_are_those_of_the_vocabulary() -> None:
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, "run python -m tests.generated"


@pytest.mark.slow
def test_a_type_checker_finds_wrong_options_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "mistakes.py").write_text(MISTAKES, encoding="utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [line.split(":", 2)[1:] for line in ran.stdout.splitlines() if ": error:" in line]
    assert [int(line) for line, _ in found] == [4, 5, 6, 7], ran.stdout + ran.stderr
    assert "program.py" not in ran.stdout
    assert all("arg-type" in said or "call-arg" in said for _, said in found)


def test_a_name_that_cannot_be_seen_is_escaped_in_a_message() -> None:
    with pytest.raises(ProfileError) as caught:
        read_values(PROFILE_VOCABULARY, "kinds:\n  a\u00a0\u2800\ue000: word\n", "f.yaml")
    assert str(caught.value).isprintable()
