"""`promptforge render`: sources and items in, one context text out."""

from __future__ import annotations

import sys
from typing import Any

import click

from ..diagnostics import Diagnostics
from ..errors import ItemError, StrictError
from ..options import VOCABULARY
from ..rendering import Renderer
from ..results import Result
from ..sources.knowledge import Wanted, gather
from .flags import folders_of, option_flags, options_of
from .output import say, write, write_json


def _source_flags(function: Any) -> Any:
    many: dict[str, Any] = {"multiple": True}
    for decorate in reversed(
        (
            click.option(
                "--file",
                "files",
                metavar="PATH[:START[-END]]",
                **many,
                help="A file or a pattern such as 'src/**/*.py'.",
            ),
            click.option(
                "--doc", "documents", metavar="PATH", **many, help="A document; its front matter becomes metadata."
            ),
            click.option("--man", "man_pages", metavar="NAME[.SECTION]", **many, help="A man page of this machine."),
            click.option("--technique", "techniques", metavar="T1003[.001]", **many, help="An ATT&CK technique."),
            click.option(
                "--attack", metavar="PATH", help="Where techniques are: a STIX 2.1 bundle, a folder, or JSON."
            ),
            click.option("--job", metavar="FILE", help="A job in YAML or XML: options, and lists of what to show."),
            click.option(
                "--workspace", metavar="DIR", default=".", show_default=True, help="Relative paths stay inside."
            ),
            click.option(
                "--context-lines", metavar="N", type=click.IntRange(0), default=0, help="Lines to add around a range."
            ),
        )
    ):
        function = decorate(function)
    return function


@click.command("render")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@_source_flags
@option_flags
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of the text.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what is a warning or worse.")
def command(items: tuple[str, ...], **given: Any) -> int:
    """Turn items and named sources into one context text.

    ITEMS are files of items (JSON, JSON Lines, YAML); `-` is standard input, and so is no argument at all when
    something is piped in.
    """
    diagnostics = Diagnostics()
    options: dict[str, Any] = {}
    wanted = _wanted(items, given, options, diagnostics)
    options |= options_of(given)
    for name, value in options_of(given).items():  # a flag is checked at once; a job file has been
        VOCABULARY.check(name, value)
    if given["strict"]:
        options["on_error"] = "raise"
    renderer = Renderer(profile=given["profile"] or options.pop("profile", None), **folders_of(given))
    options.pop("profile", None)
    loaded = gather(wanted, diagnostics)
    try:
        result = renderer.render(loaded, before=tuple(diagnostics), **options)
    except StrictError as error:
        say(error.diagnostics)
        raise
    say(result.warnings, quiet=given["quiet"])
    if given["as_json"]:
        write_json(result.to_dict(), given["output"])
    else:
        write(result.text, given["output"])
    return _exit_code(result)


def _exit_code(result: Result) -> int:
    return 5 if any(d.code.startswith("PF4") and d.severity == "error" for d in result.warnings) else 0


def _wanted(items: tuple[str, ...], given: dict[str, Any], options: dict[str, Any], diagnostics: Diagnostics) -> Wanted:
    lists = {name: list(given.pop(name)) for name in ("files", "documents", "man_pages", "techniques")}
    records: list[object] = []
    paths = list(items)
    if given["job"]:
        from ..sources.jobs import load_job

        job = load_job(given["job"], diagnostics=diagnostics)
        options |= _job_options(job.options, job.lines, given["job"])
        lists["files"][:0] = job.files
        lists["documents"][:0] = job.documents
        lists["man_pages"][:0] = job.man_pages
        lists["techniques"][:0] = job.mitre_techniques
        paths[:0] = [entry for entry in job.items if isinstance(entry, str)]
        records = [entry for entry in job.items if not isinstance(entry, str)]
    if not paths and not records and not any(lists.values()):
        if sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError("nothing to render: name a file of items, pipe one in, or give --file, --doc, --man")
        paths = ["-"]
    return Wanted(
        items=paths,
        records=records,
        attack=given.pop("attack") or options.pop("attack", None),
        workspace=given.pop("workspace"),
        context_lines=given.pop("context_lines"),
        **lists,
    )


def _job_options(options: dict[str, Any], lines: Any, path: str) -> dict[str, Any]:
    """Return the options of a job, each checked with its line; `profile` and `attack` stand beside them."""
    checked = {}
    for name, value in options.items():
        if name in ("profile", "attack"):
            if not isinstance(value, str):
                raise ItemError(f"{name}: expected a text", where=f"{path}:{lines.get((name,), 1)}", field=name)
            checked[name] = value
        else:
            checked[name] = VOCABULARY.check(name, value, lambda word: f"{path}:{lines.get((word,), 1)}")
    return checked
