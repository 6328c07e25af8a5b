"""Read the items, options and renderer that a command line asks for.

The flags that several commands take, made from the one list of options.

Read the texts and the history of a whole prompt from flags and a job file.

`promptforge trust`: allow the templates and profiles that came with a project.
"""

from __future__ import annotations

import contextlib
import os
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..authoring.trust import PROJECT_FOLDER, PROJECT_KINDS, find_project, trust_state
from ..config.options import OPTION_VOCABULARY, PROMPT_OPTIONS, Options
from ..config.schema import Rule
from ..errors import (
    Diagnostics,
    ItemError,
    ProfileError,
    PromptForgeError,
    StrictError,
    quote,
    suggest_name,
)
from ..prompts.messages import Message, read_history
from ..sources.item_files import load_messages
from ..sources.workspace import read_named
from .complete import COMPLETIONS, complete_profile
from .output import print_diagnostics, printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..errors import Diagnostic
    from ..model import Item, Result
    from ..prompts.prompt import Prompt, Renderer
    from ..sources.gather import SourceRequest
    from ..sources.jobs import Job
    from ..sources.search import Search

_WORDS = {
    "trusted": "trusted as it is",
    "changed": "not used, since something changed after it was trusted",
    "unknown": "not used, since nobody has trusted it",
}


def trusted_folders(workspace: str, diagnostics: Diagnostics | None) -> dict[str, list[Path]]:
    """Return the trusted folders of a project; a diagnostic names those that are not used."""
    try:
        project = find_project(workspace)
        if project is None:
            return {}
        state = trust_state(project)
        if state == "trusted":
            return {kind: project.folders(kind) for kind in PROJECT_KINDS}
        message = f"{len(project.files)} templates and profiles in it are {_WORDS[state]}"
    except PromptForgeError as error:
        message = f"{error}; nothing in it is used"
    if diagnostics is not None:
        way_out = f"`promptforge trust {printable(workspace)}` lists and trusts them"
        diagnostics.add("PF706", f"{message}; {way_out}", where=PROJECT_FOLDER)
    return {}


Command = Callable[..., Any]

_PATTERNS = frozenset({"paths"})
"""Options with values that may hold a comma."""

_FOLDERS = (("templates", "PROMPTFORGE_TEMPLATES"), ("profiles", "PROMPTFORGE_PROFILES"))


