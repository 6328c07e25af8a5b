"""Run a batch: render the shards that are not done yet, then write the results of all shards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..config.options import Options
from ..errors import OptionError, quote, suggest_name
from ..files import Folders, remove_unfinished
from .requests import Shard, check_input, input_bytes, read_rows, split_shards
from .result_files import BATCH_SERVICES, JsonLinesWriter, OutputWriter, ParquetWriter, RequestFiles
from .result_files import write_output as write_product
from .spec import CONTEXT_ONLY, BatchSpec, check_spec, fingerprint_of, hash_inputs, make_spec
from .store import OutputPaths, RunManifest, RunReport, ShardStore, ShardSummary
from .workers import LocalWorker, ShardJob, WorkerSource, render_shards

SHARD_ROWS = 500
"""Rows of a shard: the most that a killed worker loses, some tenths of a second of work."""

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


def run(
    input: str | os.PathLike[str] | Iterable[Mapping[str, Any]],
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
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> RunReport:
    """Render every request of `input` into `output`, in the order of the input.

    - `input`: a file of JSON Lines or Parquet, `-` for standard input, or mappings.
    - `output`: a file `*.jsonl` or `*.parquet`, with its state in the folder `OUTPUT.batch`; or a
      folder for everything.
    - `to`: `context`, a shape of `Renderer.prompt`, or a batch service: `openai-batch`,
      `openai-responses-batch`, `anthropic-batch`. A batch service needs a `model`; `body` holds
      more keywords for each of its requests.
    - `options`: as in `Renderer`; a row's own options win. `workspace` holds the files rows name.
    - `engine`: `local` for processes of this machine, or `ray` for actors on the cluster at
      `address` (without one, Ray on this machine). `workers`: their number; default, one a CPU.
    - `limit`: rows read at most. `max_errors`: end when more rows fail. `retry`: do failed rows
      again. `part_rows`: rows per shard. `progress`: called after each shard.

    Call it again after any kind of end, and it goes on: a finished shard is known by its inputs.

    Raises `PromptForgeError` for settings that no row can use; a single row never ends a run.

        report = run("requests.jsonl", "results.jsonl", to="openai", max_tokens=4000)
    """
    started = time.perf_counter()
    shape = BATCH_SERVICES[to].shape if to in BATCH_SERVICES else to
    spec = make_spec(shape, profile, templates, profiles, workspace, attack, options)
    chosen, inputs = check_spec(spec), hash_inputs(spec)
    place = OutputPaths(Path(output), ".jsonl")
    check_input(input, place.results)
    product = _product(to, place, model, dict(body or {}), chosen)
    fingerprint = fingerprint_of(inputs)
    if engine not in ENGINES:
        message = f"there is no engine {quote(engine)}{suggest_name(engine, ENGINES)}"
        raise OptionError(message, option="engine")
    count = workers or os.cpu_count() or 1
    crew = _workers(engine, spec, fingerprint, address, count)
    target = _Target(place, product, inputs, msgspec.json.encode([to, model, body]).decode())
    before = place.read()
    with closing(ShardStore(place.parts)) as parts:
        remove_unfinished(place.folder)
        remove_unfinished(place.results.parent, place.results.name)
        if not before or (before.made_of, before.product) != (inputs, target.asked):
            target.write_manifest()
        tally = _Tally(parts, fingerprint, retry, max_errors, input_bytes(input), progress)
        complete = tally.run(split_shards(read_rows(input), part_rows, limit), crew, count)
        changed = _changed(before, inputs) if parts.outdated else ()
        if tally.files_changed:
            changed += ("what rows name",)
        report = RunReport(
            rows=tally.rows, errors=tally.errors, kept=tally.kept, tokens=tally.tokens,
            changed=changed, complete=complete,
        )  # fmt: skip
        if complete:
            if limit is None:
                parts.drop_others()
            report = target.finish(report, parts, before)
        return msgspec.structs.replace(report, seconds=time.perf_counter() - started)


@dataclass
class _Tally:
    """A run at work, and its figures so far."""

    parts: ShardStore
    fingerprint: str
    retry: bool
    max_errors: int | None
    total: int | None
    progress: Callable[[Progress], None] | None
    rows: int = field(default=0, init=False)
    kept: int = field(default=0, init=False)
    errors: int = field(default=0, init=False)
    tokens: int = field(default=0, init=False)
    bytes: int = field(default=0, init=False)
    files_changed: bool = field(default=False, init=False)
    """True once a file that some row names differs from the one an earlier run read."""

    def run(self, shards: Iterable[Shard], crew: WorkerSource, count: int) -> bool:
        """Render all shards that are not done; return False when too many rows failed."""
        with closing(render_shards(self._jobs(shards), crew, count)) as outcomes:
            for job, rendered in outcomes:
                if rendered is None:
                    assert job.done is not None
                    self._note(job, job.done, kept=True)
                else:
                    self.files_changed |= job.done is not None
                    self._note(job, self.parts.put(job.part, job.key, rendered), kept=False)
                if self._failed():
                    return False
        return not self._failed()

    def _jobs(self, shards: Iterable[Shard]) -> Iterator[ShardJob]:
        for part in shards:
            key = part.key(self.fingerprint)
            done = self.parts.find(part, key)
            if done is None or (self.retry and done.errors):
                yield ShardJob(part, key)
            elif done.references:
                # Its rows name files, which may have changed: only a worker can tell, by reading.
                yield ShardJob(part, key, done)
            else:
                self._note(ShardJob(part, key), done, kept=True)
            if self._failed():
                return

    def _note(self, job: ShardJob, summary: ShardSummary, *, kept: bool) -> None:
        self.parts.keep(job.part, job.key, summary)
        self.rows += summary.rows
        self.kept += summary.rows if kept else 0
        self.errors += summary.errors
        self.tokens += summary.tokens
        self.bytes += job.part.size
        if self.progress:
            self.progress(Progress(self.rows, self.kept, self.errors, self.bytes, self.total))

    def _failed(self) -> bool:
        return self.max_errors is not None and self.errors > self.max_errors


class _Target(NamedTuple):
    """The output files of a run, and the inputs that the manifest records for them."""

    place: OutputPaths
    product: OutputWriter
    made_of: dict[str, str]
    asked: str

    def write_manifest(self, state: str = "", report: RunReport | None = None) -> None:
        manifest = RunManifest(made_of=self.made_of, product=self.asked, state=state, report=report)
        self.place.write(manifest)

    def finish(self, report: RunReport, parts: ShardStore, before: RunManifest | None) -> RunReport:
        """Write the output files, unless an earlier run wrote the same; return the whole report."""
        state = parts.state()
        same = before is not None and (before.state, before.product) == (state, self.asked)
        earlier = before.report if before and same else None
        if earlier and self.place.holds(earlier):
            return msgspec.structs.replace(
                report, errors=earlier.errors, files=earlier.files, errors_file=earlier.errors_file
            )
        # A manifest without state first: killed amid the writing, the next run writes them again.
        self.write_manifest()
        files, errors = write_product(self.product, parts.bodies(), self.place.errors)
        report = msgspec.structs.replace(report, errors=errors, files=tuple(map(str, files)))
        if errors:
            report = msgspec.structs.replace(report, errors_file=str(self.place.errors))
        self.write_manifest(state, report)
        return report


def _product(
    to: str, place: OutputPaths, model: str | None, body: dict[str, Any], chosen: Options
) -> OutputWriter:
    if to in BATCH_SERVICES:
        if place.is_file:
            message = f"{to} writes several files: the output is a folder"
            raise OptionError(f"{message}, so no name such as {quote(place.results.name)}")
        return RequestFiles(place.folder, BATCH_SERVICES[to], model, body, chosen)
    if place.results.suffix.lower() == ".parquet":
        return ParquetWriter(place.results)
    return JsonLinesWriter(place.results)


def _workers(
    engine: str, spec: BatchSpec, fingerprint: str, address: str | None, count: int
) -> WorkerSource:
    """Return a context that gives the maker of workers; nothing starts before it is entered."""
    if engine == "ray":
        from . import ray as on_ray

        return on_ray.ray_workers(spec, fingerprint, address, count)
    if address is not None:
        raise OptionError("an address is for the engine ray", option="address")
    return nullcontext(lambda: LocalWorker(spec, fingerprint))


def _changed(before: RunManifest | None, inputs: dict[str, str]) -> tuple[str, ...]:
    """Name the inputs that differ from those of an earlier run."""
    if before is None:
        return ()
    other = tuple(name for name, value in inputs.items() if before.made_of.get(name) != value)
    if other:
        return other
    # The manifest of a killed run holds this run's options, not those of its old shards.
    return ("input",) if before.state else ("input or options",)
