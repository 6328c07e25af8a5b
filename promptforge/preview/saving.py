"""Read and write the files of the page; a save needs the version that the page has seen."""

from __future__ import annotations

import errno
import hashlib
import stat
from pathlib import Path
from typing import NamedTuple

from ..errors import PromptForgeError
from ..folders import contents
from ..writing import clean, whole
from .desk import Desk, File

LARGEST = 256 * 1024
"""Bytes of a file that can be edited on the page."""


class Text(NamedTuple):
    """Text of a file and its version."""

    text: str
    tag: str
    """Hash of its bytes."""


class SaveError(PromptForgeError):
    """A refusal to read or save, with its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def load(file: File) -> Text:
    """Read a file of the page; raises `SaveError` as `read` does."""
    return read(file.path, file.shown)


def read(path: Path, shown: str) -> Text:
    """Read a regular file of UTF-8 text.

    Raises `SaveError`: 404 where it cannot be read, 409 where it is no such file or too large.
    """
    try:
        data = contents(path, LARGEST)
        text = data.decode("utf-8-sig")
    except OSError as error:
        status = 404
        if error.errno in (errno.EINVAL, errno.EFBIG):  # a pipe or device; too large
            status = 409
        raise SaveError(f"{shown} cannot be read: {error.strerror}", status) from None
    except UnicodeDecodeError:
        raise SaveError(f"{shown} is not UTF-8 text", 409) from None
    return Text(text.replace("\r\n", "\n"), tag(data))


def tag(data: bytes) -> str:
    """Hash the bytes of a file into the name of this version."""
    return hashlib.sha256(data).hexdigest()[:32]


def target(desk: Desk, file: File) -> Path:
    """Return the path to save to: the file's own, or for a shipped file the user's first folder."""
    if not file.shipped:
        return file.path
    folder = desk.own_folder(file.what)
    if folder is None:
        message = (
            f"there is no folder of your own to save it in; start again with --{file.what} DIR"
        )
        raise SaveError(message, 409)
    return folder / file.shown


def save(desk: Desk, file: File, text: str, seen: str) -> str:
    """Write a file if its version is still `seen`; return the new version.

    Raises `SaveError`: read-only (403), changed meanwhile (412), too large (413),
    cannot be written (409).
    """
    if not desk.edit:
        raise SaveError("this preview only shows; start it with --edit to save", 403)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        message = "the text holds half of a surrogate pair, which no file can hold"
        raise SaveError(message, 409) from None
    if len(data) > LARGEST:
        raise SaveError(f"{file.shown} would be larger than {LARGEST // 1024} kB", 413)
    if load(file).tag != seen:
        raise SaveError(f"{file.shown} was changed by somebody else since it was opened here", 412)
    path = target(desk, file)
    if file.shipped and path.exists():
        raise SaveError(f"{file.shown} is in your folder meanwhile", 412)
    folder = desk.own_folder(file.what) if file.shipped else file.folder
    write(path, folder or path.parent, data, file.shown)
    return tag(data)


def write(path: Path, folder: Path, data: bytes, shown: str) -> None:
    """Write a file inside `folder`, at one stroke; make its folder. Raises `SaveError`."""
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise SaveError(f"{shown} lies behind a link that leads out of your folder", 409)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        real = path.resolve()
        clean(real.parent, real.name)
        with whole(real, stat.S_IMODE(real.stat().st_mode) if real.exists() else None) as written:
            written.write(data)
    except OSError as error:
        raise SaveError(f"{shown} cannot be written: {error.strerror}", 409) from None
