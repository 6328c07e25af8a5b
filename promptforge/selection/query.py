"""Relate the query to the candidates: their worth, and the worth of their passages."""

from __future__ import annotations

import heapq
import math
import operator
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from ..errors import OptionError, quote
from ..model import Item
from ..text.words import terms_of_text
from ..trimming.kinds import Trimmers
from ..trimming.pieces import Pieces
from ..trimming.prose import divide as divide_prose
from .evidence import DividedText, Evidence, RankedText

MAX_CANDIDATES_READ = 200
"""Candidates that are read closely: those that score best and hold most of the query's words."""
MAX_CANDIDATES_SEARCHED = 5_000
"""Candidates that are searched for the query's words: those that score best."""
MAX_WHOLE_PROGRAM_CHARACTERS = 2_400
"""Characters up to which a program is one passage: neither half of a cut function answers."""
MAX_RELEVANCES_REMEMBERED = 4
"""Queries with their candidates that are remembered."""
MAX_CHARS_REMEMBERED = 1 << 23
"""Characters of candidates that are remembered."""
_READ_FIELDS = operator.attrgetter(
    "kind", "name", "path", "language", "content", "expanded", "summary"
)
Embed = Callable[[list[str]], Sequence[Sequence[float]]]
"""Returns a vector for each text.

A query is embedded by its attribute `queries`, a function too, where it has one.
"""
Language = Callable[[Item], str | None]


class Question(NamedTuple):
    """A query, and the candidates that it is asked of."""

    query: str
    items: Sequence[Item]
    """All items by index."""
    ranked: Mapping[int, float]
    """The ranks of the candidates by index, the best first."""
    language: Language
    trimmers: Trimmers
    embed: Embed | None = None
    """The caller's own; it adds its likeness to the words."""


class Relevance(ABC):
    """The candidates in the light of the query."""

    def __init__(self, asked: Question, read: Sequence[int]) -> None:
        """Take the question, and the indices of the items that are read closely."""
        self._asked = asked
        self.divide: Callable[[int], Pieces | None] = cache(self._divide)
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
    def rank(self, ranks: list[float]) -> None:
        """Replace the candidates' ranks by their worth."""

    @abstractmethod
    def match(self, index: int) -> Mapping[int, float] | None:
        """Return how well each passage of an item answers, or `None` if it was not read closely."""

    def _divide(self, index: int) -> Pieces | None:
        item, trimmers = self._asked.items[index], self._asked.trimmers
        text, language = readable_text(item), self._asked.language(item)
        if trimmers.looks_like_program(item.kind, language, text):
            if len(text) <= MAX_WHOLE_PROGRAM_CHARACTERS:
                return None
            # A program of an unknown language is cut by its indentation, not into sentences.
            language = language or "none"
        found = trimmers.find_structure(item.kind, language, text)
        if found is not None and not isinstance(found, Pieces):
            return None  # JSON: half an object is no answer
        return found or divide_prose(text, marks=trimmers.marks)


class QueryRelevance(Relevance):
    """Candidates by their evidence: words, ranks, titles and names."""

    def __init__(self, asked: Question) -> None:
        """Weigh the candidates; raises `OptionError` when the caller's embedder fails."""
        super().__init__(asked, _closest(asked.query, asked.items, list(asked.ranked)))
        self._query: Sequence[float] = ()
        embed = asked.embed
        if embed is not None:
            self._query = embed_all(getattr(embed, "queries", embed), [asked.query])[0]
        documents = [
            RankedText(item_title(item), _everything(item), asked.ranked[index])
            for index, item in ((index, asked.items[index]) for index in self.index_of)
        ]
        self.evidence = Evidence(asked.query, documents, self._passages, self._measure)

    @property
    def has_evidence(self) -> bool:
        """True if a candidate has a word of the query, or if there is an embedder."""
        return self._asked.embed is not None or any(self.evidence.weights)

    def worths(self) -> Mapping[int, float]:
        """Return the worth of each item that was read closely, by its index."""
        return {index: self.evidence.worth[number] for index, number in self.number_of.items()}

    def rank(self, ranks: list[float]) -> None:
        """Replace the candidates' scores by their worth; those not read closely come after them."""
        if not self.has_evidence:
            return
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

    def _measure(self, number: int) -> list[float]:
        """Return the likeness of each passage to the query by the caller's vectors, 0 to 1."""
        texts = list(self._passages(number).texts)
        if self._asked.embed is None:
            return [0.0] * len(texts)
        return [_cosine(self._query, vector) for vector in embed_all(self._asked.embed, texts)]

    def _passages(self, number: int) -> DividedText:
        index = self.index_of[number]
        pieces = self.divide(index)
        if pieces is None:
            return DividedText((readable_text(self._asked.items[index]),))
        parts, rules = pieces.parts, pieces.under_query
        return DividedText(
            [part.text for part in parts],
            [part.parent for part in parts],
            None if pieces.cuttable else [rules.label(part) for part in parts],
            frozenset(i for i, part in enumerate(parts) if part.skeleton and rules.loose),
            pieces.priors(),
        )


