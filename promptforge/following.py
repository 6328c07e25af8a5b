"""Templates that follow edits: the newest complete set, or the last good one."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from . import template_files
from .errors import PromptForgeError
from .folders import Source
from .template_files import PATIENCE, SETTLED, Stamps
from .templates import Templates


class Followed:
    """Templates that are read again when their files change; safe in any thread.

    A new set is taken once its files rest for `SETTLED` seconds and all of them compile; until then
    the last good set is used. A rendering keeps the set it began with.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        """Read `sources` as `Templates` does, whether they compile or not."""
        self._sources = tuple(sources)
        self._folders = [source for source in sources if isinstance(source, Path)]
        self._lock = threading.Lock()
        self._seen = self._stamps()
        self._current: tuple[Templates, str | None] = (Templates(self._sources), None)
        self._again = self._current[0].unread()
        """Look again even if nothing has changed: a disk may fail once and not the next time."""

    def newest(self) -> tuple[Templates, str | None]:
        """Return the set to use now, and the error of newer files that were not taken.

        One thread waits for files that are being written, at most `PATIENCE` seconds; the others go
        on with the last good set.
        """
        if self._lock.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._lock.release()
        return self._current

    def _look(self) -> None:
        good = self._current[0]
        try:
            stamps = self._stamps()
            if stamps == self._seen and not self._again:
                return
            newer, self._seen = self._rested(stamps)
            self._again = newer.unread()
            newer.check()
            self._current = (newer, None)
        except PromptForgeError as error:
            self._current = (good, str(error))

    def _stamps(self) -> list[Stamps]:
        return [template_files.stamps(folder) for folder in self._folders]

    def _rested(self, stamps: list[Stamps]) -> tuple[Templates, list[Stamps]]:
        """Return the templates once their files are at rest, with the stamps of these."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            time.sleep(SETTLED)
            before, stamps = stamps, self._stamps()
            if before == stamps:
                templates = Templates(self._sources)
                if self._stamps() == stamps:
                    return templates, stamps
        named = ", ".join(str(folder) for folder in self._folders)
        raise PromptForgeError(f"the template files keep changing in {named}")
