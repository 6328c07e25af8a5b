"""Where the tokens of a text end, in characters."""

from __future__ import annotations

import codecs

from ..boundaries import split_at_joins
from ..counting import Counter
from ..tokenizers.byte_pairs import BytePairCounter

STRETCH = 1 << 16
"""Characters that are given to the tokenizer at a time."""


def token_ends(counter: Counter, text: str) -> list[int] | None:
    """Return where each token ends; of tokens that hold parts of one character, where the last of them ends.

    `None` for a counter that has no tokens of its own, such as an estimate, or none that spell the text as it is.
    """
    if not isinstance(counter, BytePairCounter):
        return None
    found: list[int] = []
    at = 0
    for stretch in split_at_joins(text, STRETCH):
        tokens = counter.encode(stretch)
        if tokens is None:
            return None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        start = at
        for token in tokens:
            at += len(decoder.decode(counter.decode([token])))
            if not decoder.getstate()[0]:
                found.append(at)
        if at - start != len(stretch):
            return None
    return found
