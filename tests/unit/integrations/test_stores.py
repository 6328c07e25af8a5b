"""Search results of stores that run embedded are read as they come from their clients."""

from __future__ import annotations

import sqlite3
import types
import warnings
from pathlib import Path
from typing import Any

import pytest

import promptforge as pf
from promptforge.errors import Diagnostics
from promptforge.model import Item
from promptforge.sources.records import load_records

TEXTS = [
    "tar saves many files together into one archive.",
    "find walks a tree of folders and tests each file.",
    "grep prints the lines that match a pattern.",
]
VECTORS = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
NEAREST = [TEXTS[0], TEXTS[2], TEXTS[1]]
QUERY = [0.9, 0.1]


def load(given: object) -> list[Item]:
    diagnostics = Diagnostics()
    items = load_records(given, where="items", diagnostics=diagnostics)
    assert [str(one) for one in diagnostics] == []
    return items


def check(found: object, order: str) -> list[Item]:
    """Check text, order and meaning of the three hits, and that the context keeps their order."""
    items = load(found)
    assert [item.content for item in items] == NEAREST
    assert {item.origin for item in items} == {"similarity"}
    assert {item.score_order for item in items} == {order}
    result = pf.render(found)
    at = [result.text.index(text) for text in NEAREST]
    assert at == sorted(at)
    return items


def test_chroma() -> None:
    chromadb = pytest.importorskip("chromadb")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own dependencies
        settings = chromadb.Settings(anonymized_telemetry=False)
        collection = chromadb.EphemeralClient(settings).create_collection("pages")
        collection.add(
            ids=["a", "b", "c"],
            documents=TEXTS,
            embeddings=VECTORS,
            metadatas=[{"source": f"{n}.md"} for n in range(3)],
        )
        found = collection.query(query_embeddings=[QUERY], n_results=3)
        both = collection.query(query_embeddings=[QUERY, [0.0, 1.0]], n_results=2)
        got = collection.get()
    items = check(found, "lower")
    assert [item.path for item in items] == ["0.md", "2.md", "1.md"]
    assert items[0].metadata["score"] == items[0].score == found["distances"][0][0]
    assert {item.content for item in load(got)} == set(TEXTS)
    # Both searches have the third text, so it comes first.
    assert load(both)[0].content == TEXTS[2]


def test_qdrant() -> None:
    client_module = pytest.importorskip("qdrant_client")
    models = client_module.models
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = client_module.QdrantClient(":memory:")
        size = models.VectorParams(size=2, distance=models.Distance.COSINE)
        client.create_collection("pages", vectors_config=size)
        points = [
            models.PointStruct(id=n, vector=VECTORS[n], payload={"text": TEXTS[n], "n": n})
            for n in range(3)
        ]
        client.upsert("pages", points)
        answer = client.query_points("pages", query=QUERY, limit=3)
        scrolled, _ = client.scroll("pages")
        client.close()
    check(answer, "higher")
    items = check(answer.points, "higher")
    assert [item.id for item in items] == ["0", "2", "1"]
    check(answer.model_dump(), "higher")
    assert len(load(scrolled)) == 3


