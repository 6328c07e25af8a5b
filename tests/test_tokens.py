"""The names of tokenizers, counters of the user's own, and what is loaded when."""

from __future__ import annotations

import base64
import math
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_encodings import (
    BUILT_IN,
    PARTS,
    SCALE,
)

import promptforge as pf
from promptforge.errors import TokenizerError
from promptforge.text.split_points import UNITS
from promptforge.tokenizers.counters import Counter
from promptforge.tokenizers.registry import describe_tokenizer, get_tokenizer, list_tokenizers


def test_nothing_is_loaded_before_a_text_is_counted_and_nothing_comes_from_outside() -> None:
    script = f"""
import sys
opened = []
def audit(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".bin"):
        opened.append(arguments[0])
    if event.startswith("socket."):
        raise SystemExit("network: " + event)
sys.addaudithook(audit)
from promptforge.tokenizers.registry import get_tokenizer
counters = [get_tokenizer(name) for name in {BUILT_IN!r}]
assert [counter.fingerprint for counter in counters]
assert "tiktoken" not in sys.modules and not opened
assert counters[0].count("hello world") == 2
assert "tiktoken" in sys.modules and len(opened) == 1
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_name_gives_one_counter_and_names_are_told_apart() -> None:
    assert all(get_tokenizer(name) is get_tokenizer(name) for name in BUILT_IN)
    assert len({get_tokenizer(name).fingerprint for name in BUILT_IN}) == len(BUILT_IN)
    assert {get_tokenizer(name).name for name in BUILT_IN} == set(BUILT_IN)
    assert {name for name in BUILT_IN if get_tokenizer(name).exact} == {
        "o200k_base",
        "cl100k_base",
        "characters",
    }
    assert get_tokenizer(get_tokenizer("characters")) is get_tokenizer("characters")


def test_descriptions_say_what_is_a_guess() -> None:
    for name, line in list_tokenizers():
        guess = name.startswith("approximate-") or name == "NAME*FACTOR"
        assert line.startswith("estimate: " if guess else "exact: ")
        assert describe_tokenizer(name)["exact"] is not guess


@pytest.mark.parametrize("name", ["o200k_bas", "gpx", "", "file", "O200K_BASE", "\x1b[2J\nforged"])
def test_an_unknown_name_says_what_there_is(name: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        get_tokenizer(name)
    message = str(caught.value)
    assert all(known in message for known, _ in list_tokenizers())
    assert "\n" not in message and "\x1b" not in message
    assert ('did you mean "o200k_base"?' in message) == (name == "o200k_bas")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-4o-mini", "o200k_base"), ("gpt-5.4", "o200k_base"), ("gpt-4-turbo", "cl100k_base"),
        ("tiktoken", "o200k_base"), ("claude", "approximate-claude"), ("Qwen3", "approximate-qwen"),
    ],
)  # fmt: skip
def test_the_name_of_an_llm_says_whose_tokenizer_that_is(name: str, meant: str) -> None:
    with pytest.raises(TokenizerError, match=f'did you mean "{meant}"'):
        get_tokenizer(name)


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
    with pytest.raises(TokenizerError, match="is no tokenizer: it needs an attribute name"):
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


def test_a_factor_is_part_of_the_name_and_of_the_fingerprint(tmp_path: Path) -> None:
    one, other = get_tokenizer("o200k_base*1.35"), get_tokenizer("o200k_base*1.36")
    assert one is get_tokenizer("o200k_base*1.350")
    assert (one.name, get_tokenizer("o200k_base*2.0").name) == ("o200k_base*1.35", "o200k_base*2")
    assert len({one.fingerprint, other.fingerprint, get_tokenizer("o200k_base").fingerprint}) == 3
    path = tmp_path / "own"
    path.write_bytes(
        b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    )
    assert get_tokenizer(f"file:{path}*1.5").count("abc") == 5
    result = pf.render([{"content": "one two three"}], tokenizer="o200k_base*1.5", max_tokens=50)
    assert result.tokens == math.ceil(1.5 * get_tokenizer("o200k_base").count(result.text)) <= 50
    assert result.manifest["tokenizer"]["name"] == result.tokenizer == "o200k_base*1.5"
    assert not result.exact and "PF501" in {warning.code for warning in result.warnings}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("o200k_base*0", "its factor is 0; write it as o200k_base*1.35"),
        ("o200k_base*1.2*1.2", "one factor is enough"),
        ("*1.2", 'unknown tokenizer "*1.2"'),
        ("o200k_bse*1.2", 'unknown tokenizer "o200k_bse"; did you mean "o200k_base"'),
        ("o200k_base*", 'unknown tokenizer "o200k_base*": "" is no factor'),
        (
            "o200k_base*x",
            '"x" is no factor, a number up to 9999 such as the 1.35 of o200k_base*1.35',
        ),
        ("o200k_base*-1", "unknown tokenizer"),
        ("o200k_base*1e9", "unknown tokenizer"),
        ("o200k_base*99999", "unknown tokenizer"),
        ("*1" * 5000, "one factor is enough"),
    ],
)
def test_a_factor_that_is_none_is_refused(name: str, reason: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        get_tokenizer(name)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 1000
