"""Facts about the texts of folders, kept on disk from one run of a command to the next.

Only a command opens a memory; without one, each function here works everything out. The hash of a
text finds its facts, so no edit, rename or touched time can make one wrong.

Texts with credentials leave no trace, nor do those that nobody has searched for them.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from .memory_file import MemoryFile

Fact = TypeVar("Fact")
NO_CACHE_VARIABLE = "PROMPTFORGE_NO_CACHE"


_memory: MemoryFile | None = None
"""The one of this run; None for the library, and for commands that keep nothing."""


def open_memory(folders: Sequence[str]) -> None:
    """Read what earlier runs found out about texts of these folders."""
    from .memory_file import MemoryFile

    global _memory
    _memory = MemoryFile(folders)


def close_memory() -> str:
    """Write what this run found out; return why that cannot be, or nothing."""
    global _memory
    memory, _memory = _memory, None
    return memory.write() if memory else ""


def recall_clean(text: str, rules: Sequence[str], find: Callable[[], object]) -> bool:
    """Tell whether a text holds no credential by some rules; `find` finds one.

    Only that it holds none is remembered.
    """
    if _memory is None:
        return not find()
    digest = digest_of(text)
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
    return _memory.recall(_key(digest or digest_of(text), *about), make, kind)


def recall_last(
    name: str, texts: Iterable[str], about: object, make: Callable[[], Fact], kind: type[Fact]
) -> Fact:
    """Return what was made of as many texts last time, if they and `about` are the same."""
    if _memory is None:
        return make()
    digests = [_memory.digests.get(text) or digest_of(text) for text in texts]
    made_of = _key(b"", digests, about)
    key = _key(b"", name, len(digests))
    found = _memory.get(key)
    if found is not None and found[: len(made_of)] == made_of:
        return msgspec.msgpack.decode(found[len(made_of) :], type=kind)
    made = make()
    with contextlib.suppress(UnicodeEncodeError):
        _memory.put(key, made_of + msgspec.msgpack.encode(made))
    return made


def digest_of(text: str) -> bytes:
    """Return the hash of a text, which finds its facts."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _key(digest: bytes, *about: object) -> bytes:
    said = repr(about).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, key=digest, digest_size=16).digest()
