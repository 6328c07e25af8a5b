"""Renderings for the page: each lane draws one thing at a time and forgets requests that were overtaken."""

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
"""How long the templates may take for each thing that is drawn; longer where there is more to be drawn."""
MEMORY = 1 << 30
"""Bytes that a rendering may take."""


class OvertakenError(Exception):
    """A newer request came while this one waited."""


class Lane:
    """One rendering at a time, behind a wall; of those that wait, only the last is done."""

    def __init__(self, desk: Desk, seconds: float, task: str = DRAW) -> None:
        self._desk = desk
        self._task = task
        self._seconds = seconds
        self._wall = Wall(seconds=self._enough, memory=MEMORY)
        self._lock = asyncio.Lock()
        self._last = 0

    @property
    def _enough(self) -> float:
        return self._seconds + self._desk.size / 250_000

    async def draw(self, request: Mapping[str, Any]) -> Answer:
        """Return what the task answers, or `{"error": …}`; raises `OvertakenError`."""
        self._last += 1
        mine = self._last
        async with self._lock:
            if mine != self._last:
                raise OvertakenError
            if self._wall.seconds < self._enough:  # there are more items than before
                self._wall.close()
                self._wall = Wall(seconds=self._enough, memory=MEMORY)
            given = {"items_key": self._desk.items_key, "items": None, "tokens": False, **request}
            try:
                answer = await self._call(given)
                if answer.get("needs") == "items":
                    answer = await self._call({**given, "items": self._desk.records})
            except PromptForgeError as error:
                return {"error": facts(error, self._desk)}
            return answer

    async def _call(self, request: Answer) -> Answer:
        return await asyncio.to_thread(self._wall.call, self._task, request)

    def close(self) -> None:
        """End the process behind the wall."""
        self._wall.close()


_PLACE = re.compile(r"^(?P<name>.*?):(?P<line>\d+)$", re.DOTALL)


def facts(error: PromptForgeError, desk: Desk) -> dict[str, Any]:
    """Return what a page is told of an error: what is wrong, and in which file and line; no path of this machine."""
    where, message = error.where or "", error.bare
    found = _PLACE.match(where)
    name, line = (found["name"], int(found["line"])) if found else (where, None)
    roots = [
        *desk.templates,
        *desk.profiles,
        _shipped.folder("templates"),
        _shipped.folder("profiles"),
    ]
    roots += [place for place in (desk.tests, desk.items_file and desk.items_file.parent) if place]
    name, message = _bare(name, roots), _bare(message, roots)
    names = {file.name: file.id for file in desk.files.values()} | {
        f.shown: f.id for f in desk.files.values()
    }
    said: dict[str, Any] = {
        "kind": type(error).__name__.removesuffix("Error").lower(),
        "message": message,
    }
    if name:
        said |= {"name": name, "line": line, "file": names.get(name)}
    for fact in ("needed", "largest", "option"):
        if getattr(error, fact, None) is not None:
            said[fact] = getattr(error, fact)
    return said


def _bare(text: str, roots: list[Path]) -> str:
    """Return a text with the paths of folders taken out of it."""
    forms = {form for root in roots for form in (str(root), str(root.resolve()))}
    for form in sorted(forms, key=len, reverse=True):
        if len(form) > 1:
            text = text.replace(f"{form}/", "")
    return text
