"""`promptforge show`: the source of a template, a layout's settings or a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .. import _shipped
from ..errors import TemplateError, nearest, quote
from ..profiles import find_profiles
from . import names
from .flags import folders_of, profile_flags
from .output import write, write_json


@click.command("show")
@click.argument("name", shell_complete=names.shown)
@profile_flags
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str, as_json: bool, **given: Any) -> None:
    """Print the source of NAME: a template such as chunks/item.md.j2, a profile such as claude, or a layout."""
    from ..templates import Templates

    folders = folders_of(given)
    templates = Templates(folders["templates"])
    found = templates.find(name) or templates.find(f"{name}/layout.yaml")
    wanted = name.removesuffix(".yaml")
    own = folders["profiles"] if not wanted.startswith("shipped/") else []
    wanted = wanted.removeprefix("shipped/")
    profiles = {profile: path for profile, _, path in find_profiles(own)}
    path: Path
    if found is not None:
        path = found.path
    elif wanted in profiles:
        path = profiles[wanted]
    else:
        known = [*templates.names(), *templates.layouts(), *profiles]
        raise TemplateError(f"there is no template, layout or profile {quote(name)}{nearest(name, known)}")
    text = templates.source(found.name)[0] if found is not None else path.read_text(encoding="utf-8")
    original = templates.find(f"shipped/{found.name}") if found is not None else None
    shipped = original.path if original else _shipped.folder("profiles") / path.name if found is None else None
    hides = shipped if shipped is not None and shipped.is_file() and shipped.resolve() != path.resolve() else None
    if as_json:
        write_json({"name": name, "file": str(path), "hides": str(hides) if hides else None, "text": text})
        return
    hidden = f"; it hides the shipped one, shipped/{(found.name if found else path.stem)}" if hides else ""
    click.echo(f"promptforge: {path}{hidden}", err=True)
    write(text, None)
