"""Many requests at once: `run` over a file of them, `RenderBatch` inside of other engines.

`run` renders the shards that are not done in worker processes, then writes all results. A worker
is a process of this machine or an actor of Ray. One thread waits for each. A shard that its worker
dies of is rendered again row by row, so that only the row to blame becomes an error.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ..config.options import Options
from ..errors import OptionError, PromptForgeError, pip_install, quote, suggest_name
from ..files import Folders, is_url
from ..files.access import open_stream, remove_unfinished, temporary_file
from .rows import (
    ERROR_PREFIX,
    BatchInput,
    BatchSpec,
    RenderBatch,
    RenderedRows,
    Row,
    RowRenderer,
    Shard,
    Source,
    check_first_rows,
    check_spec,
    error_line,
    fingerprint_of,
    join_rendered,
    make_spec,
    row_id,
    split_shards,
)
from .store import (
    BATCH_SERVICES,
    Json,
    OutputPaths,
    RequestFiles,
    ResultWriter,
    RunManifest,
    RunReport,
    ShardStore,
    ShardSummary,
    hash_inputs,
    hash_references,
    json_lines_writer,
    parquet_writer,
    write_results,
)

__all__ = ["Progress", "RenderBatch", "RunReport", "run"]
SHARD_ROWS = 500
"""Rows of a shard: the most that a killed worker loses, some tenths of a second of work."""
FIRST_FAILED_ROWS = 100
"""Rows that fail, before any has a result, after which a run ends."""
# Words of a message that name one row's own things: quoted, or with a digit, a slash or a dot. A
# hint comes only where the row has a name like another's.
_PARTICULARS = re.compile(r'; did you mean.*|"[^"]*"|\S*[\d/.]\S*')
ENGINES = ("local", "ray")


class Progress(msgspec.Struct, frozen=True):
    """Figures of a run so far."""

    rows: int
    """Rows that are done, by this run or an earlier one."""
    kept: int
    """Rows done by an earlier run."""
    errors: int
    """Rows without a result."""
    bytes: int
    """Bytes of the rows that are done."""
    total: int | None
    """Bytes of the whole input; None where nobody knows them."""


def run(  # noqa: PLR0913  its options are public
    input: Source,
    output: str | os.PathLike[str],
    *,
    to: str | None = None,
    columns: Mapping[str, str] | None = None,
    model: str | None = None,
    body: Mapping[str, Any] | None = None,
    profile: str | Path | None = None,
    templates: Folders = None,
    profiles: Folders = None,
    workspace: str | Path = ".",
    attack: str | None = None,
    engine: str = "local",
    address: str | None = None,
    workers: int | None = None,
    limit: int | None = None,
    max_errors: int | None = None,
    retry: bool = False,
    part_rows: int = SHARD_ROWS,
    max_tokens_per_file: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> RunReport:
    """Render every request of `input` into `output`, in the order of the input.

    - `input`: a file of JSON Lines (also `.gz` and `.zst`), CSV or Parquet, a list in `.json`, a
      folder or a pattern of such files, by path or URL; `-` for standard input; mappings; or a
      table of pandas, polars or anything with the Arrow interface.
    - `output`: a file `*.jsonl` or `*.parquet`, with its state in the folder `OUTPUT.batch`; or a
      folder for everything.
    - `to`: `context`, a shape of `Renderer.prompt`, or a batch service: `openai-batch`,
      `openai-responses-batch`, `anthropic-batch`, `gemini-batch`, `bedrock-batch`. A batch service
      but Bedrock's needs a `model`; `body` holds more keywords for each of its requests. Default:
      `text` for a row with a question, instructions, a system text or a history, else `context`.
    - `columns`: your own columns by the keys of a row: `{"user": "question", "items": "contexts"}`.
      Only these are read; `items` are then read as `render` does, so a text is no file's name.
    - `options`: as in `Renderer`; a row's own options win. `workspace` holds the files rows name.
    - `engine`: `local` for processes of this machine, or `ray` for actors on the cluster at
      `address` (without one, Ray on this machine). `workers`: their number; default, one a CPU.
    - `limit`: rows read at most. `max_errors`: end when more rows fail; without it, a run ends if
      none of its first shards, of 100 rows and more, has a result. `retry`: do failed rows again.
      `part_rows`: rows per shard. `progress`: called at the start and after each shard.
    - `max_tokens_per_file`: tokens of all prompts in one file for a batch service, as its queue
      takes them.

    Call it again after any kind of end, and it goes on: a finished shard is known by its inputs.

    Raises `PromptForgeError` for settings that no row can use; a single row never ends a run.

        report = run("requests.jsonl", "results.jsonl", to="openai", max_tokens=4000)
    """
    started = time.perf_counter()
    if is_url(output):
        raise OptionError(f"{output} is a URL; copy it with fsspec, as `promptforge batch` does")
    shape = BATCH_SERVICES[to].shape if to in [*BATCH_SERVICES] else to
    spec = make_spec(shape, profile, templates, profiles, workspace, attack, options, columns)
    chosen, inputs = check_spec(spec), hash_inputs(spec)
    paths, given = OutputPaths(Path(output)), BatchInput(input)
    spec = replace(spec, output=os.path.abspath(paths.results))
    given.check_output(paths.results)
    call = {"model": model, **(body or {})}
    write = _result_writer(to, paths, call, chosen, max_tokens_per_file)
    count = workers or min(os.cpu_count() or 1, MAX_LOCAL_WORKERS)
    source = _worker_source(engine, spec, fingerprint_of(inputs), address, count)
    work = _Run(given, spec, inputs, paths, retry, max_errors, progress)
    render = partial(render_shards, source=source, count=count)
    report = work.perform(part_rows, limit, render, write)
    return replace(report, seconds=time.perf_counter() - started)


@dataclass
class _Run:
    given: BatchInput
    spec: BatchSpec
    inputs: dict[str, str]
    """Hash of each input that all results depend on."""
    paths: OutputPaths
    retry: bool
    max_errors: int | None
    progress: Callable[[Progress], None] | None
    store: ShardStore = field(init=False)
    rows: int = 0
    kept: int = 0
    errors: int = 0
    tokens: int = 0
    bytes: int = 0
    warnings: Counter[str] = field(default_factory=Counter)
    files_changed: bool = False
    """True once a file that some row names differs from the one an earlier run read."""
    ended: bool = False
    """True where rows are left to be read, and need not be."""

    def perform(
        self, part_rows: int, limit: int | None, render: RenderShards, write: ResultWriter
    ) -> RunReport:
        """Render the shards that are not done, then write all results unless too many rows failed.

        See `run` for `part_rows` and `limit`.
        """
        paths, manifest = self.paths, RunManifest(made_of=self.inputs)
        before = paths.read_manifest()
        with closing(ShardStore(paths.shards)) as self.store:
            # The lock of the store says that the run which left half-written files has gone.
            remove_unfinished(paths.folder)
            remove_unfinished(paths.results.parent, paths.results.name)
            if before is None or before.made_of != self.inputs:
                paths.write_manifest(manifest)
            shards = split_shards(self.given.rows(), part_rows, limit)
            complete = self._render_all(check_first_rows(shards, self.spec.columns), render)
            report = self._report(before, complete)
            if not complete:
                return report
            if limit is None:
                self.store.drop_others()
            bodies = self.store.bodies()
            written, errors = write_results(write, bodies, paths.errors, self.given.place)
            paths.write_manifest(replace(manifest, complete=True))
            files = tuple(map(str, written))
            report = replace(report, errors=errors, files=files)
            if not errors:
                return report
            with open_stream(paths.errors) as file:
                record = msgspec.json.decode(file.readline())
            reason = f"the first, line {record['line']}: {record['error']}: {record['message']}"
            return replace(report, errors_file=str(paths.errors), reason=reason)

    def _render_all(self, shards: Iterable[Shard], render: RenderShards) -> bool:
        """Render all shards that are not done; return False when too many rows failed."""
        self._show()
        with closing(render(self._jobs(shards))) as outcomes:
            for job, rendered in outcomes:
                if rendered is not None:
                    self.files_changed |= job.done is not None
                    self._count(job, self.store.add(job.shard, job.key, rendered))
                elif job.done:
                    self._count_kept(job, job.done)
                if self._failed():
                    return False
        return not self.ended and not self._failed()

    def _report(self, before: RunManifest | None, complete: bool) -> RunReport:
        changed: tuple[str, ...] = ()
        if self.store.outdated:
            changed = _changed(before, self.inputs)
        if self.files_changed:
            changed += ("what rows name",)
        return RunReport(
            rows=self.rows,
            errors=self.errors,
            kept=self.kept,
            tokens=self.tokens,
            warnings=dict(sorted(self.warnings.items(), key=lambda each: (-each[1], each[0]))),
            changed=changed,
            complete=complete,
            reason="" if complete else self._reason(),
            left_out=self.given.left_out,
        )

    def _jobs(self, shards: Iterable[Shard]) -> Iterator[ShardJob]:
        fingerprint = fingerprint_of(self.inputs)
        for shard in shards:
            if self.max_errors is None and self.rows == self.errors >= FIRST_FAILED_ROWS:
                self.ended = True
                return
            key = shard.key(fingerprint)
            done = self.store.find(shard, key)
            if done is None or (self.retry and done.errors):
                yield ShardJob(shard, key, None, self.spec.id_column)
            elif done.references:
                # Its rows name files, which may have changed: only a worker can tell, by reading.
                yield ShardJob(shard, key, done, self.spec.id_column)
            else:
                self._count_kept(ShardJob(shard, key), done)
            if self._failed():
                return

    def _count_kept(self, job: ShardJob, summary: ShardSummary) -> None:
        self.kept += summary.rows
        self._count(job, summary)

    def _count(self, job: ShardJob, summary: ShardSummary) -> None:
        self.store.count(job.shard, job.key, summary)
        self.rows += summary.rows
        self.errors += summary.errors
        self.tokens += summary.tokens
        self.warnings.update(summary.warnings)
        self.bytes += job.shard.size
        self._show()

    def _reason(self) -> str:
        """Return the reason of most failed rows, with the first of them."""
        alike: dict[str, list[tuple[int, str]]] = {}
        for line in chain.from_iterable(body.splitlines() for _, body in self.store.bodies()):
            if line.startswith(ERROR_PREFIX):
                record = msgspec.json.decode(line)
                said = f"{record['error']}: {record['message']}"
                alike.setdefault(_PARTICULARS.sub("", said), []).append((record["line"], said))
        rows = max(alike.values(), key=len)
        first, said = rows[0]
        known = sum(map(len, alike.values()))
        of = "" if len(rows) == known else f"{len(rows):,} of {known:,} failed so; the first, "
        return f"{of}line {first}: {said}"

    def _show(self) -> None:
        if self.progress:
            total = self.given.bytes
            self.progress(Progress(self.rows, self.kept, self.errors, self.bytes, total))

    def _failed(self) -> bool:
        return self.max_errors is not None and self.errors > self.max_errors


def _result_writer(
    to: str | None, paths: OutputPaths, call: Json, options: Options, max_tokens: int | None
) -> ResultWriter:
    if to is not None and to in BATCH_SERVICES:
        if paths.is_file:
            message = f"{to} writes several files: the output is a folder"
            raise OptionError(f"{message}, so no name such as {quote(paths.results.name)}")
        service = BATCH_SERVICES[to]
        return RequestFiles(paths.folder, service, call, options, max_tokens).write
    if max_tokens is not None:
        message = "max_tokens_per_file is for the files of a batch service"
        raise OptionError(f"{message}: --to {', '.join(BATCH_SERVICES)}")
    if paths.results.suffix.lower() == ".parquet":
        return parquet_writer(paths.results)
    return json_lines_writer(paths.results)


def _worker_source(
    engine: str, spec: BatchSpec, fingerprint: str, address: str | None, count: int
) -> WorkerSource:
    if engine not in ENGINES:
        message = f"there is no engine {quote(engine)}{suggest_name(engine, ENGINES)}"
        raise OptionError(message, option="engine")
    # Nothing starts before the context is entered: all rows may be done.
    if engine == "ray":
        return ray_workers(spec, fingerprint, address, count)
    if address is not None:
        raise OptionError("an address is for the engine ray", option="address")
    if count > MAX_LOCAL_WORKERS:
        raise OptionError(f"{count} workers: one machine runs at most {MAX_LOCAL_WORKERS}")
    return nullcontext(lambda: LocalWorker(spec, fingerprint))


def _changed(before: RunManifest | None, inputs: dict[str, str]) -> tuple[str, ...]:
    if before is None:
        return ()
    other = tuple(name for name, value in inputs.items() if before.made_of.get(name) != value)
    if other:
        return other
    # The manifest of a killed run holds this run's options, not those of its old shards.
    return ("input",) if before.complete else ("input or options",)


# --- workers --------------------------------------------------------------------------------------

MAX_LOCAL_WORKERS = 256
"""Processes of one run: each holds three of the 1,024 files that a shell allows."""
MAX_START_ATTEMPTS = 20
"""Deaths in a row before a worker has begun, after which the run gives up."""
MAX_ROW_ATTEMPTS = 3
"""Workers that may die of one row before it becomes an error record."""
MAX_ROW_SECONDS = 600.0
"""A worker that renders one row for so long ends itself; large real rows take some seconds."""
SHARDS_AHEAD_PER_WORKER = 2
"""Shards read ahead for each worker: all the memory that a run takes, however long its input."""


class WorkerDied(Exception):  # noqa: N818  no error of the user's: a new worker is made
    """A worker has gone, and with it its shard; the message tells its end."""


WorkerSource = AbstractContextManager[Callable[[], "Worker"]]
"""A context that gives a maker of workers while it is open."""


class ShardJob(NamedTuple):
    """A shard to be rendered."""

    shard: Shard
    key: str
    """Name of its file in the store."""
    done: ShardSummary | None = None
    """Summary of an earlier rendering, to be kept unless files that its rows name have changed."""
    id_column: str = "id"


Outcome = tuple[ShardJob, RenderedRows | None]
"""A job and its results; None if the earlier rendering holds."""
RenderShards = Callable[[Iterator[ShardJob]], Generator[Outcome, None, None]]


# --- the side of the run --------------------------------------------------------------------------


def render_shards(
    jobs: Iterator[ShardJob], source: WorkerSource, count: int
) -> Generator[Outcome, None, None]:
    """Yield each job with its results, as they are done, in any order.

    Takes jobs from the iterator as workers need them; without any, no worker begins. Raises the
    error of a worker that cannot start.
    """
    first = next(jobs, None)
    if first is None:
        return
    with source as make:
        workers = [make() for _ in range(count)]
        # Workers that have begun go back to the left: a run of one shard starts one process only.
        idle = deque((worker, False) for worker in workers)

        def render(job: ShardJob) -> Outcome:
            worker, begun = idle.popleft()
            try:
                if not begun:
                    _start(worker)
                    begun = True
                return job, _render(worker, job)
            finally:
                idle.appendleft((worker, begun))

        waiting: set[Future[Outcome]] = set()
        threads = ThreadPoolExecutor(count)
        try:
            for job in chain([first], jobs):
                waiting.add(threads.submit(render, job))
                if len(waiting) == SHARDS_AHEAD_PER_WORKER * count:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            yield from (future.result() for future in as_completed(waiting))
        finally:
            # Threads wait for workers, so the workers end first.
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


def _render(worker: Worker, job: ShardJob) -> RenderedRows | None:
    known = job.done.references if job.done else ""
    try:
        return _ask(worker, job.shard, known)
    except WorkerDied:
        _start(worker)
    # One of the rows may be the cause. Alone, it takes no other row with it.
    return join_rendered([_render_row(worker, job, row) for row in job.shard.rows])


def _render_row(worker: Worker, job: ShardJob, row: Row) -> RenderedRows:
    for _ in range(MAX_ROW_ATTEMPTS):
        try:
            found = _ask(worker, Shard(job.shard.index, [row]), "")
            assert found is not None  # None answers a hash, and there was none
            return found
        except WorkerDied as death:
            reason = str(death)
            _start(worker)
    number, raw = row
    message = f"the worker died {MAX_ROW_ATTEMPTS} times while it rendered this row: {reason}"
    name = row_id(raw, f"row-{number}", job.id_column)
    line = error_line(name, number, "WorkerDied", message)
    return RenderedRows(line + b"\n", 1, 1, 0, [])


def _ask(worker: Worker, shard: Shard, known: str) -> RenderedRows | None:
    answer = worker.render(msgspec.msgpack.encode((shard, known)))
    return msgspec.msgpack.decode(answer, type=RenderedRows | None)


class LocalWorker:
    """A process of this machine that holds a `ShardServer`; plain bytes go over its two pipes.

    It is no fork: it takes over no lock, thread or open file of the run.
    """

    def __init__(self, spec: BatchSpec, fingerprint: str) -> None:
        self._settings = msgspec.msgpack.encode((spec, fingerprint))
        self._log = temporary_file()  # closed in `close`
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin, or begin again. Raises `WorkerDied`, or an error that ends the run."""
        self._end()
        path = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
        # -P: a file `json.py` in the working directory is not taken for the library.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
            start_new_session=True,  # Ctrl-C is for the process that has a user
        )
        if self._stopped:  # looked at after the process is known to `stop`: one of the two kills it
            self._end()
            raise PromptForgeError("the run was stopped")
        refusal = self.render(self._settings)
        if refusal:
            raise PromptForgeError(refusal.decode())

    def render(self, task: bytes) -> bytes:
        """Return the answer of `ShardServer.render`; raises `WorkerDied`."""
        process = self._process
        assert process and process.stdin and process.stdout
        with contextlib.suppress(OSError):
            _send(process.stdin, task)
            answer = _receive(process.stdout)
            if answer is not None:
                return answer
        raise WorkerDied(self._reason(process))

    def _reason(self, process: subprocess.Popen[bytes]) -> str:
        # The last line of its log tells more than the exit code: the message of an exception.
        code = process.wait()
        self._log.seek(0)
        log = self._log.read().decode("utf-8", "replace").strip()
        self._log.seek(0)
        self._log.truncate()
        if log.startswith("Timeout ("):  # by `faulthandler`
            return f"no result within {MAX_ROW_SECONDS:g} s"
        reason = f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"
        last = log[-2000:].rpartition("\n")[2]
        return f"{reason}: {last}" if last else reason

    def stop(self) -> None:
        """Kill the process for good; any thread may call it, also amid `render`."""
        self._stopped = True
        if self._process:
            self._process.kill()

    def close(self) -> None:
        """Release files and pipes; the last call."""
        self._end()
        self._log.close()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError):  # the rest of a message that nobody took
                self._process.communicate()


