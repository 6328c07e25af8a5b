"""`promptforge schema`: the JSON Schema of a profile file."""

from __future__ import annotations

import json

import click

from ..profiles import schema
from .output import write


@click.command("schema")
@click.argument("what", type=click.Choice(["profile"]), default="profile")
def command(what: str) -> None:
    """Print the JSON Schema of a profile, for editors."""
    write(json.dumps(schema(), indent=2) + "\n", None)
