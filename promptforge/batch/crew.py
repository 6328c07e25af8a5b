"""Render shards on several workers at once; none is lost when a worker dies.

A worker is a process of this machine or an actor of Ray; one thread waits for each. The standard
library's `ProcessPoolExecutor` does not do: it breaks as a whole when one process dies, does not
say which task killed it, cannot end a task, and imports the caller's script again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import AbstractContextManager
from itertools import chain
from typing import NamedTuple, Protocol

from ..errors import PromptForgeError
from .parts import Summary
from .reading import Part, Row
from .rows import Rendered, failed, name_of

STARTS = 20
"""Deaths in a row before a worker has begun, after which the run gives up."""
TRIES = 3
"""Workers that may die of one row, before it becomes an error record."""
AHEAD = 2
"""Shards read ahead for each worker: all the memory that a run takes, however long its input."""


class WorkerDied(Exception):  # noqa: N818  no error of the user's: a new worker is made
    """A worker has gone, and with it its shard; the message tells its end."""


class Worker(Protocol):
    """Renders shards in another process."""

    def start(self) -> None:
        """Begin, or begin again. Raises `WorkerDied`, or an error that ends the run."""
        ...

    def render(self, part: Part, known: str) -> Rendered | None:
        """Render; return None if `known` is still the hash of the files that the rows name."""
        ...

    def stop(self) -> None:
        """Kill the process for good; any thread may call it, also amid `render`."""
        ...

    def close(self) -> None:
        """Release files and pipes; the last call."""
        ...


class Job(NamedTuple):
    """A shard to be rendered."""

    part: Part
    key: str
    """Name of its file in the store."""
    done: Summary | None = None
    """Summary of an earlier rendering, to be kept unless files that its rows name have changed."""


Outcome = tuple[Job, Rendered | None]
"""A job and its results; None if the earlier rendering holds."""


Crew = AbstractContextManager[Callable[[], Worker]]
"""A context that gives a maker of workers while it is open."""


def work(jobs: Iterator[Job], crew: Crew, count: int) -> Generator[Outcome, None, None]:
    """Yield each job with its results, as they are done, in any order.

    Takes jobs from the iterator as workers need them; without any, no worker begins. Raises the
    error of a worker that cannot start.
    """
    first = next(jobs, None)
    if first is None:
        return
    with crew as make:
        yield from _work(chain([first], jobs), [make() for _ in range(count)])


def _work(jobs: Iterator[Job], workers: list[Worker]) -> Generator[Outcome, None, None]:
    # Started workers go back to the left, so a run of one shard starts one process, not all.
    idle = deque((worker, False) for worker in workers)

    def render(job: Job) -> Outcome:
        worker, started = idle.popleft()
        try:
            if not started:
                _start(worker)
                started = True
            known = job.done.references if job.done else ""
            return job, _render(worker, job.part, known)
        finally:
            idle.appendleft((worker, started))

    waiting: set[Future[Outcome]] = set()
    threads = ThreadPoolExecutor(len(workers))
    try:
        for job in jobs:
            waiting.add(threads.submit(render, job))
            if len(waiting) == AHEAD * len(workers):
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        for future in as_completed(waiting):
            yield future.result()
    finally:
        for worker in workers:
            worker.stop()
        threads.shutdown(cancel_futures=True)
        for worker in workers:
            worker.close()


def _start(worker: Worker) -> None:
    for attempt in range(STARTS):
        try:
            return worker.start()
        except WorkerDied as death:
            if attempt == STARTS - 1:
                raise PromptForgeError(f"workers die before they begin: {death}") from None


def _render(worker: Worker, part: Part, known: str) -> Rendered | None:
    try:
        return worker.render(part, known)
    except WorkerDied:
        _start(worker)
    # One of the rows may be the cause. Alone, it takes no other row with it.
    alone = [_row(worker, part.index, row) for row in part.rows]
    return Rendered(
        b"".join(one.body for one in alone),
        len(alone),
        sum(one.errors for one in alone),
        sum(one.tokens for one in alone),
        [reference for one in alone for reference in one.references],
    )


def _row(worker: Worker, index: int, row: Row) -> Rendered:
    for _ in range(TRIES):
        try:
            found = worker.render(Part(index, [row]), "")
            assert found is not None  # None answers a hash, and there was none
            return found
        except WorkerDied as death:
            reason = str(death)
            _start(worker)
    number, raw = row
    message = f"the worker died {TRIES} times while it rendered this row: {reason}"
    line = failed(name_of(raw, f"row-{number}"), number, "WorkerDied", message)
    return Rendered(line + b"\n", 1, 1, 0, [])