# --- the side of the worker -----------------------------------------------------------------------


class ShardServer:
    """Renders shards inside a worker, on any engine; takes and gives plain bytes."""

    def __init__(self, settings: bytes) -> None:
        """Check that rows come out here as they would where the run began: see `refusal`."""
        spec, fingerprint = msgspec.msgpack.decode(settings, type=tuple[BatchSpec, str])
        self._refusal = ""
        self._deadline_set = float("-inf")
        try:
            if fingerprint_of(hash_inputs(spec)) != fingerprint:
                self._refusal = (
                    "a worker found another version, profile, template or tokenizer than the run"
                    " began with; they must be the same everywhere, and not change meanwhile"
                )
            self._renderer = RowRenderer(spec, self._set_deadline)
        except PromptForgeError as error:
            self._refusal = str(error)

    def refusal(self) -> str:
        """Return why no row can be rendered here; empty if all is well."""
        return self._refusal

    def render(self, task: bytes) -> bytes:
        """Render a shard; answer None if the hash in the task holds for the files its rows name."""
        shard, known = msgspec.msgpack.decode(task, type=tuple[Shard, str])
        rendered = None
        try:
            if not known or hash_references(self._renderer.references(shard)) != known:
                rendered = self._renderer.render(shard)
        finally:
            faulthandler.cancel_dump_traceback_later()
            self._deadline_set = float("-inf")
        return msgspec.msgpack.encode(rendered)

    def _set_deadline(self) -> None:
        # End this process if the next row takes too long, even in C code that holds Python's lock.
        # Setting the deadline takes as long as a small row, so it is done once a second.
        now = time.monotonic()
        if now - self._deadline_set > 1:
            self._deadline_set = now
            faulthandler.dump_traceback_later(MAX_ROW_SECONDS, exit=True, file=2)


