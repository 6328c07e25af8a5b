"""Facts about the texts of folders, kept on disk from one run of a command to the next.

Only a command opens a memory; without one, each function here works everything out. The hash of a
text finds its facts, so no edit, rename or touched time can make one wrong. The check of the file
is a hash, and its key is made of the version, the code and the installed packages.

Texts with credentials leave no trace, nor do those that nobody has searched for them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
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
NO_CACHE_VARIABLE = "PROMPTFORGE_NO_CACHE"
MAX_BYTES, MAX_BYTES_OF_ROOT = 256 << 20, 64 << 20
"""Bytes of all files, where the oldest go first, and of one: a larger one is not written."""
MAX_BYTES_YOUNG = 16 << 20
"""Bytes of facts of late runs. Beyond these, facts that no late run used are dropped."""
_SUFFIX = ".memory"
_CHECK_BYTES = 32
_DECIDES = late_pattern(r"\.(?:py|yaml|txt|json|so|pyd)$")
"""Finds the names of files of the package that decide what is found out."""


class _Memory:
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
        if (found := self.get(key)) is not None:
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


_memory: _Memory | None = None
"""The one of this run; None for the library, and for commands that keep nothing."""


def open_memory(folders: Sequence[str]) -> None:
    """Read what earlier runs found out about texts of these folders."""
    global _memory
    _memory = _Memory(folders)


def close_memory() -> str:
    """Write what this run found out; return why that cannot be, or nothing."""
    global _memory
    memory, _memory = _memory, None
    return memory.write() if memory else ""


def recall_clean(text: str, rules: Sequence[str] | None, find: Callable[[], object]) -> bool:
    """Tell whether a text holds no credential by some rules; `find` finds one.

    Only that it holds none is remembered, and nothing without `rules`.
    """
    if _memory is None or rules is None:
        return not find()
    digest = _digest(text)
    key = _key(digest, "clean", *rules)
    if _memory.get(key) is None:
        if find():
            return False
        _memory.put(key, b"")
    _memory.digests[text] = digest
    return True


def note_beginning(part: str, text: str) -> None:
    """Take the beginning of a clean text for clean, such as all but its last line end."""
    digest = _memory.digests.get(text) if _memory else None
    if _memory and digest and text.startswith(part):
        # Not the hash of the part: that may be a file as well, with a beginning of its own.
        _memory.digests[part] = _key(digest, "beginning", len(part))


def is_withheld(text: str) -> bool:
    """Tell whether no word of a text may be remembered."""
    return _memory is not None and text not in _memory.digests


def recall(
    text: str,
    about: Sequence[object],
    make: Callable[[], Fact],
    kind: type[Fact],
    *,
    of_any: bool = False,
) -> Fact:
    """Return a fact about a text without credentials; `make` finds it out.

    `about`: its name and all that it depends on beside the text, as plain data; `kind`: its type,
    also plain data. A number tells nobody what the text is: it may be `of_any`.
    """
    digest = _memory.digests.get(text) if _memory else None
    if _memory is None or (digest is None and not of_any):
        return make()
    return _memory.recall(_key(digest or _digest(text), *about), make, kind)


def recall_last(
    name: str, texts: Iterable[str], about: object, make: Callable[[], Fact], kind: type[Fact]
) -> Fact:
    """Return what was made last time, if of the same texts and `about` them; only one is kept."""
    if _memory is None:
        return make()
    digests = [_memory.digests.get(text) or _digest(text) for text in texts]
    made_of = _key(b"", digests, about)
    key = _key(b"", name)
    found = _memory.get(key)
    if found is not None and found[: len(made_of)] == made_of:
        return msgspec.msgpack.decode(found[len(made_of) :], type=kind)
    made = make()
    with contextlib.suppress(UnicodeEncodeError):
        _memory.put(key, made_of + msgspec.msgpack.encode(made))
    return made


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _key(digest: bytes, *about: object) -> bytes:
    said = repr(about).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, key=digest, digest_size=16).digest()


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
    return cache / f"{_digest(repr(roots)).hex()}{_SUFFIX}"


def _fingerprint() -> bytes:
    """Return a hash of all that decides what is found out about a text."""
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
    """Remove the files that were written first, until all have room."""
    found = [(each.stat(), each) for each in written.parent.glob(f"*{_SUFFIX}") if each != written]
    left = MAX_BYTES - written.stat().st_size
    for state, path in sorted(found, key=lambda each: -each[0].st_mtime_ns):
        left -= state.st_size
        if left < 0:
            remove_file(path)
