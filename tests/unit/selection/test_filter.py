"""Candidates: filters, ranking, merged ranges, duplicates. Each item is kept or has a reason."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest
from evidence_pages import reading
from example_counts import cases
from hypothesis import assume, given
from hypothesis import strategies as st
from shipped_words import TRIMMERS

import promptforge as pf
from promptforge.config.options import Options, apply_options
from promptforge.errors import Diagnostics
from promptforge.model import Item
from promptforge.selection import scoring
from promptforge.selection.evidence import RankedText
from promptforge.selection.filter import (
    RELEVANCE_SHARE,
    Candidates,
    Columns,
    _likeness,
    _to_unit_range,
    diversify,
    select,
)
from promptforge.selection.group import join_ranges


def item(content: str = "text", **fields: Any) -> Item:
    return Item(content=content, **fields)


def found(score: float, content: str = "", **fields: Any) -> Item:
    return item(content or f"found {score}", score=score, origin="similarity", **fields)


def choose(items: list[Item], **options: Any) -> Candidates:
    chosen = apply_options(Options(), options)
    return select(Columns(items), chosen, lambda i: i.language, TRIMMERS, Diagnostics())


def indices(items: list[Item], **options: Any) -> list[int]:
    return [entry.index for entry in choose(items, **options).values()]


ITEMS = st.lists(
    st.builds(
        lambda number, score, fields: Item(
            content=f"text {number}\nand more", score=score, **fields
        ),
        st.integers(0, 4),
        st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]),
        st.fixed_dictionaries(
            {},
            optional={
                "kind": st.sampled_from(["code", "error"]),
                "path": st.sampled_from(["a.py", "src/b.py", "c.md"]),
                "language": st.sampled_from(["python", "markdown"]),
                "origin": st.sampled_from(["explicit", "similarity"]),
                "required": st.booleans(),
                "metadata": st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 2)),
            },
        ),
    ),
    max_size=10,
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "kinds": st.sampled_from([["code"], ["code", "error"]]),
        "paths": st.sampled_from([["*.py"], ["src/**"], ["*", "!c.md"]]),
        "languages": st.sampled_from([["python"], ["Markdown"]]),
        "min_score": st.sampled_from([None, 0, 0.4, 1]),
        "dedupe": st.booleans(),
        "merge_overlaps": st.booleans(),
        "query": st.sampled_from(["text 3", "nothing of it", ""]),
        "rerank": st.sampled_from(["none", "keyword_boost"]),
    },
)


@cases(300)
@given(ITEMS, OPTIONS)
def test_each_item_is_a_candidate_or_has_a_reason(
    items: list[Item], options: dict[str, Any]
) -> None:
    chosen = choose(items, **options)
    entries, dropped = list(chosen.values()), chosen.dropped
    kept = [entry.index for entry in entries]
    assert kept == sorted(set(kept))
    assert set(kept) | set(dropped) == set(range(len(items)))
    assert not set(kept) & set(dropped)
    assert set(dropped.values()) <= {
        "kinds",
        "paths",
        "languages",
        "min_score",
        "duplicate",
        "merged",
    }


@cases(200)
@given(ITEMS, OPTIONS)
def test_what_was_named_is_never_dropped_for_its_score(
    items: list[Item], options: dict[str, Any]
) -> None:
    dropped = choose(items, **options).dropped
    assert not [
        i for i, why in dropped.items() if why == "min_score" and items[i].origin == "explicit"
    ]


@cases(200)
@given(ITEMS, OPTIONS)
def test_choosing_again_among_the_chosen_changes_nothing(
    items: list[Item], options: dict[str, Any]
) -> None:
    once = [entry.item for entry in choose(items, **options).values()]
    assert [entry.item for entry in choose(once, **options).values()] == once


@cases(200)
@given(ITEMS)
def test_no_text_is_there_twice_unless_both_are_required(items: list[Item]) -> None:
    chosen = choose(items, min_score=None)
    entries, dropped = list(chosen.values()), chosen.dropped
    texts: dict[str | None, list[Item]] = {}
    for entry in entries:
        texts.setdefault(entry.item.content, []).append(entry.item)
    assert set(texts) == {i.content for i in items}
    for same in texts.values():
        assert len(same) == 1 or all(i.required for i in same)
    assert not [i for i in dropped if items[i].required]


# ---- filters


def test_without_filters_everything_stays_in_its_order() -> None:
    assert indices([item("c"), item("a"), item("b")]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "expected", "reason"),
    [
        ({"kinds": ["code"]}, [0, 1], "kinds"),
        ({"kinds": ["code", "error"]}, [0, 1, 2], "kinds"),
        ({"languages": ["PYTHON"]}, [0, 2], "languages"),
        ({"paths": ["*.py"]}, [0, 2], "paths"),
        ({"paths": ["src/"]}, [2], "paths"),
        ({"paths": ["/a.py"]}, [0], "paths"),
        ({"paths": ["*.py", "!src/**"]}, [0], "paths"),
        ({"paths": ["**/*.md"]}, [1], "paths"),
        ({"paths": ["*", "!src/"]}, [0, 1], "paths"),
        ({"paths": ["*", "!/src/ "]}, [0, 1], "paths"),
        ({"paths": ["*", "!doc/src/"]}, [0, 1, 2], "paths"),
        ({"paths": ["*", "!*/"]}, [0], "paths"),
    ],
)
def test_filters(options: dict[str, Any], expected: list[int], reason: str) -> None:
    items = [
        item("0", kind="code", path="a.py", language="python"),
        item("1", kind="code", path="doc/b.md", language="markdown"),
        item("2", kind="error", path="src/c.py", language="Python"),
        item("3"),
    ]
    chosen = choose(items, **options)
    entries, dropped = list(chosen.values()), chosen.dropped
    assert [entry.index for entry in entries] == expected
    assert dropped == {i: reason for i in range(4) if i not in expected}


def test_a_score_counts_only_for_what_a_search_found() -> None:
    items = [item("named", score=0.1), found(0.1), found(0.5), found(0.49999)]
    assert choose(items, min_score=0.5).dropped == {1: "min_score", 3: "min_score"}
    assert indices(items, min_score=None) == indices(items, min_score=0) == [0, 1, 2, 3]


@pytest.mark.parametrize("scores", [[0.1, 17.3], [-0.2, 0.9], [-8.0, -3.0]])
def test_scores_outside_of_0_to_1_are_not_cut_and_it_is_said(scores: list[float]) -> None:
    said = Diagnostics()
    items = Columns([found(score) for score in scores])
    chosen = select(items, Options(min_score=0.5), lambda i: None, TRIMMERS, said)
    assert len(chosen) == len(scores)
    assert [(d.code, d.severity) for d in said] == [("PF103", "warning")]


# ---- ranking


def by_rank(items: list[Item], **options: Any) -> list[int]:
    return [e.index for e in sorted(choose(items, **options).values(), key=lambda e: -e.rank)]


def stored(score: float, order: Any, content: str = "x") -> Item:
    return Item(content=content, origin="similarity", score=score, score_order=order)


def test_found_items_are_ranked_by_their_order() -> None:
    distances = [stored(0.1, "given", "near"), stored(0.9, "given", "far")]
    assert by_rank(distances) == [0, 1]
    assert by_rank(distances, score_order="higher") == [1, 0]
    backwards = [stored(0.9, "given", "far"), stored(0.1, "given", "near")]
    assert by_rank(backwards, score_order="lower") == [1, 0]


def test_documented_numbers_are_the_rank() -> None:
    assert by_rank([stored(0.2, "higher", "a"), stored(0.9, "higher", "b")]) == [1, 0]
    assert by_rank([stored(0.9, "lower", "a"), stored(-0.2, "lower", "b")]) == [1, 0]


@pytest.mark.parametrize("distances", [(0.2, 3.0), (-0.9, -0.1)])
def test_an_item_without_a_distance_comes_after_those_with_one(
    distances: tuple[float, float],
) -> None:
    near, far = (found(one, content=f"{one}") for one in distances)
    unknown = Item(content="x", origin="similarity")
    assert by_rank([unknown, far, near], score_order="lower") == [2, 1, 0]
    assert by_rank([unknown, Item(content="y", origin="similarity")]) == [0, 1]


def test_numbers_of_two_meanings_do_not_compare() -> None:
    both = [
        stored(0.3, "higher", "a"), stored(0.2, "higher", "b"),
        stored(900.0, "given", "c"), stored(800.0, "given", "d"),
    ]  # fmt: skip
    assert by_rank(both) == [0, 2, 1, 3]


def test_min_score_judges_scores_alone() -> None:
    said = Diagnostics()
    items = [stored(0.1, "higher"), stored(0.1, "given", "y"), stored(0.1, "lower", "z")]
    chosen = select(Columns(items), Options(min_score=0.5), lambda i: None, TRIMMERS, said)
    assert chosen.dropped == {0: "min_score"}
    (note,) = said
    assert (note.code, note.severity) == ("PF103", "warning")
    assert "was not applied to 2 of 3 found items" in note.message
    options = Options(min_score=0.5, score_order="higher")
    chosen = select(Columns(items), options, lambda i: None, TRIMMERS, Diagnostics())
    assert len(chosen.dropped) == 3
    options, said = Options(min_score=0.5, score_order="lower"), Diagnostics()
    select(Columns(items), options, lambda i: None, TRIMMERS, said)
    (note,) = said
    assert "score_order: lower says that their numbers are distances" in note.message


def ranks(items: list[Item], **options: Any) -> list[float]:
    return [entry.rank for entry in choose(items, min_score=None, **options).values()]


def test_without_a_query_the_rank_is_the_score() -> None:
    assert ranks([found(0.2), found(0.9)]) == [0.2, 0.9]
    assert ranks([found(0.2, "word"), found(0.9)], query="word", rerank="none") == [0.2, 0.9]
    assert ranks([found(0.2), found(0.9)], query="unheard of") == [0.2, 0.9]


def test_what_holds_the_words_of_the_query_rises() -> None:
    low, high, other = ranks(
        [found(0.6, "nothing"), found(0.6, "the parser"), found(0.6, "the parser of dates")],
        query="parser dates",
    )[::-1]
    assert low > high > other


@pytest.mark.parametrize("field", ["name", "path", "summary", "content"])
def test_words_are_looked_for_where_a_reader_would(field: str) -> None:
    fields: dict[str, Any] = {"content": "x", field: "getUserName"}
    first, second = ranks([item("y", score=0.5), Item(score=0.5, **fields)], query="user")
    assert second > first


@cases(100)
@given(ITEMS, st.text("abc text34", max_size=12))
def test_a_query_drops_nothing(items: list[Item], query: str) -> None:
    assert len(
        choose(items, query=query, min_score=None, dedupe=False, merge_overlaps=False)
    ) == len(items)


def test_mmr_puts_something_else_before_more_of_the_same() -> None:
    same = "the cat sat on the mat and looked at the moon"
    items = [
        found(0.9, same),
        found(0.85, same + " again"),
        found(0.84, "trains run late in winter snow"),
    ]
    first, second, third = ranks(items, rerank="mmr")
    assert first > third > second


# ---- ranges of one file

LINES = [f"line {n}" for n in range(1, 31)]


def line_range(start: int, end: int, **fields: Any) -> Item:
    return Item(
        content="\n".join(LINES[start - 1 : end]),
        path="a.py",
        start_line=start,
        end_line=end,
        **fields,
    )


RANGES = st.lists(
    st.tuples(st.integers(1, 30), st.integers(0, 9)).map(lambda r: (r[0], min(r[0] + r[1], 30))),
    min_size=1,
    max_size=8,
)


def join(items: list[Item]) -> list[Item]:
    """Join what touches, and return what is left in the caller's order."""
    left = dict(enumerate(items))
    for (first, *others), joined in join_ranges(items, left):
        left[first] = joined
        for index in others:
            del left[index]
    return list(left.values())


