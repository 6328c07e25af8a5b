"""Read PDF and Office documents as Markdown: a part for each page, slide or sheet.

A form feed stands between two parts, as `pdftotext` prints them. The extra `documents` installs the
libraries; the first such file imports them. A file may be hostile: limits hold for its unpacked
bytes, its drawing commands and its cells, and a note names the parts that were not read. Limits of
a PDF stand in `pdf_pages`.

Codes: PF611 a document that became Markdown, PF612 parts of one that are not shown.
"""

from __future__ import annotations

import importlib.util
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ..errors import Diagnostics, ItemError, call_foreign
from ..files.access import show_path
from ..model import Item
from ..text.format import plural

if TYPE_CHECKING:
    from zipfile import ZipFile

MAX_UNPACKED_BYTES = 128 << 20
"""Bytes that the parts of an Office document may have, without pictures; and its text."""
MAX_TAGS = 6_000_000
"""Tags of a text or slides; the library takes 100 bytes for each."""
MAX_CELLS = 4_000_000
"""Cells of the sheets of a workbook, with the empty ones up to its last column."""
MAX_PLACES_SHOWN = 5
_PARTS = {"docx": "part", "pdf": "page", "pptx": "slide", "xlsx": "sheet"}
"""Ending of a name → what a part is called."""
_BEGINNINGS = (b"PK\3\4", b"\xd0\xcf\x11\xe0")
"""First bytes of Office documents; the second are those of one with a password."""
_CELL = re.compile(rb"""\sr\s{0,9}=\s{0,9}["']([^"'<>\d]{1,40})""")
"""The column of a cell's place."""
_UNPLACED_CELL = re.compile(rb"<(?:\w{1,20}:)?c(?![\w:.-])(?![^<>]{0,300}?\sr\s{0,9}=)")
_STRING_CELL = re.compile(
    rb"""\st\s{0,9}=\s{0,9}["']s["'][^<>]{0,200}>\s{0,9}<(?:\w{1,20}:)?v>\s{0,9}(\d{1,9})"""
)
"""A cell and the number of its text."""
_STRING_END = re.compile(rb"</(?:\w{1,20}:)?si\s{0,9}>|<(?:\w{1,20}:)?si\s{0,9}/>")
_ROW = re.compile(rb"<(?:\w+:)?row\b")
_NO_VALUE = re.compile(rb"(?:</f>|<f [^>]*/>)(?:<v></v>|<v ?/>)?</c>")
"""The end of a cell with a formula that no program has worked out."""
_LISTED = re.compile(rb"""<(?:\w{1,20}:)?(?:sldId|sheet)\s[^<]*?:id\s{0,9}=\s{0,9}["']([^"'<]+)""")
"""A slide or sheet in the list of them, and the name by which a relation gives its part."""
_TARGET = re.compile(rb"""\sTarget\s{0,9}=\s{0,9}["']([^"'<]+)""")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_NO_TEXT = "pictures and scans have none; OCR adds it, as `ocrmypdf` does"
_Warn = Callable[[str], None]


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

    read = _read_pdf if unit == "page" else partial(_read_office, kind=path[-4:].lower())
    try:
        found = call_foreign(read, refuse, data, warn)
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


def few(places: Sequence[str]) -> str:
    """Return the first places in brackets."""
    more = " …" * (len(places) > MAX_PLACES_SHOWN)
    return f" ({', '.join(places[:MAX_PLACES_SHOWN])}{more})"


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


def _read_pdf(data: bytes, warn: _Warn) -> Sequence[str]:
    from .pdf_pages import read_pages  # it imports pypdf

    return read_pages(data, warn)


def _read_office(data: bytes, warn: _Warn, *, kind: str) -> Sequence[str]:
    from office_oxide import Document

    most = 0
    if data.startswith(b"PK"):
        most, data = _checked(data, kind, warn)
    text = Document.from_bytes(data, kind).to_markdown()  # type: ignore[arg-type]
    if len(text) > MAX_UNPACKED_BYTES:
        raise _too_much_text()
    parts = list(filter(None, re.split(r"(?m)^(?=## )", text)))
    # A paragraph may begin as the title of a slide does: then no number is certain.
    return parts if len(parts) <= most else [text]


