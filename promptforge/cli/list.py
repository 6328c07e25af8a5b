"""The commands that print names and sources: list, show and schema.

`list` names layouts, profiles, tokenizers, prompts, framings and templates. `show` prints the
source of one, and on standard error its file. `schema` prints the JSON Schemas for editors.
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
from .complete import complete_source
from .inputs import json_flag, profile_flags, take_folders
from .output import (
    Column,
    print_message,
    printable,
    screen_columns,
    shorten,
    table_lines,
    write_json,
    write_lines,
    write_output,
)

if TYPE_CHECKING:
    from ..templating.loader import FoundTemplate, Templates

LISTED_THINGS = ("layouts", "profiles", "tokenizers", "prompts", "framings", "templates")
_LOCAL_FOLDERS = {
    "templates": {"layouts", "prompts", "templates"},
    "profiles": {"profiles"},
}
"""Folder → the things that are listed from it."""
PROFILE_TABLE_COLUMNS = 100
"""Columns of the terminal that the table of profiles takes; it fits no fewer."""
_PROFILE_FIGURES = ("layout", "format", "tokenizer", "context_window", "reserve")


@click.command("list")
@click.argument("thing", required=False, type=click.Choice(LISTED_THINGS))
@profile_flags
@json_flag
def list_command(thing: str | None, as_json: bool, **given: Any) -> None:
    """List layouts with their formats, profiles, tokenizers, prompts and framings.

    `list templates` lists the template files.
    """
    from ..templating.loader import Templates

    folders = take_folders(given)
    templates = Templates(folders["templates"])
    list_things: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "layouts": lambda: [_layout(templates, name) for name in templates.layouts()],
        "profiles": lambda: _profiles(folders["profiles"]),
        "tokenizers": _tokenizers,
        "prompts": lambda: [_prompt(templates, name) for name in templates.prompts()],
        "framings": lambda: [_framing(name) for name in FRAMING_DESCRIPTIONS],
        "templates": lambda: list(_templates(templates)),
    }
    chosen = list(LISTED_THINGS[:-1])
    if thing:
        chosen = [thing]
    found = {name: list_things[name]() for name in chosen}
    for folder, things in _LOCAL_FOLDERS.items():
        if not folders[folder] and things & set(chosen) and Path(folder).is_dir():
            print_message(f"note: ./{folder} is here but not read: add --{folder} {folder}")
    if as_json:
        write_json(found)
    elif thing == "profiles":
        write_lines(_profile_table(found[thing]))
    elif thing:
        write_lines(_row_lines(found[thing]))
    else:
        blocks = ("\n".join([name, *_row_lines(rows)]) for name, rows in found.items())
        write_output("\n\n".join(blocks) + "\n")


def _row_lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        line = f"  {row['name']:<{width}}  {row['description']}"
        if "formats" in row:
            line += f" ({', '.join(row['formats'])})"
        if not row.get("installed", True):
            line += f" (needs an extra: pip install '.[{row['extra']}]')"
        if row.get("whose"):
            line += f" [{row['whose']}]"
        yield wrap_row(line.rstrip(), width + 4)


def wrap_row(line: str, indent: int) -> str:
    """Break a line so that its second column stays below itself; in a pipe it stays one line."""
    if sys.stdout is None or not sys.stdout.isatty():
        return line
    lead = " " * min(indent, 30)
    return textwrap.fill(line, screen_columns(), subsequent_indent=lead, break_on_hyphens=False)


def _profile_table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a table of profiles, the description of each below its line."""
    headings = ("name", "family", "layout", "format", "tokenizer", "window", "as of")
    columns = [
        Column(heading, right=heading == "window", cut=heading not in ("format", "window", "as of"))
        for heading in headings
    ]
    cells = []
    for row in rows:
        window = row.get("context_window")
        if window is not None:
            window = f"{window:,}"
        texts = {**row, "window": window, "as of": row.get("as_of")}
        cells.append([printable(texts.get(heading) or "-") for heading in headings])
    heading, *lines = table_lines(columns, cells, PROFILE_TABLE_COLUMNS)
    yield heading
    for line, row in zip(lines, rows, strict=True):
        yield line
        about = row["description"]
        if about and row["whose"]:
            about += f" [{row['whose']}]"
        if about:
            yield f"    {shorten(printable(about), PROFILE_TABLE_COLUMNS - 4)}"


# --- the things -----------------------------------------------------------------------------------


def _layout(templates: Templates, name: str) -> dict[str, Any]:
    try:
        about = templates.settings(name).description
        facts = {"name": name, "formats": templates.formats(name), "description": about}
        return {**facts, "whose": _folder_owner(templates, name)}
    except PromptForgeError as error:
        return {"name": name, "formats": [], "description": f"not usable: {error}"}


def _prompt(templates: Templates, name: str) -> dict[str, Any]:
    from ..templating.loader import PROMPTS_FOLDER

    folder = f"{PROMPTS_FOLDER}/{name}"
    files = [file.removeprefix(f"{folder}/") for file in _files_of(templates, folder)]
    parts = sorted({file.split(".")[0] for file in files if not file.startswith("_")})
    owner = _folder_owner(templates, folder)
    return {"name": name, "description": ", ".join(parts), "whose": owner}


def _framing(name: str) -> dict[str, Any]:
    formats = [format_ for format_, ext in FORMAT_EXTENSIONS.items() if name in FRAMINGS[ext]]
    return {"name": name, "description": FRAMING_DESCRIPTIONS[name], "formats": formats}


