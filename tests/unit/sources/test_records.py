"""Records of callers: each is an item, or an error that says what is wrong with it."""

from __future__ import annotations

import itertools
import json
import math
import re
import types
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.errors import Diagnostics, ItemError
from promptforge.model import Item
from promptforge.sources import native, records
from promptforge.sources.records import load_records, to_item
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS


def read(record: object) -> tuple[Item, list[str]]:
    diagnostics = Diagnostics()
    item = to_item(record, where="f:1", diagnostics=diagnostics)
    return item, [f"{d.code} {d.message}" for d in diagnostics]


def clean(record: object) -> Item:
    item, said = read(record)
    assert said == []
    return item


# Native records.


def test_every_field_of_a_native_record() -> None:
    record = {
        "kind": "code",
        "content": "x = 1",
        "expanded": "# a\nx = 1",
        "summary": "sets x",
        "id": "i1",
        "name": "x",
        "path": "a.py",
        "start_line": 3,
        "end_line": 3,
        "language": "python",
        "score": 0.25,
        "origin": "similarity",
        "required": True,
        "metadata": {"tags": ["a", {"b": None}], "n": 1},
    }
    assert clean(record) == Item(**record)  # type: ignore[arg-type]
    assert clean(types.MappingProxyType(record)) == Item(**record)  # type: ignore[arg-type]


def test_defaults_and_the_word_markdown() -> None:
    assert clean({"content": "x"}) == Item(content="x")
    assert clean({"summary": "x"}) == Item(summary="x")
    assert clean({"content": ""}).content == ""
    assert clean({"kind": "markdown", "content": "x"}).kind == "document"
    assert clean({"kind": None, "content": "x", "score": None, "metadata": None}) == Item(
        content="x"
    )
    assert clean({"content": "x", "score": 1}).score == 1.0


@pytest.mark.parametrize(
    ("record", "field", "message"),
    [
        ({}, "content", "content: missing; an item needs content or summary, as text"),
        (
            {"content": None},
            "content",
            "content: missing; an item needs content or summary, as text",
        ),
        ({"content": [1]}, "content", "content: expected text, found list"),
        ({"content": True}, "content", "content: expected text, found bool"),
        ({"content": {}}, "content", "content: expected text, found object"),
        (None, None, "expected an object with the fields of an item, found null"),
        (7, None, "expected an object with the fields of an item, found int"),
        ([1], None, "expected an object with the fields of an item, found list"),
        (object(), None, "expected an object with the fields of an item, found object"),
        (
            ("a", 1, 0.3),
            None,
            "expected an object with the fields of an item, such as a dict, or a pair (text,"
            " number), found tuple; a row without names is read as dict(zip(names_of_columns, row))",
        ),
    ],
)
def test_what_is_no_item(record: object, field: str | None, message: str) -> None:
    with pytest.raises(ItemError) as caught:
        to_item(record, where="f.json:7")
    assert str(caught.value) == f"f.json:7: {message}"
    assert (caught.value.field, caught.value.where) == (field, "f.json:7")


def test_a_retriever_in_the_place_of_its_items_is_an_error_that_says_how_to_ask_it() -> None:
    class Retriever:
        def invoke(self, query: str) -> list[str]:
            return [query]

    way_out = re.escape("promptforge.integrations.bridge.retrieve(retriever, query)")
    with pytest.raises(ItemError, match=f"found Retriever; {way_out} asks a retriever"):
        to_item(Retriever())
    with pytest.raises(ItemError, match=f"found Retriever; {way_out} asks a retriever"):
        pf.render(Retriever())


_READ = "PF202 score: expected a number, found text; read as a number"


