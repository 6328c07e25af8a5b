"""What commands that render have in common: where items come from, which options hold, and which renderer it is."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
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
    """Add the flags that name sources, those of all options (of a `whole` prompt or a context), and `-q`."""
    function = click.option(
        "-q", "--quiet", is_flag=True, help="Say only what is a warning or worse."
    )(function)
    function = option_flags(function, whole=whole)
    for decorate in reversed(_SOURCES):
        function = decorate(function)
    return function


class Request(NamedTuple):
    """What a command line asks for."""

    wanted: Wanted
    """Where the items are to come from."""
    options: dict[str, Any]
    """Options of the job file and, over them, of the flags."""
    profile: str | None
    folders: dict[str, Any]
    quiet: bool
    diagnostics: Diagnostics
    """What was said while the job file was read, and then while the items are."""
    job: Job
    """The job file; one that says nothing where there is none."""

    def renderer(self) -> Renderer:
        """Return the renderer with the profile and the folders that are asked for."""
        from ..prompting.renderer import Renderer

        return Renderer(profile=self.profile, **self.folders)

    def gather(self) -> list[Item]:
        """Return the items, read now."""
        from ..sources.knowledge import gather

        return gather(self.wanted, self.diagnostics)

    def render(
        self, renderer: Renderer, items: list[Item], *, said: Collection[Diagnostic] = ()
    ) -> Result:
        """Return the result, and print on standard error what there is to be said of it and has not been `said`."""
        try:
            result = renderer.render(items, before=tuple(self.diagnostics), **self.options)
        except StrictError as error:
            say(error.diagnostics)
            raise
        say((d for d in result.warnings if d not in said), quiet=self.quiet)
        return result


def read(items: tuple[str, ...], given: Mapping[str, Any]) -> Request:
    """Return what the arguments `items` and the flags `given` ask for; nothing but a job file is read."""
    given, diagnostics = dict(given), Diagnostics()
    job = _job(given["job"], diagnostics)
    options = _job_options(job.options, job.lines, given["job"])
    wanted = _wanted(items, given, job, options)
    if wanted.search is not None:
        options.setdefault("query", wanted.search.query)
    flags = options_of(given)
    for name, value in flags.items():  # a flag is checked at once; a job file has been
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
    return 5 if any(d.code.startswith("PF4") and d.severity == "error" for d in said) else 0


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
    if not paths and not records and search is None and not any(lists.values()):
        if given.get("piped"):  # standard input is something else
            pass
        elif sys.stdin is None or sys.stdin.isatty():
            if not given.get("may_be_empty"):
                raise click.UsageError(
                    "nothing to render: name a file of items, pipe one in, or give --file, --doc, --man, --search"
                )
        else:
            paths = ["-"]
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
    """Return what is looked for: what the flags say, and for what they leave open what the job says."""
    from ..sources.searching import Search

    said = job.search
    query = said.query if words is None and said is not None else words
    if query is not None and not query.strip():
        raise click.UsageError("--search wants words to look for")
    if query is None:
        if within:
            raise click.UsageError("--in says where to search; --search says what for")
        return None
    return Search(query, within or (said.paths if said is not None else (".",)))


def _job_options(options: dict[str, Any], lines: Any, path: str) -> dict[str, Any]:
    """Return the options of a job, each checked with its line; `profile` and `attack` stand beside them."""
    checked = {}
    for name, value in options.items():
        if name in ("profile", "attack"):
            if not isinstance(value, str):
                raise ItemError(
                    f"{name}: expected a text", where=f"{path}:{lines.get((name,), 1)}", field=name
                )
            checked[name] = value
        elif name not in VOCABULARY and name not in VOCABULARY.elsewhere:
            from ..sources.jobs import KEYS

            near = nearest(str(name), {*VOCABULARY, *KEYS})
            where = f"{path}:{lines.get((name,), 1)}"
            raise ProfileError(
                f"unknown option {quote(str(name))}{near}", where=where, option=str(name)
            )
        else:
            checked[name] = VOCABULARY.check(
                name, value, lambda word: f"{path}:{lines.get((word,), 1)}"
            )
    return checked
