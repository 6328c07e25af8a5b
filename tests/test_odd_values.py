"""Values that no record or option should have: the result is still a text, and it says what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import judges
import pytest
from rendering_all import FORMATS, render
from taming import harmless


class Spiteful:
    """An object that fails whatever is asked of it."""

    def __str__(self) -> str:
        raise RuntimeError("str")

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __len__(self) -> int:
        raise RuntimeError("len")

    def __html__(self) -> str:
        return "<b>raw</b>"


def endless() -> Iterator[int]:
    while True:
        yield 1


def looped() -> dict[str, Any]:
    loop: dict[str, Any] = {}
    loop["again"] = loop
    return loop


def nested(depth: int) -> list[Any]:
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]
    return deep


ODD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "number": lambda: 12345,
    "huge_number": lambda: 10**5000,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("-inf"),
    "bytes": lambda: b"\xff",
    "spiteful": Spiteful,
    "generator": endless,
    "loop": looped,
    "deep": lambda: nested(3000),
    "odd_keys": lambda: {1: "a", "1": "b", None: "c", ("t",): "d", Spiteful: "e"},
    "class": lambda: Spiteful,
    "many": lambda: dict.fromkeys(map(str, range(20_000)), "v"),
    "true": lambda: True,
    "object_list": lambda: [Spiteful(), {"x": Spiteful()}],
    "surrogate_key": lambda: {"\ud800": "\udfff", "a\nb": "c"},
}

FIELDS = [
    "kind", "content", "expanded", "summary", "id", "name", "path", "start_line", "end_line", "language", "score",
    "origin", "required", "metadata", "no_such_field",
]  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_value_in_a_field_costs_that_item_alone(field: str, odd: str) -> None:
    bad = harmless(0, id="bad") | {field: ODD[odd]()}
    for format in FORMATS:  # noqa: A001
        result = render([harmless(1, id="good-1"), bad, harmless(2, id="good-2")], "documents", format)
        assert "content number 1" in result.text
        assert "content number 2" in result.text
        if format == "json":
            judges.json_structure(result.text)
        if format == "xml":
            judges.xml_structure(result.text)


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_record_is_skipped_and_said(odd: str) -> None:
    result = render([harmless(1), ODD[odd](), harmless(2)], "chunks", "markdown")
    assert "content number 1" in result.text
    assert "content number 2" in result.text
    assert result.warnings


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_tokens", -1),
        ("max_tokens", "many"),
        ("max_tokens", float("nan")),
        ("max_tokens", 10**30),
        ("max_tokens", True),
        ("max_chars", -5),
        ("max_items", "x"),
        ("min_score", 7),
        ("item_max_chars", -1),
        ("separator", 5),
        ("packing", "magic"),
        ("order", None),
        ("trim", []),
        ("marker", object()),
        ("headers", "perhaps"),
        ("fence_language", "a\nb"),
        ("fence_language", "`"),
        ("group_by", ""),
        ("tokenizer", 5),
    ],
)
def test_an_odd_option_falls_back_and_is_said(option: str, value: Any) -> None:
    result = render([harmless(1)], "chunks", "markdown", **{option: value})
    assert "content number 1" in result.text
    assert any(option in w.message for w in result.warnings)
