"""A fleet on paper: what many workers would do, from what one does here: `python -m tests.benchmarks.fleet`.

Measures the processor time of a worker for each shard of a sample, the bytes that travel, the memory
of a worker, and the processor time of the run itself for each shard: it reads, hashes, sends, stores
and writes. Then it simulates fleets: workers draw their times from those measured, and the run serves
one shard after the other, as its Python does. Linux only: memory is read from /proc.
"""

from __future__ import annotations

import argparse
import heapq
import importlib.util
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import msgspec

from promptforge import batch as runner
from promptforge.batch import SHARDS_AHEAD_PER_WORKER, ShardServer
from promptforge.batch.rows import (
    BatchInput,
    BatchSpec,
    fingerprint_of,
    make_spec,
    split_shards,
)
from promptforge.batch.store import hash_inputs

from .batch import write_rows
from .tables import table

FLEETS = (1, 2, 8, 64, 256, 1_000, 4_000)
LINK_BYTES_A_SECOND = 10e9 / 8
"""Of the machine of the run: a link of ten gigabits."""


class Measured(NamedTuple):
    """What a sample of shards took on this machine."""

    rows: int
    """Rows of a shard."""
    shard_seconds: list[float]
    """Processor time of a worker for each shard."""
    run_seconds: float
    """Processor time of the run for a shard."""
    call_seconds: float
    """Processor time of the run for a call of an actor of Ray, beside the above; 0 without Ray."""
    bytes_sent: float
    """Bytes of a row on its way to a worker."""
    bytes_back: float
    memory: float
    """MiB of a worker after all shards."""


class Outcome(NamedTuple):
    """What a simulated fleet does."""

    rows_a_second: float
    run_busy: float
    """Share of the time that the run's own processor is busy."""
    idle: float
    """Share of the workers' time in which they wait."""


class _Canned:
    """A worker that has all answers, so that only the run takes time."""

    answers: dict[int, bytes]

    def __init__(self, spec: BatchSpec, fingerprint: str) -> None: ...

    def start(self) -> None: ...

    def render(self, task: bytes) -> bytes:
        # The index of the shard is in the first bytes of its task; nothing more is decoded.
        shard: Any = msgspec.msgpack.decode(task, type=tuple[_Head, Any])[0]
        return self.answers[shard.index]

    def stop(self) -> None: ...

    def close(self) -> None: ...


class _Head(msgspec.Struct):
    index: int
    rows: msgspec.Raw


def measure(shards: int, rows: int) -> Measured:
    """Render `shards` shards of `rows` rows here, then run a batch whose workers know the answers."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in.jsonl")
        write_rows(source, shards * rows)
        spec = make_spec("openai", None, None, None, ".", None, {})
        server = ShardServer(msgspec.msgpack.encode((spec, fingerprint_of(hash_inputs(spec)))))
        seconds, sent, answers = [], 0, {}
        for shard in split_shards(BatchInput(source).rows(), rows):
            task = msgspec.msgpack.encode((shard, ""))
            began = time.process_time()
            answers[shard.index] = server.render(task)
            seconds.append(time.process_time() - began)
            sent += len(task)
        status = Path("/proc/self/status").read_text("ascii")
        memory = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        _Canned.answers = answers
        took = []
        # The start is the same for any number of rows, and a fleet pays it once.
        for n, limit in enumerate((0, 0, None)):
            began, output = time.process_time(), Path(folder, f"out{n}.jsonl")
            with patch.object(runner, "LocalWorker", _Canned):
                runner.run(source, output, to="openai", workers=2, part_rows=rows, limit=limit)
            took.append(time.process_time() - began)
        run_seconds = (took[2] - took[1]) / len(seconds)
    count, back = len(seconds) * rows, sum(map(len, answers.values()))
    call = _call_seconds(sent // len(seconds), back // len(seconds))
    # The first shard fills caches; a fleet renders millions.
    return Measured(rows, seconds[1:], run_seconds, call, sent / count, back / count, memory)


def _call_seconds(sent: int, back: int) -> float:
    """Return the processor time here of one call of an actor with so many bytes."""
    if importlib.util.find_spec("ray") is None:
        return 0.0
    import ray

    class Echo:
        def call(self, task: bytes) -> bytes:
            return bytes(back)

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        actor = ray.remote(Echo).remote()
        ray.get(actor.call.remote(b""))
        began = time.process_time()
        for _ in range(200):
            ray.get(actor.call.remote(bytes(sent)))
        return (time.process_time() - began) / 200
    finally:
        ray.shutdown()


def simulate(found: Measured, workers: int, *, seed: int = 0) -> Outcome:
    """Let `workers` draw shards until each has had some fifty; the run serves one at a time."""
    chance = random.Random(seed)
    shards = workers * 50
    on_link = (found.bytes_sent + found.bytes_back) * found.rows / LINK_BYTES_A_SECOND
    served = found.run_seconds + found.call_seconds
    free_run = free_link = rendered = end = 0.0
    # Two shards wait for each worker, so it goes on while the run is busy with another.
    waiting: list[tuple[float, int]] = [(0.0, n) for n in range(workers)] * SHARDS_AHEAD_PER_WORKER
    heapq.heapify(waiting)
    busy_until = [0.0] * workers
    for _ in range(shards):
        asked, worker = heapq.heappop(waiting)
        free_run = max(free_run, asked) + served
        free_link = max(free_link, free_run) + on_link
        took = chance.choice(found.shard_seconds)
        busy_until[worker] = max(busy_until[worker], free_link) + took
        rendered += took
        heapq.heappush(waiting, (busy_until[worker], worker))
        end = max(end, busy_until[worker])
    return Outcome(shards * found.rows / end, shards * served / end, 1 - rendered / (end * workers))


def report(found: Measured) -> list[str]:
    """Return the lines of what was measured, and of the fleets."""
    mean = statistics.mean(found.shard_seconds)
    deciles = statistics.quantiles(found.shard_seconds, n=10)
    served = found.run_seconds + found.call_seconds
    lines = [
        f"a worker: {found.rows / mean:,.0f} rows a core-second; a shard of {found.rows} rows takes"
        f" {mean:.2f} s (a tenth below {deciles[0]:.2f}, a tenth above {deciles[-1]:.2f})",
        f"bytes a row: {found.bytes_sent:,.0f} to the worker, {found.bytes_back:,.0f} back;"
        f" memory of a worker: {found.memory:,.0f} MiB",
        f"the run: {1000 * found.run_seconds:.1f} ms a shard, and {1000 * found.call_seconds:.1f} ms"
        f" for a call of Ray; one processor of it serves {found.rows / served:,.0f} rows a second,"
        f" as many as {mean / served:,.0f} workers make",
        "",
    ]
    rows = []
    for workers in FLEETS:
        outcome = simulate(found, workers)
        held = workers * SHARDS_AHEAD_PER_WORKER * found.rows * found.bytes_sent / 2**20
        speed, busy, idle = outcome
        rows.append([f"{workers:,}", f"{speed:,.0f}", f"{busy:.0%}", f"{idle:.0%}", f"{held:,.0f}"])
    heads = ("workers", "rows a second", "run busy", "workers idle", "MiB read ahead")
    return [*lines, *table(heads, rows).splitlines()]


def main(print: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=20, help="shards of the sample")
    parser.add_argument("--rows", type=int, default=500, help="rows of a shard")
    given = parser.parse_args()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    for line in report(measure(given.shards, given.rows)):
        print(line)


if __name__ == "__main__":
    main()
