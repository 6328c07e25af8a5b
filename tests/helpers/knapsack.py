"""The upper bound that choices of `packing: value` are measured by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise


def bound(
    worths: Sequence[float],
    costs: Sequence[float],
    limit: float,
    owners: Sequence[int] | None = None,
) -> float:
    """Return the most that any choice can be worth: as if the last row taken could be taken in
    part.

    That is the linear relaxation of the knapsack problem with classes (Sinha and Zoltners 1979, for
    one row an owner Dantzig 1957), without the rows that alone are over the limit.
    """
    classes: dict[int, list[tuple[float, float]]] = {}
    for row, (worth, cost) in enumerate(zip(worths, costs, strict=True)):
        if worth > 0 and cost <= limit:
            classes.setdefault(row if owners is None else owners[row], []).append((cost, worth))
    steps = []
    for variants in classes.values():
        hull = [(0.0, 0.0)]
        for cost, worth in sorted(variants, key=lambda variant: (variant[0], -variant[1])):
            if worth <= hull[-1][1]:
                continue
            while len(hull) > 1 and _turns_up(hull[-2], hull[-1], (cost, worth)):
                hull.pop()
            hull.append((cost, worth))
        steps += [(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(hull)]
    steps.sort(key=lambda step: step[0] / step[1] if step[1] else math.inf, reverse=True)
    total = 0.0
    for worth, cost in steps:
        if cost > limit:
            return total + worth * limit / cost
        total += worth
        limit -= cost
    return total


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (c[1] - b[1]) * (b[0] - a[0]) >= (b[1] - a[1]) * (c[0] - b[0])
