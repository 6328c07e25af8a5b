"""Read the command line: settings behind the flags, job file, sources, texts of a prompt.

`read_request` joins flags and job file into a `CommandRequest`, which gathers the items and makes
the renderer. Behind the flags stand variables of the environment, and a trusted project's file
(`take_options`); commands without options take the `profile_flags` and `take_settings` alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
import sys
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec.structs import replace

from ..config.options import OPTION_VOCABULARY
from ..errors import (
    Diagnostic,
    Diagnostics,
    ItemError,
    ProfileError,
    PromptForgeError,
    certain_correction,
    quote,
    suggest_name,
)
from ..files import is_pattern, is_url
from ..files.access import Access, StrPath, is_own_temporary, show_path
from ..files.memory import NO_CACHE_VARIABLE, close_memory, open_memory
from ..plugins import PLUGINS_VARIABLE
from ..text.format import plural
from .output import (
    check_output,
    print_diagnostics,
    print_message,
    printable,
    progress_line,
    typed_access,
)

# --help and completion need no engine: what reads items or renders is imported when it runs.
if TYPE_CHECKING:
    from ..authoring.project import Project
    from ..engine import ContextRenderer, FolderFilter, Job, Search, SourceRequest
    from ..model import Item, Result
    from ..prompts.finished import Prompt
    from ..prompts.messages import Message

from .flags import (
    FOLDER_FILTERS,
    FOLDER_VARIABLES,
    NO_CACHE_FLAG,
    OPTION_VARIABLES,
    VARIABLE_PREFIX,
    VERBOSE_FLAG,
    flag_names,
    given_options,
    read_option,
)

_Renders = typing.TypeVar("_Renders", bound="ContextRenderer")
TRUSTED_STATES = ("own", "trusted")
TRUST_STATES = {
    "own": "your own: used, whatever changes",
    "trusted": "trusted as it is",
    "changed": "not used: something changed after it was trusted",
    "unknown": "not used: nobody has trusted it",
}
_FILES_PLACE = "the input"
_JOB_KEYS = {"system": "system", "instructions": "instructions", "user": "question"}
"""Flag of a prompt's text → its key in a job file."""


# --- settings that stand behind the command line --------------------------------------------------


class JobPlace(str):
    """A place in a job file: a job is data, so what is wrong there is bad input (exit 4)."""


class Settings(NamedTuple):
    """Profile, options and folders of the environment and of a trusted project."""

    profile: str | None
    options: dict[str, Any]
    folders: dict[str, Any]
    places: dict[str, str]
    """Name of an option (or `profile`) → its flag or variable, or file and line."""
    secret_allowlist: Sequence[str] = ()


def take_settings(
    given: dict[str, Any], workspace: str = os.curdir, diagnostics: Diagnostics | None = None
) -> Settings:
    """Take the folders out of the flags; add those of the environment and a trusted project.

    The project is that of `workspace`. Diagnostics go to standard error where none are taken.
    """
    said = Diagnostics() if diagnostics is None else diagnostics
    project = _trusted_project(given, workspace, said)
    _say_unknown_variables(said)
    if diagnostics is None:
        print_diagnostics(said)
    folders: dict[str, Any] = {}
    # The order is the order of winning: what one typed, one's own machine, the project's files.
    for name, variable in FOLDER_VARIABLES.items():
        listed = [Path(part) for part in os.environ.get(variable, "").split(os.pathsep) if part]
        for folder in listed:
            if not folder.is_dir():
                raise click.UsageError(f"{variable}: there is no folder {quote(str(folder))}")
        own = [] if project is None else getattr(project, name)
        folders[name] = [*given.pop(name, ()), *listed, *own]
    if given.pop("allow_outside", False):
        folders["allow_outside"] = True
    options, places = {}, {}
    if project is not None:
        options = dict(project.settings)
        places = {name: project.where(name) for name in options}
    for name, variable in OPTION_VARIABLES.items():
        text = os.environ.get(variable)
        if text:
            options[name], places[name] = _read_variable(name, text, variable), variable
    profile = options.pop("profile", None)
    allowed = () if project is None else project.secret_allowlist
    return Settings(given.get("profile") or profile, options, folders, places, allowed)


