"""One huge text: a cut of ten megabytes, and a document of one gibibyte on the command line."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import promptforge as pf
from promptforge.text.words import UNITS

from . import corpus, reference

LONG = 10_000_000
HUGE = 1 << 30
BUDGET = 2000


class Cut(NamedTuple):
    """What a cut at the end of a unit costs."""

    unit: str
    milliseconds: float
    share: float
    """Of the time of encoding all of the text."""
    tokens: int


def cut(size: int = LONG, runs: int = 5) -> list[Cut]:
    """Cut a text of `size` characters to 2,000 tokens at each unit, and encode all of it; medians
    of CPU time.
    """
    counter = pf.get_tokenizer(reference.TOKENIZER)
    counter.count("ready")
    reference.count("ready")
    text = corpus.read(size)
    whole: list[float] = []
    parts: dict[str, list[float]] = {unit: [] for unit in UNITS}
    tokens: dict[str, int] = {}
    for run in range(runs):
        fresh = f"run = {run}\n{text}"
        if run < 3:
            start = time.process_time()
            reference.count(fresh)
            whole.append(time.process_time() - start)
        for unit in UNITS:
            this = f"{unit} = {run}\n{text}"
            start = time.process_time()
            found = counter.cut(this, BUDGET, unit)
            parts[unit].append(time.process_time() - start)
            tokens[unit] = reference.count(found)
    full = statistics.median(whole)
    cuts = [
        Cut(unit, 1000 * statistics.median(spent), statistics.median(spent) / full, tokens[unit])
        for unit, spent in parts.items()
    ]
    return [Cut("all of it, encoded", 1000 * full, 1.0, -1), *cuts]


class Huge(NamedTuple):
    """What one huge document costs on the command line."""

    bytes: int
    wall_seconds: float
    cpu_seconds: float
    peak_mb: float
    tokens: int
    code: int


def render_huge(size: int = HUGE) -> Huge:
    """Render one file of `size` bytes into 2,000 tokens, in a folder that is removed."""
    with tempfile.TemporaryDirectory() as folder:
        part = corpus.read(1 << 22).encode()
        with open(Path(folder) / "big.txt", "wb") as file:
            for start in range(0, size, len(part)):
                file.write(part[: size - start])
        command = [
            sys.executable,
            "-m",
            "promptforge",
            "render",
            "--file",
            "big.txt",
            "--max-tokens",
            str(BUDGET),
        ]
        start_at = time.perf_counter()
        with open(Path(folder) / "out.txt", "wb+") as out:
            process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            wall = time.perf_counter() - start_at
            out.seek(0)
            text = out.read().decode()
    peak = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    cpu = usage.ru_utime + usage.ru_stime
    return Huge(size, wall, cpu, peak, reference.count(text), process.returncode)
