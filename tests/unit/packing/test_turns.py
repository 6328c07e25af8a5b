"""The record of a packing: what the page held when an item had its turn."""

from __future__ import annotations

from word_page import Words

from promptforge.packing.pack import pack
from promptforge.packing.types import PackingStep

NAMED, FOUND = PackingStep([0, 1]), PackingStep([2, 3])


def test_an_item_without_room_has_its_turn_written_down() -> None:
    page = Words(["aaaa", "bbbbbbbbb", "cc", "d"])
    turns = pack([NAMED, FOUND], page, (8, 8), packing="whole").turns
    turn = turns.turn(1)
    assert turn is not None and not turn.at_end
    assert (turn.step, turn.cost, turn.most) == (NAMED, (4, 4), (8, 8))
    assert list(turns.shown_at(turn)) == [0]
    last = turns.turn(3)
    assert last is not None
    assert last.step is FOUND and list(turns.shown_at(last)) == [0, 2]
    assert turns.turn(4) is None


def test_a_later_turn_takes_the_place_of_an_earlier_one() -> None:
    page = Words(["aaaa", "bbbbb", "c"])
    steps = [PackingStep([0, 1], 0.5), PackingStep([2]), PackingStep([0, 1], again=True)]
    turns = pack(steps, page, (10, 10), packing="whole").turns
    turn = turns.turn(1)
    assert turn is not None and (turn.most, turn.cost) == ((10, 10), (6, 6))


def test_what_was_taken_off_again_was_not_before() -> None:
    page = Words(["aaaa", "bbbb"])
    packed = pack([PackingStep([0, 1])], page, (7, 7), packing="drop_last", trim=False)
    turn = packed.turns.turn(1)
    assert turn is not None and turn.at_end
    assert list(packed.turns.shown_at(turn)) == list(packed.chosen) == [0]
