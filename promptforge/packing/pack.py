"""Which items in which form: arithmetic over prices. No text, no templates, no tokenizer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from .in_order import NO_SECTION_LIMITS, Packer
from .passages import PassageSource, pack_passages
from .proportional import pack_drop_last, pack_proportionally
from .types import Cost, PackablePage, PackingStep, SectionLimits, Variant, fits_within
from .value import pack_most_worth

Packing = Literal["score", "value", "proportional", "longest_first", "drop_last", "whole", "stop"]

FIXED_SET_PACKINGS = frozenset({"proportional", "longest_first", "drop_last"})
"""The packings of a fixed set, which walk the caller's list and know no quotas: a section is a part of its own."""


class Packed(NamedTuple):
    """What fits."""

    chosen: dict[int, Variant]
    reasons: dict[int, str]
    """Index of an item of the walk that is not chosen → `budget`, `section_budget`, `max_items` or `duplicate`."""
    twins: dict[int, int]
    """Index of a duplicate → that of the chosen item that holds its text."""
    cost: Cost
    frame_fits: bool
    """False where even the page without items is over the limit: then nothing may be printed."""


def pack(
    parts: Iterable[PackingStep],
    scale: PackablePage,
    limit: Cost,
    *,
    packing: Packing = "score",
    trim: bool = True,
    stubs: bool = False,
    quotas: SectionLimits | None = None,
    extracts: PassageSource | None = None,
) -> Packed:
    """Return which items of `parts` to show, in which form, so that the page costs at most `limit`.

    `packing`: `score` takes the best first, shortens (with `trim`) what does not fit whole and goes on to smaller ones;
    `value` takes what is worth most together; `whole` never shortens; `stop` ends at the first that does not fit;
    `proportional` cuts all by the same share and `longest_first` the longest first, both keep every attribution;
    `drop_last` lets the last go. `stubs`: what fits in no other form is shown as its attribution, if there is room.
    `extracts`: with `score`, show of every item the pieces that answer a query, unless sections have maxima.

    Raises `BudgetError` when a required item does not fit.
    """
    shorten = trim and packing not in ("whole", "stop")
    packer = Packer(
        scale,
        limit,
        shorten=shorten,
        step_down=packing not in ("whole", "stop"),
        first_only=packing == "stop",
        quotas=NO_SECTION_LIMITS if packing in FIXED_SET_PACKINGS or quotas is None else quotas,
    )
    reasons: dict[int, str] = {}
    for part in parts:
        reasons.update(dict.fromkeys(part.walk, "budget"))  # what no other reason is found for
        goal = packer.goal(part)
        if part.required:
            packer.require(part.walk)
            continue
        if packing in FIXED_SET_PACKINGS:
            _spread(packer, part, goal, packing)
        elif packing == "value":
            pack_most_worth(packer, part, goal)
        elif extracts is not None and not (quotas and quotas.most):
            pack_passages(packer, part, goal, extracts)
        else:
            packer.pack(part, goal)
        if stubs:
            packer.add_stubs(part, goal)
    if not packer.chosen:
        packer.cost = scale.measure({})
    reasons.update(packer.reasons)
    for index in packer.chosen:  # past the share of its part, then taken after all by a later one
        reasons.pop(index, None)
    return Packed(
        packer.chosen, reasons, packer.twins, packer.cost, fits_within(packer.cost, limit)
    )


def _spread(packer: Packer, part: PackingStep, goal: Cost, packing: Packing) -> None:
    places = packer.places(part)
    walk = part.walk if part.again else [i for i in part.walk if i not in packer.chosen]
    if places is not None:
        for index in walk[places:]:
            packer.drop(index, "max_items")
        walk = walk[:places]
    if packing == "drop_last" or not packer.shorten:
        pack_drop_last(packer, walk, goal, again=part.again)
    else:
        pack_proportionally(
            packer, walk, goal, longest_first=packing == "longest_first", again=part.again
        )
    if (
        part.room is not None and goal[0] < packer.limit[0]
    ):  # a section with a maximum is a part of its own here
        short = [index for index in part.walk if packer.reasons.get(index) == "budget"]
        packer.reasons.update(dict.fromkeys(short, "section_budget"))
