"""The record of snapshots: what it keeps, what it says, and what its cases exercise."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import snapshots
from commandline import run
from snapshot_cases import Case

from promptforge.batch.store import BATCH_SERVICES
from promptforge.cli.main import COMMANDS
from promptforge.config.options import Options
from promptforge.prompts.providers import SHAPES

SORTS = ("case context_no_items", "render 3 ", "prompt 4 ", "$ explain", "check files: a tem")


@cache
def all_cases() -> list[Case]:
    return snapshots.corpus(snapshots.read_examples(), snapshots.read_mistakes())


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a handful of cases, one of each sort."""
    found = [next(case for case in all_cases() if case.name.startswith(name)) for name in SORTS]
    monkeypatch.setattr(snapshots, "corpus", lambda *given: found)


def _change(file: Path, name: str, part: int, text: str | None) -> None:
    data = snapshots.read_record(file)
    data["cases"][name][part] = text
    if text is None:
        del data["cases"][name]
    file.write_bytes(gzip.compress(json.dumps(data).encode()))


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_record_is_compared_and_a_difference_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "record.gz"
    assert snapshots.record(file, quick=False) == 0
    assert snapshots.compare(file, quick=False) == 0
    assert "5 cases; differing: 0 text, 0 account, 0 messages;" in capsys.readouterr().out
    name, (text, _, _) = next(iter(snapshots.read_record(file)["cases"].items()))
    _change(file, name, 0, f"{text}once")
    assert snapshots.compare(file, quick=False) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{name}: difference in text\n    --- text then\n    +++ text now\n")
    assert re.search(r"(?m)^    -.*once$", out)
    assert "5 cases; differing: 1 text, 0 account, 0 messages;" in out


@pytest.mark.usefixtures("few")
@pytest.mark.slow
def test_a_case_of_one_side_alone_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "record.gz"
    snapshots.record(file, quick=False)
    first, *others = snapshots.corpus([], {})
    _change(file, others[0].name, 0, None)
    monkeypatch.setattr(snapshots, "corpus", lambda *given: others)
    capsys.readouterr()
    assert snapshots.compare(file, quick=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        f"{first.name}: is no case any more",
        f"{others[0].name}: is not in the record",
    ]


def _fail() -> Any:
    raise KeyError("gone")


def test_a_case_that_raises_is_named_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = next(case for case in all_cases() if case.name.startswith("$ explain"))
    monkeypatch.setattr(snapshots, "corpus", lambda *given: [Case("bad", _fail), good])
    assert snapshots.record(tmp_path / "record.gz", quick=False) == 1
    assert capsys.readouterr().out.startswith("bad: raised KeyError: 'gone'\n2 cases, ")


def test_line_ends_alone_are_shown_and_a_long_difference_is_cut() -> None:
    assert list(snapshots.difference("text", "a\r\n", "a\n")) == [r"    -'a\r\n'", r"    +'a\n'"]
    long = list(snapshots.difference("text", "a\n" * 90, "b\n" * 90))
    assert len(long) == snapshots.MAX_DIFF_LINES + 1
    assert long[-1] == "    ... 171 more lines"


@pytest.mark.slow
@pytest.mark.usefixtures("few")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # a test may have left a thread
def test_two_processes_record_the_same() -> None:
    cases = snapshots.corpus([], {})
    assert snapshots.outputs(cases, 2) == snapshots.outputs(cases, 1)


@pytest.mark.usefixtures("few")
def test_one_case_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert snapshots.show("$ explain", None) == 0
    assert '"fits_at"' in capsys.readouterr().out


def test_names_are_unique_and_a_quick_run_has_some_of_each_sort() -> None:
    names = [case.name for case in all_cases()]
    assert not [name for name, number in Counter(names).items() if number > 1]
    sorts = Counter(name.split()[0] for name in names)
    quick = Counter(name.split()[0] for name in names if snapshots.is_quick(name))
    step = snapshots.QUICK_STEP
    for sort, number in sorts.items():
        if number >= 4 * step:
            assert number / step / 2 <= quick[sort] <= number / step * 2, sort


def test_every_command_layout_packing_and_receiver_has_a_case() -> None:
    receivers = [*SHAPES, *BATCH_SERVICES]
    listed = json.loads(run("list", "--json").out)["layouts"]
    pages = {f"layout {layout['name']} {form}" for layout in listed for form in layout["formats"]}
    packings = get_args(get_type_hints(Options)["packing"])
    wanted = pages | {f"command {name}" for name in COMMANDS}
    wanted |= {f"to {name}" for name in receivers} | {f"packing {name}" for name in packings}
    assert len(packings) > 5 and len(receivers) > 9 and len(pages) > 30
    used = frozenset().union(*(case.uses for case in all_cases()))
    assert wanted <= used, sorted(wanted - used)