@cases(300)
@given(RANGES)
def test_joined_ranges_are_the_runs_of_the_lines_that_were_given(
    ranges: list[tuple[int, int]],
) -> None:
    joined = join([line_range(*r) for r in ranges])
    covered = {line for start, end in ranges for line in range(start, end + 1)}
    runs = [
        (line, next(n for n in range(line, 32) if n + 1 not in covered))
        for line in sorted(covered)
        if line - 1 not in covered
    ]
    assert sorted((item.start_line, item.end_line) for item in joined) == runs
    for item in joined:
        assert item == line_range(item.start_line or 0, item.end_line or 0)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (line_range(6, 9), "a gap of a line"),
        (line_range(3, 8, kind="error"), "another kind"),
        (line_range(3, 8, origin="similarity"), "named and found"),
        (
            Item(content="line 3\nline 4 changed", path="a.py", start_line=3, end_line=4),
            "they disagree",
        ),
        (Item(content="line 3", path="a.py", start_line=3, end_line=8), "content is not its lines"),
        (Item(content="line 3\nline 4", path="b.py", start_line=3, end_line=4), "another file"),
        (line_range(3, 8, required=True), "it must stay as it is"),
        (line_range(3, 8, expanded="longer"), "it has a longer variant"),
        (Item(content="line 3", path="a.py", start_line=3), "no end"),
    ],
)
def test_ranges_stay_apart_where_joining_would_lose_something(other: Item, why: str) -> None:
    assert join_ranges([line_range(1, 4), other], [0, 1]) == [], why


