"""The command `guide`: the pages of the guide, in the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from ..files import shipped_folder
from ..files.access import read_utf8
from .output import write_output

_PACKAGE = Path(__file__).parent.parent
_ELSEWHERE = {
    "commands": _PACKAGE / "cli" / "README.md",
    "bridges": _PACKAGE / "integrations" / "README.md",
    "batch": _PACKAGE / "batch" / "README.md",
}
"""Pages that stand beside the code they are about."""
_INDEX = "README"
_MAX_PAGE_BYTES = 1 << 20


def guide_pages() -> dict[str, Path]:
    """Return the file of each page, by its topic."""
    own = {path.stem: path for path in sorted((_PACKAGE / "guide").glob("*.md"))}
    own |= _ELSEWHERE
    for name in ("templates", "profiles"):
        own[name] = shipped_folder(name) / "README.md"
    return own


@click.command("guide")
@click.argument(
    "topic", type=click.Choice(sorted(guide_pages())), default=_INDEX, metavar="[TOPIC]"
)
def guide_command(topic: str) -> None:
    """Print a page of the guide; without TOPIC, the list of pages.

    For example `promptforge guide rag-service`, or `promptforge guide templates | less`.
    """
    write_output(read_utf8(guide_pages()[topic], _MAX_PAGE_BYTES))
