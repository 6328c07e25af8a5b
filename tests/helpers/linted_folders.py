"""Templates and profiles written into the folder of the test, and the codes that `check` finds there."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from commandline import run

PAGE = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
ITEM = "{# One. #}\n{{ item.title }}\n"


def write(files: dict[str, str | bytes]) -> None:
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def found(*paths: str, notes: bool = False) -> list[str]:
    """Return the findings as `place: CODE`, without the notes."""
    ran = run("check", *paths)
    lines = re.findall(r"^(\S.*?: PF\d+)( note)?", ran.out, re.MULTILINE)
    assert ran.code == int(any(not note for _, note in lines)), ran
    return [line for line, note in lines if notes or not note]


def marked(out: str) -> list[str]:
    """Return what stands above each row of carets."""
    rows = out.splitlines()
    return [
        above[below.index("^") : below.rindex("^") + 1]
        for above, below in itertools.pairwise(rows)
        if re.fullmatch(r" +\| *\^+", below)
    ]
