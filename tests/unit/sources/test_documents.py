"""PDF and Office documents are read as Markdown, page by page; hostile ones end in an error."""

from __future__ import annotations

import importlib.util
import io
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from commandline import run

import promptforge as pf
from promptforge.errors import Diagnostics, ItemError
from promptforge.model import Item
from promptforge.sources.documents import read_document
from promptforge.sources.text_files import load_documents, load_files

REASON = "needs the extra documents, python-docx, openpyxl and python-pptx: '.[test-all]'"
pypdf = pytest.importorskip("pypdf", reason=REASON)
pytest.importorskip("office_oxide", reason=REASON)
docx = pytest.importorskip("docx", reason=REASON)
openpyxl = pytest.importorskip("openpyxl", reason=REASON)
pptx = pytest.importorskip("pptx", reason=REASON)
generic = pytest.importorskip("pypdf.generic", reason=REASON)
office_parts = pytest.importorskip("promptforge.sources.office_parts", reason=REASON)

OPEN_XML = "http://schemas.openxmlformats.org"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def make_pdf(*pages: str, titles: dict[str, int] | None = None, password: str = "") -> bytes:
    """Return a PDF with the lines of each page, and an outline of title → page."""
    writer = pypdf.PdfWriter()
    name, number = generic.NameObject, generic.NumberObject
    font = generic.DictionaryObject(
        {name("/Type"): name("/Font"), name("/Subtype"): name("/Type1"), name("/BaseFont"): name("/Helvetica")}
    )  # fmt: skip
    for text in pages:
        page = writer.add_blank_page(612, 792)
        shown = "".join(f"({line}) Tj T*\n" for line in text.split("\n"))
        stream = generic.DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 14 TL 72 720 Td\n{shown}ET".encode() if text else b"")
        page[name("/Contents")] = writer._add_object(stream)
        fonts = generic.DictionaryObject({name("/F1"): font})
        page[name("/Resources")] = generic.DictionaryObject({name("/Font"): fonts})
        page[name("/Rotate")] = number(0)
    for title, at in (titles or {}).items():
        writer.add_outline_item(title=title, page_number=at)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def make_docx(picture: bool = False) -> bytes:
    document = docx.Document()
    document.add_heading("Sales", 1)
    document.add_paragraph("We sold ").add_run("412").bold = True
    document.add_paragraph("First", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for place, text in enumerate(["region", "units", "north", "a|b"]):
        table.cell(place // 2, place % 2).text = text
    if picture:
        document.add_picture(io.BytesIO(PNG))
    return saved(document)


def make_xlsx() -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "Sales 2026"
    for row in (["region", "units"], ["north", 412], ["south", 0.25]):
        book.active.append(row)
    book.active["B3"].number_format = "0%"
    book.active["B4"] = "=SUM(B2:B3)"
    book.create_sheet("Costs").append(["rent", 7])
    return saved(book)


def make_pptx(body: str = "Point one\nPoint two") -> bytes:
    slides = pptx.Presentation()
    first = slides.slides.add_slide(slides.slide_layouts[1])
    first.shapes.title.text = "Plan"
    first.placeholders[1].text = body
    first.notes_slide.notes_text_frame.text = "Say hello."
    second = slides.slides.add_slide(slides.slide_layouts[5])
    second.shapes.title.text = "Numbers"
    return saved(slides)


def saved(document: object) -> bytes:
    written = io.BytesIO()
    document.save(written)  # type: ignore[attr-defined]
    return written.getvalue()


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c6360000000020001e221bc330000000049454e44ae426082"
)


def with_part(archive: bytes, name: str, text: str | bytes, size: int | None = None) -> bytes:
    """Return an Office document with another part; its size may be a lie."""
    written = io.BytesIO()
    before = zipfile.ZipFile(io.BytesIO(archive))
    with before, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as after:
        for each in before.namelist():
            after.writestr(each, text if each == name else before.read(each))
    data = written.getvalue()
    return (
        data
        if size is None
        else data.replace(struct.pack("<I", len(text)), struct.pack("<I", size))
    )


def with_changed(archive: bytes, name: str, old: str, new: str) -> bytes:
    text = zipfile.ZipFile(io.BytesIO(archive)).read(name).decode()
    assert old in text
    return with_part(archive, name, text.replace(old, new))


def with_added(archive: bytes, name: str, text: str) -> bytes:
    written = io.BytesIO(archive)
    with zipfile.ZipFile(written, "a") as after:
        after.writestr(name, text)
    return written.getvalue()


def read(name: str, data: bytes, folder: Path) -> tuple[list[Item], list[str]]:
    (folder / name).write_bytes(data)
    said = Diagnostics()
    return load_files(name, workspace=folder, diagnostics=said), [each.message for each in said]


def test_a_pdf_has_an_item_for_each_page_with_its_headings(tmp_path: Path) -> None:
    data = make_pdf(
        "Intro\nHow kettles boil.", "", "2. Care\nRinse it.", titles={"Intro": 0, "2. Care": 2}
    )
    items, said = read("kettle.pdf", data, tmp_path)
    assert [(item.name, dict(item.metadata)) for item in items] == [
        ("kettle.pdf, page 1", {"page": 1}), ("kettle.pdf, page 3", {"page": 3}),
    ]  # fmt: skip
    assert items[0].content == "## Page 1\n\n### Intro\n\nHow kettles boil."
    assert (items[1].kind, items[1].language, items[1].path) == (
        "document",
        "markdown",
        "kettle.pdf",
    )
    assert said == [
        "1 of 3 pages hold no text (2); pictures and scans have none; OCR adds it, as `ocrmypdf` does",
        "shown as Markdown: 3 pages",
    ]
    assert [item.metadata["page"] for item in load_documents("kettle.pdf", workspace=tmp_path, diagnostics=Diagnostics())] == [1, 3]  # fmt: skip


def test_a_title_of_the_outline_heads_its_own_line(tmp_path: Path) -> None:
    data = make_pdf("See Care, below.\nCare\nRinse it.\nCare", titles={"Care": 0})
    (item,), _ = read("a.pdf", data, tmp_path)
    assert item.content == "## Page 1\n\nSee Care, below.\n\n### Care\n\nRinse it.\nCare"


def test_a_range_names_pages(folder: Path) -> None:
    Path("a.pdf").write_bytes(make_pdf("one", "two", "three"))
    ran = run("render", "a.pdf:2-3")
    assert "two" in ran.out and "three" in ran.out and "one" not in ran.out
    assert "page 5 lies past the end; the last page is 3" in run("render", "a.pdf:5").err


def test_a_word_document_keeps_headings_lists_and_tables(tmp_path: Path) -> None:
    items, said = read("a.docx", make_docx(picture=True), tmp_path)
    (item,) = items
    assert (item.content or "").startswith(
        "# Sales\n\nWe sold **412**\n\n- First\n\n| region | units |\n| --- | --- |\n| north | a\\|b |"
    )
    assert said == ["1 picture is not shown", "shown as Markdown: 1 part"]


def test_cells_behind_a_wide_one_stay_in_their_column(tmp_path: Path) -> None:
    document, show = docx.Document(), pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    tables = [document.add_table(3, 3), slide.shapes.add_table(3, 3, 0, 0, 1, 1).table]
    for table in tables:
        for place, text in enumerate(["name", "first", "second", "both", "", "2", "x", "3", ""]):
            table.cell(place // 3, place % 3).text = text
        table.cell(1, 0).merge(table.cell(1, 1))
        table.cell(2, 1).merge(table.cell(2, 2))
    rows = ["| name | first | second |", "| --- | --- | --- |", "| both |  | 2 |", "| x | 3 |  |"]
    for name, data in {"a.docx": saved(document), "a.pptx": saved(show)}.items():
        (item,), _ = read(name, data, tmp_path)
        shown = (item.content or "").replace("<br>", "").split("\n")
        assert [line for line in shown if line.startswith("|")] == rows


def test_many_wide_cells_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office_parts, "MAX_TAGS", 5_000)
    cell = '<w:tc><w:tcPr><w:gridSpan w:val="63"/></w:tcPr><w:p/></w:tc>'
    text = f"<w:document {W}><w:body><w:tbl><w:tr>{cell * 200}</w:tr></w:tbl></w:body></w:document>"
    data = with_part(make_docx(), "word/document.xml", text)
    with pytest.raises(ItemError, match="has more than 5,000 tags of XML; split it"):
        read("a.docx", data, tmp_path)


def test_a_workbook_has_an_item_for_each_sheet(tmp_path: Path) -> None:
    items, said = read("a.xlsx", make_xlsx(), tmp_path)
    assert [(item.metadata["sheet"], item.content) for item in items] == [
        ("Sales 2026", "## Sales 2026\n\n| region | units |\n| --- | --- |\n| north | 412 |\n| south | 25% |\n|  |  |"),
        ("Costs", "## Costs\n\n| rent | 7 |\n| --- | --- |"),
    ]  # fmt: skip
    assert (
        said[0]
        == "1 formula has no value; open the file in a program that works it out, and save it"
    )


def test_a_presentation_has_an_item_for_each_slide(tmp_path: Path) -> None:
    items, _ = read("a.pptx", make_pptx(), tmp_path)
    assert [item.metadata["slide"] for item in items] == [1, 2]
    assert (items[0].content or "").startswith("## Slide 1: Plan\n\n- Point one\n- Point two\n")
    assert "Say hello." in (items[0].content or "") and items[1].content == "## Slide 2: Numbers"


def test_a_paragraph_that_looks_like_a_title_makes_no_slide(tmp_path: Path) -> None:
    texts = [item.content or "" for item in read("a.pptx", make_pptx("x\n## Slide 9"), tmp_path)[0]]
    assert "Slide 9" in "".join(texts) and len(texts) <= 2
    assert all(not text.startswith("## Slide 9") for text in texts)


def test_documents_of_a_folder_are_read_and_answer(folder: Path) -> None:
    Path("care.pdf").write_bytes(make_pdf("Steam.", "Descale it with vinegar.", "Lids."))
    Path("notes.md").write_text("# Notes\n")
    ran = run("render", ".", "--query", "descale vinegar", "--max-tokens", "90")
    assert "Descale it with vinegar." in ran.out
    found = pf.load(search="vinegar")
    assert [item.metadata for item in found] == [{"page": 2}]
    assert len(pf.load("care.pdf")) == 3


def test_count_takes_the_pages_of_a_document_together(folder: Path) -> None:
    Path("care.pdf").write_bytes(make_pdf("Steam.", "Descale it with vinegar."))
    Path("data.bin").write_bytes(b"\0\1\2")
    alone, of_folder = run("count", "care.pdf"), run("count", ".")
    tokens, name = alone.out.split()
    assert name == "care.pdf" and int(tokens) > 5
    assert of_folder.out.split()[:2] == [tokens, "care.pdf"]
    assert run("count", "data.bin").code == 4
    for piped in (Path("care.pdf").read_bytes(), b"\0\1\2"):
        ran = run("count", "-", stdin=piped)
        assert (ran.code, ran.out) == (4, "")


def test_without_the_extra_the_message_names_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    Path("a.pdf").write_bytes(make_pdf("one"))
    Path("b.md").write_text("two\n")
    ran = run("render", "a.pdf")
    assert (
        ran.code == 4 and "read with an extra: pip install" in ran.err and "[documents]" in ran.err
    )
    ran = run("render", ".")
    assert "1 documents (a.pdf); pip install" in ran.err and "two" in ran.out


BOMB = f"<w:document {W}><w:body><w:p><w:r><w:t>{'a ' * 500_000}</w:t></w:r></w:p></w:body></w:document>"
FAR = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 400))
ODD = FAR.replace(' r="XFD', ' r = "&#88;fd')
WIDE = f"<row>{'<c/>' * 2000}</row>" + "<row/>" * 2199
ENTITY = f'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><w:document {W}><w:body><w:p><w:r><w:t>X&a;Y</w:t></w:r></w:p></w:body></w:document>'
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "cut.docx": (lambda: make_docx()[:5000], "cannot be read: BadZipFile"),
    "locked.docx": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4000), "password-protected"),
    "bomb.docx": (lambda: with_part(make_docx(), "word/document.xml", BOMB), "unpacks to more than 0 MiB"),
    "liar.docx": (lambda: with_part(make_docx(), "word/document.xml", BOMB, 500), "Bad CRC-32 for file"),
    "far.xlsx": (
        lambda: with_part(make_xlsx(), "xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{FAR}</sheetData></worksheet>"),
        "its sheets have 6,537,2",
    ),
    "odd.xlsx": (
        lambda: with_part(make_xlsx(), "xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{ODD}</sheetData></worksheet>"),
        "its sheets have 6,537,2",
    ),
    "wide.xlsx": (
        lambda: with_part(make_xlsx(), "xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{WIDE}</sheetData></worksheet>"),
        "its sheets have 4,400,0",
    ),
    "utf16.xlsx": (
        lambda: with_part(make_xlsx(), "xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{FAR}</sheetData></worksheet>".encode("utf-16")),
        "its sheets have 6,537,2",
    ),
    "cut.pdf": (lambda: make_pdf("one")[:300], "cannot be read"),
    "locked.pdf": (lambda: make_pdf("one", password="x"), "has a password; save it without one"),
    "scan.pdf": (lambda: make_pdf("", ""), "it holds no text; pictures and scans have none"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_read_is_an_error_with_the_reason(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, message = HOSTILE[name]
    monkeypatch.setattr(office_parts, "MAX_UNPACKED_BYTES", 900_000)
    with pytest.raises(ItemError, match=f"^{name}: ") as raised:
        read(name, make(), tmp_path)
    assert message in str(raised.value)


def moved(archive: bytes, old: str, new: str) -> bytes:
    """Return an Office document where a part has another name, also in those that name it."""
    written = io.BytesIO()
    before = zipfile.ZipFile(io.BytesIO(archive))
    with before, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as after:
        for each in before.namelist():
            text = before.read(each).replace(f"/{old}".encode(), f"/{new}".encode())
            after.writestr(new if each == old else each, text)
    return written.getvalue()


def test_a_part_of_any_name_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sheet = "xl/worksheets/sheet1.xml"
    rows = '<row r="1"><c r="A1"><v>7</v></c></row>' * 9_000
    full = with_part(make_xlsx(), sheet, f"<worksheet><sheetData>{rows}</sheetData></worksheet>")
    assert "| 7 |" in (
        read("a.xlsx", moved(full, sheet, "data/s.dat"), tmp_path)[0][0].content or ""
    )
    monkeypatch.setattr(office_parts, "MAX_UNPACKED_BYTES", 300_000)
    with pytest.raises(ItemError, match="unpacks to more than"):
        read("a.xlsx", moved(full, sheet, "data/s.dat"), tmp_path)
    items, said = read("a.xlsx", moved(full, sheet, "xl/media/s.png"), tmp_path)
    assert [item.metadata["sheet"] for item in items] == ["Costs"]
    assert "1 picture is not shown" in said


def test_a_text_counts_for_each_cell_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 99))
    sheet = f"<worksheet><sheetData>{cells}</sheetData></worksheet>"
    data = with_part(make_xlsx(), "xl/worksheets/sheet1.xml", sheet)
    shared = "officeDocument/2006/relationships/sharedStrings"
    link = f'<Relationship Id="rId99" Type="{OPEN_XML}/{shared}" Target="sharedStrings.xml"/>'
    data = with_changed(data, "xl/_rels/workbook.xml.rels", "</Rel", f"{link}</Rel")
    data = with_added(data, "xl/sharedStrings.xml", f"<sst><si><t>{'a' * 9_000}</t></si></sst>")
    assert len(read("a.xlsx", data, tmp_path)[0][0].content or "") > 880_000
    monkeypatch.setattr(office_parts, "MAX_UNPACKED_BYTES", 880_000)
    with pytest.raises(ItemError, match="shows more than 0 MiB of text; export the part you need"):
        read("a.xlsx", data, tmp_path)