class _Value(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """A value of an option, checked by the same rule as in a profile."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.name = "|".join(rule.choices) or "text"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        if self.rule.choices:
            return f"[{self.name}]"
        kind = _base(self.rule.shape)
        return {int: "N", float: "X"}.get(kind, "NAME" if self.rule.name in COMPLETIONS else "TEXT")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        known: Iterable[str] = self.rule.choices
        if complete := COMPLETIONS.get(self.rule.name):
            known = complete(ctx, param, incomplete)
        return [CompletionItem(name) for name in known if name.startswith(incomplete)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        kind = _base(self.rule.shape)
        if typing.get_origin(kind) is dict and value != "none":
            from ..yaml_reader import load_yaml as load  # late: only a mapping is worth its import

            return load(value, f"--{self.rule.name.replace('_', '-')}")
        if kind in (int, float) and value != "none":
            # A number that is none goes on as text: the rule refuses it in its own words.
            with contextlib.suppress(ValueError):
                return kind(value.replace("_", ""))
        return value


def _base(shape: Any) -> Any:
    if typing.get_origin(shape) is typing.Annotated:
        return typing.get_args(shape)[0]
    return shape


def option_flags(function: Command, *, whole: bool = False) -> Command:
    """Add one flag for each option: `max_tokens` → `--max-tokens`, `headers` → `--[no-]headers`.

    The options of whole prompts get flags only with `whole`.
    """
    for name in reversed(
        [name for name in OPTION_VOCABULARY if whole or name not in PROMPT_OPTIONS]
    ):
        rule = OPTION_VOCABULARY.rules[name]
        flag = "--" + name.replace("_", "-")
        default = getattr(Options(), name)
        settings: dict[str, Any] = {"default": None}
        if _base(rule.shape) is bool:
            flag = f"{flag}/--no-{flag[2:]}"
            default = ("no", "yes")[default]
        else:
            settings |= {"type": _Value(rule), "multiple": _takes_many(rule)}
        settings["help"] = _help(rule, default)
        function = click.option(flag, name, **settings)(function)
    function = click.option(
        "--strict",
        is_flag=True,
        help="Fail (exit 1, nothing on standard output) where there is anything to warn of.",
    )(function)
    return profile_flags(function)


def _takes_many(rule: Rule) -> bool:
    return typing.get_origin(_base(rule.shape)) is tuple


def _help(rule: Rule, default: object) -> str:
    if rule.name in _PATTERNS:
        return f"{rule.doc} For several, repeat the flag; a comma is part of a pattern."
    if _takes_many(rule):
        return f"{rule.doc} For several, repeat the flag, or separate them by commas."
    if default in (None, ""):
        return rule.doc
    return f"{rule.doc} [default: {default}]"


def profile_flags(function: Command) -> Command:
    """Add `--profile`, `--templates` and `--profiles`."""
    for name, variable in reversed(_FOLDERS):
        function = click.option(
            f"--{name}",
            multiple=True,
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help=f"A folder of your own {name}, before the shipped ones; also {variable}.",
        )(function)
    return click.option(
        "--profile",
        "-p",
        metavar="NAME",
        shell_complete=complete_profile,
        help="A profile's name, or its .yaml file.",
    )(function)


def take_folders(
    given: dict[str, Any], workspace: str = os.curdir, diagnostics: Diagnostics | None = None
) -> dict[str, Any]:
    """Take the folders out of the flags; add those of the environment and of a trusted workspace."""
    found = {}
    project: dict[str, list[Path]] = {}
    if os.path.isdir(os.path.join(workspace, ".promptforge")):
        from .inputs import trusted_folders  # late: most workspaces hold nothing to trust

        project = trusted_folders(workspace, diagnostics)
    for name, variable in _FOLDERS:
        listed = [Path(part) for part in os.environ.get(variable, "").split(os.pathsep) if part]
        for folder in listed:
            if not folder.is_dir():
                raise click.UsageError(f"{variable}: there is no folder {quote(str(folder))}")
        found[name] = [*given.pop(name, ()), *listed, *project.get(name, ())]
    return found


def or_local_folders(folders: dict[str, Any]) -> dict[str, Any]:
    """Return the folders; where a kind has none, ./templates or ./profiles if it is there."""
    return {name: listed or [Path(name)] * Path(name).is_dir() for name, listed in folders.items()}


def given_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the flags set, by name."""
    found = {}
    for name in OPTION_VOCABULARY:
        value = given.get(name)
        if value is None or value == ():
            continue
        if isinstance(value, tuple):
            value = list(value)
            if name not in _PATTERNS:
                value = [word.strip() for each in value for word in each.split(",")]
        found[name] = value
    return found


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

    wanted: SourceRequest
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
        from ..prompts.prompt import Renderer

        return Renderer(profile=self.profile, **self.folders)

    def gather(self) -> list[Item]:
        """Read the items and return them."""
        from ..sources.gather import gather

        return gather(self.wanted, self.diagnostics)

    def render(
        self, renderer: Renderer, items: list[Item], *, said: Collection[Diagnostic] = ()
    ) -> Result:
        """Render; print the diagnostics that have not been `said` to standard error."""
        try:
            result = renderer.render(items, before=tuple(self.diagnostics), **self.options)
        except StrictError as error:
            print_diagnostics(error.diagnostics)
            raise
        print_diagnostics((d for d in result.warnings if d not in said), quiet=self.quiet)
        return result


def read_request(items: tuple[str, ...], given: Mapping[str, Any]) -> Request:
    """Return the request of the arguments `items` and the flags `given`; reads only a job file."""
    given, diagnostics = dict(given), Diagnostics()
    job = _job(given["job"], diagnostics)
    options = _job_options(job.options, job.lines, given["job"])
    wanted = _wanted(items, given, job, options)
    if wanted.search is not None:
        options.setdefault("query", wanted.search.query)
    flags = given_options(given)
    for name, value in flags.items():  # the options of a job file have been checked
        OPTION_VOCABULARY.check(name, value)
    options |= flags
    if given["strict"]:
        options["on_error"] = "raise"
    profile = options.pop("profile", None)
    folders = take_folders(given, wanted.workspace, diagnostics)
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
) -> SourceRequest:
    from ..sources.gather import SourceRequest as Wanted

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
    from ..sources.search import Search

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
        elif name in OPTION_VOCABULARY or name in OPTION_VOCABULARY.elsewhere:
            checked[name] = OPTION_VOCABULARY.check(name, value, where)
        else:
            from ..sources.jobs import JOB_KEYS as KEYS

            near = suggest_name(str(name), {*OPTION_VOCABULARY, *KEYS})
            message = f"unknown option {quote(str(name))}{near}"
            raise ProfileError(message, where=where(name), option=str(name))
    return checked


