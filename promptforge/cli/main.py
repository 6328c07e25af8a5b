"""The entry point of the command line: arguments in, text out, exit code.

`COMMANDS` names every command, its module and its help. A module is imported when its command runs,
so `--help` and completion answer at once. `main` turns every error into one line and an exit code.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from .._version import __version__
from ..errors import (
    OptionError,
    PromptForgeError,
    StrictError,
    TemplateError,
    TokenizerError,
    cut_long_words,
    quote,
    suggest_name,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class CommandEntry(NamedTuple):
    """A command before its module is imported."""

    module: str
    """Module of this package; its function is `NAME_command`."""
    help: str


GROUPS = {
    "Build": {
        "render": CommandEntry("render", "Build the context from files, folders or items."),
        "prompt": CommandEntry("preview", "Build a prompt: system, history, context, question."),
        "batch": CommandEntry("batch", "Render a file of requests; resumable."),
        "preview": CommandEntry("preview", "Open the live preview in a browser."),
        "mcp": CommandEntry("preview", "Run an MCP server."),
    },
    "Inspect": {
        "explain": CommandEntry("explain", "Show why each item is in or out, and its cost."),
        "diff": CommandEntry("diff", "Compare two builds: options, or saved results."),
        "count": CommandEntry("render", "Count the tokens of files or of standard input."),
    },
    "Browse": {
        "list": CommandEntry("list", "List layouts, formats, profiles, tokenizers and more."),
        "show": CommandEntry("list", "Print the source of a template, layout or profile."),
        "guide": CommandEntry("guide", "Print a page of the guide."),
        "rule": CommandEntry("check", "Explain a message code (PF802) and how to fix it."),
        "schema": CommandEntry("list", "Print the JSON Schema of a profile or a layout."),
        "completion": CommandEntry("list", "Print the completion script of a shell."),
    },
    "Customize": {
        "init": CommandEntry("list", "Create a project: settings, layout, profile, tests."),
        "new": CommandEntry("list", "Copy a layout, format, item template, prompt or profile."),
        "check": CommandEntry("check", "Find mistakes in templates and profiles."),
        "test": CommandEntry("check", "Render your golden cases and compare."),
        "trust": CommandEntry("check", "Allow the settings, templates and profiles of a project."),
    },
}

COMMANDS = {name: entry for entries in GROUPS.values() for name, entry in sorted(entries.items())}

EPILOG = """Each option is also a variable (PROMPTFORGE_MAX_TOKENS) and a key of promptforge.toml.
Exit codes: 0 done; 1 findings (of check, test, diff --exit-code or a strict run);
2 wrong usage; 3 required items do not fit; 4 bad input, with file, line and field;
5 a template failed."""


_NAME_METAVARS = frozenset({"DIR", "DIRECTORY", "FILE", "NAME", "PATH", "PATH[:START[-END]]"})


class _Named(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """The type of a name.

    An empty one, as of a variable that is not set, names no folder; a flag names no file.
    """

    def __init__(self, inner: click.ParamType[Any]) -> None:
        self._inner, self.name = inner, inner.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty; is a shell variable unset?", param, ctx)
        # Of `--html -o FILE` the file would be called `-o`.
        if ctx and any(value in (*each.opts, *each.secondary_opts) for each in ctx.command.params):
            self.fail(f"{value} is a flag; write ./{value} for a file of this name", param, ctx)
        return self._inner.convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return self._inner.shell_complete(ctx, param, incomplete)


def _refuse_one_dash(parser: Any, ctx: click.Context) -> Any:
    """Let a parser refuse `-outline`, which click reads as `-o utline`; returns the parser."""
    read_letters = parser._match_short_opt

    def read(word: str, state: Any) -> None:
        name = word.partition("=")[0]
        if len(name) == 2:
            read_letters(word, state)
            return
        from .output import guess_flag, long_flags, named_flag  # late: `-h` needs none

        # `*.py` names a file -o.py too.
        if os.path.lexists(word) or named_flag(name, long_flags(ctx)) is not None:
            raise click.NoSuchOption(name, ctx=ctx)
        try:
            read_letters(word, state)
        except click.NoSuchOption:  # of one letter in it
            if guess_flag(name, ctx):
                raise click.NoSuchOption(name, ctx=ctx) from None
            raise

    parser._match_short_opt = read
    return parser


class _LazyGroup(click.Group):
    """A group that imports the module of a command when the command is asked for."""

    def make_parser(self, ctx: click.Context) -> Any:
        return _refuse_one_dash(super().make_parser(ctx), ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Words of git, uv and gh: help, help render, version.
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        elif args == ["version"]:
            args = ["--version"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f".{COMMANDS[name].module}", __package__)
        command: click.Command = getattr(module, f"{name}_command")
        for param in command.params:
            is_named = isinstance(param, click.Argument) or param.metavar in _NAME_METAVARS
            if is_named and (type(param.type) is click.Path or param.type is click.STRING):
                param.type = _Named(param.type)
        make = functools.partial(type(command).make_parser, command)
        command.make_parser = lambda ctx: _refuse_one_dash(make(ctx), ctx)  # type: ignore[method-assign]
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        # Group.shell_complete would import every command for its help: 19 modules and the engine.
        flags = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=COMMANDS[name].help) for name in names), *flags]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        wide = max(map(len, COMMANDS))
        for heading, entries in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{wide}}", entries[name].help) for name in entries])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        # Click's own message knows no near names.
        name = next(iter(args), "-")
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            hint = suggest_name(name, COMMANDS)
            if os.path.lexists(name):  # as of programs that only read files
                hint = f"; did you mean {quote(f'render {name}')}?"
            raise click.UsageError(f"there is no command {quote(name)}{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=_LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(
    __version__, "-V", "--version", message="%(prog)s %(version)s", help="Print the version."
)
def command_group() -> None:
    """Pack files, search results and documents into an LLM prompt that fits a token budget.

    The text goes to standard output, messages go to standard error.

    \b
      promptforge render --man tar --doc README.md --max-tokens 2000
      promptforge render items.json --profile claude
      promptforge prompt items.json --user "What is this?" --to openai
      promptforge COMMAND --help
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    # Imported for commands alone: with it, `promptforge --help` takes a quarter more time.
    from ..files.access import begin_run

    begin_run()


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit; no error ends in a traceback."""
    if arguments is None:
        arguments = sys.argv[1:]
        # A process of its own: a twelfth of a short run went into searching its imports for circles
        # of references, again and again, and once more at the end. At `freeze` they are left alone.
        # 50,000 made a fifth of outlining 1,771 files such a search.
        gc.set_threshold(500_000, *gc.get_threshold()[1:])
        atexit.register(gc.freeze)
        # A library in Rust prints the stack of its panic itself, before its error is caught here.
        os.environ["RUST_BACKTRACE"] = "0"
    stdout = sys.stdout
    for stream in (stdout, sys.stderr):
        # A character outside the terminal's encoding must not end the run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    places: dict[str, str] = {}
    try:
        code = command_group.main(
            arguments, prog_name="promptforge", standalone_mode=False, obj=places
        )
        if sys.stdout is not None:
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as end:
        # The reader has gone, as with `| head`: click exits with 1 then, and puts another stream
        # in place. Python would complain while it flushes at exit.
        if isinstance(end, SystemExit) and sys.stdout is stdout:
            raise
        from ..files.access import discard_output

        discard_output(sys.stdout.fileno())
        code = 0
    except click.exceptions.Abort:
        code = 130  # Ctrl-C: 128 and the number of the signal, as shells have it
    except (PromptForgeError, click.ClickException, RecursionError, OSError) as error:
        code = report_error(error, arguments, places)
    if not isinstance(code, int):
        code = 0
    sys.exit(code)


def report_error(error: Exception, arguments: Sequence[str], places: Mapping[str, str]) -> int:
    """Print an error, with `--json` also as JSON on standard output; return the exit code.

    `places` are the places of options by name, such as `promptforge.toml:2`.
    """
    from ..text.format import plural
    from .inputs import JobPlace
    from .output import (
        JSON_VERSION,
        excerpt_lines,
        print_diagnostics,
        print_line,
        print_message,
        write_or_discard,
    )

    # `promptforge` alone prints the help: that is no message to put into one line.
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    code, message = _describe(error, arguments, places)
    message = cut_long_words(message)  # the system's and click's have any name in them
    if isinstance(error, StrictError) and error.diagnostics:
        print_diagnostics(error.diagnostics)  # the message repeats the first of them
        count = plural(len(error.diagnostics), "warning", "warnings")
        print_message(f"{count}, and strict mode takes none")
    else:
        print_message(message)
    # A program that asked for JSON gets its error as JSON too; click has not parsed the flag yet.
    text = ""
    if "--json" in arguments:
        import json

        keys = ("where", "field", "option", "needed", "largest")
        facts = {key: value for key in keys if (value := getattr(error, key, None))}
        report = {"code": code, "message": message, **facts}
        text = json.dumps({"promptforge": JSON_VERSION, "error": report}) + "\n"
    # The error may be that standard output takes nothing; it then still holds what it was given.
    if sys.stdout is not None:
        write_or_discard(sys.stdout, lambda: click.echo(text, nl=False))
    if isinstance(error, TemplateError) and error.excerpt is not None:
        line_number, source, column, end = error.excerpt
        for line in excerpt_lines(source, line_number, column, end):
            print_line(line)
    # A file that cannot be read, and an input that nests too deeply, are bad input: 4.
    exit_code: int = getattr(error, "exit_code", 4)
    return 4 if isinstance(_place_of(error, places), JobPlace) else exit_code


def _describe(
    error: Exception, arguments: Sequence[str], places: Mapping[str, str]
) -> tuple[str, str]:
    """Return the code and the message of an error."""
    from .inputs import UNTRUSTED, UNTRUSTED_FILES
    from .output import unused_folder_hint, usage_message

    if isinstance(error, click.ClickException):
        return "usage", usage_message(error, arguments)
    # Thousands of nested brackets in JSON or YAML exceed the recursion limit of a parser.
    if isinstance(error, RecursionError):
        return "input", "the input nests too deeply"
    message = str(error)
    if isinstance(error, OSError):
        message = error.strerror or message
        if error.filename:
            message = f"{error.filename}: {message[:1].lower()}{message[1:]}"
        return "file", message
    place = _place_of(error, places)
    if place and not place.startswith("--"):
        message = f"{place}: {message}"
    if isinstance(error, OptionError) and error.absent:
        files = places.get(UNTRUSTED_FILES, "")
        hint = unused_folder_hint(error.absent, arguments)
        if f"/{error.absent}/" in files or f"/{error.absent}.y" in files:
            hint = f"; {places[UNTRUSTED]}"
        if hint:
            message = f"{message.removesuffix(error.hint)}{hint}"
    return type(error).__name__.removesuffix("Error").lower(), message


def _place_of(error: Exception, places: Mapping[str, str]) -> str | None:
    """Return the place of the option that an error is about, unless it says its own."""
    option = "tokenizer" if isinstance(error, TokenizerError) else getattr(error, "option", None)
    return None if getattr(error, "where", None) else places.get(str(option))
