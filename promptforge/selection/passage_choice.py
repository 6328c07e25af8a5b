"""Choose the likeliest passages that have room, whatever their document."""

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple

from ..text.words import late_property
from .evidence import Evidence, PassageScores

WORD_DECAY = 0.7
"""Worth of a query's word after each opened document that holds it, as a share."""
STRUCTURE_MATCH_WEIGHT = 2.0
"""Weight of a passage of a structure in its value, in place of the words of all its document."""
SILENT_SHARE = 0.8
"""Worth of a passage without a word of the query, as a share: an opened document would fill the
room with them before the next document is opened."""
LINE_SHARE = 0.2
"""Share of its worth that a passage loses if its line has no word of the query and another line of
its text has. The sentences of a line answer together; each line of a list answers for itself."""
SHARE_OF_A_WHOLE = 0.7
"""Share of a text in one passage (a program) that has room where it is cut before a lesser text is
shown. Of 100 questions about code with 250 tokens, .621 was kept in place of .594."""
HEADING_SHARE = 0.3
"""Value of a heading that a passage may stand without, as a share of the passage's."""
# What a text keeps without a query in some room it keeps with any query in 1.25 times that room:
# 0.84 × 1.25 leaves a twentieth for what the page costs around its items.
FACTS_SHARE = 0.84
"""Share of the room, divided evenly among the documents, for passages that no query moves."""
WORTH_EXPONENT = 4
"""Exponent of worths: a few good passages pay for a header, many poor ones do not."""
TOKENS_PER_DOCUMENT = 50
"""Tokens of room for each document that may be opened."""
MIN_DOCUMENTS_OPENED = 3
"""Documents that may be opened in any room."""


class PassageId(NamedTuple):
    """A passage of a document, both by number."""

    document: int
    passage: int


class Facts(NamedTuple):
    """The passages of a document that no query moves."""

    passages: Sequence[int]
    cost: float
    """Of all together, without the document's header."""


class PassageChoice(NamedTuple):
    """The chosen passages, and those to try when room is left after all."""

    picks: list[PassageId]
    """In the order they were chosen, the likeliest first; over the room, the last goes first."""
    aside: Iterable[PassageId]
    """Those that did not fit, in the same order, worked out as far as they are read."""


class PassageCosts(NamedTuple):
    """The tokens of what may be shown."""

    header: Callable[[int], float]
    """Takes a document: its tokens without passages."""
    passage: Callable[[int, int], float]
    """Takes a document and a passage: the tokens of the passage."""
    gap: float = 2
    """The tokens between two passages."""
    spared: Callable[[int], float] = lambda number: 0.0
    """The part of a document's header that does not count where passages are compared."""
    least: Callable[[int, int], float] = lambda number, passage: 0
    """Of a passage, a lower bound that is cheap to tell."""
    facts: Callable[[int, float], Facts] = lambda number, most: Facts((), 0.0)
    """The passages that come with a document whatever the query, within so many tokens."""
    opening: Callable[[int], Sequence[int]] = lambda number: ()
    """The passages of a document that come before lesser answers: a manual's synopsis."""


def choose_passages(
    evidence: Evidence,
    costs: PassageCosts,
    *,
    room: float,
    among: Collection[int],
    max_documents: int,
) -> PassageChoice:
    """Return the passages to show within `room` tokens, the likeliest to answer first.

    Only documents `among` these are opened, and at most `max_documents`.
    """
    ranked = sorted(among, key=lambda i: (-evidence.worth[i], i))
    evidence.read(ranked[:max_documents])
    chooser = _Chooser(evidence, costs, room, FACTS_SHARE * room / max(1, len(ranked)))
    return chooser.choose(sorted(ranked[:max_documents]))


