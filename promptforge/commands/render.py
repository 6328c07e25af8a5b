"""`promptforge render`: sources and items in, one context text out."""

from __future__ import annotations

from typing import Any

import click

from .inputs import exit_code, input_flags, read
from .output import write, write_json


@click.command("render")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@input_flags
@click.option(
    "--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of the text."
)
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output.")
def command(items: tuple[str, ...], as_json: bool, output: str | None, **given: Any) -> int:
    """Turn items and named sources into one context text.

    ITEMS are files of items (JSON, JSON Lines, YAML); `-` is standard input, and so is no argument at all when
    something is piped in.
    """
    request = read(items, given)
    renderer = request.renderer()
    result = request.render(renderer, request.gather())
    if as_json:
        write_json(result.to_dict(), output)
    else:
        write(result.text, output)
    return exit_code(result)
