"""Tables of CSV: which are records, by their columns, and where they come from."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from commandline import run
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.errors import Diagnostics, ItemError
from promptforge.model import Item
from promptforge.sources import tables

_ROWS = [
    "title;url;text;score;start_line",
    'T1;https://e.org/1;"tar; many\nfiles";0,9;3',
    'T2;https://e.org/2;"find ""walks""";0,5;',
]


@pytest.mark.parametrize("change", [
    lambda text: text,
    lambda text: "\ufeff" + text.replace("\n", "\r\n"),
    lambda text: "sep=;\n" + text,
    lambda text: text.replace(";", "\t"),
    lambda text: text.replace(";", "|"),
])  # fmt: skip
def test_a_table_of_records(change: Callable[[str], str], tmp_path: Path) -> None:
    text = change("\n".join(_ROWS))
    (tmp_path / "hits.csv").write_text(text, encoding="utf-8", newline="")
    said = Diagnostics()
    items = tables.load_table("hits.csv", workspace=tmp_path, diagnostics=said)
    assert items is not None
    first, second = items
    assert (first.name, first.url, first.score, first.start_line) == (
        "T1", "https://e.org/1", 0.9, 3
    )  # fmt: skip
    assert str(first.content).split()[0].startswith("tar") and second.content == 'find "walks"'
    assert (first.origin, first.score_order) == ("similarity", "given")
    assert [each.message for each in said] == [
        "read as a table of 2 records; --file shows it as text"
    ]


def test_only_line_ends_end_a_row_of_a_table(tmp_path: Path) -> None:
    text = "content,score\none\u2028text,0.5\nwith a\fform feed,0.25\n"
    (tmp_path / "hits.csv").write_text(text, encoding="utf-8")
    near: dict[str, Any] = {"workspace": tmp_path, "diagnostics": Diagnostics()}
    items = tables.load_table("hits.csv", **near)
    assert items is not None and [item.score for item in items] == [0.5, 0.25]


def test_a_table_that_has_to_be_a_text_says_so(tmp_path: Path) -> None:
    for name, row in (("open.csv", '"x,1'), ("wide.csv", "a,1,b")):
        (tmp_path / name).write_text(f"content,score\n{row}\n")
        said = Diagnostics()
        assert tables.load_table(name, workspace=tmp_path, diagnostics=said) is None
        assert [(each.code, each.where) for each in said] == [("PF201", f"{name}:2")]


