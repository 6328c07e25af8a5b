"""Entries into sections: none lost, none twice, in the order that was asked for."""

from __future__ import annotations

import ast
import json
import re
import sysconfig
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cmarkgfm  # type: ignore[import-untyped]
import pytest
import yaml
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from shipped_words import CATEGORIES

import promptforge as pf
from promptforge.model import Item
from promptforge.selection.group import (
    _SENTENCE_END,
    Entry,
    best_at_edges,
    flatten_sections,
    group_entries,
)
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS


def entry(index: int, rank: float = 1.0, **fields: Any) -> Entry:
    return Entry(index, Item(content=f"text {index}", **fields), rank)


def keys(entries: list[Entry], by: str, **more: Any) -> list[tuple[str, list[int]]]:
    """Return each section's key and the numbers of its entries."""
    return [
        (s.key, [e.index for e in s.entries])
        for s in group_entries(entries, by, categories=CATEGORIES, **more)
    ]


FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "path": st.sampled_from(["", "a.py", "b.py", "c/d.py"]),
        "start_line": st.integers(1, 50),
        "kind": st.sampled_from(["code", "function", "document", "message", "thing"]),
        "origin": st.sampled_from(["explicit", "similarity"]),
        "metadata": st.dictionaries(st.just("team"), st.sampled_from(["x", "y", 3, None, ["a"]])),
    },
)
ENTRIES = st.lists(st.tuples(st.integers(0, 4).map(float), FIELDS), max_size=12).map(
    lambda rows: [entry(n, rank, **fields) for n, (rank, fields) in enumerate(rows)]
)
BY = st.sampled_from(["none", "file", "kind", "category", "origin", "team", "nothing has this"])
ORDER = st.sampled_from(["score", "given", "file", "edges"])


@cases(200)
@given(
    ENTRIES, BY, ORDER, st.lists(st.sampled_from(["code", "x", "a.py", "explicit"]), unique=True)
)
def test_every_entry_stands_in_one_section_and_no_section_is_empty(
    entries: list[Entry], by: str, order: str, first: list[str]
) -> None:
    sections = group_entries(entries, by, order=order, first=first)
    assert sorted(e.index for e in flatten_sections(sections)) == [e.index for e in entries]
    assert all(section.entries for section in sections)
    assert len({section.key for section in sections}) == len(sections)
    assert [s.key for s in sections if s.key in first] == [
        key for key in first if key in {s.key for s in sections}
    ]
    if by == "none":
        assert len(sections) <= 1


@cases(200)
@given(ENTRIES, BY, ORDER, st.randoms(use_true_random=False))
def test_the_order_in_which_entries_arrive_changes_nothing(
    entries: list[Entry], by: str, order: str, random: Any
) -> None:
    shuffled = entries.copy()
    random.shuffle(shuffled)
    assert group_entries(shuffled, by, order=order) == group_entries(entries, by, order=order)


@cases(100)
@given(ENTRIES, st.sampled_from(["kind", "category", "origin", "team"]))
def test_by_score_the_best_comes_first_in_each_section_and_among_sections(
    entries: list[Entry], by: str
) -> None:
    sections = group_entries(entries, by)
    for section in sections:
        assert section.entries == sorted(section.entries, key=lambda e: (-e.rank, e.index))
    best = [(-s.entries[0].rank, s.entries[0].index) for s in sections]
    assert best == sorted(best)


@cases(100)
@given(ENTRIES, BY)
def test_given_keeps_the_callers_order(entries: list[Entry], by: str) -> None:
    for section in group_entries(entries, by, order="given"):
        assert [e.index for e in section.entries] == sorted(e.index for e in section.entries)


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, []), (1, [0]), (2, [0, 1]), (3, [0, 2, 1]), (4, [0, 2, 3, 1]), (5, [0, 2, 4, 3, 1])],
)
def test_edges_puts_the_best_first_and_the_second_best_last(
    count: int, expected: list[int]
) -> None:
    assert [e.index for e in best_at_edges([entry(n) for n in range(count)])] == expected


