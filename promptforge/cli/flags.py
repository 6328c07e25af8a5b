"""Flags of the command line, and the completion of their values.

Every option of the vocabulary becomes one flag, with the same rule and the same sentence as in a
profile. `inputs` reads what they say.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..config.options import (
    FORMER_OPTIONS,
    OPTION_GROUPS,
    OPTION_VOCABULARY,
    PROMPT_OPTIONS,
    Options,
)
from ..config.schema import Rule, bare_type, read_count
from ..engine import format_of
from ..errors import OptionError, quote
from ..files import YAML_SUFFIXES, shipped_folder
from ..files.access import read_bytes, read_utf8

# --help and completion need no engine: what reads items or renders is imported when it runs.
if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


Command = Callable[..., Any]
Complete = Callable[[click.Context, click.Parameter, str], list[str]]
"""A function that offers the names that begin as a word does."""
FOLLOW_FLAG, VERBOSE_FLAG = "promptforge.follow", "promptforge.verbose"
NO_CACHE_FLAG = "promptforge.no_cache"
"""Keys of `--follow`, `-v` and `--no-cache` among the facts of a command."""
FOLDER_VARIABLES = {"templates": "PROMPTFORGE_TEMPLATES", "profiles": "PROMPTFORGE_PROFILES"}
VARIABLE_PREFIX = "PROMPTFORGE_"
OPTION_VARIABLES = {
    name: f"{VARIABLE_PREFIX}{name.upper()}"
    for name in ("profile", *FORMER_OPTIONS.rules, *OPTION_VOCABULARY)
}
"""Option, or the earlier word for one → the variable of the environment that sets it."""
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_FILE = Path(__file__).with_name("flags.json")
_TABLE: dict[str, Any] = msgspec.json.decode(read_bytes(_FILE))
"""Flags of sources and texts, each with its name in Python, its value and its sentence; headings of
the help with the names of their flags. To complete a command's words loads no reader of YAML."""
RARE_OPTIONS = _TABLE["rare"].split()
"""Options that a profile sets: the help names `-O` in place of their flags, which work as well."""
_VERBATIM_OPTIONS = {"paths": "a pattern", "query": "a question"}
"""Options with values that may hold a comma."""
FOLDER_FILTERS = ("include", "exclude", "ignored", "hidden", "secret_scan")
_PATH_METAVARS = frozenset({"FILE", "PATH", "PATH[:START[-END]]"})
HELP_GROUPS: Mapping[str, str] = _TABLE["help"]
"""Heading of the help → names of the flags below it; `{options}` are those of `OPTION_GROUPS`. All
others stand below "Output"."""

COMMON_FLAGS: Mapping[str, str] = _TABLE["common"]
"""Heading of the help of `-h` → names of the flags that most people use, of any command."""
COMMON_FLAGS_SHOWN = 22
_FLAG_COLUMNS = 26
"""Columns of the flags in the help of `-h`: their sentences get the other 50 of 80."""


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
    from ..engine import list_tokenizers  # it loads none of them

    return (name for name, _ in list_tokenizers() if name != "file:PATH")


def _codes(_context: click.Context) -> Iterable[str]:
    # The keys are found without a parser: reading the YAML would take 40 ms.
    text = read_utf8(Path(__file__).parents[1] / "lint" / "codes.yaml")
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
    """Complete the original that `new` copies: every name, whatever the thing."""
    found = (complete_layout, complete_format, complete_prompt, complete_profile)
    return [name for complete in found for name in complete(context, parameter, begun)]


# --- flags ----------------------------------------------------------------------------------------


ITEM_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".yaml", ".yml"})
"""Suffixes of files that hold items, or a saved result."""


