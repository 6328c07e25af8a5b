"""Rows of a batch: their keys and results; a wrong row ends no other."""

from __future__ import annotations

import bz2
import json
import lzma
import os
from pathlib import Path
from typing import Any

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import promptforge as pf
from promptforge import batch
from promptforge.batch import rows
from promptforge.batch.rows import (
    BatchInput,
    RenderBatch,
    RowRenderer,
    Shard,
    check_first_rows,
    make_spec,
    row_id,
)
from promptforge.engine import gather
from promptforge.errors import ItemError, OptionError

ITEM = {"content": "x = 1", "path": "a.py", "kind": "code"}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("note.txt").write_text("a note", encoding="utf-8")
    Path("items.jsonl").write_text('{"content": "from a file"}\n', encoding="utf-8")
    Path("history.json").write_text('[{"role": "user", "content": "before"}]', encoding="utf-8")
    Path("outside.txt").symlink_to("/etc/passwd")


def renderer(to: str = "context", **options: Any) -> RowRenderer:
    return RowRenderer(make_spec(to, None, None, None, ".", None, options))


def record(raw: object, to: str = "context", **options: Any) -> dict[str, Any]:
    data = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    line = renderer(to, **options).row(3, data).body.removesuffix(b"\n")
    made: dict[str, Any] = json.loads(line)
    assert b"\n" not in line and made["line"] == 3
    return made


@pytest.mark.parametrize("name", ["out.jsonl", "./out.jsonl", "hard.jsonl", "out.jsonl:1-2"])
def test_a_row_that_names_the_output_leaves_it_as_it_was(name: str) -> None:
    Path("out.jsonl").write_text("precious\n")
    os.link("out.jsonl", "hard.jsonl")
    spec = replace(make_spec("context", None, None, None, ".", None, {}), output="out.jsonl")
    line = RowRenderer(spec).row(1, json.dumps({"files": [name], "id": "a"}).encode()).body
    assert b"is the output of this batch" in line and b"precious" not in line


def test_a_result_is_that_of_the_engine() -> None:
    result = pf.render([ITEM], max_tokens=50, format="xml")
    assert record({"id": "a", "items": [ITEM], "max_tokens": 50}, format="xml") == {
        "id": "a",
        "line": 3,
        "text": result.text,
        "tokens": result.tokens,
        "exact": True,
        "items_included": 1,
        "items_trimmed": 0,
        "items_dropped": 0,
        "truncated": False,
        "cut": [],
        "warnings": [],
    }


def test_a_result_names_the_items_that_are_not_whole_with_the_reason() -> None:
    items = [
        {"content": "word " * 90, "name": "A", "id": "a"},
        {"content": "word " * 90, "path": "b.md"},
        {"content": "other " * 90, "score": 0.5},
        {"content": "tar", "required": True},
    ]
    row = {"items": items, "max_tokens": 60}
    assert record(row)["cut"] == [
        {"item": 0, "id": "a", "name": "A", "status": "dropped", "reason": "duplicate"},
        {"item": 1, "name": "b.md", "status": "trimmed", "reason": "budget"},
        {"item": 2, "status": "dropped", "reason": "budget"},
    ]
    made = RenderBatch()({"request": [json.dumps(row), "{"]})
    assert json.loads(made["cut"][0]) == record(row)["cut"] and made["cut"][1] == "[]"
    assert json.loads(made["warnings"][0]) == record(row)["warnings"] != []


def test_a_key_that_a_row_has_twice_is_said() -> None:
    raw = b'{"items": [{"content": "a", "content": "b"}], "max_tokens": 9, "max_tokens": 50}'
    made = record(raw, to="text")
    assert [warning["code"] for warning in made["warnings"]] == ["PF211"] and "b" in made["text"]
    assert (
        made["warnings"][0]["message"]
        == 'twice in one object: "content", "max_tokens"; the last of the values is taken'
    )
    assert record(raw, strict=True)["error"] == "StrictError"


