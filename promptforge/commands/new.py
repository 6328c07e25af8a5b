"""`promptforge new`: a copy to edit, in a folder of the user's own."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .drafting import finish
from .flags import folders_of, or_here, profile_flags
from .names import copied, formats, layouts

if TYPE_CHECKING:
    from ..drafts import Draft

_EDITED = {"layout": "item.md", "format": "item.", "prompt": "prompt."}
"""How the name of the file begins that is looked at first."""
_KEYS = ("layout", "format", "prompt")
"""What a profile chooses by the key of that name."""
COPIED_KINDS = ("layout", "format", "kind", "prompt", "profile")


@click.command("new")
@click.argument("what", type=click.Choice(COPIED_KINDS))
@click.argument("name")
@click.option(
    "--from",
    "like",
    metavar="NAME",
    shell_complete=copied,
    help="What to copy, as `list` names it; shipped/NAME is the original.",
)
@click.option(
    "--layout",
    "layouts",
    metavar="NAME",
    multiple=True,
    shell_complete=layouts,
    help="For a kind or format: in which layout [a format: all].",
)
@click.option(
    "--format",
    "formats",
    metavar="NAME",
    multiple=True,
    shell_complete=formats,
    help="For a kind: in which formats [default: all].",
)
@profile_flags
@click.option("--pretend", is_flag=True, help="Say which files there would be, and write none.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    what: str, name: str, like: str | None, layouts: tuple[str, ...], formats: tuple[str, ...], pretend: bool,
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Copy a layout, a format, the look of a kind, the frame of a prompt or a profile, to edit it as NAME.

    The copy goes to the first folder of --templates or --profiles (or of PROMPTFORGE_TEMPLATES and
    PROMPTFORGE_PROFILES), else to ./templates or ./profiles. Nothing is overwritten.

    \b
      promptforge new layout brief --from context
      promptforge new format slides --from markdown --layout knowledge
      promptforge new kind requirement --layout knowledge
      promptforge new prompt ours --from lisp
      promptforge new profile mine --from claude
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    from .. import drafts
    from ..templates import Templates

    if layouts and what not in ("format", "kind"):
        raise click.UsageError(f"--layout is for a kind or a format, not for a {what}")
    if formats and what != "kind":
        raise click.UsageError(f"--format is for a kind, not for a {what}")
    if what == "kind" and len(layouts) != 1:
        raise click.UsageError("a kind has its look in one layout: say which with --layout NAME")
    place = "profiles" if what == "profile" else "templates"
    folders = or_here(folders_of(given))
    target = folders[place][0] if folders[place] else Path(place)
    if what == "profile":
        made = drafts.profile(folders["profiles"], target, name, like)
    else:
        templates = Templates(folders["templates"])
        if what == "layout":
            made = drafts.layout(templates, target, name, like)
        elif what == "format":
            made = drafts.new_format(templates, target, name, like, layouts)
        elif what == "prompt":
            made = drafts.prompt(templates, target, name, like)
        else:
            made = drafts.kind(templates, target, name, layouts[0], like, formats)
    finish(made, _steps(what, name, target, made, layouts), pretend=pretend, as_json=as_json)


def _steps(
    what: str, name: str, target: Path, made: Sequence[Draft], layouts: Sequence[str]
) -> list[str]:
    """Return what to do next: what to edit, the command that shows it, how it is chosen, the command that checks it."""
    from ..yamltext import load

    folder = shlex.quote(str(target))
    record = json.dumps(
        {"kind": name if what == "kind" else "text", "name": "A name", "content": "A text."}
    )
    there = [name for name in ("items.json", "items.jsonl", "items.yaml") if Path(name).is_file()]
    sample = f"echo {shlex.quote(record)} | "
    if what != "kind" and (there or Path("README.md").is_file()):
        sample, shown = "", there[0] if there else "--doc README.md"
    else:
        shown = "-"
    render = f"{sample}promptforge render {shown}"
    show = {
        "profile": f"{render} --profiles {folder} --profile {name}",
        "layout": f"{render} --templates {folder} --layout {name}",
        "format": f"{render} --templates {folder} --layout {layouts[0] if layouts else 'chunks'} --format {name}",
        "kind": f"{render} --templates {folder} --layout {''.join(layouts[:1])}",
        "prompt": f"{sample}promptforge prompt {shown} --user 'A question?' --templates {folder} --prompt {name}",
    }[what]
    edit = next(
        (d.path for d in made if d.path.name.startswith(_EDITED.get(what, f"{name}.md"))),
        made[0].path,
    )
    steps = [f"edit  {edit}", f"show  {show}", f"check promptforge check {folder}"]
    if what in _KEYS:
        value = name if load(name, "") == name else json.dumps(name)  # such as 0 or none
        steps.insert(2, f"use   {what}: {value}  # a line of your profile")
    if what == "format" and len(layouts) != 1 and len(made) > 1:
        steps.append(
            f"less  {len(made)} files, for every layout; --layout NAME writes those of one"
        )
    return steps
