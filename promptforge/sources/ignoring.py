"""What git ignores: the `.gitignore` files of a repository, each for its own folder and those below."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..diagnostics import Diagnostics
from ..errors import ItemError
from . import workspace as places

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Ignored:
    """Tells of a path in a folder whether git ignores it; the nearest file that speaks of it decides.

    Files above the folder count as far as the repository goes that it is in; none where git ignores the folder itself,
    for whoever names it wants what is in it.
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
        """`path` counts from the folder, with `/` between its parts, and at its end if it is a folder."""
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
