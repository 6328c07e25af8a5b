"""A check that a loop stays free while something blocks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from typing import Any


class LoopCheck:
    """Work in a thread waits here for the loop, and the loop comes only when it is free."""

    def __init__(self) -> None:
        self._came = threading.Event()

    async def run_beside(self, work: Awaitable[Any]) -> Any:
        """Await `work`, while this loop comes here too."""

        async def come() -> None:
            self._came.set()

        return (await asyncio.gather(work, come()))[0]

    def wait(self, _: object = None) -> None:
        """Block until the loop comes; fail if this call is what blocks it."""
        assert self._came.wait(120), "the loop is not free"
