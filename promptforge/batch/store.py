"""Files of a run: the results of finished shards, and a manifest of the inputs they depend on.

A shard's file is `000042-KEY.jsonl`: its number, and a hash of its rows and of all else that its
results depend on. So a shard is done when its file is there, and a changed input or profile never
meets an old result. The last line of a file is its `ShardSummary`. Files are written at one stroke.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ..errors import OptionError
from ..files import UNFINISHED_SUFFIX, naming_path, remove_unfinished, write_whole
from .requests import Shard, digest
from .rows import RenderedShard

_FILE_SUFFIXES = (".jsonl", ".ndjson", ".parquet")
# Suffixes of files that no batch writes: a folder of such a name would be a surprise.
_OTHER_SUFFIXES = (".json", ".csv", ".tsv", ".txt", ".gz", ".zst", ".zip", ".arrow")
_SHARD_NAME = re.compile(r"[0-9]+-.*\.jsonl")


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures and files of a finished run."""

    rows: int
    """Rows of the input; each has a result or an error record."""
    errors: int
    kept: int
    """Rows that an earlier run had done."""
    tokens: int
    """Tokens of all results."""
    changed: tuple[str, ...]
    """Inputs changed since an earlier run: `input options profile templates …`."""
    complete: bool
    """False when more rows failed than `max_errors`, and nothing was written."""
    files: tuple[str, ...] = ()
    """Paths of the results."""
    errors_file: str | None = None
    """Path of the error records; None without any."""
    seconds: float = 0.0


class RunManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `manifest.json`: inputs and outcome of the last run into a folder."""

    batch: int = 1
    """Version of this shape."""
    made_of: dict[str, str]
    """Hash of each input that all results depend on."""
    product: str
    """The request for result files: `to`, model and body, as JSON."""
    state: str = ""
    """Hash of the shards in the result files; empty while these are not written."""
    report: RunReport | None = None
    """Report of the run that wrote the result files."""


class OutputPaths:
    """Paths of one output: a file with a folder `NAME.batch` beside it, or a folder for all."""

    def __init__(self, output: Path) -> None:
        """Decide by the name if `output` is a file or a folder; raises `OptionError` for others."""
        suffix = output.suffix.lower()
        if output.name == "-" or (suffix in _OTHER_SUFFIXES and not output.is_dir()):
            message = f"{output}: an output ends in {', '.join(_FILE_SUFFIXES)}"
            raise OptionError(f"{message}, or is the name of a folder", option="output")
        self.is_file = suffix in _FILE_SUFFIXES
        if self.is_file and output.is_dir():
            raise OptionError(f"{output} is a folder; give another output", option="output")
        if self.is_file:
            self.folder, self.results = output.with_name(output.name + ".batch"), output
        else:
            self.folder, self.results = output, output / "results.jsonl"
        self.errors = self.folder / "errors.jsonl"
        self.shards = self.folder / "parts"
        self._manifest = self.folder / "manifest.json"

    def read_manifest(self) -> RunManifest | None:
        """Read the manifest of an earlier run, if there is one.

        Raises `OptionError` for a folder that holds the files of somebody else.
        """
        try:
            with naming_path(self._manifest):
                return msgspec.json.decode(self._manifest.read_bytes(), type=RunManifest)
        except (FileNotFoundError, msgspec.DecodeError):
            self._refuse_strangers()
        except NotADirectoryError:
            file = next(path for path in (self.folder, *self.folder.parents) if path.exists())
            message = f"{file} is a file, and the output needs a folder there"
            raise OptionError(message, option="output") from None
        return None

    def _refuse_strangers(self) -> None:
        # A run that was killed early may have left this folder without a manifest.
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name != "parts" and path.suffix != UNFINISHED_SUFFIX:
                message = f"{self.folder} is there and holds no batch"
                raise OptionError(
                    f"{message}; give another output, such as results.jsonl", option="output"
                )

    def write_manifest(self, manifest: RunManifest) -> None:
        """Write the manifest; make the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with write_whole(self._manifest) as file:
            file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


