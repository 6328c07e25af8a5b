"""The caller's own functions that score texts by the query: `embed` and `rerank`."""

import hashlib
import math
import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from typing import Any
from weakref import WeakKeyDictionary

from ..config.options import Rerank
from ..errors import Diagnostics, OptionError, quote
from ..text.format import plural

MAX_TEXTS_A_CALL = 1_000
"""Texts that a reranker is given at once."""
MAX_SCORES_REMEMBERED = 100_000
"""Scores of one reranker that are remembered."""
Vectors = Sequence[Sequence[float]]
Embed = Callable[[list[str]], Vectors]
"""Returns a vector for each text.

A query is embedded by its attribute `queries`, a function too, where it has one.
"""
AnyEmbed = Callable[[list[str]], Vectors | Awaitable[Vectors]]
"""The same of a caller: it may be async."""


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
            if isinstance(scores, str | bytes | Mapping | Set):  # keys or digits are no scores
                raise _BadScoresError(f"it returned {type(scores).__name__}; expected numbers")
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
    wrong = _wrong_vectors(vectors, len(texts))
    if wrong:
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


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors, at least 0; of one of zeros it is 0."""
    lengths = math.hypot(*a) * math.hypot(*b)
    if not lengths:
        return 0.0
    found: float = sum(map(operator.mul, a, b)) / lengths
    if math.isnan(found):  # infinity by infinity, of vectors with enormous numbers
        return 0.0
    return min(1.0, max(0.0, found))
