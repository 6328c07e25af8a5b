"""Values in links and tags of Markdown: whatever they hold, readers see the same elements."""

from __future__ import annotations

import re
from typing import Any

import cmarkgfm  # type: ignore[import-untyped]
import hostile_strings as hostile
import pytest
from cmarkgfm.cmark import Options  # type: ignore[import-untyped]
from lxml import html as lxml_html
from markdown_it import MarkdownIt

import promptforge as pf
from promptforge.errors import TemplateError

HOSTILE = [
    *("javascript:alert(1)", "JaVaScRiPt:x", "colon;alert(1)", "data:text/html,<b>", "script:x"),
    *("http://a) tail (x", 'x") [evil](http://evil) ("', "x] [evil](http://evil) [", "]", "[b]"),
    *("x onmouseover=alert(1) y", "x' onclick='alert(1)", 'x" onmouseover="alert(1)', "a\\", "(t)"),
    *('"t"', "'t'", "> x", "# x", "- x", "1. x", "---", "===", "-", "#", "___", "<b>", "-->", "?>"),
    *hostile.ATTRIBUTES[:6],
    *hostile.MARKDOWN[:20:2],
]
READ = [
    "See <a title='{{ item.name }}'>s</a>",
    'See <span title="From\n{{ item.name }}">s</span>',
    'See <span title="From\n{{ item.name }}{{ item.name }} b">s</span>',
    'See <a\nhref="{{ item.name }}">s</a>',
    "See <a href='{{ item.name }}'>s</a>",
    'See <a title="a > b" href="{{ item.name }}">s</a>',
    'See <a href="java\n{{ item.name }}">s</a>',
    'See <a href=" {{ item.name }}">s</a>',
    'See <img srcset="{{ item.name }} 1x, {{ item.name }} 2x">',
    'See <a{% if item.name %} title="{{ item.name }}"{% endif %} href="{{ item.name }}">s</a>',
    'See <a href="{% if item.name %}{{ item.name }}{% else %}#{% endif %}{{ item.name }}">s</a>',
    'See <b {% for n in [1, 2] %}data-x="{{ item.name }}" {% endfor %}>b</b>',
    "[s](\n{{ item.name }})",
    '[s](x "a\n{{ item.name }}")',
    "[s](a(b{{ item.name }})c)",
    "[s](<{{ item.name }}>\n'{{ item.name }}')",
    "[s]{% if item.name %}({{ item.name }}){% endif %}",
    "[a]:\n{{ item.name }}\n\n[a]",
    "> [a]:\n> {{ item.name }}\n\n[a]",
    "- [a]: {{ item.name }}\n\n[a]",
    "[a\nb]: {{ item.name }}\n\n[a b]",
    '[a]: x\n"{{ item.name }}"\n\n[a]',
    "[a]: x\n{{ item.name }}\n\n[a]",
    "[s\n{{ item.name }}](http://x)",
    "[a{{ item.name }}{{ item.name }}](x)",
    "[![{{ item.name }}]({{ item.name }})]({{ item.name }} '{{ item.name }}') b",
    "{% if item.name %}[{% endif %}{{ item.name }}{% if item.name %}](x){% endif %} b",
    "a {{ item.name }}\\(http://x)",
]
REFUSED = {
    "See <span title={{ item.name }}>s</span>": "cannot stand in a tag of HTML",
    "See <a href={{ item.name }}>s</a>": "cannot stand in a tag of HTML",
    "See <a{{ item.name }}>s</a>": "cannot stand in a tag of HTML",
    "See </{{ item.name }}>": "cannot stand in a tag of HTML",
    "See <a {% if item.name %}hr{% endif %}ef='{{ item.name }}'>": "write the name and the quote",
    'See <a {% if item.name %}src{% else %}href{% endif %}="{{ item.name }}">': "write the name",
    'See <b title="\n{{ item.name }}\n">': "a line of values alone may be blank",
    "[s](\n{{ item.name }}\n)": "a line of values alone may be blank",
    "{% if item.name %}[s]({% endif %}{{ item.name }})": "branches of an if or a loop",
    "[s]({{ item.name }}:{{ item.name }})": "would be the scheme of an address",
    "[s](<{{ item.name }}&colon;{{ item.name }}>)": "would be the scheme of an address",
    "[s]({{ item.name }}&{{ item.name }})": "would be the scheme of an address",
    'See <a href="{{ item.name }}://{{ item.name }}">': "would be the scheme of an address",
    "[s](x {{ item.name }})": "beside the address of a link",
    "[a]: x {{ item.name }}": "beside the address of a link",
    "x {{ item.name }}({{ item.name }})": "would make a link with this bracket",
    "[s]{{ item.name }}({{ item.name }})": "would make a link with this bracket",
    "`a\n{{ item.name }}`": "cannot stand between backticks",
    "{% if item.name %}`{% endif %}{{ item.name }}": "cannot stand between backticks",
    "see <?a {{ item.name }} ?>": "opens a block of HTML",
    'See <b title="': "cannot begin or end in a link or tag",
    "[a]:\n{% include 'mine/other.md.j2' %}": "cannot begin or end in a link or tag",
}
LAYOUT = "{# Uses: items. #}\n{% for item in items %}{{ item.text }}{% endfor %}"


