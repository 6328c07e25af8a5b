"""The format `yaml`: any reader of YAML gives back what `json` gives, whatever the items hold."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from example_counts import cases
from hypothesis import example, given
from hypothesis import strategies as st
from typed_records import HOSTILE, LAYOUTS, RECORDS, plain

import promptforge as pf
from promptforge.errors import TemplateError
from promptforge.syntax.contents import clean_content
from promptforge.syntax.yaml_syntax import YAML, YAML_LITERAL_INDENTS, yaml_string, yaml_value
from promptforge.text.escape import Content


def loaded(text: str) -> Any:
    """Return what three readers agree on: PyYAML's, libyaml's, and the engine's own."""
    found = yaml.safe_load(text)
    assert yaml.load(text, yaml.CSafeLoader) == found
    return found


@pytest.mark.slow
@cases(400)
@given(HOSTILE)
def test_a_text_comes_back_from_every_place(text: str) -> None:
    wanted = re.sub("[\ud800-\udfff]", "\ufffd", text)
    content = clean_content(text, YAML).text
    assert loaded(f"a: {yaml_value(text)}\nb: [{yaml_value(text)}, 1]\n") == {
        "a": wanted,
        "b": [wanted, 1],
    }
    assert loaded(f'a: "x {yaml_string(text)} y"\n') == {"a": f"x {wanted} y"}
    for indent in YAML_LITERAL_INDENTS:
        block = YAML.places[f"block{indent}"](Content(content))
        margin = " " * (indent - 2)
        printed = f"{margin}a: {block}\n{margin}b: 1\n"
        assert loaded(printed) == {"a": wanted, "b": 1}, printed


@cases(200)
@given(
    st.recursive(
        st.one_of(HOSTILE, st.integers(-(2**63), 2**64 - 1), st.floats(), st.booleans(), st.none()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(HOSTILE, inner, max_size=3)
        ),
    )
)
def test_any_value_comes_back(value: Any) -> None:
    assert loaded(f"a: {yaml_value(value)}") == {"a": plain(value)}


@pytest.mark.parametrize("key", ["k" * 2_000, "é" * 600, '"\n' * 400])
def test_a_key_of_any_length_comes_back(key: str) -> None:
    value = {"a": 1, key: [{key: {key: ["b"]}}]}
    assert loaded(f"- a: {yaml_value(value)}\n  b: 1") == [{"a": value, "b": 1}]


@pytest.mark.parametrize("number", [1e16, -1e-7, 5e-324, 1.0, -0.0, 1e300, math.inf, 2**64 - 1])
def test_a_number_stays_a_number(number: float) -> None:
    assert loaded(f"a: {yaml_value(number)}") == {"a": None if number == math.inf else number}


@cases(150)
@given(st.lists(RECORDS, max_size=4), st.sampled_from(LAYOUTS), st.booleans(), HOSTILE)
@example([{"content": "a\n", "name": "b\nname: c"}], "entities", True, "x\n---\n")
@example([{"content": "a\n"}], "chunks", False, "")
def test_a_page_holds_what_the_same_page_holds_in_json(
    records: list[dict[str, Any]], layout: str, shown: bool, header: str
) -> None:
    given: dict[str, Any] = {"layout": layout, "dedupe": False, "combine": "combined"}
    given |= {"scores": shown, "sources": shown, "header": header if shown else None}
    given |= {"max_tokens": None, "tokenizer": "characters"}
    try:
        texts = {form: pf.render(records, format=form, **given).text for form in ("yaml", "json")}
    except pf.OptionError:  # a header with half of a surrogate pair
        return
    printed = loaded(texts["yaml"])
    assert printed == (json.loads(texts["json"]) if texts["json"].strip() else None)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_budgets_hold_and_code_stands_in_blocks(layout: str) -> None:
    code = "def f(a):\n\n    return [a]\n" * 20
    items = [{"kind": "code", "path": f"{n}.py", "content": code + str(n)} for n in range(6)]
    for most in (0, 40, 200, 700, 3000):
        result = pf.render(items, layout=layout, format="yaml", max_tokens=most)
        assert result.tokens <= most
        if result.items_included:
            assert "content: |2-\n" in result.text
        loaded(result.text)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_header_stands_above_no_items(layout: str) -> None:
    items = [{"content": "word " * 200}]
    result = pf.render(items, layout=layout, format="yaml", header="h", max_tokens=9)
    assert not result.items_included and loaded(result.text)["header"] == "h"


