"""Files of a run: the results of finished shards, and a manifest of the inputs they depend on.

A shard's file is `000042-KEY.jsonl`: its number, and a hash of its rows and of all else that its
results depend on. So a shard is done when its file is there, and a changed input or profile never
meets an old result. The last line of a file is its `ShardSummary`. Files are written at one stroke.

Each run that is complete writes the results from the shards, as JSON Lines, Parquet, or request
files for a batch service, which keep its limits: a file that was damaged meanwhile is whole again.
Error records go into a file of their own.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
from filelock import FileLock, Timeout

from .._version import __version__
from ..config.options import Options
from ..config.profiles import load_profile
from ..engine import get_tokenizer
from ..errors import OptionError, PromptForgeError
from ..files import shipped_folder
from ..files.access import (
    UNFINISHED_SUFFIX,
    make_folder,
    naming_path,
    read_bytes,
    remove_file,
    remove_unfinished,
    write_whole,
)
from .rows import (
    ERROR_PREFIX,
    BatchSpec,
    RenderedRows,
    Shard,
    check_spec,
    digest,
    error_line,
    fingerprint_of,
    flat_record,
    import_pyarrow,
)

_FILE_SUFFIXES = (".jsonl", ".ndjson", ".parquet")
# Suffixes of files that no batch writes: a folder of such a name would be a surprise.
_OTHER_SUFFIXES = (".json", ".csv", ".tsv", ".txt", ".gz", ".zst", ".zip", ".arrow")
LOCK_NAME = "lock"
_SHARD_NAME = re.compile(r"[0-9]{6,}-[0-9a-f]{32}\.jsonl")


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures and files of a finished run."""

    rows: int
    """Rows of the input; each has a result or an error record."""
    errors: int
    kept: int
    """Rows that an earlier run had done."""
    tokens: int
    """Tokens of all results."""
    warnings: dict[str, int]
    """Code of a warning or note → the rows that have one, the most frequent first."""
    changed: tuple[str, ...]
    """Inputs changed since an earlier run: `input options profile templates …`."""
    complete: bool
    """False when the run ended because of failed rows, and nothing was written."""
    reason: str = ""
    """The first error in words, or of a run that ended the most frequent one; empty without any."""
    left_out: tuple[str, ...] = ()
    """Files in the input's folder that are neither JSON Lines nor Parquet."""
    files: tuple[str, ...] = ()
    """Paths of the results."""
    errors_file: str | None = None
    """Path of the error records; None without any."""
    seconds: float = 0.0


class RunManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `manifest.json`: what the last run into a folder was made of."""

    made_of: dict[str, str]
    """Hash of each input that all results depend on."""
    complete: bool = False
    """True once a run has written the results."""


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
            raise OptionError(f"{output} is a folder; choose another output", option="output")
        if self.is_file:
            self.folder, self.results = output.with_name(output.name + ".batch"), output
        else:
            self.folder, self.results = output, output / "results.jsonl"
        self.errors = self.folder / "errors.jsonl"
        self.shards = self.folder / "parts"
        self._manifest = self.folder / "manifest.json"

    def read_manifest(self) -> RunManifest | None:
        """Read the manifest of an earlier run, if there is a whole one.

        Raises `OptionError` for a folder that holds the files of somebody else.
        """
        try:
            with naming_path(self._manifest):
                manifest = msgspec.json.decode(read_bytes(self._manifest), type=RunManifest)
            return manifest
        # The nesting of hostile JSON ends in the last of these.
        except (FileNotFoundError, msgspec.DecodeError, RecursionError):
            self._refuse_strangers()
        except NotADirectoryError:
            file = next(path for path in (self.folder, *self.folder.parents) if path.exists())
            message = f"{file} is a file, and the output needs a folder there"
            raise OptionError(message, option="output") from None
        return None

    def _refuse_strangers(self) -> None:
        # A run that was killed early may have left this folder without a manifest.
        # A lock in its `parts` is a batch's: there the manifest itself was damaged or removed.
        if (self.shards / LOCK_NAME).is_file():
            return
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name != "parts" and path.suffix != UNFINISHED_SUFFIX:
                message = f"{self.folder} is there and holds no batch"
                raise OptionError(
                    f"{message}; choose another output, such as results.jsonl", option="output"
                )

    def write_manifest(self, manifest: RunManifest) -> None:
        """Write the manifest; make the folder."""
        make_folder(self.folder)
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
    name: str = ""
    """Name of the file: of two that were exchanged, each is whole and of another shard."""
    warnings: dict[str, int] = {}
    """Code of a warning or note → the rows that have one."""


class ShardStore:
    """The finished shards of one run; only the process that started the run writes them."""

    def __init__(self, folder: Path) -> None:
        """Lock `folder` and remove the half-written files of killed processes.

        Raises `OptionError` while another run is writing there.
        """
        make_folder(folder)
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
                if not (folder / name).is_dir():
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
        try:
            # Without the last line end; a file cut short has another last line, or none.
            body, _, last = self._read(name)[:-1].rpartition(b"\n")
            summary = msgspec.json.decode(last, type=ShardSummary)
        except (OSError, msgspec.DecodeError, RecursionError):  # it cannot be read, or means naught
            return None
        # The file was written at one stroke; but disks fail, and people edit files.
        whole = summary.name == name and summary.sha256 == digest(body + b"\n")
        return summary if whole else None

    def add(self, shard: Shard, key: str, rendered: RenderedRows) -> ShardSummary:
        """Write the results of a shard; no kill of this process loses them."""
        name = _file_name(shard, key)
        summary = ShardSummary(
            rendered.rows,
            rendered.errors,
            rendered.tokens,
            hash_references(rendered.references),
            digest(rendered.body),
            name,
            rendered.warnings,
        )
        # Waiting for the disk would limit a fleet to some forty workers. After a power cut, a file
        # that is not whole is seen by its hash, and rendered again.
        with write_whole(self._folder / name, sync=False) as file:
            file.write(rendered.body)
            file.write(msgspec.json.encode(summary) + b"\n")
        self._there.setdefault(shard.index, set()).add(name)
        return summary

    def body(self, shard: Shard, key: str) -> bytes:
        """Return the result lines of a finished shard."""
        return self._body(_file_name(shard, key))

    def count(self, shard: Shard, key: str, summary: ShardSummary) -> None:
        """Count a finished shard as one of this run."""
        self._done[shard.index] = (_file_name(shard, key), summary)

    def drop_others(self) -> None:
        """Remove the shards of earlier runs, once all of this run are done."""
        wanted = {name for name, _ in self._done.values()}
        for name in set().union(*self._there.values()) - wanted:
            remove_file(self._folder / name)

    def bodies(self) -> Iterator[tuple[ShardSummary, bytes]]:
        """Yield summary and result lines of each finished shard, in the order of the input."""
        for _, (name, summary) in sorted(self._done.items()):
            body = self._body(name)
            if digest(body) != summary.sha256:  # it was whole when this run looked at it first
                message = "was changed by somebody while the run went on; run the command again"
                raise PromptForgeError(f"{self._folder / name}: {message}")
            yield summary, body

    def _body(self, name: str) -> bytes:
        data = self._read(name)
        return data[: data[:-1].rfind(b"\n") + 1]

    def _read(self, name: str) -> bytes:
        path = self._folder / name
        with naming_path(path):
            return read_bytes(path, sys.maxsize)

    def close(self) -> None:
        """Release the lock."""
        self._lock.release()


def hash_inputs(spec: BatchSpec) -> dict[str, str]:
    """Hash each input of a run that results depend on, rows excepted; keys name the inputs.

    All templates and profiles count, since a row may name another layout or profile.
    """
    tokenizer = get_tokenizer(check_spec(spec).tokenizer)
    profile = load_profile(spec.profile, spec.profiles)
    chain = {file.name: file.sha256 for file in profile.chain}
    inputs: dict[str, object] = {
        "version": __version__,
        "options": [spec.to, spec.options, spec.columns],
        "profile": [spec.profile, chain, list(_files(spec.profiles, "profiles"))],
        "templates": list(_files(spec.templates, "templates")),
        "tokenizer": [tokenizer.name, tokenizer.fingerprint],
    }
    return {name: fingerprint_of(value) for name, value in inputs.items()}


def _files(folders: Sequence[str], kind: str) -> Iterator[tuple[str, str]]:
    # The shipped files too: a row may name any layout or profile.
    for folder in (*map(Path, folders), shipped_folder(kind)):
        walk = os.walk(folder, onerror=_refuse)
        for path in sorted(Path(inside, name) for inside, _, names in walk for name in names):
            if path.suffix in (".j2", ".yaml", ".yml") and path.is_file():
                with naming_path(path):
                    yield path.relative_to(folder).as_posix(), digest(read_bytes(path))


def _refuse(error: OSError) -> None:
    # `os.walk` passes over a folder that cannot be read in silence: a template that nobody could
    # read would then be missing from the hash.
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def hash_references(references: list[str]) -> str:
    """Combine the hashes of many rows into one; empty for none."""
    return digest("\n".join(references).encode()) if references else ""


def _file_name(shard: Shard, key: str) -> str:
    return f"{shard.index:06d}-{key[:32]}.jsonl"


def _lock(folder: Path) -> FileLock:
    # The system releases the lock when this process ends, killed or not. Another thread may close
    # the store, so the lock belongs to no thread.
    lock = FileLock(folder / LOCK_NAME, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        message = f"another run is writing to {folder.parent}"
        raise OptionError(
            f"{message}; wait for it, or give another output", option="output"
        ) from None
    except OSError as error:  # a file system without locks: two runs would mix their files
        reason = error.strerror or str(error)
        message = f"{folder.parent} cannot be locked: {reason}; give an output on another disk"
        raise OptionError(message, option="output") from None
    return lock


Json = dict[str, Any]
PlaceOf = Callable[[int], tuple[str, int] | None]
"""The number of a row → its file and its number there; None where the input is one file."""
ShardBodies = Iterable[tuple[ShardSummary, bytes]]
"""Summary and lines of each shard, in order."""


class ErrorLines:
    """Error records, on their way to a file of their own."""

    def __init__(self, file: IO[bytes], place_of: PlaceOf) -> None:
        self._file, self._place_of = file, place_of
        self.count = 0

    def add(self, line: bytes) -> None:
        """Write one record; of several input files, it names the row's own."""
        record = msgspec.json.decode(line)
        place = self._place_of(record["line"])
        if place:
            record["file"], record["file_line"] = place
            line = msgspec.json.encode(record)
        self._file.write(line + b"\n")
        self.count += 1

    def take_from(self, body: bytes) -> Iterator[bytes]:
        """Yield the results in `body`, without their line ends; write its error records."""
        for line in body.splitlines():
            if line.startswith(ERROR_PREFIX):
                self.add(line)
            else:
                yield line


