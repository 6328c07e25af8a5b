"""`promptforge schema`: the JSON Schema of a profile or of a layout's settings."""

from __future__ import annotations

import json

import click

from .. import layouts, profiles
from .output import write

_SCHEMAS = {"profile": profiles.schema, "layout": layouts.schema}


@click.command("schema")
@click.argument("what", type=click.Choice(list(_SCHEMAS)), default="profile")
def command(what: str) -> None:
    """Print the JSON Schema of a profile, or of a layout's layout.yaml, for editors."""
    write(json.dumps(_SCHEMAS[what](), indent=2) + "\n", None)
