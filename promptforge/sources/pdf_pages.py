"""Read the text of a PDF, page by page, with pypdf.

A file of a few kilobytes can ask for hours: pages that repeat, streams without a command, forms
that are drawn again and again, text in a million pieces. Each is counted before pypdf works on it.
"""

from __future__ import annotations

import io
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from pypdf import PageObject, PdfReader, apply_configuration
from pypdf.generic import DictionaryObject, EncodedStreamObject, IndirectObject, PdfObject

from ..errors import ItemError
from ..text.format import few, plural

MAX_STREAM_BYTES = 16 << 20
"""Bytes that a stream may have when it is unpacked."""
MAX_UNPACKED = 256 << 20
"""Bytes that all streams may have when they are unpacked; pypdf keeps each."""
MAX_PARSED = 32 << 20
"""Unpacked bytes of pages and forms, and entries of their fonts; again for each use of a form."""
MAX_FONT_ENTRIES = 1 << 21
"""Entries of the fonts of a page: pypdf holds them together."""
MAX_SEARCHED = 1 << 30
"""Bytes that are searched for objects that a file does not place; all of it for each of them."""
MAX_OPERATORS = 1_000_000
"""Drawing commands that are followed; a page of print has about 1,000."""
MAX_PAGE_CHARACTERS = 250_000
"""Characters that a page may show: for each piece of text pypdf copies those before it."""
_FONT_COST, _FONT_FAILED = 100, 100_000
"""Entries that a font stands for beside its own; those of one that pypdf cannot read."""
_TEXT_OPERATORS = (b"Tj", b"TJ", b"'", b'"')


class _Searched(io.BytesIO):
    """A file that counts how often pypdf takes all of it, to search for a lost object."""

    searched = 0

    def getbuffer(self) -> memoryview:
        self.searched += super().getbuffer().nbytes
        if self.searched > MAX_SEARCHED:
            raise ItemError("most of its objects are not where its table says; save it again")
        return super().getbuffer()


class _Reader(PdfReader):
    """A reader that counts the bytes of each stream when it is unpacked."""

    unpacked = 0

    def get_object(self, indirect_reference: int | IndirectObject) -> PdfObject | None:
        found = super().get_object(indirect_reference)
        if isinstance(found, EncodedStreamObject):
            found.get_data = partial(self._unpack, found)  # type: ignore[method-assign]
        return found

    def _unpack(self, stream: EncodedStreamObject) -> bytes:
        if stream.decoded_self is None:
            if self.unpacked > MAX_UNPACKED:
                raise ItemError(f"unpacks to more than {MAX_UNPACKED >> 20} MiB; split it")
            self.unpacked += len(EncodedStreamObject.get_data(stream))
        return EncodedStreamObject.get_data(stream)


class _Work:
    """Count what pages ask for, and stop them at a limit."""

    def __init__(self) -> None:
        self.parsed = self.operators = 0
        self.shown, self.entries, self.longest = 0, 0, 1  # of the page
        self.fonts: dict[int, tuple[int, int, DictionaryObject]] = {}
        self.is_too_much = False  # pypdf catches an error of a form and goes on

    def add(self, parsed: int) -> None:
        """Count what is parsed, and raise `OverflowError` where a limit is passed."""
        self.parsed += parsed
        self.is_too_much |= (
            self.parsed > MAX_PARSED
            or self.operators > MAX_OPERATORS
            or self.shown > MAX_PAGE_CHARACTERS
            or self.entries > MAX_FONT_ENTRIES
        )
        if self.is_too_much:
            raise OverflowError

    def parse(self, part: DictionaryObject, contents: bytes) -> None:
        """Count a page or form before pypdf parses it."""
        self.add(len(contents))
        resources = part.get_inherited("/Resources", {}).get_object()
        for font in resources.get("/Font", DictionaryObject()).get_object().values():
            entries, longest = self._measure(font.get_object())
            self.entries += entries
            self.longest = max(self.longest, longest)
            self.add(entries)

    def _measure(self, font: DictionaryObject) -> tuple[int, int]:
        """Return the entries of a font, and the characters that one of a text may become."""
        if id(font) not in self.fonts:
            try:
                from pypdf.generic._font import Font  # no public name has these tables

                made = Font.from_font_resource(font)
                entries = _FONT_COST + len(made.character_map) + len(made.character_widths)
                longest = max(map(len, made.character_map.values()), default=1)
            except ImportError:  # another version of pypdf
                entries, longest = _FONT_COST, 1
            except Exception:  # pypdf leaves such a font out
                entries, longest = _FONT_FAILED, 1
            self.fonts[id(font)] = entries, longest, font  # held, else another gets its id
        return self.fonts[id(font)][:2]

    def follow(self, operator: bytes, operands: Any, *_: object) -> None:
        """Count a command before pypdf follows it."""
        self.operators += 1
        if operator in _TEXT_OPERATORS:
            for operand in operands:
                pieces = operand if isinstance(operand, list) else [operand]
                lengths = (len(each) for each in pieces if isinstance(each, (str, bytes)))
                self.shown += sum(lengths) * self.longest
        self.add(0)


