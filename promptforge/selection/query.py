"""Relate the query to the candidates: their worth, and how well each passage answers it."""

import heapq
import operator
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, MutableSequence, Sequence
from functools import cache, partial
from itertools import accumulate, chain, islice
from typing import Any, NamedTuple, TypeVar
from weakref import proxy

from ..model import Item, Language, readable_text
from ..text.characters import freeze
from ..text.words import late_pattern, terms_of_text
from ..trimming.kinds import Trimmers
from ..trimming.pieces import Pieces, Structure, TrimmedVariants, divide_prose, introduces
from .evidence import DividedText, Evidence, RankedText
from .scoring import Embed, Reranker, cosine, embed_all

MAX_CANDIDATES_READ = 200
"""Candidates that are read closely: those that score best and hold most of the query's words."""
MAX_CANDIDATES_SEARCHED = 5_000
"""Candidates that are searched for the query's words: those that score best."""
MAX_WHOLE_PROGRAM_CHARACTERS = 2_400
"""Characters up to which a program is one passage: neither half of a cut function answers."""
MIN_MATCH_WITHIN = 0.5
"""Match of a piece that stays where such a program has to be cut. Of 423 files cut to a quarter,
377 kept the line that was asked for in place of 349; lesser matches cost other answers."""
MAX_RELEVANCES_REMEMBERED = 4
"""Queries with their candidates that are remembered."""
MAX_CHARS_REMEMBERED = 1 << 23
"""Characters of candidates that are remembered, and of one that are searched for words."""
MAX_PASSAGES_SCORED = 1_000
"""Passages that a reranker is asked about; of documents after them it knows only the whole."""
_READ_FIELDS = ("kind", "name", "path", "language", "content", "expanded", "summary")
MIN_NAME_CHARACTERS = 4
"""Shorter names are mostly words of the language, or counters."""
_DEFINING = (
    "(?:def|class|func|fun|fn|function|protocol|interface|struct|trait|enum|type|record|module"
    "|macro)"
)
# It begins with a line end, which the machine finds ten times as fast as one of many words.
DEFINING_WORD = late_pattern(
    rf"\n[ \t]*+(?:{_DEFINING}|(?:(?:export|default|declare|public|private|protected|internal"
    r"|static|final|abstract|async|pub(?:\([^)\n]*\))?|unsafe|const|override|virtual|inline|typedef"
    rf"|data|open|sealed|suspend|partial|extern)[ \t]+)++{_DEFINING})[ \t]+"
    rf"([^\W\d]\w{{{MIN_NAME_CHARACTERS - 1},}})"
)
"""Finds the names that a program defines."""


class Question(NamedTuple):
    """Queries, and the candidates that they are asked of."""

    queries: tuple[str, ...]
    """One, or several that share the budget: rewritten, hypothetical, or parts of a question."""
    items: Sequence[Item]
    """All items by index."""
    ranked: Mapping[int, float]
    """The ranks of the candidates by index, the best first."""
    language: Language
    trimmers: Trimmers
    embed: Embed | None = None
    """The caller's own; it adds its likeness to the words."""
    reranker: Reranker | None = None
    """The caller's own; it replaces the candidates' ranks, and adds to the words of passages."""


