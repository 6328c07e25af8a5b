"""A stub shows where an item is from and the marker, and nothing else of the item.

The least of a technique has a sentence, too, and not its lists.
"""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import promptforge as pf
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS

RENDERER = pf.Renderer()
LAYOUTS = ("chunks", "chunks-compact", "context", "documents", "entities", "knowledge", "cited")
FORMATS = tuple(FORMAT_EXTENSIONS)
MARKER = "[Content truncated...]"
ITEMS = [
    pf.Item(
        kind="mitre_attack",
        name="OS Credential Dumping",
        content="CONTENT " * 300,
        summary="SUMMARY " * 200,
        score=1,
        metadata={
            "technique_id": "T1003",
            "tactics": ["TACTIC"],
            "tools": ["TOOL"],
            "mitigations": ["MITIGATION"],
        },
    ),
    pf.Item(kind="man_page", name="nmap", content="CONTENT scan " * 300, score=0.9),
    pf.Item(kind="document", path="docs/guide.md", content="CONTENT guide " * 300, score=0.8),
]
SOURCES = ("T1003", "nmap", "docs/guide.md")


def stubs(**options: Any) -> pf.Result:
    return RENDERER.render(ITEMS, stubs=True, trim="none", **options)


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("layout", ["knowledge", "entities"])
def test_a_stub_shows_its_source_and_the_marker_alone(layout: str, format_name: str) -> None:
    result = stubs(layout=layout, format=format_name, max_chars=700)
    assert [item.form for item in result.items] == ["stub"] * 3
    assert result.text.count(MARKER) == 3
    for word in ("CONTENT", "SUMMARY", "TACTIC", "TOOL", "MITIGATION", "```"):
        assert word not in result.text
    if layout == "knowledge" and format_name != "xml":
        assert [s for s in SOURCES if s not in result.text] == []
    if format_name == "json":
        json.loads(result.text)
    if format_name == "yaml":
        yaml.safe_load(result.text)


@pytest.mark.parametrize(("format_name", "max_chars"), [("markdown", 262), ("plain", 254)])
def test_the_sources_of_all_items_take_little_room(format_name: str, max_chars: int) -> None:
    result = stubs(layout="knowledge", format=format_name, max_chars=max_chars)
    assert len(result.text) <= max_chars
    assert [s for s in SOURCES if s not in result.text] == []


@given(
    st.sampled_from(LAYOUTS),
    st.text("[]()#*_`~>-=+|<&:^! \\a1.\t", max_size=20),
    st.integers(100, 700),
)
def test_law_no_marker_becomes_more_than_text(layout: str, marker: str, max_chars: int) -> None:
    options: dict[str, Any] = {"layout": layout, "max_chars": max_chars}
    own = {token.type for token in parsed(stubs(layout=layout, marker="X", max_chars=700).text)}
    for token in parsed(stubs(marker=marker, **options).text):
        assert token.type in {*own, "paragraph_open", "paragraph_close", "inline"}
        for child in token.children or ():
            assert child.type in {
                "text",
                "softbreak",
                "hardbreak",
                "text_special",
                "em_open",
                "em_close",
            }


def parsed(text: str) -> list[Any]:
    return MarkdownIt("gfm-like", {"linkify": False}).parse(text)


def test_the_profile_of_explicit_knowledge_names_every_source() -> None:
    items = [
        {"kind": "man_page", "name": f"page{n}", "content": f"word{n} " * 5000} for n in range(9)
    ]
    result = pf.render(items, profile="knowledge-long", max_chars=2000)
    assert [item.status for item in result.items] == ["trimmed"] * 9
    assert all(f"'page{n}'" in result.text for n in range(9))


@pytest.mark.slow
@pytest.mark.parametrize("packing", ["score", "value", "even", "longest_first"])
@pytest.mark.parametrize("layout", [*LAYOUTS, "knowledge-long"])
def test_where_all_attributions_fit_none_is_lost(layout: str, packing: Any) -> None:
    items = [pf.Item(name=f"n{n}", path=f"p{n}.md", content=f"words{n} " * 900) for n in range(5)]
    options = {"layout": layout, "packing": packing, "stubs": True, "max_tokens": None}
    all_stubs = RENDERER.render(items, **options | {"trim": "none", "max_chars": 2_000})
    least = all_stubs.chars if packing in ("score", "value") else 2_000
    for more in (0, 1, 39, 200, 1_000):
        result = RENDERER.render(items, **options, max_chars=least + more)
        assert "dropped" not in [item.status for item in result.items]


DATA = "iVBORw0KGgo" * 3000


@pytest.mark.parametrize(("name", "text"), [
    ("logo.ts", f'export const LOGO = "data:image/png;base64,{DATA}";\nexport function logo() {{}}\n'),
    ("a.md", f"# Logo\n\n![](data:image/png;base64,{DATA})\n\nThe function logo() shows it.\n"),
    ("a.txt", f"the key is\n{DATA}\nand logo() reads it\n"),
])  # fmt: skip
def test_data_in_letters_go_before_anything_else(name: str, text: str) -> None:
    result = pf.render([{"path": name, "content": text}], max_tokens=200)
    assert "logo()" in result.text and "… 32,9" in result.text
    assert result.items[0].status == "trimmed"


