"""Choosing the most worth as arithmetic: rows with worths, sizes and costs; no text, no tokenizer."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from knapsack import bound

from promptforge.packing.value import VARIANT_WORTH, WorthChoice, WorthChooser


class Rows(NamedTuple):
    """Rows, and what is to be found out about them."""

    worths: list[float]
    costs: list[int]
    sizes: list[int]
    owners: list[int] | None = None
    kinds: list[str] | None = None

    def chooser(self) -> WorthChooser:
        return WorthChooser(
            self.worths, self.sizes, self.costs.__getitem__, owners=self.owners, kinds=self.kinds
        )

    def choose(self, limit: float) -> WorthChoice:
        return self.chooser().choose(limit)

    def owner(self, row: int) -> int:
        return row if self.owners is None else self.owners[row]

    def best(self, limit: int) -> float:
        """Return the most worth there is, by trying all."""
        classes: dict[int, list[int]] = {}
        for row in range(len(self.worths)):
            classes.setdefault(self.owner(row), []).append(row)
        sums = {0: 0.0}
        for rows in classes.values():
            for cost, worth in list(sums.items()):
                for row in rows:
                    total = cost + self.costs[row]
                    if self.worths[row] > 0 and total <= limit:
                        sums[total] = max(sums.get(total, 0.0), worth + self.worths[row])
        return max(sums.values())


@st.composite
def rows(draw: st.DrawFn, most: int = 40, costs: st.SearchStrategy[int] | None = None) -> Rows:
    """Make rows with whole worths, whose sums are exact, of sizes that foretell costs well, badly
    or not at all.
    """
    count = draw(st.integers(0, most))
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    if costs is None:
        top = draw(st.sampled_from([1, 3, 12, 60, 400]))
        found = [rng.randint(0 if rng.random() < 0.1 else 1, top) for _ in range(count)]
    else:
        found = draw(st.lists(costs, min_size=count, max_size=count))
    like = draw(st.sampled_from(["cost", "even", "random", "near"]))
    worths: list[float] = [
        {
            "cost": cost,
            "even": 5,
            "random": rng.randint(0, 50),
            "near": cost + rng.randint(0, 3),
        }[like]
        for cost in found
    ]
    spread = draw(st.sampled_from([0, 0.1, 0.5, 5]))
    sizes = [int(4 * cost * (1 + spread * rng.random())) + rng.randint(0, 40) for cost in found]
    owners = [rng.randrange(1 + count // 2) for _ in found] if draw(st.booleans()) else None
    kinds = [rng.choice("ab") for _ in found] if draw(st.booleans()) else None
    return Rows(worths, found, sizes, owners, kinds)


LIMIT = st.one_of(st.integers(-2, 40), st.integers(0, 4000))


def check(given: Rows, limit: float, choice: WorthChoice) -> None:
    """Assert what must hold of every choice."""
    assert choice.cost == sum(given.costs[row] for row in choice.rows) <= max(limit, 0)
    assert choice.worth == sum(given.worths[row] for row in choice.rows)
    assert all(given.worths[row] > 0 for row in choice.rows)
    owners = [given.owner(row) for row in choice.rows]
    assert len(set(owners)) == len(owners)


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.slow
@cases(400)
@given(rows(), LIMIT)
def test_never_over_and_one_form_of_each(given: Rows, limit: int) -> None:
    check(given, limit, given.choose(limit))


@pytest.mark.slow
@cases(400)
@given(rows(), st.integers(0, 500), st.integers(2, 12))
def test_more_limit_is_never_less_worth(given: Rows, limit: int, steps: int) -> None:
    chooser = given.chooser()
    worths = [chooser.choose(each).worth for each in range(limit, limit + steps)]
    assert worths == sorted(worths)


@pytest.mark.slow
@cases(100)
@given(rows(200), st.lists(st.integers(0, 20_000), min_size=2, max_size=9))
def test_more_limit_is_never_less_worth_among_many(given: Rows, limits: list[int]) -> None:
    worths = [given.choose(limit).worth for limit in sorted(limits)]
    assert worths == sorted(worths)


@cases(100)
@given(rows(60), st.lists(LIMIT, min_size=1, max_size=6))
def test_what_was_chosen_before_changes_nothing(given: Rows, limits: list[int]) -> None:
    chooser = given.chooser()
    assert [chooser.choose(limit) for limit in limits] == [given.choose(limit) for limit in limits]


@pytest.mark.slow
@cases(300)
@given(rows(9), st.integers(0, 300))
def test_few_rows_are_chosen_as_well_as_can_be(given: Rows, limit: int) -> None:
    best, most = given.best(limit), bound(given.worths, given.costs, limit, given.owners)
    worth = given.choose(limit).worth
    assert best <= most + 1e-6
    if given.owners is None:  # then all sets are tried: of forms, only those of the hull
        assert worth == best or len(given.worths) > 8
    assert worth <= best


@pytest.mark.slow
@cases(300)
@given(rows(16), LIMIT)
def test_at_least_half_of_the_best_whatever_the_rows(given: Rows, limit: int) -> None:
    """Of 16 rows and fewer every cost is known, so no row is taken for dearer than it is."""
    if given.owners is None:
        assert 2 * given.choose(limit).worth >= given.best(max(limit, 0))


@pytest.mark.slow
@cases(200)
@given(rows(16))
def test_a_limit_for_all_takes_the_best_form_of_each(given: Rows) -> None:
    best: dict[int, float] = {}
    for row, worth in enumerate(given.worths):
        best[given.owner(row)] = max(best.get(given.owner(row), 0), worth)
    assert given.choose(math.inf).worth == sum(best.values())
    assert given.choose(sum(given.costs)).worth == sum(best.values())


@pytest.mark.slow
@cases(200)
@given(rows(60), LIMIT)
def test_the_rest_is_every_other_owner_in_a_row(given: Rows, limit: int) -> None:
    chooser = given.chooser()
    chosen = chooser.choose(limit).rows
    rest = list(chooser.rest(chosen))
    taken = {given.owner(row) for row in chosen}
    assert sorted(rest) == [
        row for row in range(len(given.worths)) if given.owner(row) not in taken
    ]
    worthy = [given.worths[row] > 0 for row in rest]
    assert worthy == sorted(worthy, reverse=True)


@pytest.mark.slow
@cases(200)
@given(rows(30), st.integers(0, 600))
def test_the_bound_grows_and_is_the_best_where_all_fit(given: Rows, limit: int) -> None:
    found = bound(given.worths, given.costs, limit, given.owners)
    assert found <= bound(given.worths, given.costs, limit + 1, given.owners) + 1e-6
    assert given.choose(limit).worth <= found + 1e-6


WILD = st.one_of(
    st.sampled_from([0.0, -0.0, -1.0, 5e-324, 1e308, math.inf, -math.inf, math.nan]), st.floats()
)


@pytest.mark.slow
@cases(300)
@given(
    st.lists(
        st.tuples(WILD, st.sampled_from([0, 1, 7, 10**9, 10**30]), st.integers(0, 10**12)),
        max_size=30,
    ),
    st.sampled_from([0, 1, 8, 10**9, 10**31, math.inf]),
    st.booleans(),
)
def test_any_worth_cost_and_size(
    found: list[tuple[float, int, int]], limit: float, paired: bool
) -> None:
    worths, costs, sizes = ([row[n] for row in found] for n in range(3))
    owners = [row // 2 for row in range(len(found))] if paired else None
    chooser = WorthChooser(worths, sizes, costs.__getitem__, owners=owners)
    choice = chooser.choose(limit)
    assert sum(costs[row] for row in choice.rows) <= limit
    assert all(worths[row] > 0 for row in choice.rows)
    assert math.isfinite(choice.worth)
    assert choice == WorthChooser(worths, sizes, costs.__getitem__, owners=owners).choose(limit)


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worths", "costs", "limit", "expected"),
    [
        ([], [], 10, []),
        ([1, 1, 1], [5, 5, 5], 10, [0, 1]),  # of equals the first
        ([6, 10, 12], [1, 2, 3], 5, [1, 2]),  # the densest stays out
        ([3, 3, 5], [5, 5, 10], 10, [0, 1]),
        ([1, 100], [1, 100], 100, [1]),  # one large row against small ones
        ([1, 100], [1, 100], 99, [0]),
        ([2, 1], [0, 3], 0, [0]),  # what is free is taken
        ([0, -1, 2], [1, 1, 1], 3, [2]),
        ([math.inf, 5, math.inf], [9, 1, 9], 10, [0, 1]),
        ([math.nan, 1], [1, 1], 2, [1]),
    ],
)
def test_what_is_chosen(
    worths: list[float], costs: list[int], limit: int, expected: list[int]
) -> None:
    chosen = WorthChooser(worths, [4 * cost for cost in costs], costs.__getitem__).choose(limit)
    assert sorted(chosen.rows) == expected


def test_the_densest_comes_first_so_that_the_end_can_go() -> None:
    chosen = (
        WorthChooser([1, 9, 5, 2], [40, 40, 40, 4], [10, 10, 10, 1].__getitem__).choose(31).rows
    )
    assert chosen == [3, 1, 2, 0][: len(chosen)] and len(chosen) == 4


def test_what_is_worth_nothing_comes_last() -> None:
    chooser = WorthChooser([0, 1, math.nan, -1, 3, -0.5], [4] * 6, lambda row: 1)
    assert list(chooser.rest(chooser.choose(1).rows)) == [1, 0, 5, 3, 2]


def test_a_summary_stands_in_where_a_content_is_worth_too_little() -> None:
    worths = [
        score * VARIANT_WORTH[form] for score in (1.0, 0.9, 0.2) for form in ("content", "summary")
    ]
    costs = [100, 10] * 3
    owners = [0, 0, 1, 1, 2, 2]
    chooser = WorthChooser(worths, [4 * cost for cost in costs], costs.__getitem__, owners=owners)
    found = {limit: sorted(chooser.choose(limit).rows) for limit in (9, 10, 20, 30, 120, 210, 300)}
    assert found == {
        9: [],
        10: [1],
        20: [1, 3],
        30: [1, 3, 5],
        120: [0, 3, 5],
        210: [0, 2, 5],
        300: [0, 2, 4],
    }


def test_the_bound_takes_the_last_in_part_and_what_is_too_large_not_at_all() -> None:
    assert bound([6, 10, 12, 99], [1, 2, 3, 6], 5) == pytest.approx(6 + 10 + 12 * 2 / 3)
    assert bound([3, 10], [10, 100], 50, [0, 0]) == 3
    assert bound([3, 10], [10, 100], 55, [0, 0]) == 3
    assert bound([3, 10, 8], [10, 100, 50], 100, [0, 0, 1]) == pytest.approx(3 + 8 + 7 * 40 / 90)
    assert bound([1, math.nan, -1], [0, 0, 0], 0) == 1


# --- many rows ------------------------------------------------------------------------------------


def realistic(count: int, seed: int, *, forms: bool = False) -> Rows:
    """Return rows as they are found in repositories: costs about a line over sizes, with a tenth
    of scatter.
    """
    rng = random.Random(seed)
    found = Rows([], [], [], [] if forms else None, [])
    assert found.kinds is not None
    for number in range(count):
        kind, rate = ("prose", 0.22) if rng.random() < 0.3 else ("code", 0.27)
        score, size = rng.random(), int(rng.lognormvariate(6.5, 0.8)) + 80
        variants: Sequence[tuple[str, int]] = [("content", size)]
        if forms and found.owners is not None:
            variants = [("content", size), ("summary", min(size, rng.randint(60, 250)))]
            found.owners.extend(itertools.repeat(number, 2))
        for variant, length in variants:
            found.worths.append(score * VARIANT_WORTH[variant])
            found.sizes.append(length)
            found.costs.append(round(18 + rate * length * rng.lognormvariate(0, 0.1)))
            found.kinds.append(f"{kind} {variant}")
    return found


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("forms", [False, True])
@pytest.mark.parametrize(("count", "limit"), [(1000, 8000), (10_000, 32_000), (30_000, 64_000)])
def test_nearly_the_bound_for_few_costs(count: int, limit: int, forms: bool) -> None:
    found = realistic(count, count, forms=forms)
    asked: list[int] = []

    def cost(row: int) -> int:
        asked.append(row)
        return found.costs[row]

    chosen = WorthChooser(
        found.worths, found.sizes, cost, owners=found.owners, kinds=found.kinds
    ).choose(limit)
    check(found, limit, chosen._replace(worth=sum(found.worths[row] for row in chosen.rows)))
    assert len(set(asked)) == len(asked)
    assert chosen.worth >= 0.99 * bound(found.worths, found.costs, limit, found.owners)
    assert sum(found.costs[row] for row in asked) <= 2.5 * limit


def test_a_budget_for_little_costs_little_of_much() -> None:
    found = realistic(20_000, 3)
    asked: list[int] = []

    def cost(row: int) -> int:
        asked.append(row)
        return found.costs[row]

    chosen = WorthChooser(found.worths, found.sizes, cost, kinds=found.kinds).choose(300)
    assert chosen.rows
    assert len(asked) < 200
