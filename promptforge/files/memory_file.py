"""The file of a memory: facts by their keys, of late runs and of older ones.

A hash checks it, with a key made of the version, the code and the installed packages.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from .._version import __version__
from ..text.words import late_pattern
from .access import (
    cache_folder,
    is_inside,
    make_private_folder,
    read_bytes,
    remove_file,
    remove_unfinished,
    show_path,
    system_reason,
    write_whole,
)

Fact = TypeVar("Fact")
MAX_BYTES, MAX_BYTES_OF_ROOT = 256 << 20, 64 << 20
"""Bytes of all files, where the oldest go first, and of one: a larger one is not written."""
MAX_BYTES_YOUNG = 16 << 20
"""Bytes of facts of late runs. Beyond these, facts that no late run used are dropped."""
_SUFFIX = ".memory"
_CHECK_BYTES = 32
_DECIDES = late_pattern(r"\.(?:py|yaml|txt|json|so|pyd)$")
"""Finds the names of files of the package that decide what is found out."""


class MemoryFile:
    """The facts of some folders: those that late runs made or used, and older ones."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.problem = ""
        """Why nothing is kept."""
        self.digests: dict[str, bytes] = {}
        """The hash of each text without credentials, and of what was made of all of it."""
        self._young, self._old = dict[bytes, bytes](), dict[bytes, bytes]()
        self._is_new = False
        try:
            self._key = _fingerprint()
            self._path = _place(folders)
            self._read()
        except OSError as error:
            self.problem = system_reason(error)

    def _read(self) -> None:
        try:
            data = read_bytes(self._path, MAX_BYTES_OF_ROOT, note=False, private=True)
        except FileNotFoundError:
            return
        if data[:_CHECK_BYTES] == self._check(data[_CHECK_BYTES:]):
            facts = msgspec.msgpack.decode(data[_CHECK_BYTES:], type=list[dict[bytes, bytes]])
            self._young, self._old = facts

    def _check(self, data: bytes) -> bytes:
        return hashlib.blake2b(data, key=self._key, digest_size=_CHECK_BYTES).digest()

    def recall(self, key: bytes, make: Callable[[], Fact], kind: type[Fact]) -> Fact:
        """Return a fact, made where it is not known."""
        found = self.get(key)
        if found is not None:
            return msgspec.msgpack.decode(found, type=kind)
        made = make()
        with contextlib.suppress(UnicodeEncodeError):  # of half of a surrogate pair
            self.put(key, msgspec.msgpack.encode(made))
        return made

    def get(self, key: bytes) -> bytes | None:
        """Return what is known by a key."""
        found = self._young.get(key)
        if found is None and (found := self._old.get(key)) is not None:
            self._young[key] = found
        return found

    def put(self, key: bytes, fact: bytes) -> None:
        """Remember a fact in place of the one with the same key."""
        self._young[key] = fact
        self._is_new = True

    def write(self) -> str:
        """Write the facts where there are new ones; return why that cannot be, or nothing."""
        if self.problem or not self._is_new:
            return self.problem
        young = self._young
        generations = [young, {k: v for k, v in self._old.items() if k not in young}]
        if sum(map(len, young.values())) > MAX_BYTES_YOUNG:
            generations = [{}, young]
        data = msgspec.msgpack.encode(generations)
        try:
            if len(data) > MAX_BYTES_OF_ROOT - _CHECK_BYTES:
                raise OSError(0, f"more than {MAX_BYTES_OF_ROOT >> 20} MiB")
            remove_unfinished(self._path.parent, self._path.name)
            with write_whole(self._path, 0o600, sync=False) as file:
                file.write(self._check(data) + data)
            _drop_oldest(self._path)
        except OSError as error:
            return system_reason(error)
        return ""


def _place(folders: Sequence[str]) -> Path:
    """Return the file of some folders. Raises `OSError` where none may lie there."""
    roots = sorted(map(os.path.realpath, folders))
    cache = cache_folder()
    for above in (cache, *cache.parents):
        if os.path.lexists(above / ".git"):
            raise OSError(0, f"{show_path(cache)} lies in a repository")
    if any(is_inside(os.path.realpath(cache), root) for root in roots):
        raise OSError(0, f"{show_path(cache)} lies in a folder that is read")
    make_private_folder(cache)
    name = hashlib.blake2b(repr(roots).encode("utf-8", "surrogatepass"), digest_size=16)
    return cache / f"{name.hexdigest()}{_SUFFIX}"


def _fingerprint() -> bytes:
    about = [__version__, sys.version, os.environ.get("PROMPTFORGE_PLUGINS", "")]
    for folder, _, names in sorted(os.walk(Path(__file__).parents[1])):
        for name in sorted(filter(_DECIDES.search, names)):
            state = os.stat(os.path.join(folder, name))
            about.append(f"{folder} {name} {state.st_size} {state.st_mtime_ns}")
    for folder in sys.path:  # where a package comes or goes, its folder is changed
        if folder.endswith("-packages") and os.path.isdir(folder):
            about.append(f"{folder} {os.stat(folder).st_mtime_ns}")
    return hashlib.blake2b("\0".join(about).encode("utf-8", "surrogatepass")).digest()


def _drop_oldest(written: Path) -> None:
    found = [(each.stat(), each) for each in written.parent.glob(f"*{_SUFFIX}") if each != written]
    left = MAX_BYTES - written.stat().st_size
    for state, path in sorted(found, key=lambda each: -each[0].st_mtime_ns):
        left -= state.st_size
        if left < 0:
            remove_file(path)
