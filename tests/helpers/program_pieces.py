"""Programs of many languages, divided as the tables of `kinds` have it done."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from places import DATA
from shipped_words import marks as shipped_marks

from promptforge.text.format import Marks
from promptforge.trimming import code, python
from promptforge.trimming.pieces import Pieces

STDLIB = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
PROGRAM_FILES = DATA / "programs"
SHOP = (PROGRAM_FILES / "shop.python").read_text(encoding="utf-8")


def whole(pieces: Pieces) -> str:
    return "".join(part.text for part in pieces.parts)


def divide(text: str, *, marks: Marks, language: str | None) -> Pieces | None:
    """Divide a program as the tables of `kinds` have it done."""
    found = python.divide(text, marks=marks) if language == "python" else None
    return found or code.divide(text, marks=marks, language=language)


def divided(text: str, language: str | None) -> Pieces:
    pieces = divide(text, marks=shipped_marks("[cut]"), language=language)
    assert pieces
    return pieces


PROGRAMS = {
    path.stem: path.read_text(encoding="utf-8") for path in sorted(PROGRAM_FILES.glob("*.txt"))
}


def kept(pieces: Pieces) -> list[int]:
    """Return how many lines of the text itself each variant keeps."""
    order = pieces.order({})
    found = []
    for number in range(len(order)):
        staying = pieces.closed(order[number + 1 :])
        found.append(sum(pieces.parts[i].text.count("\n") for i in staying))
    return found
