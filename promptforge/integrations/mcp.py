"""MCP server: tools to render and explain a context, and to pack and search folders.

It opens no file for a client, but those in the folders of `mcp_folders`: clients send items and
options, and the name of a file as tokenizer or profile is refused.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import json
import os
import re
import select
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec

from .._version import __version__
from ..config.options import OPTION_VOCABULARY
from ..config.profiles import find_profiles
from ..engine import ContextRenderer, Templates, list_tokenizers
from ..errors import ItemError, OptionError, PromptForgeError, quote, suggest_name
from ..files import Folders, folder_paths
from ..files.access import naming_path
from ..model import Result
from .bridge import missing_extra
from .mcp_folders import gather_within, open_folders

try:
    import anyio
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.resolve import ListRoots, Resolve
    from mcp.server.stdio import stdio_server
    from mcp.shared.message import SessionMessage
    from mcp.types import (
        INVALID_REQUEST,
        PARSE_ERROR,
        CallToolResult,
        ErrorData,
        JSONRPCError,
        JSONRPCRequest,
        JSONRPCResponse,
        ListRootsResult,
        TextContent,
        ToolAnnotations,
    )
    from pydantic import BeforeValidator, Field, ValidationError
    from starlette.exceptions import HTTPException
    from starlette.responses import PlainTextResponse
except ImportError as error:
    raise missing_extra("mcp", error) from error

MAX_REQUEST_CHARS = 32 << 20
"""Characters of all texts in one request; more are refused."""
MAX_BYTES_HELD, MAX_SECONDS_OF_REQUEST = 4 * MAX_REQUEST_CHARS, 60
"""Bytes of all requests over HTTP that are not answered yet, and time for one to arrive."""
LARGE_REQUEST_BYTES = 1 << 18
"""Bytes of a request over HTTP, above which its memory is given back as soon as it is answered."""
MAX_SECONDS_AT_END = 60
"""Time for what is not answered yet when a client closes its pipe."""
_INSTRUCTIONS = """Give code, documents and search results as items. Get one context text of at most
max_tokens, counted exactly, with every item escaped. explain says why an item is missing."""


class RenderedContext(TypedDict):
    """The report of a context, beside its text."""

    tokens: int
    max_tokens: int | None
    exact: bool
    items_included: int
    items_trimmed: int
    items_dropped: int
    warnings: list[str]


_ITEM_KEYS = "kind, path, start_line, end_line, name, language, score, summary, required, metadata"
Items = Annotated[
    list[dict[str, Any]], Field(description=f"Objects with content, and optionally {_ITEM_KEYS}.")
]
Query = Annotated[str | None, Field(description="A question; it chooses items and passages.")]


def _refuse_bool(value: Any) -> Any:
    if isinstance(value, bool):  # pydantic takes True for 1
        raise ValueError("Input should be a whole number")
    return value


Budget = Annotated[
    int | None,
    BeforeValidator(_refuse_bool),
    Field(description="The most tokens that the text may cost.", ge=0),
]
Name = Annotated[str | None, Field(description="A name, as list_layouts gives it.")]
OtherOptions = Annotated[
    dict[str, Any] | None, Field(description="Other options by name; list_layouts lists them.")
]
# Hints for clients: no tool changes anything, and none reaches out of the server.
_ANNOTATIONS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_TITLES = {
    "render_context": "Render a context",
    "explain": "Explain a context",
    "pack_folder": "Pack a folder",
    "search_files": "Search files",
    "list_layouts": "List layouts and options",
}
_TOOLS_OF_FOLDERS = {
    "pack_folder": "Pack files with line numbers into at most max_tokens.",
    "search_files": "Find passages of files that answer a query, with line numbers.",
}
Place = Annotated[str, Field(description="A folder or file.")]
Patterns = Annotated[list[str] | None, Field(description="Patterns as of .gitignore.")]


class _Server(MCPServer):
    """A server of short definitions; unknown arguments, which the library drops, are refused."""

    roots: Sequence[str] = ()
    is_open = True
    """False over HTTP where the operator names no folder: then anybody could name any."""

    def serve(self, http: tuple[str, int] | None) -> None:
        """Serve at a host and a port, or at standard input and output."""
        if http is not None:
            self.run("streamable-http", host=http[0].strip("[]"), port=http[1])
            return
        with first_error():
            self.run()

    async def run_stdio_async(self) -> None:
        server = self._lowlevel_server
        options = server.create_initialization_options()
        send, messages = anyio.create_memory_object_stream[Any]()
        lines: Any = _read_lines()
        async with stdio_server(lines) as (read, write), anyio.create_task_group() as tasks:
            answers: Any = _Answers(write)
            tasks.start_soon(_pass_messages, read, send, answers)
            await server.run(messages, answers, options)

    def streamable_http_app(self, **given: Any) -> Any:
        self.is_open = bool(self.roots)
        # No request needs another one, so no session is kept: 400 greetings held 90 MiB. The
        # library's own limit of a request is 4 MiB; over standard input it has none.
        fixed = {"stateless_http": True, "max_request_body_size": MAX_REQUEST_CHARS}
        app: Any = super().streamable_http_app(**{**given, **fixed})
        app.add_middleware(_GuardRequests)
        return app

    async def list_tools(self) -> Any:
        # The definitions stand in each prompt of the client's LLM, so every token counts.
        return [
            tool.model_copy(
                update={
                    "input_schema": _short(tool.input_schema),
                    # The others' reports are too rich for a schema to say much.
                    "output_schema": _short(tool.output_schema)
                    if tool.name == "render_context"
                    else None,
                }
            )
            for tool in await super().list_tools()
            if self.is_open or tool.name not in _TOOLS_OF_FOLDERS
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        tools = {tool.name: tool.input_schema for tool in await self.list_tools()}
        known = tools.get(name, {}).get("properties", arguments)
        for unknown in arguments.keys() - known.keys():
            hint = suggest_name(unknown, known)
            if "options" in known and unknown in OPTION_VOCABULARY:
                hint = "; it is one of the options: {...}"
            raise ToolError(f"there is no argument {quote(unknown)}{hint}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            # The library's own words name its classes and its web site.
            said = [(each["loc"], each["msg"]) for each in error.__cause__.errors()]
            wrong = (f"{'.'.join(map(str, place))}: {message}" for place, message in said)
            raise ToolError("; ".join(wrong)) from None


class _Answers:
    """The stream of answers, and the requests that wait for theirs."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.waiting: set[int | str] = set()

    async def send(self, message: SessionMessage) -> None:
        await self._stream.send(message)
        if isinstance(message.message, JSONRPCResponse | JSONRPCError):
            id_ = message.message.id
            if id_ is not None:
                self.waiting.discard(id_)

    def expect(self, message: Any) -> None:
        """Note a request, or that its client wants no answer any more."""
        if isinstance(message, JSONRPCRequest):
            self.waiting.add(message.id)
        elif getattr(message, "method", "") == "notifications/cancelled":
            id_ = (message.params or {}).get("requestId")
            if isinstance(id_, int | str):  # it may be a list
                self.waiting.discard(id_)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Answers:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def _pass_messages(read: Any, send: Any, answers: _Answers) -> None:
    """Pass messages on; answer a line that is none with an error, as the library drops it.

    At the end of the messages the library drops the requests that it works on, so they are waited
    for: `echo '{…}' | promptforge mcp` is answered.
    """
    async with send:
        async for message in read:
            if not isinstance(message, ValidationError):
                answers.expect(message.message)
                await send.send(message)
            elif answer := _refusal(message.errors()):
                await answers.send(SessionMessage(answer))
        with anyio.move_on_after(MAX_SECONDS_AT_END):
            while answers.waiting:
                await anyio.sleep(0.01)


