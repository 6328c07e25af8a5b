"""Read `.gitignore` files as git does, each for its own folder and those below."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..diagnostics import Diagnostics
from ..errors import ItemError
from . import workspace as places

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Ignored:
    """Tells whether git ignores a path in a folder; the nearest file that mentions it decides.

    Files above the folder count up to the top of its repository. Where git ignores the folder
    itself none of them counts: a user who names it wants its files.
    """

    def __init__(self, folder: Path) -> None:
        self._root = next(
            (above for above in (folder, *folder.parents) if (above / ".git").exists()), folder
        )
        self._rules: dict[str, GitIgnoreSpec | None] = {}
        self._lead = "".join(f"{part}/" for part in folder.relative_to(self._root).parts)
        if self._lead and self._ignores(self._lead):
            self._root, self._rules, self._lead = folder, {}, ""

    def __call__(self, path: str) -> bool:
        """Tell of a path below the folder, with `/` between its parts and after a folder's."""
        return self._ignores(self._lead + path)

    def _ignores(self, path: str) -> bool:
        above = path.rstrip("/")
        while above:
            above = above.rpartition("/")[0]
            verdict = self._verdict(f"{above}/" if above else "", path)
            if verdict is not None:
                return verdict
        return False

    def _verdict(self, folder: str, path: str) -> bool | None:
        if folder not in self._rules:
            self._rules[folder] = self._read(self._root / folder / ".gitignore")
        rules = self._rules[folder]
        return None if rules is None else rules.check_file(path[len(folder) :]).include

    def _read(self, path: Path) -> GitIgnoreSpec | None:
        try:
            text = places.read_text(path, workspace=self._root, diagnostics=Diagnostics())
        except ItemError:  # there is none, or it is not ours to read
            return None
        from pathspec import GitIgnoreSpec  # 36 ms that only such a file is worth

        return GitIgnoreSpec.from_lines(text.splitlines())
