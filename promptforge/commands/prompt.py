"""`promptforge prompt`: the whole prompt, as one text or as the request of a provider."""

from __future__ import annotations

import functools
import json
import os
from typing import Any

import click

from ..diagnostics import Diagnostics
from ..errors import OptionError, StrictError, nearest, quote
from ..prompting.conversations import read as read_messages
from ..prompting.messages import Message
from ..prompting.shapes import SHAPES
from ..sources import workspace
from ..sources.itemfiles import load_messages
from .inputs import Request, exit_code, input_flags, read
from .output import say, write, write_json

_TEXTS = {"system": "system", "instructions": "instructions", "user": "question"}
"""Flag → its word in a job file."""


@click.command("prompt")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@click.option("--system", metavar="TEXT", help="The system text.")
@click.option("--system-file", metavar="FILE", help="A file that holds it; - is standard input.")
@click.option("--instructions", metavar="TEXT", help="Instructions, beside the context.")
@click.option("--instructions-file", metavar="FILE", help="A file that holds them, or -.")
@click.option("--user", metavar="TEXT", help="The question; it is the query too, where --query gives no other.")
@click.option("--user-file", metavar="FILE", help="A file that holds it, or -.")
@click.option("--history", metavar="FILE", help="Messages of any provider, or -: JSON, JSON Lines or YAML.")
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
def command(
    items: tuple[str, ...], history: str | None, to: str, as_json: bool, output: str | None, **given: Any
) -> int:
    """Make the whole prompt: what ITEMS and sources give, around it system text, instructions, history and question.

    All share the window of the profile, less its reserve. With --to text the prompt is printed, else the keywords of
    the provider's call as JSON.
    """
    if to not in SHAPES:
        raise OptionError(f"there is no shape {quote(to)}{nearest(to, SHAPES)}", option="to")
    _read_once(["ITEMS" for path in items if path == "-"], {**given, "history": history})
    piped = "-" in (history, *(given[f"{flag}_file"] for flag in _TEXTS))
    texts = {flag: _text(given.pop(flag), given.pop(f"{flag}_file"), flag) for flag in _TEXTS}
    request = read(items, {**given, "may_be_empty": True, "piped": piped})
    for flag, word in _TEXTS.items():
        texts[flag] = request.job.texts.get(word) if texts[flag] is None else texts[flag]
    messages = _history(history, request)
    loaded = request.gather()
    try:
        prompt = request.renderer().prompt(
            loaded,
            system=texts["system"],
            instructions=texts["instructions"],
            user=texts["user"],
            history=messages,
            to=to,
            before=tuple(request.diagnostics),
            **request.options,
        )
    except StrictError as error:
        say(error.diagnostics)
        raise
    say(prompt.warnings, quiet=request.quiet)
    if as_json:
        write_json(prompt.to_dict(), output)
    elif to == "text":
        write(prompt.text, output)
    else:
        write(json.dumps(prompt.request, ensure_ascii=False, indent=2) + "\n", output)
    return exit_code(prompt)


def _read_once(readers: list[str], given: dict[str, Any]) -> None:
    """Raise a usage error where standard input is to be more than one thing."""
    flags = [*(f"{flag}_file" for flag in _TEXTS), "history"]
    readers += [f"--{flag.replace('_', '-')}" for flag in flags if given[flag] == "-"]
    if len(readers) > 1:
        raise click.UsageError(
            f"{' and '.join(readers)} are all to come from standard input; give all but one by files"
        )


def _text(text: str | None, path: str | None, flag: str) -> str | None:
    """Return a text given as it is or by a file, whose last line end is not its own."""
    if path is None:
        return text
    if text is not None:
        raise click.UsageError(f"--{flag} and --{flag}-file both give the text; leave one out")
    diagnostics = Diagnostics()
    named = path if path == "-" else os.path.abspath(path)
    found, _ = workspace.read_named(named, workspace=os.curdir, diagnostics=diagnostics)
    say(diagnostics)
    return found.removesuffix("\n")


def _history(path: str | None, request: Request) -> list[Message] | None:
    """Return the messages of the file that is named, or of the job."""
    given = path if path is not None else request.job.history
    if given is None:
        return None
    diagnostics = request.diagnostics
    if isinstance(given, str):
        records, locate = load_messages(given, diagnostics=diagnostics, workspace=request.wanted.workspace)
        return read_messages(records, given, diagnostics, locate)
    return read_messages(given, "history", diagnostics)
