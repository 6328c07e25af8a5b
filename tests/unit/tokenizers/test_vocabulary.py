"""The shipped token tables are OpenAI's, byte for byte, and the encodings are tiktoken's own."""

from __future__ import annotations

import hashlib
import importlib
import sys
import zlib
from pathlib import Path

import pytest
from build_vocabulary import build, format_tiktoken, pack_ranks
from hypothesis import example, given
from hypothesis import strategies as st
from reference_encodings import ENCODINGS, RANKS, TIKTOKEN, random_parts

from promptforge.files import VOCABULARIES_FOLDER
from promptforge.text.words import UNITS, Unit
from promptforge.tokenizers import vocabulary
from promptforge.tokenizers.bpe import BytePairCounter
from promptforge.tokenizers.vocabulary import (
    SHIPPED_VOCABULARIES,
    LookupEncoder,
    RankTable,
    load_table,
    parse_tiktoken,
)

NAMES = sorted(SHIPPED_VOCABULARIES)


def shipped(name: str) -> list[bytes]:
    ranks = load_table(name).all_ranks()
    return sorted(ranks, key=ranks.__getitem__)


@pytest.mark.parametrize("name", NAMES)
def test_the_published_file_comes_back(name: str) -> None:
    assert (
        hashlib.sha256(format_tiktoken(shipped(name))).hexdigest()
        == SHIPPED_VOCABULARIES[name].sha256
    )


@pytest.mark.parametrize("name", NAMES)
def test_hash_and_pattern_are_those_of_tiktoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def load(url: str, expected_hash: str) -> dict[bytes, int]:
        asked.append((url.rsplit("/", 1)[1], expected_hash))
        return {}

    public = importlib.import_module("tiktoken_ext.openai_public")
    monkeypatch.setattr(public, "load_tiktoken_bpe", load)
    theirs = getattr(public, name)()
    assert theirs["pat_str"] == SHIPPED_VOCABULARIES[name].pattern
    assert asked == [(f"{name}.tiktoken", SHIPPED_VOCABULARIES[name].sha256)]


def test_longest_token() -> None:
    assert {max(map(len, load_table(name).all_ranks())) for name in NAMES} == {
        vocabulary.MAX_TOKEN_BYTES
    }


def test_fingerprints_differ_with_table_and_pattern() -> None:
    one = SHIPPED_VOCABULARIES["o200k_base"]
    prints = {
        one.fingerprint,
        one._replace(pattern="x").fingerprint,
        one._replace(sha256="0").fingerprint,
    }
    assert len(prints) == 3
    assert all(len(found) == 64 for found in prints)


RANK_TABLES = st.dictionaries(st.binary(min_size=1, max_size=255), st.integers(0, 2**32 - 1))


@given(RANK_TABLES, st.binary(max_size=9))
def test_pack_and_read(ranks: dict[bytes, int], other: bytes) -> None:
    table = RankTable(pack_ranks(ranks))
    assert table.all_ranks() == ranks
    for token in (*ranks, other):
        assert table.rank(token) == ranks.get(token)


@given(st.lists(st.binary(min_size=1), unique=True))
def test_format_and_parse(tokens: list[bytes]) -> None:
    ranks = {token: rank for rank, token in enumerate(tokens)}
    assert parse_tiktoken(format_tiktoken(tokens)) == ranks


@pytest.mark.parametrize("cut", [0, 3, 10, 1030, -1])
def test_a_damaged_table_is_an_error(cut: int) -> None:
    with pytest.raises(ValueError, match="not a table of tokens, or damaged"):
        RankTable(pack_ranks({b"one": 0, b"two": 2, b"three": 1})[:cut])


def test_a_table_with_bytes_to_spare_is_an_error() -> None:
    body = pack_ranks({b"a": 0, b"b": 1})[4:] + b"cd"
    with pytest.raises(ValueError, match="2 tokens do not fill a table of 1036 bytes"):
        RankTable(zlib.crc32(body).to_bytes(4, "little") + body)


@pytest.mark.parametrize("line", [b"YQ==", b"YQ== x", b"!!!! 1", b"YQ== 1 2"])
def test_a_line_that_is_no_token_is_named(line: bytes) -> None:
    with pytest.raises(ValueError, match="line 3 is not a token"):
        parse_tiktoken(b"YQ== 0\n\n" + line)


@pytest.mark.slow
def test_build_makes_the_shipped_table(tmp_path: Path) -> None:
    source = tmp_path / "any.name"
    source.write_bytes(format_tiktoken(shipped("cl100k_base")))
    target = build(source, tmp_path)
    assert target == tmp_path / "cl100k_base.bin"
    assert RankTable(target.read_bytes()).all_ranks() == load_table("cl100k_base").all_ranks()


def test_build_refuses_a_file_that_is_not_published(tmp_path: Path) -> None:
    source = tmp_path / "o200k_base.tiktoken"
    source.write_bytes(b"YQ== 0\n")
    with pytest.raises(SystemExit, match="none of the published tables"):
        build(source, tmp_path)
    assert list(tmp_path.iterdir()) == [source]


def test_the_notice_lies_beside_the_tables() -> None:
    notice = (VOCABULARIES_FOLDER / "LICENSE-tiktoken.txt").read_text()
    assert "Copyright (c) 2022 OpenAI" in notice
    assert "this permission notice shall be included" in notice


# --- small texts, looked up on the disk -----------------------------------------------------------

TABLES = {name: load_table(name) for name in ENCODINGS}


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


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("name", ENCODINGS)
def test_each_certain_character_beside_all_others(
    name: str, encoders: dict[str, LookupEncoder]
) -> None:
    certain = list(filter(vocabulary._is_certain, map(chr, range(128, sys.maxunicode + 1))))
    for char in certain[::29]:  # blocks of one class are longer; all were compared once
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


ALPHABET = [*map(chr, range(128)), *"éÀßžªЖя中あ한กعא้ाı’—→½²①₂₹😀🥑\xa0\u3000\u0301\u200d\ufe0f"]


@pytest.mark.parametrize("name", ENCODINGS)
@given(text=st.text(st.sampled_from(ALPHABET), max_size=60))
@example(text="don'T we'LLx 'ſ")
@example(text="\x1c \x0b\x85")
@example(text="   \n")
def test_any_text(name: str, text: str) -> None:
    tokens = encoder(name).encode(text)
    assert tokens is None or tokens == TIKTOKEN[name].encode_ordinary(text)


def test_texts_left_to_tiktoken() -> None:
    assert encoder("o200k_base").encode("'ſ") is None  # a letter that two patterns read otherwise
    assert encoder("o200k_base").encode("\U0001df00") is None  # one that is new
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


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_a_counter_that_looks_up_counts_and_cuts_alike(unit: Unit) -> None:
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
    assert counter.count(f"{text}ſ") == full.count(f"{text}ſ")
    assert loads
    assert counter.cut(text, 150, unit) == full.cut(text, 150, unit)