def take_options(
    given: dict[str, Any],
    workspace: str = os.curdir,
    diagnostics: Diagnostics | None = None,
    job: tuple[dict[str, Any], dict[str, str]] = ({}, {}),
) -> Settings:
    """Take the settings, and put those of a job and then the flags over them.

    `job` has options, perhaps a `profile`, and their places. The message of an error says the place
    of a value.
    """
    settings = take_settings(given, workspace, diagnostics)
    places = {**settings.places, **job[1], **flag_names(given)}
    context = click.get_current_context(silent=True)
    if context and context.obj is not None:
        context.obj.update(places)
    options = {**settings.options, **job[0], **given_options(given)}
    named = options.pop("profile", None)
    profile = given["profile"] or named or settings.profile
    return Settings(profile, options, settings.folders, places, settings.secret_allowlist)


def _read_variable(name: str, text: str, variable: str) -> Any:
    if name == "profile":
        return text
    return OPTION_VOCABULARY.check(name, read_option(name, text, variable), lambda _: variable)


def or_local_folders(folders: dict[str, Any]) -> dict[str, Any]:
    """Return the folders; where a kind has none, ./templates or ./profiles if it is there."""
    local = {name: [Path(name)] for name in FOLDER_VARIABLES if Path(name).is_dir()}
    return folders | {name: folders[name] or local.get(name, []) for name in FOLDER_VARIABLES}


def _trusted_project(
    given: Mapping[str, Any], workspace: str, diagnostics: Diagnostics
) -> Project | None:
    """Return the project of a workspace if it is trusted; a diagnostic says where it is not."""
    from ..authoring import project as projects

    place, own, project = None, False, None
    try:
        place = projects.locate_project(workspace)
        if place is None:
            return None
        own = projects.is_own(place)
        outside = given.get("allow_outside", False)
        # No render opens what cases name; of a project that nobody trusts, they do not matter.
        cases = not own and projects.is_listed(place)
        project = projects.read_project(place, allow_outside=outside, cases=cases, named=False)
        plain = projects.plain_settings(project)
        asks = project.templates or project.profiles or project.secret_allowlist
        if plain == project.settings and not asks:
            return project  # there is nothing to trust
        state = "own" if own else projects.trust_state(project)
        if state in TRUSTED_STATES:
            return project
        message = f"the project's {plural(len(project.files), 'file is', 'files are')}"
        message += f" {TRUST_STATES[state]}; {_way_to_trust(workspace)}"
        if plain:
            message += f"; {', '.join(plain)} is used anyway, as a plain value"
        context = click.get_current_context(silent=True)
        if context and context.obj is not None:
            context.obj[UNTRUSTED] = f"the project's files are {TRUST_STATES[state]}"
            context.obj[UNTRUSTED] += f"; {_way_to_trust(workspace)}"
            context.obj[UNTRUSTED_FILES] = "\n".join(file.name for file in project.files)
        project = project._replace(settings=plain, templates=[], profiles=[], secret_allowlist=())
    except PromptForgeError as error:
        if own:
            raise
        message = f"{error}; nothing in it is used until that is corrected"
        project = None
    diagnostics.add("PF706", message, where=str(place or workspace))
    return project


UNTRUSTED = "(untrusted)"
UNTRUSTED_FILES = "(untrusted files)"
"""Keys, among the places of options: what is said of an untrusted project, and its files."""


def _way_to_trust(folder: str) -> str:
    shown = printable(shlex.quote(folder))
    way = f"`promptforge trust {shown}` lists and trusts them"
    return f"{way}, `promptforge trust --own {shown}` says that they are yours"


def require_trust(folder: StrPath, doing: str) -> None:
    """Raise a usage error where a folder belongs to a project that the user does not trust."""
    from ..authoring import project as projects

    place = projects.locate_project(folder)
    if place is None or projects.is_own(place):
        return
    state = projects.trust_state(projects.read_project(place, allow_outside=True))
    if state not in TRUSTED_STATES:
        message = f"{place}: {doing} a project that is {TRUST_STATES[state]}"
        raise click.UsageError(f"{message}; {_way_to_trust(os.fspath(folder))}")


