"""Relate the query to the candidates: their worth, and the passages that answer it.

`choose_passages` takes the likeliest passages that have room, whatever their document.
"""

import hashlib
import heapq
import math
import operator
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import defaultdict
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    MutableSequence,
    Sequence,
)
from functools import cache, partial
from itertools import accumulate, chain, islice, pairwise, starmap
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from ..config.options import Rerank
from ..errors import Diagnostics, OptionError, quote
from ..model import Item
from ..text.format import plural
from ..text.words import late_pattern, terms_of_text
from ..trimming.kinds import Structure, Trimmers
from ..trimming.pieces import Pieces, Slices, TrimmedVariants, divide_prose
from .evidence import PASSAGE_PRIOR_WEIGHT, DividedText, Evidence, RankedText

MAX_CANDIDATES_READ = 200
"""Candidates that are read closely: those that score best and hold most of the query's words."""
MAX_CANDIDATES_SEARCHED = 5_000
"""Candidates that are searched for the query's words: those that score best."""
MAX_WHOLE_PROGRAM_CHARACTERS = 2_400
"""Characters up to which a program is one passage: neither half of a cut function answers."""
MAX_RELEVANCES_REMEMBERED = 4
"""Queries with their candidates that are remembered."""
MAX_CHARS_REMEMBERED = 1 << 23
"""Characters of candidates that are remembered, and of one that are searched for words."""
MAX_TEXTS_A_CALL = 1_000
"""Texts that a reranker is given at once."""
MAX_PASSAGES_SCORED = 1_000
"""Passages that a reranker is asked about; of documents after them it knows only the whole."""
MAX_SCORES_REMEMBERED = 100_000
"""Scores of one reranker that are remembered."""
WORD_DECAY = 0.7
"""Worth of a query's word after each opened document that holds it, as a share; once for all texts
of one passage. Of 248 questions about code 500 and 1,000 tokens keep .756 and .841 with the "once",
.749 and .828 without."""
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
_READ_FIELDS = operator.attrgetter(
    "kind", "name", "path", "language", "content", "expanded", "summary"
)
MIN_NAME_CHARACTERS = 4
"""Shorter names are mostly words of the language, or counters."""
_DEFINING = "(?:def|class|func|fn|function|interface|struct|trait|enum|type|record|module|macro)"
# It begins with a line end, which the machine finds ten times as fast as one of many words.
DEFINING_WORD = late_pattern(
    rf"\n[ \t]*+(?:{_DEFINING}|(?:(?:export|default|declare|public|private|protected|internal"
    r"|static|final|abstract|async|pub(?:\([^)\n]*\))?|unsafe|const|override|virtual|inline|typedef"
    rf"|data|open|sealed|suspend|partial|extern)[ \t]+)++{_DEFINING})[ \t]+"
    rf"([^\W\d]\w{{{MIN_NAME_CHARACTERS - 1},}})"
)
"""Finds the names that a program defines."""
Vectors = Sequence[Sequence[float]]
Embed = Callable[[list[str]], Vectors]
"""Returns a vector for each text.

A query is embedded by its attribute `queries`, a function too, where it has one.
"""
AnyEmbed = Callable[[list[str]], Vectors | Awaitable[Vectors]]
"""The same of a caller: it may be async."""
Language = Callable[[Item], str | None]


