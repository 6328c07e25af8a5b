"""Where a caller's files are: folders of profiles and templates, and templates as texts by their names; reading one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

MOST_BYTES = 1 << 28
"""Bytes of a file that is read at once."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
YAML = (".yaml", ".yml")
"""How the name of a file in YAML ends."""

Folders = str | Path | Sequence[str | Path] | None
"""One folder of the user's, or several, the first wins."""
Sources = str | Path | Mapping[str, str] | Sequence[str | Path | Mapping[str, str]] | None
"""The same for templates, which may also be texts by their names, such as `chunks/item.md.j2`."""

Source = Path | Mapping[str, str]
"""One of these: a folder, or texts by their names."""


def paths(folders: Folders) -> tuple[Path, ...]:
    """Return folders one by one, whatever they were given as."""
    if folders is None:
        return ()
    if isinstance(folders, str | Path):
        return (Path(folders),)
    return tuple(Path(folder) for folder in folders)


def sources(given: Sources) -> tuple[Source, ...]:
    """Return places of templates one by one, whatever they were given as."""
    if given is None:
        return ()
    listed = (given,) if isinstance(given, str | Path | Mapping) else tuple(given)
    return tuple(each if isinstance(each, Mapping) else Path(each) for each in listed)


def contents(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return what is in a regular file of at most `most` bytes; a pipe or a device is not waited for.

    Raises `OSError`, with `EFBIG` for a larger one.
    """
    handle = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a file but a folder, a pipe or a device", str(path))
        with open(handle, "rb", closefd=False) as file:
            data = file.read(most + 1)
    finally:
        os.close(handle)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most:,} bytes", str(path))
    return data