def _say_unknown_variables(diagnostics: Diagnostics) -> None:
    known = {*OPTION_VARIABLES.values(), *FOLDER_VARIABLES.values()}
    known |= {PLUGINS_VARIABLE, NO_CACHE_VARIABLE}
    for name in sorted(os.environ):
        # Others may use the same first word, so only what must be a slip of the pen is said.
        if not name.startswith(VARIABLE_PREFIX) or name in known:
            continue
        words = {each.removeprefix(VARIABLE_PREFIX) for each in known}
        near = certain_correction(name.removeprefix(VARIABLE_PREFIX), words)
        if near:
            message = f'sets nothing; did you mean "{VARIABLE_PREFIX}{near}"?'
            diagnostics.add("PF124", message, where=printable(name))


def keep_memory(names: Iterable[str], workspace: StrPath, *, secret_scan: bool) -> None:
    """Remember until the command ends, and for the next one, what is found out about folders.

    Why that cannot be is said with `-v`. Nothing is remembered of texts that nobody searches for
    credentials.
    """
    context = click.get_current_context()
    folders = [*filter(os.path.isdir, (os.path.join(workspace, name) for name in names))]
    refused = context.meta.get(NO_CACHE_FLAG) or os.environ.get(NO_CACHE_VARIABLE)
    if refused or not folders or not secret_scan:
        return
    open_memory(folders)

    def close() -> None:
        problem = close_memory()
        if problem and context.meta.get(VERBOSE_FLAG):
            print_message(f"nothing is kept for the next run: {problem}", "note")

    context.call_on_close(close)


# --- requests -------------------------------------------------------------------------------------


class CommandRequest(NamedTuple):
    """Everything that a command line asks for."""

    wanted: SourceRequest
    options: dict[str, Any]
    """Options of the job file, and over them those of the flags."""
    profile: str | None
    folders: dict[str, Any]
    places: dict[str, str]
    """Name of an option (or `profile`) → its flag, variable, or file and line."""
    quiet: bool
    diagnostics: Diagnostics
    """Diagnostics of the job file and of the items, as they are read."""
    job: Job
    job_file: str = ""
    outputs: tuple[str, ...] = ()

    def renderer(self, kind: type[_Renders]) -> _Renders:
        """Return a renderer of a class, with this profile and these folders.

        A folder, or many files, without a query is packed as a `repository`, unless something sets
        the packing.
        """
        renderer = kind(profile=self.profile, **self.folders)
        chosen = {*self.options, *renderer.profile.options}
        if not chosen & {"packing", "query"} and self._reads_many_files():
            self.options["packing"], self.places["packing"] = "repository", _FILES_PLACE
        return renderer

    def _reads_many_files(self) -> bool:
        """Tell whether there is a folder or a pattern, or as many files as a shell makes of one."""
        from ..sources.gather import MIN_MANY_FILES
        from ..sources.text_files import is_text_source

        workspace = self.wanted.workspace
        names = [*self.wanted.items, *self.wanted.files]
        if any(os.path.isdir(os.path.join(workspace, name)) for name in names):
            return True
        texts = [name for name in self.wanted.items if is_text_source(name, workspace)]
        texts += self.wanted.files
        patterns = filter(is_pattern, texts)
        return len(texts) >= MIN_MANY_FILES or any(
            not os.path.lexists(os.path.join(workspace, name)) for name in patterns
        )

    def remember(self) -> None:
        """Use what earlier runs found out about the folders, and keep it for the next."""
        asked, scan = self.wanted, self.wanted.wanted.secret_scan
        keep_memory([*asked.items, *asked.files], asked.workspace, secret_scan=scan)

    def gather(self) -> list[Item]:
        """Read the items and return them."""
        from ..engine import gather

        with progress_line(after=1, speaks=not self.quiet) as say:
            try:
                items = gather(
                    self.wanted,
                    self.diagnostics,
                    lambda read, total: say(f"promptforge: reading {read:,} of {total:,} files"),
                )
            except ItemError as error:
                from ..sources.jobs import line_of_name

                line = line_of_name(self.job, error.where, self.wanted.workspace)
                if line is None:
                    raise
                message = f"{error.bare}; {self.job_file}:{line} names it"
                raise ItemError(message, where=error.where, field=error.field) from None
        for path in self.outputs:
            check_output(path)  # now it is known what the run reads
        return items

    def render(self, renderer: ContextRenderer, items: list[Item]) -> Result:
        """Render; print the diagnostics to standard error."""
        result = renderer.render(items, before=tuple(self.diagnostics), **self.options)
        warnings = _of_what_is_shown(result)
        if result.truncated:
            said = [each.message for each in warnings if each.code == "PF111"]
            said += self._budget_hints(result, {*self.options, *renderer.profile.options})
            warnings = [each for each in warnings if each.code != "PF111"]
            if said:
                warnings.append(Diagnostic("PF111", "info", "; ".join(said)))
        print_diagnostics(warnings, quiet=self.quiet)
        return result

    def _budget_hints(self, result: Result, chosen: set[str]) -> list[str]:
        """Return the budget that nobody asked for, and what makes room for more."""
        said = []
        if not chosen & {"max_tokens", "max_chars"}:
            said.append(f"the budget is {result.max_tokens:,} tokens")
            window = result.report.page.options.context_window
            if window:
                said[0] += f", and the window of the LLM {window:,}"
        if self.places.get("packing") == _FILES_PLACE:
            said += ["the most important files come first", '--query "…" asks for others']
        options = result.report.page.options
        # Where the characters or the window may bind, PF111 or PF114 names what has room.
        if said and options.max_chars is None and options.max_tokens != options.window_room:
            said.append("--max-tokens N or none takes more")
        return said


