"""Tokenizers from files: each kind counts as its own library; an unusable one tells the reason."""

from __future__ import annotations

import base64
import itertools
import json
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tiktoken
from build_vocabulary import format_tiktoken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import ROOT
from reference_encodings import random_parts

from promptforge.errors import TokenizerError, call_foreign, pip_install
from promptforge.text.words import UNITS
from promptforge.tokenizers.registry import get_tokenizer
from promptforge.tokenizers.tokenizer_files import SPACE_MARK, gguf_tokenizer, read_gguf
from promptforge.tokenizers.vocabulary import (
    ADDITIVE_PATTERNS,
    GPT2_PATTERN,
    LLAMA_PATTERN,
    PATTERNS_OF_STEPS,
    QWEN_3_5_PATTERN,
    QWEN_PATTERN,
    TEKKEN_PATTERN,
    load_table,
    speed_up_pattern,
)

BYTES = [bytes([byte]) for byte in range(256)]
ODD = ["\x01a", "ー", "・", " １２", "$and", "\u0301"]
TEXTS = st.lists(
    st.sampled_from(
        [
            "the ",
            "then",
            " and",
            "\n",
            "\n\n",
            "  ",
            "é",
            "e\u0301",
            "漢",
            "12345",
            "!/",
            "'s",
            "\x1c",
            "<s>",
            *ODD,
        ]
    )
).map("".join)
SCALE = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LESSON = [
    "The quick brown fox jumps over the lazy dog, and then the others do the same thing again.\n\n",
    "def count(text):\n    return len(tokens(text))\n\n# and so on, and on\n" * 3,
    "Straße, café, naïve; 漢字とかな 12345 678 it's they'll\n" * 2,
]


