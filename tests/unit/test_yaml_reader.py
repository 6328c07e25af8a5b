"""YAML read within limits: plain values, lines, and an error for all that an attack may hold."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import SHARED_DATA

from promptforge import yaml_reader
from promptforge.errors import ProfileError
from promptforge.files import shipped_folder
from promptforge.yaml_reader import (
    MAX_YAML_BYTES,
    MAX_YAML_DEPTH,
    MAX_YAML_VALUES,
    find_invisible,
    find_places,
    load_shipped_yaml,
    load_yaml,
    load_yaml_with_lines,
)

ATTACKS = SHARED_DATA / "attacks.json"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("just text", "just text"),
        ("a: no\nb: on\nc: y", {"a": "no", "b": "on", "c": "y"}),
        ("a: 2024-13-45\nb: 2024-01-01", {"a": "2024-13-45", "b": "2024-01-01"}),
        ("a: 12:30:45\nb: 190:20:30", {"a": "12:30:45", "b": "190:20:30"}),
        (
            "a: true\nb: False\nc: ~\nd:\ne: null",
            {"a": True, "b": False, "c": None, "d": None, "e": None},
        ),
        ("a: 010\nb: 0o17\nc: 0xFF\nd: -3\ne: +4", {"a": 10, "b": 15, "c": 255, "d": -3, "e": 4}),
        (
            "a: 1.5\nb: 1e3\nc: .5\nd: 1_000\ne: 0b11",
            {"a": 1.5, "b": 1000.0, "c": 0.5, "d": "1_000", "e": "0b11"},
        ),
        ("a: .inf\nb: -.INF", {"a": math.inf, "b": -math.inf}),
        ("a: '1'\nb: \"no\"\nc: |\n  1\n", {"a": "1", "b": "no", "c": "1\n"}),
        ("1: x\ntrue: y\nnull: z", {"1": "x", "true": "y", "null": "z"}),
        ('"<<": x', {"<<": "x"}),
        ("\ufeffa: 1", {"a": 1}),
        ('a: "\\ud83d\\ude00"', {"a": "😀"}),
        ("[a, {b: [c]}, []]", ["a", {"b": ["c"]}, []]),
        ("a: " + "9" * 5000, {"a": "9" * 5000}),
    ],
)
def test_what_is_read(text: str, value: Any) -> None:
    assert load_yaml(text, "f.yaml") == value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: &x 2", 2, "anchors"),
        ("a: *x", 1, "anchors"),
        ("a: 1\n<<: {b: 2}", 2, "merge"),
        ("a: !!python/name:os.system", 1, "tags"),
        ("a: ! b", 1, "tags"),
        ("x:\n  !!set {a, b}", 2, "tags"),
        ("a: 1\nb: 2\n\na: 3", 4, '"a" is there twice'),
        ("a: 1\n---\nb: 2", 2, "second document"),
        ("? [a, b]\n: 1", 1, "a key must be"),
        ("a: [1,\n\n", 3, "not valid YAML"),
        ("a: 1\nb: c: d", 2, "not valid YAML"),
        ("[[\r[\x85[2", 3, "is not closed"),
        ("a\r\x07", 2, "U+0007"),
        ("a: x\x00y", 1, "U+0000"),
        ("a: 1\nb: \x07", 2, "U+0007"),
        ("a: 1\nb: \ud800", 2, "U+D800"),
        ('a: "\\ud800"', 1, "surrogate"),
        ('"\\udc00": a', 1, "surrogate"),
        ("[" * (MAX_YAML_DEPTH + 1) + "]" * (MAX_YAML_DEPTH + 1), 1, "nested deeper"),
        ("[" * 200_000, 1, "nested deeper"),
        ("- " * 20_000 + "a", 1, "nested deeper"),
        ("".join(" " * i + "a:\n" for i in range(200)), MAX_YAML_DEPTH + 1, "nested deeper"),
        ("{a: " * 5000, 1, "nested deeper"),
        ("a: " + "x" * MAX_YAML_BYTES, 1, "longer than"),
        ("a: " + "é" * (MAX_YAML_BYTES // 2), 1, "longer than"),
        ("- a\n" * (MAX_YAML_VALUES + 1), MAX_YAML_VALUES, "more than"),
        ("%YAML 7.0\n---\na", 1, "not valid YAML"),
    ],
)
def test_what_is_refused(text: str, line: int, said: str) -> None:
    with pytest.raises(ProfileError) as caught:
        load_yaml(text, "dir/f.yaml")
    assert caught.value.where == f"dir/f.yaml:{line}"
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_the_deepest_nesting_is_read() -> None:
    value = load_yaml("[" * MAX_YAML_DEPTH + "]" * MAX_YAML_DEPTH, "f")
    depth = 0
    while value:
        value, depth = value[0], depth + 1
    assert depth == MAX_YAML_DEPTH - 1


def test_lines() -> None:
    value, lines = load_yaml_with_lines(
        "a: 1\nb:\n  - x\n\n  - c: 2\n    d: [3,\n        4]\n", "f"
    )
    assert value == {"a": 1, "b": ["x", {"c": 2, "d": [3, 4]}]}
    assert lines == {
        (): 1,
        ("a",): 1,
        ("b",): 2,
        ("b", 0): 3,
        ("b", 1): 5,
        ("b", 1, "c"): 5,
        ("b", 1, "d"): 6,
        ("b", 1, "d", 0): 6,
        ("b", 1, "d", 1): 7,
    }


def test_places() -> None:
    text = "a: 1  # one\n'b':\n  - x\n  - {c: \"y\"}\n"
    found = {path: (text[key], text[value]) for path, (key, value) in find_places(text).items()}
    assert found[("a",)] == ("a", "1")
    assert found[("b",)][0] == "'b'"
    assert found[("b", 1, "c")] == ("c", '"y"')
    assert find_places("# nothing\n") == {}


def test_invisible_characters_are_found_in_comments_too() -> None:
    assert find_invisible("\ufeffa: 1 # \U000e0041\nb: x\u200by\u202e") == [
        (1, "U+E0041"),
        (2, "U+200B"),
        (2, "U+202E"),
    ]
    assert find_invisible("a: é 漢 😀") == []


@given(st.text(max_size=200))
def test_nothing_but_a_profile_error_escapes(text: str) -> None:
    try:
        load_yaml(text, "f")
    except ProfileError as exc:
        assert exc.where is not None and exc.where.startswith("f:")


@given(st.text("[]{}:,-?&*!|>'\"%@` #\n\tab0\\u", max_size=60))
def test_nothing_but_a_profile_error_escapes_dense(text: str) -> None:
    try:
        load_yaml(text, "f")
    except ProfileError as exc:
        assert exc.where is not None and exc.where.startswith("f:")


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_json_is_read_as_json(value: Any) -> None:
    # A key longer than 1,024 characters and DEL are the two places where YAML takes less than JSON.
    text = json.dumps(value)
    if "\x7f" not in text and len(text) < 1_000:
        assert load_yaml(text, "f") == value


@pytest.mark.slow
@pytest.mark.skipif(not ATTACKS.exists(), reason="the corpus is outside the repository")
def test_the_corpus_of_attacks() -> None:
    cases = [a for a in json.loads(ATTACKS.read_text())["attacks"] if a["surface"] == "yaml"]
    assert cases
    for case in cases:
        text: str = case["payload"]
        if case["kind"] == "python":
            text = eval(text, {"__builtins__": {}})
        elif case["kind"] == "base64":
            text = base64.b64decode(text).decode("utf-16")
        try:
            value = load_yaml(text, case["id"])
        except ProfileError:
            continue
        assert isinstance(value, dict | str), case["id"]


def test_the_scanner_in_c_reads_shipped_files_alike() -> None:
    files = [
        *shipped_folder("profiles").glob("*.yaml"),
        *shipped_folder("templates").rglob("*.yaml"),
    ]
    assert len(files) > 20
    for path in files:
        text = path.read_text("utf-8")
        assert load_shipped_yaml(text, "f") == load_yaml_with_lines(text, "f"), path


@pytest.mark.parametrize("text", ["a: [1", "a: 1\na: 2", "? [a]\n: b", "<<: x", "a: *b", "a: 'x"])
def test_a_mistake_in_a_shipped_file_is_said_alike(text: str) -> None:
    errors = []
    for load in (load_shipped_yaml, load_yaml_with_lines):
        with pytest.raises(ProfileError) as caught:
            load(text, "f")
        errors.append((str(caught.value), caught.value.where))
    assert errors[0] == errors[1]


def test_as_many_values_as_there_may_be_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reader, "MAX_YAML_VALUES", 3)
    assert load_yaml("- a\n- b", "f") == ["a", "b"]
    with pytest.raises(ProfileError, match="more than 3 values"):
        load_yaml("- a\n- b\n- c", "f")