ResultWriter = Callable[[ShardBodies, ErrorLines], list[Path]]
"""Writes the result files, and returns their paths."""


def write_results(
    write: ResultWriter,
    bodies: ShardBodies,
    errors_path: Path,
    place_of: PlaceOf = lambda row: None,
) -> tuple[list[Path], int]:
    """Write results and error records; return the files of results and the number of errors.

    The file at `errors_path` is there afterwards only if there are any.
    """
    with write_whole(errors_path) as file:
        errors = ErrorLines(file, place_of)
        written = write(bodies, errors)
    if not errors.count:
        remove_file(errors_path)
    return written, errors.count


def json_lines_writer(path: Path) -> ResultWriter:
    """Write one file, one line per result."""

    def write(bodies: ShardBodies, errors: ErrorLines) -> list[Path]:
        with write_whole(path) as file:
            for summary, body in bodies:
                if summary.errors:
                    file.writelines(line + b"\n" for line in errors.take_from(body))
                else:  # the usual case: copy the shard without looking at its lines
                    file.write(body)
        return [path]

    return write


def parquet_writer(path: Path) -> ResultWriter:
    """Write one file, one row per result; what is nested in it is JSON text."""
    arrow = import_pyarrow("Parquet", path.name)
    text, number, truth = arrow.string(), arrow.int64(), arrow.bool_()
    # Written out, not inferred: the first shard may have no request, or no warning.
    columns = {
        "id": text, "line": number, "text": text, "request": text, "tokens": number,
        "exact": truth, "items_included": number, "items_trimmed": number,
        "items_dropped": number, "truncated": truth, "cut": text, "warnings": text,
    }  # fmt: skip
    schema = arrow.schema(columns)

    def write(bodies: ShardBodies, errors: ErrorLines) -> list[Path]:
        with write_whole(path) as file, arrow.parquet.ParquetWriter(file, schema) as writer:
            for _, body in bodies:
                lines = errors.take_from(body)
                records = [flat_record(msgspec.json.decode(line)) for line in lines]
                if records:
                    writer.write_table(arrow.Table.from_pylist(records, schema=schema))
        return [path]

    return write


