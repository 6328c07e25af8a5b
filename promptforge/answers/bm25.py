"""The parts of Okapi BM25 (Robertson and Zaragoza 2009; the rarity as Lucene has it), for whatever counts as a text."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

Term = TypeVar("Term", bound=Hashable)


def rarity(texts: int, holders: int) -> float:
    """Return what a word says that `holders` of so many `texts` hold."""
    return math.log(1 + (texts - holders + 0.5) / (holders + 0.5))


def norm(length: float, k1: float, b: float) -> float:
    """Return the norm of a text of this length, 1 for the mean of all."""
    return k1 * (1 - b + b * length)


def shares(counts: Mapping[Term, int], norm: float, k1: float) -> list[tuple[Term, float]]:
    """Return for each term how much of its weight a text has that holds it so often: up to k1 + 1."""
    return [(term, (k1 + 1) * count / (count + norm)) for term, count in counts.items()]
