"""Files that are there whole or not at all: beside the target, to the disk, and then renamed into its place."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, which removes no file that is open
    fcntl = None

UNFINISHED = ".unfinished"
"""How the name of a file ends that a killed process left behind."""
NAMED = 100
"""Characters of the target's name in that of the file beside it: a name has at most 255 bytes."""


@contextmanager
def whole(target: Path, mode: int | None = None, *, new: bool = False) -> Iterator[IO[bytes]]:
    """Give a file to write to, which takes the place of `target` at the end; after an error, `target` is as it was.

    `mode` holds its permissions; with `None` it has those of any new file. `new`: it takes nobody's place. When this
    returns, the content and its name are on the disk. Raises `OSError` with the name of `target`.
    """
    temporary = None
    with naming(target):  # the name of the temporary file is one that nobody gave
        try:
            opened, temporary = _held(target)
            with opened as file:
                yield file
                file.flush()
                if mode is None:
                    mask = os.umask(0)
                    os.umask(mask)
                    mode = 0o666 & ~mask
                os.chmod(temporary, mode)
                os.fsync(file.fileno())
                if fcntl is not None:  # while it is held, so that nobody takes it for a left one
                    _move(temporary, target, new=new)
            if fcntl is None:
                _move(temporary, target, new=new)
        except BaseException:
            if temporary:
                with contextlib.suppress(OSError):  # `clean` finds it
                    os.unlink(temporary)
            raise
        sync_folder(target.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an `OSError` say which file it is about: one of reading or writing does not."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and not str(error.filename).endswith(UNFINISHED):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


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

    What somebody is writing just now stays. Raises `OSError` with the name of the folder.
    """
    lead = _lead(name) if name else "."
    with naming(folder):
        found = [
            each
            for each in os.listdir(folder)
            if each.startswith(lead) and each.endswith(UNFINISHED)
        ]
        gone = 0
        for each in found:
            gone += _drop(folder / each)
        return gone


def _lead(name: str) -> str:
    return f".{name[:NAMED]}."


def _held(target: Path) -> tuple[IO[bytes], str]:
    """Open a new file beside `target`, and hold it; return it with its name. After an error there is none."""
    while True:
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=_lead(target.name), suffix=UNFINISHED
        )
        try:
            _hold(handle)
            if os.fstat(handle).st_nlink or fcntl is None:
                return os.fdopen(handle, "wb"), name
        except BaseException:
            os.close(handle)
            with contextlib.suppress(OSError):  # `clean` finds it
                os.unlink(name)
            raise
        os.close(handle)  # somebody cleaned it away before it was held


def _move(temporary: str, target: Path, *, new: bool) -> None:
    """Give a file the name `target`; if it is `new`, nothing may have that."""
    if not new:
        os.replace(temporary, target)
        return
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system that knows no links
        os.rename(temporary, target)
    else:
        os.unlink(temporary)


def _hold(handle: int) -> bool:
    """Keep an open file from being taken for a left one; return whether it is certain that nobody else keeps it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody holds it, or a file system without locks
        return False
    return True


def _drop(path: Path) -> bool:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        if not _hold(handle):
            return False
        path.unlink(missing_ok=True)
        return True
    except PermissionError:  # Windows: it is open
        return False
    finally:
        os.close(handle)
