"""The cases of `tests/*.yaml` are tests of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import run
from places import ROOT


def pytest_in(folder: Path, *arguments: str) -> tuple[int, str]:
    plugins = ["-p", "no:cacheprovider", "-p", "promptforge.authoring.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *arguments]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment["PYTHONPATH"] = str(ROOT)
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert not ran.stderr
    return ran.returncode, ran.stdout


@pytest.mark.slow
def test_cases_pass_and_fail_with_the_difference(tmp_path: Path) -> None:
    run("init", "desk", cwd=tmp_path)
    code, out = pytest_in(tmp_path / "desk")
    assert code == 0 and "2 passed" in out
    item = tmp_path / "desk/templates/mine/item.md.j2"
    item.write_text("# Another\n" + item.read_text(encoding="utf-8"), encoding="utf-8")
    code, out = pytest_in(tmp_path, "desk", "-k", "both")
    assert code == 1 and "1 failed, 1 deselected" in out and "+# Another" in out
    assert "Traceback" not in out


@pytest.mark.slow
def test_templates_of_the_root_folder_are_used(tmp_path: Path) -> None:
    (tmp_path / "templates/brief").mkdir(parents=True)
    (tmp_path / "templates/brief/layout.md.j2").write_text("{{ items | length }} items\n")
    (tmp_path / "templates/brief/item.md.j2").write_text("{{ item.content | code }}\n")
    (tmp_path / "tests").mkdir()
    case = "cases:\n  - items: [{content: a}]\n    options: {layout: brief}\n    text: 1 items\n"
    (tmp_path / "tests/brief.yaml").write_text(case)
    assert pytest_in(tmp_path)[0] == 0, pytest_in(tmp_path)


@pytest.mark.slow
def test_other_files_of_yaml_are_nobodys_business(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/data.yaml").write_text("names: [a]\n")
    (tmp_path / "cases.yaml").write_text("cases: []\n")
    (tmp_path / "tests/test_one.py").write_text("def test_one(): pass\n")
    code, out = pytest_in(tmp_path)
    assert code == 0 and "1 passed" in out