class Embeddings:
    """Vectors of the three texts, and one for any query."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [VECTORS[TEXTS.index(text)] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return QUERY

    def __call__(self, text: str) -> list[float]:
        return self.embed_query(text)


def test_faiss_through_langchain() -> None:
    pytest.importorskip("faiss")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stores = pytest.importorskip("langchain_community.vectorstores")
        store = stores.FAISS.from_texts(
            TEXTS, Embeddings(), metadatas=[{"source": f"{n}.md"} for n in range(3)]
        )
        documents = store.similarity_search("archive", k=3)
        pairs = store.similarity_search_with_score("archive", k=3)
    assert [item.path for item in check(documents, "given")] == ["0.md", "2.md", "1.md"]
    items = check(pairs, "given")
    # These are distances: taken for scores, they would turn the order round.
    assert items[0].score < items[1].score < items[2].score
    assert items[0].metadata["score"] == items[0].score


def test_lancedb(tmp_path: Path) -> None:
    base = pytest.importorskip("lancedb").connect(str(tmp_path))
    rows = [
        {"id": n, "text": TEXTS[n], "title": f"T{n}", "source": f"{n}.md", "vector": VECTORS[n]}
        for n in range(3)
    ]
    found = base.create_table("pages", rows).search(QUERY)
    for answer in (found.to_list(), found.to_arrow()):
        items = check(answer, "lower")
        assert [(item.name, item.path) for item in items][:2] == [("T0", "0.md"), ("T2", "2.md")]


def test_an_sqlite_table() -> None:
    base = sqlite3.connect(":memory:")
    base.row_factory = sqlite3.Row
    base.execute("create table page (id integer, body text, source text, x real)")
    rows = [(n, TEXTS[n], f"{n}.md", VECTORS[n][0]) for n in range(3)]
    base.executemany("insert into page values (?, ?, ?, ?)", rows)
    query = "select id, body, source, abs(x - 0.9) as distance from page order by distance"
    found = base.execute(query).fetchall()
    base.close()
    items = check(found, "given")
    assert [item.path for item in items] == ["0.md", "2.md", "1.md"]


TABLE = {
    "id": [0, 2, 1],
    "text": NEAREST,
    "source": ["0.md", "2.md", None],
    "score": [0.9, 0.7, 0.1],
    "embedding": [[1.0, 0.0], [0.7, 0.7], [0.0, 1.0]],
}


class ArrowAlone:
    """A table that has the Arrow interface and nothing else."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "arrow interface"])
def test_tables(library: str) -> None:
    if library == "pandas":
        table = pytest.importorskip("pandas").DataFrame(TABLE)
    elif library == "polars":
        table = pytest.importorskip("polars").DataFrame(TABLE)
    else:
        table = pytest.importorskip("pyarrow").table(TABLE)
        if library == "arrow interface":
            table = ArrowAlone(table)
    items = check(table, "given")
    assert [item.path for item in items] == ["0.md", "2.md", None]
    assert [item.id for item in items] == ["0", "2", "1"]
    assert items[0].metadata == {"source": "0.md", "score": 0.9}


def test_pages_of_openai() -> None:
    openai = pytest.importorskip("openai")
    response = openai.types.vector_store_search_response
    hits = [
        response.VectorStoreSearchResponse(
            file_id=f"file-{n}",
            filename=f"{n}.md",
            score=0.9 - n / 10,
            attributes={},
            content=[response.Content(type="text", text=text)],
        )
        for n, text in enumerate(NEAREST)
    ]
    items = check(hits, "higher")
    assert items[0].path == "0.md"
    check(types.SimpleNamespace(object="vector_store.search_results.page", data=hits), "higher")


def test_classes_and_rows_of_sqlalchemy() -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    orm = pytest.importorskip("sqlalchemy.orm")
    base = orm.declarative_base()

    class Page(base):  # type: ignore[misc, valid-type]
        __tablename__ = "pages"
        id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
        content = sqlalchemy.Column(sqlalchemy.Text)

    engine = sqlalchemy.create_engine("sqlite://")
    base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add_all(Page(id=n, content=text) for n, text in enumerate(NEAREST))
        session.commit()
        pages = session.query(Page).order_by(Page.id).all()
        rows = session.execute(
            sqlalchemy.select(Page, (Page.id * 0.1).label("distance")).order_by(Page.id)
        ).all()
        assert [item.content for item in load_records(pages, where="i", diagnostics=Diagnostics())]
        said = Diagnostics()
        items = load_records(rows, where="i", diagnostics=said)
    engine.dispose()
    assert [item.content for item in items] == NEAREST
    assert all(one.severity == "info" for one in said)
    assert "registry" not in items[0].metadata


def test_readers_and_lazy_frames_give_their_rows() -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    rows = load(pyarrow.table(TABLE).to_reader())  # these are read once
    assert [item.content for item in rows] == NEAREST
    check(polars.DataFrame(TABLE).lazy(), "given")
    assert [item.content for item in load(pyarrow.chunked_array([NEAREST]))] == NEAREST


def test_a_message_of_protocol_buffers() -> None:
    structs = pytest.importorskip("google.protobuf.struct_pb2")
    hit = structs.Struct()
    hit.update({"text": NEAREST[0], "score": 0.5})
    (item,) = load_records([hit], where="i", diagnostics=Diagnostics())
    assert item.content == NEAREST[0]