def test_options_of_a_row_win() -> None:
    assert (
        record({"items": [ITEM], "format": "plain"}, format="xml")["text"]
        == pf.render([ITEM], format="plain").text
    )
    named = record({"items": [ITEM], "profile": "claude"}, max_tokens=300)
    assert named["text"] == pf.render([ITEM], profile="claude").text


@pytest.mark.parametrize(
    "given, shown",
    [
        ({"id": "a"}, "a"),
        ({"id": 7}, "7"),
        ({"id": 7.0}, "7"),
        ({}, "row-3"),
        ({"id": None}, "row-3"),
        ({"id": ""}, "row-3"),
    ],
)
def test_an_id_is_given_or_derived(given: dict[str, Any], shown: str) -> None:
    assert record({"items": [ITEM], **given})["id"] == shown


def test_a_number_with_a_point_that_may_have_been_another_is_no_id() -> None:
    made = record({"items": [ITEM], "id": 9007199254740993.0})
    assert made["message"] == "id: expected text or a whole number, found float"


def test_a_whole_prompt_is_that_of_the_renderer() -> None:
    row = {"items": [ITEM], "system": "be kind", "user": "why?", "history": "history.json"}
    prompt = pf.Renderer().prompt(
        [ITEM],
        system="be kind",
        user="why?",
        history=[{"role": "user", "content": "before"}],
        to="openai",
    )
    made = record(row, "openai")
    assert (made["request"], made["tokens"]) == (prompt.request, prompt.tokens)
    assert record(row, "text")["text"].endswith("why?\n</question>")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"q": "why?", "ctx": ["x"]}, []),
        ({"q": None, "ctx": ["x"]}, ['the row has no question: its column "q" is null']),
        ({"q": " \n", "ctx": "x"}, ['the row has no question: its column "q" is empty']),
        ({"ctx": [{"content": "x"}]}, ['the row has no question: its column "q" is missing']),
        ({"q": "why?", "ctx": []}, ['the row has no items: its column "ctx" is empty']),
        (
            {"id": 1},
            [
                'the row has no question: its column "q" is missing',
                'the row has no items: its column "ctx" is missing',
            ],
        ),
    ],
)
def test_a_row_without_a_value_in_a_column_says_so(row: dict[str, Any], said: list[str]) -> None:
    columns = {"user": "q", "items": "ctx"}

    def made(**options: Any) -> dict[str, Any]:
        spec = make_spec("openai", None, None, None, ".", None, options, columns)
        line = RowRenderer(spec).row(1, json.dumps(row).encode()).body
        return dict(json.loads(line))

    found = [each["message"] for each in made().get("warnings", ())]
    if "id" in row:  # a prompt of nothing
        assert "nothing to make a prompt of" in made()["message"]
    else:
        assert found == said
    assert ("error" in made(strict=True)) == bool(said)


def test_names_are_read_in_the_workspace() -> None:
    assert "a note" in record({"files": "note.txt"})["text"]
    assert "from a file" in record({"items": ["items.jsonl", ITEM]})["text"]
    assert "a note" in record({"knowledge": {"documents": ["note.txt"]}})["text"]
    Path("items.jsonl").write_text('{"content": "half \\ud800 a pair"}\n')
    assert "half \ufffd a pair" in record({"items": "items.jsonl"})["text"]


