"""Variants of Markdown: a full parser reads each again; it must have the document's own blocks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from example_counts import cases
from hostile_strings import STRINGS, TEXT, outside
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from places import SHARED_DATA
from shipped_words import divided, marks

import promptforge as pf
from promptforge.trimming.markdown import divide
from promptforge.trimming.pieces import ALWAYS, split_sentences

GFM = MarkdownIt("commonmark").enable("table").disable("inline")  # blocks are all that is compared
MARKER = "[cut]"
MARK = re.compile(r"\[…\]")
LINE_END = re.compile(r"\r\n?|\n")


def blocks(text: str) -> list[tuple[str, str]]:
    """Return (kind, source) of each block; items of lists and rows of tables one by one."""
    lines = LINE_END.split(text.replace("\0", "\ufffd"))
    found = []
    for token in GFM.parse(text):
        if token.map is None or token.nesting < 0:
            continue
        source = "\n".join(lines[token.map[0] : token.map[1]]).rstrip(" \t\n")
        if token.type == "list_item_open" and token.level == 1:
            found.append(("item", source))
        elif token.type == "tr_open" and token.level == 2:
            found.append(("row", source))
        elif token.level == 0 and token.type == "table_open":
            found.append(("table", source.split("\n")[1]))
        elif token.level == 0 and not token.type.endswith("list_open"):
            found.append((token.type.removesuffix("_open"), source))
    return found


def shortened(kind: str, short: str, whole: str) -> bool:
    """Return whether `short` is `whole` with marks in it where something is gone."""
    if kind in ("paragraph", "item", "blockquote", "code_block", "html_block"):
        parts = [re.escape(part.strip(" \t\r\n>")) for part in short.split("[…]")]
    elif kind == "fence":
        parts = [re.escape(part.strip("\n")) for part in MARK.split(short.lstrip(" "))]
    else:
        parts = []
    pattern = r"(?s:.*)".join(["", *parts[:-1], f"{parts[-1]}[> \t\r\n]*"]) if parts else ""
    if kind in ("paragraph", "fence"):
        pattern = r"(?s:.*)".join(parts)
    return short == whole or re.fullmatch(pattern, whole.lstrip(" ")) is not None


def assert_made_of(short: str, whole: list[tuple[str, str]]) -> None:
    """Assert that each block of `short` is a mark, or the next of `whole` that is like it."""
    left = iter(whole)
    last = ("", "")
    for kind, source in blocks(short):
        if kind in ("paragraph", "row", "blockquote") and MARK.fullmatch(source.strip("|> ")):
            continue
        if kind == last[0] == "blockquote" and shortened(kind, source, last[1]):
            continue  # a mark ends a quote, and the rest of it begins another
        found = next(
            (each for each in left if each[0] == kind and shortened(kind, source, each[1])), None
        )
        assert found is not None, (kind, source)
        last = found


def assert_laws(text: str) -> None:
    if divide(text, marks=marks(MARKER)) is None:
        return
    variants = divided(divide, text).variants()
    before, whole = text, blocks(text)
    for number in sorted(
        {*range(0, len(variants), max(1, len(variants) // 12)), len(variants) - 1} - {-1}
    ):
        variant = variants[number].text
        head, body = variant.split("\n\n", 1)
        assert head == MARKER
        assert_made_of(body, whole)
        assert kept(body) <= kept(before)
        before = body


def kept(text: str) -> int:
    return sum(
        not MARK.fullmatch(line.strip("| ")) and bool(line.strip()) for line in LINE_END.split(text)
    )


def test_a_long_fence_loses_lines_and_keeps_its_ends() -> None:
    text = "# T\n\nx\n\n~~~~py\n" + "".join(f"a = {n}\n" for n in range(20)) + "~~~~\n\nend\n"
    variants = divided(divide, text).variants()
    assert variants[15].text == (
        "[cut]\n\n# T\n\nx\n\n~~~~py\na = 0\na = 1\na = 2\na = 3\na = 4\n[…]\n~~~~\n\n[…]"
    )


@pytest.mark.parametrize("head", ["```python\nx = 1\n\n", "    x = 1\n    return x\n```\n\n"])
def test_a_fence_that_is_never_closed_loses_lines_too(head: str) -> None:
    gardens = "".join(f"Paragraph {number} is about gardens.\n\n" for number in range(30))
    text = f"{head}{gardens}## Refunds\n\nRefunds are paid within nine days.\n\n{gardens}"
    result = pf.render(
        [pf.Item(content=text, path="a.md", origin="similarity")],
        max_tokens=90,
        query="when are refunds paid",
    )
    assert "nine days" in result.text and result.tokens > 60
    assert "".join(part.text for part in divided(divide, text).parts) == text
    assert_laws(text)


GARDENS = [f"Paragraph {number} is about gardens." for number in range(30)]
ANSWER = "Refunds are paid within nine days."


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        ("", "> {}\n>\n", ""),
        ("1. Steps\n\n", "   {}\n\n", "2. Done\n"),
        ("1. Steps\n", "   - {}\n", "2. Done\n"),
        ("", "    {}\n", ""),
        ("<details>\n<summary>More</summary>\n", "{}\n", "</details>\n"),
    ],
)
def test_a_long_block_of_any_kind_loses_what_does_not_answer(
    before: str, line: str, after: str
) -> None:
    inside = "".join(line.format(each) for each in [*GARDENS, ANSWER, *GARDENS])
    text = f"# T\n\n{before}{inside}{after}\nThe end.\n"
    item = pf.Item(content=text, path="a.md", origin="similarity")
    result = pf.render([item], max_tokens=90, query="when are refunds paid")
    assert ANSWER in result.text and result.tokens > 60
    assert "".join(part.text for part in divided(divide, text).parts) == text
    assert_laws(text)


RETIRED = "<!-- Retired in the year 2019; nothing of it is true today.\n"
OFFICES = [("Oslo", "Anna"), ("Rome", "Bert"), ("Paris", "Carl"), ("Wien", "Dora"), ("Kyiv", "Eva")]
TABLE = "".join(
    f"<tr>\n<td>{city}</td>\n<td>{name}</td>\n<td>Room on a floor of the gardens</td>\n</tr>\n"
    for city, name in OFFICES * 2
)
WARNING = "Never do this, it deletes all data:"


@pytest.mark.parametrize(
    ("block", "query", "shown", "with_it"),
    [
        (
            "1. Setup\n\n"
            + "".join(f"   {each}\n\n" for each in GARDENS)
            + f"   {WARNING}\n\n   ```sh\n   rm -rf refunds.db\n   ```\n2. End\n",
            "refunds.db",
            "rm -rf",
            WARNING,
        ),
        (
            "> - Basic\n>\n>   Costs nine dollars.\n>\n"
            + "".join(f"> - Plan {n}\n>\n>   Gardens are nice.\n>\n" for n in range(20))
            + "> - Premium\n>\n>   A refund costs ninety dollars.\n",
            "what costs a refund",
            "ninety dollars",
            "- Premium",
        ),
        (
            "<div>\n"
            + "".join(f"<p>{each}</p>\n" for each in GARDENS)
            + RETIRED
            + "<p>Refunds are paid within ninety days.</p>\n-->\n</div>\n",
            "when are refunds paid",
            "ninety days",
            "<!-- Retired",
        ),
        (f"<table>\n{TABLE}</table>\n", "who heads the Kyiv office", "Kyiv", "Eva"),
    ],
)
def test_a_part_of_a_block_stands_with_what_tells_its_meaning(
    block: str, query: str, shown: str, with_it: str
) -> None:
    text = f"# T\n\nx\n\n{block}\nThe end.\n"
    item = pf.Item(content=text, path="a.md", origin="similarity")
    for tokens in (60, 90, 120):
        result = pf.render([item], max_tokens=tokens, query=query)
        assert (shown in result.text) <= (with_it in result.text)
    assert_laws(text)


def test_a_long_table_loses_rows_and_keeps_its_head() -> None:
    text = (
        "# T\n\nx\n\n| a | b |\n|---|---|\n"
        + "".join(f"| {n} | y |\n" for n in range(20))
        + "# U\n\nend\n"
    )
    found = divided(divide, text)
    variant = found.text({i for i, part in enumerate(found.parts) if "| 7 |" in part.text})
    assert variant == (
        "[cut]\n\n# T\n\nx\n\n| a | b |\n|---|---|\n| 0 | y |\n| […] |\n| 7 | y |\n| […] |\n\n[…]"
    )


def test_front_matter_goes_whole_and_stays_long_where_nothing_else_is_the_title() -> None:
    text = "---\ntitle: Kettle\ntags:\n  - a\n---\n\nText of it.\n\nMore.\n\nEnd.\n"
    found = divided(divide, text)
    assert found.parts[0].text == "---\ntitle: Kettle\ntags:\n  - a\n---\n\n"
    assert "title: Kettle" in found.variants()[1].text


def test_few_link_definitions_always_stay_and_many_do_not() -> None:
    few, many = (
        "a\n\nb [1]\n\nc\n\n" + "".join(f"[{n}]: http://x.example/{n}\n" for n in range(k))
        for k in (3, 90)
    )
    assert divided(divide, few).parts[-1].keep == ALWAYS
    assert divided(divide, many).parts[-1].keep < 10


def test_sentences_end_where_nothing_is_open() -> None:
    text = (
        "It runs on port 80, e.g. Behind a proxy (see ch. 2. Then go on.) or *not. Really* so. "
        "Dr. Who wrote it down in 1963. "
        "Call `a. B. C d e f g h i j` twice then. Read [the manual. All of it.](x) every now and then. "
        "ところで、これは別の文です。そして、最後の文はここで終わるのでした。"
    )
    assert list(split_sentences(text)) == [
        "It runs on port 80, e.g. Behind a proxy (see ch. 2. Then go on.) or *not. Really* so. ",
        "Dr. Who wrote it down in 1963. ",
        "Call `a. B. C d e f g h i j` twice then. ",
        "Read [the manual. All of it.](x) every now and then. ",
        "ところで、これは別の文です。そして、最後の文はここで終わるのでした。",
    ]


@pytest.mark.slow
@given(TEXT)
@cases(300)
def test_sentences_joined_are_the_text(text: str) -> None:
    assert "".join(split_sentences(text)) == text


LONG = st.builds(
    lambda word, n: f"{word} goes to the far end of the long road. " * n,
    st.sampled_from("ABC"),
    st.integers(1, 12),
)
PARTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "# T\n",
                "## U\n",
                "#### V\n\n",
                "W\n===\n",
                "\n",
                "\n\n",
                "---\n",
                "+++\n",
                "[a]: /x\n",
                "a: b\n",
            ]
        ),
        st.sampled_from(
            [
                "- i\n",
                "  - j\n\n",
                "3. k\n",
                "   l\n",
                "> q\n",
                "    code\n",
                "<div>\n",
                "<!-- c\n",
                "-->\n",
                "two:\n",
            ]
        ),
        st.builds(
            lambda mark, n: f"{mark}x\n" + "y\n" * n + mark + "\n",
            st.sampled_from(["```", "~~~~", "  ```"]),
            st.integers(0, 14),
        ),
        st.builds(lambda n: "| a | b |\n|---|---|\n" + "| c | d |\n" * n, st.integers(0, 14)),
        LONG.map(lambda text: text + "\n"),
        LONG.map(lambda text: text.replace(". ", ".\n")),
        TEXT,
    ),
    max_size=14,
).map("".join)


@pytest.mark.slow
@given(st.one_of(PARTS, PARTS.map(lambda text: text.replace("\n", "\r\n"))))
@example("\n\n| a |\n|---|\n" + "| c |\n" * 5)
@example("|a|\n|-|\n" + "|x|\n" * 9 + "# H\n\npara\n")
@cases(150)
def test_every_variant_is_made_of_blocks_of_the_document(text: str) -> None:
    assert_laws(text)


@pytest.mark.slow
@pytest.mark.unwatched
def test_hostile_texts() -> None:
    for text in (*STRINGS, *outside()):
        assert_laws(text)
        assert_laws(f"# T\n\nFirst one.\n\n{text}\n\n## U\n\n{text}\n\nlast")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "path", sorted(SHARED_DATA.glob("docs/files/*.md")), ids=lambda path: path.name
)
def test_real_documents(path: Path) -> None:
    assert_laws(path.read_text("utf-8"))
