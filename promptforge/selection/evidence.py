"""Judge by the query how much each candidate, and each passage of one, is worth.

All of it is computed from the query and the candidates, without a model:

- BM25's weights over the words of the query (Robertson and Spärck Jones),
- the order in which the candidates came,
- the titles that texts mention, by which the second hop of a question is found.

Worth is the chance that a passage is wanted, not its length. A longer passage brings more and costs
more by the same factor, so length cancels; the header of an item is the only fixed cost.

Find where the words of a query, and the titles of other texts, occur in a text.

Choose passages greedily: the likeliest to answer first, until the room is full.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from ..text.words import (
    inverse_document_frequency,
    is_distinctive_title,
    join_to_phrase,
    length_norm,
    split_words,
    term_shares,
    terms_of_text,
    terms_of_word,
    title_phrase,
    to_phrase,
)

WINDOW_WORDS = 25
"""Words of a window, about a sentence, that counts as one text when the query is weighed."""

_Numbers = tuple[int, ...]


class Occurrences(dict[str, tuple[_Numbers, _Numbers]]):
    """Word as written → the query's terms in it, and the documents it may be the title of.

    A word is worked out at its first look-up. The dict lives as long as one query, and is as large
    as the vocabulary of the candidates.
    """

    def __init__(self, wanted: Sequence[str], titles: Sequence[str], names: Sequence[str]) -> None:
        """Take the query's terms (`wanted`), and `names`: `words.name` of each title."""
        self._terms = {term: number for number, term in enumerate(wanted)}
        # A word holds a term only if it holds its first two letters; `ties` has the stem `ty`.
        self._starts = {
            start for term in wanted for start in (term[:2], term.replace("y", "i")[:2])
        }
        self._names = names
        # A title is looked for by its longest word: the rarest, and so the fewest phrase searches.
        self._keys: dict[str, _Numbers] = {}
        self.windows = [0] * len(wanted)
        """For each term the number of windows it was seen in."""
        once = Counter(names)
        for number, title in enumerate(names):
            # A title that two documents share tells nothing of either.
            if title and once[title] == 1 and is_distinctive_title(titles[number]):
                key = max(title.split(), key=len)
                self._keys[key] = (*self._keys.get(key, ()), number)

    def __missing__(self, word: str) -> tuple[_Numbers, _Numbers]:
        lower = word.lower()
        plain = word.isascii()
        numbers: _Numbers = ()
        # Few words hold a term's first letters anywhere, and only for these the terms are made.
        if not plain or any([start in lower for start in self._starts]):
            numbers = tuple(
                self._terms[term] for term in terms_of_word(word) if term in self._terms
            )
        documents = self._keys.get(lower, ())
        if not plain and not documents:
            # In a script without blanks the "word" is a sentence, and a key one character of it.
            characters = dict.fromkeys(join_to_phrase([word]).split())
            documents = tuple(chain.from_iterable(self._keys.get(part, ()) for part in characters))
        self[word] = found = (numbers, documents)
        return found

    def look(self, found: list[str], number: int) -> tuple[Counter[int], list[int]]:
        """Count each term among the words of document `number`, and list the others it mentions."""
        told: set[str] = set()
        titles: set[int] = set()
        for word in set(found):
            held, documents = self[word]
            if held:
                told.add(word)
            if documents:
                titles.update(documents)
        counts: Counter[int] = Counter()
        if told:
            places = [
                (place // WINDOW_WORDS, t)
                for place, word in enumerate(found)
                if word in told
                for t in self[word][0]
            ]
            counts.update(t for _, t in places)
            for _, t in set(places):
                self.windows[t] += 1
        titles.discard(number)
        if not titles:
            return counts, []
        whole = join_to_phrase(found)
        return counts, [other for other in sorted(titles) if self._names[other] in whole]


# How much the parts of worth weigh; see `Lift`.
PRIOR_WEIGHT, COVER_WEIGHT = 0.5, 0.5
"""Weights of the given order and scores, and of the query's words in a document."""

NAMED_TITLE_WORTH, NAMED_COMMON_WORD_WORTH = 1.0, 0.3
"""Worth of a title that the query names, and of one that may be any word (`open`, `run`)."""

SHARE_OF_MENTIONING, SHARE_OF_MENTIONED = 0.8, 0.4
"""Share of the worth of a document that mentions this one, and of one that this one mentions."""

SHARE_OF_SAME_TITLE = 0.3
"""Share of the worth of the best other document of the same title."""

# A ranking by words is no second opinion on words, so its order is judged anew. An embedder or
# reranker knows more than words, and shows it by disagreeing with them: its order weighs more.
TRUST_PER_DISAGREEMENT, MIN_AGREEMENT, MIN_DOCUMENTS_CORRELATED = 3.0, 0.5, 5
"""Weight that the prior gains for each point of correlation below AGREED, of ENOUGH documents."""

WORD_DECAY = 0.7
"""Worth of a query's word after each opened document that holds it, as a share."""

PASSAGE_K1, PASSAGE_B = 1.2, 0.3
"""BM25's saturation and length norm for passages: a weak norm, since all are of about one size."""

DOCUMENT_K1, DOCUMENT_B = 1.2, 1.0
"""The same for documents: long ones hold more words of any query."""

WORTH_EXPONENT = 4
"""Exponent of worths: a few good passages pay for a header, many poor ones do not."""


class RankedText(NamedTuple):
    """A candidate; sequences of them are in rank order, the best first."""

    title: str
    """Its name in other texts: the title of a page, the name of a function."""
    text: str
    score: float = 0.0


class DividedText(NamedTuple):
    """A document cut into passages that stay or go as one; joined in order they are its text."""

    texts: Sequence[str]
    under: Sequence[int] | None = None
    """For each passage the one that must stand above it (a heading), or -1; `None`: no headings."""


class WorthParts(NamedTuple):
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


DivideText = Callable[[int], DividedText]
"""Returns the passages of a document by its number; called only for documents read closely."""

MatchPassage = Callable[[int, int], float]
"""Returns the caller's own measure of passage p of document i, 0 to 1."""


class PassageScores(NamedTuple):
    """A document read closely, passage by passage."""

    passages: DividedText
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
        self,
        query: str,
        documents: Sequence[RankedText],
        divide: DivideText,
        match: MatchPassage | None,
    ) -> None:
        self._documents = documents
        self._divide = divide
        self._match = match
        self._readings: dict[int, PassageScores] = {}
        wanted = list(dict.fromkeys(terms_of_text(query)))
        names = [title_phrase(document.title) for document in documents]
        self._seen = Occurrences(wanted, [document.title for document in documents], names)
        counts, sizes, self._links = self._look()
        # Rarity is counted in windows of a sentence, so that one long document is not one text.
        spans = sum(-(-size // WINDOW_WORDS) for size in sizes)
        self._length = max(1.0, sum(sizes) / max(1, spans))
        self.weights = _weigh(self._seen.windows, spans, {t for count in counts for t in count})
        """The weight of each term of the query, 1 in all; 0 for a term that no candidate has."""
        mean = max(1.0, sum(sizes) / max(1, len(sizes)))
        self.holds = [
            _shares(n, length_norm(size / mean, DOCUMENT_K1, DOCUMENT_B), DOCUMENT_K1)
            for n, size in zip(counts, sizes, strict=True)
        ]
        """For each document the query's terms in its text or title, by number, and their shares."""
        scores = [document.score for document in documents]
        cover = [sum(self.weights[t] * share for t, share in held) for held in self.holds]
        self._prior = _priors(scores, _trust(scores, cover))
        self._echo = [
            _echo(document.title, title, to_phrase(query))
            for document, title in zip(documents, names, strict=True)
        ]
        self._same = _same_titles(names)
        self.lifts = [WorthParts(*parts) for parts in zip(*self._lift(self.weights), strict=True)]
        self.worth = list(map(sum, self.lifts))
        """For each document its worth, 0 to about 10; only the order has a meaning."""

    def _look(self) -> tuple[list[Counter[int]], list[int], list[tuple[int, int]]]:
        """Return the documents' counts of the query's terms, their sizes in words, all mentions."""
        counts, sizes, links = [], [], []
        for number, document in enumerate(self._documents):
            found = split_words(document.text)
            held, mentioned = self._seen.look(found, number)
            held.update(t for word in split_words(document.title) for t in self._seen[word][0])
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
        cover = [COVER_WEIGHT * sum([weights[t] * n for t, n in held]) for held in self.holds]
        alone = list(map(sum, zip(self._prior, cover, self._echo, strict=True)))
        bridge = [0.0] * len(alone)
        for a, b in self._links:
            bridge[b] = max(bridge[b], SHARE_OF_MENTIONING * alone[a])
            bridge[a] = max(bridge[a], SHARE_OF_MENTIONED * alone[b])
        # The best of a title lends to the others, and the second best to the best: none to itself.
        source = [0.0] * len(alone)
        for group in self._same:
            first, second = sorted(group, key=lambda i: (-alone[i] - bridge[i], i))[:2]
            for i in group:
                source[i] = SHARE_OF_SAME_TITLE * (alone[first] + bridge[first])
            source[first] = SHARE_OF_SAME_TITLE * (alone[second] + bridge[second])
        return [self._prior, cover, self._echo, bridge, source]

    def reading(self, number: int) -> PassageScores:
        """Return a document read closely; each is read once."""
        known = self._readings.get(number)
        if known is None:
            passages = self._divide(number)
            hits = [self._hits(text) for text in passages.texts]
            given = [0.0] * len(hits)
            if self._match is not None:
                given = [self._match(number, p) for p in range(len(hits))]
            known = self._readings[number] = PassageScores(passages, hits, given)
        return known

    def _hits(self, text: str) -> list[tuple[int, float]]:
        found = split_words(text)
        counts = Counter(
            [t for held, _ in map(self._seen.__getitem__, found) if held for t in held]
        )
        return _shares(
            counts, length_norm(len(found) / self._length, PASSAGE_K1, PASSAGE_B), PASSAGE_K1
        )


def read_evidence(
    query: str,
    documents: Sequence[RankedText],
    divide: DivideText,
    *,
    match: MatchPassage | None = None,
) -> Evidence:
    """Read the candidates with the query in mind, in time linear in their text but for titles."""
    return Evidence(query, documents, divide, match)


def _weigh(windows: Sequence[int], total: int, anywhere: Collection[int]) -> list[float]:
    """Return the rarity of each term found anywhere; one in titles alone is the rarest."""
    raw = [0.0] * len(windows)
    for t in anywhere:
        raw[t] = inverse_document_frequency(total, windows[t])
    whole = sum(raw) or 1.0
    return [weight / whole for weight in raw]


def _shares(counts: Counter[int], norm: float, k1: float) -> list[tuple[int, float]]:
    return sorted(term_shares(counts, norm, k1))


def _echo(title: str, known_as: str, query: str) -> float:
    if not known_as or known_as not in query:
        return 0.0
    if is_distinctive_title(title):
        return NAMED_TITLE_WORTH
    return NAMED_COMMON_WORD_WORTH


def _priors(scores: Sequence[float], trust: float) -> list[float]:
    """Return the prior of each document: half by its score, half by its rank."""
    best = max(scores, default=0.0)
    by_rank = [1 / (1 + rank / 3) for rank in range(len(scores))]
    by_score = by_rank
    # Scores below zero (logarithms, distances) are no shares of the best; there only order counts.
    if best > 0 and math.isfinite(best) and min(scores) >= 0:
        by_score = [score / best for score in scores]
    return [PRIOR_WEIGHT * trust * (a + b) / 2 for a, b in zip(by_score, by_rank, strict=True)]


def _trust(scores: Sequence[float], cover: Sequence[float]) -> float:
    """Return the weight of the given order: above 1 where it disagrees with the query's words."""
    if len(scores) < MIN_DOCUMENTS_CORRELATED or not max(scores) > min(scores):
        return 1.0
    return 1 + TRUST_PER_DISAGREEMENT * max(0.0, MIN_AGREEMENT - _agreement(cover))


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


TOKENS_PER_DOCUMENT = 50
"""Tokens of room for each document that may be opened."""

MIN_DOCUMENTS_OPENED = 3
"""Documents that may be opened in any room."""


class PassageId(NamedTuple):
    """Passage `piece` of document `document`, both by number."""

    document: int
    piece: int


class PassageChoice(NamedTuple):
    """The chosen passages, and those to try when room is left after all."""

    picks: list[PassageId]
    """In the order they were chosen, the likeliest first; over the room, the last goes first."""
    aside: list[PassageId]
    """Those that did not fit, in the same order."""


def choose_passages(
    evidence: Evidence,
    *,
    room: float,
    header: Callable[[int], float],
    price: Callable[[int, int], float],
    gap: float = 2,
    allowed: int | None = None,
    among: Collection[int] | None = None,
) -> PassageChoice:
    """Return the passages to show within `room` tokens.

    `header` and `price` give the tokens of a document's header and of one passage, `gap` those
    between two. At most `allowed` documents are opened, and only those `among` these.
    """
    return _Greedy(evidence, room, header, price, gap, allowed, among).run()


class _Greedy:
    """Takes the passage of the best ratio of value to cost again and again.

    A heap holds passages by upper bounds of their ratio: opening a document lowers the worth of
    the words it holds, so values only fall, and a bound is computed anew only on top of the heap.
    Of a document not yet opened only the best passage is in the heap, by its value alone.
    """

    def __init__(
        self,
        evidence: Evidence,
        room: float,
        header: Callable[[int], float],
        price: Callable[[int, int], float],
        gap: float,
        allowed: int | None,
        among: Collection[int] | None,
    ) -> None:
        self._evidence = evidence
        self._room = room
        self._header = header
        self._price = price
        self._gap = gap
        self._heap: list[tuple[float, int, int]] = []
        """(- upper bound of the ratio, document, passage)."""
        self._weights = list(evidence.weights)
        self._worth = evidence.worth
        self._version = 0
        """Documents opened so far; what depends on the weights is known for one version."""
        self._opened: set[int] = set()
        self._matches: dict[int, tuple[int, list[float], float]] = {}
        self._left: dict[int, tuple[int, list[int]]] = {}
        self._prices: dict[PassageId, float] = {}
        self._headers: dict[int, float] = {}
        self._done: dict[int, set[int]] = {}
        """For each document the passages that are chosen or put aside."""
        self._taken: dict[int, set[int]] = {}
        self._under: dict[int, dict[int, list[int]]] = {}
        if allowed is None:
            allowed = max(MIN_DOCUMENTS_OPENED, int(room / TOKENS_PER_DOCUMENT))
        numbers = range(len(evidence)) if among is None else among
        ranked = sorted(numbers, key=lambda i: (-evidence.worth[i], i))
        self._allowed = sorted(ranked[:allowed])

    def run(self) -> PassageChoice:
        choice = PassageChoice([], [])
        for number in self._allowed:
            self._push_best(number)
        while self._heap:
            bound, number, piece = heapq.heappop(self._heap)
            done = self._done.setdefault(number, set())
            if piece in done:
                continue
            now = self._ratio(number, piece)
            # Other weights may have made another passage the best of a document not yet opened.
            if number not in self._opened and self._best(number) != piece:
                self._push_best(number)
                continue
            if now < -bound and self._heap and (-now, number, piece) > self._heap[0]:
                heapq.heappush(self._heap, (-now, number, piece))
                continue
            done.add(piece)
            cost = self._extra(number, piece) + self._cost(number, piece) + self._gap
            if cost <= self._room:
                self._room -= cost
                choice.picks.append(PassageId(number, piece))
                self._take(number, piece)
            else:
                choice.aside.append(PassageId(number, piece))
                if number not in self._opened:
                    self._push_best(number)
        return choice

    def _push(self, number: int, piece: int) -> None:
        heapq.heappush(self._heap, (-self._value(number, piece), number, piece))

    def _push_best(self, number: int) -> None:
        """Push the best passage left of a document that is not opened."""
        best = self._best(number)
        if best is not None:
            self._push(number, best)

    def _best(self, number: int) -> int | None:
        match = self._match(number)[0]
        version, left = self._left.get(number, (-1, []))
        if version != self._version:  # the worst first, so that the best is popped off the end
            left = sorted(range(len(match)), key=lambda p: (match[p], -p))
            self._left[number] = (self._version, left)
        done = self._done.get(number, ())
        while left and left[-1] in done:
            left.pop()
        return left[-1] if left else None

    def _take(self, number: int, piece: int) -> None:
        """Take a passage with the headings above it, and push what may be the next."""
        fresh = [piece, *self._missing(number, piece)]
        self._taken.setdefault(number, set()).update(fresh)
        self._done[number].update(fresh)
        if number in self._opened:
            # What stands under these needs them no longer, and so has a better ratio.
            again: Iterable[int] = (
                p for above in fresh for p in self._children(number).get(above, ())
            )
        else:
            self._opened.add(number)
            for t, _ in self._evidence.holds[number]:
                self._weights[t] *= WORD_DECAY
            self._worth = self._evidence.worths(self._weights)
            self._version += 1
            again = range(len(self._match(number)[0]))
        for p in again:
            if p not in self._done[number]:
                self._push(number, p)

    def _match(self, number: int) -> tuple[list[float], float]:
        """Return how well each passage answers by the present weights, and the best of these."""
        known = self._matches.get(number)
        if known is None or known[0] != self._version:
            found = self._evidence.reading(number).match(self._weights)
            known = self._matches[number] = (self._version, found, max(found, default=0.0))
        return known[1], known[2]

    def _value(self, number: int, piece: int) -> float:
        """Return the value of a passage, half of it the document's best: answers lie together."""
        match, best = self._match(number)
        return float((self._worth[number] + (match[piece] + best) / 2) ** WORTH_EXPONENT)

    def _ratio(self, number: int, piece: int) -> float:
        """Return the value for each token, up to a factor that all passages of one size share."""
        value = self._value(number, piece)
        extra = self._extra(number, piece)
        if not extra:
            return value
        cost = self._cost(number, piece)
        return value * cost / (cost + extra)

    def _extra(self, number: int, piece: int) -> float:
        """Return the cost beside the passage's own: missing headings, and its document's header."""
        extra = sum(self._cost(number, p) + self._gap for p in self._missing(number, piece))
        if number not in self._opened:
            if number not in self._headers:
                self._headers[number] = self._header(number) + self._gap
            extra += self._headers[number]
        return extra

    def _cost(self, number: int, piece: int) -> float:
        pick = PassageId(number, piece)
        if pick not in self._prices:
            self._prices[pick] = self._price(number, piece)
        return self._prices[pick]

    def _missing(self, number: int, piece: int) -> list[int]:
        """Return the headings above a passage that are not taken yet, the nearest first."""
        under = self._evidence.reading(number).passages.under
        found: list[int] = []
        if under is not None:
            taken = self._taken.get(number, ())
            piece = under[piece]
            while piece >= 0 and piece not in taken:
                found.append(piece)
                piece = under[piece]
        return found

    def _children(self, number: int) -> dict[int, list[int]]:
        if number not in self._under:
            found: dict[int, list[int]] = {}
            for piece, above in enumerate(self._evidence.reading(number).passages.under or ()):
                found.setdefault(above, []).append(piece)
            self._under[number] = found
        return self._under[number]
