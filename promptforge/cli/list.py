"""`promptforge list`: what there is to choose from.

`promptforge show`: the source of a template, a layout's settings or a profile.

`promptforge schema`: the JSON Schema of a profile or of a layout's settings.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..config.options import Options, apply_options
from ..config.profiles import find_profiles, load_profile
from ..errors import OptionError, ProfileError, PromptForgeError, did_you_mean, quote
from ..files import FORMAT_EXTENSIONS, shipped_folder
from ..plugins import plugin_names
from ..text.delimiters import FRAMING_DESCRIPTIONS, FRAMINGS
from ..tokenizers.registry import describe_tokenizer, list_tokenizers
from .complete import complete_format, complete_layout, complete_original, complete_source
from .init import COPIED_KINDS, STEPS, _steps
from .inputs import or_local_folders, profile_flags, take_folders
from .output import (
    Column,
    printable,
    screen_columns,
    shorten,
    table_lines,
    write_json,
    write_output,
    write_scaffold,
)

if TYPE_CHECKING:
    from ..templating.loader import FoundTemplate, Templates


@click.command("schema")
@click.argument("what", type=click.Choice(["profile", "layout"]), default="profile")
def schema_command(what: str) -> None:
    """Print the JSON Schema of a profile, or of a layout's layout.yaml, for editors."""
    from ..config import layouts, profiles

    schema = {"profile": profiles.profile_schema, "layout": layouts.layout_schema}[what]()
    write_output(json.dumps(schema, indent=2) + "\n", None)


