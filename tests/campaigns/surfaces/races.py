"""Templates that are edited while threads render: each text is of one version, and whole."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

from template_edits import ITEMS, busy_editor, follower, save, texts, versions, whole

import promptforge as pf

from .seen import Seen

SECONDS = 1.0
"""How long the threads render."""


def race(words: str, folder: Path) -> Iterator[Seen]:
    """Edit in the way that words describe: in place, by replacing, keeping time and size, or taking
    files away.
    """
    threads = re.search(r"(\d+) threads", words)
    count = int(threads[1]) if threads else 8
    place = folder / "edited"
    save(place, texts("v1"))
    renderer = follower(place)
    if re.search(r"mtime|same (?:size|time)", words):
        for name, text in texts("v2").items():
            state = (place / name).stat()
            save(place, {name: text})
            os.utime(place / name, ns=(state.st_atime_ns, state.st_mtime_ns))
        yield _judged("keeping size and time", [renderer.render(ITEMS)], {"v2"})
    if re.search(r"delet|remov|gone|renam", words):
        (place / "t").rename(place / "away")
        yield _judged("the folder away", [renderer.render(ITEMS)], {"v1", "v2"})
        (place / "away").rename(place / "t")
    for in_place in (True, False):
        results: list[pf.Result] = []
        with busy_editor(place, in_place=in_place) as pauses, ThreadPoolExecutor(count) as pool:
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                results += pool.map(lambda _: renderer.render(ITEMS), range(40))
        yield _judged(
            "written in place" if in_place else "replaced file by file", results, None, pauses
        )


def _judged(
    where: str,
    results: list[pf.Result],
    wanted: set[str] | None = None,
    pauses: Mapping[str, float] = MappingProxyType({}),
) -> Seen:
    wrong = None
    for result in results:
        found = versions(result.text)
        if not whole(result.text, pauses):
            wrong = f"H9: versions {sorted(found)} in one text"
        elif wanted and not found <= wanted:
            wrong = f"H9: {found} where {wanted} is due"
    return Seen(f"{where}, {len(results)} texts", results[-1].text, wrong=wrong)