def read_request(
    items: tuple[str, ...],
    given: Mapping[str, Any],
    *,
    stdin_taken: bool = False,
    may_be_empty: bool = False,
    texts: Iterable[str] | None = None,
) -> CommandRequest:
    """Return the request of the arguments `items` and the flags `given`; reads only a job file.

    `stdin_taken`: standard input holds a text of the prompt, so it is not read as items. `texts`
    are the flags that gave the texts of a whole prompt, `None` for a context alone.
    """
    refuse_second_reader(_readers(items, given))
    given, diagnostics = dict(given), Diagnostics()
    job = _read_job(given, diagnostics)
    options = _job_options(job.options, job.lines, given["job"], diagnostics)
    attack = options.pop("attack", None)
    wanted = _source_request(items, given, job)
    around = _texts_around(texts, job)
    _refuse_unused(wanted)
    if not (wanted.names_any or stdin_taken):
        if _is_piped(whole=texts is not None) and not around:
            wanted = replace(wanted, items=["-"])
        elif around:
            _say_unread(around[0], diagnostics)
        elif not may_be_empty:
            raise click.UsageError(
                "nothing to render: name a file of items or a folder, pipe items in,"
                " or use --file, --doc, --man, --search"
            )
    if wanted.attack is None:
        wanted = replace(wanted, attack=attack)
    if wanted.search is not None:
        options.setdefault("query", wanted.search.query)
    if texts is None and job.texts.get("question"):  # what its prompt asks, its context answers
        options.setdefault("query", job.texts["question"])
    for name, value in given_options(given).items():  # the options of a job file have been checked
        OPTION_VOCABULARY.check(name, value)
    places: dict[str, str] = {
        name: JobPlace(f"{given['job']}:{job.lines.get((name,), 1)}") for name in job.options
    }
    # The workspace may come from a flag, so its project is known only now.
    settings = take_options(given, given["workspace"], diagnostics, (options, places))
    of_folders = replace(wanted.wanted, secret_allowlist=settings.secret_allowlist)
    wanted = replace(wanted, wanted=of_folders)
    return CommandRequest(
        wanted=wanted, options=settings.options, profile=settings.profile, job=job,
        folders=settings.folders, places=settings.places, quiet=given["quiet"],
        diagnostics=diagnostics, job_file=given["job"] or "", outputs=_outputs(given),
    )  # fmt: skip


def _refuse_unused(wanted: SourceRequest) -> None:
    """Raise a usage error for a flag about a source that nobody names: it would go unsaid."""
    from ..sources.workspace import is_stream

    if wanted.attack is not None and not wanted.techniques:
        raise click.UsageError("--attack names the collection; --technique T1003 takes one of it")
    reads = not wanted.names_any or any(map(is_stream, (*wanted.items, *wanted.files)))
    if wanted.stream_name is not None and not reads:
        raise click.UsageError("--name names standard input, which is not read; add the argument -")


