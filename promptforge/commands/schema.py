"""`promptforge schema`: the JSON Schema of a profile or of a layout's settings."""

from __future__ import annotations

import json

import click

from .output import write


@click.command("schema")
@click.argument("what", type=click.Choice(["profile", "layout"]), default="profile")
def command(what: str) -> None:
    """Print the JSON Schema of a profile, or of a layout's layout.yaml, for editors."""
    from .. import layouts, profiles

    schema = {"profile": profiles.schema, "layout": layouts.schema}[what]()
    write(json.dumps(schema, indent=2) + "\n", None)
