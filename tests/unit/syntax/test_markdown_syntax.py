"""Labels, prose and fences of Markdown, judged by its readers."""

from __future__ import annotations

import re
from pathlib import Path

import hostile_strings as hostile
import pytest
from example_counts import cases
from hypothesis import example, given
from hypothesis import strategies as st
from judges import (
    COMMONMARK,
    GFM,
    LABEL_INLINES,
    normal_markdown,
)
from markdown_it.token import Token

import promptforge as pf
from promptforge.syntax import markdown_syntax as markdown
from promptforge.syntax.contents import clean_content
from promptforge.syntax.syntaxes import syntax_of
from promptforge.text import escape as escaping

LABELS = hostile.LABEL


def blocks(text: str) -> list[list[str]]:
    return [[t.type + t.tag for t in parser.parse(text)] for parser in (COMMONMARK, GFM)]


def inlines(text: str) -> list[Token]:
    return [child for token in COMMONMARK.parse(text) for child in token.children or ()]


def read(text: str) -> str:
    """Return what a reader of Markdown sees in the lines of `text`."""
    return "".join(t.content for t in inlines(text))


# --- Markdown labels ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "text", "printed"),
    [
        ("line", "src/a_b.py", "src/a_b.py"),
        ("line", "# a", "\\# a"),
        ("line", "#a", "\\#a"),  # a heading to Python-Markdown
        ("line", "> a", "\\> a"),
        ("line", "- a", "\\- a"),
        ("line", "-a", "-a"),
        ("line", "+ a", "\\+ a"),
        ("line", "* a", "\\* a"),
        ("line", "1. a", "1\\. a"),
        ("line", "12) a", "12\\) a"),
        ("line", "1.5", "1.5"),
        ("line", "---", "\\---"),
        ("line", "===", "\\==="),
        ("line", "___", "\\___"),
        ("line", "~~~", "\\~\\~\\~"),
        ("line", "```", "\\`\\`\\`"),
        ("line", "    a", "\\x20   a"),
        ("line", "\ta", "\\\\ta"),
        ("line", "| a |", "\\| a \\|"),
        ("line", "a) b", "a\\) b"),  # lists of pandoc
        ("line", "iv. b", "iv\\. b"),
        ("line", "(a) b", "\\(a) b"),
        ("line", "B. Russell", "B. Russell"),
        ("line", "a. b.py", "a\\. b.py"),
        ("line", "a.py", "a.py"),
        ("line", "(a)b", "(a)b"),
        ("line", "~/a", "~/a"),
        ("line", "~>", "\\~>"),
        ("line", "[a]: b", "\\[a]: b"),
        ("line", "<b>", "&lt;b>"),
        ("inline", "# a", "# a"),
        ("inline", "a < b", "a < b"),
        ("inline", "List<int>", "List&lt;int>"),
        ("inline", "a <= b", "a &lt;= b"),
        ("inline", "[a](b)", "\\[a&#93;(b)"),
        ("inline", "a[0] b[", "a\\[0] b\\["),
        ("inline", "a[b[0]].c", "a[b[0]].c"),
        ("inline", "a[0]", "a[0]"),
        ("inline", "*a*", "\\*a\\*"),
        ("inline", "a_b", "a_b"),
        ("inline", "&amp; & &x", "\\&amp; & &x"),
        ("inline", "a\\", "a\\\\"),
        ("inline", "C:\\x y", "C:\\x y"),
        ("inline", "C:\\x", "C:\\\\x"),
        ("inline", "C:\\x [a]", "C:\\\\x [a]"),
        ("inline", "src\\include\\x.h", "src\\\\include\\x.h"),
        ("inline", "src\\items\\x.h", "src\\items\\x.h"),
        ("inline", "C:\\r %a", "C:\\\\r %a"),
        ("inline", "src\\main\\texts.py", "src\\main\\texts.py"),
        ("inline", "a\r", "a\\\\r"),
        ("inline", "a \\emph", "a \\\\emph"),
        ("inline", "\\begin{a} b", "\\\\begin\\{a} b"),
        ("inline", "\\def x y", "\\\\def x y"),
        ("inline", "{id}", "\\{id}"),
        ("inline", "a | b", "a \\| b"),
        ("heading", "a | b", "a | b"),
        ("heading", "C #", "C \\#"),
        ("heading", "C#", "C#"),
        ("inline", "a\n# b", "a\\n# b"),
        ("cell", "a|b", "a\\|b"),
        ("cell", "a\\", "a\\\\"),
    ],
)
def test_a_markdown_label_prints(place: str, text: str, printed: str) -> None:
    assert syntax_of("md").places[place](text) == printed


@cases(300)
@given(LABELS.filter(str.strip))
def test_a_label_at_the_start_of_a_line_is_a_paragraph_and_reads_back(text: str) -> None:
    printed = markdown.md_line(text)
    assert blocks(printed) == [["paragraph_openp", "inline", "paragraph_closep"]] * 2
    assert {t.type for t in inlines(printed)} <= LABEL_INLINES - {"code_inline"}
    assert (
        read(printed).replace("_", "").strip()
        == read_label(escaping.to_label(text)).replace("_", "").strip()
    )


