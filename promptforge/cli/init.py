"""The commands that write files to start from: init (a project) and new (a copy to edit).

Both print the names of the files, and the next steps on standard error. Nothing is overwritten.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .complete import complete_format, complete_layout, complete_original
from .inputs import json_flag, or_local_folders, profile_flags, take_folders
from .output import print_message, write_json, write_lines

if TYPE_CHECKING:
    from ..authoring.scaffold import NewFile

COPIED_THINGS = ("layout", "format", "kind", "prompt", "profile")
_FIRST_STEPS = (
    "promptforge render items.json --templates templates --profiles profiles --profile mine",
    "promptforge check",
    "promptforge test",
)
_EDITED_FIRST = {"layout": "item.md", "format": "item.", "prompt": "prompt."}
"""Beginning of the name of the file that one edits first."""
_PROFILE_KEYS = ("layout", "format", "prompt")
"""Things that a profile names under a key of the same name."""

pretend_flag = click.option("--pretend", is_flag=True, help="Print the file names, write none.")


@click.command("init")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@pretend_flag
@json_flag
def init_command(folder: Path, pretend: bool, as_json: bool) -> None:
    """Write a project into FOLDER: a layout, a profile, items to try them on, and golden cases.

    Nothing is overwritten: where one of the files exists, none is written.
    """
    from ..authoring.scaffold import project_files

    steps = list(_FIRST_STEPS)
    if folder != Path():
        steps.insert(0, f"cd {folder}")
    _write(project_files(folder), steps, pretend, as_json)


@click.command("new")
@click.argument("thing", type=click.Choice(COPIED_THINGS))
@click.argument("name")
@click.option(
    "--from", "original", metavar="NAME", shell_complete=complete_original,
    help="The original, as `list` names it; shipped/NAME is the shipped one.",
)  # fmt: skip
@click.option(
    "--layout", "layouts", metavar="NAME", multiple=True, shell_complete=complete_layout,
    help="For a kind or format: the layout [a format: all].",
)  # fmt: skip
@click.option(
    "--format", "formats", metavar="NAME", multiple=True, shell_complete=complete_format,
    help="For a kind: the formats [default: all].",
)  # fmt: skip
@profile_flags
@pretend_flag
@json_flag
def new_command(
    thing: str, name: str, layouts: tuple[str, ...], pretend: bool, as_json: bool, **given: Any
) -> None:
    """Copy a layout, a format, the template of a kind, a prompt or a profile, to edit it as NAME.

    The copy goes to the first folder of --templates or --profiles (or of PROMPTFORGE_TEMPLATES and
    PROMPTFORGE_PROFILES), else to ./templates or ./profiles. Nothing is overwritten.

    \b
      promptforge new layout brief --from context
      promptforge new format slides --from markdown --layout knowledge
      promptforge new kind requirement --layout knowledge
      promptforge new prompt ours --from lisp
      promptforge new profile mine --from claude
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    from ..authoring import scaffold
    from ..templating.loader import Templates

    if layouts and thing not in ("format", "kind"):
        raise click.UsageError(f"--layout is for a kind or a format, not for a {thing}")
    if given["formats"] and thing != "kind":
        raise click.UsageError(f"--format is for a kind, not for a {thing}")
    if thing == "kind" and len(layouts) != 1:
        raise click.UsageError("a kind has its template in one layout: name it with --layout NAME")
    folders = or_local_folders(take_folders(given))
    original = given["original"]
    place = {"profile": "profiles"}.get(thing, "templates")
    target = next(iter(folders[place]), Path(place))
    if thing == "profile":
        files = scaffold.copy_profile(folders["profiles"], target, name, original)
    else:
        templates = Templates(folders["templates"])
        copy: dict[str, Callable[[], list[NewFile]]] = {
            "layout": lambda: scaffold.copy_layout(templates, target, name, original),
            "format": lambda: scaffold.copy_format(templates, target, name, original, layouts),
            "prompt": lambda: scaffold.copy_prompt_templates(templates, target, name, original),
            "kind": lambda: scaffold.copy_item_template(
                templates, target, name, layouts[0], original, given["formats"]
            ),
        }
        files = copy[thing]()
    _write(files, _next_steps(thing, name, target, files, layouts), pretend, as_json)


def _next_steps(
    thing: str, name: str, target: Path, files: Sequence[NewFile], layouts: Sequence[str]
) -> list[str]:
    """Return the next steps: the file to edit, then commands that show, choose and check it."""
    from ..yaml_reader import load_yaml

    folder = shlex.quote(str(target))
    render, prompt = _sample_commands(thing, name)
    layout = next(iter(layouts), "chunks")
    show = {
        "profile": f"{render} --profiles {folder} --profile {name}",
        "layout": f"{render} --templates {folder} --layout {name}",
        "format": f"{render} --templates {folder} --layout {layout} --format {name}",
        "kind": f"{render} --templates {folder} --layout {layout}",
        "prompt": f"{prompt} --user 'A question?' --templates {folder} --prompt {name}",
    }[thing]
    lead = _EDITED_FIRST.get(thing, f"{name}.md")
    edited = [file.path for file in files if file.path.name.startswith(lead)]
    steps = [f"edit  {(edited or [files[0].path])[0]}", f"show  {show}"]
    if thing in _PROFILE_KEYS:
        value = name
        if load_yaml(name, "") != name:
            value = json.dumps(name)  # YAML reads `0` as a number and `none` as nothing
        steps.append(f"use   {thing}: {value}  # a line of your profile")
    steps.append(f"check promptforge check {folder}")
    if thing == "format" and len(layouts) != 1 and len(files) > 1:
        steps.append(
            f"less  {len(files)} files, for every layout; --layout NAME writes those of one"
        )
    return steps


def _sample_commands(thing: str, name: str) -> list[str]:
    """Return a `render` and a `prompt` command with items that are at hand."""
    there = [file for file in ("items.json", "items.jsonl", "items.yaml") if Path(file).is_file()]
    if Path("README.md").is_file():
        there.append("--doc README.md")
    if there and thing != "kind":
        return [f"promptforge {command} {there[0]}" for command in ("render", "prompt")]
    kind = {"kind": name}.get(thing, "text")
    record = shlex.quote(json.dumps({"kind": kind, "name": "A name", "content": "A text."}))
    return [f"echo {record} | promptforge {command} -" for command in ("render", "prompt")]


def _write(files: Sequence[NewFile], steps: Sequence[str], pretend: bool, as_json: bool) -> None:
    """Write the files unless `pretend`; print their names, and the next steps."""
    from ..authoring.scaffold import missing_files, write_files

    if pretend:
        files, heading = missing_files(files), "these would be there; next:"
    else:
        files, heading = write_files(files), "these are now there; next:"
    names = [str(file.path) for file in files]
    if as_json:
        write_json({"files": names, "written": not pretend, "next": list(steps)})
        return
    write_lines(names)
    print_message(heading)
    for step in steps:
        click.echo(f"  {step}", err=True)