class GroupedCommand(click.Command):
    """A command with the flags of its help in groups: `-h` shows few, `--help` all.

    Files after `--file FILE` are its own: a shell makes `--file a.py b.py` of `--file *.py`.
    Files of items, such as .json and .yaml, are so only after a file with their suffix.
    """

    def __init__(self, *args: Any, **given: Any) -> None:
        settings = given.get("context_settings") or {}
        given["context_settings"] = {**settings, "help_option_names": ["--help"]}
        super().__init__(*args, **given)
        self.params.append(
            click.Option(
                ["-h"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=self._show_common,
                help="Show the options that most people use.",
            )
        )

    def _show_common(self, ctx: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked and not ctx.resilient_parsing:
            click.echo(self.common_help(ctx), color=ctx.color)
            ctx.exit()

    def common_help(self, ctx: click.Context) -> str:
        """Return the help of `-h`: the first sentence, the common flags and the examples."""
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        paragraphs = [part.strip(" \n") for part in (self.help or "").split("\n\n")]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(" ".join(paragraphs[0].split()))
        left = {param.name: param for param in self.params if isinstance(param, click.Option)}
        wanted = [name for names in COMMON_FLAGS.values() for name in names.split()]
        shown = [name for name in wanted if name in left][:COMMON_FLAGS_SHOWN]
        for heading, names in COMMON_FLAGS.items():
            rows = [_short_row(ctx, left[name]) for name in names.split() if name in shown]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows, col_max=_FLAG_COLUMNS)
        # click's mark for lines that stay as they are is a backspace; the last such are examples.
        examples = [part.splitlines()[1:4] for part in paragraphs if part.startswith("\b")]
        for line in ["", *examples[-1]] if examples else []:
            formatter.write(f"  {line.strip()}".rstrip() + "\n")
        more = len(left) - len(shown)
        formatter.write(f"\n{more} more options: {ctx.command_path} --help\n")
        return formatter.getvalue().rstrip("\n")

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
            names = names.replace("{options}", OPTION_GROUPS.get(heading, ""))
            found = (left.pop(name, None) for name in names.split())
            records = list(filter(None, found))
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def _short_row(ctx: click.Context, option: click.Option) -> tuple[str, str]:
    """Return a flag with its value's name, and the first sentence about it."""
    flag = ", ".join(sorted(option.opts, key=len))
    if not option.is_flag:
        metavar = option.make_metavar(ctx)
        if "|" in metavar or "[:" in metavar or "[." in metavar:
            metavar = "NAME"
            if option.name == "files":
                metavar = "PATH"
        flag += f" {metavar}"
    about = re.split(r"(?<=[^.])\. |; | \[default", option.help or "")[0]
    return flag, about.rstrip(".") + "."


def input_flags(function: Command, *, whole: bool = False) -> Command:
    """Add the flags of the sources, of all options and `-q`; `whole`: also those of prompts."""
    function = click.option("-q", "--quiet", is_flag=True, help="Print no notes.")(function)
    function = verbose_flag(function)
    about = "Color messages [default: on a terminal, unless NO_COLOR is set]."
    function = click.option(
        "--color/--no-color", default=None, expose_value=False, callback=_set_color, help=about
    )(function)
    function = option_flags(function, whole=whole)
    function = click.option(
        "--context-lines", metavar="N", type=click.IntRange(0), default=0,
        help="Add N lines before and after a range.",
    )(function)  # fmt: skip
    function = workspace_flag(function)
    about = "Names in --files-from are NUL-separated (find -print0)."
    function = click.option("-0", "--null", is_flag=True, help=about)(function)
    function = _add_flags(function, "input")
    function = folder_flags(function)
    about = "The last N commits."
    function = click.option("--git-log", metavar="N", type=click.IntRange(0), help=about)(function)
    # Without revisions these two stand for all that is not committed.
    function = _add_flags(function, "git", is_flag=False, flag_value="")
    return _add_flags(function, "sources", multiple=True)


def _set_color(context: click.Context, _: click.Parameter, value: bool | None) -> None:
    context.color = value


def folder_flags(function: Command) -> Command:
    """Add the flags that say which files of folders are read."""
    about = "Include dot files that git does not track."
    function = click.option("--hidden", is_flag=True, help=about)(function)
    about = "Mask credentials in files of folders and in git changes."
    function = click.option("--secret-scan/--no-secret-scan", default=True, help=about)(function)
    about = "Include ignored, lock, minified and generated files."
    function = click.option("--ignored", "--no-ignore", is_flag=True, help=about)(function)
    function = follow_flag(function)
    return _add_flags(function, "folders", multiple=True)


def _kept_flag(names: list[str], key: str, about: str) -> Callable[[Command], Command]:
    def keep(context: click.Context, _: click.Parameter, value: bool) -> None:
        context.meta[key] = value

    return click.option(*names, is_flag=True, expose_value=False, callback=keep, help=about)


follow_flag = _kept_flag(
    ["--follow"], FOLLOW_FLAG, "Follow links that point outside their folder, to read and to write."
)
"""Adds `--follow`, which `typed_access` asks for."""
memory_flag = _kept_flag(
    ["--no-cache"], NO_CACHE_FLAG, "Neither use nor keep what is known of a folder's files."
)
"""Adds `--no-cache`, which `keep_memory` asks for."""
verbose_flag = _kept_flag(["-v", "--verbose"], VERBOSE_FLAG, "Print every note whole.")
"""Adds `-v`, which `print_diagnostics` asks for."""
workspace_flag = click.option(
    "--workspace", metavar="DIR", default=".", show_default=True,
    type=click.Path(exists=True, file_okay=False),
    help="Resolve relative paths from DIR.", shell_complete=complete_path,
)  # fmt: skip
json_flag = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def text_flags(function: Command) -> Command:
    """Add the flags that give the texts and the history of a whole prompt."""
    return _add_flags(function, "texts")


def output_flags(function: Command) -> Command:
    """Add `--json` and `-o`."""
    about = "Write to FILE instead of standard output."
    function = click.option(
        "-o", "--output", metavar="FILE", help=about, shell_complete=complete_path
    )(function)
    return json_flag(function)


def _add_flags(function: Command, part: str, **settings: Any) -> Command:
    # A decorator puts its flag before those that are there: the last of the list goes first.
    for flag, name, metavar, about in reversed(_TABLE[part]):
        complete = complete_path if metavar in _PATH_METAVARS else None
        function = click.option(
            flag, name, metavar=metavar, help=about, shell_complete=complete, **settings
        )(function)
    return function


def option_flags(function: Command, *, whole: bool = False) -> Command:
    """Add a flag for each option: `max_tokens` → `--max-tokens`, `headers` → `--[no-]headers`.

    The options of whole prompts get flags only with `whole`.
    """
    about = "Set any option by its name: -O explicit_share=0.5; the guide lists all. Repeatable."
    function = click.option(
        "-O", "--option", "settings", metavar="KEY=VALUE", multiple=True, help=about
    )(function)
    defaults = Options()
    for name in reversed(list(OPTION_VOCABULARY)):
        if whole or name not in PROMPT_OPTIONS:
            function = _option_flag(name, getattr(defaults, name))(function)
    return profile_flags(function)


def _option_flag(name: str, default: Any) -> Callable[[Command], Command]:
    rule = OPTION_VOCABULARY.rules[name]
    flag = "--" + name.replace("_", "-")
    if bare_type(rule.shape) is bool:
        about = f"{rule.doc} [default: {('no', 'yes')[default]}]"
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=about)
    about, multiple = rule.doc, _is_list(rule) or rule.several
    if name in _VERBATIM_OPTIONS:
        about += f" Repeatable; a comma is part of {_VERBATIM_OPTIONS[name]}."
    elif multiple:
        about += " Repeatable, or comma-separated."
    elif default not in (None, ""):
        about += f" [default: {default}]"

    def read(_: click.Context, __: click.Parameter, value: Any) -> Any:
        return read_option(name, value, flag) if isinstance(value, str) else value

    return click.option(
        flag, name, type=click.UNPROCESSED, metavar=_metavar(rule), multiple=multiple,
        callback=read, help=about, hidden=name in RARE_OPTIONS,
        shell_complete=COMPLETIONS.get(name) or _offer(lambda _: rule.words),
    )  # fmt: skip


