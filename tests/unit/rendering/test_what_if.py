"""Larger limits: a value that is named was tried, and so were smaller ones."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from promptforge.rendering.what_if import (
    MAX_EXACT_TRIES,
    Outcome,
    Raises,
    tries_asked,
    tries_unasked,
)


def shown(value: int) -> Collection[int]:
    """Item n needs 100 n; item 7 has room between 300 and 330 too, before longer ones come in."""
    return {n for n in range(20) if value >= 100 * n} | ({7} if 300 <= value < 330 else set())


def raises(now: int = 100, **given: int) -> Raises:
    return Raises(lambda value: Outcome(shown(value), value > 2500), now, **given)


def test_a_value_is_found_to_the_token_and_a_smaller_one_is_preferred() -> None:
    found = raises()
    assert found.known(5) is None and found.too_small(5) is None
    assert [found.find(n) for n in (5, 19, 7)] == [500, 1900, 300]
    assert (found.known(5), found.too_small(5), found.too_small(7)) == (500, 499, 299)
    assert found.find(40) is None and not found.ever(40) and found.ever(12)
    assert found.too_small(40) is None
    assert found.find_next([19, 7, 5]) == (300, 7)


def test_the_next_value_is_the_same_whatever_was_asked_for_before() -> None:
    """A search for item 214 tries 1,504, where item 500 has room for once."""

    def show(value: int) -> Outcome:
        return Outcome({*range(value // 7)} | ({500} if value == 1504 else set()), value > 9000)

    first, later = Raises(show, 100), Raises(show, 100)
    for n in range(210, 217):
        later.find(n)
    assert later.known(500) is None
    assert later.find_next([500]) == first.find_next([500]) == (3507, 500)


def test_a_value_in_a_table_is_never_one_where_less_was_not_tried() -> None:
    found = Raises(lambda value: Outcome(range(value // 7), value > 9000), 100)
    list(found.foresee(range(20, 600), 100))
    known = {n: value for n in range(20, 600) if (value := found.known(n)) is not None}
    assert known == {n: 7 * n + 7 for n in known} != {}


def test_no_value_is_beyond_the_end() -> None:
    assert [raises(end=450).find(n) for n in (4, 5)] == [400, None]


def test_a_table_of_all_items_takes_so_many_tries() -> None:
    found = raises()
    list(found.foresee(range(2, 20), 60))
    assert 50 < found.tries <= 60
    assert found.known_next(range(2, 20)) == (200, 2)
    known = {n: value for n in range(2, 20) if (value := found.known(n)) is not None}
    assert known and all(value in (100 * n, 300) for n, value in known.items())
    unknown = [n for n in range(2, 20) if n not in known]
    assert unknown and all(found.too_small(n) is not None for n in unknown)


def test_tries_that_are_used_up_say_of_no_item_that_it_never_comes() -> None:
    found = raises()
    list(found.foresee(range(2, 20), 2))
    assert all(found.known(n) is None and found.too_small(n) for n in range(9, 20))
    assert found.find(19) == 1900


@pytest.mark.slow
def test_a_loop_over_thousands_of_items_is_not_exact_to_the_token() -> None:
    found = Raises(lambda value: Outcome(range(value // 7), value > 20_000), 100)
    values = [found.find(n) for n in range(2800)]
    assert found.tries < MAX_EXACT_TRIES + 700
    for n, value in enumerate(values):
        assert value is not None and max(7 * n + 7, 101) <= value < max(1.021 * (7 * n + 7), 103)


def test_large_texts_are_packed_few_times() -> None:
    found = raises(most=12)
    value = found.find(19)
    assert found.tries <= 13 and value is not None and 19 in shown(value)


def test_more_characters_get_fewer_tries() -> None:
    assert tries_asked(10**9) == 16 and tries_asked(1000) > 10**4
    assert tries_unasked(4, 1000) == 100 and tries_unasked(10**4, 1000) == 12
    assert tries_unasked(4, 10**9) == 0
