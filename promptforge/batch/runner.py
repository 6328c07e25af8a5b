"""Run a batch: render the shards that are not done yet, then write the results of all shards."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ..errors import OptionError, quote, suggest_name
from ..files import Folders, is_url, remove_unfinished
from .requests import BatchInput, Shard, Source, split_shards
from .rows import (
    CONTEXT_ONLY,
    ERROR_PREFIX,
    BatchSpec,
    check_spec,
    fingerprint_of,
    hash_inputs,
    make_spec,
)
from .store import (
    BATCH_SERVICES,
    OutputPaths,
    RequestFiles,
    RequestSettings,
    ResultWriter,
    RunManifest,
    RunReport,
    ShardStore,
    ShardSummary,
    json_lines_writer,
    parquet_writer,
    write_results,
)
from .workers import LocalWorker, ShardJob, WorkerSource, ray_workers, render_shards

SHARD_ROWS = 500
"""Rows of a shard: the most that a killed worker loses, some tenths of a second of work."""
FIRST_FAILED_ROWS = 100
"""Rows that fail for one reason, before any other has a result, after which a run ends."""
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
    to: str = CONTEXT_ONLY,
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

    - `input`: a file of JSON Lines (also `.gz` and `.zst`) or Parquet, a folder or a pattern of
      such files, by path or URL; `-` for standard input; mappings; or a table of pandas, polars or
      anything with the Arrow interface.
    - `output`: a file `*.jsonl` or `*.parquet`, with its state in the folder `OUTPUT.batch`; or a
      folder for everything.
    - `to`: `context`, a shape of `Renderer.prompt`, or a batch service: `openai-batch`,
      `openai-responses-batch`, `anthropic-batch`, `gemini-batch`, `bedrock-batch`. A batch service
      but Bedrock's needs a `model`;
      `body` holds more keywords for each of its requests.
    - `options`: as in `Renderer`; a row's own options win. `workspace` holds the files rows name.
    - `engine`: `local` for processes of this machine, or `ray` for actors on the cluster at
      `address` (without one, Ray on this machine). `workers`: their number; default, one a CPU.
    - `limit`: rows read at most. `max_errors`: end when more rows fail; without it, a run ends if
      its first 100 rows all fail for one reason. `retry`: do failed rows again. `part_rows`: rows
      per shard. `progress`: called at the start and after each shard.
    - `max_tokens_per_file`: tokens of all prompts in one file for a batch service, as its queue
      takes them.

    Call it again after any kind of end, and it goes on: a finished shard is known by its inputs.

    Raises `PromptForgeError` for settings that no row can use; a single row never ends a run.

        report = run("requests.jsonl", "results.jsonl", to="openai", max_tokens=4000)
    """
    started = time.perf_counter()
    if is_url(output):
        raise OptionError(f"{output} is a URL; copy it with fsspec, as `promptforge batch` does")
    shape = BATCH_SERVICES[to].shape if to in BATCH_SERVICES else to
    spec = make_spec(shape, profile, templates, profiles, workspace, attack, options)
    chosen, inputs = check_spec(spec), hash_inputs(spec)
    paths, given = OutputPaths(Path(output)), BatchInput(input)
    given.check_output(paths.results)
    requests = RequestSettings(model, dict(body or {}), chosen, max_tokens_per_file)
    write = _result_writer(to, paths, requests)
    if engine not in ENGINES:
        message = f"there is no engine {quote(engine)}{suggest_name(engine, ENGINES)}"
        raise OptionError(message, option="engine")
    fingerprint = fingerprint_of(inputs)
    count = workers or os.cpu_count() or 1
    source = _worker_source(engine, spec, fingerprint, address, count)
    asked = msgspec.json.encode([to, model, body, max_tokens_per_file]).decode()
    results = _Results(paths, write, RunManifest(made_of=inputs, product=asked), given)
    before = paths.read_manifest()
    with closing(ShardStore(paths.shards)) as store:
        # A killed run leaves half-written files; the lock says that it has gone.
        remove_unfinished(paths.folder)
        remove_unfinished(paths.results.parent, paths.results.name)
        if not before or (before.made_of, before.product) != (inputs, asked):
            paths.write_manifest(results.manifest)
        tally = _Tally(store, fingerprint, retry, max_errors, given.bytes, progress)
        complete = tally.run(split_shards(given.rows(), part_rows, limit), source, count)
        changed = _changed(before, inputs) if store.outdated else ()
        if tally.files_changed:
            changed += ("what rows name",)
        report = RunReport(
            rows=tally.rows, errors=tally.errors, kept=tally.kept, tokens=tally.tokens,
            changed=changed, complete=complete, reason=tally.reason, left_out=given.left_out,
        )  # fmt: skip
        if complete:
            if limit is None:
                store.drop_others()
            report = results.finish(report, store, before)
        return replace(report, seconds=time.perf_counter() - started)


