"""Read Office documents with office-oxide, after a check of what they ask for.

The library holds all of a document in memory, 100 bytes for a tag of a few; what it would make of
one is counted before, in each part that it may read.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

from office_oxide import Document

from ..errors import ItemError
from ..text.format import plural

MAX_UNPACKED_BYTES = 128 << 20
"""Bytes that the parts of an Office document may have, without pictures; and its text."""
MAX_TAGS = 6_000_000
"""Tags of a text or slides; the library takes 100 bytes for each."""
MAX_CELLS = 4_000_000
"""Cells of the sheets of a workbook, with the empty ones up to its last column."""
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
_CELL_TAG = re.compile(
    rb"""</w:tc>|<w:tc(?=[\s>])|<w:gridSpan\s[^<>]{0,40}?val=["'](\d{1,2})["']"""
)
_EMPTY_CELL = b"<w:tc><w:p/></w:tc>"
_LISTED = re.compile(rb"""<(?:\w{1,20}:)?(?:sldId|sheet)\s[^<]*?:id\s{0,9}=\s{0,9}["']([^"'<]+)""")
"""A slide or sheet in the list of them, and the name by which a relation gives its part."""
_TARGET = re.compile(rb"""\sTarget\s{0,9}=\s{0,9}["']([^"'<]+)""")
_Warn = Callable[[str], None]


def read_parts(data: bytes, warn: _Warn, *, kind: str) -> Sequence[str]:
    """Return the text of each slide or sheet; of a text, all of it."""
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
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(written, "w") as after:
        files = {file.filename: file for file in before.infolist()}
        media = {name for name in files if "/media/" in name}
        if sum(files[name].file_size for name in files.keys() - media) > MAX_UNPACKED_BYTES:
            raise ItemError(f"unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB; split it")
        for name, file in files.items():
            part = b"" if name in media else before.read(file)
            after.writestr(name, _with_empty_cells(part) if kind == "docx" else part)
    with zipfile.ZipFile(written) as checked:
        if kind != "xlsx" and sum(checked.read(name).count(b"<") for name in files) > MAX_TAGS:
            raise ItemError(f"has more than {MAX_TAGS:,} tags of XML; split it")
        if kind == "xlsx":
            _check_sheets(lambda: (_as_utf8(checked.read(name)) for name in files), warn)
        most = sum(_count_listed(_as_utf8(checked.read(name)), name, checked) for name in files)
    if media:
        warn(f"{plural(len(media), 'picture is', 'pictures are')} not shown")
    return most, written.getvalue()


def _with_empty_cells(part: bytes) -> bytes:
    """Return a text of Word with empty cells behind each that spans several columns.

    The library shows the next cell at once, below the name of another column. So many empty cells
    as are more than the tags of a text are left to the check of these.
    """
    made, spans, end, room = list[bytes](), list[int](), 0, MAX_TAGS
    for tag in _CELL_TAG.finditer(part):
        if tag[0].startswith(b"<w:tc"):
            spans.append(1)
        elif spans and tag[1] and spans[-1] == 1:  # a tracked change gives the former one too
            spans[-1] = int(tag[1])
        elif spans and not tag[1]:
            number = min(spans.pop() - 1, room)
            room -= number
            if number > 0:
                made += part[end : tag.end()], _EMPTY_CELL * number
                end = tag.end()
    return b"".join([*made, part[end:]])


def _count_listed(part: bytes, name: str, archive: zipfile.ZipFile) -> int:
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
