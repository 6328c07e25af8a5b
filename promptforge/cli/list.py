"""The commands on names and sources: list, show, schema, completion, init and new.

`list` names layouts, formats, profiles, tokenizers, prompts and templates. `show` prints
the source of one, `schema` the JSON Schemas for editors, `completion` the script of a shell. `init`
writes a project to start from, `new` a copy of one thing to edit; nothing is overwritten.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import get_completion_class

from ..config.options import Options, apply_options
from ..engine import FORMAT_EXTENSIONS, format_of, list_tokenizers
from ..errors import OptionError, ProfileError, PromptForgeError, did_you_mean, pip_install, quote
from ..files import shipped_folder
from ..files.access import read_utf8
from ..plugins import plugin_names
from ..text.escape import SURROGATE
from ..tokenizers.registry import describe_tokenizer
from .flags import (
    complete_format,
    complete_layout,
    complete_original,
    complete_source,
    json_flag,
    profile_flags,
)
from .inputs import or_local_folders, take_settings
from .output import (
    Column,
    painter,
    print_line,
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
    from ..authoring.scaffold import NewFile
    from ..engine import Templates
    from ..templating.loader import FoundTemplate

LISTED_THINGS = ("layouts", "formats", "profiles", "tokenizers", "prompts", "templates")
COPIED_THINGS = ("layout", "format", "kind", "prompt", "profile")
_FIRST_STEPS = ("promptforge render items.json", "promptforge check", "promptforge test")
_EDITED_FIRST = {"layout": "item.md", "format": "item.", "prompt": "prompt."}
"""Beginning of the name of the file that one edits first."""
_PROFILE_KEYS = ("layout", "format", "prompt")
_PROFILE_FIGURES = ("layout", "format", "tokenizer", "context_window", "reserve")


@click.command("list")
@click.argument("thing", required=False, type=click.Choice(LISTED_THINGS))
@profile_flags
@json_flag
def list_command(thing: str | None, as_json: bool, **given: Any) -> None:
    """List layouts, formats, profiles, tokenizers and prompts.

    `list templates` lists the template files.
    """
    from ..engine import Templates

    folders = _known_folders(given)
    templates = Templates(folders["templates"])
    list_things: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "layouts": lambda: [_layout(templates, name) for name in templates.layouts()],
        "formats": lambda: _formats(templates),
        "profiles": lambda: _profiles(folders["profiles"]),
        "tokenizers": _tokenizers,
        "prompts": lambda: [_prompt(templates, name) for name in templates.prompts()],
        "templates": lambda: list(_templates(templates)),
    }
    # Template files are many, so they are listed only when asked for.
    chosen = [thing] if thing else list(LISTED_THINGS[:-1])
    found = {name: list_things[name]() for name in chosen}
    if as_json:
        write_json(found)
        return
    special = [  # shipped for one job, such as that of an agent, not for an LLM
        row["name"]
        for row in found.get("profiles", ())
        if not (row["whose"] or row.get("family") or row["name"] == "default")
    ]
    if special:
        found["profiles"] = [row for row in found["profiles"] if row["name"] not in special]
    if thing == "profiles":
        write_lines(_profile_table(found[thing]), paint=_PAINT_TABLE)
    elif thing:
        write_lines(_row_lines(found[thing]), paint=_PAINT)
    else:
        blocks = [["", name, *_row_lines(rows)] for name, rows in found.items()]
        write_lines([line for block in blocks for line in block][1:], paint=_PAINT)
    if special:
        print_message(f"profiles for one job, not one LLM: {', '.join(special)}")


def _known_folders(given: dict[str, Any]) -> dict[str, Any]:
    """Return the folders of templates and profiles; a message says which a rendering leaves out."""
    used = take_settings(given).folders
    folders = or_local_folders(used)
    for name, local in folders.items():
        if local and not used[name]:
            print_message(f"{name} is here, and only used with --{name} {name} or in a project")
    return folders


_PAINT = painter((r"\S.*", "bold"), (r"  (\S+)", "cyan"))
_PAINT_TABLE = painter(("name .*", "bold"), (r"\S+", "cyan"), (r" .*", "dim"))


def _row_lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        line = f"  {row['name']:<{width}}  {row['description']}"
        if "formats" in row:
            line += f" ({', '.join(row['formats'])})"
        if not row.get("installed", True):
            line += f" (needs an extra: {pip_install(row['extra'])})"
        if row.get("whose"):
            line += f" [{row['whose']}]"
        yield wrap_row(line.rstrip(), width + 4)


def wrap_row(line: str, indent: int) -> str:
    """Break a line so that its second column stays below itself; in a pipe it stays one line."""
    if sys.stdout is None or not sys.stdout.isatty():
        return line
    # A long name must not push the second column to the right edge.
    lead = " " * min(indent, 30)
    return textwrap.fill(line, screen_columns(), subsequent_indent=lead, break_on_hyphens=False)


def _profile_table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a table of profiles, the description of each below its line."""
    columns = [
        Column("name", cut=True), Column("family", cut=True, spare=1), Column("layout", cut=True),
        Column("format", cut=True), Column("tokenizer", cut=True, spare=2),
        Column("window", right=True), Column("as of", spare=3),
    ]  # fmt: skip
    cells = []
    for row in rows:
        window = row.get("context_window")
        shown = f"{window:,}" if window is not None else None
        texts = {**row, "window": shown, "as of": row.get("as_of")}
        cells.append([printable(texts.get(heading) or "-") for heading, *_ in columns])
    heading, *lines = table_lines(columns, cells)
    yield heading
    for line, row in zip(lines, rows, strict=True):
        yield line
        about = row["description"]
        if about and row["whose"]:
            about += f" [{row['whose']}]"
        if about:
            yield f"    {shorten(printable(about), screen_columns() - 4)}"