_Found = TypeVar("_Found", bound=Relevance)
_relevance_by_key: OrderedDict[Any, Any] = OrderedDict()
_lock = threading.Lock()


def relate(kind: Callable[[Question], _Found], asked: Question) -> _Found:
    """Return the relevance of the candidates; the last few are remembered by all that they say.

    An embedder may answer otherwise the next time, so nothing of it is remembered here.
    """
    fields = list(map(_READ_FIELDS, asked.items))
    size = sum(len(text) for read in fields for text in read if isinstance(text, str))
    if asked.embed is not None or size > MAX_CHARS_REMEMBERED:
        return kind(asked)
    trimmers = asked.trimmers
    key = (
        *(kind, asked.query, asked.language, trimmers.marks),
        tuple(sorted(trimmers.trim_as.items())),
        tuple(asked.ranked.items()),
        tuple(fields),
    )
    with _lock:
        found: _Found | None = _relevance_by_key.pop(key, None)
    if found is None:
        found = kind(asked)
    with _lock:
        _relevance_by_key[key] = found
        while len(_relevance_by_key) > MAX_RELEVANCES_REMEMBERED:
            _relevance_by_key.popitem(last=False)
    return found


def embed_all(embed: Embed, texts: list[str]) -> list[list[float]]:
    """Return the caller's vectors of texts; raises `OptionError` when the function fails."""
    try:
        vectors = [[float(number) for number in vector] for vector in embed(texts)]
    except OptionError:  # from a bridge to a framework, which says better what is wrong
        raise
    except Exception as error:
        message = f"embed failed on {len(texts)} texts: {type(error).__name__}: {quote(str(error))}"
        raise OptionError(message, option="embed") from error
    finite = all(math.isfinite(number) for vector in vectors for number in vector)
    if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1 or not finite:
        message = f"embed returned {len(vectors)} vectors for {len(texts)} texts"
        expected = "it must return one each, all of one length, of finite numbers"
        raise OptionError(f"{message}; {expected}", option="embed")
    return vectors


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    lengths = math.hypot(*a) * math.hypot(*b)
    if not lengths:
        return 0.0
    found: float = sum(map(operator.mul, a, b)) / lengths
    if math.isnan(found):  # infinity by infinity, of vectors with enormous numbers
        return 0.0
    return min(1.0, max(0.0, found))


def readable_text(item: Item) -> str:
    """Return the text of an item that is read."""
    return item.content or item.expanded or item.summary or ""


def _everything(item: Item) -> str:
    parts = [readable_text(item), item.path]
    if item.content:  # else the summary may be the text already
        parts.append(item.summary)
    return "\n".join(filter(None, parts))


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
    found = []
    for place, index in enumerate(order[:MAX_CANDIDATES_SEARCHED]):
        item = items[index]
        text = f"{item_title(item)} {readable_text(item)}".lower()
        held = sum(word in text for word in wanted) / max(1, len(wanted))
        found.append((held + 1 / (1 + place / MAX_CANDIDATES_READ), -place, index))
    # Of equals the earlier: its place is less negative.
    closest = heapq.nlargest(MAX_CANDIDATES_READ, found)
    return [index for _, _, index in sorted(closest, key=lambda one: -one[1])]
