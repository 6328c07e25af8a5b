"""Read the user's files, inside the workspace. No other source opens a file.

A relative path stays inside the workspace, also through links. An absolute path is the user's own
word, and is opened as it is. Only regular files are read: a FIFO blocks, a device never ends.

Codes: PF301 bytes that are no text, PF602 a file too large, PF603 one that changed while read.
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
"""Bytes of a file that are read; the rest is left out, and said."""

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
    if text and text.isprintable():
        return text
    return quote(text, 200)


def locate(path: str | os.PathLike[str], workspace: str | os.PathLike[str] | None) -> Path:
    """Return the real place of a path the user named; a relative one counts from the workspace.

    Without a workspace it counts from the working directory, and may lie anywhere. Raises
    `ItemError` for a relative path that leads out of the workspace, by `..` or by a link, and for
    one that no file system takes.
    """
    given = os.fspath(path)
    try:
        root = os.path.realpath(workspace or os.curdir)
        real = os.path.realpath(os.path.join(root, given))
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the name
        raise ItemError(f"cannot read {quote(given)}: {reason(exc)}", where=shown(given)) from None
    if workspace is not None and not os.path.isabs(given) and not is_inside(real, root):
        hint = "name it by an absolute path, or set another workspace (--workspace ..)"
        raise ItemError(f"leads out of the workspace; {hint}", where=shown(given))
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
    """Return the text of a file: UTF-8, or UTF-16 or UTF-32 by byte order mark, which is dropped.

    Bytes that are no text become U+FFFD, and are said. Raises `ItemError` when there is no such
    regular file, it may not be read, or it lies outside the workspace (if there is one).
    """
    where = shown(path)
    real = locate(path, workspace)
    return decode(_read(real, where, diagnostics), where=where, diagnostics=diagnostics)


def peek(path: str | os.PathLike[str], *, workspace: str | os.PathLike[str]) -> tuple[int, bytes]:
    """Return a file's size in bytes and its first 8 KiB. Raises `ItemError` as `read_text` does."""
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
    """Return the text of a file, or for `-` of standard input, and its name for messages."""
    if path != "-":
        return read_text(path, workspace=workspace, diagnostics=diagnostics), shown(path)
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ItemError(f"more than {MAX_BYTES >> 20} MiB on standard input", where="<stdin>")
    return decode(data, where="<stdin>", diagnostics=diagnostics), "<stdin>"


def decode(data: bytes, *, where: str, diagnostics: Diagnostics) -> str:
    """Return the text of bytes, UTF-8 but for a byte order mark; wrong ones become U+FFFD."""
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
        if changed:  # an editor or a build was writing; it is likely done by now
            data, changed = _read_once(real, where)
    except (OSError, ValueError) as exc:
        raise ItemError(f"cannot read it: {reason(exc)}{_hint(real, exc)}", where=where) from None
    if changed:
        message = "changed while it was read, twice; the text may be torn"
        diagnostics.add("PF603", message, where=where)
    if len(data) > MAX_BYTES:
        message = f"larger than {MAX_BYTES >> 20} MiB; only the beginning is read"
        diagnostics.add("PF602", message, where=where)
        data = data[:MAX_BYTES]
        data = data[: data.rfind(b"\n") + 1] or data  # whole lines
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
    """Open a regular file, and nothing else."""
    # O_NONBLOCK: opening a FIFO would wait for a writer. O_NOFOLLOW: `real` holds no link, so one
    # that is there now came since. Windows has neither, but needs O_BINARY.
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"):
        flags |= getattr(os, name, 0)
    handle = os.open(real, flags)
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            kind = "a pipe, socket or device"
            if stat.S_ISDIR(mode):
                kind = "a folder; name the files in it, or a pattern like folder/**"
            raise ItemError(f"not a file but {kind}", where=where)
        with open(handle, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(handle)


def reason(exc: Exception) -> str:
    """Return the system's reason why a file or folder cannot be read."""
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror.lower()
    return "not a name of a file"


def _hint(real: Path, exc: Exception) -> str:
    """Return the nearest name in the same folder, where the file was not found."""
    if not isinstance(exc, FileNotFoundError):
        return ""
    try:
        names = sorted(filter(str.isprintable, os.listdir(real.parent)))
    except OSError:
        return f"; there is no folder {shown(real.parent.name)} either"
    return did_you_mean(real.name, names[:1000])
