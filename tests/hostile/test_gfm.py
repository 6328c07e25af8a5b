"""Labels of Markdown are inert for readers of GitHub-flavoured Markdown too, and for pandoc,
kramdown and MDX: no tag, task box, footnote, alert, table cell, link or block comes from
an item.

A bare URL may become a link to itself, and a word may come out strong: those are looks.
"""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from typing import Any

import hostile_strings as hostile
import judges
import parsers
import pytest
from campaigns import items
from example_counts import cases
from hypothesis import example, given
from hypothesis import strategies as st

import promptforge as pf

READERS = [name for name in parsers.GFM if name in parsers.MARKDOWN]
SLOWER = [name for name in parsers.MARKDOWN if name.split(" ")[0] in (*parsers.PROGRAMS, "mdx")]
"""Readers that are programs, and MDX, where they are installed."""
TABLE = "| c | d |\n|---|---|\n"
PAGES = (
    *("### A", "### A #", "### A:B", "## A: B (A)", "A", "A B", "AB", "A, B", "A\nB", "A\n\nB"),
    *("- A", "1. A", "> A", "- A B", "- AB", "> A B", "* A: B", "- [ ] A", "> [!NOTE]\n> A"),
    *("**A** x", "_A_ x", "__A__", "~~A~~ x", "_A_B", "(A) B", "x A<br>", "x A\n\n    code"),
    *("[A](x)", "![A](x)", "[^1]: A", "[^1]: A B", "--- A ---", "x\n--- A", "x\n-A-", "x\n=A"),
    *("C B", "A C", "AC", "CB", "x A: `x` B", "A and B `x`", "`x` A", "`x`A", "P", "> P"),
    *(f"{TABLE}| A | B |", f"{TABLE}| AB | x |", f"{TABLE}| C | x |", f"{TABLE}| A C | x |"),
    *("c | d\n---|---\nx | A", "| A | B |\n| B | A |"),
)
"""Lines of templates: A and B are labels, C is inline code, P is running text."""
PRINTED = {
    "A": "{{ item.name }}",
    "B": "{{ item.metadata.b }}",
    "C": "{{ item.name | code }}",
    "P": "{{ item.name | prose }}",
}
PARTS = (
    *(*hostile.AUTOLINKS, *hostile.GFM, *hostile.MARKDOWN, *hostile.HTML, *hostile.OTHER_READERS),
    *("http://a", "https://a.b/", "www.a.b", "a@b.cd", "xmpp:a@b.c", "é.com", "http://a.b)"),
    *(
        "[",
        "]",
        "(",
        ")",
        "](x)",
        "[a]: x",
        "<",
        "\\",
        "`",
        "``",
        "*",
        "~",
        "|",
        "-",
        " ",
        "a",
        "\n",
    ),
    *("$", "$$", "$<b>", "$`", "~ ", "\xa0", "//a.b", "{#a .b}", "==", "^^"),
)
VALUE = st.lists(st.sampled_from(PARTS), max_size=5).map("".join)


@cache
def renderer(page: str) -> pf.Renderer:
    item = "".join(PRINTED.get(letter, letter) for letter in page)
    files = {
        "t/layout.md.j2": "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n",
        "t/item.md.j2": f"before\n\n{item}\n\nafter\n",
    }
    return pf.Renderer(templates=files, layout="t", tokenizer="characters", max_tokens=None)


def printed(page: str, a: str, b: str) -> str:
    record: dict[str, Any] = {"content": "x", "name": a, "path": "", "metadata": {"b": b}}
    return renderer(page).render([record]).text


def seen(reader: str, text: str, page: str) -> list[str]:
    return parsers.html_structure(parsers.MARKDOWN[reader](text), prose="P" in page)


@pytest.mark.slow
@cases(1500, shrink=False)
@given(st.sampled_from(PAGES), VALUE, VALUE)
@example("### A", "http://a<img src=x onerror=alert(1)>", "")
@example("A, B", "[a](b)&lt;", "x[^1]: x")  # a link reference over two values
@example("~~A~~ x", "~\xa0<]", "")  # a fence of the template's marks and the value's
@example("- A B", "", "[x] done")  # a task, for the first value is empty
@example("--- A ---", "-", "")
@example("A C", "$<script>", "")  # a formula from the label into the code
@example("A C", "$$<script>", "")
@example("A C", "\\$<script>", "")
@example("A", "~ <b>", "")  # a definition
@example("1. A", "a\xa0", "")  # a paragraph in the list
def test_readers_of_gfm_see_what_they_see_of_harmless_labels(page: str, a: str, b: str) -> None:
    # A value of blanks alone stays: where it is empty, other lines begin.
    tame = printed(page, "name" if a.strip() else a, "other" if b.strip() else b)
    text = printed(page, a, b)
    for reader in READERS:
        if not (page.startswith("[^1]") and reader == "marked"):  # it knows no footnotes
            assert seen(reader, text, page) == seen(reader, tame, page), (reader, text)


