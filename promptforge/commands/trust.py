"""`promptforge trust`: let the templates and profiles that came with a project be used, as they are now."""

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
    "--show", is_flag=True, help="Only show what it holds; exit 1 where it is not trusted as it is."
)
@click.option("--remove", is_flag=True, help="Trust it no longer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: str, show: bool, remove: bool, as_json: bool) -> int:
    """Let the templates and profiles in FOLDER/.promptforge be used, as they are now; after a change they are not.

    Prints what is trusted: each file with its size and hash. A template reaches neither files nor programs nor the
    network; what it decides is the wording around your items.
    """
    project = trust.find(folder)
    if remove:
        place = project.folder if project else Path(os.path.realpath(folder)) / trust.FOLDER
        gone = trust.remove(place)
        click.echo(
            f"promptforge: {shown(place)}: {'trusted no longer' if gone else 'was not trusted'}",
            err=True,
        )
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
        write_json(
            {
                "folder": str(project.folder),
                "state": state,
                "sha256": project.sha256,
                "files": files,
            }
        )
    else:
        columns = [
            Column("file", cut=True),
            Column("chars", right=True),
            Column("sha256"),
            Column(""),
        ]
        rows = [
            (
                shown(e.name),
                f"{e.size:,}",
                e.sha256[:12],
                f"{e.invisible} invisible characters" if e.invisible else "",
            )
            for e in project.files
        ]
        for line in table(columns, rows, total=screen()):
            click.echo(line)
    click.echo(
        f"promptforge: {shown(project.folder)}: {_WORDS[state]} ({project.sha256[:12]})", err=True
    )
    return 0 if state == "trusted" else 1


def trusted_folders(workspace: str, diagnostics: Diagnostics | None) -> dict[str, list[Path]]:
    """Return the folders that came with a project and are trusted; what is not used is said."""
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
