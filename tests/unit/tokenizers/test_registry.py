"""The names of tokenizers, counters of the user's own, and what is loaded when."""

from __future__ import annotations

import base64
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from reference_encodings import (
    BUILT_IN,
)

import promptforge as pf
from promptforge.errors import TokenizerError
from promptforge.tokenizers.registry import describe_tokenizer, get_tokenizer, list_tokenizers


@pytest.mark.slow
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
assert "tiktoken" not in sys.modules and len(opened) == 1
assert counters[0].count("hello world, " * 100_000) > 100_000
assert "tiktoken" in sys.modules and len(set(opened)) == 1
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
    assert ('did you mean "o200k_base"?' in message) == name.lower().startswith("o200k_bas")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-4o-mini", "o200k_base"), ("gpt-5.4", "o200k_base"), ("gpt-4-turbo", "cl100k_base"),
        ("cl1000k", "cl100k_base"), ("o20k", "o200k_base"),
        ("tiktoken", "o200k_base"), ("claude", "approximate-claude"), ("Qwen3", "approximate-qwen"),
    ],
)  # fmt: skip
def test_the_name_of_an_llm_says_whose_tokenizer_that_is(name: str, meant: str) -> None:
    with pytest.raises(TokenizerError, match=f'did you mean "{meant}"'):
        get_tokenizer(name)


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
        ("o200k_base*", 'unknown tokenizer "o200k_base*": "" is not a factor'),
        (
            "o200k_base*x",
            '"x" is not a factor up to 9999, as the 1.35 of o200k_base*1.35',
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


def test_the_guides_factor_covers_each_count_it_was_found_by() -> None:
    guide = Path(pf.__file__).with_name("cli").joinpath("README.md").read_text("utf-8")
    code = guide.partition("```python\nimport math\n")[2].partition("```")[0]
    assert "def find_factor" in code
    names: dict[str, Any] = {"math": math}
    exec(code, names)
    true = pf.get_tokenizer("cl100k_base")
    texts = [f"Text {n}: " + f"words that say {n} and no more. " * (n % 23) for n in range(60)]
    found = names["find_factor"]([(text, true.count(text) + 7) for text in texts], around=7)
    assert all(true.count(text) <= pf.get_tokenizer(found).count(text) for text in texts)
    result = pf.render([{"content": text} for text in texts], tokenizer=found, max_tokens=500)
    assert true.count(result.text) <= result.tokens <= 500


class _Looked:
    """A counter whose name raises what it was made with."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    @property
    def name(self) -> str:
        raise self.error

    def count(self, text: str) -> int:
        return len(text)


def test_a_name_that_raises_makes_no_tokenizer_but_ctrl_c_goes_through() -> None:
    with pytest.raises(TokenizerError, match="is not a tokenizer"):
        get_tokenizer(_Looked(RuntimeError("no name today")))  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        get_tokenizer(_Looked(KeyboardInterrupt()))  # type: ignore[arg-type]
