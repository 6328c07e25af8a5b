"""Reading and writing the files of the page: by id, checked against what the page last saw, at one stroke."""

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
"""Bytes of a file that can be edited here."""


class Text(NamedTuple):
    """A file as it is now."""

    text: str
    tag: str
    """A hash of its bytes."""


class SaveError(PromptForgeError):
    """A file that is not saved, with the HTTP status that says why."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def load(file: File) -> Text:
    """Return the text of a file; raises `SaveError` as `read` does."""
    return read(file.path, file.shown)


def read(path: Path, shown: str) -> Text:
    """Return the text of a file; raises `SaveError` for one that is no regular UTF-8 text of a fair size."""
    try:
        data = contents(path, LARGEST)
        text = data.decode("utf-8-sig")
    except OSError as error:
        status = 409 if error.errno in (errno.EINVAL, errno.EFBIG) else 404
        raise SaveError(f"{shown} cannot be read: {error.strerror}", status) from None
    except UnicodeDecodeError:
        raise SaveError(f"{shown} is not UTF-8 text", 409) from None
    return Text(text.replace("\r\n", "\n"), tag(data))


def tag(data: bytes) -> str:
    """Return the hash by which a version of a file is known."""
    return hashlib.sha256(data).hexdigest()[:32]


def target(desk: Desk, file: File) -> Path:
    """Return where a file is saved: in its place, or, of a shipped one, in the user's first folder."""
    if not file.shipped:
        return file.path
    folder = desk.own_folder(file.what)
    if folder is None:
        raise SaveError(
            f"there is no folder of your own to save it in; start again with --{file.what} DIR", 409
        )
    return folder / (file.name if file.what == "templates" else f"{file.name}.yaml")


def save(desk: Desk, file: File, text: str, seen: str) -> str:
    """Write a file if it is still what the page has seen; return its new tag.

    Raises `SaveError`: read-only (403), changed meanwhile (412), too large (413), cannot be written (409).
    """
    if not desk.edit:
        raise SaveError("this preview only shows; start it with --edit to save", 403)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise SaveError(
            "the text holds half of a surrogate pair, which no file can hold", 409
        ) from None
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
    """Write a file that lies in `folder`, which may have to be made; raises `SaveError` (409)."""
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
