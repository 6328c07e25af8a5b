"""The composite action packs what its inputs name; the hook of pre-commit takes the files of authors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from promptforge.yaml_reader import load_yaml

ACTION = ROOT / ".github" / "actions" / "pack" / "action.yml"


def pack(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the last step of the action as a runner would, with this checkout as the installed one."""
    action = load_yaml(ACTION.read_text(encoding="utf-8"), "action.yml")
    *_, step = action["runs"]["steps"]
    values = {name: each["default"] for name, each in action["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()}
    environment = {
        name: values[re.findall(r"inputs\.([\w-]+)", value)[0]]
        for name, value in step["env"].items()
    }
    program = folder / "temp" / "promptforge" / "bin" / "promptforge"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m promptforge "$@"\n')
    program.chmod(0o755)
    own = {"RUNNER_TEMP": str(folder / "temp"), "GITHUB_OUTPUT": str(folder / "outputs")}
    return subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=folder / "work",
        env={**os.environ, **environment, **own, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("def refund(): return 1\n")
    (folder / "two words.md").write_text("# Refunds\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    return folder


@pytest.mark.slow
def test_an_action_packs_the_repository_or_the_named_files(work: Path) -> None:
    ran = pack(work.parent, options="--tree\n--format=xml\n", query="-x; touch evil")
    assert ran.returncode == 0, ran.stderr
    text = (work / "context.md").read_text()
    assert "refund()" in text and "two words.md" in text
    assert (work.parent / "outputs").read_text() == "file=context.md\n"
    assert not (work / "evil").exists()


@pytest.mark.slow
def test_an_action_packs_a_diff_alone(work: Path) -> None:
    (work / "a.py").write_text("def refund(): return 2\n")
    ran = pack(work.parent, git_diff="HEAD", output="diff.md", max_tokens="300")
    assert ran.returncode == 0, ran.stderr
    text = (work / "diff.md").read_text()
    assert "+def refund(): return 2" in text and "# Refunds" not in text


@pytest.mark.slow
def test_an_action_fails_with_the_message_of_the_command(work: Path) -> None:
    ran = pack(work.parent, paths="nowhere.md")
    assert ran.returncode == 4 and "nowhere.md" in ran.stderr
    assert not (work.parent / "outputs").exists()


def test_the_hook_takes_templates_layouts_and_profiles() -> None:
    (hook,) = load_yaml((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"), "hooks")
    taken = re.compile(hook["files"])
    for name in ("templates/mine/item.md.j2", "templates/mine/layout.yaml", "a/profiles/mine.yml"):
        assert taken.search(name), name
    for name in ("README.md", "tests/mine.yaml", "profiles/schema.json", ".github/ci.yaml"):
        assert not taken.search(name), name
