"""Finished shards in a folder: one atomic file each, named by the hash of its inputs.

A file is `000042-KEY.jsonl`: number of the shard, and a hash of its rows and of all that their
results depend on. So a shard is done when its file is there, and a changed input or profile never
meets an old result. The last line of a file is its `Summary`.
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
    """Last line of the file of a shard."""

    rows: int
    errors: int
    tokens: int
    references: str
    """Hash of the files that its rows name; empty where no row names any."""
    sha256: str
    """Hash of all lines before this one."""


class Parts:
    """The finished shards of one run; only the process that started the run writes them."""

    def __init__(self, folder: Path) -> None:
        """Lock `folder` and remove the half-written files of killed processes.

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
        """Shards asked for that earlier runs had done with other inputs only."""
        self._done: dict[int, tuple[str, Summary]] = {}

    def find(self, part: Part, key: str) -> Summary | None:
        """Return the summary of a finished shard; None where it is missing or damaged."""
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
        # The file was written at one stroke; but disks fail, and people edit files.
        return summary if summary.sha256 == digest(body + b"\n") else None

    def keep(self, part: Part, key: str, summary: Summary) -> None:
        """Count a shard among those of this run."""
        self._done[part.index] = (_file(part.index, key), summary)

    def put(self, part: Part, key: str, rendered: Rendered) -> Summary:
        """Write the results of a shard; they are on the disk when this returns."""
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
        """Remove the shards of earlier runs, once all of this run are done; return their number."""
        wanted = {name for name, _ in self._done.values()}
        others = [name for names in self._names.values() for name in names if name not in wanted]
        for name in others:
            (self._folder / name).unlink(missing_ok=True)
        return len(others)

    def state(self) -> str:
        """Return one hash of all finished shards: equal for equal results."""
        lines = [f"{index} {summary.sha256}" for index, (_, summary) in sorted(self._done.items())]
        return digest("\n".join(lines).encode())

    def bodies(self) -> Iterator[tuple[Summary, bytes]]:
        """Yield summary and result lines of each finished shard, in the order of the input."""
        for _, (name, summary) in sorted(self._done.items()):
            data = self._read(name)
            yield summary, data[: data[:-1].rfind(b"\n") + 1]

    def _read(self, name: str) -> bytes:
        path = self._folder / name
        with writing.naming(path):
            return path.read_bytes()

    def close(self) -> None:
        """Release the lock."""
        os.close(self._lock)


def referring(references: list[str]) -> str:
    """Combine the hashes of many rows into one; empty for none."""
    return digest("\n".join(references).encode()) if references else ""


def _file(index: int, key: str) -> str:
    return f"{index:06d}-{key[:32]}.jsonl"


def _lock(folder: Path) -> int:
    """Lock the folder; the system releases the lock when this process ends, killed or not."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    # Windows, and some file systems, have no such lock: there two runs at once are the user's risk.
    with contextlib.suppress(ImportError, OSError):
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
