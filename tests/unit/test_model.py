"""Items and results as plain data: what is copied, how deep, and what an item is known by."""

from __future__ import annotations

import copy
import hashlib
import math
import pickle
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge import model
from promptforge.model import Item
from promptforge.sources.records import to_item


def test_metadata_is_a_copy() -> None:
    inner: list[str] = ["a"]
    record = {"content": "x", "metadata": {"tags": inner}}
    for item in (to_item(record), to_item(Item(**record))):  # type: ignore[arg-type]
        inner.append("later")
        assert item.metadata["tags"] != inner
        inner.pop()


def copied(value: object) -> tuple[Any, list[str]]:
    changes: list[str] = []
    return model.copy_plain(value, changes.append), changes


def test_plain_values_of_other_types() -> None:
    value = {
        "date": date(2026, 1, 2),
        "decimal": Decimal("1.50"),
        "path": PurePosixPath("a/b"),
        "set": {"b", "a", "c"},
        "tuple": (1, 2),
        "object": object(),
        "generator": (x for x in "ab"),
        "big": 10**5000,
        "nan": math.nan,
        3: "int key",
        "3": "text key",
    }
    plain, changes = copied(value)
    assert plain == {
        "date": "2026-01-02",
        "decimal": "1.50",
        "path": "a/b",
        "set": ["a", "b", "c"],
        "tuple": [1, 2],
        "object": "object",
        "generator": "generator",
        "big": "(integer of 16610 bits)",
        "nan": "nan",
        "3": "text key",
    }
    assert len(changes) == 6  # dates, decimals and paths are written as they are read
    assert changes == sorted(changes)


def test_depth_and_size_are_bounded() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    plain, changes = copied(deep)
    depth = 0
    while plain:
        plain, depth = plain[0], depth + 1
    assert depth == model.MAX_DATA_DEPTH - 1
    assert changes == ["nested deeper than 20; what lies deeper is left out"]
    plain, changes = copied({"a": ["x"] * 50_000, "b": 1})
    assert len(plain["a"]) == model.MAX_DATA_VALUES - 2
    assert len(changes) == 1


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_data_is_copied_as_it_is(value: Any) -> None:
    assert copied(value) == (value, [])


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
