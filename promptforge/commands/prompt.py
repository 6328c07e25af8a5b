"""`promptforge prompt`: the whole prompt, as one text or as the request of a provider."""

from __future__ import annotations

import functools
from typing import Any

import click

from ..errors import OptionError, StrictError, nearest, quote
from ..prompting.prompts import printed
from ..prompting.shapes import SHAPES
from .inputs import exit_code, input_flags, read
from .output import say, write, write_json
from .parts import part_flags, parts, piped, take_texts


@click.command("prompt")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@part_flags
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
    items: tuple[str, ...],
    history: str | None,
    to: str,
    as_json: bool,
    output: str | None,
    **given: Any,
) -> int:
    """Make the whole prompt: what ITEMS and sources give, around it system text, instructions, history and question.

    All share the window of the profile, less its reserve. With --to text the prompt is printed, else the keywords of
    the provider's call as JSON.
    """
    if to not in SHAPES:
        raise OptionError(f"there is no shape {quote(to)}{nearest(to, SHAPES)}", option="to")
    is_piped = piped(items, {**given, "history": history})
    texts = take_texts(given)
    request = read(items, {**given, "may_be_empty": True, "piped": is_piped})
    around = parts(texts, history, request)
    loaded = request.gather()
    try:
        prompt = request.renderer().prompt(
            loaded,
            system=around.texts["system"],
            instructions=around.texts["instructions"],
            user=around.texts["user"],
            history=around.messages,
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
    else:
        write(printed(prompt), output)
    return exit_code(prompt)
