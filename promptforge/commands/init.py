"""`promptforge init`: a project to start from."""

from __future__ import annotations

from pathlib import Path

import click

from .drafting import finish

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
    from ..project import project

    steps = [*([f"cd {folder}"] if folder != Path() else []), *STEPS]
    finish(project(folder), steps, pretend=pretend, as_json=as_json)
