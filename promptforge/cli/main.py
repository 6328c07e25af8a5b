"""The command line: arguments in, text out, exit code. Commands are imported only when they run."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from .._version import __version__
from ..errors import OptionError, PromptForgeError, TemplateError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "batch": "Render many requests at once, resumable, to results or files for batch services.",
    "calibrate": "Work out a factor for a tokenizer that is not at hand, from true counts.",
    "check": "Check templates, layouts and profiles, and measure what they cost.",
    "completion": "Print the script by which a shell completes commands and names.",
    "count": "Count the tokens of files, or of standard input.",
    "diff": "Compare two builds: profiles, formats, budgets, or saved results.",
    "explain": "Say which item is in the text, which is not and why, and what it costs.",
    "init": "Write a project to start from: a layout, a profile, items, golden cases.",
    "list": "List layouts, formats, profiles and tokenizers.",
    "mcp": "Serve contexts and layouts to a client of the Model Context Protocol.",
    "new": "Copy a layout, a format, the look of a kind, a prompt or a profile, to edit it.",
    "preview": "Show a local page that follows templates, profiles and the budget.",
    "prompt": "Make the whole prompt: system text, context, history and question in one window.",
    "render": "Turn items and named sources into one context text.",
    "rule": "Explain a code such as PF802, with an example and the way out.",
    "schema": "Print the JSON Schema of a profile, for editors.",
    "show": "Print a template, a layout's settings, a prompt's frame or a profile.",
    "test": "Render your own golden cases and compare.",
    "trust": "Let templates and profiles that came with a project be used.",
}
"""Name → what it does; the module of the same name holds it."""

GROUPS = {
    "Make a text": ("render", "prompt", "batch", "preview", "mcp"),
    "See why": ("explain", "diff", "count", "calibrate"),
    "See what there is": ("list", "show", "rule", "schema", "completion"),
    "Make it yours": ("init", "new", "check", "test", "trust"),
}
"""The commands as the help shows them."""

EPILOG = """Exit codes: 0 done; 1 findings (a strict run that had something to say, diff --exit-code); 2 usage;
3 what is required does not fit; 4 bad input, with file, line and field; 5 a template failed."""


MODULES = {
    "batch": "render",
    "calibrate": "render",
    "check": "check",
    "completion": "complete",
    "count": "render",
    "diff": "diff",
    "explain": "explain",
    "init": "list",
    "list": "list",
    "mcp": "render",
    "new": "list",
    "preview": "render",
    "prompt": "render",
    "render": "render",
    "rule": "check",
    "schema": "list",
    "show": "list",
    "test": "check",
    "trust": "check",
}
"""Command → the module of this package that holds it."""


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f".{MODULES[name]}", __package__)
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        named = [
            CompletionItem(n, help=COMMANDS[n])
            for n in self.list_commands(ctx)
            if n.startswith(incomplete)
        ]
        return [
            *named,
            *click.Command.shell_complete(self, ctx, incomplete),
        ]  # a Group's own imports every command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        wide = max(map(len, COMMANDS))
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{wide}}", COMMANDS[name]) for name in names])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if (
            args
            and args[0] not in COMMANDS
            and not args[0].startswith("-")
            and not ctx.resilient_parsing
        ):
            from ..errors import quote
            from ..errors import suggest_name as nearest

            raise click.UsageError(
                f"there is no command {quote(args[0])}{nearest(args[0], COMMANDS)}", ctx
            )
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"promptforge {__version__}")
        ctx.exit()


@click.group(
    cls=_Lazy,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version.",
)
def command_group() -> None:
    """Turn retrieved pieces into one exact, safe, well-laid-out context text for an LLM.

    The text goes to standard output, everything else to standard error.

    \b
      promptforge render --man tar --doc README.md --max-tokens 2000
      promptforge render items.json --profile claude
      promptforge prompt items.json --user "What is this?" --to openai
      promptforge COMMAND --help
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit; no error ends in a traceback."""
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    for stream in (sys.stdout, sys.stderr):
        if hasattr(
            stream, "reconfigure"
        ):  # what a terminal's encoding cannot print must not end the run
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = command_group.main(given, prog_name="promptforge", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except PromptForgeError as error:
        code = report_error(error, as_json=as_json, given=given)
    except click.exceptions.Abort:
        code = 130
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = error.exit_code
    except click.ClickException as error:
        from . import output as usage

        _say("usage", usage.usage_message(error), as_json=as_json)
        code = error.exit_code
    except RecursionError:
        _say("input", "something in the input nests too deeply", as_json=as_json)
        code = 4
    except BrokenPipeError:  # the reader has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        named = f": {error.filename}" if error.filename else ""
        _say("file", f"{error.strerror or error}{named}", as_json=as_json)
        code = 4
    sys.exit(code if isinstance(code, int) else 0)


def report_error(error: PromptForgeError, *, as_json: bool, given: Sequence[str] = ()) -> int:
    """Say what went wrong on standard error, with `--json` on standard output too; return the exit code.

    `given` is the command line.
    """
    facts = {
        key: value
        for key in ("where", "field", "option", "needed", "largest")
        if (value := getattr(error, key, None))
    }
    message = str(error)
    if isinstance(error, OptionError) and error.absent and not error.absent.startswith("shipped/"):
        from .output import unused_folder_hint as beside

        message += beside(error.absent, given)
    _say(type(error).__name__.removesuffix("Error").lower(), message, as_json=as_json, **facts)
    if isinstance(error, TemplateError) and error.excerpt is not None:
        from .output import excerpt_lines as excerpt

        for line in excerpt(
            error.excerpt.source, error.excerpt.line, error.excerpt.column, error.excerpt.end
        ):
            click.echo(line, err=True)
    return error.exit_code


def _say(code: str, message: str, *, as_json: bool, **facts: Any) -> None:
    click.echo(f"promptforge: {message}", err=True)
    if as_json and sys.stdout is not None:
        import json

        click.echo(
            json.dumps({"promptforge": 1, "error": {"code": code, "message": message, **facts}})
        )