class Relevance(ABC):
    """The candidates in the light of the query."""

    max_whole_characters = MAX_WHOLE_PROGRAM_CHARACTERS
    """Characters up to which a program is one passage."""
    of_files = False
    """True for the files of a repository."""

    def __init__(self, asked: Question, read: Sequence[int]) -> None:
        """Take the question, and the indices of the items that are read closely."""
        self._asked = asked
        own = proxy(self)  # a circle would wait for the garbage collector, with all that it holds
        self.divide: Callable[[int], Pieces | None] = cache(lambda index: own._divide(index))
        """Returns the passages of an item's text by its index, or `None` if it is one."""
        self.index_of = list(read)
        """Number of a document in the evidence → index of the item; only those read closely."""
        self.number_of = {index: number for number, index in enumerate(self.index_of)}
        """The inverse of `index_of`."""

    @property
    @abstractmethod
    def has_evidence(self) -> bool:
        """True if anything is known of a candidate by the query."""

    @abstractmethod
    def worths(self) -> Mapping[int, float]:
        """Return the worth of each item that has one, by its index."""

    @abstractmethod
    def rank(self, ranks: MutableSequence[float]) -> None:
        """Replace the candidates' ranks by their worth; only where there is evidence."""

    @abstractmethod
    def match(self, index: int) -> Mapping[int, float] | None:
        """Return how well each passage of an item answers, or `None` if it was not read closely."""

    def under_query(self, text: str, find: Callable[[], Structure]) -> Structure:
        """Return the structure of a text; variants that are no pieces (JSON) keep what answers."""
        return find()

    def match_pieces(self, pieces: Pieces) -> Mapping[int, float]:
        """Return the pieces that answer of a text which was one passage, and is cut now."""
        return {}

    def answer(self, index: int) -> str | None:
        """Return the shortest text of an item that answers; None where its passages do, or all."""
        item = self._asked.items[index]
        text = readable_text(item)
        if len(text) <= self.max_whole_characters or self.divide(index) is not None:
            return None
        language = self._asked.language(item)
        find = partial(self._asked.trimmers.find_structure, item.kind, language, text)
        found = self.under_query(text, find)
        return found.answer if isinstance(found, TrimmedVariants) else None

    def _divide(self, index: int) -> Pieces | None:
        item, trimmers = self._asked.items[index], self._asked.trimmers
        text, language = readable_text(item), self._asked.language(item)
        if trimmers.is_program(item.kind, language):
            if len(text) <= self.max_whole_characters:
                return None
            # A program of an unknown language is cut by its indentation, not into sentences.
            language = language or "none"
        found = trimmers.find_structure(item.kind, language, text)
        if found is not None and not isinstance(found, Pieces):
            return None  # JSON: half an object is no answer
        return found or divide_prose(text, trimmers.marks)


