"""Rank the files of a repository by who mentions whom, without a query.

PageRank (Brin and Page 1998) over names: a file passes its rank on to the files that define the
names it uses. What many files use, and what those use, comes first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..model import Item

DAMPING = 0.85
"""Share of its rank that a file passes on; the usual figure."""
ROUNDS = 30
"""Rounds of passing on; after 30 of them 0.85**30 < 1 % of the first guess is left."""
MAX_DEFINING_FILES = 8
"""A name that more files define, such as `main`, points at none of them."""
MIN_NAME_CHARACTERS = 4
"""Shorter names are mostly words of the language, or counters."""

_NAME = re.compile(rf"[^\W\d]\w{{{MIN_NAME_CHARACTERS - 1},}}")
_DEFINITION = re.compile(
    r"\b(?:def|class|func|fn|function|interface|struct|trait|enum|type|record|module|macro)\s+"
    rf"([^\W\d]\w{{{MIN_NAME_CHARACTERS - 1},}})"
)
_STEM = re.compile(r"([^/\\.]+)[^/\\]*$")


def file_importance(items: Sequence[Item]) -> list[float]:
    """Return the importance of each item, the greatest for what the others use most; sum 1.

    A file defines the names after words such as `def`, `class` and `struct`, and its own name
    without folder and suffix. Equal items in equal order get equal numbers.
    """
    if not items:
        return []
    defined_by: dict[str, list[int]] = {}
    mentioned: list[set[str]] = []
    for number, item in enumerate(items):
        text = item.content or ""
        mentioned.append({*_NAME.findall(text)})
        names = {*_DEFINITION.findall(text)}
        stem = _STEM.search(item.path or "")
        if stem and len(stem[1]) >= MIN_NAME_CHARACTERS:
            names.add(stem[1])
        for name in names:
            defined_by.setdefault(name, []).append(number)
    known = {name for name, files in defined_by.items() if len(files) <= MAX_DEFINING_FILES}
    links: list[dict[int, float]] = []
    for number, names in enumerate(mentioned):
        weights: dict[int, float] = {}
        for name in sorted(names & known):  # sorted: sums of fractions depend on their order
            files = defined_by[name]
            if number not in files:
                for other in files:
                    weights[other] = weights.get(other, 0.0) + 1 / len(files)
        total = sum(weights.values())
        links.append({other: weight / total for other, weight in weights.items()})
    return _page_rank(links)


def _page_rank(links: Sequence[dict[int, float]]) -> list[float]:
    """Return the rank of each file; `links` give the share of its rank for each other file."""
    count = len(links)
    ranks = [1 / count] * count
    for _ in range(ROUNDS):
        # A file that mentions no other passes its rank on to all.
        spread = sum(rank for rank, targets in zip(ranks, links, strict=True) if not targets)
        passed = [(1 - DAMPING + DAMPING * spread) / count] * count
        for rank, targets in zip(ranks, links, strict=True):
            for other, weight in targets.items():
                passed[other] += DAMPING * rank * weight
        ranks = passed
    return ranks
