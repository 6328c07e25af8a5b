"""The record of one packing: each change of the page, and the turn of each item without room.

A turn is written when it is taken. Sums are worked out when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..text.words import late_property
from .types import Cost, PackingStep, Variant


class Turn(NamedTuple):
    """The moment at which an item was tried whole and had no room."""

    number: int
    """Steps that had ended before."""
    place: int
    """Changes that were made to the page before."""
    step: PackingStep
    cost: Cost
    """Cost of the page without the item."""
    most: Cost
    """The most that the page might cost."""
    section: str | None = None
    """The section that left it no room by its maximum; `None`: the page had none."""
    at_end: bool = False
    """True for the end of a step: the cost has the item too, if it is shown."""


class Turns:
    """The changes of one packing and the turns of the items that it refused."""

    def __init__(self) -> None:
        self.changes: list[tuple[int, Variant | None]] = []
        """Item and the variant in which it came onto the page; `None`: it went."""
        self._refused: dict[int, Turn] = {}
        self._ends: list[Turn] = []

    def refuse(
        self, items: Iterable[int], step: PackingStep, cost: Cost, most: Cost, section: str | None
    ) -> None:
        """Write down that items had no room whole, at one and the same turn."""
        turn = Turn(len(self._ends), len(self.changes), step, cost, most, section)
        self._refused |= dict.fromkeys(items, turn)

    def end(self, step: PackingStep, cost: Cost, most: Cost) -> None:
        """Write down the end of a step: the turn of all its items that were never tried alone."""
        number, place = len(self._ends), len(self.changes)
        self._ends.append(Turn(number, place, step, cost, most, at_end=True))

    @late_property
    def _end_of(self) -> Mapping[int, Turn]:
        return {index: turn for turn in self._ends for index in turn.step.walk}

    def turn(self, index: int) -> Turn | None:
        """Return the last turn of an item that lacked room; `None`: it never had one."""
        refused, end = self._refused.get(index), self._end_of.get(index)
        if refused is None or end is None:
            return refused or end
        return refused if refused.number >= end.number else end

    def shown_at(self, turn: Turn) -> dict[int, Variant]:
        """Return what the page held at a turn."""
        shown: dict[int, Variant] = {}
        for index, variant in self.changes[: turn.place]:
            shown.pop(index, None)
            if variant is not None:
                shown[index] = variant
        return shown