@pytest.mark.parametrize("text", [
    "id,description,price\n1,a lamp,3\n", "id,score\n1,2\n", "text\na\n", "", "text,id\na,b,c\n"
])  # fmt: skip
def test_a_table_of_anything_else_is_a_text(text: str, tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_text(text, encoding="utf-8")
    assert tables.load_table("shop.csv", workspace=tmp_path, diagnostics=Diagnostics()) is None


def _read(text: str, **how: Any) -> tuple[list[Item] | None, list[str]]:
    said = Diagnostics()
    items = tables.parse_table(text, where="a.csv", diagnostics=said, **how)
    return items, [f"{each.severity}: {each.message}" for each in said]


@pytest.mark.parametrize("header, kept, listed", [
    ("content,score,author", {"author": "Ann"}, 'column "author"'),
    ("text,id,label", {"label": "Ann"}, 'column "label"'),
    ("Chunk,Score,", {"": "Ann"}, 'column ""'),
    ("text,text,text", {"text_2": "0.9", "text_3": "Ann"}, 'columns "text_2", "text_3"'),
])  # fmt: skip
def test_other_columns_of_a_table_are_metadata(
    header: str, kept: dict[str, str], listed: str
) -> None:
    for how in ({}, {"is_named": False}):
        items, said = _read(f"{header}\nRefunds take a week.,0.9,Ann\n", **how)
        assert items is not None
        assert items[0].content == "Refunds take a week."
        assert kept.items() <= items[0].metadata.items()
        assert said == [
            f"info: read as a table of 1 record; {listed} kept as metadata; --file shows it as text"
        ]


@pytest.mark.parametrize("text, listed", [
    ("name,content,unit\nsugar,0.5,mg\nsalt,2 g,g\n", 'column "unit"'),
    ("id,description,price,a,b,c\n1,a red lamp,3,,,\n", 'columns "price", "a", "b" and 1 more'),
])  # fmt: skip
def test_a_table_of_data_names_the_columns_that_make_it_so(text: str, listed: str) -> None:
    message = f"info: read as text, for records have no {listed}"
    message += '; sentences in a column "content" make its rows records'
    assert _read(text) == (None, [message])


def test_a_broken_table_with_other_columns_is_said() -> None:
    assert _read("text,label\ngood day\n") == (
        None, ["info: read as text: it is not a table: fewer cells than columns"]
    )  # fmt: skip
    assert _read("text,score\ngood day\n")[0] is not None


@pytest.mark.parametrize("text", [
    "Title, text\nThe first line alone is like a header.\n",
    "Text, images and sound\nand so on\n",
    "text | score\n--- | ---\na b | 1\n",
    "text,score\n",
])  # fmt: skip
def test_prose_without_a_name_is_no_table(text: str) -> None:
    assert _read(text, is_named=False)[0] is None


def test_a_table_is_the_same_from_a_file_a_stream_and_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "id,text,source,author\n1,Refunds take a week.,r.md,Ann\n2,It is closed.,b.md,Bo\n"
    Path("c.csv").write_text(text)
    expected = run("render", "c.csv")
    assert "### r.md" in expected.out and 'column "author" kept as metadata' in expected.err
    for flags in ((), ("--name", "c.csv")):
        ran = run("render", "-", *flags, stdin=text)
        assert ran.out == expected.out
        assert ran.err == expected.err.replace("c.csv", "<stdin>")
    assert "1,Refunds" in run("render", "--file", "-", stdin=text).out
    data = "time,level,message\n1,info,it begins\n2,info,it ends\n3,info,it ended\n"
    ran = run("render", stdin=data)
    assert "2,info,it ends" in ran.out and 'no columns "time", "level"' in ran.err
    store = pytest.importorskip("fsspec").filesystem("memory")
    store.pipe("/tables/c.csv", text.encode())
    assert [item.path for item in pf.load("memory://tables/c.csv")] == ["r.md", "b.md"]
    assert [item.path for item in pf.load("memory://tables")] == ["tables/c.csv"]


def test_a_cell_may_be_a_page_and_a_row_may_lack_cells(tmp_path: Path) -> None:
    text = "text,score,name\n" + "word " * 100_000 + ",0.5,a\nshort\n"
    items, said = _read(text)
    assert items is not None and [len(item.content or "") for item in items] == [500_000, 5]
    assert (
        said[0] == "info: read as a table of 2 records; 1 row lacks cells; --file shows it as text"
    )


def test_a_packed_table_and_packed_lines_are_read(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {
        "c.csv": "\n".join(_ROWS), "d.jsonl": '{"content": "one"}\n{"content": "two"}\n'
    }  # fmt: skip
    for name, text in texts.items():
        Path(name).write_text(text)
        Path(f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        expected = run("render", name)
        assert expected.code == 0
        ran = run("render", f"{name}.gz")
        assert (ran.out, ran.err) == (expected.out, expected.err.replace(name, f"{name}.gz"))
        assert [item.content for item in pf.load(f"{name}.gz")]
    Path("cut.jsonl.gz").write_bytes(gzip.compress(b"x" * 9000)[:-9])
    assert "cut.jsonl.gz: cannot be unpacked" in run("render", "cut.jsonl.gz").err
    store = pytest.importorskip("fsspec").filesystem("memory")
    store.pipe("/packed/d.jsonl.gz", Path("d.jsonl.gz").read_bytes())
    assert len(pf.load("memory://packed/d.jsonl.gz")) == 2


@given(st.text("text,;\t|\" \n-µ'\r"), st.booleans())
def test_any_text_is_a_table_or_none_or_an_item_error(text: str, is_named: bool) -> None:
    with suppress(ItemError):
        _read(f"text,{text}", is_named=is_named)
