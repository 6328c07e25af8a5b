"""Values in XML read back, in text and in attributes."""

from __future__ import annotations

import hostile_strings as hostile
import pytest
from example_counts import cases
from hypothesis import given
from judges import (
    normal_xml,
    xml_root,
)

import promptforge as pf
from promptforge.errors import TemplateError
from promptforge.syntax import xml_syntax as xml
from promptforge.syntax.contents import clean_content
from promptforge.syntax.syntaxes import syntax_of
from promptforge.text import escape as escaping
from promptforge.text.escape import Content

LABELS = hostile.LABEL


@pytest.mark.parametrize(
    ("place", "value", "printed"),
    [
        ("text", "a & b < c > d \"e\" 'f'", "a &amp; b &lt; c > d \"e\" 'f'"),
        ("text", "]]>", "]]&gt;"),
        ("text", "a\nb", "a\\nb"),
        ("text", Content("a\nb"), "a\nb"),
        ("text", None, ""),
        ("text", 1.0, "1.0"),
        ("attribute", "a & b < c > d \"e\" 'f'", "a &amp; b &lt; c > d &quot;e&quot; 'f'"),
        ("attribute", Content("a\n\tb"), "a\\n\\tb"),
        ("attribute", "&amp;", "&amp;amp;"),
    ],
)
def test_an_xml_value_prints(place: str, value: object, printed: str) -> None:
    assert syntax_of("xml").places[place](value) == printed


@cases(300)
@given(hostile.TEXT)
def test_content_in_xml_reads_back(text: str) -> None:
    root = xml_root(f"<a>{xml.xml_text(clean_content(text, xml.XML).text)}</a>")
    (element,) = root
    assert len(element) == 0
    assert (element.text or "") == normal_xml(text)


@cases(300)
@given(LABELS)
def test_a_label_in_xml_reads_back_in_text_and_in_an_attribute(text: str) -> None:
    (element,) = xml_root(f'<a b="{xml.xml_attribute(text)}">{xml.xml_text(text)}</a>')
    assert {str(k): str(v) for k, v in element.attrib.items()} == {"b": escaping.to_label(text)}
    assert (element.text or "") == escaping.to_label(text)


@cases(100)
@given(LABELS)
def test_what_is_fit_for_an_attribute_is_fit_for_text(text: str) -> None:
    (element,) = xml_root(f"<a>{xml.xml_attribute(text)}</a>")
    assert (element.text or "") == escaping.to_label(text)


def printed(source: str, **fields: str) -> str:
    files = {
        "mine/layout.xml.j2": "{# Uses: items. #}\n{% for item in items %}{{ item.text }}{% endfor %}",
        "mine/item.xml.j2": source,
    }
    item = {"content": "x", **fields}
    return pf.render([item], templates=files, layout="mine", format="xml").text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('<a href=\n{% if item.name %}"{{ item.url }}"{% endif %}/>', "name and the quote"),
        (
            '<a {% if item.name %}href{% else %}src{% endif %}="{{ item.url }}"/>',
            "name and the quote",
        ),
        ('<a\n{% if item.name %}hr{% endif %}ef="{{ item.url }}"/>', "name and the quote"),
        ('<a href="{{ item.name }}:{{ item.url }}"/>', "scheme of an address"),
        ('<a href="java{{ item.name }}\n:{{ item.url }}"/>', "scheme of an address"),
        ('<a href="{{ item.name }}&#58;{{ item.url }}"/>', "scheme of an address"),
        ('<img srcset="a 1x, {{ item.name }}:{{ item.url }}"/>', "scheme of an address"),
    ],
)
def test_an_attribute_that_no_escape_suits_is_refused(source: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        printed(source, name="javascript", url="alert(1)")


@pytest.mark.parametrize("after", [">", "]>", "{% if item.name %}>{% endif %}"])
def test_no_value_closes_a_section_with_a_mark_of_the_template(after: str) -> None:
    with pytest.raises(TemplateError, match="write &gt; there"):
        printed(f"<a>{{{{ item.name }}}}{after}</a>", name="a]]")
    (element,) = xml_root(printed("<a>{{ item.name }}&gt; -></a>", name="a]]"))
    assert element.text == "a]]> ->"


@pytest.mark.parametrize(
    "source",
    [
        '<a{% if item.name %} t="{{ item.name }}"{% endif %} href="{{ item.url }}"/>',
        '<a {% if item.name %}t="{{ item.name }}" {% endif %}href="{{ item.url }}"/>',
        '<a {% for n in [1, 2] %}{% endfor %}href="{{ item.url }}"/>',
        '<a t="1:2" href="{{ item.url }}" u="a:b"/>',
        '<a href="{{ item.url }}&amp;a=b"/>',
    ],
)
def test_attributes_beside_branches_hold_addresses(source: str) -> None:
    assert 'href="http://a' in printed(source, name="n", url="http://a")


def test_a_value_of_one_branch_makes_no_scheme_with_the_next() -> None:
    source = '<a href="{% if item.name %}{{ item.name }}{% else %}#{% endif %}{{ item.url }}"/>'
    assert 'href="javascript%3Aalert' in printed(source, name="javascript", url=":alert(1)")
