"""`promptforge init`: a project to start from."""

from __future__ import annotations

from pathlib import Path

import click

from .output import write, write_json

STEPS = (
    "promptforge render items.json --templates templates --profiles profiles --profile mine",
    "promptforge check",
    "promptforge test",
)


@click.command("init")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@click.option("--pretend", is_flag=True, help="Say which files there would be, and write none.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: Path, pretend: bool, as_json: bool) -> None:
    """Write a project to start from into FOLDER: a layout, a profile, items to try them on, and golden cases.

    Nothing is overwritten: where one of the files is there already, none is written.
    """
    from .. import drafts
    from ..project import project

    made = project(folder)
    if not pretend:
        drafts.write(made)
    steps = ([f"cd {folder}"] if folder != Path() else []) + list(STEPS)
    if as_json:
        write_json({"files": [str(draft.path) for draft in made], "written": not pretend, "next": steps})
        return
    write("".join(f"{draft.path}\n" for draft in made), None)
    click.echo(f"promptforge: these {'would be' if pretend else 'are now'} there; next:", err=True)
    for step in steps:
        click.echo(f"  {step}", err=True)