def _metavar(rule: Rule) -> str:
    if rule.choices:
        return f"[{'|'.join(rule.choices)}]"
    if rule.words:
        return f"[{'|'.join(rule.words)}|…]"
    if rule.name in COMPLETIONS:
        return "NAME"
    return {int: "N", float: "X"}.get(bare_type(rule.shape), "TEXT")


def read_option(name: str, text: str, where: str) -> Any:
    """Return the value of an option from a text: `4000`, `20k`, `yes`, `a,b`, `{code: …}`.

    A text that cannot be read goes on as it is, and the vocabulary refuses it in the words of all
    messages. Here only an unknown option raises, `OptionError`, and broken YAML of a mapping,
    `ProfileError` with `where`.
    """
    rule = OPTION_VOCABULARY.rule(name)
    if rule is None:
        OPTION_VOCABULARY.refuse(name)
    kind = bare_type(rule.shape)
    if text == "none" and not (_is_list(rule) and not rule.choices):
        return text
    if _is_list(rule):
        return [part.strip() for part in text.split(",") if part.strip()]
    if typing.get_origin(kind) is dict:
        from ..yaml_reader import load_yaml  # late: only a mapping is worth its import

        return load_yaml(text, where)
    if kind is bool:
        return _BOOLEANS.get(text.lower(), text)
    if kind is int and (count := read_count(text)) is not None:
        return count
    if kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _is_list(rule: Rule) -> bool:
    return typing.get_origin(bare_type(rule.shape)) is tuple


def profile_flags(function: Command) -> Command:
    """Add `--profile`, `--templates`, `--profiles` and `--allow-outside`."""
    about = "Allow job, profile and list files to name files outside their folder."
    function = click.option("--allow-outside", is_flag=True, help=about)(function)
    for name, variable in reversed(FOLDER_VARIABLES.items()):
        function = click.option(
            f"--{name}",
            multiple=True,
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help=f"A folder of your own {name}; it comes before the shipped ones. Also {variable}.",
        )(function)
    return click.option(
        "--profile",
        "-p",
        metavar="NAME",
        shell_complete=complete_profile,
        help="A profile, its .yaml file, or a model's id; such as gpt-5-mini.",
    )(function)


def given_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the flags set, by name; raises `OptionError` for a bad `-O`."""
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
    for text in given.get("settings") or ():
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise OptionError(f"-O takes KEY=VALUE; got {quote(text)}")
        found[name] = read_option(name, value, f"-O {name}")
    return found


def flag_names(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags that set an option or the profile, by its name."""
    named = [*given_options(given), *(["profile"] if given["profile"] else [])]
    return {name: f"--{name.replace('_', '-')}" for name in named}
