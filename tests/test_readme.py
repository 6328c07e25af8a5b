"""The README's examples are run; what it lists is what there is."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from commandline import run

from promptforge.cli.main import COMMANDS
from promptforge.config.profiles import find_profiles
from promptforge.sources.jobs import load_job
from promptforge.templating.loader import Templates

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *(ROOT / "promptforge" / part / "README.md" for part in ("cli", "batch")),
]
README, *GUIDES = (page.read_text(encoding="utf-8") for page in PAGES)


def blocks(kind: str, *more: str) -> list[str]:
    pattern = re.compile(rf"^(`{{3,}}){kind}\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
    return [body for page in (README, *more) for fence, body in pattern.findall(page)]


@pytest.mark.parametrize("body", blocks("console", *GUIDES))
def test_each_session_prints_what_it_shows(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE)
    assert steps
    for command, shown in steps:
        program, *arguments = shlex.split(command)
        if program == "cat":
            Path(arguments[0]).write_text(shown, encoding="utf-8")
        else:
            ran = run(*arguments)
            findings = int(arguments[0] == "check")
            assert (ran.code, ran.out.rstrip("\n")) == (findings, shown.rstrip("\n"))


def test_the_library_sessions_run() -> None:
    sessions = blocks("pycon")
    assert sessions
    for session in sessions:
        test = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_the_job_file_is_one(tmp_path: Path) -> None:
    (text,) = blocks("yaml")
    path = tmp_path / "job.yaml"
    path.write_text(text, encoding="utf-8")
    job = load_job(path)
    assert job.man_pages == ("tar",)
    assert job.options == {"layout": "knowledge", "format": "plain", "max_tokens": 2000}


def test_the_two_commands_are_shell(tmp_path: Path) -> None:
    commands = blocks("sh")
    assert len(commands) == 2
    for command in commands:
        subprocess.run(["bash", "-n", "-c", command], check=True)


def test_every_command_layout_and_profile_is_mentioned() -> None:
    names = {*COMMANDS, *Templates().layouts(), *(name for name, _, _ in find_profiles())} - {
        "default"
    }
    assert not [name for name in sorted(names) if not re.search(rf"\b{re.escape(name)}\b", README)]


def test_every_link_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), target