BAD: list[tuple[object, str, str]] = [
    (b"not json", "ItemError", "not valid JSON"),
    (b"", "ItemError", "not valid JSON"),
    (b" longer than \xc2\xbd MiB", "ItemError", "longer than ½ MiB"),
    (b"[", "ItemError", "one object in one line, as jq"),
    (b'"id": 1,', "ItemError", "one object in one line, as jq"),
    (b"[1]", "ItemError", 'found list; a row is a request, such as {"items": [{"content":'),
    (b'{"content": "x"}', "OptionError", 'unknown key "content"; a row is a request, such as {"'),
    (b"null", "ItemError", "found null"),
    (b'{"a":' * 100_000, "ItemError", "nested too deeply"),
    (b'{"items": [{"content": NaN}]}', "ItemError", "NaN is not a JSON number"),
    (b'{"items": "\xff"}', "ItemError", "not valid JSON"),
    ({"id": True, "items": []}, "OptionError", "id: expected text"),
    ({"items": 5}, "ItemError", "items: expected"),
    ({"items": ["-"]}, "ItemError", "standard input"),
    ({"items": "/etc/passwd"}, "ItemError", "absolute"),
    ({"files": ["/etc/passwd:1-2"]}, "ItemError", "absolute"),
    ({"files": ["../x"]}, "ItemError", "; a row names only what is in the workspace: --workspace"),
    ({"files": ["outside.txt"]}, "ItemError", '"outside.txt" is outside the folder'),
    ({"files": ["outside.txt:1-2"]}, "ItemError", '"outside.txt" is outside the folder'),
    ({"history": "/etc/passwd"}, "OptionError", "no place"),
    ({"files": ["none.txt"]}, "ItemError", "no such file"),
    ({"knowledge": {"mitre_techniques": ["T1003"]}}, "ItemError", "--attack"),
    ({"knowledge": {"man_page": ["tar"]}}, "ItemError", 'did you mean "man_pages"'),
    ({"items": [], "max_tokns": 3}, "OptionError", 'did you mean "max_tokens"'),
    ({"items": [], "profile": "claud"}, "ProfileError", 'did you mean "claude"'),
    ({"items": [], "profile": "mine.yaml"}, "OptionError", "not a file"),
    ({"items": [], "tokenizer": "file:note.txt"}, "OptionError", "whole run"),
    ({"items": [ITEM], "format": "nope"}, "OptionError", "no format"),
    ({"items": [], "user": "why?"}, "OptionError", "--to"),
    ({"items": [], "user": "a", "question": "b"}, "OptionError", "two names"),
    ({"items": [{"content": "a", "required": True}], "max_tokens": 0}, "BudgetError", "required"),
    ({"items": [{"content": "a", "score": "x"}], "strict": True}, "StrictError", "score"),
]


@pytest.mark.parametrize(
    "raw, kind, words", BAD, ids=[f"{kind}-{n}" for n, (_, kind, _) in enumerate(BAD)]
)
def test_a_bad_row_is_a_record(raw: object, kind: str, words: str) -> None:
    made = record(raw)
    assert set(made) == {"error", "id", "line", "message"}
    assert made["error"] == kind
    assert words in made["message"]


