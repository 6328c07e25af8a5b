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
