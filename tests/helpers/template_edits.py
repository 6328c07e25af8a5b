"""A folder of templates that use each other, and an editor that saves version after version."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import promptforge as pf
from promptforge.files import SETTLE_SECONDS

ITEMS = [{"content": "x", "name": "n"}]
SHOWN = 6
"""How often a text says its version: each file at its beginning and its end, where these are
printed.
"""


def texts(version: str) -> dict[str, str]:
    """Return files that draw on each other, each with its version at its beginning and its end."""
    fill = f"{{# {'-' * 4000} #}}"
    return {
        "t/_base.txt.j2": f"<{version}{fill}\n{{% block body %}}{{% endblock %}}{fill}{version}>",
        "t/layout.txt.j2": f'{{% extends "t/_base.txt.j2" %}}{{% block body %}}{version}{fill}'
        "{% for item in items %}{{ item.text }}{% endfor %}{% endblock %}",
        "t/item.txt.j2": f'{{% include "t/_part.txt.j2" %}}{fill}{version}',
        "t/_part.txt.j2": f"{version}{fill}{version}",
    }


def save(folder: Path, files: dict[str, str], *, in_place: bool = True) -> None:
    """Write files, in place or at one stroke each."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if in_place:
            path.write_text(text)
        else:
            (folder / "new").write_text(text)
            os.replace(folder / "new", path)


def versions(text: str) -> set[str]:
    """Return the versions that a text shows."""
    return set(re.findall(r"v\d+", text))


def follower(folder: Path) -> pf.Renderer:
    """Return a renderer of the folder that follows its edits."""
    return pf.Renderer(templates=folder, layout="t", format="plain", follow_edits=True)


def whole(text: str, pauses: Mapping[str, float]) -> bool:
    """Tell whether a text is of one version; one that an editor stood still amid may be mixed."""
    found = versions(text)
    return sum(map(text.count, found)) == SHOWN and (
        len(found) == 1 or any(pauses.get(version, 0) >= SETTLE_SECONDS for version in found)
    )


def edit(folder: Path, stop: Callable[[float], bool], *, in_place: bool) -> dict[str, float]:
    """Write version after version until `stop` (which waits so many seconds) says so: file by file,
    slowly enough that each write can be caught half done. Return the longest pause, in seconds,
    while each version was written: on a busy machine an editor may stand still for as long as
    nobody waits for it.
    """
    pauses: dict[str, float] = {}
    number, over = 2, False
    while not over:
        last, longest = time.monotonic(), 0.0
        for name, text in texts(f"v{number}").items():
            if in_place:
                with (folder / name).open("w", buffering=1) as file:
                    file.write(text[:2000])
                    file.flush()
                    time.sleep(SETTLE_SECONDS / 20)
                    file.write(text[2000:])
            else:
                save(folder, {name: text}, in_place=False)
                time.sleep(SETTLE_SECONDS / 20)
            now = time.monotonic()
            last, longest = now, max(longest, now - last)
        pauses[f"v{number}"] = longest
        number += 1
        over = stop(SETTLE_SECONDS * (number % 5))
    return pauses


@contextmanager
def busy_editor(folder: Path, *, in_place: bool) -> Iterator[dict[str, float]]:
    """Edit in a process of its own; once it has ended, what it gives holds the pauses."""
    editor = subprocess.Popen(
        [sys.executable, __file__, str(folder), *(["--in-place"] if in_place else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    pauses: dict[str, float] = {}
    try:
        yield pauses
    finally:
        said, _ = editor.communicate()
        pauses |= json.loads(said)


def main() -> None:
    """Edit until standard input ends."""
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    print(json.dumps(edit(Path(sys.argv[1]), ended.wait, in_place="--in-place" in sys.argv)))


if __name__ == "__main__":
    main()