def test_by_file_the_file_with_the_best_item_comes_first_and_lines_run_down() -> None:
    entries = [
        entry(0, 0.2, path="a.py", start_line=9),
        entry(1, 0.9, path="b.py", start_line=50),
        entry(2, 0.5, path="b.py", start_line=10),
        entry(3, 0.8, path="a.py", start_line=1),
        entry(4, 0.1),
    ]
    assert keys(entries, "file") == [("b.py", [2, 1]), ("a.py", [3, 0]), ("", [4])]
    assert keys(entries, "file", order="given") == [("a.py", [0, 3]), ("b.py", [1, 2]), ("", [4])]
    assert keys(entries, "file", order="edges") == [("b.py", [1, 2]), ("a.py", [3, 0]), ("", [4])]
    assert keys(entries, "none", order="file") == [("all", [4, 3, 0, 2, 1])]
    assert [s.title for s in group_entries(entries, "file")] == ["b.py", "a.py", ""]


@pytest.mark.parametrize(
    "kind", ["function", "method", "class", "interface", "type", "file", "module", "code"]
)
def test_kinds_of_code_are_one_category(kind: str) -> None:
    assert keys([entry(0, kind=kind)], "category") == [("code", [0])]


@pytest.mark.parametrize(
    ("kind", "category"),
    [("session", "conversation"), ("man_page", "documentation"), ("x", "other")],
)
def test_other_kinds_have_theirs(kind: str, category: str) -> None:
    assert keys([entry(0, kind=kind)], "category") == [(category, [0])]
    assert set(CATEGORIES.values()) == {"code", "documentation", "conversation"}


def test_a_metadata_key_groups_and_what_lacks_it_is_other() -> None:
    entries = [entry(0, metadata={"team": "core"}), entry(1), entry(2, metadata={"team": "core"})]
    assert keys(entries, "team") == [("core", [0, 2]), ("other", [1])]


def test_a_value_of_metadata_is_a_heading_as_it_is() -> None:
    names = ["Command and Control", "macOS", "snake_case", "PCI-DSS"]
    entries = [entry(n, metadata={"team": name}) for n, name in enumerate([*names, ""])]
    assert [s.title for s in group_entries(entries, "team", order="given")] == [*names, "Other"]
    titles = {"macOS": "Apple", "code": "code"}
    given = [s.title for s in group_entries(entries, "team", order="given", titles=titles)]
    assert given == ["Command and Control", "Apple", *names[2:], "Other"]
    assert [s.title for s in group_entries([entry(0, kind="code")], "kind")] == ["Code"]
    assert [s.title for s in group_entries([entry(0, kind="code")], "kind", titles=titles)] == [
        "code"
    ]


def test_sections_named_first_come_first_and_titles_replace_headings() -> None:
    entries = [
        entry(0, 0.9, kind="error"),
        entry(1, 0.5, kind="man_page"),
        entry(2, 0.1, kind="code"),
    ]
    sections = group_entries(
        entries, "kind", first=["code", "missing", "man_page"], titles={"code": "The code"}
    )
    assert [(s.key, s.title) for s in sections] == [
        ("code", "The code"),
        ("man_page", "Man Page"),
        ("error", "Error"),
    ]


def test_no_entries_give_no_sections() -> None:
    assert group_entries([]) == group_entries([], "file", first=["a"]) == []


# --- the tree of files ----------------------------------------------------------------------------

PATHS = ("src/core/page.py", "src/core/text.py", "docs/guide.md", "README.md")
LAYOUTS = ("chunks", "chunks-compact", "context", "documents", "entities", "knowledge", "cited")


def _items() -> list[pf.Item]:
    return [pf.Item(content=f"words of {path}\n" * 3, path=path) for path in PATHS]


def _render(**options: Any) -> pf.Result:
    return pf.render(_items(), **{"tree": True, "max_tokens": 2000, **options})


def test_the_tree_names_folders_and_files_with_their_tokens() -> None:
    text = _render().text
    rows = text[: text.index("###")].split("\n")
    names = [re.sub(r" \(\d+ tokens\)", "", row) for row in rows if row]
    assert names == [
        "- docs/", "  - guide.md", "- src/core/", "  - page.py", "  - text.py", "- README.md",
    ]  # fmt: skip
    tokens = [int(number) for number in re.findall(r"\((\d+) tokens\)", text)]
    assert tokens[0] == tokens[1] > 0
    assert tokens[2] == tokens[3] + tokens[4]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", FORMAT_EXTENSIONS)
def test_every_layout_and_format_has_a_tree(layout: str, form: str) -> None:
    if layout == "cited" and form != "plain":
        pytest.skip("cited has one format")
    text = _render(layout=layout, format=form).text
    without = _render(layout=layout, format=form, tree=False).text
    assert text.count("guide.md") == without.count("guide.md") + 1
    if form == "json":
        folders = [row["path"] for row in json.loads(text)["tree"] if row["folder"]]
    elif form == "yaml":
        folders = [row["path"] for row in yaml.safe_load(text)["tree"] if row["folder"]]
    elif form == "xml":
        root = etree.fromstring(f"<all>{text}</all>")
        folders = [row.get("path") for row in root.findall(".//tree/folder")]
    else:
        return
    assert folders == ["docs/", "src/core/"]


