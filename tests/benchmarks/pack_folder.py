"""What packing a whole folder costs, beside peers: each a process of its own, in turn.

`python -m tests.benchmarks.pack_folder FOLDER --peer 'repomix --quiet {folder} -o {output}'`. A peer
is any command that packs `{folder}` into the file `{output}`; several may be given. The floor reads
the text that promptforge printed, and counts it once by tiktoken with the published pattern.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FLOOR = "floor"
PROMPTFORGE = "promptforge"
COUNT = """
import sys
from pathlib import Path
from tests.benchmarks.reference import count
print(count(Path(sys.argv[1]).read_text("utf-8")))
"""
MAX_TOKENS = 1_000_000_000
"""More than any folder has: the peers leave out nothing for want of room."""


class Spent(NamedTuple):
    """What one process took."""

    cpu: float
    """Processor seconds, of its own children too."""
    wall: float
    """Seconds."""
    peak: float
    """Mebibytes of memory; zero where the system does not say."""


def pack_folder(
    folder: str, peers: Sequence[str], arguments: Sequence[str], rounds: int
) -> dict[str, list[Spent]]:
    """Return what each command took in each round; `arguments` are more of promptforge's."""
    with tempfile.TemporaryDirectory() as place:
        output = str(Path(place, "promptforge.txt"))
        render = ["-m", "promptforge", "render", folder, "--max-tokens", str(MAX_TOKENS)]
        commands = {
            PROMPTFORGE: [sys.executable, *render, *arguments, "-o", output],
            FLOOR: [sys.executable, "-c", COUNT, output],
        }
        for number, peer in enumerate(peers):
            places = {"folder": folder, "output": str(Path(place, f"{number}.txt"))}
            words = [word.format_map(places) for word in shlex.split(peer)]
            commands[Path(words[0]).name] = words
        spent: dict[str, list[Spent]] = {name: [] for name in commands}
        for turn in range(rounds + 1):
            for name, command in commands.items():
                took = _run(command)
                if turn:  # the first fills the machine's cache of files
                    spent[name].append(took)
    return spent


def _run(command: Sequence[str]) -> Spent:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryFile() as said:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            message = said.read().decode(errors="replace")
            raise SystemExit(f"{shlex.join(command)}: exit {process.returncode}\n{message}")
    kibibytes = usage.ru_maxrss if sys.platform == "linux" else 0
    return Spent(usage.ru_utime + usage.ru_stime, wall, kibibytes / 1024)


def show_costs(spent: dict[str, list[Spent]]) -> str:
    """Return a row for each command: medians, and those of the ratios to promptforge in a round."""
    lines = [f"{'':20}  CPU s  wall s  peak MiB  CPU of promptforge  wall of promptforge"]
    for name, took in spent.items():
        cpu, wall, peak = (statistics.median(column) for column in zip(*took, strict=True))
        cpu_ratio, wall_ratio = (
            statistics.median(
                getattr(one, unit) / getattr(own, unit)
                for one, own in zip(took, spent[PROMPTFORGE], strict=True)
            )
            for unit in ("cpu", "wall")
        )
        lines.append(
            f"{name:20} {cpu:6.2f} {wall:7.2f} {peak:9.0f} {cpu_ratio:18.2f}x {wall_ratio:18.2f}x"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the flags say."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.pack_folder",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder")
    parser.add_argument("--peer", metavar="COMMAND", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--with", dest="more", default="", help="more flags of promptforge render")
    given = parser.parse_args(arguments)
    print(show_costs(pack_folder(given.folder, given.peer, shlex.split(given.more), given.rounds)))


if __name__ == "__main__":
    main()
