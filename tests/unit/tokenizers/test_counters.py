"""Exact on every text, in parts as a whole, bounds that hold, cuts that fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_encodings import PARTS, SCALE

import promptforge as pf
from promptforge.errors import OptionError, TokenizerError
from promptforge.text.words import UNITS, last_unit_end, unit_ends
from promptforge.tokenizers.counters import Counter, RecentCache
from promptforge.tokenizers.registry import get_tokenizer


@given(st.lists(st.text(max_size=5), max_size=200))
def test_memory_is_bounded_and_never_wrong(texts: Sequence[str]) -> None:
    recent: RecentCache[int] = RecentCache(1000)
    for text in texts:
        assert recent.get(text) in (None, len(text))
        recent.put(text, len(text))
        assert recent.get(text) == len(text)
    recent.put("x" * 5_000, 1)
    assert recent.get("x" * 5_000) is None
    assert len(recent._new) + len(recent._old) <= 1000 // 64 + 2


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("abc", ["a", "b", "c"]),
        ("e\u0301e", ["e\u0301", "e"]),
        ("a\r\nb", ["a", "\r\n", "b"]),
        ("\ud83d\ude00\ud83dx", ["\ud83d\ude00", "\ud83d", "x"]),
        ("👩\u200d🚀👍🏽x", ["👩\u200d🚀", "👍🏽", "x"]),
        ("a🇩🇪🇫🇷b", ["a", "🇩🇪🇫🇷", "b"]),
        ("क्षिक", ["क्", "षि", "क"]),
        ("ש\u05c1ל", ["ש\u05c1", "ל"]),
        ("葛\U000e0100城", ["葛\U000e0100", "城"]),
    ],
)
def test_a_cut_at_a_character_keeps_what_belongs_together(text: str, pieces: list[str]) -> None:
    places = [0, *unit_ends(text, "character", 0, len(text)), len(text)]
    assert [text[a:b] for a, b in pairwise(places)] == pieces
    for place in places[1:-1]:
        assert last_unit_end(text, "character", place) == place


class Words:
    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


class Guess(Words):
    exact = False


@SCALE
@given(parts=PARTS, n=st.integers(0, 20))
def test_a_counter_of_ones_own(parts: Sequence[str], n: int) -> None:
    counter, text = get_tokenizer(Words()), "".join(parts)
    assert (counter.name, counter.exact, counter.fingerprint) == ("words", True, "custom")
    assert counter.count(text) == counter.count_parts(parts) == len(text.split())
    assert counter.count_upto(text, n) == min(len(text.split()), n + 1)
    assert counter.at_least(text, n) == 0
    for unit in UNITS:
        found = counter.cut(text, n, unit)
        assert text.startswith(found)
        assert len(found.split()) <= n
    assert not get_tokenizer(Guess()).exact


@pytest.mark.parametrize(
    ("value", "shown"), [(-1, "-1"), (1.5, "float"), (None, "NoneType"), (True, "True")]
)
def test_what_is_no_number_of_tokens_is_refused(value: object, shown: str) -> None:
    class Odd:
        name = "odd\n"

        def count(self, text: str) -> int:
            return value  # type: ignore[return-value]

    with pytest.raises(
        TokenizerError, match=rf'^tokenizer "odd\\n": count\(\) returned "{shown}"; it must'
    ):
        get_tokenizer(Odd()).count("x")


def test_a_count_that_fails_is_named() -> None:
    class Broken:
        name = "broken"

        def count(self, text: str) -> int:
            raise RuntimeError("no\nvocabulary")

    with pytest.raises(
        TokenizerError,
        match=r'"broken": count\(\) failed on a text of 2 characters: RuntimeError: "no',
    ):
        get_tokenizer(Broken()).count("xy")


@pytest.mark.parametrize("thing", [None, 7, object(), len, type("NoName", (), {"count": len})()])
def test_what_is_no_tokenizer_is_refused(thing: object) -> None:
    with pytest.raises(TokenizerError, match="is not a tokenizer: it needs an attribute name"):
        get_tokenizer(thing)  # type: ignore[arg-type]


def test_a_counter_needs_a_count() -> None:
    with pytest.raises(NotImplementedError):
        Counter("x", exact=True, fingerprint="").count("")


@SCALE
@given(parts=PARTS, n=st.integers(0, 40), hundredths=st.integers(1, 400))
def test_a_factor_of_ones_own(parts: Sequence[str], n: int, hundredths: int) -> None:
    factor, text = Fraction(hundredths, 100), "".join(parts)
    counter, base = get_tokenizer(f"cl100k_base*{hundredths / 100}"), get_tokenizer("cl100k_base")
    assert not counter.exact
    tokens = math.ceil(base.count(text) * factor)
    assert counter.count(text) == counter.count_parts(parts) == tokens
    assert counter.count_upto(text, n) == min(tokens, n + 1)
    assert counter.at_least(text, n) <= min(tokens, n + 1)
    assert len(text) <= counter.most_chars(tokens)
    for unit in UNITS:
        found = counter.cut(text, n, unit)
        assert text.startswith(found)
        assert counter.count(found) <= n


def test_a_cut_goes_on_behind_a_count_that_falls() -> None:
    class Falling:
        """Seven words cost more than eight do: their tokens merge."""

        name = "falling"

        def count(self, text: str) -> int:
            words = len(text.split())
            return 20 if 4 < words < 8 else words

    text = "one two three four five six seven eight nine ten"
    assert get_tokenizer(Falling()).cut(text, 9, "word") == text[: text.index(" ten")]
    assert get_tokenizer(Falling()).cut(text, 7, "word") == "one two three four"


def test_an_error_of_ours_within_a_counter_of_the_users_is_one_of_it() -> None:
    class Mine:
        name = "mine"

        def count(self, text: str) -> int:
            raise OptionError("wrong option")

    with pytest.raises(TokenizerError, match=r'tokenizer "mine": count\(\) failed'):
        pf.render(["text"], tokenizer=Mine())