def test_ranges_go_on_being_joined_after_an_empty_last_line() -> None:
    texts = {(1, 3): "a\nb\n\n", (2, 3): "b\n\n", (3, 4): "\nc\n", (5, 5): "d"}
    parts = [
        Item(content=t, path="a.py", start_line=a, end_line=b, id=f"{a}")
        for (a, b), t in texts.items()
    ]
    (joined,) = join(parts)
    found = joined.content, joined.start_line, joined.end_line, joined.id
    assert found == ("a\nb\n\nc\nd", 1, 5, "1")


def test_joined_ranges_keep_the_best_score_and_what_both_said() -> None:
    one, two = (
        line_range(1, 4, score=0.6, name="f", metadata={"a": 1}),
        line_range(4, 6, score=0.8, name="f", metadata={"b": 2}),
    )
    (joined,) = join([one, two])
    assert (joined.score, joined.name) == (0.8, "f")
    assert joined.metadata == {"a": 1, "b": 2}
    result = pf.render([two, one])
    assert [(each.status, each.reason, each.line_range) for each in result.items] == [
        ("included", "fits", "lines 1-6"),
        ("dropped", "merged", "lines 1-4"),
    ]


# ---- the same text twice


@pytest.mark.parametrize(
    ("pair", "kept"),
    [
        ([item("same", score=0.5), item("same", score=0.9)], 1),
        ([item("same", score=0.5), item("same", score=0.5)], 0),
        ([item("same", score=0.2, required=True), item("same", score=0.9)], 0),
        ([item("same", score=0.9), item("same", score=0.2, required=True)], 1),
    ],
)
def test_of_two_with_one_text_the_better_stays(pair: list[Item], kept: int) -> None:
    assert indices(pair) == [kept]
    assert indices(pair, dedupe=False) == [0, 1]


