"""What of the candidates answers the query: the worth of each, of each of its pieces, and which to take first.

All of it is computed from the candidates themselves and the query, without a model: BM25's weights over the words of
the query (Robertson and Spärck Jones), the order the candidates came in, and the titles that texts mention, by which
the second hop of a question is found. Chance that a piece is wanted decides, not its length: what a piece brings
grows with its length just as what it costs does, so length cancels, and a header is the only fixed cost.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

from .words import _BRACKETS, name, phrase, spaced, terms, terms_of, words

PRIOR, COVER, ECHO = 0.5, 0.5, 1.0
ECHO1 = 0.3
"""What score and rank, the query's words and a title that the query names add to the worth of a document."""
FORTH, BACK = 0.8, 0.4
"""What a document has of the worth of one that mentions its title, and of one whose title it mentions."""
SOURCE = 0.3
"""What a document has of the best other of the same title."""
DECAY = 0.7
"""What a word of the query is still worth after a document that has it was opened."""
K1, B = 1.2, 0.3
"""BM25's saturation and its norm by length, weak here: pieces are of one size."""
POWER = 4
"""Worths are taken to this power: the best pieces pay for a header, many poor ones do not."""
DK1, DB = 2.0, 1.0
WINDOW = 25
"""Words in what counts as one text where the words of the query are weighed: about a sentence."""


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
            g + sum(weights[t] * share for t, share in hits) for g, hits in zip(self.given, self.hits, strict=True)
        ]
        under = self.passages.under
        if under is not None:
            for piece, above in enumerate(under):
                if 0 <= above < piece:
                    found[piece] += found[above] / 2
        return found


