"""A judge of whether a loop is free: something that blocks, and a loop that must come meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from typing import Any


class Meeting:
    """Two who must be there at once: what waits in a thread, and the loop, which comes when it is free."""

    def __init__(self) -> None:
        self._came = threading.Event()

    async def beside(self, work: Awaitable[Any]) -> Any:
        """Return what `work` gives, while this loop comes to the meeting."""

        async def come() -> None:
            self._came.set()

        return (await asyncio.gather(work, come()))[0]

    def wait(self, _: object = None) -> None:
        """Wait for the loop; it fails where this call is what blocks it."""
        assert self._came.wait(20), "the loop is not free"
