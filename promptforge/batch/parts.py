"""What is done: a folder with one file for each part of the input, whole or not there, called by what it was made of.

A file is `000042-KEY.jsonl`, KEY a hash of the part's rows and of all that their results depend on; so a part is done
when its file is there, and a changed input or profile never meets an old result. Its last line says what is in it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from .. import writing
from ..errors import OptionError
from .reading import Part
from .rows import Rendered
from .spec import digest

_NAME = re.compile(r"[0-9]+-.*\.jsonl")


class Summary(msgspec.Struct, frozen=True, tag="part"):
    """The last line of a part's file."""

    rows: int
    errors: int
    tokens: int
    references: str
    """A hash of what was read for rows that name files; empty where no row does."""
    sha256: str
    """Of the lines before it."""


class Parts:
    """The parts of one run, for the one process that writes them."""

    def __init__(self, folder: Path) -> None:
        """Take over `folder`: files that a killed process left half written are removed.

        Raises `OptionError` while another run is writing there.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = _lock(folder)
        self._names: dict[int, set[str]] = {}
        try:
            self.cleaned = writing.clean(folder)
            for name in filter(_NAME.fullmatch, os.listdir(folder)):
                self._names.setdefault(int(name.partition("-")[0]), set()).add(name)
        except BaseException:
            self.close()
            raise
        self.outdated = 0
        """How many parts were looked for of which earlier runs left only others."""
        self._done: dict[int, tuple[str, Summary]] = {}

    def find(self, part: Part, key: str) -> Summary | None:
        """Return what the finished file of `part` says, if there is one and it is as it was written."""
        name = _file(part.index, key)
        known = self._names.get(part.index, set())
        if name not in known:
            self.outdated += bool(known)
            return None
        body, _, last = self._read(name)[:-1].rpartition(b"\n")
        try:
            summary = msgspec.json.decode(last, type=Summary)
        except msgspec.DecodeError:
            return None
        return summary if summary.sha256 == digest(body + b"\n") else None

    def keep(self, part: Part, key: str, summary: Summary) -> None:
        """Note that `part` is done."""
        self._done[part.index] = (_file(part.index, key), summary)

    def put(self, part: Part, key: str, rendered: Rendered) -> Summary:
        """Write what became of `part` and return what its file says; when this returns it is on the disk."""
        summary = Summary(
            rendered.rows,
            rendered.errors,
            rendered.tokens,
            referring(rendered.references),
            digest(rendered.body),
        )
        name = _file(part.index, key)
        with writing.whole(self._folder / name) as file:
            file.write(rendered.body)
            file.write(msgspec.json.encode(summary) + b"\n")
        self._names.setdefault(part.index, set()).add(name)
        return summary

    def drop_others(self) -> int:
        """Remove the files of parts that are not of this run, once all of its own are done; return how many."""
        wanted = {name for name, _ in self._done.values()}
        others = [name for names in self._names.values() for name in names if name not in wanted]
        for name in others:
            (self._folder / name).unlink(missing_ok=True)
        return len(others)

    def state(self) -> str:
        """Return a hash of what is done: equal for equal results."""
        lines = [f"{index} {summary.sha256}" for index, (_, summary) in sorted(self._done.items())]
        return digest("\n".join(lines).encode())

    def bodies(self) -> Iterator[tuple[Summary, bytes]]:
        """Yield what is done, in the order of the input: the lines of each part."""
        for _, (name, summary) in sorted(self._done.items()):
            data = self._read(name)
            yield summary, data[: data[:-1].rfind(b"\n") + 1]

    def _read(self, name: str) -> bytes:
        path = self._folder / name
        with writing.naming(path):
            return path.read_bytes()

    def close(self) -> None:
        """Let another run write there."""
        os.close(self._lock)


def referring(references: list[str]) -> str:
    """Return one hash for those of many rows."""
    return digest("\n".join(references).encode()) if references else ""


def _file(index: int, key: str) -> str:
    return f"{index:06d}-{key[:32]}.jsonl"


def _lock(folder: Path) -> int:
    """Take the folder for this process alone, until it ends in whatever way."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    with contextlib.suppress(
        ImportError, OSError
    ):  # Windows, and some file systems, have no such lock
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            message = (
                f"another run is writing to {folder.parent}; wait for it, or give another output"
            )
            raise OptionError(message, option="output") from None
    return handle
