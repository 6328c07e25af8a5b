"""`promptforge batch`: render a file of requests, with progress on a terminal and a summary."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from ..batch import ENGINES, FIRST_FAILED_ROWS, SHARD_ROWS, Progress, run
from ..batch.rows import CONTEXT_ONLY, BatchInput
from ..batch.store import BATCH_SERVICES, RunReport
from ..files import is_url
from ..files.access import note_read_path
from ..files.marks import refuse_input
from ..files.stores import check_url, copy_to_url
from ..prompts.providers import SHAPES
from ..sources.workspace import is_stream
from ..text.format import plural
from ..yaml_reader import load_yaml
from .flags import GroupedCommand, follow_flag, json_flag, option_flags, workspace_flag
from .inputs import take_options
from .output import print_message, progress_line, typed_access, write_json

MAX_FILES_NAMED = 5


def _read_columns(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for pair in ",".join(given).split(",") if given else ():
        key, equals, column = map(str.strip, pair.partition("="))
        if not (key and equals and column):
            raise click.BadParameter(f"expected KEY=COLUMN, such as user=question, found {pair!r}")
        if key in columns:
            raise click.BadParameter(f"two columns for {key!r}; name one")
        columns[key] = column
    return columns


@click.command("batch", cls=GroupedCommand)
@click.argument("source", metavar="INPUT")
@click.option(
    "-o", "--output", metavar="OUTPUT", required=True,
    help="results.jsonl, results.parquet, or a folder.",
)  # fmt: skip
@click.option(
    "--to", type=click.Choice([CONTEXT_ONLY, *SHAPES, *BATCH_SERVICES]),
    help="Product of each row: context, prompt, or a batch service's request"
    " [default: text of a prompt if the row asks a question, else context].",
)  # fmt: skip
@click.option(
    "--columns", metavar="KEY=COLUMN,…", multiple=True, callback=_read_columns,
    help="Your own columns, and no others: id=qid,user=question,items=contexts.",
)  # fmt: skip
@click.option("--model", metavar="NAME", help="The LLM for a batch service.")
@click.option("--body", metavar="YAML", help="More keys of each request: '{temperature: 0}'.")
@click.option(
    "-j", "--workers", metavar="N", type=click.IntRange(1),
    help="Processes [default: one a processor].",
)  # fmt: skip
@click.option(
    "--engine", type=click.Choice(ENGINES), default="local", show_default=True,
    help="Place of the workers.",
)  # fmt: skip
@click.option("--address", metavar="ADDRESS", help="A Ray cluster [default: this machine].")
@click.option("--limit", metavar="N", type=click.IntRange(0), help="Take at most N rows.")
@click.option(
    "--max-errors", metavar="N", type=click.IntRange(0),
    help="End after more than N failed rows [default: if the first shards have no result].",
)  # fmt: skip
@click.option("--retry", is_flag=True, help="Render rows again that failed in an earlier run.")
@click.option(
    "--part-rows", metavar="N", type=click.IntRange(1), default=SHARD_ROWS, show_default=True,
    help="Rows of one shard; a kill loses unfinished shards.",
)  # fmt: skip
@click.option(
    "--max-tokens-per-file", metavar="N", type=click.IntRange(1),
    help="Tokens of the prompts in one file for a batch service's queue.",
)  # fmt: skip
@workspace_flag
@click.option("--attack", metavar="PATH", help="Techniques: STIX 2.1 bundle, folder, or JSON.")
@option_flags
@follow_flag
@click.option("-q", "--quiet", is_flag=True, help="Show no progress and no summary.")
@json_flag
def batch_command(
    source: str, output: str, body: str | None, quiet: bool, as_json: bool, **given: Any
) -> int:
    """Render every request of INPUT: JSON Lines, a list in .json, CSV (also .gz, .zst) or Parquet;
    a file, a folder or a pattern in quotes; `-` is standard input, with rows of any of the first.

    A row has the keys of a job file: items or names of sources, and options. It may have an `id`,
    a `profile`, and for whole prompts `system`, `instructions`, `user` and `history`. With
    --columns it has columns of your own; items may then be texts, hits or a store's response. A
    row that fails is a record in errors.jsonl. After a stop or a kill, the same command goes on.
    INPUT and OUTPUT may be URLs, such as s3://bucket/rows.jsonl (extra `remote`); shards stay here.
    """
    extra: object = {}
    if body:
        extra = load_yaml(body, "--body")
    if not isinstance(extra, dict):
        raise click.UsageError("--body: expected keys and values, such as '{temperature: 0}'")
    here = _local_output(output, given["attack"])
    _check_input(source)
    run_options = {name: given[name] for name in inspect.signature(run).parameters.keys() & given}
    profile, options, folders, *_ = take_options(given, given["workspace"])
    run_options |= {"profile": profile, **folders, **options}
    with _progress_bar(quiet) as progress:
        try:
            report = run(source, here, body=extra, progress=progress, **run_options)
        except KeyboardInterrupt:
            print_message("stopped; finished rows are kept, the same command goes on")
            raise
    if is_url(output):
        report = _copy_results(report, output.rstrip("/").rpartition("/")[0])
    if as_json:
        write_json(msgspec.to_builtins(report))
    if not quiet:
        for line in _summary(report, given["max_errors"]):
            print_message(line)
    return int(not report.complete or report.errors > (given["max_errors"] or 0))


def _check_input(source: str) -> None:
    """Raise `ItemError` for a file of the input behind a link that leads out."""
    if is_url(source) or is_stream(source):
        return
    for name in BatchInput(source).names:
        typed_access().locate(name)


def _local_output(output: str, attack: str | None) -> Path:
    """Return the place on this machine where the results are written.

    Raises `ItemError` where that is behind a link, or an input; a usage error for a URL of no file.
    """
    place = output.rstrip("/")
    if is_url(output):
        folder, _, name = place.rpartition("/")
        if not is_url(folder):
            example = f"{output}/results.jsonl"
            raise click.UsageError(f"{output}: name a file or folder in it, as {example}")
        check_url(folder)  # now, and not when everything is rendered
        return Path(name)
    for name in (place, f"{place}.batch"):
        typed_access().locate_output(name)
    note_read_path(attack or "")
    refuse_input(output, output)
    return Path(output)


def _copy_results(report: RunReport, url: str) -> RunReport:
    """Copy the result files to the folder at `url`; shards stay, so the same command goes on."""
    local = [*report.files, *filter(None, [report.errors_file])]
    files = {Path(path).as_posix(): Path(path) for path in local}
    copied = copy_to_url(files, url)
    files_copied = tuple(copied[: len(report.files)])
    return replace(report, files=files_copied, errors_file=report.errors_file and copied[-1])


@contextlib.contextmanager
def _progress_bar(quiet: bool) -> Iterator[Callable[[Progress], None]]:
    started = time.perf_counter()
    with progress_line(after=0.1, speaks=not quiet) as say:

        def show(progress: Progress) -> None:
            # Rows of an earlier run cost no time now.
            rate = (progress.rows - progress.kept) / (time.perf_counter() - started)
            line = f"{progress.rows:,} rows, {rate:,.0f} a second"
            if progress.total and progress.bytes and rate:
                # The number of rows is known only at the end, that of bytes from the beginning.
                left = (progress.total / progress.bytes - 1) * progress.rows / rate
                share = f"{progress.bytes / progress.total:.0%}"
                line = f"{share}, {timedelta(seconds=round(left))} left: {line}"
            if progress.errors:
                line += f", {progress.errors:,} failed"
            say(line)

        yield show


def _summary(report: RunReport, max_errors: int | None) -> Iterator[str]:
    yield from _name_files("left out", report.left_out)
    if report.changed:
        changed = ", ".join(report.changed)
        yield f"{changed} changed since an earlier run, so rows were rendered again"
    line = plural(report.rows, "row", "rows")
    if report.kept:
        line += f", {report.kept:,} of them by an earlier run"
    line += f", {report.tokens:,} tokens, {report.seconds:,.1f} s"
    done = report.rows - report.kept
    if done and report.seconds:
        line += f", {done / report.seconds:,.0f} a second"
    yield line
    yield from _failures(report, max_errors)
    if report.warnings:
        from ..lint.findings import load_codes

        for code, rows in report.warnings.items():
            yield f"{code} in {plural(rows, 'row', 'rows')}: {load_codes()[code].title}"
    yield from _name_files("results", report.files)


def _name_files(lead: str, files: Sequence[str]) -> Iterator[str]:
    yield from (f"{lead}: {file}" for file in files[:MAX_FILES_NAMED])
    if len(files) > MAX_FILES_NAMED:
        yield f"{lead}: {len(files) - MAX_FILES_NAMED:,} files more"


def _failures(report: RunReport, max_errors: int | None) -> Iterator[str]:
    failed = f"{plural(report.errors, 'row', 'rows')} failed"
    if report.complete and report.errors:
        yield f"{failed}: {report.errors_file}"
    if not report.complete and max_errors is not None:
        yield f"ended: {failed}, more than --max-errors allows"
    if not report.complete and max_errors is None:
        yield f"ended: {failed}, and none of the first {FIRST_FAILED_ROWS} has a result"
    if report.reason:
        yield report.reason
    if not report.complete and max_errors is None:
        yield "correct it, or go on all the same with --max-errors N, the rows that may fail"
