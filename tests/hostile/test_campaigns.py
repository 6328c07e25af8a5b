"""The campaigns in small: each breaks no promise, and each finds what it is there to find."""

from __future__ import annotations

import importlib
import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path

import hostile_strings as hostile
import pytest
import unsafe_framings
from campaigns import (
    attacks,
    budgets,
    corpus,
    determinism,
    faults,
    items,
    junk,
    memory,
    options,
    prompts,
    report,
    seeds,
    strings,
    unicode,
    verdicts,
)
from campaigns.surfaces import records, web
from example_counts import EFFORT, MULTIPLIER, rounds
from fuzz import __main__ as fuzzing
from places import DATA

AFTER_THE_TESTS = pytest.mark.skipif(
    EFFORT < 1, reason="`.ci/run` runs this campaign at length after the tests"
)
SLOW = 4
"""Cases at the end of the corpus that are megabytes or without end."""


@pytest.mark.slow
@pytest.mark.unwatched
@AFTER_THE_TESTS
def test_hostile_items_change_nothing_that_a_parser_sees() -> None:
    report = items.run(800 * MULTIPLIER, seed=MULTIPLIER)
    assert not report.broken
    assert report.figures["contents read back and compared"]
    assert report.figures["items in markdown, auto"] and report.figures["items in markdown, tagged"]


@pytest.mark.unwatched
def test_a_framing_without_care_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(unsafe_framings.FRAMINGS, "nothing", ("markdown", lambda s: "the same"))
    report = items.run(16)
    assert {"promise": "the control finds breaks", "control": "nothing"} in report.broken


@pytest.mark.unwatched
def test_runs_with_several_seeds_are_one_report() -> None:
    ran = [
        report.Report("items", 2, seed, figures={"items": seed, "parsers": "all", "%": 0.5 * seed})
        for seed in (3, 4)
    ]
    ran[1].broken.append({"promise": "structure"})
    whole = report.together(list(seeds.each(lambda seed: ran[seed - 3], range(3, 5), 1)))
    assert (whole.cases, whole.seed, whole.seeds) == (4, 3, 2)
    assert whole.table[1:] == [("items", "3", "4", "7"), ("%", "1.50", "2.00", "")]
    assert whole.figures == {"parsers": "all"} and whole.broken == [
        {"promise": "structure", "seed": 4}
    ]
    assert next(whole.lines()).startswith("items: 4 cases, seeds 3 to 4, ")


@pytest.mark.slow
@pytest.mark.unwatched
@AFTER_THE_TESTS
def test_every_budget_holds() -> None:
    report = budgets.run(rounds(1500), seed=MULTIPLIER)
    assert not report.broken


@pytest.mark.slow
@pytest.mark.unwatched
def test_equal_input_gives_equal_bytes_elsewhere_too() -> None:
    assert not determinism.run(rounds(8), seed=MULTIPLIER).broken


@pytest.mark.nightly
@pytest.mark.unwatched
def test_the_corpus_holds_lenient_and_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    if MULTIPLIER == 1:  # every third case in one layout
        known = corpus.read(attacks.OWN)[:-SLOW:3]
        monkeypatch.setattr(attacks, "read", lambda _: known)
        monkeypatch.setattr(records, "LAYOUTS", ["knowledge"])
    report = attacks.run()
    assert not report.broken
    assert report.figures["cases held in both"] == report.cases


@pytest.mark.slow
@pytest.mark.unwatched
def test_strings_of_a_folder_hold_in_every_field(tmp_path: Path) -> None:
    with pytest.raises(corpus.CorpusError, match="there are no strings in it"):
        strings.run(corpus=tmp_path)
    (tmp_path / "some.json").write_text(
        json.dumps({"strings": hostile.STRINGS[:: 60 // MULTIPLIER + 1]})
    )
    report = strings.run(corpus=tmp_path)
    assert not report.broken
    assert report.figures["contents read back"]


def case(number: int, surface: str, kind: str, payload: str) -> dict[str, str]:
    return {
        "id": f"X{number}",
        "surface": surface,
        "kind": kind,
        "payload": payload,
        "must_hold": "H7",
    }


@pytest.mark.slow
@pytest.mark.unwatched
def test_what_cannot_be_run_is_named_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "corpus.json"
    made = [
        case(1, "web", "http", "hm"),
        case(2, "template", "setup", "nothing of the kind"),
        case(3, "content", "text", "x"),
        case(4, "metadata", "python", "{'a': 'x' * 2_000_000_000}"),
        case(5, "moon", "text", "x"),
        case(6, "content", "python", "1 +"),
    ]
    path.write_text(json.dumps({"attacks": made}))
    report = attacks.run(corpus=path)
    assert not report.broken
    assert report.figures == {"cases held in both": 1, "cases broken": 0, "cases not run": 5}
    assert [note.split(": ")[1] for note in report.notes] == [
        "X1 web", "X2 template", "X4 metadata", "X5 moon", "X6 content",
    ]  # fmt: skip
    assert (
        "more than 512 MiB" in report.notes[2]
        and "a surface that is not known here" in report.notes[3]
    )
    assert list(report.lines())[1].split()[:5] == ["surface", "cases", "held", "broken", "not"]


@pytest.mark.unwatched
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read as JSON"),
        ('{"attack": []}', 'expected {"attacks"'),
        ('{"attacks": [3]}', "case 1 is no object"),
        ('{"attacks": [{"id": "X1"}]}', "case 1 (X1): surface must be a text"),
        (
            json.dumps({"attacks": [case(1, "content", "riddle", "x")]}),
            "the kind 'riddle' is none of",
        ),
        (json.dumps({"attacks": [case(1, "content", "base64", "?")]}), "the payload is no base64"),
        (
            json.dumps({"attacks": [case(1, "content", "text", "x")] * 2}),
            "two cases have the id 'X1'",
        ),
        (
            json.dumps({"attacks": [{**case(1, "content", "text", "x"), "must_hold": "all"}]}),
            "names none of H1 to H9",
        ),
    ],
)
def test_a_file_that_is_no_corpus_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "corpus.json"
    path.write_text(text)
    with pytest.raises(corpus.CorpusError, match=re.escape(words)):
        corpus.read(path)


@pytest.mark.slow
@pytest.mark.unwatched
def test_a_break_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "structure_of", lambda text, *_: text)
    report = attacks.run(1)
    assert {case["promise"].split(":")[1].strip() for case in report.broken} == {"H1"}