class ShardSummary(msgspec.Struct, frozen=True, tag="part"):
    """Last line of the file of a shard."""

    rows: int
    errors: int
    tokens: int
    references: str
    """Hash of the files that its rows name; empty where no row names any."""
    sha256: str
    """Hash of all lines before this one."""


class ShardStore:
    """The finished shards of one run; only the process that started the run writes them."""

    def __init__(self, folder: Path) -> None:
        """Lock `folder` and remove the half-written files of killed processes.

        Raises `OptionError` while another run is writing there.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = _lock(folder)
        self._there: dict[int, set[str]] = {}
        """Number of a shard → names of its files: of this run, and of runs with other inputs."""
        self._done: dict[int, tuple[str, ShardSummary]] = {}
        self.outdated = 0
        """Shards asked for that earlier runs had done with other inputs only."""
        try:
            remove_unfinished(folder)
            for name in filter(_SHARD_NAME.fullmatch, os.listdir(folder)):
                self._there.setdefault(int(name.partition("-")[0]), set()).add(name)
        except BaseException:
            self.close()
            raise

    def find(self, shard: Shard, key: str) -> ShardSummary | None:
        """Return the summary of a finished shard; None where it is missing or damaged."""
        name = _file_name(shard, key)
        there = self._there.get(shard.index, set())
        if name not in there:
            self.outdated += bool(there)
            return None
        # Without the last line end; a file cut short has another last line, or none.
        body, _, last = self._read(name)[:-1].rpartition(b"\n")
        try:
            summary = msgspec.json.decode(last, type=ShardSummary)
        except msgspec.DecodeError:
            return None
        # The file was written at one stroke; but disks fail, and people edit files.
        return summary if summary.sha256 == digest(body + b"\n") else None

    def add(self, shard: Shard, key: str, rendered: RenderedShard) -> ShardSummary:
        """Write the results of a shard; they are on the disk when this returns."""
        summary = ShardSummary(
            rendered.rows,
            rendered.errors,
            rendered.tokens,
            hash_references(rendered.references),
            digest(rendered.body),
        )
        name = _file_name(shard, key)
        with write_whole(self._folder / name) as file:
            file.write(rendered.body)
            file.write(msgspec.json.encode(summary) + b"\n")
        self._there.setdefault(shard.index, set()).add(name)
        return summary

    def count(self, shard: Shard, key: str, summary: ShardSummary) -> None:
        """Count a finished shard as one of this run."""
        self._done[shard.index] = (_file_name(shard, key), summary)

    def drop_others(self) -> None:
        """Remove the shards of earlier runs, once all of this run are done."""
        wanted = {name for name, _ in self._done.values()}
        for name in set().union(*self._there.values()) - wanted:
            (self._folder / name).unlink(missing_ok=True)

    def state(self) -> str:
        """Return one hash of all finished shards: equal for equal results."""
        lines = [f"{index} {summary.sha256}" for index, (_, summary) in sorted(self._done.items())]
        return digest("\n".join(lines).encode())

    def bodies(self) -> Iterator[tuple[ShardSummary, bytes]]:
        """Yield summary and result lines of each finished shard, in the order of the input."""
        for _, (name, summary) in sorted(self._done.items()):
            data = self._read(name)
            yield summary, data[: data[:-1].rfind(b"\n") + 1]

    def _read(self, name: str) -> bytes:
        path = self._folder / name
        with naming_path(path):
            return path.read_bytes()

    def close(self) -> None:
        """Release the lock."""
        os.close(self._lock)


def hash_references(references: list[str]) -> str:
    """Combine the hashes of many rows into one; empty for none."""
    return digest("\n".join(references).encode()) if references else ""


def _file_name(shard: Shard, key: str) -> str:
    return f"{shard.index:06d}-{key[:32]}.jsonl"


def _lock(folder: Path) -> int:
    # Lock the folder; the system releases the lock when this process ends, killed or not.
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    # Windows, and some file systems, have no such lock: there two runs at once are the user's risk.
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            message = f"another run is writing to {folder.parent}"
            raise OptionError(
                f"{message}; wait for it, or give another output", option="output"
            ) from None
    return handle