def test_a_history_outside_is_not_read() -> None:
    assert "absolute" in record({"history": "/etc/passwd", "user": "why?"}, "text")["message"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = [
    "id",
    "items",
    "files",
    "knowledge",
    "user",
    "history",
    "max_tokens",
    "format",
    "profile",
    "query",
    "marker",
]


@cases(60)
@given(
    st.dictionaries(st.sampled_from(KEYS), json_values, max_size=5) | json_values,
    st.sampled_from(["context", "openai"]),
)
def test_every_row_is_one_line_whatever_it_holds(row: object, to: str) -> None:
    raw = json.dumps(row).encode()
    rendered = RENDERERS[to].row(9, raw)
    line, tokens = rendered.body, rendered.tokens
    made = json.loads(line)
    assert made["line"] == 9 and isinstance(made["id"], str) and line.count(b"\n") == 1
    assert line.startswith(rows.ERROR_PREFIX) == ("error" in made) == ("tokens" not in made)
    assert made.get("tokens", 0) == tokens


RENDERERS = {
    to: RowRenderer(make_spec(to, None, None, None, "/nonexistent", None, {}))
    for to in ("context", "openai")
}


@cases(30)
@given(st.binary(max_size=40))
def test_bytes_of_any_kind_are_a_record(raw: bytes) -> None:
    assert json.loads(RENDERERS["context"].row(1, raw).body)["line"] == 1


def test_what_rows_name_has_a_hash_that_follows_its_content() -> None:
    shard = Shard(
        0,
        [
            (1, b'{"files": "note.txt"}'),
            (2, b'{"items": []}'),
            (3, b"bad"),
            (4, b'{"files": "later.txt"}'),
        ],
    )
    working = renderer()
    before = working.references(shard)
    assert before == working.render(shard).references and len(before) == 2
    Path("later.txt").write_text("here now", encoding="utf-8")
    assert working.references(shard)[0] == before[0] != working.references(shard)[1] != before[1]


# --- columns --------------------------------------------------------------------------------------


def test_columns_in_columns_out() -> None:
    render = RenderBatch(max_tokens=50)
    texts = {"request": [json.dumps({"id": "a", "items": [ITEM]}), "bad"]}
    made = render(texts)
    assert made["text"] == [pf.render([ITEM], max_tokens=50).text, ""]
    assert made["id"] == ["a", "row-2"]
    assert made["error"][0] == "" and made["error"][1].startswith("ItemError: not valid JSON")
    assert render({"id": ["a"], "items": [[ITEM]], "query": [None]})["text"] == made["text"][:1]
    assert render({"id": [1], "items": [[object()]]})["error"][0].startswith(
        "ItemError: a row must be plain data"
    )
    assert render({"request": []}) == {name: [] for name in made}


def test_requests_are_columns_of_json() -> None:
    made = RenderBatch(to="openai")({"items": [[ITEM]], "user": ["why?"]})
    assert json.loads(made["request"][0])["messages"][-1]["content"][-1]["text"] == "why?"


OWN_COLUMNS = {"id": "qid", "user": "question", "items": "contexts"}
RESPONSE = {"passage_text": ["tar lives in bin.", "A second one."], "url": ["http://a.b/c", "x/y"]}


def test_columns_of_a_users_own_are_read_as_render_reads_them() -> None:
    given: dict[str, Any] = {
        "qid": [7, "b", ""],
        "question": ["Polite?", "Where is tar?", None],
        "contexts": [["Greetings are polite.", "note.txt"], RESPONSE, "only a text"],
        "format": ["no option here", None, None],
    }
    made = RenderBatch(columns=OWN_COLUMNS)(given)
    assert made["error"] == ["", "", ""] and made["id"] == ["7", "b", "row-3"]
    expected = [
        pf.Renderer().prompt(["Greetings are polite.", "note.txt"], user="Polite?").text,
        pf.Renderer().prompt(RESPONSE, user="Where is tar?").text,
        pf.render(["only a text"]).text,
    ]
    assert made["text"] == expected
    assert row_id(b'{"qid": 7, "id": 8}', "row-1", "qid") == "7"


TEXTS_OF_LISTS = [
    ('[{"title": "Tar", "text": "It packs."}, {"text": "It unpacks."}]', 2),
    (' ["It packs.", "It unpacks.", "It lists."]', 3),
    ('[{"text": "It packs.", "score": NaN}]', 1),
    ('[{"text": "It packs."}, {"id": 1}]', 1),
    ("[]", 0),
]


@pytest.mark.parametrize(("text", "count"), TEXTS_OF_LISTS)
def test_a_list_in_json_in_the_column_of_items_is_read_as_that_list(text: str, count: int) -> None:
    spec = make_spec(None, None, None, None, ".", None, {}, {"items": "ctx"})
    made = json.loads(RowRenderer(spec).row(1, json.dumps({"ctx": text}).encode()).body)
    said = "".join(each["message"] for each in made["warnings"])
    assert made["items_included"] == count
    assert ("JSON list" in said) == (count > 0)
    assert count or 'its column "ctx" is empty' in said


@pytest.mark.parametrize("blank", ["", " \n", None])
@pytest.mark.parametrize("key", ["items", "user", "history", "files", "max_tokens", "profile"])
def test_a_blank_text_in_a_column_is_nothing(key: str, blank: str | None) -> None:
    columns = {"items": "ctx", key: "own"}
    given: dict[str, list[Any]] = {"ctx": ["It packs."], "own": [blank]}
    made = RenderBatch(columns=columns)(given)
    items = [] if key == "items" else ["It packs."]
    assert made["error"] == [""] and made["text"] == [pf.render(items).text]


def test_a_text_in_the_column_of_the_history_is_its_json() -> None:
    spec = make_spec("roles", None, None, None, ".", None, {}, {"history": "chat", "user": "q"})
    renderer = RowRenderer(spec)
    turn = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    made = [
        json.loads(renderer.row(1, json.dumps({"chat": chat, "q": "And?"}).encode()).body)
        for chat in (turn, json.dumps(turn), "notes.json", '{"error": 1}')
    ]
    assert made[0] == made[1] and len(made[0]["request"]["messages"]) == 3
    assert "history: expected a list of messages, found text" in made[2]["message"]
    assert "history: expected a list of messages, found object" in made[3]["message"]


def test_numbers_that_pandas_wrote_beside_a_gap_are_whole() -> None:
    made = record({"items": [{"content": "word " * 500}], "max_tokens": 100.0, "max_items": 1.0})
    assert made["tokens"] == 100


def test_a_list_in_json_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def read(wanted: Any, said: Any) -> Any:
        asked.append(wanted.records)
        return gather(wanted, said)

    monkeypatch.setattr(rows, "gather", read)
    made = RenderBatch(columns={"items": "ctx"})({"ctx": ['["It packs.", {"x": 1}]']})
    assert asked[0] == ["It packs.", {"x": 1}] and made["items_included"] == [1]
    assert [type(each) for each in asked[1]] == [pf.Item]


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2]",
        '[{"id": 1, "email": "a@b.org"}]',
        '[["a", "b"]]',
        "[draft] It packs.",
        "[{'text': open('a')}]",
        "['It packs.'] ['It ends.']",
        "['It packs.' ... 'It ends.']",
        "['It packs.' 'It ends]",
        "[{'text': 'It packs.'}]; x",
        "[{[1, 2]}]",
        "[{{}}]",
        "[" * 100_000,
        '{"text": "It packs."}',
    ],
)
def test_a_text_that_is_no_list_of_records_stays_one_item(text: str) -> None:
    made = RenderBatch(columns={"items": "ctx"})({"ctx": [text]})
    assert made["text"] == [pf.render([text]).text] and made["items_included"] == [1]


