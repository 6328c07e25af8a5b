"""`promptforge batch`: many requests at once, to be ended and continued at any moment."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from ..batch.places import Report
from ..batch.providers import PROVIDERS
from ..batch.running import ENGINES, PART_ROWS, Progress, run
from ..batch.spec import CONTEXT
from ..prompting.shapes import SHAPES
from ..yamltext import load
from .flags import folders_of, option_flags, options_of
from .output import write_json


@click.command("batch")
@click.argument("source", metavar="INPUT")
@click.option(
    "-o",
    "--output",
    metavar="OUTPUT",
    required=True,
    help="results.jsonl, results.parquet, or a folder.",
)
@click.option(
    "--to", type=click.Choice([CONTEXT, *SHAPES, *PROVIDERS]), default=CONTEXT, show_default=True,
    help="What each row becomes: a context, a whole prompt, or a request in files for a batch service.",
)  # fmt: skip
@click.option("--model", metavar="NAME", help="The LLM that a batch service is to ask.")
@click.option(
    "--body", metavar="YAML", help="What each request has besides, such as '{temperature: 0}'."
)
@click.option(
    "-j",
    "--workers",
    metavar="N",
    type=click.IntRange(1),
    help="Processes [default: one a processor].",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="local",
    show_default=True,
    help="Where they run.",
)
@click.option(
    "--address", metavar="ADDRESS", help="A Ray cluster's; without it Ray runs on this machine."
)
@click.option("--limit", metavar="N", type=click.IntRange(0), help="Take no more rows than that.")
@click.option(
    "--max-errors", metavar="N", type=click.IntRange(0), help="End when more rows fail than that."
)
@click.option("--retry", is_flag=True, help="Do rows again that failed in an earlier run.")
@click.option("--part-rows", metavar="N", type=click.IntRange(1), default=PART_ROWS, show_default=True,
              help="Rows that are done, and after a kill done again, as one.")  # fmt: skip
@click.option(
    "--workspace", metavar="DIR", default=".", show_default=True, help="What rows name lies inside."
)
@click.option(
    "--attack", metavar="PATH", help="Where techniques are: a STIX 2.1 bundle, a folder, or JSON."
)
@option_flags
@click.option("-q", "--quiet", is_flag=True, help="Show no progress and no summary.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(
    source: str, output: str, body: str | None, quiet: bool, as_json: bool, **given: Any
) -> int:
    """Render every request of INPUT, JSON Lines or Parquet (`-`: JSON Lines on standard input).

    A row is what a job file is: items, or names of what to show, with options of its own; besides these an `id`, a
    `profile`, and for whole prompts `system`, `instructions`, `user` and `history`. A row that fails is a record in
    errors.jsonl. Ended in whatever way, the same command goes on where it was.
    """
    names = (
        "to",
        "model",
        "workers",
        "engine",
        "address",
        "limit",
        "max_errors",
        "retry",
        "part_rows",
        "workspace",
    )
    asked = {name: given[name] for name in (*names, "attack", "profile")}
    options = options_of(given) | ({"on_error": "raise"} if given["strict"] else {})
    extra = load(body, "--body") if body else {}
    if not isinstance(extra, dict):
        raise click.UsageError("--body: expected keys and values, such as '{temperature: 0}'")
    folders = folders_of(given)
    with _bar(quiet) as progress:
        try:
            report = run(
                source, Path(output), body=extra, progress=progress, **asked, **folders, **options
            )
        except KeyboardInterrupt:
            click.echo(
                "\npromptforge: stopped; what is done is kept, the same command goes on", err=True
            )
            raise
    if as_json:
        write_json(msgspec.to_builtins(report))
    if not quiet:
        _summary(report)
    tolerated = given["max_errors"] or 0
    return 0 if report.complete and report.errors <= tolerated else 1


@contextlib.contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Give what shows progress on a terminal: share of the input, time left, rows a second, errors."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    import time

    started = time.perf_counter()
    bar: Any = None

    def show(progress: Progress) -> None:
        nonlocal bar
        if bar is None:
            length = progress.total or 0
            bar = click.progressbar(
                length=length, file=sys.stderr, item_show_func=str, show_pos=False
            )
            bar.__enter__()
        rate = (progress.rows - progress.kept) / (time.perf_counter() - started)
        said = f"{progress.rows:,} rows, {rate:,.0f} a second"
        errors = f", {progress.errors:,} failed" if progress.errors else ""
        bar.update(progress.bytes - bar.pos if progress.total else 0, said + errors)

    try:
        yield show
    finally:
        if bar is not None:
            bar.__exit__(None, None, None)


def _summary(report: Report) -> None:
    if report.changed:
        _say(f"{', '.join(report.changed)} changed since an earlier run, so rows were done again")
    kept = f", {report.kept:,} of them by an earlier run" if report.kept else ""
    done = report.rows - report.kept
    rate = f", {done / report.seconds:,.0f} a second" if done and report.seconds else ""
    _say(f"{_rows(report.rows)}{kept}, {report.tokens:,} tokens, {report.seconds:,.1f} s{rate}")
    if not report.complete:
        _say(f"ended: {_rows(report.errors)} failed, more than --max-errors; what is done is kept")
    elif report.errors:
        _say(f"{_rows(report.errors)} failed: {report.errors_file}")
    for file in report.files[:5]:
        _say(f"results: {file}")
    if len(report.files) > 5:
        _say(f"results: {len(report.files) - 5:,} files more")


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _say(text: str) -> None:
    click.echo(f"promptforge: {text}", err=True)
