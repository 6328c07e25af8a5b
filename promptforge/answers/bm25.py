"""The parts of Okapi BM25 (Robertson and Zaragoza 2009), with Lucene's term weights."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

Term = TypeVar("Term", bound=Hashable)


def rarity(texts: int, holders: int) -> float:
    """Return the weight of a word that `holders` of so many `texts` hold."""
    # The 1 is Lucene's: without it a word in more than half of the texts would weigh less than 0.
    return math.log(1 + (texts - holders + 0.5) / (holders + 0.5))


def norm(length: float, k1: float, b: float) -> float:
    """Return the norm of a text by its `length`, where 1 is the mean length of all."""
    return k1 * (1 - b + b * length)


def shares(counts: Mapping[Term, int], norm: float, k1: float) -> list[tuple[Term, float]]:
    """Return each term's share of its weight in a text that holds it so often: up to k1 + 1."""
    return [(term, (k1 + 1) * count / (count + norm)) for term, count in counts.items()]
