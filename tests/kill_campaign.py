"""Kill runs of the batch command at random moments, continue them, and check the files they leave.

`python -m tests.kill_campaign 200` kills 200 times: the run or a worker, at any time or amid the
writing of a file. After each kill and at each end it checks that no row is torn, lost or doubled,
no half file is taken for a whole one, no worker outlives its run, and no half-written file is left.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from promptforge.batch.rows import digest
from promptforge.batch.store import ShardSummary
from promptforge.cli.main import main
from promptforge.files.access import UNFINISHED_SUFFIX

ROWS, PART_ROWS = 300, 12
_PROCESSES = multiprocessing.get_context("forkserver")
"""A run is forked from a process that has only imported the command: most of a start is imports."""


_COUNTED = ("--tokenizer", "characters")
"""No vocabulary to load: a worker begins in half the time."""


class Verdict(NamedTuple):
    """Outcome of a campaign."""

    kills: int
    workers_killed: int
    runs: int
    """Times that the command was started."""
    finished: int
    """Outputs that were made whole, and judged."""
    faults: list[str]


def requests(count: int) -> Iterator[dict[str, Any]]:
    """Yield rows, a tenth of them bad."""
    for n in range(count):
        words = [f"word{(n * 7 + k * 13) % 97}" for k in range(120)]
        items: Any = [{"name": f"n{n}.{k}", "content": " ".join(words[k::3])} for k in range(3)]
        yield {"id": f"id-{n}", "items": 5 if n % 10 == 3 else items, "max_tokens": 100 + n % 50}


def campaign(kills: int, folder: Path, *, seed: int = 0, engine: str = "local") -> Verdict:
    """Kill `kills` times; `folder` is an empty one to work in."""
    chance = random.Random(seed)
    source = folder / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in requests(ROWS)), encoding="utf-8")
    faults: list[str] = []
    killed = hit = runs = finished = 0
    output = folder / "out.jsonl"
    while killed < kills or finished == 0:
        runs += 1
        command = _start(source, output, engine, workers=chance.choice((1, 2)))
        children: list[int] = []
        deadline = time.monotonic() + 900
        while command.is_alive() and killed < kills:
            _await_moment(chance, output, command)
            children = _children(_pid(command))
            if children and chance.random() < 0.5:
                struck = _kill(chance.choice(children))
                hit, killed = hit + struck, killed + struck
                continue
            killed += _kill(_pid(command)) if command.is_alive() else 0
            command.join()
            faults += _outliving(children)
        command.join(max(1, deadline - time.monotonic()))
        code = command.exitcode
        if code is None:
            faults.append("a run came to no end")
            command.kill()
            break
        faults += halves(output)
        if code == 1:  # some rows are bad
            finished += 1
            faults += judge(output)
            _wipe(output)
        elif code != -signal.SIGKILL:
            faults.append(f"a run ended with exit code {code}")
    return Verdict(killed, hit, runs, finished, faults)


def judge(output: Path) -> list[str]:
    """Return what is wrong with a finished output."""
    errors = output.with_name(output.name + ".batch") / "errors.jsonl"
    good, bad = (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for path in (output, errors)
    )
    faults = []
    if [row["line"] for row in good] != [n + 1 for n in range(ROWS) if n % 10 != 3]:
        faults.append("results: rows are lost, doubled or out of order")
    if [row["line"] for row in bad] != [n + 1 for n in range(ROWS) if n % 10 == 3]:
        faults.append("errors: rows are lost, doubled or out of order")
    if {row["error"] for row in bad} != {"ItemError"}:
        faults.append(f"errors of another kind: { {row['error'] for row in bad} }")
    if any(row["id"] != f"id-{row['line'] - 1}" or not row["text"].strip() for row in good):
        faults.append("a result is not that of its row")
    left = [path.name for path in output.parent.rglob(f".*{UNFINISHED_SUFFIX}")]
    if left:
        faults.append(f"left behind: {left}")
    parts = sorted(path.name for path in errors.parent.glob("parts/*.jsonl"))
    if [int(name[:6]) for name in parts] != list(range(-(-ROWS // PART_ROWS))):
        faults.append("parts are lost or doubled")
    return faults


def halves(output: Path) -> list[str]:
    """Return which files have their final name and are not whole, at any time."""
    faults = []
    for path in output.with_name(output.name + ".batch").glob("parts/*.jsonl"):
        data = path.read_bytes()
        cut = data[:-1].rfind(b"\n") + 1
        if msgspec.json.decode(data[cut:], type=ShardSummary).sha256 != digest(data[:cut]):
            faults.append(f"torn: {path.name}")
    if output.exists() and output.read_bytes().count(b"\n") != ROWS - ROWS // 10:
        faults.append("torn: results")
    return faults


def _start(source: Path, output: Path, engine: str, workers: int) -> ForkServerProcess:
    flags = [
        "-j",
        str(workers),
        "--part-rows",
        str(PART_ROWS),
        "--quiet",
        "--engine",
        engine,
        *_COUNTED,
    ]
    _PROCESSES.set_forkserver_preload(["promptforge.cli.main", "promptforge.cli.render"])
    command = _PROCESSES.Process(
        target=_command, args=(["batch", str(source), "-o", str(output), *flags],)
    )
    command.start()
    return command


def _command(arguments: list[str]) -> None:
    """Be the command, which says nothing."""
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silence, stream)
    main(arguments)


def _pid(command: ForkServerProcess) -> int:
    assert command.pid is not None
    return command.pid


def _await_moment(chance: random.Random, output: Path, command: ForkServerProcess) -> None:
    """Wait for some time, or until some file is being written."""
    if chance.random() < 0.4:
        command.join(chance.uniform(0, 1.2))
        return
    at = chance.randrange(ROWS // PART_ROWS)
    batch = output.with_name(output.name + ".batch")
    seen: set[str] = set()
    while len(seen) <= at and command.is_alive():
        for folder in (output.parent, batch, batch / "parts"):
            names = os.listdir(folder) if folder.is_dir() else []
            seen.update(name for name in names if name.endswith(UNFINISHED_SUFFIX))
        time.sleep(0.0002)


def _children(parent: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    fields = [line.split(None, 2) for line in listed.splitlines()]
    return [
        int(pid)
        for pid, ppid, args in fields
        if int(ppid) == parent and "promptforge.batch" in args
    ]


def _kill(pid: int) -> int:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def _outliving(children: list[int]) -> list[str]:
    """Return the workers that stay although their parent has gone."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        listed = subprocess.run(
            ["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=True
        ).stdout
        workers = {
            int(line.split(None, 1)[0])
            for line in listed.splitlines()
            if "promptforge.batch import serve" in line
        }
        if not workers & set(children):
            return []
        time.sleep(0.05)
    return ["a worker outlives its parent"]


def _wipe(output: Path) -> None:
    output.unlink()
    folder = output.with_name(output.name + ".batch")
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def campaigns() -> None:
    """Run a campaign and print its verdict."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        verdict = campaign(given.kills, Path(folder), seed=given.seed)
    print(json.dumps(verdict._asdict(), indent=2))
    sys.exit(bool(verdict.faults))


if __name__ == "__main__":
    campaigns()
