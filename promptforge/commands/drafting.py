"""Write the files of `init` and `new`, and say the next steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .output import write, write_json

if TYPE_CHECKING:
    from ..drafts import Draft


def finish(made: Sequence[Draft], steps: Sequence[str], *, pretend: bool, as_json: bool) -> None:
    """Write the files unless `pretend`; print their names, and the next steps on standard error."""
    from .. import drafts

    heading = "these are now there; next:"
    if pretend:
        made, heading = drafts.missing(made), "these would be there; next:"
    else:
        made = drafts.write(made)
    if as_json:
        files = [str(draft.path) for draft in made]
        write_json({"files": files, "written": not pretend, "next": list(steps)})
        return
    write("".join(f"{draft.path}\n" for draft in made), None)
    click.echo(f"promptforge: {heading}", err=True)
    for step in steps:
        click.echo(f"  {step}", err=True)
