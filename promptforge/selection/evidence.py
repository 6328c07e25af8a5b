"""Judge by the query how much each candidate, and each passage of one, is worth.

All of it is computed from the query and the candidates, without a model:

- BM25's weights over the words of the query (Robertson and Spärck Jones),
- the order in which the candidates came,
- the titles that texts mention and the names that few texts share, by which the second hop of a
  question is found.

Worth is the chance that a passage is wanted, not its length. A longer passage brings more and costs
more by the same factor, so length cancels; the header of an item is the only fixed cost.

A candidate is called a document here, and known by its number in rank order.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from functools import cache
from itertools import chain, compress, filterfalse, permutations
from typing import NamedTuple

from ..text.characters import freeze
from ..text.words import (
    STOP_WORDS,
    inverse_document_frequency,
    is_distinctive_title,
    join_to_phrase,
    late_pattern,
    split_blocks,
    split_words,
    stem,
    term_shares,
    terms_of_text,
    terms_of_word,
    title_phrase,
    to_phrase,
    without_typography,
)

PRIOR_WEIGHT = 0.5
"""Weight of the given order and scores; the query's words in a document weigh 1."""
NAMED_TITLE_WORTH, NAMED_COMMON_WORD_WORTH = 1.0, 0.3
"""Worth of a title that the query names, and of one that may be any word (`open`, `run`)."""
SHARE_OF_MENTIONING = 0.8
"""Share of the worth of a document that mentions this one."""
SHARE_FOR_MENTIONING = 0.5
"""Share of a document's cover that a passage gains by its title: it names the next hop."""
SHARE_OF_NAMING, MIN_SHARE_OF_NAMING = 0.8, 0.1
"""Share of the worth of a document with a rare name in common: the first if this one has the words
of the query that the other lacks, the second if it has none of them."""
MAX_WORDS_NAMING = 1_000
"""Words of the longest text with names that count: a whole manual names everything."""
MIN_DOCUMENTS_BRIDGED = 3
"""Among fewer documents every name is shared by many."""
MAX_DOCUMENTS_NAMING = 4
"""A name in more documents is their subject, and bridges nothing."""
SINGLE_WORD_SHARE = 0.7
"""A name of one plain word, or a year, tells less than one of several, or an identifier."""
SHARE_OF_SAME_TITLE = 0.3
"""Share of the worth of the best other document of the same title."""
# A ranking by words is no second opinion on words, so its order is judged anew. An embedder or
# reranker knows more than words, and shows it by disagreeing with them: its order weighs more.
TRUST_PER_DISAGREEMENT, MIN_AGREEMENT, MIN_DOCUMENTS_CORRELATED = 3.0, 0.5, 5
"""Weight that the prior gains for each point of rank correlation below the agreement."""
PASSAGE_K1, PASSAGE_B, STRUCTURE_B = 1.2, 0.3, 0.75
"""BM25's saturation and length norm for passages: a weak norm for sentences, all of one size,
a strong one for the pieces of a structure, which may be a line or a page."""
LABEL_WEIGHT = 1.5
"""Share of a term that is all of a passage's label; of a label of three words a third of it."""
DEFINED_WEIGHT = 1.0
"""Share of each term of a name that a program defines, in the document's cover and in its passage;
less where the query says only a part of the name. What a thing is stands where it is defined, and a
text that only uses it may say its name more often."""
DOCUMENT_K1, DOCUMENT_B = 1.2, 1.0
"""As for passages, for documents: long ones hold more words of any query."""
WINDOW_WORDS = 25
"""Words of a window, about a sentence, that counts as one text when the query is weighed."""
MAX_WORDS_REMEMBERED = 100_000
"""Words that are worked out once: a log may hold a number of its own in each line."""
_OPENING_LABEL = late_pattern(
    r"\s*+(?:[-*+•]\s++)?[\"'`*]*+([\w.-]++(?: [\w./-]++){0,4})[\"'`*]*+(?:\(|:\s)"
)
_Shares = list[tuple[int, float]]
"""The query's terms in a text, by number, with BM25's share of each."""


