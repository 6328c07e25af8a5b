"""Run a campaign: `python -m tests.campaigns templates --cases 100000`; a table, and with `--json FILE` the facts.

A campaign is a module of this folder with a function `run(cases, seed)` that returns a `Report`, and with `corpus` too
where it reads a file of cases. Exit 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import pkgutil
import sys
from pathlib import Path

from .corpus import CorpusError
from .report import Report

ASIDE = {"__main__", "corpus", "disk", "grammar", "hostility", "report", "scenarios", "surfaces", "verdicts"}
"""Modules here that are no campaigns."""


def main() -> int:
    """Run what the command line names."""
    folder = Path(__file__).parent
    names = sorted({m.name for m in pkgutil.iter_modules([str(folder)])} - ASIDE)
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("name", choices=names)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", metavar="FILE", help="cases to run, for a campaign that reads them from a file")
    parser.add_argument("--only", metavar="SURFACE", action="append", help="cases of this surface alone")
    parser.add_argument("--ids", metavar="ID,…", type=lambda text: text.split(","), help="these cases alone")
    parser.add_argument("--jobs", metavar="N", type=int, help="processes to run on")
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    run = importlib.import_module(f".{given.name}", __package__).run
    more = {}
    for name in ("corpus", "only", "ids", "jobs"):
        value = getattr(given, name)
        if value is not None:
            if name not in inspect.signature(run).parameters:
                parser.error(f"--{name}: the campaign {given.name} has no use for it")
            more[name] = Path(value) if name == "corpus" else value
    try:
        report: Report = run(given.cases, given.seed, **more)
    except CorpusError as error:
        parser.error(str(error))
    print("\n".join(report.lines()))
    if given.json:
        Path(given.json).write_text(json.dumps(report.facts(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if report.broken else 0


sys.path.insert(0, str(Path(__file__).parent.parent))
if __name__ == "__main__":
    sys.exit(main())
