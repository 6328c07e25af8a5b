"""The campaigns in small: each breaks no promise, and each finds what it is there to find."""

from __future__ import annotations

import json
from pathlib import Path

import naive
import pytest
from campaigns import attacks, budgets, corpus, determinism, faults, items, prompts, scenarios, surfaces
from effort import MULTIPLIER

SLOW = 4
"""Cases at the end of the corpus that are megabytes or without end."""


def test_hostile_items_change_nothing_that_a_parser_sees() -> None:
    report = items.run(800 * MULTIPLIER, seed=MULTIPLIER)
    assert not report.broken
    assert report.figures["contents read back and compared"]
    assert report.figures["items in markdown, fenced"] and report.figures["items in markdown, tagged"]


def test_a_framing_without_care_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(naive.FRAMINGS, "nothing", ("markdown", lambda s: "the same"))
    report = items.run(16)
    assert {"promise": "the control finds breaks", "control": "nothing"} in report.broken


def test_every_budget_holds() -> None:
    report = budgets.run(1500 * MULTIPLIER, seed=MULTIPLIER)
    assert not report.broken


def test_equal_input_gives_equal_bytes_elsewhere_too() -> None:
    assert not determinism.run(8 * MULTIPLIER, seed=MULTIPLIER).broken


def test_the_corpus_holds_lenient_and_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    if MULTIPLIER == 1:  # every third case in one layout
        known = corpus.read(attacks.OWN)[:-SLOW:3]
        monkeypatch.setattr(attacks, "read", lambda _: known)
        monkeypatch.setattr(surfaces, "LAYOUTS", ["knowledge"])
    report = attacks.run()
    assert not report.broken
    assert report.figures["cases run"] == report.cases


def test_what_cannot_be_run_is_named_with_its_reason(tmp_path: Path) -> None:
    def case(number: int, surface: str, kind: str, payload: str) -> dict[str, str]:
        return {"id": f"X{number}", "surface": surface, "kind": kind, "payload": payload, "must_hold": "H7"}

    path = tmp_path / "corpus.json"
    made = [case(1, "web", "http", "GET /"), case(2, "template", "setup", "an edit"), case(3, "content", "text", "x")]
    path.write_text(json.dumps({"attacks": [*made, case(4, "content", "python", "'x' * 2_000_000_000")]}))
    report = attacks.run(corpus=path)
    assert report.figures["cases not run"] == 3
    assert "more than 512 MiB" in str(report.figures["X4 content H7"])


def test_a_break_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attacks, "structure_of", lambda text, *_: text)
    report = attacks.run(1)
    assert {case["promise"].split(":")[1].strip() for case in report.broken} == {"H1"}


def test_parts_that_cost_more_together_stay_in_the_window() -> None:
    assert not prompts.run(40 * MULTIPLIER, seed=MULTIPLIER).broken


FEW_MODES = ("EIO", "broken", "killed")


def test_a_failing_disk_leaves_whole_files_and_is_told_of() -> None:
    if MULTIPLIER > 1:
        report = faults.run(10 * MULTIPLIER, seed=MULTIPLIER)
    else:
        few = [
            s for s in scenarios.SCENARIOS if s.name in ("profiles", "sources", "reload", "render -o", "preview save")
        ]
        report = faults.run(3, scenarios=few, modes=FEW_MODES)
    assert not report.broken