@pytest.mark.parametrize(
    ("record", "expected", "said"),
    [
        (
            {"content": 5},
            {"content": "5"},
            "PF202 content: expected text, found int; written as text",
        ),
        (
            {"content": b"\xc3\xa9"},
            {"content": "é"},
            "PF202 content: expected text, found bytes; read as UTF-8",
        ),
        ({"id": 42}, {"id": "42"}, "PF202 id: expected text, found int; written as text"),
        (
            {"path": PurePosixPath("a/b.py")},
            {"path": "a/b.py"},
            "PF202 path: expected text, found PurePosixPath; written as text",
        ),
        (
            {"id": UUID(int=3)},
            {"id": str(UUID(int=3))},
            "PF202 id: expected text, found UUID; written as text",
        ),
        (
            {"name": date(2026, 1, 2)},
            {"name": "2026-01-02"},
            "PF202 name: expected text, found date; written as text",
        ),
        (
            {"score": "0.5"},
            {"score": 0.5},
            "PF202 score: expected a number, found text; read as a number",
        ),
        (
            {"score": math.nan},
            {"score": 0.0},
            "PF202 score: expected a finite number; 0 is taken, as the worst",
        ),
        (
            {"score": -math.inf},
            {"score": 0.0},
            "PF202 score: expected a finite number; 0 is taken, as the worst",
        ),
        (
            {"start_line": "3"},
            {"start_line": 3},
            "PF202 start_line: expected an int, found text; read as a number",
        ),
        (
            {"start_line": 3.0},
            {"start_line": 3},
            "PF202 start_line: expected an int, found float; read as a number",
        ),
        ({"end_line": 3.5}, {}, "PF202 end_line: expected a line number from 1; left out"),
        ({"start_line": -1}, {}, "PF202 start_line: expected a line number from 1; left out"),
        ({"start_line": 2**40}, {}, "PF202 start_line: expected a line number from 1; left out"),
        (
            {"start_line": 9, "end_line": 2},
            {"start_line": 9},
            "PF202 end_line: 2 lies before start_line 9; left out",
        ),
        (
            {"required": "true"},
            {"required": True},
            "PF202 required: expected true or false, found text; read as True",
        ),
        ({"metadata": "m"}, {}, "PF203 metadata: expected an object, found text; left out"),
        # A wrong field costs itself alone.
        ({"name": ["a"]}, {}, "PF202 name: expected text, found list; left out"),
        ({"kind": {}}, {}, "PF202 kind: expected text, found object; left out"),
        (
            {"score": "high"},
            {"score": 0.0},
            "PF202 score: expected a number, found text; 0 is taken, as the worst",
        ),
        (
            {"score": True},
            {"score": 0.0},
            "PF202 score: expected a number, found bool; 0 is taken, as the worst",
        ),
        (
            {"start_line": "ten"},
            {},
            "PF202 start_line: expected a line number, found text; left out",
        ),
        ({"end_line": []}, {}, "PF202 end_line: expected a line number, found list; left out"),
        (
            {"origin": "web\n"},
            {},
            'PF202 origin: expected "explicit" or "similarity", found "web\\n"; left out',
        ),
        (
            {"required": "maybe"},
            {},
            "PF202 required: expected true or false, found text; left out",
        ),
        (
            {"content": ["a", "b"]},
            {"content": "a\n\nb"},
            "PF202 content: expected text, found list; its texts are read",
        ),
        # Numbers as spreadsheets write them.
        ({"score": "0,85"}, {"score": 0.85}, _READ),
        ({"score": "1,234.5"}, {"score": 1234.5}, _READ),
        ({"score": "85 %"}, {"score": 0.85}, _READ),
        (
            {"contnet": [1]},
            {"metadata": {"contnet": [1]}},
            'PF201 unknown key "contnet"; did you mean "content"?; kept as metadata',
        ),
        ({"zq\n": 1}, {"metadata": {"zq\n": 1}}, 'PF201 unknown key "zq\\n"; kept as metadata'),
    ],
)
def test_what_is_read_leniently_and_said(
    record: dict[str, Any], expected: dict[str, Any], said: str
) -> None:
    item, spoken = read({"content": "x", **record})
    assert item == Item(**{"content": "x", **expected})
    assert spoken == [said]


def test_expanded_alone_is_the_content() -> None:
    item, said = read({"expanded": "x"})
    assert item == Item(content="x")
    assert said == ["PF201 content is missing; expanded is taken for it"]


# Items made by hand are validated by nobody but us.


def test_an_item_passes_through_and_a_wrong_one_is_mended_or_refused() -> None:
    good = Item(content="x", metadata={"a": 1})
    assert clean(good) is good
    assert clean(Item(kind="markdown", content="x")).kind == "document"
    assert read(Item(content="x", score="0.5"))[0].score == 0.5  # type: ignore[arg-type]
    with pytest.raises(ItemError, match="content: missing"):
        to_item(Item())
    assert read(Item(content="x", path=["a"]))[0].path is None  # type: ignore[arg-type]


# Other shapes.


# Many records.