def test_the_one_that_stays_says_where_else_it_was() -> None:
    items = [
        item("same", path="a.py", start_line=1, end_line=2),
        item("same", path="b.py"),
        item("same", name="n"),
    ]
    (entry,) = choose(items).values()
    assert entry.item.metadata == {"also_in": ["b.py", "n"]}
    assert items[0].metadata == {}


@cases(100)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_the_best_of_many_with_one_text_stays_and_names_all_the_others(scores: list[float]) -> None:
    assume(len(set(scores)) == len(scores))
    items = [item("same", score=score, name=f"n{n}") for n, score in enumerate(scores)]
    (entry,) = choose(items).values()
    assert entry.rank == max(scores)
    assert sorted(entry.item.metadata["also_in"]) == sorted(
        f"n{n}" for n in range(len(scores)) if n != entry.index
    )


def test_every_drop_that_is_not_for_the_budget_is_said_by_name() -> None:
    items = [
        Item(content="one", path="a.py", kind="code"),
        Item(content="two", name="B", origin="similarity", score=0.1),
        Item(content="three", url="https://e.org/c", origin="similarity", score=0.9),
        Item(content="four", path="d.md", kind="document"),
        Item(content="one", path="e.py", kind="code"),
    ]
    result = pf.render(items, min_score=0.5, kinds=["code", "text"])
    assert [(one.code, one.message) for one in result.warnings] == [
        ("PF120", '1 duplicate was skipped: "e.py"'),
        ("PF121", '1 found item scores below min_score 0.5: "B"; a lower min_score keeps more'),
        ("PF122", '1 item was dropped by kinds: "d.md"; kinds: none keeps all'),
    ]


