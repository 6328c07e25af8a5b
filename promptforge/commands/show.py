"""`promptforge show`: the source of a template, a layout's settings or a profile."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from .. import _shipped
from ..errors import OptionError, did_you_mean, quote
from ..profiles import find_profiles
from .flags import folders_of, profile_flags
from .names import shown
from .output import write, write_json

if TYPE_CHECKING:
    from ..templates import Found, Templates


@click.command("show")
@click.argument("name", shell_complete=shown)
@profile_flags
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str, as_json: bool, **given: Any) -> None:
    """Print the source of NAME; on standard error, which file that is.

    NAME is as `promptforge list` has it: a template such as chunks/item.md.j2, a layout (its settings), a profile, or
    a set of prompt templates (its frame) such as prompt/lisp.
    """
    from ..templates import PROMPTS, Templates

    folders = folders_of(given)
    templates = Templates(folders["templates"])
    found = templates.find(name) or _first(templates, f"{name}/layout.")
    wanted = name.removesuffix(".yaml")
    own = folders["profiles"] if not wanted.startswith("shipped/") else []
    profiles = {profile: path for profile, _, path in find_profiles(own)}
    path = profiles.get(wanted.removeprefix("shipped/"))
    if path is None and found is None:
        found = _first(templates, f"{name}/prompt.") or _first(
            templates, f"{PROMPTS}/{name}/prompt."
        )
    if found is not None:
        path = found.path
    if path is None:
        sets = [f"{PROMPTS}/{one}" for one in templates.prompts()]
        raise _unknown(name, [*templates.names(), *templates.layouts(), *sets, *profiles])
    text = (
        templates.source(found.name)[0] if found is not None else path.read_text(encoding="utf-8")
    )
    original = templates.find(f"shipped/{found.name}") if found is not None else None
    shipped = (
        original.path
        if original
        else _shipped.folder("profiles") / path.name
        if found is None
        else None
    )
    hides = (
        shipped
        if shipped is not None and shipped.is_file() and shipped.resolve() != path.resolve()
        else None
    )
    if as_json:
        write_json(
            {"name": name, "file": str(path), "hides": str(hides) if hides else None, "text": text}
        )
        return
    hidden = (
        f"; it hides the shipped one, shipped/{(found.name if found else path.stem)}"
        if hides
        else ""
    )
    click.echo(f"promptforge: {path}{hidden}", err=True)
    write(text, None)


def _first(templates: Templates, lead: str) -> Found | None:
    """Return the template whose name begins so; of a layout the settings, of several files the first."""
    own = lead.removeprefix("shipped/")
    files = sorted(
        (n for n in templates.names() if n.startswith(own)),
        key=lambda n: (not n.endswith(".yaml"), n),
    )
    return next(
        filter(None, (templates.find(lead.removesuffix(own) + file) for file in files)), None
    )


def _unknown(name: str, known: Iterable[str]) -> OptionError:
    hint = (
        did_you_mean(name, known)
        or "; `promptforge list` and `promptforge list templates` print all names"
    )
    if os.path.exists(name):
        hint = "; it is a file or folder, and show takes names; --templates and --profiles tell where yours are"
    return OptionError(
        f"there is no template, layout, profile or prompt {quote(name)}{hint}", absent=name
    )
