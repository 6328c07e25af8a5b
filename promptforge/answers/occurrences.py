"""Where the words of a query, and the titles of other texts, occur in a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from .words import spaced, telling, terms_of

WINDOW = 25
"""Words in what counts as one text where the words of the query are weighed: about a sentence."""

_Numbers = tuple[int, ...]


class Occurrences(dict[str, tuple[_Numbers, _Numbers]]):
    """Word as it is written → the query's terms in it, and the documents whose title it may be; filled as words come.

    It lives as long as one query, and is as large as the vocabulary of its candidates.
    """

    def __init__(self, wanted: Sequence[str], titles: Sequence[str], names: Sequence[str]) -> None:
        """`wanted`: the query's terms; `names`: what `words.name` makes of each title."""
        self._terms = {term: number for number, term in enumerate(wanted)}
        self._starts = {
            start for term in wanted for start in (term[:2], term.replace("y", "i")[:2])
        }  # ties: ty
        self._names = names
        self._keys: dict[str, _Numbers] = {}
        self.windows = [0] * len(wanted)
        """For each term in how many windows it was seen."""
        once = Counter(names)
        for number, title in enumerate(names):
            if (
                title and once[title] == 1 and telling(titles[number])
            ):  # a title that two have says nothing
                key = max(title.split(), key=len)
                self._keys[key] = (*self._keys.get(key, ()), number)

    def __missing__(self, word: str) -> tuple[_Numbers, _Numbers]:
        lower = word.lower()
        plain = word.isascii()
        numbers: _Numbers = ()
        if not plain or any(
            [start in lower for start in self._starts]
        ):  # which few words have anywhere
            numbers = tuple(self._terms[term] for term in terms_of(word) if term in self._terms)
        documents = self._keys.get(lower, ())
        if not plain and not documents:
            characters = dict.fromkeys(spaced([word]).split())
            documents = tuple(chain.from_iterable(self._keys.get(part, ()) for part in characters))
        self[word] = found = (numbers, documents)
        return found

    def look(self, found: list[str], number: int) -> tuple[Counter[int], list[int]]:
        """Return how often each term is among the words of document `number`, and which others it mentions."""
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
                (place // WINDOW, t)
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
        whole = spaced(found)
        return counts, [other for other in sorted(titles) if self._names[other] in whole]