class QueryRelevance(Relevance):
    """Candidates by their evidence: words, ranks, titles and names."""

    def __init__(self, asked: Question) -> None:
        """Weigh the candidates; raises `OptionError` when the caller's embedder fails."""
        read = _closest("\n".join(asked.queries), asked.items, list(asked.ranked))
        scores = dict(asked.ranked)
        if asked.reranker is not None:
            items = [asked.items[index] for index in read]
            texts = [_with_title(item, readable_text(item)) for item in items]
            found = asked.reranker.scores(texts)
            if found:
                scores = dict(zip(read, found, strict=True))
                read.sort(key=scores.__getitem__, reverse=True)
        self._scores: Mapping[int, float] = scores
        super().__init__(asked, read)
        self._queries: list[list[float]] = []
        embed = asked.embed
        if embed is not None:
            self._queries = embed_all(getattr(embed, "queries", embed), list(asked.queries))
        documents = [
            RankedText(
                item_title(item), _everything(item), scores[index], self._names_defined(item)
            )
            for index, item in ((index, asked.items[index]) for index in self.index_of)
        ]
        own = proxy(self)  # as for `divide`
        measure = (lambda numbers: own._measure(numbers)) if embed or asked.reranker else None
        self._variants: dict[str, TrimmedVariants] = {}
        self.evidence = Evidence(asked.queries, documents, lambda n: own._passages(n), measure)

    @property
    def has_evidence(self) -> bool:
        """True if a candidate has a word of the query, or if the caller has a measure of it."""
        own = self._asked.embed or self._asked.reranker
        return own is not None or any(self.evidence.weights)

    def worths(self) -> Mapping[int, float]:
        """Return the worth of each item that was read closely, by its index."""
        return {index: self.evidence.worth[number] for index, number in self.number_of.items()}

    def rank(self, ranks: MutableSequence[float]) -> None:
        """Replace the candidates' scores by their worth; those not read closely come after them."""
        last = min(self.evidence.worth, default=0.0)
        others = [index for index in range(len(ranks)) if index not in self.number_of]
        # Shifted as a whole, the others keep their order, and the best of them is below the last.
        drop = last - 1 - max((ranks[index] for index in others), default=0.0)
        for index in others:
            ranks[index] += drop
        for index, number in self.number_of.items():
            ranks[index] = self.evidence.worth[number]

    def match(self, index: int) -> Mapping[int, float] | None:
        """Return how well each passage of an item answers, or `None` if it was not read closely."""
        number = self.number_of.get(index)
        if number is None:
            return None
        return dict(enumerate(self.evidence.passage_scores(number).match(self.evidence.weights)))

    def under_query(self, text: str, find: Callable[[], Structure]) -> Structure:
        """Return the structure of a text; variants that are no pieces (JSON) keep what answers."""
        if text in self._variants:
            return self._variants[text]
        found = find()
        if isinstance(found, TrimmedVariants):
            found = self._variants[text] = found.under_query(self.evidence.match_texts)
        return found

    def match_pieces(self, pieces: Pieces) -> Mapping[int, float]:
        """Return the pieces that answer of a text which was one passage, and is cut now."""
        texts = list(map(pieces.under_query.read, pieces.parts))
        labels = list(map(pieces.under_query.label, pieces.parts))
        matches = self.evidence.match_texts(texts, labels)
        return {i: each for i, each in enumerate(matches) if each >= MIN_MATCH_WITHIN}

    def _names_defined(self, item: Item) -> Sequence[str]:
        """Return the names that a short program defines; a long one defines whatever it says."""
        text = readable_text(item)
        if len(text) > self.max_whole_characters:
            return ()
        found = DEFINING_WORD.findall(freeze(f"\n{text}"))
        # Prose seldom has such a line, and its language takes a hundred times as long to tell.
        if found and self._asked.trimmers.is_program(item.kind, self._asked.language(item)):
            return found
        return ()

    def _measure(self, numbers: Sequence[int]) -> list[list[float]]:
        """Return the caller's own measure of each passage of some documents, 0 to 1."""
        passages = [self._passages(number).texts for number in numbers]
        found = [[0.0] * len(each) for each in passages]
        texts = list(map(list, passages))
        if self._asked.embed is not None:
            vectors = iter(embed_all(self._asked.embed, list(chain(*texts))))
            for each in found:
                each[:] = [
                    max(cosine(query, vector) for query in self._queries)
                    for vector in islice(vectors, len(each))
                ]
        if self._asked.reranker is not None:
            self._add_scores(self._asked.reranker, numbers, texts, found)
        return found

    def _add_scores(
        self,
        reranker: Reranker,
        numbers: Sequence[int],
        texts: Sequence[Sequence[str]],
        found: Sequence[list[float]],
    ) -> None:
        """Add the reranker's scores of passages; after many, that of their document stands in."""
        held = list(accumulate(map(len, texts)))
        # Whole documents: some passages of one with scores and others without would be unfair.
        near = bisect_right(held, MAX_PASSAGES_SCORED)
        items = [self._asked.items[self.index_of[number]] for number in numbers]
        titled = [
            _with_title(item, text)
            for item, passages in zip(items[:near], texts, strict=False)
            for text in passages
        ]
        scores = reranker.scores(titled)
        if scores is None:
            return
        rest = iter(scores)
        for place, (number, each) in enumerate(zip(numbers, found, strict=True)):
            own = [self._scores[self.index_of[number]]] * len(each)
            given = list(islice(rest, len(each))) if place < near else own
            each[:] = map(operator.add, each, given)

    def _passages(self, number: int) -> DividedText:
        index = self.index_of[number]
        pieces = self.divide(index)
        if pieces is None:
            return DividedText((self.answer(index) or readable_text(self._asked.items[index]),))
        parts, rules = pieces.parts, pieces.under_query
        texts = list(map(rules.read, parts))
        parents = [part.parent for part in parts]
        return DividedText(
            texts,
            parents if max(parents) >= 0 else None,
            None if pieces.cuttable else [rules.label(part) for part in parts],
            # These say nothing alone: a heading, tags without a text.
            frozenset(
                i
                for i, part in enumerate(parts)
                if rules.loose and (part.skeleton or not texts[i].strip())
            ),
            frozenset(i for i in {*parents} if rules.loose and i >= 0 and introduces(texts[i])),
        )