def _tokenizers() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "description": about, **describe_tokenizer(name)}
        for name, about in list_tokenizers()
    ]
    for name, distribution in plugin_names("tokenizers"):
        found.append({"name": name, "description": f"a plug-in of {distribution}"})
    return found


def _profiles(folders: Sequence[Path]) -> list[dict[str, Any]]:
    found = []
    for name, about, path in find_profiles(folders):
        shipped = shipped_folder("profiles") / path.name
        owner = f"yours: {path}"
        if shipped.is_file():
            owner += ", hides the shipped one"
            if shipped.resolve() == path.resolve():
                owner = ""
        facts = {"name": name, "description": about, "file": str(path), "whose": owner}
        found.append(facts | _profile_figures(name, folders))
    return found


def _profile_figures(name: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Return the figures that tell profiles apart, or nothing for a profile with a mistake."""
    try:
        profile = load_profile(name, folders)
    except ProfileError:
        return {}
    options = apply_options(Options(), profile.options)
    about = {"family": profile.family, "match": list(profile.match), "as_of": profile.as_of}
    return about | {key: getattr(options, key) for key in _PROFILE_FIGURES}


def _templates(templates: Templates) -> Iterator[dict[str, Any]]:
    for name in templates.names():
        found = templates.find(name)
        if found is None:
            continue
        about = ""
        if not found.shipped:
            about = f"yours: {found.path}"
            if templates.find(f"shipped/{name}") is not None:
                about += ", hides the shipped one"
        yield {"name": name, "description": about}


def _files_of(templates: Templates, folder: str) -> list[str]:
    return [name for name in templates.names() if name.startswith(f"{folder}/")]


def _folder_owner(templates: Templates, folder: str) -> str:
    """Return "yours", "2 of 6 files yours", or "" for a folder that is all shipped."""
    files = _files_of(templates, folder)
    own = [name for name in files if (f := templates.find(name)) is not None and not f.shipped]
    if not own:
        return ""
    if any(templates.find(f"shipped/{name}") is not None for name in files):
        return f"{len(own)} of {len(files)} files yours"
    return "yours"


# --- show -----------------------------------------------------------------------------------------


@click.command("show")
@click.argument("name", shell_complete=complete_source)
@profile_flags
@json_flag
def show_command(name: str, as_json: bool, **given: Any) -> None:
    """Print the source of NAME, and on standard error its file.

    NAME is as `promptforge list` has it: a template such as chunks/item.md.j2, a layout (its
    settings), a profile, or a set of prompt templates such as prompt/lisp.
    """
    from ..templating.loader import PROMPTS_FOLDER, Templates

    folders = take_folders(given)
    templates = Templates(folders["templates"])
    profiles = _profile_paths(name, folders["profiles"])
    path = profiles.get(name.removesuffix(".yaml").removeprefix("shipped/"))
    # A layout comes before a profile of its name, a profile before a set of prompt templates.
    found = templates.find(name) or _first_template(templates, f"{name}/layout.")
    if path is None and found is None:
        places = (f"{name}/prompt.", f"{PROMPTS_FOLDER}/{name}/prompt.")
        found = next(filter(None, (_first_template(templates, place) for place in places)), None)
    shipped: Path | None = None
    if found is not None:
        path, text, original = found.path, templates.source(found.name)[0], found.name
        if hidden := templates.find(f"shipped/{found.name}"):
            shipped = hidden.path
    elif path is not None:
        text, original = path.read_text(encoding="utf-8"), path.stem
        shipped = shipped_folder("profiles") / path.name
    else:
        sets = [f"{PROMPTS_FOLDER}/{each}" for each in templates.prompts()]
        raise _unknown(name, [*templates.names(), *templates.layouts(), *sets, *profiles])
    hides = None
    note = str(path)
    if shipped is not None and shipped.is_file() and shipped.resolve() != path.resolve():
        hides = str(shipped)
        note += f"; it hides the shipped one, shipped/{original}"
    if as_json:
        write_json({"name": name, "file": str(path), "hides": hides, "text": text})
        return
    print_message(note)
    write_output(text)


def _profile_paths(name: str, folders: Sequence[Path]) -> dict[str, Path]:
    """Return the files of all profiles by name; for `shipped/NAME` those of the shipped alone."""
    if name.startswith("shipped/"):
        folders = []
    return {profile: path for profile, _, path in find_profiles(folders)}


def _first_template(templates: Templates, lead: str) -> FoundTemplate | None:
    """Return the first template with a name that begins so; a layout's settings come first."""
    own = lead.removeprefix("shipped/")
    prefix = lead.removesuffix(own)
    files = [name for name in templates.names() if name.startswith(own)]
    files.sort(key=lambda name: (not name.endswith(".yaml"), name))
    return next(filter(None, (templates.find(prefix + file) for file in files)), None)


def _unknown(name: str, known: Iterable[str]) -> OptionError:
    hint = did_you_mean(name, known)
    if os.path.exists(name):
        hint = "; it is a file or folder, and show takes names; name your folders by"
        hint += " --templates and --profiles"
    elif not hint:
        hint = "; `promptforge list` and `promptforge list templates` print all names"
    message = f"there is no template, layout, profile or prompt {quote(name)}{hint}"
    return OptionError(message, absent=name)


@click.command("schema")
@click.argument("thing", type=click.Choice(["profile", "layout"]), default="profile")
def schema_command(thing: str) -> None:
    """Print the JSON Schema of a profile, or of a layout's layout.yaml, for editors."""
    from ..config import layouts, profiles

    schema = {"profile": profiles.profile_schema, "layout": layouts.layout_schema}[thing]()
    write_output(json.dumps(schema, indent=2) + "\n")
