"""Variants of HTML: whole blocks in their places; no tag, comment or entity is cut."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import divided, every_variant, marks

import promptforge as pf
from promptforge import Item, render
from promptforge.trimming.html import divide
from promptforge.trimming.html_blocks import clean_page

MARKS = marks("[cut]")
MARK = re.compile(r"<!-- (?:\[cut\][^\n]*|…) -->|/\* … \*/|\[…\]")

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Kettles - The Kitchen</title>
  <style>
    p { color: red }
  </style>
  <script>if (a < b) { document.write("<p>no. text") }</script>
</head>
<body>
<nav><ul>
  <li><a href="/">Home</a></li>
  <li><a href="/pots">Pots</a></li>
</ul></nav>
<main class="content">
  <h1 id="kettles">Kettles</h1>
  <p>A kettle boils <a href="#w" title="a > b. C">water</a>. It is small.
  <ul class="toc">
    <li><a href="#lids">Lids</a>
    <li><a href="#use">Use</a>
  </ul>
  <img alt="" src="data:image/png;base64,""" + "iVBORw0KGgo" * 40 + """">
  <h2 id="lids">Lids &amp; handles</h2>
  <p>A lid has:</p>
  <ul>
    <li>a knob;
      <ul><li>of wood</li><li>of steel</li></ul>
    </li>
    <li>a rim.</li>
  </ul>
  <table>
    <thead><tr><th>Lid<th>Size</thead>
    <tr><td>small<td>10 cm</tr>
    <tr><td>large<td>20 cm</tr>
  </table>
  <h2 id="use">Use</h2>
  <dl><dt>fill<dd>Open the lid. Pour water.<dt>boil<dd><p>Wait.</p></dl>
  <pre><code>""" + "".join(f"step {n} &lt;x&gt;\n" for n in range(20)) + """</code></pre>
  <!-- the end -->
</main>
<footer><p>Copyright</p></footer>
</body>
</html>
"""  # fmt: skip


