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

from promptforge.packing.value import VARIANT_WORTH, Rows, choose_rows


class Given(NamedTuple):
    """Rows, and what is to be found out about them."""

    worths: list[float]
    costs: list[int]
    sizes: list[int]
    owners: list[int] | None = None

    def owner(self, row: int) -> int:
        return row if self.owners is None else self.owners[row]

    def choose(self, limit: float) -> list[int]:
        owners = [self.owner(row) for row in range(len(self.worths))]
        return choose_rows(Rows(self.worths, self.sizes, owners, self.costs.__getitem__), limit)

    def worth(self, limit: float) -> float:
        return sum(self.worths[row] for row in self.choose(limit))

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


def plain(worths: list[float], costs: list[int], owners: list[int] | None = None) -> Given:
    return Given(worths, costs, [4 * cost for cost in costs], owners)


@st.composite
def rows(draw: st.DrawFn, most: int = 40) -> Given:
    """Make rows with whole worths, whose sums are exact, of sizes that foretell costs well, badly
    or not at all.
    """
    count = draw(st.integers(0, most))
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    top = draw(st.sampled_from([1, 3, 12, 60, 400]))
    found = [rng.randint(0 if rng.random() < 0.1 else 1, top) for _ in range(count)]
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
    return Given(worths, found, sizes, owners)


LIMIT = st.one_of(st.integers(-2, 40), st.integers(0, 4000))


def check(given: Given, limit: float, chosen: list[int]) -> None:
    """Assert what must hold of every choice."""
    assert sum(given.costs[row] for row in chosen) <= max(limit, 0)
    assert all(given.worths[row] > 0 for row in chosen)
    owners = [given.owner(row) for row in chosen]
    assert len(set(owners)) == len(owners)


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.slow
@cases(400)
@given(rows(), LIMIT)
def test_never_over_and_one_form_of_each(given: Given, limit: int) -> None:
    check(given, limit, given.choose(limit))


@pytest.mark.slow
@cases(400)
@given(rows(), st.integers(0, 500), st.integers(2, 12))
def test_more_limit_is_never_less_worth(given: Given, limit: int, steps: int) -> None:
    worths = [given.worth(each) for each in range(limit, limit + steps)]
    assert worths == sorted(worths)


@pytest.mark.slow
@cases(100)
@given(rows(200), st.lists(st.integers(0, 20_000), min_size=2, max_size=9))
def test_more_limit_is_never_less_worth_among_many(given: Given, limits: list[int]) -> None:
    worths = [given.worth(limit) for limit in sorted(limits)]
    assert worths == sorted(worths)


@pytest.mark.slow
@cases(300)
@given(rows(16), LIMIT)
def test_at_least_half_of_the_best_whatever_the_rows(given: Given, limit: int) -> None:
    best, most = given.best(max(limit, 0)), bound(given.worths, given.costs, limit, given.owners)
    assert limit < 0 or best <= most + 1e-6
    if given.owners is None:
        assert 2 * given.worth(limit) >= best
    assert given.worth(limit) <= best


@pytest.mark.slow
@cases(200)
@given(rows(16))
def test_a_limit_for_all_takes_the_best_form_of_each(given: Given) -> None:
    best: dict[int, float] = {}
    for row, worth in enumerate(given.worths):
        best[given.owner(row)] = max(best.get(given.owner(row), 0), worth)
    assert given.worth(math.inf) == given.worth(sum(given.costs)) == sum(best.values())


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
    given = Given(worths, costs, sizes, owners)  # type: ignore[arg-type]
    check(given, limit, given.choose(limit))
    assert given.choose(limit) == given.choose(limit)


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
        ([2] * 50 + [60], [10] * 50 + [501], 500, [*range(50)]),
        ([2] * 50 + [90], [10] * 50 + [500], 500, [*range(50)]),
        ([1] * 50 + [90], [10] * 50 + [600], 600, [50]),
    ],
)
def test_what_is_chosen(
    worths: list[float], costs: list[int], limit: int, expected: list[int]
) -> None:
    assert sorted(plain(worths, costs).choose(limit)) == expected


def test_the_densest_comes_first_so_that_the_end_can_go() -> None:
    assert plain([1, 9, 5, 2], [10, 10, 10, 1]).choose(31) == [3, 1, 2, 0]


def test_a_summary_stands_in_where_a_content_is_worth_too_little() -> None:
    worths = [
        score * VARIANT_WORTH[form] for score in (1.0, 0.9, 0.2) for form in ("content", "summary")
    ]
    given = plain(worths, [100, 10] * 3, [0, 0, 1, 1, 2, 2])
    found = {limit: sorted(given.choose(limit)) for limit in (9, 10, 20, 30, 120, 210, 300)}
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


def realistic(count: int, seed: int, *, forms: bool = False) -> Given:
    """Return rows as they are found in repositories: costs about a line over sizes, with a tenth
    of scatter.
    """
    rng = random.Random(seed)
    found = Given([], [], [], [] if forms else None)
    for number in range(count):
        rate = 0.22 if rng.random() < 0.3 else 0.27
        score, size = rng.random(), int(rng.lognormvariate(6.5, 0.8)) + 80
        variants: Sequence[tuple[str, int]] = [("content", size)]
        if forms and found.owners is not None:
            variants = [("content", size), ("summary", min(size, rng.randint(60, 250)))]
            found.owners.extend(itertools.repeat(number, 2))
        for variant, length in variants:
            found.worths.append(score * VARIANT_WORTH[variant])
            found.sizes.append(length)
            found.costs.append(round(18 + rate * length * rng.lognormvariate(0, 0.1)))
    return found


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("forms", [False, True])
@pytest.mark.parametrize(("count", "limit"), [(1000, 8000), (10_000, 32_000), (30_000, 64_000)])
def test_nearly_the_bound_for_few_costs(count: int, limit: int, forms: bool) -> None:
    found = realistic(count, count, forms=forms)
    asked: set[int] = set()

    def cost(row: int) -> int:
        asked.add(row)
        return found.costs[row]

    owners = [found.owner(row) for row in range(len(found.worths))]
    chosen = choose_rows(Rows(found.worths, found.sizes, owners, cost), limit)
    check(found, limit, chosen)
    worth = sum(found.worths[row] for row in chosen)
    assert worth >= 0.98 * bound(found.worths, found.costs, limit, found.owners)
    assert sum(found.costs[row] for row in asked) <= 2.5 * limit


def test_a_budget_for_little_costs_little_of_much() -> None:
    found = realistic(20_000, 3)
    asked: list[int] = []

    def cost(row: int) -> int:
        asked.append(row)
        return found.costs[row]

    chosen = choose_rows(Rows(found.worths, found.sizes, range(20_000), cost), 300)
    assert chosen
    assert len({*asked}) < 200
