"""Telling the page that a file was changed by somebody else, or by itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import watchfiles

from .. import _shipped
from ..folders import YAML

Changed = Callable[[], Awaitable[None]]

LISTENERS = 8
"""Pages that may listen at a time."""
EVERY = 0.5
"""Seconds between two looks at files that are named one by one."""
BEAT = 15.0
"""Seconds without news after which a sign of life is sent."""


class News:
    """What happened, to everybody who listens; each hears only that there is something new."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Event] = set()

    def tell(self) -> None:
        """Wake all listeners."""
        for listener in self._listeners:
            listener.set()

    @property
    def full(self) -> bool:
        """Whether nobody more can listen."""
        return len(self._listeners) >= LISTENERS

    async def listen(self) -> AsyncIterator[bool]:
        """Yield True for news, False for a sign of life."""
        heard = asyncio.Event()
        self._listeners.add(heard)
        try:
            while True:
                try:
                    await asyncio.wait_for(heard.wait(), BEAT)
                except TimeoutError:
                    yield False
                    continue
                heard.clear()
                yield True
        finally:
            self._listeners.discard(heard)


def _is_ours(_change: watchfiles.Change, path: str) -> bool:
    name = Path(path).name
    # A folder: what is written into a new one may come before anybody watches it.
    return (name.endswith((".j2", *YAML)) or "." not in name) and not name.startswith(".")


async def watch_folders(folders: Sequence[Path], changed: Changed) -> None:
    """Call `changed` when a template or profile in one of the folders, or a shipped one, has changed."""
    every = [*folders, _shipped.folder("templates"), _shipped.folder("profiles")]
    there = list(dict.fromkeys(folder.resolve() for folder in every if folder.is_dir()))
    async for _ in watchfiles.awatch(
        *there, watch_filter=_is_ours, debounce=50, step=20, rust_timeout=1000
    ):
        await changed()


async def watch_files(paths: Sequence[Path], changed: Changed) -> None:
    """Call `changed` when one of the files has another size or time."""
    before = [_state(path) for path in paths]
    while paths:
        await asyncio.sleep(EVERY)
        now = [_state(path) for path in paths]
        if now != before:
            before = now
            await changed()


def _state(path: Path) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_size, found.st_mtime_ns
    return None