def _checked(data: bytes, kind: str, warn: _Warn) -> tuple[int, bytes]:
    """Return the number of slides or sheets, and an archive of the parts that were checked.

    The library may take any part for a sheet, and read an archive in another way than `zipfile`
    does. So it gets a new one, where pictures and films are empty. Raises `ItemError` for an
    archive that unpacks to more than anybody reads.
    """
    import zipfile  # a run without such a file does without it

    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(written, "w") as after:
        files = {file.filename: file for file in before.infolist()}
        media = {name for name in files if "/media/" in name}
        if sum(files[name].file_size for name in files.keys() - media) > MAX_UNPACKED_BYTES:
            raise ItemError(f"unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB; split it")
        for name, file in files.items():
            after.writestr(name, b"" if name in media else before.read(file))
    with zipfile.ZipFile(written) as checked:
        if kind != "xlsx" and sum(checked.read(name).count(b"<") for name in files) > MAX_TAGS:
            raise ItemError(f"has more than {MAX_TAGS:,} tags of XML; split it")
        if kind == "xlsx":
            _check_sheets(lambda: (_as_utf8(checked.read(name)) for name in files), warn)
        most = sum(_count_listed(_as_utf8(checked.read(name)), name, checked) for name in files)
    if media:
        warn(f"{plural(len(media), 'picture is', 'pictures are')} not shown")
    return most, written.getvalue()


def _count_listed(part: bytes, name: str, archive: ZipFile) -> int:
    """Return the slides or sheets that a part lists; raise `ItemError` where one comes again."""
    listed = _LISTED.findall(part)
    folder, slash, own = name.rpartition("/")
    relations = f"{folder}{slash}_rels/{own}.rels"
    targets = list[bytes]()
    if listed and relations in archive.namelist():
        for relation in _as_utf8(archive.read(relations)).split(b"<"):
            if b"/slide" in relation or b"/worksheet" in relation:
                targets += [each.rpartition(b"/")[2] for each in _TARGET.findall(relation)]
    if len({*listed}) < len(listed) or len({*targets}) < len(targets):
        raise ItemError("lists a slide or sheet more than once; save it again in its program")
    return len(listed)


def _as_utf8(part: bytes) -> bytes:
    """Return a part in UTF-8, for the library reads UTF-16 as well."""
    if b"\0" not in part[:4]:
        return part
    name = "utf-16-be" if part.startswith((b"\0", b"\xfe\xff")) else "utf-16-le"
    return part.decode(name, "replace").encode()


def _check_sheets(read_parts: Callable[[], Iterable[bytes]], warn: _Warn) -> None:
    """Refuse a workbook that shows too much; warn of formulas without a value."""
    cells = unknown = characters = 0
    strings = list[int]()  # the longest of each number, whichever part the library takes
    for part in read_parts():
        lengths = map(len, _STRING_END.split(part)[:-1])
        strings = [max(pair) for pair in zip_longest(strings, lengths, fillvalue=0)]
    for sheet in read_parts():
        rows = len(_ROW.findall(sheet))
        columns = max(map(_column_number, {*_CELL.findall(sheet)}), default=0)
        if _UNPLACED_CELL.search(sheet):
            columns += max(len(_UNPLACED_CELL.findall(row)) for row in _ROW.split(sheet))
        cells += columns * rows
        unknown += len(_NO_VALUE.findall(sheet))
        for number, count in Counter(_STRING_CELL.findall(sheet)).items():
            if int(number) < len(strings):
                characters += count * strings[int(number)]
    if cells > MAX_CELLS:
        raise ItemError(f"its sheets have {cells:,} cells; export the part you need as CSV")
    if characters > MAX_UNPACKED_BYTES:
        raise _too_much_text()
    if unknown:
        formulas = plural(unknown, "formula has", "formulas have")
        warn(f"{formulas} no value; open the file in a program that works it out, and save it")


def _too_much_text() -> ItemError:
    most = MAX_UNPACKED_BYTES >> 20
    return ItemError(f"shows more than {most} MiB of text; export the part you need")


def _column_number(name: bytes) -> int:
    """Return the number of a column; the last one's for a name that is written unusually."""
    if not name.isalpha() or len(name) > 3:
        return 16_384
    return sum((letter - 64) * 26**place for place, letter in enumerate(reversed(name.upper())))