def test_one_bad_record_costs_only_itself() -> None:
    diagnostics = Diagnostics()
    given_ = [{"content": "a"}, {"content": []}, Item(content="b"), 7, {"content": "c"}]
    items = load_records(given_, where="items", diagnostics=diagnostics)
    assert [i.content for i in items] == ["a", "b", "c"]
    assert [(d.code, d.where, d.message) for d in diagnostics] == [
        ("PF204", "items[1]", "record skipped: content: expected text, found list"),
        (
            "PF204",
            "items[3]",
            "record skipped: expected an object with the fields of an item, found int",
        ),
    ]


def test_what_may_hold_records() -> None:
    diagnostics = Diagnostics()
    one = [Item(content="a")]
    for holder in (
        [{"content": "a"}],
        ({"content": "a"},),
        iter([{"content": "a"}]),
        {"items": [{"content": "a"}]},
        {"content": "a"},
        Item(content="a"),
    ):
        assert load_records(holder, where="items", diagnostics=diagnostics) == one
    assert load_records([], where="items", diagnostics=diagnostics) == []
    for wrong in ("text", b"x", 5, None):
        with pytest.raises(
            ItemError, match=r"expected a list of items|content: missing|error of a store"
        ):
            load_records(wrong, where="items", diagnostics=diagnostics)
    assert len(diagnostics) == 0


def test_records_that_end_in_an_error_keep_what_came_before() -> None:
    def failing() -> Iterator[dict[str, str]]:
        yield {"content": "a"}
        raise OSError("the connection is gone")

    diagnostics = Diagnostics()
    assert load_records(failing(), where="items", diagnostics=diagnostics) == [Item(content="a")]
    assert [(d.code, d.severity) for d in diagnostics] == [("PF204", "error")]


def test_endless_records_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (native, records):
        monkeypatch.setattr(module, "MAX_RECORDS", 50)
    monkeypatch.setattr(records, "MAX_UNSIZED_RECORDS", 40)
    diagnostics = Diagnostics()
    items = load_records(
        ({"content": "x"} for _ in itertools.count()), where="items", diagnostics=diagnostics
    )
    assert len(items) == 40
    many = load_records([{"content": "x"}] * 60, where="items", diagnostics=diagnostics)
    assert len(many) == 50
    assert [d.code for d in diagnostics] == ["PF204", "PF204"]


@given(
    st.lists(
        st.sampled_from(
            [{"content": "a"}, {"content": "a", "metadata": {"k": [1]}}, {"content": 1}, {}]
        )
    )
)
def test_a_list_gives_what_its_records_give_one_by_one(given_: list[dict[str, Any]]) -> None:
    diagnostics = Diagnostics()
    alone = []
    for record in given_:
        with_own = Diagnostics()
        try:
            alone.append(to_item(record, diagnostics=with_own))
        except ItemError:
            continue
    if given_ and not alone:
        with pytest.raises(ItemError, match="usable"):
            load_records(given_, where="items", diagnostics=diagnostics)
    else:
        assert load_records(given_, where="items", diagnostics=diagnostics) == alone


# Hostile objects.


class Boom(BaseException):
    pass


def boom(*_: Any, **__: Any) -> Any:
    raise Boom("x")


NAMES = (
    "__getattribute__", "__str__", "__repr__", "__eq__", "__ne__", "__hash__", "__len__",
    "__iter__", "__next__", "__bool__", "__float__", "__int__", "__index__", "__contains__",
    "__getitem__", "__html__", "__format__", "__lt__", "__call__", "__enter__",
)  # fmt: skip
EVIL = dict.fromkeys(NAMES, boom)


class Lying(type):
    def __getattribute__(cls, name: str) -> Any:
        raise Boom(name)

    def __instancecheck__(cls, instance: object) -> bool:
        raise Boom("x")


