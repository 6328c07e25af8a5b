"""Changes of files by somebody else: watching them, and telling all listening pages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import watchfiles

from ..files import YAML_SUFFIXES, shipped_folder

MAX_LISTENERS = 8
"""Browsers that may listen at a time; all pages of one share a stream."""
POLL_SECONDS = 0.5
"""Seconds between two looks at the files of items."""
HEARTBEAT_SECONDS = 15.0
"""Seconds of silence after which listeners get a sign of life."""
Changed = Callable[[], Awaitable[None]]


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


def _is_ours(_change: watchfiles.Change, path: str) -> bool:
    name = Path(path).name
    # A name without a dot may be a new folder. Files written into it before it is watched make no
    # event of their own.
    return (name.endswith((".j2", *YAML_SUFFIXES)) or "." not in name) and not name.startswith(".")


async def watch_folders(folders: Sequence[Path], changed: Changed) -> None:
    """Call `changed` after a change of a template or profile, in `folders` or shipped."""
    every = [*folders, shipped_folder("templates"), shipped_folder("profiles")]
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
        await asyncio.sleep(POLL_SECONDS)
        now = [_state(path) for path in paths]
        if now != before:
            before = now
            await changed()


def _state(path: Path) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_size, found.st_mtime_ns
    return None
