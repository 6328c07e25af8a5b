"""Which items in which form: arithmetic over prices. No text, no templates, no tokenizer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from . import spreading, valuing
from .extracting import Extracts, extract
from .packing import NO_QUOTAS, Packer
from .scale import Cost, Form, Part, Quotas, Scale, within

Packing = Literal["score", "value", "proportional", "longest_first", "drop_last", "whole", "stop"]


class Fit(NamedTuple):
    """What fits."""

    chosen: dict[int, Form]
    reasons: dict[int, str]
    """Index of an item of the walk that is not chosen → `budget`, `section_budget`, `max_items` or `duplicate`."""
    twins: dict[int, int]
    """Index of a duplicate → that of the chosen item that holds its text."""
    cost: Cost
    frame_fits: bool
    """False where even the page without items is over the limit: then nothing may be printed."""


def fit(
    parts: Iterable[Part],
    scale: Scale,
    limit: Cost,
    *,
    packing: Packing = "score",
    trim: bool = True,
    stubs: bool = False,
    quotas: Quotas | None = None,
    extracts: Extracts | None = None,
) -> Fit:
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
        quotas=quotas or NO_QUOTAS,
    )
    for part in parts:
        if part.required:
            packer.require(part.walk)
        elif packing in ("proportional", "longest_first", "drop_last"):
            _spread(packer, part, packing)
        elif packing == "value":
            valuing.pack_worth(packer, part, packer.goal(part))
        elif extracts is not None and not (quotas and quotas.most):
            extract(packer, part, packer.goal(part), extracts)
        else:
            packer.pack(part)
        if stubs and not part.required:
            packer.add_stubs(part)
    if not packer.chosen:
        packer.cost = scale.measure({})
    for index in packer.chosen:  # past the share of its part, then taken after all by a later one
        packer.reasons.pop(index, None)
    return Fit(packer.chosen, packer.reasons, packer.twins, packer.cost, within(packer.cost, limit))


def _spread(packer: Packer, part: Part, packing: Packing) -> None:
    if not packer.chosen:
        packer.cost = packer.scale.measure({})
    places = packer.places(part._replace(walk=())) if part.again else packer.places(part)
    walk = part.walk if part.again else [i for i in part.walk if i not in packer.chosen]
    if places is not None:
        for index in walk[places:]:
            packer.drop(index, "max_items")
        walk = walk[:places]
    if packing == "drop_last" or not packer.shorten:
        spreading.drop_last(packer, walk, packer.goal(part), again=part.again)
    else:
        spreading.spread(packer, walk, packer.goal(part), longest_first=packing == "longest_first", again=part.again)