_Found = TypeVar("_Found", bound=Relevance)
_relevance_by_key: dict[Any, Any] = {}


def relate(kind: Callable[[Question], _Found], asked: Question) -> _Found:
    """Return the relevance of the candidates; the last few are remembered by all that they say.

    A function of the caller's may answer otherwise the next time, so nothing of it is kept here.
    """
    # One tuple a field: with one an item, the collection of garbage would visit thousands.
    fields = [tuple(map(operator.attrgetter(name), asked.items)) for name in _READ_FIELDS]
    size = sum(map(len, filter(None, chain(*fields))))
    if asked.embed or asked.reranker or size > MAX_CHARS_REMEMBERED:
        return kind(asked)
    trimmers = asked.trimmers
    key = (
        *(kind, asked.queries, asked.language, trimmers.marks, trimmers.compacts),
        tuple(sorted(trimmers.trim_as.items())),
        *(tuple(asked.ranked), tuple(asked.ranked.values())),
        *fields,
    )
    # Taken out and put back at the end, so the first of the dict is the one longest unused. Two
    # threads that ask for the same at once work it out twice, and never wait.
    found: _Found | None = _relevance_by_key.pop(key, None)
    if found is None:
        found = kind(asked)
    _relevance_by_key[key] = found
    for oldest in list(_relevance_by_key)[:-MAX_RELEVANCES_REMEMBERED]:
        _relevance_by_key.pop(oldest, None)
    return found


_ESCAPED = late_pattern(r"\\u(?![dD][89a-fA-F])([0-9a-fA-F]{4})")
"""A letter as JSON may write it, but no half of one."""


def _everything(item: Item) -> str:
    text = readable_text(item)
    if "\\u" in text and text.lstrip()[:1] in ("{", "["):  # JSON in ASCII is compared decoded
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    parts = [text, item.path]
    if len(text) > MAX_CHARS_REMEMBERED:  # beside it the others say little
        return text
    if item.content:  # else the summary may be the text already
        parts.append(item.summary)
    return "\n".join(filter(None, parts))


def _with_title(item: Item, text: str) -> str:
    return f"{item.name}\n{text}" if item.name else text


def item_title(item: Item) -> str:
    """Return the name of an item in other texts: its own, else that of its file."""
    return item.name or (item.path or "").replace("\\", "/").rpartition("/")[2]


def _closest(query: str, items: Sequence[Item], order: Sequence[int]) -> list[int]:
    """Return the candidates worth a close look, in their order.

    The key is the share of the query's words that occur, as mere substrings, plus a bonus for rank:
    cheap, and it never loses the top of the given order.
    """
    if len(order) <= MAX_CANDIDATES_READ:
        return list(order)
    wanted = list(dict.fromkeys(terms_of_text(query)))
    near = order[:MAX_CANDIDATES_SEARCHED]
    shares = []
    for place, index in enumerate(near):
        item = items[index]
        text = f"{item_title(item)} {readable_text(item)[:MAX_CHARS_REMEMBERED]}".lower()
        # As substrings: `refund` is in `refunded`, and no text has to be split into words.
        held = sum(map(text.__contains__, wanted)) / max(1, len(wanted))
        shares.append(held + 1 / (1 + place / MAX_CANDIDATES_READ))
    # The earlier one of equals comes first.
    closest = heapq.nlargest(MAX_CANDIDATES_READ, range(len(near)), key=shares.__getitem__)
    return [near[place] for place in sorted(closest)]
