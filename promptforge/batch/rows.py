"""Rows of a batch: read them, and render each; a request in JSON becomes one line of JSON.

Requests come from files (JSON Lines, also packed, CSV, Parquet), mappings or a table; they are
cut into shards. `BatchSpec` holds the settings that all rows of a run share, and travels to other
processes. `RowRenderer` renders rows. `RenderBatch` does it for columns of Ray Data, Hugging Face
and pandas.
"""

from __future__ import annotations

import ast
import contextlib
import glob
import gzip
import hashlib
import io
import json
import os
import sys
import tokenize
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import msgspec

from ..config.options import OPTION_VOCABULARY, Options
from ..engine import Job, SourceRequest, gather, load_messages, split_range, table_rows
from ..errors import (
    Diagnostics,
    ItemError,
    OptionError,
    PromptForgeError,
    did_you_mean,
    pip_install,
    quote,
    show_value,
    suggest_name,
)
from ..files import YAML_SUFFIXES, Folders, folder_paths, is_pattern, is_url
from ..files.access import leads_outside, note_stream, open_stream, show_path
from ..files.csv_table import TableError, TableReader, is_table
from ..files.stores import list_url, local_copy
from ..model import Item
from ..prompts.histories import read_history
from ..prompts.messages import Message
from ..prompts.prompt import Renderer
from ..prompts.providers import check_shape
from ..sources.attack import TechniqueIndex, read_attack
from ..sources.item_files import decode_json, report_repeated_keys
from ..sources.jobs import job_of
from ..sources.objects import is_there, without_point
from ..sources.shapes import ITEM_FIELDS
from ..text.format import plural
from ..text.words import late_pattern, late_property
from ..trimming.python import parse_python