def _texts_around(texts: Iterable[str] | None, job: Job) -> list[str]:
    """Return the flags and keys that gave a whole prompt more than its question."""
    if texts is None:
        return []
    found = [f"--{flag}" for flag in texts if flag != "user"]
    found += [key for key in job.texts if key != "question"]
    return [*found, *["history"] * (job.history is not None)]


def _is_piped(*, whole: bool) -> bool:
    """Tell whether standard input may hold items; /dev/null has none for a `whole` prompt."""
    if sys.stdin is None or sys.stdin.isatty():
        return False
    try:
        is_device = stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)
    except OSError:  # a stream of Python's own
        is_device = False
    return not (whole and is_device)


def _say_unread(given: str, diagnostics: Diagnostics) -> None:
    """Say that items in a pipe would not be read.

    A program that starts another often leaves it a pipe that stays open and empty, and a shell's
    `while read` its list: reading would wait for ever, or take the rest of the list.
    """
    if _is_piped(whole=True):
        message = f"not read as items, since {given} is given; the argument - reads them"
        diagnostics.add("PF115", message, where="<stdin>", severity="info")


def _of_what_is_shown(result: Result) -> list[Diagnostic]:
    """Return the warnings, but for the bytes of files that are not in the text."""
    report = result.report
    pool = report.page.candidates.pool
    paths = {item.path for number, item in enumerate(pool) if number not in report.packed.chosen}
    paths -= {pool[number].path for number in report.packed.chosen}
    return [
        each
        for each in result.warnings
        if each.code not in ("PF301", "PF303") or (each.where or "").rpartition(":")[0] not in paths
    ]


def _read_job(given: Mapping[str, Any], diagnostics: Diagnostics) -> Job:
    from ..engine import Job
    from ..sources.jobs import load_job, refuse_outside
    from ..sources.workspace import is_stream

    if not given["job"]:
        return Job()
    near: dict[str, Any] = {"diagnostics": diagnostics, "workspace": typed_access()}
    job = load_job(given["job"], options=[*OPTION_VOCABULARY], **near)
    if not given["allow_outside"]:
        path = "<stdin>" if is_stream(given["job"]) else given["job"]
        refuse_outside(job, path, given["workspace"])
    return job


def exit_code(*results: Result | Prompt) -> int:
    """Return 5 where a template failed and the shipped one stood in for it, else 0."""
    # The text is there all the same, so the exit code is all that a script would see.
    for diagnostic in (d for result in results for d in result.warnings):
        if diagnostic.code.startswith("PF4") and diagnostic.severity == "error":
            return 5
    return 0


def _source_request(items: tuple[str, ...], given: Mapping[str, Any], job: Job) -> SourceRequest:
    """Return the sources of the job file, and after them those of the flags."""
    from ..engine import FolderFilter, SourceRequest

    filters = {name: given[name] for name in FOLDER_FILTERS}
    wanted = FolderFilter(**filters, written=_written_paths(given), printed=printed_files())
    items, listed = _split_lists(items)
    files, more = _split_lists(given["files"])
    lists = [*more, *listed, *filter(None, [given["files_from"]])]
    of_lists = [name for path in lists for name in _listed_files(path, given)]
    return SourceRequest(
        items=[
            *(entry for entry in job.items if isinstance(entry, str)),
            *(name for name in items if not is_url(name)),
        ],
        urls=[name for name in items if is_url(name)],
        records=[entry for entry in job.items if not isinstance(entry, str)],
        files=[*job.files, *files, *of_lists],
        listed=len(of_lists) if len(of_lists) > 1 else 0,
        documents=[*job.documents, *given["documents"]],
        man_pages=[*job.man_pages, *given["man_pages"]],
        techniques=[*job.mitre_techniques, *given["techniques"]],
        plugged=[*job.plugged, *given["plugged"]],
        search=_search(given["search"], given["within"], job, wanted), wanted=wanted,
        attack=given["attack"], workspace=typed_access(given["workspace"]),
        context_lines=given["context_lines"], stream_name=given["stream_name"],
        git_diff=given["git_diff"], git_log=given["git_log"] or 0,
        git_changed=given["git_changed"], outputs=() if given.get("split") else _outputs(given),
    )  # fmt: skip


