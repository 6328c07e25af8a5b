"""Read PDF and Office documents as Markdown: a part for each page, slide or sheet.

A form feed stands between two parts, as `pdftotext` prints them. The extra `documents` installs the
libraries; the first such file imports them. A file may be hostile: limits hold for its unpacked
bytes, its drawing commands and its cells, and a note names the parts that were not read. Limits of
a PDF stand in `pdf_pages`, those of Office files in `office_parts`.

Codes: PF611 a document that became Markdown, PF612 parts of one that are not shown.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import Diagnostics, ItemError, call_foreign
from ..files.access import show_path
from ..model import Item
from ..text.format import few, plural

_PARTS = {"docx": "part", "pdf": "page", "pptx": "slide", "xlsx": "sheet"}
"""Ending of a name → what a part is called."""
_BEGINNINGS = (b"PK\3\4", b"\xd0\xcf\x11\xe0")
"""First bytes of Office documents; the second are those of one with a password."""
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_NO_TEXT = "pictures and scans have none; OCR adds it, as `ocrmypdf` does"


def part_word(path: str) -> str | None:
    """Return what a part of a document is called (`page`); None for a file of any other name."""
    return _PARTS.get(path.rpartition(".")[2].lower())


def is_document(path: str, beginning: bytes) -> bool:
    """Tell whether a file is a document, by the ending of its name and its first bytes."""
    is_known = beginning.startswith(_BEGINNINGS) or b"%PDF-" in beginning[:1024]
    return is_known and part_word(path) is not None


def can_read(path: str) -> bool:
    """Tell whether the library for a document is installed."""
    library = "pypdf" if part_word(path) == "page" else "office_oxide"
    return importlib.util.find_spec(library) is not None


def read_document(path: str, data: bytes, diagnostics: Diagnostics) -> str:
    """Return the text of a document, its parts divided by form feeds; empty ones stay.

    Raises `ItemError` for a file that is damaged, encrypted, too large, or without any text.
    """
    where, unit = show_path(path), part_word(path)

    def refuse(message: str) -> ItemError:
        return ItemError(f"cannot be read: {message}", where=where)

    def warn(message: str) -> None:
        diagnostics.add("PF612", message, where=where)

    def read() -> Sequence[str]:
        if unit == "page":
            from .pdf_pages import read_pages  # it imports pypdf

            return read_pages(data, warn)
        from .office_parts import read_parts  # it imports the library

        return read_parts(data, warn, kind=path[-4:].lower())

    try:
        found = call_foreign(read, refuse)
    except ItemError as error:  # one of ours, without its place
        raise ItemError(error.bare, where=where) from error
    parts = [_BLANK_LINES.sub("\n\n", part.replace("\f", "\n")).strip() for part in found]
    empty = [str(number) for number, part in enumerate(parts, 1) if not part]
    if len(empty) == len(parts):
        raise refuse(f"it holds no text; {_NO_TEXT}")
    if empty:
        warn(f"{len(empty):,} of {len(parts):,} {unit}s hold no text{few(empty)}; {_NO_TEXT}")
    said = f"shown as Markdown: {plural(len(parts), f'{unit}', f'{unit}s')}"
    diagnostics.add("PF611", said, where=where, severity="info")
    return "\f".join(parts)


def document_items(path: str, text: str) -> Iterator[tuple[int, Item]]:
    """Yield number and item of each part of a document's text that is not empty.

    Metadata has its place: `page: 3`, `slide: 2`, or `sheet: Sales`.
    """
    unit, name = part_word(path), path.replace("\\", "/").rpartition("/")[2]
    for number, part in enumerate(text.split("\f"), 1):
        heading, _, rest = part.partition("\n")
        title = heading.removeprefix("## ")
        about: dict[str, Any] = {"name": name, "content": part}
        if unit == "page":
            about["content"] = f"## Page {number}\n\n{part}"
        elif unit == "slide" and title != f"Slide {number}":
            about["content"] = f"## Slide {number}: {title}\n{rest}".rstrip()
        if unit and unit != "part":
            place = title if unit == "sheet" else number
            about |= {"metadata": {unit: place}, "name": f"{name}, {unit} {place}"}
        if part:
            yield number, Item(kind="document", path=path, language="markdown", **about)
