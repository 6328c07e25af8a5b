"""`promptforge preview`: a local page on which a template, a profile or the budget changes and the prompt follows."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import Any

import click

from ..diagnostics import Diagnostics
from ..errors import ProfileError, PromptForgeError, TemplateError
from ..prompting.renderer import Renderer
from .inputs import Request, input_flags, read
from .output import say
from .parts import part_flags, parts, piped, take_texts


@click.command("preview")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@part_flags
@functools.partial(input_flags, whole=True)
@click.option(
    "--port", metavar="N", type=click.IntRange(1024, 65535), help="The port; without it a free one."
)
@click.option(
    "--edit",
    is_flag=True,
    help="Let the page save templates, profiles and cases into your folders.",
)
@click.option(
    "--tests",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where it saves golden cases; without it `tests` beside the folder of your templates or profiles.",
)
def command(
    items: tuple[str, ...],
    history: str | None,
    port: int | None,
    edit: bool,
    tests: Path | None,
    **given: Any,
) -> None:
    """Show what `render` and `prompt` make of the same arguments on a local page, and what an edit or a budget changes.

    The page is for this machine and this user alone: it listens to 127.0.0.1, and the link that is printed works once.
    With --edit, changes are saved into the first folder of --templates and --profiles. Ctrl-C ends it. Needs the extra
    `preview`.
    """
    try:
        from ..preview import desk, running
    except ImportError as error:
        raise click.UsageError(
            f"the preview needs more packages ({error.name}): pip install '.[preview]'"
        ) from None
    is_piped = piped(items, {**given, "history": history})
    texts = take_texts(given)
    request = read(items, {**given, "piped": is_piped})
    around = parts(texts, history, request)
    if edit and not (request.folders["templates"] or request.folders["profiles"]):
        raise click.UsageError(
            "--edit needs a folder of your own to save in: --templates DIR, --profiles DIR"
        )
    with contextlib.suppress(TemplateError):  # that is said on the page
        request.renderer()
    with contextlib.suppress(ProfileError, TemplateError):
        Renderer(profile=request.profile, **request.folders, **request.options)
    loaded = request.gather()
    say(request.diagnostics, quiet=given["quiet"])
    running.run(
        desk.Desk(
            loaded,
            request.profile,
            request.options,
            **request.folders,
            edit=edit,
            around=desk.Around(**around.texts, history=around.history),
            tests=tests,
            items_file=_only(request),
        ),
        port=port or 0,
        watched=_files(request),
        gather=lambda: _again(request),
        tell=lambda line: click.echo(f"promptforge: {line}", err=True),
    )


def _files(request: Request) -> list[Path]:
    """Return the files that items came from, as far as they are named one by one."""
    wanted = request.wanted
    named = [
        Path(wanted.workspace) / name
        for name in (*wanted.items, *wanted.documents, *wanted.files)
        if name != "-"
    ]
    return [path for path in named if path.is_file()] if "-" not in wanted.items else []


def _only(request: Request) -> Path | None:
    """Return the file that all items are from, if it is one file of items."""
    wanted = request.wanted
    lists = (
        wanted.records,
        wanted.files,
        wanted.documents,
        wanted.man_pages,
        wanted.techniques,
        wanted.plugged,
    )
    if any(lists) or wanted.search or len(wanted.items) != 1 or wanted.items[0] == "-":
        return None
    return Path(wanted.workspace, wanted.items[0]).absolute()


def _again(request: Request) -> Any:
    diagnostics = Diagnostics()
    try:
        return request._replace(diagnostics=diagnostics).gather()
    except PromptForgeError as error:
        click.echo(f"promptforge: {error}", err=True)
        return None