def test_a_list_of_objects_as_python_prints_it_is_read() -> None:
    given = [{"title": "A", "text": "It's packed.", "gold": True}, {"title": "B", "text": None}]
    renderer = RowRenderer(make_spec(None, None, None, None, ".", None, {}, {"items": "ctx"}))
    made = json.loads(renderer.row(1, json.dumps({"ctx": repr(given)}).encode()).body)
    assert made["text"] == pf.render(given).text and "It's packed." in made["text"]
    said = made["warnings"][0]["message"]
    assert said == "the text in the column of items is a Python list, read as 2 records"


@pytest.mark.parametrize(
    "text",
    [
        """['It packs.', "It's done."]""",
        """['It packs.' "It's done."]""",
        """['It packs.'\n "It's done."]""",
        """[{'text': 'It packs.'}\n {'text': "It's done."}]""",
        """['It '\n 'packs.',\n "It's done."]""",
        """[{'text': 'It '\n          'packs.'},\n {'text': "It's done."}]""",
    ],
)
def test_texts_and_objects_as_python_and_numpy_print_them_are_read(text: str) -> None:
    made = RenderBatch(columns={"items": "ctx"})({"ctx": [text]})
    assert made["text"] == [pf.render(["It packs.", "It's done."]).text]
    assert "a Python list, read as 2 records" in made["warnings"][0]