class Reranker:
    """The caller's function of a query and texts; its scores on a scale from 0 to 1.

    Scores are remembered by query and text for as long as the function lives.
    """

    def __init__(
        self,
        function: Rerank,
        queries: Sequence[str],
        diagnostics: Diagnostics,
        wait_for: Callable[[Any], Any],
    ) -> None:
        """Take the function and the queries; a text is worth the best of its scores.

        `wait_for` returns the result of an awaitable, as the function may be async.
        """
        self._function = function
        self._wait_for = wait_for
        self._queries = queries
        self._diagnostics = diagnostics
        self._failed = False

    def scores(self, texts: Sequence[str]) -> list[float] | None:
        """Return the score of each text, or `None` when the function fails: that is said once."""
        if self._failed or not texts:
            return None
        try:
            found = [_on_scale(self._ask(query, texts)) for query in self._queries]
        except Exception as error:
            self._failed = True
            said = str(error)
            if not isinstance(error, _BadScoresError):
                said = f"{type(error).__name__}: {quote(said)}"
            message = f"rerank failed on {plural(len(texts), 'text', 'texts')}: {said}"
            self._diagnostics.add("PF126", f"{message}; the words of the query ranked instead")
            return None
        return [max(each) for each in zip(*found, strict=True)]

    def _ask(self, query: str, texts: Sequence[str]) -> list[float]:
        known = _scores_of(self._function)
        # By text: of equal ones, one is asked for.
        keys = {text: (query, _digest(text)) for text in texts}
        # Without a lock, which a fork might copy while it is held: another thread may clear it.
        remembered = {text: known.get(key) for text, key in keys.items()}
        made = {text: score for text, score in remembered.items() if score is not None}
        fresh = [text for text in keys if text not in made]
        for start in range(0, len(fresh), MAX_TEXTS_A_CALL):
            batch = fresh[start : start + MAX_TEXTS_A_CALL]
            scores = self._wait_for(self._function(query, list(batch)))
            numbers = [float(score) for score in scores]
            odd = [f"{score}" for score in numbers if not math.isfinite(score)]
            if odd or len(numbers) != len(batch):
                returned = odd[0] if odd else plural(len(numbers), "score", "scores")
                message = f"it returned {returned}; expected a finite number for each text"
                raise _BadScoresError(message)
            made |= zip(batch, numbers, strict=True)
        # All at once: which ones are old is not worth an order, and a full list comes rarely.
        if len(known) + len(fresh) > MAX_SCORES_REMEMBERED:
            known.clear()
        known.update({keys[text]: made[text] for text in fresh})
        return [made[text] for text in texts]


class _BadScoresError(ValueError):
    """Says what is wrong with the scores that a function returned."""


_Scores = dict[tuple[str, bytes], float]
"""By query and the hash of a text: a hundred thousand texts would be held for ever."""
_scores_by_function: WeakKeyDictionary[Any, dict[str, _Scores]] = WeakKeyDictionary()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _scores_of(function: Rerank) -> _Scores:
    """Return the scores of a function that are known; of a method, with the object it is of."""
    owner = getattr(function, "__self__", function)
    try:
        known = _scores_by_function.setdefault(owner, {})
        return known.setdefault(getattr(function, "__name__", ""), {})
    except TypeError:  # an object that cannot be a key, or not one that may go
        return {}


