"""Requests in: JSON Lines, Parquet or mappings → rows, one JSON text each → parts of the input, of fixed rows."""

from __future__ import annotations

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
"""Its line in the file (its number, where there are no lines), from 1, and its JSON; no bytes where it is too long."""

MAX_ROW = 64 << 20
"""Bytes of one row; a longer one becomes an error record."""
PART_BYTES = 4 << 20
"""A part ends with the row that brings it to so many bytes: rows of any size take the same memory."""


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
        heads = msgspec.json.encode([ground, self.index, [(line, len(row)) for line, row in self.rows]])
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

    A column `request` of a Parquet file holds whole rows as JSON; else columns are keys, and what is null is not there.
    Raises `ItemError` for a file that cannot be read.
    """
    if not isinstance(source, str | os.PathLike):
        for number, mapping in enumerate(source, 1):
            yield number, encode(mapping)
    elif source == "-":
        yield from _lines(sys.stdin.buffer)
    elif Path(source).suffix == ".parquet":
        yield from _parquet(Path(source))
    else:
        with _open(Path(source)) as file:
            try:
                yield from _lines(file)
            except OSError as error:
                raise ItemError(f"cannot be read: {error.strerror}", where=shown(source)) from None


def check(source: object, output: Path) -> None:
    """Raise `ItemError` for an input that cannot be read, or that the output would take the place of."""
    if isinstance(source, str | os.PathLike) and source != "-":
        path = Path(source)
        _open(path).close()
        if output.exists() and output.samefile(path):
            raise ItemError("is the input and the output; give another output", where=shown(path))


def weigh(source: object) -> int | None:
    """Return the bytes that the rows of a file of lines have in all, None where that is not known beforehand."""
    if not isinstance(source, str | os.PathLike) or source == "-" or Path(source).suffix == ".parquet":
        return None
    return Path(source).stat().st_size if Path(source).is_file() else None


def _open(path: Path) -> IO[bytes]:
    try:
        if path.is_dir():
            raise ItemError("is a folder; name one file of JSON Lines or Parquet", where=shown(path))
        return path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ItemError(f"cannot be read: {reason}", where=shown(path)) from None


def _lines(file: IO[bytes]) -> Iterator[Row]:
    number = 0
    while line := file.readline(MAX_ROW + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) > MAX_ROW:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_ROW)
            yield number, b""
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
            for table in pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=256):
                for record in table.to_pylist():
                    number += 1
                    whole = record.get("request")
                    yield number, whole.encode() if isinstance(whole, str) else encode(record)
        except (pyarrow.ArrowException, OSError) as error:
            raise ItemError(f"no Parquet that can be read: {error}", where=shown(path)) from None


def encode(mapping: object) -> bytes:
    """Return a row given as a mapping as JSON, without what is null: a column has every key that any row has.

    Raises `ItemError` for what is no plain data.
    """
    try:
        return msgspec.json.encode(_there(mapping), enc_hook=_listed)
    except (TypeError, ValueError, RecursionError) as error:
        raise ItemError(f"a row must be plain data: {error}") from None


def _there(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _there(inner) for key, inner in value.items() if inner is not None}
    return [_there(inner) for inner in value] if isinstance(value, list) else value


def _listed(value: Any) -> Any:
    """Return an array or a number of NumPy's as Python has it."""
    if not hasattr(value, "tolist"):
        raise TypeError(f"found a value of type {type(value).__name__}")
    return value.tolist()
