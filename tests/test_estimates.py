"""The estimates, against a slow reading of the C# that they reproduce."""

from __future__ import annotations

import ctypes
import math
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptforge.tokenizers.estimates import FAMILY_FACTORS
from promptforge.tokenizers.registry import get_tokenizer

TEXT = st.text(
    st.one_of(
        st.sampled_from(" \n\t\x1c\x85\xa0\u3000aZé_-.ǅªⅧ²٣漢😀𝐀\ud800\udc00\u200b\u180e"),
        st.characters(),
    )
)
WORDS = st.lists(
    st.sampled_from(["fooBar", "FOO", "information", "Tenletters", "x", "😀" * 6, "éÉ", "𝐀b"])
).map(" ".join)


def units(text: str) -> list[str]:
    """Return the UTF-16 units as .NET's char sees them."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [chr(int.from_bytes(data[i : i + 2], "little")) for i in range(0, len(data), 2)]


def is_white(unit: str) -> bool:
    return unicodedata.category(unit) in ("Zs", "Zl", "Zp") or unit in "\t\n\x0b\x0c\r\x85"


def single(value: float) -> float:
    return ctypes.c_float(value).value


def by_characters(text: str) -> int:
    found = units(text)
    ordinary = ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd")
    special = sum(
        unicodedata.category(unit) not in ordinary and not is_white(unit) for unit in found
    )
    return math.ceil(single(single(len(found)) / 4)) + special // 3


def by_words(text: str) -> int:
    words = 0
    for word in "".join(" " if is_white(unit) else unit for unit in units(text)).split(" "):
        if word:
            kinds = {unicodedata.category(unit) for unit in word}
            words += 1 + (len(word) > 10) + ({"Lu", "Ll"} <= kinds)
    return math.ceil(single(single(words) / single(0.75)))


@settings(max_examples=500, deadline=None)
@given(TEXT)
@example("\x1c\x1d\x1e\x1f")
def test_approximate_characters(text: str) -> None:
    assert get_tokenizer("approximate-characters").count(text) == by_characters(text)


@settings(max_examples=500, deadline=None)
@given(st.one_of(TEXT, WORDS))
@example("a\x1cb")
def test_approximate_words(text: str) -> None:
    assert get_tokenizer("approximate-words").count(text) == by_words(text)


@pytest.mark.parametrize(
    ("text", "characters", "words"),
    [
        ("", 0, 0),
        ("word", 1, 2),
        ("words", 2, 2),
        ("one two three", 4, 4),
        ("getUserById(id);", 5, 4),
        ("public async Task<User>", 6, 6),
        ("😀", 1, 2),
        ("x" * 11, 3, 3),
    ],
)
def test_by_hand(text: str, characters: int, words: int) -> None:
    assert get_tokenizer("approximate-characters").count(text) == characters
    assert get_tokenizer("approximate-words").count(text) == words


def test_division_in_single_precision() -> None:
    # 2**24 + 1 has no 32-bit floating point number: C# rounds it down before it divides.
    assert get_tokenizer("approximate-characters").count("a" * (2**24 + 1)) == 2**22


@given(TEXT)
def test_characters_are_code_points(text: str) -> None:
    assert get_tokenizer("characters").count(text) == len(text)


@pytest.mark.parametrize("name", sorted(FAMILY_FACTORS))
@settings(deadline=None)
@given(text=TEXT)
def test_another_vocabulary_times_its_factor(name: str, text: str) -> None:
    tokens = get_tokenizer("o200k_base").count(text)
    assert get_tokenizer(name).count(text) == math.ceil(tokens * FAMILY_FACTORS[name].factor)
    assert not get_tokenizer(name).exact