def read_label(label: str) -> str:
    """A blank is an escape at the begin of a line and lost at its end; `_a_` may be stressed."""
    blank = re.match(r"\s", label)
    code = ord(label[0]) if blank else 0
    return (
        f"\\{f'x{code:02x}' if code < 256 else f'u{code:04x}'}{label[1:]}" if blank else label
    ).strip()


@cases(300)
@given(LABELS)
def test_a_label_in_the_middle_of_a_line_reads_back(text: str) -> None:
    line = f"# a {markdown.md_inline(text)}b"
    assert blocks(line) == [["heading_openh1", "inline", "heading_closeh1"]] * 2
    assert {t.type for t in inlines(line)} <= LABEL_INLINES - {"code_inline"}
    assert read(line).replace("_", "") == f"a {escaping.to_label(text)}b".replace("_", "")


@cases(200)
@given(LABELS, LABELS)
def test_a_label_in_a_cell_stays_in_its_cell(one: str, two: str) -> None:
    text = f"| a | b |\n|---|---|\n| {markdown.md_cell(one)} | {markdown.md_cell(two)} |\n"
    assert GFM.parse(text)[0].type == "table_open"
    assert sum(t.type == "td_open" for t in GFM.parse(text)) == 2


@cases(200)
@given(LABELS)
@example("${7*7}")
def test_inline_code_is_one_span_and_reads_back(text: str) -> None:
    tokens = inlines(f"a {markdown.md_code(text)} b")
    label = escaping.to_label(text)
    if "$" in label:  # a formula may be open: no code
        assert "code_inline" not in {t.type for t in tokens}
        return
    assert [t.type for t in tokens] == ["text", "code_inline", "text"]
    assert tokens[1].content.strip() == label.strip()


@cases(200)
@given(hostile.TEXT)
def test_prose_is_paragraphs_of_text_and_nothing_else(text: str) -> None:
    printed = markdown.md_prose(text)
    for seen in blocks(printed):
        assert set(seen) <= {"paragraph_openp", "inline", "paragraph_closep"}
    assert {t.type for t in inlines(printed)} <= LABEL_INLINES | {"softbreak", "hardbreak"}


def test_prose_keeps_its_lines_and_opens_no_block_in_any() -> None:
    assert markdown.md_prose("One.\n\nTwo\nthree.") == "One.\n\nTwo\nthree."
    assert (
        markdown.md_prose("One.\n# Two\n\n- a `b`\n1. c\n")
        == "One.\n\\# Two\n\n\\- a \\`b\\`\n1\\. c"
    )
    assert markdown.md_prose("  One <b>.\n    code\n \nend") == "One &lt;b>.\ncode\n\nend"
    assert markdown.md_prose("[a\nb]: /x") == "\\[a\nb]: /x"
    assert markdown.md_prose("import a\nimports\n\nexport b") == " import a\nimports\n\n export b"


def test_prose_is_whole_however_long_it_is() -> None:
    for text in ("word " * 9000 + "`end", "One line.\n" * 9000 + "# end"):
        assert len(markdown.md_prose(text)) == len(text) + 1


# --- fences ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "language", "mark", "tag"),
    [
        ("a", "python", "```", "python"),
        ("a", None, "```", ""),
        ("a ``` b", "c++", "````", "c++"),
        ("`" * 5, "C#", "`" * 6, "csharp"),
        ("a", "vb.net", "```", "vbnet"),
        ("``", "a b", "```", ""),
        ("a", "`", "```", ""),
        ("a", "x\ny", "```", ""),
        ("a", "a" * 41, "```", ""),
        ("a", 3, "```", "3"),
        ("`" * 23, None, "`" * 24, ""),
        ("`" * 99 + "\n~~~~", None, "`" * 100, ""),
    ],
)
def test_a_fence_is_as_long_as_its_text_needs(
    text: str, language: object, mark: str, tag: str
) -> None:
    assert markdown.fence(text, language) == f"{mark}{tag}\n{text}\n{mark}"


def test_where_no_fence_is_long_enough_each_line_is_prefixed() -> None:
    text = f"{'`' * 100}\n~~~\nend"
    cleaned = clean_content(text, syntax_of("md"))
    assert cleaned.text == "".join(f"| {line}\n" for line in text.split("\n"))[:-1]
    assert [code for code, _ in cleaned.notes] == ["PF305"]
    tokens = COMMONMARK.parse(markdown.fence(cleaned.text))
    assert [t.type for t in tokens] == ["fence"]
    assert tokens[0].content == cleaned.text + "\n"