class _Reader(HTMLParser):
    """The reader of the standard library, as a judge of where a tag ends."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)


def is_within_tag(fragment: str) -> bool:
    """Tell whether a text ends within a tag, a comment or an entity."""
    reader = _Reader()
    reader.feed(fragment)
    return "<" in reader.rawdata and reader.cdata_elem is None


def assert_a_part(short: str, whole: str) -> None:
    """Assert that all but the marks stands in `whole` in this order, and ends outside of tags."""
    place = 0
    for fragment in MARK.split(short):
        said = fragment.strip()
        found = whole.find(said, place)
        assert found >= 0, (said, short)
        place = found + len(said)
        assert not is_within_tag(said), said


def test_page_in_pieces() -> None:
    pieces = divided(divide, PAGE, language="html")
    for text in every_variant(pieces):
        assert_a_part(text, PAGE)
        assert text.count("<pre>") == text.count("</pre>")
        assert "of wood" not in text or "a knob" in text
        assert "a knob" not in text or "A lid has:" in text
        assert "10 cm" not in text or "<th>Size" in text
        assert ("<dt>fill" in text) == ("<dd>Open" in text)
        assert ("<dt>boil" in text) == ("Wait." in text)
    texts = [variant.text for variant in pieces.variants()]
    assert "base64" not in texts[5]
    assert texts[-1] == (
        "<!-- [cut] -->\n<!-- … -->\n"
        '  <h1 id="kettles">Kettles</h1>\n'
        '  <p>A kettle boils <a href="#w" title="a > b. C">water</a>. It is small.\n'
        "<!-- … -->"
    )


def test_page_under_a_query() -> None:
    item = Item(name="kettles.html", kind="file", language="html", content=PAGE)
    text = str(render([item], query="what is a large lid's size", max_tokens=100))
    assert text == (
        "### kettles.html\n\n```html\n<!-- [Content truncated...] -->\n"
        '<!-- … -->\n  <h1 id="kettles">Kettles</h1>\n'
        '<!-- … -->\n  <h2 id="lids">Lids &amp; handles</h2>\n  <p>A lid has:</p>\n'
        "<!-- … --><tr><th>Lid<th>Size<!-- … -->\n"
        "    <tr><td>large<td>20 cm</tr>\n<!-- … -->\n```"
    )


def test_outline_of_a_page() -> None:
    pieces = divide(PAGE, marks=MARKS._replace(marker=""))
    assert pieces is not None
    skeleton = [index for index, part in enumerate(pieces.parts) if part.skeleton]
    assert [line.strip() for line in pieces.outline_text(skeleton).split("\n") if line] == [
        '<h1 id="kettles">Kettles</h1>',
        '<p>A kettle boils <a href="#w" title="a > b. C">water</a>. It is small.',
        '<h2 id="lids">Lids &amp; handles</h2>',
        '<h2 id="use">Use</h2>',
    ]  # fmt: skip


def test_page_of_one_line_counts_characters() -> None:
    page = "".join(line.strip() for line in PAGE.split("\n"))
    pieces = divided(divide, page, language="html")
    for text in every_variant(pieces):
        assert_a_part(text, page)
    last = pieces.variants()[-1].text
    assert re.match(r"<!-- \[cut\] -->\n<!-- … --><h1", last)


def test_script_keeps_its_tags() -> None:
    lines = "".join(f"  draw(kettle, {n}); // step {n} of the drawing\n" for n in range(60))
    page = f"<h1>A</h1>\n<p>One.</p>\n<script>\n{lines}</script>\n<p>Two.</p>\n"
    pieces = divided(divide, page, language="html")
    marked = 0
    for text in every_variant(pieces):
        assert_a_part(text, page)
        assert text.count("<script>") == text.count("</script>")
        marked += bool(re.search(r"/\* … \*/\n[^<]*</script>", text))
    assert marked
    item = Item(name="page.html", kind="file", language="html", content=page)
    found = str(render([item], query="step 37 of the drawing", max_tokens=250))
    assert "draw(kettle, 37)" in found


def test_query_is_answered_by_text_not_by_tags() -> None:
    page = (
        "<h1>Tools</h1>\n<ul class=contents>\n"
        + "".join(f'<li><a href="#k{n}">kettle size {n}</a></li>\n' for n in range(40))
        + "</ul>\n"
        + "".join(
            f'<p class="kettle size">Filler text number {n} of them.</p>\n' for n in range(40)
        )
        + "<h2>Kettles</h2>\n<p>The size of a kettle is two litres.</p>\n<h2>End</h2>\n<p>Bye.</p>\n"
    )
    item = Item(name="page.html", kind="file", language="html", content=page)
    text = str(render([item], query="what is the size of a kettle", max_tokens=100))
    assert "<p>The size of a kettle is two litres.</p>" in text
    assert "<h2>Kettles</h2>" in text
    assert "kettle size 3" not in text


FRAGMENTS = [
    "<p>", "</p>", "<li>", "<ul>", "</ul>", "<div class='a'>", "</div>", "<h1>A</h1>", "<h2>B",
    "</h2>", "<title>T</title>", "text. More text: it is long. ", "\n", " ", "<b>", "</b>", "<br>",
    "<script>", "</script>", "if (a<b) ", "<!--", "-->", "<!-- c -->", "<![CDATA[", "<?php x ?>",
    "<a href='#x'>", "</a>", "<a title=\"a > b\">", "<a title='", "\"", "'", "<", ">", "&amp;",
    "&", "<pre>", "</pre>", "line\n" * 12, "<table>", "<tr><th>a", "<tr><td>b", "</table>", "<nav>",
    "</nav>", "<main>", "</main>", "<dt>t", "<dd>d", "<svg><path/></svg>", "<svg>", "{% if a %}",
    "{{ a }}", "<%= a %>", "<IMG SRC='data:" + "x" * 400 + "'>", "<input a=b", "</", "\r", "<p ",
]  # fmt: skip
SOUND = [each for each in FRAGMENTS if each.count("<") == each.count(">") and each not in "<>'\""]
"""Fragments with whole tags: a judge reads these as we do."""


@given(fragments=st.lists(st.sampled_from(FRAGMENTS), max_size=60))
@cases(150)
def test_any_page_is_divided_and_shown_in_order(fragments: list[str]) -> None:
    text = "".join(fragments)
    found = divide(text, marks=MARKS)
    if found is not None:
        assert "".join(part.text for part in found.parts) == text
        for variant in every_variant(divided(divide, text)):
            place = 0
            for fragment in MARK.split(variant):
                said = fragment.strip()
                place = text.find(said, place) + len(said)
                assert place >= len(said)


@pytest.mark.slow
@given(fragments=st.lists(st.sampled_from(SOUND), max_size=60))
@cases(150)
def test_no_tag_is_cut(fragments: list[str]) -> None:
    text = "".join(fragments)
    found = divide(text, marks=MARKS)
    if found is not None and not is_within_tag(text):
        for variant in every_variant(found):
            assert_a_part(variant, text)


@given(fragments=st.lists(st.sampled_from(SOUND), min_size=5, max_size=60), tokens=st.integers(20, 200))  # fmt: skip
@cases(50)
def test_budget_holds(fragments: list[str], tokens: int) -> None:
    item = Item(
        name="p.html", kind="file", language="html", content="<p>x</p>" + "".join(fragments)
    )
    for query in (None, "long text"):
        assert render([item], query=query, max_tokens=tokens).tokens <= tokens


@pytest.mark.parametrize("path", sorted(Path("promptforge").rglob("*.html")), ids=str)
def test_own_pages(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    pieces = divide(text, marks=MARKS)
    if pieces:
        for variant in [*pieces.variants()][:: max(1, len(pieces.parts) // 20)]:
            assert_a_part(variant.text, text)


SHOP = (
    "<!doctype html><html><head><title>Kettles</title><style>.a{color:red}</style></head><body>"
    '<nav class="top"><a href="/">Home</a></nav><main id=m><!-- more --><h1 class="x">Kettles</h1>\n'
    '<div class="row"><p data-n="1">A <b>kettle</b> boils <a class="l" href="/w">water</a>.</p>\n'
    "<script>track()</script><aside>Buy now</aside><pre>a\n  b</pre><table><tr><td>1</td></tr></table>"
    '</div><img src="data:image/png;base64,AAAA" alt="A kettle"></main><footer>2026</footer></body></html>'
)


def test_clean_shows_the_main_part() -> None:
    text = pf.render([{"content": SHOP}], clean=True, layout="cited", format="plain").text
    assert text.strip() == (
        "<title>Kettles</title>\n<h1>Kettles</h1>\n"
        '<p>A <b>kettle</b> boils <a href="/w">water</a>.\n<pre>a\n  b</pre>\n<table>\n<tr><td>1\n'
        '</table>\n<img alt="A kettle">'
    )


def test_a_page_without_room_is_clean_before_it_is_cut() -> None:
    page = SHOP.replace("track()", "track(kettle, 37);\n" * 40)
    found = pf.render([{"content": page}], max_tokens=150)
    assert (found.items[0].status, found.items[0].form) == ("trimmed", "compact")
    assert "track(" not in found.text and "boils" in found.text
    assert "track(" in pf.render([{"content": page}], max_tokens=150, query="track 37").text
    assert pf.render([{"content": page}], max_tokens=150, compact=False).items[0].form == "trimmed"
    assert clean_page("<nav>Home</nav>") == "<nav>Home</nav>"
