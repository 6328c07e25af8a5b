"""Expand file name patterns into the matching files, in order. Links to folders are not followed.

Codes: PF601 a match that cannot be read, PF602 too many names or matches, PF701 a link that leads
out of the workspace.
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
"""Names that one pattern may look at."""
MAX_MATCHES = 10_000
"""Files that one pattern may give."""


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
    """Return the paths of the regular files that match, as the user would write them, sorted.

    `*`, `?` and `[…]` stay within one name, `**` crosses folders. A name that begins with a dot is
    matched only by a part that begins with one. Paths that are `ignored` are not looked at; it gets
    them as the user would write them, a folder's with `/` at the end. Raises `ItemError` when
    nothing matches, or the folder lies outside the workspace.
    """
    parts = pattern.replace(os.sep, "/").split("/")
    fixed = next((i for i, part in enumerate(parts) if is_pattern(part)), len(parts) - 1)
    lead = "".join(part + "/" for part in parts[:fixed])
    top = locate(lead or ".", workspace)
    walk = _Walk(parts[fixed:], lambda name: ignored is not None and ignored(lead + name))
    walk.enter(os.fspath(top), "", 0)
    where = shown(pattern)
    for folder, error in walk.closed:
        place = shown(os.path.join(lead, folder) or ".")
        diagnostics.add("PF601", f"skipped: {reason(error)}", where=place)
    if walk.visited > MAX_VISITED:
        message = f"more than {MAX_VISITED} names; not all were looked at"
        diagnostics.add("PF602", message, where=where)
    root = None if os.path.isabs(pattern) else os.path.realpath(workspace)
    names = [
        lead + name
        for name in sorted(walk.found)
        if _is_open(os.path.join(top, name), lead + name, root, diagnostics)
    ]
    if not names:
        raise ItemError("no file matches this pattern", where=where)
    if len(names) > MAX_MATCHES:
        message = f"{len(names)} files match; the first {MAX_MATCHES} are read"
        diagnostics.add("PF602", message, where=where)
    return names[:MAX_MATCHES]


class _Walk:
    """One walk over folders along the parts of a pattern."""

    def __init__(self, parts: list[str], ignored: Callable[[str], bool]) -> None:
        self._parts, self._ignored = parts, ignored
        # With two `**` there are many ways into one folder: `a/**/b/**` would walk it as often.
        self._done: set[tuple[str, int]] = set()
        self.found: set[str] = set()
        self.visited = 0
        self.closed: list[tuple[str, OSError]] = []
        """Folders that could not be read, relative to the first one."""

    def enter(self, folder: str, lead: str, at: int) -> None:
        """Match the names in a folder, `lead` in the pattern's words, by the part number `at`."""
        if (folder, at) in self._done:
            return
        self._done.add((folder, at))
        part, last = self._parts[at], at == len(self._parts) - 1
        if part == "**" and not last:  # it matches no folder as well
            self.enter(folder, lead, at + 1)
        for entry in self._entries(folder, lead):
            self.visited += 1
            if self.visited > MAX_VISITED:
                return
            if not _matches(entry.name, part):
                continue
            name = lead + entry.name
            if _is_folder(entry):
                if not self._ignored(name + "/") and (part == "**" or not last):
                    self.enter(entry.path, name + "/", at + (part != "**"))
            elif last and not self._ignored(name):
                self.found.add(name)

    def _entries(self, folder: str, lead: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                return list(found)
        except OSError as error:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                self.closed.append((lead, error))
            return []


def _matches(name: str, part: str) -> bool:
    if name.startswith(".") and not part.startswith("."):
        return False
    return part == "**" or fnmatchcase(name, part)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_open(path: str, name: str, root: str | None, diagnostics: Diagnostics) -> bool:
    """Tell whether a match is a regular file that may be read; others are skipped, and said."""
    real, where = os.path.realpath(path), shown(name)
    if root is not None and not is_inside(real, root):
        diagnostics.add("PF701", "a link that leads out of the workspace; skipped", where=where)
        return False
    try:
        mode = os.stat(real).st_mode
    except OSError as error:
        said = reason(error)
        if isinstance(error, FileNotFoundError) or error.errno == errno.ELOOP:
            said = "a link that leads nowhere"
        diagnostics.add("PF601", f"{said}; skipped", where=where)
        return False
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a link to a folder is simply no match
        diagnostics.add("PF601", "a pipe, socket or device; skipped", where=where)
    return stat.S_ISREG(mode)
