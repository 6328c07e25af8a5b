"""A PDF is read page by page; what a small file may ask for is counted before it is worked on."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import pytest

from promptforge.errors import Diagnostics, ItemError
from promptforge.sources.documents import read_document

pytest.importorskip("pypdf", reason="needs the extra documents: '.[test-all]'")
pytest.importorskip("office_oxide", reason="needs the extra documents: '.[test-all]'")

from promptforge.sources import pdf_pages

HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
SHOW = b"BT /F 12 Tf (%s) Tj ET\n"


def make_pdf(
    pages: Sequence[int], *streams: bytes, resources: bytes = b"", more: Sequence[bytes] = ()
) -> bytes:
    """Return a PDF with a page object for each stream, listed in the order of `pages`.

    Object 3 is the font `/F`; those of `more` follow it.
    """
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", HELVETICA, *more]
    resources = resources or b"<< /Font << /F 3 0 R >> >>"
    first = len(objects) + 2
    for stream in streams:
        objects.append(packed(stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents %d 0 R /Resources %s >>"
            % (len(objects), resources)
        )
    kids = b" ".join(b"%d 0 R" % (first + 2 * page) for page in pages)
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), kids)
    written, places = b"%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        written
        + b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
        + b"trailer << /Root 1 0 R /Size %d >>\n" % (len(objects) + 1)
        + b"startxref\n%d\n%%%%EOF" % len(written)
    )


def packed(data: bytes, entries: bytes = b"") -> bytes:
    data = zlib.compress(data)
    head = b"<< /Length %d /Filter /FlateDecode %s >>" % (len(data), entries)
    return head + b"\nstream\n" + data + b"\nendstream"


def read(data: bytes) -> tuple[list[str], list[str]]:
    said = Diagnostics()
    text = read_document("a.pdf", data, said)
    return text.split("\f"), [each.message for each in said]


def read_in_part(data: bytes) -> list[str]:
    """Return the pages of a PDF that is not read to its end."""
    pages, said = read(data)
    assert "pages are read; split the file" in said[0], said
    return pages


def test_commands_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_pages, "MAX_OPERATORS", 15)
    data = make_pdf([0, 1, 2], SHOW % b"one", SHOW % b"two" * 5, SHOW % b"three")
    assert read_in_part(data) == ["one"]


def test_bytes_without_a_command_are_counted_before_they_are_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pdf_pages, "MAX_PARSED", 5_000)
    data = make_pdf([0, 1, 2], SHOW % b"one", SHOW % b"two" + b"1 " * 3_000, SHOW % b"three")
    assert read_in_part(data) == ["one"]
    with pytest.raises(ItemError, match=r"its first page draws more than is followed; split"):
        read(make_pdf([0], SHOW % b"one" + b"1 " * 3_000))


def test_a_page_that_repeats_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_pdf([0] * 50 + [1], SHOW % b"one" + b"1 " * 1_000, SHOW % b"two")
    monkeypatch.setattr(pdf_pages, "MAX_PARSED", 5_000)
    assert read(data)[0] == ["one"] * 50 + ["two"]


def test_the_text_of_a_page_that_repeats_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_pdf([0] * 50, SHOW % (b"a" * 500))
    monkeypatch.setattr(pdf_pages, "MAX_PARSED", 9_000)
    assert 10 < len(read_in_part(data)) < 18


def test_a_form_is_counted_each_time_that_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    form = packed(
        SHOW % b"form" + b"1 " * 500,
        b"/Type /XObject /Subtype /Form /Resources << /Font << /F 3 0 R >> >>",
    )
    resources = b"<< /Font << /F 3 0 R >> /XObject << /X 4 0 R >> >>"
    data = make_pdf([0, 1], SHOW % b"one", b"/X Do " * 9, resources=resources, more=[form])
    assert read(data)[0] == ["one", "\n".join(["form"] * 9)]
    monkeypatch.setattr(pdf_pages, "MAX_PARSED", 9_000)
    assert read_in_part(data) == ["one"]


def test_characters_of_a_page_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_pages, "MAX_PAGE_CHARACTERS", 60)
    data = make_pdf([0, 1, 2], SHOW % b"one", SHOW % (b"a" * 60), SHOW % b"x" * 61)
    assert read_in_part(data) == ["one", "a" * 60]


def font(cmap: bytes) -> list[bytes]:
    inner = b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X >>"
    outer = b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H "
    return [outer + b"/ToUnicode 5 0 R /DescendantFonts [6 0 R] >>", packed(cmap), inner]


def test_entries_of_fonts_are_counted_for_each_name(monkeypatch: pytest.MonkeyPatch) -> None:
    more = font(b"1 beginbfrange\n<0000> <00FF> <0000>\nendbfrange")
    names = b"".join(b"/F%d 4 0 R " % number for number in range(40))
    data = make_pdf([0], SHOW % b"one", resources=b"<< /Font << %s >> >>" % names, more=more)
    monkeypatch.setattr(pdf_pages, "MAX_FONT_ENTRIES", 5_000)
    with pytest.raises(ItemError, match=r"its first page draws more than is followed"):
        read(data)


def test_a_character_that_a_font_makes_long_counts_as_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    more = font(b"1 beginbfchar\n<0061> <" + b"0062" * 100 + b">\nendbfchar")
    data = make_pdf([0], SHOW % b"\0a" * 9, resources=b"<< /Font << /F 4 0 R >> >>", more=more)
    assert read(data)[0][0].count("b") == 900
    monkeypatch.setattr(pdf_pages, "MAX_PAGE_CHARACTERS", 800)
    with pytest.raises(ItemError, match=r"its first page draws more than is followed"):
        read(data)


def test_unpacked_bytes_of_all_streams_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_pdf([0, 1, 2], *(SHOW % name + b" " * 4_000 for name in (b"one", b"two", b"three")))
    monkeypatch.setattr(pdf_pages, "MAX_UNPACKED", 7_000)
    pages, said = read(data)
    assert pages == ["one", "two", ""]
    assert said[0] == "1 damaged page left out (3)"


def test_searches_for_lost_objects_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_pdf([0, *range(500, 540)], SHOW % b"one")
    assert read(data)[0] == ["one"]
    monkeypatch.setattr(pdf_pages, "MAX_SEARCHED", 30 * len(data))
    with pytest.raises(ItemError, match=r"not where its table says; save it again"):
        read(data)
