"""The preview's web application, and its server on 127.0.0.1.

`run_preview` serves one session. The page asks for renderings and files by JSON; a stream of events
tells it of changes. Each connection takes one request: see `auth`. A `RenderQueue` stands before
each worker: of the requests that a page repeats, only the newest is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..config.options import OPTION_GROUPS
from ..errors import Diagnostic, OptionError, PromptForgeError
from ..files import shipped_folder
from ..files.access import read_bytes
from ..model import Item
from ..sandbox import Sandbox
from .auth import EVENTS_PATH, MAX_HEAD_BYTES, REQUEST_SECONDS, App, AuthMiddleware, SessionSecrets
from .session import (
    FOLDERS,
    OPTION_SCHEMAS,
    OWN_CHOICES,
    REASON_LABELS,
    CaseRequest,
    PageRequest,
    SaveError,
    Session,
    Stamp,
    View,
    case_request,
    decode_request,
    draft_to_check,
    file_stamp,
    load_cases,
    read_file,
    read_request,
    record_request,
    request_of_tests,
    save_cases,
    save_file,
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
Answer = dict[str, Any]
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
    watched: Mapping[Path, Stamp],
    gather: Callable[[], tuple[Sequence[Item], Iterable[Diagnostic]]],
    tell: Callable[[str], None],
) -> None:
    """Serve the page until Ctrl-C; port 0 stands for any free one.

    `tell` prints a line for the user. `watched` are files as they were before the items were read:
    after a change, `gather` reads all items anew, and returns them with the problems met. Raises
    `OptionError` where the port is taken.
    """
    try:
        listener = open_listener(port)
    except OSError as error:
        message = f"port {port} cannot be used: {error.strerror}; leave out --port for a free one"
        raise OptionError(message, option="port") from None

    def reload() -> None:
        try:
            session.replace_items(*gather())
        except (PromptForgeError, OSError) as error:
            tell(str(error))
            message = f"not read, so the items of before stay: {getattr(error, 'bare', error)}"
            where = getattr(error, "where", None)
            session.notes = [Diagnostic("PF606", "error", message, where=where)]

    with listener:
        secrets = SessionSecrets(
            listener.getsockname()[1], lambda link: tell(f"that link was used; a new one: {link}")
        )
        preview = PreviewApp(session, watched=watched, reload=reload)

        def begin() -> None:
            tell(f"preview at {secrets.link}")
            saves = "edits can be saved" if session.edit else "read-only"
            tell(f"the link works once, on this machine; {saves}; Ctrl-C ends it")

        try:
            make_web_server(AuthMiddleware(preview.app, secrets), begin).run(sockets=[listener])
        except KeyboardInterrupt:
            tell("the preview has ended")


class PreviewApp:
    """The application of one session."""

    def __init__(
        self,
        session: Session,
        *,
        watched: Mapping[Path, Stamp] | None = None,
        reload: Callable[[], None] = lambda: None,
    ) -> None:
        """`reload` reads the items anew after a change of a file in `watched`."""
        self.session = session
        self._changes = ChangeFeed()
        workers = {
            name: RenderQueue(session, seconds) for name, seconds in TIME_LIMIT_SECONDS.items()
        }
        self._queues = {what: workers[name] for what, name in WORKER_OF.items()}
        self._watched, self._reload = dict(watched or {}), reload
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
            exception_handlers={OSError: _say_disk_error, PromptForgeError: self._say_error},
        )

    @contextlib.asynccontextmanager
    async def _life(self, _app: Starlette) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(self._warm()),
            asyncio.create_task(self._follow(self.session.follow_files)),
            asyncio.create_task(self._follow(self._follow_items)),
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
            self.session.close()

    async def _warm(self) -> None:
        # Render once in each worker before the page asks, so that its first requests find it warm.
        settings = self.session.settings(View())
        for what in ("page", "needs"):
            with contextlib.suppress(OvertakenError):
                await self._queues[what].draw({"what": what, "rows": [], "settings": settings})

    async def _follow(self, read_changed: Callable[[], bool]) -> None:
        """Tell the pages whenever `read_changed` has read a change.

        Polled: no event of the system tells of a folder that was removed and made again, of files
        behind a link, or of those on a network drive.
        """
        while True:
            began = time.monotonic()
            if await asyncio.to_thread(read_changed):
                self._changes.tell()
            # On a slow drive most of the time is left to others.
            await asyncio.sleep(max(POLL_SECONDS, 20 * (time.monotonic() - began)))

    def _follow_items(self) -> bool:
        now = {path: file_stamp(path) for path in self._watched}
        if now == self._watched:
            return False
        self._watched = now
        self._reload()
        return True

    # --- answers ----------------------------------------------------------------------------------

    async def _file(self, request: Request) -> Response:
        path = self._static.get("/index.html" if request.url.path == "/" else request.url.path)
        if path is None:
            return PlainTextResponse("there is nothing here", 404)
        return Response(read_bytes(path), media_type=f"{_MEDIA_TYPES[path.suffix]}; charset=utf-8")

    async def _start(self, _request: Request) -> Response:
        session = self.session
        options = {"query": session.texts.user, **session.options}
        given = {name: options.get(name) for name in (*OWN_CHOICES, "overrides")}
        given = {name: None if value == "none" else value for name, value in given.items()}
        folders = ((what, session.own_folder(what)) for what in FOLDERS)
        own = {what: folder.name if folder else None for what, folder in folders}
        return _json(
            {
                **session.choices(),
                "edit": session.edit,
                "mine": session.describe_files(own=True),
                "items": len(session.items),
                "notes": _plain_notes(map(msgspec.to_builtins, session.notes), session),
                "changes": self._changes.number,
                "around": [name for name, text in session.texts._asdict().items() if text],
                "vocabulary": OPTION_SCHEMAS,
                "groups": [(title, names.split()) for title, names in OPTION_GROUPS.items()],
                "reasons": REASON_LABELS,
                "given": {"profile": session.profile or "default", **given},
                "own": own,
            }
        )

    def _draw(self, what: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            session = self.session
            try:
                drawn = await self._drawn(what, read_request(await request.body()))
            except OvertakenError:
                return _json({"overtaken": True})
            except PromptForgeError as error:
                return _json({"error": describe_error(error, session)})
            for page in (drawn, drawn.get("a"), drawn.get("b")):
                if page and "files" in page:
                    page["files"] = session.describe_files(named=page["files"])
                    page["stamp"] = session.stamp
                    page["warnings"] = _plain_notes(page["warnings"], session)
            for case in drawn.get("cases", ()):
                case["problems"] = [_without_roots(text, session) for text in case["problems"]]
            return _json(drawn)

        return answer

    async def _drawn(self, what: str, asked: PageRequest) -> Answer:
        session, draw, line = self.session, self._queues[what].draw, (asked.tab, what)
        settings = session.settings(asked.view, asked.drafts)
        if what == "findings":
            with draft_to_check(session, asked.file, asked.drafts) as draft:
                return await draw(draft, CHECK_TASK, line)
        if what == "tests":
            return await draw(request_of_tests(session, settings), TEST_TASK, line)
        names = ("tokens", "rows", "picked", "expression")
        wanted = {"what": what, "settings": settings} | {n: getattr(asked, n) for n in names}
        if what == "comparison":
            wanted["other"] = session.settings(asked.other or asked.view, asked.drafts)
        elif what == "prompt":
            wanted |= {"to": asked.to, "texts": session.prompt_texts(asked.view)}
        elif what == "as_case":
            wanted |= case_request(session)
        return await draw(wanted, line=line)

    async def _recipes(self, request: Request) -> Response:
        return _json(self.session.recipes(read_request(await request.body()).view))

    async def _take_items(self, request: Request) -> Response:
        given = decode_request(await request.body(), _Given)
        take = self.session.take_items
        await asyncio.to_thread(take, given.text, given.name, sample=given.sample)
        self._changes.tell()
        return _json({"items": len(self.session.items)})

    async def _words(self, _request: Request) -> Response:
        return _json(await asyncio.to_thread(words_of_templates))

    async def _load(self, request: Request) -> Response:
        file = self.session.find_file(request.path_params["id"])
        found = read_file(file)
        return _json({**file.describe(), "text": found.text, "tag": found.tag})

    async def _save(self, request: Request) -> Response:
        text = decode_request(await request.body(), _Saved).text
        file = self.session.find_file(request.path_params["id"])
        new = await asyncio.to_thread(save_file, self.session, file, text, _seen(request))
        await asyncio.to_thread(self.session.list_files)
        self._changes.tell()
        return _json({"tag": new, "copied": file.shipped})

    async def _cases(self, _request: Request) -> Response:
        found = await asyncio.to_thread(load_cases, self.session)
        return _json({"file": found.shown, "tag": found.tag, "names": found.names})

    async def _record(self, request: Request) -> Response:
        session, seen = self.session, _seen(request)
        wanted = decode_request(await request.body(), CaseRequest)
        settings = session.settings(wanted.view)
        found = await asyncio.to_thread(load_cases, session, seen)
        asked = record_request(session, found, settings, wanted)
        try:
            made = await self._queues["case"].draw(asked, RECORD_TASK)
        except OvertakenError:
            raise SaveError("another case is being saved", 409) from None
        if "error" in made:
            return _json(made, 409)
        await asyncio.to_thread(save_cases, session, found, made["source"])
        return _json({"file": found.shown})

    async def _say_error(self, _request: Request, error: Exception) -> Response:
        said = {"error": describe_error(cast(PromptForgeError, error), self.session)}
        return _json(said, getattr(error, "status", 409))

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


async def _say_disk_error(_request: Request, error: Exception) -> Response:
    said = f"the preview cannot use a file: {getattr(error, 'strerror', None) or error}"
    return _json({"error": {"kind": "server", "message": said}}, 507)


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
    begin: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio takes one number for both: what it accepts at once, and what the system holds.
        for listener in sockets or ():
            listener.listen(LISTEN_BACKLOG)
        # Not before: a Ctrl-C that comes with the link is the server's to take.
        self.begin()


def make_web_server(app: App, begin: Callable[[], None] = lambda: None) -> uvicorn.Server:
    """Build the server of an application; it calls `begin` when it listens."""
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
    server = _WebServer(config)
    server.begin = begin
    return server


# --- news for the pages ---------------------------------------------------------------------------

MAX_LISTENERS = 8
"""Browsers that may listen at a time; all pages of one share a stream."""
POLL_SECONDS = 0.1
HEARTBEAT_SECONDS = 15.0
"""Seconds of silence after which listeners get a sign of life."""


class ChangeFeed:
    """A signal to all listening pages that something has changed; it carries no data."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Event] = set()
        self.number = 0
        """Number of changes so far: a page that has heard of this one knows all of them."""

    def tell(self) -> None:
        """Wake all listeners."""
        self.number += 1
        for listener in self._listeners:
            listener.set()

    @property
    def full(self) -> bool:
        """True while no more pages can listen."""
        return len(self._listeners) >= MAX_LISTENERS

    async def listen(self) -> AsyncIterator[bool]:
        """Yield True for a change, False for a sign of life."""
        heard = asyncio.Event()
        self._listeners.add(heard)
        try:
            while True:
                try:
                    await asyncio.wait_for(heard.wait(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield False
                    continue
                heard.clear()
                yield True
        finally:
            self._listeners.discard(heard)


# --- requests for the workers ---------------------------------------------------------------------

MAX_LINES_KEPT = 64
OVERTAKEN_SECONDS = 1.0
"""Seconds after which work that nobody waits for any more is ended.

About as long as a new process takes to load its vocabulary and the items: to end it sooner would
cost more than it saves.
"""
MEMORY_LIMIT_BYTES = 1 << 30
TIME_LIMIT_SECONDS = {"quick": 4, "thorough": 20}
"""Seconds that templates may take, by worker; more for many items."""
WORKER_OF = {
    **dict.fromkeys(("page", "values"), "quick"),
    **dict.fromkeys(("needs", "account", "remedies", "comparison", "prompt"), "thorough"),
    **dict.fromkeys(("findings", "as_case", "case", "tests", "snapshot"), "thorough"),
}
"""The worker of each kind of request: a text never waits for its account."""
DRAW_TASK = "promptforge.preview.render_worker:draw"
RECORD_TASK = "promptforge.preview.render_worker:record_case"
TEST_TASK = "promptforge.preview.render_worker:run_tests"
CHECK_TASK = "promptforge.lint.checker:check_draft"


class OvertakenError(Exception):
    """A newer request of the same page and kind came."""


class RenderQueue:
    """The requests for one worker."""

    def __init__(self, session: Session, seconds: float) -> None:
        """Start no process yet; `seconds` is the templates' time."""
        self._session = session
        self._seconds = seconds
        self._sandbox = self._new_sandbox()
        self._lock = asyncio.Lock()
        self._newest: dict[tuple[str, str], int] = {}
        self._number = 0
        self._running: tuple[tuple[str, str], float] | None = None

    @property
    def _allowed_seconds(self) -> float:
        return self._seconds + self._session.size / 250_000  # bytes of items in a second

    def _new_sandbox(self) -> Sandbox:
        return Sandbox(seconds=self._allowed_seconds, memory=MEMORY_LIMIT_BYTES)

    async def draw(
        self, request: Mapping[str, Any], task: str = DRAW_TASK, line: tuple[str, str] = ("", "")
    ) -> Answer:
        """Return the task's answer, or `{"error": …}`; raises `OvertakenError`.

        `line` is the page and the kind of the request: a newer one of the same line overtakes it.
        """
        self._number += 1
        mine = self._newest[line] = self._number
        while len(self._newest) > MAX_LINES_KEPT:
            del self._newest[min(self._newest, key=self._newest.__getitem__)]
        self._end_overtaken(line)
        async with self._lock:
            # Each keystroke asks for a rendering; only the latest is worth one.
            self._refuse_overtaken(line, mine)
            if self._sandbox.seconds < self._allowed_seconds:  # there are more items than before
                self._sandbox.close()
                self._sandbox = self._new_sandbox()
            self._running = line, asyncio.get_running_loop().time()
            try:
                answer = await self._ask(request, task)
            except PromptForgeError as error:
                self._refuse_overtaken(line, mine)  # it was ended for that
                return {"error": describe_error(error, self._session)}
            finally:
                self._running = None
            return answer

    async def _ask(self, request: Mapping[str, Any], task: str) -> Answer:
        session, call = self._session, self._sandbox.call
        given = {"items_key": session.items_key, "items": None, "tokens": False, **request}
        answer: Answer = await asyncio.to_thread(call, task, given)
        # Items are sent once: megabytes, while a keystroke in a template is a few bytes.
        if answer.get("needs") == "items":
            given |= {"items": session.records, "listed": session.listed}
            answer = await asyncio.to_thread(call, task, given)
        return answer

    def _refuse_overtaken(self, line: tuple[str, str], mine: int) -> None:
        if self._newest.get(line, mine) != mine:
            raise OvertakenError

    def _end_overtaken(self, line: tuple[str, str]) -> None:
        """End the rendering under way if `line` no longer waits for it, unless it is about done."""
        if self._running is None or self._running[0] != line:
            return
        if asyncio.get_running_loop().time() - self._running[1] > OVERTAKEN_SECONDS:
            old, self._sandbox = self._sandbox, self._new_sandbox()
            self._running = None
            # Closing waits for the call to fail, which it does in its own thread.
            threading.Thread(target=old.close, daemon=True).start()

    def close(self) -> None:
        """End the process of the sandbox."""
        self._sandbox.close()


def describe_error(error: PromptForgeError, session: Session) -> dict[str, Any]:
    """Return kind, message and place of an error for the page, without a path of this machine."""
    name, line = error.where or "", None
    found = re.fullmatch(r"(.*?):(\d+)", name, re.DOTALL)
    if found:
        name, line = found[1], int(found[2])
    name, message = (_without_roots(text, session) for text in (name, error.bare))
    kind = type(error).__name__.removesuffix("Error").lower()
    said: dict[str, Any] = {"kind": kind, "message": message}
    if name:
        ids = {file.name: file.id for file in session.files.values()}
        ids |= {file.shown: file.id for file in session.files.values()}
        said |= {"name": name, "line": line, "file": ids.get(name)}
    for fact in ("needed", "largest", "option"):
        if getattr(error, fact, None) is not None:
            said[fact] = getattr(error, fact)
    return said


def _plain_notes(notes: Iterable[dict[str, Any]], session: Session) -> list[dict[str, Any]]:
    """Return diagnostics without a path of this machine."""
    texts = ("message", "where")
    return [
        {**note, **{key: note[key] and _without_roots(note[key], session) for key in texts}}
        for note in notes
    ]


def _without_roots(text: str, session: Session) -> str:
    own = [*session.templates, *session.profiles, session.tests, *session.draft_profiles]
    roots = [*own, *map(shipped_folder, FOLDERS), session.items_file and session.items_file.parent]
    paths = {path for root in roots if root for path in (str(root), str(root.resolve()))}
    for path in sorted(paths, key=len, reverse=True):  # an inner folder before the one around it
        if len(path) > 1:
            text = text.replace(f"{path}/", "")
    return text
