"""`promptforge trust`: allow the templates and profiles that came with a project."""

from __future__ import annotations

import os
from pathlib import Path

import click

from .. import trust
from ..diagnostics import Diagnostics
from ..errors import PromptForgeError
from .output import write_json
from .tables import Column, screen, shown, table

_WORDS = {
    "trusted": "trusted as it is",
    "changed": "not used, since something changed after it was trusted",
    "unknown": "not used, since nobody has trusted it",
}


@click.command("trust")
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--show", is_flag=True, help="List its files only; exit 1 where it is not trusted as it is."
)
@click.option("--remove", is_flag=True, help="Trust it no longer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: str, show: bool, remove: bool, as_json: bool) -> int:
    """Allow the templates and profiles in FOLDER/.promptforge, as they are now.

    After a change they are not used until you trust them again. Prints each file with its size and
    hash. A template reaches no file, program or network; it only words the text around your items.
    """
    project = trust.find(folder)
    if remove:
        place = Path(os.path.realpath(folder)) / trust.FOLDER
        if project:
            place = project.folder
        outcome = "was not trusted"
        if trust.remove(place):
            outcome = "trusted no longer"
        click.echo(f"promptforge: {shown(place)}: {outcome}", err=True)
        return 0
    if project is None:
        raise click.UsageError(
            f"there are no templates or profiles in {shown(Path(folder) / trust.FOLDER)}"
        )
    if not show:
        trust.add(project)
    state = trust.state(project)
    if as_json:
        files = [entry._asdict() for entry in project.files]
        facts = {"folder": str(project.folder), "state": state, "sha256": project.sha256}
        write_json({**facts, "files": files})
    else:
        columns = [Column("file", cut=True), Column("chars", right=True)]
        columns += [Column("sha256"), Column("")]
        rows = []
        for entry in project.files:
            # Invisible characters can hide an instruction from the reader of the file.
            invisible = f"{entry.invisible} invisible characters" * bool(entry.invisible)
            rows.append((shown(entry.name), f"{entry.size:,}", entry.sha256[:12], invisible))
        for line in table(columns, rows, total=screen()):
            click.echo(line)
    click.echo(
        f"promptforge: {shown(project.folder)}: {_WORDS[state]} ({project.sha256[:12]})", err=True
    )
    return int(state != "trusted")


def trusted_folders(workspace: str, diagnostics: Diagnostics | None) -> dict[str, list[Path]]:
    """Return the trusted folders of a project; a diagnostic names those that are not used."""
    try:
        project = trust.find(workspace)
        if project is None:
            return {}
        state = trust.state(project)
        if state == "trusted":
            return {kind: project.folders(kind) for kind in trust.KINDS}
        message = f"{len(project.files)} templates and profiles in it are {_WORDS[state]}"
    except PromptForgeError as error:
        message = f"{error}; nothing in it is used"
    if diagnostics is not None:
        way_out = f"`promptforge trust {shown(workspace)}` lists and trusts them"
        diagnostics.add("PF706", f"{message}; {way_out}", where=trust.FOLDER)
    return {}