def test_an_object_that_wraps_the_rows_is_named_with_a_way_to_write_them(tmp_path: Path) -> None:
    row = {"items": [{"content": "It packs."}], "user": "Polite?"}
    said = RenderBatch()({"request": [json.dumps({key: [row, row]}) for key in ("data", "a'")]})
    hint = """jq -c '.data[]' writes each object in "data" as a row of its own"""
    assert hint in said["error"][0] and "jq" not in said["error"][1]
    file = tmp_path / "w.json"
    for value, end in (({"ok": True, "data": [row, row]}, hint), (row, "list of them in JSON")):
        file.write_text(json.dumps(value, indent=2), encoding="utf-8")
        with pytest.raises(ItemError, match="holds no rows: ") as caught:
            list(BatchInput(file).rows())
        assert str(caught.value).endswith(end)


def test_a_list_of_titled_passages_in_json_is_read() -> None:
    given = [["A", ["It packs.", "It ends."]]]
    made = RenderBatch(columns={"items": "ctx"})({"ctx": [json.dumps(given)]})
    assert made["text"] == [pf.render(given).text] and made["items_included"] == [1]


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(OptionError, match='the batch has no "qeustion"; did you mean "question"'):
        RenderBatch(columns={"user": "qeustion"})({"question": ["?"]})
    with pytest.raises(OptionError, match='"usr" is not a key of a row; did you mean "user"'):
        RenderBatch(columns={"usr": "question"})
    shards = [Shard(0, [(1, b'{"question": "?"}'), (2, b"no row")]), Shard(1, [(3, b"{}")])]
    assert list(check_first_rows(iter(shards), {"user": "question"})) == shards
    with pytest.raises(OptionError, match='none of the first 2 rows has "user"'):
        list(check_first_rows(iter(shards), {"user": "user"}))


def test_the_keys_of_a_row_say_what_is_made_of_it() -> None:
    rows = RenderBatch()({"items": [[ITEM], [ITEM]], "user": ["Why?", None], "id": ["a", None]})
    assert rows["text"] == [
        pf.Renderer().prompt([ITEM], user="Why?").text,
        pf.render([ITEM]).text,
    ]


def test_what_no_row_can_use_is_refused_at_once() -> None:
    for wrong in (
        {"to": "opnai"},
        {"max_tokns": 1},
        {"max_tokens": "x"},
        {"format": "nope"},
        {"tokenizer": object()},
    ):
        with pytest.raises(OptionError):
            RenderBatch(**wrong)


def test_it_is_plain_data_after_use_too() -> None:
    import pickle

    render = RenderBatch(format="xml")
    made = render({"items": [[ITEM]]})
    assert pickle.loads(pickle.dumps(render))({"items": [[ITEM]]}) == made


# --- requests -------------------------------------------------------------------------------------


def test_lines_have_their_numbers_and_blank_ones_are_none() -> None:
    Path("in.jsonl").write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"b": 2}')
    assert list(rows.BatchInput("in.jsonl").rows()) == [(1, b'{"a": 1}'), (4, b'{"b": 2}')]


def test_a_line_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_ROW_BYTES", 10)
    too_long = b" longer than 0 MiB"
    Path("in.jsonl").write_bytes(b"0123456789\n" + b"x" * 95 + b"\n123\n" + b"y" * 30)
    assert list(rows.BatchInput("in.jsonl").rows()) == [
        (1, too_long),
        (2, too_long),
        (3, b"123"),
        (4, too_long),
    ]
    Path("in.jsonl").write_bytes(b"123456789\n1234567890")
    assert list(rows.BatchInput("in.jsonl").rows()) == [(1, b"123456789"), (2, b"1234567890")]