@cases(300)
@given(hostile.TEXT, LABELS | st.none())
def test_a_fence_is_one_block_that_holds_the_text(text: str, language: str | None) -> None:
    cleaned = clean_content(text, syntax_of("md"))
    for parser in (COMMONMARK, GFM):
        first, *rest = parser.parse(markdown.fence(cleaned.text, language) + "\nafter\n")
        assert first.type == "fence"
        assert [t.type for t in rest] == ["paragraph_open", "inline", "paragraph_close"]
        assert re.fullmatch(r"[\w+\-]{0,40}", first.info, re.ASCII)
        if not any(code == "PF305" for code, _ in cleaned.notes):
            assert first.content == f"{normal_markdown(text)}\n"
        assert markdown.fence(text, language) == markdown.fence(cleaned.text, language)


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize(
    "item",
    [
        "text {{ item.content | fence }}",
        "{{ item.content | fence }} text",
        "{{ item.content | fence }}{{ item.name }}",
        "- {{ item.content | fence }}\n- x",
        "- x\n  {{ item.content | fence }}\n- y",
        "1. x\n\n   {{ item.content | fence }}\n2. y",
        "> {{ item.content | fence }}",
        "    {{ item.content | fence }}",
        "| a |\n|---|\n| {{ item.content | fence }} |",
        "<div>\n\n{{ item.content | fence }}\n</div>\n\n\n",
        "{% set x %}{{ item.content | fence }}{% endset %}a {{ x }} b",
        "{% macro m(a) %}{{ a | fence }}{% endmacro %}a {{ m(item.content) }} b",
        "{% for x in [1, 2] %}{{ item.content | fence }}{% endfor %}b",
        "{% if item.name %}a {% endif %}{{ item.content | upper | lower | fence }}",
        "{{ item.content }}",
        "a {{ item.content }}",
        "# {{ item.content }}",
        "- {{ item.content }}",
        "> - {{ item.content }}",
        "{{ item.content | code }}",
        "{{ [item.name, item.content | fence] | join(' ') }}",
        "{{ (item.content | fence) ~ item.name }}",
        "{% set x %}{{ item.content }}{% endset %}# {{ x }}",
        "{% macro m(a) %}{{ a }}{% endmacro %}- {{ m(item.content) }}",
        "{{ item.metadata }}",
        "{{ item }}",
    ],
)
@pytest.mark.parametrize(
    "page", ["{{ item.text }}", "- {{ item.text }}", "> a {{ item.text }} b", "# {{ item.text }}"]
)
def test_no_careless_markdown_template_lets_content_out(
    item: str, page: str, tmp_path: Path
) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "item.md.j2").write_text(item, "utf-8")
    (tmp_path / "t" / "layout.md.j2").write_text(
        f"{{% for item in items %}}\n{page}\n{{% endfor %}}\n", "utf-8"
    )
    renderer = pf.Renderer(
        templates=tmp_path, layout="t", format="markdown", max_tokens=None, dedupe=False
    )

    def structure(bad: str) -> list[list[str]]:
        items = [
            {"content": bad, "metadata": {"k": bad}, "name": "n"},
            {"content": "last", "name": "n"},
        ]
        return [
            [t.type for t in parser.parse(renderer.render(items).text) if t.type != "inline"]
            for parser in (COMMONMARK, GFM)
        ]

    expected = structure("tame")
    for text in (
        "```\n# P",
        "~~~\n# P",
        "a\n\n# P",
        "# P",
        "- P",
        "> P",
        "1. P",
        "---",
        "<b>\n\n# P",
        "a\r\r# P",
    ):
        assert structure(text) == expected, text


@pytest.mark.parametrize(
    "page", ["{{ item.text }}", "- {{ item.text }}", "> a {{ item.text }} b", "# {{ item.text }}"]
)
def test_prose_lets_out_no_more_than_paragraphs_of_words_do(page: str, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "item.md.j2").write_text("{{ item.content | prose }}", "utf-8")
    (tmp_path / "t" / "layout.md.j2").write_text(
        f"{{% for item in items %}}\n{page}\n{{% endfor %}}\n", "utf-8"
    )
    renderer = pf.Renderer(
        templates=tmp_path, layout="t", format="markdown", max_tokens=None, dedupe=False
    )

    def structure(content: str) -> list[list[str]]:
        text = renderer.render([{"content": content}, {"content": "last"}]).text
        return [
            [t.type for t in parser.parse(text) if t.type != "inline"]
            for parser in (COMMONMARK, GFM)
        ]

    fences = ["```\n# P", "~~~\n# P", "<b>\n\n<!--", "a\n\n    code\nb"]
    blocks = ["a\n\n# P", "- P", "a\n- P\n  - Q", "a\n1) P", "> P\n> Q", "a\n===", "a\r\r# P"]
    for text in (*fences, *blocks, "a | b\n--- | ---\nc | d", "[a\nb]: /x\nc"):
        tame = re.sub(r"[^\n]+", "a", text.replace("\r", "\n"))
        assert structure(text) == structure(tame), text


def test_a_label_behind_another_value_makes_no_mark_with_it() -> None:
    joined = syntax_of("md").places["joined"]
    assert [joined(text) for text in ("~/a", "(a", "#a", "!a")] == ["\\~/a", "\\(a", "\\#a", "\\!a"]


def test_a_title_holds_its_signs_as_entities() -> None:
    title = syntax_of("md").places["title"]
    assert title("a|b") == "a&#124;b"
    assert title('"*_') == "&#34;&#42;&#95;"
