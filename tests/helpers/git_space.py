"""A repository with files of every sort, and what tests of folders do with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    made = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    return made.stdout.decode()


def write(folder: Path, **files: str) -> None:
    """Write files; in their names `__` stands for `/`."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def make(folder: Path, files: dict[str, str]) -> None:
    write(folder, **files)


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with files of every sort, as the working directory."""
    place = tmp_path / "space"
    make(
        place,
        {
            "app.py": "import os\n",
            "docs/guide.md": "# Guide\n",
            ".github/workflows/ci.yml": "on: push\n",
            ".gitignore": "build/\n*.log\n",
            "web/.gitignore": "!kept.log\n/dist\n",
            "web/kept.log": "kept\n",
            "web/other.txt": "text\n",
            "web/dist/x.js": "dist\n",
            "build/out.py": "built\n",
        },
    )
    git(place, "init", "-q")
    git(place, "add", "-A")
    # Not tracked: a secret, a new file, and one that git ignores.
    make(place, {".env": "KEY=1\n", "new.py": "new = 1\n", "debug.log": "noise\n"})
    monkeypatch.chdir(place)
    return place
