"""A proxy before any MCP server: it shortens long results, and holds the rest by a handle.

Messages pass as they came, but for three: the list of tools gets `read_more`, its calls are
answered here, and a result that costs more than the budget is shortened, by the kind of its texts
and the words of the call. The last text of such a result says how to get the rest.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import httpx2
import msgspec
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    encode_header_value,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import METHOD_NOT_FOUND, PROTOCOL_VERSION_META_KEY, jsonrpc_message_adapter

from .._version import __version__
from ..errors import OptionError, PromptForgeError, quote
from ..files.access import system_reason
from ..text.escape import SURROGATE
from ..text.languages import language_of
from .bridge import Bridge
from .mcp import MAX_SECONDS_AT_END, _Server, first_error, split_lines, start_reading
from .mcp_results import MAX_BYTES, MAX_QUESTION_CHARS, ResultShortener, ToolResult

TOO_LONG = f"is longer than {MAX_BYTES >> 20} MiB"
LATEST_VERSION = "2025-11-25"
"""Of the protocol, the latest that begins with a greeting; over HTTP one greeting is for all."""
SECONDS_TO_END = 5
"""Time for the wrapped server to end by itself, and once more after it was asked to."""
_ID = re.compile(rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")')
_ESCAPE = re.compile(rb"(?is)\\(?:u(?:d[89ab]..)\\u(?:d[c-f]..)|(ud[89a-f]..)|.)")
_TOOL = {
    "title": "Read more of a result",
    "description": "Read the rest of a shortened result, by lines or by a query. The newest"
    f" {MAX_BYTES >> 20} MiB of results are kept.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "handle": {"type": "string"},
            "lines": {"type": "string", "description": "START-END or START-, from 1."},
            "query": {"type": "string", "description": "Read what answers it."},
        },
        "required": ["handle"],
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}
Raws = dict[str, msgspec.Raw]
Send = Callable[[bytes], Awaitable[None]]


class ProxyError(PromptForgeError):
    """The wrapped server has ended, or cannot be reached."""


class _Call(NamedTuple):
    """A request of the client that the server has not answered."""

    method: str
    tool: str = ""
    question: str = ""
    language: str | None = None
    first_page: bool = True


class Relay:
    """Passes the messages of one client and one server on, each line as it came where it can."""

    def __init__(self, shortener: ResultShortener, to_client: Send) -> None:
        self._shortener, self._to_client = shortener, to_client
        self._to_server: Send = to_client
        self._waiting: dict[Any, _Call] = {}
        self._schemas: dict[str, Any] = {}
        self._tool = "read_more"
        self._tasks: Any = None
        self._busy = 0
        self._is_finished = False
        self.ended: str | None = None
        """Why the server has ended before its client."""
        self.leave: Callable[[], None] = lambda: self._tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def to(self, link: Any) -> AsyncIterator[None]:
        """Speak to the server behind a link until the block ends, or the server does."""
        async with anyio.create_task_group() as self._tasks:
            async with link(self) as self._to_server:
                yield
            self._tasks.cancel_scope.cancel()

    def watch_signals(self) -> None:
        """Leave the block when the program is told to end, so that the server ends, too."""

        async def watch() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    self._tasks.cancel_scope.cancel()

        if sys.platform != "win32":
            self._tasks.start_soon(watch)

    async def finish(self) -> None:
        """Wait until all that the client asked for is answered; then the server may end."""
        with anyio.move_on_after(MAX_SECONDS_AT_END):
            while self._waiting or self._busy:
                await anyio.sleep(0.01)
        self._is_finished = True

    async def end(self, reason: str) -> None:
        """Answer what waits, and leave the block: the server has ended."""
        while self._busy:
            await anyio.sleep(0.01)
        if not self._is_finished:
            self.ended = reason
        await self.fail(reason)
        self.leave()

    async def from_client(self, line: bytes) -> None:
        """Take a message of the client."""
        parts = _decode_mended(line) or {}
        id_, method = _plain(parts.get("id")), _plain(parts.get("method"))
        params = _decode(parts.get("params", b"{}"), dict[str, Any]) or {}
        if method == "notifications/cancelled" and isinstance(params.get("requestId"), int | str):
            self._waiting.pop(params["requestId"], None)
        elif id_ is not None and method is not None:
            if method == "tools/call" and params.get("name") == self._tool:
                self._begin(self._read, id_, params.get("arguments") or {})
                return
            self._waiting[id_] = _call_of(str(method), params)
        await self._to_server(line)

    def _begin(self, work: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        async def run() -> None:
            await work(*arguments)
            self._busy -= 1

        self._busy += 1  # now: the server may end before the task begins
        self._tasks.start_soon(run)

    async def _read(self, id_: int | str, arguments: Any) -> None:
        is_error = False
        try:
            texts = await anyio.to_thread.run_sync(self._shortener.read, arguments)
        except (ValueError, PromptForgeError) as error:
            texts, is_error = [str(error)], True
        content = [{"type": "text", "text": text} for text in texts if text]
        result = {"content": content, "isError": is_error, "resultType": "complete"}
        await self._to_client(_encode({"jsonrpc": "2.0", "id": id_, "result": result}))

    async def from_server(self, line: bytes, is_whole: bool = True) -> None:
        """Take a line of the server; of one that is too long, its beginning and end."""
        parts = _decode_mended(line) if is_whole else None
        if parts is None:
            if line.lstrip()[:1] == b"[" and is_whole:  # a batch, of 2025-03-26
                await self._to_client(line)
            elif line.strip():
                reason = "cannot be read as JSON" if is_whole else TOO_LONG
                await self._refuse(line, f"a line of the wrapped server {reason}")
            return
        call = None
        if "method" not in parts:
            call = self._waiting.pop(_plain(parts.get("id")), None)
        if (
            call
            and "result" in parts
            and call.method in ("tools/list", "tools/call", "tasks/result")
        ):
            self._begin(self._answer, line, parts, call)
        else:
            await self._to_client(line)

    async def _answer(self, line: bytes, parts: Raws, call: _Call) -> None:
        change = self._with_tool if call.method == "tools/list" else self._shortened
        try:
            result = await anyio.to_thread.run_sync(change, parts["result"], call)
        except Exception as error:  # the result is worth more than its shortening
            _say(f"a result passed whole: {type(error).__name__}: {quote(str(error), 200)}")
            result = None
        await self._to_client(line if result is None else _encode({**parts, "result": result}))

    def _with_tool(self, raw: msgspec.Raw, call: _Call) -> Raws | None:
        result = msgspec.json.decode(raw, type=Raws)
        tools = msgspec.json.decode(result["tools"], type=list[Raws])
        if call.first_page:
            self._schemas = {}
        for tool in tools:
            schema = _decode(tool.get("outputSchema", b"null"), dict[str, Any])
            self._schemas[msgspec.json.decode(tool["name"], type=str)] = schema
        if _plain(result.get("nextCursor")) is not None:
            return None
        names = ("read_more", *(f"read_more_{number}" for number in range(2, len(tools) + 3)))
        self._tool = next(name for name in names if name not in self._schemas)
        ours = msgspec.Raw(_encode({"name": self._tool, **_TOOL}))
        return {**result, "tools": msgspec.Raw(_encode([*tools, ours]))}

    def _shortened(self, raw: msgspec.Raw, call: _Call) -> Raws | None:
        result = msgspec.json.decode(raw, type=Raws)
        value = bytes(result.get("structuredContent", b"null")).decode()
        structured = None if value == "null" else value
        if "content" not in result and structured is None:  # a task, or more is asked for
            return None
        given = result.get("content", b"[]")
        content: list[Any] = msgspec.json.decode(given, type=list[msgspec.Raw])
        found = list(_texts_in(content, call.language))
        failed = _decode(result.get("isError", b"false"), bool) is True
        schema = None if failed else self._schemas.get(call.tool)
        short = self._shortener.shorten(
            ToolResult([text for _, _, text, _ in found], structured),
            call.question,
            [language for *_, language in found],
            schema,
            failed,
        )
        if short is None:
            return None
        *texts, note = short.texts
        for (place, block, _, _), text in zip(found, texts, strict=True):
            content[place] = None
            if text:
                made = msgspec.Raw(json.dumps(text).encode())
                resource = _decode(block.get("resource", b""), Raws)
                change = {"resource": {**resource, "text": made}} if resource else {"text": made}
                content[place] = {**block, **change}
        kept = [block for block in content if block is not None]
        if short.structured is not None:
            # Half of a pair of UTF-16 is an escape.
            text = SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", short.structured)
            result["structuredContent"] = msgspec.Raw(text.encode())
        elif structured is not None:
            del result["structuredContent"]
            if schema is not None:  # without what it promises, a client refuses all but an error
                result["isError"] = msgspec.Raw(b"true")
        kept.append({"type": "text", "text": note})
        return {**result, "content": msgspec.Raw(_encode(kept))}

    async def _refuse(self, line: bytes, reason: str) -> None:
        """Say that a line of the server is dropped; answer the request that it answers, if any."""
        _say(f"{reason}: {quote(line[:100].decode('utf-8', 'replace'))}")
        for found in (*_ID.findall(line[:200]), *_ID.findall(line[-200:])):
            await self.fail(reason, _plain(found))

    async def refuse_request(self, line: bytes, reason: str = TOO_LONG) -> None:
        """Answer a request with an error, where its id is found in it."""
        for found in _ID.findall(line[:200]):
            self._waiting[_plain(found)] = _Call("")
        await self._refuse(line, f"a line of the client {reason}")

    async def fail(self, reason: str, *ids: Any) -> None:
        """Answer requests with an error: those of the `ids`, or all that wait."""
        for id_ in ids or tuple(self._waiting):
            if self._waiting.pop(id_, None) is not None:
                error = {"code": -32603, "message": reason}
                await self._to_client(_encode({"jsonrpc": "2.0", "id": id_, "error": error}))


_encode = msgspec.json.encode


def _decode(data: Any, kind: Any) -> Any:
    with suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return msgspec.json.decode(data, type=kind)
    return None


def _decode_mended(line: bytes) -> Any:
    """Return a message; half of a pair of UTF-16, which cuts of JavaScript leave, is U+FFFD."""
    parts = _decode(line, Raws)
    if parts is None:
        parts = _decode(_ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], line), Raws)
    return parts


def _plain(raw: Any) -> Any:
    """Return an id, or another plain value: a text, or a whole number, which may end in .0."""
    found = None if raw is None else _decode(raw, int | float | str | None)
    return int(found) if isinstance(found, float) and found.is_integer() else found


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _say(message: str) -> None:
    print(f"promptforge: warning: {message}", file=sys.stderr, flush=True)


def _call_of(method: str, params: Mapping[str, Any]) -> _Call:
    """Return what is remembered of a request: the words of its arguments, the file it names."""
    words: list[str] = []
    language = None
    waiting = [params.get("arguments")]
    while waiting and len(words) < MAX_QUESTION_CHARS:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, str):
            found = language_of(value[:300])
            language = language or found
            is_path = "/" in value or (found and " " not in value)
            if not is_path:  # its words are in many lines
                words.append(value[:MAX_QUESTION_CHARS])
    name = params.get("name")
    question = " ".join(words)[:MAX_QUESTION_CHARS]
    tool = name if isinstance(name, str) else ""
    return _Call(method, tool, question, language, params.get("cursor") is None)


def _texts_in(
    content: Sequence[msgspec.Raw], language: str | None
) -> Iterator[tuple[int, Raws, str, str | None]]:
    """Yield the texts of a result and its embedded resources: place, block, text, language."""
    for place, raw in enumerate(content):
        block = _decode(raw, Raws) or {}
        resource = _decode(block.get("resource", b""), Raws)
        text = _decode((resource or block).get("text", b""), str)
        if text is None or _plain(block.get("type")) not in ("text", "resource"):
            continue
        named = language_of(str(_plain(resource.get("uri")))) if resource else language
        yield place, block, text, named


# --- links to servers, and to clients -------------------------------------------------------------


@asynccontextmanager
async def run_command(words: Sequence[str], relay: Relay) -> AsyncIterator[Send]:
    """Start a server, and end it with all that it started; yield the way to it."""
    try:
        own_group = sys.platform != "win32"
        process = await anyio.open_process(words, stderr=None, start_new_session=own_group)
    except (OSError, ValueError) as error:
        said = f"--wrap: cannot run {quote(words[0])}: {system_reason(error)}"
        raise OptionError(said) from None
    pipe_in, pipe_out = process.stdin, process.stdout
    assert pipe_in is not None and pipe_out is not None

    async def receive() -> bytes:
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return await pipe_out.receive()
        return b""

    async def read() -> None:
        async for line, is_whole in split_lines(receive, MAX_BYTES):
            await relay.from_server(line, is_whole)
        with anyio.move_on_after(SECONDS_TO_END):
            await process.wait()
        code = "" if process.returncode is None else f", with exit code {process.returncode}"
        await relay.end(f"the wrapped server has ended{code}")

    async def send(line: bytes) -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):  # it ends
            await pipe_in.send(line + b"\n")

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            yield send
            await pipe_in.aclose()
            with anyio.move_on_after(SECONDS_TO_END):
                await process.wait()
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            for name in ("SIGTERM", "SIGKILL"):
                if process.returncode is None:
                    _signal(process, name)
                    with anyio.move_on_after(SECONDS_TO_END):
                        await process.wait()
            await process.aclose()


def _signal(process: Any, name: str) -> None:
    with suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, getattr(signal, name))


@asynccontextmanager
async def reach_url(url: str, relay: Relay) -> AsyncIterator[Send]:
    """Speak to a server over streamable HTTP; yield the way to it."""
    version = ""
    # The library's own limit of a message is 1 MiB, from its release 2.3 on.
    known = inspect.signature(streamable_http_client).parameters
    limit: Any = {"max_sse_event_size": MAX_BYTES} if "max_sse_event_size" in known else {}

    async def send(line: bytes) -> None:
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            await relay.refuse_request(line, "is no message of JSON-RPC")
            return
        params = getattr(message, "params", None) or {}
        headers = {MCP_PROTOCOL_VERSION_HEADER: version} if version else {}
        own = _mapping(params.get("_meta")).get(PROTOCOL_VERSION_META_KEY)
        if isinstance(own, str):  # of 2026-07-28: servers compare the headers with the message
            headers = {MCP_PROTOCOL_VERSION_HEADER: own, MCP_METHOD_HEADER: message.method}
            name = params.get("name") or params.get("uri")
            if name:
                headers[MCP_NAME_HEADER] = encode_header_value(str(name))
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # it ends
            await write.send(SessionMessage(message, ClientMessageMetadata(headers=headers)))

    async def listen() -> None:
        nonlocal version
        async for item in read:
            if isinstance(item, SessionMessage):
                result = _mapping(getattr(item.message, "result", None))
                version = version or str(result.get("protocolVersion", ""))
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await relay.from_server(line.encode())

    try:
        async with (
            streamable_http_client(url, **limit) as (read, write),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(listen)
            yield send
            tasks.cancel_scope.cancel()
    except* httpx2.HTTPError as error:
        await relay.end(f"cannot reach {quote(url)}: {error.exceptions[0]}")


async def serve_pipes(shortener: ResultShortener, link: Any) -> str | None:
    """Serve the client at standard input and output; return why the server ended, if it did."""
    lock = anyio.Lock()

    async def write(line: bytes) -> None:
        async with lock:
            await anyio.to_thread.run_sync(_write_all, line + b"\n")

    # Before the server is there: one that ends at once leaves no time to read what it was asked.
    read = start_reading()
    relay = Relay(shortener, write)
    async with relay.to(link):
        relay.watch_signals()
        async for line, is_whole in split_lines(read, MAX_BYTES):
            if is_whole:
                await relay.from_client(line)
            else:
                await relay.refuse_request(line)
        await relay.finish()
    return relay.ended


def _write_all(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


class _HttpFront(_Server):
    """Serves many clients over HTTP before one server; nothing is kept between their requests."""

    def __init__(self, shortener: ResultShortener, link: Any) -> None:
        super().__init__("promptforge", log_level="WARNING")
        self.middleware.append(self._pass_on)
        self._link, self._relay = link, Relay(shortener, self._take)
        self._relay.leave = self._leave
        self._open: dict[Any, tuple[Any, Any]] = {}
        self._numbers = count(1)
        self._greeting: dict[str, Any] = {}
        self._greeted = anyio.Event()

    async def serve_until_end(self, host: str, port: int) -> str | None:
        """Serve until the wrapped server ends; return why."""
        async with self._relay.to(self._link), anyio.create_task_group() as tasks:
            # The library ends by this signal, then raises it again.
            signal.signal(signal.SIGTERM, lambda *_: None)
            tasks.start_soon(partial(self.run_streamable_http_async, host=host, port=port))
            hello = {"protocolVersion": LATEST_VERSION, "capabilities": {}}
            info = {"name": "promptforge", "version": __version__}
            self._greeting = await self._ask("initialize", {**hello, "clientInfo": info}, None)
            await self._tell("notifications/initialized", {})
            self._greeted.set()
        return self._relay.ended

    def _leave(self) -> None:
        """Let the library end, so that open requests get their answer; it may not listen yet."""
        signal.raise_signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(1, self._leave)

    async def _pass_on(self, context: Any, call_next: Any) -> Any:
        if context.request_id is None:
            return await call_next(context)
        if context.method == "server/discover" or context.protocol_version > LATEST_VERSION:
            raise MCPError(METHOD_NOT_FOUND, "this proxy speaks the protocol up to 2025-11-25")
        await self._greeted.wait()
        if context.method == "initialize":
            return self._greeting
        return await self._ask(context.method, context.params or {}, context.session)

    async def _ask(self, method: str, params: Mapping[str, Any], session: Any) -> dict[str, Any]:
        id_ = next(self._numbers)
        send, answers = anyio.create_memory_object_stream[Any](1)
        self._open[id_] = send, session
        meta = _mapping(params.get("_meta"))
        if "progressToken" in meta:
            params = {**params, "_meta": {**meta, "progressToken": id_}}
        asked = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        try:
            await self._relay.from_client(_encode(asked))
            answer = await answers.receive()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._tell("notifications/cancelled", {"requestId": id_})
            raise
        finally:
            del self._open[id_]
        error = answer.get("error")
        if error:
            raise MCPError(error["code"], error["message"], error.get("data"))
        result: dict[str, Any] = answer["result"]
        return result

    async def _tell(self, method: str, params: Mapping[str, Any]) -> None:
        told = {"jsonrpc": "2.0", "method": method, "params": params}
        await self._relay.from_client(_encode(told))

    async def _take(self, line: bytes) -> None:
        """Take a message of the server: give it to the request that it belongs to."""
        message = _mapping(_decode(line, Any))
        params, id_ = _mapping(message.get("params")), _plain((_decode(line, Raws) or {}).get("id"))
        token = params.get("progressToken")
        if not message:  # a number that is out of range, say
            message = {"error": {"code": -32603, "message": "the answer cannot be read as JSON"}}
        if "method" not in message and id_ in self._open:
            with suppress(anyio.WouldBlock):  # it answers twice
                self._open[id_][0].send_nowait(message)
        elif message.get("method") == "notifications/progress":
            with suppress(ValueError, KeyError, TypeError):  # it is no token or no number
                told = (params.get(key) for key in ("progress", "total", "message"))
                await self._open[token][1].report_progress(*told)
        elif "method" in message and id_ is not None:
            error = {"code": METHOD_NOT_FOUND, "message": "no client can be asked over HTTP"}
            answer = {"result": {}} if message["method"] == "ping" else {"error": error}
            await self._relay.from_client(_encode({"jsonrpc": "2.0", "id": id_, **answer}))


def wrap_server(command: Sequence[str], http: tuple[str, int] | None, /, **settings: Any) -> None:
    """Serve a wrapped server until its client ends; raises `ProxyError` where it ends first.

    `command`: words, or one URL. `http`: serve there, else at standard input and output.
    """
    settings.pop("allow_outside", None)
    for option in ("layout", "format", "query"):
        if option in settings:
            raise OptionError(f"--wrap leaves the form of results as it is, without --{option}")
    shortener = ResultShortener(Bridge(alone=True, **settings))
    link = partial(run_command, command)
    if len(command) == 1 and command[0].startswith(("http://", "https://")):
        link = partial(reach_url, command[0])
    serve: Any = partial(serve_pipes, shortener, link)
    if http is not None:
        front = _HttpFront(shortener, link)
        serve = partial(front.serve_until_end, http[0].strip("[]"), http[1])
    ended = None
    try:
        with first_error():
            ended = anyio.run(serve)
    except MCPError as error:
        said = f"the wrapped server refuses the greeting: {quote(str(error))}"
        raise ProxyError(said) from None
    if ended:
        raise ProxyError(ended)
