"""The format `toon`: a page that the reader of its specification takes, and the values it gives."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import hostile_strings as hostile
import pytest
import toon_format
from example_counts import cases
from hypothesis import example, given
from hypothesis import strategies as st
from typed_records import HOSTILE, LAYOUTS, RECORDS, plain

import promptforge as pf
from promptforge.errors import TemplateError
from promptforge.syntax.contents import clean_content
from promptforge.syntax.toon_syntax import (
    TOON,
    toon_cells,
    toon_length,
    toon_member,
    toon_string,
    toon_value,
)
from promptforge.text.escape import code_of

BEYOND = re.compile("[\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")
"""Unseen characters that TOON cannot write by number."""
loaded = toon_format.loads


def shown(text: str) -> str:
    """Return a label as its reader gets it: lone surrogates are U+FFFD, tags are shown."""
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    return BEYOND.sub(lambda found: code_of(found[0]), text)


TEXTS = st.one_of(
    HOSTILE,
    st.sampled_from(
        [
            *hostile.PARTS,
            *("05", "+1", "-1e3", "1_0", "[2]: a", "a{b}", "- ", "-", "#a", "a|b", "a\tb", "a: b"),
            *("\xa0x", "x\u3000", "a,b", "[]", '"', '\\"', "\\", "x\\n", "null ", "False", "١"),
            *("a\u2028b", "a\x85b", "a\x0cb", "a\x1cb", "<|im_start|>", "\U000e0041", "\u200d"),
        ]
    ),
)


@pytest.mark.slow
@cases(400)
@given(TEXTS)
def test_a_text_comes_back_from_every_place(text: str) -> None:
    content = clean_content(text, TOON).text
    assert loaded(f"a: {toon_value(content)}") == {"a": re.sub("[\ud800-\udfff]", "\ufffd", text)}
    want, cell = shown(text), toon_value(text)
    assert "\n" not in cell
    assert loaded(f"a: {cell}") == {"a": want}
    assert loaded(f"{cell}: 1") == {want: 1}
    assert loaded(f'a: "x {toon_string(text)} y"') == {"a": f"x {want} y"}
    assert loaded(f"a[2]: {cell},{cell}") == {"a": [want, want]}
    assert loaded(f"a[1]:\n  - {cell}") == {"a": [want]}
    assert loaded(f"[2]{{b,c}}:\n  {cell},{cell}\n  1,{cell}") == [
        {"b": want, "c": want},
        {"b": 1, "c": want},
    ]


@cases(200)
@given(
    st.recursive(
        st.one_of(TEXTS, st.integers(-(2**63), 2**64 - 1), st.floats(), st.booleans(), st.none()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(HOSTILE, inner, max_size=3)
        ),
    )
)
def test_any_value_comes_back_and_what_is_nested_as_json(value: Any) -> None:
    def read(member: Any) -> Any:
        if isinstance(member, list | dict):
            return shown(json.dumps(plain(member), ensure_ascii=False))
        return shown(member) if isinstance(member, str) else plain(member)

    assert loaded(f"a: {toon_value(value)}") == {"a": read(value)}
    wanted = [read(member) for member in value] if isinstance(value, list) else read(value)
    assert loaded(f"a{toon_member(value)}") == {"a": wanted}
    if isinstance(value, list) and value:
        assert loaded(f"a[{toon_length(value)}]: {toon_cells(value)}") == {"a": wanted}


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        *((1e16, "10000000000000000"), (1.0, "1"), (0.25, "0.25"), (1e-6, "0.000001")),
        *((-1e-7, "-1e-07"), (5e-324, "5e-324"), (1e300, "1e+300"), (math.nan, "null"), (0, "0")),
        *((-2.50, "-2.5"), (True, "true"), (None, "null")),
    ],
)
def test_a_number_is_in_its_canonical_form(number: float, printed: str) -> None:
    assert toon_value(number) == printed
    assert loaded(f"a: {printed}") == {"a": plain(number)}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("src/a b.py", "src/a b.py"),
        ("It's (2) = a; b?", "It's (2) = a; b?"),
        ("日本 👍", "日本 👍"),
        ("a: b", '"a: b"'),
        ("12", '"12"'),
        ("12 a", "12 a"),
        ("", '""'),
        ("x\ny\t\x07", '"x\\ny\\t\\u0007"'),
        ("a\u202eb", '"a\\u202eb"'),
        ("a\u1c8a", '"a\u1c8a"'),  # a letter since Unicode 16
        ("\U000e0041", '"\\\\U000e0041"'),
    ],
)
def test_a_text_is_bare_where_no_reader_takes_it_for_more(text: str, printed: str) -> None:
    assert toon_value(text) == printed


@cases(150)
@given(st.lists(RECORDS, max_size=4), st.sampled_from(LAYOUTS), st.booleans(), HOSTILE)
@example([{"content": "a\n", "name": "b\nname: c"}], "entities", True, "x\n---\n")
@example([{"content": "a\n"}], "chunks", False, "")
def test_a_page_holds_the_values_of_the_same_page_in_json(
    records: list[dict[str, Any]], layout: str, around: bool, header: str
) -> None:
    given: dict[str, Any] = {"layout": layout, "dedupe": False, "combine": "combined"}
    given |= {"scores": around, "sources": around, "header": header if around else None}
    given |= {"max_tokens": None, "tokenizer": "characters"}
    try:
        texts = {form: pf.render(records, format=form, **given).text for form in ("toon", "json")}
    except pf.OptionError:  # a header with half of a surrogate pair
        return
    found, wanted = loaded(texts["toon"]), json.loads(texts["json"] or "{}")
    if layout in ("knowledge", "chunks-compact"):  # sections, and columns, that JSON has not
        assert {*values(wanted)} <= {*values(found)}
    else:
        each = [json.loads(json.dumps(tree), object_hook=_fields) for tree in (found, wanted)]
        assert each[0] == each[1]


def _fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields with labels as they are shown, and none for nothing: a row has all columns."""
    return {
        key: shown(value) if isinstance(value, str) and key != "content" else value
        for key, value in fields.items()
        if value is not None
    }


