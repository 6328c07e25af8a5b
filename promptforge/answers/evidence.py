"""Judge by the query how much each candidate, and each passage of one, is worth.

All of it is computed from the query and the candidates, without a model:

- BM25's weights over the words of the query (Robertson and Spärck Jones),
- the order in which the candidates came,
- the titles that texts mention, by which the second hop of a question is found.

Worth is the chance that a passage is wanted, not its length. A longer passage brings more and costs
more by the same factor, so length cancels; the header of an item is the only fixed cost.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from .bm25 import norm, rarity, shares
from .occurrences import WINDOW, Occurrences
from .words import name, phrase, telling, terms, words

# How much the parts of worth weigh; see `Lift`.
PRIOR, COVER = 0.5, 0.5
"""Weights of the given order and scores, and of the query's words in a document."""
ECHO, FAINT = 1.0, 0.3
"""Worth of a title that the query names, and of one that may be any word (`open`, `run`)."""
FORTH, BACK = 0.8, 0.4
"""Share of the worth of a document that mentions this one, and of one that this one mentions."""
SOURCE = 0.3
"""Share of the worth of the best other document of the same title."""

# A ranking by words is no second opinion on words, so its order is judged anew. An embedder or
# reranker knows more than words, and shows it by disagreeing with them: its order weighs more.
TRUST, AGREED, ENOUGH = 3.0, 0.5, 5
"""Weight that the prior gains for each point of correlation below AGREED, of ENOUGH documents."""
DECAY = 0.7
"""Worth of a query's word after each opened document that holds it, as a share."""
K1, B = 1.2, 0.3
"""BM25's saturation and length norm for passages: a weak norm, since all are of about one size."""
WHOLE_K1, WHOLE_B = 1.2, 1.0
"""The same for documents: long ones hold more words of any query."""
POWER = 4
"""Exponent of worths: a few good passages pay for a header, many poor ones do not."""


class Document(NamedTuple):
    """A candidate; sequences of them are in rank order, the best first."""

    title: str
    """Its name in other texts: the title of a page, the name of a function."""
    text: str
    score: float = 0.0


class Passages(NamedTuple):
    """A document cut into passages that stay or go as one; joined in order they are its text."""

    texts: Sequence[str]
    under: Sequence[int] | None = None
    """For each passage the one that must stand above it (a heading), or -1; `None`: no headings."""


class Lift(NamedTuple):
    """The worth of a document, by its parts."""

    prior: float
    """By the given order and scores."""
    cover: float
    """By the query's words in it; a word said often counts more, up to BM25's limit."""
    echo: float
    """By its title, if the query names it."""
    bridge: float
    """By documents that mention its title, or have a title that it mentions."""
    source: float
    """By the best other document of the same title."""


Divide = Callable[[int], Passages]
"""Returns the passages of a document by its number; called only for documents read closely."""
Match = Callable[[int, int], float]
"""Returns the caller's own measure of passage p of document i, 0 to 1."""


class Reading(NamedTuple):
    """A document read closely, passage by passage."""

    passages: Passages
    hits: list[list[tuple[int, float]]]
    """For each passage the query's terms in it, by number, and BM25's share of each."""
    given: list[float]
    """For each passage the caller's own measure, or 0."""

    def match(self, weights: Sequence[float]) -> list[float]:
        """Return how well each passage answers; it inherits half from the heading above it."""
        found = [
            g + sum([weights[t] * share for t, share in hits])
            for g, hits in zip(self.given, self.hits, strict=True)
        ]
        under = self.passages.under
        if under is not None:
            for number, above in enumerate(under):
                if 0 <= above < number:
                    found[number] += found[above] / 2
        return found


