"""`promptforge list`: what there is to choose from."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import _shipped, options, plugins
from ..errors import ProfileError, PromptForgeError
from ..framing import ABOUT, FRAMINGS
from ..profiles import find_profiles, load_profile
from ..template_files import EXTENSIONS
from ..tokens import describe, names
from .flags import folders_of, profile_flags
from .output import write_json
from .tables import Column, screen, shorten, shown, table

if TYPE_CHECKING:
    from ..templates import Templates

LISTED_KINDS = ("layouts", "profiles", "tokenizers", "prompts", "framings", "templates")
_WIDTH = 100
"""Columns of the table of profiles: it fits no fewer."""


@click.command("list")
@click.argument("what", required=False, type=click.Choice(LISTED_KINDS))
@profile_flags
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(what: str | None, as_json: bool, **given: Any) -> None:
    """List layouts with their formats, profiles, tokenizers, sets of templates for prompts, and framings.

    `list templates` lists the template files.
    """
    from ..templates import PROMPTS, Templates

    folders = folders_of(given)
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
            *({"name": name, "description": about, **describe(name)} for name, about in names()),
            *(
                {"name": name, "description": f"a plug-in of {by}"}
                for name, by in plugins.names("tokenizers")
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
            for name, about in ABOUT.items()
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
        line, screen(), subsequent_indent=" " * min(indent, 30), break_on_hyphens=False
    )


def _goes_with(framing: str) -> dict[str, list[str]]:
    return {
        "formats": [
            name for name, extension in EXTENSIONS.items() if framing in FRAMINGS[extension]
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
    settled = options.apply(options.Options(), profile.options)
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
        cells.append([shown(texts.get(key) or "-") for key in keys])
    heading, *lines = table(columns, cells, total=_WIDTH)
    yield heading
    for line, row in zip(lines, rows, strict=True):
        yield line
        if row["description"]:
            whose = f" [{row['whose']}]" if row.get("whose") else ""
            yield f"    {shorten(shown(row['description'] + whose), _WIDTH - 4)}"


def _parts(templates: Templates, name: str) -> list[str]:
    """Return the parts that a set of templates prints in its own way."""
    from ..templates import PROMPTS

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
    shipped = _shipped.folder(what) / name
    if shipped.is_file():
        return (
            "" if shipped.resolve() == path.resolve() else f"yours: {path}, hides the shipped one"
        )
    return f"yours: {path}"
