"""The file of golden cases that the page adds to: what it is now, and what is written to it."""

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
    """The file as it is now."""

    path: Path
    source: str
    """Its text; empty where it is not there yet."""
    tag: str
    names: list[str]
    """Those of its cases."""

    @property
    def shown(self) -> str:
        """What the page calls it."""
        return f"{self.path.parent.name}/{self.path.name}"


def load(desk: Desk, seen: str | None = None) -> Cases:
    """Return the file, which must be as it was `seen`.

    Raises `SaveError`: read-only (403), changed meanwhile (412), no folder, no text or behind a link (409); `ItemError`
    where the file holds no cases.
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
    names = [case.name for case in parse(found.text, path)] if found.text.strip() else []
    return Cases(path, found.text, found.tag, names)


def asked(desk: Desk, found: Cases, look: Mapping[str, Any], wish: Wish) -> dict[str, Any]:
    """Return what `recording.record` takes. The folder is made: names of other files are seen from it."""
    try:
        found.path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise SaveError(
            f"{found.path.parent.name}/ cannot be made: {error.strerror}", 409
        ) from None
    return {
        "look": look,
        "name": wish.name,
        "expect": wish.expect,
        "source": found.source,
        "path": str(found.path),
        "items_file": str(desk.items_file) if desk.items_file else None,
    }


def save(desk: Desk, found: Cases, source: str) -> None:
    """Write what came from behind the wall, if it adds to what is there and nobody has changed that meanwhile."""
    if (
        not source.startswith(found.source.rstrip("\n"))
        or len(parse(source, found.path)) != len(found.names) + 1
    ):
        raise SaveError("the case could not be written", 409)
    load(desk, found.tag)
    saving.write(found.path, found.path.parent, source.encode("utf-8"), found.shown)
