"""Read requests: files, mappings or a table → rows, one JSON text each → shards of rows.

A file is JSON Lines, as it is or packed by gzip or Zstandard, or Parquet.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import json
import os
import sys
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from ..errors import ItemError, OptionError, pip_install
from ..files import GLOB, is_url, list_url, local_copy
from ..sources.objects import table_rows
from ..sources.workspace import show_path

Row = tuple[int, bytes]
"""Number of the line (or of the row, where there are no lines) from 1, and its JSON.

The numbers of a second file go on where those of the first end.

In place of JSON: `UNREADABLE_PREFIX` and the reason why it could not be read.
"""
UNREADABLE_PREFIX = b" "
"""First byte of a row that could not be read: JSON comes here stripped, so never with a blank."""
MAX_ROW_BYTES = 64 << 20
"""Bytes of one row; a longer one becomes an error record."""
MAX_SHARD_BYTES = 4 << 20
"""Bytes after which a shard ends, so that long rows take no more memory than short ones."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SUFFIXES = (".parquet", *(f"{s}{p}" for s in (".jsonl", ".ndjson") for p in ("", ".gz", ".zst")))
"""Names that are read in a folder; a file that is named itself may have any."""
# First bytes of files in other formats: each of their lines would be an error of its own.
_FOREIGN = {
    b"PK\x03\x04": "zip",
    b"PAR1": "Parquet, which needs a name that ends in .parquet",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


class Shard(msgspec.Struct, frozen=True):
    """Consecutive rows of the input; they are rendered, stored and done again as one."""

    index: int
    rows: list[Row]

    @property
    def size(self) -> int:
        """Bytes of its rows."""
        return sum(len(row) for _, row in self.rows)

    def key(self, fingerprint: str) -> str:
        """Hash the rows, their places, and the `fingerprint` of all else that results depend on."""
        # The lengths go in first: without them, rows cut at other places would hash alike.
        heads = msgspec.json.encode(
            [fingerprint, self.index, [(line, len(row)) for line, row in self.rows]]
        )
        return digest(b"".join([heads, *(row for _, row in self.rows)]))


def split_shards(rows: Iterable[Row], size: int, limit: int | None = None) -> Iterator[Shard]:
    """Yield shards of at most `size` rows, made of the first `limit` rows."""
    held: list[Row] = []
    held_bytes = index = 0
    for row in islice(rows, limit):
        held.append(row)
        held_bytes += len(row[1])
        # The last row may go over the limit: a row of 64 MiB is a shard of its own.
        if len(held) >= size or held_bytes >= MAX_SHARD_BYTES:
            yield Shard(index, held)
            held, held_bytes, index = [], 0, index + 1
    if held:
        yield Shard(index, held)


Source = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
"""A file, folder, pattern or URL, `-` for standard input, mappings, or a table."""


class BatchInput:
    """The rows of a batch, and the files that they are in."""

    def __init__(self, source: Source) -> None:
        """Find the files; raises `ItemError` for an input that cannot be read."""
        self._source = source
        self._sizes: dict[str, int | None] = {}
        self.left_out: tuple[str, ...] = ()
        """Files of a folder that are neither JSON Lines nor Parquet."""
        self._places: list[tuple[int, str]] = []
        """The last row before each file, and its name."""
        if isinstance(source, str | os.PathLike) and source != "-":
            self._sizes, self.left_out = _find_files(os.fspath(source))

    def check_output(self, output: Path) -> None:
        """Raise `ItemError` if `output` would replace a file of the input, or be read as one."""
        for name in self._sizes:
            if not is_url(name) and output.exists() and output.samefile(name):
                message = "is the input and the output; give another output"
                raise ItemError(message, where=show_path(name))
        folder = self._source
        if isinstance(folder, str | os.PathLike) and os.path.isdir(folder):
            inside = os.path.realpath(output).startswith(os.path.realpath(folder) + os.sep)
            if inside:
                message = "holds the output, which the next run would read; give another output"
                raise ItemError(message, where=show_path(folder))

    @property
    def bytes(self) -> int | None:
        """Bytes of all rows; None where nobody knows them, as of packed files and Parquet."""
        plain = all(not name.endswith((".gz", ".zst", ".parquet")) for name in self._sizes)
        sizes = [size for size in self._sizes.values() if size is not None]
        return sum(sizes) if sizes and plain and len(sizes) == len(self._sizes) else None

    def place(self, row: int) -> tuple[str, int] | None:
        """Return the file of a row that was read, and its number there; None for one file alone."""
        if len(self._places) < 2:
            return None
        before, name = self._places[bisect_left(self._places, (row,)) - 1]
        return name, row - before

    def rows(self) -> Iterator[Row]:
        """Yield the rows; raises `ItemError` for a file that cannot be read, never for a row.

        Blank lines are skipped. In Parquet, a column `request` holds whole rows; without it the
        columns are keys, and null is left out.
        """
        self._places = []
        if not isinstance(self._source, str | os.PathLike):
            table = table_rows(self._source)
            for number, mapping in enumerate(self._source if table is None else table, 1):
                yield number, _row(mapping)
        elif self._source == "-":
            yield from _lines(_unpacked(cast(Any, sys.stdin.buffer), "standard input"))
        before = last = 0
        for name in self._sizes:
            self._places.append((before, show_path(name)))
            for number, row in _read_file(name):
                last = before + number
                yield last, row
            before = last


def _find_files(source: str) -> tuple[dict[str, int | None], tuple[str, ...]]:
    """Return the files that a name stands for, with their bytes, and those that are left out."""
    wanted = None
    if is_url(source):
        found = list_url(source)
        wanted = None if source in found or GLOB.search(source) else source
    elif os.path.isdir(source):
        inside = (
            os.path.join(folder, name) for folder, _, files in os.walk(source) for name in files
        )
        # A link to nothing, as editors lock a file with, is no file; a pipe would wait for ever.
        names = sorted(filter(os.path.isfile, inside))
        found, wanted = {name: os.path.getsize(name) for name in names}, source
    elif GLOB.search(source) and not os.path.lexists(source):
        names = sorted(filter(os.path.isfile, glob.iglob(source, recursive=True)))
        found = {name: os.path.getsize(name) for name in names}
    else:
        path = Path(source)
        size = None
        if not path.is_fifo():  # opening and closing one would cut off its writer
            with _open(path):
                size = path.stat().st_size if path.is_file() else None
        return {source: size}, ()
    left_out: tuple[str, ...] = ()
    if wanted:
        # Spark and others write `_SUCCESS` and `.part.crc` beside their files.
        shown = [
            n for n in found if not any(p[:1] in "._" for p in n[len(wanted) :].split("/") if p)
        ]
        left_out = tuple(name for name in shown if not name.lower().endswith(_SUFFIXES))
        found = {name: found[name] for name in shown if name not in left_out}
    if not found:
        message = f"no file there ends in {', '.join(_SUFFIXES)}" if wanted else "matches no file"
        raise ItemError(message, where=show_path(source))
    return found, left_out


def _read_file(name: str) -> Iterator[Row]:
    where = show_path(name)
    with local_copy(name) as path:
        if path.lower().endswith(".parquet"):
            yield from _parquet(Path(path), where)
            return
        with _open(Path(path), where) as file:
            try:
                yield from _lines(_unpacked(cast(io.BufferedReader, file), where))
            except (OSError, EOFError, zlib.error) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise ItemError(f"cannot be read: {reason}", where=where) from None


def _open(path: Path, where: str = "") -> IO[bytes]:
    where = where or show_path(path)
    try:
        return path.open("rb")
    except OSError as error:
        raise ItemError(f"cannot be read: {error.strerror}", where=where) from None
    except ValueError as error:  # a NUL in the name
        raise ItemError(f"cannot be read: {error}", where=where) from None


def _unpacked(file: io.BufferedReader, where: str) -> IO[bytes]:
    """Return the lines of a file as they are, or out of gzip or Zstandard; its first bytes tell."""
    start = file.peek(4)[:4]
    if start.startswith(_GZIP):
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if start.startswith(_ZSTD):
        try:
            import pyarrow
        except ImportError:
            message = f"Zstandard needs pyarrow, which is not installed: {pip_install('parquet')}"
            raise OptionError(f"{where}: {message}") from None
        return io.BufferedReader(pyarrow.CompressedInputStream(file, "zstd"))
    for magic, name in _FOREIGN.items():
        if start.startswith(magic):
            message = f"is {name}; a batch reads JSON Lines in UTF-8, and Parquet"
            raise ItemError(message, where=where)
    return file


def _lines(file: IO[bytes]) -> Iterator[Row]:
    number = 0
    # One byte more than allowed: a line of this length is known to be too long, and no longer read.
    while line := file.readline(MAX_ROW_BYTES + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) > MAX_ROW_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_ROW_BYTES)
            yield number, UNREADABLE_PREFIX + b"longer than %d MiB" % (MAX_ROW_BYTES >> 20)
        elif line := line.strip():
            yield number, line


