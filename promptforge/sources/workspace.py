"""Files of the user's: which may be read, and their text. The only place where a source opens a file.

A relative path stays inside the workspace, also through links; an absolute path is the user's own word and is opened
as it is. Only regular files are read: a FIFO, a device or a folder can never block or flood the reader.

Codes: PF301 bytes that are no text, PF602 a file too large, PF603 a file that changed while it was read.
"""

from __future__ import annotations

import codecs
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..diagnostics import Diagnostics
from ..errors import ItemError, did_you_mean, quote

MAX_BYTES = 64 << 20
"""How much of a file is read, in bytes; the rest is left out, and said."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def shown(path: str | os.PathLike[str]) -> str:
    """Return a path for a message: as it is when it is harmless, else quoted and escaped."""
    text = os.fspath(path)
    return text if text.isprintable() and text else quote(text, 200)


def locate(path: str | os.PathLike[str], workspace: str | os.PathLike[str] | None) -> Path:
    """Return the real place of a path the user named; a relative one is taken from the workspace.

    Without a workspace it counts from the working directory, and may lie anywhere. Raises `ItemError` for a relative
    path that leads out of the workspace, by `..` or by a link, and for one that no file system takes.
    """
    given = os.fspath(path)
    try:
        root = os.path.realpath(os.curdir if workspace is None else workspace)
        real = os.path.realpath(os.path.join(root, given))
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the name
        raise ItemError(f"cannot read {quote(given)}: {reason(exc)}", where=shown(given)) from None
    if workspace is not None and not os.path.isabs(given) and not is_inside(real, root):
        message = "leads out of the workspace; name it by an absolute path, or set another workspace (--workspace ..)"
        raise ItemError(message, where=shown(given))
    return Path(real)


def is_inside(real: str | os.PathLike[str], root: str | os.PathLike[str]) -> bool:
    """Tell whether a real path lies in a real folder, or is it."""
    try:
        return os.path.commonpath((real, root)) == os.fspath(root)
    except ValueError:  # two drives
        return False


def read_text(
    path: str | os.PathLike[str],
    *,
    workspace: str | os.PathLike[str] | None,
    diagnostics: Diagnostics,
) -> str:
    """Return the text of a file the user named: UTF-8, or UTF-16 or UTF-32 by its mark, which is dropped.

    Without a workspace it may lie anywhere. Bytes that are no text become U+FFFD, and are said. Raises `ItemError` when
    there is no such regular file, it may not be read, or it lies outside the workspace.
    """
    where = shown(path)
    real = locate(path, workspace)
    return decode(_read(real, where, diagnostics), where=where, diagnostics=diagnostics)


def peek(path: str | os.PathLike[str], *, workspace: str | os.PathLike[str]) -> tuple[int, bytes]:
    """Return the size of a file in bytes, and its first 8 KiB. Raises `ItemError` as `read_text` does."""
    where = shown(path)
    real = locate(path, workspace)
    try:
        with _opened(real, where) as file:
            return os.fstat(file.fileno()).st_size, file.read(8192)
    except (OSError, ValueError) as exc:
        raise ItemError(f"cannot read it: {reason(exc)}", where=where) from None


def read_named(
    path: str, *, workspace: str | os.PathLike[str] | None, diagnostics: Diagnostics
) -> tuple[str, str]:
    """Return the text of a file as `read_text` does, or for `-` that on standard input, and what it is called."""
    if path != "-":
        return read_text(path, workspace=workspace, diagnostics=diagnostics), shown(path)
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ItemError(f"more than {MAX_BYTES >> 20} MiB on standard input", where="<stdin>")
    return decode(data, where="<stdin>", diagnostics=diagnostics), "<stdin>"


def decode(data: bytes, *, where: str, diagnostics: Diagnostics) -> str:
    """Return the text of bytes, by their mark if they have one, else as UTF-8; wrong bytes become U+FFFD, said."""
    encoding = "utf-8"
    for bom, name in _BOMS:
        if data.startswith(bom):
            data, encoding = data[len(bom) :], name
            break
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as exc:
        text = data.decode(encoding, "replace")
        line = data[: exc.start].count(b"\n") + 1
        message = f"bytes that are no {encoding.upper()}, first in line {line}; replaced by U+FFFD"
        diagnostics.add("PF301", message, where=f"{where}:{line}")
        return text


def _read(real: Path, where: str, diagnostics: Diagnostics) -> bytes:
    try:
        data, changed = _read_once(real, where)
        if changed:
            data, changed = _read_once(real, where)
    except (OSError, ValueError) as exc:
        raise ItemError(f"cannot read it: {reason(exc)}{_hint(real, exc)}", where=where) from None
    if changed:
        diagnostics.add(
            "PF603", "changed while it was read, twice; the text may be torn", where=where
        )
    if len(data) > MAX_BYTES:
        diagnostics.add(
            "PF602", f"larger than {MAX_BYTES >> 20} MiB; only the beginning is read", where=where
        )
        data = data[:MAX_BYTES]
        data = data[: data.rfind(b"\n") + 1] or data
    return data


def _read_once(real: Path, where: str) -> tuple[bytes, bool]:
    with _opened(real, where) as file:
        before = os.fstat(file.fileno())
        data = file.read(MAX_BYTES + 1)
        after = os.fstat(file.fileno())
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return data, not same


@contextmanager
def _opened(real: Path, where: str) -> Iterator[BinaryIO]:
    """Open a regular file, and nothing else: a FIFO does not block, a link that came meanwhile is not followed."""
    flags = (
        os.O_RDONLY
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_NOFOLLOW", 0)
        | getattr(os, "O_BINARY", 0)
    )
    handle = os.open(real, flags)
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            folder = "a folder; name the files in it, or a pattern like folder/**"
            kind = folder if stat.S_ISDIR(mode) else "a pipe, socket or device"
            raise ItemError(f"not a file but {kind}", where=where)
        with open(handle, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(handle)


def reason(exc: Exception) -> str:
    """Return why a file or folder cannot be read, as the system says it."""
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror.lower()
    return "not a name of a file"


def _hint(real: Path, exc: Exception) -> str:
    """Return the nearest name in the same folder, where the file was not found."""
    if not isinstance(exc, FileNotFoundError):
        return ""
    try:
        names = sorted(entry.name for entry in os.scandir(real.parent) if entry.name.isprintable())[
            :1000
        ]
    except OSError:
        return f"; there is no folder {shown(real.parent.name)} either"
    return did_you_mean(real.name, names)