def train(path: Path, split: str | Sequence[str] | None, normal_form: str | None = None) -> Any:
    """Train a small tokenizer.json, and return it as its own library reads it."""
    library = pytest.importorskip("tokenizers")
    tokenizer = library.Tokenizer(library.models.BPE())
    steps = library.pre_tokenizers
    if split is None:
        tokenizer.pre_tokenizer = steps.ByteLevel(add_prefix_space=False)
    else:
        tokenizer.pre_tokenizer = steps.Sequence(
            [
                *(
                    steps.Split(library.Regex(s), "isolated")
                    for s in ([split] if isinstance(split, str) else split)
                ),
                steps.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    if normal_form:
        tokenizer.normalizer = getattr(library.normalizers, normal_form)()
    trainer = library.trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<s>"],
        initial_alphabet=steps.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(LESSON, trainer)
    tokenizer.save(str(path))
    read = library.Tokenizer.from_file(str(path))
    read.encode_special_tokens = True
    return read


def write(path: Path, content: bytes | dict[str, Any]) -> str:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return f"file:{path}"


@pytest.mark.slow
def test_a_published_table_is_known_by_its_content(tmp_path: Path) -> None:
    ranks = load_table("cl100k_base").all_ranks()
    name = write(tmp_path / "any", format_tiktoken(sorted(ranks, key=ranks.__getitem__)))
    text = "Hello, 12345 wörld's\n\n/x\n"
    assert get_tokenizer(name).exact
    assert get_tokenizer(name).count(text) == get_tokenizer("cl100k_base").count(text)


def test_any_other_table_is_a_guess_for_it_names_no_pattern(tmp_path: Path) -> None:
    counter = get_tokenizer(
        write(tmp_path / "small.tiktoken", format_tiktoken([*BYTES, b"th", b"the", b" the"]))
    )
    assert not counter.exact
    assert counter.count("the the thx") == 5
    assert counter.count_parts(["the the", " thx"]) == 5


def tekken(pattern: str) -> dict[str, Any]:
    tokens = [*BYTES, b"th", b"the", b" the", b"\x00unused"]
    vocabulary = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    config = {
        "pattern": pattern,
        "default_vocab_size": 1000 + 259,
        "default_num_special_tokens": 1000,
    }
    return {"config": config, "vocab": vocabulary}


def test_a_pattern_that_does_not_compile_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="arenthesis"):
        get_tokenizer(write(tmp_path / "tekken.json", tekken("(")))


def test_tekken(tmp_path: Path) -> None:
    counter = get_tokenizer(write(tmp_path / "tekken.json", tekken(LLAMA_PATTERN)))
    assert counter.exact
    assert counter.count("the the thx") == 5
    assert counter.count("\x00unused") == 7


@pytest.mark.nightly
@pytest.mark.unwatched
@pytest.mark.parametrize(
    ("split", "normal_form"),
    [
        (None, None),
        (LLAMA_PATTERN, None),
        (QWEN_PATTERN, "NFC"),
        (GPT2_PATTERN, None),
        (r"\w+|\W+", None),
        (r"\p{L}+", None),
        (LLAMA_PATTERN, "NFKC"),
        (QWEN_3_5_PATTERN, "NFC"),
        (TEKKEN_PATTERN, None),
        *((steps, None) for steps in PATTERNS_OF_STEPS),
    ],
)
def test_a_converted_file_counts_as_its_library_does(
    tmp_path: Path, split: str | Sequence[str] | None, normal_form: str | None
) -> None:
    theirs = train(tmp_path / "tokenizer.json", split, normal_form)
    counter = get_tokenizer(f"file:{tmp_path / 'tokenizer.json'}")
    assert type(counter).__name__ == "BytePairCounter"

    @SCALE
    @given(st.lists(TEXTS, max_size=5), st.integers(0, 20))
    def check(parts: list[str], n: int) -> None:
        text = "".join(parts)
        tokens = len(theirs.encode(text, add_special_tokens=False).ids)
        assert counter.count(text) == counter.count_parts(parts) == tokens
        assert counter.count_upto(text, n) == min(tokens, n + 1)
        assert counter.at_least(text, n) <= min(tokens, n + 1)
        for unit in UNITS:
            found = counter.cut(text, n, unit)
            assert text.startswith(found)
            assert counter.count(found) <= n

    check()


def change(path: Path, **changes: Any) -> None:
    data = json.loads(path.read_text())
    for key, value in changes.items():
        place = data["model"] if key in data["model"] else data
        place[key] = value
    path.write_text(json.dumps(data))


UNCONVERTIBLE = [
    ({"normalizer": {"type": "Lowercase"}}, "it normalizes by Lowercase"),
    ({"pre_tokenizer": {"type": "Whitespace"}}, "its text is not split into bytes"),
    ({"pre_tokenizer": None}, "its text is not split into bytes"),
    ({"unk_token": "<s>"}, "its byte pair encoding is not one of bytes alone"),
]


@pytest.mark.parametrize(("changes", "reason"), UNCONVERTIBLE)
def test_another_file_is_counted_by_the_library(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    library = pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    train(path, None)
    change(
        path,
        truncation={"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
        **changes,
    )
    counter = get_tokenizer(f"file:{path}")
    theirs = library.Tokenizer.from_file(str(path))
    theirs.no_truncation()
    text = "the quick brown <b> Fox " * 3
    assert counter.exact
    assert counter.count(text) == len(theirs.encode(text).ids) > 2
    assert counter.count_parts([text, "\ud800"]) >= counter.count(text)
    assert counter.count(counter.cut(text, 4, "word")) <= 4


@pytest.mark.parametrize(("changes", "reason"), UNCONVERTIBLE)
def test_without_the_library_the_way_out_is_named(
    tmp_path: Path, changes: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokenizer.json"
    train(path, None)
    change(path, **changes)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(TokenizerError) as caught:
        get_tokenizer(f"file:{path}")
    assert reason in str(caught.value)
    assert str(caught.value).endswith(
        f"so it needs the tokenizers library: {pip_install('tokenizers')}"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it has no token for byte 0x00"),
        (format_tiktoken(BYTES[:97] + BYTES[98:]), "it has no token for byte 0x61"),
        (b"not a table\n", "line 1 is not a token in base64 and its rank"),
        (b"\xff\xfe\x00", "line 1 is not a token"),
        (b"{", "Expecting property name"),
        (b"{}", 'it has neither "model" nor "config"'),
        (b'{"config": {}}', "default_vocab_size"),
        (b'{"model": []}', "no attribute"),
    ],
)
def test_a_file_that_is_none_of_them_is_an_error(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    with pytest.raises(TokenizerError) as caught:
        get_tokenizer(write(tmp_path / "bad", content))
    assert "no .tiktoken, tokenizer.json or tekken.json file" in str(caught.value)
    assert reason.lower() in str(caught.value).lower()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["missing.json", ".", "a\0b", ""])
def test_a_file_that_cannot_be_read_is_an_error(path: str) -> None:
    with pytest.raises(TokenizerError, match="cannot read the file"):
        get_tokenizer(f"file:{path}")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    name = write(tmp_path / "t", format_tiktoken(BYTES))
    first = get_tokenizer(name)
    assert get_tokenizer(name) is first
    write(tmp_path / "t", format_tiktoken([*BYTES, b"ab"]))
    assert (first.count("ab"), get_tokenizer(name).count("ab")) == (2, 1)
    assert first.fingerprint != get_tokenizer(name).fingerprint


PAIRS = {token: rank for rank, token in enumerate([*BYTES, *(a + b for a in BYTES for b in BYTES)])}
"""Any two bytes of a piece may be one token, so where pieces begin shows in the tokens."""


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("pattern", sorted({*ADDITIVE_PATTERNS, GPT2_PATTERN}))
def test_an_eased_pattern_gives_the_same_pieces(pattern: str) -> None:
    published, eased = (
        tiktoken.Encoding("pairs", pat_str=each, mergeable_ranks=PAIRS, special_tokens={})
        for each in (pattern, speed_up_pattern(pattern))
    )
    assert speed_up_pattern(pattern) != pattern
    random = Random(pattern)
    texts = ["".join(parts) for parts in itertools.islice(random_parts(3), 1000)]
    for _ in range(200):
        some = [chr(c) for c in random.choices(range(0x110000), k=40) if not 0xD800 <= c <= 0xDFFF]
        texts.append("".join(a + b for a in some for b in ("", " ", "a", "\n", " \t", "'s", "1")))
    for text in texts:
        text = text.encode(errors="replace").decode()
        assert eased.encode_ordinary(text) == published.encode_ordinary(text), repr(text)


def test_an_unknown_pattern_is_left_as_it_is() -> None:
    assert speed_up_pattern(r"\w+|\s+(?!\S)|\s") == r"\w+|\s+(?!\S)|\s"


def test_the_head_of_a_gguf_file() -> None:
    pytest.importorskip("tokenizers")

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    # Letters, two pairs of them in the order of their scores, and a run of spaces.
    bytes_of = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = [
        "<unk>",
        SPACE_MARK,
        "a",
        "b",
        "c",
        "ab",
        "bc",
        SPACE_MARK + "a",
        "  ",
        "<b>",
        *bytes_of,
    ]
    scores = [0.0] * 5 + [-2.0, -1.0, -3.0] + [-1000.0] * 2 + [0.0] * 256
    kinds = [2] + [1] * 7 + [4] * 2 + [6] * 256
    pairs = [
        ("general.architecture", 8, text("small")),
        ("general.ready", 7, b"\1"),
        ("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 266) + b"".join(map(text, tokens))),
        ("tokenizer.ggml.scores", 9, struct.pack("<IQ266f", 6, 266, *scores)),
        ("tokenizer.ggml.token_type", 9, struct.pack("<IQ266i", 5, 266, *kinds)),
    ]
    content = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(pairs))
    content += b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in pairs)
    found = read_gguf(content)
    assert (found["general.architecture"], found["general.ready"]) == ("small", True)
    tokenizer = gguf_tokenizer(content)
    for written, expected in {
        "abc": ["a", "bc"],
        "ab": ["ab"],
        "a  b": ["a", SPACE_MARK * 2, "b"],
        "b a": ["b", SPACE_MARK + "a"],
        "<b>a": ["<b>", "a"],
        "é": ["<0xC3>", "<0xA9>"],
    }.items():
        assert tokenizer.encode(written).tokens == expected, written


def hostile_split(path: Path) -> str:
    """Write a tokenizer whose library panics on a long word that its pattern nearly matches."""
    library = pytest.importorskip("tokenizers")
    tokenizer = library.Tokenizer(library.models.WordLevel({"[UNK]": 0, "a": 1}, "[UNK]"))
    steps = library.pre_tokenizers
    tokenizer.pre_tokenizer = steps.Split(library.Regex("(a+)+$"), "isolated")
    tokenizer.save(str(path))
    return f"file:{path}"


def test_a_panic_of_the_library_is_an_error_of_the_tokenizer(tmp_path: Path) -> None:
    counter = get_tokenizer(hostile_split(tmp_path / "redos.json"))
    with pytest.raises(TokenizerError, match="failed on a text of 43 characters: PanicException"):
        counter.count("a" * 40 + "b c")
    assert counter.count("a b") == 1


def test_the_command_says_a_panic_in_few_lines(tmp_path: Path) -> None:
    name = hostile_split(tmp_path / "redos.json")
    (tmp_path / "items.json").write_text(json.dumps([{"content": "a" * 40 + "b c"}]))
    command = [sys.executable, "-m", "promptforge", "render", "items.json", "--tokenizer", name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RUST_BACKTRACE": "full"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 2
    assert "failed on a text of" in ran.stderr.splitlines()[-1]
    assert len(ran.stderr.splitlines()) < 6


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_the_end_that_a_user_asks_for_passes_the_border(stop: type[BaseException]) -> None:
    def interrupted() -> None:
        raise stop

    with pytest.raises(stop):
        call_foreign(interrupted, TokenizerError)
