"""The preview's web application, and its server on 127.0.0.1.

`run_preview` serves one session. The page asks for renderings and files by JSON; a stream of events
tells it of changes. Each connection takes one request: see `auth`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

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
from .changes import ChangeFeed, watch_files, watch_folders
from .render_queue import (
    CHECK_TASK,
    DRAW_TASK,
    RECORD_TASK,
    TIME_LIMIT_SECONDS,
    WORKER_OF,
    OvertakenError,
    RenderQueue,
    describe_error,
)
from .saving import (
    SaveError,
    case_request,
    draft_to_check,
    load_cases,
    read_file,
    record_request,
    save_cases,
    save_file,
)
from .session import (
    OPTION_SCHEMAS,
    CaseRequest,
    Session,
    View,
    decode_request,
    read_request,
    words_of_templates,
)

MAX_REQUESTS = 48
"""Connections with a request at a time; further ones are closed as they come."""
MAX_WAITING = 96
"""Connections without a request so far; the oldest is closed for a new one."""
ACCEPTED_AT_ONCE = 24
"""Connections accepted before those that are there are read.

A quarter of `MAX_WAITING`: a request sent at once is read before a thousand newer ones come.
"""
LISTEN_BACKLOG = 1024
"""Connections that the system holds until they are accepted."""
STATIC_FOLDER = Path(__file__).parent / "static"
_MEDIA_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


def run_preview(
    session: Session,
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
            session.replace_items(found)

    with listener:
        secrets = SessionSecrets(
            listener.getsockname()[1], lambda link: tell(f"that link was used; a new one: {link}")
        )
        preview = PreviewApp(session, watched=watched, reload=reload)
        tell(f"preview at {secrets.link}")
        saves = "edits can be saved" if session.edit else "read-only"
        tell(f"the link works once, on this machine; {saves}; Ctrl-C ends it")
        try:
            make_web_server(AuthMiddleware(preview.app, secrets)).run(sockets=[listener])
        except KeyboardInterrupt:
            tell("the preview has ended")


class PreviewApp:
    """The application of one session."""

    def __init__(
        self,
        session: Session,
        *,
        watched: Sequence[Path] = (),
        reload: Callable[[], None] | None = None,
    ) -> None:
        """`reload` reads the items anew after a change of a file in `watched`."""
        self.session = session
        self._changes = ChangeFeed()
        workers = {
            name: RenderQueue(session, seconds) for name, seconds in TIME_LIMIT_SECONDS.items()
        }
        self._queues = {what: workers[name] for what, name in WORKER_OF.items()}
        self._watched, self._reload = watched, reload
        self._static = {
            f"/{path.relative_to(STATIC_FOLDER).as_posix()}": path
            for path in STATIC_FOLDER.rglob("*")
            if path.suffix in _MEDIA_TYPES
        }
        api: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
            ("GET", "/api/start", self._start),
            *(("POST", f"/api/{what}", self._draw(what)) for what in WORKER_OF if what != "case"),
            ("POST", "/api/recipes", self._recipes),
            ("POST", "/api/items", self._take_items),
            ("GET", "/api/words", self._words),
            ("GET", "/api/cases", self._cases),
            ("PUT", "/api/cases", self._record),
            ("GET", "/api/files/{id}", self._load),
            ("PUT", "/api/files/{id}", self._save),
            ("GET", EVENTS_PATH, self._events),
            ("GET", "/{name:path}", self._file),
        ]
        # The last route takes all other paths, but only files that were there at the start.
        self.app = Starlette(
            routes=[Route(path, answer, methods=[method]) for method, path, answer in api],
            lifespan=self._life,
        )

    @contextlib.asynccontextmanager
    async def _life(self, _app: Starlette) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="promptforge-preview-") as folder:
            self.session.drafts_folder = Path(folder)
            folders = [*self.session.templates, *self.session.profiles]
            tasks = [
                asyncio.create_task(self._warm()),
                asyncio.create_task(watch_folders(folders, self._files_changed)),
                asyncio.create_task(watch_files(self._watched, self._items_changed)),
            ]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                for queue in set(self._queues.values()):
                    queue.close()
                # A cancelled task raises when it is awaited, and all must have ended.
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _warm(self) -> None:
        # Render once in each worker before the page asks, so that its first requests find it warm.
        settings = self.session.settings(View())
        for what in ("page", "needs"):
            with contextlib.suppress(OvertakenError):
                await self._queues[what].draw({"what": what, "rows": [], "settings": settings})

    async def _files_changed(self) -> None:
        # Half-written files are no error: their next change comes soon.
        with contextlib.suppress(PromptForgeError):
            await asyncio.to_thread(self.session.list_files)
        self._changes.tell()

    async def _items_changed(self) -> None:
        if self._reload is not None:
            await asyncio.to_thread(self._reload)
            self._changes.tell()

    # --- answers ----------------------------------------------------------------------------------

    async def _file(self, request: Request) -> Response:
        path = self._static.get("/index.html" if request.url.path == "/" else request.url.path)
        if path is None:
            return PlainTextResponse("there is nothing here", 404)
        return Response(path.read_bytes(), media_type=f"{_MEDIA_TYPES[path.suffix]}; charset=utf-8")

    async def _start(self, _request: Request) -> Response:
        session = self.session
        names = ("layout", "format", "max_tokens", "query")
        options = {"query": session.texts.user, **session.options}
        given = {name: options.get(name) for name in names}
        for name, value in given.items():
            if value == "none":
                given[name] = None
        own: dict[str, str | None] = {}
        for what in ("templates", "profiles"):
            folder = session.own_folder(what)
            own[what] = folder.name if folder else None
        return _json(
            {
                **session.choices(),
                "edit": session.edit,
                "mine": session.describe_files(own=True),
                "items": len(session.items),
                "changes": self._changes.number,
                "around": [name for name, text in session.texts._asdict().items() if text],
                "vocabulary": OPTION_SCHEMAS,
                "given": {"profile": session.profile or "default", **given},
                "own": own,
            }
        )

    def _draw(self, what: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            session = self.session
            try:
                asked = read_request(await request.body())
                wanted: dict[str, Any] = {"what": what, "tokens": asked.tokens}
                wanted |= {"rows": asked.rows, "picked": asked.picked, "top": asked.top}
                wanted["settings"] = session.settings(asked.view, asked.drafts)
                if what == "comparison":
                    other = asked.other or asked.view
                    wanted["other"] = session.settings(other, asked.drafts)
                if what == "prompt":
                    wanted |= {"to": asked.to, "texts": session.prompt_texts(asked.view)}
                if what == "as_case":
                    wanted |= case_request(session)
                draw, line = self._queues[what].draw, (asked.tab, what)
                if what == "findings":
                    with draft_to_check(session, asked.file, asked.drafts) as draft:
                        drawn = await draw(draft, CHECK_TASK, line)
                else:
                    drawn = await draw(wanted, DRAW_TASK, line)
            except OvertakenError:
                return _json({"overtaken": True})
            except PromptForgeError as error:
                return _json({"error": describe_error(error, session)})
            for page in (drawn, drawn.get("a"), drawn.get("b")):
                if page and "files" in page:
                    page["files"] = session.describe_files(named=page["files"])
                    page["stamp"] = session.stamp
            return _json(drawn)

        return answer

    async def _recipes(self, request: Request) -> Response:
        try:
            return _json(self.session.recipes(read_request(await request.body()).view))
        except PromptForgeError as error:
            return _json({"error": describe_error(error, self.session)})

    async def _take_items(self, request: Request) -> Response:
        try:
            given = decode_request(await request.body(), _Given)
            take = self.session.take_items
            said = await asyncio.to_thread(take, given.text, given.name, sample=given.sample)
        except PromptForgeError as error:
            return self._error(error, 409)
        self._changes.tell()
        return _json({"items": len(self.session.items), "said": said})

    async def _words(self, _request: Request) -> Response:
        return _json(await asyncio.to_thread(words_of_templates))

    async def _load(self, request: Request) -> Response:
        try:
            file = self.session.find_file(request.path_params["id"])
            found = read_file(file)
        except PromptForgeError as error:
            return self._error(error, 404)
        return _json({**file.describe(), "text": found.text, "tag": found.tag})

    async def _save(self, request: Request) -> Response:
        try:
            text = msgspec.json.decode(await request.body(), type=_Saved).text
            file = self.session.find_file(request.path_params["id"])
            new = await asyncio.to_thread(save_file, self.session, file, text, _seen(request))
        except PromptForgeError as error:
            return self._error(error, 404)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _json({"error": {"message": str(error)}}, 400)
        await self._files_changed()
        return _json({"tag": new, "copied": file.shipped})

    async def _cases(self, _request: Request) -> Response:
        try:
            found = await asyncio.to_thread(load_cases, self.session)
        except PromptForgeError as error:
            return _json({"error": describe_error(error, self.session)})
        return _json({"file": found.shown, "tag": found.tag, "names": found.names})

    async def _record(self, request: Request) -> Response:
        session = self.session
        try:
            seen = _seen(request)
            wanted = decode_request(await request.body(), CaseRequest)
            settings = session.settings(wanted.view)
            found = await asyncio.to_thread(load_cases, session, seen)
            asked = record_request(session, found, settings, wanted)
            made = await self._queues["case"].draw(asked, RECORD_TASK)
            if "error" in made:
                return _json(made, 409)
            await asyncio.to_thread(save_cases, session, found, made["source"])
        except OvertakenError:
            return _json({"error": {"message": "another case is being saved"}}, 409)
        except PromptForgeError as error:
            return self._error(error, 409)
        return _json({"file": found.shown})

    def _error(self, error: PromptForgeError, status: int) -> Response:
        said = {"error": describe_error(error, self.session)}
        return _json(said, getattr(error, "status", status))

    async def _events(self, _request: Request) -> Response:
        if self._changes.full:
            return PlainTextResponse("too many pages listen", 503)

        async def stream() -> AsyncIterator[str]:
            yield f"event: hello\ndata: {self._changes.number}\n\n"
            async for changed in self._changes.listen():
                if changed:
                    yield f"event: change\ndata: {self._changes.number}\n\n"
                else:  # a comment, which keeps the connection from being taken for a dead one
                    yield ": still here\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")


def _seen(request: Request) -> str:
    seen = request.headers.get("if-match", "").strip('"')
    if not seen:
        raise SaveError("say with If-Match what was seen", 428)
    return seen


class _Given(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    sample: bool = False


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    text: str


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


# --- the web server -------------------------------------------------------------------------------


class Connection(H11Protocol):
    """A connection that is closed unless its request arrives in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; the oldest that waits makes room for it."""
        super().connection_made(transport)
        self._since = self.loop.time()
        others = cast(set[Connection], self.connections)
        waiting = [each for each in others if each.waits]
        if len(others) - len(waiting) > MAX_REQUESTS:
            transport.abort()
        elif len(waiting) > MAX_WAITING:
            min(waiting, key=lambda each: each._since).transport.abort()
        self.loop.call_later(REQUEST_SECONDS, self._give_up)

    @property
    def waits(self) -> bool:
        """True while no head of a request has come, and the connection is not closed."""
        # uvicorn sets `cycle` once it has read the head of a request.
        return getattr(self, "cycle", None) is None and not self.transport.is_closing()

    def _give_up(self) -> None:
        if self.waits:
            self.transport.abort()


def open_listener(port: int) -> socket.socket:
    """Open a socket for this machine alone; port 0 stands for any free one. Raises `OSError`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(LISTEN_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


class _WebServer(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio takes one number for both: what it accepts at once, and what the system holds.
        for listener in sockets or ():
            listener.listen(LISTEN_BACKLOG)


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
        backlog=ACCEPTED_AT_ONCE,
    )
    return _WebServer(config)