def _outputs(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of files that a command writes."""
    names = (given.get(flag) for flag in ("output", "html"))
    return tuple(name for name in names if name not in (None, "", "-"))


def _written_paths(given: Mapping[str, Any]) -> re.Pattern[str] | None:
    """Return a pattern of the real paths that the outputs, and the parts of `--split`, have."""
    number = r"(\.\d+)?" if given.get("split") else ""
    patterns = []
    for name in _outputs(given):
        stem, suffix = map(re.escape, os.path.splitext(os.path.realpath(name)))
        patterns.append(f"{stem}{number}{suffix}")
    return re.compile("|".join(patterns)) if patterns else None


def printed_files() -> list[tuple[int, int]]:
    """Return device and inode of the files that standard output and standard error lead to."""
    found = []
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):
            state = os.fstat(descriptor)
            if stat.S_ISREG(state.st_mode):
                found.append((state.st_dev, state.st_ino))
    return found


def _split_lists(words: Iterable[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return words without those of the form `@FILE`, and the names of these lists."""
    words = list(words)
    lists = [word for word in words if word[:1] == "@" != word and not os.path.lexists(word)]
    return tuple(word for word in words if word not in lists), [word[1:] for word in lists]


def _listed_files(path: str, given: Mapping[str, Any]) -> list[str]:
    """Return the names in a list of files: one a line, or each behind it a NUL.

    Raises `ItemError` where a list in a file names a path outside of the file's folder; for one of
    the user's in the folder of temporary files, outside of the workspace. What comes through a pipe
    is the user's own.
    """
    from ..engine import split_range
    from ..sources.workspace import is_stream, read_named

    text, _ = read_named(path, workspace=typed_access(), diagnostics=Diagnostics(), names=True)
    # `find -print0` without a match prints nothing, and with one name no NUL but the last.
    names = text.split("\0") if given["null"] or "\0" in text else text.splitlines()
    if not (is_stream(path) or given["allow_outside"]):
        folder = given["workspace"]
        root = os.path.dirname(path) or os.curdir
        if is_own_temporary(path):  # `git ls-files > /tmp/list` speaks of the working folder
            root = folder
        access = Access(folder, root=root)
        for number, name in enumerate(names, 1):
            try:
                name = split_range(name, folder)[0]
                # `find "$PWD"` prints absolute names of the folder's own files.
                access.locate(os.path.relpath(name, folder) if os.path.isabs(name) else name)
            except ItemError as error:
                way_out = "--files-from - takes any names"
                where = f"{show_path(path)}:{number}"
                raise ItemError(f"{error.bare}, and {way_out}", where=where) from None
    return [name for name in names if name]


def _search(
    words: str | None, within: tuple[str, ...], job: Job, wanted: FolderFilter
) -> Search | None:
    """Return the search of the flags; the job file fills in for flags that are not given."""
    from ..engine import Search

    paths: Sequence[str] = (".",)
    if job.search is not None:
        paths = job.search.paths
        words = job.search.query if words is None else words
    if words is None:
        if within:
            raise click.UsageError("--in names the place to search; --search gives the words")
        return None
    if not words.strip():
        raise click.UsageError("--search needs words")
    return Search(words, within or paths, wanted)


def _job_options(
    options: dict[str, Any], lines: Any, path: str, diagnostics: Diagnostics
) -> dict[str, Any]:
    """Return a job's options, checked, with `profile` and `attack`; a bad value is said (PF101).

    Raises `ItemError`, with the line, for a name that is no option.
    """

    def where(word: str) -> str:
        return f"{path}:{lines.get((word,), 1)}"

    checked = {}
    for name, value in options.items():
        # These two are no options of a rendering, but a job names them beside the options.
        if name in ("profile", "attack"):
            if not isinstance(value, str):
                raise ItemError(f"{name}: expected a text", where=where(name), field=name)
            checked[name] = value
        elif name in OPTION_VOCABULARY:
            try:
                checked[name] = OPTION_VOCABULARY.check(name, value, where)
            except ProfileError as error:
                message = f"{error.bare}; left out"
                diagnostics.add("PF101", message, where=error.where)
        else:
            from ..sources.intended import JOB_KEYS

            hint = suggest_name(str(name), {*OPTION_VOCABULARY, *JOB_KEYS})
            if name in OPTION_VOCABULARY.elsewhere:
                hint = f": {OPTION_VOCABULARY.elsewhere[name]}"
            message = f"unknown option {quote(str(name))}{hint}"
            raise ItemError(message, where=where(name), field=str(name))
    return checked


# --- texts of a whole prompt ----------------------------------------------------------------------


class GivenTexts(NamedTuple):
    """Texts and history around the context: of the flags, else of the job file."""

    texts: dict[str, Any]
    history: list[Any] | None = None
    """Messages as they were given, in the shape of any provider."""
    messages: list[Message] | None = None


def read_prompt_request(
    items: tuple[str, ...], given: Mapping[str, Any], *, may_be_empty: bool = False
) -> tuple[CommandRequest, GivenTexts]:
    """Return the request of a whole prompt, and the texts around its context.

    Raises a usage error where two inputs are to come from standard input.
    """
    given = dict(given)
    stdin_taken = _is_stdin_taken(items, given)
    # Standard input is read before the items: they might be piped in as well.
    texts = {flag: _read_text(flag, given) for flag in _JOB_KEYS}
    history = given.pop("history")
    flags = [flag for flag, text in {**texts, "history": history}.items() if text is not None]
    request = read_request(
        items, given, stdin_taken=stdin_taken, may_be_empty=may_be_empty, texts=flags
    )
    for flag, key in _JOB_KEYS.items():
        if texts[flag] is None:
            texts[flag] = request.job.texts.get(key)
    if history is None:
        history = request.job.history
    if history is None:
        return request, GivenTexts(texts)
    return request, _read_history(texts, history, request)


def _is_stdin_taken(items: tuple[str, ...], given: Mapping[str, Any]) -> bool:
    """Return true where a text or the history comes from standard input."""
    named = [f"--{flag}-file" for flag in _JOB_KEYS if given[f"{flag}_file"] == "-"]
    if given["history"] == "-":
        named.append("--history")
    refuse_second_reader([*_readers(items, given), *named])
    return bool(named)


def _readers(items: tuple[str, ...], given: Mapping[str, Any]) -> list[str]:
    """Return the name of each source that is to come from standard input."""
    readers = ["ITEMS"] * items.count("-") + ["--file"] * given["files"].count("-")
    readers += ["@-"] * (items.count("@-") + given["files"].count("@-"))
    readers += ["--files-from"] * (given["files_from"] == "-")
    return readers + ["--job"] * (given["job"] == "-")


def refuse_second_reader(readers: list[str]) -> None:
    """Raise a usage error for two readers: the second would find standard input empty, unsaid."""
    if len(readers) > 1:
        both = " and ".join(dict.fromkeys(readers))
        named = "name it" if len({*readers}) > 1 else "names it twice"
        raise click.UsageError(f"only one input can be standard input, and {both} {named}")


def _read_text(flag: str, given: dict[str, Any]) -> str | None:
    """Take a text out of the flags, given as it is or in a file; a file's last line end goes."""
    text, path = given.pop(flag), given.pop(f"{flag}_file")
    if path is None:
        if text and re.fullmatch(r"@\S*[./]\S*", text):  # as of curl and llm; not @alice
            name = printable(text[1:])
            print_message(f"--{flag} is this text; --{flag}-file {name} reads a file", "warning")
        return typing.cast(str | None, text)
    if text is not None:
        raise click.UsageError(f"--{flag} and --{flag}-file both give the text; leave one out")
    from ..sources.workspace import read_named

    diagnostics = Diagnostics()
    found, _ = read_named(path, workspace=typed_access(), diagnostics=diagnostics)
    print_diagnostics(diagnostics)
    return found.removesuffix("\n")


def _read_history(
    texts: dict[str, str | None], history: Any, request: CommandRequest
) -> GivenTexts:
    from ..engine import load_messages
    from ..prompts.histories import read_history

    diagnostics = request.diagnostics
    if not isinstance(history, str):
        return GivenTexts(texts, list(history), read_history(history, "history", diagnostics))
    workspace = request.wanted.workspace
    records, locate = load_messages(history, diagnostics=diagnostics, workspace=workspace)
    messages = read_history(records, history, diagnostics, locate)
    return GivenTexts(texts, list(records), messages)
