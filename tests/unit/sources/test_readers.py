"""Readers of records: documents, chunks and nodes of each framework, with all that they say."""

from __future__ import annotations

import types
from typing import Any

import pytest

import promptforge as pf
from promptforge.errors import Diagnostics, ItemError
from promptforge.model import Item
from promptforge.sources.records import to_item


def read(record: object) -> tuple[Item, list[str]]:
    diagnostics = Diagnostics()
    item = to_item(record, where="f:1", diagnostics=diagnostics)
    return item, [f"{d.code} {d.message}" for d in diagnostics]


def clean(record: object) -> Item:
    item, said = read(record)
    assert said == []
    return item


def test_a_rag_document() -> None:
    about = {"source": "nmap", "source_type": "man_page", "section": 1}
    assert clean({"content": "c", "metadata": about}) == Item(
        kind="man_page", name="nmap", content="c", metadata=about
    )
    about = {"source": "docs/attack-guide.md", "source_type": "markdown"}
    assert clean({"content": "c", "metadata": about}) == Item(
        kind="document",
        name="attack-guide.md",
        path="docs/attack-guide.md",
        content="c",
        metadata=about,
    )
    about = {
        "source": "T9001",
        "source_type": "mitre_attack",
        "name": "Jars",
        "tactic": "Eating",
        "tools": ["Spoon"],
    }
    assert clean({"content": "c", "metadata": about}) == Item(
        kind="mitre_attack",
        name="Jars",
        content="c",
        metadata={"technique_id": "T9001", **about, "tactics": ["Eating"]},
    )
    assert (
        clean({"content": "c", "metadata": {"source_type": "wiki", "source": "p"}}).kind == "wiki"
    )
    assert (
        clean(
            {"content": "c", "name": "own", "metadata": {"source_type": "man_page", "source": "p"}}
        ).name
        == "own"
    )
    # Without its mark, `source` is the place of the text.
    assert clean({"content": "c", "metadata": {"source": "a.md"}}) == Item(
        content="c", path="a.md", metadata={"source": "a.md"}
    )


CHUNK = {
    "filePath": "src/a.cs",
    "content": "c",
    "startLine": 3,
    "endLine": 9,
    "relevance": 0.875,
    "language": "csharp",
    "expandedContext": "b\nc\nd",
}


def test_a_knowledge_chunk_in_both_spellings() -> None:
    expected = Item(
        kind="code",
        content="c",
        expanded="b\nc\nd",
        path="src/a.cs",
        start_line=3,
        end_line=9,
        language="csharp",
        score=0.875,
        origin="similarity",
    )
    assert clean(CHUNK) == expected
    assert clean({k[0].upper() + k[1:]: v for k, v in CHUNK.items()}) == expected


def test_a_chunk_says_its_own_language_or_has_none() -> None:
    assert clean({**CHUNK, "language": None}).language == "none"
    assert clean({k: v for k, v in CHUNK.items() if k != "language"}).language == "none"
    assert clean({**CHUNK, "language": ""}).language == ""
    assert clean({**CHUNK, "chunkIndex": 4, "id": "k"}).metadata == {"chunkIndex": 4}
    assert clean({"Content": "c"}).origin == "similarity"


def test_a_search_result_with_its_entity() -> None:
    entity = {
        "name": "f",
        "type": "function",
        "filePath": "a.ts",
        "startLine": 1,
        "endLine": 2,
        "summary": "s",
        "content": "c",
        "exported": True,
    }
    assert clean({"entityId": "e1", "score": 0.5, "entity": entity, "strategy": "graph"}) == Item(
        kind="function",
        id="e1",
        name="f",
        path="a.ts",
        start_line=1,
        end_line=2,
        summary="s",
        content="c",
        score=0.5,
        origin="similarity",
        metadata={"strategy": "graph", "exported": True},
    )
    bare, said = read(
        {"entityId": 7, "score": 1, "entity": {"name": "f", "type": "class", "filePath": ""}}
    )
    assert (bare.id, bare.content, bare.path) == ("7", "", None)
    assert len(said) == 2


