"""Template files: their names, and folders read whole, as of one moment.

A folder may have come with a stranger's project. So only regular files are opened, none behind a
link that leaves the folder, none over the size of a template: a FIFO or a device can neither block
nor flood the reader.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from .errors import TemplateError

EXTENSIONS = {"markdown": "md", "xml": "xml", "json": "json", "plain": "txt"}
"""Shipped format → extension of its templates. The extension of any other format is its name."""

SIZE_CAP = 256 * 1024
"""Bytes of one template file."""
COUNT_CAP = 2000
"""Template files of one folder."""
ENTRIES_CAP = 50_000
"""Names of any kind in one folder that are read in search of template files."""
DEPTH_CAP = 3
"""Parts of a template's name."""

SETTLED = 0.05
"""Seconds without a change after which a folder is complete: editors write one file by one."""
PATIENCE = 0.5
"""Seconds to wait for that."""

GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""Errors that mean: there is no such file."""

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_FLAGS = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):  # Windows lacks most of them
    _FLAGS |= getattr(os, _flag, 0)

Stamps = Mapping[str, tuple[int, ...]]
"""File name → size, times of change and inode: they change when the file does."""


class File(NamedTuple):
    """One template file as it was when its folder was read."""

    path: Path
    text: str
    problem: str | None = None
    """Why it has no text: too large, not UTF-8, or unreadable."""
    unread: bool = False
    """True when the system could not read it: it may become readable without a change."""


def is_name(name: str) -> bool:
    """Return True for a possible name of a template file; no such name leads out of its folder."""
    return NAME.fullmatch(name) is not None and ".." not in name


def format_of(ending: str) -> str:
    """Return the format of templates with this ending."""
    for known, extension in EXTENSIONS.items():
        if extension == ending:
            return known
    return ending.split(".")[0]


def read_folder(folder: Path) -> dict[str, File]:
    """Return the template files of a folder by name (`chunks/item.md.j2`, `chunks/layout.yaml`).

    All are of one moment: if one changes meanwhile, all are read again, for `PATIENCE` seconds.
    Raises `TemplateError` if the folder is missing, has too many files or keeps changing.
    """
    until = time.monotonic() + PATIENCE
    before = stamps(folder)
    while True:
        files = {name: read_file(folder / name) for name in before}
        after = stamps(folder)
        if after == before:
            return files
        if time.monotonic() > until:
            raise TemplateError(
                "the template files keep changing while they are read", where=str(folder)
            )
        time.sleep(SETTLED)
        before = stamps(folder)


def given(texts: Mapping[str, str]) -> dict[str, File]:
    """Return texts by name as template files: those of an editor that has not saved them.

    Raises `TemplateError` for an impossible name, or a text that is too large or not UTF-8.
    """
    if len(texts) > COUNT_CAP:
        raise TemplateError(f"more than {COUNT_CAP} template files")
    for name, text in texts.items():
        if not is_name(name):
            raise TemplateError(
                f"{name[:80]!a} is no name of a template; one is LAYOUT/PART.EXT.j2"
            )
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise TemplateError("half of a surrogate pair is no character", where=name) from None
        if size > SIZE_CAP:
            raise TemplateError(f"is larger than {SIZE_CAP // 1024} kB", where=name)
    return {name: File(Path(name), text.replace("\r\n", "\n")) for name, text in texts.items()}


def stamps(folder: Path) -> Stamps:
    """Return the stamps of all template files of a folder, by name.

    Raises `TemplateError` if the folder is missing or has too many names or files.
    """
    root = os.path.realpath(folder)
    found: dict[str, tuple[int, ...]] = {}
    for number, (name, entry) in enumerate(_entries(root, folder)):
        if number >= ENTRIES_CAP:
            raise TemplateError(
                f"has more than {ENTRIES_CAP} names; templates want a folder", where=str(folder)
            )
        if not (name.endswith(".j2") or name.endswith("/layout.yaml")) or not is_name(name):
            continue
        try:
            if entry.is_symlink() and not _is_inside(os.path.realpath(entry.path), root):
                continue
            state = entry.stat()
        except OSError as error:
            if error.errno not in GONE:
                found[name] = ()  # it exists: reading it says what is wrong
            continue
        if stat.S_ISREG(state.st_mode):
            found[name] = (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
    if len(found) > COUNT_CAP:
        raise TemplateError(f"has more than {COUNT_CAP} template files", where=str(folder))
    return found


def _entries(root: str, shown_as: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield names and entries below a folder, `DEPTH_CAP` deep; follow a circle of links once."""
    waiting: list[tuple[str, str, int, tuple[str, ...]]] = [(root, "", 1, (root,))]
    while waiting:
        folder, lead, depth, above = waiting.pop()
        try:
            with os.scandir(folder) as listed:
                entries = list(listed)
        except OSError as error:
            if folder == root and error.errno in GONE:
                raise TemplateError(f'there is no template folder "{shown_as}"') from None
            # Skipping an unreadable folder would silently use another template.
            if error.errno not in GONE:
                raise TemplateError(f"cannot be read: {error.strerror}", where=folder) from None
            continue
        for entry in entries:
            yield lead + entry.name, entry
            if depth < DEPTH_CAP and not entry.name.startswith(".") and _is_folder(entry):
                real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                if _is_inside(real, root) and real not in above:
                    waiting.append((entry.path, f"{lead}{entry.name}/", depth + 1, (*above, real)))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_inside(real: str, root: str) -> bool:
    return real.startswith(root.rstrip(os.sep) + os.sep)


def read_file(path: Path, most: int = SIZE_CAP) -> File:
    """Return one regular file of at most `most` bytes; its `problem` says what is wrong with it."""
    try:
        handle = os.open(path, _FLAGS)
    except OSError as error:
        # O_NOFOLLOW refuses links; this one was found to stay inside the folder.
        real = Path(os.path.realpath(path))
        if real == path or not os.path.islink(path):
            return File(path, "", f"cannot be read: {error.strerror}", unread=True)
        return read_file(real, most)._replace(path=path)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return File(path, "", "is no regular file")
        data = b""
        while len(data) <= most and (more := os.read(handle, most + 1)):
            data += more
    except OSError as error:
        return File(path, "", f"cannot be read: {error.strerror}", unread=True)
    finally:
        os.close(handle)
    if len(data) > most:
        return File(path, "", f"is larger than {most // 1024} kB")
    try:
        return File(path, data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return File(path, "", f"cannot be read as UTF-8 text: line {line} is none")
