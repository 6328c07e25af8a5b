"""What `init` and `new` have in common: files are written, or only named, and the next steps are said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .output import write, write_json

if TYPE_CHECKING:
    from ..drafts import Draft


def finish(made: Sequence[Draft], steps: Sequence[str], *, pretend: bool, as_json: bool) -> None:
    """Write the files unless it is `pretend`, print their names, and on standard error what to do next."""
    from .. import drafts

    made = drafts.missing(made) if pretend else drafts.write(made)
    if as_json:
        write_json(
            {
                "files": [str(draft.path) for draft in made],
                "written": not pretend,
                "next": list(steps),
            }
        )
        return
    write("".join(f"{draft.path}\n" for draft in made), None)
    click.echo(f"promptforge: these {'would be' if pretend else 'are now'} there; next:", err=True)
    for step in steps:
        click.echo(f"  {step}", err=True)
