"""Run a campaign: `python -m tests.campaigns templates --cases 100000`; a table, and with `--json
FILE` the facts.

A campaign is a module of this folder with a function `run(cases, seed)` that returns a `Report`,
and with `corpus` too where it reads a file of cases. `--seeds 20 --jobs 2` runs it with twenty
seeds, in two processes. Exit 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import pkgutil
import sys
from pathlib import Path

from .corpus import CorpusError
from .report import together
from .seeds import campaign, each, report_of

ASIDE = frozenset(
    {
        "__main__",
        "corpus",
        "disk",
        "grammar",
        "hostility",
        "report",
        "scenarios",
        "seeds",
        "surfaces",
        "verdicts",
    }
)
"""Modules here that are no campaigns."""


def main() -> int:
    """Run what the command line names."""
    folder = Path(__file__).parent
    names = sorted({m.name for m in pkgutil.iter_modules([str(folder)])} - ASIDE)
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("name", choices=names)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=int,
        default=1,
        help="run so many times, with seed, seed + 1, …",
    )
    parser.add_argument(
        "--corpus", metavar="FILE", help="cases to run, for a campaign that reads them from a file"
    )
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="cases of this surface, this scenario alone"
    )
    parser.add_argument(
        "--ids", metavar="ID,…", type=lambda text: text.split(","), help="these cases alone"
    )
    parser.add_argument("--jobs", metavar="N", type=int, help="processes to run on")
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    known = inspect.signature(campaign(given.name)).parameters
    more = {}
    for name in ("corpus", "only", "ids", "jobs"):
        value = getattr(given, name)
        if value is None or (name == "jobs" and given.seeds > 1):
            continue
        if name not in known:
            parser.error(f"--{name}: the campaign {given.name} has no use for it")
        more[name] = Path(value) if name == "corpus" else value
    try:
        seeds = range(given.seed, given.seed + given.seeds)
        one = functools.partial(report_of, given.name, given.cases, more)
        report = (
            together(list(each(one, seeds, given.jobs or 1)))
            if given.seeds > 1
            else one(given.seed)
        )
    except CorpusError as error:
        parser.error(str(error))
    print("\n".join(report.lines()))
    if given.json:
        Path(given.json).write_text(
            json.dumps(report.facts(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return 1 if report.broken else 0


TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]
if __name__ == "__main__":
    sys.exit(main())
