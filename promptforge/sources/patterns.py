"""File name patterns → the files that match, in order. Folders behind links are not entered.

Codes: PF601 a match that cannot be read, PF602 too many names or matches, PF701 a link that leads out of the workspace.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from fnmatch import fnmatchcase

from ..diagnostics import Diagnostics
from ..errors import ItemError
from .workspace import is_inside, locate, reason, shown

MAX_VISITED = 200_000
"""How many names a pattern may look at."""
MAX_MATCHES = 10_000
"""How many files a pattern may give."""


def is_pattern(path: str) -> bool:
    """Tell whether a path holds `*`, `?` or `[`."""
    return any(c in path for c in "*?[")


def expand(
    pattern: str,
    *,
    workspace: str | os.PathLike[str],
    diagnostics: Diagnostics,
    ignored: Callable[[str], bool] | None = None,
) -> list[str]:
    """Return the paths of the regular files that match, as the user would have written them, sorted by name.

    `*`, `?` and `[…]` stay within one name, `**` crosses folders; a name that begins with a dot is matched only by a
    pattern whose part begins with one. What is `ignored` (a path as the user would write it, `/` at the end of a
    folder's) is not looked at. Raises `ItemError` when nothing matches, or the folder lies outside the workspace.
    """
    parts = pattern.replace(os.sep, "/").split("/")
    fixed = next((i for i, part in enumerate(parts) if is_pattern(part)), len(parts) - 1)
    lead = "".join(part + "/" for part in parts[:fixed])
    top = locate(lead or ".", workspace)
    walk = _Walk(parts[fixed:], lambda name: ignored is not None and ignored(lead + name))
    walk.enter(os.fspath(top), "", 0)
    for folder, error in walk.closed:
        diagnostics.add(
            "PF601", f"skipped: {reason(error)}", where=shown(os.path.join(lead, folder) or ".")
        )
    if walk.visited > MAX_VISITED:
        diagnostics.add(
            "PF602", f"more than {MAX_VISITED} names; not all were looked at", where=shown(pattern)
        )
    root = None if os.path.isabs(pattern) else os.path.realpath(workspace)
    names = [
        lead + name
        for name in sorted(walk.found)
        if _is_open(os.path.join(top, name), lead + name, root, diagnostics)
    ]
    if not names:
        raise ItemError("no file matches this pattern", where=shown(pattern))
    if len(names) > MAX_MATCHES:
        message = f"{len(names)} files match; the first {MAX_MATCHES} are read"
        diagnostics.add("PF602", message, where=shown(pattern))
    return names[:MAX_MATCHES]


class _Walk:
    """One walk: the parts of the pattern, what was found, which (folder, part) pairs were done."""

    def __init__(self, parts: list[str], ignored: Callable[[str], bool]) -> None:
        self._parts, self._ignored = parts, ignored
        self._done: set[tuple[str, int]] = set()
        self.found: set[str] = set()
        self.visited = 0
        self.closed: list[tuple[str, OSError]] = []
        """Folders that could not be read, as the pattern calls them."""

    def enter(self, folder: str, lead: str, at: int) -> None:
        if (folder, at) in self._done:
            return
        self._done.add((folder, at))
        part, last = self._parts[at], at == len(self._parts) - 1
        if part == "**" and not last:
            self.enter(folder, lead, at + 1)
        for entry in self._entries(folder, lead):
            self.visited += 1
            if self.visited > MAX_VISITED:
                return
            if part != "**" and not fnmatchcase(entry.name, part):
                continue
            if entry.name.startswith(".") and not part.startswith("."):
                continue
            below = _is_folder(entry)
            if self._ignored(f"{lead}{entry.name}{'/' if below else ''}"):
                continue
            if below:
                if part == "**":
                    self.enter(entry.path, f"{lead}{entry.name}/", at)
                elif not last:
                    self.enter(entry.path, f"{lead}{entry.name}/", at + 1)
            elif last:
                self.found.add(lead + entry.name)

    def _entries(self, folder: str, lead: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                return list(found)
        except OSError as error:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                self.closed.append((lead, error))
            return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_open(path: str, name: str, root: str | None, diagnostics: Diagnostics) -> bool:
    """Tell whether a match is a regular file that may be read; a pattern skips the others, and says so."""
    real = os.path.realpath(path)
    if root is not None and not is_inside(real, root):
        diagnostics.add(
            "PF701", "a link that leads out of the workspace; skipped", where=shown(name)
        )
        return False
    try:
        mode = os.stat(real).st_mode
    except OSError as error:
        nowhere = isinstance(error, FileNotFoundError) or error.errno == errno.ELOOP
        said = "a link that leads nowhere" if nowhere else reason(error)
        diagnostics.add("PF601", f"{said}; skipped", where=shown(name))
        return False
    if stat.S_ISREG(mode):
        return True
    if not stat.S_ISDIR(mode):  # a link to a folder is no match, and nothing to talk about
        diagnostics.add("PF601", "a pipe, socket or device; skipped", where=shown(name))
    return False
