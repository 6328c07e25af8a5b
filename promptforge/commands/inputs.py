"""Read the items, options and renderer that a command line asks for."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..diagnostics import Diagnostics
from ..errors import ItemError, ProfileError, StrictError, nearest, quote
from ..options import VOCABULARY
from .flags import Command, folders_of, option_flags, options_of
from .output import say

if TYPE_CHECKING:  # a shell that completes a name, and --help, need no engine
    from ..diagnostics import Diagnostic
    from ..items import Item
    from ..prompting.prompts import Prompt
    from ..prompting.renderer import Renderer
    from ..results import Result
    from ..sources.jobs import Job
    from ..sources.knowledge import Wanted
    from ..sources.searching import Search

_MANY: dict[str, Any] = {"multiple": True}
_SOURCES = (
    click.option(
        "--file",
        "files",
        metavar="PATH[:START[-END]]",
        **_MANY,
        help="A file or a pattern such as 'src/**/*.py'.",
    ),
    click.option(
        "--doc",
        "documents",
        metavar="PATH",
        **_MANY,
        help="A document; its front matter becomes metadata.",
    ),
    click.option(
        "--man", "man_pages", metavar="NAME[.SECTION]", **_MANY, help="A man page of this machine."
    ),
    click.option(
        "--technique", "techniques", metavar="T1003[.001]", **_MANY, help="An ATT&CK technique."
    ),
    click.option(
        "--attack",
        metavar="PATH",
        help="Where techniques are: a STIX 2.1 bundle, a folder, or JSON.",
    ),
    click.option(
        "--search",
        metavar="WORDS",
        help="Passages of files that answer; also the --query, unless one is given.",
    ),
    click.option(
        "--in",
        "within",
        metavar="PATH",
        **_MANY,
        help="Where to search: files, folders, patterns [default: .]",
    ),
    click.option(
        "--from",
        "plugged",
        metavar="NAME:ARGUMENT",
        **_MANY,
        help="What a source finds that a plug-in brings.",
    ),
    click.option(
        "--job", metavar="FILE", help="A job in YAML or XML: options, and lists of what to show."
    ),
    click.option(
        "--workspace",
        metavar="DIR",
        default=".",
        show_default=True,
        help="Relative paths stay inside.",
    ),
    click.option(
        "--context-lines",
        metavar="N",
        type=click.IntRange(0),
        default=0,
        help="Lines to add around a range.",
    ),
)


def input_flags(function: Command, *, whole: bool = False) -> Command:
    """Add the flags of the sources, of all options and `-q`; `whole`: also those of prompts."""
    function = click.option(
        "-q", "--quiet", is_flag=True, help="Say only what is a warning or worse."
    )(function)
    function = option_flags(function, whole=whole)
    for decorate in reversed(_SOURCES):
        function = decorate(function)
    return function


class Request(NamedTuple):
    """Everything that a command line asks for."""

    wanted: Wanted
    """Sources of the items."""
    options: dict[str, Any]
    """Options of the job file, and over them those of the flags."""
    profile: str | None
    folders: dict[str, Any]
    quiet: bool
    diagnostics: Diagnostics
    """Diagnostics of the job file and of the items, as they are read."""
    job: Job
    """The job file; an empty one where none is given."""

    def renderer(self) -> Renderer:
        """Return a renderer with this profile and these folders."""
        from ..prompting.renderer import Renderer

        return Renderer(profile=self.profile, **self.folders)

    def gather(self) -> list[Item]:
        """Read the items and return them."""
        from ..sources.knowledge import gather

        return gather(self.wanted, self.diagnostics)

    def render(
        self, renderer: Renderer, items: list[Item], *, said: Collection[Diagnostic] = ()
    ) -> Result:
        """Render; print the diagnostics that have not been `said` to standard error."""
        try:
            result = renderer.render(items, before=tuple(self.diagnostics), **self.options)
        except StrictError as error:
            say(error.diagnostics)
            raise
        say((d for d in result.warnings if d not in said), quiet=self.quiet)
        return result


def read(items: tuple[str, ...], given: Mapping[str, Any]) -> Request:
    """Return the request of the arguments `items` and the flags `given`; reads only a job file."""
    given, diagnostics = dict(given), Diagnostics()
    job = _job(given["job"], diagnostics)
    options = _job_options(job.options, job.lines, given["job"])
    wanted = _wanted(items, given, job, options)
    if wanted.search is not None:
        options.setdefault("query", wanted.search.query)
    flags = options_of(given)
    for name, value in flags.items():  # the options of a job file have been checked
        VOCABULARY.check(name, value)
    options |= flags
    if given["strict"]:
        options["on_error"] = "raise"
    profile = options.pop("profile", None)
    folders = folders_of(given, wanted.workspace, diagnostics)
    return Request(
        wanted, options, given["profile"] or profile, folders, given["quiet"], diagnostics, job
    )


def exit_code(*results: Result | Prompt) -> int:
    """Return 5 where a template failed and the shipped one stood in for it, else 0."""
    said = [d for result in results for d in result.warnings]
    failed = any(d.code.startswith("PF4") and d.severity == "error" for d in said)
    return 5 * failed


def _job(path: str | None, diagnostics: Diagnostics) -> Job:
    from ..sources.jobs import Job, load_job

    if not path:
        return Job()
    return load_job(path, diagnostics=diagnostics)


def _wanted(
    items: tuple[str, ...], given: dict[str, Any], job: Job, options: dict[str, Any]
) -> Wanted:
    from ..sources.knowledge import Wanted

    lists = {
        name: list(given.pop(name))
        for name in ("files", "documents", "man_pages", "techniques", "plugged")
    }
    paths = list(items)
    search = _search(given.pop("search"), given.pop("within"), job)
    lists["files"][:0] = job.files
    lists["documents"][:0] = job.documents
    lists["man_pages"][:0] = job.man_pages
    lists["techniques"][:0] = job.mitre_techniques
    lists["plugged"][:0] = job.plugged
    paths[:0] = [entry for entry in job.items if isinstance(entry, str)]
    records = [entry for entry in job.items if not isinstance(entry, str)]
    named = paths or records or search is not None or any(lists.values())
    if not named and not given.get("piped"):  # `piped`: standard input holds a part of the prompt
        if sys.stdin is not None and not sys.stdin.isatty():
            paths = ["-"]
        elif not given.get("may_be_empty"):
            raise click.UsageError(
                "nothing to render: name a file of items, pipe one in,"
                " or give --file, --doc, --man, --search"
            )
    return Wanted(
        items=paths,
        records=records,
        search=search,
        attack=given.pop("attack") or options.pop("attack", None),
        workspace=given.pop("workspace"),
        context_lines=given.pop("context_lines"),
        **lists,
    )


def _search(words: str | None, within: tuple[str, ...], job: Job) -> Search | None:
    """Return the search of the flags; the job file fills in for flags that are not given."""
    from ..sources.searching import Search

    paths: Sequence[str] = (".",)
    if job.search is not None:
        paths = job.search.paths
        if words is None:
            words = job.search.query
    if words is None:
        if within:
            raise click.UsageError("--in names the place to search; --search gives the words")
        return None
    if not words.strip():
        raise click.UsageError("--search needs words to look for")
    return Search(words, within or paths)


def _job_options(options: dict[str, Any], lines: Any, path: str) -> dict[str, Any]:
    """Return a job's options, checked, with `profile` and `attack`; errors name the line."""

    def where(word: str) -> str:
        return f"{path}:{lines.get((word,), 1)}"

    checked = {}
    for name, value in options.items():
        if name in ("profile", "attack"):
            if not isinstance(value, str):
                raise ItemError(f"{name}: expected a text", where=where(name), field=name)
            checked[name] = value
        elif name in VOCABULARY or name in VOCABULARY.elsewhere:
            checked[name] = VOCABULARY.check(name, value, where)
        else:
            from ..sources.jobs import KEYS

            near = nearest(str(name), {*VOCABULARY, *KEYS})
            message = f"unknown option {quote(str(name))}{near}"
            raise ProfileError(message, where=where(name), option=str(name))
    return checked
