"""What of the candidates answers the query: the worth of each, of each of its pieces, and which to take first.

All of it is computed from the candidates themselves and the query, without a model: BM25's weights over the words of
the query (Robertson and Spärck Jones), the order the candidates came in, and the titles that texts mention, by which
the second hop of a question is found. Chance that a piece is wanted decides, not its length: what a piece brings
grows with its length just as what it costs does, so length cancels, and a header is the only fixed cost.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from .bm25 import norm, rarity, shares
from .occurrences import WINDOW, Occurrences
from .words import name, phrase, telling, terms, words

PRIOR, COVER = 0.5, 0.5
"""What score and rank, and the query's words in it, add to the worth of a document (a word said often counts more)."""
ECHO, FAINT = 1.0, 0.3
"""What a title that the query names adds; if it may as well be any word (`open`, `run`)."""
FORTH, BACK = 0.8, 0.4
"""What a document has of the worth of one that mentions its title, and of one whose title it mentions."""
SOURCE = 0.3
"""What a document has of the best other of the same title."""
TRUST, AGREED, ENOUGH = 3.0, 0.5, 5
"""How much the prior gains for each point by which the given order agrees less than AGREED with the query's words (rank
correlation, of ENOUGH documents): a ranking by words has nothing to lose by a second look, another knows more."""
DECAY = 0.7
"""What a word of the query is still worth after a document that has it was opened."""
K1, B = 1.2, 0.3
"""BM25's saturation, and its norm by length, weak for pieces: they are of one size."""
WHOLE_K1, WHOLE_B = 1.2, 1.0
"""The same for documents: long ones hold more words of any query."""
POWER = 4
"""Worths are taken to this power: the best pieces pay for a header, many poor ones do not."""


class Document(NamedTuple):
    """A candidate; a sequence of them is in rank order, the best first."""

    title: str
    """What other texts call it: the title of a page, the name of a function."""
    text: str
    score: float = 0.0


class Passages(NamedTuple):
    """The text of a document in pieces that stay or go as one, joined the text; in order."""

    texts: Sequence[str]
    under: Sequence[int] | None = None
    """For each piece the one without which it may not stand (a heading before it), or -1; none: all stand alone."""


class Lift(NamedTuple):
    """What the worth of a document is made of."""

    prior: float
    cover: float
    echo: float
    bridge: float
    source: float


Divide = Callable[[int], Passages]
"""Returns the pieces of a document, by its index; asked only for documents read closely."""
Match = Callable[[int, int], float]
"""Returns how well piece p of document i answers, 0 to 1, by a measure of the caller's."""


class Reading(NamedTuple):
    """A document read closely."""

    passages: Passages
    hits: list[list[tuple[int, float]]]
    """For each piece the words of the query in it and BM25's share of each."""
    given: list[float]
    """For each piece what the caller's own measure says."""

    def match(self, weights: Sequence[float]) -> list[float]:
        """Return for each piece how well it answers; a piece has half of what the piece says that it stands under."""
        found = [
            g + sum([weights[t] * share for t, share in hits])
            for g, hits in zip(self.given, self.hits, strict=True)
        ]
        under = self.passages.under
        if under is not None:
            for piece, above in enumerate(under):
                if 0 <= above < piece:
                    found[piece] += found[above] / 2
        return found