class _Document:
    """A document of a choice: what is taken of it, and what holds under the present weights."""

    def __init__(self, scores: PassageScores) -> None:
        passages = scores.passages
        self.scores = scores
        self.terms = {t for shares in scores.shares for t, _ in shares}
        self.under, self.headings = passages.under or (), passages.headings
        self.opened = False
        self.done: set[int] = set()
        """The passages that are chosen or put aside."""
        self.taken, self.lifted = set[int](), dict[int, float]()
        """Values of headings, from the passages shown under them."""
        self.version = -1
        """Number of documents that were open when these were found:"""
        self.base = math.nan
        self.match: list[float] = []
        self.worths: list[float] = []
        self.left: list[int] | None = None  # the passages, the worst first

    @late_property
    def children(self) -> dict[int, list[int]]:
        """The passages under each heading."""
        found: dict[int, list[int]] = defaultdict(list)
        for p, above in enumerate(self.under):
            found[above].append(p)
        return found

    @late_property
    def ends(self) -> list[int]:
        """The end of the passages of each line, after a 0."""
        texts = self.scores.passages.texts
        ended = (i for i, text in enumerate(texts, 1) if text.endswith("\n") or i == len(texts))
        return [0, *ended]

    def missing(self, passage: int) -> list[int]:
        """Return the headings above a passage that are not taken yet, the nearest first."""
        found: list[int] = []
        if self.under:
            passage = self.under[passage]
            while passage >= 0 and passage not in self.taken:
                if passage not in self.headings:
                    found.append(passage)
                passage = self.under[passage]
        return found


