"""Marks: a file is ours as long as it holds what a run wrote there, or was about to write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptforge.files import marks
from promptforge.files.marks import is_written_by_us, mark_written


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without marks; the working folder has a few files."""
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "work/docs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    for name in "abc":
        Path(f"{name}.txt").write_text(name)
    return tmp_path / "home"


def test_a_file_is_ours_as_long_as_nobody_changes_it() -> None:
    assert not is_written_by_us("a.txt")
    mark_written([("a.txt", b"a")])
    assert is_written_by_us("a.txt") and is_written_by_us("./docs/../a.txt")
    assert not is_written_by_us("b.txt")
    Path("a.txt").write_text("changed")
    assert not is_written_by_us("a.txt")


def test_a_file_stays_ours_until_it_is_written_anew() -> None:
    mark_written([("a.txt", b"a")])
    for data in (b"second", b"third", b"fourth"):  # each of these runs is killed before it writes
        mark_written([("a.txt", data)])
        assert is_written_by_us("a.txt"), data
    Path("a.txt").write_text("fourth")
    assert is_written_by_us("a.txt")
    Path("a.txt").write_text("third")
    assert not is_written_by_us("a.txt")


def test_a_file_of_somebody_else_is_not_ours_before_it_is_written_over() -> None:
    mark_written([("a.txt", b"new"), ("absent.txt", b"new")])
    assert not is_written_by_us("a.txt") and not is_written_by_us("absent.txt")
    Path("absent.txt").write_text("of the user")
    assert not is_written_by_us("absent.txt")
    mark_written([("a.txt", b"newer")])
    assert not is_written_by_us("a.txt")


def test_all_files_of_one_run_are_remembered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MAX_MARKS", 2)
    mark_written([(f"{name}.txt", name.encode()) for name in "abc"])
    assert all(is_written_by_us(f"{name}.txt") for name in "abc")
    mark_written([("a.txt", b"a")])
    assert [is_written_by_us(f"{name}.txt") for name in "abc"] == [True, False, True]
    lines = (home / "promptforge/written.json").read_text().splitlines()
    assert len(lines) == 4, "a file a line"


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, '{"a": 1, "PATH": [2]}'])
def test_a_broken_list_marks_nothing_and_is_replaced(home: Path, text: str) -> None:
    listed = home / "promptforge/written.json"
    listed.parent.mkdir(parents=True)
    listed.write_text(text.replace("PATH", str(Path("a.txt").resolve())))
    assert not is_written_by_us("a.txt")
    mark_written([("a.txt", b"a")])
    assert is_written_by_us("a.txt")
    assert list(json.loads(listed.read_text())) == [str(Path("a.txt").resolve())]
