"""Files of items: JSON, lines, tables and stores; a bad record is named by file and line."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from commandline import run
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.batch.rows import RenderBatch
from promptforge.errors import Diagnostics, ItemError, pip_install
from promptforge.model import Item
from promptforge.sources import item_files


def parse(text: str, where: str = "f.json") -> tuple[list[str | None], list[str]]:
    diagnostics = Diagnostics()
    items = item_files.parse_items(text, where=where, diagnostics=diagnostics)
    return [i.content for i in items], [f"{d.code} {d.where}" for d in diagnostics]


LIST = '[{"content": "a"}, {"content": "b"}]'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (LIST, "f.json"),
        (LIST, "no ending"),
        (LIST, "f.yaml"),
        ("\n  " + LIST + "\n", "f"),
        (f'{{"items": {LIST}}}', "f"),
        ('{"content": "a"}\n{"content": "b"}', "f"),
        ('{"content": "a"}\n\n  {"content": "b"}\r\n', "f.jsonl"),
        ("- content: a\n- content: b\n", "f"),
        ("items:\n- content: a\n- content: b\n", "f.yml"),
        ("# notes\n- {content: a}\n- {content: b}\n", "<stdin>"),
    ],
)
def test_forms(text: str, where: str) -> None:
    assert parse(text, where) == (["a", "b"], [])


def test_one_object_and_none() -> None:
    assert parse('{"content": "a"}') == (["a"], [])
    assert parse('{\n "content": "a"\n}', "f.jsonl2") == (["a"], [])
    assert parse("content: a", "f") == (["a"], [])
    for text in ("", " \n", "[]", '{"items": []}', "# nothing", "---\n...\n"):
        assert parse(text, "f") == ([], ["PF115 f"])


def test_a_bad_record_is_named_by_file_and_line() -> None:
    text = '[\n  {"content": "a"},\n\n  {"content":\n   ["x"]},\n'
    text = text.replace('["x"]', "[1]") + '  {"content": "b"}, {"content": 1}, 7\n]'
    assert parse(text) == (
        ["a", "b", "1"],
        ["PF204 f.json:4", "PF202 f.json:6[3]", "PF204 f.json:6[4]"],
    )
    inside = '{"about": "list",\n "items"\n:\n[{"content": {}},\n{"content": "b"}]}'
    assert parse(inside) == (["b"], ["PF201 f.json", "PF204 f.json:4"])
    with pytest.raises(ItemError, match=r"f\.json:2: the record is not usable: content: expected"):
        parse('\n{"content": []}')
    lines = '{"content": "a"}\n{"content": []}\n{"content": \n\n{"content": NaN}\n{"content": "b"}'
    assert parse(lines, "f.jsonl") == (
        ["a", "b"],
        ["PF204 f.jsonl:3", "PF204 f.jsonl:2", "PF204 f.jsonl:5"],
    )
    assert parse("- content: a\n-\n  content: [1]\n- content: b\n", "f.yaml") == (
        ["a", "b"],
        ["PF204 f.yaml:3"],
    )


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        (
            '[{"content": "a"}\n{"content": "b"}]',
            "f",
            r"f:2: not valid JSON: Expecting ',' delimiter \(column 1\)",
        ),
        ('[{"content": NaN}]', "f", "f:1: the record is not usable: content: expected text"),
        ('{"content": "a"', "f", "f:1: not valid JSON"),
        ("[" * 100_000, "f", "f:1: not valid JSON: nested too deeply"),
        ('{"a":' * 100_000, "f", "f:1: not valid JSON: nested too deeply"),
        (
            '[{"content": "a", "start_line": ' + "9" * 5000 + "}]",
            "f",
            "f:1: not valid JSON: a number of too many",
        ),
        ("null", "f.json", "f.json:1: expected a list of items"),
        ('{"items": 5}', "f", "f:1: items: expected a list"),
        ("not json\nnor this", "f.jsonl", "f.jsonl:1: not one line is valid JSON"),
        (
            "Dear reader,\nthis is: a letter: yes.",
            "f.txt",
            "f.txt:2: not valid YAML: .*expected a list of items",
        ),
        ("just prose", "f.txt", "f.txt:1: expected a list of items"),
        ("- &a content: x", "f", "f:1: anchors"),
    ],
)
def test_what_is_no_list_of_items(text: str, where: str, message: str) -> None:
    with pytest.raises(ItemError, match=message) as caught:
        parse(text, where)
    assert str(caught.value).isprintable()


def test_json_as_it_comes() -> None:
    diagnostics = Diagnostics()
    text = '[{"content": "a", "content": "b\\ud800", "score": 1e999, "metadata": {"n": 1e999}}]'
    items = item_files.parse_items(text, where="f", diagnostics=diagnostics)
    assert items == [Item(content="b\ud800", score=0.0, metadata={"n": "inf"})]
    assert [d.code for d in diagnostics] == ["PF211", "PF203", "PF202"]
    diagnostics = Diagnostics()
    item_files.parse_items(
        '{"content": "a"}\n{"content": "b", "a": {"b": 1, "b": 1}}',
        where="f.jsonl",
        diagnostics=diagnostics,
    )
    assert [(d.code, d.where) for d in diagnostics if d.code != "PF201"] == [("PF211", "f.jsonl:2")]


def test_files_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f.json").write_bytes(LIST.encode("utf-8-sig"))
    (tmp_path / "g.json").write_bytes(LIST.encode("utf-16"))
    for name in ("f.json", "g.json"):
        assert len(item_files.load_items(name, diagnostics=Diagnostics(), workspace=tmp_path)) == 2
    with pytest.raises(ItemError, match="no such file"):
        item_files.load_items("h", diagnostics=Diagnostics(), workspace=tmp_path)
    for data in (LIST.encode("utf-8-sig"), b'{"content": "a\xff"}\n{"content": "b"}'):
        diagnostics = Diagnostics()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert len(item_files.load_items("-", diagnostics=diagnostics, workspace=tmp_path)) == 2
        assert [d.where for d in diagnostics] == (["<stdin>:1"] if b"\xff" in data else [])


RECORDS = st.lists(
    st.builds(
        lambda c, n: {"content": c, "metadata": {"n": n}}, st.text(), st.none() | st.booleans()
    )
)


@given(RECORDS)
def test_all_forms_say_the_same(records: list[dict[str, object]]) -> None:
    expected = [Item(**record) for record in records]  # type: ignore[arg-type]
    said = Diagnostics()
    assert item_files.parse_items(json.dumps(records), where="f", diagnostics=said) == expected
    assert (
        item_files.parse_items(
            json.dumps({"items": records}, indent=1), where="f", diagnostics=said
        )
        == expected
    )
    lines = "\n".join(json.dumps(r, ensure_ascii=False) for r in records)
    assert item_files.parse_items(lines, where="f.jsonl", diagnostics=said) == expected
    assert {d.code for d in said} == (set() if records else {"PF115"})


@given(st.text() | st.text('[]{}":,ab \n-'))
def test_any_text_is_items_or_an_item_error(text: str) -> None:
    try:
        item_files.parse_items(text, where="f", diagnostics=Diagnostics())
    except ItemError as exc:
        assert exc.where is not None


def test_items_and_texts_come_from_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = pytest.importorskip("fsspec").filesystem("memory")
    store.pipe("/kept/items.jsonl", b'{"content": "one"}\n{"content": "two"}\n')
    store.pipe("/kept/src/app.py", b"def f():\n    return 1\n")
    store.pipe("/kept/src/bin.json", b"\0\1\2")
    found = pf.load("memory://kept/items.jsonl")
    assert [item.content for item in found] == ["one", "two"] and found.warnings == ()
    found = pf.load("memory://kept")
    assert [(item.path, item.url) for item in found][-1] == (
        "kept/src/app.py",
        "memory:///kept/src/app.py",
    )
    assert [(d.code, d.where) for d in found.warnings] == [("PF606", "memory:///kept/src/bin.json")]
    ran = run("render", "memory://kept/src/*.py", "--layout", "chunks")
    assert ran.code == 0 and "return 1" in ran.out
    key = "-----BEGIN {} KEY-----\nMIIEpAIBAAKCAQEA0123456789\nab==\n-----END"
    store.pipe("/kept/key.py", key.format("PRIVATE").encode())
    found = pf.load("memory://kept", exclude="*.json*")
    assert [item.path for item in found] == ["kept/src/app.py"]
    (said,) = found.warnings
    assert (
        said.code == "PF609"
        and "skipped 1 text with credentials: memory:///kept/key.py" in said.message
    )
    lost = run("render", "memory://kept/none.json")
    assert lost.code == 4 and "memory://kept/none.json: cannot be read" in lost.err
    # What a file or a row names reaches into no store.
    monkeypatch.chdir(tmp_path)
    Path("job.json").write_text('{"items": ["memory://kept/items.jsonl"]}')
    assert run("render", "--job", "job.json").code == 4
    row = {"items": ["memory://kept/items.jsonl"]}
    assert "no such file" in RenderBatch()({"request": [json.dumps(row)]})["error"][0]
    missing = run("render", "s3://bucket/items.jsonl")
    if importlib.util.find_spec("s3fs") is None:
        assert missing.code == 2 and pip_install("remote") in missing.err


def test_objects_one_after_another_are_records() -> None:
    assert parse('{\n"content": "a"\n}\n{"content": "b"}', "f.json") == (["a", "b"], [])
    assert parse('{"content": "a"} {"content": [1]}', "f") == (["a"], ["PF204 f:1"])


def test_a_record_that_shares_its_line_is_named_by_its_number() -> None:
    hits = [{"content": "a"}, {"content": None}, {"content": "b", "score": "high"}]
    told = ["PF204 f.json:1[1]", "PF202 f.json:1[2]"]
    assert parse(json.dumps(hits)) == (["a", "b"], told)
    assert parse(json.dumps({"items": hits})) == (["a", "b"], told)
    assert parse("[\n" + ",\n".join(map(json.dumps, hits)) + "]")[1] == [
        "PF204 f.json:3",
        "PF202 f.json:4",
    ]


def test_a_number_that_is_none_costs_itself_alone() -> None:
    assert parse('[{"content": "a", "score": NaN}]') == (["a"], ["PF202 f.json:1"])
    assert parse('{"content": "a", "name": NaN}', "f.jsonl") == (["a"], [])


def test_a_workbook_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "hits.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(
        ItemError, match=r"hits.xlsx: not text but a zip or an office file; read documents from"
    ):
        item_files.load_items("hits.xlsx", workspace=tmp_path, diagnostics=Diagnostics())


# --- lists of sources -----------------------------------------------------------------------------

RENDERER = pf.Renderer()
ITEMS = [
    pf.Item(content=f"Line {i} of the text. " * (i + 1), path=f"docs/{i}.md", score=1 - i / 10)
    for i in range(6)
]


def kept(result: pf.Result) -> list[tuple[str, str]]:
    return [(item.id, item.status) for item in result.items]


@pytest.mark.slow
@given(
    st.integers(20, 500),
    st.sampled_from(["markdown", "plain", "xml", "json", "yaml"]),
    st.sampled_from(["score", "value", "even", "drop_last", "repository"]),
)
def test_the_list_is_priced_with_the_items_and_shown_where_any_has_room(
    max_tokens: int, format_name: str, packing: str
) -> None:
    options: dict[str, Any] = {"max_tokens": max_tokens, "format": format_name, "packing": packing}
    result = RENDERER.render(ITEMS, sources=True, **options)
    assert result.tokens <= max_tokens
    said = [d.code for d in result.warnings if d.code == "PF125"]
    if said:
        assert result.text == RENDERER.render(ITEMS, **options).text
    assert said or not result.sources or "sources" in result.text.lower()
    assert "".join(result.text[span.start : span.end] for span in result.map) == result.text


def test_the_list_names_each_place_once_and_says_how_many_are_missing() -> None:
    hits = [
        {
            "content": f"Fact {n} about backoff. " * 20,
            "path": f"docs/f{n % 8}.md",
            "score": 1 - n / 99,
        }
        for n in range(40)
    ]
    for max_tokens in (500, 1_000, 2_000, 12_000):
        text = RENDERER.render(hits, sources=True, max_tokens=max_tokens, layout="chunks").text
        lines = text[text.index("**Sources:**") :].splitlines()[1:]
        places = [line for line in lines if "docs/" in line]
        assert len(set(places)) == len(places) and all(" (" not in line for line in places)
        missing = [f"- … {8 - len(places)} more left out"] if len(places) < 8 else []
        assert lines == places + missing


def test_a_message_says_that_the_list_has_no_room() -> None:
    alone = RENDERER.render(ITEMS[:1]).tokens
    result = RENDERER.render(ITEMS[:1], sources=True, max_tokens=alone, trim="none")
    (note,) = [d for d in result.warnings if d.code == "PF125"]
    assert "list of sources" in note.message and result.tokens == alone


@pytest.mark.parametrize("max_tokens", [60, 120, 200])
def test_a_named_budget_still_brings_the_item_back_whole(max_tokens: int) -> None:
    result = RENDERER.render(ITEMS, sources=True, max_tokens=max_tokens)
    for item in result.items:
        if item.fits_at is not None:
            again = RENDERER.render(ITEMS, sources=True, max_tokens=item.fits_at)
            assert {i.id: i.status for i in again.items}[item.id] == "included"


def test_the_text_of_one_origin_has_its_own_list() -> None:
    items = [
        pf.Item(content="a", path="a.md", origin="similarity"),
        pf.Item(content="b", path="b.md", origin="explicit"),
    ]
    result = RENDERER.render(items, sources=True)
    assert "Sources" in result.explicit_text
    assert "a.md" not in result.explicit_text


def test_a_trace_in_a_pipe_is_read_as_one() -> None:
    lines = "".join(f"\tat com.acme.C{n}.run(C{n}.java:{n})\n" for n in range(60))
    ran = run("render", "--max-tokens", "90", stdin=f"IOException: disk full\n{lines}")
    assert "IOException: disk full" in ran.out and "read as traceback" in ran.err


@pytest.mark.parametrize(
    "failure",
    [
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nKeyError: 1',
        "FAILED tests/test_a.py::test_x - KeyError",
        "TypeError: x is not a function\n    at run (/app/a.js:10:3)",
        "error[E0308]: mismatched types\n  --> src/main.rs:2:5",
    ],
)
def test_what_a_failing_program_says_into_a_pipe_is_a_log(failure: str) -> None:
    text = "".join(f"tests/test_{n}.py ....\n" for n in range(300)) + failure
    ran = run("render", "--max-tokens", "200", stdin=text)
    assert failure in ran.out and "read as log" in ran.err
    assert failure not in run("render", "--max-tokens", "200", "--name", "a.md", stdin=text).out
    assert "read as text" in run("render", stdin="The error: none.\nIt never FAILED here.").err


@pytest.mark.parametrize(
    "text", ["5", '"items.json"', '{"error": "rate limit"}', '{"message": "Internal", "code": 500}']
)
def test_a_file_of_something_else_than_items_is_an_error(folder: Path, text: str) -> None:
    Path("items.json").write_text(text, encoding="utf-8")
    ran = run("render", "items.json")
    assert ran.code == 4 and not ran.out


def test_a_settings_file_is_still_a_text(folder: Path) -> None:
    Path("package.json").write_text('{"name": "p", "type": "module"}', encoding="utf-8")
    ran = run("render", "package.json")
    assert ran.code == 0 and '"module"' in ran.out
