"""Read the command line: flags and their completion, job file, folders, items, texts of a prompt.

Every option of the vocabulary becomes one flag, with the same rule and the same sentence as in a
profile. `read_request` joins flags and job file into a `CommandRequest`, which gathers the items
and makes the renderer. Behind the flags stand variables of the environment, and a trusted project's
file (`take_settings`); commands without options take `profile_flags` and `take_folders` alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import re
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..config.options import OPTION_VOCABULARY, PROMPT_OPTIONS, Options
from ..config.schema import Rule
from ..errors import (
    Diagnostics,
    ItemError,
    ProfileError,
    PromptForgeError,
    StrictError,
    certain_correction,
    quote,
    suggest_name,
)
from ..files import YAML_SUFFIXES, format_of, is_url, shipped_folder
from ..plugins import PLUGINS_VARIABLE
from ..text.format import plural
from .output import ReadingProgress, print_diagnostics, printable

# --help and completion need no engine: what reads items or renders is imported when it runs.
if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..authoring.project import Project
    from ..errors import Diagnostic
    from ..model import Item, Result
    from ..prompts.messages import Message
    from ..prompts.prompt import Prompt, Renderer
    from ..sources.folders import FolderFilter
    from ..sources.gather import SourceRequest
    from ..sources.jobs import Job
    from ..sources.search import Search

Command = Callable[..., Any]
Complete = Callable[[click.Context, click.Parameter, str], list[str]]
"""A function that offers the names that begin as a word does."""
FOLDER_VARIABLES = {"templates": "PROMPTFORGE_TEMPLATES", "profiles": "PROMPTFORGE_PROFILES"}
VARIABLE_PREFIX = "PROMPTFORGE_"
OPTION_VARIABLES = {
    name: f"{VARIABLE_PREFIX}{name.upper()}" for name in ("profile", *OPTION_VOCABULARY)
}
"""Option → the variable of the environment that sets it."""
TRUSTED_STATES = ("own", "trusted")
TRUST_STATES = {
    "own": "your own: used, whatever changes",
    "trusted": "trusted as it is",
    "changed": "not used: something changed after it was trusted",
    "unknown": "not used: nobody has trusted it",
}
_SCALED_NUMBER = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,6}))?([kKmM])")
_SCALES = {"k": 1000, "m": 1_000_000}
"""Letter after a number → its factor: the figures of LLMs are decimal."""
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_VERBATIM_OPTIONS = {"paths": "a pattern", "query": "a question"}
"""Options with values that may hold a comma."""
_SOURCE_FLAGS = (
    ("--file", "files", "PATH[:START[-END]]", "A file, a folder, or a pattern: 'src/**/*.py'."),
    ("--doc", "documents", "PATH", "A document; its front matter becomes metadata."),
    ("--man", "man_pages", "NAME[.SECTION]", "A man page of this machine."),
    ("--technique", "techniques", "T1003[.001]", "An ATT&CK technique."),
    ("--in", "within", "PATH", "A place to search: file, folder, pattern [default: .]"),
    ("--from", "plugged", "NAME:ARGUMENT", "Items of a source that a plug-in brings."),
)
"""Flags that may be given several times."""
_FOLDER_FLAGS = (
    ("--include", "include", "GLOB", "Of folders, only files that match, as in .gitignore."),
    ("--exclude", "exclude", "GLOB", "Of folders, no files that match."),
)
FOLDER_FILTERS = ("include", "exclude", "ignored", "hidden", "secret_scan")
"""Names of the flags that say which files of folders are read."""
_GIT_FLAGS = (
    ("--git-diff", "git_diff", "[RANGE]", "Changes, as of git diff [default: not committed]."),
    ("--git-changed", "git_changed", "[RANGE]", "Changed files, as they are now."),
)
_INPUT_FLAGS = (
    ("--attack", "attack", "PATH", "Techniques: a STIX 2.1 bundle, a folder, or JSON."),
    ("--search", "search", "WORDS", "Search files; also the --query, unless one is given."),
    ("--name", "stream_name", "PATH", "The name of what --file - reads."),
    (
        "--files-from",
        "files_from",
        "FILE",
        "A list of files, one a line; so is @FILE; - is stdin.",
    ),
    ("--job", "job", "FILE", "A job in YAML or XML: options and names of sources."),
)
_PATH_METAVARS = frozenset({"FILE", "PATH", "PATH[:START[-END]]"})
_TEXT_FLAGS = (
    ("--system", "system", "TEXT", "The system text."),
    ("--system-file", "system_file", "FILE", "A file with it; - is standard input."),
    ("--instructions", "instructions", "TEXT", "Instructions, beside the context."),
    ("--instructions-file", "instructions_file", "FILE", "A file with them, or -."),
    ("--user", "user", "TEXT", "The question; also the query, unless --query gives one."),
    ("--user-file", "user_file", "FILE", "A file with it, or -."),
    ("--history", "history", "FILE", "Messages of any provider, or -: JSON, JSON Lines, YAML."),
)
_JOB_KEYS = {"system": "system", "instructions": "instructions", "user": "question"}
"""Flag of a prompt's text → its key in a job file."""

