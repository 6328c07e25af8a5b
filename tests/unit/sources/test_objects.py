"""Objects of clients, rows of drivers and tables, read as dicts."""

from __future__ import annotations

import sqlite3
import types
from collections import namedtuple
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from promptforge.errors import Diagnostics, ItemError
from promptforge.model import Item
from promptforge.sources.records import load_records

TAR = "tar saves many files together into one archive."
FIND = "find walks a tree of folders and tests each file."


def load(given: object) -> list[Item]:
    diagnostics = Diagnostics()
    items = load_records(given, where="items", diagnostics=diagnostics)
    grave = [str(one) for one in diagnostics if one.severity != "info"]
    assert grave == []
    return items


def es_hit(number: int, score: float | None, text: str) -> dict[str, Any]:
    source = {"text": text, "title": f"T{number}", "url": f"https://example.org/{number}"}
    return {"_index": "docs", "_id": str(number), "_score": score, "_source": source}


@dataclass
class Returned:
    distance: float | None = None
    certainty: float | None = None
    score: float | None = None


@dataclass
class WeaviateObject:
    uuid: str
    metadata: Returned
    properties: dict[str, Any]
    vector: dict[str, list[float]] = field(default_factory=dict)
    collection: str = "Page"


class Hidden:
    """A model that keeps its fields to itself, as generated clients do."""

    __slots__ = ("_data_store",)

    def __init__(self, **fields: Any) -> None:
        self._data_store = fields

    def to_dict(self) -> dict[str, Any]:
        return dict(self._data_store)


def test_objects_of_clients() -> None:
    weaviate = types.SimpleNamespace(
        objects=[
            WeaviateObject("w1", Returned(distance=0.1), {"text": TAR, "title": "T"}),
            WeaviateObject("w2", Returned(distance=0.4), {"text": FIND}),
        ]
    )
    found = load(weaviate)
    assert [(i.id, i.content, i.score, i.score_order) for i in found] == [
        ("w1", TAR, 0.1, "lower"),
        ("w2", FIND, 0.4, "lower"),
    ]
    match = Hidden(id="p1", score=0.5, values=[], metadata={"text": TAR})
    assert load(Hidden(matches=[match]))[0].content == TAR
    assert load([match])[0].id == "p1"
    part = types.SimpleNamespace(type="text", text=TAR)
    page = types.SimpleNamespace(
        data=[
            types.SimpleNamespace(
                file_id="f", filename="t.md", score=0.5, content=[part], attributes={}
            )
        ]
    )
    (item,) = load(page)
    assert (item.content, item.path, item.score) == (TAR, "t.md", 0.5)


class Dumped:
    """A model that gives pairs of names and values where it is iterated over, as Pydantic's do."""

    model_fields = ()

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __iter__(self) -> Any:
        return iter(vars(self).items())


class Wrapped:
    """A response that gives the keys of its body, as those of Elasticsearch's client do."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._body = body

    @property
    def body(self) -> dict[str, Any]:
        return self._body

    def __iter__(self) -> Any:
        return iter(self._body)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)


def test_a_response_that_can_be_iterated_over_is_no_list_of_its_fields() -> None:
    hits = [Dumped(id=n, text=text, score=0.5, title=f"T{n}") for n, text in enumerate((TAR, FIND))]
    for given in (
        Dumped(web=hits, news=[]),  # a key that no known shape has
        Dumped(retrieval_nodes=[Dumped(node=hit, score=0.5) for hit in hits], pipeline="p"),
        Wrapped({"took": 1, "hits": {"hits": [es_hit(0, 2.0, TAR), es_hit(1, 1.0, FIND)]}}),
        types.SimpleNamespace(found=hits),
    ):
        first, second = load(given)
        assert (first.content, second.content, first.name) == (TAR, FIND, "T0")
    assert [item.content for item in load(Dumped(context=TAR))] == [TAR]
    with pytest.raises(ItemError, match="found: object with status"):
        load(Dumped(status=200))


class Record(tuple[Any, ...], Mapping[str, Any]):
    """A row that gives its values where it is iterated over, as those of Neo4j's driver do."""

    def __new__(cls, **fields: Any) -> Record:
        made = tuple.__new__(cls, fields.values())
        made.fields = fields
        return made

    fields: dict[str, Any]

    def keys(self) -> Any:
        return list(self.fields)

    def __getitem__(self, key: Any) -> Any:
        return self.fields[key]


@dataclass
class Chunk:
    """A client's own class with the marks of a document, and more fields than one has."""

    text: str
    metadata: dict[str, Any]
    score: float
    document_name: str