@pytest.mark.slow
@pytest.mark.unwatched
def test_long_texts_of_a_few_pieces_end_no_process() -> None:
    assert not junk.run(rounds(12), seed=MULTIPLIER, largest=30_000, seconds=math.inf).broken


@pytest.mark.slow
@pytest.mark.unwatched
def test_parts_that_cost_more_together_stay_in_the_window() -> None:
    assert not prompts.run(rounds(40), seed=MULTIPLIER).broken


FEW_MODES = ("EIO", "broken", "killed")


@pytest.mark.slow
@pytest.mark.unwatched
def test_a_failing_disk_leaves_whole_files_and_is_told_of() -> None:
    if MULTIPLIER > 1:
        report = faults.run(10 * MULTIPLIER, seed=MULTIPLIER)
    else:
        report = faults.run(
            3, only=("profiles", "sources", "reload", "render -o", "preview save"), modes=FEW_MODES
        )
    assert not report.broken


@pytest.mark.unwatched
def test_requests_are_read_from_words() -> None:
    assert len(web.asks("Host: evil.example")) == 1
    assert len(web.asks("Content-Length: 99999999999, -1, abc")) == 3
    assert len(web.asks("PUT with Content-Type: text/plain (simple request)")) == 1
    assert not web.asks("page framed by another site")


# --- fuzzing --------------------------------------------------------------------------------------

TARGETS = {"command": 4, "fitting": 10, "framing": 4, "http": 10, "profile": 10, "template": 2}
"""Each with how often it is tried here."""
FOUND = DATA / "fuzz"
"""What was found, `TARGET-what-it-is`; in a folder for each target, cases that reach new code."""


def test_all_targets_are_here() -> None:
    folder = Path(fuzzing.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__", *fuzzing.ASIDE} == set(
        TARGETS
    )


def target(name: str) -> Callable[[bytes], None]:
    one: Callable[[bytes], None] = importlib.import_module(f"fuzz.{name}").one
    return one


@pytest.mark.parametrize("name", TARGETS)
def test_some_bytes(name: str) -> None:
    r = random.Random(MULTIPLIER)
    for _ in range(TARGETS[name] * MULTIPLIER):
        target(name)(r.randbytes(r.randint(0, 300)))


@pytest.mark.parametrize("path", sorted(FOUND.glob("*-*")), ids=lambda path: path.name)
def test_what_was_found(path: Path) -> None:
    target(path.name.partition("-")[0])(path.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_what_reached_new_code(name: str) -> None:
    cases = sorted((FOUND / name).iterdir())
    assert cases
    for path in cases:
        target(name)(path.read_bytes())


@pytest.mark.slow
@pytest.mark.unwatched
def test_odd_counters_options_and_queries_raise_no_error_of_python() -> None:
    report = options.run(rounds(120), seed=MULTIPLIER)
    assert not report.broken
    assert report.figures["not empty"]


def test_an_error_of_python_breaks_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("promptforge.render", fail)
    report = options.run(3)
    assert [case["case"] for case in report.broken] == [0, 1, 2]
    assert "KeyError at " in report.broken[0]["promise"]


@pytest.mark.nightly
@pytest.mark.unwatched
def test_the_memory_on_disk_changes_no_byte() -> None:
    report = memory.run(rounds(200), seed=MULTIPLIER)
    assert not report.broken
    assert report.figures["runs of processes"] or EFFORT < 1


def test_a_memory_that_breaks_nothing_as_its_control_is_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "CONTROLLED", 0)
    assert [case["promise"] for case in memory.run(0).broken] == ["control"]


@pytest.mark.slow
def test_equal_bytes_on_the_pythons_that_are_named() -> None:
    report = unicode.run(rounds(1200), seed=MULTIPLIER)
    assert not report.broken
    assert report.figures["texts with a later character"]


def test_a_python_with_other_bytes_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONS", "other")
    monkeypatch.setattr(unicode, "_ask", lambda *_: ["another"] * 3)
    assert len(unicode.run(3).broken) == 3
