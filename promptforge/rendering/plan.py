"""What is packed before what: required items, sections with a budget of their own, named and found ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from ..config.options import Options
from ..errors import Diagnostics, did_you_mean, quote, suggest_name
from ..packing.pack import FIXED_SET_PACKINGS
from ..packing.types import (
    UNLIMITED,
    Cost,
    PackingStep,
    SectionLimits,
    add_costs,
    content_variant,
    explicit_share_of,
    fits_within,
    subtract_costs,
)
from ..selection.filter import Candidates
from ..selection.group import section_key_of
from .page import Page

_REQUIRED = attrgetter("required")

BEST_FIRST_PACKINGS = frozenset({"score", "value"})
"""The packings that do not walk the page, or the caller's list, from its beginning."""


class PackingPlan(NamedTuple):
    """Parts to be packed one after the other."""

    parts: list[PackingStep]
    section_limits: SectionLimits


def plan_packing(
    page: Page, options: Options, limit: Cost, diagnostics: Diagnostics
) -> PackingPlan:
    """Return the parts in which the candidates of `page` are packed under these options."""
    candidates = page.entries
    best_first = options.packing in BEST_FIRST_PACKINGS
    walk: Sequence[int] = candidates.kept
    if best_first:
        walk = sorted(walk, key=candidates.ranks.__getitem__, reverse=True)
    required, explicit, similar = _sides(walk, candidates)
    if not best_first and options.packing not in FIXED_SET_PACKINGS:
        explicit, similar = page.walk(explicit), page.walk(similar)
    most = options.max_items
    ranks = candidates.ranks if best_first else ()
    parts = [PackingStep(required, required=True)]
    found = similar if most is None else similar[:most]
    section_limits, guaranteed = _sections(page, options, limit, [*explicit, *found], diagnostics)
    apart = options.packing in FIXED_SET_PACKINGS and section_limits.most
    for members, room in guaranteed:
        if not (apart and members[0] in section_limits.section):
            parts.append(PackingStep(members, room=room, ranks=ranks))
    if apart:
        # All of a part give way together, so a section with a maximum is a part of its own, and has its room.
        inside = section_limits.section
        for name, most_tokens in section_limits.most.items():
            parts.append(
                PackingStep(
                    [i for i in (*explicit, *found) if inside.get(i) == name], room=most_tokens
                )
            )
        explicit = [i for i in explicit if i not in inside]
        similar = [i for i in similar if i not in inside]
        section_limits = SectionLimits({}, {})
    if options.combine == "combined" and explicit and similar:
        share = _share(page, options, limit, required, explicit, found)
        parts += [
            PackingStep(explicit, share, ranks=ranks),
            PackingStep(similar, most=most, ranks=ranks),
            PackingStep(explicit, again=True, ranks=ranks),
        ]
    else:
        parts += [PackingStep(explicit, ranks=ranks), PackingStep(similar, most=most, ranks=ranks)]
    return PackingPlan([part for part in parts if part.walk], section_limits)


def _sides(
    walk: Sequence[int], candidates: Candidates
) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return which are required, and of the others which the user named and which a search found."""
    items, origins = candidates.pool, candidates.origins
    if len(origins) < 2 and True not in map(_REQUIRED, items):
        return ([], walk, []) if "explicit" in origins else ([], [], walk)
    required = {i for i in walk if items[i].required}
    explicit = [i for i in walk if items[i].origin == "explicit" and i not in required]
    similar = [i for i in walk if items[i].origin != "explicit" and i not in required]
    return [i for i in walk if i in required], explicit, similar


def _share(
    page: Page,
    options: Options,
    limit: Cost,
    required: Sequence[int],
    explicit: Sequence[int],
    similar: Sequence[int],
) -> float:
    """Return the share of the limit at which named items stop, unless found ones leave them more."""
    costs = [_sum(page, side, limit) for side in (explicit, similar)]
    if fits_within(costs[1], limit):  # with the headings that found items bring
        must = {i: content_variant(page.variants(i)) for i in required}
        found = {i: page.variants(i)[0] for i in similar}
        beside = subtract_costs(page.measure({**must, **found}), page.measure(must))
        costs[1] = add_costs(
            beside, (page.shared_end_tokens, 0)
        )  # and where they join what stands before them
    share = explicit_share_of(costs[0], costs[1], limit, options.explicit_share)
    # The sum may be too much and the page not: estimates are rounded up for each item.
    if share < 1 and costs[0][0] + costs[1][0] < (1.25 if page.counter.exact else 2) * limit[0]:
        everything = {i: page.variants(i)[0] for i in (*required, *explicit, *similar)}
        share = 1.0 if fits_within(page.measure(everything), limit) else share
    return share


def _sum(page: Page, indices: Iterable[int], limit: Cost) -> Cost:
    """Return what these items cost together, or as soon as it is plain that twice the limit is not enough, that."""
    cost: Cost = (0, 0)
    for index in indices:
        cost = add_costs(cost, page.item_cost(index, page.variants(index)[0]))
        if cost[0] > 2 * limit[0] or cost[1] > 2 * limit[1]:
            break
    return cost


def _sections(
    page: Page, options: Options, limit: Cost, walk: Sequence[int], diagnostics: Diagnostics
) -> tuple[SectionLimits, list[tuple[list[int], float]]]:
    """Return the maxima of sections, and the members of those that are sure of some room."""
    budgets = options.section_budgets
    if not budgets:
        return SectionLimits({}, {}), []
    key = section_key_of("kind" if page.by == "none" else page.by)
    members: dict[str, list[int]] = {name: [] for name in budgets}
    for index in walk:
        if (name := key(page.entries.pool[index])) in members:
            members[name].append(index)
    there = {key(page.entries.pool[index]) for index in page.entries.kept}
    for name in budgets:
        if name not in there and not any(
            d.code == "PF104" and quote(name) in d.message for d in diagnostics
        ):
            known = list(filter(None, there))
            message = (
                f"section_budgets: no item is in a section {quote(name)}{suggest_name(name, known)}"
            )
            diagnostics.add(
                "PF104", message, severity="warning" if did_you_mean(name, known) else "info"
            )
    capped = {
        name: budget.max_tokens for name, budget in budgets.items() if budget.max_tokens is not None
    }
    sections = {index: name for name in capped for index in members[name]}
    guaranteed = []
    for name, budget in budgets.items():
        room = max(budget.min_tokens, budget.share * limit[0] if limit[0] < UNLIMITED else 0)
        if room and members[name]:
            guaranteed.append(
                (members[name], room if budget.max_tokens is None else min(room, budget.max_tokens))
            )
    return SectionLimits(sections, capped), guaranteed
