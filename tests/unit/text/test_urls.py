"""A value in an address is all of the address, to readers that are not ours; its scheme is safe."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import unquote

import cmarkgfm  # type: ignore[import-untyped]
import pytest
from cmarkgfm.cmark import Options  # type: ignore[import-untyped]
from lxml import etree
from lxml import html as lxml_html
from markdown_it import MarkdownIt

import promptforge as pf
from promptforge.lint.template_reader import parse_template
from promptforge.text.urls import encode_url

HARMLESS = "https://a.b/c_d-e~f?g=1&h=%20,i;j#k@l"
HOSTILE = [
    "http://a) tail (x",
    "http://a b\t<c>|`$*_[d](e)\\",
    "?a=1&copy;=2&#41;&lt=3",
    '" onclick="alert(1)',
    "' title='x",
    "http://\u202e\u200b\xa0ä漢\U0001f600/100%",
    "//host/(a(b",
    "mailto:a@b.c?subject=x y",
    "",
]
SCHEMES = [
    "javascript:alert(1)",
    "JaVaScRiPt:x",
    "data:text/html,<b>",
    "file:///etc/passwd",
    "C:\\x",
]
NO_SCHEMES = ["java\nscript:x", "\x01javascript:x", " javascript:x", "javascript&colon;x", "a/b:c"]
LINKS = [
    "[{{ item.name }}]({{ item.url }})",
    '[{{ item.name }}](<{{ item.url }}> "{{ item.name }}")',
    "| ![{{ item.name }}]({{ item.url }}) | b |\n|--|--|",
    "[a]: {{ item.url }} '{{ item.name }}'\n\nsee [a]",
    'see <a href="{{ item.url }}" title="{{ item.name }}">x</a>',
    "{% set u %}{{ item.url }}{% endset %}\n[x]({{ u }})",
]
NAMES = ["a", 'b" c) x', "d' (e]"]


def printed(source: str, ending: str, **fields: str) -> pf.Result:
    """Return an item printed by a template of its own."""
    files = {
        f"mine/layout.{ending}.j2": "{# Uses: items. #}\n{% for item in items %}{{ item.text }}{% endfor %}",
        f"mine/item.{ending}.j2": f"{{# Uses: item. #}}\n{source}\n",
    }
    formats = {"md": "markdown", "txt": "plain"}
    item = {"content": "x", **fields}
    return pf.render([item], templates=files, layout="mine", format=formats.get(ending, ending))


def addresses(page: str) -> list[str]:
    """Return the addresses of a page of HTML, as a browser sees them."""
    tree = lxml_html.fromstring(f"<div>{page}</div>")
    found: Any = tree.xpath("//@href | //@src")
    return [unquote(address) for address in found]


@pytest.mark.parametrize("source", LINKS)
@pytest.mark.parametrize("url", [HARMLESS, *HOSTILE, *SCHEMES, *NO_SCHEMES])
def test_all_of_the_value_is_the_destination(source: str, url: str) -> None:
    if not url and source.startswith("[a]:"):
        return  # a definition without an address is none
    for name in NAMES:
        text = printed(source, "md", url=url, name=name).text
        pages = [
            cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE),
            MarkdownIt("commonmark").enable("table").render(text),
        ]
        shown = "" if not url else (unquote(url) if "{% set" not in source else None)
        for page in pages:
            found = addresses(page)
            assert len(found) == 1, (text, page)
            if shown is not None:
                assert found == [shown], text
            assert not re.search(r"(?i)=\"\s*(?:javascript|data|file|c):", page)


@pytest.mark.parametrize("source", LINKS[:5])
def test_a_harmless_address_stays_as_it_is(source: str) -> None:
    assert HARMLESS in printed(source, "md", url=HARMLESS, name="a").text


@pytest.mark.parametrize(
    ("source", "attribute"),
    [
        ('<a class="c" href="{{ item.url }}">x</a>', "href"),
        ('<img SRC="{{ item.url }}"/>', "SRC"),
        ('<form action="{{ item.url }}"/>', "action"),
        ('<q cite="{{ item.url }}"/>', "cite"),
        ('<video poster="{{ item.url }}"/>', "poster"),
        ('<button\n formaction="{{ item.url }}"/>', "formaction"),
        ('<object data="{{ item.url }}"/>', "data"),
    ],
)
@pytest.mark.parametrize("url", [HARMLESS, *HOSTILE, *SCHEMES])
def test_all_of_the_value_is_the_attribute(source: str, attribute: str, url: str) -> None:
    result = printed(source, "xml", url=url)
    found: Any = etree.fromstring(result.text).xpath(f"//@{attribute}")
    value = str(found[0])
    assert unquote(value) == unquote(url)
    assert not re.match(r"(?i)(?!https?|mailto)[a-z][a-z0-9+.-]*:", value)
    assert ([d.code for d in result.warnings] == ["PF711"]) == (url in SCHEMES)


def test_other_attributes_hold_any_text() -> None:
    made = printed(
        '<x action="{{ item.name }}" url="{{ item.url }}"/>', "xml", name="a b", url="c:d"
    )
    assert dict(etree.fromstring(made.text).attrib.items()) == {"action": "a b", "url": "c:d"}
    assert made.warnings == ()


def test_each_address_of_a_list_is_one() -> None:
    source = '<img srcset="{{ item.url }} 1x, {{ item.name }} 2x" src="{{ item.name }}"/>'
    text = printed(source, "xml", url="http://a b", name="javascript:x").text
    assert 'srcset="http://a%20b 1x, javascript%3Ax 2x" src="javascript%3Ax"' in text


@pytest.mark.parametrize("ending", ["md", "xml"])
def test_values_make_no_scheme_together(ending: str) -> None:
    source = {"md": "[x]({})", "xml": '<a href="{}"/>'}[ending]
    text = printed(
        source.replace("{}", "{{ item.name }}{{ item.url }}"), ending, name="java", url="script:x"
    ).text
    assert "javascript:" not in text and "javascript%3Ax" in text
    text = printed(
        source.replace("{}", "https://{{ item.name }}/{{ item.url }}"),
        ending,
        name="h:80",
        url="a:b",
    ).text
    assert "https://h:80/a:b" in text


@pytest.mark.parametrize("url", [*HOSTILE[:-1], *SCHEMES, "b", "script src=x"])
def test_angle_brackets_hold_an_address_or_text(url: str) -> None:
    text = printed("see <{{ item.url }}>", "md", url=url).text
    page = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    links = addresses(page)
    assert all(unquote(url) == unquote(html.unescape(link)) for link in links)
    assert set(re.findall(r"<(\w+)", page)) <= {"p", "a"}


def test_what_has_escapes_already_keeps_them() -> None:
    assert encode_url("https://a/%7Eb%zz").text == "https://a/%7Eb%25zz"
    assert encode_url("\ud800") == ("%EF%BF%BD", False)


@pytest.mark.parametrize(
    ("ending", "source", "is_raw"),
    [
        ("txt", "[{{ item.name }}]({{ item.url }})", True),
        ("txt", "<a href='{{ item.url }}'>", True),
        ("json", '{"a": "<img src=\\"{{ item.url }}\\">"}', True),
        ("xml", '<p style="background: url({{ item.url }})"/>', True),
        ("xml", '<a href="{{ item.url }}"/>', False),
        ("md", "[{{ item.name }}]({{ item.url }})", False),
        ("txt", "{{ item.name }} ({{ item.url }})", False),
    ],
)
def test_check_names_addresses_that_nothing_encodes(ending: str, source: str, is_raw: bool) -> None:
    problems = parse_template(source, f"mine/item.{ending}.j2").problems
    assert ["PF837"] * is_raw == [each.code for each in problems]


def test_a_scheme_has_no_case() -> None:
    assert encode_url("HTTPS://example.org") == ("HTTPS://example.org", False)
    assert encode_url("JavaScript:x") == ("JavaScript%3Ax", True)