def test_a_response_of_elasticsearch() -> None:
    transport = pytest.importorskip("elastic_transport")
    meta = transport.ApiResponseMeta(
        200, "1.1", transport.HttpHeaders(), 0.1, transport.NodeConfig("http", "h", 9200)
    )
    hits = [
        {"_index": "p", "_id": f"{n}", "_score": 3.0 - n, "_source": {"text": text, "title": "T"}}
        for n, text in enumerate(NEAREST)
    ]
    body = {"took": 1, "hits": {"total": {"value": 3}, "hits": hits}}
    items = check(transport.ObjectApiResponse(body=body, meta=meta), "higher")
    assert (items[0].id, items[0].name, items[0].score) == ("0", "T", 3.0)


def test_results_of_exa() -> None:
    exa = pytest.importorskip("exa_py.api")

    def result(number: int, **more: Any) -> Any:
        return exa.Result(url=f"https://e.org/{number}", id=str(number), title="T", **more)

    texts = [result(n, text=text, score=0.5, highlights=["x y"]) for n, text in enumerate(NEAREST)]
    parts = [result(n, highlights=[text], highlight_scores=[0.5]) for n, text in enumerate(NEAREST)]
    digests = [result(n, summary=text) for n, text in enumerate(NEAREST)]
    for given in (texts, parts):
        items = check(given, "given")
        assert (items[0].url, items[0].name, items[0].id) == ("https://e.org/0", "T", "0")
    items = load(digests)
    assert [(item.summary, item.url) for item in items] == [
        (text, f"https://e.org/{n}") for n, text in enumerate(NEAREST)
    ]


def test_responses_of_pinecone() -> None:
    pinecone = pytest.importorskip("pinecone")
    about = [{"text": text, "title": "T"} for text in NEAREST]
    matches = [
        pinecone.ScoredVector(id=str(n), score=0.9 - n / 10, values=[], metadata=own)
        for n, own in enumerate(about)
    ]
    items = check(pinecone.QueryResponse(matches=matches, namespace="n"), "given")
    assert (items[0].id, items[0].name, items[0].score) == ("0", "T", 0.9)
    vectors = {
        str(n): pinecone.Vector(id=str(n), values=[0.1], metadata=own)
        for n, own in enumerate(about)
    }
    fetched = load_records(
        pinecone.FetchResponse(vectors=vectors, namespace="n"), where="i", diagnostics=Diagnostics()
    )
    assert [(item.id, item.content) for item in fetched] == [*zip("012", NEAREST, strict=True)]


def test_a_retrieval_of_llama_cloud() -> None:
    types_of_llama = pytest.importorskip("llama_cloud.types")
    nodes = [
        {"node": {"id_": str(n), "text": text, "metadata": {"file_path": "a.pdf"}}, "score": 0.5}
        for n, text in enumerate(NEAREST)
    ]
    answer = {"pipeline_id": "p", "retrieval_nodes": nodes}
    items = load_records(
        types_of_llama.PipelineRetrieveResponse.model_validate(answer),
        where="i",
        diagnostics=Diagnostics(),
    )
    assert [item.content for item in items] == NEAREST
    assert (items[0].path, items[0].score, items[0].id) == ("a.pdf", 0.5, "0")


def test_records_of_neo4j() -> None:
    neo4j = pytest.importorskip("neo4j")
    graph = pytest.importorskip("neo4j.graph")
    whole = graph.Graph()
    nodes = [
        graph.Node(whole, str(n), n, ["Page"], {"text": text, "title": "T"})
        for n, text in enumerate(NEAREST)
    ]
    pairs = [neo4j.Record({"node": node, "score": 0.5}) for node in nodes]
    flat = [neo4j.Record({"n.text": text, "n.title": "T", "score": 0.5}) for text in NEAREST]
    for given in (pairs, flat, neo4j.EagerResult(pairs, None, ["node", "score"])):
        items = load_records(given, where="i", diagnostics=Diagnostics())
        assert [item.content for item in items] == NEAREST
        assert {(item.name, item.score) for item in items} == {("T", 0.5)}