@pytest.mark.parametrize(
    "data, kind",
    [
        (b"PK\x03\x04rest\n", "zip"),
        ('{"items": []}\n'.encode("utf-16"), "UTF-16"),
        (bz2.compress(b'{"items": []}\n'), "bzip2"),
        (lzma.compress(b'{"items": []}\n'), "xz"),
        (b"PAR1\x15\x04\n", "Parquet"),
    ],
)
def test_a_file_of_another_kind_is_refused_as_one(data: bytes, kind: str) -> None:
    Path("in.jsonl").write_bytes(data)
    with pytest.raises(pf.ItemError, match=rf"in\.jsonl: is {kind}"):
        list(rows.BatchInput("in.jsonl").rows())
    Path("in.jsonl").write_bytes(b"{}\n" + data)
    assert next(rows.BatchInput("in.jsonl").rows()) == (1, b"{}")


def test_rows_may_be_mappings() -> None:
    assert list(rows.BatchInput([{"a": 1, "b": None}, {"c": [{"d": None}]}]).rows()) == [
        (1, b'{"a":1}'),
        (2, b'{"c":[{}]}'),
    ]
    given: list[dict[str, Any]] = [
        {"items": object()},
        {"items": [{"content": "half \ud800 a pair"}]},
        {"items": [{"content": b"\xff"}]},
        {"items": [{"content": "x", "score": float("inf")}]},
        {"items": [{"content": "x", "score": -float("inf")}]},
    ]
    texts = [
        json.loads(RENDERERS["context"].row(*row).body) for row in rows.BatchInput(given).rows()
    ]
    assert "a row must be plain data: found a value of type object" in texts[0]["message"]
    assert "half \ufffd a pair" in texts[1]["text"]
    assert "a row must be plain data: 'utf-8' codec" in texts[2]["message"]
    assert "a row must be plain data: found inf, which is not a JSON number" in texts[3]["message"]
    assert "a row must be plain data: found -inf, which is not a JSON number" in texts[4]["message"]


def test_an_input_that_changes_while_it_is_read_is_refused() -> None:
    row = b'{"items": []}\n'
    for length in (len(row), 3 * len(row)):
        Path("in.jsonl").write_bytes(2 * row)
        reading = rows.BatchInput("in.jsonl").rows()
        next(reading)
        os.truncate("in.jsonl", length)
        with pytest.raises(pf.ItemError, match=r"in\.jsonl: was changed while it was read; run"):
            list(reading)