def _parquet(path: Path, where: str) -> Iterator[Row]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        message = f"Parquet needs pyarrow, which is not installed: {pip_install('parquet')}"
        raise OptionError(f"{where}: {message}") from None
    with _open(path, where) as file:
        number = 0
        try:
            stored = pyarrow.parquet.ParquetFile(file)
            names = stored.schema_arrow.names
            if len(set(names)) < len(names):
                raise ItemError("two columns have one name", where=where)
            for table in stored.iter_batches(batch_size=256):
                for row in _records(table):
                    number += 1
                    yield number, row
        except (pyarrow.ArrowException, OSError) as error:
            raise ItemError(f"no Parquet that can be read: {error}", where=where) from None


def _records(table: Any) -> Iterator[bytes]:
    try:
        yield from map(_row, table.to_pylist())
    except (ValueError, OverflowError) as error:
        # Python has no value for a date in the year 38,505. Go on row by row, so that only the row
        # with that date fails.
        if table.num_rows > 1:
            for n in range(table.num_rows):
                yield from _records(table.slice(n, 1))
        else:
            yield _wrong(f"a row must be plain data: {error}")


def _row(mapping: object) -> bytes:
    try:
        return encode_row(mapping)
    except ItemError as error:
        return _wrong(str(error))


def _wrong(message: str) -> bytes:
    return UNREADABLE_PREFIX + message.encode("utf-8", "backslashreplace")


def encode_row(mapping: object) -> bytes:
    """Write a row given as a mapping as JSON, without nulls: a column has the keys of all rows.

    The value of `request` is the row itself, as JSON or as a mapping. Raises `ItemError` for values
    that are no plain data.
    """
    whole = mapping.get("request") if isinstance(mapping, dict) else None
    if isinstance(whole, str):
        return whole.encode("utf-8", "surrogatepass").strip()
    if isinstance(whole, bytes):
        return whole.strip()
    try:
        plain = _without_nulls(whole if isinstance(whole, dict) else mapping)
        try:
            return msgspec.json.encode(plain, enc_hook=_refuse)
        except UnicodeEncodeError:  # a lone surrogate: the renderer replaces it and says so
            return json.dumps(plain, default=_refuse).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ItemError(f"a row must be plain data: {error}") from None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        found = {}
        for key, inner in value.items():
            if inner is not None:
                found[_without_nulls(key)] = _without_nulls(inner)
        return found
    if isinstance(value, bytes):
        # Some programs write text to Parquet as bytes, which would come out as Base64.
        return value.decode()
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _refuse(value: Any) -> Any:
    raise TypeError(f"found a value of type {type(value).__name__}")


def digest(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