def values(tree: Any) -> list[str]:
    if isinstance(tree, list | dict):
        inner = tree.values() if isinstance(tree, dict) else tree
        return [text for each in inner for text in values(each)]
    return [shown(tree)] if isinstance(tree, str) else []


TEMPLATES = {
    "a: text {{ item.name }}": "a value amid other text goes into double quotes",
    "a: {{ item.name }} text": "a value amid other text goes into double quotes",
    "a: x, {{ item.name }}": "a value amid other text goes into double quotes",
    "a: {{ item.name }}, b": "a value amid other text goes into double quotes",
    "a: {{ item.name }}{{ item.kind }}": "a value amid other text goes into double quotes",
    "a{{ item.name }}: 1": "a value amid other text goes into double quotes",
    "# {{ item.name }}": "a value amid other text goes into double quotes",
    "a[{{ items }}, 2]: 1": "a value amid other text goes into double quotes",
    'a: "{{ item.name }}': "the quotes are not closed",
    'a: "\\{{ item.name }}"': "a backslash before a value",
    'a: "{% if item.name %}x"{% endif %}': "must both end inside quotes",
}


def files_of(template: str) -> dict[str, str]:
    page = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
    return {"t/layout.toon.j2": page, "t/item.toon.j2": template}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_place_where_no_value_can_stand_is_refused(template: str) -> None:
    with pytest.raises(TemplateError, match=re.escape(TEMPLATES[template])):
        pf.render([{"content": "x"}], templates=files_of(template), layout="t", format="toon")


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ('a: "the \\" {{ item.name }}"', {"a": 'the " n: "x"'}),
        ("tags{{ item.metadata.k }}", {"tags": ["v", "w: 1"]}),
        ("tags[{{ item.metadata.k | length }}]: {{ item.metadata.k }}", {"tags": ["v", "w: 1"]}),
        ("tags[2]: {{ item.name }},{{ item.kind }}", {"tags": ['n: "x"', "yes"]}),
        ("a[1]{b,c}:\n  {{ item.name }},{{ item.content }}", {"a": [{"b": 'n: "x"', "c": "x\ny"}]}),
        ('a[1]:\n  - "b c": {{ item.kind }}', {"a": [{"b c": "yes"}]}),
        ("{{ item.kind }}: {{ item.content | upper }}", {"yes": "X\nY"}),
        ("a: {{ item.metadata | tojson }}", {"a": '{"k": ["v", "w: 1"], "empty": []}'}),
        ("a: {{ item.content | framed }}\nb{{ item.metadata.empty }}", {"a": "x\ny", "b": []}),
        (
            "{% macro m(v) %}k: {{ v }}{% endmacro %}\nx:\n  {{ m(item.content) }}",
            {"x": {"k": "x\ny"}},
        ),
    ],
)
def test_an_authors_template(template: str, value: Any) -> None:
    metadata = {"k": ["v", "w: 1"], "empty": []}
    item = {"content": "x\ny", "name": 'n: "x"', "kind": "yes", "metadata": metadata}
    text = pf.render([item], templates=files_of(template), layout="t", format="toon").text
    assert loaded(text) == value


@pytest.mark.parametrize("layout", LAYOUTS)
def test_budgets_hold(layout: str) -> None:
    code = "def f(a):\n\n    return [a]\n" * 20
    items = [{"kind": "code", "path": f"{n}.py", "content": code + str(n)} for n in range(6)]
    for most in (0, 40, 200, 700, 3000):
        result = pf.render(items, layout=layout, format="toon", max_tokens=most)
        assert result.tokens <= most
        loaded(result.text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('a[2]: b,c\nd[1]:\n  - e: 1\n    f[1]{g,h}:\n      1,"x,"\n', None),
        ("b[0]:\na[0]: \n", None),
        ('a[3]: b,"c,d"', "line 1 counts 3 and has 2"),
        ("x: 1\na[2]:\n  - b: 1\n\n  - b: 2", "line 2 counts 2 and has 1"),
        ("a[1]:\n  - b[2]{c}:\n      1\n", "line 2 counts 2 and has 1"),
    ],
)
def test_a_wrong_length_is_found(text: str, said: str | None) -> None:
    found = TOON.problem(text, "toon")
    if said is None:
        loaded(text)
        assert found is None
    else:
        with pytest.raises(ValueError):
            loaded(text)
        assert said in str(found)


def test_the_shipped_layouts_have_it() -> None:
    templates = Path(pf.__file__).parents[1] / "templates"
    assert set(LAYOUTS) <= {path.parent.name for path in templates.glob("*/item.toon.j2")}
