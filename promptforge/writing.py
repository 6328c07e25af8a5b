"""Files that are there whole or not at all: beside the target, to the disk, and then renamed into its place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

UNFINISHED = ".unfinished"
"""How the name of a file ends that a killed process left behind."""


@contextmanager
def whole(target: Path, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Give a file to write to, which takes the place of `target` at the end; after an error, `target` is as it was.

    `mode` holds its permissions; with `None` it has those of any new file. When this returns, the content and its name
    are on the disk. Raises `OSError` with the name of `target`.
    """
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=UNFINISHED)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is None:
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        os.chmod(temporary, mode)
        os.replace(temporary, target)
        sync_folder(target.parent)
    except BaseException as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):  # the name of the temporary file is one that nobody gave
            raise OSError(error.errno, error.strerror, str(target)) from None
        raise


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def clean(folder: Path, name: str = "") -> int:
    """Remove what killed processes left in `folder` of files called `name`, or of any; return how many there were.

    Only for a folder in which nobody else is writing such a file.
    """
    found = [path for path in folder.glob(f".{name or '*'}.*{UNFINISHED}") if path.is_file()]
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)