NO_MDX = re.compile(r"<br>|^[AP]|^\[\^")
"""Pages that MDX cannot read, or whose label it may take for a line of a program."""


@pytest.mark.slow
@cases(300, shrink=False)
@given(st.sampled_from(PAGES), VALUE, VALUE)
@example("A\n\nB", "", "{.b}")  # an attribute of the next paragraph
@example("`x`A", "{=html}", "")
@example("x A", "a | b", "")
@example("A", "x) ", "")
@example("> A", "#.", "")
@example("### A", "#", "")
@example("_A_B", "", "\t%")
@example("A C", "\\def\\{}>", "")
@example("- A", "~>", "")
@example("*A*", "[a] [^1]: b", "")  # an abbreviation
@example("*A:1*", "[a] [b]", "")
@example("| A | B |\n| B | A |", "`x", "`")
@example("### A\n*A:1*", "routes/$id.tsx", "")  # a formula over both lines
@example("### A", "a < ", "")  # a tag of MDX that begins at the end
@example("### A\n*B:1*", "a\\(b", "c\\)d")  # a formula of MultiMarkdown over both lines
@example("A\n```\nx\n```", "[a]@b", "")  # a citation that looks beyond its line
def test_other_readers_see_what_they_see_of_harmless_labels(page: str, a: str, b: str) -> None:
    tame = printed(page, "name" if a.strip() else a, "other" if b.strip() else b)
    text = printed(page, a, b)
    for reader in SLOWER:
        if reader != "mdx" or not NO_MDX.search(page):
            assert seen(reader, text, page) == seen(reader, tame, page), (reader, text)


def test_a_reader_that_finds_no_end_is_ended_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "MAX_READING_SECONDS", 0.1)
    with pytest.raises(parsers.ReaderGaveUpError, match="sleep gave up on a text of 3 bytes"):
        parsers.Program("sleep", "60").read("gfm", "# a")
    # This one closes its pipe, and ends later: it is gone before the next text.
    for_two = parsers.Program("sh", "-c", "read line; exec >&-; exec sleep 60")
    for _ in range(2):
        with pytest.raises(parsers.ReaderGaveUpError, match="sh gave up"):
            for_two.read("gfm", "# a")
        assert for_two._process is not None
        assert for_two._process.poll() is not None


@pytest.mark.nightly
@pytest.mark.skipif("pandoc markdown" not in SLOWER, reason="there is no pandoc")
def test_an_item_that_a_reader_gives_up_on_is_counted_and_no_break(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parsers, "MAX_READING_SECONDS", 1)
    content = f"-----\n{'[' * 28}\nx[^1]"
    endless = {"content": content, "path": "x", "start_line": 1, "end_line": 3}
    with pytest.raises(parsers.ReaderGaveUpError) as gave_up:
        items.check([endless], "chunks", "markdown", "fenced")
    found = items._culprits([endless], "chunks", "markdown", "fenced", gave_up.value)
    assert found == ([], 1)


@pytest.mark.skipif("pandoc markdown" not in SLOWER, reason="there is no pandoc")
def test_what_pandoc_makes_of_a_heading_and_of_a_long_tag_is_a_look() -> None:
    def tags(page: str, reader: str) -> list[str]:
        return parsers.html_structure(parsers.MARKDOWN[reader](page))

    # It finds a name in brackets in the heading, and links to it; a footnote is still seen.
    assert tags("### [a]\n\nb [a] c\n", "pandoc markdown_mmd") == ["h3", "/h3", "p", "/p"]
    assert "section with a strange tag" in tags("b[^a]\n\n[^a]: c\n", "pandoc markdown_mmd")
    for length, strange in ((40, False), (41, True)):
        found = tags(f"```{'-' * length}\nx\n```\n", "pandoc markdown")
        assert ("strange" in " ".join(found)) is strange


@pytest.mark.skipif("pandoc markdown" not in SLOWER, reason="there is no pandoc")
def test_no_command_of_tex_takes_what_follows_a_heading() -> None:
    for command in ("x", "emph", "textbf", "begin", "def", "newcommand", "t", "verb", "it", "item"):
        for rest in ("", " ", "%", ".", "{", "[", "*", " [a", "{a}", " %a", " b", "\\x.h"):
            page = f"{printed('### A', f'a {chr(92)}{command}{rest}', '')}[cut]\n\n```\nx\n```\n"
            html = parsers.MARKDOWN["pandoc markdown"](page)
            assert "after [cut]" in html and "<code>x</code>" in html, page


