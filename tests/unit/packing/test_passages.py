"""Packings with a query: the passages that answer are shown, and the budget is used."""

from __future__ import annotations

import random
from typing import Any

import pytest

import promptforge as pf
from promptforge import Item, Renderer

COUNT = pf.get_tokenizer("o200k_base").count


def words(number: int, seed: int = 0) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choice(["alpha", "beta", "gamma", "delta", "omega"]) for _ in range(number))


def item(name: str, size: int, **fields: Any) -> dict[str, Any]:
    return {"name": name, "content": words(size, sum(map(ord, name)) * 1000 + size), **fields}


def render(records: list[dict[str, Any]], budget: int, **options: Any) -> pf.Result:
    result = pf.render(
        records, max_tokens=budget, **{"layout": "context", "min_score": None, **options}
    )
    assert result.tokens == COUNT(result.text) <= budget
    return result


GUIDE = (
    "Boats need wind. Cats sleep most of the day and hunt at dusk. The harbour opens at six in the morning. "
    "Trains leave on the hour. Old maps show another coast. Bread is baked before dawn here. "
    "The lighthouse was built in 1871 by an engineer from the north. Rain falls mostly in autumn."
)


def test_the_sentence_that_answers_stays() -> None:
    result = render(
        [{"name": "guide", "content": GUIDE}], 40, query="When was the lighthouse built?"
    )
    assert "The lighthouse was built in 1871" in result.text
    assert "…" in result.text
    assert result.items[0].status == "trimmed"


@pytest.mark.parametrize("count", [20, 300, 1000])
def test_with_a_query_the_budget_is_used_too(count: int) -> None:
    records = [{**item(f"n{n}", 40), "content": f"{n} {words(40, n)}."} for n in range(count)]
    result = render(records, 900, query="gamma omega")
    assert result.tokens >= 880
    result = render(records, 10**6, query="gamma omega")
    assert not result.truncated


@pytest.mark.parametrize("chars", [0, 1, 40, 300])
def test_a_query_under_a_ceiling_of_characters_comes_to_an_end(chars: int) -> None:
    records = [{"content": "Alpha beta. " * 200}, {"content": "Gamma delta. " * 200}]
    for tokens in (4000, None):
        assert (
            len(pf.render(records, query="alpha", max_chars=chars, max_tokens=tokens).text) <= chars
        )


def test_no_passage_is_cut_to_a_lone_word() -> None:
    formula = "x" * 40 + "".join(f"^{{{number}}}_y" for number in range(90))
    text = f"The pump is oiled every eleven days by hand. Let {formula} be its oil. " + "It hums. "
    renderer = Renderer(layout="chunks", format="plain")
    for most in range(30, 60):
        shown = renderer.render([Item(content=text)], query="pump oil", max_tokens=most).text
        assert "pump is oiled" in shown and not shown.rstrip().endswith("Let …")


def test_the_best_program_is_cut_before_a_lesser_one_is_shown() -> None:
    sell = "".join(f"    till.count_{number}(hat)\n" for number in range(30))
    items = [
        Item(kind="code", name="best", score=1.0, content=f"def refund_a_hat(hat):\n{sell}"),
        Item(kind="code", name="lesser", score=1.0, content="def sell(hat):\n    give(hat)\n"),
    ]
    renderer = Renderer(layout="chunks")
    most = (renderer.render(items[:1]).tokens or 0) - 20
    shown = renderer.render(items, query="refund a hat", max_tokens=most).text
    assert "refund_a_hat" in shown and "count_20" in shown and "give" not in shown
