"""Shorter XML is XML with elements of the original."""

from __future__ import annotations

from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from shipped_words import marks

import promptforge as pf
from promptforge.trimming.entries import divide

MARKER = "[cut]"
NAMES = st.sampled_from(["dependency", "version", "a:b", "name"])
TEXTS = st.sampled_from([None, "1.0", " a & b < c ", "two\nlines", "<!-- no comment -->", "]]>"])


def _element(name: str, text: str | None, attributes: dict[str, str], inside: list[Any]) -> Any:
    element = ElementTree.Element(name.replace(":", "."), attributes)
    element.text = text
    element.extend(inside)
    return element


ELEMENTS = st.recursive(
    st.builds(_element, NAMES, TEXTS, st.dictionaries(st.just("x"), st.sampled_from([">", '"', "\n"])), st.just([])),
    lambda inner: st.builds(_element, NAMES, TEXTS, st.just({}), st.lists(inner, max_size=6)),
    max_leaves=40,
)  # fmt: skip


def _paths(element: Any, above: str = "") -> Counter[str]:
    path = f"{above}/{element.tag}"
    return Counter([path]) + sum((_paths(each, path) for each in element), Counter())


@pytest.mark.slow
@given(
    ELEMENTS,
    st.sampled_from(
        ["", "<?xml version='1.0'?>\n", "<!DOCTYPE x [\n<!ELEMENT x ANY>\n]>\n<!--\n<x>\n-->\n"]
    ),
    st.booleans(),
)
@cases(200)
def test_shorter_xml_is_xml_with_elements_of_the_original(
    root: Any, before: str, indented: bool
) -> None:
    if indented:
        ElementTree.indent(root)
    text = before + ElementTree.tostring(root, encoding="unicode") + "\n"
    found = divide(text, marks=marks(MARKER), language="xml")
    if found is None:
        return
    assert "".join(part.text for part in found.parts) == text
    whole = _paths(ElementTree.fromstring(text))
    for each in found.variants():
        left = etree.fromstring(each.text.encode(), etree.XMLParser(remove_comments=True))
        assert _paths(left) <= whole and MARKER in each.text


def test_a_dependency_is_found_with_its_version() -> None:
    text = "<project>\n  <dependencies>\n" + "".join(
        f"    <dependency>\n      <groupId>org.x{n}</groupId>\n      <artifactId>lib{n}</artifactId>\n"
        f"      <version>{n}.7</version>\n    </dependency>\n"
        for n in range(40)
    ) + "  </dependencies>\n</project>\n"  # fmt: skip
    item = pf.Item(content=text, path="pom.xml", kind="file", language="xml")
    shown = pf.render([item], max_tokens=130, query="which version of lib22").text
    assert "lib22</artifactId>\n      <version>22.7</version>" in shown
    assert shown.count("<project>") == shown.count("</project>") == 1


def test_elements_on_one_line_are_told_apart() -> None:
    jobs = "".join(f"<job id='{n}'><msg>job {n} is done</msg><n/></job>" for n in range(900))
    text = f"<?xml version='1.0'?><jobs>{jobs}</jobs>"
    shown = pf.render(
        [pf.Item(content=text)], max_tokens=90, query="is job 641 done", format="plain"
    ).text
    root = ElementTree.fromstring(shown[shown.index("<?xml") :])
    assert "job 641 is done" in [each.text for each in root.iter("msg")]
    assert "<!-- [Content truncated...] -->" in shown


def _shown(text: str, query: str, max_tokens: int) -> str:
    item = pf.Item(content=text)
    shown = pf.render([item], max_tokens=max_tokens, query=query, format="plain").text
    return shown[shown.index("<") :]


def test_two_tags_on_a_line_do_not_hide_the_elements_below() -> None:
    cases = "".join(f'<testcase name="case_{n}" time="0.{n}" />\n' for n in range(200))
    text = f'<testsuites><testsuite name="all">\n{cases}</testsuite></testsuites>\n'
    shown = _shown(text, "how long took case_141", 110)
    names = [each.get("name") for each in ElementTree.fromstring(shown).iter("testcase")]
    assert "case_141" in names and 2 < len(names) < 20


def test_a_key_of_a_property_list_stays_with_its_value() -> None:
    pairs = "".join(f"\t<key>Word{n}</key>\n\t<string>value {n}</string>\n" for n in range(90))
    text = f'<plist version="1.0">\n<dict>\n{pairs}</dict>\n</plist>\n'
    root = ElementTree.fromstring(_shown(text, "what is Word61", 110))
    words = [each.text for each in root[0]]
    assert words[words.index("Word61") + 1] == "value 61"
    assert [each.tag for each in root[0]] == ["key", "string"] * (len(words) // 2)
