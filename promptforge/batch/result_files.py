"""Result files: all results as JSON Lines or Parquet, or as request files for a batch service.

Error records go into a file of their own. Request files for a batch service keep the limits of
their provider; `index.jsonl` names row, file and line for each `custom_id`.
"""

from __future__ import annotations

import hashlib
import io
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import msgspec

from ..config.options import Options
from ..errors import OptionError
from ..files import write_whole
from .rows import ERROR_PREFIX, error_line
from .store import FileStamp, ShardSummary

Json = dict[str, Any]
ShardBodies = Iterable[tuple[ShardSummary, bytes]]
"""Summary and lines of each shard, in order."""


class ErrorLines:
    """Error records, on their way to a file of their own."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def add(self, line: bytes) -> None:
        """Write one record."""
        self._file.write(line + b"\n")
        self.count += 1

    def take_from(self, body: bytes) -> Iterator[bytes]:
        """Yield the results in `body`, without their line ends; write its error records."""
        for line in body.splitlines():
            if line.startswith(ERROR_PREFIX):
                self.add(line)
            else:
                yield line


class ResultFiles:
    """Opens result files for writing, each whole or not there; `written` has their stamps."""

    def __init__(self) -> None:
        self.written: dict[Path, FileStamp] = {}

    @contextmanager
    def open(self, path: Path) -> Iterator[IO[bytes]]:
        """Open the file at `path`; with the end of the context it is on the disk."""
        with write_whole(path) as file:
            stamped = _StampedFile(file)
            yield cast(IO[bytes], stamped)
        self.written[path] = FileStamp(stamped.tell(), stamped.sha256.hexdigest())


class _StampedFile(io.RawIOBase):
    # Hashes the bytes on their way. A hash of the finished file would bless what a disk spoils.
    def __init__(self, file: IO[bytes]) -> None:
        self.sha256 = hashlib.sha256()
        self._file, self._size = file, 0

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        written = self._file.write(data)
        self._size += written
        return written

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size


ResultWriter = Callable[[ShardBodies, ErrorLines, ResultFiles], None]
"""Writes the result files."""


def write_results(
    write: ResultWriter, bodies: ShardBodies, errors_path: Path
) -> tuple[dict[Path, FileStamp], int]:
    """Write results and error records; return the stamps of all files and the number of errors.

    The file at `errors_path` is there afterwards only if there are any.
    """
    files = ResultFiles()
    with files.open(errors_path) as file:
        errors = ErrorLines(file)
        write(bodies, errors, files)
    if not errors.count:
        errors_path.unlink()
        del files.written[errors_path]
    return files.written, errors.count


def json_lines_writer(path: Path) -> ResultWriter:
    """Write one file, one line per result."""

    def write(bodies: ShardBodies, errors: ErrorLines, files: ResultFiles) -> None:
        with files.open(path) as file:
            for summary, body in bodies:
                if summary.errors:
                    file.writelines(line + b"\n" for line in errors.take_from(body))
                else:  # the usual case: copy the shard without looking at its lines
                    file.write(body)

    return write


def parquet_writer(path: Path) -> ResultWriter:
    """Write one file, one row per result; a request and the warnings are columns of JSON text."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError:
        message = "Parquet needs pyarrow, which is not installed: pip install '.[parquet]'"
        raise OptionError(f"{path.name}: {message}") from None
    text, number, truth = arrow.string(), arrow.int64(), arrow.bool_()
    # Written out, not inferred: the first shard may have no request, or no warning.
    columns = {
        "id": text, "line": number, "text": text, "request": text, "tokens": number,
        "exact": truth, "items_included": number, "items_trimmed": number,
        "items_dropped": number, "truncated": truth, "warnings": text,
    }  # fmt: skip
    schema = arrow.schema(columns)

    def write(bodies: ShardBodies, errors: ErrorLines, files: ResultFiles) -> None:
        with files.open(path) as file, pyarrow.parquet.ParquetWriter(file, schema) as writer:
            for _, body in bodies:
                records = [_flat(line) for line in errors.take_from(body)]
                if records:
                    writer.write_table(arrow.Table.from_pylist(records, schema=schema))

    return write


def _flat(line: bytes) -> Json:
    record: Json = msgspec.json.decode(line)
    for name in record.keys() & {"request", "warnings"}:
        record[name] = msgspec.json.encode(record[name]).decode()
    return record


# --- batch services -------------------------------------------------------------------------------


# Anthropic's rule for a `custom_id`; OpenAI takes these too.
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BatchService(NamedTuple):
    """A batch service and its limits."""

    shape: str
    """Shape for `Renderer.prompt`, which returns the keywords of one call."""
    wrap: Callable[[str, Json], Json]
    """A `custom_id` and the keywords of a call → one request of a batch."""
    max_requests: int
    """Requests in one file."""
    max_bytes: int
    """Bytes of one file."""
    suffix: str
    around: tuple[bytes, bytes, bytes]
    """Text before, between and after the requests of a file."""