@click.command("init")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@click.option("--pretend", is_flag=True, help="Say which files there would be, and write none.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def init_command(folder: Path, pretend: bool, as_json: bool) -> None:
    """Write a project to start from into FOLDER: a layout, a profile, items to try them on, and golden cases.

    Nothing is overwritten: where one of the files is there already, none is written.
    """
    from ..authoring.scaffold import project_files as project

    steps = [*([f"cd {folder}"] if folder != Path() else []), *STEPS]
    write_scaffold(project(folder), steps, pretend=pretend, as_json=as_json)


@click.command("new")
@click.argument("what", type=click.Choice(COPIED_KINDS))
@click.argument("name")
@click.option(
    "--from",
    "like",
    metavar="NAME",
    shell_complete=complete_original,
    help="What to copy, as `list` names it; shipped/NAME is the original.",
)
@click.option(
    "--layout",
    "layouts",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_layout,
    help="For a kind or format: in which layout [a format: all].",
)
@click.option(
    "--format",
    "formats",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_format,
    help="For a kind: in which formats [default: all].",
)
@profile_flags
@click.option("--pretend", is_flag=True, help="Say which files there would be, and write none.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def new_command(
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
    from ..authoring import scaffold as drafts
    from ..templating.loader import Templates

    if layouts and what not in ("format", "kind"):
        raise click.UsageError(f"--layout is for a kind or a format, not for a {what}")
    if formats and what != "kind":
        raise click.UsageError(f"--format is for a kind, not for a {what}")
    if what == "kind" and len(layouts) != 1:
        raise click.UsageError("a kind has its look in one layout: say which with --layout NAME")
    place = "profiles" if what == "profile" else "templates"
    folders = or_local_folders(take_folders(given))
    target = folders[place][0] if folders[place] else Path(place)
    if what == "profile":
        made = drafts.copy_profile(folders["profiles"], target, name, like)
    else:
        templates = Templates(folders["templates"])
        if what == "layout":
            made = drafts.copy_layout(templates, target, name, like)
        elif what == "format":
            made = drafts.copy_format(templates, target, name, like, layouts)
        elif what == "prompt":
            made = drafts.copy_prompt_templates(templates, target, name, like)
        else:
            made = drafts.copy_item_template(templates, target, name, layouts[0], like, formats)
    write_scaffold(
        made, _steps(what, name, target, made, layouts), pretend=pretend, as_json=as_json
    )


LISTED_KINDS = ("layouts", "profiles", "tokenizers", "prompts", "framings", "templates")

_WIDTH = 100
"""Columns of the table of profiles: it fits no fewer."""


@click.command("list")
@click.argument("what", required=False, type=click.Choice(LISTED_KINDS))
@profile_flags
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(what: str | None, as_json: bool, **given: Any) -> None:
    """List layouts with their formats, profiles, tokenizers, sets of templates for prompts, and framings.

    `list templates` lists the template files.
    """
    from ..templating.loader import PROMPTS_FOLDER as PROMPTS
    from ..templating.loader import Templates

    folders = take_folders(given)
    templates = Templates(folders["templates"])
    chosen = [what] if what else list(LISTED_KINDS[:-1])
    makers: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "layouts": lambda: [_layout(templates, name) for name in templates.layouts()],
        "profiles": lambda: [
            {
                "name": name,
                "description": about,
                "file": str(path),
                "whose": _whose(path, "profiles", path.name),
                **_figures(name, folders["profiles"]),
            }
            for name, about, path in find_profiles(folders["profiles"])
        ],
        "tokenizers": lambda: [
            *(
                {"name": name, "description": about, **describe_tokenizer(name)}
                for name, about in list_tokenizers()
            ),
            *(
                {"name": name, "description": f"a plug-in of {by}"}
                for name, by in plugin_names("tokenizers")
            ),
        ],
        "prompts": lambda: [
            {
                "name": name,
                "description": ", ".join(_parts(templates, name)),
                "whose": _owner(templates, f"{PROMPTS}/{name}"),
            }
            for name in templates.prompts()
        ],
        "framings": lambda: [
            {"name": name, "description": about, **_goes_with(name)}
            for name, about in FRAMING_DESCRIPTIONS.items()
        ],
        "templates": lambda: [
            {
                "name": name,
                "description": "" if found.shipped else _yours(templates, name, found.path),
            }
            for name in templates.names()
            if (found := templates.find(name)) is not None
        ],
    }
    found = {name: makers[name]() for name in chosen}
    for folder, about in (
        ("templates", {"layouts", "prompts", "templates"}),
        ("profiles", {"profiles"}),
    ):
        if not folders[folder] and not about.isdisjoint(chosen) and Path(folder).is_dir():
            click.echo(
                f"promptforge: note: ./{folder} is here and not looked at: add --{folder} {folder}",
                err=True,
            )
    if as_json:
        write_json(found)
        return
    if what == "profiles":
        for line in _profiles(found[what]):
            click.echo(line)
        return
    for number, name in enumerate(chosen):
        if len(chosen) > 1:
            click.echo(f"{'' if number == 0 else chr(10)}{name}")
        width = max((len(row["name"]) for row in found[name]), default=0)
        for row in found[name]:
            formats = f" ({', '.join(row['formats'])})" if "formats" in row else ""
            needs = (
                ""
                if row.get("installed", True)
                else f" (needs an extra: pip install '.[{row['extra']}]')"
            )
            whose = f" [{row['whose']}]" if row.get("whose") else ""
            line = f"  {row['name']:<{width}}  {row['description']}{formats}{needs}{whose}".rstrip()
            click.echo(_wrapped(line, width + 4))


def _wrapped(line: str, indent: int) -> str:
    """Return a line as a terminal shows it best, its second column below itself; in a pipe it stays one line."""
    if not sys.stdout.isatty():
        return line
    return textwrap.fill(
        line, screen_columns(), subsequent_indent=" " * min(indent, 30), break_on_hyphens=False
    )


def _goes_with(framing: str) -> dict[str, list[str]]:
    return {
        "formats": [
            name for name, extension in FORMAT_EXTENSIONS.items() if framing in FRAMINGS[extension]
        ]
    }


def _layout(templates: Templates, name: str) -> dict[str, Any]:
    try:
        about = templates.settings(name).description
        whose = _owner(templates, name)
        return {
            "name": name,
            "formats": templates.formats(name),
            "description": about,
            "whose": whose,
        }
    except PromptForgeError as error:
        return {"name": name, "formats": [], "description": f"not usable: {error}"}


def _owner(templates: Templates, folder: str) -> str:
    """Return how much of a layout, or of a set of templates for prompts, is the user's own."""
    files = [n for n in templates.names() if n.startswith(f"{folder}/")]
    own = [n for n in files if (found := templates.find(n)) is not None and not found.shipped]
    hidden = any(templates.find(f"shipped/{n}") is not None for n in files)
    return "" if not own else f"{len(own)} of {len(files)} files yours" if hidden else "yours"


def _figures(name: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Return what tells one profile from another, or nothing where it is not usable."""
    try:
        profile = load_profile(name, folders)
    except ProfileError:
        return {}
    settled = apply_options(Options(), profile.options)
    kept = ("layout", "format", "tokenizer", "context_window", "reserve")
    about = {"family": profile.family, "match": list(profile.match), "as_of": profile.as_of}
    return about | {key: getattr(settled, key) for key in kept}


def _profiles(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a table of profiles, what each is for below its line."""
    columns = [
        Column("name", cut=True),
        Column("family", cut=True),
        Column("layout", cut=True),
        Column("format"),
    ]
    columns += [Column("tokenizer", cut=True), Column("window", right=True), Column("as of")]
    keys = [column.heading.replace(" ", "_") for column in columns]
    cells = []
    for row in rows:
        window = row.get("context_window")
        texts = {**row, "window": f"{window:,}" if window is not None else None}
        cells.append([printable(texts.get(key) or "-") for key in keys])
    heading, *lines = table_lines(columns, cells, total=_WIDTH)
    yield heading
    for line, row in zip(lines, rows, strict=True):
        yield line
        if row["description"]:
            whose = f" [{row['whose']}]" if row.get("whose") else ""
            yield f"    {shorten(printable(row['description'] + whose), _WIDTH - 4)}"


def _parts(templates: Templates, name: str) -> list[str]:
    """Return the parts that a set of templates prints in its own way."""
    from ..templating.loader import PROMPTS_FOLDER as PROMPTS

    files = [
        n.removeprefix(f"{PROMPTS}/{name}/")
        for n in templates.names()
        if n.startswith(f"{PROMPTS}/{name}/")
    ]
    return sorted({file.split(".")[0] for file in files if not file.startswith("_")})


def _yours(templates: Templates, name: str, path: Path) -> str:
    hides = ", hides the shipped one" if templates.find(f"shipped/{name}") is not None else ""
    return f"yours: {path}{hides}"


def _whose(path: Path, what: str, name: str) -> str:
    """Return whose a file is: the user's own, one that hides a shipped one, or (empty) a shipped one."""
    shipped = shipped_folder(what) / name
    if shipped.is_file():
        return (
            "" if shipped.resolve() == path.resolve() else f"yours: {path}, hides the shipped one"
        )
    return f"yours: {path}"


@click.command("show")
@click.argument("name", shell_complete=complete_source)
@profile_flags
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_command(name: str, as_json: bool, **given: Any) -> None:
    """Print the source of NAME; on standard error, which file that is.

    NAME is as `promptforge list` has it: a template such as chunks/item.md.j2, a layout (its settings), a profile, or
    a set of prompt templates (its frame) such as prompt/lisp.
    """
    from ..templating.loader import PROMPTS_FOLDER as PROMPTS
    from ..templating.loader import Templates

    folders = take_folders(given)
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
        else shipped_folder("profiles") / path.name
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
    write_output(text, None)


def _first(templates: Templates, lead: str) -> FoundTemplate | None:
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
