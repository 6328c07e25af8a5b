"""What the scripts and workflows call is part of the repository."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"(?<![\w./-])(?:\./)?((?:\.ci|\.github|tests)(?:/[\w.-]*\w)+)")


def test_scripts_and_workflows_name_what_git_has() -> None:
    """`.gitignore` once held `site/`, so the site's own configuration was in no clone."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a checkout of git")
    there = set()
    for name in listed.stdout.splitlines():
        there |= {name, *map(str, PurePosixPath(name).parents)}
    callers = [*ROOT.glob(".ci/*"), *ROOT.glob(".github/workflows/*")]
    named = {name for path in callers for name in NAMED.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert named - there == set()