def _openai(url: str) -> Callable[[str, Json], Json]:
    return lambda name, body: {"custom_id": name, "method": "POST", "url": url, "body": body}


_LINES = (b"", b"\n", b"\n")
BATCH_SERVICES: Mapping[str, BatchService] = {
    # OpenAI's guide to its Batch API: up to 50,000 requests and 200 MB a file, all for one model.
    "openai-batch": BatchService(
        "openai", _openai("/v1/chat/completions"), 50_000, 200_000_000, ".jsonl", _LINES
    ),
    "openai-responses-batch": BatchService(
        "openai-responses", _openai("/v1/responses"), 50_000, 200_000_000, ".jsonl", _LINES
    ),
    # Anthropic's guide to Message Batches: up to 100,000 requests or 256 MB in one call's body.
    "anthropic-batch": BatchService(
        "anthropic",
        lambda name, body: {"custom_id": name, "params": body},
        100_000,
        256_000_000,
        ".json",
        (b'{"requests":[\n', b",\n", b"\n]}\n"),
    ),
}
"""Batch services by their name in `to`."""


class _Request(NamedTuple):
    data: bytes
    custom_id: str
    id: str
    line: int


class RequestFiles:
    """`requests-00001.jsonl` … and `index.jsonl` in a folder, ready to be sent."""

    def __init__(
        self, folder: Path, service: BatchService, model: str | None, body: Json, options: Options
    ) -> None:
        """Check the keywords that all requests share: `model` and `body`. Raises `OptionError`."""
        if not model:
            raise OptionError("a batch of requests needs --model", option="model")
        body = {"model": model, **body}
        if service.shape == "anthropic":
            if "max_tokens" not in body and not options.reserve:
                message = "anthropic-batch needs the most tokens of an answer"
                raise OptionError(
                    f"{message}: --reserve N, or --body '{{max_tokens: N}}'", option="reserve"
                )
            body = {"max_tokens": options.reserve, **body}
        self._folder, self._service, self._body = folder, service, body

    def write(self, bodies: ShardBodies, errors: ErrorLines, files: ResultFiles) -> None:
        """Write the files; the index names row, file and line for each `custom_id`."""
        requests = self._requests(bodies, errors)
        with files.open(self._folder / "index.jsonl") as index:
            request = next(requests, None)
            while request:
                name = f"requests-{len(files.written) + 1:05d}{self._service.suffix}"
                with files.open(self._folder / name) as file:
                    request = self._fill(file, name, request, requests, index)
        for old in self._folder.glob("requests-[0-9]*.json*"):
            if old not in files.written:
                old.unlink()

    def _fill(
        self,
        file: IO[bytes],
        name: str,
        request: _Request | None,
        more: Iterator[_Request],
        index: IO[bytes],
    ) -> _Request | None:
        # The request that finds no room any more is handed back: it begins the next file.
        head, between, tail = self._service.around
        count, size, first_line = 0, len(head + tail), head.count(b"\n") + 1
        file.write(head)
        while request and count < self._service.max_requests:
            data = between + request.data if count else request.data
            if size + len(data) > self._service.max_bytes:
                break
            file.write(data)
            entry = {
                "custom_id": request.custom_id, "id": request.id, "row": request.line,
                "file": name, "line": first_line + count,
            }  # fmt: skip
            index.write(msgspec.json.encode(entry) + b"\n")
            count, size = count + 1, size + len(data)
            request = next(more, None)
        file.write(tail)
        return request

    def _requests(self, bodies: ShardBodies, errors: ErrorLines) -> Iterator[_Request]:
        """Yield the requests that can be sent; the others become error records."""
        head, _, tail = self._service.around
        room = self._service.max_bytes - len(head + tail)
        # A database without a name lies on the disk and goes with its connection: the ids of
        # ten million rows take no memory.
        seen = sqlite3.connect("")
        try:
            seen.execute("CREATE TABLE ids (name TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID")
            for line in (line for _, body in bodies for line in errors.take_from(body)):
                record = msgspec.json.decode(line)
                name, number = record["id"], record["line"]
                custom_id = name if _ID.fullmatch(name) else f"row-{number}"
                call = {**self._body, **record["request"]}
                data = msgspec.json.encode(self._service.wrap(custom_id, call))
                used = seen.execute("SELECT line FROM ids WHERE name = ?", (custom_id,)).fetchone()
                if used:
                    said = (
                        f"the id stands for line {used[0]} already; a provider takes each id once"
                    )
                    errors.add(error_line(name, number, "DuplicateId", said))
                elif len(data) > room:
                    said = f"the request takes {len(data):,} bytes, a whole file at most {room:,}"
                    errors.add(error_line(name, number, "RequestTooLarge", said))
                else:
                    seen.execute("INSERT INTO ids VALUES (?, ?)", (custom_id, number))
                    yield _Request(data, custom_id, name, number)
        finally:
            seen.close()
