"""The examples of the README and of the guide are run; their lists are complete."""

from __future__ import annotations

import doctest
import importlib.util
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from bridge_examples import is_there
from commandline import run
from places import ROOT

import promptforge as pf
from promptforge.cli.guide import guide_pages
from promptforge.cli.main import COMMANDS
from promptforge.config.options import OPTION_VOCABULARY
from promptforge.config.profiles import find_profiles
from promptforge.lint.findings import load_codes
from promptforge.sources.jobs import load_job
from promptforge.templating.loader import Templates
from promptforge.yaml_reader import load_yaml

PAGES = [
    ROOT / "README.md",
    *(ROOT / "promptforge" / part / "README.md" for part in ("cli", "batch")),
    *sorted((ROOT / "promptforge" / "guide").glob("*.md")),
]
README, *GUIDES = (page.read_text(encoding="utf-8") for page in PAGES)
MAX_WORDS = 900
"""Words of the README: a newcomer reads it in four minutes."""


def blocks(kind: str, *more: str) -> list[str]:
    return [body for page in (README, *more) for body in blocks_of(page, kind)]


def blocks_of(page: str, kind: str) -> list[str]:
    pattern = re.compile(rf"^(`{{3,}}){kind}\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
    return [body for fence, body in pattern.findall(page)]


@pytest.mark.slow
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
            Path(arguments[0]).parent.mkdir(exist_ok=True)
            Path(arguments[0]).write_text(shown, encoding="utf-8")
        elif program == "echo":
            subprocess.run(command, shell=True, check=True)
        else:
            ran = run(*arguments)
            findings = int(arguments[0] == "check")
            assert (ran.code, ran.out.rstrip("\n")) == (findings, shown.rstrip("\n"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks_of(page.read_text(encoding="utf-8"), "pycon")],
    ids=lambda page: f"{page.parent.name}/{page.name}" if page.parent != ROOT else page.name,
)
def test_the_library_sessions_of_a_page_run(page: Path) -> None:
    """As one session: each goes on where the one above it ended."""
    session = "\n".join(blocks_of(page.read_text(encoding="utf-8"), "pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted((ROOT / "promptforge" / "guide").glob("*.md")), ids=str)
def test_the_programs_of_the_guide_run(page: Path) -> None:
    for body in blocks_of(page.read_text(encoding="utf-8"), "python"):
        libraries = re.findall(r"^(?:from|import) ([\w.]+)", body, re.MULTILINE)
        if missing := [library for library in libraries if not is_there(library)]:
            pytest.skip(f"needs {', '.join(missing)}: pip install '.[test-all]'")
        exec(compile(body, page.name, "exec"), {"__name__": "guide"})


def test_settings_of_the_guide_are_whole() -> None:
    for page in GUIDES[2:]:
        for body in blocks_of(page, "yaml"):
            assert load_yaml(body, "guide")


def test_every_public_name_option_and_code_has_a_heading() -> None:
    anchors = {
        page: {*re.findall(r"^#+ (\S+)$", run("guide", page).out, re.MULTILINE)}
        for page in ("python", "options", "codes", "flags")
    }
    assert {*pf.__all__} <= anchors["python"] and {*COMMANDS} <= anchors["flags"]
    assert {*OPTION_VOCABULARY} <= anchors["options"] and {*load_codes()} <= anchors["codes"]


def test_the_job_file_makes_the_prompt_of_a_bot(tmp_path: Path) -> None:
    (text,) = blocks("yaml")
    job = tmp_path / "job.yaml"
    job.write_text(text, encoding="utf-8")
    assert load_job(job).man_pages == ("tar",)
    assert load_job(job).options == {
        "attack": "techniques.json",
        "layout": "knowledge",
        "format": "plain",
        "max_tokens": 2000,
    }
    (line,) = (body for body in blocks("sh") if body.startswith("promptforge prompt"))
    # Not every machine has this manual page.
    job.write_text(text.replace("[tar]", "[]"), encoding="utf-8")
    technique = {"technique_id": "T1003", "name": "Dumping", "description": "Logins are dumped."}
    (tmp_path / "techniques.json").write_text(json.dumps([technique]), encoding="utf-8")
    (tmp_path / "README.md").write_text("# A readme", encoding="utf-8")
    ran = run(*shlex.split(line)[1:], cwd=tmp_path)
    assert ran.code == 0, ran.err
    text = json.loads(ran.out)["messages"][-1]["content"][0]["text"]
    assert "Logins are dumped." in text and "# A readme" in text


def test_the_repository_goes_into_one_file(tmp_path: Path) -> None:
    (line,) = (body for body in blocks("sh") if body.startswith("promptforge render"))
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "a.py").write_text("A = 1\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("# A readme", encoding="utf-8")
    for command in line.splitlines():
        *arguments, output = shlex.split(command)
        assert run(*arguments[1:], output, cwd=tmp_path).code == 0
        text = (tmp_path / output).read_text(encoding="utf-8")
        assert "src/deep/a.py" in text and "# A readme" in text


def test_the_commands_are_shell() -> None:
    commands = blocks("sh")
    assert len(commands) == 5
    for command in commands:
        subprocess.run(["bash", "-n", "-c", command], check=True)


def test_the_page_is_short() -> None:
    assert len(README.split()) <= MAX_WORDS


def test_every_command_layout_and_profile_is_in_the_guide() -> None:
    names = {*COMMANDS, *Templates().layouts(), *(name for name, _, _ in find_profiles())}
    pages = "\n".join(page.read_text(encoding="utf-8") for page in guide_pages().values())
    assert not [
        name for name in sorted(names) if not re.search(rf"`[^`]*\b{re.escape(name)}\b", pages)
    ]


def test_the_guide_lists_each_of_its_pages() -> None:
    index = run("guide").out
    topics = {*guide_pages()} - {"README"}
    assert {*re.findall(r"^- `([\w-]+)`:", index, re.MULTILINE)} == topics
    for topic in topics:
        assert run("guide", topic).out.startswith("# ")
    wrong = run("guide", "itmes")
    assert (wrong.code, wrong.out) == (2, "") and 'did you mean "items"?' in wrong.err


def test_every_link_leads_somewhere() -> None:
    guides = [*ROOT.glob("[pt]*/**/*.md"), *ROOT.glob(".github/*.md")]
    assert {*PAGES[1:]} < {*guides}
    for page in (PAGES[0], *guides):
        for target in re.findall(r"\]\(([^)#{…]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), target


@pytest.mark.slow
def test_the_picture_is_a_real_run() -> None:
    """`python -m tests.build_picture` draws it anew."""
    path = ROOT / "tests" / "build_picture.py"
    spec = importlib.util.spec_from_file_location("build_picture", path)
    assert spec is not None and spec.loader is not None
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    assert drawing.draw() == drawing.PICTURE.read_text(encoding="utf-8")
