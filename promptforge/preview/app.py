"""The web application: the page, its files, and the answers to its requests.

Serve the preview until the user ends it.

The web server: one request per connection, on 127.0.0.1 alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import OptionError, PromptForgeError
from ..model import Item
from .auth import EVENTS_PATH, MAX_HEAD_BYTES, REQUEST_SECONDS, App, AuthMiddleware, SessionSecrets
from .session import (
    DRAW_TASK,
    RECORD_TASK,
    TIME_LIMIT_SECONDS,
    CaseRequest,
    ChangeFeed,
    OvertakenError,
    RenderQueue,
    SaveError,
    Session,
    View,
    decode_request,
    describe_error,
    load_cases,
    read_file,
    read_request,
    record_request,
    save_cases,
    save_file,
    watch_files,
    watch_folders,
)

MAX_CONNECTIONS = 48
"""Connections at a time; further ones are closed as they come."""


class Connection(H11Protocol):
    """A connection that is closed unless its request arrives in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _give_up(self) -> None:
        # uvicorn sets `cycle` once it has read the head of a request.
        if getattr(self, "cycle", None) is None:
            self.transport.abort()


def open_listener(port: int) -> socket.socket:
    """Open a socket for this machine alone; port 0 stands for any free one. Raises `OSError`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(MAX_CONNECTIONS)
    except BaseException:
        listener.close()
        raise
    return listener


def make_web_server(app: App) -> uvicorn.Server:
    """Build the server of an application."""
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_config=None,  # no log: the address of a request could hold the token
        log_level=logging.CRITICAL + 1,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_graceful_shutdown=1,
        lifespan="on",
    )
    return uvicorn.Server(config)


STATIC_FOLDER = Path(__file__).parent / "static"

_KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

_encode = msgspec.json.encode


class PreviewApp:
    """The application of one session."""

    def __init__(
        self,
        desk: Session,
        *,
        watched: Sequence[Path] = (),
        reload: Callable[[], None] | None = None,
    ) -> None:
        """`reload` reads the items anew after a change of a file in `watched`."""
        self.desk = desk
        self._news = ChangeFeed()
        self._lanes = {
            what: RenderQueue(desk, seconds, RECORD_TASK if what == "case" else DRAW_TASK)
            for what, seconds in TIME_LIMIT_SECONDS.items()
        }
        self._watched, self._reload = watched, reload
        self._static = {
            f"/{path.relative_to(STATIC_FOLDER).as_posix()}": path
            for path in STATIC_FOLDER.rglob("*")
            if path.suffix in _KINDS
        }
        self._drafted = Path()
        api: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
            ("GET", "/api/start", self._start),
            ("POST", "/api/page", self._draw("page")),
            ("POST", "/api/account", self._draw("account")),
            ("POST", "/api/comparison", self._draw("comparison")),
            ("POST", "/api/prompt", self._draw("prompt")),
            ("GET", "/api/cases", self._cases),
            ("PUT", "/api/cases", self._record),
            ("GET", "/api/files/{id}", self._load),
            ("PUT", "/api/files/{id}", self._save),
            ("GET", EVENTS_PATH, self._events),
            ("GET", "/{name:path}", self._file),
        ]
        self.app = Starlette(
            routes=[Route(path, answer, methods=[method]) for method, path, answer in api],
            lifespan=self._life,
        )

    @contextlib.asynccontextmanager
    async def _life(self, _app: Starlette) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="promptforge-preview-") as drafted:
            self._drafted = Path(drafted)
            folders = [*self.desk.templates, *self.desk.profiles]
            tasks = [
                asyncio.create_task(self._warm()),
                asyncio.create_task(watch_folders(folders, self._changed)),
                asyncio.create_task(watch_files(self._watched, self._items_changed)),
            ]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                for lane in self._lanes.values():
                    lane.close()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _warm(self) -> None:
        """Render once before the page asks, so that its first request finds the sandbox warm."""
        wanted = {"what": "page", "look": self.desk.look(View(), {}, self._drafted)}
        with contextlib.suppress(OvertakenError):
            await self._lanes["page"].draw(wanted)

    async def _changed(self) -> None:
        # Half-written files are no error: their next change comes soon.
        with contextlib.suppress(PromptForgeError):
            await asyncio.to_thread(self.desk.survey)
        self._news.tell()

    async def _items_changed(self) -> None:
        if self._reload is not None:
            await asyncio.to_thread(self._reload)
            self._news.tell()

    # --- answers ----------------------------------------------------------------------------------

    async def _file(self, request: Request) -> Response:
        path = self._static.get("/index.html" if request.url.path == "/" else request.url.path)
        if path is None:
            return PlainTextResponse("there is nothing here", 404)
        return Response(path.read_bytes(), media_type=f"{_KINDS[path.suffix]}; charset=utf-8")

    async def _start(self, _request: Request) -> Response:
        desk = self.desk
        names = ("layout", "format", "max_tokens", "query")
        options = {"query": desk.around.user, **desk.options}
        given = {name: options.get(name) for name in names}
        for name, value in given.items():
            if value == "none":
                given[name] = None
        own: dict[str, str | None] = dict.fromkeys(_WHAT)
        for what in _WHAT:
            if folder := desk.own_folder(what):
                own[what] = folder.name
        return _json(
            {
                **desk.choices(),
                "edit": desk.edit,
                "mine": desk.listed(own=True),
                "items": len(desk.items),
                "given": {"profile": desk.profile or "default", **given},
                "own": own,
            }
        )

    def _draw(self, what: str) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of one kind of request that renders."""

        async def answer(request: Request) -> Response:
            desk = self.desk
            try:
                ask = read_request(await request.body())
                wanted: dict[str, Any] = {"what": what, "tokens": ask.tokens}
                wanted["look"] = desk.look(ask.view, ask.drafts, self._drafted)
                if what == "comparison":
                    wanted["other"] = desk.look(ask.other or ask.view, ask.drafts, self._drafted)
                if what == "prompt":
                    wanted |= {"to": ask.to, "around": desk.asking(ask.view)}
                drawn = await self._lanes[what].draw(wanted)
            except OvertakenError:
                return _json({"overtaken": True})
            except PromptForgeError as error:
                return _json({"error": describe_error(error, desk)})
            for page in (drawn, drawn.get("a"), drawn.get("b")):
                if page and "files" in page:
                    page["files"] = desk.listed(named=page["files"])
                    page["stamp"] = desk.stamp
            return _json(drawn)

        return answer

    async def _load(self, request: Request) -> Response:
        try:
            file = self.desk.file(request.path_params["id"])
            found = read_file(file)
        except SaveError as error:
            return _json({"error": {"message": str(error)}}, error.status)
        except PromptForgeError as error:
            return _json({"error": {"message": str(error)}}, 404)
        return _json({**file.about(), "text": found.text, "tag": found.tag})

    async def _save(self, request: Request) -> Response:
        try:
            text = msgspec.json.decode(await request.body(), type=_Saved).text
            file = self.desk.file(request.path_params["id"])
            new = await asyncio.to_thread(save_file, self.desk, file, text, _seen(request))
        except SaveError as error:
            return _json({"error": {"message": str(error)}}, error.status)
        except PromptForgeError as error:
            return _json({"error": {"message": str(error)}}, 404)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _json({"error": {"message": str(error)}}, 400)
        await self._changed()
        return _json({"tag": new, "copied": file.shipped})

    async def _cases(self, _request: Request) -> Response:
        try:
            found = await asyncio.to_thread(load_cases, self.desk)
        except PromptForgeError as error:
            return _json({"error": describe_error(error, self.desk)})
        return _json({"file": found.shown, "tag": found.tag, "names": found.names})

    async def _record(self, request: Request) -> Response:
        desk = self.desk
        try:
            seen = _seen(request)
            wish = decode_request(await request.body(), CaseRequest)
            look = desk.look(wish.view, {}, self._drafted)
            found = await asyncio.to_thread(load_cases, desk, seen)
            made = await self._lanes["case"].draw(record_request(desk, found, look, wish))
            if "error" in made:
                return _json(made, 409)
            await asyncio.to_thread(save_cases, desk, found, made["source"])
        except OvertakenError:
            return _json({"error": {"message": "another case is being saved"}}, 409)
        except PromptForgeError as error:
            return _json({"error": describe_error(error, desk)}, getattr(error, "status", 409))
        return _json({"file": found.shown})

    async def _events(self, _request: Request) -> Response:
        if self._news.full:
            return PlainTextResponse("too many pages listen", 503)

        async def stream() -> AsyncIterator[str]:
            yield f"event: hello\ndata: {self.desk.stamp}\n\n"
            async for news in self._news.listen():
                yield f"event: change\ndata: {self.desk.stamp}\n\n" if news else ": still here\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")


