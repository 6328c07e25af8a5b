"""Exact on every text, in parts as a whole, bounds that hold, cuts that fit."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from example_counts import cases
from hypothesis import example, given
from hypothesis import strategies as st
from reference_encodings import (
    COUNTERS,
    ENCODINGS,
    HOSTILE,
    PARTS,
    PIECES,
    RANKS,
    SCALE,
    TIKTOKEN,
    count_by_tiktoken,
    counter_by,
    new_counter,
    random_parts,
)

from promptforge.text.words import UNITS, Unit, unit_ends
from promptforge.tokenizers import bpe, counters
from promptforge.tokenizers.bpe import BytePairCounter
from promptforge.tokenizers.registry import get_tokenizer
from promptforge.tokenizers.vocabulary import MAX_TOKEN_BYTES, SHIPPED_VOCABULARIES


@pytest.mark.parametrize("name", ENCODINGS)
@SCALE
@given(parts=PARTS)
@example(parts=["!\n", "/x"])
@example(parts=["a\n\n", "\n", " b c\n", "\t", "\x1c d"])
def test_parts_count_as_the_whole(name: str, parts: Sequence[str]) -> None:
    counter = get_tokenizer(name)
    tokens = count_by_tiktoken(name, "".join(parts))
    assert counter.count("".join(parts)) == tokens
    assert counter.count_parts(parts) == tokens
    assert counter.count_parts(parts) == tokens  # and from memory


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODINGS)
def test_thousands_of_texts(name: str) -> None:
    counter = get_tokenizer(name)
    for parts in random_parts(1):
        text = "".join(parts)
        tokens = count_by_tiktoken(name, text)
        assert counter.count_parts(parts) == tokens, parts
        for limit in (tokens // 3, tokens):
            assert counter.at_least(text, limit) <= min(tokens, limit + 1), (parts, limit)
            assert counter.count_upto(text, limit) == min(tokens, limit + 1), (parts, limit)


def let_blanks_apart(patch: pytest.MonkeyPatch, number: int) -> None:
    """Encode so many blanks in a row apart."""
    pattern = bpe._LONG_BLANKS.pattern.replace(str(bpe.MIN_BLANKS_APART), str(number))
    patch.setattr(bpe, "_LONG_BLANKS", re.compile(pattern))
    patch.setattr(bpe, "MIN_BLANKS_APART", number)


@pytest.mark.parametrize("name", ENCODINGS)
@SCALE
@given(parts=PARTS)
def test_long_texts_are_counted_in_stretches(name: str, parts: Sequence[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bpe, "MAX_CHARS_ENCODED", 10)
        let_blanks_apart(patch, 3)
        patch.setattr(bpe, "MIN_CHARS_SPLIT", 2)
        assert new_counter(name).count_parts(parts) == count_by_tiktoken(name, "".join(parts))


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("name", COUNTERS)
@SCALE
@given(parts=PARTS, limit=st.integers(-1, 60))
@example(parts=["it's 'a', 'b' ", "don't''s '"], limit=1)
def test_bounds(name: str, parts: Sequence[str], limit: int) -> None:
    counter, text = get_tokenizer(name), "".join(parts)
    tokens = counter.count(text)
    assert counter.count_parts(parts) == tokens
    assert counter.count_upto(text, limit) == min(tokens, max(limit, 0) + 1)
    assert 0 <= counter.at_least(text, limit) <= min(tokens, max(limit, 0) + 1)
    assert counter.words_at_least(text, max(limit, 0)) <= tokens


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTERS)
@cases(80)
@given(
    text=PIECES.flatmap(lambda text: st.integers(1, 4).map(lambda times: text * times)),
    n=st.integers(-1, 60),
)
def test_cuts_fit(name: str, text: str, n: int) -> None:
    counter = get_tokenizer(name)
    for unit in UNITS:
        found = counter.cut(text, n, unit)
        assert text.startswith(found)
        assert counter.count(found) <= max(n, 0)
        assert n <= 0 or (found == text) == (counter.count(text) <= n)
        if unit != "sentence":
            assert found in ("", text) or len(found) in unit_ends(text, unit, 0, len(text))


@pytest.mark.parametrize("name", ENCODINGS)
@SCALE
@given(
    text=st.lists(st.one_of(st.sampled_from(HOSTILE), st.just("\n")), max_size=60).map("".join),
    n=st.integers(0, 40),
)
@example(text="!\n/\n/\n/\nx\n", n=2)
@example(text="\n" * 17 + "x", n=1)
def test_no_longer_cut_at_a_line_fits(name: str, text: str, n: int) -> None:
    counter = get_tokenizer(name)
    places = [0, *unit_ends(text, "line", 0, len(text)), len(text)]
    longest = max(place for place in places if count_by_tiktoken(name, text[:place]) <= n)
    assert len(counter.cut(text, n, "line")) == longest


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(
    ("unit", "n", "expected"),
    [
        ("line", 9, "One two.\n"),
        ("sentence", 9, "One two.\nThree four five."),
        ("word", 5, "One two.\nThree four"),
        ("character", 5, "One two.\nThree four"),
        ("line", 2, ""),
        ("word", 1, "One"),
        ("line", 0, ""),
    ],
)
def test_cuts_end_where_a_unit_ends(name: str, unit: Unit, n: int, expected: str) -> None:
    assert (
        get_tokenizer(name).cut("One two.\nThree four five. Six seven eight nine ten\n", n, unit)
        == expected
    )


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_cut_reads_only_the_beginning(name: str) -> None:
    counted: list[int] = []

    class Watched(BytePairCounter):
        def encode(self, text: str) -> list[int] | None:
            counted.append(len(text))
            return super().encode(text)

    counter = new_counter(name, Watched)
    text = "The quick brown fox, and so on.\n" * 100_000
    for unit in UNITS:
        assert counter.count(counter.cut(text, 500, unit)) in range(480, 501)
        assert counter.count_upto(text, 500) == 501
    assert sum(counted) < 60_000


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_cut_in_one_long_run_looks_at_it_a_few_times(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_blanks_apart(monkeypatch, 1000)
    encoded: list[int] = []

    class Watched(BytePairCounter):
        def encode(self, text: str) -> list[int] | None:
            encoded.append(len(text))
            return super().encode(text)

    for text in (" " * 60_000 + "x", "\t" * 60_000, "=" * 60_000 + "\n", "\u3000" * 9_000 + " y"):
        counter = new_counter(name, Watched)
        cuts = [counter.cut(text, 400, unit) for unit in UNITS]
        assert sum(encoded) < 4 * len(text)
        encoded.clear()
        assert all(text.startswith(cut) and count_by_tiktoken(name, cut) <= 400 for cut in cuts)
        assert count_by_tiktoken(name, cuts[-1]) == 400


@pytest.mark.parametrize(
    ("text", "cl100k", "o200k"),
    [
        # From OpenAI's cookbook, "How to count tokens with tiktoken".
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 9, 8),
        ("tiktoken is great!", 6, 6),
        ("", 0, 0),
    ],
)
def test_known_counts(text: str, cl100k: int, o200k: int) -> None:
    assert get_tokenizer("cl100k_base").count(text) == cl100k
    assert get_tokenizer("o200k_base").count(text) == o200k


@pytest.mark.parametrize("name", ENCODINGS)
def test_spelled_control_tokens_are_ordinary_text(name: str) -> None:
    assert get_tokenizer(name).count("<|endoftext|>") == 7


@pytest.mark.nightly
@pytest.mark.unwatched
@pytest.mark.parametrize(
    ("name", "before", "blank", "after"),
    [
        ("o200k_base", "a", " ", "b"),
        ("cl100k_base", "!\n", "\t", ""),
        ("o200k_base", "", "\xa0", "\n"),
    ],
)
def test_more_blanks_than_tiktoken_takes(name: str, before: str, blank: str, after: str) -> None:
    encoding, many = TIKTOKEN[name], blank * 1_100_000
    if after == "\n":
        expected = len(encoding.encode_ordinary(before + many + after))
    else:
        kept = many[1:] if after else many
        expected = len(encoding._encode_single_piece(kept)) + len(encoding.encode_ordinary(before))
        expected += len(encoding.encode_ordinary(blank + after)) if after else 0
    assert new_counter(name).count(before + many + after) == expected


@pytest.mark.nightly
@pytest.mark.unwatched
@pytest.mark.parametrize("name", COUNTERS)
def test_texts_of_one_thing(name: str) -> None:
    counter = get_tokenizer(name)
    for thing in ("a", "\n", "=", "漢", "\ud800", "\n/", "1"):
        text = thing * 200_000
        assert counter.count_parts([text[:77], text[77:]]) == counter.count(text)
        assert (
            counter.at_least(text, 500)
            <= counter.count_upto(text, 500)
            == min(counter.count(text), 501)
        )
        for unit in UNITS:
            assert counter.count(counter.cut(text, 300, unit)) <= 300


def watched_counter() -> tuple[BytePairCounter, list[int]]:
    """Return a new counter, and the lengths of the texts that it has encoded."""
    counted: list[int] = []

    class Watched(BytePairCounter):
        def encode(self, text: str) -> list[int] | None:
            counted.append(len(text))
            return super().encode(text)

    return new_counter("o200k_base", Watched), counted


def test_a_huge_text_is_given_to_the_tokenizer_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpe, "MAX_CHARS_ENCODED", 500)
    monkeypatch.setattr(bpe, "MAX_CHARS_CACHED", 4000)
    monkeypatch.setattr(counters, "MIN_CHARS_HASHED", 1000)
    (counter, counted), word = watched_counter(), "a" * 20_000
    for text in (word, word, f"# x\n{word}\n", f"# another\n\n{word}\n```\n", f"{word} and more"):
        tokens = count_by_tiktoken("o200k_base", text)
        assert counter.count(text) == tokens
        assert counter.count_parts(["x\n", text]) == tokens + 2
    assert sum(counted) < 21_000


@pytest.mark.parametrize("name", ENCODINGS)
@SCALE
@given(parts=PARTS, end=st.sampled_from(["\n", " a", "/"]))
@example(parts=["a b ", "!"], end="\n")
def test_a_text_with_an_end_counts_as_the_whole(name: str, parts: Sequence[str], end: str) -> None:
    counter, text = get_tokenizer(name), "".join(parts)
    tokens = count_by_tiktoken(name, text + end)
    assert counter.count_ended(text, counter.count(text), end) == tokens


def test_of_a_text_with_an_end_the_last_words_are_counted_anew() -> None:
    (counter, counted), text = watched_counter(), "some words here\n" * 100 + "done"
    tokens = counter.count(text)
    counted.clear()
    assert counter.count_ended(text, tokens, "\n") == count_by_tiktoken("o200k_base", f"{text}\n")
    assert sum(counted) < 100


def test_files_are_counted_once_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpe, "MAX_CHARS_CACHED", 20_000)
    monkeypatch.setattr(counters, "MIN_CHARS_HASHED", 1000)
    counter, counted = watched_counter()
    files = [f"# {i}\n" + "some words here\n" * 100 for i in range(50)]
    for parts in (*([each] for each in files), files, ["Context\n", *files]):
        assert counter.count_parts(parts) == count_by_tiktoken("o200k_base", "".join(parts))
    assert sum(map(len, files)) > 4 * 20_000  # four times what it holds by itself
    assert sum(counted) < 1.2 * sum(map(len, files))


def test_memory_counts_the_ends_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpe, "MAX_CHARS_CACHED", 100_000)
    counter = new_counter("cl100k_base", BytePairCounter)
    for number in range(40):  # long words at both ends, which are kept as they are
        counter.count_parts([f"{'a' * 9000} {number} {'b' * 9000}"])
    kept = [*counter._parts._new.values(), *counter._parts._old.values()]
    assert kept and sum(len(part.head or "") + len(part.tail) for part in kept) <= 100_000


def test_a_panic_of_the_library_is_no_end_of_the_program() -> None:
    class PanicException(BaseException):
        pass

    class Broken:
        def encode_ordinary(self, text: str) -> list[int]:
            raise PanicException

        def decode_bytes(self, tokens: Sequence[int]) -> bytes:
            raise NotImplementedError

    counter = counter_by(Broken())
    assert counter.count("né") == 3
    assert counter.cut("one two", 3, "word") == "one"


def test_an_interrupt_passes() -> None:
    class Slow:
        def encode_ordinary(self, text: str) -> list[int]:
            raise KeyboardInterrupt

        def decode_bytes(self, tokens: Sequence[int]) -> bytes:
            raise NotImplementedError

    with pytest.raises(KeyboardInterrupt):
        counter_by(Slow()).count("a")


def test_threads_share_a_counter() -> None:
    made: list[str] = []
    start = threading.Barrier(8)

    def load() -> tuple[str, Mapping[bytes, int]]:
        made.append("cl100k_base")
        return SHIPPED_VOCABULARIES["cl100k_base"].pattern, RANKS["cl100k_base"]

    counter = BytePairCounter("x", load, longest=MAX_TOKEN_BYTES, fingerprint="")
    texts = [f"line {i} of\n  some text / with\n/ things\n" * 5 for i in range(50)]

    def work(_: int) -> int:
        start.wait()
        return sum(counter.count_parts([text, text]) for text in texts)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(8))) == {
            sum(count_by_tiktoken("cl100k_base", text * 2) for text in texts)
        }
    assert len(made) == 1
