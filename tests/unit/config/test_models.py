"""Models by their ids, and the prices of their input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptforge.config.models import first_match, price_of
from promptforge.config.profiles import load_profile
from promptforge.errors import ProfileError
from promptforge.files import shipped_folder

NAMES = sorted(path.stem for path in shipped_folder("profiles").glob("*.yaml"))


def priced(
    folder: Path, prices: str, *, name: str = "mine", tokens: int = 1_000_000
) -> dict[str, Any]:
    (folder / "mine.yaml").write_text(f"match: [house-*]\nprices: {prices}\n", encoding="utf-8")
    found = price_of(load_profile(name, [folder]), tokens, exact=True)
    assert found is not None
    return found


def test_the_first_glob_that_fits_the_name_of_a_model_counts() -> None:
    known = [("a", ["gpt-5-mini"]), ("b", ["GPT-5-*", "x"]), ("c", ["gpt-*"])]
    assert first_match("azure/GPT-5-mini", known) == "a"
    assert first_match("openai:gpt-5-nano", known) == "b"
    assert first_match("gpt-6", known) == "c"
    assert first_match("claude", known) is None
    for provider in ("openai-chat", "azure_openai", "bedrock-mantle", "google-cloud", "cerebras"):
        assert first_match(f"{provider}:gpt-5-nano", known) == "b"


def test_a_model_has_the_price_of_the_first_glob_that_fits(tmp_path: Path) -> None:
    prices = "{house-mini*: 0.25, house-*: 2}"
    assert priced(tmp_path, prices, name="house-mini-2")["says"] == "$0.25"
    large = priced(tmp_path, prices, name="vendor/house-large", tokens=4000)
    assert (large["says"], large["low"], large["high"]) == ("$0.008", 0.008, 0.008)
    assert large["about"] == (
        "$2.00 for a million tokens of vendor/house-large; prices: those of the profile mine"
    )


def test_a_profile_that_was_named_itself_has_the_range_of_its_prices(tmp_path: Path) -> None:
    found = priced(tmp_path, "{house-mini: 0.1, house-large: 10}", tokens=4000)
    assert (found["says"], found["low"], found["high"]) == ("$0.0004 to $0.04", 0.0004, 0.04)
    assert "the cheapest to the dearest of mine" in found["about"]
    assert priced(tmp_path, "{house-mini: 3, house-large: 3}", tokens=4000)["says"] == "$0.012"
    assert priced(tmp_path, "{'*': 3, house-large: 9}")["says"] == "$3.00"


@pytest.mark.parametrize(
    ("tokens", "says"),
    [(1000, "$0.002"), (272_000, "$0.54"), (272_001, "$1.09"), (1_000_001, "$9.00")],
)
def test_a_step_is_the_price_of_the_whole_input_above_it(
    tmp_path: Path, tokens: int, says: str
) -> None:
    assert priced(tmp_path, "{'*': {1M: 9, 272k: 4, 0: 2}}", tokens=tokens)["says"] == says


@pytest.mark.parametrize(
    ("tokens", "says"),
    [(1, "$0.000003"), (3996, "$0.012"), (33_333, "$0.10"), (10**9, "$3,000.00")],
)
def test_a_price_has_two_digits_that_tell_and_cents(tmp_path: Path, tokens: int, says: str) -> None:
    assert priced(tmp_path, "{'*': 3}", tokens=tokens)["says"] == says


def test_an_estimate_says_so_and_what_has_no_price_says_nothing(tmp_path: Path) -> None:
    claude = load_profile("claude-sonnet-5-5")
    about = price_of(claude, 4000, exact=False)
    assert about is not None and about["says"] == "about $0.008"
    assert about["about"].endswith(
        "claude-sonnet-5-5; prices: model list bundled with litellm 1.110.2, 2026-11-29:"
        " Anthropic's own API, without caches and batches"
    )
    for name in ("default", "gpt-oss", "llama", "deepseek-r1", "command", "gpt-5.1-mini"):
        assert price_of(load_profile(name), 4000, exact=True) is None, name
    assert price_of(claude, 0, exact=True) is None
    assert priced(tmp_path, "{'*': 0}")["says"] == "$0.00"


def test_prices_are_inherited_and_then_from_the_profile_that_was_named(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("extends: claude-4.5\n", encoding="utf-8")
    found = price_of(load_profile("mine", [tmp_path]), 4000, exact=True)
    assert found is not None and found["says"] == "$0.004 to $0.02"
    assert found["about"].endswith("; prices: those of the profile mine")


@pytest.mark.parametrize(
    ("prices", "got"),
    [
        ("3", "3"),
        ("{a: 1, b: -1, c: 2}", '{"b": -1}'),
        ("{a: .nan}", '{"a": nan}'),
        ("{a: .inf}", '{"a": inf}'),
        ("{a: free}", '{"a": "free"}'),
        ("{a: '4k'}", '{"a": "4k"}'),
        ("{a: {272k: 4}}", '{"a": …}'),
        ("{a: {0: 1, many: 4}}", '{"a": …}'),
        ("{a: {}}", '{"a": …}'),
    ],
)
def test_a_wrong_price_is_named_with_its_line_and_with_right_ones(
    tmp_path: Path, prices: str, got: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"extends: claude\nprices: {prices}\n", encoding="utf-8")
    with pytest.raises(ProfileError) as caught:
        load_profile("mine", [tmp_path])
    said = str(caught.value)
    assert said.startswith(f"{path}:2: prices takes a mapping of globs, each to US dollars")
    assert "such as {gpt-5.2: 1.75, gpt-6-sol: {0: 2, 272k: 4}}" in said
    assert said.endswith(f"; got {got}")


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_price_is_for_models_of_its_profile_and_has_a_source(name: str) -> None:
    profile = load_profile(name)
    sources = [said for said in profile.references if said.startswith("prices: ")]
    assert len(sources) == bool(profile.prices)
    assert all("2026-" in said for said in sources)
    for glob in profile.prices:
        model = glob.replace("[678]", "7").replace("[45]", "5").replace("[.-]", "-")
        found = load_profile(model.replace("*", ""))
        assert found.name == name and price_of(found, 10, exact=True) is not None
