"""Small texts are encoded by lookups exactly as tiktoken encodes them."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference_encodings import ENCODINGS, RANKS, TIKTOKEN, random_parts

from promptforge.text.split_points import UNITS, Unit
from promptforge.tokenizers import vocabulary
from promptforge.tokenizers.bpe import BytePairCounter
from promptforge.tokenizers.vocabulary import SHIPPED_VOCABULARIES, LookupEncoder, load_table

TABLES = {name: load_table(name) for name in ENCODINGS}
COMMON = [
    chr(code) for code in range(128, sys.maxunicode + 1) if not vocabulary._RARE.match(chr(code))
]


def encoder(name: str) -> LookupEncoder:
    return LookupEncoder(SHIPPED_VOCABULARIES[name].pattern, lambda: TABLES[name])


@pytest.fixture(scope="module")
def encoders() -> dict[str, LookupEncoder]:
    """Encoders that never give up for the work they have done."""
    found = {name: encoder(name) for name in ENCODINGS}
    for each in found.values():
        each._chars_left = sys.maxsize
    return found


@pytest.fixture(autouse=True)
def _unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "MAX_RANKS_SEARCHED", sys.maxsize)


@pytest.mark.parametrize("name", ENCODINGS)
def test_each_common_character_beside_all_others(
    name: str, encoders: dict[str, LookupEncoder]
) -> None:
    living = [c for c in COMMON if c < "\u4e00" or c > "\ud7a3"]
    for char in [*living, *COMMON[:: len(COMMON) // 200]]:
        text = f"a{char}b A{char}B{char}c 1{char}2 {char} !{char}?\n{char}'s '{char}\r{char}/{char * 3}"
        assert encoders[name].encode(text) == TIKTOKEN[name].encode_ordinary(text), char


@pytest.mark.parametrize("name", ENCODINGS)
def test_thousands_of_texts(name: str, encoders: dict[str, LookupEncoder]) -> None:
    taken = 0
    for parts in random_parts(2):
        text = "".join(parts)
        tokens = encoders[name].encode(text)
        if tokens is not None:
            taken += 1
            assert tokens == TIKTOKEN[name].encode_ordinary(text), text
            assert encoders[name].decode(tokens) == text.encode()
    assert taken > 100


ALPHABET = [*map(chr, range(128)), *"éÀßžªЖя中あ한’—→½²①₂😀\xa0\u3000\u0301"]


@pytest.mark.parametrize("name", ENCODINGS)
@given(text=st.text(st.sampled_from(ALPHABET), max_size=60))
@example(text="don'T we'LLx 'ſ")
@example(text="\x1c \x0b\x85")
@example(text="   \n")
def test_any_text(name: str, text: str) -> None:
    tokens = encoder(name).encode(text)
    assert tokens is None or tokens == TIKTOKEN[name].encode_ordinary(text)


def test_texts_left_to_tiktoken() -> None:
    assert encoder("o200k_base").encode("\u0e01 ſ") is None  # letters of a class not vouched for
    assert encoder("o200k_base").encode("qx" * 40) is None  # a long piece that is no token
    assert encoder("o200k_base").encode(" " * 64) is not None  # a long one that is


def test_it_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    of_length = encoder("o200k_base")
    assert of_length.encode("word " * (vocabulary.MAX_CHARS_LOOKED_UP // 5)) is not None
    assert of_length.encode("word") is None
    monkeypatch.setattr(vocabulary, "MAX_RANKS_SEARCHED", 10)
    of_work = encoder("o200k_base")
    assert of_work.encode("zqxj vkwq") is not None
    assert of_work.encode("word") is None


def test_ranks_of_a_table() -> None:
    for name, ranks in RANKS.items():
        assert TABLES[name].rank(b"nothing has such a name") is TABLES[name].rank(b"") is None
        for token in list(ranks)[::997]:
            assert TABLES[name].rank(token) == ranks[token]


@pytest.mark.parametrize("unit", UNITS)
def test_a_counter_that_looks_up_counts_and_cuts_alike(
    unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BytePairCounter, "looks_up", True)

    loads: list[str] = []

    def load() -> tuple[str, dict[bytes, int]]:
        loads.append("table")
        return SHIPPED_VOCABULARIES["o200k_base"].pattern, RANKS["o200k_base"]

    full = BytePairCounter("full", load, longest=128, fingerprint="")
    full.prepare()
    loads.clear()
    counter = BytePairCounter("small", load, longest=128, fingerprint="")
    counter.lookup = encoder("o200k_base")
    text = "One line, Größe: 12345 → ok.\n" * 20 + "    def greet(name):\n        return name\n" * 9
    for n in (1, 7, 40, 150, 400):
        assert counter.cut(text, n, unit) == full.cut(text, n, unit)
        assert counter.count(text[:n]) == full.count(text[:n])
    assert not loads
    assert counter.count(f"{text}\u0e01") == full.count(f"{text}\u0e01")
    assert loads
    assert counter.cut(text, 150, unit) == full.cut(text, 150, unit)
