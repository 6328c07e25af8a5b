"""A disk that fails: calls on files of one folder are counted, and from one number on they go
wrong.

Only what is done through Python's own doors (`open`, `os.open`, `os.read`, `os.fsync`, `os.replace`
…) can be made to fail; calls on other files go through as they are.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

BY_PATH = (
    *(
        "open",
        "stat",
        "lstat",
        "scandir",
        "listdir",
        "readlink",
        "mkdir",
        "chmod",
        "replace",
        "rename",
        "unlink",
    ),
    *("remove", "rmdir", "link", "symlink", "truncate", "utime"),
)
"""Calls of `os` whose first argument is a path."""
BY_HANDLE = ["read", "write", "fsync", "fstat", "fchmod", "ftruncate"]
"""Those whose first argument is an open file."""

ERRORS = ("EIO", "ENOSPC", "EACCES", "EMFILE", "EINTR")
MODES = (*ERRORS, "short", "memory", "broken", "killed")
"""What happens at a call: an error; half of the bytes; no memory; an error from then on; the end of
the process.
"""


class KilledError(BaseException):
    """The process is no more: nothing that it would still do reaches the disk."""


class Disk:
    """Fails at the call number `at`, in one of the `MODES`; `at` 0 counts only."""

    def __init__(self, root: Path, at: int = 0, mode: str = "EIO") -> None:
        self.calls = 0
        """So many calls there were."""
        self.struck: list[str] = []
        """Calls that went wrong, each with its file."""
        self._root = os.path.realpath(root)
        self._at, self._mode = at, mode
        self._handles: dict[int, str] = {}
        self._folders: dict[int, str] = {}
        """Folders that were opened, wherever they lie: names are given relative to them."""
        self._real = {name: getattr(os, name) for name in (*BY_PATH, *BY_HANDLE, "close")}

    def inside(self, path: object) -> bool:
        """Tell whether a path, or an open file, is of the folder."""
        if isinstance(path, int):
            return path in self._handles
        try:
            named = os.fsdecode(path)  # type: ignore[arg-type]
        except TypeError:
            return False
        return os.path.abspath(named).startswith(self._root)

    def strike(self, call: str, path: object) -> bool:
        """Count a call; raise where it fails, return whether it does only half of its work."""
        self.calls += 1
        lasting = self._mode in ("broken", "killed")
        if not self._at or self.calls < self._at or (self.calls > self._at and not lasting):
            return False
        named = self._handles.get(path, "") if isinstance(path, int) else os.fsdecode(path)  # type: ignore[arg-type]
        if self._mode == "killed":
            self.struck.append(f"{call} {named}")
            raise KilledError(f"{call} {named}")
        if self._mode == "short":
            if call in ("read", "write"):
                self.struck.append(f"{call} {named}")
            return call in ("read", "write")
        self.struck.append(f"{call} {named}")
        if self._mode == "memory":
            raise MemoryError
        code = getattr(errno, "EIO" if self._mode == "broken" else self._mode)
        raise OSError(code, os.strerror(code), *([] if isinstance(path, int) else [named]))

    @contextmanager
    def failing(self) -> Iterator[Disk]:
        """Let calls go wrong."""
        calls: dict[str, Any] = {name: self._call(name) for name in (*BY_PATH, *BY_HANDLE)}
        with (
            mock.patch.multiple(os, **calls),
            mock.patch.object(os, "close", self._close),
            mock.patch.object(io, "open", self._open),
            mock.patch.object(builtins, "open", self._open),
        ):
            yield self

    def _call(self, name: str) -> Callable[..., Any]:
        real = self._real[name]

        def call(first: Any = ".", *more: Any, **named: Any) -> Any:
            place = self._place(first, named.get("dir_fd", named.get("src_dir_fd")))
            if not self.inside(place):
                found = real(first, *more, **named)
                if name == "open":
                    self._folders[found] = os.path.abspath(os.fsdecode(place))
                return found
            if self.strike(name, place):
                more = (1,) if name == "read" else (more[0][: len(more[0]) // 2],)
            found = real(first, *more, **named)
            if name == "scandir":
                return _Listing(self, found)
            if name == "open":
                self._handles[found] = self._folders[found] = os.fsdecode(place)
            return found

        return call

    def _place(self, path: Any, folder: int | None) -> Any:
        """Return the whole path of a name that is relative to an open folder."""
        if folder in self._folders and not isinstance(path, int):
            return os.path.join(self._folders[folder], os.fsdecode(path))
        return path

    def _close(self, handle: int) -> None:
        self._handles.pop(handle, None)
        self._folders.pop(handle, None)
        self._real["close"](handle)

    def _open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if not self.inside(file):
            return _OPEN(file, mode, buffering, encoding, errors, newline, closefd, opener)
        named = self._handles[file] if isinstance(file, int) else os.fsdecode(file)
        if not isinstance(file, int):
            self.strike("open", file)
        plain = mode.replace("b", "").replace("t", "")
        raw = _Raw(self, named, file, plain, closefd, opener)
        self._handles[raw.fileno()] = named
        if buffering == 0:
            return raw
        buffered: Any = io.BufferedReader(raw) if plain == "r" else io.BufferedWriter(raw)
        return (
            buffered
            if "b" in mode
            else io.TextIOWrapper(buffered, encoding or "utf-8", errors, newline)
        )


_OPEN = builtins.open


class _Listing:
    """The names in a folder, as `os.scandir` gives them."""

    def __init__(self, disk: Disk, found: Any) -> None:
        self._disk, self._found = disk, found

    def __enter__(self) -> _Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self._found.close()

    def __iter__(self) -> Iterator[_Entry]:
        return self

    def __next__(self) -> _Entry:
        return _Entry(self._disk, next(self._found))

    def close(self) -> None:
        self._found.close()


class _Entry:
    """One of them; what is asked of it may fail."""

    def __init__(self, disk: Disk, entry: os.DirEntry[str]) -> None:
        self._disk, self._entry = disk, entry
        self.name, self.path = entry.name, entry.path

    def __fspath__(self) -> str:
        return self.path

    def is_symlink(self) -> bool:
        return self._entry.is_symlink()

    def is_dir(self, **named: bool) -> bool:
        return self._entry.is_dir(**named)

    def is_file(self, **named: bool) -> bool:
        return self._entry.is_file(**named)

    def stat(self, **named: bool) -> os.stat_result:
        self._disk.strike("stat", self.path)
        return self._entry.stat(**named)


class _Raw(io.FileIO):
    """An open file of the folder."""

    def __init__(self, disk: Disk, named: str, *given: Any) -> None:
        super().__init__(*given)
        self._disk, self._named = disk, named

    def readinto(self, buffer: Any) -> int:
        if self._disk.strike("read", self._named):
            return super().readinto(memoryview(buffer)[:1])
        return super().readinto(buffer)

    def readall(self) -> bytes:
        parts = []
        while part := self.read(1 << 16):
            parts.append(part)
        return b"".join(parts)

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return self.readall()
        return super().read(1 if self._disk.strike("read", self._named) else size) or b""

    def write(self, data: Any) -> int:
        half = self._disk.strike("write", self._named)
        return super().write(memoryview(data)[: max(1, len(data) // 2)] if half else data)

    def close(self) -> None:
        if not self.closed:
            self._disk._handles.pop(self.fileno(), None)
        super().close()
