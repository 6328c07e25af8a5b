"""Following edits: the newest whole set of templates, or the last good one."""

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
    """Templates that are read again when their files change. Used from any thread.

    A set is taken when its files have been at rest for `SETTLED` seconds and all of them compile; until then, and
    where that does not happen, the last good set stands. Whoever holds a set keeps it: a rendering uses one throughout.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        """Read `sources` as `Templates` does, whether they compile or not."""
        self._sources = tuple(sources)
        self._folders = [source for source in sources if isinstance(source, Path)]
        self._lock = threading.Lock()
        self._seen = self._stamps()
        self._current: tuple[Templates, str | None] = (Templates(self._sources), None)
        self._again = self._current[0].unread()
        """Whether to look again though nothing has changed: a disk that fails once may not fail the next time."""

    def newest(self) -> tuple[Templates, str | None]:
        """Return the set to use now, and what is wrong with newer files that were not taken.

        Waits for files that are being written, at most `PATIENCE` seconds, in one thread; the others go on.
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
        """Return the templates once their files are at rest, and the state these were in."""
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