def test_a_lisp_style_item() -> None:
    about = {"filename": "src/example.lisp", "start-line": 10, "end-line": 12}
    assert clean({"type": ":code", "content": "c", "metadata": about}) == Item(
        kind="code",
        content="c",
        path="src/example.lisp",
        start_line=10,
        end_line=12,
        metadata=about,
    )
    assert clean({"type": ":REPL-HISTORY", "content": "c", "metadata": None}).kind == "repl-history"
    empty = clean(
        {
            "type": "code",
            "content": "c",
            "metadata": {":filename": "", ":start-line": 0, ":end-line": 0},
        }
    )
    assert (empty.path, empty.start_line, empty.end_line) == ("", 0, 0)


def test_langchain_as_dict_and_as_object() -> None:
    about = {"source": "a.md", "page": 3, "title": "T", "relevance_score": 0.5, "start_line": "odd"}
    expected = Item(
        content="c", path="a.md", name="T, page 3", score=0.5, score_order="given",
        origin="similarity", metadata={**about, "score": 0.5},
    )  # fmt: skip
    assert clean({"page_content": "c", "metadata": about, "type": "Document"}) == expected
    assert clean({"lc": 1, "kwargs": {"page_content": "c", "metadata": about}}) == expected
    document = types.SimpleNamespace(page_content="c", metadata=about, id=None)
    assert clean(document) == expected
    assert clean((document, 0.25)).score == 0.25
    with pytest.raises(ItemError, match="content: missing"):
        to_item(types.SimpleNamespace(page_content=None, metadata={}))


def test_llama_index_nodes() -> None:
    class Node:
        node_id = "n1"
        metadata = {"file_path": "a.py", "start_line": 2, "end_line": 5}  # noqa: RUF012

        def get_content(self) -> str:
            return "c"

    expected = Item(
        id="n1",
        content="c",
        path="a.py",
        start_line=2,
        end_line=5,
        score=0.5,
        score_order="given",
        origin="similarity",
        metadata={**Node.metadata, "score": 0.5},
    )
    assert clean(types.SimpleNamespace(node=Node(), score=0.5)) == expected
    assert clean(types.SimpleNamespace(node=Node(), score=None)).score == 1.0
    assert clean(Node()).id == "n1"
    assert (
        clean({"node": {"id_": "n1", "text": "c", "metadata": Node.metadata}, "score": 0.5})
        == expected
    )


def test_haystack_documents() -> None:
    document = types.SimpleNamespace(id="h", content="c", meta={"file_path": "a.md"}, score=0.5)
    expected = Item(
        id="h",
        content="c",
        path="a.md",
        score=0.5,
        score_order="given",
        origin="similarity",
        metadata={"file_path": "a.md", "score": 0.5},
    )
    assert clean(document) == expected
    assert (
        clean({"id": "h", "content": "c", "meta": {"file_path": "a.md"}, "score": 0.5}) == expected
    )
    with pytest.raises(ItemError, match="content: missing"):
        to_item(types.SimpleNamespace(id="h", content=None, meta={}, score=None))


def test_missing_parts_of_a_rag_document_are_said() -> None:
    item, said = read({"content": "c", "metadata": {"source_type": "man_page"}})
    assert item.kind == "man_page"
    assert said == ["PF201 metadata.source is missing; the item has no source of its own"]
    item, said = read({"content": "c", "metadata": {"source_type": 5, "source": "a"}})
    assert item.kind == "text"
    assert said == ["PF201 metadata.source_type is no text; the item is of kind text"]


BODY = "Refunds are paid within a week."


@pytest.mark.parametrize("key", ["text", "body", "page_content", "chunk", "document", "snippet"])
@pytest.mark.parametrize("given", [
    {"summary": "s"},
    {"expanded": f"{BODY} Twice."},
    {"summary": "s", "content": None, "kind": "code", "path": "a.md"},
    {"summary": "s", "content": ""},
    {"summary": "s", "named": True, "score": 2.0, "score_order": "lower"},
])  # fmt: skip
def test_a_body_beside_a_summary_is_the_content(key: str, given: dict[str, object]) -> None:
    item, _ = read({key: BODY, **given})
    assert item.content == BODY
    fields = {name: value for name, value in given.items() if name != "content"}
    assert {name: getattr(item, name) for name in fields} == fields


def test_a_name_beside_a_summary_is_no_body() -> None:
    item, said = read({"summary": "Sales rose in spring.", "document": "q3.pdf"})
    assert (item.content, item.metadata) == (None, {"document": "q3.pdf"})
    assert said == ['PF201 unknown key "document"; did you mean "content"?; kept as metadata']
    assert clean({"summary": "Sales rose.", "text": "Up."}).content == "Up."


