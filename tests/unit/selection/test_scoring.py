"""Functions of the caller that score texts: vectors, a reranker, and what is said of a bad one."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from kettle_pages import ASKED, PAGES, _text

import promptforge as pf
from promptforge import Item, OptionError, Renderer

GUIDE = (
    "Boats need wind. Cats sleep most of the day and hunt at dusk. The harbour opens at six in the morning. "
    "Trains leave on the hour. Old maps show another coast. Bread is baked before dawn here. "
    "The lighthouse was built in 1871 by an engineer from the north. Rain falls mostly in autumn."
)


def test_vectors_of_the_caller_add_to_the_words() -> None:
    meaning = {"feline": (1.0, 0.0), "Cats": (1.0, 0.1), "lighthouse": (0.0, 1.0)}

    def embed(texts: list[str]) -> list[tuple[float, float]]:
        return [next((v for w, v in meaning.items() if w in text), (0.0, 0.0)) for text in texts]

    async def embed_later(texts: list[str]) -> list[tuple[float, float]]:
        await asyncio.sleep(0)
        return embed(texts)

    def text(function: Any) -> str:
        renderer = pf.Renderer(embed=function, layout="context")
        guide = {"name": "guide", "content": GUIDE}
        return renderer.render([guide], query="feline habits", max_tokens=40).text

    async def within() -> str:
        return text(embed_later)

    assert "Cats sleep" in text(embed)
    assert text(embed_later) == asyncio.run(within()) == text(embed)


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (None, "embed failed on 1 text: TypeError"),
        ([], "returned 0 vectors for 1 text; it must return one"),
        ([[1.0]] * 99, "returned 99 vectors for 1 text; it must"),
        (["text"], "embed failed on 1 text: ValueError"),
        ([[1.0, float("nan")]], "returned a number that is not finite for text 1; it must"),
    ],
)
def test_vectors_that_are_none_are_an_error_that_says_so(vectors: Any, said: str) -> None:
    with pytest.raises(pf.OptionError, match=said):
        pf.render([{"content": GUIDE}], query="cats", max_tokens=30, embed=lambda texts: vectors)


def test_vectors_of_unequal_lengths_are_an_error_that_names_the_text() -> None:
    said = "returned 1 and 2 numbers for the texts 1 and 2; it must"
    with pytest.raises(pf.OptionError, match=said):
        pf.render(
            [{"content": GUIDE}, {"content": "Dogs bark."}],
            query="cats",
            rerank="mmr",
            embed=lambda texts: [[1.0] * n for n in range(1, len(texts) + 1)],
        )


def test_a_caller_s_embed_that_fails_is_named() -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no route to host")

    with pytest.raises(pf.OptionError, match="no route to host"):
        pf.render([{"content": GUIDE}], query="cats", max_tokens=30, embed=embed)


# --- a reranker of the caller's -------------------------------------------------------------------


def _heat(query: str, texts: list[str]) -> list[float]:
    assert query == ASKED
    return [10.0 * ("ninety degrees" in text) + ("kettle" in text) for text in texts]


async def _heat_later(query: str, texts: list[str]) -> list[float]:
    await asyncio.sleep(0)
    return _heat(query, texts)


def test_a_function_ranks_by_meaning_what_no_word_finds() -> None:
    assert "ninety degrees" not in _text("keyword_boost")
    assert "ninety degrees" in _text(_heat)


@given(st.floats(0.01, 1000), st.floats(-1000, 1000))
@cases(16)
def test_the_scale_of_a_function_means_nothing(factor: float, shift: float) -> None:
    def other(query: str, texts: list[str]) -> list[float]:
        return [factor * score + shift for score in _heat(query, texts)]

    assert _text(other) == _text(_heat)


def test_an_async_function_is_awaited_in_a_loop_and_without_one() -> None:
    async def within() -> str:
        return _text(_heat_later)

    assert _text(_heat_later) == asyncio.run(within()) == _text(_heat)


def _raise(query: str, texts: list[str]) -> list[float]:
    raise KeyError("model")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_raise, "KeyError: \"'model'\""),
        (
            lambda query, texts: {n: 1.0 for n, _ in enumerate(texts)},
            "it returned dict; expected numbers",
        ),
        (lambda query, texts: [1.0], "it returned 1 score; expected a finite number for each text"),
        (lambda query, texts: [math.nan] * len(texts), "it returned nan; expected a finite"),
        (lambda query, texts: None, "TypeError"),
        (lambda query: [1.0], "TypeError"),
        (lambda query, texts: ["x"] * len(texts), "ValueError"),
    ],
)
def test_the_failure_of_a_function_is_said_and_survived(function: Any, said: str) -> None:
    result = Renderer(rerank=function).render(PAGES, query=ASKED, max_tokens=60)
    assert [warning.code for warning in result.warnings].count("PF126") == 1
    (message,) = (warning.message for warning in result.warnings if warning.code == "PF126")
    assert message.startswith("rerank failed on 4 texts: ") and said in message
    assert result.text == _text("keyword_boost")


def test_scores_are_asked_for_in_batches_and_only_once() -> None:
    calls: list[list[str]] = []

    class Model:
        def score(self, query: str, texts: list[str]) -> list[float]:
            calls.append(texts)
            return _heat(query, texts)

    model = Model()
    long = "The boiler stands in the old cellar of the house, and it hums. " * 2
    pages = [*PAGES, Item(name="Boiler", content=long + "It heats water to ninety degrees.")]
    first = Renderer(rerank=model.score).render(pages, query=ASKED, max_tokens=60).text
    assert len(calls) == 2 and len(calls[0]) == len(pages)  # the items, then their passages
    assert len({*calls[0], *calls[1]}) == len(calls[0]) + len(calls[1])
    assert Renderer(rerank=model.score).render(pages, query=ASKED, max_tokens=60).text == first
    assert len(calls) == 2


def test_what_was_made_with_a_function_can_be_written_down() -> None:
    result = Renderer(rerank=_heat).render(PAGES, query=ASKED, max_tokens=60)
    assert result.manifest["options"]["rerank"] == "_heat"
    with pytest.raises(OptionError, match="rerank takes none"):
        Renderer(rerank=7)  # type: ignore[arg-type]


def test_a_function_is_asked_each_query() -> None:
    asked: list[str] = []

    def score(query: str, texts: list[str]) -> list[float]:
        asked.append(query)
        return [float(query in text) for text in texts]

    text = _text(score, ["pond", "ninety"])
    assert "pond" in text and "ninety" in text and {*asked} == {"pond", "ninety"}


def test_two_methods_of_one_model_have_scores_of_their_own() -> None:
    class Model:
        def warm(self, query: str, texts: list[str]) -> list[float]:
            return _heat(query, texts)

        def cold(self, query: str, texts: list[str]) -> list[float]:
            return [-score for score in _heat(query, texts)]

    model = Model()
    warm, cold = (
        [item.rank for item in Renderer(rerank=way).render(PAGES, query=ASKED).items]
        for way in (model.warm, model.cold)
    )
    assert warm != cold
