"""Some workers at once: parts in, results out as they come, none lost when a worker dies.

A worker is a process of this machine or an actor of Ray. One thread talks to each, and waits most of the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from itertools import chain
from queue import SimpleQueue
from typing import NamedTuple, Protocol

from ..errors import PromptForgeError
from .parts import Summary
from .reading import Part, Row
from .rows import Rendered, failed, name_of

STARTS = 20
"""How often a worker may die in a row before it has begun."""
TRIES = 3
"""How often a row is tried that its worker dies of, before it becomes an error record."""
AHEAD = 2
"""Parts that are read ahead for each worker: all the memory that a run takes, however long its input."""


class WorkerDied(Exception):  # noqa: N818  it is caught, and a new worker made
    """The worker has gone, and with it what it was doing; the message says how."""


class Worker(Protocol):
    """What renders parts in another process."""

    def start(self) -> None:
        """Begin, or begin anew after a death; `WorkerDied`, or the error that rows could not be rendered for."""
        ...

    def render(self, part: Part, known: str) -> Rendered | None:
        """Return the results, or None where what the rows name is still what `known` is the hash of."""
        ...

    def stop(self) -> None:
        """End at once, and for good, whatever it is doing; any thread may call it."""
        ...

    def close(self) -> None:
        """Let go of what it holds; the last call, by the thread that made all others but `stop`."""
        ...


class Job(NamedTuple):
    """A part to be done."""

    part: Part
    key: str
    """What its file is called by."""
    done: Summary | None = None
    """What its file says, where that is there: it is done unless what its rows name has changed."""


Outcome = tuple[Job, Rendered | None]
"""A job and its results, None where it was done."""


Crew = AbstractContextManager[Callable[[], Worker]]
"""What gives the maker of workers, for as long as it is open."""


def work(jobs: Iterator[Job], crew: Crew, count: int) -> Generator[Outcome, None, None]:
    """Yield each job with its results as they are done, in any order.

    Jobs are taken from the iterator as the workers need them; without any, no worker begins. Raises what a worker could
    not start for.
    """
    first = next(jobs, None)
    if first is None:
        return
    with crew as make:
        yield from _work(chain([first], jobs), [make() for _ in range(count)])


def _work(jobs: Iterator[Job], workers: list[Worker]) -> Generator[Outcome, None, None]:
    todo: SimpleQueue[Job | None] = SimpleQueue()
    done: SimpleQueue[Outcome | Exception] = SimpleQueue()
    threads = [
        threading.Thread(target=_serve, args=(worker, todo, done), daemon=True)
        for worker in workers
    ]
    try:
        for thread in threads:
            thread.start()
        waiting = 0
        for job in jobs:
            todo.put(job)
            waiting += 1
            if waiting == AHEAD * len(workers):
                yield _next(done)
                waiting -= 1
        for _ in range(waiting):
            yield _next(done)
    finally:
        for worker in workers:
            todo.put(None)
            worker.stop()
        for thread in threads:
            thread.join()


def _next(done: SimpleQueue[Outcome | Exception]) -> Outcome:
    found = done.get()
    if isinstance(found, Exception):
        raise found
    return found


def _serve(
    worker: Worker, todo: SimpleQueue[Job | None], done: SimpleQueue[Outcome | Exception]
) -> None:
    begun = False
    try:
        while (job := todo.get()) is not None:
            if not begun:  # a worker without work is never made
                _start(worker)
                begun = True
            done.put((job, _render(worker, job.part, job.done.references if job.done else "")))
    except Exception as error:  # to be raised where somebody waits
        done.put(error)
    finally:
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
    alone = [
        _row(worker, part.index, row) for row in part.rows
    ]  # one of them may be what it died of
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
            assert found is not None  # only for a hash to compare
            return found
        except WorkerDied as death:
            reason = str(death)
            _start(worker)
    number, raw = row
    message = f"the worker died {TRIES} times while it rendered this row: {reason}"
    return Rendered(
        failed(name_of(raw, f"row-{number}"), number, "WorkerDied", message) + b"\n", 1, 1, 0, []
    )
