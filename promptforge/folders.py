"""Folders and files of a caller: folders of profiles and templates, and reading one file."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

MOST_BYTES = 1 << 28
"""Largest file that is read at once."""
# Without O_NONBLOCK, opening a FIFO waits for somebody to write to it.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
YAML = (".yaml", ".yml")
"""Endings of YAML files."""

Folders = str | Path | Sequence[str | Path] | None
"""One folder of the user's, or several; the first wins."""
Sources = str | Path | Mapping[str, str] | Sequence[str | Path | Mapping[str, str]] | None
"""The same for templates. They may also be texts by name, such as `chunks/item.md.j2`."""

Source = Path | Mapping[str, str]
"""One of these: a folder, or texts by name."""


def paths(folders: Folders) -> tuple[Path, ...]:
    """Return the folders as paths."""
    if folders is None:
        return ()
    if isinstance(folders, str | Path):
        return (Path(folders),)
    return tuple(map(Path, folders))


def sources(given: Sources) -> tuple[Source, ...]:
    """Return the places of templates one by one: paths, and mappings as they are."""
    if given is None:
        return ()
    each = (given,) if isinstance(given, str | Path | Mapping) else given
    return tuple(one if isinstance(one, Mapping) else Path(one) for one in each)


def contents(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file of at most `most` bytes.

    Raises `OSError`: `EINVAL` for a folder, a pipe or a device, `EFBIG` for a larger file.
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
