"""Fitting as arithmetic: items are words on a page whose cost is its length; no template, no
tokenizer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from unfiltered import PACKINGS
from word_page import Words

from promptforge.errors import BudgetError
from promptforge.packing.pack import Plan
from promptforge.packing.pack import pack as fit
from promptforge.packing.types import (
    UNLIMITED,
    ZERO_COST,
    Cost,
    PackingStep,
    Variant,
    add_costs,
    explicit_share_of,
    fits_within,
    subtract_costs,
)

SPREADING = ("even", "longest_first", "drop_last", "drop_first")


class ContainedWords(Words):
    """Words among which one that stands within another is its twin."""

    def duplicates(
        self, index: int, chosen: Mapping[int, Variant]
    ) -> tuple[int | None, Sequence[int]]:
        word = self.words[index]
        holder = next(
            (i for i, form in chosen.items() if form.name == "content" and word in form.text), None
        )
        return holder, [i for i, form in chosen.items() if form.text in word and i != index]


def pack(
    words: Sequence[str] | Words,
    budget: float,
    *,
    packing: Any = "whole",
    trim: bool = False,
    chars: float = UNLIMITED,
) -> Plan:
    scale = words if isinstance(words, Words) else Words(words)
    parts = [
        PackingStep(range(len(scale.words)), ranks=[1.0 - n / 100 for n in range(len(scale.words))])
    ]
    return fit(parts, scale, (budget, chars), packing=packing, trim=trim)


def shown(found: Plan) -> dict[int, str]:
    return {index: form.text for index, form in found.chosen.items()}


WORDS = st.lists(st.text("abc", min_size=1, max_size=12), max_size=9)
SCALES = st.builds(
    lambda words, overhead, between, short, rough: Words(words, overhead=overhead, between=between, short=short, rough=rough),
    WORDS, st.integers(0, 6), st.integers(0, 3), st.booleans(), st.booleans(),
)  # fmt: skip
BUDGET = st.integers(0, 80)
CHARS = st.one_of(st.just(UNLIMITED), st.integers(0, 80))
PACKING = st.sampled_from(PACKINGS)


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.slow
@cases(400)
@given(SCALES, BUDGET, CHARS, PACKING, st.booleans())
def test_never_over_and_everything_accounted_for(
    scale: Words, budget: int, chars: float, packing: Any, trim: bool
) -> None:
    found = pack(scale, budget, packing=packing, trim=trim, chars=chars)
    assert found.cost == scale.measure(found.chosen)
    assert found.overhead_fits is fits_within(found.cost, (budget, chars))
    if found.chosen:
        assert found.overhead_fits
    assert set(found.chosen) | set(found.reasons) == set(range(len(scale.words)))
    assert not set(found.chosen) & set(found.reasons)
    assert set(found.reasons.values()) <= {"budget"}
    if packing in ("whole", "stop") or (packing in SPREADING and not trim):
        assert all(form.name == "content" for form in found.chosen.values())


@cases(200)
@given(SCALES, BUDGET, PACKING, st.booleans())
def test_equal_input_gives_an_equal_choice(
    scale: Words, budget: int, packing: Any, trim: bool
) -> None:
    one, other = (pack(scale, budget, packing=packing, trim=trim) for _ in range(2))
    assert one._replace(turns=other.turns) == other
    assert one.turns.changes == other.turns.changes


@pytest.mark.slow
@cases(300)
@given(SCALES, BUDGET)
def test_whole_is_the_greedy_walk(scale: Words, budget: int) -> None:
    expected: dict[int, Variant] = {}
    for index in range(len(scale.words)):
        tried = {**expected, index: scale.variants(index)[0]}
        if fits_within(scale.measure(tried), (budget, UNLIMITED)):
            expected = tried
    assert pack(scale, budget).chosen == expected


@cases(300)
@given(SCALES, BUDGET)
def test_stop_is_the_longest_beginning_that_fits(scale: Words, budget: int) -> None:
    found = pack(scale, budget, packing="stop")
    count = len(found.chosen)
    assert sorted(found.chosen) == list(range(count))
    if count < len(scale.words):
        more = {index: scale.variants(index)[0] for index in range(count + 1)}
        assert not fits_within(scale.measure(more), (budget, UNLIMITED))


@pytest.mark.slow
@cases(300)
@given(SCALES, BUDGET, st.integers(0, 10))
def test_more_budget_never_stops_sooner(scale: Words, budget: int, more: int) -> None:
    assert len(pack(scale, budget + more, packing="stop").chosen) >= len(
        pack(scale, budget, packing="stop").chosen
    )


@pytest.mark.slow
@cases(300)
@given(SCALES, BUDGET)
def test_nothing_stays_out_that_would_fit_in_any_way(scale: Words, budget: int) -> None:
    found = pack(scale, budget, packing="score", trim=True)
    for index in found.reasons:
        for form in scale.variants(index):
            assert not fits_within(
                scale.measure({**found.chosen, index: form}), (budget, UNLIMITED)
            )
        assert scale.shorten(index, found.chosen, (budget, UNLIMITED)) is None


@pytest.mark.slow
@cases(300)
@given(SCALES, BUDGET, PACKING, st.booleans())
def test_a_budget_for_all_shows_all_whole(
    scale: Words, budget: int, packing: Any, trim: bool
) -> None:
    everything = {index: scale.variants(index)[0] for index in range(len(scale.words))}
    enough = scale.measure(everything)
    # Where texts join for less, costs alone may ask for more than the page takes: the page
    # decides.
    assert pack(scale, enough[0], packing=packing, trim=trim, chars=enough[1]).chosen == everything
    assert pack(scale, UNLIMITED, packing=packing, trim=trim).chosen == everything


@pytest.mark.slow
@cases(300)
@given(SCALES, BUDGET, PACKING, st.sets(st.integers(0, 8)), st.booleans())
def test_what_is_required_is_whole_or_it_is_an_error(
    scale: Words, budget: int, packing: Any, required: set[int], trim: bool
) -> None:
    must = [index for index in range(len(scale.words)) if index in required]
    rest = [index for index in range(len(scale.words)) if index not in required]
    limit = (budget, UNLIMITED)
    needed = scale.measure({index: scale.variants(index)[0] for index in must})
    parts = [PackingStep(must, required=True), PackingStep(rest)]
    if must and not fits_within(needed, limit):
        with pytest.raises(BudgetError) as error:
            fit(parts, scale, limit, packing=packing, trim=trim)
        assert (error.value.needed, error.value.largest) == (needed[0], budget)
        return
    found = fit(parts, scale, limit, packing=packing, trim=trim)
    assert all(found.chosen[index] == scale.variants(index)[0] for index in must)
    assert fits_within(found.cost, limit) is found.overhead_fits


@pytest.mark.slow
@cases(300)
@given(SCALES, BUDGET, PACKING, st.integers(0, 5), st.booleans())
def test_most_is_never_passed_and_the_others_say_so(
    scale: Words, budget: int, packing: Any, most: int, trim: bool
) -> None:
    found = fit(
        [PackingStep(range(len(scale.words)), most=most)],
        scale,
        (budget, UNLIMITED),
        packing=packing,
        trim=trim,
    )
    assert len(found.chosen) <= most
    assert set(found.reasons.values()) <= {"budget", "max_items"}
    if "max_items" in found.reasons.values() and packing not in (*SPREADING, "value"):
        assert len(found.chosen) == most
        last = max(found.chosen, default=-1)
        assert all(index > last for index, why in found.reasons.items() if why == "max_items")


@pytest.mark.slow
@cases(300)
@given(SCALES, BUDGET, PACKING, st.floats(0, 1), st.booleans())
def test_a_part_keeps_to_its_share(
    scale: Words, budget: int, packing: Any, share: float, trim: bool
) -> None:
    found = fit(
        [PackingStep(range(len(scale.words)), share)],
        scale,
        (budget, UNLIMITED),
        packing=packing,
        trim=trim,
    )
    assert not found.chosen or found.cost[0] <= budget * share


@pytest.mark.slow
@cases(300)
@given(SCALES, BUDGET, PACKING, st.integers(0, 9), st.floats(0, 1), st.booleans())
def test_two_sides_and_a_second_go(
    scale: Words, budget: int, packing: Any, first: int, share: float, trim: bool
) -> None:
    left, right = range(len(scale.words))[:first], range(len(scale.words))[first:]
    parts = [PackingStep(left, share), PackingStep(right, most=2), PackingStep(left)]
    found = fit(parts, scale, (budget, UNLIMITED), packing=packing, trim=trim)
    assert found.cost == scale.measure(found.chosen)
    assert found.overhead_fits is fits_within(found.cost, (budget, UNLIMITED))
    assert set(found.chosen) | set(found.reasons) == set(range(len(scale.words)))
    assert not set(found.chosen) & set(found.reasons)
    assert len(set(found.chosen) & set(right)) <= 2


@pytest.mark.slow
@cases(300)
@given(WORDS, BUDGET, PACKING, st.booleans())
def test_no_text_is_shown_that_a_better_one_holds(
    words: list[str], budget: int, packing: Any, trim: bool
) -> None:
    found = pack(ContainedWords(words), budget, packing=packing, trim=trim)
    assert set(found.chosen) | set(found.reasons) == set(range(len(words)))
    whole = {index: form.text for index, form in found.chosen.items() if form.name == "content"}
    assert not [b for n, a in whole.items() for m, b in whole.items() if n < m and b in a]
    if len("".join(words)) + len(words) <= budget:
        assert not [b for n, a in whole.items() for m, b in whole.items() if n != m and b in a]
    assert set(found.duplicates) == {
        index for index, why in found.reasons.items() if why == "duplicate"
    }
    for index in found.duplicates:
        holder = index
        while holder in found.duplicates:
            assert words[holder] in words[found.duplicates[holder]]
            holder = found.duplicates[holder]
        assert holder in found.chosen
    assert fits_within(found.cost, (budget, UNLIMITED)) is found.overhead_fits


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("packing", "trim", "budget", "expected"),
    [
        ("whole", False, 0, {}),
        ("whole", False, 3, {0: "aaa"}),
        ("whole", False, 6, {0: "aaa", 2: "cc"}),
        ("whole", False, 12, {0: "aaa", 1: "bbbbbbbb"}),
        ("whole", False, 15, {0: "aaa", 1: "bbbbbbbb", 2: "cc"}),
        ("stop", False, 11, {0: "aaa"}),
        ("stop", False, 12, {0: "aaa", 1: "bbbbbbbb"}),
        ("score", False, 6, {0: "aaa", 2: "cc"}),
        ("score", True, 2, {0: "a…"}),
        ("score", True, 6, {0: "aaa", 1: "b…"}),
        ("score", True, 9, {0: "aaa", 1: "bbbb…"}),
        ("score", True, 14, {0: "aaa", 1: "bbbbbbbb"}),
    ],
)
def test_what_fits(packing: Any, trim: bool, budget: int, expected: dict[int, str]) -> None:
    found = pack(["aaa", "bbbbbbbb", "cc"], budget, packing=packing, trim=trim)
    assert shown(found) == expected


def test_a_summary_stands_in_where_nothing_longer_fits() -> None:
    scale = Words(["aaaa", "bbbb"], short=True)
    assert shown(pack(scale, 6, packing="score")) == {0: "aaaa", 1: "b"}
    assert shown(pack(scale, 6, packing="whole")) == {0: "aaaa"}
    assert shown(pack(scale, 6, packing="stop")) == {0: "aaaa"}
    assert shown(pack(scale, 8, packing="score", trim=True)) == {0: "aaaa", 1: "bb…"}


def test_both_ceilings_hold_and_the_message_names_the_one_that_breaks() -> None:
    assert shown(pack(["aaa", "bb"], 100, chars=5)) == {0: "aaa"}
    required = [PackingStep([0, 1], required=True)]
    with pytest.raises(BudgetError, match="need 6 characters and the budget is 5") as error:
        fit(required, Words(["aaa", "bb"]), (100, 5))
    assert (error.value.needed, error.value.largest) == (6, 5)
    with pytest.raises(BudgetError, match="need 6 tokens and the budget is 4"):
        fit(required, Words(["aaa", "bb"]), (4, 5))


def test_a_frame_that_is_too_large_is_said() -> None:
    found = pack(Words(["a"], overhead=9), 8)
    assert (found.chosen, found.overhead_fits, found.cost) == ({}, False, (9, 9))
    assert found.reasons == {0: "budget"}
    empty = fit([], Words([], overhead=9), (9, UNLIMITED))
    assert (empty.chosen, empty.overhead_fits) == ({}, True)


def test_what_one_part_leaves_the_next_may_use() -> None:
    words = Words(["aaaa", "bbbb", "cccc", "dddd"], between=0)
    parts = [PackingStep([0, 1], 0.5), PackingStep([2, 3]), PackingStep([0, 1])]
    assert list(fit(parts, words, (8, UNLIMITED)).chosen) == [0, 2]
    assert list(fit(parts, words, (16, UNLIMITED)).chosen) == [0, 1, 2, 3]
    later = fit(
        [PackingStep([0, 1], 0.5), PackingStep([2]), PackingStep([0, 1])],
        words,
        (12, UNLIMITED),
        trim=False,
    )
    assert list(later.chosen) == [0, 2, 1]
    assert not later.reasons


def test_what_is_after_a_stop_is_not_looked_at() -> None:
    found = pack(["aa", "bbbbbb", "c", "d"], 5, packing="stop")
    assert (list(found.chosen), dict(found.reasons)) == (
        [0],
        {1: "budget", 2: "budget", 3: "budget"},
    )


def test_a_longer_text_takes_the_place_of_what_it_holds() -> None:
    found = pack(ContainedWords(["ab", "b", "cabc"]), 20)
    assert shown(found) == {2: "cabc"}
    assert found.reasons == {0: "duplicate", 1: "duplicate"}


@pytest.mark.parametrize(
    ("explicit", "similarity", "limit", "expected"),
    [
        ((10, 0), (10, 0), (100, UNLIMITED), 1.0),
        ((80, 0), (80, 0), (100, UNLIMITED), 0.6),
        ((80, 0), (30, 0), (100, UNLIMITED), 0.7),
        ((500, 0), (0, 0), (100, UNLIMITED), 1.0),
        ((80, 900), (30, 900), (100, 1000), 0.6),
        ((10, 10), (0, 0), (0, 0), 0.6),
    ],
)
def test_shares(explicit: Cost, similarity: Cost, limit: Cost, expected: float) -> None:
    assert explicit_share_of(explicit, similarity, limit, 0.6) == pytest.approx(expected)


COST = st.tuples(st.integers(0, 200), st.integers(0, 200))


@cases(300)
@given(COST, COST, COST, st.floats(0, 1))
def test_each_side_is_sure_of_its_share(
    explicit: Cost, similarity: Cost, limit: Cost, share: float
) -> None:
    found = explicit_share_of(explicit, similarity, limit, share)
    assert share <= found <= 1
    if not fits_within(add_costs(explicit, similarity), limit) and found > share:
        # What the found items need whole is left to them.
        assert similarity[0] <= (1 - found) * limit[0] + 1e-6 or limit[0] == 0
        assert similarity[1] <= (1 - found) * limit[1] + 1e-6 or limit[1] == 0


def test_costs_add_and_compare_in_both_units() -> None:
    assert add_costs((1, 2), (3, 4)) == (4, 6)
    assert subtract_costs((4, 6), (3, 4)) == (1, 2)
    assert (
        fits_within((1, 2), (1, 2))
        and not fits_within((2, 2), (1, 9))
        and not fits_within((1, 3), (9, 2))
    )
    assert fits_within(ZERO_COST, ZERO_COST) and math.isinf(UNLIMITED)
