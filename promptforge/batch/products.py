"""What comes out at the end: the lines of all parts, in order, as one file of JSON Lines or Parquet; errors apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec

from ..errors import OptionError
from ..writing import whole
from .parts import Summary
from .rows import lines

Bodies = Iterable[tuple[Summary, bytes]]


class Failures:
    """The lines of rows that have no result, on their way to a file of their own."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def add(self, line: bytes) -> None:
        """Take one line."""
        self._file.write(line + b"\n")
        self.count += 1

    def taken_out(self, body: bytes) -> Iterator[bytes]:
        """Yield the lines of `body` that are results, without their line ends."""
        for bad, line in lines(body):
            if bad:
                self.add(line)
            else:
                yield line


class Product(Protocol):
    """What makes files of the lines of results."""

    def write(self, bodies: Bodies, failures: Failures) -> list[Path]:
        """Write all files, each whole or not at all, and return them; what is no result goes to `failures`."""
        ...


def write(product: Product, bodies: Bodies, errors: Path) -> tuple[list[Path], int]:
    """Write the files of `product`, and the file `errors` if there are any; return the files, and how many errors."""
    with whole(errors) as file:
        failures = Failures(file)
        files = product.write(bodies, failures)
    if not failures.count:
        errors.unlink()
    return files, failures.count


class JsonLines:
    """One file with a line for each result, as `rows` made it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, bodies: Bodies, failures: Failures) -> list[Path]:
        """See `Product`."""
        with whole(self._path) as file:
            for summary, body in bodies:
                if summary.errors:
                    file.writelines(line + b"\n" for line in failures.taken_out(body))
                else:
                    file.write(body)
        return [self._path]


class Parquet:
    """One file with a row for each result; a request and the warnings are columns of JSON text."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            message = f"{path.name}: Parquet needs pyarrow, which is not installed: pip install '.[parquet]'"
            raise OptionError(message) from None
        self._arrow, self._path = pyarrow, path

    def write(self, bodies: Bodies, failures: Failures) -> list[Path]:
        """See `Product`."""
        arrow = self._arrow
        text, number, truth = arrow.string(), arrow.int64(), arrow.bool_()
        schema = arrow.schema(
            [
                ("id", text),
                ("line", number),
                ("text", text),
                ("request", text),
                ("tokens", number),
                ("exact", truth),
            ]
            + [(f"items_{what}", number) for what in ("included", "trimmed", "dropped")]
            + [("truncated", truth), ("warnings", text)]
        )
        with whole(self._path) as file, arrow.parquet.ParquetWriter(file, schema) as writer:
            for _, body in bodies:
                records = [_flat(line) for line in failures.taken_out(body)]
                if records:
                    writer.write_table(arrow.Table.from_pylist(records, schema=schema))
        return [self._path]


def _flat(line: bytes) -> dict[str, Any]:
    record: dict[str, Any] = msgspec.json.decode(line)
    for name in ("request", "warnings"):
        if name in record:
            record[name] = msgspec.json.encode(record[name]).decode()
    return record
