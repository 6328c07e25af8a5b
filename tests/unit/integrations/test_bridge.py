"""Retrievers and embeddings known by their methods; the frameworks' own are in `integrations`."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from loop_check import LoopCheck

import promptforge as pf
from promptforge.integrations.bridge import (
    Bridge,
    aretrieve,
    embedding,
    orient_score,
    retrieve,
    run_in_thread,
)

FOUND = [{"page_content": "Archives are made by tar."}]


def test_a_function_is_a_retriever_and_takes_arguments() -> None:
    def search(query: str, k: int = 1) -> list[dict[str, str]]:
        return [{"page_content": f"{query} {n}"} for n in range(k)]

    found = retrieve(search, "tar", k=3)
    result = pf.render([{"content": "named"}, *found], combine="combined")
    assert [item.origin for item in result.items] == ["explicit", *["similarity"] * 3]


@pytest.mark.parametrize("thing", [None, 7, "text", object(), str, []])
def test_what_is_neither_is_refused(thing: Any) -> None:
    with pytest.raises(pf.OptionError, match="a retriever has similarity_search_with_score"):
        retrieve(thing, "tar")
    with pytest.raises(pf.OptionError, match="embed takes a function"):
        embedding(thing)


def test_a_bridge_takes_the_id_of_a_model_as_a_renderer_does() -> None:
    assert Bridge(model="gpt-5.2").window == Bridge(profile="gpt-5.2").window
    with pytest.raises(pf.OptionError, match="give one of them"):
        Bridge(model="gpt-5.2", profile="claude")
    assert copy.deepcopy(pickle.loads(pickle.dumps(Bridge(model="gpt-5.2")))).window


def test_distances_become_scores_of_which_more_is_better() -> None:
    document = {"page_content": "near"}
    assert orient_score((document, 0.25), "lower") == {**document, "score": -0.25}
    assert str(orient_score((document, 0.0), "lower")["score"]) == "0.0"
    assert orient_score((document, 0.25), "higher") == {**document, "score": 0.25}
    assert orient_score({**document, "score": 3}, "lower")["score"] == -3
    assert (
        orient_score({**document, "metadata": {"score": Decimal("0.5")}}, "lower")["score"] == -0.5
    )
    assert orient_score(document, None) is document is orient_score(document, "lower")
    assert orient_score((document, None), "lower") is document
    with pytest.raises(pf.OptionError, match="score_order"):
        orient_score((document, 0.25), None)


def test_what_a_retriever_raises_comes_out_as_it_is() -> None:
    def broken(query: str) -> list[Any]:
        raise KeyError(query)

    with pytest.raises(KeyError, match="tar"):
        retrieve(broken, "tar")


ODD = {
    "nan": float("nan"),
    "inf": float("inf"),
    "less": float("-inf"),
    "huge": 10**400,
    "signal": Decimal("sNaN"),
}


@pytest.mark.parametrize("distance", ODD.values(), ids=list(ODD))
def test_a_distance_that_is_no_number_is_never_the_best(distance: Any) -> None:
    odd, near = retrieve(
        lambda query: [("odd", distance), ("near", 0.1)], "tar", score_order="lower"
    )
    assert odd["score"] < near["score"] == -0.1
    assert pf.render([odd, near], min_score=None, max_items=1).text.count("near")


def test_what_a_search_found_is_similarity_whatever_its_shape() -> None:
    class Page:
        page_content, metadata, id = "a page", {"source_type": "man_page", "source": "tar"}, None

    shapes: list[Any] = [
        "a text",
        {"content": "a record"},
        pf.Item(kind="text", content="an item"),
        Page(),
        ("b", 1),
    ]
    result = pf.render(retrieve(lambda query: shapes, "tar", score_order="higher"), min_score=None)
    assert {item.origin for item in result.items} == {"similarity"} and result.items_included == 5
    own = retrieve(lambda query: [{"content": "x", "origin": "explicit"}], "tar")
    assert pf.render(own).items[0].origin == "explicit"


@pytest.mark.parametrize(
    "returned", [None, "text", 7, b"", {"docs": []}, pf.Item(kind="text", content="x")]
)
def test_what_is_no_list_of_documents_is_said(returned: Any) -> None:
    with pytest.raises(pf.OptionError, match="the retriever returned no list of documents but"):
        retrieve(lambda query: returned, "tar")


# --- without waiting ------------------------------------------------------------------------------


def retrievers(check: LoopCheck) -> dict[str, Any]:
    """Return retrievers of every kind; those that block do so until the loop comes."""

    def blocking(query: str) -> list[dict[str, str]]:
        check.wait()
        return FOUND

    def yielding(query: str) -> Iterator[dict[str, str]]:
        check.wait()
        yield from FOUND

    async def awaited(query: str) -> list[dict[str, str]]:
        await asyncio.sleep(0)
        return FOUND

    async def stream(query: str) -> AsyncIterator[dict[str, str]]:
        await asyncio.sleep(0)
        for found in FOUND:
            yield found

    class Base:
        def retrieve(self, query: str) -> Any:
            return self._retrieve(query)

        async def aretrieve(self, query: str) -> Any:
            return await self._aretrieve(query)

        async def _aretrieve(self, query: str) -> Any:
            return self._retrieve(query)  # as LlamaIndex does: amid the loop

        def _retrieve(self, query: str) -> Any:
            raise NotImplementedError

    class Blocking(Base):
        def _retrieve(self, query: str) -> Any:
            return blocking(query)

    class Waiting(Blocking):
        async def _aretrieve(self, query: str) -> Any:
            return await awaited(query)

    class Called:
        async def __call__(self, query: str) -> Any:
            return await awaited(query)

    class Component:
        def run(self, query: str) -> Any:
            return {"documents": blocking(query)}

    class WaitingComponent(Component):
        async def run_async(self, query: str) -> Any:
            return {"documents": await awaited(query)}

    class Vectors:
        def run(self, query_embedding: list[float]) -> Any:
            assert query_embedding == [1.0]
            return {"documents": blocking("")}

    return {
        "function": blocking,
        "generator": yielding,
        "coroutine": awaited,
        "async generator": stream,
        "hidden": lambda query: awaited(query),
        "object": Called(),
        "no async": Blocking(),
        "async": Waiting(),
        "component": Component(),
        "async component": WaitingComponent(),
        "vectors": Vectors(),
    }


@pytest.mark.parametrize("kind", retrievers(LoopCheck()))
def test_a_loop_is_free_while_anything_retrieves(kind: str) -> None:
    check = LoopCheck()

    async def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    async def ask() -> Any:
        return await check.run_beside(aretrieve(retrievers(check)[kind], "tar", embed=embed))

    assert asyncio.run(ask()) == [{"origin": "similarity", **FOUND[0]}]


@pytest.mark.parametrize("kind", ["coroutine", "async generator", "hidden", "object"])
def test_what_must_be_awaited_is_refused_where_nobody_awaits(kind: str) -> None:
    with pytest.raises(pf.OptionError, match="await aretrieve"):
        retrieve(retrievers(LoopCheck())[kind], "tar")


async def by_number(texts: list[str]) -> list[list[float]]:
    """Return a vector for each text that tells one sentence from the others."""
    await asyncio.sleep(0)
    return [[float("number 11 " in text or text == "xyzzy"), 0.1] for text in texts]


LONG = [" ".join(f"The archive number {n} is read by tar." for n in range(30))]


def test_an_async_embedding_is_awaited_on_the_loop_that_asks() -> None:
    loops = set()

    async def embed(texts: list[str]) -> list[list[float]]:
        loops.add(asyncio.get_running_loop())
        return await by_number(texts)

    bridge = Bridge(max_tokens=60, embed=embed)
    fit: Callable[[], Any] = lambda: bridge.fit(LONG, "xyzzy").result.text  # noqa: E731

    async def ask() -> tuple[str, bool]:
        text = await run_in_thread(fit)
        return text, loops == {asyncio.get_running_loop()}

    assert asyncio.run(ask()) == (fit(), True)
    assert "number 11 " in fit()


def test_who_is_cancelled_leaves_no_embedding_behind() -> None:
    seen: list[str] = []

    async def embed(texts: list[str]) -> list[list[float]]:
        seen.append("asked")
        begun.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("cancelled")
            ended.set()
            raise
        return [[1.0]]

    async def ask() -> None:
        asking = asyncio.create_task(run_in_thread(lambda: Bridge(embed=embed).fit(LONG, "xyzzy")))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await ended.wait()  # before the loop itself ends, which would cancel it too

    begun, ended = asyncio.Event(), asyncio.Event()
    asyncio.run(asyncio.wait_for(ask(), 300))
    assert seen == ["asked", "cancelled"]


def test_an_async_embedding_is_awaited_amid_a_loop_too_and_its_failure_is_said() -> None:
    async def broken(texts: list[str]) -> list[list[float]]:
        raise KeyError("no such model")

    async def rerank(query: str, texts: list[str]) -> list[float]:
        return [float("number 11 " in text) for text in texts]

    async def fitted(**options: Any) -> Any:
        return Bridge(max_tokens=60, **options).fit(LONG, "xyzzy").result.text

    for option in ({"embed": by_number}, {"rerank": rerank}):
        assert "number 11 " in asyncio.run(fitted(**option))
    with pytest.raises(pf.OptionError, match="embed failed on 1 text: KeyError"):
        asyncio.run(fitted(embed=broken))
    with pytest.raises(pf.OptionError, match="embed failed on 1 text: KeyError"):
        Bridge(embed=broken).fit(LONG, "xyzzy")


@pytest.mark.parametrize(
    "record",
    [
        lambda text, distance: {"content": text, "score": distance},
        lambda text, distance: {"content": text, "metadata": {"score": distance}},
        lambda text, distance: ({"content": text}, distance),
        lambda text, distance: (text, distance),
    ],
)
@pytest.mark.parametrize("far", [0.9, float("inf")])
def test_the_nearest_is_kept_however_its_distance_is_given(
    record: Callable[[str, float], Any], far: float
) -> None:
    given = [record("far " * 20, far), record("near " * 20, 0.1)]
    assert "near" in Bridge(score_order="lower", max_tokens=40).fit(given).result.text
    found = retrieve(lambda query: given, "q", score_order="lower")
    assert "near" in pf.render(found, max_tokens=40).text
