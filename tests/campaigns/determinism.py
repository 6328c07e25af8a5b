"""Equal input gives equal bytes: over runs, threads, processes, hash seeds, locales and time zones.

Each case is a digest of everything a result says but the time it took. The control is what a
template engine prints that walks over a set: it must differ between hash seeds, or the processes
were all alike.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from unfiltered import PACKINGS, render

from .hostility import Hostility
from .items import framings
from .report import Report

THREADS = 8
ROOT = Path(__file__).parents[2]
SURROUNDINGS = [
    {"PYTHONHASHSEED": "0"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "4294967295", "LC_ALL": "de_DE.UTF-8", "PYTHONUTF8": "0"},
    {"PYTHONHASHSEED": "random", "COLUMNS": "20", "NO_COLOR": "1"},
]


def made(cases: int, seed: int) -> list[tuple[list[dict[str, Any]], str, str, dict[str, Any]]]:
    """Return so many sets of records, each with a layout, a format and options."""
    hostility, pairs = Hostility(seed), framings()
    r = hostility.random
    return [
        (
            [hostility.record(n) for n in range(r.randint(1, 6))],
            *pairs[number % len(pairs)],
            {
                "max_tokens": r.choice((20, 60, 150, 10**6)),
                "packing": r.choice(PACKINGS),
                "dedupe": r.random() < 0.5,
                "rerank": r.choice((None, "mmr")),
                "query": r.choice((None, "word policy item")),
                "framing": r.choice(("auto", "tagged")),
            },
        )
        for number in range(cases)
    ]


def digest(case: tuple[list[dict[str, Any]], str, str, dict[str, Any]]) -> str:
    """Return a digest of the text and of the account of every item."""
    records, layout, format, options = case  # noqa: A001
    result = render(records, layout, format, **options)
    account = ascii([result.tokens, result.chars, result.items, result.sections, result.warnings])
    return hashlib.sha256(f"{result.text}\0{account}".encode()).hexdigest()


def run(cases: int, seed: int = 1) -> Report:
    """Render so many texts in turn, again in threads in another order, and in processes of their
    own.
    """
    report = Report("determinism", cases, seed)
    all_of = made(cases, seed)
    first = [digest(case) for case in all_of]
    runs = 1
    order = list(range(cases))
    random.Random(seed).shuffle(order)
    with ThreadPoolExecutor(THREADS) as threads:
        there = dict(zip(order, threads.map(lambda n: digest(all_of[n]), order), strict=True))
    _compare(report, f"{THREADS} threads, another order", first, [there[n] for n in range(cases)])
    controls = set()
    for surroundings in SURROUNDINGS:
        theirs, control = _elsewhere(cases, seed, surroundings)
        controls.add(control)
        _compare(report, f"a process with {surroundings}", first, theirs)
        runs += 1
    report.figures["different texts"] = len(set(first))
    report.figures["renderings"] = cases * (runs + 1)
    report.figures["threads"] = THREADS
    report.figures["processes"] = runs
    report.figures["control: digests of a set, by process"] = len(controls)
    if len(controls) < 3:
        report.broken.append(
            {"promise": "the control finds breaks", "control": "a set in three hash seeds"}
        )
    return report


def _compare(report: Report, where: str, first: list[str], there: list[str]) -> None:
    for number, (one, other) in enumerate(zip(first, there, strict=True)):
        if one != other:
            report.broken.append(
                {"promise": "equal bytes", "where": where, "case": number, "seed": report.seed}
            )


def _elsewhere(cases: int, seed: int, surroundings: dict[str, str]) -> tuple[list[str], str]:
    """Return the digests of a process in other surroundings and another folder, and that of the
    control.
    """
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests" / "helpers"), str(ROOT / "tests")))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.campaigns.determinism", str(cases), str(seed)],
            env={**os.environ, **surroundings, "PYTHONPATH": path},
            cwd=folder,
            stdout=subprocess.PIPE,
            check=True,
        )
    digests, control = json.loads(done.stdout)
    return digests, control


if __name__ == "__main__":
    cases, seed = map(int, sys.argv[1:])
    careless = " ".join({f"word{n}" for n in range(50)})
    print(json.dumps([[digest(case) for case in made(cases, seed)], careless]))
