"""Atomic files: written to a temporary file beside the target, synced, then renamed over it."""

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
"""Ending of temporary files; a killed process leaves one behind."""
_TARGET_NAME_CHARACTERS = 100  # of the target's name in the temporary one: a name has 255 bytes


@contextmanager
def whole(target: Path, mode: int | None = None, *, new: bool = False) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing; at the end it replaces `target`, after an error it goes.

    When this returns, the content and the name are on the disk. `mode` holds the permissions;
    `None` means those of any new file. With `new`, an existing `target` is an error. Raises
    `OSError` with the name of `target`.
    """
    temporary = None
    with naming(target):
        try:
            opened, temporary = _open_locked(target)
            with opened as file:
                yield file
                file.flush()
                os.chmod(temporary, _default_mode() if mode is None else mode)
                os.fsync(file.fileno())
                if fcntl is not None:  # still locked, so that no `clean` removes it in between
                    _move(temporary, target, new=new)
            if fcntl is None:  # Windows renames no open file
                _move(temporary, target, new=new)
        except BaseException:
            if temporary:
                with contextlib.suppress(OSError):  # `clean` finds it
                    os.unlink(temporary)
            raise
        sync_folder(target.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put `path` into an `OSError` that names no file, or a temporary one."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and not str(error.filename).endswith(UNFINISHED):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk; without effect on Windows."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def clean(folder: Path, name: str = "") -> int:
    """Remove temporary files of killed processes; return how many.

    `name` limits this to files for the target of that name. Files that a process is writing now
    stay. Raises `OSError` with the name of the folder.
    """
    lead = _lead(name) if name else "."
    with naming(folder):
        return sum(
            _remove_unlocked(folder / each)
            for each in os.listdir(folder)
            if each.startswith(lead) and each.endswith(UNFINISHED)
        )


def _lead(name: str) -> str:
    return f".{name[:_TARGET_NAME_CHARACTERS]}."


def _default_mode() -> int:
    mask = os.umask(0)  # the only way to read it is to set it
    os.umask(mask)
    return 0o666 & ~mask


def _open_locked(target: Path) -> tuple[IO[bytes], str]:
    """Create, open and lock a temporary file beside `target`; return it with its name."""
    while True:
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=_lead(target.name), suffix=UNFINISHED
        )
        try:
            _lock(handle)
            if os.fstat(handle).st_nlink or fcntl is None:
                return os.fdopen(handle, "wb"), name
        except BaseException:
            os.close(handle)
            with contextlib.suppress(OSError):  # `clean` finds it
                os.unlink(name)
            raise
        os.close(handle)  # another process cleaned it away before it was locked


def _move(temporary: str, target: Path, *, new: bool) -> None:
    if not new:
        os.replace(temporary, target)
        return
    try:
        # Unlike a rename, a link fails where the name is taken.
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.rename(temporary, target)
    else:
        os.unlink(temporary)


def _lock(handle: int) -> bool:
    """Lock an open file; return False if another process holds it or the system cannot tell."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held, or a file system without locks
        return False
    return True


def _remove_unlocked(path: Path) -> bool:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        if not _lock(handle):
            return False
        path.unlink(missing_ok=True)
        return True
    except PermissionError:  # Windows: it is open
        return False
    finally:
        os.close(handle)