class Evidence:
    """The worth of documents by a query: of each as a whole at once, of passages when asked for."""

    def __init__(
        self, query: str, documents: Sequence[Document], divide: Divide, match: Match | None
    ) -> None:
        self._documents = documents
        self._divide = divide
        self._match = match
        self._readings: dict[int, Reading] = {}
        wanted = list(dict.fromkeys(terms(query)))
        names = [name(document.title) for document in documents]
        self._seen = Occurrences(wanted, [document.title for document in documents], names)
        counts, sizes, self._links = self._look()
        # Rarity is counted in windows of a sentence, so that one long document is not one text.
        spans = sum(-(-size // WINDOW) for size in sizes)
        self._length = max(1.0, sum(sizes) / max(1, spans))
        self.weights = _weigh(self._seen.windows, spans, {t for count in counts for t in count})
        """The weight of each term of the query, 1 in all; 0 for a term that no candidate has."""
        mean = max(1.0, sum(sizes) / max(1, len(sizes)))
        self.holds = [
            _shares(n, norm(size / mean, WHOLE_K1, WHOLE_B), WHOLE_K1)
            for n, size in zip(counts, sizes, strict=True)
        ]
        """For each document the query's terms in its text or title, by number, and their shares."""
        scores = [document.score for document in documents]
        cover = [sum(self.weights[t] * share for t, share in held) for held in self.holds]
        self._prior = _priors(scores, _trust(scores, cover))
        self._echo = [
            _echo(document.title, title, phrase(query))
            for document, title in zip(documents, names, strict=True)
        ]
        self._same = _same_titles(names)
        self.lifts = [Lift(*parts) for parts in zip(*self._lift(self.weights), strict=True)]
        self.worth = list(map(sum, self.lifts))
        """For each document its worth, 0 to about 10; only the order has a meaning."""

    def _look(self) -> tuple[list[Counter[int]], list[int], list[tuple[int, int]]]:
        """Return the documents' counts of the query's terms, their sizes in words, all mentions."""
        counts, sizes, links = [], [], []
        for number, document in enumerate(self._documents):
            found = words(document.text)
            held, mentioned = self._seen.look(found, number)
            held.update(t for word in words(document.title) for t in self._seen[word][0])
            counts.append(held)
            sizes.append(len(found))
            links += [(number, other) for other in mentioned]
        return counts, sizes, links

    def __len__(self) -> int:
        return len(self._documents)

    def worths(self, weights: Sequence[float]) -> list[float]:
        """Return the worth of each document under other weights of the query's terms."""
        return list(map(sum, zip(*self._lift(weights), strict=True)))

    def _lift(self, weights: Sequence[float]) -> list[list[float]]:
        """Return the five parts of worth, each for all documents; see `Lift`."""
        cover = [COVER * sum([weights[t] * n for t, n in held]) for held in self.holds]
        alone = list(map(sum, zip(self._prior, cover, self._echo, strict=True)))
        bridge = [0.0] * len(alone)
        for a, b in self._links:
            bridge[b] = max(bridge[b], FORTH * alone[a])
            bridge[a] = max(bridge[a], BACK * alone[b])
        # The best of a title lends to the others, and the second best to the best: none to itself.
        source = [0.0] * len(alone)
        for group in self._same:
            first, second = sorted(group, key=lambda i: (-alone[i] - bridge[i], i))[:2]
            for i in group:
                source[i] = SOURCE * (alone[first] + bridge[first])
            source[first] = SOURCE * (alone[second] + bridge[second])
        return [self._prior, cover, self._echo, bridge, source]

    def reading(self, number: int) -> Reading:
        """Return a document read closely; each is read once."""
        known = self._readings.get(number)
        if known is None:
            passages = self._divide(number)
            hits = [self._hits(text) for text in passages.texts]
            given = [0.0] * len(hits)
            if self._match is not None:
                given = [self._match(number, p) for p in range(len(hits))]
            known = self._readings[number] = Reading(passages, hits, given)
        return known

    def _hits(self, text: str) -> list[tuple[int, float]]:
        found = words(text)
        counts = Counter(
            [t for held, _ in map(self._seen.__getitem__, found) if held for t in held]
        )
        return _shares(counts, norm(len(found) / self._length, K1, B), K1)


def read(
    query: str, documents: Sequence[Document], divide: Divide, *, match: Match | None = None
) -> Evidence:
    """Read the candidates with the query in mind, in time linear in their text but for titles."""
    return Evidence(query, documents, divide, match)


def _weigh(windows: Sequence[int], total: int, anywhere: Collection[int]) -> list[float]:
    """Return the rarity of each term found anywhere; one in titles alone is the rarest."""
    raw = [0.0] * len(windows)
    for t in anywhere:
        raw[t] = rarity(total, windows[t])
    whole = sum(raw) or 1.0
    return [weight / whole for weight in raw]


def _shares(counts: Counter[int], norm: float, k1: float) -> list[tuple[int, float]]:
    return sorted(shares(counts, norm, k1))


def _echo(title: str, known_as: str, query: str) -> float:
    if not known_as or known_as not in query:
        return 0.0
    if telling(title):
        return ECHO
    return FAINT


def _priors(scores: Sequence[float], trust: float) -> list[float]:
    """Return the prior of each document: half by its score, half by its rank."""
    best = max(scores, default=0.0)
    by_rank = [1 / (1 + rank / 3) for rank in range(len(scores))]
    by_score = by_rank
    # Scores below zero (logarithms, distances) are no shares of the best; there only order counts.
    if best > 0 and math.isfinite(best) and min(scores) >= 0:
        by_score = [score / best for score in scores]
    return [PRIOR * trust * (a + b) / 2 for a, b in zip(by_score, by_rank, strict=True)]


def _trust(scores: Sequence[float], cover: Sequence[float]) -> float:
    """Return the weight of the given order: above 1 where it disagrees with the query's words."""
    if len(scores) < ENOUGH or not max(scores) > min(scores):
        return 1.0
    return 1 + TRUST * max(0.0, AGREED - _agreement(cover))


def _agreement(values: Sequence[float]) -> float:
    """Return Spearman's rank correlation of `values` with their own order, from the best down."""
    size = len(values)
    best_first = sorted(range(size), key=lambda i: -values[i])
    distance = sum((place - i) ** 2 for place, i in enumerate(best_first))
    return 1 - 6 * distance / (size * (size * size - 1))


def _same_titles(names: Sequence[str]) -> list[list[int]]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, title in enumerate(names):
        if title:
            groups[title].append(number)
    return [group for group in groups.values() if len(group) > 1]
