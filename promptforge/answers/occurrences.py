"""Find where the words of a query, and the titles of other texts, occur in a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from .words import spaced, telling, terms_of

WINDOW = 25
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
            if title and once[title] == 1 and telling(titles[number]):
                key = max(title.split(), key=len)
                self._keys[key] = (*self._keys.get(key, ()), number)

    def __missing__(self, word: str) -> tuple[_Numbers, _Numbers]:
        lower = word.lower()
        plain = word.isascii()
        numbers: _Numbers = ()
        # Few words hold a term's first letters anywhere, and only for these the terms are made.
        if not plain or any([start in lower for start in self._starts]):
            numbers = tuple(self._terms[term] for term in terms_of(word) if term in self._terms)
        documents = self._keys.get(lower, ())
        if not plain and not documents:
            # In a script without blanks the "word" is a sentence, and a key one character of it.
            characters = dict.fromkeys(spaced([word]).split())
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
