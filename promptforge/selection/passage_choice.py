"""Choose the likeliest passages that have room, whatever their document."""

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from itertools import pairwise, starmap
from typing import NamedTuple

from .evidence import Evidence

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
    aside: list[PassageId]
    """Those that did not fit, in the same order."""


class PassageCosts(NamedTuple):
    """The tokens of what may be shown."""

    header: Callable[[int], float]
    """Of a document without passages."""
    passage: Callable[[int, int], float]
    """Of a document's passage."""
    gap: float = 2
    """Between two passages."""
    spared: Callable[[int], float] = lambda number: 0.0
    """The part of a document's header that does not count where passages are compared."""
    exceeds: Callable[[int, int, float], bool] = lambda number, passage, room: False
    """Returns True where it is cheap to see that a passage costs more."""
    facts: Callable[[int, float], Facts] = lambda number, most: Facts((), 0.0)
    """The passages that come with a document whatever the query, within so many tokens."""


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
        self._gap, self._exceeds = costs.gap, costs.exceeds
        self._spared = cache(costs.spared)
        self._heap: list[tuple[float, int, int]] = []
        """(- upper bound of the ratio, document, passage)."""
        self._weights = list(evidence.weights)
        self._worth = evidence.worth
        self._version = 0
        """Documents opened so far; what depends on the weights is known for one version."""
        self._opened: set[int] = set()
        self._matches: dict[int, tuple[int, list[float], list[float]]] = {}
        self._left: dict[int, tuple[int, list[int]]] = {}
        """For each document its version and passages, the worst first."""
        self._done: dict[int, set[int]] = defaultdict(set)
        """For each document the passages that are chosen or put aside."""
        self._taken: dict[int, set[int]] = defaultdict(set)
        self._children = cache(self._find_children)
        self._lines = cache(self._find_lines)
        self._lifted: dict[tuple[int, int], float] = {}
        """Values of headings, by document and passage, from the passages shown under them."""

    def choose(self, documents: Iterable[int]) -> PassageChoice:
        choice = PassageChoice([], [])
        for number in documents:
            self._push_best(number)
        while self._heap:
            bound, number, passage = heapq.heappop(self._heap)
            if passage in self._done[number]:
                continue
            now = self._ratio(number, passage)
            # Other weights may have made another passage the best of a document not yet opened.
            if number not in self._opened and self._best(number) != passage:
                self._push_best(number)
                continue
            if now < -bound and self._heap and (-now, number, passage) > self._heap[0]:
                heapq.heappush(self._heap, (-now, number, passage))
                continue
            if number not in self._opened and self._open_with_facts(number, choice):
                self._push(number, passage)
                continue
            self._done[number].add(passage)
            cost = self._cost_within(number, passage, self._room)
            if cost <= self._room:
                self._room -= cost
                choice.picks.append(PassageId(number, passage))
                self._take(number, passage)
            else:
                choice.aside.append(PassageId(number, passage))
                if self._is_nearly_whole(number, passage):
                    break
                if number not in self._opened:
                    self._push_best(number)
        return choice

    def _is_nearly_whole(self, number: int, passage: int) -> bool:
        """Tell whether most of a text of one passage has room, so that lesser texts wait for it."""
        most = self._room / SHARE_OF_A_WHOLE
        return len(self._match(number)[0]) == 1 and self._cost_within(number, passage, most) <= most

    def _cost_within(self, number: int, passage: int, most: float) -> float:
        """Return the cost of a passage with all it needs, infinity where it surely is over."""
        cost = self._extra(number, passage) + self._gap
        if self._exceeds(number, passage, most - cost):
            return math.inf
        return cost + self._cost(number, passage)

    def _open_with_facts(self, number: int, choice: PassageChoice) -> bool:
        """Open a document with its facts, if it has any and they have room."""
        facts = self._facts(number)
        cost = self._header(number) + facts.cost
        if not facts.passages or cost > self._room:
            return False
        self._room -= cost
        for passage in facts.passages:
            choice.picks.append(PassageId(number, passage))
            self._take(number, passage)
        return True

    def _push(self, number: int, passage: int) -> None:
        heapq.heappush(self._heap, (-self._value(number, passage), number, passage))

    def _push_best(self, number: int) -> None:
        """Push the best passage left of a document that is not opened."""
        best = self._best(number)
        if best is not None:
            self._push(number, best)

    def _best(self, number: int) -> int | None:
        match = self._match(number)[0]
        version, left = self._left.get(number, (-1, []))
        if version != self._version:
            headings = self._evidence.passage_scores(number).passages.headings
            left = [p for p in range(len(match)) if p not in headings]
            left.sort(key=lambda p: (match[p], -p))
            self._left[number] = (self._version, left)
        while left and left[-1] in self._done[number]:
            left.pop()
        return left[-1] if left else None

    def _take(self, number: int, passage: int) -> None:
        """Take a passage with the headings above it, and push what may be the next."""
        fresh = [passage, *self._missing(number, passage)]
        self._taken[number].update(fresh)
        self._done[number].update(fresh)
        if number in self._opened:
            # What stands under these needs them no longer, and so has a better ratio.
            next_ones: Iterable[int] = (p for above in fresh for p in self._children(number)[above])
        else:
            self._opened.add(number)
            for t, _ in self._evidence.shares[number]:
                self._weights[t] *= WORD_DECAY
            self._worth = self._evidence.worths(self._weights)
            self._version += 1
            next_ones = range(len(self._match(number)[0]))
        headings = self._evidence.passage_scores(number).passages.headings
        for p in next_ones:
            if p not in self._done[number] and p not in headings:
                self._push(number, p)
        if headings:
            self._lift_headings(number, passage)

    def _lift_headings(self, number: int, passage: int) -> None:
        """Push the headings above a passage that it stands without so far."""
        under = self._evidence.passage_scores(number).passages.under or ()
        value = HEADING_SHARE * self._value(number, passage)
        above = under[passage]
        while above >= 0:
            if above not in self._done[number] and value > self._lifted.get((number, above), 0.0):
                self._lifted[number, above] = value
                self._push(number, above)
            above = under[above]

    def _match(self, number: int) -> tuple[list[float], list[float]]:
        """Return how well each passage answers by the present weights, and its worth."""
        known = self._matches.get(number)
        if known is None or known[0] != self._version:
            scores = self._evidence.passage_scores(number)
            match = scores.match(self._weights)
            if scores.passages.labels is None:
                base = self._worth[number]
                shares = _shares_of_worth(match, self._lines(number))
                worths = [(base + m) * share for m, share in zip(match, shares, strict=True)]
            else:
                # A manual has every word somewhere: its options answer for themselves.
                base = self._worth[number] - self._evidence.cover(number, self._weights)
                worths = [base + STRUCTURE_MATCH_WEIGHT * m for m in match]
            known = self._matches[number] = (self._version, match, worths)
        return known[1:]

    def _value(self, number: int, passage: int) -> float:
        if (number, passage) in self._lifted:
            return self._lifted[number, passage]
        return float(self._match(number)[1][passage] ** WORTH_EXPONENT)

    def _ratio(self, number: int, passage: int) -> float:
        """Return the value, less where the passage's own cost is a small share of what it brings.

        Without headings and header to pay for it is the value: by the token, length cancels.
        """
        value = self._value(number, passage)
        extra = self._extra(number, passage)
        if not extra:
            return value
        if number not in self._opened:  # a format's syntax alone does not change what is chosen
            extra -= self._spared(number)
        cost = self._cost(number, passage)
        # A user's counter may take an added text for nothing, or for less than nothing.
        if cost + extra <= 0:
            return value
        return value * cost / (cost + extra)

    def _extra(self, number: int, passage: int) -> float:
        """Return the cost beside the passage's own: missing headings, and its document's header."""
        extra = sum(self._cost(number, p) + self._gap for p in self._missing(number, passage))
        if number not in self._opened:
            extra += self._header(number) + self._gap
        return extra

    def _missing(self, number: int, passage: int) -> list[int]:
        """Return the headings above a passage that are not taken yet, the nearest first."""
        passages = self._evidence.passage_scores(number).passages
        found: list[int] = []
        if passages.under is not None:
            passage = passages.under[passage]
            while passage >= 0 and passage not in self._taken[number]:
                if passage not in passages.headings:
                    found.append(passage)
                passage = passages.under[passage]
        return found

    def _find_children(self, number: int) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for p, above in enumerate(self._evidence.passage_scores(number).passages.under or ()):
            found[above].append(p)
        return found

    def _find_lines(self, number: int) -> list[range]:
        """Return the passages of each line of a document."""
        texts = self._evidence.passage_scores(number).passages.texts
        ends = [i for i, text in enumerate(texts, 1) if text.endswith("\n") or i == len(texts)]
        return list(starmap(range, pairwise([0, *ends])))


def _shares_of_worth(match: Sequence[float], lines: Iterable[range]) -> list[float]:
    """Return the share that each passage has of its worth by what it, and its line, say."""
    best = max(match, default=0.0)
    shares = [1.0 if each > 0 else SILENT_SHARE for each in match]
    if best <= 0:
        return shares
    for line in lines:
        share = 1 - LINE_SHARE * (1 - max(match[line.start : line.stop]) / best)
        for passage in line:
            shares[passage] *= share
    return shares
