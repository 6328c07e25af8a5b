"""Items and results as plain data: what is copied, how deep, and what an item is known by."""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import promptforge as pf
from promptforge import model
from promptforge.model import Item


@pytest.mark.parametrize("size", [0, 10, model.MAX_CHARS_HASHED, 2 * model.MAX_CHARS_HASHED + 1])
def test_the_id_of_an_item_is_that_of_its_fields_at_any_size(size: int) -> None:
    item = pf.Item(kind="code", path="a\ud800.py", start_line=3, content="é" * size, summary="s")
    fields = ["code", "a\ud800.py", "3", "", "", "é" * size, "s"]
    digest = hashlib.sha256("\0".join(fields).encode("utf-8", "surrogatepass")).hexdigest()
    assert model.item_id(item) == f"code-{digest[:12]}"


def test_a_pickled_result_keeps_the_remedies_that_were_asked_for() -> None:
    result = pf.render([{"content": "one"}, {"content": "one", "path": "a"}], max_tokens=50)
    ways = result.remedies()
    assert ways and pickle.loads(pickle.dumps(result)).remedies() == ways


COPIES: dict[str, Callable[[Item], Item]] = {
    "plain": lambda item: msgspec.convert(msgspec.to_builtins(item), Item),
    "json": lambda item: msgspec.json.decode(msgspec.json.encode(item), type=Item),
    "msgpack": lambda item: msgspec.msgpack.decode(msgspec.msgpack.encode(item), type=Item),
    "pickle": lambda item: pickle.loads(pickle.dumps(item)),
    "deepcopy": copy.deepcopy,
    "replace": msgspec.structs.replace,
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("given", [{}, {"score": 1.0}, {"score": 2.5, "named": True}])
def test_a_copy_of_an_item_is_named_as_the_item_is(how: str, given: dict[str, Any]) -> None:
    item = Item(content="x", **given)
    copied = COPIES[how](item)
    assert (copied.named, copied.is_reserved) == (item.named, item.is_reserved)
    assert copied == item and copied.is_reserved == (given != {"score": 1.0})


def test_a_file_of_two_items_is_named_once() -> None:
    items = [{"content": text, "path": "a.py"} for text in ("one", "two")]
    assert pf.render([*items, {"content": "x"}]).files == ("a.py",)


@pytest.mark.parametrize("score", [model.NO_SCORE, model.BROKEN_SCORE])
def test_a_pickled_item_without_a_usable_score_stays_the_farthest(score: float) -> None:
    item = Item(content="x", score=score, named=False, score_order="lower")
    pickled = pickle.loads(pickle.dumps(item))
    assert pickled.score is score
    assert pickled.relevance == item.relevance == 0
