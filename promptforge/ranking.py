"""Which candidates are best: the score, and what a query makes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from .items import Item

BOOST = 0.5
"""How much an item that holds every term of the query rises above one that holds none, as a share of its score."""

_TERM = re.compile(r"\w+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")


def terms(text: str) -> set[str]:
    """Return the words of `text` in lower case, with the parts of identifiers such as `getUserName` and `max_len`."""
    found = set()
    for word in _TERM.findall(text):
        found.add(word.lower())
        parts = _CAMEL.split(word)
        if len(parts) > 1:
            found.update(part.lower() for part in parts if len(part) > 2)
    return found


def boost(items: Sequence[Item], kept: Sequence[int], query: str, ranks: list[float]) -> None:
    """Raise in `ranks` those of the items `kept` that hold terms of `query`, the rarer the more."""
    wanted = terms(query)
    holds = {
        index: wanted & terms(f"{item.name or ''} {item.path or ''} {item.content or ''} {item.summary or ''}")
        for index in kept
        for item in (items[index],)
    }
    # Inverse document frequency as BM25 has it (Robertson and Spärck Jones), over these items.
    total = len(kept)
    weight = {}
    for term in wanted:
        having = sum(term in held for held in holds.values())
        if having:
            weight[term] = math.log(1 + (total - having + 0.5) / (having + 0.5))
    whole = sum(weight.values())
    if not whole:
        return
    for index, held in holds.items():
        share = sum(weight[term] for term in held) / whole
        ranks[index] += BOOST * share * max(abs(ranks[index]), 0.1)