_NO_MESSAGE = "this is no message of JSON-RPC 2.0; an id is a text or a whole number"
_ODD_ID = re.compile(rb'"id"\s*:\s*(?!["\s])(?!-?[0-9]+\s*[,}])')


@contextlib.contextmanager
def first_error() -> Iterator[None]:
    """Raise the first error of a group alone, and none where the client has gone."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, BrokenPipeError):
            return
        with naming_path(Path("standard output")):  # such as of a full disk
            raise error from None


async def _read_lines() -> AsyncIterator[str]:
    """Yield the lines of standard input, and `{}`, which is no message, for one of a wrong id."""
    async for line, _ in split_lines(start_reading()):
        yield "{}" if _has_wrong_id(line) else line.decode("utf-8", "replace")


def start_reading() -> Callable[[], Awaitable[bytes]]:
    """Read standard input in a thread; return a function that waits for its next bytes.

    Nothing interrupts a thread that reads, and after Ctrl-C the program would wait for any but a
    daemon until the client goes.
    """
    chunks: asyncio.Queue[bytes] = asyncio.Queue(4)
    loop = asyncio.get_running_loop()
    threading.Thread(target=_read_all, args=(chunks, loop), daemon=True).start()
    return chunks.get


def _read_all(chunks: asyncio.Queue[bytes], loop: asyncio.AbstractEventLoop) -> None:
    data = b"x"
    # The loop may be closed by then.
    with contextlib.suppress(concurrent.futures.CancelledError):
        while data:
            data = _next_bytes()
            waiting = chunks.put(data)
            try:
                asyncio.run_coroutine_threadsafe(waiting, loop).result()
            except RuntimeError:
                waiting.close()  # else Python warns at its end that nobody awaited it
                return


def _next_bytes() -> bytes:
    """Wait for bytes of standard input; none at its end, or where it cannot be read."""
    if sys.stdin is None:  # closed, so its number may be that of another file by now
        return b""
    with contextlib.suppress(OSError):
        while True:
            try:
                return os.read(0, 1 << 16)
            except BlockingIOError:  # a pipe that another program set not to wait
                select.select([0], [], [])
    return b""


async def split_lines(
    read: Callable[[], Awaitable[bytes]], most: float = inf
) -> AsyncIterator[tuple[bytes, bool]]:
    """Yield lines; of one of more than `most` bytes its beginning and end, and False."""
    held, is_whole = bytearray(), True
    while data := await read():
        *ended, rest = data.split(b"\n")
        for part in ended:
            held += part
            yield bytes(held), is_whole and len(held) <= most
            held, is_whole = bytearray(), True
        held += rest
        if len(held) > most:
            held, is_whole = held[:200] + held[-200:], False
    if held:
        yield bytes(held), is_whole


def _has_wrong_id(message: bytes) -> bool:
    """Tell whether a request has an id such as `1.5`, `1e400` or `null`.

    The library takes it for a notification, which nobody answers.
    """
    if not _ODD_ID.search(message):  # most messages need not be read twice
        return False
    try:
        read = json.loads(message)
    except (ValueError, RecursionError):  # the library says so
        return False
    if not isinstance(read, dict) or "method" not in read or "id" not in read:
        return False
    return isinstance(read["id"], bool) or not isinstance(read["id"], int | str)


def _refusal(errors: list[Any]) -> JSONRPCError | None:
    code, said = INVALID_REQUEST, _NO_MESSAGE
    found = [each["input"] for each in errors]
    if errors[0]["type"] == "json_invalid":
        if not found[0].strip():
            return None
        code, said = PARSE_ERROR, errors[0]["msg"]
        # Python reads what the library refuses, such as "\\ud800", so that the id is found.
        with contextlib.suppress(ValueError, RecursionError):
            found = [json.loads(found[0])]
    id_ = next((each["id"] for each in found if isinstance(each, dict) and "id" in each), None)
    if isinstance(id_, bool) or not isinstance(id_, int | str) or not str(id_).isascii():
        id_ = None
    error = ErrorData(code=code, message=said)
    return JSONRPCError(jsonrpc="2.0", id=id_, error=error)


class _GuardRequests:
    """Middleware that refuses the pages of other sites, streams without end, and too much at once.

    The library looks at names only where it serves this machine alone. In each POST a browser says
    which page asks, even if the name of that page was made to lead here. The library bounds one
    request; here all together are bounded, and the time of each to arrive.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._held = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = scope["headers"]
        origins = [value for name, value in given if name == b"origin"]
        hosts = [value for name, value in given if name == b"host"]
        try:
            # The library looks at the start of the first: 127.0.0.1:8000@evil.example has a good
            # one.
            if not (len(hosts) == 1 and _HOST(hosts[0])):
                raise HTTPException(400, "one Host header: name or address, and a port or none")
            if not all(map(_LOCAL_PAGE, origins)):
                raise HTTPException(403, "not from the page of another site")
            if scope["method"] == "GET":  # a stream that stays open, and would carry nothing
                said = "POST each message; this server sends none by itself"
                raise HTTPException(405, said, {"allow": "POST"})
            await self._pass_on(scope, receive, send)
        except HTTPException as refused:
            headers = {"connection": "close", **(refused.headers or {})}
            answer = PlainTextResponse(refused.detail, refused.status_code, headers)
            await answer(scope, receive, send)

    async def _pass_on(self, scope: Any, receive: Any, send: Any) -> None:
        """Read the whole body, then pass it on in one message."""
        held = 0
        latest = anyio.current_time() + MAX_SECONDS_OF_REQUEST
        parts: list[bytes] = []
        try:
            more = True
            while more:
                with anyio.move_on_after(latest - anyio.current_time()) as time_left:
                    message = await receive()
                if time_left.cancelled_caught:
                    raise HTTPException(408, "too slow")
                parts.append(message.get("body", b""))
                held, self._held = held + len(parts[-1]), self._held + len(parts[-1])
                if held > MAX_REQUEST_CHARS:
                    raise HTTPException(413, f"more than {MAX_REQUEST_CHARS} bytes")
                if self._held > MAX_BYTES_HELD:
                    raise HTTPException(503, "too many large requests at once; try again later")
                more = message.get("more_body", False)
            body = b"".join(parts)
            parts.clear()
            if _has_wrong_id(body):
                error = ErrorData(code=INVALID_REQUEST, message=_NO_MESSAGE)
                said = JSONRPCError(jsonrpc="2.0", id=None, error=error)
                text = said.model_dump_json(exclude_unset=True)
                raise HTTPException(400, text, {"content-type": "application/json"})
            whole = [{**message, "body": body}]

            async def take() -> Any:
                # What comes after the body is that the client has gone.
                return whole.pop() if whole else await receive()

            del body, message
            await self._app(scope, take, send)
        finally:
            self._held -= held
            if held > LARGE_REQUEST_BYTES:
                gc.collect()  # the library's circles of references hold the body


