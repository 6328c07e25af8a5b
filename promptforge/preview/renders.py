"""Render for the page, in a sandbox: one request of a kind at a time, overtaken ones dropped."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import _shipped
from ..errors import PromptForgeError
from ..wall import Wall
from .desk import Desk

Answer = dict[str, Any]
DRAW = "promptforge.preview.drawing:draw"
RECORD = "promptforge.preview.recording:record"
SECONDS = {"page": 4.0, "account": 20.0, "comparison": 20.0, "prompt": 20.0, "case": 20.0}
"""Seconds that templates may take, by kind of request; more for many items."""
MEMORY = 1 << 30
"""Bytes of memory for a rendering."""


class OvertakenError(Exception):
    """A newer request came while this one waited."""


class Lane:
    """A queue of one: of the requests that wait for a rendering to end, only the last is done."""

    def __init__(self, desk: Desk, seconds: float, task: str = DRAW) -> None:
        self._desk = desk
        self._task = task
        self._seconds = seconds
        self._wall = Wall(seconds=self._enough, memory=MEMORY)
        self._lock = asyncio.Lock()
        self._last = 0

    @property
    def _enough(self) -> float:
        return self._seconds + self._desk.size / 250_000  # a second more for each 250 kB

    async def draw(self, request: Mapping[str, Any]) -> Answer:
        """Return the task's answer, or `{"error": …}`; raises `OvertakenError`."""
        self._last += 1
        mine = self._last
        async with self._lock:
            if mine != self._last:
                raise OvertakenError
            if self._wall.seconds < self._enough:  # the items were read anew, and are more
                self._wall.close()
                self._wall = Wall(seconds=self._enough, memory=MEMORY)
            given = {"items_key": self._desk.items_key, "items": None, "tokens": False, **request}
            try:
                answer = await self._call(given)
                # Items are sent once: megabytes, while a keystroke in a template is a few bytes.
                if answer.get("needs") == "items":
                    answer = await self._call({**given, "items": self._desk.records})
            except PromptForgeError as error:
                return {"error": facts(error, self._desk)}
            return answer

    async def _call(self, request: Answer) -> Answer:
        return await asyncio.to_thread(self._wall.call, self._task, request)

    def close(self) -> None:
        """End the process of the sandbox."""
        self._wall.close()


_PLACE = re.compile(r"^(?P<name>.*?):(?P<line>\d+)$", re.DOTALL)


def facts(error: PromptForgeError, desk: Desk) -> dict[str, Any]:
    """Return kind, message and place of an error for the page, without a path of this machine."""
    where, message = error.where or "", error.bare
    found = _PLACE.match(where)
    name, line = where, None
    if found:
        name, line = found["name"], int(found["line"])
    roots = [*desk.templates, *desk.profiles]
    roots += [_shipped.folder("templates"), _shipped.folder("profiles")]
    if desk.tests:
        roots.append(desk.tests)
    if desk.items_file:
        roots.append(desk.items_file.parent)
    name, message = _bare(name, roots), _bare(message, roots)
    kind = type(error).__name__.removesuffix("Error").lower()
    said: dict[str, Any] = {"kind": kind, "message": message}
    if name:
        ids = {file.name: file.id for file in desk.files.values()}
        ids |= {file.shown: file.id for file in desk.files.values()}
        said |= {"name": name, "line": line, "file": ids.get(name)}
    for fact in ("needed", "largest", "option"):
        if getattr(error, fact, None) is not None:
            said[fact] = getattr(error, fact)
    return said


def _bare(text: str, roots: list[Path]) -> str:
    """Remove the paths of folders from a text."""
    paths = {path for root in roots for path in (str(root), str(root.resolve()))}
    for path in sorted(paths, key=len, reverse=True):  # an inner folder before the one around it
        if len(path) > 1:
            text = text.replace(f"{path}/", "")
    return text