class Evidence:
    """What `read` found out."""

    def __init__(self, query: str, documents: Sequence[Document], divide: Divide, match: Match | None) -> None:
        self._documents = documents
        self._divide = divide
        self._match = match
        self._readings: dict[int, Reading] = {}
        wanted = list(dict.fromkeys(terms(query)))
        names = [name(document.title) for document in documents]
        self._index = _Index(wanted, names, [d.title for d in documents])
        in_query = phrase(query)
        self._prior = _priors([document.score for document in documents])
        self._echo = [(ECHO if _telling(d.title) else ECHO1) if title and title in in_query else 0.0 for title, d in zip(names, documents)]
        self.holds: list[list[tuple[int, float]]] = []
        """For each document the words of the query (their numbers) in its text or title, and how much of each."""
        self._sizes: list[int] = []
        self._links: list[tuple[int, int]] = []
        windows = [0] * len(wanted)
        total = length = 0
        for number, document in enumerate(documents):
            found = words(document.text)
            length += len(found)
            total += -(-len(found) // WINDOW)
            held, mentioned = self._index.look(found, number, windows)
            held.update(t for word in words(document.title) for t in self._index[word][0])
            self.holds.append(sorted(held.items()))
            self._sizes.append(len(found))
            self._links += [(number, other) for other in mentioned]
        self._length = max(1.0, length / max(1, total))
        mean = max(1.0, length / max(1, len(documents)))
        for number, held in enumerate(self.holds):
            norm = DK1 * (1 - DB + DB * self._sizes[number] / mean)
            self.holds[number] = [(t, n / (n + norm) * (1+DK1)) for t, n in held]
        anywhere = {t for held in self.holds for t, _ in held}
        raw = [math.log(1 + (total - n + 0.5) / (n + 0.5)) if t in anywhere else 0.0 for t, n in enumerate(windows)]
        whole = sum(raw) or 1.0
        self.weights = [weight / whole for weight in raw]
        """What each word of the query says, in all 1; 0 for a word that no candidate has."""
        self._same = _alike(names)
        self.lifts = self._lift(self.weights)
        self.worth = [sum(lift) for lift in self.lifts]
        """For each document how likely it holds what is asked for, 0 to about 8; only the order means something."""

    def __len__(self) -> int:
        return len(self._documents)

    def worths(self, weights: Sequence[float]) -> list[float]:
        """Return the worth of each document where the words of the query weigh so much."""
        return [sum(lift) for lift in self._lift(weights)]

    def _lift(self, weights: Sequence[float]) -> list[Lift]:
        cover = [COVER * sum(weights[t] * n for t, n in held) for held in self.holds]
        alone = [sum(parts) for parts in zip(self._prior, cover, self._echo, strict=True)]
        bridge = [0.0] * len(alone)
        for a, b in self._links:
            bridge[b] = max(bridge[b], FORTH * alone[a])
            bridge[a] = max(bridge[a], BACK * alone[b])
        so_far = [a + b for a, b in zip(alone, bridge, strict=True)]
        source = [0.0] * len(alone)
        for group in self._same:
            first, second = sorted(group, key=lambda i: (-so_far[i], i))[:2]
            for i in group:
                source[i] = SOURCE * so_far[second if i == first else first]
        return [Lift(*parts) for parts in zip(self._prior, cover, self._echo, bridge, source, strict=True)]

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
        index = self._index
        counts = Counter(t for word in found for t in index[word][0])
        norm = K1 * (1 - B + B * len(found) / self._length)
        return [(t, (K1 + 1) * n / (n + norm)) for t, n in counts.items()]


def read(query: str, documents: Sequence[Document], divide: Divide, *, match: Match | None = None) -> Evidence:
    """Read the candidates with the query in mind. The time is linear in their text, links by title apart."""
    return Evidence(query, documents, divide, match)


class _Index(dict[str, tuple[tuple[int, ...], tuple[int, ...]]]):
    """Word as it is written → the terms of the query in it, and the titles it may stand for; filled as words come."""

    def __init__(self, wanted: Sequence[str], names: Sequence[str], titles: Sequence[str]) -> None:
        self._terms = {term: number for number, term in enumerate(wanted)}
        self._heads = {term[:2] for term in wanted}
        self._names = names
        self._keys: dict[str, tuple[int, ...]] = {}
        once = Counter(names)
        for number, title in enumerate(names):
            if title and once[title] == 1 and (len(title.split()) > 1 or _telling(titles[number])):  # a title that two have says nothing
                key = max(title.split(), key=len)
                self._keys[key] = (*self._keys.get(key, ()), number)

    def __missing__(self, word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        lower = word.lower()
        numbers: tuple[int, ...] = ()
        if not word.isascii() or lower[:2] in self._heads or not (word.islower() and "_" not in word):
            numbers = tuple(self._terms[term] for term in terms_of(word) if term in self._terms)
        keys = self._keys.get(lower, ())
        if not word.isascii() and not keys:
            keys = tuple(chain.from_iterable(self._keys.get(part, ()) for part in set(spaced([word]).split())))
        self[word] = found = (numbers, keys)
        return found

    def look(self, found: list[str], number: int, windows: list[int]) -> tuple[Counter[int], list[int]]:
        """Return the query's terms among these words and the documents they mention; count the windows with a term."""
        keys: set[int] = set()
        told: list[str] = []
        for word in set(found):
            held, titles = self[word]
            if held:
                told.append(word)
            if titles:
                keys.update(titles)
        keys.discard(number)
        terms_here: Counter[int] = Counter()
        if told:
            for word in told:
                n = found.count(word)
                for t in self[word][0]:
                    terms_here[t] += n
            for start in range(0, len(found), WINDOW):
                here = set(found[start : start + WINDOW]).intersection(told)
                if here:
                    inside = set(chain.from_iterable(self[word][0] for word in here))
                    for t in inside:
                        windows[t] += 1
        if keys:
            whole = spaced(found)
            return terms_here, [other for other in sorted(keys) if self._names[other] in whole]
        return terms_here, []


def _telling(title):
    w = words(_BRACKETS.sub(" ", title))
    return len(w) > 1 or (w and w[0][:1].isupper() and "_" not in w[0] and not w[0].isupper())


def _priors(scores: Sequence[float]) -> list[float]:
    """Return what score and rank say, each up to half of PRIOR; scores below zero are no shares, only their order is."""
    best = max(scores, default=0.0)
    usable = best > 0 and min(scores) >= 0 and math.isfinite(best)
    by_rank = [1 / (1 + rank / 3) for rank in range(len(scores))]
    by_score = [score / best for score in scores] if usable else by_rank
    return [PRIOR * (a + b) / 2 for a, b in zip(by_score, by_rank, strict=True)]


def _alike(names: Sequence[str]) -> list[list[int]]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, title in enumerate(names):
        if title:
            groups[title].append(number)
    return [group for group in groups.values() if len(group) > 1]