def test_without_a_path_there_is_no_tree() -> None:
    given = [pf.Item(content="words", name="a")]
    assert pf.render(given, tree=True).text == pf.render(given).text


@pytest.mark.parametrize("budget", [10, 40, 80, 120, 200])
def test_the_tree_is_inside_the_budget_and_names_what_is_shown(budget: int) -> None:
    result = _render(max_tokens=budget)
    assert result.tokens <= budget
    for item in _items():
        shown = any(source.path == item.path for source in result.sources)
        name = (item.path or "").rsplit("/", 1)[-1]
        assert (f"- {name} (" in result.text) == shown


def test_a_budget_in_characters_counts_tokens_for_the_tree_too() -> None:
    text = pf.render(_items(), tree=True, max_tokens=None, max_chars=2000).text
    assert "(0 tokens)" not in text


def test_the_name_of_a_file_stays_a_name() -> None:
    path = "a/<b>\n- x/![y](z)<img src=x>"
    text = pf.render([pf.Item(content="words", path=path)], tree=True).text
    tree = text[: text.index("###")]
    page = cmarkgfm.github_flavored_markdown_to_html(tree)
    assert "<img" not in page.replace("&lt;img", "")
    assert page.count("<li>") == 2


def test_of_files_with_equally_good_items_the_one_that_was_given_first_comes_first() -> None:
    given = [entry(0, 0.5, path="a"), entry(1, 0.9, path="b"), entry(2, 0.9, path="a")]
    assert keys(given, "file") == [("a", [0, 2]), ("b", [1])]


# Sentences that several chunks have.

SENTENCES = [f"Kettle number {n} boils {n} litres of water." for n in range(200)]
WINDOWS = [" ".join(SENTENCES[n : n + 5]) for n in range(0, 197, 2)]
PROSE = " ".join(SENTENCES)
CUTS = [PROSE[n : n + 180] for n in range(0, len(PROSE), 120)]


def shown(texts: list[str], order: list[int], **options: Any) -> str:
    items = [
        {"content": texts[n], "score": 1 - place / 1000, "origin": "similarity", "path": "a.md"}
        for place, n in enumerate(order)
    ]
    return pf.render(items, max_tokens=None, format="plain", **options).text


@pytest.mark.parametrize("texts", [WINDOWS, CUTS])
@pytest.mark.parametrize("query", [None, "how many litres has kettle 77"])
@given(st.randoms(use_true_random=False))
@cases(10)
@pytest.mark.slow
def test_each_sentence_of_overlapping_chunks_is_shown_once(
    texts: list[str], query: str | None, random: Any
) -> None:
    order = list(range(len(texts)))
    random.shuffle(order)
    text = shown(texts, order, query=query)
    counts = [text.count(sentence) for sentence in SENTENCES]
    assert max(counts) == 1
    assert counts.count(1) == 200 if texts is WINDOWS else counts.count(1) > 150


def test_what_chunks_have_in_common_can_be_kept_and_is_said() -> None:
    items = [{"content": text, "path": "a.md"} for text in WINDOWS[:3]]
    result = pf.render(items)
    assert [result.text.count(each) for each in SENTENCES[:10]] == [1] * 9 + [0]
    assert "PF131" in [warning.code for warning in result.warnings]
    assert pf.render(items, merge_overlaps=False).text.count(SENTENCES[4]) == 3


def test_overlaps_without_the_end_of_a_sentence_are_cut_too() -> None:
    words = [f"word{number * number}" for number in range(400)]
    for text in (" ".join(words), "".join(chr(0x4E00 + 7 * number) for number in range(2500))):
        chunks = [text[start : start + 300] for start in range(0, len(text), 200)]
        shown = pf.render([{"content": each, "path": "a.md"} for each in chunks]).text
        assert len(shown) < 1.25 * len(text)
        assert all(word in shown for word in words if word in text and len(word) < 6)


def test_a_part_of_a_sentence_stays_where_it_makes_the_sentence_whole() -> None:
    one = "The kettle boils at once and is hot until noon. The pump starts after forty seconds, and it"
    other = "boils at once and is hot until noon. The pump starts after forty seconds, and it stops by itself at noon."
    shown = pf.render([{"content": each, "path": "a.md"} for each in (one, other)]).text
    assert shown.count("The pump starts after forty seconds, and it stops by itself at noon.") == 1
    assert shown.count("boils at once") == 1


