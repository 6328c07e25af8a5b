"""Plain data is a copy of any object, however hostile; what cannot be copied is said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from itertools import count
from pathlib import PurePosixPath
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from promptforge import plain_data
from promptforge.model import Item
from promptforge.plain_data import copy_plain
from promptforge.sources.records import to_item


def test_metadata_is_a_copy() -> None:
    inner: list[str] = ["a"]
    record = {"content": "x", "metadata": {"tags": inner}}
    for item in (to_item(record), to_item(Item(**record))):  # type: ignore[arg-type]
        inner.append("later")
        assert item.metadata["tags"] != inner
        inner.pop()


def copied(value: object, most: int = plain_data.MAX_DATA_VALUES) -> tuple[Any, list[str]]:
    changes: list[str] = []
    return copy_plain(value, changes.append, most), changes


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


class Array:
    """A list of NumPy, as a cell of pandas holds it."""

    ndim = 1

    def __iter__(self) -> Iterator[object]:
        return iter(("a", 0.5, math.nan))

    def tolist(self) -> list[object]:
        raise AssertionError("it gives dates as numbers")


def test_a_list_of_numpy_is_a_list() -> None:
    changes = ["a number that is not finite is replaced by its name"]
    assert copied({"tags": Array()}) == ({"tags": ["a", 0.5, "nan"]}, changes)


def test_depth_and_size_are_bounded() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    plain, changes = copied(deep)
    depth = 0
    while plain:
        plain, depth = plain[0], depth + 1
    assert depth == plain_data.MAX_DATA_DEPTH - 1
    assert changes == ["nested deeper than 20; what lies deeper is left out"]
    plain, changes = copied({"a": ["x"] * 50_000, "b": 1})
    assert len(plain["a"]) == plain_data.MAX_DATA_VALUES - 2
    assert len(changes) == 1


def test_more_values_are_copied_where_they_are_only_written_down() -> None:
    rows = [[number, "x"] for number in range(5_000)]
    plain, changes = copied({"rows": rows}, plain_data.MAX_MESSAGE_VALUES)
    assert plain == {"rows": rows} and changes == []


def test_what_holds_itself_or_one_text_many_times_ends_as_early() -> None:
    itself: list[Any] = []
    itself += [itself] * 100_000
    for value in (itself, {"a": itself, "b": itself}, [LONG] * 100_000, Endless()):
        plain, changes = copied(value, plain_data.MAX_MESSAGE_VALUES)
        assert "more than 10000 values; the rest is left out" in changes
        assert len(plain) <= plain_data.MAX_DATA_VALUES


LONG = "x" * 1_000_000


class Endless(Mapping[str, str]):
    """A mapping whose keys have no end."""

    def __getitem__(self, key: str) -> str:
        return LONG

    def __iter__(self) -> Iterator[str]:
        return map(str, count())

    def __len__(self) -> int:
        return 1


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