class Evidence:
    """What `read` found out."""

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
        spans = sum(-(-size // WINDOW) for size in sizes)
        self._length = max(1.0, sum(sizes) / max(1, spans))
        self.weights = _weigh(self._seen.windows, spans, {t for count in counts for t in count})
        """What each word of the query says, in all 1; 0 for a word that no candidate has."""
        mean = max(1.0, sum(sizes) / max(1, len(sizes)))
        self.holds = [
            _shares(n, norm(size / mean, WHOLE_K1, WHOLE_B), WHOLE_K1)
            for n, size in zip(counts, sizes, strict=True)
        ]
        """For each document the words of the query (by number) in its text or title, and BM25's share of each."""
        scores = [document.score for document in documents]
        cover = [sum(self.weights[t] * share for t, share in held) for held in self.holds]
        self._prior = _priors(scores, _trust(scores, cover))
        self._echo = [
            _echo(document.title, title, phrase(query))
            for document, title in zip(documents, names, strict=True)
        ]
        self._same = _alike(names)
        self.lifts = [Lift(*parts) for parts in zip(*self._lift(self.weights), strict=True)]
        self.worth = list(map(sum, self.lifts))
        """For each document how likely it holds what is asked for, 0 to about 10; only the order means something."""

    def _look(self) -> tuple[list[Counter[int]], list[int], list[tuple[int, int]]]:
        """Return how often each word of the query is in each document, the documents' sizes, and who mentions whom."""
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
        """Return the worth of each document where the words of the query weigh so much."""
        return list(map(sum, zip(*self._lift(weights), strict=True)))

    def _lift(self, weights: Sequence[float]) -> list[list[float]]:
        """Return the five parts of worth, each for all documents; see `Lift`."""
        cover = [COVER * sum([weights[t] * n for t, n in held]) for held in self.holds]
        alone = list(map(sum, zip(self._prior, cover, self._echo, strict=True)))
        bridge = [0.0] * len(alone)
        for a, b in self._links:
            bridge[b] = max(bridge[b], FORTH * alone[a])
            bridge[a] = max(bridge[a], BACK * alone[b])
        source = [0.0] * len(alone)
        for group in self._same:
            first, second = sorted(group, key=lambda i: (-alone[i] - bridge[i], i))[:2]
            for i in group:
                one = second if i == first else first
                source[i] = SOURCE * (alone[one] + bridge[one])
        return [self._prior, cover, self._echo, bridge, source]

    def reading(self, number: int) -> Reading:
        """Return a document read closely, which is done once."""
        known = self._readings.get(number)
        if known is None:
            passages = self._divide(number)
            hits = [self._hits(text) for text in passages.texts]
            match = self._match
            given = [match(number, p) if match else 0.0 for p in range(len(hits))]
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
    """Read the candidates with the query in mind. The time is linear in their text, links by title apart."""
    return Evidence(query, documents, divide, match)


def _weigh(windows: Sequence[int], total: int, anywhere: Collection[int]) -> list[float]:
    """Return how rare each word is, of all that are anywhere; a word only in titles is the rarest."""
    raw = [rarity(total, n) if t in anywhere else 0.0 for t, n in enumerate(windows)]
    whole = sum(raw) or 1.0
    return [weight / whole for weight in raw]


def _shares(counts: Counter[int], norm: float, k1: float) -> list[tuple[int, float]]:
    return sorted(shares(counts, norm, k1))


def _echo(title: str, known_as: str, query: str) -> float:
    if not known_as or known_as not in query:
        return 0.0
    return ECHO if telling(title) else FAINT


def _priors(scores: Sequence[float], trust: float) -> list[float]:
    """Return what score and rank say, half each; of scores below zero, which are no shares, only the order counts."""
    best = max(scores, default=0.0)
    usable = best > 0 and math.isfinite(best) and min(scores) >= 0
    by_rank = [1 / (1 + rank / 3) for rank in range(len(scores))]
    by_score = [score / best for score in scores] if usable else by_rank
    return [PRIOR * trust * (a + b) / 2 for a, b in zip(by_score, by_rank, strict=True)]


def _trust(scores: Sequence[float], cover: Sequence[float]) -> float:
    """Return by how much to weigh the given order more: where it is not that of the query's words it knows more."""
    if len(scores) < ENOUGH or not max(scores) > min(scores):
        return 1.0
    return 1 + TRUST * max(0.0, AGREED - _agreement(cover))


def _agreement(values: Sequence[float]) -> float:
    """Return Spearman's rank correlation of `values` with their own order, from the best down."""
    size = len(values)
    best_first = sorted(range(size), key=lambda i: -values[i])
    return 1 - 6 * sum((place - i) ** 2 for place, i in enumerate(best_first)) / (
        size * (size * size - 1)
    )


def _alike(names: Sequence[str]) -> list[list[int]]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, title in enumerate(names):
        if title:
            groups[title].append(number)
    return [group for group in groups.values() if len(group) > 1]
