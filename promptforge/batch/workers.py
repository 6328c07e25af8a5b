"""Render shards on several workers at once; none is lost when a worker dies.

A worker is a process of this machine or an actor of Ray; one thread waits for each. The standard
library's `ProcessPoolExecutor` does not do: it breaks as a whole when one process dies, does not
say which task killed it, cannot end a task, and imports the caller's script again.

Workers as processes of this machine: `python -m promptforge.batch.local`, two pipes to each.

A worker writes no file, and ends when its parent ends, killed or not. It is no fork: it takes over
no lock, thread or open file, and a script that calls `run` needs no `if __name__ == "__main__"`.

Work of a worker, on any engine: check that its environment is that of the run, render shards.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import IO, NamedTuple, Protocol

import msgspec

from ..errors import PromptForgeError
from .requests import Row, Shard
from .rows import RenderedShard, RowRenderer, error_line, row_id
from .spec import BatchSpec, fingerprint_of, hash_inputs
from .store import ShardSummary, hash_references

MAX_START_ATTEMPTS = 20
"""Deaths in a row before a worker has begun, after which the run gives up."""

MAX_ROW_ATTEMPTS = 3
"""Workers that may die of one row, before it becomes an error record."""

SHARDS_AHEAD_PER_WORKER = 2
"""Shards read ahead for each worker: all the memory that a run takes, however long its input."""


class WorkerDied(Exception):  # noqa: N818  no error of the user's: a new worker is made
    """A worker has gone, and with it its shard; the message tells its end."""


class Worker(Protocol):
    """Renders shards in another process."""

    def start(self) -> None:
        """Begin, or begin again. Raises `WorkerDied`, or an error that ends the run."""
        ...

    def render(self, part: Shard, known: str) -> RenderedShard | None:
        """Render; return None if `known` is still the hash of the files that the rows name."""
        ...

    def stop(self) -> None:
        """Kill the process for good; any thread may call it, also amid `render`."""
        ...

    def close(self) -> None:
        """Release files and pipes; the last call."""
        ...


class ShardJob(NamedTuple):
    """A shard to be rendered."""

    part: Shard
    key: str
    """Name of its file in the store."""
    done: ShardSummary | None = None
    """Summary of an earlier rendering, to be kept unless files that its rows name have changed."""


Outcome = tuple[ShardJob, RenderedShard | None]
"""A job and its results; None if the earlier rendering holds."""

WorkerSource = AbstractContextManager[Callable[[], Worker]]
"""A context that gives a maker of workers while it is open."""


def render_shards(
    jobs: Iterator[ShardJob], crew: WorkerSource, count: int
) -> Generator[Outcome, None, None]:
    """Yield each job with its results, as they are done, in any order.

    Takes jobs from the iterator as workers need them; without any, no worker begins. Raises the
    error of a worker that cannot start.
    """
    first = next(jobs, None)
    if first is None:
        return
    with crew as make:
        yield from _work(chain([first], jobs), [make() for _ in range(count)])


def _work(jobs: Iterator[ShardJob], workers: list[Worker]) -> Generator[Outcome, None, None]:
    # Started workers go back to the left, so a run of one shard starts one process, not all.
    idle = deque((worker, False) for worker in workers)

    def render(job: ShardJob) -> Outcome:
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
            if len(waiting) == SHARDS_AHEAD_PER_WORKER * len(workers):
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
    for attempt in range(MAX_START_ATTEMPTS):
        try:
            return worker.start()
        except WorkerDied as death:
            if attempt == MAX_START_ATTEMPTS - 1:
                raise PromptForgeError(f"workers die before they begin: {death}") from None


def _render(worker: Worker, part: Shard, known: str) -> RenderedShard | None:
    try:
        return worker.render(part, known)
    except WorkerDied:
        _start(worker)
    # One of the rows may be the cause. Alone, it takes no other row with it.
    alone = [_row(worker, part.index, row) for row in part.rows]
    return RenderedShard(
        b"".join(one.body for one in alone),
        len(alone),
        sum(one.errors for one in alone),
        sum(one.tokens for one in alone),
        [reference for one in alone for reference in one.references],
    )


def _row(worker: Worker, index: int, row: Row) -> RenderedShard:
    for _ in range(MAX_ROW_ATTEMPTS):
        try:
            found = worker.render(Shard(index, [row]), "")
            assert found is not None  # None answers a hash, and there was none
            return found
        except WorkerDied as death:
            reason = str(death)
            _start(worker)
    number, raw = row
    message = f"the worker died {MAX_ROW_ATTEMPTS} times while it rendered this row: {reason}"
    line = error_line(row_id(raw, f"row-{number}"), number, "WorkerDied", message)
    return RenderedShard(line + b"\n", 1, 1, 0, [])


class ShardServer:
    """Renders shards for one run."""

    def __init__(self, spec: BatchSpec, fingerprint: str) -> None:
        """Raise `PromptForgeError` where rows would come out otherwise than where the run began."""
        if fingerprint_of(hash_inputs(spec)) != fingerprint:
            raise PromptForgeError(
                "a worker found another version, profile, template or tokenizer than the run began"
                " with; they must be the same everywhere, and not change meanwhile"
            )
        self._renderer = RowRenderer(spec)

    def render(self, part: Shard, known: str) -> RenderedShard | None:
        """Render `part`; return None if `known` is still the hash of the files its rows name."""
        if known and hash_references(self._renderer.references(part)) == known:
            return None
        return self._renderer.render(part)


class ShardTask(msgspec.Struct, frozen=True):
    """A request to a worker."""

    part: Shard
    known: str


def encode_task(part: Shard, known: str) -> bytes:
    """Pack a task into bytes."""
    return msgspec.msgpack.encode(ShardTask(part, known))


def answer_task(server: ShardServer, task: bytes) -> bytes:
    """Do a packed task; return the packed results."""
    asked = msgspec.msgpack.decode(task, type=ShardTask)
    return msgspec.msgpack.encode(server.render(asked.part, asked.known))


def decode_answer(answered: bytes) -> RenderedShard | None:
    """Unpack the results."""
    return msgspec.msgpack.decode(answered, type=RenderedShard | None)


_SIZE = 8
"""Bytes of the length in front of each message."""


class LocalWorker:
    """A process of this machine; see `Worker`."""

    def __init__(self, spec: BatchSpec, ground: str) -> None:
        self._hello = msgspec.msgpack.encode((spec, ground))
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  closed in `close`
        self._process: subprocess.Popen[bytes] | None = None
        self._guard = threading.Lock()
        self._stopped = False

    def start(self) -> None:
        """See `Worker`."""
        self._end()
        with self._guard:
            if self._stopped:
                raise PromptForgeError("the run was stopped")
            self._process = self._spawn()
        refusal = self._ask(self._hello).decode()
        if refusal:
            raise PromptForgeError(refusal)

    def render(self, part: Shard, known: str) -> RenderedShard | None:
        """See `Worker`."""
        return decode_answer(self._ask(encode_task(part, known)))

    def stop(self) -> None:
        """See `Worker`."""
        with self._guard:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """See `Worker`."""
        self._end()
        self._said.close()

    def _spawn(self) -> subprocess.Popen[bytes]:
        package = Path(__file__).parents[2]
        path = os.pathsep.join([str(package), *(entry for entry in sys.path if entry)])
        return subprocess.Popen(
            # -P: a file `json.py` in the working directory is not taken for the library.
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the process that has a user
        )

    def _ask(self, message: bytes) -> bytes:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        answer = None
        with contextlib.suppress(OSError):
            _send(process.stdin, message)
            answer = _receive(process.stdout)
        if answer is None:
            raise WorkerDied(self._reason(process))
        return answer

    def _reason(self, process: subprocess.Popen[bytes]) -> str:
        code = process.wait()
        self._said.seek(0)
        last = self._said.read()[-2000:].decode("utf-8", "replace").strip().rpartition("\n")[2]
        self._said.seek(0)
        self._said.truncate()
        how = f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"
        return f"{how}: {last}" if last else how

    def _end(self) -> None:
        process = self._process
        if process is not None:
            process.kill()
            with contextlib.suppress(OSError):  # the rest of a message that nobody took
                process.communicate()


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(_SIZE, "big"))
    pipe.write(message)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    """Return the next message; None if the other side has gone."""
    head = pipe.read(_SIZE)
    size = int.from_bytes(head, "big")
    message = pipe.read(size) if len(head) == _SIZE else b""
    return message if len(head) == _SIZE and len(message) == size else None


def main() -> None:
    """Be a worker."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not print into an answer
    inbox: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, inbox), daemon=True).start()
    spec, ground = msgspec.msgpack.decode(inbox.get(), type=tuple[BatchSpec, str])
    try:
        server = ShardServer(spec, ground)
    except PromptForgeError as error:
        _send(answers, str(error).encode("utf-8", "replace"))
        return
    _send(answers, b"")
    while True:
        _send(answers, answer_task(server, inbox.get()))


def _listen(pipe: IO[bytes], inbox: SimpleQueue[bytes]) -> None:
    """Read messages; end this process once the parent has gone, even amid a row."""
    while (message := _receive(pipe)) is not None:
        inbox.put(message)
    os._exit(0)


if __name__ == "__main__":
    main()