# --- batch services -------------------------------------------------------------------------------


# Anthropic's rule for a `custom_id`; OpenAI takes these too.
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BatchService(NamedTuple):
    """A batch service and its limits."""

    shape: str
    """Shape for `Renderer.prompt`, which returns the keywords of one call."""
    wrap: Callable[[str, Json], Json]
    """A `custom_id` and the keywords of a call → one request of a batch; may alter the keywords."""
    max_requests: int
    """Requests in one file."""
    max_bytes: int
    """Bytes of one file."""
    suffix: str
    around: tuple[bytes, bytes, bytes]
    """Text before, between and after the requests of a file."""


def _openai(url: str) -> Callable[[str, Json], Json]:
    return lambda name, body: {"custom_id": name, "method": "POST", "url": url, "body": body}


_GEMINI_KEYS = {
    *("contents", "system_instruction", "tools", "tool_config", "safety_settings"),
    *("cached_content", "labels"),
}
"""Keys of Gemini's GenerateContentRequest; all others are settings of the generation."""


def _gemini(name: str, body: Json) -> Json:
    """Return a line of Gemini's batch file: there the SDK's `config` is the request's own keys."""
    model = body["model"]
    if "/" not in model:
        model = f"models/{model}"
    request: Json = {"model": model, "generation_config": {}}
    for key, value in {**body, **body.get("config", {})}.items():
        if key == "generation_config":
            request[key] |= value
        elif key in _GEMINI_KEYS:
            request[key] = value
        elif key not in ("model", "config"):  # temperature and others
            request["generation_config"][key] = value
    return {"key": name, "request": request}


def _bedrock(name: str, body: Json) -> Json:
    """Return a record of Bedrock's batch file; the job names the model, and the type Converse."""
    return {"recordId": name, "modelInput": {k: v for k, v in body.items() if k != "model"}}


_LINES = (b"", b"\n", b"\n")
_NO_LIMIT = 1 << 62
# The limits as the guides and quotas of the services published them in November 2026.
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
    # Google's guide to its Batch API: files of up to 2 GB; it names no number of requests.
    "gemini-batch": BatchService("gemini", _gemini, _NO_LIMIT, 2_000_000_000, ".jsonl", _LINES),
    # The service quotas of Amazon Bedrock: 50,000 records and 1 GB a file; a job takes at least
    # 100 records.
    "bedrock-batch": BatchService("bedrock", _bedrock, 50_000, 1_000_000_000, ".jsonl", _LINES),
}
"""Batch services by their name in `to`."""


