"""Words and numbers as filters print them."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import hostile_strings as hostile
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

from promptforge.text import format as wording

LABELS = hostile.LABEL


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("code", "Code"),
        ("repl-history", "Repl-History"),
        ("man_page", "Man_Page"),
        ("2nd item", "2nd Item"),
        ("elm 13c arthur;fig don't", "Elm 13c Arthur;Fig Don'T"),
        ("KLUDGY HASH-SEARCH", "Kludgy Hash-Search"),
        ("ÉCOLE été", "École Été"),
        ("straße", "Straße"),
        ("ßa", "ßa"),
        ("ŉa", "ŉa"),
        ("İX", "İx"),
        ("", ""),
        (None, ""),
        (12, "12"),
    ],
)
def test_capitalize_is_lisps(text: object, printed: str) -> None:
    assert wording.capitalize(text) == printed


@cases(200)
@given(LABELS)
def test_capitalize_keeps_length_and_settles(text: str) -> None:
    once = wording.capitalize(text)
    assert len(once) == len(text)
    assert wording.capitalize(once) == once


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.855, "86%"),
        (0.845, "84%"),
        (0.005, "0%"),
        (0.015, "2%"),
        (0.025, "2%"),
        (0.285, "28%"),
        (0.575, "58%"),
        (12.5, "1250%"),
        (-0.5, "-50%"),
        ("0.25", "25%"),
        (None, ""),
        ("high", "high"),
        ("86%", "86%"),
        (math.nan, "0%"),
        (math.inf, "0%"),
    ],
)
def test_percent_rounds_half_to_even_of_the_decimal(value: object, printed: str) -> None:
    assert wording.percent(value) == printed


@pytest.mark.parametrize(
    ("value", "places", "printed"),
    [
        (0.855, 2, "0.86"),
        (0.845, 2, "0.84"),
        (1.005, 2, "1.00"),
        (1.015, 2, "1.02"),
        (0.125, 2, "0.12"),
        (0.5, 0, "0"),
        (1.5, 0, "2"),
        (3, 2, "3.00"),
        (-1.25, 1, "-1.2"),
        ("0.5", 2, "0.50"),
        (None, 2, ""),
        ("high", 2, "high"),
        (math.nan, 2, "0.00"),
        (math.inf, 1, "0.0"),
    ],
)
def test_decimals_round_half_to_even_of_the_decimal(
    value: object, places: int, printed: str
) -> None:
    assert wording.decimals(value, places) == printed


@pytest.mark.parametrize(
    "value",
    [
        1e300,
        -1e300,
        1e-300,
        5e-324,
        -0.001,
        -0.0,
        10**40,
        1.7e308,
        -math.inf,
        "1e999999",
        "9" * 5000,
    ],
)
def test_no_number_is_too_large_or_too_small_for_a_filter(value: object) -> None:
    assert re.fullmatch(r"-?\d+%", wording.percent(value))
    assert re.fullmatch(r"-?\d+\.\d\d", wording.decimals(value))


@cases(300)
@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12),
    st.integers(0, 6),
)
def test_decimals_are_within_half_a_unit(value: float, places: int) -> None:
    printed = Decimal(wording.decimals(value, places))
    assert abs(printed - Decimal(repr(value))) <= Decimal(1).scaleb(-places) / 2
    assert abs(Decimal(wording.percent(value)[:-1]) - Decimal(repr(value)) * 100) <= Decimal("0.5")
