"""What git ignores: the `.gitignore` files of the workspace, each for its own folder and those below."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..diagnostics import Diagnostics
from ..errors import ItemError
from . import workspace as places

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Ignored:
    """Tells of a path in the workspace whether git ignores it; the nearest file that speaks of it decides."""

    def __init__(self, workspace: str | os.PathLike[str]) -> None:
        self._workspace = workspace
        self._rules: dict[str, GitIgnoreSpec | None] = {}

    def __call__(self, path: str) -> bool:
        """`path` is as the user would write it, with `/` between its parts, and at its end if it is a folder."""
        body = path.rstrip("/")
        while "/" in body:
            body = body.rpartition("/")[0]
            verdict = self._verdict(body + "/", path)
            if verdict is not None:
                return verdict
        return not os.path.isabs(path) and bool(self._verdict("", path))

    def _verdict(self, folder: str, path: str) -> bool | None:
        if folder not in self._rules:
            self._rules[folder] = self._read(folder)
        rules = self._rules[folder]
        return None if rules is None else rules.check_file(path[len(folder) :]).include

    def _read(self, folder: str) -> GitIgnoreSpec | None:
        name = f"{folder}.gitignore"
        if not os.path.isfile(os.path.join(self._workspace, name)):
            return None
        try:
            text = places.read_text(name, workspace=self._workspace, diagnostics=Diagnostics())
        except ItemError:  # not ours to read
            return None
        from pathspec import GitIgnoreSpec  # 36 ms that only such a file is worth

        return GitIgnoreSpec.from_lines(text.splitlines())
