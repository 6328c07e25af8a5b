"""A factor from true counts: it covers every pair, finds a constant that is there, and names what
is wrong.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import run
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from reference_encodings import PIECES

import promptforge as pf
from promptforge.tokenizers.remote import ENOUGH_PAIRS

O200K = pf.get_tokenizer("o200k_base")
TEXTS = [f"Text {n}: " + f"words that say {n} and nothing more. " * (n % 23) for n in range(120)]


@cases(150)
@given(
    st.lists(st.tuples(PIECES, st.integers(0, 5000)), max_size=12),
    st.sampled_from(["o200k_base", "characters"]),
)
def test_no_pair_takes_more_than_is_declared(pairs: list[tuple[str, int]], base: str) -> None:
    counter = pf.get_tokenizer(base)
    used = [(counter.count(text), true) for text, true in pairs if counter.count(text)]
    if not any(true for _, true in used):
        with pytest.raises(pf.TokenizerError, match="nothing to calibrate by"):
            pf.calibrate(pairs, base=base)
        return
    found = pf.calibrate(pairs, base=base)
    estimate = pf.get_tokenizer(found.tokenizer)
    for text, true in pairs:
        if counter.count(text):
            assert true <= estimate.count(text) + found.constant
    own, true = counter.count(pairs[found.worst][0]), pairs[found.worst][1]
    assert found.factor - 0.01 < max((true - found.constant) / own, 0.01) <= found.factor + 1e-9
    assert found.least <= found.mean + 1e-9 and found.mean <= found.largest + 1e-9
    assert found.pairs == len(used) and found.enough == (len(used) >= ENOUGH_PAIRS)


@pytest.mark.parametrize(("times", "frame"), [(1.0, 0), (1.4, 0), (1.4, 8), (0.8, 3), (1.12, 25)])
def test_factor_and_frame_are_found(times: float, frame: int) -> None:
    found = pf.calibrate((text, int(O200K.count(text) * times) + frame) for text in TEXTS)
    assert found.slope == pytest.approx(times, abs=0.02)
    assert found.intercept == pytest.approx(frame, abs=1)
    assert abs(found.constant - frame) <= 1
    assert times <= found.factor + 0.01 <= times + 0.2
    assert found.enough


def test_noise_is_no_frame() -> None:
    found = pf.calibrate(
        (text, O200K.count(text) * (12 + (n * 7) % 5) // 10) for n, text in enumerate(TEXTS)
    )
    assert found.constant == 0
    assert found.factor == 1.6


def test_in_an_estimate_made_of_it_the_truth_fits() -> None:
    true = pf.get_tokenizer("cl100k_base")
    found = pf.calibrate((text, true.count(text)) for text in TEXTS)
    result = pf.render(
        [{"content": text} for text in TEXTS], tokenizer=found.tokenizer, max_tokens=500
    )
    assert true.count(result.text) <= result.tokens <= 500


@pytest.mark.parametrize(
    ("pairs", "base", "reason"),
    [
        ([], "o200k_base", "nothing to calibrate by"),
        ([("a", 0)], "o200k_base", "nothing to calibrate by"),
        ([("", 7)], "o200k_base", "nothing to calibrate by"),
        ([("a", 1), ("b", -1)], "o200k_base", "pair 1: its count is"),
        ([("a", True)], "o200k_base", "pair 0: its count is"),
        ([("a", 10**30)], "o200k_base", "pair 0: its count is more than 9,999 times"),
        ([("a", 1)], "nope", 'unknown tokenizer "nope"'),
        ([("a", 1)], "o200k_base*2", 'the base "o200k_base*2" has a factor already'),
    ],
)
def test_what_cannot_be_calibrated_says_why(
    pairs: list[tuple[str, int]], base: str, reason: str
) -> None:
    with pytest.raises(pf.TokenizerError) as caught:
        pf.calibrate(pairs, base=base)
    assert reason in str(caught.value)


# --- the command ---


pytestmark = pytest.mark.usefixtures("folder")


def write(lines: list[object]) -> None:
    Path("pairs.jsonl").write_text(
        "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines),
        encoding="utf-8",
    )


def test_the_command_prints_the_line_of_a_profile() -> None:
    write([{"text": text, "tokens": O200K.count(text) * 2 + 7, "model": "x"} for text in TEXTS])
    ran = run("calibrate", "pairs.jsonl")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("\n\ntokenizer: o200k_base*2\n")
    assert "\naround  7 tokens of each text" in ran.out
    Path("own.yaml").write_text("tokenizer: o200k_base*2\n", encoding="utf-8")
    items = json.dumps({"content": "one two three"})
    found = json.loads(run("render", "-", "--json", "-p", "own.yaml", stdin=items).out)
    assert found["tokenizer"] == "o200k_base*2" and found["tokens"] == 2 * O200K.count(
        found["text"]
    )
    flagged = run("render", "-", "--json", "--tokenizer", "o200k_base*2", stdin=items)
    assert json.loads(flagged.out)["tokens"] == found["tokens"]


def test_json_has_the_same() -> None:
    write([{"text": text, "tokens": O200K.count(text) * 2 + 7} for text in TEXTS])
    data = json.loads(run("calibrate", "pairs.jsonl", "--json").out)
    with open("pairs.jsonl", encoding="utf-8") as lines:
        found = pf.calibrate(
            (json.loads(line)["text"], json.loads(line)["tokens"]) for line in lines
        )
    assert data["promptforge"] == 1
    assert (data["tokenizer"], data["factor"], data["constant"]) == (
        found.tokenizer,
        found.factor,
        found.constant,
    )
    assert data["worst"] == f"pairs.jsonl:{found.worst + 1}"


BAD = [
    ("{\n", "not valid JSON"),
    ("[1]\n", "expected an object"),
    ('{"txt": "a", "tokens": 1}\n', 'no field "text"; did you mean "txt"'),
    ('{"text": "a"}\n', 'no field "tokens"'),
    ('{"text": 5, "tokens": 1}\n', "text: expected a text, not int"),
    ('{"text": "a", "tokens": -1}\n', "tokens: expected a whole number from 0 up, not -1"),
    ('{"text": "a", "tokens": 1.5}\n', "not 1.5"),
    ('{"text": "a", "tokens": NaN}\n', "not NaN"),
    ('{"text": "a", "tokens": true}\n', "not true"),
    ('{"text": "a", "tokens": "7"}\n', "not str"),
    ('{"text": "a", "tokens": ' + "9" * 5000 + "}\n", "the line is left out"),
    ("[" * 100_000 + "\n", "the line is left out"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_bad_line_is_named_and_costs_only_itself(line: str, reason: str) -> None:
    write([{"text": "one two", "tokens": 3}, line, {"text": "three four", "tokens": 3}])
    ran = run("calibrate", "pairs.jsonl", "--json")
    assert ran.code == 0 and json.loads(ran.out)["pairs"] == 2
    said, few = ran.err.splitlines()
    assert (
        said.startswith("promptforge: warning: pairs.jsonl:2: ")
        and reason in said
        and said.endswith("[PF204]")
    )
    assert "2 pairs are few: it takes 59" in few
    strict = run("calibrate", "pairs.jsonl", "--strict")
    assert (strict.code, strict.out) == (1, "")


@pytest.mark.parametrize("content", ["", "\n\n", "nothing\n"])
def test_a_file_without_a_pair_is_an_error(content: str) -> None:
    ran = run("calibrate", "-", stdin=content)
    assert (ran.code, ran.out) == (4, "")
    assert "<stdin>: no pair in it" in ran.err
    assert run("calibrate", "nowhere.jsonl").code == 4
    assert run("calibrate").code == 2