class Endless(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        return 1

    def __iter__(self) -> Iterator[str]:
        return (str(i) for i in itertools.count())

    def __len__(self) -> int:
        return 5


def hostile() -> dict[str, Any]:
    holds_itself: dict[str, Any] = {}
    holds_itself["d"] = holds_itself
    list_of_itself: list[Any] = []
    list_of_itself.append(list_of_itself)
    return {
        "evil": type("E", (), EVIL)(),
        "text": type("S", (str,), EVIL)("abc"),
        "object": type("D", (dict,), EVIL)(a=1),
        "list": type("L", (list,), EVIL)([1]),
        "int": type("I", (int,), EVIL)(3),
        "float": type("F", (float,), EVIL)(2.0),
        "lying class": Lying("M", (), {}),
        "instance of one": object.__new__(Lying("M", (), {})),  # type: ignore[arg-type]
        "dict of itself": holds_itself,
        "list of itself": list_of_itself,
        "endless mapping": Endless(),
        "endless generator": (x for x in itertools.count()),
        "endless counter": itertools.count(),
        "huge int": 10**5000,
        "nan": math.nan,
        "bytes": b"\xff",
        "surrogate": "\ud800",
        "odd keys": {1: "a", "1": "b", None: "c", ("t",): "d"},
        "a class": dict,
        "wide": [1] * 100_000,
    }


def is_plain(value: object, depth: int = 0) -> bool:
    if type(value) is dict:
        return depth <= 25 and all(
            type(k) is str and is_plain(v, depth + 1) for k, v in value.items()
        )
    if type(value) is list:
        return depth <= 25 and all(is_plain(v, depth + 1) for v in value)
    return (
        value is None
        or type(value) in (str, int, bool)
        or (type(value) is float and math.isfinite(value))
    )


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("name", list(hostile()))
def test_hostile_values_in_every_place(name: str) -> None:
    value = hostile()[name]
    places: list[Any] = [
        value,
        (value, 0.5),
        types.SimpleNamespace(page_content="x", metadata=value),
        types.SimpleNamespace(page_content=value, metadata={}, id=value),
        types.SimpleNamespace(node=types.SimpleNamespace(text="x", metadata=value), score=value),
        types.SimpleNamespace(content="x", meta=value, score=value),
        {
            "entity": {"content": "c", "name": value, "filePath": value},
            "entityId": value,
            "score": value,
        },
        {"content": "c", "type": value, "metadata": {"filename": value, "start-line": value}},
        {"content": "c", "metadata": {"source_type": value, "source": value, "tools": value}},
        {
            "page_content": "c",
            "metadata": dict.fromkeys(("source", "title", "score", "start_line"), value),
        },
        {"node": {"text": "c", "metadata": value}, "score": value},
        *(
            {"content": "c", field: value}
            for field in (*Item.__struct_fields__, "filePath", "meta", "lc", "zz")
        ),
    ]
    for record in places:
        try:
            item = to_item(record, where="w", diagnostics=Diagnostics())
        except ItemError as exc:
            assert str(exc).startswith("w: ")
            continue
        assert all(is_plain(getattr(item, field)) for field in Item.__struct_fields__)
        assert type(item.metadata) is dict
    others = load_records(
        [{"content": "a"}, value, {"content": "b"}], where="w", diagnostics=Diagnostics()
    )
    assert [i.content for i in others if i.content in ("a", "b")] == ["a", "b"]


def test_what_is_let_through() -> None:
    def stop(_: object) -> str:
        raise KeyboardInterrupt

    asked = type("P", (), {"page_content": property(stop)})()
    with pytest.raises(KeyboardInterrupt):
        to_item(asked)


# Plain data.


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


ANYTHING = st.recursive(
    PLAIN
    | st.binary(max_size=5)
    | st.complex_numbers()
    | st.dates()
    | st.just(object())
    | st.floats(),
    lambda inner: (
        st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.none() | st.text(), inner, max_size=3)
    ),
    max_leaves=10,
)
KEYS = st.sampled_from(
    [
        *Item.__struct_fields__,
        "type",
        "entity",
        "filePath",
        "Content",
        "page_content",
        "meta",
        "node",
        "text",
        "relevance",
    ]
)


@given(st.dictionaries(KEYS, ANYTHING, max_size=6))
def test_any_record_is_an_item_or_an_item_error(record: dict[str, Any]) -> None:
    try:
        item = to_item(record, where="w", diagnostics=Diagnostics())
    except ItemError:
        return
    assert all(is_plain(getattr(item, field)) for field in Item.__struct_fields__)
    assert item.content is not None or item.summary is not None
    assert to_item(item, where="w") == item


def test_a_text_where_a_store_of_vectors_keeps_it_is_read() -> None:
    for outer, inner in (("metadata", "text"), ("payload", "page_content"), ("_source", "body")):
        item = clean({"id": "a", "score": 0.9, outer: {"page": 3, inner: "A text."}})
        assert (item.id, item.content, item.metadata["page"]) == ("a", "A text.", 3)


