"""Compare the speed of this checkout with that of another one, in one run.

`python -m tests.benchmarks.pair OTHER [--items 1000] [--budget 8000] [--runs 21] [NAME=VALUE …]`
packs the same items with the code of each checkout, each in a process of its own, by turns.
`cold` packs contents never seen; `new` adds one item, the best, to a list that was just packed;
`changed` has an item in another's place, now the best; `same` packs the very same list again.
Printed is the least processor time of all runs, its multiple of the floor's, and how many texts
differ. `NAME=VALUE` are options of `render`: `packing=value`.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import promptforge as pf

from . import corpus
from .subjects import FLOOR

CASES = ("floor", "cold", "new", "changed", "same")


def prepare(
    what: str, pieces: list[corpus.Piece], budget: int, options: dict[str, Any]
) -> Callable[[], str]:
    """Return the work of a case; what a caller has at hand is made before."""
    if what == "floor":
        chosen = FLOOR.prepare(pieces, budget)
        return lambda: FLOOR.pack(chosen, budget)
    items = [pf.Item(**piece.fields()) for piece in pieces]
    if what == "cold":
        return lambda: pf.render(items, max_tokens=budget, **options).text
    renderer = pf.Renderer()
    renderer.render(items, max_tokens=budget, **options)
    best = {**pieces[0].fields(), "score": 1 + max(piece.score for piece in pieces)}
    best["content"] = f"new_content = True\n{best['content']}"
    if what == "new":
        items = [*items, pf.Item(**{**best, "id": "new", "name": "new", "path": "new.py"})]
    else:
        items = [pf.Item(**best), *items[1:]]
    if what == "same":
        renderer.render(items, max_tokens=budget, **options)
    return lambda: renderer.render(items, max_tokens=budget, **options).text


def serve(items: int, budget: int, options: dict[str, Any]) -> None:
    """Answer each line, `CASE RUN`, with the seconds taken and a hash of the text."""
    pieces = corpus.make(items)
    for line in sys.stdin:
        what, run = line.split()
        work = prepare(what, corpus.fresh(pieces, int(run)), budget, options)
        gc.collect()
        start = time.process_time()
        text = work()
        seconds = time.process_time() - start
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        print(json.dumps([seconds, digest]), flush=True)


class _Checkout:
    def __init__(self, folder: Path, arguments: list[str]) -> None:
        # This very file runs in both, whatever the other one holds.
        code = f"import sys; sys.path.insert(0, {str(folder)!r}); import promptforge"
        code += f"; sys.path.insert(0, {str(Path(__file__).parents[2])!r})"
        code += "; from tests.benchmarks.pair import main; main()"
        command = [sys.executable, "-c", code, "--serve", ".", *arguments]
        environment = {**os.environ, "PYTHONPATH": "", "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, what: str, run: int) -> tuple[float, str]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{what} {run}\n")
        self._process.stdin.flush()
        seconds, digest = json.loads(self._process.stdout.readline())
        return seconds, digest

    def stop(self) -> None:
        self._process.communicate()


def compare(other: Path, arguments: list[str], runs: int) -> None:
    """Print the table."""
    here = Path(__file__).parents[2]
    checkouts = [_Checkout(folder, arguments) for folder in (other, here)]
    seconds: dict[tuple[str, int], float] = {}
    differing = 0
    for run in range(runs + 1):  # the first one warms up
        for what in CASES:
            digests = set()
            for number in (run % 2, 1 - run % 2):
                taken, digest = checkouts[number].ask(what, run)
                digests.add(digest)
                if run:
                    least = seconds.get((what, number), taken)
                    seconds[what, number] = min(least, taken)
            differing += len(digests) > 1
    for checkout in checkouts:
        checkout.stop()
    floor = min(seconds["floor", 0], seconds["floor", 1])
    for what in CASES[1:]:
        then, now = seconds[what, 0], seconds[what, 1]
        print(
            f"{what}: {1000 * then:.2f} ms, x floor {then / floor:.2f}; here {1000 * now:.2f} ms,"
            f" x floor {now / floor:.2f}; ratio {now / then:.3f}"
        )
    print(f"{differing} texts differ")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.pair", description=__doc__)
    parser.add_argument("other", type=Path, help="the folder of the other checkout")
    parser.add_argument("options", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--budget", type=int, default=8000)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_intermixed_args()
    options = dict(option.split("=", 1) for option in given.options)
    if given.serve:
        serve(given.items, given.budget, options)
    else:
        numbers = ["--items", str(given.items), "--budget", str(given.budget)]
        compare(given.other.resolve(), [*given.options, *numbers], given.runs)


if __name__ == "__main__":
    main()