def _on_scale(scores: Sequence[float]) -> list[float]:
    """Return scores from 0, the least, to 1: logits, likenesses and percentages are alike then."""
    least, most = min(scores), max(scores)
    return [(score - least) / (most - least) if most > least else 0.0 for score in scores]


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
    def rank(self, ranks: MutableSequence[float]) -> None:
        """Replace the candidates' ranks by their worth."""

    @abstractmethod
    def match(self, index: int) -> Mapping[int, float] | None:
        """Return how well each passage of an item answers, or `None` if it was not read closely."""

    def under_query(self, text: str, find: Callable[[], Structure]) -> Structure:
        """Return the structure of a text; variants that are no pieces (JSON) keep what answers."""
        return find()

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
        if trimmers.looks_like_program(item.kind, language, text):
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
            if found := asked.reranker.scores(texts):
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
        own = embed or asked.reranker
        self._variants: dict[str, TrimmedVariants] = {}
        self.evidence = Evidence(
            asked.queries, documents, self._passages, self._measure if own else None
        )

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

    def under_query(self, text: str, find: Callable[[], Structure]) -> Structure:
        """Return the structure of a text; variants that are no pieces (JSON) keep what answers."""
        if text in self._variants:
            return self._variants[text]
        found = find()
        if isinstance(found, TrimmedVariants):
            found = self._variants[text] = found.under_query(self.evidence.match_texts)
        return found

    def _names_defined(self, item: Item) -> Sequence[str]:
        """Return the names that a short program defines; a long one defines whatever it says."""
        text, language = readable_text(item), self._asked.language(item)
        if len(text) > self.max_whole_characters:
            return ()
        program = self._asked.trimmers.looks_like_program(item.kind, language, text)
        return DEFINING_WORD.findall(f"\n{text}") if program else ()

    def _measure(self, numbers: Sequence[int]) -> list[list[float]]:
        """Return the caller's own measure of each passage of some documents, 0 to 1."""
        passages = [self._passages(number).texts for number in numbers]
        found = [[0.0] * len(each) for each in passages]
        if self._asked.embed is None and self._asked.reranker is None:
            return found
        texts = list(map(list, passages))
        if self._asked.embed is not None:
            vectors = iter(embed_all(self._asked.embed, list(chain(*texts))))
            for each in found:
                each[:] = [
                    max(_cosine(query, vector) for query in self._queries)
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
        return DividedText(
            parts.texts if isinstance(parts, Slices) else [part.text for part in parts],
            [part.parent for part in parts],
            None if pieces.cuttable else [rules.label(part) for part in parts],
            frozenset(i for i, part in enumerate(parts) if part.skeleton and rules.loose),
            pieces.priors(),
        )


_Found = TypeVar("_Found", bound=Relevance)
_relevance_by_key: dict[Any, Any] = {}


def relate(kind: Callable[[Question], _Found], asked: Question) -> _Found:
    """Return the relevance of the candidates; the last few are remembered by all that they say.

    A function of the caller's may answer otherwise the next time, so nothing of it is kept here.
    """
    fields = list(map(_READ_FIELDS, asked.items))
    size = sum(map(len, filter(None, chain(*fields))))
    if asked.embed or asked.reranker or size > MAX_CHARS_REMEMBERED:
        return kind(asked)
    trimmers = asked.trimmers
    key = (
        *(kind, asked.queries, asked.language, trimmers.marks),
        tuple(sorted(trimmers.trim_as.items())),
        tuple(asked.ranked.items()),
        tuple(fields),
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


def embed_all(embed: Embed, texts: list[str]) -> list[list[float]]:
    """Return the caller's vectors of texts; raises `OptionError` when the function fails."""
    try:
        vectors = [[float(number) for number in vector] for vector in embed(texts)]
    except OptionError:  # from a bridge to a framework, which says better what is wrong
        raise
    except Exception as error:
        count = plural(len(texts), "text", "texts")
        message = f"embed failed on {count}: {type(error).__name__}: {quote(str(error))}"
        raise OptionError(message, option="embed") from error
    if wrong := _wrong_vectors(vectors, len(texts)):
        expected = "it must return one for each text, all of one length, of finite numbers"
        raise OptionError(f"embed returned {wrong}; {expected}", option="embed")
    return vectors


def _wrong_vectors(vectors: Sequence[Sequence[float]], count: int) -> str | None:
    """Return the first fault of the vectors for `count` texts, if there is one."""
    if len(vectors) != count:
        given = plural(len(vectors), "vector", "vectors")
        return f"{given} for {plural(count, 'text', 'texts')}"
    for number, vector in enumerate(vectors, 1):
        if len(vector) != len(vectors[0]):
            lengths = f"{len(vectors[0]):,} and {len(vector):,}"
            return f"{lengths} numbers for the texts 1 and {number}"
        if not all(map(math.isfinite, vector)):
            return f"a number that is not finite for text {number}"
    return None


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
    if len(readable_text(item)) > MAX_CHARS_REMEMBERED:  # beside it the others say little
        return readable_text(item)
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
    found = []
    for place, index in enumerate(order[:MAX_CANDIDATES_SEARCHED]):
        item = items[index]
        text = f"{item_title(item)} {readable_text(item)[:MAX_CHARS_REMEMBERED]}".lower()
        # As substrings: `refund` is in `refunded`, and no text has to be split into words.
        held = sum(map(text.__contains__, wanted)) / max(1, len(wanted))
        found.append((held + 1 / (1 + place / MAX_CANDIDATES_READ), -place, index))
    # Of equals the earlier: its place is less negative.
    closest = heapq.nlargest(MAX_CANDIDATES_READ, found)
    return [index for _, _, index in sorted(closest, key=lambda one: -one[1])]


# --- passages that answer -------------------------------------------------------------------------


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
            # Parts of one program all say its names, and the next may answer too: beside several of
            # them a name that faded with each would be worth less than `create` or `purpose`.
            once = len(self._match(number)[0]) == 1
            for t, _ in self._evidence.shares[number]:
                if not once or self._weights[t] == self._evidence.weights[t]:
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
                base = self._worth[number] + max(match, default=0.0) / 2  # answers lie together
                shares = _shares_of_worth(match, self._lines(number))
                worths = [(base + m / 2) * share for m, share in zip(match, shares, strict=True)]
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
    shares = [1.0 if each > PASSAGE_PRIOR_WEIGHT else SILENT_SHARE for each in match]
    if best <= PASSAGE_PRIOR_WEIGHT:
        return shares
    for line in lines:
        share = 1 - LINE_SHARE * (1 - max(match[line.start : line.stop]) / best)
        for passage in line:
            shares[passage] *= share
    return shares