@dataclass
class _Tally:
    """A run at work, and its figures so far."""

    store: ShardStore
    fingerprint: str
    retry: bool
    max_errors: int | None
    total: int | None
    progress: Callable[[Progress], None] | None
    rows: int = 0
    kept: int = 0
    errors: int = 0
    tokens: int = 0
    bytes: int = 0
    files_changed: bool = False
    """True once a file that some row names differs from the one an earlier run read."""
    reason: str = ""
    """The first failed row, in words."""
    bare_reason: str | None = None
    """The reason that all rows so far share, without the particulars of each; None for none."""
    ended: bool = False
    """True where rows are left to be read, and need not be."""

    def run(self, shards: Iterable[Shard], source: WorkerSource, count: int) -> bool:
        """Render all shards that are not done; return False when too many rows failed."""
        self._show()
        with closing(render_shards(self._jobs(shards), source, count)) as outcomes:
            for job, rendered in outcomes:
                if rendered is not None:
                    self.files_changed |= job.done is not None
                    self._count(job, self.store.add(job.shard, job.key, rendered))
                elif job.done:
                    self._count_kept(job, job.done)
                if self._failed():
                    return False
        return not self.ended and not self._failed()

    def _jobs(self, shards: Iterable[Shard]) -> Iterator[ShardJob]:
        for shard in shards:
            if self._all_alike():
                self.ended = True
                return
            key = shard.key(self.fingerprint)
            done = self.store.find(shard, key)
            if done is None or (self.retry and done.errors):
                yield ShardJob(shard, key)
            elif done.references:
                # Its rows name files, which may have changed: only a worker can tell, by reading.
                yield ShardJob(shard, key, done)
            else:
                self._count_kept(ShardJob(shard, key), done)
            if self._failed():
                return

    def _count_kept(self, job: ShardJob, summary: ShardSummary) -> None:
        self.kept += summary.rows
        self._count(job, summary)

    def _count(self, job: ShardJob, summary: ShardSummary) -> None:
        self.store.count(job.shard, job.key, summary)
        if summary.errors and (not self.reason or self.bare_reason):
            lines = self.store.body(job.shard, job.key).splitlines()
            self._read_errors([line for line in lines if line.startswith(ERROR_PREFIX)])
        if summary.errors < summary.rows:
            self.bare_reason = None
        self.rows += summary.rows
        self.errors += summary.errors
        self.tokens += summary.tokens
        self.bytes += job.shard.size
        self._show()

    def _read_errors(self, lines: list[Any]) -> None:
        for record in map(msgspec.json.decode, lines):
            said = f"{record['error']}: {record['message']}"
            bare = _PARTICULARS.sub("", said)
            if not self.reason:
                self.reason = f"line {record['line']}: {said}"
                self.bare_reason = None if self.rows else bare
            if bare != self.bare_reason:
                self.bare_reason = None
                return

    def _all_alike(self) -> bool:
        alike = self.max_errors is None and self.bare_reason is not None
        return alike and self.rows >= FIRST_FAILED_ROWS

    def _show(self) -> None:
        if self.progress:
            self.progress(Progress(self.rows, self.kept, self.errors, self.bytes, self.total))

    def _failed(self) -> bool:
        return self.max_errors is not None and self.errors > self.max_errors


class _Results(NamedTuple):
    """The result files of a run, and the manifest without them."""

    paths: OutputPaths
    write: ResultWriter
    manifest: RunManifest
    given: BatchInput

    def finish(self, report: RunReport, store: ShardStore, before: RunManifest | None) -> RunReport:
        """Write the files, unless an earlier run wrote the same; return the whole report."""
        state = store.state()
        same = before and (before.state, before.product) == (state, self.manifest.product)
        if before and same and before.files:
            damaged = self.paths.damaged(before.files)
            if not damaged:
                return self._report(report, before)
            report = replace(report, repaired=tuple(map(str, damaged)))
        # A manifest without state first: killed amid the writing, the next run writes them again.
        self.paths.write_manifest(self.manifest)
        written, errors = write_results(
            self.write, store.bodies(), self.paths.errors, self.given.place
        )
        files = {self.paths.name(path): stamp for path, stamp in written.items()}
        manifest = replace(self.manifest, state=state, errors=errors, files=files)
        self.paths.write_manifest(manifest)
        return self._report(report, manifest)

    def _report(self, report: RunReport, manifest: RunManifest) -> RunReport:
        errors_file = str(self.paths.errors)
        files = [str(self.paths.path(name)) for name in manifest.files]
        if errors_file in files:
            files.remove(errors_file)
            report = replace(report, errors_file=errors_file)
        return replace(report, errors=manifest.errors, files=tuple(files))


def _result_writer(to: str, paths: OutputPaths, requests: RequestSettings) -> ResultWriter:
    if to in BATCH_SERVICES:
        if paths.is_file:
            message = f"{to} writes several files: the output is a folder"
            raise OptionError(f"{message}, so no name such as {quote(paths.results.name)}")
        return RequestFiles(paths.folder, BATCH_SERVICES[to], requests).write
    if requests.max_tokens_per_file is not None:
        message = "max_tokens_per_file is for the files of a batch service"
        raise OptionError(f"{message}: --to {', '.join(BATCH_SERVICES)}")
    if paths.results.suffix.lower() == ".parquet":
        return parquet_writer(paths.results)
    return json_lines_writer(paths.results)


def _worker_source(
    engine: str, spec: BatchSpec, fingerprint: str, address: str | None, count: int
) -> WorkerSource:
    # Nothing starts before the context is entered: all rows may be done.
    if engine == "ray":
        return ray_workers(spec, fingerprint, address, count)
    if address is not None:
        raise OptionError("an address is for the engine ray", option="address")
    return nullcontext(lambda: LocalWorker(spec, fingerprint))


def _changed(before: RunManifest | None, inputs: dict[str, str]) -> tuple[str, ...]:
    if before is None:
        return ()
    other = tuple(name for name, value in inputs.items() if before.made_of.get(name) != value)
    if other:
        return other
    # The manifest of a killed run holds this run's options, not those of its old shards.
    return ("input",) if before.state else ("input or options",)
