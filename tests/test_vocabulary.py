"""The shipped token tables are OpenAI's, byte for byte, and the encodings are tiktoken's own."""

from __future__ import annotations

import hashlib
import importlib
import zlib
from pathlib import Path

import pytest
from build_vocabulary import build, format_tiktoken, pack_ranks
from hypothesis import given
from hypothesis import strategies as st

from promptforge.files import VOCABULARIES_FOLDER
from promptforge.tokenizers import vocabulary
from promptforge.tokenizers.vocabulary import (
    SHIPPED_VOCABULARIES,
    RankTable,
    load_ranks,
    parse_tiktoken,
)

NAMES = sorted(SHIPPED_VOCABULARIES)


def shipped(name: str) -> list[bytes]:
    ranks = load_ranks(name)
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
    assert {max(map(len, load_ranks(name))) for name in NAMES} == {vocabulary.MAX_TOKEN_BYTES}


def test_fingerprints_differ_with_table_and_pattern() -> None:
    one = SHIPPED_VOCABULARIES["o200k_base"]
    prints = {
        one.fingerprint,
        one._replace(pattern="x").fingerprint,
        one._replace(sha256="0").fingerprint,
    }
    assert len(prints) == 3
    assert all(len(found) == 64 for found in prints)


RANKS = st.dictionaries(st.binary(min_size=1, max_size=255), st.integers(0, 2**32 - 1))


@given(RANKS, st.binary(max_size=9))
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


def test_build_makes_the_shipped_table(tmp_path: Path) -> None:
    source = tmp_path / "any.name"
    source.write_bytes(format_tiktoken(shipped("cl100k_base")))
    target = build(source, tmp_path)
    assert target == tmp_path / "cl100k_base.bin"
    assert RankTable(target.read_bytes()).all_ranks() == load_ranks("cl100k_base")


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
