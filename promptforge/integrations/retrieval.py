"""Retrievers of any framework, known by what they can do and not by their class; called, or awaited."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from decimal import Decimal
from functools import partial
from math import isfinite
from numbers import Real
from typing import Any, Literal, NamedTuple

import msgspec

from ..errors import ItemError, OptionError, show
from ..items import Item
from ..sources.records import to_item
from .vectors import embedding, in_thread, inputs, is_async, warm_up

Order = Literal["higher", "lower"] | None
"""Which of two scores is the better one; `None`: nobody said."""


_FAR = 1e9
"""What a distance is taken for that is infinite or no number: taken as 0, it would be the best."""


class _Call(NamedTuple):
    """How a retriever is asked."""

    now: Callable[[], Any]
    later: Callable[[], Awaitable[Any]] | None
    """The same for a loop; None where it has no way that leaves the loop free."""


def retrieve(
    retriever: Any, query: str, *, score_order: Order = None, embed: Any = None, **arguments: Any
) -> list[Any]:
    """Return what a retriever finds for `query`, as records for `Renderer.render`: they are `similarity` items.

    `retriever` is a retriever or vector store of LangChain, a retriever of LlamaIndex, a retriever component of
    Haystack, or a function of the query. A vector store hands out numbers that may be distances, so it needs
    `score_order="higher"` or `"lower"`. `embed` (see `embedding`) makes the vector for a Haystack retriever that wants
    one. `arguments` go to the retriever, such as `k=20`.

    Raises `OptionError` for what is no retriever, for what it returns and is no list of documents, and for a score of
    which nobody said what it means; what the retriever raises comes out as it is.
    """
    found = _call(retriever, query, embed, arguments).now()
    if inspect.isawaitable(found) or hasattr(found, "__aiter__"):
        if inspect.iscoroutine(found):
            found.close()
        raise OptionError(
            "this retriever is async: await aretrieve(...) in the place of retrieve",
            option="retriever",
        )
    return _records(found, score_order)


async def aretrieve(
    retriever: Any, query: str, *, score_order: Order = None, embed: Any = None, **arguments: Any
) -> list[Any]:
    """Return what `retrieve` does, and leave the loop free meanwhile.

    A retriever's own async method is awaited; one without is called in a thread. A function may also be async, or an
    async generator of documents.
    """
    call = _call(retriever, query, embed, arguments)
    found = await (call.later() if call.later else in_thread(lambda: _taken(call.now())))
    if inspect.isawaitable(found):  # of a function that is async and does not look it
        found = await found
    if hasattr(found, "__aiter__"):
        found = [document async for document in found]
    return _records(found, score_order)


def _call(retriever: Any, query: str, embed: Any, arguments: dict[str, Any]) -> _Call:
    wanted = inputs(retriever)
    if hasattr(retriever, "similarity_search_with_score"):
        return _methods(
            retriever,
            "similarity_search_with_score",
            "asimilarity_search_with_score",
            query,
            arguments,
        )
    if hasattr(retriever, "retrieve"):
        return _methods(
            retriever, "retrieve", "aretrieve" if _waits(retriever) else "", query, arguments
        )
    if "query_embedding" in wanted:
        if embed is None:
            raise OptionError(
                "this retriever wants a vector; give embed=, what makes one of a text",
                option="embed",
            )
        return _component(retriever, lambda: {"query_embedding": _vector(embed, query)}, arguments)
    if "query" in wanted:
        return _component(retriever, lambda: {"query": query}, arguments)
    if hasattr(retriever, "invoke"):
        return _methods(retriever, "invoke", "ainvoke", query, arguments)
    if callable(retriever) and not isinstance(retriever, type):
        call = partial(retriever, query, **arguments)
        return _Call(call, call if is_async(retriever) else None)
    message = (
        "a retriever has similarity_search_with_score, retrieve, run (of query or query_embedding) or invoke, "
        f"or is a function of the query; got {show(retriever)}"
    )
    raise OptionError(message, option="retriever")


def _methods(retriever: Any, name: str, later: str, query: str, arguments: dict[str, Any]) -> _Call:
    waits = getattr(retriever, later, None) if later else None
    return _Call(
        partial(getattr(retriever, name), query, **arguments),
        waits and partial(waits, query, **arguments),
    )


def _component(
    retriever: Any, asked: Callable[[], dict[str, Any]], arguments: dict[str, Any]
) -> _Call:
    def now() -> Any:
        warm_up(retriever)
        return retriever.run(**asked(), **arguments)

    async def later() -> Any:
        def prepare() -> dict[str, Any]:
            warm_up(retriever)
            return asked()

        return await retriever.run_async(**await in_thread(prepare), **arguments)

    return _Call(now, later if hasattr(retriever, "run_async") else None)


def _vector(embed: Any, query: str) -> list[float]:
    embedder = embedding(embed)
    (vector,) = getattr(embedder, "queries", embedder)([query])
    return list(vector)


def _waits(retriever: Any) -> bool:
    """Return whether a retriever of LlamaIndex can wait: the method it inherits calls the other one, amid the loop."""

    def depth(name: str) -> int:
        return next((n for n, kind in enumerate(type(retriever).__mro__) if name in vars(kind)), -1)

    return depth("_aretrieve") <= depth("_retrieve")


def _taken(found: Any) -> Any:
    """Return documents as a list: a generator is run where it was made, and no loop waits for it."""
    return list(found) if inspect.isgenerator(found) else found


def _records(found: Any, order: Order) -> list[Any]:
    if isinstance(found, Mapping) and "documents" in found:  # of Haystack's components
        found = found["documents"]
    alone = isinstance(found, str | bytes | Mapping | Item) or hasattr(found, "page_content")
    if alone or not isinstance(found, Iterable):
        raise OptionError(
            f"the retriever returned no list of documents but {show(found)}", option="retriever"
        )
    return [_similar(oriented(document, order)) for document in found]


def _similar(record: Any) -> Any:
    """Return a record as what a search found, whatever its shape; one that says its `origin` itself keeps it."""
    if isinstance(record, str):
        return {"content": record, "origin": "similarity"}
    if isinstance(record, dict):
        return {"origin": "similarity", **record}
    try:
        item = to_item(record)
    except ItemError:
        return record  # said where it is rendered
    return (
        record
        if item.origin == "similarity"
        else msgspec.structs.replace(item, origin="similarity")
    )


def oriented(document: Any, order: Order) -> Any:
    """Return `document`, or a pair of it and a score of which a higher one is better, as records are read.

    Raises `OptionError` for a pair while nobody said which order its score has.
    """
    pair = isinstance(document, tuple) and len(document) == 2
    if pair and order is None:
        message = (
            'score_order: say "higher" or "lower": the number beside a document may be a distance'
        )
        raise OptionError(message, option="score_order")
    inner, score = document if pair else (document, _score(document) if order == "lower" else None)
    if score is None:
        return inner
    if order == "lower" and _is_number(score):
        score = _turned(score)
    if isinstance(inner, str):
        return {"content": inner, "score": score}
    return {**inner, "score": score} if isinstance(inner, dict) else (inner, score)


def _turned(distance: Any) -> float:
    try:
        number = 0.0 - float(distance)
    except (OverflowError, ValueError):  # a whole number or a Decimal that no float holds
        return -_FAR
    return number if isfinite(number) else -_FAR


def _score(document: Any) -> Any:
    """Return the number that a document has for a score, where records look for it; None without one."""
    read = document.get if isinstance(document, dict) else partial(_attribute, document)
    about = read("metadata") or read("meta")
    listed = (
        [about.get(key) for key in ("score", "relevance_score")] if isinstance(about, dict) else []
    )
    return next((each for each in (read("score"), *listed) if _is_number(each)), None)


def _attribute(document: object, name: str) -> Any:
    try:
        return getattr(document, name, None)
    except Exception:  # an object that raises when it is looked at: the reader says so
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)
