"""Read requests: JSON Lines, Parquet or mappings → rows, one JSON text each → shards of rows."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import ItemError, OptionError
from ..sources.shapes import table_rows
from ..sources.workspace import show_path

Row = tuple[int, bytes]
"""Number of the line (or of the row, where there are no lines) from 1, and its JSON.

In place of JSON: `UNREADABLE_PREFIX` and the reason why it could not be read.
"""
UNREADABLE_PREFIX = b" "
"""First byte of a row that could not be read: JSON comes here stripped, so never with a blank."""
MAX_ROW_BYTES = 64 << 20
"""Bytes of one row; a longer one becomes an error record."""
MAX_SHARD_BYTES = 4 << 20
"""Bytes after which a shard ends, so that long rows take no more memory than short ones."""
# First bytes of files in other formats: each of their lines would be an error of its own.
_FOREIGN = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
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


def read_rows(source: str | os.PathLike[str] | Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the rows of a file (`-`: JSON Lines on standard input), of mappings, or of a table.

    Blank lines are skipped. In Parquet, a column `request` holds whole rows; without it the columns
    are keys, and null is left out. Raises `ItemError` for a file that cannot be read, never for a
    single row.
    """
    if not isinstance(source, str | os.PathLike):
        rows = table_rows(source)
        for number, mapping in enumerate(source if rows is None else rows, 1):
            yield number, _row(mapping)
    elif source == "-":
        yield from _lines(sys.stdin.buffer, "standard input")
    elif _is_parquet(source):
        yield from _parquet(Path(source))
    else:
        with _open(Path(source)) as file:
            try:
                yield from _lines(file, show_path(source))
            except OSError as error:
                raise ItemError(
                    f"cannot be read: {error.strerror}", where=show_path(source)
                ) from None


def check_input(source: object, output: Path) -> None:
    """Raise `ItemError` for an input that cannot be read or that `output` would replace."""
    if isinstance(source, str | os.PathLike) and source != "-":
        path = Path(source)
        if not path.is_fifo():  # opening and closing one would cut off its writer
            _open(path).close()
        if output.exists() and output.samefile(path):
            raise ItemError(
                "is the input and the output; give another output", where=show_path(path)
            )


def input_bytes(source: object) -> int | None:
    """Return the bytes of a file of lines; None for inputs of unknown length."""
    if not isinstance(source, str | os.PathLike) or source == "-" or _is_parquet(source):
        return None
    path = Path(source)
    return path.stat().st_size if path.is_file() else None


def _is_parquet(source: str | os.PathLike[str]) -> bool:
    return Path(source).suffix.lower() == ".parquet"


def _open(path: Path) -> IO[bytes]:
    where = show_path(path)
    try:
        if path.is_dir():
            raise ItemError("is a folder; name one file of JSON Lines or Parquet", where=where)
        return path.open("rb")
    except OSError as error:
        raise ItemError(f"cannot be read: {error.strerror}", where=where) from None
    except ValueError as error:  # a NUL in the name
        raise ItemError(f"cannot be read: {error}", where=where) from None


def _lines(file: IO[bytes], where: str) -> Iterator[Row]:
    number = 0
    # One byte more than allowed: a line of this length is known to be too long, and no longer read.
    while line := file.readline(MAX_ROW_BYTES + 1):
        number += 1
        if number == 1:
            for magic, name in _FOREIGN.items():
                if line.startswith(magic):
                    message = f"is {name}; a batch reads JSON Lines in UTF-8, and Parquet"
                    raise ItemError(message, where=where)
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) > MAX_ROW_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_ROW_BYTES)
            yield number, UNREADABLE_PREFIX + b"longer than %d MiB" % (MAX_ROW_BYTES >> 20)
        elif line := line.strip():
            yield number, line


def _parquet(path: Path) -> Iterator[Row]:
    where = show_path(path)
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        message = "Parquet needs pyarrow, which is not installed: pip install '.[parquet]'"
        raise OptionError(f"{where}: {message}") from None
    with _open(path) as file:
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