Request = tuple[bytes, Json]
"""A request as it is sent, and its entry in the index: its result without what is sent."""


class RequestFiles:
    """`requests-00001.jsonl` … and `index.jsonl` in a folder, ready to be sent."""

    def __init__(
        self,
        folder: Path,
        service: BatchService,
        body: Json,
        options: Options,
        max_tokens: int | None,
    ) -> None:
        """Check the keywords that all requests share. Raises `OptionError`."""
        if not body["model"] and service.shape != "bedrock":
            raise OptionError("a batch of requests needs --model", option="model")
        if service.shape == "anthropic":
            if "max_tokens" not in body and not options.reserve:
                message = "anthropic-batch needs a limit for the tokens of an answer"
                raise OptionError(
                    f"{message}: --reserve N, or --body '{{max_tokens: N}}'", option="reserve"
                )
            body = {"max_tokens": options.reserve, **body}
        self._folder, self._service, self._body = folder, service, body
        self._max_tokens = max_tokens

    def write(self, bodies: ShardBodies, errors: ErrorLines) -> list[Path]:
        """Write the files; the index names row, file and line for each `custom_id`."""
        requests = self._requests(bodies, errors)
        written: list[Path] = []
        with write_whole(self._folder / "index.jsonl") as index:
            request = next(requests, None)
            while request:
                name = f"requests-{len(written) + 1:05d}{self._service.suffix}"
                written.append(self._folder / name)
                with write_whole(written[-1]) as file:
                    request = self._fill(file, name, request, requests, index)
        for old in self._folder.glob("requests-[0-9]*.json*"):
            if old not in written:
                remove_file(old)
        return [*written, self._folder / "index.jsonl"]

    def _fill(
        self,
        file: IO[bytes],
        name: str,
        request: Request | None,
        more: Iterator[Request],
        index: IO[bytes],
    ) -> Request | None:
        # The request that finds no room any more is handed back: it begins the next file.
        head, between, tail = self._service.around
        count = tokens = 0
        size, first_line = len(head + tail), head.count(b"\n") + 1
        file.write(head)
        while request and count < self._service.max_requests:
            data, entry = request
            data = between + data if count else data
            tokens += entry["tokens"]
            if size + len(data) > self._service.max_bytes:
                break
            if self._max_tokens is not None and tokens > self._max_tokens:
                break
            file.write(data)
            entry |= {"file": name, "line": first_line + count}
            index.write(msgspec.json.encode(entry) + b"\n")
            count, size = count + 1, size + len(data)
            request = next(more, None)
        file.write(tail)
        return request

    def _requests(self, bodies: ShardBodies, errors: ErrorLines) -> Iterator[Request]:
        head, _, tail = self._service.around
        room = self._service.max_bytes - len(head + tail)
        # A database without a name lies on the disk and goes with its connection: the ids of
        # ten million rows take no memory.
        seen = sqlite3.connect("")
        try:
            seen.execute("CREATE TABLE ids (name TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID")
            for line in (line for _, body in bodies for line in errors.take_from(body)):
                record = msgspec.json.decode(line)
                name, number, keywords = record["id"], record.pop("line"), record.pop("request")
                custom_id = name if _ID.fullmatch(name) else f"row-{number}"
                call = {**self._body, **keywords}
                if "config" in self._body and "config" in keywords:
                    call["config"] = {**self._body["config"], **keywords["config"]}
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
                elif self._max_tokens is not None and record["tokens"] > self._max_tokens:
                    said = f"the prompt takes {record['tokens']:,} tokens, a whole file at most"
                    said += f" {self._max_tokens:,}: --max-tokens-per-file"
                    errors.add(error_line(name, number, "RequestTooLarge", said))
                else:
                    seen.execute("INSERT INTO ids VALUES (?, ?)", (custom_id, number))
                    yield data, {"custom_id": custom_id, "row": number, **record}
        finally:
            seen.close()
