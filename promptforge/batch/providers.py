"""Files of requests for the providers' batch services, each within the limits, and an index of what is where."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..errors import OptionError
from ..options import Options
from ..writing import whole
from .products import Bodies, Failures
from .rows import failed

Json = dict[str, Any]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What Anthropic takes as `custom_id`, and OpenAI too."""


class Provider(NamedTuple):
    """What a batch service takes."""

    shape: str
    """Of `Renderer.prompt`: what comes back are the keywords of one call."""
    wrap: Callable[[str, Json], Json]
    """A `custom_id` and the keywords of a call → a request of a batch."""
    requests: int
    """How many requests a file may have."""
    size: int
    """How many bytes a file may have."""
    suffix: str
    frame: tuple[bytes, bytes, bytes]
    """What stands before, between and after the requests of a file."""


def _openai(url: str) -> Callable[[str, Json], Json]:
    return lambda name, body: {"custom_id": name, "method": "POST", "url": url, "body": body}


_LINES = (b"", b"\n", b"\n")
PROVIDERS: Mapping[str, Provider] = {
    # OpenAI's guide to its Batch API: up to 50,000 requests and 200 MB a file, all for one model.
    "openai-batch": Provider(
        "openai", _openai("/v1/chat/completions"), 50_000, 200_000_000, ".jsonl", _LINES
    ),
    "openai-responses-batch": Provider(
        "openai-responses", _openai("/v1/responses"), 50_000, 200_000_000, ".jsonl", _LINES
    ),
    # Anthropic's guide to Message Batches: up to 100,000 requests or 256 MB in the body of one call.
    "anthropic-batch": Provider(
        "anthropic",
        lambda name, body: {"custom_id": name, "params": body},
        100_000,
        256_000_000,
        ".json",
        (b'{"requests":[\n', b",\n", b"\n]}\n"),
    ),
}
"""What `to` may say for a batch service."""


class _Request(NamedTuple):
    data: bytes
    custom_id: str
    id: str
    line: int


class ProviderFiles:
    """`requests-00001.jsonl` … and `index.jsonl` in a folder, ready to be sent."""

    def __init__(
        self, folder: Path, provider: Provider, model: str | None, body: Json, options: Options
    ) -> None:
        """`body` is what every request has beside prompt and model. Raises `OptionError` for what a provider needs."""
        if not model:
            raise OptionError("a batch of requests needs --model", option="model")
        body = {"model": model, **body}
        if provider.shape == "anthropic":
            if "max_tokens" not in body and not options.reserve:
                message = (
                    "needs the most tokens of an answer: --reserve N, or --body '{max_tokens: N}'"
                )
                raise OptionError(f"anthropic-batch {message}", option="reserve")
            body = {"max_tokens": options.reserve, **body}
        self._folder, self._provider, self._body = folder, provider, body

    def write(self, bodies: Bodies, failures: Failures) -> list[Path]:
        """Write the files; the index says for each `custom_id` the row, the file and the line in it."""
        head, between, tail = self._provider.frame
        files: list[Path] = []
        requests = self._requests(bodies, failures)
        index_path = self._folder / "index.jsonl"
        with whole(index_path) as index:
            request = next(requests, None)
            while request:
                files.append(self._folder / f"requests-{len(files) + 1:05d}{self._provider.suffix}")
                count, size, first = 0, len(head + tail), head.count(b"\n") + 1
                with whole(files[-1]) as file:
                    file.write(head)
                    while request and count < self._provider.requests:
                        data = between + request.data if count else request.data
                        if size + len(data) > self._provider.size:
                            break
                        file.write(data)
                        entry = {
                            "custom_id": request.custom_id, "id": request.id, "row": request.line,
                            "file": files[-1].name, "line": first + count,
                        }  # fmt: skip
                        index.write(msgspec.json.encode(entry) + b"\n")
                        count, size = count + 1, size + len(data)
                        request = next(requests, None)
                    file.write(tail)
        for old in self._folder.glob("requests-[0-9]*.json*"):
            if old not in files:
                old.unlink()
        return [*files, index_path]

    def _requests(self, bodies: Bodies, failures: Failures) -> Iterator[_Request]:
        head, _, tail = self._provider.frame
        room = self._provider.size - len(head + tail)
        seen = sqlite3.connect(
            ""
        )  # on the disk and gone with its connection: ids of any number take no memory
        try:
            seen.execute("CREATE TABLE ids (name TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID")
            for line in (line for _, body in bodies for line in failures.taken_out(body)):
                record = msgspec.json.decode(line)
                name, number = record["id"], record["line"]
                custom = name if _ID.fullmatch(name) else f"row-{number}"
                used = seen.execute("SELECT line FROM ids WHERE name = ?", (custom,)).fetchone()
                data = msgspec.json.encode(
                    self._provider.wrap(custom, {**self._body, **record["request"]})
                )
                if used:
                    message = f"the id stands for line {used[0]} already, and the provider takes each id once"
                    failures.add(failed(name, number, "DuplicateId", message))
                elif len(data) > room:
                    message = (
                        f"the request takes {len(data):,} bytes, and a whole file may take {room:,}"
                    )
                    failures.add(failed(name, number, "RequestTooLarge", message))
                else:
                    seen.execute("INSERT INTO ids VALUES (?, ?)", (custom, number))
                    yield _Request(data, custom, name, number)
        finally:
            seen.close()
