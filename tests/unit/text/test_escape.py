"""Labels are one line on which all can be seen."""

from __future__ import annotations

import re

import hostile_strings as hostile
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

from promptforge.text import escape as escaping

LABELS = hostile.LABEL
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | LABELS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LABELS, inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (1.0, "1.0"),
        (1e300, "1e+300"),
        (["a", None, 2], "a, , 2"),
        (("a", ["b", "c"]), "a, b, c"),
        ({"a": 1, "b": {"c": True}}, "a: 1, b: c: true"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x00\x1b\x7f\x9b", "\\x00\\x1b\\x7f\\x9b"),
        ("a\u202eb\u200bc\ufeff", "a\\u202eb\\u200bc\\ufeff"),
        ("\ud800", "\\ud800"),
        ("\u2028\u2029\x85", "\\u2028\\u2029\\x85"),
        ("\U000e0041", "\\U000e0041"),
        ("héllo wörld 日本 א", "héllo wörld 日本 א"),
        ("👩‍👩‍👧‍👦 🇩🇪 ❤️", "👩‍👩‍👧‍👦 🇩🇪 ❤️"),
        ("a\u200db", "a\\u200db"),
        ("\ufe0f\ufe0f", "\\ufe0f\\ufe0f"),
        ("src/a_b-c.py (1) [2] {3}", "src/a_b-c.py (1) [2] {3}"),
    ],
)
def test_a_label_is_one_line_on_which_all_can_be_seen(value: object, shown: str) -> None:
    assert escaping.to_label(value) == shown


def test_a_long_label_is_cut() -> None:
    cap = escaping.MAX_LABEL_CHARACTERS
    assert escaping.to_label("a" * cap) == "a" * cap
    assert escaping.to_label("a" * (cap + 1)) == "a" * (cap - 1) + "…"


@cases(200)
@given(VALUES)
def test_every_label_is_one_line_without_anything_invisible(value: object) -> None:
    shown = escaping.to_label(value)
    assert len(shown.splitlines()) <= 1
    shown.encode()
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff]", shown)


def test_joiners_stay_in_words_and_emoji_and_nowhere_else() -> None:
    to_label, count_invisible = escaping.to_label, escaping.count_invisible
    for kept in ("می\u200cخواهم", "क्\u200dष", "👩\u200d🚀", "ශ්\u200dරී"):
        assert to_label(kept) == kept and count_invisible(kept) == 0
    for hidden in ("a\u200cb", "\u200dx", "می\u200c\u200cخ", "1\u200d2", "می\u200b"):
        assert to_label(hidden) != hidden and count_invisible(hidden) > 0