_WHAT = ("templates", "profiles")


def _seen(request: Request) -> str:
    """Return the version that the page has seen; raises `SaveError`."""
    seen = request.headers.get("if-match", "").strip('"')
    if not seen:
        raise SaveError("say with If-Match what was seen", 428)
    return seen


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    text: str


def _json(value: Any, status: int = 200) -> Response:
    return Response(_encode(value), status, media_type="application/json")


def run_preview(
    desk: Session,
    *,
    port: int,
    watched: Sequence[Path],
    gather: Callable[[], Sequence[Item] | None],
    tell: Callable[[str], None],
) -> None:
    """Serve the page until Ctrl-C; port 0 stands for any free one.

    `tell` prints a line for the user. When a file in `watched` changes, `gather` reads all items
    anew, or returns None to keep the old ones. Raises `OptionError` where the port is taken.
    """
    try:
        listener = open_listener(port)
    except OSError as error:
        raise OptionError(f"port {port} cannot be used: {error.strerror}", option="port") from None

    def reload() -> None:
        found = gather()
        if found is not None:
            desk.take(found)

    with listener:
        keys = SessionSecrets(
            listener.getsockname()[1], lambda link: tell(f"that link was used; a new one: {link}")
        )
        pages = PreviewApp(desk, watched=watched, reload=reload)
        tell(f"preview at {keys.link}")
        saves = "edits can be saved" if desk.edit else "read-only"
        tell(f"the link works once, on this machine; {saves}; Ctrl-C ends it")
        try:
            make_web_server(AuthMiddleware(pages.app, keys)).run(sockets=[listener])
        except KeyboardInterrupt:
            tell("the preview has ended")
