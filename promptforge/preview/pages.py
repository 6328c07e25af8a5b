"""The web application: the page, its files, and the answers to its requests."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ..errors import PromptForgeError
from . import cases, saving, views, watching
from .desk import Desk
from .guard import EVENTS
from .renders import DRAW, RECORD, SECONDS, Lane, OvertakenError, facts

STATIC = Path(__file__).parent / "static"
_KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_encode = msgspec.json.encode


class Pages:
    """The application of one session."""

    def __init__(
        self, desk: Desk, *, watched: Sequence[Path] = (), reload: Callable[[], None] | None = None
    ) -> None:
        """`reload` reads the items anew after a change of a file in `watched`."""
        self.desk = desk
        self._news = watching.News()
        self._lanes = {
            what: Lane(desk, seconds, RECORD if what == "case" else DRAW)
            for what, seconds in SECONDS.items()
        }
        self._watched, self._reload = watched, reload
        self._static = {
            f"/{path.relative_to(STATIC).as_posix()}": path
            for path in STATIC.rglob("*")
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
            ("GET", EVENTS, self._events),
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
                asyncio.create_task(watching.watch_folders(folders, self._changed)),
                asyncio.create_task(watching.watch_files(self._watched, self._items_changed)),
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
        wanted = {"what": "page", "look": self.desk.look(views.View(), {}, self._drafted)}
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
                ask = views.read(await request.body())
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
                return _json({"error": facts(error, desk)})
            for page in (drawn, drawn.get("a"), drawn.get("b")):
                if page and "files" in page:
                    page["files"] = desk.listed(named=page["files"])
                    page["stamp"] = desk.stamp
            return _json(drawn)

        return answer

    async def _load(self, request: Request) -> Response:
        try:
            file = self.desk.file(request.path_params["id"])
            found = saving.load(file)
        except saving.SaveError as error:
            return _json({"error": {"message": str(error)}}, error.status)
        except PromptForgeError as error:
            return _json({"error": {"message": str(error)}}, 404)
        return _json({**file.about(), "text": found.text, "tag": found.tag})

    async def _save(self, request: Request) -> Response:
        try:
            text = msgspec.json.decode(await request.body(), type=_Saved).text
            file = self.desk.file(request.path_params["id"])
            new = await asyncio.to_thread(saving.save, self.desk, file, text, _seen(request))
        except saving.SaveError as error:
            return _json({"error": {"message": str(error)}}, error.status)
        except PromptForgeError as error:
            return _json({"error": {"message": str(error)}}, 404)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _json({"error": {"message": str(error)}}, 400)
        await self._changed()
        return _json({"tag": new, "copied": file.shipped})

    async def _cases(self, _request: Request) -> Response:
        try:
            found = await asyncio.to_thread(cases.load, self.desk)
        except PromptForgeError as error:
            return _json({"error": facts(error, self.desk)})
        return _json({"file": found.shown, "tag": found.tag, "names": found.names})

    async def _record(self, request: Request) -> Response:
        desk = self.desk
        try:
            seen = _seen(request)
            wish = views.decode(await request.body(), views.Wish)
            look = desk.look(wish.view, {}, self._drafted)
            found = await asyncio.to_thread(cases.load, desk, seen)
            made = await self._lanes["case"].draw(cases.asked(desk, found, look, wish))
            if "error" in made:
                return _json(made, 409)
            await asyncio.to_thread(cases.save, desk, found, made["source"])
        except OvertakenError:
            return _json({"error": {"message": "another case is being saved"}}, 409)
        except PromptForgeError as error:
            return _json({"error": facts(error, desk)}, getattr(error, "status", 409))
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
        raise saving.SaveError("say with If-Match what was seen", 428)
    return seen


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    text: str


def _json(value: Any, status: int = 200) -> Response:
    return Response(_encode(value), status, media_type="application/json")