def test_scores_of_a_reranker_may_be_forgotten_while_it_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scoring, "MAX_SCORES_REMEMBERED", 4)

    def score(asked: str, texts: list[str]) -> list[int]:
        if texts == ["ccc"]:  # as another thread may do meanwhile
            ask(["d", "e", "f", "g"])
        return list(map(len, texts))

    def ask(texts: list[str]) -> list[float] | None:
        return scoring.Reranker(score, ("x",), Diagnostics(), lambda made: made).scores(texts)

    ask(["a", "bb"])
    assert ask(["a", "bb", "ccc"]) == [0.0, 0.5, 1.0]


# --- diversity ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scores", [[-1.0, -2.0, -3.0], [0.0, 0.0, 0.0], [5.0, 5.0, 5.0], [math.inf, 1.0, 0.0]]
)
def test_scores_of_any_scale_leave_the_order_of_equals(scores: list[float]) -> None:
    pages = [RankedText("", "the same text for each", score) for score in scores]
    worth = reading("text", pages).worth
    assert worth == sorted(worth, reverse=True) and all(map(math.isfinite, worth))


WORDS = st.sampled_from(
    [
        "oil",
        "Tulsa",
        "air. ",
        "Omni Air",
        "born",
        "in",
        "the",
        "x" * 30,
        "\n",
        "東京は",
        "getUser",
        "Oils.",
    ]
)
TEXTS = st.lists(WORDS).map(" ".join)


def test_what_says_the_same_comes_later() -> None:
    texts = ["oil of Tulsa in May", "the oil of Tulsa in May", "air of the north", "nothing else"]
    assert diversify([1.0, 0.95, 0.6, 0.0], texts) == [0, 2, 1, 3]
    assert diversify([], []) == []
    assert diversify([1.0, 1.0, 1.0], ["", "", ""]) == [0, 1, 2]


def test_the_caller_s_vectors_go_before_words() -> None:
    texts = ["one", "one", "two"]
    assert diversify([3, 2, 1], texts, vectors=[(1, 0), (0, 1), (1, 0)]) == [0, 1, 2]
    assert diversify([3, 2.9, 1], texts, vectors=[(1, 0), (1, 0), (-1, 0)]) == [0, 1, 2]
    assert diversify([3, 2, 2], texts, vectors=[(1, 0), (1, 0), (0, 0)]) == [0, 2, 1]


@given(st.lists(st.tuples(st.floats(allow_nan=True), TEXTS), max_size=12))
def test_each_candidate_comes_once_and_the_lazy_way_is_the_greedy_one(
    pairs: list[tuple[float, str]],
) -> None:
    scores, texts = [score for score, _ in pairs], [text for _, text in pairs]
    likeness, relevance, share = (
        _likeness(texts, None),
        _to_unit_range(scores),
        RELEVANCE_SHARE,
    )
    chosen: list[int] = []
    while left := [index for index in range(len(pairs)) if index not in chosen]:
        likes = {
            index: max((likeness(index, other) for other in chosen), default=0.0) for index in left
        }
        chosen.append(
            max(left, key=lambda i: (share * relevance[i] - (1 - share) * max(likes[i], 0.0), -i))
        )
    assert diversify(scores, texts) == chosen