HELP_GROUPS = {
    "What goes in": (
        "files documents man_pages techniques git_diff git_changed git_log attack search within"
        " plugged stream_name files_from null job history workspace context_lines"
    ),
    "Files of folders": "include exclude ignored hidden secret_scan paths languages kinds",
    "Texts of a prompt": (
        "system system_file instructions instructions_file user user_file prompt prompt_order"
        " system_role cite citation cache_after to"
    ),
    "Size": (
        "max_tokens max_chars max_items item_max_chars section_budgets tokenizer context_window"
        " reserve history_share message_tokens call_tokens prompt_tokens"
    ),
    "What is chosen": (
        "query rerank min_score min_worth score_order packing trim stubs dedupe merge_overlaps"
        " combine explicit_share"
    ),
    "Look": (
        "layout format tree sources headers line_numbers number_lines scores code outline"
        " comments empty_lines group_by order"
        " header footer separator marker fence_language framing control_text"
    ),
    "Profile and templates": "profile templates profiles allow_outside",
}
"""Heading of the help → names of the flags below it; all others stand below "Output"."""


# --- completion -----------------------------------------------------------------------------------
# Names are found by listing folders: a shell must have its answer at once, without the engine.


def _files(context: click.Context, kind: str, pattern: str) -> Iterator[Path]:
    """Yield files of the folders on the line so far, in the environment, and shipped."""
    variable = os.environ.get(FOLDER_VARIABLES[kind], "")
    named = [*(context.params.get(kind) or ()), *filter(None, variable.split(os.pathsep))]
    for folder in (*named, shipped_folder(kind)):
        yield from Path(folder).glob(pattern)


def _offer(find: Callable[[click.Context], Iterable[str]]) -> Complete:
    """Make a completion of the names that `find` returns."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        # `pf8` finds PF802 too.
        lead = (begun, begun.upper())
        return sorted({name for name in find(context) if name.startswith(lead)})

    return complete


def _profile_names(context: click.Context) -> Iterable[str]:
    files = _files(context, "profiles", "*")
    return (path.stem for path in files if path.suffix in YAML_SUFFIXES)


def _tokenizer_names(_context: click.Context) -> Iterable[str]:
    from ..tokenizers.registry import list_tokenizers  # it loads none of them

    return (name for name, _ in list_tokenizers() if name != "file:PATH")


def _codes(_context: click.Context) -> Iterable[str]:
    # The keys are found without a parser: reading the YAML would take 40 ms.
    text = (Path(__file__).parents[1] / "lint" / "codes.yaml").read_text(encoding="utf-8")
    return re.findall(r"(?m)^(PF\d{3}):", text)


def complete_path(_context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Leave a name of a file to the shell, which completes it in its own way."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(begun, type="file")]


complete_layout = _offer(
    lambda context: (f.parent.name for f in _files(context, "templates", "[!_.]*/layout.*"))
)
complete_format = _offer(
    lambda context: (
        format_of(file.name[len("layout.") : -len(".j2")])
        for file in _files(context, "templates", "[!_.]*/layout.*.j2")
    )
)
complete_prompt = _offer(
    lambda context: (folder.name for folder in _files(context, "templates", "prompt/*/"))
)
complete_profile = _offer(_profile_names)
complete_tokenizer = _offer(_tokenizer_names)
complete_code = _offer(_codes)
COMPLETIONS = {
    "layout": complete_layout,
    "format": complete_format,
    "prompt": complete_prompt,
    "tokenizer": complete_tokenizer,
}
"""Option → completion of its value."""


def complete_source(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the argument of `show`: a layout, a profile, a prompt set or a template."""
    files = {f"prompt/{name}" for name in complete_prompt(context, parameter, "")}
    lead = begun.rpartition("/")[0]
    if lead and ".." not in lead:
        paths = _files(context, "templates", f"{glob.escape(lead)}/*")
        files |= {f"{lead}/{path.name}" for path in paths}
    names = complete_layout(context, parameter, begun) + complete_profile(context, parameter, begun)
    return names + sorted(name for name in files if name.startswith(begun))


