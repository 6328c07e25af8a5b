"""The line before a worker: of the requests that a page repeats, only the newest is done."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import PromptForgeError
from ..files import shipped_folder
from ..sandbox.process import Sandbox
from .session import Session

MAX_LINES_KEPT = 64
"""Newest requests that are remembered, one for each page and kind."""
OVERTAKEN_SECONDS = 1.0
"""Seconds after which work that nobody waits for any more is ended.

About as long as a new process takes to load its vocabulary and the items: to end it sooner would
cost more than it saves.
"""
MEMORY_LIMIT_BYTES = 1 << 30
"""Bytes of memory for a rendering."""
TIME_LIMIT_SECONDS = {"quick": 4, "thorough": 20}
"""Seconds that templates may take, by worker; more for many items."""
WORKER_OF = {
    **dict.fromkeys(("page", "values"), "quick"),
    **dict.fromkeys(("needs", "account", "remedies", "curve", "comparison", "prompt"), "thorough"),
    **dict.fromkeys(("findings", "as_case", "case"), "thorough"),
}
"""The worker of each kind of request: a text never waits for its account."""
DRAW_TASK = "promptforge.preview.render_worker:draw"
RECORD_TASK = "promptforge.preview.render_worker:record_case"
CHECK_TASK = "promptforge.lint.checker:check_draft"
Answer = dict[str, Any]


class OvertakenError(Exception):
    """A newer request of the same page and kind came."""


class RenderQueue:
    """The requests for one worker: of those that a page repeats, only the newest is done."""

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
            given["items"] = session.records
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
    if found := re.fullmatch(r"(.*?):(\d+)", name, re.DOTALL):
        name, line = found[1], int(found[2])
    shipped = [shipped_folder("templates"), shipped_folder("profiles")]
    roots = [*session.templates, *session.profiles, *shipped, session.tests]
    if session.items_file:
        roots.append(session.items_file.parent)
    name, message = (_without_roots(text, roots) for text in (name, error.bare))
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


def _without_roots(text: str, roots: Sequence[Path | None]) -> str:
    paths = {path for root in roots if root for path in (str(root), str(root.resolve()))}
    for path in sorted(paths, key=len, reverse=True):  # an inner folder before the one around it
        if len(path) > 1:
            text = text.replace(f"{path}/", "")
    return text
