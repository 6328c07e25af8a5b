"""Files of templates that draw on each other, edited while they are used."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import promptforge as pf
from promptforge.template_files import SETTLED

ITEMS = [{"content": "x", "name": "n"}]


def texts(version: str) -> dict[str, str]:
    """Three files that draw on each other, each with its version at its beginning and its end."""
    fill = f"{{# {'-' * 4000} #}}"
    return {
        "t/_base.txt.j2": f"<{version}{fill}\n{{% block body %}}{{% endblock %}}{fill}{version}>",
        "t/layout.txt.j2": f'{{% extends "t/_base.txt.j2" %}}{{% block body %}}{version}{fill}'
        "{% for item in items %}{{ item.text }}{% endfor %}{% endblock %}",
        "t/item.txt.j2": f'{{% include "t/_part.txt.j2" %}}{fill}{version}',
        "t/_part.txt.j2": f"{version}{fill}{version}",
    }


def save(folder: Path, files: dict[str, str], *, in_place: bool = True) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if in_place:
            path.write_text(text)
        else:
            (folder / "new").write_text(text)
            os.replace(folder / "new", path)


def versions(result: pf.Result) -> set[str]:
    return set(re.findall(r"v\d+", result.text))


def follower(folder: Path) -> pf.Renderer:
    return pf.Renderer(templates=folder, layout="t", format="plain", follow_edits=True)


@contextmanager
def busy_editor(folder: Path, *, in_place: bool) -> Iterator[set[str]]:
    """Write version after version: file by file, slowly enough that each write can be caught half done.

    Yields the versions amid which a busy machine let the editor rest as long as one who has finished would.
    """
    stop = threading.Event()
    stalled: set[str] = set()

    def edit() -> None:
        number = 2
        while not stop.is_set():
            version, last = f"v{number}", time.monotonic()
            for name, text in texts(version).items():
                if in_place:
                    with (folder / name).open("w", buffering=1) as file:
                        file.write(text[:2000])
                        file.flush()
                        time.sleep(SETTLED / 20)
                        file.write(text[2000:])
                else:
                    save(folder, {name: text}, in_place=False)
                    time.sleep(SETTLED / 20)
                now = time.monotonic()
                if now - last > SETTLED / 2:
                    stalled.add(version)
                last = now
            number += 1
            stop.wait(SETTLED * (number % 5))

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        yield stalled
    finally:
        stop.set()
        editor.join()


def is_whole(result: pf.Result, stalled: set[str]) -> bool:
    """Return whether a text is of one version, and whole; what a stall left on the disk is nobody's fault."""
    found = versions(result)
    return bool(found & stalled) or (len(found) == 1 and result.text.count(next(iter(found))) == 6)