def test_a_kind_of_source_in_metadata_hides_no_body() -> None:
    about = {"source_type": "web", "source": "x.md"}
    hit = {"id": "1", "document": BODY, "metadata": about, "distance": 0.3}
    assert (clean(hit).content, clean(hit).score_order) == (BODY, "lower")
    assert clean({"summary": "s", "metadata": about}).kind == "web"


@pytest.mark.parametrize("given", [
    {"file_path": "a.py"},
    {"filePath": "a.py", "startLine": 3, "endLine": 9, "summary": "s"},
    {"FilePath": "a.py", "StartLine": 3, "Relevance": 0.5},
])  # fmt: skip
def test_a_file_path_hides_no_body(given: dict[str, object]) -> None:
    item = clean({"text": BODY, **given})
    assert (item.content, item.path, item.kind) == (BODY, "a.py", "text")
    assert (item.start_line == 3) == (len(given) > 1)
    assert item.summary == given.get("summary")


@pytest.mark.parametrize("about, name", [
    ({"source": "docs/manual.pdf", "page": 3}, "manual.pdf, page 3"),
    ({"source": "manual.pdf", "page": 3, "page_label": "iv"}, "manual.pdf, page iv"),
    ({"file_path": "C:\\docs\\manual.pdf", "pageNumber": 7.0}, "manual.pdf, page 7"),
    ({"url": "https://e.org/manual.pdf", "page_number": "12"}, "manual.pdf, page 12"),
    ({"title": "Manual", "source": "m.pdf", "page_label": "", "page": 0}, "Manual, page 0"),
    ({"title": "Home", "url": "https://e.org/", "page": "/home"}, "Home"),
    ({"source": "/", "page": 3}, None),
    ({"title": "Home", "page": 10**5000, "page_label": "a\nb", "page_number": [3]}, "Home"),
    ({"source": "a.md"}, None),
    ({"page": 3}, None),
])  # fmt: skip
def test_a_page_stands_in_the_name_of_its_record(about: dict[str, object], name: str) -> None:
    for record in (
        {"page_content": "c", "metadata": about},
        {"text": "c", "metadata": about},
        {"id": "1", "payload": {"page_content": "c", "metadata": about}, "score": 0.5},
        {"id": "1", "score": 0.5, "metadata": {"text": "c", **about}},
        {"document": "c", "metadata": about, "distance": 0.5},
        {"chunk": "c", **about},
    ):
        item, _ = read(record)
        assert item.name == name
        assert item.metadata["page"] == 3 if about.get("page") == 3 else True


def test_a_page_is_a_source_of_its_own() -> None:
    pages = [
        {"page_content": f"page {n}", "metadata": {"source": "manual.pdf", "page": n}}
        for n in (3, 7)
    ]
    named = ["manual.pdf, page 3", "manual.pdf, page 7"]
    result = pf.render(pages, layout="knowledge")
    assert [source.name for source in result.sources] == named
    assert all(f"'{name}'" in result.text for name in named)
    about = {"source": "manual.pdf", "source_type": "markdown", "page": 3}
    assert clean({"page_content": "c", "metadata": about}).name == named[0]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"metadata": {"source": "m.pdf", "page": 3}}, {"name": "m.pdf, page 3", "path": "m.pdf"}),
        ({"metadata": {"url": "https://a.b/c"}}, {"url": "https://a.b/c"}),
        ({"metadata": {"title": "T"}, "path": None}, {"name": "T"}),
        ({"metadata": {"source": "a.md"}, "name": "own"}, {"name": "own"}),
        ({"metadata": {"url": "https://a.b"}, "kind": "mitre_attack"}, {"kind": "mitre_attack"}),
        ({"metadata": {"topic": "t", "location": "Berlin", "language": "en"}}, {}),
        ({"metadata": {"source": "a.md", "language": "en", "start_line": 9}}, {"path": "a.md"}),
    ],
)
def test_metadata_tell_the_place_of_a_text_without_one(
    record: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = clean({"content": "c", **record})
    assert found == Item(content="c", metadata=record["metadata"], **expected)


@pytest.mark.parametrize("odd", [{1: 2, "source": "a.md"}, types.SimpleNamespace(source="a.md")])
def test_odd_metadata_of_a_text_without_a_place_are_said_and_lose_no_text(odd: object) -> None:
    item, said = read({"content": "c", "metadata": odd})
    assert item.content == "c" and [each[:5] for each in said][:1] == ["PF203"]
