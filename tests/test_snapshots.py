"""The record of outputs is the same when it is taken again, and a change is seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import snapshots
from snapshot_cases import Case


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a handful of cases, one of each sort."""
    sorts = ("case context_no_items", "render 3 ", "prompt 4 ", "$ explain", "check files: a tem")

    def corpus(*given: object) -> list[Case]:
        found = whole(*given)  # type: ignore[arg-type]
        return [next(case for case in found if case.name.startswith(name)) for name in sorts]

    whole = snapshots.corpus
    monkeypatch.setattr(snapshots, "corpus", corpus)
    monkeypatch.setattr(snapshots, "QUICK_STEP", 2)


@pytest.mark.usefixtures("few")
def test_a_record_is_compared_and_a_difference_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "record.json"
    assert snapshots.record(file, quick=False) == 0
    assert snapshots.compare(file, quick=True) == 0
    assert capsys.readouterr().out.endswith("3 cases, 0 texts differ, 0 accounts differ\n")
    data = json.loads(file.read_text("utf-8"))
    first = next(iter(data["cases"]))
    data["cases"][first][1] = "0"
    file.write_text(json.dumps(data), encoding="utf-8")
    assert snapshots.compare(file, quick=False) == 1
    said = capsys.readouterr().out
    assert f"{first}: account differs\n5 cases, 0 texts differ, 1 accounts differ\n" in said


@pytest.mark.usefixtures("few")
def test_one_case_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert snapshots.show("$ explain", None) == 0
    assert '"fits_at"' in capsys.readouterr().out
