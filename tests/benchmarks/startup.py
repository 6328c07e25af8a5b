"""How long it takes to begin."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import promptforge": ["-c", "import promptforge"],
    "promptforge --version": ["-m", "promptforge", "--version"],
}


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
    for run in range(runs + 1):
        for name, arguments in COMMANDS.items():
            begin, before = time.perf_counter(), _cpu()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            cpu, wall = _cpu() - before, time.perf_counter() - begin
            if run:  # the first compiles modules and fills the machine's cache of files
                spent[name].append((cpu, wall))
    medians = {
        name: [1000 * statistics.median(column) for column in zip(*found, strict=True)]
        for name, found in spent.items()
    }
    bare = medians["python -c pass"][0]
    return [Start(name, cpu, wall, cpu - bare) for name, (cpu, wall) in medians.items()]


def _cpu() -> float:
    """Return the CPU seconds of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
