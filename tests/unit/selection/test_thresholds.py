"""Limits for found items that can act on none are said."""

from __future__ import annotations

from typing import Any

import pytest

import promptforge as pf

SCORED = [{"content": "a", "score": 0.1}, {"content": "b", "score": 0.9}]


def said(items: Any, **options: Any) -> list[tuple[str, str]]:
    warnings = pf.render(items, **options).warnings
    return [(each.severity, each.message) for each in warnings if each.code == "PF103"]


@pytest.mark.parametrize(
    ("options", "subject"),
    [
        ({"min_score": 0.5}, "min_score acts on found items only"),
        ({"max_items": 0}, "max_items acts on found items only"),
        ({"min_worth": 0.5, "query": "a"}, "min_worth acts on found items only"),
        ({"min_score": 0.5, "max_items": 1}, "min_score and max_items act on found items only"),
    ],
)
def test_a_limit_that_acts_on_no_scored_item_is_a_warning(
    options: dict[str, Any], subject: str
) -> None:
    way_out = "give what a search found origin: similarity"
    assert said(SCORED, **options) == [
        ("warning", f"{subject}; these 2 are explicit: {way_out}"),
    ]
    with pytest.raises(pf.StrictError, match=subject):
        pf.render(SCORED, **options, strict=True)
    assert said(SCORED[:1], **options)[0][1].endswith(f"the only one is explicit: {way_out}")


@pytest.mark.parametrize(
    "items",
    [
        [{"content": "named"}],
        [*SCORED, {"content": "c", "score": 0.7, "origin": "similarity"}],
        [],
    ],
)
def test_a_limit_beside_named_items_is_no_mistake(items: list[dict[str, Any]]) -> None:
    assert said(items, min_score=0.5, max_items=1) == []


def test_a_limit_of_zero_is_none() -> None:
    assert said(SCORED, min_score=0, min_worth=0, query="a") == []


def test_a_limit_of_the_profile_is_a_note() -> None:
    ((severity, message),) = said(SCORED, profile="assembler")
    assert severity == "info"
    assert message.startswith("min_score and max_items act on found items only")
    assert said(SCORED, profile="assembler", min_score=0.7)[0][0] == "warning"
