"""Values in JSON read back, alone and inside of a string."""

from __future__ import annotations

import json
import math
import re

import hostile_strings as hostile
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from judges import (
    json_value,
)

from promptforge.syntax import json_syntax
from promptforge.syntax.contents import clean_content
from promptforge.syntax.syntaxes import syntax_of
from promptforge.text.escape import Content, Safe

LABELS = hostile.LABEL
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | LABELS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LABELS, inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (1.0, "1.0"),
        (math.nan, "null"),
        (-math.inf, "null"),
        ('a"b\\c/d\n', '"a\\"b\\\\c/d\\n"'),
        ("é日😀<&>", '"é日😀<&>"'),
        ("\u202e", '"\\u202e"'),
        ("\U000e0041", '"\\udb40\\udc41"'),
        (Content("\u202e"), '"\u202e"'),
        ("\ud800", '"\ufffd"'),
        (Content("\ud800"), '"\ufffd"'),
        (["a", None], '["a", null]'),
        ([2**64 - 1, -(2**63)], "[18446744073709551615, -9223372036854775808]"),
        ([2**64, {"a": -(2**63) - 1}], '["18446744073709551616", {"a": "-9223372036854775809"}]'),
        ({"a": [1, {"b": math.inf}]}, '{"a": [1, {"b": null}]}'),
    ],
)
def test_a_json_value_prints(value: object, printed: str) -> None:
    assert json_syntax.json_value(value) == printed


def without_surrogates(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


@cases(300)
@given(hostile.TEXT)
def test_a_text_in_json_reads_back_as_a_value_and_inside_a_string(text: str) -> None:
    for value in (text, clean_content(text, syntax_of("json")).text):
        assert json_value(json_syntax.json_value(value)) == without_surrogates(text)
        assert (
            json_value(f'"a {json_syntax.json_string(value)} b"')
            == f"a {without_surrogates(text)} b"
        )
        json_syntax.json_value(value).encode()


@cases(200)
@given(VALUES)
def test_every_value_is_json(value: object) -> None:
    assert type(json.loads(json_syntax.json_value(value))) in (type(value), type(None))
    assert isinstance(json_value(f'"{json_syntax.json_string(value)}"'), str)


def test_a_place_is_inside_of_a_string_but_not_of_its_escape() -> None:
    text = r'{"a": "b\nc", "d": 1}'
    inside = syntax_of("json").inside(text)
    assert [place for place in range(len(text)) if inside(place)] == [2, 3, 7, 8, 10, 11, 15, 16]


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        (['[\n  {\n    "a": ', Safe('"x  y"'), ",\n", '    "b": {}\n  },\n  ', Safe("{}"), "\n]\n"],
         '[{"a":"x  y","b":{}\n},\n{}\n]'),
        (['{"a": "', Safe("x"), ' is \\" a { b", "c": ', Safe("2"), " }"],
         '{"a":"x is \\" a { b","c":2}'),
        (["Found, as data:\n{ ", Safe('"a": 1'), " }\n", "\n", "Say so."],
         'Found, as data:\n{"a": 1}\n\nSay so.'),
        ([Safe("1"), " ", Safe("2"), "\n", Safe('"x"'), "\n", Safe("3")], '1 2\n"x"\n3'),
        (["[ // all:\n", "  ", Safe("1"), "\n]\n```\n"], "[ // all:\n  1]\n```\n"),
        (["// found\n", '{"a": null }'], '// found\n{"a": null }'),
    ],
)  # fmt: skip
def test_blanks_of_a_template_go_and_those_of_strings_and_sentences_stay(
    parts: list[str], left: str
) -> None:
    made = syntax_of("json").without_blanks(parts)
    assert ("".join(made), len(made)) == (left, len(parts))
