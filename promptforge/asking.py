"""The query and the candidates: which of them answer it, and which pieces of them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from . import evidence
from .evidence import Document, Evidence, Passages
from .items import Item
from .trimming import prose
from .trimming.kinds import read
from .trimming.pieces import Pieces
from .words import terms

CLOSE = 200
"""Candidates that are read closely; of more, those that score best and hold most words of the query."""
SEEN = 5_000
"""Candidates that are searched for words of the query; of more, those that score best."""
STRUCTURED = 1 << 20
"""Characters up to which a text is read for its structure."""

Language = Callable[[Item], str | None]


class Asked:
    """What the query makes of the candidates."""

    def __init__(
        self, query: str, items: Sequence[Item], order: Sequence[int], language: Language, marker: str
    ) -> None:
        """`order`: the candidates' indices in `items`, the best first by their scores."""
        self._items = items
        self._language = language
        self._marker = marker
        self._pieces: dict[int, Pieces | None] = {}
        self.order = _closest(query, items, order)
        """The candidates read closely, by the numbers that the evidence gives them."""
        self.number = {index: number for number, index in enumerate(self.order)}
        documents = [Document(title_of(item), text_of(item), item.score) for item in map(items.__getitem__, self.order)]
        self.evidence: Evidence = evidence.read(query, documents, self._passages)

    def rank(self, ranks: list[float]) -> None:
        """Put the worths of the candidates in the place of their scores; those not read closely come after them."""
        last = min(self.evidence.worth, default=0.0)
        scores = [ranks[i] for i in range(len(ranks)) if i not in self.number]
        drop = last - 1 - max(scores, default=0.0)
        for index in range(len(ranks)):
            number = self.number.get(index)
            ranks[index] = ranks[index] + drop if number is None else self.evidence.worth[number]

    def pieces(self, index: int) -> Pieces | None:
        """Return the pieces of an item's text; `None`: it is but one."""
        if index not in self._pieces:
            item = self._items[index]
            text = text_of(item)
            found = None
            if len(text) <= STRUCTURED:
                found = read(item.kind, self._language(item), text, self._marker)
            self._pieces[index] = found if isinstance(found, Pieces) else prose.divide(text)
        return self._pieces[index]

    def match(self, index: int) -> Mapping[int, float] | None:
        """Return what each piece of an item says about the query; `None`: it was not read closely."""
        number = self.number.get(index)
        if number is None:
            return None
        return dict(enumerate(self.evidence.reading(number).match(self.evidence.weights)))

    def _passages(self, number: int) -> Passages:
        index = self.order[number]
        pieces = self.pieces(index)
        if pieces is None:
            return Passages((text_of(self._items[index]),))
        return Passages([part.text for part in pieces.parts], [part.under for part in pieces.parts])


def text_of(item: Item) -> str:
    """Return the text that is read."""
    return item.content or item.summary or item.expanded or ""


def title_of(item: Item) -> str:
    """Return what other texts call an item: its name, else the name of its file."""
    return item.name or (item.path or "").replace("\\", "/").rpartition("/")[2]


def _closest(query: str, items: Sequence[Item], order: Sequence[int]) -> list[int]:
    if len(order) <= CLOSE:
        return list(order)
    wanted = list(dict.fromkeys(terms(query)))
    found = []
    for place, index in enumerate(order[:SEEN]):
        item = items[index]
        text = f"{title_of(item)} {text_of(item)}".lower()
        held = sum(word in text for word in wanted) / max(1, len(wanted))
        found.append((held + 1 / (1 + place / CLOSE), -place, index))
    closest = heapq.nlargest(CLOSE, found)
    return [index for _, _, index in sorted(closest, key=lambda one: -one[1])]
