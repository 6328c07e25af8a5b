"""Each escape, judged by a reader of its syntax: tables for authors, laws for all other input."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
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
    json_value,
    normal_markdown,
    normal_xml,
    xml_root,
    yaml_value,
)
from markdown_it.token import Token

import promptforge as pf
from promptforge.templating.autoescape import PRINTED_VALUE
from promptforge.text import escape as escaping
from promptforge.text import format as wording
from promptforge.text.delimiters import LINE_END_CHARACTERS, TemplateLines
from promptforge.text.escape import Content, FencedBlock, Safe, clean_content
from promptforge.text.places import PLACES, syntax_of

LABELS = hostile.LABEL
WORDS = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | LABELS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LABELS, inner, max_size=3),
    max_leaves=5,
)


def blocks(text: str) -> list[list[str]]:
    return [[t.type + t.tag for t in parser.parse(text)] for parser in (COMMONMARK, GFM)]


def inlines(text: str) -> list[Token]:
    return [child for token in COMMONMARK.parse(text) for child in token.children or ()]


def read(text: str) -> str:
    """Return what a reader of Markdown sees in the lines of `text`."""
    return "".join(t.content for t in inlines(text))


# --- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (1.0, "1.0"),
        (1e300, "1e+300"),
        (["a", None, 2], "a, , 2"),
        (("a", ["b", "c"]), "a, b, c"),
        ({"a": 1, "b": {"c": True}}, "a: 1, b: c: true"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x00\x1b\x7f\x9b", "\\x00\\x1b\\x7f\\x9b"),
        ("a\u202eb\u200bc\ufeff", "a\\u202eb\\u200bc\\ufeff"),
        ("\ud800", "\\ud800"),
        ("\u2028\u2029\x85", "\\u2028\\u2029\\x85"),
        ("\U000e0041", "\\U000e0041"),
        ("héllo wörld 日本 א", "héllo wörld 日本 א"),
        ("👩‍👩‍👧‍👦 🇩🇪 ❤️", "👩‍👩‍👧‍👦 🇩🇪 ❤️"),
        ("a\u200db", "a\\u200db"),
        ("\ufe0f\ufe0f", "\\ufe0f\\ufe0f"),
        ("src/a_b-c.py (1) [2] {3}", "src/a_b-c.py (1) [2] {3}"),
    ],
)
def test_a_label_is_one_line_on_which_all_can_be_seen(value: object, shown: str) -> None:
    assert escaping.to_label(value) == shown


def test_a_long_label_is_cut() -> None:
    cap = escaping.MAX_LABEL_CHARACTERS
    assert escaping.to_label("a" * cap) == "a" * cap
    assert escaping.to_label("a" * (cap + 1)) == "a" * (cap - 1) + "…"


@cases(200)
@given(VALUES)
def test_every_label_is_one_line_without_anything_invisible(value: object) -> None:
    shown = escaping.to_label(value)
    assert len(shown.splitlines()) <= 1
    shown.encode()
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff]", shown)


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
    assert PLACES["md"][place](text) == printed


@cases(300)
@given(LABELS.filter(str.strip))
def test_a_label_at_the_start_of_a_line_is_a_paragraph_and_reads_back(text: str) -> None:
    printed = escaping.md_line(text)
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
    line = f"# a {escaping.md_inline(text)}b"
    assert blocks(line) == [["heading_openh1", "inline", "heading_closeh1"]] * 2
    assert {t.type for t in inlines(line)} <= LABEL_INLINES - {"code_inline"}
    assert read(line).replace("_", "") == f"a {escaping.to_label(text)}b".replace("_", "")


@cases(200)
@given(LABELS, LABELS)
def test_a_label_in_a_cell_stays_in_its_cell(one: str, two: str) -> None:
    text = f"| a | b |\n|---|---|\n| {escaping.md_cell(one)} | {escaping.md_cell(two)} |\n"
    assert GFM.parse(text)[0].type == "table_open"
    assert sum(t.type == "td_open" for t in GFM.parse(text)) == 2


@cases(200)
@given(LABELS)
@example("${7*7}")
def test_inline_code_is_one_span_and_reads_back(text: str) -> None:
    tokens = inlines(f"a {escaping.md_code(text)} b")
    label = escaping.to_label(text)
    if "$" in label:  # a formula may be open: no code
        assert "code_inline" not in {t.type for t in tokens}
        return
    assert [t.type for t in tokens] == ["text", "code_inline", "text"]
    assert tokens[1].content.strip() == label.strip()


@cases(200)
@given(hostile.TEXT)
def test_prose_is_paragraphs_of_text_and_nothing_else(text: str) -> None:
    printed = escaping.md_prose(text)
    for seen in blocks(printed):
        assert set(seen) <= {"paragraph_openp", "inline", "paragraph_closep"}
    assert {t.type for t in inlines(printed)} <= LABEL_INLINES | {"softbreak", "hardbreak"}


def test_prose_keeps_its_lines_and_opens_no_block_in_any() -> None:
    assert escaping.md_prose("One.\n\nTwo\nthree.") == "One.\n\nTwo\nthree."
    assert (
        escaping.md_prose("One.\n# Two\n\n- a `b`\n1. c\n")
        == "One.\n\\# Two\n\n\\- a \\`b\\`\n1\\. c"
    )
    assert escaping.md_prose("  One <b>.\n    code\n \nend") == "One &lt;b>.\ncode\n\nend"
    assert escaping.md_prose("[a\nb]: /x") == "\\[a\nb]: /x"
    assert escaping.md_prose("import a\nimports\n\nexport b") == " import a\nimports\n\n export b"


def test_prose_is_whole_however_long_it_is() -> None:
    for text in ("word " * 9000 + "`end", "One line.\n" * 9000 + "# end"):
        assert len(escaping.md_prose(text)) == len(text) + 1


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
    assert escaping.fence(text, language) == f"{mark}{tag}\n{text}\n{mark}"


def test_where_no_fence_is_long_enough_each_line_is_prefixed() -> None:
    text = f"{'`' * 100}\n~~~\nend"
    cleaned = clean_content(text, "md")
    assert cleaned.text == "".join(f"| {line}\n" for line in text.split("\n"))[:-1]
    assert [code for code, _ in cleaned.notes] == ["PF305"]
    tokens = COMMONMARK.parse(escaping.fence(cleaned.text))
    assert [t.type for t in tokens] == ["fence"]
    assert tokens[0].content == cleaned.text + "\n"


@cases(300)
@given(hostile.TEXT, LABELS | st.none())
def test_a_fence_is_one_block_that_holds_the_text(text: str, language: str | None) -> None:
    cleaned = clean_content(text, "md")
    for parser in (COMMONMARK, GFM):
        first, *rest = parser.parse(escaping.fence(cleaned.text, language) + "\nafter\n")
        assert first.type == "fence"
        assert [t.type for t in rest] == ["paragraph_open", "inline", "paragraph_close"]
        assert re.fullmatch(r"[\w+\-]{0,40}", first.info, re.ASCII)
        if not any(code == "PF305" for code, _ in cleaned.notes):
            assert first.content == f"{normal_markdown(text)}\n"
        assert escaping.fence(text, language) == escaping.fence(cleaned.text, language)


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


# --- XML ------------------------------------------------------------------------------------------


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
    assert PLACES["xml"][place](value) == printed


@cases(300)
@given(hostile.TEXT)
def test_content_in_xml_reads_back(text: str) -> None:
    root = xml_root(f"<a>{escaping.xml_text(clean_content(text, 'xml').text)}</a>")
    (element,) = root
    assert len(element) == 0
    assert (element.text or "") == normal_xml(text)


@cases(300)
@given(LABELS)
def test_a_label_in_xml_reads_back_in_text_and_in_an_attribute(text: str) -> None:
    (element,) = xml_root(f'<a b="{escaping.xml_attribute(text)}">{escaping.xml_text(text)}</a>')
    assert {str(k): str(v) for k, v in element.attrib.items()} == {"b": escaping.to_label(text)}
    assert (element.text or "") == escaping.to_label(text)


@cases(100)
@given(LABELS)
def test_what_is_fit_for_an_attribute_is_fit_for_text(text: str) -> None:
    (element,) = xml_root(f"<a>{escaping.xml_attribute(text)}</a>")
    assert (element.text or "") == escaping.to_label(text)


# --- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (1.0, "1.0"),
        (math.nan, "null"),
        (-math.inf, "null"),
        ('a"b\\c/d\n', '"a\\"b\\\\c/d\\n"'),
        ("é日😀<&>", '"é日😀<&>"'),
        ("\u202e", '"\\u202e"'),
        ("\U000e0041", '"\\udb40\\udc41"'),
        (Content("\u202e"), '"\u202e"'),
        ("\ud800", '"\ufffd"'),
        (Content("\ud800"), '"\ufffd"'),
        (["a", None], '["a", null]'),
        ({"a": [1, {"b": math.inf}]}, '{"a": [1, {"b": null}]}'),
    ],
)
def test_a_json_value_prints(value: object, printed: str) -> None:
    assert escaping.json_value(value) == printed


def without_surrogates(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


@cases(300)
@given(hostile.TEXT)
def test_a_text_in_json_reads_back_as_a_value_and_inside_a_string(text: str) -> None:
    for value in (text, clean_content(text, "json").text):
        assert json_value(escaping.json_value(value)) == without_surrogates(text)
        assert (
            json_value(f'"a {escaping.json_string(value)} b"') == f"a {without_surrogates(text)} b"
        )
        escaping.json_value(value).encode()


@cases(200)
@given(VALUES)
def test_every_value_is_json(value: object) -> None:
    assert type(json.loads(escaping.json_value(value))) in (type(value), type(None))
    assert isinstance(json_value(f'"{escaping.json_string(value)}"'), str)


# --- plain text -----------------------------------------------------------------------------------

FRAME: list[tuple[object, ...]] = [
    ("File: ", PRINTED_VALUE, " (lines ", PRINTED_VALUE, ")"),
    ("-" * 40,),
    ("--- ", PRINTED_VALUE, " ---"),
    ("  [", PRINTED_VALUE, "]"),
    (PRINTED_VALUE,),
    (PRINTED_VALUE, " x ", PRINTED_VALUE),
    ("",),
]


def test_a_frame_without_a_line_of_its_own_guards_nothing() -> None:
    lines = TemplateLines([(PRINTED_VALUE,), ("",), ("x",), (PRINTED_VALUE, ":", PRINTED_VALUE)])
    assert lines.mark("x\na:b\n\ny") == ("x\na:b\n\ny", 0, [])


@pytest.mark.parametrize(
    "line",
    [
        "File: a",
        "File:",
        "  File: a (lines 1-2)",
        "-" * 40,
        " " + "-" * 40 + "  ",
        "--- Man Pages ---",
        "[x]",
        "  [x]",
    ],
)
@pytest.mark.parametrize("end", hostile.LINE_ENDS[:9])
def test_a_line_that_could_be_of_the_frame_is_prefixed(line: str, end: str) -> None:
    lines = TemplateLines(FRAME)
    cleaned = clean_content(f"one{end}{line}{end}two", "txt", lines)
    end = "\n" if end == "\r" else end
    assert cleaned.text == f"one{end}| {line}{end}two"
    assert [code for code, _ in cleaned.notes if code == "PF304"] == ["PF304"]
    assert clean_content(line, "txt", lines).text == f"| {line}"


@pytest.mark.parametrize(
    "text", ["", "one", "a File: b", "-" * 39, "-" * 41, "x ---", "| File: a", "profile: x", "a x"]
)
def test_other_lines_stay_as_they_are(text: str) -> None:
    assert clean_content(text, "txt", TemplateLines(FRAME)) == (text, (), 0)


@cases(300)
@given(hostile.TEXT)
def test_the_guard_only_adds_its_mark_and_leaves_no_line_of_the_frame(text: str) -> None:
    lines = TemplateLines(FRAME)
    cleaned = clean_content(text, "txt", lines).text
    assert lines.mark(cleaned)[1] == 0
    assert cleaned.replace("| ", "") == clean_content(text, "txt").text.replace("| ", "")


@cases(300)
@given(st.lists(st.one_of(hostile.TEXT, st.sampled_from(["File: a", "-" * 40, "[x]"])), max_size=4))
@example(["one", "-" * 20 + "\x1b[2K" + "-" * 20])
@example(["a", "\u202e]x[  "])
def test_the_first_line_of_the_frame_is_found_in_a_text_as_line_by_line(texts: list[str]) -> None:
    lines, text = TemplateLines(FRAME), "\n".join(texts)
    pattern = f"[{LINE_END_CHARACTERS}]"
    assert lines.first(text) == next(filter(lines.match, re.split(pattern, text)), None)


# --- content --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("syntax", "text", "cleaned", "codes"),
    [
        ("md", "a\r\nb", "a\r\nb", []),
        ("md", "a\rb", "a\nb", ["PF303"]),
        ("xml", "a\rb", "a\nb", ["PF303"]),
        ("txt", "a\rb", "a\nb", ["PF303"]),
        ("json", "a\rb", "a\rb", []),
        ("md", "a\0b", "a\ufffdb", ["PF302"]),
        ("xml", "a\x01\x0bb", "a\ufffd\ufffdb", ["PF302"]),
        ("json", "a\0b", "a\0b", ["PF703"]),
        ("json", "\ud800", "\ufffd", ["PF302", "PF702"]),
        ("md", "a\u202eb", "a\u202eb", ["PF702"]),
        ("md", "\x1b[31m", "\x1b[31m", ["PF703"]),
        ("md", "é\n\t日", "é\n\t日", []),
    ],
)
def test_content_is_cleaned_and_what_was_changed_is_said(
    syntax: str, text: str, cleaned: str, codes: list[str]
) -> None:
    found = clean_content(text, syntax)
    assert type(found.text) is Content
    assert found.text == cleaned
    assert [code for code, _ in found.notes if code != "PF702" or "\ud800" not in text] == [
        code for code in codes if code != "PF702" or "\ud800" not in text
    ]


@cases(200)
@given(hostile.TEXT, st.sampled_from(["md", "xml", "json", "txt"]))
def test_what_is_clean_stays_as_it_is(text: str, syntax: str) -> None:
    once = clean_content(text, syntax).text
    if not once.startswith("| "):
        assert clean_content(once, syntax).text == once
    once.encode()


# --- safe text ------------------------------------------------------------------------------------

QUOTED = [("xml", "attribute"), ("json", "string"), ("yaml", "string")]
AGAIN = ("url", "autolink", "title")
"""Places of which the escapes are others than those that `{% set %}` may have used."""
ESCAPES = [(syntax, place) for syntax, places in PLACES.items() for place in places]


@pytest.mark.parametrize(("syntax", "place"), QUOTED)
def test_what_a_template_made_is_text_between_quotes(syntax: str, place: str) -> None:
    assert '"' not in PLACES[syntax][place](Safe('a "quoted" <word>')).replace('\\"', "")


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
    assert PLACES[syntax][place](made) is made


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


def test_an_unknown_ending_is_plain_text() -> None:
    assert [
        syntax_of(e) for e in ("md", "markdown", "xml", "html", "svg", "json", "jsonl", "txt")
    ] == [*("md", "md", "xml", "xml", "xml", "json", "json", "txt")]
    assert {syntax_of(e) for e in ("org", "", "MD", "x.md")} == {"txt"}


# --- filters that make text -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("code", "Code"),
        ("repl-history", "Repl-History"),
        ("man_page", "Man_Page"),
        ("2nd item", "2nd Item"),
        ("elm 13c arthur;fig don't", "Elm 13c Arthur;Fig Don'T"),
        ("KLUDGY HASH-SEARCH", "Kludgy Hash-Search"),
        ("ÉCOLE été", "École Été"),
        ("straße", "Straße"),
        ("ßa", "ßa"),
        ("ŉa", "ŉa"),
        ("İX", "İx"),
        ("", ""),
        (None, ""),
        (12, "12"),
    ],
)
def test_capitalize_is_lisps(text: object, printed: str) -> None:
    assert wording.capitalize(text) == printed


@cases(200)
@given(LABELS)
def test_capitalize_keeps_length_and_settles(text: str) -> None:
    once = wording.capitalize(text)
    assert len(once) == len(text)
    assert wording.capitalize(once) == once


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.855, "86%"),
        (0.845, "84%"),
        (0.005, "0%"),
        (0.015, "2%"),
        (0.025, "2%"),
        (0.285, "28%"),
        (0.575, "58%"),
        (12.5, "1250%"),
        (-0.5, "-50%"),
        ("0.25", "25%"),
        (None, "0%"),
        ("x", "0%"),
        (math.nan, "0%"),
        (math.inf, "0%"),
    ],
)
def test_percent_rounds_half_to_even_of_the_decimal(value: object, printed: str) -> None:
    assert wording.percent(value) == printed


@pytest.mark.parametrize(
    ("value", "places", "printed"),
    [
        (0.855, 2, "0.86"),
        (0.845, 2, "0.84"),
        (1.005, 2, "1.00"),
        (1.015, 2, "1.02"),
        (0.125, 2, "0.12"),
        (0.5, 0, "0"),
        (1.5, 0, "2"),
        (3, 2, "3.00"),
        (-1.25, 1, "-1.2"),
        ("0.5", 2, "0.50"),
        (None, 2, "0.00"),
        (math.nan, 2, "0.00"),
        (math.inf, 1, "0.0"),
    ],
)
def test_decimals_round_half_to_even_of_the_decimal(
    value: object, places: int, printed: str
) -> None:
    assert wording.decimals(value, places) == printed


@pytest.mark.parametrize(
    "value",
    [
        1e300,
        -1e300,
        1e-300,
        5e-324,
        -0.001,
        -0.0,
        10**40,
        1.7e308,
        -math.inf,
        "1e999999",
        "9" * 5000,
    ],
)
def test_no_number_is_too_large_or_too_small_for_a_filter(value: object) -> None:
    assert re.fullmatch(r"-?\d+%", wording.percent(value))
    assert re.fullmatch(r"-?\d+\.\d\d", wording.decimals(value))


@cases(300)
@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12),
    st.integers(0, 6),
)
def test_decimals_are_within_half_a_unit(value: float, places: int) -> None:
    printed = Decimal(wording.decimals(value, places))
    assert abs(printed - Decimal(repr(value))) <= Decimal(1).scaleb(-places) / 2
    assert abs(Decimal(wording.percent(value)[:-1]) - Decimal(repr(value)) * 100) <= Decimal("0.5")


def test_a_label_behind_another_value_makes_no_mark_with_it() -> None:
    joined = PLACES["md"]["joined"]
    assert [joined(text) for text in ("~/a", "(a", "#a", "!a")] == ["\\~/a", "\\(a", "\\#a", "\\!a"]


def test_a_title_holds_its_signs_as_entities() -> None:
    title = PLACES["md"]["title"]
    assert title("a|b") == "a&#124;b"
    assert title('"*_') == "&#34;&#42;&#95;"