@pytest.mark.parametrize("name", ["a.xlsx", "a.pptx"])
def test_a_part_that_is_listed_again_is_refused(name: str, tmp_path: Path) -> None:
    if name == "a.xlsx":
        data, part, one, two = make_xlsx(), "xl/workbook.xml", "rId2", "rId1"
        files = "sheet2.xml", "sheet1.xml"
    else:
        data, part, one, two = make_pptx(), "ppt/presentation.xml", "rId9", "rId7"
        files = "slide2.xml", "slide1.xml"
    folder, _, own = part.rpartition("/")
    again = with_changed(data, part, f'id="{one}"', f'id="{two}"')
    elsewhere = with_changed(data, f"{folder}/_rels/{own}.rels", *files)
    for hostile in (again, elsewhere):
        assert hostile != data
        with pytest.raises(ItemError, match="lists a slide or sheet more than once"):
            read(name, hostile, tmp_path)


def test_tags_of_a_text_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office_parts, "MAX_TAGS", 2_000)
    with pytest.raises(ItemError, match="has more than 2,000 tags of XML; split it"):
        read("a.docx", make_docx(), tmp_path)


def test_no_entity_of_xml_is_followed(tmp_path: Path) -> None:
    (item,), _ = read("a.docx", with_part(make_docx(), "word/document.xml", ENTITY), tmp_path)
    assert item.content == "X&a;Y"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx", "a.pdf"])
def test_damaged_bytes_end_in_a_text_or_an_error_of_ours(name: str) -> None:
    whole = {"docx": make_docx, "xlsx": make_xlsx, "pptx": make_pptx}.get(
        name[2:], lambda: make_pdf("one", "two")
    )()
    chance = random.Random(name)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        try:
            assert read_document(name, bytes(data), Diagnostics())
        except ItemError as error:
            assert error.where == name
