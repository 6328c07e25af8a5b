"""Requests in: JSON Lines, Parquet or mappings → rows, one JSON text each → parts of the input, of fixed rows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import ItemError, OptionError
from ..sources.workspace import shown
from .spec import digest

Row = tuple[int, bytes]
"""Its line in the file (its number, where there are no lines), from 1, and its JSON, or `WRONG` and what is wrong."""

WRONG = b" "
"""How a row begins that could not be read; what is read begins with no blank."""

MAX_ROW = 64 << 20
"""Bytes of one row; a longer one becomes an error record."""
PART_BYTES = 4 << 20
"""A part ends with the row that brings it to so many bytes: rows of any size take the same memory."""
_FOREIGN = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PAR1": "Parquet, which needs a name that ends in .parquet",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
"""How files begin whose every line would be an error."""


class Part(msgspec.Struct, frozen=True):
    """Some rows of the input that follow each other: what is rendered, kept and done again as one."""

    index: int
    rows: list[Row]

    @property
    def size(self) -> int:
        """Bytes of its rows."""
        return sum(len(row) for _, row in self.rows)

    def key(self, ground: str) -> str:
        """Return the hash of its rows, their places and what they are rendered with."""
        heads = msgspec.json.encode(
            [ground, self.index, [(line, len(row)) for line, row in self.rows]]
        )
        return digest(b"".join([heads, *(row for _, row in self.rows)]))


def parts(rows: Iterable[Row], size: int, limit: int | None = None) -> Iterator[Part]:
    """Yield the rows in parts of at most `size`, up to the row number `limit`."""
    held: list[Row] = []
    weight = index = 0
    for row in islice(rows, limit):
        held.append(row)
        weight += len(row[1])
        if len(held) >= size or weight >= PART_BYTES:
            yield Part(index, held)
            held, weight, index = [], 0, index + 1
    if held:
        yield Part(index, held)


def rows(source: str | os.PathLike[str] | Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the rows of a file (`-`: standard input, JSON Lines), or of mappings. Blank lines are none.

    A column `request` of a Parquet file holds whole rows; else columns are keys, and what is null is not there. Raises
    `ItemError` for a file that cannot be read, never for a row.
    """
    if not isinstance(source, str | os.PathLike):
        for number, mapping in enumerate(source, 1):
            yield number, _row(mapping)
    elif source == "-":
        yield from _lines(sys.stdin.buffer, "standard input")
    elif _is_parquet(source):
        yield from _parquet(Path(source))
    else:
        with _open(Path(source)) as file:
            try:
                yield from _lines(file, shown(source))
            except OSError as error:
                raise ItemError(f"cannot be read: {error.strerror}", where=shown(source)) from None


def check(source: object, output: Path) -> None:
    """Raise `ItemError` for an input that cannot be read, or that the output would take the place of."""
    if isinstance(source, str | os.PathLike) and source != "-":
        path = Path(source)
        if not path.is_fifo():  # who writes into one would be cut off
            _open(path).close()
        if output.exists() and output.samefile(path):
            raise ItemError("is the input and the output; give another output", where=shown(path))


def weigh(source: object) -> int | None:
    """Return the bytes that the rows of a file of lines have in all, None where that is not known beforehand."""
    if not isinstance(source, str | os.PathLike) or source == "-" or _is_parquet(source):
        return None
    return Path(source).stat().st_size if Path(source).is_file() else None


def _is_parquet(source: str | os.PathLike[str]) -> bool:
    return Path(source).suffix.lower() == ".parquet"


def _open(path: Path) -> IO[bytes]:
    try:
        if path.is_dir():
            raise ItemError(
                "is a folder; name one file of JSON Lines or Parquet", where=shown(path)
            )
        return path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ItemError(f"cannot be read: {reason}", where=shown(path)) from None


def _lines(file: IO[bytes], where: str) -> Iterator[Row]:
    number = 0
    while line := file.readline(MAX_ROW + 1):
        number += 1
        if number == 1:
            for magic, name in _FOREIGN.items():
                if line.startswith(magic):
                    raise ItemError(
                        f"is {name}; a batch reads JSON Lines in UTF-8, and Parquet", where=where
                    )
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) > MAX_ROW:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_ROW)
            yield number, WRONG + b"longer than %d MiB" % (MAX_ROW >> 20)
        elif line := line.strip():
            yield number, line


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        message = f"{shown(path)}: Parquet needs pyarrow, which is not installed: pip install '.[parquet]'"
        raise OptionError(message) from None
    with _open(path) as file:
        number = 0
        try:
            stored = pyarrow.parquet.ParquetFile(file)
            names = stored.schema_arrow.names
            if len(set(names)) < len(names):
                raise ItemError("two columns have one name", where=shown(path))
            for table in stored.iter_batches(batch_size=256):
                for row in _records(table):
                    number += 1
                    yield number, row
        except (pyarrow.ArrowException, OSError) as error:
            raise ItemError(f"no Parquet that can be read: {error}", where=shown(path)) from None


def _records(table: Any) -> Iterator[bytes]:
    """Yield the rows of an Arrow table; one that Python has no value for (a year of five digits) costs itself alone."""
    try:
        yield from map(_row, table.to_pylist())
    except (ValueError, OverflowError) as error:
        if table.num_rows > 1:
            yield from (row for n in range(table.num_rows) for row in _records(table.slice(n, 1)))
        else:
            yield _wrong(f"a row must be plain data: {error}")


def _row(mapping: object) -> bytes:
    try:
        return encode(mapping)
    except ItemError as error:
        return _wrong(str(error))


def _wrong(message: str) -> bytes:
    return WRONG + message.encode("utf-8", "backslashreplace")


def encode(mapping: object) -> bytes:
    """Return a row given as a mapping as JSON, without what is null: a column has every key that any row has.

    What is under `request` is the row, as JSON or as a mapping. Raises `ItemError` for what is no plain data.
    """
    whole = mapping.get("request") if isinstance(mapping, dict) else None
    if isinstance(whole, str | bytes):
        return (whole.encode("utf-8", "surrogatepass") if isinstance(whole, str) else whole).strip()
    try:
        plain = _there(whole if isinstance(whole, dict) else mapping)
        try:
            return msgspec.json.encode(plain, enc_hook=_listed)
        except UnicodeEncodeError:  # a lone surrogate: the renderer replaces and says it
            return json.dumps(plain, default=_listed).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ItemError(f"a row must be plain data: {error}") from None


def _there(value: Any) -> Any:
    if isinstance(value, dict):
        return {_there(key): _there(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, bytes):  # as some write text to Parquet; others would be Base64, unseen
        return value.decode()
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_there(inner) for inner in value] if isinstance(value, list) else value


def _listed(value: Any) -> Any:
    raise TypeError(f"found a value of type {type(value).__name__}")
