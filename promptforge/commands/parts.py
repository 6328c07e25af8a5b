"""The parts of a whole prompt beside its items: the flags that give them, and what these and a job file say."""

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
    """What stands around the context, as the flags say it, and where they are silent the job file."""

    texts: dict[str, str | None]
    """`system`, `instructions` and `user`."""
    history: list[Any] | None
    """Messages as they were written, in the shape of whatever provider."""
    messages: list[Message] | None
    """The same, read."""


def part_flags(function: Command) -> Command:
    """Add the flags that give the parts."""
    for decorate in reversed(_FLAGS):
        function = decorate(function)
    return function


def piped(items: tuple[str, ...], given: dict[str, Any]) -> bool:
    """Return whether one of the parts comes from standard input; a usage error where more than one thing is to."""
    named = [
        name for name in (*(f"{flag}_file" for flag in _TEXTS), "history") if given[name] == "-"
    ]
    readers = ["ITEMS" for path in items if path == "-"] + [
        f"--{name.replace('_', '-')}" for name in named
    ]
    if len(readers) > 1:
        raise click.UsageError(
            f"{' and '.join(readers)} are all to come from standard input; give all but one by files"
        )
    return bool(named)


def take_texts(given: dict[str, Any]) -> dict[str, str | None]:
    """Take the flags of the texts out of `given` and return what they say."""
    return {flag: _text(given.pop(flag), given.pop(f"{flag}_file"), flag) for flag in _TEXTS}


def parts(texts: dict[str, str | None], history: str | None, request: Request) -> Parts:
    """Return the parts: `texts` and the file `history` of the flags, over those of the job."""
    said = {
        flag: request.job.texts.get(_TEXTS[flag]) if text is None else text
        for flag, text in texts.items()
    }
    given = history if history is not None else request.job.history
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
    """Return a text given as it is or by a file, whose last line end is not its own."""
    if path is None:
        return text
    if text is not None:
        raise click.UsageError(f"--{flag} and --{flag}-file both give the text; leave one out")
    diagnostics = Diagnostics()
    found, _ = workspace.read_named(path, workspace=None, diagnostics=diagnostics)
    say(diagnostics)
    return found.removesuffix("\n")