def complete_original(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the original that `new` copies."""
    originals = {**COMPLETIONS, "profile": complete_profile}
    del originals["tokenizer"]
    # The thing is not known yet where the line ends in --from: then every name is offered.
    thing = context.params.get("thing")
    chosen = [each for name, each in originals.items() if thing not in originals or name == thing]
    return [name for complete in chosen for name in complete(context, parameter, begun)]


# --- flags ----------------------------------------------------------------------------------------


ITEM_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".yaml", ".yml"})
"""Suffixes of files that hold items, or a saved result."""


class GroupedCommand(click.Command):
    """A command with the flags of its help in groups.

    Files after `--file FILE` are its own: a shell makes `--file a.py b.py` of `--file *.py`.
    Files of items, such as .json and .yaml, are so only after a file with their suffix.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `--file` before the files that follow one."""
        words: list[str] = []
        first = ""
        for number, word in enumerate(args):
            if word == "--":
                return super().parse_args(ctx, [*words, *args[number:]])
            suffix = os.path.splitext(word)[1].lower()
            if words[-1:] == ["--file"] or word.startswith("--file="):
                first = suffix or "."
            elif word.startswith("-"):
                first = ""
            elif first and os.path.isfile(word) and suffix not in ITEM_SUFFIXES - {first}:
                words.append("--file")
            words.append(word)
        return super().parse_args(ctx, words)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the flags below their headings."""
        left = {
            param.name: param.get_help_record(ctx)
            for param in self.get_params(ctx)
            if isinstance(param, click.Option)
        }
        for heading, names in (*HELP_GROUPS.items(), ("Output", " ".join(filter(None, left)))):
            found = (left.pop(name, None) for name in names.split())
            if records := list(filter(None, found)):
                with formatter.section(heading):
                    formatter.write_dl(records)


def input_flags(function: Command, *, whole: bool = False) -> Command:
    """Add the flags of the sources, of all options and `-q`; `whole`: also those of prompts."""
    function = click.option("-q", "--quiet", is_flag=True, help="Print no notes.")(function)
    about = "Colour messages [default: on a terminal, unless NO_COLOR is set]."
    function = click.option(
        "--color/--no-color", default=None, expose_value=False, callback=_set_color, help=about
    )(function)
    function = option_flags(function, whole=whole)
    function = click.option(
        "--context-lines", metavar="N", type=click.IntRange(0), default=0,
        help="Lines to add around a range.",
    )(function)  # fmt: skip
    function = workspace_flag(function)
    about = "A NUL, and no line end, ends each name of --files-from, as of find -print0."
    function = click.option("-0", "--null", is_flag=True, help=about)(function)
    function = _add_flags(function, _INPUT_FLAGS)
    function = folder_flags(function)
    about = "The last commits."
    function = click.option("--git-log", metavar="N", type=click.IntRange(0), help=about)(function)
    # Without revisions these two stand for all that is not committed.
    function = _add_flags(function, _GIT_FLAGS, is_flag=False, flag_value="")
    return _add_flags(function, _SOURCE_FLAGS, multiple=True)


def _set_color(context: click.Context, _: click.Parameter, value: bool | None) -> None:
    context.color = value


def folder_flags(function: Command) -> Command:
    """Add the flags that say which files of folders are read."""
    about = "Of folders, also dot files that git does not track."
    function = click.option("--hidden", is_flag=True, help=about)(function)
    about = "Of folders, also what git ignores, lock, minified and generated files."
    scan = "Leave out files of folders and changes of git that hold a credential."
    function = click.option("--secret-scan/--no-secret-scan", default=True, help=scan)(function)
    function = click.option("--ignored", "--no-ignore", is_flag=True, help=about)(function)
    function = _add_flags(function, _FOLDER_FLAGS, multiple=True)
    return function


def workspace_flag(function: Command) -> Command:
    """Add `--workspace`."""
    about = "Relative paths stay inside."
    return click.option(
        "--workspace",
        metavar="DIR",
        default=".",
        show_default=True,
        help=about,
        shell_complete=complete_path,
    )(function)


def text_flags(function: Command) -> Command:
    """Add the flags that give the texts and the history of a whole prompt."""
    return _add_flags(function, _TEXT_FLAGS)


def output_flags(function: Command) -> Command:
    """Add `--json` and `-o`."""
    about = "Write there instead of to standard output."
    function = click.option(
        "-o", "--output", metavar="FILE", help=about, shell_complete=complete_path
    )(function)
    return json_flag(function)


def json_flag(function: Command) -> Command:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def _add_flags(
    function: Command, flags: Sequence[tuple[str, str, str, str]], **settings: Any
) -> Command:
    # A decorator puts its flag before those that are there: the last of the list goes first.
    for flag, name, metavar, about in reversed(flags):
        complete = complete_path if metavar in _PATH_METAVARS else None
        function = click.option(
            flag, name, metavar=metavar, help=about, shell_complete=complete, **settings
        )(function)
    return function


def option_flags(function: Command, *, whole: bool = False) -> Command:
    """Add a flag for each option: `max_tokens` → `--max-tokens`, `headers` → `--[no-]headers`.

    The options of whole prompts get flags only with `whole`.
    """
    about = "Fail (exit 1, nothing on standard output) where there is a warning."
    function = click.option("--strict", is_flag=True, help=about)(function)
    defaults = Options()
    for name in reversed(list(OPTION_VOCABULARY)):
        if whole or name not in PROMPT_OPTIONS:
            function = _option_flag(name, getattr(defaults, name))(function)
    return profile_flags(function)


def _option_flag(name: str, default: Any) -> Callable[[Command], Command]:
    rule = OPTION_VOCABULARY.rules[name]
    flag = "--" + name.replace("_", "-")
    if _base(rule.shape) is bool:
        about = f"{rule.doc} [default: {('no', 'yes')[default]}]"
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=about)
    about, multiple = rule.doc, _is_list(rule) or rule.several
    if name in _VERBATIM_OPTIONS:
        about += f" For several, repeat the flag; a comma is part of {_VERBATIM_OPTIONS[name]}."
    elif multiple:
        about += " For several, repeat the flag, or separate them by commas."
    elif default not in (None, ""):
        about += f" [default: {default}]"
    return click.option(
        flag, name, type=_OptionType(rule), multiple=multiple, default=None, help=about
    )


