"""Entries into sections: none lost, none twice, in the order that was asked for."""

from __future__ import annotations

from typing import Any

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import CATEGORIES

from promptforge.model import Item
from promptforge.selection.group import (
    Entry,
    best_at_edges,
    flatten_sections,
    group_entries,
)


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