class _Page(PageObject):
    """A page that counts its contents, and its forms each time that they are drawn."""

    def __init__(self, page: PageObject, work: _Work) -> None:
        super().__init__(page.pdf, page.indirect_reference)
        self.update(page)
        self.work = work

    def read(self) -> str:
        self.work.shown, self.work.entries, self.work.longest = 0, 0, 1
        contents = self.get_contents()
        self.work.parse(self, b"" if contents is None else contents.get_data())
        return self.extract_text(visitor_operand_before=self.work.follow)

    def extract_xform_text(self, xform: Any, *args: Any, **options: Any) -> str:
        entries, longest = self.work.entries, self.work.longest
        self.work.parse(xform, xform.get_data())
        text = super().extract_xform_text(xform, *args, **options)
        self.work.entries, self.work.longest = entries, longest
        return text


def read_pages(data: bytes, warn: Callable[[str], None]) -> Sequence[str]:
    """Return the text of each page; warn of those that are not read."""
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # else it prints to the terminal
    with apply_configuration(
        array_based_stream_maximum_output_length=MAX_STREAM_BYTES,
        zlib_maximum_output_length=MAX_STREAM_BYTES,
        lzw_maximum_output_length=MAX_STREAM_BYTES,
        run_length_maximum_output_length=MAX_STREAM_BYTES,
    ):
        reader = _Reader(_Searched(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ItemError("has a password; save it without one")
        return list(_read_pages(reader, warn))


def _read_pages(reader: PdfReader, warn: Callable[[str], None]) -> Iterator[str]:
    work, damaged = _Work(), list[str]()
    titles: defaultdict[int, dict[str, int]] = defaultdict(dict)
    with suppress(Exception):  # a damaged outline costs the headings alone
        _find_titles(reader, reader.outline, 3, titles)
    texts: dict[int, str] = {}  # a page may stand in the file's list again and again
    for number, page in enumerate(reader.pages, 1):
        reference = page.indirect_reference
        place = reference.idnum if reference is not None else -number
        try:
            if place not in texts:
                texts[place] = ""
                texts[place] = _Page(page, work).read()
            work.add(len(texts[place]))
        except Exception:  # of a hostile file, any
            damaged.append(str(number))
        if work.is_too_much:
            damaged = damaged[:-1]
            if number == 1:
                raise ItemError("its first page draws more than is followed; split or simplify it")
            warn(f"only {number - 1:,} of {len(reader.pages):,} pages are read; split the file")
            break
        yield _with_headings(texts[place], titles[number - 1])
    if damaged:
        warn(f"{plural(len(damaged), 'damaged page', 'damaged pages')} left out{few(damaged)}")


def _with_headings(text: str, titles: dict[str, int]) -> str:
    lines = text.split("\n")
    for place, line in enumerate(lines):
        depth = titles.pop(" ".join(line.split()), 0)
        if depth:
            lines[place] = f"\n{'#' * depth} {line.strip()}\n"
    return "\n".join(lines)


def _find_titles(
    reader: PdfReader, entries: Sequence[Any], depth: int, titles: dict[int, dict[str, int]]
) -> None:
    """Put the titles of a PDF's outline into `titles`: page index → title → depth."""
    for entry in entries:
        if isinstance(entry, list):
            _find_titles(reader, entry, min(depth + 1, 6), titles)
        elif (page := reader.get_destination_page_number(entry)) is not None:
            titles[page][" ".join(str(entry.title).split())] = depth
