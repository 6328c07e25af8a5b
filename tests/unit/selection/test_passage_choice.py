"""A choice of passages: the likeliest first, whatever their document, as far as there is room."""

from __future__ import annotations

import pytest
from evidence_pages import PAGES, QUERY, reading, take
from hypothesis import given
from hypothesis import strategies as st

from promptforge.selection import passage_choice
from promptforge.selection.evidence import DividedText, Evidence, RankedText
from promptforge.selection.passage_choice import (
    PassageCosts,
    PassageId,
    choose_passages,
)
from promptforge.trimming.pieces import split_prose


def test_the_likeliest_passages_come_first() -> None:
    evidence = reading(QUERY, PAGES)
    picks = take(evidence, 60).picks
    assert {i for i, _ in picks} <= {0, 1, 4}
    assert [i for i, _ in picks][:2] == sorted([0, 1], key=lambda i: -evidence.worth[i])


def test_passages_bring_the_headings_above_and_pay_for_them() -> None:
    pages = [RankedText("Manual", "# Options\n-a all of it\n-b brief\n", 1.0)]
    cut = DividedText(["# Options\n", "-a all of it\n", "-b brief\n"], [-1, 0, 0])
    evidence = Evidence(["brief"], pages, lambda _: cut)
    costs = {0: 5.0, 1: 4.0, 2: 3.0}

    def take(room: float) -> list[PassageId]:
        return choose_passages(
            evidence,
            PassageCosts(lambda _: 10.0, lambda _, p: costs[p], gap=0.0),
            room=room,
            among=[0],
            max_documents=1,
        ).picks

    assert take(18) == [PassageId(0, 2)]
    assert take(17) == [PassageId(0, 0)]
    assert take(22) == [PassageId(0, 2), PassageId(0, 1)]


def test_only_what_may_be_chosen_is_divided_and_counted() -> None:
    pages = [
        RankedText("", f"Page {i} speaks of oil. It has no more to say on it than that.", 100.0 - i)
        for i in range(99)
    ]
    divided: list[int] = []

    def divide(index: int) -> DividedText:
        divided.append(index)
        return DividedText(list(split_prose(pages[index].text)))

    take(Evidence(["oil"], pages, divide), 100)
    assert len(divided) == len(set(divided)) == 3


@pytest.mark.parametrize("room", [40, 90, 150, 400])
def test_lower_bounds_choose_the_same_and_count_less(room: float) -> None:
    counted: list[tuple[int, int]] = []

    def choose(share: float) -> tuple[list[PassageId], list[PassageId]]:
        pages = reading(QUERY, PAGES)

        def cost(number: int, passage: int) -> float:
            counted.append((number, passage))
            return len(pages.passage_scores(number).passages.texts[passage]) / 4

        def least(number: int, passage: int) -> float:
            return share * len(pages.passage_scores(number).passages.texts[passage]) / 4

        costs = PassageCosts(lambda _: 6, cost, least=least)
        choice = choose_passages(
            pages, costs, room=room, among=range(len(PAGES)), max_documents=len(PAGES)
        )
        return choice.picks, list(choice.aside)

    without_bounds, all_counted = choose(0), len(counted)
    assert choose(0.8) == without_bounds
    assert len(counted) - all_counted <= all_counted


def test_nothing_comes_of_nothing() -> None:
    assert take(reading("a", []), 100) == ([], [])
    assert take(reading("", PAGES), 100).picks
    assert take(reading(QUERY, PAGES), 0).picks == []
    nothing = choose_passages(
        reading(QUERY, PAGES),
        PassageCosts(lambda _: 1, lambda *_: 1),
        room=99,
        among=range(len(PAGES)),
        max_documents=0,
    )
    assert (nothing.picks, list(nothing.aside)) == ([], [])


def test_what_has_no_room_is_put_in_order_only_as_far_as_it_is_read() -> None:
    said = "Page {} of this long book speaks of {}. It has no more to say on that matter."
    pages = [RankedText("", said.format(i, "oil" if i < 4 else "ice"), 50.0) for i in range(40)]
    counted: list[int] = []

    def header(number: int) -> float:
        counted.append(number)
        return 4.0

    costs = PassageCosts(header, lambda *_: 8.0, least=lambda *_: 7.0)
    choice = choose_passages(
        reading("oil", pages), costs, room=60, among=range(40), max_documents=40
    )
    assert 3 <= len(counted) < 12
    assert len(choice.picks) + len(list(choice.aside)) == 80
    assert len(counted) == 40


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
DOCUMENTS = st.lists(st.builds(RankedText, TEXTS, TEXTS, st.floats(-1, 10)), max_size=8)


@pytest.mark.slow
@given(TEXTS, DOCUMENTS, st.integers(0, 60), st.sets(st.integers(0, 7)))
def test_a_choice_keeps_within_the_room_and_names_each_passage_once(
    query: str, documents: list[RankedText], room: int, some: set[int]
) -> None:
    among = sorted(i for i in some if i < len(documents))
    evidence = reading(query, documents)
    picks, rest = take(evidence, room, among=among)
    aside = list(rest)
    assert {i for i, _ in (*picks, *aside)} <= set(among)
    spent = sum(len(evidence.passage_scores(i).passages.texts[p].split()) + 2 for i, p in picks)
    spent += 5 * len({i for i, _ in picks})
    assert spent <= room
    assert len({*picks, *aside}) == len(picks) + len(aside)
    assert take(reading(query, documents), room, among=among) == (picks, aside)


def test_an_opened_text_does_not_fill_the_room_with_what_says_nothing_of_the_query() -> None:
    silent = "It lives in the wide open sea and sleeps by day. " * 6
    pages = [
        RankedText("Squid", f"The squid has ten arms and ink. {silent}", 9.0),
        RankedText("Octopus", f"The octopus has eight arms and three hearts. {silent}", 8.5),
    ]
    evidence = reading("How many arms and hearts has the octopus or the squid?", pages)
    assert take(evidence, 40).picks == [PassageId(1, 0), PassageId(0, 0)]


def test_a_line_of_a_list_answers_for_itself() -> None:
    lines = [f"The tool number {n} cuts wood and costs little.\n" for n in range(8)]
    lines[3] = "The heron grinder polishes marble, and no other tool does.\n"
    other = "A polisher of marble in Heron stands at the kiln. It is old and large and loud."
    query = "which heron grinder polishes marble, and where"
    pages = [RankedText("Tools", "".join(lines)), RankedText("Kiln", other)]
    assert [number for number, _ in take(reading(query, pages), 200).picks[:2]] == [0, 1]


def test_short_passages_without_room_are_not_tried_again_for_each_that_is_set_aside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [f"- oil {n}\n" for n in range(1200)]
    evidence = Evidence(
        ["oil"], [RankedText("", "".join(lines), 1.0)], lambda _: DividedText(lines)
    )
    tried: list[int] = []
    fits = passage_choice._Chooser._fits

    def count(chooser: passage_choice._Chooser, number: int, passage: int) -> bool:
        tried.append(passage)
        return fits(chooser, number, passage)

    monkeypatch.setattr(passage_choice._Chooser, "_fits", count)
    costs = PassageCosts(lambda _: 3, lambda *_: 7.0, least=lambda *_: 1.0)
    choice = choose_passages(evidence, costs, room=55, among=[0], max_documents=1)
    assert len(choice.picks) == 5
    assert len([*choice.aside]) == len(lines) - 5 and len(tried) <= 2 * len(lines)