class RankedText(NamedTuple):
    """A document; sequences of them are in rank order, the best first."""

    title: str
    """Its name in other texts: the title of a page, the name of a function."""
    text: str
    score: float = 0.0
    defines: Sequence[str] = ()
    """The names that it defines as a program: others only use them."""


class DividedText(NamedTuple):
    """A document cut into passages that stay or go as one; joined in order they are its text."""

    texts: Sequence[str]
    under: Sequence[int] | None = None
    """For each passage the one that must stand above it (a heading), or -1; `None`: no headings."""
    labels: Sequence[str] | None = None
    """For each passage the words that name it (an option's names) or ""; `None`: none has any."""
    headings: frozenset[int] = frozenset()
    """Passages that others may stand without, and that say nothing alone."""
    leads: frozenset[int] = frozenset()
    """Passages that end in a colon: "run this:" says nothing without what stands under it."""


class PassageScores(NamedTuple):
    """A document read closely, passage by passage."""

    passages: DividedText
    shares: list[_Shares]
    given: Sequence[float]
    """For each passage the caller's own measure, and its share for mentioning other titles."""

    def match(self, weights: Sequence[float]) -> list[float]:
        """Return how well each passage answers, with half of the heading above; next to a lead all.

        A list of 25 points under "Proxy timeout, see:" lost the paragraph that had the answer.
        """
        found = [
            given + sum([weights[t] * share for t, share in shares]) if shares else given
            for given, shares in zip(self.given, self.shares, strict=True)
        ]
        for number, above in enumerate(self.passages.under or ()):
            if 0 <= above < number:
                is_next = number == above + 1 and above in self.passages.leads
                found[number] += found[above] if is_next else found[above] / 2
        return found