def renderer(source: str) -> pf.Renderer:
    files = {"mine/layout.md.j2": LAYOUT, "mine/item.md.j2": f"{source}\n", "mine/other.md.j2": ""}
    return pf.Renderer(templates=files, layout="mine", format="markdown")


def elements(text: str) -> list[Any]:
    """Return what two readers see: the elements and their attributes, of addresses with schemes."""
    pages = (
        cmarkgfm.markdown_to_html(text, Options.CMARK_OPT_UNSAFE),
        MarkdownIt("commonmark").render(text),
    )
    found: list[Any] = []
    for page in pages:
        for element in lxml_html.fromstring(f"<div>{page}</div>").iter():
            found.append((element.tag, sorted(set(element.attrib) - {"alt"})))
            for name in {"href", "src", "srcset"} & set(element.attrib):
                scheme = re.match(r"[A-Za-z][\w+.-]*:", "".join(str(element.attrib[name]).split()))
                assert not scheme or scheme[0].lower() in ("http:", "https:", "mailto:"), text
    return found


@pytest.mark.parametrize("source", READ)
def test_a_value_in_a_link_or_tag_changes_nothing_around_it(source: str) -> None:
    made = renderer(source)
    harmless = elements(made.render([{"content": "x", "name": "harmless"}]).text)
    for value in HOSTILE:
        text = made.render([{"content": "x", "name": value}]).text
        assert elements(text) == harmless, text


@pytest.mark.parametrize("source", REFUSED)
def test_a_place_that_no_escape_suits_is_refused(source: str) -> None:
    with pytest.raises(TemplateError, match=REFUSED[source]):
        renderer(source).render([{"content": "x", "name": "a"}])


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("see [1]: {{ item.name }}", "see [1]: a: b"),
        ("[^1]: see {{ item.name }}", "[^1]: see a: b"),
        ("- [x] {{ item.name }}", "- [x] a: b"),
        ("i <3 it, don't {{ item.name }}", "i <3 it, don't a: b"),
        ("x `a` <b>c</b> <!-- it's --> {{ item.name }}", "x `a` <b>c</b> <!-- it's --> a: b"),
        ("a \\` {{ item.name }}", "a \\` a: b"),
        ("[Name\\]: the {{ item.name }}", "[Name\\]: the a: b"),
        ("[a]: x\n{{ item.content | fence }}", "[a]: x\n```\nx\n```"),
        ("[a]:\n{{ item.content | fence }}", "[a]:\n```\nx\n```"),
        ("`a`\n\n`b\n\n{{ item.name }}", "`a`\n\n`b\n\na: b"),
        ("see <https://{{ item.name }}>", "see <https://a:%20b>"),
    ],
)
def test_elsewhere_a_value_stays_as_it_is(source: str, printed: str) -> None:
    result = renderer(source).render([{"content": "x", "name": "a: b"}])
    assert result.text.strip() == printed


def test_long_paragraphs_that_leave_something_open_are_read_in_little_time() -> None:
    lines = "`a <b [c](d\n" * 3000 + "[s](x 'y\n" * 3000 + '<a b="c' * 3000
    with pytest.raises(TemplateError):
        renderer(lines).render([{"content": "x"}])