Row = tuple[int, bytes]
"""Number of the line (or of the row, where there are no lines) from 1, and its JSON.

The numbers of a second file go on where those of the first end.

In place of JSON: `UNREADABLE_PREFIX` and the reason why it could not be read.
"""
UNREADABLE_PREFIX = b" "
"""First byte of a row that could not be read: JSON comes here stripped, so never with a blank."""
FEWER_CELLS_PREFIX = b"\t"
"""First byte of a row of CSV that lacks cells; to JSON it is a blank."""
MAX_ROW_BYTES = 64 << 20
"""Bytes of one row; a longer one becomes an error record."""
MAX_SHARD_BYTES = 4 << 20
"""Bytes after which a shard ends, so that long rows take no more memory than short ones."""
_BOM, _GZIP, _ZSTD = b"\xef\xbb\xbf", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SUFFIXES = (".parquet", *(f"{s}{p}" for s in (".jsonl", ".ndjson") for p in ("", ".gz", ".zst")))
"""Names that are read in a folder; a file that is named itself may have any."""
_LIST = late_pattern(r"\s*+\[\s*+[{\"']")
_HEADER = late_pattern(rb"[^][{}:\n]*[,;|\t]")
"""The beginning of a header of CSV; YAML and JSON, whole or broken, have other signs first."""
# First bytes of files in other formats: each of their lines would be an error of its own.
_FOREIGN = {
    b"PK\x03\x04": "zip",
    b"PAR1": "Parquet, which needs a name that ends in .parquet",
    b"ARRO": "Arrow",
    b"BZh": "bzip2",
    b"\xfd7zX": "xz",
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
                message = "is both the input and the output; choose another output"
                raise ItemError(message, where=show_path(name))
        folder = self._source
        if isinstance(folder, str | os.PathLike) and os.path.isdir(folder):
            inside = os.path.realpath(output).startswith(os.path.realpath(folder) + os.sep)
            if inside:
                message = "holds the output, which the next run would read; choose another output"
                raise ItemError(message, where=show_path(folder))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the files; none for standard input and for rows of a program."""
        return tuple(self._sizes)

    @property
    def bytes(self) -> int | None:
        """Bytes of all rows; None where nobody knows them, as of packed files and Parquet."""
        plain = not any(
            n.endswith((".gz", ".zst", ".parquet", ".csv", ".tsv")) for n in self._sizes
        )
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
            for number, mapping in enumerate(_given_rows(self._source), 1):
                yield number, _row(mapping)
        elif self._source == "-" and sys.stdin is None:
            raise ItemError("cannot read it: it is closed", where="<stdin>")
        elif self._source == "-":
            note_stream(sys.stdin)
            yield from _read_rows(cast(Any, sys.stdin.buffer), "-", "standard input")
        before = last = 0
        for name in self._sizes:
            self._places.append((before, show_path(name)))
            for number, row in _read_file(name):
                last = before + number
                yield last, row
            before = last


def _given_rows(source: Any) -> Iterable[object]:
    """Return the rows of a table, or the mappings themselves; raises `ItemError` for neither."""
    names = source.columns if hasattr(source, "iterrows") else getattr(source, "column_names", ())
    _refuse_repeated_names(names, "the table")
    rows = table_rows(source)
    if rows is not None:
        return rows
    if isinstance(source, Mapping | bytes | bytearray) or not isinstance(source, Iterable):
        message = "expected a file, folder, pattern or URL, a list of mappings, or a table; found"
        raise ItemError(f"{message} {show_value(source)}", where="the input")
    return source


def _refuse_repeated_names(names: Iterable[object], where: str) -> None:
    named = [str(name) for name in names]
    if len(set(named)) < len(named):
        raise ItemError("two columns have one name", where=where)


def _find_files(source: str) -> tuple[dict[str, int | None], tuple[str, ...]]:
    """Return the files that a name stands for, with their bytes, and those that are left out."""
    wanted = None
    if is_url(source):
        found = list_url(source)
        wanted = None if source in found or is_pattern(source) else source
    elif os.path.isdir(source):
        inside = (
            os.path.join(folder, name) for folder, _, files in os.walk(source) for name in files
        )
        found, wanted = _sizes(inside), source
    elif is_pattern(source) and not os.path.lexists(source):
        found = _sizes(glob.iglob(source, recursive=True))
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


def _sizes(names: Iterable[str]) -> dict[str, int | None]:
    # A link to nothing, as editors lock a file with, is no file; a pipe would wait for ever.
    return {name: os.path.getsize(name) for name in sorted(filter(os.path.isfile, names))}


def _read_file(name: str) -> Iterator[Row]:
    where = show_path(name)
    with local_copy(name) as path:
        if path.lower().endswith(".parquet"):
            yield from _parquet(Path(path), where)
            return
        with _open(Path(path), where) as file:
            size = os.path.isfile(path) and os.fstat(file.fileno()).st_size
            yield from _read_rows(cast(io.BufferedReader, file), path, where)
            if size and not file.closed and os.fstat(file.fileno()).st_size != size:
                raise ItemError("was changed while it was read; run this again", where=where)


def _read_rows(file: io.BufferedReader, name: str, where: str) -> Iterator[Row]:
    """Yield the rows of an open file, or of standard input, `-`, by its name and its beginning."""
    try:
        lines = _unpacked(file, where)
        start = lines.peek(1).removeprefix(_BOM).lstrip()
        first_line, _, rest = start.partition(b"\n")
        is_header, is_list = is_table(name), name.lower().endswith((".json", ".json.gz"))
        if name == "-":  # JSON Lines may begin with a line that is not an object
            is_header = _HEADER.match(start) is not None and rest.lstrip()[:1] != b"{"
            is_list = not (first_line.rstrip().endswith(b"]") and rest.strip())
        if is_header and start[:1] != b"{":
            yield from _table(lines, where)
        elif is_list and start[:1] == b"[":
            yield from _list(lines, where)
        else:
            rows = _lines(lines)
            for first in islice(rows, 1):
                _refuse_other_format(name, first[1], lines, where)
                yield first
            yield from rows
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ItemError(f"cannot be read: {reason}", where=where) from None


def _refuse_other_format(name: str, line: bytes, rest: IO[bytes], where: str) -> None:
    """Raise `ItemError` for YAML, and JSON over many lines, where each line would be a bad row."""
    if not name.lower().endswith((".json", ".yaml", ".yml")):
        return
    try:
        decode_row(line, {})
    except ItemError:
        message = "holds no rows: write each request as JSON in one line, or a list of them in JSON"
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            message += _rows_within(msgspec.json.decode(line + rest.read()))
        raise ItemError(message, where=where) from None


def _rows_within(value: Any) -> str:
    """Return the end of a message about an object that may wrap the rows: `{"data": [{…}]}`."""
    own = value.keys() - _OWN_KEYS if isinstance(value, dict) else ()
    lists = [key for key in own if isinstance(value[key], list) and value[key]]
    if len(lists) != 1 or not (lists[0].isidentifier() and isinstance(value[lists[0]][0], dict)):
        return ""
    return f"; jq -c '.{lists[0]}[]' writes each object in {quote(lists[0])} as a row of its own"


def _open(path: Path, where: str = "") -> IO[bytes]:
    try:
        return open_stream(path)
    except (OSError, ValueError) as error:  # the second for a NUL in the name
        reason = getattr(error, "strerror", error)
        raise ItemError(f"cannot be read: {reason}", where=where or show_path(path)) from None


def _unpacked(file: io.BufferedReader, where: str) -> io.BufferedReader:
    """Return the lines of a file as they are, or out of gzip or Zstandard; its first bytes tell."""
    start = file.peek(4)[:4]
    if start.startswith(_GZIP):
        return cast(io.BufferedReader, gzip.GzipFile(fileobj=file))
    if start.startswith(_ZSTD):
        pyarrow = import_pyarrow("Zstandard", where)
        return io.BufferedReader(pyarrow.CompressedInputStream(file, "zstd"))
    for magic, name in _FOREIGN.items():
        if start.startswith(magic):
            message = f"is {name}; a batch reads JSON Lines and CSV in UTF-8, and Parquet"
            raise ItemError(message, where=where)
    return file


def _lines(file: IO[bytes]) -> Iterator[Row]:
    number = 0
    # One byte more than allowed: a line of this length is known to be too long, and no longer read.
    while line := file.readline(MAX_ROW_BYTES + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        if len(line) > MAX_ROW_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_ROW_BYTES)
            yield number, UNREADABLE_PREFIX + b"longer than %d MiB" % (MAX_ROW_BYTES >> 20)
        elif line := line.strip():
            yield number, line


def _list(file: IO[bytes], where: str) -> Iterator[Row]:
    try:
        rows = msgspec.json.decode(file.read().removeprefix(_BOM), type=list[msgspec.Raw])
    except msgspec.DecodeError as error:
        raise ItemError(f"holds a list that is not valid JSON: {error}", where=where) from None
    yield from ((number, bytes(row)) for number, row in enumerate(rows, 1))


def _table(file: IO[bytes], where: str) -> Iterator[Row]:
    try:
        table = TableReader(_decoded(file))
        _refuse_repeated_names(table.columns, where)
        for number, cells in enumerate(table, 1):
            named = zip(table.columns, cells, strict=False)
            row = _row({name: cell for name, cell in named if cell})
            if len(cells) > len(table.columns):
                row = _wrong("more cells than columns")
            elif len(cells) < len(table.columns):
                row = FEWER_CELLS_PREFIX + row
            yield number, row
    except TableError as error:
        place = f"{where}:{error.line}"
        raise ItemError(f"no CSV in UTF-8 that can be read: {error}", where=place) from None


def _decoded(file: IO[bytes]) -> Iterator[str]:
    for number, line in enumerate(iter(lambda: file.readline(MAX_ROW_BYTES + 1), b""), 1):
        if len(line) > MAX_ROW_BYTES:
            raise TableError(f"a line longer than {MAX_ROW_BYTES >> 20} MiB", number)
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise TableError(error, number) from None


def import_pyarrow(shape: str, where: str) -> Any:
    """Import the library for Parquet and Zstandard; raises `OptionError` without it."""
    try:
        import pyarrow.parquet
    except ImportError:
        message = f"{shape} needs pyarrow, which is not installed: {pip_install('parquet')}"
        raise OptionError(f"{where}: {message}") from None
    return pyarrow


def _parquet(path: Path, where: str) -> Iterator[Row]:
    pyarrow = import_pyarrow("Parquet", where)
    with _open(path, where) as file:
        number = 0
        try:
            stored = pyarrow.parquet.ParquetFile(file)
            _refuse_repeated_names(stored.schema_arrow.names, where)
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
        return {_without_nulls(k): _without_nulls(v) for k, v in value.items() if is_there(v)}
    if isinstance(value, bytes):
        # Some programs write text to Parquet as bytes, which would come out as Base64.
        return value.decode()
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, float) and value in (float("inf"), -float("inf")):  # null in JSON
        raise ValueError(f"found {value}, which is not a JSON number")
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _refuse(value: Any) -> Any:
    # pandas has a date of its own, which pyarrow makes of the nanoseconds in Parquet.
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"found a value of type {type(value).__name__}")


def digest(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


CONTEXT_ONLY = "context"
"""The value of `to` for the context text alone, without a prompt around it."""
ERROR_PREFIX = b'{"error":'
"""First bytes of an error record; the line of a result begins otherwise."""
_OWN_KEYS = {"id", "profile", "items", "files", "knowledge", "history"}
_OWN_KEYS |= {"system", "instructions", "question", "user"}
_ROW = 'a row is a request, such as {"items": [{"content": "…"}], "max_tokens": 900}'
# Figures of a prompt that has no context.
_NO_CONTEXT = {"items_included": 0, "items_trimmed": 0, "items_dropped": 0, "truncated": False}


# --- settings of a run ----------------------------------------------------------------------------


class BatchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a run. Plain data: it travels to other processes and machines."""

    profile: str | None = None
    templates: tuple[str, ...] = ()
    """Folders of the user's; the first wins. The same holds for `profiles`."""
    profiles: tuple[str, ...] = ()
    workspace: str = "."
    """Folder that holds all files a row may name."""
    attack: str | None = None
    """ATT&CK data, in which techniques are looked up."""
    output: str = ""
    """Where the results go: no row may name it, for it is replaced when all rows are done."""
    to: str | None = None
    """`context`, or a shape of `Renderer.prompt`; `None`: each row's keys tell."""
    options: dict[str, Any] = {}
    columns: dict[str, str] = {}
    """Key of a row → the user's own column that holds it; if there are any, only they are read."""

    @property
    def id_column(self) -> str:
        """The column of ids; empty if the user named others and none of ids."""
        return self.columns.get("id", "") if self.columns else "id"


def make_spec(  # noqa: PLR0913  the settings of a run are public
    to: str | None,
    profile: str | Path | None,
    templates: Folders,
    profiles: Folders,
    workspace: str | Path,
    attack: str | None,
    options: dict[str, Any],
    columns: Mapping[str, str] | None = None,
) -> BatchSpec:
    """Build the spec; its folders are absolute, so they mean the same to any process."""
    return BatchSpec(
        profile=None if profile is None else str(profile),
        templates=tuple(map(os.path.abspath, folder_paths(templates, "templates"))),
        profiles=tuple(map(os.path.abspath, folder_paths(profiles))),
        workspace=os.path.abspath(workspace),
        attack=None if attack is None else os.path.abspath(attack),
        to=to,
        options=options,
        columns=dict(columns or {}),
    )


def check_spec(spec: BatchSpec) -> Options:
    """Return the options in force; raises `PromptForgeError` for settings that no row can use."""
    if spec.to is not None:
        check_shape(spec.to, CONTEXT_ONLY)
    known = [*_OWN_KEYS, *OPTION_VOCABULARY]
    for key in spec.columns:
        if key not in known:
            message = f"columns: {quote(key)} is not a key of a row{suggest_name(key, known)}"
            raise OptionError(message, option="columns")
    try:
        msgspec.json.encode(spec.options)
    except TypeError as error:
        message = f"options of a batch are plain data, for other processes: {error}"
        raise OptionError(message) from None
    return make_renderer(spec).check()


def check_columns(columns: Mapping[str, str], there: Collection[str], where: str) -> None:
    """Raise `OptionError` for a column that is not among those which are there."""
    for column in columns.values():
        if column not in there:
            message = f"columns: {where} {quote(column)}{suggest_name(column, there)}"
            raise OptionError(message, option="columns")


def check_first_rows(shards: Iterable[Shard], columns: Mapping[str, str]) -> Iterator[Shard]:
    """Yield the shards; raises `OptionError` for a column that no row of the first one has."""
    for shard in shards:
        if shard.index == 0 and columns:
            there: dict[str, Any] = {}
            for _, raw in shard.rows:
                with contextlib.suppress(ItemError):
                    there |= decode_row(raw, {})
            if there:
                check_columns(columns, there, f"none of the first {len(shard.rows):,} rows has")
        yield shard


def make_renderer(spec: BatchSpec, profile: str | None = None) -> Renderer:
    """Build the renderer of a run, or of a row with another profile."""
    return Renderer(
        profile=profile or spec.profile,
        templates=spec.templates,
        profiles=spec.profiles,
        **spec.options,
    )


def fingerprint_of(value: object) -> str:
    """Hash plain data; of several hashes, it makes one."""
    return digest(msgspec.json.encode(value, order="deterministic"))


# --- rows -----------------------------------------------------------------------------------------


class RenderedRows(msgspec.Struct, frozen=True):
    """Results of one row, or of the rows of a shard."""

    body: bytes
    """One line of JSON per row, in their order."""
    rows: int
    errors: int
    """Rows without a result."""
    tokens: int
    """Tokens of all results."""
    references: list[str]
    """One hash per row that names files, man pages or techniques: of the data read for it."""
    warnings: dict[str, int] = {}
    """Code of a warning or note → the rows that have one."""


def join_rendered(parts: Sequence[RenderedRows]) -> RenderedRows:
    """Return the results of several parts of a shard as one."""
    warnings: Counter[str] = Counter()
    for part in parts:
        warnings.update(part.warnings)
    return RenderedRows(
        b"".join(part.body for part in parts),
        sum(part.rows for part in parts),
        sum(part.errors for part in parts),
        sum(part.tokens for part in parts),
        [reference for part in parts for reference in part.references],
        warnings,
    )


class _RowRequest(NamedTuple):
    job: Job
    profile: str | None
    to: str
    records: Any
    """Items in the row itself, of any known shape."""


_COLUMNS_EXPECTED = {"user": "question", "question": "question", "items": "items"}
"""Key of a row → what its column gives, so that a row without it says so."""


class _Inputs(NamedTuple):
    items: list[Item]
    history: list[Message] | None
    said: Diagnostics
    failure: ItemError | None
    """The error that left the row without data."""
    reference: str
    """Hash of the fields above; empty where the row holds all its data and names no file."""


class RowRenderer:
    """Renders any number of rows, in one thread."""

    def __init__(self, spec: BatchSpec, before_row: Callable[[], None] = lambda: None) -> None:
        """`before_row` is called before each row of a shard."""
        self._spec = spec
        self._before_row = before_row
        self._renderers = {spec.profile: make_renderer(spec)}

    def render(self, shard: Shard) -> RenderedRows:
        """Render all rows of `shard`."""
        parts = []
        for number, raw in shard.rows:
            self._before_row()
            parts.append(self.row(number, raw))
        return join_rendered(parts)

    def references(self, shard: Shard) -> list[str]:
        """Compute `RenderedRows.references` for the files as they are now, without rendering."""
        found = []
        for _, raw in shard.rows:
            self._before_row()
            try:
                found.append(self._load(self._understand(decode_row(raw, {}))).reference)
            except Exception:
                continue  # a row that cannot be read names nothing
        return [reference for reference in found if reference]

    def row(self, number: int, raw: bytes) -> RenderedRows:
        """Render one row. Never raises."""
        name, references = f"row-{number}", []
        try:
            twice: dict[str, None] = {}
            value = decode_row(raw, twice)
            name = _id_of(value, name, self._spec.id_column)
            asked = self._understand(value)
            inputs = self._load(asked)
            if inputs.reference:
                references.append(inputs.reference)
            report_repeated_keys(twice, inputs.said, "row")
            if raw.startswith(FEWER_CELLS_PREFIX):
                inputs.said.add("PF201", "the row has fewer cells than the table has columns")
            self._say_empty_columns(value, inputs.said)
            if inputs.failure:
                raise inputs.failure
            facts = self._render(asked, inputs)
            line = _line({"id": name, "line": number, **facts})
            warnings = {warning["code"]: 1 for warning in facts["warnings"]}
            return RenderedRows(line + b"\n", 1, 0, facts["tokens"], references, warnings)
        except Exception as error:  # any error at all: it must not end the other rows
            line = error_line(name, number, type(error).__name__, str(error))
            return RenderedRows(line + b"\n", 1, 1, 0, references)

    def _say_empty_columns(self, value: Mapping[str, Any], said: Diagnostics) -> None:
        for key, gives in _COLUMNS_EXPECTED.items():
            column = self._spec.columns.get(key)
            if column is None:
                continue
            given = value.get(column)
            if _is_blank(given) or given in ([], "[]"):
                found = "is empty"
                if given is None:
                    found = "is null" if column in value else "is missing"
                message = f"the row has no {gives}: its column {quote(column)} {found}"
                said.add("PF201", message)

    def _understand(self, value: dict[str, Any]) -> _RowRequest:
        """Return what a row asks for; raises `OptionError` for a key that no row takes."""
        columns = self._spec.columns
        if columns:
            given = {key: value.get(column) for key, column in columns.items()}
            value = {key: each for key, each in given.items() if not _is_blank(each)}
        # In a table of CSV a list is a text. No pattern of file names begins as one does.
        items = value.get("items")
        is_list = isinstance(items, str) and _LIST.match(items) is not None
        records = value.pop("items", None) if is_list or "items" in columns else None
        asked = _understand(value, self._spec.to)
        return asked if records is None else asked._replace(records=records)

    def _render(self, asked: _RowRequest, inputs: _Inputs) -> dict[str, Any]:
        job, to = asked.job, asked.to
        profile = asked.profile or self._spec.profile
        renderer = self._renderers.get(profile)
        if renderer is None:
            renderer = self._renderers[profile] = make_renderer(self._spec, profile)
        before = tuple(inputs.said)
        if to == CONTEXT_ONLY:
            context = renderer.render(inputs.items, before=before, **job.options)
            return {"text": context.text, **_figures(context, context)}
        prompt = renderer.prompt(
            inputs.items,
            system=job.texts.get("system"),
            instructions=job.texts.get("instructions"),
            user=job.texts.get("question"),
            history=inputs.history,
            to=check_shape(to),
            before=before,
            **job.options,
        )
        figures = _figures(prompt, prompt.context)
        if to == "text":
            return {"text": prompt.text, **figures}
        return {"request": prompt.request, **figures}

    # --- data that a row names --------------------------------------------------------------------

    def _load(self, asked: _RowRequest) -> _Inputs:
        job, said = asked.job, Diagnostics()
        names = [entry for entry in job.items if isinstance(entry, str)]
        paths = [*names, *job.files, *job.documents]
        if isinstance(job.history, str) and "history" not in self._spec.columns:
            paths.append(job.history)
        wanted = SourceRequest(
            items=names,
            records=_column_records(asked.records, said),
            files=job.files,
            documents=job.documents,
            man_pages=job.man_pages,
            techniques=job.mitre_techniques,
            attack=self._attack if job.mitre_techniques and self._spec.attack else None,
            workspace=self._spec.workspace,
        )
        items: list[Item] = []
        history, failure = None, None
        try:
            for path in paths:
                self._refuse_path(path)
            items = gather(wanted, said)
            history = self._history(job.history, said)
        except ItemError as error:
            failure = error
        if not paths and not job.man_pages and not job.mitre_techniques:
            return _Inputs(items, history, said, failure, "")
        # Errors and warnings are part of the hash: a file that comes to be there changes it too.
        read = repr((items, history, list(said), failure))
        reference = digest(read.encode("utf-8", "backslashreplace"))
        return _Inputs(items, history, said, failure, reference)

    def _refuse_path(self, path: str) -> None:
        """Raise `ItemError` for a path that a row may not name, such as the output of this run.

        A user may type `-` or `../a`; the rows of a stranger may not.
        """
        if path == "-":
            raise ItemError("a row cannot name standard input", where=show_path(path))
        if os.path.isabs(path):
            message = "a row cannot name an absolute path, only what is in the workspace"
            raise ItemError(message, where=show_path(path))
        for name in {path, split_range(path, self._spec.workspace)[0]}:
            outside = leads_outside(name, self._spec.workspace)
            if outside:
                message = f"{outside}; a row names only what is in the workspace: --workspace DIR"
                raise ItemError(message, where=show_path(path))
            place = os.path.join(self._spec.workspace, name)
            with contextlib.suppress(OSError, ValueError):
                if os.path.samefile(place, self._spec.output):
                    message = "is the output of this batch; choose another output"
                    raise ItemError(message, where=show_path(path))

    def _history(self, given: Any, said: Diagnostics) -> list[Message] | None:
        where, locate = "history", None
        if isinstance(given, str) and "history" in self._spec.columns:
            twice: dict[str, None] = {}
            with contextlib.suppress(ValueError, RecursionError):
                given = decode_json(given, twice)  # as in a table of CSV
            report_repeated_keys(twice, said, where)
        elif isinstance(given, str):
            where, workspace = given, self._spec.workspace
            given, locate = load_messages(given, diagnostics=said, workspace=workspace)
        return None if given is None else read_history(given, where, said, locate)

    @late_property
    def _attack(self) -> TechniqueIndex:
        # Read once a process: the public bundle has 50 MB, and thousands of rows look into it.
        return read_attack(
            self._spec.attack or "", workspace=self._spec.workspace, diagnostics=Diagnostics()
        )


def _is_blank(value: object) -> bool:
    """Tell whether a column gives nothing; a table of CSV has a blank text for null."""
    return value is None or (isinstance(value, str) and not value.strip())


def _column_records(given: Any, said: Diagnostics) -> Any:
    """Return the records in an items column: of a text the items of its JSON list, else it alone.

    Any other text is an item, however it looks, and no name of a file.
    """
    if not isinstance(given, str):
        return given
    if not given.lstrip().startswith("["):
        return [given]
    twice: dict[str, None] = {}
    of_list = Diagnostics()
    try:  # a table of CSV has no lists, so they stand in it as texts
        language, records = _read_list(given, twice)
        items = gather(SourceRequest(records=records), of_list)
    # `[{[1]: 2}]`: no key. `[1] it's`: no token.
    except (ValueError, TypeError, RecursionError, ItemError, SyntaxError, tokenize.TokenError):
        return [given]
    # Rows of numbers or of cells are no records; a title with its sentences, in HotpotQA, is one.
    kinds = [[*map(type, each)] if type(each) is list else type(each) for each in records]
    if not all(kind in (dict, str, [str, list]) for kind in kinds):
        return [given]
    if records:
        read = plural(len(records), "record", "records")
        message = f"the text in the column of items is a {language} list, read as {read}"
        said.add("PF202", message, severity="info")
        report_repeated_keys(twice, said, "items")
    said.extend(of_list)
    return items


def _read_list(text: str, twice: dict[str, None]) -> tuple[str, list[Any]]:
    """Read a list of JSON, or as Python or numpy prints it; raises as `decode_json` does."""
    try:
        return "JSON", decode_json(text, twice, lenient=True)
    except json.JSONDecodeError:
        tree = parse_python(_with_commas(text.strip()))  # pandas and `csv` write `['a', 'b']`
        if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
            raise
    return "Python", ast.literal_eval(tree.body[0].value)


def _with_commas(text: str) -> str:
    """Put commas between the values of an array as numpy prints it: `['a' 'b']`, `[{} {}]`.

    Two texts of a list with commas are one, as `pprint` breaks a long text after a blank.
    """
    parts, depth = [""], 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        depth += (token.string in ("[", "{", "(")) - (token.string in ("]", "}", ")"))
        if depth == 1 and token.string == ",":
            return text
        begins_text = depth == 1 and token.string[:1] in ("'", '"')
        follows = parts[-1][-1:] in ("'", '"', "}") and not parts[-1][-2:-1].isspace()
        if follows and (begins_text or (depth == 2 and token.string == "{")):
            parts.append(",")
        if token.type != tokenize.NL:
            parts.append(token.string)
    return " ".join(parts).strip()


def decode_row(raw: bytes, twice: dict[str, None]) -> dict[str, Any]:
    """Parse a row into an object; put keys that an object has twice into `twice`.

    Raises `ItemError`.
    """
    if raw.startswith(UNREADABLE_PREFIX):
        raise ItemError(raw.removeprefix(UNREADABLE_PREFIX).decode())
    try:
        value = decode_json(raw, twice)
    except RecursionError:
        raise ItemError("not valid JSON: nested too deeply") from None
    except ValueError as error:
        message = f"not valid JSON: {error}; a row is one object in one line, as jq -c '.[]' writes"
        raise ItemError(f"{message} those of a list") from None
    if not isinstance(value, dict):
        found = "null" if value is None else type(value).__name__
        raise ItemError(f"expected an object, found {found}; {_ROW}")
    return {key: without_point(inner) for key, inner in value.items()}


def flat_record(record: dict[str, Any]) -> dict[str, Any]:
    """Write the nested values of a result as JSON texts, in place, for columns."""
    for name in record.keys() & {"request", "cut", "warnings"}:
        record[name] = msgspec.json.encode(record[name]).decode()
    return record


def error_line(name: str, number: int, kind: str, message: str) -> bytes:
    """Write the error record of a row."""
    return _line({"error": kind, "id": name, "line": number, "message": message})


def row_id(raw: bytes, derived: str, column: str) -> str:
    """Return the id of a row, or `derived` where it has none or cannot be read."""
    try:
        return _id_of(decode_row(raw, {}), derived, column)
    except PromptForgeError:
        return derived


def _id_of(value: Mapping[str, Any], derived: str, column: str) -> str:
    given = value.get(column)
    if given is None or given == "":
        return derived
    if isinstance(given, bool) or not isinstance(given, str | int):
        message = f"id: expected text or a whole number, found {type(given).__name__}"
        raise OptionError(message, option="id")
    return str(given)


def _understand(value: dict[str, Any], to: str | None) -> _RowRequest:
    given = {key: inner for key, inner in value.items() if key not in ("id", "profile", "user")}
    if value.get("user") is not None:
        if given.get("question") is not None:
            message = "user and question are two names of one text; write one"
            raise OptionError(message, option="user")
        given["question"] = value["user"]
    profile = value.get("profile")
    is_name = isinstance(profile, str) and not profile.endswith(YAML_SUFFIXES)
    if profile is not None and not is_name:
        message = "profile: a row takes the name of a profile, not a file"
        raise OptionError(message, option="profile")
    job = job_of(given, lambda *_: "")
    for key, used in (("from", job.plugged), ("search", job.search is not None)):
        if used:
            message = f"{key}: not in a row; it names items, files, documents and the like"
            raise OptionError(message, option=key)
    for name, inner in job.options.items():
        _check_option(name, inner)
    is_prompt = bool(job.texts) or job.history is not None
    if to == CONTEXT_ONLY and is_prompt:
        key = "user" if "question" in job.texts else next(iter(job.texts), "history")
        message = "a context alone has no place for it; --to text or openai makes a prompt"
        raise OptionError(f"{key}: {message}")
    if to is None:
        to = "text" if is_prompt else CONTEXT_ONLY
    records = [entry for entry in job.items if not isinstance(entry, str)]
    return _RowRequest(job, profile, to, records)


def _check_option(name: str, value: object) -> None:
    if name not in OPTION_VOCABULARY:
        hint = f"; {_ROW}"
        if name not in ITEM_FIELDS:  # else the row is an item, and no request
            hint = did_you_mean(name, [*_OWN_KEYS, *OPTION_VOCABULARY])
            hint += "; --columns user=question,items=contexts reads columns of your own"
            hint += _rows_within({name: value})
        raise OptionError(f"unknown key {quote(name)}{hint}", option=name)
    if name == "tokenizer" and isinstance(value, str) and value.startswith("file:"):
        raise OptionError("tokenizer: only the whole run can take one from a file", option=name)


def _figures(made: Any, context: Any) -> dict[str, Any]:
    figures, cut = _NO_CONTEXT, []
    if context is not None:
        figures = {name: getattr(context, name) for name in _NO_CONTEXT}
        cut = _cut(context.report) if context.items_dropped or context.items_trimmed else []
    warnings = msgspec.to_builtins(made.warnings)
    return {
        "tokens": made.tokens, "exact": made.exact, **figures, "cut": cut, "warnings": warnings,
    }  # fmt: skip


def _cut(report: Any) -> list[dict[str, Any]]:
    """Return the items of a row that are not whole in its text, each with the reason."""
    cut: list[dict[str, Any]] = []
    for index, item in enumerate(report.given):
        status = report.status(index)
        if status != "included":
            own = {"id": item.id, "name": item.name or item.path or item.url}
            named = {key: value for key, value in own.items() if value}
            cut.append({"item": index, **named, "status": status, "reason": report.reason(index)})
    return cut


def _line(facts: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(facts)
    except UnicodeEncodeError:  # a lone surrogate in an id or a message
        text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


_DEFAULTS: dict[str, Any] = {
    "id": "", "text": "", "request": "", "tokens": 0, "items_included": 0, "items_trimmed": 0,
    "items_dropped": 0, "truncated": False, "cut": "[]", "warnings": "[]", "error": "",
}  # fmt: skip


class RenderBatch:
    """A function from columns to columns; it can be pickled and sent to another process.

    Takes `{"request": [JSON text, …]}`, or one column per key of a row: lists, arrays, or a table
    of pandas or Arrow. Returns the columns
    `id text request tokens items_included items_trimmed items_dropped truncated cut warnings
    error`, one entry per row; `request`, `cut` and `warnings` are JSON text, and `error` is empty
    for a row that has a result.

    The keywords are those of `run` that say how a row is rendered; a wrong one is an `OptionError`.

        results = RenderBatch(max_tokens=500)({"request": ['{"items": [{"content": "x"}]}']})
        results["text"][0], results["tokens"][0]
    """

    def __init__(
        self,
        *,
        to: str | None = None,
        columns: Mapping[str, str] | None = None,
        profile: str | None = None,
        templates: Folders = None,
        profiles: Folders = None,
        workspace: str = ".",
        attack: str | None = None,
        **options: Any,
    ) -> None:
        self._spec = make_spec(
            to, profile, templates, profiles, workspace, attack, options, columns
        )
        check_spec(self._spec)
        self._renderer: RowRenderer | None = None

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Render the rows of `batch`. A wrong row is an entry in `error`, and raises nothing."""
        if self._renderer is None:
            self._renderer = RowRenderer(self._spec)
        if hasattr(batch, "to_pydict"):  # a table of Arrow has columns, and is no mapping
            batch = batch.to_pydict()
        # NumPy arrays and pandas series: `list` would keep their number types, which no JSON has.
        columns = {
            name: values.tolist() if hasattr(values, "tolist") else list(values)
            for name, values in batch.items()
        }
        check_columns(self._spec.columns, columns, "the batch has no")
        made: dict[str, list[Any]] = {name: [] for name in _DEFAULTS}
        for number, values in enumerate(zip(*columns.values(), strict=True), 1):
            row = dict(zip(columns, values, strict=True))
            record = _DEFAULTS | self._render(self._renderer, row, number)
            for name, column in made.items():
                column.append(record[name])
        return made

    def __getstate__(self) -> dict[str, Any]:
        # Templates and tokenizers do not pickle; the other process makes its own renderer.
        return {"_spec": self._spec, "_renderer": None}

    @staticmethod
    def _render(renderer: RowRenderer, row: dict[str, Any], number: int) -> dict[str, Any]:
        try:
            raw = encode_row(row)
        except ItemError as error:
            return {"id": str(row.get("id", "")), "error": f"ItemError: {error}"}
        line = renderer.row(number, raw).body
        record: dict[str, Any] = msgspec.json.decode(line)
        if line.startswith(ERROR_PREFIX):
            return {"id": record["id"], "error": f"{record['error']}: {record['message']}"}
        return flat_record(record)
