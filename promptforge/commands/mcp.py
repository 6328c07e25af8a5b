"""`promptforge mcp`: a server of the Model Context Protocol, on standard input and output."""

from __future__ import annotations

from typing import Any

import click

from .flags import folders_of, option_flags, options_of


@click.command("mcp")
@option_flags
def command(strict: bool, **given: Any) -> None:
    """Serve render_context, explain and list_layouts, and the layouts as prompts, to the client that started this.

    The options are what a request begins with. No file is opened for a client. Needs the extra `mcp`.
    """
    folders = folders_of(given)
    try:
        from ..integrations.mcp import server
    except ImportError as error:
        raise click.UsageError(str(error)) from None
    options = options_of(given) | ({"on_error": "raise"} if strict else {})
    server(profile=given["profile"], **folders, **options).run()