# --- the things -----------------------------------------------------------------------------------


def _layout(templates: Templates, name: str) -> dict[str, Any]:
    try:
        about = templates.settings(name).description
        facts = {"name": name, "formats": templates.formats(name), "description": about}
        return {**facts, "whose": _folder_owner(templates, name)}
    except PromptForgeError as error:
        # One broken layout.yaml must not hide the other layouts.
        return {"name": name, "formats": [], "description": f"not usable: {error}"}


def _formats(templates: Templates) -> list[dict[str, Any]]:
    from ..engine import TemplateName

    described = (_layout(templates, name) for name in templates.layouts())
    rows = [layout for layout in described if layout["formats"]]
    pages = [parts for parts in map(TemplateName.parse, templates.names()) if parts is not None]
    found_pages = {format_of(page.ending): page for page in pages if page.stem == "layout"}
    found = []
    for name in sorted(found_pages, key=lambda name: (name not in FORMAT_EXTENSIONS, name)):
        ending = found_pages[name].ending
        about = f"templates *.{ending}.j2"
        syntax = templates.syntax_of(f"{found_pages[name].layout}/layout.{ending}.j2").name
        if syntax != name:
            about += f", escaped as {syntax}"
        layouts = [row["name"] for row in rows if name in row["formats"]]
        about += ", in every layout" if len(layouts) == len(rows) else f", in {', '.join(layouts)}"
        found.append({"name": name, "description": about, "ending": ending, "layouts": layouts})
    return found


def _prompt(templates: Templates, name: str) -> dict[str, Any]:
    from ..engine import PROMPTS_FOLDER

    folder = f"{PROMPTS_FOLDER}/{name}"
    files = [file.removeprefix(f"{folder}/") for file in _files_of(templates, folder)]
    parts = sorted({file.split(".")[0] for file in files if not file.startswith("_")})
    owner = _folder_owner(templates, folder)
    return {"name": name, "description": ", ".join(parts), "whose": owner}


def _tokenizers() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "description": about, **describe_tokenizer(name)}
        for name, about in list_tokenizers()
    ]
    # A plug-in is named and not loaded: its import may take seconds.
    for name, distribution in plugin_names("tokenizers"):
        found.append({"name": name, "description": f"a plug-in of {distribution}"})
    return found


def _profiles(folders: Sequence[Path]) -> list[dict[str, Any]]:
    from ..config.profiles import find_profiles

    found = []
    for name, about, path in find_profiles(folders):
        shipped = shipped_folder("profiles") / path.name
        owner = f"yours: {path}"
        if shipped.is_file():
            owner += ", hides the shipped one"
            # In a checkout both are the same file, reached by another path.
            if shipped.resolve() == path.resolve():
                owner = ""
        facts = {"name": name, "description": about, "file": str(path), "whose": owner}
        found.append(facts | _profile_figures(name, folders))
    return found