_TEXTS = {"system": "system", "instructions": "instructions", "user": "question"}
"""Flag → its word in a job file."""

_FLAGS = (
    click.option("--system", metavar="TEXT", help="The system text."),
    click.option(
        "--system-file", metavar="FILE", help="A file that holds it; - is standard input."
    ),
    click.option("--instructions", metavar="TEXT", help="Instructions, beside the context."),
    click.option("--instructions-file", metavar="FILE", help="A file that holds them, or -."),
    click.option(
        "--user",
        metavar="TEXT",
        help="The question; it is the query too, where --query gives no other.",
    ),
    click.option("--user-file", metavar="FILE", help="A file that holds it, or -."),
    click.option(
        "--history",
        metavar="FILE",
        help="Messages of any provider, or -: JSON, JSON Lines or YAML.",
    ),
)


class PromptTexts(NamedTuple):
    """Texts and history around the context: of the flags, else of the job file."""

    texts: dict[str, str | None]
    """`system`, `instructions` and `user`."""
    history: list[Any] | None
    """Messages as they were given, in the shape of any provider."""
    messages: list[Message] | None
    """The same, read."""


def prompt_flags(function: Command) -> Command:
    """Add the flags that give the parts."""
    for decorate in reversed(_FLAGS):
        function = decorate(function)
    return function


def is_stdin_taken(items: tuple[str, ...], given: dict[str, Any]) -> bool:
    """Return true where a text or the history comes from standard input.

    Raises a usage error where two things are to come from there.
    """
    named = [f"--{flag}-file" for flag in _TEXTS if given[f"{flag}_file"] == "-"]
    named += ["--history"] * (given["history"] == "-")
    readers = ["ITEMS"] * items.count("-") + named
    if len(readers) > 1:
        both = " and ".join(readers)
        raise click.UsageError(f"only one input can be standard input: {both} name it")
    return bool(named)


def take_texts(given: dict[str, Any]) -> dict[str, str | None]:
    """Take the flags of the texts out of `given`; return text by flag."""
    return {flag: _text(given.pop(flag), given.pop(f"{flag}_file"), flag) for flag in _TEXTS}


def read_prompt_texts(
    texts: dict[str, str | None], history: str | None, request: Request
) -> PromptTexts:
    """Return `texts` and the messages of the file `history`; the job fills in for both."""
    said = dict(texts)
    for flag, text in texts.items():
        if text is None:
            said[flag] = request.job.texts.get(_TEXTS[flag])
    given = request.job.history
    if history is not None:
        given = history
    if given is None:
        return PromptTexts(said, None, None)
    diagnostics = request.diagnostics
    if isinstance(given, str):
        records, locate = load_messages(
            given, diagnostics=diagnostics, workspace=request.wanted.workspace
        )
        return PromptTexts(said, list(records), read_history(records, given, diagnostics, locate))
    return PromptTexts(said, list(given), read_history(given, "history", diagnostics))


def _text(text: str | None, path: str | None, flag: str) -> str | None:
    """Return a text given as it is or in a file; a file's last line end is dropped."""
    if path is None:
        return text
    if text is not None:
        raise click.UsageError(f"--{flag} and --{flag}-file both give the text; leave one out")
    diagnostics = Diagnostics()
    found, _ = read_named(path, workspace=None, diagnostics=diagnostics)
    print_diagnostics(diagnostics)
    return found.removesuffix("\n")
