"""A run: the parts of the input that are not done go through workers into a folder; of all parts comes the product."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ..errors import OptionError, nearest, quote
from ..folders import Folders
from ..options import Options
from ..writing import clean
from . import products, reading
from . import spec as specs
from .crew import Crew, Job, work
from .local import LocalWorker
from .parts import Parts, Summary
from .places import Manifest, Place, Report
from .providers import PROVIDERS, ProviderFiles
from .reading import Part
from .spec import CONTEXT, Spec

PART_ROWS = 500
"""Rows of a part, which is what a killed run loses at most for each worker: some tenths of a second of work."""
ENGINES = ("local", "ray")


class Progress(msgspec.Struct, frozen=True):
    """How far a run is."""

    rows: int
    """Rows that are done, by this run or before."""
    kept: int
    """Those of them that were done before."""
    errors: int
    """Those of them that have no result."""
    bytes: int
    """Of their input."""
    total: int | None
    """Bytes of the whole input; None where that is not known."""


def run(
    input: str | os.PathLike[str] | Iterable[Mapping[str, Any]],  # noqa: A002  the word for it on the command line
    output: str | os.PathLike[str],
    *,
    to: str = CONTEXT,
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
    part_rows: int = PART_ROWS,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Report:
    """Render every request of `input`; results come to `output` in the order of the input, whatever the workers.

    `input`: a file of JSON Lines or Parquet, `-`, or mappings. `output`: a file that ends in `.jsonl` or `.parquet`,
    beside which the folder `OUTPUT.batch` holds what is done so far; or a folder that holds all. `to`: `context`, a
    shape of `Renderer.prompt`, or `openai-batch openai-responses-batch anthropic-batch`, which take a `model` and in
    `body` what each request has besides. `options` are those of the vocabulary; a row's own win.

    A run that ended, in whatever way, goes on when it is called again: what is done is known by its content. `retry`:
    rows without a result are done again. `limit`: of so many rows at most. `max_errors`: it ends when more rows fail.
    `workers`: processes; as many as there are processors. `engine`: `local`, or `ray`: actors on the cluster at
    `address`, or on one of its own. `progress` is called after each part.

    Raises `PromptForgeError` for what is wrong with all rows; a single one never ends a run.
    """
    started = time.perf_counter()
    shape = PROVIDERS[to].shape if to in PROVIDERS else to
    spec = specs.make(shape, profile, templates, profiles, workspace, attack, options)
    chosen, made_of = specs.check(spec), specs.made_of(spec)
    place = Place(Path(output), ".jsonl")
    reading.check(input, place.results)
    product = _product(to, place, model, dict(body or {}), chosen)
    ground = specs.ground(made_of)
    if engine not in ENGINES:
        raise OptionError(
            f"there is no engine {quote(engine)}{nearest(engine, ENGINES)}", option="engine"
        )
    count = workers or os.cpu_count() or 1
    crew = _workers(engine, spec, ground, address, count)
    before = place.read()
    asked = msgspec.json.encode([to, model, body]).decode()
    with closing(Parts(place.parts)) as parts:
        clean(place.folder)
        clean(place.results.parent, place.results.name)
        if not before or (before.made_of, before.product) != (made_of, asked):
            place.write(Manifest(made_of=made_of, product=asked))
        course = _Course(parts, ground, retry, max_errors, reading.weigh(input), progress)
        complete = course.run(reading.parts(reading.rows(input), part_rows, limit), crew, count)
        changed = _changed(before, made_of) if parts.outdated else ()
        report = Report(
            rows=course.rows, errors=course.errors, kept=course.kept, tokens=course.tokens,
            changed=(*changed, *(["what rows name"] if course.moved else [])), complete=complete,
        )  # fmt: skip
        if complete:
            report = _finish(report, parts, place, product, made_of, asked, before, limit)
        return msgspec.structs.replace(report, seconds=time.perf_counter() - started)


@dataclass
class _Course:
    """What a run has done so far."""

    parts: Parts
    ground: str
    retry: bool
    max_errors: int | None
    total: int | None
    progress: Callable[[Progress], None] | None
    rows: int = field(default=0, init=False)
    kept: int = field(default=0, init=False)
    errors: int = field(default=0, init=False)
    tokens: int = field(default=0, init=False)
    bytes: int = field(default=0, init=False)
    moved: bool = field(default=False, init=False)
    """Whether what some row names is not as an earlier run found it."""

    def run(self, pieces: Iterable[Part], crew: Crew, count: int) -> bool:
        """Do what is not done; return False when too many rows failed."""
        with closing(work(self._jobs(pieces), crew, count)) as outcomes:
            for job, rendered in outcomes:
                if rendered is None:
                    assert job.done is not None
                    self._note(job, job.done, kept=True)
                else:
                    self.moved |= job.done is not None
                    self._note(job, self.parts.put(job.part, job.key, rendered), kept=False)
                if self._failed():
                    return False
        return not self._failed()

    def _jobs(self, pieces: Iterable[Part]) -> Iterator[Job]:
        for part in pieces:
            key = part.key(self.ground)
            done = self.parts.find(part, key)
            if done is None or (self.retry and done.errors):
                yield Job(part, key)
            elif done.references:  # whether what they name has changed is seen where it is read
                yield Job(part, key, done)
            else:
                self._note(Job(part, key), done, kept=True)
            if self._failed():
                return

    def _note(self, job: Job, summary: Summary, *, kept: bool) -> None:
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


def _finish(
    report: Report,
    parts: Parts,
    place: Place,
    product: products.Product,
    made_of: dict[str, str],
    asked: str,
    before: Manifest | None,
    limit: int | None,
) -> Report:
    """Return the report with the files of the product, which are written unless they are there already."""
    if limit is None:
        parts.drop_others()
    state = parts.state()
    if (
        before
        and before.report
        and (before.state, before.product) == (state, asked)
        and place.holds(before.report)
    ):
        return msgspec.structs.replace(
            report,
            errors=before.report.errors,
            files=before.report.files,
            errors_file=before.report.errors_file,
        )
    place.write(Manifest(made_of=made_of, product=asked))  # what was there is being replaced
    files, errors = products.write(product, parts.bodies(), place.errors)
    report = msgspec.structs.replace(
        report,
        errors=errors,
        files=tuple(map(str, files)),
        errors_file=str(place.errors) if errors else None,
    )
    place.write(Manifest(made_of=made_of, product=asked, state=state, report=report))
    return report


def _product(
    to: str, place: Place, model: str | None, body: dict[str, Any], chosen: Options
) -> products.Product:
    if to in PROVIDERS:
        if place.is_file:
            name = place.results.name
            raise OptionError(
                f"{to} writes several files: the output is a folder, so no name such as {quote(name)}"
            )
        return ProviderFiles(place.folder, PROVIDERS[to], model, body, chosen)
    if place.results.suffix.lower() == ".parquet":
        return products.Parquet(place.results)
    return products.JsonLines(place.results)


def _workers(engine: str, spec: Spec, ground: str, address: str | None, count: int) -> Crew:
    """Return what gives the maker of workers, once a worker is needed."""
    if engine == "ray":
        from . import on_ray

        return on_ray.actors(spec, ground, address, count)
    if address is not None:
        raise OptionError("an address is for the engine ray", option="address")
    return nullcontext(lambda: LocalWorker(spec, ground))


def _changed(before: Manifest | None, made_of: dict[str, str]) -> tuple[str, ...]:
    """Return why there are parts of an earlier run that are of no use."""
    if before is None:
        return ()
    other = tuple(name for name, value in made_of.items() if before.made_of.get(name) != value)
    return other or (
        ("input",) if before.state else ("input or options",)
    )  # a killed run may have changed these
