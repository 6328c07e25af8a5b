"""Safe text, in each place of each syntax."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from judges import (
    json_value,
    xml_root,
    yaml_value,
)

import promptforge as pf
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS, syntax_named, syntax_of
from promptforge.text.escape import Content, FencedBlock, Safe

QUOTED = [("xml", "attribute"), ("json", "string"), ("yaml", "string"), ("toon", "string")]
AGAIN = ("url", "autolink", "title", "member")
"""Places of which the escapes are others than those that `{% set %}` may have used."""
ESCAPES = [(name, place) for name in FORMAT_EXTENSIONS for place in syntax_named(name).places]


@pytest.mark.parametrize(("syntax", "place"), QUOTED)
def test_what_a_template_made_is_text_between_quotes(syntax: str, place: str) -> None:
    assert '"' not in syntax_of(syntax).places[place](Safe('a "quoted" <word>')).replace('\\"', "")


@pytest.mark.parametrize("ending", ["json", "yaml", "toon"])
def test_a_missing_value_is_named(ending: str) -> None:
    files = {f"mine/layout.{ending}.j2": "{{ items[7].text }}", f"mine/item.{ending}.j2": "1"}
    with pytest.raises(pf.TemplateError, match=r"there is no \[7\] here"):
        pf.render([{"content": "x"}], templates=files, layout="mine", format=ending)


def test_an_items_text_between_quotes_of_the_page_cannot_leave_them() -> None:
    pages = {"xml": '<a t="{{ item.text }}"/>'} | dict.fromkeys(
        ["json", "yaml"], '["{{ item.text }}"]'
    )
    items = {"xml": "<b>{{ item.content }}</b>"} | dict.fromkeys(
        ["json", "yaml"], '{"a": {{ item.content }}}'
    )
    files = {
        f"mine/{part}.{ending}.j2": f"{{# A part. Uses: items, item. #}}\n{text}"
        for ending in pages
        for part, text in (
            ("layout", f"{{% for item in items %}}{pages[ending]}{{% endfor %}}"),
            ("item", items[ending]),
        )
    }
    content = '" onload="x", <c>'
    made = {
        ending: pf.render([{"content": content}], templates=files, layout="mine", format=ending)
        for ending in pages
    }
    assert [dict(e.attrib) for e in xml_root(made["xml"].text)] == [{"t": f"<b>{content}</b>"}]
    assert json_value(json_value(made["json"].text)[0]) == {"a": content}
    assert yaml_value(yaml_value(made["yaml"].text)[0]) == {"a": content}


@pytest.mark.parametrize(
    ("syntax", "place"),
    [pair for pair in ESCAPES if pair not in QUOTED and not pair[1].startswith(AGAIN)],
)
@pytest.mark.parametrize("kind", [Safe, FencedBlock])
def test_what_a_template_made_is_not_escaped_again(
    syntax: str, place: str, kind: type[Safe]
) -> None:
    made = kind("harmless text of a template")
    assert syntax_of(syntax).places[place](made) is made


OPERATIONS: dict[str, Callable[[Safe], str]] = {
    "+": lambda s: s + "x",
    "r+": lambda s: "x" + s,
    "*": lambda s: s * 2,
    "%": lambda s: type(s)("%s") % "x",
    "slice": lambda s: s[1:],
    "upper": lambda s: s.upper(),
    "strip": lambda s: s.strip(),
    "join": lambda s: s.join("ab"),
    "replace": lambda s: s.replace("a", "b"),
    "format": lambda s: type(s)("{}").format("x"),
    "f-string": lambda s: f"{s}!",
}


@pytest.mark.parametrize("how", OPERATIONS)
@pytest.mark.parametrize("kind", [Safe, FencedBlock, Content])
def test_no_operation_on_safe_text_gives_safe_text(how: str, kind: type[Safe]) -> None:
    assert type(OPERATIONS[how](kind(" a "))) is str