def _base(shape: Any) -> Any:
    if typing.get_origin(shape) is typing.Annotated:
        return typing.get_args(shape)[0]
    return shape


class _OptionType(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """The value of an option, read from a text; the vocabulary judges it later."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.name = "|".join(rule.choices) or "text"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        if self.rule.choices:
            return f"[{self.name}]"
        if self.rule.name in COMPLETIONS:
            return "NAME"
        return {int: "N", float: "X"}.get(_base(self.rule.shape), "TEXT")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        known: Iterable[str] = self.rule.choices
        if complete := COMPLETIONS.get(self.rule.name):
            known = complete(ctx, param, incomplete)
        return [CompletionItem(name) for name in known if name.startswith(incomplete)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name = self.rule.name
        if not isinstance(value, str) or _is_list(self.rule):  # a member, and the text is its value
            return value
        return read_option(name, value, f"--{name.replace('_', '-')}")


def read_option(name: str, text: str, where: str) -> Any:
    """Return the value of an option from a text: `4000`, `20k`, `yes`, `a,b`, `{code: …}`.

    A text that cannot be read goes on as it is, and the vocabulary refuses it in the words of all
    messages. Only broken YAML of a mapping is a `ProfileError` here, with `where`.
    """
    rule = OPTION_VOCABULARY.rules[name]
    kind = _base(rule.shape)
    if text == "none" and not (_is_list(rule) and not rule.choices):
        return text
    if _is_list(rule):
        return [part.strip() for part in text.split(",") if part.strip()]
    if typing.get_origin(kind) is dict:
        from ..yaml_reader import load_yaml  # late: only a mapping is worth its import

        return load_yaml(text, where)
    if kind is bool:
        return _BOOLEANS.get(text.lower(), text)
    if kind in (int, float):
        return _read_number(text, kind)
    return text


def _read_number(text: str, kind: type[int] | type[float]) -> int | float | str:
    plain = text.replace("_", "")
    if scaled := _SCALED_NUMBER.fullmatch(plain):
        digits, decimals, letter = scaled.groups("")
        value, rest = divmod(int(digits + decimals) * _SCALES[letter.lower()], 10 ** len(decimals))
        return text if rest else value
    with contextlib.suppress(ValueError):
        return kind(plain)
    return text


def _is_list(rule: Rule) -> bool:
    return typing.get_origin(_base(rule.shape)) is tuple


def profile_flags(function: Command) -> Command:
    """Add `--profile`, `--templates`, `--profiles` and `--allow-outside`."""
    about = "Let job and profile files name files outside of their folders."
    function = click.option("--allow-outside", is_flag=True, help=about)(function)
    for name, variable in reversed(FOLDER_VARIABLES.items()):
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


def given_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the flags set, by name; `--strict` sets `on_error`."""
    found = {}
    for name in OPTION_VOCABULARY:
        value = given.get(name)
        if value is None or value == ():
            continue
        if isinstance(value, tuple):
            value = list(value)
            if name not in _VERBATIM_OPTIONS:
                value = [word.strip() for each in value for word in each.split(",")]
        found[name] = value
    if given.get("strict"):
        found["on_error"] = "raise"
    return found


def flag_names(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags that set an option or the profile, by its name."""
    named = [*given_options(given), *(["profile"] if given["profile"] else [])]
    return {name: f"--{name.replace('_', '-')}" for name in named}


# --- settings that stand behind the command line --------------------------------------------------


class Settings(NamedTuple):
    """Profile, options and folders of the environment and of a trusted project."""

    profile: str | None
    options: dict[str, Any]
    folders: dict[str, Any]
    """Keywords of a renderer; so is `allow_outside`, where it is given."""
    places: dict[str, str]
    """Name of an option (or `profile`) → its variable, or file and line."""

    def under(self, options: dict[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
        """Return all options: `options` win. The message of an error says the place of a value.

        `places` are those of `options` and perhaps of a profile.
        """
        self.places.update(places)
        if (context := click.get_current_context(silent=True)) and context.obj is not None:
            context.obj.update(self.places)
        return {**self.options, **options}


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
        if text := os.environ.get(variable):
            options[name], places[name] = _read_variable(name, text, variable), variable
    return Settings(options.pop("profile", None), options, folders, places)


def take_folders(given: dict[str, Any]) -> dict[str, Any]:
    """Take the folders out of the flags, as `take_settings` does."""
    return take_settings(given).folders


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
    from ..authoring.project import is_own, locate_project, read_project, trust_state

    place, own = None, False
    try:
        if (place := locate_project(workspace)) is None:
            return None
        own = is_own(place)
        project = read_project(place, allow_outside=given.get("allow_outside", False))
        state = trust_state(project)
        if state in TRUSTED_STATES:
            return project
        message = f"the project's {plural(len(project.files), 'file is', 'files are')}"
        message += f" {TRUST_STATES[state]}"
    except PromptForgeError as error:
        if own:
            raise
        message = f"{error}; nothing in it is used"
    hint = f"`promptforge trust {printable(workspace)}` lists and trusts them"
    diagnostics.add("PF706", f"{message}; {hint}", where=str(place or workspace))
    return None


def _say_unknown_variables(diagnostics: Diagnostics) -> None:
    known = {*OPTION_VARIABLES.values(), *FOLDER_VARIABLES.values(), PLUGINS_VARIABLE}
    for name in sorted(os.environ):
        # Others may use the same first word, so only what must be a slip of the pen is said.
        if not name.startswith(VARIABLE_PREFIX) or name in known:
            continue
        words = {each.removeprefix(VARIABLE_PREFIX) for each in known}
        if near := certain_correction(name.removeprefix(VARIABLE_PREFIX), words):
            message = f'sets nothing; did you mean "{VARIABLE_PREFIX}{near}"?'
            diagnostics.add("PF124", message, where=printable(name))


# --- requests -------------------------------------------------------------------------------------


class CommandRequest(NamedTuple):
    """Everything that a command line asks for."""

    wanted: SourceRequest
    """Sources of the items."""
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
    """The job file; an empty one where none is given."""

    def renderer(self) -> Renderer:
        """Return a renderer with this profile and these folders."""
        from ..prompts.prompt import Renderer
        from ..tokenizers.registry import expect_small_texts

        expect_small_texts()
        return Renderer(profile=self.profile, **self.folders)

    def gather(self) -> list[Item]:
        """Read the items and return them."""
        from ..sources.gather import gather

        if self.quiet:
            return gather(self.wanted, self.diagnostics)
        with ReadingProgress() as progress:
            return gather(self.wanted, self.diagnostics, progress.show)

    def render(
        self, renderer: Renderer, items: list[Item], *, printed: Collection[Diagnostic] = ()
    ) -> Result:
        """Render; print the diagnostics that have not been `printed` to standard error."""
        try:
            result = renderer.render(items, before=tuple(self.diagnostics), **self.options)
        except StrictError as error:
            print_diagnostics(error.diagnostics)
            raise
        print_diagnostics((d for d in result.warnings if d not in printed), quiet=self.quiet)
        return result


def read_request(
    items: tuple[str, ...],
    given: Mapping[str, Any],
    *,
    stdin_taken: bool = False,
    may_be_empty: bool = False,
) -> CommandRequest:
    """Return the request of the arguments `items` and the flags `given`; reads only a job file.

    `stdin_taken`: standard input holds a text of the prompt, so it is not read as items.
    """
    from ..sources.jobs import Job, load_job, refuse_outside

    _refuse_second_reader(_readers(items, given))
    given, diagnostics, job = dict(given), Diagnostics(), Job()
    if given["job"]:
        job = load_job(given["job"], diagnostics=diagnostics)
        if not given["allow_outside"]:
            refuse_outside(job, given["job"], given["workspace"])
    options = _job_options(job.options, job.lines, given["job"], diagnostics)
    profile, attack = options.pop("profile", None), options.pop("attack", None)
    wanted = _source_request(items, given, job)
    named = (*wanted.items, *wanted.urls, *wanted.records, *wanted.files, *wanted.documents)
    named += (*wanted.man_pages, *wanted.techniques, *wanted.plugged)
    from_git = wanted.git_log or (wanted.git_diff, wanted.git_changed) != (None, None)
    if not (named or from_git) and wanted.search is None and not stdin_taken:
        if sys.stdin is not None and not sys.stdin.isatty():
            wanted = dataclasses.replace(wanted, items=["-"])
        elif not may_be_empty:
            raise click.UsageError(
                "nothing to render: name a file of items or a folder, pipe items in,"
                " or give --file, --doc, --man, --search"
            )
    if wanted.attack is None:
        wanted = dataclasses.replace(wanted, attack=attack)
    if wanted.search is not None:
        options.setdefault("query", wanted.search.query)
    flags = given_options(given)
    for name, value in flags.items():  # the options of a job file have been checked
        OPTION_VOCABULARY.check(name, value)
    places = {name: f"{given['job']}:{job.lines.get((name,), 1)}" for name in job.options}
    # The workspace may come from a flag, so its project is known only now.
    settings = take_settings(given, wanted.workspace, diagnostics)
    return CommandRequest(
        wanted=wanted,
        options=settings.under(options | flags, places | flag_names(given)),
        profile=given["profile"] or profile or settings.profile,
        folders=settings.folders,
        places=settings.places,
        quiet=given["quiet"],
        diagnostics=diagnostics,
        job=job,
    )


def exit_code(*results: Result | Prompt) -> int:
    """Return 5 where a template failed and the shipped one stood in for it, else 0."""
    # The text is there all the same, so the exit code is all that a script would see.
    for diagnostic in (d for result in results for d in result.warnings):
        if diagnostic.code.startswith("PF4") and diagnostic.severity == "error":
            return 5
    return 0


def _source_request(items: tuple[str, ...], given: Mapping[str, Any], job: Job) -> SourceRequest:
    """Return the sources of the job file, and after them those of the flags."""
    from ..sources.folders import FolderFilter
    from ..sources.gather import SourceRequest

    wanted = FolderFilter(**{name: given[name] for name in FOLDER_FILTERS})
    items, listed = _split_lists(items)
    files, more = _split_lists(given["files"])
    lists = [*more, *listed, *filter(None, [given["files_from"]])]
    return SourceRequest(
        items=[
            *(entry for entry in job.items if isinstance(entry, str)),
            *(name for name in items if not is_url(name)),
        ],
        urls=[name for name in items if is_url(name)],
        records=[entry for entry in job.items if not isinstance(entry, str)],
        files=[*job.files, *files, *(n for path in lists for n in _listed_files(path, given))],
        documents=[*job.documents, *given["documents"]],
        man_pages=[*job.man_pages, *given["man_pages"]],
        techniques=[*job.mitre_techniques, *given["techniques"]],
        plugged=[*job.plugged, *given["plugged"]],
        search=_search(given["search"], given["within"], job, wanted),
        attack=given["attack"],
        workspace=given["workspace"],
        context_lines=given["context_lines"],
        wanted=wanted,
        stream_name=given["stream_name"],
        git_diff=given["git_diff"],
        git_log=given["git_log"] or 0,
        git_changed=given["git_changed"],
    )


def _split_lists(words: Iterable[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return words without those of the form `@FILE`, and the names of these lists."""
    words = list(words)
    lists = [word for word in words if word[:1] == "@" and not os.path.lexists(word)]
    return tuple(word for word in words if word not in lists), [word[1:] for word in lists]


def _listed_files(path: str, given: Mapping[str, Any]) -> list[str]:
    """Return the names in a list of files: one a line, or each behind it a NUL."""
    from ..sources.workspace import read_named

    text, _ = read_named(path, workspace=None, diagnostics=Diagnostics())
    # `find -print0` without a match prints nothing, and with one name no NUL but the last.
    names = text.split("\0") if given["null"] or "\0" in text else text.splitlines()
    return [name for name in names if name]


def _search(
    words: str | None, within: tuple[str, ...], job: Job, wanted: FolderFilter
) -> Search | None:
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
    return Search(words, within or paths, wanted)


def _job_options(
    options: dict[str, Any], lines: Any, path: str, diagnostics: Diagnostics
) -> dict[str, Any]:
    """Return a job's options, checked, with `profile` and `attack`; a bad value is said (PF101).

    Raises `ProfileError`, with the line, for a name that is no option.
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
        elif name in OPTION_VOCABULARY.elsewhere:
            OPTION_VOCABULARY.check(name, value, where)
        else:
            from ..sources.jobs import JOB_KEYS

            hint = suggest_name(str(name), {*OPTION_VOCABULARY, *JOB_KEYS})
            message = f"unknown option {quote(str(name))}{hint}"
            raise ProfileError(message, where=where(name), option=str(name))
    return checked


# --- texts of a whole prompt ----------------------------------------------------------------------


class GivenTexts(NamedTuple):
    """Texts and history around the context: of the flags, else of the job file."""

    texts: dict[str, str | None]
    """`system`, `instructions` and `user`."""
    history: list[Any] | None = None
    """Messages as they were given, in the shape of any provider."""
    messages: list[Message] | None = None
    """The same, read."""


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
    request = read_request(items, given, stdin_taken=stdin_taken, may_be_empty=may_be_empty)
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
    _refuse_second_reader([*_readers(items, given), *named])
    return bool(named)


def _readers(items: tuple[str, ...], given: Mapping[str, Any]) -> list[str]:
    """Return the name of each source that is to come from standard input."""
    readers = ["ITEMS"] * items.count("-") + ["--file"] * given["files"].count("-")
    readers += ["@-"] * (items.count("@-") + given["files"].count("@-"))
    return readers + ["--files-from"] * (given["files_from"] == "-")


def _refuse_second_reader(readers: list[str]) -> None:
    # The second would find it empty, and nothing would say so.
    if len(readers) > 1:
        both = " and ".join(readers)
        raise click.UsageError(f"only one input can be standard input: {both} name it")


def _read_text(flag: str, given: dict[str, Any]) -> str | None:
    """Take a text out of the flags, given as it is or in a file; a file's last line end goes."""
    text, path = given.pop(flag), given.pop(f"{flag}_file")
    if path is None:
        return typing.cast(str | None, text)
    if text is not None:
        raise click.UsageError(f"--{flag} and --{flag}-file both give the text; leave one out")
    from ..sources.workspace import read_named

    diagnostics = Diagnostics()
    found, _ = read_named(path, workspace=None, diagnostics=diagnostics)
    print_diagnostics(diagnostics)
    return found.removesuffix("\n")


def _read_history(
    texts: dict[str, str | None], history: Any, request: CommandRequest
) -> GivenTexts:
    from ..prompts.histories import read_history
    from ..sources.item_files import load_messages

    diagnostics = request.diagnostics
    if not isinstance(history, str):
        return GivenTexts(texts, list(history), read_history(history, "history", diagnostics))
    workspace = request.wanted.workspace
    records, locate = load_messages(history, diagnostics=diagnostics, workspace=workspace)
    messages = read_history(records, history, diagnostics, locate)
    return GivenTexts(texts, list(records), messages)