def test_parquet_is_read_as_rows() -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    nested = [
        {"id": "a", "items": [{"content": "x"}]},
        {"id": "b", "items": [{"content": "y", "score": 0.5}], "user": "u"},
    ]
    parquet.write_table(arrow.Table.from_pylist(nested), "in.parquet")
    assert next(json.loads(raw) for _, raw in rows.BatchInput("in.parquet").rows()) == nested[0]
    parquet.write_table(
        arrow.Table.from_pylist([{"request": json.dumps(row)} for row in nested]), "in.parquet"
    )
    assert [json.loads(raw) for _, raw in rows.BatchInput("in.parquet").rows()] == nested
    for whole in (json.dumps(nested[1]).encode(), nested[1]):
        parquet.write_table(arrow.table({"request": [whole]}), "in.PARQUET")
        assert [json.loads(raw) for _, raw in rows.BatchInput("in.PARQUET").rows()] == nested[1:]
    late = arrow.array([0, 1 << 60], arrow.timestamp("us"))  # no date of Python's
    parquet.write_table(
        arrow.table({"id": [b"a", b"b"], "items": [[], []], "when": late}), "in.parquet"
    )
    (_, first), (_, second) = rows.BatchInput("in.parquet").rows()
    assert json.loads(first)["id"] == "a" and second.startswith(
        rows.UNREADABLE_PREFIX + b"a row must be plain data"
    )
    parquet.write_table(
        arrow.Table.from_arrays([arrow.array(["a"])] * 2, names=["id", "id"]), "in.parquet"
    )
    with pytest.raises(pf.ItemError, match=r"in\.parquet: two columns"):
        list(rows.BatchInput("in.parquet").rows())
    Path("in.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(pf.ItemError, match=r"in\.parquet: no Parquet"):
        list(rows.BatchInput("in.parquet").rows())


rows_of_bytes = st.lists(st.tuples(st.integers(1, 99), st.binary(max_size=9)), max_size=30)


@cases(100)
@given(rows_of_bytes, st.integers(1, 7), st.none() | st.integers(0, 40))
def test_shards_are_the_rows(
    given_rows: list[tuple[int, bytes]], size: int, limit: int | None
) -> None:
    shards = list(rows.split_shards(given_rows, size, limit))
    assert [row for shard in shards for row in shard.rows] == given_rows[:limit]
    assert [shard.index for shard in shards] == list(range(len(shards)))
    assert all(len(shard.rows) == size for shard in shards[:-1])


@cases(100)
@given(rows_of_bytes, rows_of_bytes, st.integers(0, 1), st.integers(0, 1))
def test_a_key_is_that_of_one_shard_alone(
    first: list[tuple[int, bytes]], second: list[tuple[int, bytes]], here: int, there: int
) -> None:
    one, other = Shard(here, first), Shard(there, second)
    assert (one.key("a") == other.key("a")) == (one == other)
    assert one.key("a") != one.key("b")


def test_large_rows_make_small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_SHARD_BYTES", 100)
    shards = list(rows.split_shards([(n, b"x" * 60) for n in range(5)], 500))
    assert [len(shard.rows) for shard in shards] == [2, 2, 1]


@pytest.mark.parametrize("given", [{"id": "a"}, b"in.jsonl", 5, None])
def test_what_holds_no_rows_is_refused(given: Any) -> None:
    with pytest.raises(ItemError, match="a list of mappings, or a table; found"):
        batch.run(given, "none.jsonl", workers=1)


@pytest.mark.parametrize("library", ["pandas", "numpy"])
def test_a_gap_in_a_column_of_numbers_is_no_value(library: str) -> None:
    module = pytest.importorskip(library)
    texts = [[{"content": "word " * 5000, "score": float("nan")}]] * 2
    columns: Any = {"items": texts, "max_tokens": [100, None], "id": [7, None]}
    if library == "pandas":
        columns = module.DataFrame(columns)
        report = batch.run(columns, "gap.jsonl", workers=1)
        assert report.errors == 0
        lines = Path("gap.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line)["id"] for line in lines] == ["7", "row-2"]
    else:
        columns["max_tokens"] = module.array([100, module.nan])
    made = RenderBatch()(columns)
    # Without a value the default holds; null would mean: no limit.
    assert made["error"] == ["", ""] and made["tokens"] == [100, 4000]


def test_two_columns_of_one_name_and_a_date_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    items = [{"content": "x", "metadata": {"day": pandas.Timestamp("2020-01-02")}}]
    assert batch.run(pandas.DataFrame({"items": [items]}), "day.jsonl", workers=1).errors == 0
    twice = pandas.DataFrame([[items, []]], columns=["items", "items"])
    with pytest.raises(ItemError, match="two columns have one name"):
        batch.run(twice, "twice.jsonl", workers=1)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb"])
def test_a_table_is_rows(library: str) -> None:
    module = pytest.importorskip(library)
    columns = {"id": ["a", "b"], "items": [[{"content": "one"}], [{"content": "two"}]]}
    if library == "pyarrow":
        table = module.table(columns)
        made = RenderBatch()(table)
        assert made["id"] == ["a", "b"] and made["error"] == ["", ""]
    elif library == "duckdb":
        rows = "('a', [{'content': 'one'}]), ('b', [{'content': 'two'}])"
        table = module.sql(f"select * from (values {rows}) as t(id, items)")
    else:
        table = module.DataFrame(columns)
    if library == "pyarrow":
        dataset = pytest.importorskip("pyarrow.dataset")
        assert batch.run(dataset.dataset(table), "dataset.jsonl", workers=1).errors == 0
    report = batch.run(table, "table.jsonl", workers=1)
    assert (report.rows, report.errors) == (2, 0)
    assert [json.loads(line)["id"] for line in Path("table.jsonl").read_text().splitlines()] == [
        "a",
        "b",
    ]
