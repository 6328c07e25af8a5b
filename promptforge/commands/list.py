"""`promptforge list`: what there is to choose from."""

from __future__ import annotations

from typing import Any

import click

from ..profiles import find_profiles
from ..templates import Templates
from ..tokens import names
from .flags import folders_of, profile_flags
from .output import write_json

WHAT = ("layouts", "profiles", "tokenizers", "templates")


@click.command("list")
@click.argument("what", required=False, type=click.Choice(WHAT))
@profile_flags
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(what: str | None, as_json: bool, **given: Any) -> None:
    """List layouts with their formats, profiles and tokenizers; `list templates` lists the template files."""
    folders = folders_of(given)
    templates = Templates(folders["templates"])
    found: dict[str, list[dict[str, Any]]] = {
        "layouts": [
            {"name": name, "formats": templates.formats(name), "description": templates.settings(name).description}
            for name in templates.layouts()
        ],
        "profiles": [
            {"name": name, "description": about, "file": str(path)}
            for name, about, path in find_profiles(folders["profiles"])
        ],
        "tokenizers": [{"name": name, "description": about} for name, about in names()],
        "templates": [
            {"name": name, "description": "" if shipped else f"yours: {path}"}
            for name in templates.names()
            if (entry := templates.find(name)) is not None
            for _, path, shipped in [entry]
        ],
    }
    chosen = [what] if what else ["layouts", "profiles", "tokenizers"]
    if as_json:
        write_json({name: found[name] for name in chosen})
        return
    for number, name in enumerate(chosen):
        if len(chosen) > 1:
            click.echo(f"{'' if number == 0 else chr(10)}{name}")
        width = max((len(row["name"]) for row in found[name]), default=0)
        for row in found[name]:
            formats = f" ({', '.join(row['formats'])})" if "formats" in row else ""
            click.echo(f"  {row['name']:<{width}}  {row['description']}{formats}".rstrip())