def test_a_file_of_unknown_age_is_none_of_the_newest() -> None:
    items = [item(metadata=about) for about in ({}, {"commits_ago": 9}, {"commits_ago": 1})]
    found = Candidates(items, [0.0] * 3, range(3), {})
    assert found.newest_first(range(3)) == [2, 1, 0]


def dated(*dates: object) -> list[pf.Item]:
    return [pf.Item(content=f"text {n}", metadata={"date": date}) for n, date in enumerate(dates)]


ODD_DATES: list[object] = [
    *("yesterday", 2025, ["2025-01-01"]),
    *("0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"),  # no day of Python's in UTC
]


@pytest.mark.parametrize(
    "date, reason",
    [
        ("2026-03-01", "fits"),  # 30 days before
        ("2026-02-28", "max_age"),
        ("2026-02-28T23:59:59", "max_age"),
        ("2026-02-28T23:30:00-02:00", "fits"),  # the first of March in UTC
        ("2026-03-01T01:30:00+02:00", "max_age"),
        (" 2026-02-28 ", "max_age"),
        (datetime.date(2026, 2, 28), "max_age"),
        (None, "fits"),
        ("", "fits"),
        *((date, "fits") for date in ODD_DATES),
    ],
)
def test_max_age_counts_days_before_the_newest_item(date: object, reason: str) -> None:
    result = pf.render(dated(date, "2026-03-31"), max_age=30)
    assert [item.reason for item in result.items] == [reason, "fits"]
    unreadable = any(warning.code == "PF202" for warning in result.warnings)
    assert unreadable == (date in ODD_DATES)


def test_max_age_keeps_what_must_appear_and_the_day_itself() -> None:
    old, new = dated("2020-01-01", "2026-03-31T08:00:00")
    must = pf.Item(content="must", required=True, metadata={"date": "1999-01-01"})
    same = pf.Item(content="same day", metadata={"date": "2026-03-31"})
    result = pf.render([old, new, must, same], max_age=0)
    assert [item.reason for item in result.items] == ["max_age", "fits", "required", "fits"]
    assert pf.render([old, new, must, same]).items_dropped == 0
    assert result.remedies()[0].options == {"max_age": None}


def test_max_age_without_any_date_says_so() -> None:
    result = pf.render([pf.Item(content="a"), pf.Item(content="b")], max_age=3)
    assert result.items_dropped == 0
    assert [warning.code for warning in result.warnings] == ["PF201"]


def test_what_texts_share_is_found_once_for_any_query(monkeypatch: pytest.MonkeyPatch) -> None:
    end = "the same long sentence ends one and begins another of these two texts"
    items = [pf.Item(content=f"text {n} says a word of its own") for n in range(200)]
    items += [pf.Item(content=f"A first text: {end}"), pf.Item(content=f"{end}. And more of it.")]
    before = pf.render(items, query="word", max_tokens=4000)
    monkeypatch.delattr("promptforge.selection.filter.cut_near_equal")
    again = pf.render(items, query="words", max_tokens=4000)
    assert again.text == before.text and again.text.count(end) == 1
    assert again.warnings == before.warnings
    with pytest.raises(NameError):  # one other item: all are compared anew
        pf.render([*items[1:], pf.Item(content="new")], query="words", max_tokens=4000)


def test_joined_distances_are_the_least_and_joined_scores_the_greatest() -> None:
    near, far = (
        line_range(first, first + 1, origin="similarity", score=score)
        for first, score in ((1, 0.1), (3, 0.9))
    )
    assert join_ranges([near, far], [0, 1], "lower")[0].item.score == 0.1
    assert join_ranges([near, far], [0, 1])[0].item.score == 0.9


def test_a_few_words_that_another_text_begins_with_are_no_duplicate() -> None:
    long = "Yes, it is. " + "Orders are refunded within thirty days of the purchase. " * 9
    items = [{"content": long, "score": 0.9}, {"content": "Yes, it is.", "score": 0.2}]
    result = pf.render(items, max_tokens=20, trim="none")
    assert [item.reason for item in result.items] == ["budget", "fits"]
    assert result.text.count("Yes, it is.") == 1