def test_a_title_beside_a_text_is_the_name() -> None:
    assert to_item({"text": "A text.", "title": "A title", "source": "a.md"}).name == "A title"
    item = clean({"content": "A text.", "title": "A title", "source": "a.md"})
    assert (item.name, item.path, item.metadata) == ("A title", "a.md", {})
    item = clean({"content": "A text.", "link": "https://example.org/a"})
    assert (item.path, item.url) == (None, "https://example.org/a")


def test_an_empty_list_of_tools_is_no_line() -> None:
    about = {"source_type": "mitre_attack", "source": "T1", "tools": "", "related_tools": " "}
    item = clean({"content": "c", "metadata": about})
    assert item.metadata["tools"] == []
    native = Item(kind="mitre_attack", content="c", metadata={"tools": [""], "tactics": ["A"]})
    for one in (item, native):
        for name in ("markdown", "plain"):
            assert "Related Tools" not in pf.render([one], layout="knowledge", format=name).text


A_PATH = PurePosixPath("hits.jsonl")


@pytest.mark.parametrize("records", [str(A_PATH), A_PATH, bytes(A_PATH), [A_PATH]])
def test_the_name_of_a_file_is_no_list_of_items(records: Any) -> None:
    if isinstance(records, list):
        result = pf.render(records)
        (error,) = [one for one in result.warnings if one.severity == "error"]
        assert result.is_empty and "promptforge.load reads" in error.message
    else:
        with pytest.raises(pf.ItemError, match=r"promptforge\.load reads"):
            pf.render(records)


@pytest.mark.parametrize(
    "given", [None, 5, 1.5, True, "text", b"text", object(), {"error": {"message": "rate limit"}}]
)
def test_what_is_no_list_of_records_raises(given: Any) -> None:
    for call in (pf.render, pf.Renderer().render, pf.Renderer().prompt, pf.Renderer().split):
        with pytest.raises(
            pf.ItemError, match=r"expected a list of items|content: missing|error of a store"
        ):
            call(given)


def test_a_result_without_an_item_is_empty_whatever_its_text() -> None:
    for layout in ("documents", "context", "knowledge", "chunks", "entities"):
        for syntax in FORMAT_EXTENSIONS:
            result = pf.render([], layout=layout, format=syntax)
            assert result.is_empty


def test_a_text_that_is_the_name_of_a_file_is_said() -> None:
    result = pf.render(["docs/hits.jsonl"])
    (said,) = result.warnings
    assert (said.code, "promptforge.load" in said.message) == ("PF202", True)
    for text in ("hits", "see hits.jsonl", "example.org", "hits.jsonl\n"):
        assert pf.render([text]).warnings == ()


def test_a_content_of_many_values_is_written_as_json_whole() -> None:
    content = [{"id": number, "v": "x"} for number in range(6_000)]
    (item,) = load_records([{"content": content}], where="r", diagnostics=Diagnostics())
    assert json.loads(item.content or "") == content


@pytest.mark.parametrize(
    "answer",
    [
        {"message": "Not found", "status": 404},
        {"message": "Not Found", "documentation_url": "https://docs", "status": "404"},
        {"message": "rate limit exceeded", "code": 429},
        {"message": "ok", "statusCode": 500, "error": "Internal"},
        {"success": False, "message": "no"},
        {"error": "rate limit"},
    ],
)
def test_the_answer_to_a_failed_request_is_no_context(answer: dict[str, Any]) -> None:
    with pytest.raises(
        ItemError, match=r'items: the error of a store or server, and no items: "\{'
    ):
        pf.render(answer)


@pytest.mark.parametrize(
    "record",
    [
        {"message": "Deployed", "status": 200},
        {"message": "Logged in", "time": "12:00"},
        {"message": "words", "status": 404, "user": "u"},
    ],
)
def test_a_message_alone_may_be_a_text(record: dict[str, Any]) -> None:
    assert record["message"] in pf.render(record).text


def test_a_distance_that_is_no_number_is_far() -> None:
    far = to_item({"content": "a", "score": float("inf"), "score_order": "lower"})
    near = to_item({"content": "a", "score": 0.1, "score_order": "lower"})
    assert far.relevance < near.relevance


def test_a_search_that_nobody_awaited_is_named() -> None:
    async def search() -> list[str]:
        return ["a"]

    waiting = search()
    with pytest.raises(pf.ItemError, match=r"or documents; found coroutine: await it first$"):
        pf.render(waiting)
    waiting.close()
