"""The file of golden cases that the page adds to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..golden.cases import parse
from . import saving
from .desk import Desk
from .recording import FILE
from .saving import SaveError
from .views import Wish


class Cases(NamedTuple):
    """The file at one moment."""

    path: Path
    source: str
    """Its text; empty before the first case."""
    tag: str
    names: list[str]
    """Names of its cases."""

    @property
    def shown(self) -> str:
        """Its name on the page."""
        return f"{self.path.parent.name}/{self.path.name}"


def load(desk: Desk, seen: str | None = None) -> Cases:
    """Read the file; with `seen`, refuse any other version.

    Raises `SaveError`: read-only (403), changed meanwhile (412), no folder, no text or behind a
    link (409). Raises `ItemError` where the file holds no cases.
    """
    if not desk.edit:
        raise SaveError("this preview only shows; start it with --edit to save", 403)
    if desk.tests is None:
        raise SaveError("there is no folder to save it in; start again with --tests DIR", 409)
    path = desk.tests / FILE
    if path.is_symlink() or desk.tests.resolve() != desk.tests:
        raise SaveError(f"{desk.tests.name}/{FILE} lies behind a link", 409)
    shown = f"{desk.tests.name}/{FILE}"
    found = saving.read(path, shown) if path.exists() else saving.Text("", saving.tag(b""))
    if seen is not None and seen != found.tag:
        raise SaveError(f"{shown} was changed by somebody else meanwhile", 412)
    cases = parse(found.text, path) if found.text.strip() else []
    return Cases(path, found.text, found.tag, [case.name for case in cases])


def asked(desk: Desk, found: Cases, look: Mapping[str, Any], wish: Wish) -> dict[str, Any]:
    """Return the request for `recording.record`, and make the folder of the file.

    The case names other files relative to that folder, so it has to be there.
    """
    try:
        found.path.parent.mkdir(exist_ok=True)
    except OSError as error:
        message = f"{found.path.parent.name}/ cannot be made: {error.strerror}"
        raise SaveError(message, 409) from None
    return {
        "look": look,
        "name": wish.name,
        "expect": wish.expect,
        "source": found.source,
        "path": str(found.path),
        "items_file": str(desk.items_file) if desk.items_file else None,
    }


def save(desk: Desk, found: Cases, source: str) -> None:
    """Write the text that the sandbox returned.

    Templates of strangers ran there, so the text is not trusted: it must add one case to the file.
    """
    goes_on = source.startswith(found.source.rstrip("\n"))
    if not goes_on or len(parse(source, found.path)) != len(found.names) + 1:
        raise SaveError("the case could not be written", 409)
    load(desk, found.tag)
    saving.write(found.path, found.path.parent, source.encode("utf-8"), found.shown)
