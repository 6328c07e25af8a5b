"""`python -m tests.benchmarks`: measure, print tables, write JSON."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from . import felt, packing, startup, tables, texts
from .packing import Cell, Work
from .subjects import FLOOR, OURS, PEERS, SCORE

WORKS = [Work(1_000, 8_000, 15), Work(10_000, 32_000, 7), Work(100_000, 128_000, 3)]
QUICK = [Work(1_000, 8_000, 7)]
GROWTH = [
    Work(100, 8_000, 15),
    Work(1_000, 8_000, 15),
    Work(10_000, 8_000, 7),
    Work(100_000, 8_000, 3),
]
PACKAGES = (
    "promptforge-engine",
    "tiktoken",
    "jinja2",
    "langchain-core",
    "llama-index-core",
    "prompt-poet",
)


def facts() -> dict[str, Any]:
    """Return what the figures depend on."""
    found: dict[str, Any] = {
        "cpus": packing.cpus(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the flags say; `felt` first: the table of what users wait for."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["felt"]:
        felt.main(given[1:])
        return
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="1,000 items only, in under half a minute"
    )
    parser.add_argument("--all-peers", action="store_true", help="peers at 100,000 items too")
    parser.add_argument("--big", action="store_true", help="a document of one gibibyte too")
    parser.add_argument("--no-peers", action="store_true", help="promptforge alone")
    parser.add_argument("--touching", action="store_true", help="only chunks of files that touch")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON")
    options = parser.parse_args(given)
    about = facts()
    print(", ".join(f"{name} {value}" for name, value in list(about.items())[:4]))
    print(", ".join(f"{name} {about[name] or '-'}" for name in PACKAGES), flush=True)
    report: dict[str, Any] = {"facts": about, "works": []}
    works = QUICK if options.quick else WORKS
    _touch(works, report)
    for work in () if options.touching else works:
        peers = [] if options.no_peers or (work.items > 10_000 and not options.all_peers) else PEERS
        cells = packing.measure(
            work, [*OURS, *peers], enough=3 if options.quick else packing.ENOUGH
        )
        _say(tables.packed(work, cells))
        report["works"].append(_plain(work, cells))
    if not (options.quick or options.touching):
        _grow(report)
        _cut(report)
        _start(report)
    if options.big:
        huge = texts.render_huge()
        report["huge"] = huge._asdict()
        _say(
            f"one document of {huge.bytes >> 20:,} MiB: {huge.wall_seconds:.1f} s, CPU {huge.cpu_seconds:.1f} s, "
            f"peak {huge.peak_mb:,.0f} MB, {huge.tokens:,} tokens, exit code {huge.code}"
        )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


def _touch(works: Sequence[Work], report: dict[str, Any]) -> None:
    """Chunks that touch: the worth shown with joining must not be below that without."""
    for work in works:
        found = packing.join_touching(work)
        rows = [
            (row.packing, "joined" if row.joined else "apart", f"{row.ratio:.1f}",
             f"{row.worth:.1%}", f"{row.shown:,}", f"{row.tokens:,}")
            for row in found
        ]  # fmt: skip
        head = f"{work.items:,} chunks of files that touch into {work.budget:,} tokens\n"
        columns = ("packing", "ranges", "x floor", "worth of the bound", "whole", "tokens")
        _say(head + tables.table(columns, rows))
        report.setdefault("touching", []).append([row._asdict() for row in found])


def _grow(report: dict[str, Any]) -> None:
    cells = [packing.measure(work, [FLOOR, SCORE], weigh=False) for work in GROWTH]
    _say(tables.grown(GROWTH, cells, SCORE.name))
    report["growth"] = [_plain(work, found) for work, found in zip(GROWTH, cells, strict=True)]


def _cut(report: dict[str, Any]) -> None:
    cuts = texts.cut()
    rows = [
        (
            f"at a {c.unit}" if c.tokens >= 0 else c.unit,
            f"{c.milliseconds:,.2f}",
            f"1/{1 / c.share:,.0f}",
        )
        for c in cuts
    ]
    _say(
        f"{texts.LONG:,} characters cut to {texts.BUDGET:,} tokens\n"
        + tables.table(("", "CPU ms", "of all"), rows)
    )
    report["cut"] = [c._asdict() for c in cuts]


def _start(report: dict[str, Any]) -> None:
    starts = startup.start()
    rows = [(s.command, f"{s.cpu:.0f}", f"{s.wall:.0f}", f"{s.cpu_over:.0f}") for s in starts]
    _say("start-up\n" + tables.table(("", "CPU ms", "wall ms", "CPU ms over bare"), rows))
    report["startup"] = [s._asdict() for s in starts]


def _plain(work: Work, cells: Sequence[Cell]) -> dict[str, Any]:
    return {**work._asdict(), "cells": [cell._asdict() for cell in cells]}


def _say(text: str) -> None:
    print("\n" + text, flush=True)


if __name__ == "__main__":
    main()
