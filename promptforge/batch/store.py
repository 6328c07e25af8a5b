"""Finished shards in a folder: one atomic file each, named by the hash of its inputs.

A file is `000042-KEY.jsonl`: number of the shard, and a hash of its rows and of all that their
results depend on. So a shard is done when its file is there, and a changed input or profile never
meets an old result. The last line of a file is its `Summary`.

Paths of the files of a run, and its manifest: `manifest.json`.
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
from .requests import Shard
from .rows import RenderedShard
from .spec import digest

_FILES = (".jsonl", ".ndjson", ".parquet")

_OTHERS = (".json", ".csv", ".tsv", ".txt", ".gz", ".zst", ".zip", ".arrow")
"""Suffixes of files that no batch writes: a folder of such a name would be a surprise."""


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
    """The request for output files: `to`, model and body, as JSON."""
    state: str = ""
    """Hash of the shards in the output files; empty while these are not written."""
    report: RunReport | None = None
    """Report of the run that wrote the output files."""


class OutputPaths:
    """Paths of one output."""

    def __init__(self, output: Path, suffix: str) -> None:
        """Decide by its name if `output` is a file or a folder; raises `OptionError` for others.

        `suffix` is that of the results inside a folder.
        """
        self.is_file = output.suffix.lower() in _FILES
        if output.name == "-" or (output.suffix.lower() in _OTHERS and not output.is_dir()):
            message = f"{output}: an output ends in {', '.join(_FILES)}, or is the name of a folder"
            raise OptionError(message, option="output")
        if self.is_file and output.is_dir():
            raise OptionError(f"{output} is a folder; give another output", option="output")
        if self.is_file:
            self.folder, self.results = output.with_name(output.name + ".batch"), output
        else:
            self.folder, self.results = output, output / f"results{suffix}"
        self.errors = self.folder / "errors.jsonl"
        self.parts = self.folder / "parts"
        self._manifest = self.folder / "manifest.json"

    def read(self) -> RunManifest | None:
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
        """Raise `OptionError` unless a run that was killed early can have left this folder."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name != "parts" and path.suffix != UNFINISHED_SUFFIX:
                message = f"{self.folder} is there and holds no batch"
                raise OptionError(
                    f"{message}; give another output, such as results.jsonl", option="output"
                )

    def holds(self, report: RunReport) -> bool:
        """Tell whether all files that `report` names are there."""
        files = list(report.files)
        if report.errors_file:
            files.append(report.errors_file)
        return all(Path(file).is_file() for file in files)

    def write(self, manifest: RunManifest) -> None:
        """Write the manifest, at one stroke."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with write_whole(self._manifest) as file:
            file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


_NAME = re.compile(r"[0-9]+-.*\.jsonl")


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
        self._names: dict[int, set[str]] = {}
        try:
            self.cleaned = remove_unfinished(folder)
            for name in filter(_NAME.fullmatch, os.listdir(folder)):
                self._names.setdefault(int(name.partition("-")[0]), set()).add(name)
        except BaseException:
            self.close()
            raise
        self.outdated = 0
        """Shards asked for that earlier runs had done with other inputs only."""
        self._done: dict[int, tuple[str, ShardSummary]] = {}

    def find(self, part: Shard, key: str) -> ShardSummary | None:
        """Return the summary of a finished shard; None where it is missing or damaged."""
        name = _file(part.index, key)
        known = self._names.get(part.index, set())
        if name not in known:
            self.outdated += bool(known)
            return None
        body, _, last = self._read(name)[:-1].rpartition(b"\n")
        try:
            summary = msgspec.json.decode(last, type=ShardSummary)
        except msgspec.DecodeError:
            return None
        # The file was written at one stroke; but disks fail, and people edit files.
        return summary if summary.sha256 == digest(body + b"\n") else None

    def keep(self, part: Shard, key: str, summary: ShardSummary) -> None:
        """Count a shard among those of this run."""
        self._done[part.index] = (_file(part.index, key), summary)

    def put(self, part: Shard, key: str, rendered: RenderedShard) -> ShardSummary:
        """Write the results of a shard; they are on the disk when this returns."""
        summary = ShardSummary(
            rendered.rows,
            rendered.errors,
            rendered.tokens,
            hash_references(rendered.references),
            digest(rendered.body),
        )
        name = _file(part.index, key)
        with write_whole(self._folder / name) as file:
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
