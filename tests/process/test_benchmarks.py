"""The benchmarks' own arithmetic, and their paths with thirty items. No time is judged."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import pytest
from benchmarks import batch, corpus, fleet, pack_folder, packing, reference, tables
from benchmarks.packing import Cell, Sample, Work
from benchmarks.subjects import FLOOR, OURS
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf

pytestmark = pytest.mark.unwatched

WORK = Work(30, 2000, 1)
PIECES = corpus.fresh(corpus.make(WORK.items), 0)


@pytest.mark.slow
def test_the_corpus_is_the_same_each_time_and_its_contents_differ() -> None:
    assert corpus.make(WORK.items) == corpus.make(WORK.items) != corpus.make(WORK.items, seed=1)
    again = corpus.fresh(corpus.make(WORK.items), 1)
    assert len({piece.content for piece in [*PIECES, *again]}) == 2 * WORK.items
    assert {piece.kind for piece in PIECES} == {"code", "document"}
    assert all(
        p.end - p.start == p.content.count("\n")
        for p in PIECES
        if p.start is not None and p.end is not None
    )
    assert len(corpus.read(200_000)) == 200_000


def test_ranges_of_a_file_neither_overlap_nor_touch() -> None:
    ends: dict[str, int] = {}
    for piece in sorted(corpus.make(1000), key=lambda piece: piece.start or 0):
        if piece.path is not None and piece.start is not None and piece.end is not None:
            assert piece.start > ends.get(piece.path, -1) + 1
            ends[piece.path] = piece.end


@pytest.mark.slow
def test_the_template_of_the_floor_is_equal_to_ours() -> None:
    result = pf.render(
        [pf.Item(**piece.fields()) for piece in PIECES],
        max_tokens=None,
        group_by="none",
        order="score",
    )
    assert result.text == reference.render_page(reference.best_first(PIECES))
    assert (
        result.tokens
        == reference.count(result.text)
        == sum(reference.costs(PIECES)) - reference.spared()
    )


def test_only_whole_items_are_shown() -> None:
    text = reference.render_page(PIECES[:3])
    assert corpus.shown(PIECES, text) == [0, 1, 2]
    assert corpus.shown(PIECES, text.replace(PIECES[1].content[:40], "")) == [0, 2]


@cases(50)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), max_size=7),
    st.integers(0, 60),
)
def test_no_choice_is_worth_more_than_the_upper_bound(
    items: list[tuple[int, int]], budget: int
) -> None:
    bound = reference.upper_bound(
        [score for score, _ in items], [cost for _, cost in items], budget
    )
    choices = [chosen for size in range(len(items) + 1) for chosen in combinations(items, size)]
    best = max(
        sum(s for s, _ in chosen) for chosen in choices if sum(c for _, c in chosen) <= budget
    )
    assert best <= bound + 1e-9
    assert bound <= best + max((score for score, _ in items), default=0) + 1e-9


@pytest.mark.parametrize("budget, worth", [(0, 0), (4, 4), (5, 5), (8, 6.5), (9, 7), (99, 9)])
def test_the_upper_bound_takes_the_last_item_in_part(budget: int, worth: float) -> None:
    assert reference.upper_bound([2, 5, 2, 0], [4, 5, 4, 1], budget) == worth


SHORTENING_ALL = {"promptforge, even", "promptforge, longest_first"}


@pytest.mark.nightly
def test_every_subject_packs_within_the_budget() -> None:
    cells = _measure()
    assert [cell.subject for cell in cells] == [subject.name for subject in OURS]
    for cell in cells:
        if not cell.note:
            assert cell.over == 0
            assert cell.used is not None and 0.5 < cell.used <= 1
            assert cell.worth is not None
            # What shortens every item shows none whole, and only whole contents count as worth.
            assert cell.subject in SHORTENING_ALL or 0.2 < cell.worth <= 1
            assert cell.shown or cell.subject in SHORTENING_ALL


def _measure() -> list[Cell]:
    samples: dict[str, list[Sample]] = {}
    notes: dict[str, str] = {}
    for subject in OURS:
        samples[subject.name] = []
        try:
            subject.check()
        except LookupError as error:
            notes[subject.name] = str(error.args[0])
            continue
        samples[subject.name].append(packing.run(subject, PIECES, WORK.budget))
    return packing.judge(WORK, samples, notes, PIECES)


def test_ratios_are_of_the_same_run_and_what_is_over_is_the_worst() -> None:
    text = reference.render_page(PIECES[:2])
    tokens = reference.count(text)
    samples = {
        FLOOR.name: [Sample(1.0, 0, text), Sample(2.0, 0, text), Sample(8.0, 0, text)],
        "other": [
            Sample(2.0, 1 << 20, text),
            Sample(10.0, 0, text + " and more"),
            Sample(24.0, 0, text),
        ],
    }
    floor, other = packing.judge(Work(30, tokens, 3), samples, {}, PIECES)
    assert (floor.ratio, floor.over, floor.used) == (1, 0, 1)
    assert (other.ratio, other.over, other.milliseconds, other.peak_mb) == (3, 2, 10_000, 1)
    assert other.shown == 2


def test_tables_are_narrow_and_say_what_is_missing() -> None:
    full = Cell(
        "LlamaIndex PromptHelper.repack",
        15,
        "",
        1234.5,
        99_999.9,
        0.987,
        12_345,
        0.3941,
        1000,
        2100.0,
    )
    cells = [full, Cell("slow", 0, "> 120 s"), Cell("absent", 0, "not installed (langchain_core)")]
    text = tables.packed(Work(100_000, 128_000, 3), cells)
    lines = text.split("\n")
    assert max(map(len, lines)) <= tables.WIDTH
    assert lines[0] == "100,000 items into 128,000 tokens"
    assert lines[2].split() == [
        *(
            "LlamaIndex",
            "PromptHelper.repack",
            "1,234",
            "99,999.9",
            "98.7",
            "12345",
            "1000",
            "39.4",
            "2,100.0",
            "15",
        )
    ]
    assert lines[3].split() == ["slow", ">", "120", "s", "0"]
    assert lines[4] == "absent: left out, not installed (langchain_core)"


def test_growth_says_what_an_item_costs() -> None:
    works = [Work(100, 8000, 1), Work(1000, 8000, 1)]
    cells = [[Cell("it", 1, "", 1.5, 2.0, peak_mb=1.0)], [Cell("it", 1, "", 2.5, 4.0, peak_mb=2.0)]]
    text = tables.grown(works, cells, "it")
    assert [line.split() for line in text.split("\n")[2:]] == [
        ["100", "items", "1.50", "2.0", "20.0", "1.0"],
        ["1,000", "items", "2.50", "4.0", "4.0", "2.0"],
    ]


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
def test_the_batch_writes_what_the_bare_loop_writes(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    batch.write_rows(source, 20)
    for subject, output in zip(batch.SUBJECTS[:2], ("bare.jsonl", "batch.jsonl"), strict=True):
        batch.perform(subject, source, tmp_path / output)
    assert (tmp_path / "bare.jsonl").read_bytes() == (tmp_path / "batch.jsonl").read_bytes()
    ran = batch.measure(batch.SUBJECTS[0], source, 20)
    assert ran.rows == 20 and ran.cpu > 0 and ran.peak > 10
    assert batch.shown([ran, ran]).split("\n")[-1].split()[-3] == "1.00"


@pytest.mark.slow
def test_a_fleet_is_as_fast_as_its_workers_or_its_run() -> None:
    found = fleet.Measured(500, [0.4, 0.5, 0.6], 0.004, 0.001, 2000, 2000, 150)
    for workers in (1, 8, 64, 1000):
        outcome = fleet.simulate(found, workers)
        most = min(workers * 500 / 0.5, 500 / 0.005)
        assert 0.8 * most < outcome.rows_a_second < 1.02 * most
        assert 0 <= outcome.idle < 1 and outcome.run_busy <= 1
    lines = fleet.report(found)
    assert "one processor of it serves 100,000 rows a second, as many as 100 workers" in lines[2]
    assert len(lines) == 5 + len(fleet.FLEETS)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
def test_a_fleet_is_measured_by_the_batch_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "_call_seconds", lambda sent, back: 0.0)
    found = fleet.measure(3, 4)
    assert len(found.shard_seconds) == 2 and min(found.shard_seconds) > 0
    assert found.bytes_sent > 1000 and found.bytes_back > 1000 and found.memory > 10


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "wait4"), reason="no wait4 on this system")
def test_a_folder_is_packed_by_each_in_turn(tmp_path: Path) -> None:
    tmp_path.joinpath("greet.py").write_text("def greet():\n    return 'hello'\n", "utf-8")
    spent = pack_folder.pack_folder(str(tmp_path), ["cp {folder}/greet.py {output}"], (), 2)
    assert {name: len(took) for name, took in spent.items()} == {
        "promptforge": 2,
        "floor": 2,
        "cp": 2,
    }
    rows = pack_folder.show_costs(spent).split("\n")[1:]
    assert [row.split()[0] for row in rows] == [*spent]
    assert rows[0].split()[-2:] == ["1.00x", "1.00x"]
    with pytest.raises(SystemExit, match="exit 1"):
        pack_folder.pack_folder(str(tmp_path), ["cp {folder}/absent {output}"], (), 0)
