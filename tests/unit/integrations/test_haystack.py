"""Haystack's own pipelines around promptforge."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any

import pytest
from documents import FACTS, TEXTS, tokens
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from loop_check import LoopCheck

import promptforge as pf

pytest.importorskip("haystack", reason="needs haystack-ai: pip install '.[test-all]'")

from haystack import Document, Pipeline, component
from haystack.components.builders import ChatPromptBuilder
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.core.errors import DeserializationError
from haystack.dataclasses import ByteStream, ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

from promptforge.integrations.bridge import aretrieve, retrieve
from promptforge.integrations.haystack import ContextBuilder

DOCUMENTS = [
    Document(content=text, meta={"file_path": f"f{n}.md", "n": n}) for n, text in enumerate(FACTS)
]
ALLOWED = ["promptforge.integrations.haystack"]


def embed_by_number(texts: list[str]) -> list[list[float]]:
    """Return a vector for each text that tells the eleventh fact from the others."""
    return [[float(text.count("number 11 ") or text == "xyzzy"), 0.1] for text in texts]


@component
class TextEmbedder:
    """A text embedder, which wants warming up."""

    def __init__(self) -> None:
        self.warm = False

    def warm_up(self) -> None:
        """Get ready."""
        self.warm = True

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """Return the vector of a text."""
        assert self.warm
        return {"embedding": embed_by_number([text])[0]}


def store() -> InMemoryDocumentStore:
    made = InMemoryDocumentStore(embedding_similarity_function="cosine")
    vectors = embed_by_number(FACTS)
    made.write_documents(
        [
            Document(content=d.content, meta=d.meta, embedding=v)
            for d, v in zip(DOCUMENTS, vectors, strict=True)
        ]
    )
    return made


@functools.cache
def builder(syntax: str) -> ContextBuilder:
    return ContextBuilder(format=syntax)


@cases(60)
@given(TEXTS, st.integers(0, 120), st.sampled_from(["markdown", "xml", "json", "plain"]))
def test_the_context_keeps_the_budget_and_every_document_is_kept_or_dropped(
    texts: list[str], budget: int, syntax: str
) -> None:
    given = [Document(content=text, meta={"n": n}) for n, text in enumerate(texts)]
    found = builder(syntax).run(given, query="archive of tar", max_tokens=budget)
    assert tokens(found["context"]) == found["tokens"] <= budget
    assert sorted(d.meta["n"] for d in found["kept"] + found["dropped"]) == list(range(len(texts)))
    assert all(any(d is one for one in given) for d in found["dropped"])
    assert all(
        any(d is one for one in given) is ("promptforge" not in d.meta) for d in found["kept"]
    )


def pipeline(context: ContextBuilder) -> Pipeline:
    made = Pipeline()
    made.add_component("retriever", InMemoryBM25Retriever(store(), top_k=9))
    made.add_component("context", context)
    made.add_component(
        "prompt",
        ChatPromptBuilder(template=[ChatMessage.from_user("{{context}}\nQ: {{question}}")]),
    )
    made.connect("retriever.documents", "context.documents")
    made.connect("context.context", "prompt.context")
    return made


def ask(made: Pipeline, **more: Any) -> dict[str, Any]:
    query = "archive number 7"
    data = {
        "retriever": {"query": query},
        "context": {"query": query, **more},
        "prompt": {"question": query},
    }
    return dict(made.run(data, include_outputs_from={"context"}))


def test_it_works_in_a_pipeline_written_down_and_loaded(tmp_path: Path) -> None:
    builder = ContextBuilder(
        profile="claude",
        tokenizer="o200k_base",
        max_tokens=250,
        kinds=("text",),
        embed=embed_by_number,
        section_budgets={"text": {"share": 0.5}},
        templates=[tmp_path],
    )
    made = pipeline(builder)
    found = ask(made)
    text = found["prompt"]["prompt"][0].text
    assert text.startswith("<documents>") and "<source>f7.md</source>" in text
    assert found["context"]["tokens"] <= 250 and text.startswith(found["context"]["context"])
    assert any("PF111" in line for line in found["context"]["warnings"])
    written = made.dumps()
    with pytest.raises(DeserializationError, match=r"promptforge\.integrations\.haystack"):
        Pipeline.loads(written)
    loaded = Pipeline.loads(written, allowed_modules=[*ALLOWED, __name__])
    assert ask(loaded)["prompt"] == found["prompt"]
    assert loaded.get_component("context").to_dict() == builder.to_dict()
    assert ask(made, max_tokens=120)["context"]["tokens"] <= 120


def longest_first(query: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


@pytest.mark.parametrize("rerank", [longest_first, "mmr", "none"])
def test_a_reranker_is_written_down_by_its_name(rerank: Any) -> None:
    made = Pipeline()
    made.add_component("context", ContextBuilder(max_tokens=99, rerank=rerank))
    loaded = Pipeline.loads(made.dumps(), allowed_modules=[*ALLOWED, __name__])
    assert loaded.get_component("context").options == {"max_tokens": 99, "rerank": rerank}


def test_what_cannot_be_written_down_is_refused_by_name() -> None:
    class Letters:
        name = "letters"

        def count(self, text: str) -> int:
            return len(text)

    with pytest.raises(pf.OptionError, match=r"tokenizer cannot be written down: .*Letters"):
        ContextBuilder(tokenizer=Letters()).to_dict()
    with pytest.raises(pf.OptionError, match=r"embed cannot be written down: .*lambda"):
        ContextBuilder(embed=lambda texts: [[1.0] for _ in texts]).to_dict()


def test_a_wrong_word_is_an_error_where_it_is_written() -> None:
    with pytest.raises(pf.OptionError, match='did you mean "max_tokens"'):
        ContextBuilder(max_tokns=9)
    with pytest.raises(pf.OptionError, match="max_tokens takes"):
        ContextBuilder().run(DOCUMENTS, max_tokens=-1)


def test_a_document_without_text_is_dropped_and_said() -> None:
    picture = Document(blob=ByteStream(b"\x89PNG"))
    found = ContextBuilder().run([picture, DOCUMENTS[0]])
    assert found["kept"] == [DOCUMENTS[0]] and found["dropped"] == [picture]
    assert any(
        "document left out" in line and line.endswith("[PF204]") for line in found["warnings"]
    )


def test_any_retriever_is_the_similarity_side() -> None:
    held = store()
    assert [
        d.meta["n"] for d in retrieve(InMemoryBM25Retriever(held), "archive number 7", top_k=1)
    ] == [7]
    by_vector = InMemoryEmbeddingRetriever(held)
    with pytest.raises(pf.OptionError, match="give embed="):
        retrieve(by_vector, "xyzzy")
    for embed in (TextEmbedder(), embed_by_number):
        found = retrieve(by_vector, "xyzzy", embed=embed, top_k=2)
        assert found[0].meta["n"] == 11 and found[0].score > found[1].score
    (lower, score) = retrieve(
        by_vector, "xyzzy", embed=embed_by_number, top_k=1, score_order="lower"
    )[0]
    assert score == -lower.score


def test_a_text_embedder_serves() -> None:
    text = " ".join(f"The archive number {n} is read by tar." for n in range(30))
    found = ContextBuilder(max_tokens=60, embed=TextEmbedder()).run(
        [Document(content=text)], query="xyzzy"
    )
    assert "number 11 " in found["kept"][0].content


async def embed_later(texts: list[str]) -> list[list[float]]:
    """Return the vectors of `embed_by_number`, which must be awaited."""
    await asyncio.sleep(0)
    return embed_by_number(texts)


def test_a_pipeline_on_a_loop_leaves_it_free() -> None:
    check = LoopCheck()
    made = pipeline(ContextBuilder(max_tokens=250, embed=embed_later, on_result=check.wait))
    data = {
        "retriever": {"query": "archive"},
        "context": {"query": "xyzzy"},
        "prompt": {"question": "why"},
    }

    async def ask() -> Any:
        return await check.run_beside(made.run_async(data))

    assert asyncio.run(ask()) == pipeline(ContextBuilder(max_tokens=250, embed=embed_later)).run(
        data
    )


def test_retrievers_are_awaited() -> None:
    held = store()

    async def ask() -> Any:
        words = await aretrieve(InMemoryBM25Retriever(held), "archive number 7", top_k=1)
        vectors = InMemoryEmbeddingRetriever(held)
        return [
            words,
            *[
                await aretrieve(vectors, "xyzzy", embed=embed, top_k=1)
                for embed in (TextEmbedder(), embed_later)
            ],
        ]

    assert [found[0].meta["n"] for found in asyncio.run(ask())] == [7, 11, 11]
