"""Output files: results of all shards as JSON Lines or Parquet; error records in a file apart."""

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
"""Summary and lines of each shard, in order."""


class Failures:
    """Error records, on their way to a file of their own."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def add(self, line: bytes) -> None:
        """Write one record."""
        self._file.write(line + b"\n")
        self.count += 1

    def taken_out(self, body: bytes) -> Iterator[bytes]:
        """Yield the results in `body`, without their line ends; write its error records."""
        for bad, line in lines(body):
            if bad:
                self.add(line)
            else:
                yield line


class Product(Protocol):
    """A kind of output."""

    def write(self, bodies: Bodies, failures: Failures) -> list[Path]:
        """Write the output files, each whole or not at all; return their paths."""
        ...


def write(product: Product, bodies: Bodies, errors: Path) -> tuple[list[Path], int]:
    """Write results and error records; return the paths of results and the number of errors.

    The file `errors` is there afterwards only if there are any.
    """
    with whole(errors) as file:
        failures = Failures(file)
        files = product.write(bodies, failures)
    if not failures.count:
        errors.unlink()
    return files, failures.count


class JsonLines:
    """One file, one line per result."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, bodies: Bodies, failures: Failures) -> list[Path]:
        """See `Product`."""
        with whole(self._path) as file:
            for summary, body in bodies:
                if summary.errors:
                    file.writelines(line + b"\n" for line in failures.taken_out(body))
                else:  # the usual case: copy the shard without looking at its lines
                    file.write(body)
        return [self._path]


class Parquet:
    """One file, one row per result; a request and the warnings are columns of JSON text."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            message = "Parquet needs pyarrow, which is not installed: pip install '.[parquet]'"
            raise OptionError(f"{path.name}: {message}") from None
        self._arrow, self._path = pyarrow, path

    def write(self, bodies: Bodies, failures: Failures) -> list[Path]:
        """See `Product`."""
        arrow = self._arrow
        text, number, truth = arrow.string(), arrow.int64(), arrow.bool_()
        # Written out, not inferred: the first shard may have no request, or no warning.
        columns = {
            "id": text, "line": number, "text": text, "request": text, "tokens": number,
            "exact": truth, "items_included": number, "items_trimmed": number,
            "items_dropped": number, "truncated": truth, "warnings": text,
        }  # fmt: skip
        schema = arrow.schema(columns)
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
