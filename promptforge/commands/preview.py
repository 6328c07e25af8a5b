"""`promptforge preview`: a local page on which a template, a profile or the budget changes and the prompt follows."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from ..diagnostics import Diagnostics
from ..errors import ProfileError, PromptForgeError, TemplateError
from ..prompting.renderer import Renderer
from .inputs import Request, input_flags, read
from .output import say


@click.command("preview")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@input_flags
@click.option("--port", metavar="N", type=click.IntRange(1024, 65535), help="The port; without it a free one.")
@click.option("--edit", is_flag=True, help="Let the page save templates and profiles into your folders.")
def command(items: tuple[str, ...], port: int | None, edit: bool, **given: Any) -> None:
    """Show what `render` makes of the same arguments on a local page, and what changes with the template and budget.

    The page is for this machine and this user alone: it listens to 127.0.0.1, and the link that is printed works once.
    With --edit, changes are saved into the first folder of --templates and --profiles. Ctrl-C ends it. Needs the extra
    `preview`.
    """
    try:
        from ..preview import running
    except ImportError as error:
        raise click.UsageError(f"the preview needs more packages ({error.name}): pip install '.[preview]'") from None
    request = read(items, given)
    if edit and not (request.folders["templates"] or request.folders["profiles"]):
        raise click.UsageError("--edit needs a folder of your own to save in: --templates DIR, --profiles DIR")
    request.renderer()  # what is wrong with the profile and the options is said here, with the templates on the page
    with contextlib.suppress(ProfileError, TemplateError):
        Renderer(profile=request.profile, **request.folders, **request.options)
    loaded = request.gather()
    say(request.diagnostics, quiet=given["quiet"])
    running.run(
        loaded,
        profile=request.profile,
        options=request.options,
        templates=request.folders["templates"],
        profiles=request.folders["profiles"],
        port=port or 0,
        edit=edit,
        watched=_files(request),
        gather=lambda: _again(request),
        tell=lambda line: click.echo(f"promptforge: {line}", err=True),
    )


def _files(request: Request) -> list[Path]:
    """Return the files that items came from, as far as they are named one by one."""
    wanted = request.wanted
    named = [Path(wanted.workspace) / name for name in (*wanted.items, *wanted.documents, *wanted.files) if name != "-"]
    return [path for path in named if path.is_file()] if "-" not in wanted.items else []


def _again(request: Request) -> Any:
    diagnostics = Diagnostics()
    try:
        return request._replace(diagnostics=diagnostics).gather()
    except PromptForgeError as error:
        click.echo(f"promptforge: {error}", err=True)
        return None