class Evidence:
    """The worth of documents by a query: of each as a whole at once, of passages when asked for.

    The time is linear in the documents' text, but for titles that many of them mention.
    """

    def __init__(
        self,
        queries: Sequence[str],
        documents: Sequence[RankedText],
        divide: Callable[[int], DividedText],
        match: Callable[[Sequence[int]], Iterable[Sequence[float]]] | None = None,
    ) -> None:
        """Take the documents and two functions, called only for documents read closely.

        `divide` returns the passages of a document; `match` the caller's own measure of each, 0 to
        1, for several documents at once.
        """
        self._divide = divide
        self._match = match
        self._scores: dict[int, PassageScores] = {}
        self._defines = [document.defines for document in documents]
        titles = [document.title for document in documents]
        names = list(map(title_phrase, titles))
        asked = [list(dict.fromkeys(terms_of_text(query))) for query in queries]
        wanted = list(dict.fromkeys(chain(*asked)))
        self._occurrences = Occurrences(wanted, titles, names)
        self._held: dict[str, tuple[Counter[int], int]] = {}
        """Text of a document → how often it holds each term, and its words."""
        self._mentions: list[tuple[int, int]] = []
        """Pairs of documents: the first mentions the title of the second."""
        counts, sizes, texts = self._count_words(documents)
        self._mentioning = {number for number, _ in self._mentions}
        # Rarity is counted in windows of a sentence, so that one long document is not one text.
        windows = sum(-(-size // WINDOW_WORDS) for size in sizes)
        self._window_length = max(1.0, sum(sizes) / max(1, windows))
        place = {term: number for number, term in enumerate(wanted)}
        held_by_query = [[place[term] for term in terms] for terms in asked]
        self.weights = _weigh(
            self._occurrences.windows, windows, set(chain(*counts)), held_by_query
        )
        """The weight of each term of the queries, 1 in all; 0 for a term that no document has."""
        mean = max(1.0, sum(sizes) / max(1, len(sizes)))
        self.shares: list[_Shares] = [
            self._with_defined(
                term_shares(held, size / mean, DOCUMENT_K1, DOCUMENT_B), document.defines
            )
            for document, held, size in zip(documents, counts, sizes, strict=True)
        ]
        """For each document, its title included."""
        self._cover = [self.cover(number, self.weights) for number in range(len(self))]
        shared = _shared_names(documents, names, texts, "\n".join(queries))
        holds = list(map(frozenset, counts))
        self._shared = [
            (a, b, SHARE_OF_NAMING * share * _news(holds[a], holds[b], self.weights))
            for a, b, share in shared
        ]
        """Pairs of documents that share a name, with what the one brings to the other."""
        self._prior = _priors([document.score for document in documents], self._cover)
        self._echo = _echoes(titles, names, queries)
        self._same_titles = _same_titles(names)
        pairs = chain(self._mentions, self._shared)
        self.borrowers = {pair[1] for pair in pairs}.union(*self._same_titles)
        """Documents that others lend a part of their worth."""
        self.worth = self.worths(self.weights)
        """For each document its worth, 0 to about 10; only the order has a meaning."""

    def _count_words(
        self, documents: Sequence[RankedText]
    ) -> tuple[list[Counter[int]], list[int], list[list[str] | None]]:
        """Return how often each holds the queries' terms, and its words; note the mentions."""
        counts, sizes, texts = [], [], []
        for number, document in enumerate(documents):
            held, size, mentioned, words = self._occurrences.count(document.text, number)
            # The names of a long text bridge nothing.
            texts.append(words if size <= MAX_WORDS_NAMING else None)
            self._held[document.text] = held, size
            titled = [t for word in split_words(document.title) for t in self._terms(word)]
            counts.append(held + Counter(titled) if titled else held)
            sizes.append(size)
            self._mentions += [(number, other) for other in mentioned]
        return counts, sizes, texts

    def __len__(self) -> int:
        return len(self.shares)

    def _terms(self, word: str) -> tuple[int, ...]:
        return self._occurrences[word][0]

    def worths(self, weights: Sequence[float]) -> list[float]:
        """Return the worth of each document under other weights of the query's terms."""
        return list(map(sum, zip(*self.worth_parts(weights), strict=True)))

    def own_worth(self, number: int, weights: Sequence[float]) -> float:
        """Return the worth of a document under other weights, without what others lend it."""
        return self._prior[number] + self.cover(number, weights) + self._echo[number]

    def cover(self, number: int, weights: Sequence[float]) -> float:
        """Return the part of a document's worth that its words have, under some weights."""
        return sum([weights[t] * share for t, share in self.shares[number]])

    def worth_parts(self, weights: Sequence[float]) -> list[list[float]]:
        """Return the parts of worth, each for all documents.

        By order and scores; by the query's words; by a title that the query names; by documents
        that mention a title or share a rare name; by the best other document of the same title.
        """
        cover = [sum([weights[t] * share for t, share in shares]) for shares in self.shares]
        alone = list(map(sum, zip(self._prior, cover, self._echo, strict=True)))
        bridge = [0.0] * len(alone)
        # A mention tells of the mentioned: "founded by Bo Dunn" makes his page the next hop.
        for a, b in self._mentions:
            bridge[b] = max(bridge[b], SHARE_OF_MENTIONING * alone[a])
        for a, b, share in self._shared:
            bridge[b] = max(bridge[b], share * alone[a])
        # The best of a title lends to the others, and the second best to the best: none to itself.
        source = [0.0] * len(alone)
        for group in self._same_titles:
            first, second = sorted(group, key=lambda i: (-alone[i] - bridge[i], i))[:2]
            for i in group:
                source[i] = SHARE_OF_SAME_TITLE * (alone[first] + bridge[first])
            source[first] = SHARE_OF_SAME_TITLE * (alone[second] + bridge[second])
        return [self._prior, cover, self._echo, bridge, source]

    def read(self, numbers: Iterable[int]) -> None:
        """Read documents closely, all that were not read before in one call of `match`."""
        fresh = [number for number in numbers if number not in self._scores]
        matches = self._match(fresh) if self._match and fresh else [()] * len(fresh)
        for number, given in zip(fresh, matches, strict=True):
            passages = self._divide(number)
            if passages.labels is None:
                shares = [
                    self._with_label(self._passage_shares(text, PASSAGE_B), _opening_label(text))
                    for text in passages.texts
                ]
            else:
                shares = self._labelled_shares(passages.texts, passages.labels)
            if len(shares) == 1:  # the program as a whole; else the longer use goes before it
                shares = [self._with_defined(shares[0], self._defines[number])]
            given = given or [0.0] * len(shares)
            if number in self._mentioning:
                told = (self._mentioned_cover(text, number) for text in passages.texts)
                given = [own + SHARE_FOR_MENTIONING * n for own, n in zip(given, told, strict=True)]
            self._scores[number] = PassageScores(passages, shares, given)

    def _mentioned_cover(self, text: str, number: int) -> float:
        """Return the best cover of the documents that a passage mentions, at most 1."""
        found = self._occurrences.count(text, number)[2]
        return min(1.0, max((self._cover[other] for other in found), default=0.0))

    def passage_scores(self, number: int) -> PassageScores:
        """Return a document read closely; each is read once."""
        self.read([number])
        return self._scores[number]

    def match_texts(self, texts: Sequence[str], labels: Sequence[str]) -> list[float]:
        """Return how well texts answer that are parts of a structure, each with its label."""
        shares = self._labelled_shares(texts, labels)
        return [sum([self.weights[t] * share for t, share in each]) for each in shares]

    def _labelled_shares(self, texts: Sequence[str], labels: Sequence[str]) -> list[_Shares]:
        return [
            self._with_label(self._passage_shares(text, STRUCTURE_B), label)
            for text, label in zip(texts, labels, strict=True)
        ]

    def _passage_shares(self, text: str, length_norm: float) -> _Shares:
        plain = without_typography(text)
        if plain.isascii() and not self._occurrences.has_start(plain.lower()):
            return []
        # Most short texts are one passage, and were read as documents.
        counts, size = self._held.get(text) or self._occurrences.count(plain, -1)[:2]
        length = size / self._window_length
        return sorted(term_shares(counts, length, PASSAGE_K1, length_norm))

    def _with_defined(self, shares: Iterable[tuple[int, float]], names: Iterable[str]) -> _Shares:
        gains = dict[int, float]()
        for name in dict.fromkeys(names):
            terms = self._terms(name)
            if terms:
                gain = DEFINED_WEIGHT * len(terms) / len(set(terms_of_word(name)))
                gains |= {t: max(gain, gains.get(t, 0.0)) for t in terms}
        return sorted((t, share + gains.get(t, 0.0)) for t, share in shares)

    def _with_label(self, shares: _Shares, label: str) -> _Shares:
        if not label:  # of most sentences
            return shares
        named = split_words(label)
        found = dict(shares)
        for t in sorted({t for word in named for t in self._terms(word)}):
            found[t] = found.get(t, 0.0) + LABEL_WEIGHT / len(named)
        return sorted(found.items())


def _opening_label(text: str) -> str:
    """Return what a passage begins with before a bracket or colon, or "".

    Example: `tell` of "tell(self): Return the position." and of "- **tell**: the position".
    """
    found = _OPENING_LABEL.match(freeze(text))
    return found[1] if found else ""


def _weigh(
    windows: Sequence[int],
    total: int,
    anywhere: Collection[int],
    held_by_query: Sequence[Sequence[int]],
) -> list[float]:
    """Return the rarity of each term found anywhere; one in titles alone is the rarest.

    Each query has the same say, however long it is.
    """
    raw = [0.0] * len(windows)
    for t in anywhere:
        raw[t] = inverse_document_frequency(total, windows[t])
    found = [0.0] * len(windows)
    sums = [(terms, sum([raw[t] for t in terms])) for terms in held_by_query]
    said = [(terms, whole) for terms, whole in sums if whole]
    for terms, whole in said:
        for t in terms:
            found[t] += raw[t] / whole / len(said)
    return found


def _echoes(titles: Sequence[str], names: Sequence[str], queries: Sequence[str]) -> list[float]:
    worths = [0.0] * len(titles)
    phrases = list(map(to_phrase, queries))
    words = set(split_words(" ".join(queries)))
    # A query without capitals may mean `Titanic` by "titanic"; one with some would have said so.
    capitals = any(map(str.isupper, "".join(query[1:] for query in queries)))
    for number, (title, name) in enumerate(zip(titles, names, strict=True)):
        if not name or not any(name in phrase for phrase in phrases):
            continue
        worths[number] = NAMED_COMMON_WORD_WORTH
        said = not capitals or len(name.split()) > 1 or not words.isdisjoint(split_words(title))
        if said and is_distinctive_title(title):
            worths[number] = NAMED_TITLE_WORTH
    return worths


def _priors(scores: Sequence[float], cover: Sequence[float]) -> list[float]:
    """Return the prior of each document: half by its score, half by its rank."""
    weight = PRIOR_WEIGHT
    if len(scores) >= MIN_DOCUMENTS_CORRELATED and max(scores) > min(scores):
        weight *= 1 + TRUST_PER_DISAGREEMENT * max(0.0, MIN_AGREEMENT - _agreement(cover))
    best = max(scores, default=0.0)
    by_rank = [1 / (1 + rank / 3) for rank in range(len(scores))]
    by_score = by_rank
    # Scores below zero (logarithms, distances) are no shares of the best; there only order counts.
    if best > 0 and math.isfinite(best) and min(scores) >= 0:
        by_score = [score / best for score in scores]
    return [weight * (a + b) / 2 for a, b in zip(by_score, by_rank, strict=True)]


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


_NAME = late_pattern(
    # A set to begin with is searched for three times as fast as a choice.
    r"[A-ZÀ-ÖØ-Þ12](?:(?<=[12])\d{3}|(?<![12])[\w'’.-]*)"
    r"(?:\s+(?:(?:of|the|and|de|la|van|von|for|in|on|del|di|al)\s+){0,2}[A-ZÀ-ÖØ-Þ][\w'’-]*)*"
)
_JOINED = late_pattern(r"\b\w++(?:[-.:/@]\w++)++|#\d++")
"""Finds `ledger-db`, `db07.example.net` and `#12`; other identifiers are single words."""
_NOT_JOINED = re.sub(rb"[^\w.:/@#\x80-\xff-]", b" ", bytes(range(256)))


def _names_in(text: str, words: Set[str]) -> set[str]:
    """Return the names, years and identifiers of a text with some words, in small letters."""
    text = freeze(text)
    # `maxTokens` and `row_id`, no numbers; what begins with a capital is found below.
    told = {*filterfalse(str.isdigit, filterfalse(str.isalpha, words))}
    mixed = filterfalse(str.islower, filter(str.isalpha, words))
    told.update(word for word in mixed if word[0].islower())
    # What is no word between other signs is a small part of a text.
    rare = {*text.encode(errors="replace").translate(_NOT_JOINED).decode().split()} - words
    found = set()
    for name in told.union(_JOINED.findall("\n".join(rare)), _NAME.findall(text)):
        parts = [name.lower()] if name.isascii() and name.isalpha() else split_words(name.lower())
        while parts and parts[0] in STOP_WORDS:  # `The Beatles`, and most beginnings of sentences
            del parts[0]
        if len(parts) > 1 or (parts and len(parts[0]) > 2):
            found.add(" ".join(parts))
    return found


def _shared_names(
    documents: Sequence[RankedText],
    titles: Sequence[str],
    texts: Sequence[list[str] | None],
    query: str,
) -> list[tuple[int, int, float]]:
    """Return pairs of documents that share names, from one to the other, and the names' weight.

    Names of the query do not count: all that it finds has them.
    """
    # Passages of one source share its names all the time; only texts of their own are bridged.
    once = Counter(titles)
    own = [
        number
        for number, title in enumerate(titles)
        if title and once[title] == 1 and texts[number] is not None
    ]
    if len(own) < MIN_DOCUMENTS_BRIDGED:
        return []
    names = {titles[number].strip() for number in own}.union(
        *(_names_in(documents[number].text, set(texts[number] or ())) for number in own)
    )
    left: dict[tuple[int, int], float] = {}
    held = list(_few_holders(names, documents, texts))
    if not held:
        return []
    asked, phrase = set(terms_of_text(query)), to_phrase(query)
    for name, found in held:
        parts = name.split()
        told = asked.issuperset(stem(part) for part in parts if part not in STOP_WORDS)
        if told or f" {name} " in phrase:
            continue
        share = inverse_document_frequency(len(documents), len(found))
        share = min(1.0, share / inverse_document_frequency(len(documents), 2))
        if name.isalpha() or (name.isdigit() and len(name) == 4):
            share *= SINGLE_WORD_SHARE
        for a, b in permutations(sorted(found.intersection(own)), 2):
            left[a, b] = left.get((a, b), 1.0) * (1 - 0.9 * share)
    return [(a, b, 1 - rest) for (a, b), rest in sorted(left.items())]


def _few_holders(
    names: Iterable[str], documents: Sequence[RankedText], texts: Sequence[list[str] | None]
) -> Iterator[tuple[str, set[int]]]:
    """Yield the names that two to four texts or titles hold, sorted, with these documents."""
    held = []
    for document, text in zip(documents, texts, strict=True):
        words = [*(text or ()), *split_words(document.title)]
        held.append(set(" ".join(words).lower().split()))
    # Most names stand in one text, as a word of theirs does: those are passed over together.
    shared = {word for word, count in Counter(chain.from_iterable(held)).items() if count > 1}
    names = sorted(name for name in names if shared.issuperset(name.split()))
    holders: dict[str, set[int]] = {word: set() for name in names for word in name.split()}
    for number, each in enumerate(held):
        for word in holders.keys() & each:
            holders[word].add(number)

    @cache
    def phrase_of(number: int) -> str:
        return join_to_phrase(texts[number] or []) + to_phrase(documents[number].title)

    for name in names:
        if " " in name:
            found = set.intersection(*map(holders.__getitem__, name.split()))
            if len(found) > 1:
                found = {number for number in found if f" {name} " in phrase_of(number)}
        else:
            found = holders[name]
        if 2 <= len(found) <= MAX_DOCUMENTS_NAMING:
            yield name, found


def _news(first: Set[int], second: Set[int], weights: Sequence[float]) -> float:
    """Return how much of the query's words that the first text lacks the second has, 0.1 to 1."""
    lacking = sum(weight for t, weight in enumerate(weights) if t not in first)
    if lacking <= 0:
        return MIN_SHARE_OF_NAMING
    had = sum(weights[t] for t in sorted(second - first))
    return MIN_SHARE_OF_NAMING + (1 - MIN_SHARE_OF_NAMING) * min(1.0, had / lacking)


_Numbers = tuple[int, ...]
_NOTHING: tuple[_Numbers, _Numbers] = ((), ())


class Occurrences(dict[str, tuple[_Numbers, _Numbers]]):
    """Word as written → the query's terms in it, and the documents it may be the title of.

    A word is worked out at its first look-up. The dict lives as long as one query.
    """

    def __init__(self, wanted: Sequence[str], titles: Sequence[str], names: Sequence[str]) -> None:
        """Take the query's terms, the titles, and the phrases by which these are looked for."""
        self._terms = {term: number for number, term in enumerate(wanted)}
        # A stem begins its word or part of it; only `y` may stand for letters (`ties` has `ty`).
        self._starts = sorted({term.removesuffix("y") for term in wanted})
        self._names = names
        # A title is looked for by its longest word: the rarest, and so the fewest phrase searches.
        self._keys: dict[str, _Numbers] = {}
        self._longest_title = 0
        self.windows = [0] * len(wanted)
        """For each term the number of windows it was seen in."""
        once = Counter(names)
        for number, title in enumerate(names):
            # A title that two documents share tells nothing of either.
            if title and once[title] == 1 and is_distinctive_title(titles[number]):
                key = max(title.split(), key=len)
                self._keys[key] = (*self._keys.get(key, ()), number)
                self._longest_title = max(self._longest_title, len(title.split()))
        self._titled = set(chain(*self._keys.values()))

    def has_start(self, lower: str) -> bool:
        """Return False where it is cheap to see that no word of a text in ASCII holds a term."""
        return any(map(lower.__contains__, self._starts))

    def tell(self, words: Sequence[str]) -> set[str]:
        """Return those of the words that hold a term or may name a title: mostly none."""
        rare = {*filterfalse(str.isascii, words)}
        if rare:
            words = list(filter(str.isascii, words))
        text = "\n".join(words) + "\n"
        lower = text.lower()
        # Most words are passed over together: one look-up each is dear in ten megabytes.
        for start in self._starts:
            place = lower.find(start)
            while 0 <= place < len(lower):
                end = lower.index("\n", place)
                rare.add(text[lower.rfind("\n", 0, place) + 1 : end])
                place = lower.find(start, end + 1)
        each = lower.split("\n") if self._keys else ()
        if not self._keys.keys().isdisjoint(each):
            pairs = zip(words, each, strict=False)
            rare |= {word for word, low in pairs if low in self._keys}
        return {word for word in rare if self[word] != _NOTHING}

    def __missing__(self, word: str) -> tuple[_Numbers, _Numbers]:
        lower = word.lower()
        plain = word.isascii()
        numbers: _Numbers = ()
        # Few words begin like a term, and only for these the terms are made.
        if not plain or self.has_start(lower):
            numbers = tuple(
                self._terms[term] for term in terms_of_word(word) if term in self._terms
            )
        documents = self._keys.get(lower, ())
        if not plain and not documents:
            # In a script without blanks the "word" is a sentence, and a key one character of it.
            characters = dict.fromkeys(join_to_phrase([word]).split())
            documents = tuple(chain.from_iterable(self._keys.get(part, ()) for part in characters))
        found = (numbers, documents)
        if len(self) < MAX_WORDS_REMEMBERED:
            self[word] = found
        return found

    def count(self, text: str, number: int) -> tuple[Counter[int], int, list[int], list[str]]:
        """Count each term in the text of document `number`, and its words; -1 is none of them.

        Returns also the other documents that it mentions, and the first words.
        """
        counts: Counter[int] = Counter()
        mentioned: set[int] = set()
        first: list[str] = []
        told: set[str] = set()
        waiting: list[str] = []  # words of a window that the next block goes on with
        before: list[str] = []  # words of a title that it may go on with
        size = 0
        for block in split_blocks(text):
            found = split_words(block)
            told |= self.tell(found)
            if size <= MAX_WORDS_NAMING:
                first += found
            size += len(found)
            if self._titled - {number}:
                before += found
                mentioned |= self.find_titles(before, number, told)
                before = before[-self._longest_title :]
            words = waiting + found
            whole = len(words) - len(words) % WINDOW_WORDS
            self._count_windows(words[:whole], counts, told)
            waiting = words[whole:]
        self._count_windows(waiting, counts, told)
        return counts, size, sorted(mentioned), first

    def _count_windows(
        self, words: Sequence[str], counts: Counter[int], told: Iterable[str]
    ) -> None:
        told = {word for word in told if self[word][0]}
        # The words are walked again only if one of them matters, which in most texts none does.
        if not told:
            return
        places = [
            (place // WINDOW_WORDS, t)
            for place in compress(range(len(words)), map(told.__contains__, words))
            for t in self[words[place]][0]
        ]
        counts.update(t for _, t in places)
        for _, t in set(places):
            self.windows[t] += 1

    def find_titles(self, words: list[str], number: int, told: Iterable[str]) -> set[int]:
        """Return the documents but `number` that some words in a row name; see `tell`."""
        found = {other for word in told for other in self[word][1]}
        found.discard(number)
        if not found:
            return found
        whole = join_to_phrase(words)
        return {other for other in found if self._names[other] in whole}