def test_all_programs_are_here() -> None:
    missing = [name for name in parsers.PROGRAMS if not any(name in each for each in SLOWER)]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not here: nothing was read by it")


LITERAL = (
    *("http://a<b>", "a | b", "[x] done", "[^1]", "^[note]", "[[page]]", "~~a~~", "a](b)", "<b>"),
    *("[!NOTE]", "&lt;", "a\\|b", ": a", "~a~", "*a*", "`a`", "[a]: b", "# a", "1. a"),
    *("$a$", "$$", "\\$a$", "~ a"),
)


@pytest.mark.parametrize("value", LITERAL)
def test_a_reader_gets_the_literal_label(value: str) -> None:
    for page in ("### A", "- A", "x A", "x | A", f"{TABLE}| A | x |"):
        html = judges.COMMONMARK.enable("table").render(printed(page, value, ""))
        assert value in unescape(html), (page, html)


@pytest.mark.parametrize(
    "value",
    ["~/notes.md", "routes/$id.tsx", "a_b[0].py", "src/__init__.py", "C:\\x y", "a~b~", "f(x): y"],
)
def test_ordinary_names_stay_as_they_are(value: str) -> None:
    # One dollar is enough: pandoc takes a heading and what follows, to the next one, for a formula.
    inert = value.replace("a~b~", "a\\~b\\~").replace("$", "\\$")
    assert printed("### A", value, "") == f"before\n\n### {inert}\n\nafter\n"


OTHERS: dict[str, tuple[str, str, str]] = {
    "an attribute of the next block": ("@\n\n`x`", "{.b}", "pandoc commonmark_x"),
    "raw HTML": ("`<i>`@", "{=html}", "pandoc markdown"),
    "a list": ("@", "a) x", "pandoc markdown"),
    "a command of TeX": ("### @\n```\nx\n```", "\\emph", "pandoc markdown"),
    "a table": ("@", "a | b", "kramdown"),
    "an expression": ("@", "{a}", "mdx"),
    "a program": ("@", "import a from 'a'", "mdx"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_reader_sees_what_is_not_escaped(name: str) -> None:
    page, value, reader = OTHERS[name]
    if reader not in SLOWER:
        pytest.skip(f"{reader} is not here")
    tags = [seen(reader, page.replace("@", text), "") for text in ("harmless", value)]
    assert tags[0] != tags[1]


PYTHONS = ("cmarkgfm with gfm", "markdown-it-py with gfm")
NODES = ("marked", "micromark", "remark")
RAW: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a tag that a URL hides": (
        *("### @", "http://a\\<img src=x>"),
        ("markdown-it-py with gfm", "pyromark with gfm", "pyromark with all", "markdown-it"),
    ),
    "a tag": ("### @", "<img src=x>", ()),
    "a task box": ("- @", "[x] done", ()),
    "an alert": (
        *("> @\n> x", "[!NOTE]"),
        tuple(name for name in parsers.GFM if name != "markdown-it-py with gfm"),
    ),
    "a footnote": ("x[^1]\n\n@", "[^1]: y", ()),
    "a cell": ("| @ | d |\n|---|---|\n| 1 | 2 |", "a | b", ()),
    "a table": ("a | b\n@", "--- | ---", ()),
    "a definition": ("term\n@", ": text", (*PYTHONS, *NODES)),
    "a definition by a tilde": (
        *("term\n\n@", "~ text"),
        tuple(name for name in parsers.GFM if name != "markdown-it"),
    ),
    "a formula": (
        *("@ `$<script>`", "$a"),
        tuple(name for name in parsers.GFM if " with all" not in name),
    ),
    "a link": ("@", "[a](b)", ()),
    "a link reference": ("[a]\n\n@", "[a]: b", ()),
    "a fence": ("@", "~~~ a", ()),
}
"""Unsafe values in their places, and the readers to which they are harmless."""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", RAW)
def test_a_reader_sees_what_is_not_escaped(name: str, reader: str) -> None:
    page, value, blind = RAW[name]
    tags = [seen(reader, page.replace("@", text), "") for text in ("harmless", value)]
    assert (tags[0] != tags[1]) is (reader not in blind)


def test_all_readers_are_here() -> None:
    assert {name for name in parsers.GFM if " with " in name} <= set(READERS)