def serve() -> None:
    """Be a worker: answer the messages on standard input until the run has gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not print into an answer
    inbox: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, inbox), daemon=True).start()
    # Small rows make garbage at the rate at which they make objects: with the default of 700, a
    # twelfth of the time goes to looking for it.
    gc.set_threshold(20_000, 10, 10)
    server = ShardServer(inbox.get())
    _send(answers, server.refusal().encode("utf-8", "replace"))
    while True:
        _send(answers, server.render(inbox.get()))


def _listen(pipe: IO[bytes], inbox: SimpleQueue[bytes]) -> None:
    # Read messages; end this process once the run has gone, even amid a row.
    while (message := _receive(pipe)) is not None:
        inbox.put(message)
    os._exit(0)


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(8, "big") + message)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    # None if the other side has gone, even amid a message.
    head = pipe.read(8)
    size = int.from_bytes(head, "big")
    message = pipe.read(size)
    return message if len(head) == 8 and len(message) == size else None


# --- actors of Ray --------------------------------------------------------------------------------

# They get one shard at a time, not a Ray Dataset: the input is never held whole, its order stays, a
# row that kills its process costs no other row, and only the process of the run writes files.

CPUS_PER_ACTOR = 0.5
"""CPUs per actor: below one, so that a cluster with all CPUs but a part of one taken has room."""
MAX_ACTOR_START_SECONDS = 300.0
"""Seconds for an actor to begin; a cluster without room never begins it."""
MAX_ANSWER_SECONDS = 2 * MAX_ROW_SECONDS
"""Seconds for the answer to a shard, which Ray may lose; then its rows are done one by one."""
MIN_RAY_VERSION = (2, 54)
"""The first version of Ray that can ask for a token."""
# Ray raises the same error for a cluster that is not there and for one that refuses us.
_BUSY = "; if the machine is busy, try again, or run `ray start --head` and give --address"
_TOKEN = (
    "; where the cluster asks for a token, set RAY_AUTH_MODE=token and either RAY_AUTH_TOKEN, or"
    " RAY_AUTH_TOKEN_PATH to the file that holds it"
)


@contextlib.contextmanager
def ray_workers(
    spec: BatchSpec, fingerprint: str, address: str | None, count: int
) -> Iterator[Callable[[], Worker]]:
    """Connect to Ray and give a maker of workers.

    Without an address, use the connection of this process if there is one, else start Ray on
    127.0.0.1 for this run. Raises `OptionError` if Ray is missing, too old or out of reach, or has
    no room for `count` actors: they would wait for ever.
    """
    ray = _ray()
    mine = not ray.is_initialized()
    if mine:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send nobody any statistics
        own: dict[str, Any] = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        try:
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level="error",
                **({} if address else own),
            )
        except Exception as error:  # a bare one, if a node takes longer than 30 s to start
            message = f"no Ray at {address or 'this machine'}: {error}"
            if not address:
                message += _BUSY
            elif isinstance(error, ConnectionError):
                message += _TOKEN
            raise OptionError(message, option="address") from None
    try:
        free = ray.available_resources().get("CPU", 0.0)
        if count * CPUS_PER_ACTOR > free:
            most = int(free / CPUS_PER_ACTOR)
            remedy = f"--workers {most}" if most else "wait until something ends there"
            need = f"{count} actors need {count * CPUS_PER_ACTOR:g} CPUs"
            raise OptionError(f"{need} and Ray has {free:g} free: {remedy}")
        yield lambda: RayWorker(spec, fingerprint)
    finally:
        if mine:
            ray.shutdown()


class RayWorker:
    """An actor that holds a `ShardServer`, with the methods of `LocalWorker`."""

    def __init__(self, spec: BatchSpec, fingerprint: str) -> None:
        self._settings = msgspec.msgpack.encode((spec, fingerprint))
        self._actor: Any = None
        self._stopped = False

    def start(self) -> None:
        """See `LocalWorker`."""
        if self._stopped:
            raise PromptForgeError("the run was stopped")
        self._kill()  # an actor that does not answer would keep its CPUs from the next
        # No restarts by Ray: the run makes new actors, and counts the deaths that a row causes.
        actor = _ray().remote(ShardServer).options(num_cpus=CPUS_PER_ACTOR, max_restarts=0)
        self._actor = actor.remote(self._settings)
        begun = self._actor.refusal.remote()
        if not _ray().wait([begun], timeout=MAX_ACTOR_START_SECONDS)[0]:
            raise PromptForgeError(
                f"Ray began no worker within {MAX_ACTOR_START_SECONDS:g} s: see `ray status`; give"
                " fewer --workers, or run the same command again later: it goes on"
            )
        refusal = self._get(begun)
        if refusal:
            raise PromptForgeError(refusal)

    def render(self, task: bytes) -> bytes:
        """See `LocalWorker`."""
        return bytes(self._get(self._actor.render.remote(task)))

    def stop(self) -> None:
        """See `LocalWorker`."""
        self._stopped = True
        self._kill()

    close = stop

    def _get(self, reference: Any) -> Any:
        exceptions = _ray().exceptions
        try:
            return _ray().get(reference, timeout=MAX_ANSWER_SECONDS)
        except exceptions.RayTaskError:  # raised inside of the actor: no death
            raise
        except exceptions.RayError as error:
            raise WorkerDied(str(error).strip().partition("\n")[0]) from None

    def _kill(self) -> None:
        if self._actor is not None:
            with contextlib.suppress(Exception):  # it has gone already, or Ray has
                _ray().kill(self._actor)


Worker = LocalWorker | RayWorker


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        message = f"the engine ray needs Ray, which is not installed: {pip_install('ray')}"
        raise OptionError(message, option="engine") from None
    if tuple(map(int, ray.__version__.split(".")[:2])) < MIN_RAY_VERSION:
        message = f"Ray {ray.__version__} is too old: 2.54 or later is needed"
        raise OptionError(message, option="engine")
    return ray