_LOCAL_PAGE = re.compile(rb"https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?").fullmatch
_HOST = re.compile(rb"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?").fullmatch


def _short(schema: Any, nullable: bool = True) -> Any:
    """Drop titles, and the `null` of arguments that may be left out."""
    if isinstance(schema, list):
        return [_short(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    if "anyOf" in schema and not nullable:
        given = [member for member in schema["anyOf"] if member != {"type": "null"}]
        if len(given) == 1:
            rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
            return _short({**given[0], **rest})
    made = {}
    for key, value in schema.items():
        if key == "properties":
            required = schema.get("required", ())
            made[key] = {name: _short(one, name in required) for name, one in value.items()}
        elif not (key == "title" and isinstance(value, str)) and (key, value) != (
            "additionalProperties",
            True,
        ):
            made[key] = _short(value)
    return made


class _Workshop:
    """The renderer, the templates and the profiles of one server."""

    def __init__(
        self,
        renderer: ContextRenderer,
        templates: Folders,
        profiles: Folders,
        roots: Sequence[str],
    ) -> None:
        self._renderer, self._folders = renderer, folder_paths(profiles)
        self.templates = Templates(folder_paths(templates, "templates"))
        self.roots, self.sets_packing = roots, False

    def render(self, items: Any, wanted: Mapping[str, Any]) -> Result:
        checked = self._checked(wanted)
        _check_size(items)
        return self._renderer.render(items, **checked)

    def _checked(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        options = {name: value for name, value in wanted.items() if name != "profile"}
        checked = {name: OPTION_VOCABULARY.check(name, value) for name, value in options.items()}
        tokenizer = checked.get("tokenizer", "")
        if not isinstance(tokenizer, str) or tokenizer.startswith("file:"):
            raise OptionError("tokenizer takes a name here, and no file", option="tokenizer")
        if "profile" in wanted:
            known = [name for name, _, _ in find_profiles(self._folders)]
            if wanted["profile"] not in known:
                raise OptionError(f"profile takes one of {', '.join(known)}", option="profile")
            checked["profile"] = wanted["profile"]
        return checked

    def render_files(
        self, told: ListRootsResult | None, search: str | None, wanted: dict[str, Any], **place: Any
    ) -> Result:
        """Render files of the open folders; `told` are the client's roots, `place` says which."""
        roots = None if told is None else [str(root.uri) for root in told.roots]
        items, said = gather_within(open_folders(self.roots, roots), search=search, **place)
        checked = self._checked({"lines": "each", **wanted})
        if not (self.sets_packing or checked.keys() & {"packing", "query"}):
            checked["packing"] = "repository"
        return self._renderer.render(items, before=tuple(said), **checked)

    def list_layouts(self) -> CallToolResult:
        """List layouts with their formats, profiles, tokenizers and all options."""
        found = self.templates
        listed = {
            "layouts": [
                {
                    "name": name,
                    "description": found.settings(name).description,
                    "formats": found.formats(name),
                }
                for name in found.layouts()
            ],
            "profiles": [{"name": n, "description": d} for n, d, _ in find_profiles(self._folders)],
            # A colon: the start of a file's name, which no client may give.
            "tokenizers": [
                {"name": n, "description": d} for n, d in list_tokenizers() if ":" not in n
            ],
            "options": [
                {"name": rule.name, "takes": rule.takes, "description": rule.doc}
                for rule in OPTION_VOCABULARY.rules.values()
            ],
        }
        return _answer(msgspec.json.encode(listed).decode(), listed)


def make_mcp_server(
    *,
    profile: str | None = None,
    templates: Folders = None,
    profiles: Folders = None,
    allow_outside: bool = False,
    roots: Sequence[str] = (),
    **options: Any,
) -> _Server:
    """Build a server; `profile`, the folders and the options are defaults for its requests.

    Files below `roots` are open to every client; one over standard input may tell its own roots.

    Raises `OptionError`, `ProfileError`, `TemplateError`.
    """
    for name, value in options.items():
        OPTION_VOCABULARY.check(name, value)
    made_of: Any = {"profile": profile, "templates": templates, "profiles": profiles}
    renderer = ContextRenderer(**made_of, allow_outside=allow_outside, **options)
    workshop = _Workshop(renderer, templates, profiles, roots)
    workshop.sets_packing = bool({"packing", "query"} & {*options, *renderer.profile.options})
    server = _Server(
        "promptforge",
        title="promptforge",
        version=__version__,
        instructions=_INSTRUCTIONS,
        log_level="WARNING",
    )
    for tool in (
        _tool(_rendered, "render_context", workshop.render),
        _tool(_explained, "explain", workshop.render),
        *(_folder_tool(name, about, workshop) for name, about in _TOOLS_OF_FOLDERS.items()),
        workshop.list_layouts,
    ):
        title = _TITLES[tool.__name__]
        server.tool(title=title, annotations=_ANNOTATIONS)(tool)
    server.roots = roots
    return server


def _answer(text: str, report: Mapping[str, Any]) -> CallToolResult:
    content = [TextContent(type="text", text=text)]
    return CallToolResult(content=content, structured_content=msgspec.to_builtins(report))


def _tool(
    show: Callable[[Result], Any], name: str, render: Callable[[Any, Mapping[str, Any]], Result]
) -> Callable[..., Any]:
    """Build the tool `name`: it renders, then returns `show(result)`, which lends its docstring."""

    def tool(
        items: Items,
        query: Query = None,
        max_tokens: Budget = None,
        layout: Name = None,
        format: Name = None,
        profile: Name = None,
        options: OtherOptions = None,
    ) -> Any:
        named = {"query": query, "max_tokens": max_tokens, "layout": layout, "format": format}
        try:
            return show(render(items, _merged({**named, "profile": profile}, options or {})))
        except PromptForgeError as error:
            raise ToolError(str(error)) from None

    tool.__name__, tool.__doc__ = name, show.__doc__
    tool.__annotations__["return"] = show.__annotations__["return"]
    return tool


def _ask_roots(context: Context) -> ListRoots | None:
    """Ask the client for its folders; over HTTP any program could name any."""
    able = context.client_capabilities
    if context.headers is not None or able is None or able.roots is None:
        return None
    return ListRoots()


Roots = Annotated[ListRootsResult | None, Resolve(_ask_roots)]


def _folder_tool(name: str, about: str, workshop: _Workshop) -> Callable[..., Any]:
    def tool(
        roots: Roots,
        path: Place = ".",
        query: Query = None,
        max_tokens: Budget = None,
        include: Patterns = None,
        exclude: list[str] | None = None,
        options: OtherOptions = None,
    ) -> Annotated[CallToolResult, RenderedContext]:
        place = {"path": path, "include": include or (), "exclude": exclude or ()}
        search = (query or "") if name == "search_files" else None
        try:
            wanted = _merged({"query": query, "max_tokens": max_tokens}, options or {})
            return _rendered(workshop.render_files(roots, search, wanted, **place))
        except PromptForgeError as error:
            raise ToolError(str(error)) from None

    tool.__name__, tool.__doc__ = name, about
    return tool


def _merged(named: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    wanted = {name: value for name, value in named.items() if value is not None}
    for name in wanted.keys() & options.keys():
        message = f"{name} is both an argument and an option; give it once"
        raise OptionError(message, option=name)
    return wanted | options


def _rendered(result: Result) -> Annotated[CallToolResult, RenderedContext]:
    """Turn items into one context text for an LLM that costs at most max_tokens."""
    facts = {name: getattr(result, name) for name in RenderedContext.__annotations__}
    report = {**facts, "warnings": list(map(str, result.warnings))}
    # The budget is for the text, so nothing stands around it.
    return _answer(result.text, msgspec.convert(report, RenderedContext))


def _explained(result: Result) -> CallToolResult:
    """Explain each item: in the text, shortened or left out, why, its cost, the budget it fits."""
    rows = [msgspec.to_builtins(item.__getstate__()) for item in result.items]
    report = {
        "tokens": result.tokens,
        "max_tokens": result.max_tokens,
        "items": [{name: value for name, value in row.items() if name != "text"} for row in rows],
        "explanation": result.explain(),
        "remedies": list(result.remedies()),
        "warnings": list(map(str, result.warnings)),
    }
    return _answer(msgspec.json.encode(report).decode(), report)


def _check_size(items: Any) -> None:
    """Raise `ItemError` for more text than one request may bring."""
    left = MAX_REQUEST_CHARS
    waiting = [items]
    while waiting:
        value = waiting.pop()
        left -= len(value) if isinstance(value, str) else 1
        if isinstance(value, dict):
            waiting += (*value, *value.values())
        elif isinstance(value, list):
            waiting += value
        if left < 0:
            raise ItemError(f"more than {MAX_REQUEST_CHARS:,} characters", where="items")
