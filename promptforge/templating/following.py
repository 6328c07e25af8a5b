"""Templates that follow the edits of their files, for a process that runs while somebody writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from ..errors import PromptForgeError
from ..files import MAX_SETTLE_SECONDS, SETTLE_SECONDS, FileStamps, TemplateSource, folder_stamps
from .loader import Templates


class FollowedTemplates:
    """Templates that are read again when their files change; safe in any thread.

    A new set is taken once its files rest for `SETTLE_SECONDS` and all of them compile; until then
    the last good set is used. A rendering keeps the set it began with.
    """

    def __init__(self, sources: Sequence[TemplateSource]) -> None:
        """Read `sources` as `Templates` does, whether they compile or not."""
        self._sources = tuple(sources)
        self._folders = [source for source in sources if isinstance(source, Path)]
        self._lock = threading.Lock()
        self._seen = self._stamps()
        self._current: tuple[Templates, str | None] = (Templates(self._sources), None)
        self._again = self._current[0].unread()
        """Read again even if nothing has changed: a disk may fail once and not the next time."""

    def newest(self) -> tuple[Templates, str | None]:
        """Return the set to use now, and the error of newer files that were not taken.

        One thread waits for files that are being written, at most `MAX_SETTLE_SECONDS`; the others
        go on with the last good set.
        """
        if self._lock.acquire(blocking=False):
            try:
                self._refresh()
            finally:
                self._lock.release()
        return self._current

    def _refresh(self) -> None:
        good = self._current[0]
        try:
            stamps = self._stamps()
            if stamps == self._seen and not self._again:
                return
            newer, self._seen = self._read_at_rest(stamps)
            self._again = newer.unread()
            newer.check()
            self._current = (newer, None)
        except PromptForgeError as error:
            self._current = (good, str(error))

    def _stamps(self) -> list[FileStamps]:
        return [folder_stamps(folder) for folder in self._folders]

    def _read_at_rest(self, stamps: list[FileStamps]) -> tuple[Templates, list[FileStamps]]:
        """Return the templates once their files are at rest, with the stamps of these."""
        until = time.monotonic() + MAX_SETTLE_SECONDS
        while time.monotonic() < until:
            time.sleep(SETTLE_SECONDS)
            before, stamps = stamps, self._stamps()
            if before == stamps:
                templates = Templates(self._sources)
                if self._stamps() == stamps:  # nothing was written while they were read
                    return templates, stamps
        named = ", ".join(map(str, self._folders))
        raise PromptForgeError(f"the template files keep changing in {named}")
