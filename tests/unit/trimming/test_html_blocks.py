"""A page's tags and blocks: the text of a part, navigation, and time that grows with the page."""

from __future__ import annotations

import time

import pytest
from shipped_words import divided, marks

from promptforge.trimming.html import divide
from promptforge.trimming.html_blocks import clean_page, read_text

MARKS = marks("[cut]")


@pytest.mark.parametrize(
    "page",
    [
        "<nav><h1>A</h1><p>One. Two.</p><h2>B</h2><p>Three.</p>",  # an end tag is missing
        "<h1>A</h1><p>One. Two.</p><h2>B</h2><p>Three.</p><script>'<main>'</script>",
        "<main></main><h1>A</h1><p>One. Two.</p><h2>B</h2><p>Three.</p>",
        "<h1>A</h1><p>One. Two.</p><h2>B</h2><p>Three.</p><!-- <main> -->",
    ],
)
def test_text_is_not_taken_for_navigation(page: str) -> None:
    pieces = divided(divide, page, language="html")
    assert [part.text for part in pieces.parts if part.skeleton] == ["<h1>A</h1>", "<h2>B</h2>"]


def test_text_of_a_part() -> None:
    assert read_text('a<!-- b --><td>c<td>d<b>e</b>&amp;<img alt="f">') == "a c de& "
    assert read_text("<script>if (a<b) c()</script><script src='d'></script>") == "if (a<b) c()  "


def test_a_page_of_signs_is_read_once() -> None:
    dots = "//" + "." * 300_000
    assert clean_page(dots) == dots


@pytest.mark.nightly
@pytest.mark.parametrize(
    "unit",
    ["<", "<!--", "<!-- -", "<a ", '<a b="', "<a b='\" c=\"<a d='", "<div>", "<p>", "<p>a", "<b>a. ",
     "<script>", "<svg>", "<h1>", "<h1>a</h1>", "<pre>", "<pre>a\n", "</div>", "<ul><li>a", "&", "&a",
     "<a href=#>b", "<br>", "<table><tr><td>a", "<?", "<![", "<nav>a", "<main>a", "<!-- a -->",
     "<title>", "a. ", " \n", "<a\t", "<a =", "<i>a</i>. B", "<dt>", "<dt>a", "<dt>a<dd>b", "<aB <a", "<td>", "<b>", "<td>a</th>",
     "<td><th></th>"],
)  # fmt: skip
def test_long_pages_are_divided_in_a_time_that_grows_with_them(unit: str) -> None:
    text = "<h1>a</h1>" + unit * (200_000 // len(unit))
    begun = time.process_time()
    divide(text, marks=MARKS, language="html")
    assert time.process_time() - begun < 8