class Answered(NamedTuple):
    """A driver's answer."""

    records: list[Any]
    summary: None
    keys: list[str]


class Asked:
    """An answer of ClickHouse's driver."""

    column_names = ("id", "text")

    def named_results(self) -> Any:
        return iter([{"id": 1, "text": TAR}, {"id": 2, "text": FIND}])


def test_rows_of_drivers() -> None:
    pairs = [Record(node={"text": text, "title": "T"}, score=0.5) for text in (TAR, FIND)]
    flat = [Record(**{"n.text": text, "n.title": "T", "score": 0.5}) for text in (TAR, FIND)]
    for given in (pairs, flat, Answered(flat, None, ["n.text"])):
        first, second = load(given)
        assert (first.content, second.content) == (TAR, FIND)
        assert (first.name, first.score) == ("T", 0.5)
    assert [(item.id, item.content) for item in load(Asked())] == [("1", TAR), ("2", FIND)]


def test_a_document_of_no_framework_keeps_all_of_its_fields() -> None:
    first, _ = load([Chunk(text, {"page": 1}, 0.5, "T") for text in (TAR, FIND)])
    assert (first.content, first.name, first.score) == (TAR, "T, page 1", 0.5)
    for about in ("meta", "metadata"):
        more = {about: {"page": 1}, "title": "T", "url": "https://e.org/1", "mime_type": "text"}
        (item,) = load([types.SimpleNamespace(content=TAR, **more)])
        assert (item.content, item.name, item.url) == (TAR, "T, page 1", "https://e.org/1")
        assert item.origin == "similarity" and item.metadata["page"] == 1


def test_rows_with_names() -> None:
    row = namedtuple("row", "id content distance")
    first, second = load([row(1, TAR, 0.1), row(2, FIND, 0.2)])
    assert (first.id, first.content, first.score) == ("1", TAR, 0.1)
    # An open base warns from Python 3.13 on, whenever it is collected: in some later test.
    with closing(sqlite3.connect(":memory:")) as base:
        base.row_factory = sqlite3.Row
        base.execute("create table chunk (id, body, source, embedding)")
        base.executemany("insert into chunk values (?, ?, ?, ?)", [
            (1, TAR, "t.md", b"\0"), (2, FIND, "f.md", b"\1")
        ])  # fmt: skip
        query = "select id, body, source, 0.1 * id as distance from chunk"
        first, second = load(base.execute(query).fetchall())
    assert (first.content, first.path, first.score) == (TAR, "t.md", 0.1)
    assert second.content == FIND


def test_a_tuple_without_names_is_refused_with_the_way_out() -> None:
    with pytest.raises(ItemError, match="2 records is usable"):
        load([(1, TAR, 0.1), (2, FIND, 0.2)])


def test_a_cursor_has_the_names_of_its_columns() -> None:
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("create table chunk (id, body, source)")
        base.execute("insert into chunk values (1, ?, 't.md')", [TAR])
        (item,) = load(base.execute("select * from chunk"))
    assert (item.id, item.content, item.path) == ("1", TAR, "t.md")


@pytest.mark.parametrize("library", ["sqlite3", "pandas", "pyarrow"])
def test_two_columns_of_one_name_are_both_there(library: str) -> None:
    module = pytest.importorskip(library)
    if library == "sqlite3":
        with closing(module.connect(":memory:")) as base:
            query = "select a.text, b.text from (select 'one' text) a, (select 'two' text) b"
            (item,) = load(base.execute(query))
    elif library == "pandas":
        (item,) = load(module.DataFrame([["one", "two"]], columns=["text", "text"]))
    else:
        (item,) = load(module.table([["one"], ["two"]], names=["text", "text"]))
    assert item.content == "one" and "two" in str(item.metadata)


class _Attributes:
    """Values as Elasticsearch's DSL holds them."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def to_dict(self) -> dict[str, Any]:
        return self._values


def test_a_hit_of_elasticsearchs_dsl_keeps_its_id_and_score() -> None:
    hits = []
    for number in (1, 2):
        hit = _Attributes(title="Tar", text=f"tar archives {number} files")
        hit.meta = _Attributes(index="docs", id=f"a{number}", score=3.5 - number)  # type: ignore[attr-defined]
        hits.append(hit)
    items = load_records(hits, where="items", diagnostics=Diagnostics())
    assert [(item.id, item.score, item.score_order) for item in items] == [
        ("a1", 2.5, "higher"), ("a2", 1.5, "higher")
    ]  # fmt: skip
    assert (items[0].name, items[0].content) == ("Tar", "tar archives 1 files")
    assert items[0].metadata == {"_index": "docs", "title": "Tar", "score": 2.5}
