"""Processor time from nothing to an answer, above that of bare Python."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

FLOOR = "floor: python -c pass"
COMMANDS = {
    FLOOR: ["-c", "pass"],
    "import promptforge": ["-c", "import promptforge"],
    "promptforge --version": ["-m", "promptforge", "--version"],
    "promptforge --help": ["-m", "promptforge", "--help"],
    "promptforge render --help": ["-m", "promptforge", "render", "--help"],
    "promptforge render three.jsonl": ["-m", "promptforge", "render", "three.jsonl"],
}
THREE = r"""
{"kind": "code", "path": "src/greet.py", "start_line": 1, "end_line": 1, "content": "def greet():"}
{"kind": "error", "name": "crash", "score": 0.8, "content": "```\n# not a heading\n```"}
{"kind": "document", "name": "guide.md", "score": 0.7, "content": "Greetings — as here — are polite."}
"""


class Start(NamedTuple):
    """Medians of one command, in milliseconds."""

    command: str
    cpu: float
    wall: float
    cpu_over: float
    """CPU time over that of bare Python."""


def start(runs: int = 11) -> list[Start]:
    """Run each command in turn, bare Python first."""
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    root = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "three.jsonl").write_text(THREE, "utf-8")
        for run in range(runs + 1):
            for name, arguments in COMMANDS.items():
                begin, before = time.perf_counter(), cpu_of_children()
                subprocess.run(
                    [sys.executable, *arguments],
                    check=True,
                    stdout=subprocess.DEVNULL,
                    cwd=folder,
                    env={"PYTHONPATH": str(root)},
                )
                cpu, wall = cpu_of_children() - before, time.perf_counter() - begin
                if run:  # the first compiles modules and fills the machine's cache of files
                    spent[name].append((cpu, wall))
    medians = {
        name: [1000 * statistics.median(column) for column in zip(*found, strict=True)]
        for name, found in spent.items()
    }
    bare = medians[FLOOR][0]
    return [Start(name, cpu, wall, cpu - bare) for name, (cpu, wall) in medians.items()]


def cpu_of_children() -> float:
    """Return the CPU seconds of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    for row in start():
        print(f"{row.cpu:6.0f} ms {row.command}")
