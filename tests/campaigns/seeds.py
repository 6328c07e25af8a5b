"""One campaign with many seeds, in turn or in processes of their own."""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from .report import Report


def campaign(name: str) -> Callable[..., Report]:
    """Return the function that runs the campaign of this name."""
    run: Callable[..., Report] = importlib.import_module(f"{__package__}.{name}").run
    return run


def report_of(name: str, cases: int, more: dict[str, Any], seed: int) -> Report:
    """Run a campaign; `more` is what it takes besides."""
    return campaign(name)(cases, seed, **more)


def each(one: Callable[[int], Report], seeds: range, jobs: int) -> Iterator[Report]:
    """Yield the report of each seed; with two jobs or more, each run is in one of so many
    processes.
    """
    for report in map(one, seeds) if jobs < 2 else _pooled(one, seeds, jobs):
        print(
            f"  seed {report.seed}: {report.cases:,} cases, {len(report.broken)} broken",
            file=sys.stderr,
            flush=True,
        )
        yield report


def _pooled(one: Callable[[int], Report], seeds: range, jobs: int) -> Iterator[Report]:
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(one, seeds)
