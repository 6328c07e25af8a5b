"""Read the texts and the history of a whole prompt from flags and a job file."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from ..diagnostics import Diagnostics
from ..prompting.conversations import read as read_messages
from ..prompting.messages import Message
from ..sources import workspace
from ..sources.itemfiles import load_messages
from .flags import Command
from .inputs import Request
from .output import say

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


class Parts(NamedTuple):
    """Texts and history around the context: of the flags, else of the job file."""

    texts: dict[str, str | None]
    """`system`, `instructions` and `user`."""
    history: list[Any] | None
    """Messages as they were given, in the shape of any provider."""
    messages: list[Message] | None
    """The same, read."""


def part_flags(function: Command) -> Command:
    """Add the flags that give the parts."""
    for decorate in reversed(_FLAGS):
        function = decorate(function)
    return function


def piped(items: tuple[str, ...], given: dict[str, Any]) -> bool:
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


def parts(texts: dict[str, str | None], history: str | None, request: Request) -> Parts:
    """Return `texts` and the messages of the file `history`; the job fills in for both."""
    said = dict(texts)
    for flag, text in texts.items():
        if text is None:
            said[flag] = request.job.texts.get(_TEXTS[flag])
    given = request.job.history
    if history is not None:
        given = history
    if given is None:
        return Parts(said, None, None)
    diagnostics = request.diagnostics
    if isinstance(given, str):
        records, locate = load_messages(
            given, diagnostics=diagnostics, workspace=request.wanted.workspace
        )
        return Parts(said, list(records), read_messages(records, given, diagnostics, locate))
    return Parts(said, list(given), read_messages(given, "history", diagnostics))


def _text(text: str | None, path: str | None, flag: str) -> str | None:
    """Return a text given as it is or in a file; a file's last line end is dropped."""
    if path is None:
        return text
    if text is not None:
        raise click.UsageError(f"--{flag} and --{flag}-file both give the text; leave one out")
    diagnostics = Diagnostics()
    found, _ = workspace.read_named(path, workspace=None, diagnostics=diagnostics)
    say(diagnostics)
    return found.removesuffix("\n")
