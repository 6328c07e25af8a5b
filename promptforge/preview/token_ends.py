"""Ends of the tokens of a text, in characters."""

from __future__ import annotations

import codecs

from ..boundaries import split_at_joins
from ..counting import Counter
from ..tokenizers.byte_pairs import BytePairCounter

STRETCH = 1 << 16
"""Characters that the tokenizer gets at a time."""


def token_ends(counter: Counter, text: str) -> list[int] | None:
    """Return the end of each token, in characters.

    Tokens that share one character, such as those of an emoji, count as one. Returns None for a
    counter without tokens, such as an estimate, and for tokens that do not spell the text as it is.
    """
    if not isinstance(counter, BytePairCounter):
        return None
    found: list[int] = []
    at = 0
    for stretch in split_at_joins(text, STRETCH):
        tokens = counter.encode(stretch)
        if tokens is None:
            return None
        # The decoder keeps the first bytes of a character until a later token brings its last.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        start = at
        for token in tokens:
            at += len(decoder.decode(counter.decode([token])))
            if not decoder.getstate()[0]:
                found.append(at)
        if at - start != len(stretch):
            return None
    return found
