"""The packings by name: how each fills a budget, and what the rest of the engine must know of it.

A new packing is a function beside these and its entry in `PACKINGS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from .in_order import Packer
from .types import Cost, PackingStep

if TYPE_CHECKING:
    from .passages import PassageSource

Pack = Callable[[Packer, PackingStep, Cost, "PassageSource | None"], PackingStep]
"""Packs a step within a limit; returns it as what is left of it may be packed again."""


class Packing(NamedTuple):
    """One way to fill a budget."""

    pack: Pack
    best_first: bool = False
    """It walks the items by rank, and not the page or the caller's list from its beginning."""
    fixed_set: bool = False
    """It walks the caller's list; each section with a maximum is a step of its own."""
    shortens: bool = True
    """It shows a shorter variant of what does not fit whole."""
    stops: bool = False
    """The first item that does not fit ends it."""
    from_end: bool = False
    """It walks the list from its end."""
    beside_stubs: bool = False
    """With `stubs` it packs into the room that the attributions of all items leave."""
    together: bool = False
    """It chooses a set: where all items fit, none is looked at alone."""
    answers: frozenset[str] = frozenset()
    """The passages that it shows for a query: those of `items`, of `files`."""


def _in_order(
    packer: Packer, step: PackingStep, limit: Cost, passages: PassageSource | None
) -> PackingStep:
    if passages is None:
        packer.pack(step, limit)
    else:
        from .passages import pack_passages

        pack_passages(packer, step, limit, passages)
    return step


def _most_worth(
    packer: Packer, step: PackingStep, limit: Cost, _: PassageSource | None
) -> PackingStep:
    from .value import pack_most_worth

    return pack_most_worth(packer, step, limit)


def _repository(
    packer: Packer, step: PackingStep, limit: Cost, passages: PassageSource | None
) -> PackingStep:
    from .overview import pack_repository

    pack_repository(packer, step, limit, passages)
    return step


def _fixed_set(
    *, shortens: bool = True, longest_first: bool = False, from_end: bool = False
) -> Packing:
    def pack(
        packer: Packer, step: PackingStep, limit: Cost, _: PassageSource | None
    ) -> PackingStep:
        from .fixed_set import pack_fixed_set

        pack_fixed_set(
            packer, step, limit, shortens=shortens, longest_first=longest_first, from_end=from_end
        )
        return step

    return Packing(pack, fixed_set=True, from_end=from_end)


_BOTH = frozenset({"items", "files"})
PACKINGS = {
    "score": Packing(_in_order, True, beside_stubs=True, answers=_BOTH),
    "value": Packing(_most_worth, True, beside_stubs=True, together=True),
    "repository": Packing(_repository, True, answers=frozenset({"files"})),
    "whole": Packing(_in_order, shortens=False),
    "stop": Packing(_in_order, shortens=False, stops=True),
    "even": _fixed_set(),
    "longest_first": _fixed_set(longest_first=True),
    "drop_last": _fixed_set(shortens=False),
    "drop_first": _fixed_set(shortens=False, from_end=True),
}
"""Name → packing."""