def test_lines_of_signs_and_data_with_numbered_lines_stay() -> None:
    text = "=" * 900 + "\nfirst\n" + "second word\n" * 90
    assert "=" * 900 in pf.render([{"content": text}], max_tokens=200).text
    text = f"a\n{DATA}\nb\n"
    assert pf.render([{"content": text}], max_tokens=100, lines="each").tokens <= 100


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "HTTP 500 response body: " + "QUJD,1234," * 300),
        ("a.txt", "Found 300 rows.\n\n" + '{"id":1,"name":"item"},' * 100 + "\n\nDone."),
        ("a.sql", "INSERT INTO t VALUES " + ",".join(f"({n},'v{n}')" for n in range(500)) + ";"),
        ("a.js", "/* licence */\n" + "".join(f"var a{n}=b({n});" for n in range(300))),
        ("a.txt", "Thai: " + "\u0e40\u0e23\u0e32\u0e44\u0e14\u0e49" * 200),
    ],
)
def test_a_long_run_without_blanks_fills_the_room(name: str, text: str) -> None:
    result = RENDERER.render([pf.Item(path=name, content=text)], max_tokens=150)
    assert 130 < result.tokens <= 150


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        (
            "a.yaml",
            "first: 1\ncert: " + "lorem ipsum " * 300 + "\nanswer: 42\nb: 1\n",
            "answer: 42",
        ),
        ("a.xml", "<r><a>" + "lorem ipsum " * 300 + "</a><answer>42</answer></r>", ">42<"),
        (
            "a.md",
            "# Head\n\nIntro.\n\n| a | b |\n|---|---|\n| " + "long cell " * 200 + "| 1 |\n"
            "" + "".join(f"| short {n} | {n} |\n" for n in range(9)) + "\n## Next\n\nThe end.\n",
            "The end.",
        ),
        (
            "a.diff",
            "--- a/min.js\n+++ b/min.js\n@@ -1 +1 @@\n-"
            + "a=1;" * 900
            + "\n+"
            + "a=2;" * 900
            + "\n"
            "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n",
            "+a = 2",
        ),
    ],
)
def test_what_stands_behind_a_long_part_is_shown(name: str, text: str, shown: str) -> None:
    result = RENDERER.render([pf.Item(path=name, content=text)], max_tokens=200)
    assert shown in result.text and result.tokens <= 200


@pytest.mark.parametrize("text", ["step {}\n", "2026-01-01 INFO step {} ok\n", "Step {} is done. "])
def test_the_marker_of_plain_text_is_no_line_of_the_content(text: str) -> None:
    content = "".join(map(text.format, range(400)))
    for kind in ("log", "document", "man_page"):
        item = pf.Item(kind=kind, name="a", content=content)
        result = RENDERER.render([item], format="plain", max_tokens=60)
        assert f"| {MARKER}" not in result.text and MARKER in result.text
        assert "PF304" not in {each.code for each in result.warnings}


def test_a_line_like_the_marker_in_a_whole_text_is_prefixed() -> None:
    item = pf.Item(name="a", content=f"{MARKER}\nText.\n{MARKER}")
    assert RENDERER.render([item], format="plain").text.count(f"| {MARKER}") == 2


@pytest.mark.parametrize("trim", ["structure", "prefix"])
@pytest.mark.parametrize("kind", ["document", "log", "code"])
def test_a_line_like_the_marker_at_the_start_of_a_shortened_text_is_prefixed(
    kind: str, trim: Any
) -> None:
    item = pf.Item(name="a", kind=kind, content=f"{MARKER}\n" + "Some words of it. " * 200)
    result = RENDERER.render([item], format="plain", max_tokens=80, trim=trim)
    assert f"| {MARKER}\n" in result.text


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_least_of_a_named_technique_is_a_sentence_without_its_lists(format_name: str) -> None:
    items = [
        pf.Item(
            kind="mitre_attack",
            name=f"Technique {number}",
            content=f"Adversaries take {number} of them. "
            + "They do it slowly and at night. " * 60,
            named=True,
            metadata={
                "technique_id": f"T100{number}",
                "tactics": ["Impact"],
                "tools": [f"Tool {n}" for n in range(20)],
                "mitigations": [f"Mitigation {n}" for n in range(20)],
            },
        )
        for number in range(3)
    ]
    shown = RENDERER.render(items, layout="knowledge", format=format_name, max_tokens=400)
    assert [item.form for item in shown.items].count("outline") >= 2
    for number in range(3):
        for words in (f"T100{number}", f"Technique {number}", f"take {number} of them", "Impact"):
            assert words in shown.text, shown.text
    assert shown.text.count("Mitigation 19") < 2


def test_a_program_on_one_line_shows_what_answers_whole() -> None:
    names = [f"step{n}" if n != 70 else "retryDelay" for n in range(140)]
    body = "".join(
        f"function {name}(e,n){{var r=e.id||{n};return n(r)}}" for n, name in enumerate(names)
    )
    text = f"!function(e,t){{{body}}}(window,document);"
    shown = pf.render([pf.Item(content=text)], max_tokens=150, query="what does retryDelay return")
    assert "}function retryDelay(e,n){var r=e.id||70;return n(r)}" in shown.text


def test_a_record_on_a_line_below_its_head_stays_whole() -> None:
    records = [{"id": n, "who": "Ada" if n == 60 else "Bo", "sum": 7_000 + n} for n in range(90)]
    text = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{json.dumps(records)}"
    shown = pf.render([pf.Item(content=text)], max_tokens=150, query="which sum has Ada")
    assert '{"id": 60, "who": "Ada", "sum": 7060}' in shown.text