def _profile_figures(name: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Return the figures that tell profiles apart, or nothing for a profile with a mistake."""
    from ..config.profiles import load_profile

    try:
        profile = load_profile(name, folders)
    except ProfileError:
        return {}
    options = apply_options(Options(), profile.options)
    about = {"family": profile.family, "match": list(profile.match), "as_of": profile.as_of}
    return about | {key: getattr(options, key) for key in _PROFILE_FIGURES}


def _templates(templates: Templates) -> Iterator[dict[str, Any]]:
    for found in filter(None, map(templates.find, templates.names())):
        about = ""
        if not found.shipped:
            about = f"yours: {found.path}"
            if templates.find(f"shipped/{found.name}") is not None:
                about += ", hides the shipped one"
        yield {"name": found.name, "description": about}


def _files_of(templates: Templates, folder: str) -> list[str]:
    return [name for name in templates.names() if name.startswith(f"{folder}/")]


def _folder_owner(templates: Templates, folder: str) -> str:
    """Return "yours", "2 of 6 files yours", or "" for a folder that is all shipped."""
    files = _files_of(templates, folder)
    own = [found for found in map(templates.find, files) if found is not None and not found.shipped]
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
    settings), a profile, or a set of prompt templates such as prompt/lisp. Tokenizers, formats and
    framings have no source: their line of the list is printed.
    """
    from ..config.profiles import find_profiles
    from ..engine import PROMPTS_FOLDER, Templates

    folders = _known_folders(given)
    templates = Templates(folders["templates"])
    own = [] if name.startswith("shipped/") else folders["profiles"]
    profiles = {profile: path for profile, _, path in find_profiles(own)}
    path = profiles.get(name.removesuffix(".yaml").removeprefix("shipped/"))
    # A layout comes before a profile of its name, a profile before a set of prompt templates.
    places = [f"{name}/layout."]
    if path is None:
        places += [f"{name}/prompt.", f"{PROMPTS_FOLDER}/{name}/prompt."]
    found = templates.find(name) or _first_template(templates, places)
    shipped: Path | None = None
    also = ""
    if found is not None and path is not None:
        also = f"; the profile of this name: promptforge show {path.name}"
    if found is not None:
        path, text, original = found.path, templates.source(found.name)[0], found.name
        hidden = templates.find(f"shipped/{found.name}")
        if hidden:
            shipped = hidden.path
    elif path is not None:
        text, original = read_utf8(path), path.stem
        shipped = shipped_folder("profiles") / path.name
    else:
        rows = {row["name"]: row for row in [*_tokenizers(), *_formats(templates)]}
        if name not in rows:
            sets = [f"{PROMPTS_FOLDER}/{each}" for each in templates.prompts()]
            known = [*templates.names(), *templates.layouts(), *sets, *profiles, *rows]
            raise _unknown(name, known)
        if as_json:
            write_json(rows[name])
        else:
            write_lines(_row_lines([rows[name]]), paint=_PAINT)
        return
    hides, note = None, str(path)
    if shipped is not None and shipped.is_file() and shipped.resolve() != path.resolve():
        hides = str(shipped)
        note += f"; it hides the shipped one, shipped/{original}"
    if as_json:
        write_json({"name": name, "file": str(path), "hides": hides, "text": text})
        return
    print_message(note + also)
    write_output(text)


def _first_template(templates: Templates, leads: Iterable[str]) -> FoundTemplate | None:
    """Return the first template with a name that begins so; a layout's settings come first."""
    for lead in leads:
        own = lead.removeprefix("shipped/")
        prefix = lead.removesuffix(own)
        files = [name for name in templates.names() if name.startswith(own)]
        for file in sorted(files, key=lambda name: (not name.endswith(".yaml"), name)):
            found = templates.find(prefix + file)
            if found:
                return found
    return None


def _unknown(name: str, known: Iterable[str]) -> OptionError:
    hint = did_you_mean(name, known)
    # `show templates/mine/item.md.j2` is what one types first.
    if os.path.exists(name):
        hint = "; it is a file or folder, and show takes names; name your folders by"
        hint += " --templates and --profiles"
    elif not hint:
        hint = "; `promptforge list` and `promptforge list templates` print all names"
    message = f"no template, layout or profile is named {quote(name)}"
    return OptionError(message, absent=name, hint=hint)


@click.command("schema")
@click.argument("thing", type=click.Choice(["profile", "layout"]), default="profile")
def schema_command(thing: str) -> None:
    """Print the JSON Schema of a profile, or of a layout's layout.yaml, for editors."""
    from ..config import layouts, profiles

    schema = {"profile": profiles.profile_schema, "layout": layouts.layout_schema}[thing]()
    write_output(json.dumps(schema, indent=2) + "\n")


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete commands, options and names.

    \b
      eval "$(promptforge completion bash)"     in ~/.bashrc; bash 4.4 or later
      eval "$(promptforge completion zsh)"      in ~/.zshrc, after compinit
      promptforge completion fish | source      in ~/.config/fish/config.fish
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    # The name is fixed: under `python -m promptforge` click would complete `python`.
    script = shell_class(ctx.find_root().command, {}, "promptforge", "_PROMPTFORGE_COMPLETE")
    write_output(script.source_template % script.source_vars())


# --- files to start from --------------------------------------------------------------------------


pretend_flag = click.option("--pretend", is_flag=True, help="Print the file names, write none.")


@click.command("init")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@pretend_flag
@json_flag
def init_command(folder: Path, pretend: bool, as_json: bool) -> None:
    """Write a project into FOLDER: settings, a layout, a profile, items to try, golden cases.

    In FOLDER and below it, `promptforge.toml` names what is used, so that no flag is needed.
    Nothing is overwritten: where one of the files exists, none is written.
    """
    from ..authoring.scaffold import project_files

    steps = list(_FIRST_STEPS)
    if folder != Path():
        steps.insert(0, shlex.join(["cd", str(folder)]))
    files = project_files(folder)
    _write(files, steps, pretend, as_json)
    if not pretend and (problem := _own(folder, files)):
        hint = f"; `promptforge trust --own {printable(folder)}` lets it be used"
        if SURROGATE.search(str(folder.absolute())):  # that would refuse it for the same reason
            hint = "; give the folder another name"
        print_message(f"the project is not used yet: {problem}{hint}")


def _own(folder: Path, files: Sequence[NewFile]) -> str | None:
    """Put a new project on the list of the user's own; return why it cannot be put there."""
    from ..authoring.project import locate_project, own_project, read_project

    try:
        place = locate_project(folder)
        assert place is not None, "its file has just been written"
        new = {file.path.relative_to(folder).as_posix() for file in files}
        # In a cloned repository, templates may lie that nobody has read.
        others = [file.name for file in read_project(place).files if file.name not in new]
        if others:
            return f"{printable(', '.join(others))} was here before"
        own_project(place.folder)
    except OSError as error:
        return f"the list of your projects cannot be written: {error.strerror}"
    except PromptForgeError as error:
        return str(error)
    return None


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
    from ..engine import Templates

    if layouts and thing not in ("format", "kind"):
        raise click.UsageError(f"--layout is for a kind or a format, not for a {thing}")
    if given["formats"] and thing != "kind":
        raise click.UsageError(f"--format is for a kind, not for a {thing}")
    if thing == "kind" and len(layouts) != 1:
        raise click.UsageError("a kind has its template in one layout: name it with --layout NAME")
    folders = or_local_folders(take_settings(given).folders)
    # The first folder is the one that wins when templates are looked up: a copy takes effect.
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
    # The item's template is edited first in Markdown, the format that most people try.
    lead = _EDITED_FIRST.get(thing, f"{name}.md")
    edited = [file.path for file in files if file.path.name.startswith(lead)]
    steps = [f"edit  {(edited or [files[0].path])[0]}", f"show  {show}"]
    if thing in _PROFILE_KEYS:
        # YAML reads `0` as a number and `none` as nothing.
        value = name if load_yaml(name, "") == name else json.dumps(name)
        steps.append(f"use   {thing}: {value}  # a line of your profile")
    steps.append(f"check promptforge check {folder}")
    if thing == "format" and len(layouts) != 1 and len(files) > 1:
        less = f"{len(files)} files, for every layout; --layout NAME writes those of one"
        steps.append(f"less  {less}")
    return steps


def _sample_commands(thing: str, name: str) -> list[str]:
    """Return a `render` and a `prompt` command with an item."""
    kind = {"kind": name}.get(thing, "text")
    record = shlex.quote(json.dumps({"kind": kind, "name": "A name", "content": "A text."}))
    return [f"echo {record} | promptforge {command} -" for command in ("render", "prompt")]


def _write(files: Sequence[NewFile], steps: Sequence[str], pretend: bool, as_json: bool) -> None:
    """Write the files unless `pretend`; print their names, and the next steps."""
    from ..authoring.scaffold import missing_files, write_files

    if pretend:
        files, heading = missing_files(files), "these files would be written; next:"
    else:
        files, heading = write_files(files), "the files are written; next:"
    names = [str(file.path) for file in files]
    if as_json:
        write_json({"files": names, "written": not pretend, "next": list(steps)})
        return
    write_lines(names)
    print_message(heading)
    for step in steps:
        print_line(f"  {printable(step, 1000)}")