def test_a_last_piece_that_is_longer_by_the_end_of_a_word_is_joined() -> None:
    one = "It installs what it is sent. A socket-based logging receiver.\n\nEach request is a length, then the config file.\nIt does the wo"
    other = "-based logging receiver.\n\nEach request is a length, then the config file.\nIt does the work."
    for chunks in ((one, other), (other, one)):
        shown = pf.render([{"content": each, "path": "a.py"} for each in chunks]).text
        assert shown.count("Each request is a length, then the config file.") == 1
        assert "It does the work." in shown
        assert "It installs what it is sent." in shown


PUMP = "the pump of station {} stops after {} seconds and {} start again before noon"
DIFFERENT = [
    ("5 litres of water cost 3 euros at the counter", "15 litres of water cost 3 euros at the counter"),
    ("a ticket for two days costs 3", "a ticket for two days costs 35 euros"),
    ("happy people live longer in the north", "We say that unhappy people live longer in the north"),
    (PUMP.format(4, 60, "may"), PUMP.format(4, 60, "may not")),
    (PUMP.format(4, 60, "may"), PUMP.format(4, 61, "may")),
    ("if ready:\n    open()\n    close()", "if ready:\n    open()\nclose()"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_texts_that_say_something_else_are_both_shown(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        for path in ({}, {"path": "a.md"}):
            found = pf.render([{"content": first, **path}, {"content": second, **path}])
            assert "duplicate" not in [item.reason for item in found.items]
            assert all(line in found.text for line in (*one.split("\n"), *other.split("\n")))


def sentences_of(text: str) -> Counter[str]:
    parts = (" ".join(each.split()) for each in re.split(r"(?<=[.?!])\s|\n\s*\n", text))
    return Counter(each for each in parts if len(each) > 40 and each[-1] in ".?!")


@pytest.mark.nightly
def test_no_sentence_of_a_thousand_chunks_is_shown_twice() -> None:
    size, overlap = 900, 200
    chunks: list[dict[str, Any]] = []
    given: list[str] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if {"idlelib", "site-packages", "test", "tests"} & {*path.parts}:
            continue
        nodes = ast.walk(ast.parse(path.read_bytes()))
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        manuals = [ast.get_docstring(node) for node in nodes if isinstance(node, kinds)]
        text = "\n\n".join(filter(None, manuals))
        starts = range(0, max(1, len(text) - overlap), size - overlap)
        chunks += [{"content": text[at : at + size], "path": str(path)} for at in starts]
        given.append(" ".join(text.split()))
        if len(chunks) > 10_000:
            break
    assert len(chunks) > 1_000
    found = sentences_of(pf.render(chunks, format="plain", headers=False, max_tokens=None).text)
    twice = [each for each, count in found.items() if count > 1]
    assert [each for each in twice if sum(text.count(each) for text in given) == 1] == []


def test_overlaps_cut_within_long_words_are_shown_once_and_lines_stay_whole() -> None:
    lines = [
        f"## Kettle{n}.Factory.CreateKettle Method\n\nReturns `Company.Kettles.Kettle{n}.Description`."
        for n in range(60)
    ]
    text = "\n\n".join(lines)
    chunks = [{"content": text[at : at + 240]} for at in range(0, len(text) - 100, 140)]
    shown_once = pf.render(chunks, format="plain", headers=False, max_tokens=None).text
    for line in [each for pair in lines for each in pair.split("\n\n")]:
        assert shown_once.count(line) == 1, line


PARAGRAPHS = [
    f"The pump of station {n} stops after {n} seconds and starts again." * 2 for n in range(12)
]


def version_of(page: Sequence[str], **changed: str) -> str:
    return "\n\n".join(changed.get(f"at{place}", part) for place, part in enumerate(page))


def test_of_a_page_that_was_fetched_twice_only_the_other_figures_are_shown_again() -> None:
    page = [*PARAGRAPHS[:6], "## Limits", "The limit is 40 jobs a day.", *PARAGRAPHS[6:]]
    pages = [version_of(page), version_of(page, at7="The limit is 55 jobs a day.")]
    items = [{"content": each, "path": f"{n}.md"} for n, each in enumerate(pages)]
    result = pf.render(items, format="plain")
    # Short paragraphs may be headings, and stay with the next.
    assert [result.text.count(each) for each in PARAGRAPHS] == [1] * 6 + [2] + [1] * 5
    assert f"…\n\n## Limits\n\nThe limit is 55 jobs a day.\n\n{PARAGRAPHS[6]}\n\n…" in result.text
    assert result.text.count("The limit is 40 jobs a day.") == 1
    assert "nearly equals a better one" in result.warnings[-1].message
    whole = pf.render(items, format="plain", merge_overlaps=False)
    assert whole.text.count(PARAGRAPHS[0]) == 2
    # Fences and programs would not be whole.
    fenced = [each + "\n\n```\na = 1\n```" for each in pages]
    for texts, ending in ((pages, "py"), (fenced, "md")):
        items = [{"content": each, "path": f"{n}.{ending}"} for n, each in enumerate(texts)]
        assert pf.render(items).text.count(PARAGRAPHS[0]) == 2


@given(
    st.lists(st.lists(st.sampled_from(PARAGRAPHS), min_size=1, max_size=9), min_size=2, max_size=5)
)
@cases(20)
def test_no_paragraph_of_nearly_equal_texts_is_lost(pages: list[list[str]]) -> None:
    items = [{"content": "\n\n".join(page), "path": f"{n}.md"} for n, page in enumerate(pages)]
    text = pf.render(items, format="plain").text
    assert all(part in text for page in pages for part in page)


def test_nothing_is_cut_that_is_required_or_of_another_source() -> None:
    first, second = WINDOWS[:2]
    for one, other in (({}, {"path": "b.md"}), ({"required": True}, {"required": True})):
        items = [
            {"content": first, "path": "a.md", **one},
            {"content": second, "path": "a.md", **other},
        ]
        assert pf.render(items).text.count(SENTENCES[4]) == 2


def test_a_child_is_shown_in_its_parent() -> None:
    child = "Beta two is there. Gamma three is far."
    parent = f"Alpha one is here. {child} Delta four is near."
    items = [{"content": child, "score": 0.9}, {"content": parent, "score": 0.4}]
    assert pf.render(items).text.count("Gamma three") == 1


def test_texts_that_differ_in_blanks_and_case_are_equal_but_programs() -> None:
    same = [{"content": "Same text here."}, {"content": "  same text here. \n"}]
    assert pf.render(same).text.lower().count("text") == pf.render(same[:1]).text.lower().count(
        "text"
    )
    programs = [{"content": "if a:\n  b\n  c"}, {"content": "if a:\n  b\nc"}]
    assert pf.render(programs).text.count("if a") == 2


def test_the_copy_that_lies_deeper_is_the_duplicate() -> None:
    """The sources of a package were left out for those that a build had copied before them."""
    text = "def pool():\n    return 1\n"
    paths = ["build/lib/pool/a.py", "pool/a.py", "v1/pool/a.py", "v2/pool/a.py"]
    result = pf.render([{"content": text, "path": path} for path in paths])
    assert [item.path for item in result.items if item.status == "included"] == ["pool/a.py"]
    kept = pf.render([{"content": text, "path": path} for path in paths[2:]]).sources
    assert [source.path for source in kept] == ["v1/pool/a.py"]
    scored = [{"content": text, "path": path, "score": 1 / n} for n, path in enumerate(paths, 1)]
    assert [source.path for source in pf.render(scored).sources] == ["build/lib/pool/a.py"]
    assert pf.render([{"content": text}, {"content": text, "path": "a/b.py"}]).sources[0].path


@given(st.text(alphabet="aB.? \n\t", max_size=40))
def test_sentences_end_once_a_run_of_blanks(text: str) -> None:
    """The slow definition: at the first blank of a run with a line end, unless a small letter."""
    slow = {place.end() for place in re.finditer(r"(?<=[.?!])\s", text)}
    for run in re.finditer(r"\s+", text):
        if "\n" in run[0] and not re.match("[a-z]", text[run.end() :]):
            slow.add(run.start() + 1)
    assert {place.end() for place in _SENTENCE_END.finditer(text)} == slow


@pytest.mark.nightly
def test_empty_lines_between_passages_are_read_once() -> None:
    body = "b" * 50 + "\n" * 300_000 + "word " * 20
    items = [
        {"content": f"first part. {body}", "path": "d.md", "kind": "document", "score": 0.5},
        {"content": f"{body} and the end.", "path": "d.md", "kind": "document", "score": 0.6},
    ]
    begun = time.process_time()
    pf.render(items, max_tokens=200_000)
    assert time.process_time() - begun < 8
