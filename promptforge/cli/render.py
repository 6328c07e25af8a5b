"""`promptforge render`: sources and items in, one context text out.

`promptforge prompt`: the whole prompt, as one text or as the request of a provider.

`promptforge count`: tokens of texts, exact or approximate said.

`promptforge calibrate`: the factor by which a tokenizer that is not at hand exceeds one that is.

`promptforge batch`: many requests at once, to be ended and continued at any moment.

`promptforge preview`: a local page on which a template, a profile or the budget changes and the prompt follows.

`promptforge mcp`: a server of the Model Context Protocol, on standard input and output.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from ..authoring.calibrate import (
    ENOUGH_PAIRS,
    Calibration,
    CountedText,
    calibrate,
    load_counted_texts,
)
from ..batch.result_files import BATCH_SERVICES
from ..batch.rows import CONTEXT_ONLY
from ..batch.runner import ENGINES, SHARD_ROWS, Progress, run
from ..batch.store import RunReport
from ..config.options import OPTION_VOCABULARY
from ..config.profiles import load_profile
from ..errors import (
    Diagnostics,
    ItemError,
    OptionError,
    ProfileError,
    PromptForgeError,
    StrictError,
    TemplateError,
    quote,
    suggest_name,
)
from ..prompts.prompt import Renderer, format_prompt
from ..prompts.providers import SHAPES
from ..sources.workspace import read_named
from ..tokenizers.registry import get_tokenizer
from ..yaml_reader import load_yaml
from .complete import complete_tokenizer
from .inputs import (
    Request,
    exit_code,
    given_options,
    input_flags,
    is_stdin_taken,
    option_flags,
    profile_flags,
    prompt_flags,
    read_prompt_texts,
    read_request,
    take_folders,
    take_texts,
)
from .output import print_diagnostics, printable, write_json, write_output


@click.command("mcp")
@option_flags
def mcp_command(strict: bool, **given: Any) -> None:
    """Serve render_context, explain and list_layouts, and the layouts as prompts, to the client that started this.

    The options are what a request begins with. No file is opened for a client. Needs the extra `mcp`.
    """
    folders = take_folders(given)
    try:
        from ..integrations.mcp import make_mcp_server as server
    except ImportError as error:
        raise click.UsageError(str(error)) from None
    options = given_options(given) | ({"on_error": "raise"} if strict else {})
    server(profile=given["profile"], **folders, **options).run()


@click.command("count")
@click.argument("files", nargs=-1)
@profile_flags
@click.option(
    "--tokenizer",
    metavar="NAME",
    shell_complete=complete_tokenizer,
    help="What counts; else the profile's.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def count_command(
    files: tuple[str, ...], tokenizer: str | None, as_json: bool, **given: Any
) -> None:
    """Count the tokens of FILES, or of standard input (`-`)."""
    folders = take_folders(given)
    if tokenizer is None:
        profile = load_profile(given["profile"] or "default", folders["profiles"])
        tokenizer = profile.options.get("tokenizer", OPTION_VOCABULARY.rules["tokenizer"].default)
    counter = get_tokenizer(tokenizer)
    if not files and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError("nothing to count: name a file, or pipe a text in")
    diagnostics = Diagnostics()
    rows = []
    for path in files or ("-",):
        text, _ = read_named(path, workspace=None, diagnostics=diagnostics)
        rows.append({"file": path, "tokens": counter.count(text), "chars": len(text)})
    print_diagnostics(diagnostics)
    total = sum(row["tokens"] for row in rows)  # type: ignore[misc]
    if as_json:
        write_json(
            {"tokenizer": counter.name, "exact": counter.exact, "files": rows, "tokens": total}
        )
        return
    for row in rows:
        click.echo(f"{row['tokens']:>9,}  {row['file']}")
    if len(rows) > 1:
        click.echo(f"{total:>9,}  total")
    click.echo(
        f"promptforge: {'exact' if counter.exact else 'approximate'}, by {counter.name}", err=True
    )


@click.command("calibrate")
@click.argument("pairs", metavar="PAIRS")
@click.option(
    "--base", metavar="NAME", default="o200k_base", help="What counts here. [default: o200k_base]"
)
@click.option(
    "--strict", is_flag=True, help="Fail (exit 1) where a line is bad or the pairs are too few."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def calibrate_command(pairs: str, base: str, strict: bool, as_json: bool) -> None:
    """Work out a factor from texts whose true counts are known, for a tokenizer that is not at hand.

    PAIRS is a file of lines such as {"text": "...", "tokens": 7}; `-` is standard input. The true counts come from a
    provider's counting endpoint, or from the usage that its answers report.
    """
    diagnostics, where = Diagnostics(), "<stdin>" if pairs == "-" else printable(pairs)
    found = load_counted_texts(pairs, diagnostics=diagnostics, workspace=os.curdir)
    if not found:
        print_diagnostics(diagnostics)
        raise ItemError(
            'no pair in it: expected lines such as {"text": "…", "tokens": 7}', where=where
        )
    result = calibrate(((pair.text, pair.tokens) for pair in found), base=base)
    worst = found[result.worst]
    if not result.enough:
        message = f"{result.pairs} {'pair is' if result.pairs == 1 else 'pairs are'} few: it takes {ENOUGH_PAIRS} to be 95 %"
        diagnostics.add(
            "PF502", f"{message} sure that 95 % of texts like them take no more", where=where
        )
    print_diagnostics(diagnostics)
    if strict and (grave := [d for d in diagnostics if d.severity != "info"]):
        raise StrictError(
            f"{len(grave)} to warn of, the first {grave[0].code}", diagnostics=tuple(grave)
        )
    if as_json:
        facts: dict[str, Any] = msgspec.to_builtins(result)
        write_json({**facts, "worst": worst.where, "tokenizer": result.tokenizer})
    else:
        write_output(_told(result, worst), None)


def _told(found: Calibration, worst: CountedText) -> str:
    fitted = f"true = {found.slope:.3f} * {found.base} {'-' if found.intercept < 0 else '+'} {abs(found.intercept):.1f}"
    lines = [
        f"pairs   {found.pairs:,}",
        f"ratio   mean {found.mean:.3f}, spread {found.spread:.3f}, from {found.least:.3f} to {found.largest:.3f}",
        f"line    {fitted}",
        f"worst   {printable(worst.where)}: {worst.tokens:,} tokens, {len(worst.text):,} characters",
    ]
    if found.constant:
        lines.append(
            f"frame   {found.constant} tokens of each text are taken for the frame of its message: take them off"
        )
        lines.append("        max_tokens, or put them into reserve")
    lines.append(
        f"more    one text like these in about {found.pairs + 1:,} takes more than the factor says"
    )
    return "\n".join([*lines, "", f"tokenizer: {found.tokenizer}", ""])


@click.command("render")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@input_flags
@click.option(
    "--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of the text."
)
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output.")
def render_command(items: tuple[str, ...], as_json: bool, output: str | None, **given: Any) -> int:
    """Turn items and named sources into one context text.

    ITEMS are files of items (JSON, JSON Lines, YAML); `-` is standard input, and so is no argument at all when
    something is piped in.
    """
    request = read_request(items, given)
    renderer = request.renderer()
    result = request.render(renderer, request.gather())
    if as_json:
        write_json(result.to_dict(), output)
    else:
        write_output(result.text, output)
    return exit_code(result)


@click.command("prompt")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@prompt_flags
@click.option(
    "--to",
    metavar=f"[{'|'.join(SHAPES)}]",
    default="text",
    show_default=True,
    help="What comes out, and for whom.",
)
@functools.partial(input_flags, whole=True)
@click.option("--json", "as_json", is_flag=True, help="Print the whole account as JSON.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output.")
def prompt_command(
    items: tuple[str, ...],
    history: str | None,
    to: str,
    as_json: bool,
    output: str | None,
    **given: Any,
) -> int:
    """Make the whole prompt: what ITEMS and sources give, around it system text, instructions, history and question.

    All share the window of the profile, less its reserve. With --to text the prompt is printed, else the keywords of
    the provider's call as JSON.
    """
    if to not in SHAPES:
        raise OptionError(f"there is no shape {quote(to)}{suggest_name(to, SHAPES)}", option="to")
    is_piped = is_stdin_taken(items, {**given, "history": history})
    texts = take_texts(given)
    request = read_request(items, {**given, "may_be_empty": True, "piped": is_piped})
    around = read_prompt_texts(texts, history, request)
    loaded = request.gather()
    try:
        prompt = request.renderer().prompt(
            loaded,
            system=around.texts["system"],
            instructions=around.texts["instructions"],
            user=around.texts["user"],
            history=around.messages,
            to=to,
            before=tuple(request.diagnostics),
            **request.options,
        )
    except StrictError as error:
        print_diagnostics(error.diagnostics)
        raise
    print_diagnostics(prompt.warnings, quiet=request.quiet)
    if as_json:
        write_json(prompt.to_dict(), output)
    else:
        write_output(format_prompt(prompt), output)
    return exit_code(prompt)


@click.command("preview")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@prompt_flags
@functools.partial(input_flags, whole=True)
@click.option(
    "--port", metavar="N", type=click.IntRange(1024, 65535), help="The port; without it a free one."
)
@click.option(
    "--edit",
    is_flag=True,
    help="Let the page save templates, profiles and cases into your folders.",
)
@click.option(
    "--tests",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where it saves golden cases; without it `tests` beside the folder of your templates or profiles.",
)
def preview_command(
    items: tuple[str, ...],
    history: str | None,
    port: int | None,
    edit: bool,
    tests: Path | None,
    **given: Any,
) -> None:
    """Show what `render` and `prompt` make of the same arguments on a local page, and what an edit or a budget changes.

    The page is for this machine and this user alone: it listens to 127.0.0.1, and the link that is printed works once.
    With --edit, changes are saved into the first folder of --templates and --profiles. Ctrl-C ends it. Needs the extra
    `preview`.
    """
    try:
        from ..preview.app import run_preview
        from ..preview.session import PromptTexts, Session
    except ImportError as error:
        raise click.UsageError(
            f"the preview needs more packages ({error.name}): pip install '.[preview]'"
        ) from None
    is_piped = is_stdin_taken(items, {**given, "history": history})
    texts = take_texts(given)
    request = read_request(items, {**given, "piped": is_piped})
    around = read_prompt_texts(texts, history, request)
    if edit and not (request.folders["templates"] or request.folders["profiles"]):
        raise click.UsageError(
            "--edit needs a folder of your own to save in: --templates DIR, --profiles DIR"
        )
    with contextlib.suppress(TemplateError):  # that is said on the page
        request.renderer()
    with contextlib.suppress(ProfileError, TemplateError):
        Renderer(profile=request.profile, **request.folders, **request.options)
    loaded = request.gather()
    print_diagnostics(request.diagnostics, quiet=given["quiet"])
    run_preview(
        Session(
            loaded,
            request.profile,
            request.options,
            **request.folders,
            edit=edit,
            texts=PromptTexts(**around.texts, history=around.history),
            tests=tests,
            items_file=_only(request),
        ),
        port=port or 0,
        watched=_files(request),
        gather=lambda: _again(request),
        tell=lambda line: click.echo(f"promptforge: {line}", err=True),
    )


def _files(request: Request) -> list[Path]:
    """Return the files that items came from, as far as they are named one by one."""
    wanted = request.wanted
    named = [
        Path(wanted.workspace) / name
        for name in (*wanted.items, *wanted.documents, *wanted.files)
        if name != "-"
    ]
    return [path for path in named if path.is_file()] if "-" not in wanted.items else []


def _only(request: Request) -> Path | None:
    """Return the file that all items are from, if it is one file of items."""
    wanted = request.wanted
    lists = (
        wanted.records,
        wanted.files,
        wanted.documents,
        wanted.man_pages,
        wanted.techniques,
        wanted.plugged,
    )
    if any(lists) or wanted.search or len(wanted.items) != 1 or wanted.items[0] == "-":
        return None
    return Path(wanted.workspace, wanted.items[0]).absolute()


def _again(request: Request) -> Any:
    diagnostics = Diagnostics()
    try:
        return request._replace(diagnostics=diagnostics).gather()
    except PromptForgeError as error:
        click.echo(f"promptforge: {error}", err=True)
        return None


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
    "--to", type=click.Choice([CONTEXT_ONLY, *SHAPES, *BATCH_SERVICES]), default=CONTEXT_ONLY, show_default=True,
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
@click.option("--part-rows", metavar="N", type=click.IntRange(1), default=SHARD_ROWS, show_default=True,
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
def batch_command(
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
    options = given_options(given) | ({"on_error": "raise"} if given["strict"] else {})
    extra = load_yaml(body, "--body") if body else {}
    if not isinstance(extra, dict):
        raise click.UsageError("--body: expected keys and values, such as '{temperature: 0}'")
    folders = take_folders(given)
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


def _summary(report: RunReport) -> None:
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
