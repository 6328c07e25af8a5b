"""Packings of a fixed set: every attribution stays, or one end of the list gives way."""

from __future__ import annotations

from typing import Any

import pytest

import promptforge as pf

ITEMS = [
    {"name": f"n{number}", "content": " ".join([f"word{number}"] * 20 * (number + 1))}
    for number in range(4)
]


def shown(packing: Any, budget: int) -> list[tuple[str | None, str]]:
    result = pf.render(ITEMS, packing=packing, max_tokens=budget, format="plain")
    assert result.tokens <= budget
    return [(item.name, item.status) for item in result.items if item.status != "dropped"]


@pytest.mark.parametrize("packing", ["even", "longest_first"])
def test_every_item_stays_and_all_give_way(packing: str) -> None:
    assert [name for name, _ in shown(packing, 200)] == ["n0", "n1", "n2", "n3"]


def test_longest_first_spares_the_short_and_even_none() -> None:
    assert dict(shown("longest_first", 330))["n0"] == "included"
    assert dict(shown("even", 330))["n0"] == "trimmed"


def test_one_end_of_the_list_gives_way() -> None:
    assert shown("drop_last", 150)[0][0] == "n0"
    assert shown("drop_first", 250)[-1][0] == "n3"
    assert "n3" not in dict(shown("drop_last", 150))
    assert "n0" not in dict(shown("drop_first", 250))