TEMPLATES = {
    "a: text {{ item.name }}": "a value amid other text goes into double quotes",
    "a: {{ item.name }} text": "a value amid other text goes into double quotes",
    "a: '{{ item.name }}'": "a value in quotes needs double ones",
    "a: 1 # {{ item.name }}": "a value cannot stand in a comment",
    "a:{{ item.name }}": "a value amid other text goes into double quotes",
    'a: "{{ item.name }}': "the quotes are not closed",
    'a: "\\{{ item.name }}"': "a backslash before a value",
    "- x: plain\n    {{ item.name }}": "go on with the text of the line above",
    "- x: plain\n    y\n\n    - {{ item.name }}": "go on with the text of the line above",
    "x: {{ item.name }}\n  {{ item.name }}": "go on with the text of the line above",
    "- plain\n  {{ item.name }}": "go on with the text of the line above",
    "plain\n{{ item.name }}": "go on with the text of the line above",
    "x: [a\n  {{ item.name }}]": "go on with the text of the line above",
    "{% if item.name %}x: a\n{% else %}x:\n{% endif %}  {{ item.name }}": "go on with the text",
    "a: {{ item.name }}-{{ item.kind }}": "a value amid other text goes into double quotes",
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_place_where_no_value_can_stand_is_refused(template: str) -> None:
    files = {
        "t/layout.yaml.j2": "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n",
        "t/item.yaml.j2": template,
    }
    with pytest.raises(TemplateError, match=re.escape(TEMPLATES[template])):
        pf.render([{"content": "x"}], templates=files, layout="t", format="yaml")


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ('a: "the \\" {{ item.name }}"', {"a": 'the " n: "x"'}),
        (
            "a: {b: {{ item.name }}, c: [{{ item.kind }}, 1]}",
            {"a": {"b": 'n: "x"', "c": ["yes", 1]}},
        ),
        ("a: don't\nb: {{ item.kind }}  # it's", {"a": "don't", "b": "yes"}),
        ("a:\n  {{ item.name }}\nb: 1", {"a": 'n: "x"', "b": 1}),
        ("a: plain\n  text\n{{ item.kind }}: 2", {"a": "plain text", "yes": 2}),
        ('a: "x\n  y"\n{{ item.kind }}: 2', {"a": "x y", "yes": 2}),
        ("a: [\n  b,\n  {{ item.name }}\n]\n{{ item.kind }}: 2", {"a": ["b", 'n: "x"'], "yes": 2}),
        ("a: [b,\n  {{ item.name }}]\n{{ item.kind }}: 2", {"a": ["b", 'n: "x"'], "yes": 2}),
        ("- a: 1\n  # x\n  {{ item.kind }}: 2\n- {{ item.kind }}", [{"a": 1, "yes": 2}, "yes"]),
        ("a: |\n  text\n  {{ item.kind }}", {"a": 'text\n"yes"\n'}),
        ("- - a: {{ item.content }}", [[{"a": "x\ny"}]]),
        ("x:\n- - {{ item.content }}\n  - a: {{ item.content }}", {"x": [["x\ny", {"a": "x\ny"}]]}),
        ("x: {\n  a: {{ item.content }}\n  }", {"x": {"a": "x\ny"}}),
        ("{{ item.kind }}: {{ item.content }}", {"yes": "x\ny"}),
        ("a: {{ item.metadata | tojson }}", {"a": {"k": ["v"]}}),
        (
            "{% macro m(v) %}k: {{ v }}{% endmacro %}\nx:\n  {{ m(item.content) }}",
            {"x": {"k": "x\ny"}},
        ),
        (
            "x:\n  a: {{ item.content | upper }}\n  b: {{ item.content | framed }}",
            {"x": {"a": "X\nY", "b": "x\ny"}},
        ),
    ],
)
def test_an_authors_template(template: str, value: Any) -> None:
    files = {
        "t/layout.yaml.j2": "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n",
        "t/item.yaml.j2": template,
    }
    item = {"content": "x\ny", "name": 'n: "x"', "kind": "yes", "metadata": {"k": ["v"]}}
    assert loaded(pf.render([item], templates=files, layout="t", format="yaml").text) == value


def test_the_shipped_layouts_are_checked(tmp_path: Path) -> None:
    assert set(LAYOUTS) <= {
        path.parent.name for path in (Path(pf.__file__).parents[1] / "templates").glob("*/*.yaml*")
    }


@pytest.mark.parametrize("end", ["\n    \n", "\n  ", "\n\t\n", "\n\n", "\n \n"])
def test_a_content_that_ends_in_a_line_of_blanks_is_quoted(end: str) -> None:
    """The reader of npm `yaml` loses such a line of a literal block."""
    text = pf.render(
        [{"content": f"    code{end}", "path": "a"}], layout="chunks", format="yaml"
    ).text
    assert '"    code\\n' in text
    assert f"    code{end}" in yaml.safe_load(text)[0].values()
