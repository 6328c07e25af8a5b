"""One recorded response of each store: every hit is an item with its text, place and number."""

from __future__ import annotations

import json
import sqlite3
import types
from collections import namedtuple
from datetime import datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from places import DATA

import promptforge as pf
from promptforge.errors import Diagnostics, ItemError
from promptforge.model import Item
from promptforge.sources.item_files import parse_items
from promptforge.sources.records import load_records
from promptforge.sources.shapes import open_answer

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


RESPONSES: dict[str, tuple[object, dict[str, Any]]] = {
    "chroma query": (
        {
            "ids": [["a", "b"]],
            "embeddings": None,
            "documents": [[TAR, FIND]],
            "uris": None,
            "included": ["metadatas", "documents", "distances"],
            "data": None,
            "metadatas": [[{"source": "tar.md", "page": 1}, {"source": "find.md", "page": 2}]],
            "distances": [[0.25, 0.75]],
        },
        {"id": "a", "path": "tar.md", "score": 0.25, "score_order": "lower"},
    ),
    "chroma get": (
        {
            "ids": ["a", "b"],
            "embeddings": None,
            "documents": [TAR, FIND],
            "metadatas": [{"source": "tar.md"}, None],
            "included": ["metadatas", "documents"],
        },
        {"id": "a", "path": "tar.md", "score_order": "given"},
    ),
    "qdrant REST": (
        {
            "result": {
                "points": [
                    {"id": 1, "version": 0, "score": 0.9, "payload": {"text": TAR, "file": "t.md"}},
                    {"id": 2, "version": 0, "score": 0.5, "payload": {"text": FIND}},
                ]
            },
            "status": "ok",
            "time": 0.001,
        },
        {"id": "1", "path": "t.md", "score": 0.9, "score_order": "higher"},
    ),
    "qdrant REST search": (
        {
            "result": [
                {"id": "u", "score": 0.9, "payload": {"page_content": TAR, "metadata": {"p": 1}}},
                {"id": "v", "score": 0.8, "payload": {"page_content": FIND, "metadata": {}}},
            ],
            "status": "ok",
            "time": 0.1,
        },
        {"id": "u", "score": 0.9, "metadata": {"p": 1, "score": 0.9}},
    ),
    "elasticsearch": (
        {
            "took": 3,
            "timed_out": False,
            "_shards": {"total": 1, "successful": 1},
            "hits": {
                "total": {"value": 2, "relation": "eq"},
                "max_score": 9.5,
                "hits": [es_hit(1, 9.5, TAR), es_hit(2, 4.0, FIND)],
            },
        },
        {"id": "1", "name": "T1", "url": "https://example.org/1", "score_order": "higher"},
    ),
    "opensearch hits": ([es_hit(1, 9.5, TAR), es_hit(2, 4.0, FIND)], {"id": "1", "score": 9.5}),
    "sorted hits have no score": (
        [es_hit(1, None, TAR), es_hit(2, None, FIND)],
        {"score_order": "given"},
    ),
    "_source alone": (
        [es_hit(1, 1, TAR)["_source"], es_hit(2, 1, FIND)["_source"]],
        {"name": "T1", "origin": "similarity"},
    ),
    "elasticsearch fields": (
        {"hits": {"hits": [
            {"_id": "1", "_score": 2.0, "fields": {"text": [TAR], "path": ["a.md"]}},
            {"_id": "2", "_score": 1.0, "fields": {"text": [FIND]}},
        ]}},
        {"id": "1", "score": 2.0},
    ),
    "pinecone": (
        {
            "matches": [
                {"id": "v1", "score": 0.9, "values": [], "metadata": {"text": TAR, "source": "a"}},
                {"id": "v2", "score": 0.8, "values": [0.1], "metadata": {"text": FIND}},
            ],
            "namespace": "n",
            "usage": {"read_units": 1},
        },
        {"id": "v1", "path": "a", "score": 0.9, "score_order": "given"},
    ),
    "pinecone records": (
        {
            "result": {
                "hits": [
                    {"_id": "r1", "_score": 0.3, "fields": {"chunk_text": TAR, "category": "x"}},
                    {"_id": "r2", "_score": 0.2, "fields": {"chunk_text": FIND}},
                ]
            },
            "usage": {"read_units": 1},
        },
        {"id": "r1", "score": 0.3, "metadata": {"category": "x", "score": 0.3}},
    ),
    "weaviate graphql": (
        {"data": {"Get": {"Page": [
            {"text": TAR, "title": "T", "_additional": {"id": "w1", "distance": 0.1}},
            {"text": FIND, "title": "F", "_additional": {"id": "w2", "distance": 0.4}},
        ]}}},
        {"id": "w1", "name": "T", "score": 0.1, "score_order": "lower"},
    ),
    "milvus": (
        [[
            {"id": 7, "distance": 0.8, "entity": {"text": TAR, "subject": "x"}},
            {"id": 8, "distance": 0.2, "entity": {"text": FIND}},
        ]],
        {"id": "7", "score": 0.8, "score_order": "given"},
    ),
    "milvus REST": (
        {"code": 0, "cost": 0, "data": [
            {"id": 7, "distance": 0.8, "text": TAR},
            {"id": 8, "distance": 0.2, "text": FIND},
        ]},
        {"id": "7", "score": 0.8},
    ),
    "pgvector dicts": (
        [
            {"id": 3, "content": TAR, "metadata": {"source": "t.md"}, "distance": 0.1},
            {"id": 4, "content": FIND, "metadata": {}, "distance": 0.3},
        ],
        {"id": "3", "path": "t.md", "score": 0.1, "score_order": "given"},
    ),
    "supabase": (
        [
            {"id": 3, "content": TAR, "metadata": {"source": "t.md"}, "similarity": 0.9},
            {"id": 4, "content": FIND, "metadata": {}, "similarity": 0.3},
        ],
        {"id": "3", "path": "t.md", "score": 0.9},
    ),
    "azure": (
        {
            "@odata.context": "…",
            "value": [
                {"@search.score": 2.5, "id": "z1", "content": TAR, "sourcepage": "t.pdf"},
                {"@search.score": 1.5, "id": "z2", "content": FIND, "sourcepage": "f.pdf"},
            ],
        },
        {"id": "z1", "score": 2.5, "score_order": "higher"},
    ),
    "bedrock": (
        {
            "ResponseMetadata": {"HTTPStatusCode": 200},
            "retrievalResults": [
                {
                    "content": {"text": TAR, "type": "TEXT"},
                    "location": {"type": "S3", "s3Location": {"uri": "s3://b/tar.md"}},
                    "score": 0.7,
                    "metadata": {"page": 3},
                },
                {
                    "content": {"text": FIND},
                    "location": {"type": "WEB", "webLocation": {"url": "https://e.org/f"}},
                    "score": 0.6,
                },
            ],
        },
        {"url": "s3://b/tar.md", "score": 0.7, "score_order": "higher"},
    ),
    "openai": (
        {
            "object": "vector_store.search_results.page",
            "search_query": ["tar"],
            "data": [
                {
                    "file_id": "file-1",
                    "filename": "tar.md",
                    "score": 0.95,
                    "attributes": {"author": "A"},
                    "content": [{"type": "text", "text": TAR}],
                },
                {
                    "file_id": "file-2",
                    "filename": "find.md",
                    "score": 0.79,
                    "attributes": None,
                    "content": [{"type": "text", "text": FIND}],
                },
            ],
            "has_more": False,
            "next_page": None,
        },
        {"id": "file-1", "path": "tar.md", "score": 0.95, "score_order": "higher"},
    ),
    "cohere": (
        {
            "id": "07",
            "results": [
                {"index": 3, "relevance_score": 0.9, "document": {"text": TAR}},
                {"index": 0, "relevance_score": 0.4, "document": {"text": FIND}},
            ],
            "meta": {"api_version": {"version": "1"}},
        },
        {"score": 0.9, "score_order": "higher"},
    ),
    "web: tavily": (
        {
            "query": "tar",
            "answer": None,
            "images": [],
            "results": [
                {"title": "T", "url": "https://e.org/t", "content": TAR, "score": 0.8},
                {"title": "F", "url": "https://e.org/f", "content": FIND, "score": 0.7},
            ],
        },
        {"name": "T", "url": "https://e.org/t", "score": 0.8, "score_order": "given"},
    ),
    "web: snippets": (
        [
            {"title": "T", "link": "https://e.org/t", "snippet": TAR, "position": 1},
            {"title": "F", "link": "https://e.org/f", "snippet": FIND, "position": 2},
        ],
        {"name": "T", "url": "https://e.org/t"},
    ),
    "web: texts": (
        [
            {"title": "T", "url": "https://e.org/t", "text": TAR},
            {"title": "F", "url": "https://e.org/f", "text": FIND},
        ],
        {"name": "T", "url": "https://e.org/t"},
    ),
    "vespa": (
        {"root": {"id": "toplevel", "relevance": 1.0, "children": [
            {"id": "v1", "relevance": 0.9, "source": "d", "fields": {"body": TAR}},
            {"id": "v2", "relevance": 0.2, "source": "d", "fields": {"body": FIND}},
        ]}},
        {"id": "v1", "score": 0.9},
    ),
    "typesense": (
        {"found": 2, "hits": [
            {"document": {"id": "1", "text": TAR}, "text_match": 578730, "highlights": []},
            {"document": {"id": "2", "text": FIND}, "text_match": 57, "highlights": []},
        ]},
        {"score": 578730.0, "id": "1"},
    ),
    "meilisearch": (
        {"hits": [{"id": 1, "overview": TAR}, {"id": 2, "overview": FIND}], "query": "tar"},
        {},
    ),
    "lancedb": (
        [
            {"text": TAR, "vector": [0.1, 0.2], "_distance": 0.1},
            {"text": FIND, "vector": [0.3, 0.2], "_distance": 0.6},
        ],
        {"score": 0.1, "score_order": "lower", "metadata": {"score": 0.1}},
    ),
    "llama index in a payload": (
        [
            {"id": "a", "score": 0.9, "payload": {"_node_content": json.dumps({"text": TAR})}},
            {"id": "b", "score": 0.8, "payload": {"_node_content": json.dumps({"text": FIND})}},
        ],
        {"id": "a"},
    ),
    "plain strings": ([TAR, FIND], {"origin": "similarity", "score_order": "given"}),
    "pairs of dicts": (
        [[{"page_content": TAR, "metadata": {"source": "t.md"}}, 0.3],
         [{"page_content": FIND, "metadata": {}}, 0.6]],
        {"path": "t.md", "score": 0.3, "score_order": "given"},
    ),
    "pairs of texts": ([(TAR, 0.3), (FIND, 0.6)], {"score": 0.3, "score_order": "given"}),
    "columns": (
        {"content": [TAR, FIND], "source": ["t.md", "f.md"], "score": [3.0, 9.0]},
        {"path": "t.md", "score": 3.0, "score_order": "given"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RESPONSES)
def test_a_recorded_response(name: str) -> None:
    given, expected = RESPONSES[name]
    first, second = load(given)
    assert (first.content, second.content) == (TAR, FIND)
    assert first.origin == second.origin == "similarity"
    for key, value in expected.items():
        assert getattr(first, key) == value, key
    if first.score != 1:
        assert first.metadata["score"] == first.score
    text = pf.render(given, min_score=None).text
    assert text.index(TAR) < text.index(FIND)


# Objects of clients, as their classes have them.


def test_an_answer_of_gemini_as_its_client_has_it() -> None:
    genai = pytest.importorskip("google.genai.types")
    chunks = [{"retrieved_context": {"title": "T1", "text": text}} for text in (TAR, FIND)]
    said = {"role": "model", "parts": [{"text": "An answer of the LLM."}]}
    candidate = {"content": said, "grounding_metadata": {"grounding_chunks": chunks}}
    given = genai.GenerateContentResponse.model_validate({"candidates": [candidate]})
    first, second = load(given)
    assert (first.content, second.content, first.name) == (TAR, FIND, "T1")


class Moment(datetime):
    """A subclass of a date, as pandas has one."""


def test_the_sources_of_an_answer_are_read_and_not_its_words() -> None:
    sources = [{"title": "T1", "url": "https://e.org/1", "snippet": text} for text in (TAR, FIND)]
    answer = {"answer": "What an LLM says about it.", "sources": sources}
    assert [item.content for item in load(answer)] == [TAR, FIND]
    # Names of sources are no records beside a text.
    for names in (["a.md", "b.md"], [{"title": "T", "url": "https://e.org"}], ["https://e.org/1"]):
        (item,) = load([{"question": "Q?", "answer": TAR, "sources": names}])
        assert (item.content, item.name) == (TAR, "Q?")


def test_a_page_with_highlights_is_one_record() -> None:
    page = {
        "url": "https://e.org/1",
        "title": "T1",
        "highlights": [TAR, FIND],
        "scores": [0.9, 0.1],
    }
    for given in (page, [page], types.SimpleNamespace(**page)):
        (item,) = load(given)
        assert (item.url, item.name) == ("https://e.org/1", "T1")
        assert item.content == f"{TAR}\n\n{FIND}"


def test_dates_and_ids_of_databases_are_no_news() -> None:
    row = {"id": UUID(int=1), "text": TAR, "at": datetime(2026, 1, 2, 3), "price": Decimal("1.50")}
    (item,) = load([{**row, "owner": UUID(int=2), "seen": Moment(2026, 1, 2)}])
    assert item.metadata["seen"] == "2026-01-02 00:00:00"
    assert item.metadata["at"] == "2026-01-02 03:00:00" and item.metadata["price"] == "1.50"
    assert item.metadata["owner"] == str(UUID(int=2))


@pytest.mark.parametrize("given", [
    {"ids": [["a"]], "documents": None, "metadatas": [[{"source": "a.md"}]], "distances": [[0.1]]},
    {"matches": [{"id": "a", "score": 0.5, "values": []}]},
    [{"id": 1, "version": 0, "score": 0.5, "payload": None}],
])  # fmt: skip
def test_a_search_without_its_texts_says_how_to_ask_for_them(given: object) -> None:
    with pytest.raises(ItemError, match=r'ask for them: include=\["documents"\] in Chroma'):
        load(given)


def test_a_text_of_json_says_how_to_read_it() -> None:
    with pytest.raises(ItemError, match="a text of JSON is read by json"):
        load(json.dumps([{"content": TAR}]))


# Records without a text.


def test_no_usable_record_is_an_error_with_shape_and_fields() -> None:
    points = [{"id": n, "score": 0.5, "payload": {"year": 1999}} for n in range(3)]
    result = pf.render(points)
    (error,) = [one for one in result.warnings if one.severity == "error"]
    assert error.code == "PF204"
    expected = "none of 3 records is usable: content: missing; an item needs content or summary"
    assert expected in error.message
    assert "Qdrant point with id, score, payload (year)" in error.message


def test_a_few_unusable_records_are_said_with_their_places() -> None:
    good = {"id": 1, "score": 0.5, "payload": {"text": TAR}}
    result = pf.render([good, {"id": 2, "payload": {}}, good])
    (said,) = [one for one in result.warnings if one.code == "PF204"]
    assert (said.where, said.severity) == ("items[1]", "warning")
    many = pf.render([good, *[{"id": 2, "payload": {}}] * 30])
    skipped = [one for one in many.warnings if one.code == "PF204"]
    assert len(skipped) == 11
    assert skipped[-1].message.startswith("30 records were skipped in all, also items[11], ")


def test_an_answer_without_results_is_no_error() -> None:
    assert load({"matches": [], "namespace": ""}) == []
    assert load({"hits": {"hits": []}}) == []


# Several searches.


def test_several_searches_are_interleaved_by_rank() -> None:
    answer = {
        "ids": [["a", "b", "c"], ["c", "d"]],
        "documents": [["one", "two", "three"], ["three", "four"]],
        "distances": [[0.1, 0.2, 0.3], [10.0, 20.0]],
        "metadatas": None,
    }
    items = load(answer)
    # "three" is in both: its two ranks add up.
    assert [item.content for item in items] == ["three", "three", "one", "two", "four"]
    assert {item.score_order for item in items} == {"given"}


def test_what_stands_beside_a_text_is_not_read_in_its_place() -> None:
    long = "Sells apples and pears all over the land, and packs them well. " * 2
    for record in (
        {"id": "1", "score": 0.9, "doc": "manual.pdf", "text": TAR},
        {"id": "1", "score": 0.9, "doc": {"title": "t", "description": long}, "text": TAR},
        {"title": "x", "url": "https://e.example", "extract": "pdfminer", "description": TAR},
        {"title": "x", "search_context": "low", "description": TAR},
    ):
        assert [item.content for item in load([record])] == [TAR]
    cast = ["Johann Sebastian Bach the elder", "Maria Anna Mozart the younger"]
    plot = "A cat sails home over the sea."
    point = {"id": 1, "version": 0, "score": 0.5, "payload": {"plot": plot, "cast": cast}}
    assert [item.content for item in load([point])] == [plot]


def test_an_id_beside_lists_of_one_value_costs_the_hit_nothing() -> None:
    hit = {"id": "r1", "content": [TAR], "title": ["Tar"], "source": ["a.md"], "score": [0.3]}
    (item,) = load([hit])
    assert (item.name, item.path, item.content, item.score) == ("Tar", "a.md", TAR, 0.3)
    answer = {"id": "r", "documents": [TAR], "metadata": [{"source": "a.md", "page": 3}]}
    (item,) = load(answer)
    assert (item.path, item.metadata["page"]) == ("a.md", 3)


def test_a_text_before_its_tags_is_no_title() -> None:
    with pytest.raises(pf.ItemError, match="found tuple"):
        load([(f"{TAR} It is the oldest of its kind.", ["a.md"])])


def test_a_whole_number_before_an_object_is_no_score() -> None:
    hits = [SimpleNamespace(content=text, title="t") for text in (TAR, FIND)]
    with pytest.raises(pf.ItemError):
        load(list(enumerate(hits)))
    assert [item.score for item in load([(0.9, hits[0]), (0.2, hits[1])])] == [0.9, 0.2]


def test_hits_of_typesense_keep_the_order_of_a_hybrid_search() -> None:
    hits = [
        {
            "document": {"text": text},
            "text_match": match,
            "vector_distance": distance,
            "hybrid_search_info": {"rank_fusion_score": fused},
        }
        for text, match, distance, fused in ((TAR, 9, 0.8, 0.7), (FIND, 0, 0.1, 0.3))
    ]
    items = load({"hits": hits})
    assert [(item.score, item.score_order) for item in items] == [(0.7, "higher"), (0.3, "higher")]


def test_a_hit_of_a_client_with_a_content_is_a_result_of_a_search() -> None:
    # Whoosh and Elasticsearch's DSL have such objects, and a table such rows.
    hit = types.SimpleNamespace(content=TAR, title="T1", path="a.md", page=3)
    base = sqlite3.connect(":memory:")
    base.row_factory = sqlite3.Row
    query = "select ? as content, 'T1' as title, 'a.md' as path, 3 as page"
    for given in ([hit], base.execute(query, [TAR]).fetchall()):
        (item,) = load(given)
        assert (item.origin, item.name, item.path) == ("similarity", "T1, page 3", "a.md")
    base.close()
    native = types.SimpleNamespace(content=TAR, path="a.md", kind="code")
    assert load([native])[0].origin == "explicit"


# Shapes that no row names: spellings, bodies and lists further in.

Ranked = namedtuple("Ranked", "index document relevance_score")
UNLISTED: dict[str, object] = {
    "vespa groups": {"root": {"children": [{"id": "group:root:0", "relevance": 1.0, "children": [
        {"id": "group:a", "value": "a", "children": [{"id": "hitlist:hits", "children": [
            {"id": "1", "relevance": 0.9, "fields": {"text": TAR}},
            {"id": "2", "relevance": 0.8, "fields": {"text": FIND}},
        ]}]},
    ]}]}},
    "vespa chunks": {"root": {"children": [
        {"id": "1", "relevance": 0.9, "fields": {"title": "T1", "chunks": [TAR, "A second part of the page."]}},
        {"id": "2", "relevance": 0.8, "fields": {"chunks": [FIND], "tags": ["a b", "c d"]}},
    ]}},
    "typesense groups": {"found": 2, "grouped_hits": [
        {"group_key": ["a"], "hits": [{"document": {"id": "1", "text": TAR}, "text_match": 9}]},
        {"group_key": ["b"], "hits": [{"document": {"id": "2", "text": FIND}, "text_match": 5}]},
    ]},
    "meilisearch searches": {"results": [{"indexUid": "a", "hits": [
        {"id": 1, "overview": TAR, "_rankingScore": 0.9}, {"id": 2, "overview": FIND},
    ]}]},
    "elasticsearch searches": {"responses": [
        {"hits": {"hits": [{"_id": "1", "_score": 1.0, "_source": {"text": TAR}}]}},
        {"hits": {"hits": [{"_id": "2", "_score": 1.0, "_source": {"text": FIND}}]}},
    ]},
    "redis documents": [
        types.SimpleNamespace(id="doc:1", payload=None, content=TAR, vector_score="0.1"),
        types.SimpleNamespace(id="doc:2", payload=None, content=FIND, vector_score="0.5"),
    ],
    "redis documents as JSON": [
        types.SimpleNamespace(id="1", payload=None, json=json.dumps({"text": text}))
        for text in (TAR, FIND)
    ],
    "redis, second protocol": [
        2, b"doc:1", [b"content", TAR.encode(), b"score", b"0.1"], b"doc:2", [b"content", FIND.encode()],
    ],
    "redis, third protocol": {"attributes": [], "total_results": 2, "results": [
        {"id": "doc:1", "extra_attributes": {"content": TAR, "vector_score": "0.1"}, "values": []},
        {"id": "doc:2", "extra_attributes": {"content": FIND}, "values": []},
    ]},
    "mongodb atlas": [
        {"_id": "65", "plot": TAR, "title": "T1", "plot_embedding": [0.1], "score": 0.9},
        {"_id": "66", "plot": FIND, "awards": {"text": "1 win."}, "score": 0.8},
    ],
    "vertex ai search": {"results": [
        {"id": "1", "document": {"id": "1", "derivedStructData": {
            "title": "T1", "link": "https://example.org/1",
            "extractive_segments": [{"content": TAR, "pageNumber": "2"}],
            "snippets": [{"snippet": "<b>tar</b> saves …", "snippet_status": "SUCCESS"}],
        }}},
        {"id": "2", "document": {"id": "2", "derivedStructData": {
            "title": "T2", "link": "gs://b/2.pdf", "snippets": [{"snippet": FIND}],
        }}},
    ]},
    "vertex ai search in Python": {"results": [
        {"id": "1", "document": {"name": "projects/p/documents/1", "id": "1", "derived_struct_data": {
            "title": "T1", "link": "gs://b/1.pdf", "extractive_answers": [{"content": TAR}],
        }}},
        {"id": "2", "document": {"name": "projects/p/documents/2", "struct_data": {
            "title": "T2", "link": "https://e.org/2", "content": FIND,
        }}},
    ]},
    "vertex ai chunks": {"results": [
        {"chunk": {"id": "c1", "content": TAR, "documentMetadata": {"uri": "gs://b/1.pdf"}}},
        {"chunk": {"id": "c2", "content": FIND, "documentMetadata": {"uri": "gs://b/2.pdf"}}},
    ]},
    "vertex rag": {"contexts": {"contexts": [
        {"sourceUri": "gs://b/1.txt", "text": TAR, "score": 0.3},
        {"sourceUri": "gs://b/2.txt", "text": FIND, "score": 0.5},
    ]}},
    "gemini grounding": {"groundingChunks": [
        {"retrievedContext": {"uri": "gs://1", "title": "T1", "text": TAR}},
        {"retrievedContext": {"uri": "gs://2", "title": "T2", "text": FIND}},
    ]},
    "google custom search": {"kind": "customsearch#search", "items": [
        {"kind": "customsearch#result", "title": "T1", "link": "https://e.org/1", "snippet": TAR},
        {"kind": "customsearch#result", "title": "T2", "link": "https://e.org/2", "snippet": FIND},
    ]},
    "brave": {"type": "search", "query": {"original": "q"}, "web": {"results": [
        {"title": "T1", "url": "https://e.org/1", "description": TAR, "extra_snippets": ["more"]},
        {"title": "T2", "url": "https://e.org/2", "description": FIND},
    ]}},
    "exa": {"requestId": "x", "results": [
        {"id": "https://e.org/1", "title": "T1", "url": "https://e.org/1", "text": "",
         "highlights": [TAR, "more"], "highlightScores": [0.4]},
        {"id": "https://e.org/2", "title": "T2", "url": "https://e.org/2", "text": FIND},
    ]},
    "serper": {"searchParameters": {"q": "q"}, "organic": [
        {"title": "T1", "link": "https://e.org/1", "snippet": TAR, "position": 1},
        {"title": "T2", "link": "https://e.org/2", "snippet": FIND, "position": 2},
    ], "peopleAlsoAsk": [{"question": "why?", "snippet": "Because of that."}]},
    "you.com": {"hits": [
        {"description": "d", "snippets": [TAR, "more"], "title": "T1", "url": "https://e.org/1"},
        {"description": "d", "snippets": [FIND], "title": "T2", "url": "https://e.org/2"},
    ]},
    "web and news": {"results": {"web": [
        {"url": "https://e.org/1", "title": "T1", "description": "d", "snippets": [TAR]},
        {"url": "https://e.org/2", "title": "T2", "snippets": [FIND]},
    ], "news": []}},
    "firecrawl": {"success": True, "data": {"web": [
        {"url": "https://e.org/1", "title": "T1", "description": "d", "markdown": TAR},
        {"url": "https://e.org/2", "title": "T2", "description": FIND},
    ]}},
    "wikipedia": {"query": {"searchinfo": {"totalhits": 2}, "search": [
        {"ns": 0, "title": "T1", "pageid": 1, "snippet": TAR},
        {"ns": 0, "title": "T2", "pageid": 2, "snippet": FIND},
    ]}},
    "news": {"status": "ok", "articles": [
        {"source": {"id": None, "name": "E"}, "title": "T1", "url": "https://e.org/1", "content": TAR},
        {"source": {"name": "E"}, "title": "T2", "url": "https://e.org/2", "description": FIND},
    ]},
    "github code": {"total_count": 2, "items": [
        {"name": "a.py", "path": "src/a.py", "score": 1.0, "text_matches": [{"fragment": TAR}]},
        {"name": "b.py", "path": "src/b.py", "score": 1.0, "text_matches": [{"fragment": FIND}]},
    ]},
    "voyage": types.SimpleNamespace(total_tokens=9, results=[
        Ranked(0, TAR, 0.9),
        Ranked(1, FIND, 0.3),
    ]),
    "jina": {"model": "jina-reranker", "results": [
        {"index": 1, "relevance_score": 0.9, "document": {"text": TAR}},
        {"index": 0, "relevance_score": 0.3, "document": {"text": FIND}},
    ]},
    "bedrock rerank": {"results": [
        {"index": 0, "relevanceScore": 0.9, "document": {"textDocument": {"text": TAR}}},
        {"index": 1, "relevanceScore": 0.5, "document": {"textDocument": {"text": FIND}}},
    ]},
    "bedrock answer": {"output": {"text": "an answer"}, "citations": [
        {"generatedResponsePart": {"textResponsePart": {"text": "an answer"}},
         "retrievedReferences": [{"content": {"text": TAR}}, {"content": {"text": FIND}}]},
    ]},
    "databricks": {
        "manifest": {"column_count": 3, "columns": [{"name": "id"}, {"name": "text"}, {"name": "score"}]},
        "result": {"row_count": 2, "data_array": [["1", TAR, 0.9], ["2", FIND, 0.5]]},
    },
    "pandas, split": {"columns": ["id", "text"], "index": [0, 1], "data": [[1, TAR], [2, FIND]]},
    "bigquery": [
        {"query": {"q": 1}, "base": {"id": 1, "content": TAR}, "distance": 0.1},
        {"base": {"id": 2, "content": FIND}, "distance": 0.3},
    ],
    "s3 vectors": {"vectors": [
        {"key": "1", "distance": 0.1, "metadata": {"source_text": TAR, "genre": "x"}},
        {"key": "2", "distance": 0.3, "metadata": {"source_text": FIND}},
    ]},
    "upstash": {"result": [
        {"id": "1", "score": 0.9, "data": TAR, "metadata": {"link": "example.org"}},
        {"id": "2", "score": 0.5, "data": FIND},
    ]},
    "turbopuffer": [
        {"id": 1, "dist": 0.1, "attributes": {"text": TAR}}, {"id": 2, "dist": 0.3, "attributes": {"text": FIND}},
    ],
    "astra": {"data": {"documents": [
        {"_id": "1", "$vectorize": TAR, "$similarity": 0.9},
        {"_id": "2", "$vectorize": FIND, "$similarity": 0.5},
    ]}},
    "pinecone assistant": {"snippets": [
        {"type": "text", "content": TAR, "score": 0.9, "reference": {"file": {"name": "a.pdf"}}},
        {"type": "text", "content": FIND, "score": 0.5, "reference": {"file": {"name": "b.txt"}}},
    ]},
    "dify": {"query": {"content": "a longer question than any of the texts"}, "records": [
        {"segment": {"id": "1", "content": TAR, "document": {"name": "a.md"}}, "score": 0.9},
        {"segment": {"content": FIND}, "score": 0.5},
    ]},
    "ragflow": {"code": 0, "data": {"total": 2, "chunks": [
        {"content": TAR, "document_keyword": "a.pdf", "similarity": 0.9},
        {"content": FIND, "similarity": 0.5},
    ]}},
    "zep": {"edges": [{"uuid": "1", "fact": TAR, "name": "A"}, {"uuid": "2", "fact": FIND}]},
    "langchain in javascript": [
        {"pageContent": TAR, "metadata": {"fileName": "a.md"}}, {"pageContent": FIND, "metadata": {}},
    ],
    "anthropic results": [
        {"type": "search_result", "source": "https://e.org/1", "title": "T1",
         "content": [{"type": "text", "text": TAR}]},
        {"type": "search_result", "source": "https://e.org/2", "title": "T2",
         "content": [{"type": "text", "text": FIND}]},
    ],
    "nested passages": {"hits": {"hits": [
        {"_id": str(n), "_score": 1.0, "_source": {"title": f"T{n + 1}"}, "inner_hits": {
            "passages": {"hits": {"hits": [{"_source": {"text": text}, "_score": 0.5}]}}}}
        for n, text in enumerate((TAR, FIND))
    ]}},
    "slack": {"ok": True, "messages": {"total": 2, "matches": [
        {"iid": "1", "username": "u", "text": TAR, "permalink": "https://e.org/1"},
        {"iid": "2", "username": "u", "text": FIND, "permalink": "https://e.org/2"},
    ]}},
    "microsoft retrieval": {"retrievalHits": [
        {"webUrl": "https://e.org/1", "extracts": [{"text": TAR, "relevanceScore": 0.9}]},
        {"webUrl": "https://example.org/2", "extracts": [{"text": FIND, "relevanceScore": 0.5}]},
    ]},
    "azure agentic": {"response": [{"content": [{"type": "text", "text": "[{}]"}]}], "references": [
        {"type": "searchIndex", "id": "0", "sourceData": {"content": TAR, "title": "T1"}},
        {"type": "searchIndex", "id": "1", "sourceData": {"content": FIND, "title": "T2"}},
    ]},
    "openai response": {"output": [
        {"type": "file_search_call", "id": "x", "results": [
            {"file_id": "f", "filename": "a.md", "score": 0.9, "text": TAR},
            {"file_id": "g", "filename": "b.md", "score": 0.5, "text": FIND},
        ]},
        {"type": "message", "content": [{"type": "output_text", "text": "an answer"}]},
    ]},
    "graphql": {"data": {"search": {"edges": [
        {"node": {"id": "1", "title": "T1", "bodyText": TAR}},
        {"node": {"id": "2", "title": "T2", "bodyText": FIND}},
    ]}}},
    "rows of csv": [{"Nr": "1", "Text": TAR, "Title": "T1"}, {"Nr": "2", "Text": FIND, "Title": "T2"}],
    "ragatouille": [
        {"content": TAR, "score": 25.1, "rank": 1, "document_id": "d1", "passage_id": 0},
        {"content": FIND, "score": 22.0, "rank": 2, "document_id": "d2", "passage_id": 1},
    ],
    "embedchain": [{"context": TAR, "metadata": {"url": "u"}}, {"context": FIND, "metadata": {}}],
    "docling": [
        types.SimpleNamespace(text=TAR, meta=types.SimpleNamespace(headings=["H"])),
        types.SimpleNamespace(text=FIND, meta=None),
    ],
    "objects in objects": [
        types.SimpleNamespace(doc=types.SimpleNamespace(body=TAR, title="T1"), score=0.9),
        types.SimpleNamespace(doc=types.SimpleNamespace(body=FIND, title="T2"), score=0.5),
    ],
    "records by id": {"a": {"text": TAR}, "b": {"text": FIND}},
    "gemini response": {"candidates": [{
        "content": {"role": "model", "parts": [{"text": "An answer, no record."}]},
        "groundingMetadata": {"groundingChunks": [
            {"retrievedContext": {"uri": "https://e.org/1", "title": "T1", "text": TAR}},
            {"retrievedContext": {"uri": "https://e.org/2", "title": "T2", "text": FIND}},
        ]},
    }]},
    "anthropic documents": [
        {"type": "document", "title": "T1", "context": "about it",
         "source": {"type": "text", "media_type": "text/plain", "data": TAR}},
        {"type": "document", "title": "T2", "source": {"type": "text", "data": FIND}},
    ],
    "mcp": {"content": [{"type": "text", "text": TAR}, {"type": "text", "text": FIND}],
            "isError": False},
    "mcp by JSON-RPC": {"jsonrpc": "2.0", "id": 1, "result": {"content": [
        {"type": "text", "text": TAR}, {"type": "text", "text": FIND},
    ]}},
    "mcp, structured": {"content": [{"type": "text", "text": "2 results"}], "structuredContent": {
        "results": [{"title": "T1", "url": "https://e.org/1", "text": TAR},
                    {"title": "T2", "url": "https://e.org/2", "text": FIND}]}},
    "mcp, JSON in a text": {"content": [{"type": "text", "text": json.dumps({"results": [
        {"title": "T1", "url": "https://e.org/1", "text": TAR},
        {"title": "T2", "url": "https://e.org/2", "text": FIND},
    ]})}]},
    "vectara": {"summary": "A summary of all, no record.", "search_results": [
        {"text": TAR, "score": 0.9, "document_metadata": {"title": "T1"}, "part_metadata": {}},
        {"text": FIND, "score": 0.5, "document_metadata": {"url": "https://e.org/2"}},
    ]},
    "lightrag": {"status": "success", "message": "Query executed successfully", "data": {
        "entities": [{"entity_name": "E", "description": "an entity in a sentence of its own"}],
        "chunks": [{"content": TAR, "reference_id": "1"}, {"content": FIND, "reference_id": "2"}],
        "references": [{"reference_id": "1", "file_path": "a.md"}],
    }},
    "neo4j by its API": {"data": {"fields": ["n.text", "score"], "values": [[TAR, 0.9], [FIND, 0.5]]}},
    "solr": {"response": {"docs": [
        {"id": "1", "title": ["T1"], "url_s": ["https://e.org/1"], "text_t": [TAR], "score": 3.1},
        {"id": "2", "title": ["T2"], "url_s": ["https://e.org/2"], "text_t": [FIND], "score": 1.1},
    ]}},
    "vertex by structure": {"results": [
        {"id": "1", "document": {"name": "projects/1", "structData": {"title": "T1", "content": TAR}}},
        {"id": "2", "document": {"structData": {"link": "https://e.org/2", "content": FIND}}},
    ]},
    "llama index documents": [
        {"node": {"metadata": {"title": "T1"}, "text_resource": {"text": TAR, "url": None}}, "score": 0.9},
        {"node": {"metadata": {"url": "https://e.org/2"}, "text_resource": {"text": FIND}}, "score": 0.5},
    ],
    "ripgrep": [
        {"type": "match", "data": {"path": {"text": "a.py"}, "lines": {"text": TAR + "\n"}, "line_number": 3}},
        {"type": "match", "data": {"path": {"text": "b.py"}, "lines": {"text": FIND}, "line_number": 4}},
    ],
    "relevance of pages": {"documents": [
        {"title": "T1", "url": "https://e.org/1", "content": TAR, "relevance": 0.9},
        {"title": "T2", "url": "https://e.org/2", "content": FIND, "relevance": 0.2},
    ]},
    "cognee": [{"search_result": [TAR], "dataset_id": "1"}, {"search_result": [FIND], "dataset_id": "1"}],
    "cohere, version 2": {"message": {"content": [{"type": "text", "text": "An answer."}], "citations": [
        {"start": n, "end": n + 3, "text": "An", "sources": [{"type": "document", "id": f"doc:{n}",
         "document": {"id": f"doc:{n}", "snippet": text, "title": f"T{n + 1}"}}]}
        for n, text in enumerate((TAR, FIND))]}},
    "cohere, version 1": {
        "text": "An answer.", "citations": [{"start": 0, "end": 2, "text": "An", "document_ids": ["a"]}],
        "documents": [{"id": "a", "snippet": TAR, "title": "T1"}, {"id": "b", "snippet": FIND}]},
    "dynamodb": {"Count": 2, "Items": [
        {"id": {"N": "1"}, "text": {"S": TAR}, "title": {"S": "T1"}, "about": {"M": {"n": {"N": "0.5"}}}},
        {"id": {"N": "2"}, "text": {"S": FIND}, "url": {"S": "https://e.org/2"}, "tags": {"L": [{"S": "x"}]}},
    ]},
    "sourcegraph": {"data": {"search": {"results": {"results": [
        {"repository": {"name": "r"}, "file": {"path": "a.go"}, "lineMatches": [{"preview": TAR, "lineNumber": 3}]},
        {"file": {"path": "b.go", "content": FIND}, "lineMatches": [{"preview": "find walks", "lineNumber": 0}]},
    ]}}}},
    "sourcegraph, streamed": [
        {"type": "content", "path": "a.go", "lineMatches": [{"line": TAR, "lineNumber": 3}]},
        {"type": "content", "path": "b.go", "chunkMatches": [{"content": FIND, "contentStart": {"line": 6}}]},
    ],
    "a page of qdrant": ([{"id": 1, "payload": {"text": TAR}}, {"id": 2, "payload": {"text": FIND}}], "an-id"),
    "the last page of qdrant": [[{"id": 1, "payload": {"text": TAR}}, {"id": 2, "payload": {"text": FIND}}], None],
    "qdrant groups": {"groups": [{"id": n, "hits": [{"id": n, "version": 0, "score": 0.5, "payload": {"text": text}}]}
                                 for n, text in enumerate((TAR, FIND))]},
    "number first": [(0.9, TAR), (0.5, FIND)],
    "number and object": [(n, types.SimpleNamespace(body=text)) for n, text in ((0.9, TAR), (0.5, FIND))],
    "bytes": [TAR.encode(), FIND.encode()],
    "bytes in a payload": [{"id": 1, "payload": {"text": TAR.encode()}}, {"id": 2, "payload": {"text": FIND}}],
    "no number": [(TAR, float("nan")), (FIND, 0.5)],
    # Data sets with questions and passages.
    "musique": [{"idx": 0, "title": "T1", "paragraph_text": TAR, "is_supporting": True},
                {"idx": 1, "title": "T2", "paragraph_text": FIND, "is_supporting": False}],
    "pyserini, flashrag": [{"id": "1", "contents": TAR}, {"id": "2", "contents": FIND}],
    "hotpotqa in columns": {"title": ["T1", "T2"], "sentences": [[TAR, "It ends."], [FIND]]},
    "hotpotqa": [["T1", [TAR, " It ends."]], ["T2", [FIND]]],
    "triviaqa": {"title": ["T1", "T2"], "description": ["Of tar", "Of find"], "rank": [0, 1],
                 "url": ["https://e.org/1", "https://e.org/2"], "search_context": [TAR, FIND]},
    "summaries of wikipedia": [{"title": "T1", "description": "a program", "extract": TAR},
                               {"title": "T2", "description": "a program", "extract": FIND}],
    "2wikimultihop": [{"title": "T1", "sentences": [TAR, "It ends."]}, {"title": "T2", "sentences": [FIND]}],
    "trec rag": [{"docid": "a", "score": 9.5, "doc": {"title": "T1", "segment": TAR}},
                 {"docid": "b", "score": 9.1, "doc": {"title": "T2", "segment": FIND}}],
    "rankllm": {"query": {"text": "Who packs?", "qid": 1}, "candidates": [
        {"docid": "a", "score": 9.5, "doc": {"title": "T1", "contents": TAR}},
        {"docid": "b", "score": 9.1, "doc": {"title": "T2", "contents": FIND}}]},
}  # fmt: skip


@pytest.mark.parametrize("name", UNLISTED)
def test_an_unlisted_shape_is_read_in_its_order(name: str) -> None:
    items = load_records(UNLISTED[name], where="items", diagnostics=(said := Diagnostics()))
    texts = [str(item.content) for item in items]
    assert [TAR in texts[0], FIND in texts[1], len(texts)] == [True, True, 2]
    assert {item.origin for item in items} == {"similarity"}
    assert not [one for one in said if one.code == "PF204"]
    assert sum(one.code == "PF201" for one in said) < 3
    if "'T1'" in repr(UNLISTED[name]):
        assert items[0].name == "T1"
    if "https://e.org/2" in repr(UNLISTED[name]):
        assert items[1].url == "https://e.org/2"


def test_numbers_and_places_around_an_unlisted_body_are_kept() -> None:
    first, _ = load_records(UNLISTED["dify"], where="items", diagnostics=Diagnostics())
    assert (first.score, first.id) == (0.9, "1")
    first, _ = load_records(UNLISTED["vertex ai search"], where="items", diagnostics=Diagnostics())
    assert (first.name, first.url, first.content) == ("T1", "https://example.org/1", TAR)
    first, _ = load_records(UNLISTED["nested passages"], where="items", diagnostics=Diagnostics())
    assert first.name == "T1"


@pytest.mark.parametrize("key", ["similarity", "_score", "distance", "payload", "metadata"])
def test_a_similarity_that_is_no_number_is_the_worst(key: str) -> None:
    # That of a vector of zeros is NaN, and so is one that was divided by none.
    def hit(number: float) -> dict[str, Any]:
        if key == "payload":
            return {"id": 1, "score": number, "payload": {"text": f"It scores {number}."}}
        if key == "metadata":
            return {"page_content": f"It scores {number}.", "metadata": {"score": number}}
        return {"text": f"It scores {number}.", key: number}

    hits = [hit(number) for number in (float("nan"), 0.2, 0.9)]
    items = load_records(hits, where="items", diagnostics=(said := Diagnostics()))
    assert items[0].score == 0 and "PF202" in {one.code for one in said}
    shown = pf.render(hits, min_score=0.1, score_order="higher")
    assert "nan" not in shown.text and shown.items[0].reason == "min_score"


def test_a_number_of_a_documents_metadata_may_be_a_text() -> None:
    # Some stores take metadata of texts alone.
    about = {"source": "a.md", "score": "0.4"}
    (item,) = load_records(
        [{"page_content": TAR, "metadata": about, "score": None}],
        where="items",
        diagnostics=Diagnostics(),
    )
    assert (item.score, item.metadata["score"]) == (0.4, 0.4)


def test_what_a_text_was_guessed_from_is_said() -> None:
    films = [
        {"_id": n, "plot": TAR, "tagline": "a short line about it", "score": 1} for n in range(9)
    ]
    said = Diagnostics()
    assert [item.content for item in load_records(films, where="i", diagnostics=said)] == [TAR] * 9
    first = next(iter(said)).message
    assert first == 'content is read from "plot", the longest text, not from "tagline"'


@pytest.mark.parametrize(
    "sentences", [["It packs.", "It ends."], ["It packs.", " It ends."], ["It packs. ", "It ends."]]
)
def test_sentences_of_a_passage_stay_one_paragraph(sentences: list[str]) -> None:
    for record in (["T1", sentences], {"title": "T1", "sentences": sentences}):
        assert "\nIt packs. It ends.\n" in pf.render([record]).text


def test_a_longer_text_beside_an_extract_is_named() -> None:
    extract, page = "tar packs", {"page_dump": TAR, "url": "https://e.org/1"}
    said = Diagnostics()
    hits = [{"description": extract, **page}, {"text": extract, **page}]
    hits.append({"description": TAR, "page_dump": FIND})
    items = load_records(hits, where="i", diagnostics=said)
    assert [item.content for item in items] == [extract, extract, TAR]
    (note,) = said
    assert note.message == (
        'content is read from "description", not from "page_dump", which is longer'
    )


def test_lists_beside_the_one_that_is_read_are_named() -> None:
    given = {"papers": [{"id": 1, "text": TAR}], "patents": [{"id": 2, "text": FIND}]}
    said = Diagnostics()
    assert [item.content for item in load_records(given, where="i", diagnostics=said)] == [TAR]
    first = next(iter(said))
    assert first.message.endswith('which no known shape has; not from "patents"')
    assert first.severity == "warning"


def test_a_blank_text_is_none_and_said() -> None:
    for blank in ("", " \n"):
        said = Diagnostics()
        pages = [{"page_content": text, "metadata": {}} for text in (blank, TAR)]
        items = load_records(pages, where="items", diagnostics=said)
        assert ([item.content for item in items], [one.code for one in said]) == ([TAR], ["PF204"])
        with pytest.raises(ItemError, match="2 records is usable"):
            load([{"id": 1, "text": blank}, {"id": 2, "text": blank}])


@pytest.mark.parametrize(("given", "expected"), [
    ([{"index": 1, "relevance_score": 0.9}], "an index alone: give pairs"),
    ({TAR, FIND}, "a set has no order"),
    ([("1", TAR, 0.9)], r"such as a dict, or a pair \(text, number\), found tuple"),
    ({"nearestNeighbors": [{"neighbors": [{"datapoint": {"datapointId": "1"}, "distance": 0.3}]}]},
     "nearestNeighbors"),
    ({"type": "web_search_tool_result", "content": [{"type": "web_search_result", "title": "T",
      "url": "https://e.org", "encrypted_content": "EqgfCioIARgBIiQ3" * 9, "page_age": "May 1, 2025"}]},
     "web search result with type, title, url, encrypted_content"),
])  # fmt: skip
def test_what_has_no_text_is_an_error_with_the_way_out(given: object, expected: str) -> None:
    with pytest.raises(ItemError, match=expected):
        load(given)


@pytest.mark.parametrize(("given", "shape"), [
    ({"text": "An answer in words.", "citations": [{"start": 0, "end": 2, "document_ids": ["a"]}]},
     "answer without its documents"),
    ([{"start": 0, "end": 2, "text": "An", "document_ids": ["a"]}], "citation without its document"),
    ({"message": {"content": [{"type": "text", "text": "An answer."}], "citations": []}},
     "answer without its documents"),
    ({"candidates": [{"content": {"parts": [{"text": "An answer."}]}, "groundingMetadata": {
      "groundingChunks": [{"web": {"uri": "https://e.org", "title": "T"}}]}}]}, "source of Gemini with web"),
])  # fmt: skip
def test_the_words_of_an_llm_are_no_record_of_a_search(given: object, shape: str) -> None:
    with pytest.raises(ItemError, match=f"content: missing.*found: {shape}"):
        load(given)


def test_lines_of_sourcegraph_count_from_0() -> None:
    first, second = load(UNLISTED["sourcegraph, streamed"])
    assert (first.path, first.start_line, first.end_line) == ("a.go", 4, 4)
    assert (second.path, second.start_line, second.end_line) == ("b.go", 7, 7)


def test_an_id_that_stands_for_a_text_is_said() -> None:
    said = Diagnostics()
    load_records([("doc-17", 0.9)], where="items", diagnostics=said)
    assert 'a single word, "doc-17"; an id alone is not content' in next(iter(said)).message


def test_lines_of_ripgrep_have_their_place() -> None:
    first, _ = load(UNLISTED["ripgrep"])
    assert (first.path, first.start_line, first.end_line, first.content) == ("a.py", 3, 3, TAR)


def test_a_source_beside_a_body_is_the_place() -> None:
    hit = {"relevance_score": 0.9, "document": {"text": "the body of it"}, "source": "docs/a.md"}
    (item,) = pf.render([hit]).items
    assert item.path == "docs/a.md"


def test_a_body_of_a_store_keeps_its_summary_and_its_kind() -> None:
    body = {"text": TAR, "summary": "archives", "kind": "faq", "required": True}
    (item,) = load([{"id": "1", "payload": body, "score": 0.5}])
    assert (item.content, item.summary, item.kind, item.required) == (
        TAR,
        "archives",
        "text",
        False,
    )
    assert item.metadata == {"kind": "faq", "required": True, "score": 0.5}


def test_a_response_deep_in_others_takes_no_time() -> None:
    deep: dict[str, Any] = {"x": 1}
    for _ in range(200):
        deep = {"hits": deep}
    assert open_answer(deep) is None


# Responses as the documentation of 110 services shows them, one a line, with the first item.

DOCUMENTED = {
    each.pop("name"): each
    for line in (DATA / "responses.jsonl").read_text("utf-8").splitlines()
    if (each := json.loads(line))
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_documented_response_is_read_in_its_order(name: str) -> None:
    said = Diagnostics()
    items = load_records(DOCUMENTED[name]["response"], where="items", diagnostics=said)
    assert [item.content for item in items] == [TAR, FIND]
    assert {item.origin for item in items} == {"similarity"}
    for key, value in DOCUMENTED[name]["first"].items():
        assert getattr(items[0], key) == value, key
    assert {one.severity for one in said} <= {"info"}
    text = pf.render(DOCUMENTED[name]["response"]).text
    assert text.index(TAR) < text.index(FIND)
    assert items[0].url is None or items[0].url in text


def without_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_texts(inner) for inner in value]
    return None if isinstance(value, str) and " " in value else value


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_documented_response_without_texts_is_an_error_with_its_fields(name: str) -> None:
    given = without_texts(DOCUMENTED[name]["response"])
    try:
        items = load_records(given, where="items", diagnostics=Diagnostics())
    except ItemError as error:
        assert "usable: " in str(error) and "; found: " in str(error)
        assert any(word in str(error).partition("; found: ")[2] for word in ("with", "tuple"))
    else:  # another text is there, such as a title in a field for texts
        assert all(item.content or item.summary for item in items)


def test_a_repository_packed_as_json_is_its_files() -> None:
    packed = {"fileSummary": {"notes": "n"}, "files": {"src/a.py": "a = 1", "b.md": "# B"}}
    loaded = load_records(packed, where="items", diagnostics=Diagnostics())
    files = [("src/a.py", "a = 1"), ("b.md", "# B")]
    assert [(item.path, item.content) for item in loaded] == files


ABOUT = {"source": "b.md", "page_label": "3", "team": "Kundendienst"}


@pytest.mark.parametrize(
    "record",
    [
        {"text": TAR, "metadata": json.dumps(ABOUT)},  # a column of SQLite or DuckDB
        {"chunk": TAR, "metadata": json.dumps(ABOUT), "distance": 0.2},
        {"id": "7", "payload": {"page_content": TAR, "metadata": json.dumps(ABOUT)}, "score": 1},
        {"id": 7, "text": TAR, "meta": ABOUT, "score": 0.9},  # FlashRank
        {"id": "7", "text": TAR, "metadata_": ABOUT, "node_id": "7", "embedding": [0.1]},
        {"id": "7", "document": TAR, "cmetadata": ABOUT, "embedding": [0.1]},
        {"langchain_id": "7", "content": TAR, "langchain_metadata": json.dumps(ABOUT)},
    ],
)
def test_metadata_are_read_under_the_names_of_tables_and_out_of_json(record: Any) -> None:
    said = Diagnostics()
    (item,) = load_records([record], where="items", diagnostics=said)
    assert (item.path, item.name, item.metadata["team"]) == ("b.md", "b.md, page 3", "Kundendienst")
    assert not {"metadata", "metadata_", "meta", "cmetadata"} & item.metadata.keys()
    assert list(said) == []


@pytest.mark.parametrize("given", ["a note", "{no object", ["a"], 5])
def test_metadata_that_are_no_object_are_kept(given: Any) -> None:
    for key in ("text", "chunk"):
        (item,) = load_records(
            [{key: TAR, "metadata": given}], where="items", diagnostics=Diagnostics()
        )
        assert item.metadata == {"metadata": given}


def test_metadata_of_an_item_may_be_json() -> None:
    (item,) = load_records(
        [{"content": TAR, "metadata": json.dumps(ABOUT)}], where="items", diagnostics=Diagnostics()
    )
    assert item.metadata == ABOUT


_SARIF = {
    "ruleId": "py/sql", "message": {"text": "A query of a user."}, "locations": [
        {"physicalLocation": {
            "artifactLocation": {"uri": "src/db.py"}, "region": {"startLine": 12, "endLine": 14}
        }}
    ],
}  # fmt: skip
_OF_TOOLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Semgrep": (
        {"results": [{
            "check_id": "x.eval", "path": "a.py", "start": {"line": 3, "col": 1},
            "end": {"line": 4, "col": 9}, "extra": {"message": "Detected eval().", "lines": "eval(x)"},
        }], "errors": []},
        {"content": "Detected eval().", "path": "a.py", "start_line": 3, "end_line": 4},
    ),
    "Ruff": (
        [{
            "code": "F401", "filename": "/a.py", "message": "`os` imported but unused",
            "location": {"column": 8, "row": 1}, "end_location": {"column": 10, "row": 2},
        }],
        {"content": "`os` imported but unused", "path": "/a.py", "start_line": 1, "end_line": 2},
    ),
    "Bandit": (
        {"errors": [], "results": [{
            "filename": "a.py", "issue_text": "An insecure function is used.", "line_number": 2
        }]},
        {"content": "An insecure function is used.", "path": "a.py", "start_line": 2},
    ),
    "SARIF": (
        {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [_SARIF]}]},
        {"content": "A query of a user.", "path": "src/db.py", "start_line": 12, "end_line": 14},
    ),
    "pytest": (
        {"exitcode": 1, "tests": [{
            "nodeid": "test_a.py::test_x", "lineno": 3, "outcome": "failed", "call": {
                "crash": {"message": "assert 1 == 2"}, "longrepr": "E  assert 1 == 2",
                "traceback": [{"path": "a.py", "message": "AssertionError"}],
            },
        }]},
        {"content": "E  assert 1 == 2", "id": "test_a.py::test_x"},
    ),
    "Jira": (
        {"startAt": 0, "issues": [{
            "id": "1", "key": "PF-1",
            "fields": {"summary": "Crash", "description": "It crashes when it starts."},
        }]},
        {"content": "It crashes when it starts.", "summary": "Crash", "id": "1"},
    ),
    "Confluence": (
        {"results": [{
            "id": "7", "title": "Refunds", "body": {"storage": {"value": "<p>A week.</p>"}},
        }], "size": 1},
        {"content": "<p>A week.</p>", "name": "Refunds", "id": "7"},
    ),
    "Zendesk": (
        {"tickets": [{"id": 3, "subject": "Help", "description": "The fire is colorful."}]},
        {"content": "The fire is colorful.", "id": "3"},
    ),
    "Slack": (
        {"ok": True, "messages": {"total": 1, "matches": [
            {"text": "The deploy failed.", "permalink": "https://x.org/p1", "score": 0.5}
        ]}},
        {"content": "The deploy failed.", "url": "https://x.org/p1", "score": 0.5},
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", _OF_TOOLS)
def test_what_tools_report_is_read_from_a_file_and_in_python(tool: str) -> None:
    given, expected = _OF_TOOLS[tool]
    for items in (
        load_records(given, where="items", diagnostics=Diagnostics()),
        parse_items(json.dumps(given), where="a.json", diagnostics=Diagnostics()),
    ):
        [item] = items
        assert {key: getattr(item, key) for key in expected} == expected


def test_the_frames_of_ripgrep_and_pictures_of_a_tool_are_no_texts() -> None:
    line = {"path": {"text": "a.py"}, "lines": {"text": "x = 1\n"}, "line_number": 3}
    records = [
        {"type": "begin", "data": {"path": {"text": "a.py"}}},
        {"type": "match", "data": line},
        {"type": "end", "data": {"path": {"text": "a.py"}, "stats": {}}},
        {"type": "summary", "data": {"elapsed_total": {"human": "0.1s"}, "stats": {}}},
    ]
    said = Diagnostics()
    [item] = load_records(records, where="items", diagnostics=said)
    assert (item.content, item.path, item.start_line, list(said)) == ("x = 1", "a.py", 3, [])
    picture = {"type": "image", "data": "aGVsbG8gd29ybGQ=", "mimeType": "image/png"}
    answer = {"content": [{"type": "text", "text": "It is here."}, picture], "isError": False}
    [item] = load_records(answer, where="items", diagnostics=said)
    assert (item.content, [each.code for each in said]) == ("It is here.", ["PF204"])


@pytest.mark.parametrize("record, expected", [
    ({"id": "1", "type": "doc", "data": {"path": "a.md", "text": "It closes."}}, "It closes."),
    ({"type": "text", "mime_type": "text/plain", "data": "It closes."}, "It closes."),
    ({"title": "Law", "summary": "Of pools.", "articles": [{"text": "One."}]}, "Of pools."),
])  # fmt: skip
def test_records_like_those_of_tools_keep_their_texts(record: Any, expected: str) -> None:
    said = Diagnostics()
    [item] = load_records([record], where="items", diagnostics=said)
    assert expected in (item.content, item.summary)


def test_a_line_counted_from_0_beside_a_character_is_no_line_of_an_item() -> None:
    place = {"start": {"line": 11, "character": 0}, "end": {"line": 14, "character": 3}}
    [item] = load_records(
        [{"content": "x = 1", "metadata": place}], where="items", diagnostics=Diagnostics()
    )
    assert (item.start_line, item.end_line) == (None, None)
