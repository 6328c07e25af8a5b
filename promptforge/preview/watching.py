"""Tell the page that a file has changed, by somebody else or by a save of its own."""

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
"""Seconds between two looks at the files of items."""
BEAT = 15.0
"""Seconds of silence after which listeners get a sign of life."""


class News:
    """A signal to all listening pages that something has changed; it carries no data."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Event] = set()

    def tell(self) -> None:
        """Wake all listeners."""
        for listener in self._listeners:
            listener.set()

    @property
    def full(self) -> bool:
        """True while no more pages can listen."""
        return len(self._listeners) >= LISTENERS

    async def listen(self) -> AsyncIterator[bool]:
        """Yield True for a change, False for a sign of life."""
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
    # A name without a dot may be a new folder. Files written into it before it is watched make no
    # event of their own.
    return (name.endswith((".j2", *YAML)) or "." not in name) and not name.startswith(".")


async def watch_folders(folders: Sequence[Path], changed: Changed) -> None:
    """Call `changed` after a change of a template or profile, in `folders` or shipped."""
    every = [*folders, _shipped.folder("templates"), _shipped.folder("profiles")]
    there = list(dict.fromkeys(folder.resolve() for folder in every if folder.is_dir()))
    async for _ in watchfiles.awatch(
        *there, watch_filter=_is_ours, debounce=50, step=20, rust_timeout=1000
    ):
        await changed()


async def watch_files(paths: Sequence[Path], changed: Changed) -> None:
    """Call `changed` after a change of size or time of a file.

    Polled: a file of items may lie in a folder of a million others, which nobody wants watched.
    """
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
