"""The batch against a bare loop of the engine in one process: `python -m tests.benchmarks.batch`.

Linux only: processor time and memory are those of a process and all that inherit a mark in its
environment, read from /proc while it runs (memory as PSS, so that what two processes share counts once). Every subject has
a process of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from .tables import table

ROOT = Path(__file__).parents[2]
SUBJECTS = ("bare", "local-1", "local-2", "ray-2")
"""The bare loop, and the engines with so many workers each."""
GROWTH = (1_000, 10_000, 100_000)
GROWN = "local-1"
"""The subject whose growth is measured."""
_TICK = os.sysconf("SC_CLK_TCK")


class Ran(NamedTuple):
    """What one run took."""

    subject: str
    rows: int
    wall: float
    """Seconds."""
    cpu: float
    """Seconds of all its processes."""
    peak: float
    """MiB of all its processes at their largest."""


def write_rows(path: Path, count: int) -> None:
    """Write requests of five pieces of prose each, some two kilobytes a row, equal each time."""
    chance = random.Random(0)
    words = (ROOT / "README.md").read_text("utf-8").split()
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            items = [
                {
                    "name": f"piece {n}.{k}",
                    "score": round(chance.random(), 3),
                    "content": " ".join(chance.choices(words, k=50)),
                }
                for k in range(5)
            ]
            file.write(json.dumps({"id": f"r{n}", "items": items, "max_tokens": 4000}) + "\n")


def bare_loop(source: Path, output: Path) -> None:
    """Render each row in one process and write the same fields, and nothing more."""
    import msgspec

    import promptforge as pf

    renderer = pf.Renderer()
    with source.open("rb") as lines, output.open("wb") as file:
        for number, line in enumerate(lines, 1):
            row = msgspec.json.decode(line)
            result = renderer.render(row["items"], max_tokens=row["max_tokens"])
            facts = {
                "id": row["id"],
                "line": number,
                "text": result.text,
                "tokens": result.tokens,
                "exact": result.exact,
                "items_included": result.items_included,
                "items_trimmed": result.items_trimmed,
                "items_dropped": result.items_dropped,
                "truncated": result.truncated,
                "cut": [],  # nothing is, in a budget of twice the texts
                "warnings": msgspec.to_builtins(result.warnings),
            }
            file.write(msgspec.json.encode(facts) + b"\n")


def perform(subject: str, source: Path, output: Path) -> None:
    """Do what a subject does, in this process."""
    if subject == SUBJECTS[0]:
        return bare_loop(source, output)
    from promptforge import batch

    engine, _, count = subject.partition("-")
    batch.run(source, output, engine=engine, workers=int(count))


def measure(subject: str, source: Path, rows: int) -> Ran:
    """Run a subject in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [
            sys.executable,
            "-m",
            "tests.benchmarks.batch",
            "--perform",
            subject,
            str(source),
            f"{folder}/o.jsonl",
        ]
        started = time.perf_counter()
        mark = {"BATCH_MEASURED": folder}
        process = subprocess.Popen(arguments, cwd=ROOT, env=os.environ | mark)
        seconds: dict[int, float] = {}
        peak = 0.0
        status = 0
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            memory = 0.0
            for pid in _family(f"BATCH_MEASURED={folder}"):
                used = _used(pid)
                if used is not None:
                    seconds[pid] = used[0]
                    memory += used[1]
            peak = max(peak, memory)
            time.sleep(0.2)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{subject}: exit code {process.returncode}")
        if Path(folder, "o.jsonl").read_bytes().count(b"\n") != rows:
            raise SystemExit(f"{subject}: rows are missing")
        cpu = max(sum(seconds.values()), usage.ru_utime + usage.ru_stime)
        return Ran(subject, rows, wall, cpu, peak)


def _family(mark: str) -> list[int]:
    """Return the processes with a mark in their environment: those of Ray are nobody's children."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def _used(pid: int) -> tuple[float, float] | None:
    """Return the seconds of a process and its MiB; None when it has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    kilobytes = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return (int(fields[11]) + int(fields[12])) / _TICK, kilobytes / 1024


def shown(runs: list[Ran]) -> str:
    """Return a table of runs, each against the first."""
    first = runs[0]
    rows = [
        (
            run.subject,
            f"{run.rows:,}",
            f"{run.rows / run.wall:,.0f}",
            f"{1e6 * run.cpu / run.rows:,.0f}",
            f"{run.cpu / run.rows / (first.cpu / first.rows):.2f}",
            f"{run.wall:,.1f}",
            f"{run.peak:,.0f}",
        )
        for run in runs
    ]
    return table(("", "rows", "rows/s", "CPU us a row", "x first", "wall s", "peak MiB"), rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument(
        "--rounds", type=int, default=1, help="take turns so often; the run of the least CPU counts"
    )
    parser.add_argument(
        "--subjects",
        nargs="*",
        choices=SUBJECTS,
        default=SUBJECTS,
        metavar="NAME",
        help=f"{SUBJECTS}",
    )
    parser.add_argument("--growth", type=int, nargs="*", default=GROWTH, metavar="ROWS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep every run in it")
    parser.add_argument("--perform", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.perform:
        return perform(given.perform[0], Path(given.perform[1]), Path(given.perform[2]))
    subjects = [
        name
        for name in given.subjects
        if importlib.util.find_spec("ray") or not name.startswith("ray")
    ]
    ran: list[Ran] = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in.jsonl")

        def take(subject: str, count: int) -> Ran:
            ran.append(measure(subject, source, count))
            if given.json:
                given.json.write_text(
                    json.dumps([run._asdict() for run in ran], indent=2) + "\n", encoding="utf-8"
                )
            return ran[-1]

        if subjects:
            write_rows(source, given.rows)
            rounds = [
                [take(subject, given.rows) for subject in subjects] for _ in range(given.rounds)
            ]
            print(
                shown([min(runs, key=lambda run: run.cpu) for runs in zip(*rounds, strict=True)]),
                flush=True,
            )
        grown = []
        for count in given.growth:
            known = [run for run in ran if (run.subject, run.rows) == (GROWN, count)]
            if not known:
                write_rows(source, count)
                known = [take(GROWN, count)]
            grown.append(min(known, key=lambda run: run.cpu))
        if grown:
            print("\ngrowth\n" + shown(grown))


if __name__ == "__main__":
    main()
