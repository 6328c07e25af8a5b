"""Retrievers and embeddings of any framework, known by what they can do and not by their class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ..answers.asking import Embed
from ..errors import OptionError
from ..rules import show

Order = Literal["higher", "lower"] | None
"""Which of two scores is the better one; `None`: nobody said."""


class Embedding:
    """A function from texts to vectors, with one of its own for queries where the framework tells them apart."""

    def __init__(self, texts: Embed, queries: Embed) -> None:
        self._texts = texts
        self.queries = queries
        """What is asked is embedded by this."""

    def __call__(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""
        return self._texts(texts)


def embedding(embedder: Any) -> Embed:
    """Return what `Renderer(embed=...)` takes, of an embedding of LangChain, LlamaIndex or Haystack, or a function.

    LangChain: `embed_documents` and `embed_query`. LlamaIndex: `get_text_embedding_batch` and `get_query_embedding`.
    Haystack: a text embedder (a component whose `run` takes `text`), which embeds both.

    Raises `OptionError` for anything else.
    """
    if hasattr(embedder, "embed_documents") and hasattr(embedder, "embed_query"):
        return Embedding(embedder.embed_documents, lambda texts: [embedder.embed_query(text) for text in texts])
    if hasattr(embedder, "get_text_embedding_batch") and hasattr(embedder, "get_query_embedding"):
        return Embedding(
            embedder.get_text_embedding_batch, lambda texts: [embedder.get_query_embedding(text) for text in texts]
        )
    if "text" in _inputs(embedder):
        _warm_up(embedder)
        return lambda texts: [embedder.run(text=text)["embedding"] for text in texts]
    if callable(embedder) and not isinstance(embedder, type):
        function: Embed = embedder
        return function
    message = (
        f"embed takes a function from a list of texts to a vector each, or an embedding of LangChain or LlamaIndex, "
        f"or a text embedder of Haystack; got {show(embedder)}"
    )
    raise OptionError(message, option="embed")


def retrieve(
    retriever: Any, query: str, *, score_order: Order = None, embed: Any = None, **arguments: Any
) -> list[Any]:
    """Return what a retriever finds for `query`, as records for `Renderer.render`: they are `similarity` items.

    `retriever` is a retriever or vector store of LangChain, a retriever of LlamaIndex, a retriever component of
    Haystack, or a function of the query. A vector store hands out numbers that may be distances, so it needs
    `score_order="higher"` or `"lower"`. `embed` (see `embedding`) makes the vector for a Haystack retriever that wants
    one. `arguments` go to the retriever, such as `k=20`.

    Raises `OptionError` for what is no retriever, and for a score of which nobody said what it means; what the
    retriever raises comes out as it is.
    """
    return [oriented(document, score_order) for document in _found(retriever, query, embed, arguments)]


def _found(retriever: Any, query: str, embed: Any, arguments: dict[str, Any]) -> Sequence[Any]:
    inputs = _inputs(retriever)
    found: Any
    if hasattr(retriever, "similarity_search_with_score"):
        found = retriever.similarity_search_with_score(query, **arguments)
    elif hasattr(retriever, "retrieve"):
        found = retriever.retrieve(query, **arguments)
    elif "query_embedding" in inputs:
        if embed is None:
            raise OptionError("this retriever wants a vector; give embed=, what makes one of a text", option="embed")
        _warm_up(retriever)
        embedder = embedding(embed)
        (vector,) = getattr(embedder, "queries", embedder)([query])
        found = retriever.run(query_embedding=list(vector), **arguments)["documents"]
    elif "query" in inputs:
        _warm_up(retriever)
        found = retriever.run(query=query, **arguments)["documents"]
    elif hasattr(retriever, "invoke"):
        found = retriever.invoke(query, **arguments)
    elif callable(retriever) and not isinstance(retriever, type):
        found = retriever(query, **arguments)
    else:
        message = (
            "a retriever has similarity_search_with_score, retrieve, run (of query or query_embedding) or invoke, "
            f"or is a function of the query; got {show(retriever)}"
        )
        raise OptionError(message, option="retriever")
    return list(found)


def oriented(document: Any, order: Order) -> Any:
    """Return `document`, or a pair of it and a score of which a higher one is better, as records are read.

    Raises `OptionError` for a pair while nobody said which order its score has.
    """
    pair = isinstance(document, tuple) and len(document) == 2
    if pair and order is None:
        message = 'score_order: say "higher" or "lower": the number beside a document may be a distance'
        raise OptionError(message, option="score_order")
    if order != "lower":
        return document
    inner, score = document if pair else (document, _score(document))
    return document if score is None else (inner, 0.0 - score)


def _score(document: Any) -> float | None:
    """Return the number that a document has for a score, where records look for it."""
    own = getattr(document, "score", None)
    about = getattr(document, "metadata", None)
    listed = [about.get(key) for key in ("score", "relevance_score")] if isinstance(about, dict) else []
    numbers = (number for number in (own, *listed) if isinstance(number, int | float) and not isinstance(number, bool))
    return next(numbers, None)


def _inputs(component: Any) -> frozenset[str]:
    """Return the names of what the `run` of a Haystack component takes."""
    run: Callable[..., Any] | None = getattr(component, "run", None)
    try:
        return frozenset(inspect.signature(run).parameters) if callable(run) else frozenset()
    except (TypeError, ValueError):
        return frozenset()


def _warm_up(component: Any) -> None:
    if callable(getattr(component, "warm_up", None)):
        component.warm_up()