class _Chooser:
    """Takes the passage of the best ratio of value to cost again and again.

    A heap holds passages by upper bounds of their ratio: opening a document lowers the worth of
    the words it holds, so values only fall, and a bound is computed anew only on top of the heap.
    Of a document not yet opened only the best passage is in the heap, by its value alone.
    """

    def __init__(
        self, evidence: Evidence, costs: PassageCosts, room: float, room_of_facts: float
    ) -> None:
        self._evidence = evidence
        self._room = room
        self._header = cache(costs.header)  # these count tokens
        self._cost = cache(costs.passage)
        self._facts = cache(lambda number: costs.facts(number, room_of_facts))
        self._least = cache(costs.least)
        self._gap, self._spared, self._opening = costs.gap, cache(costs.spared), costs.opening
        self._heap: list[tuple[float, int, int]] = []
        """(- upper bound of the ratio, document, passage)."""
        self._weights = list(evidence.weights)
        self._changed = [0] * len(self._weights)
        """The version in which each weight changed last."""
        self._worths: Sequence[float] | None = evidence.worth
        """Of all documents by the present weights; `None` until one that borrows is asked about."""
        self._version = 0
        """Documents opened so far; what depends on the weights is known for one version."""
        self._documents: dict[int, _Document] = {}
        self._picks: list[PassageId] = []
        self._fitting = math.nan, 0, 0
        """A room, and the document and number of a passage that may fit there."""
        self._refused = -1, 0
        """Number of picks, and the place in `_by_cost` after which no passage fits beside them."""

    def choose(self, documents: Iterable[int]) -> PassageChoice:
        for number in documents:
            self._documents[number] = _Document(self._evidence.passage_scores(number))
            self._push_best(number)
        waiting = self._take_all()
        aside: list[PassageId] = []
        for passage in waiting:
            aside.append(passage)
            if self._is_full():  # the order of what is left, mostly the greater part, can wait
                break
        return PassageChoice(self._picks, chain(aside, waiting))

    def _take_all(self) -> Iterator[PassageId]:
        """Take the passages that have room, and yield those that have none."""
        while self._heap:
            _, number, passage = heapq.heappop(self._heap)
            if passage in self._documents[number].done:
                continue
            document = self._weighed(number)
            # Other weights may have made another passage the best of a document not yet opened.
            if not document.opened and self._best(document) != passage:
                self._push_best(number)
                continue
            if self._falls_back(number, passage):
                continue
            if not document.opened and self._open_with_facts(number):
                self._push(number, passage)
                continue
            document.done.add(passage)
            cost = self._cost_within(number, passage, self._room)
            if cost <= self._room:
                self._room -= cost
                self._picks.append(PassageId(number, passage))
                self._take(number, passage)
                continue
            yield PassageId(number, passage)
            most = self._room / SHARE_OF_A_WHOLE
            is_one = len(document.scores.shares) == 1
            if is_one and self._cost_within(number, passage, most) <= most:
                return  # most of a text of one passage has room: lesser texts wait for it
            if not document.opened:
                self._push_best(number)

    @late_property
    def _by_cost(self) -> list[tuple[float, int, int]]:
        """All passages by a lower bound of their cost, the least last."""
        found = (
            (self._least(number, passage), number, passage)
            for number, document in self._documents.items()
            for passage in range(len(document.scores.shares))
        )
        return sorted(found, reverse=True)

    def _is_full(self) -> bool:
        """Return True where it is cheap to see that nothing more has room."""
        room, number, passage = self._fitting
        if room == self._room and passage not in self._documents[number].done:
            return False
        left = self._by_cost
        while left and left[-1][2] in self._documents[left[-1][1]].done:
            left.pop()
        picks, refused = self._refused
        # What did not fit does not fit until something is taken: 20,000 short lines of a list are
        # set aside one by one, and none of the next ones is tried again.
        if picks != len(self._picks) or refused > len(left):
            refused = len(left)
        for place in range(refused - 1, -1, -1):
            least, number, passage = left[place]
            if least + self._gap > self._room:
                break
            if not self._fits(number, passage):
                self._refused = len(self._picks), place
                continue
            self._fitting = self._room, number, passage
            return False
        closed = (n for n, document in self._documents.items() if not document.opened)
        return not any(map(self._facts_have_room, closed))

    def _fits(self, number: int, passage: int) -> bool:
        """Tell whether a passage that may be taken next has room."""
        document = self._documents[number]
        is_idle = passage in document.headings and passage not in document.lifted
        if is_idle or passage in document.done:
            return False
        return self._cost_within(number, passage, self._room) <= self._room

    def _cost_within(self, number: int, passage: int, most: float) -> float:
        """Return the cost of a passage with all it needs, infinity where it surely is over."""
        cost = self._extra(number, passage) + self._gap
        if self._least(number, passage) > most - cost:
            return math.inf
        return cost + self._cost(number, passage)

    def _facts_have_room(self, number: int) -> bool:
        facts = self._facts(number)
        return bool(facts.passages) and self._header(number) + facts.cost <= self._room

    def _open_with_facts(self, number: int) -> bool:
        """Open a document with its facts, if it has any and they have room."""
        if not self._facts_have_room(number):
            return False
        facts = self._facts(number)
        self._room -= self._header(number) + facts.cost
        for passage in facts.passages:
            self._picks.append(PassageId(number, passage))
            self._take(number, passage)
        return True

    def _push(self, number: int, passage: int) -> None:
        value = self._value(self._weighed(number), passage)
        heapq.heappush(self._heap, (-value, number, passage))

    def _push_best(self, number: int) -> None:
        document = self._weighed(number)
        best = self._best(document)
        if best is not None:
            heapq.heappush(self._heap, (-self._value(document, best), number, best))

    @staticmethod
    def _best(document: _Document) -> int | None:
        match, left = document.match, document.left
        if left is None:
            left = [p for p in range(len(match)) if p not in document.headings]
            left.sort(key=lambda p: (match[p], -p))
            document.left = left
        while left and left[-1] in document.done:
            left.pop()
        return left[-1] if left else None

    def _take(self, number: int, passage: int) -> None:
        """Take a passage with the headings above it, and push what may be the next."""
        document = self._documents[number]
        fresh = [passage, *document.missing(passage)]
        document.taken.update(fresh)
        document.done.update(fresh)
        if document.opened:
            # What stands under these needs them no longer, and so has a better ratio.
            next_ones: Iterable[int] = (p for above in fresh for p in document.children[above])
        else:
            document.opened = True
            held = [t for t, _ in self._evidence.shares[number] if self._weights[t]]
            if held:  # else all is worth what it was
                self._version += 1
                for t in held:
                    self._weights[t] *= WORD_DECAY
                    self._changed[t] = self._version
                self._worths = None
            next_ones = range(len(document.scores.shares))
        for p in next_ones:
            if p not in document.done and p not in document.headings:
                self._push(number, p)
        if document.headings and document.under:
            self._lift_headings(number, passage)

    def _lift_headings(self, number: int, passage: int) -> None:
        """Push the headings above a passage, and the opening, that it stands without so far."""
        document = self._weighed(number)
        under = document.under
        value = HEADING_SHARE * self._value(document, passage)
        above, lifted = under[passage], [*self._opening(number)]
        while above >= 0:
            lifted.append(above)
            above = under[above]
        for heading in lifted:
            if heading not in document.done and value > document.lifted.get(heading, 0.0):
                document.lifted[heading] = value
                self._push(number, heading)

    def _weighed(self, number: int) -> _Document:
        """Return a document; how well each passage answers, and its worth, by present weights."""
        document = self._documents[number]
        if document.version == self._version:
            return document
        base = self._worth(number)
        passages = document.scores.passages
        if passages.labels is not None:
            # A manual has every word somewhere: its options answer for themselves.
            base -= self._evidence.cover(number, self._weights)
        last = max([self._changed[t] for t in document.terms], default=0)
        if last > document.version or base != document.base:
            match = document.match = document.scores.match(self._weights)
            if passages.labels is None:
                shares = _shares_of_worth(match, document)
                document.worths = [(base + m) * s for m, s in zip(match, shares, strict=True)]
            else:
                document.worths = [base + STRUCTURE_MATCH_WEIGHT * m for m in match]
            document.base, document.left = base, None
        document.version = self._version
        return document

    def _worth(self, number: int) -> float:
        if self._worths is None:
            if number not in self._evidence.borrowers:
                return self._evidence.own_worth(number, self._weights)
            self._worths = self._evidence.worths(self._weights)
        return self._worths[number]

    @staticmethod
    def _value(document: _Document, passage: int) -> float:
        if passage in document.lifted:
            return document.lifted[passage]
        return float(document.worths[passage] ** WORTH_EXPONENT)

    def _falls_back(self, number: int, passage: int) -> bool:
        """Put a passage back by its present ratio where that is no longer the best."""
        value, extra = self._value(self._documents[number], passage), self._extra(number, passage)
        if extra and not self._documents[number].opened:
            # A format's syntax alone does not change what is chosen.
            extra = max(0.0, extra - self._spared(number))
        # Where a lower bound of the ratio is the best, so is the ratio, and nothing is counted.
        for cost in (self._least, self._cost):
            ratio = value
            if extra:  # what has none to pay for stays: by the token, length cancels
                own = cost(number, passage)
                # A user's counter may take an added text for nothing, or for less than nothing.
                if own + extra > 0:
                    ratio = value * own / (own + extra)
            if not self._heap or (-ratio, number, passage) <= self._heap[0]:
                return False
        heapq.heappush(self._heap, (-ratio, number, passage))
        return True

    def _extra(self, number: int, passage: int) -> float:
        """Return the cost beside the passage's own: missing headings, and its document's header."""
        document = self._documents[number]
        extra = sum(self._cost(number, p) + self._gap for p in document.missing(passage))
        if not document.opened:
            extra += self._header(number) + self._gap
        return extra


def _shares_of_worth(match: Sequence[float], document: _Document) -> list[float]:
    """Return the share that each passage has of its worth by what it, and its line, say."""
    shares = [1.0 if each > 0 else SILENT_SHARE for each in match]
    best = max(match, default=0.0)
    if best <= 0 or len(match) == 1:
        return shares
    for start, end in pairwise(document.ends):
        share = 1 - LINE_SHARE * (1 - max(match[start:end]) / best)
        shares[start:end] = [each * share for each in shares[start:end]]
    return shares
