"""Rank candidates without repetition: maximal marginal relevance (MMR).

It moves back what repeats the candidates before it.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Sequence
from operator import mul

from ..text.words import split_words, terms_of_word

RELEVANCE_SHARE = 0.7
"""The share of relevance against novelty: λ of Carbonell and Goldstein, "The use of MMR,
diversity-based reranking for reordering documents and producing summaries" (SIGIR 1998). They found
0.3 good for a first sampling, and 0.7 for a reader who wants the relevant ones."""
MAX_CHARACTERS_COMPARED = 4000
"""Characters of a text that are compared; the beginning of a text shows its subject."""
MAX_CHOSEN_COMPARED = 50
"""Candidates that are chosen with regard to each other; the others keep the value they had then."""
MAX_WORDS_COMPARED = 60
"""Words of a text, the heaviest, that stand for it."""
_Likeness = Callable[[int, int], float]


def diversify(
    scores: Sequence[float],
    texts: Sequence[str],
    *,
    vectors: Sequence[Sequence[float]] | None = None,
) -> list[int]:
    """Return the indices of the candidates, the best first, each new beside those before it.

    `scores` are brought to 0…1, so their scale does not matter; of equals the earlier comes first.
    Likeness is the cosine of the weights of the words, or of the caller's `vectors`: one a text,
    all of one length, else `ValueError`. A candidate is compared only when it may be the next.
    """
    if len(scores) != len(texts):
        raise ValueError(f"{len(scores)} scores for {len(texts)} texts; there must be one each")
    likeness = _by_words(texts) if vectors is None else _by_vectors(vectors, len(texts))
    relevance = _to_unit_range(scores)
    # A lazy heap. Likeness to the chosen only grows as they become more, so the value that a
    # candidate had before is an upper bound: it is computed anew only on top of the heap.
    heap = [(-RELEVANCE_SHARE * share, index, 0, 0.0) for index, share in enumerate(relevance)]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap:
        bound, index, seen, like = heapq.heappop(heap)
        for other in chosen[seen:MAX_CHOSEN_COMPARED]:
            like = max(like, likeness(index, other))
        value = -bound
        if len(chosen) <= MAX_CHOSEN_COMPARED:
            value = RELEVANCE_SHARE * relevance[index] - (1 - RELEVANCE_SHARE) * like
        if heap and (-value, index) > heap[0][:2]:
            heapq.heappush(heap, (-value, index, len(chosen), like))
        else:
            chosen.append(index)
    return chosen


def _to_unit_range(scores: Sequence[float]) -> list[float]:
    known = [score for score in scores if math.isfinite(score)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if low == high:  # only infinities and NaN differ from the one finite score
        return [float(score >= low) for score in scores]
    shares = []
    for score in scores:
        if math.isnan(score):
            shares.append(0.0)
        else:
            shares.append(min(1.0, max(0.0, (score - low) / (high - low))))
    return shares


def _by_words(texts: Sequence[str]) -> _Likeness:
    """Return the cosine of two texts: tf-idf with 1 + ln of the count, over the heaviest words."""
    numbers: dict[str, int] = {}
    known: dict[str, list[int]] = {}
    counted: list[Counter[int]] = []
    having: Counter[int] = Counter()
    for text in texts:
        counts: Counter[int] = Counter()
        for word, times in Counter(split_words(text[:MAX_CHARACTERS_COMPARED])).items():
            if word not in known:
                terms = terms_of_word(word)
                known[word] = [numbers.setdefault(term, len(numbers)) for term in terms]
            for number in known[word]:
                counts[number] += times
        having.update(counts.keys())
        counted.append(counts)
    rarity = [math.log(1 + len(texts) / having[number]) for number in range(len(numbers))]
    vectors: dict[int, dict[int, float]] = {}

    def vector(index: int) -> dict[int, float]:
        if index not in vectors:
            weights = [((1 + math.log(n)) * rarity[t], t) for t, n in counted[index].items()]
            # By weight, then by number: equal texts give equal vectors whatever the hash seed is.
            weights.sort(key=lambda weight: (-weight[0], weight[1]))
            size = math.sqrt(sum(value * value for value, _ in weights[:MAX_WORDS_COMPARED]))
            vectors[index] = {t: value / size for value, t in weights[:MAX_WORDS_COMPARED]}
        return vectors[index]

    def cosine(a: int, b: int) -> float:
        ours, theirs = vector(a), vector(b)
        return min(1.0, sum([ours[t] * theirs[t] for t in ours.keys() & theirs.keys()]))

    return cosine


def _by_vectors(vectors: Sequence[Sequence[float]], number: int) -> _Likeness:
    """Return the cosine of two of the caller's vectors; below 0 counts as 0, as new."""
    sizes = {len(vector) for vector in vectors}
    if len(vectors) != number or len(sizes) > 1:
        message = f"{len(vectors)} vectors of sizes {sorted(sizes)} for {number} texts"
        raise ValueError(f"{message}; one each, of one size")
    lengths = [math.hypot(*vector) for vector in vectors]

    def cosine(a: int, b: int) -> float:
        size = lengths[a] * lengths[b]
        # A zero vector is like nothing; lengths may overflow to infinity.
        if not (size > 0 and math.isfinite(size)):
            return 0.0
        return float(min(1.0, max(0.0, sum(map(mul, vectors[a], vectors[b])) / size)))

    return cosine
