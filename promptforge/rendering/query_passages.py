"""The passages of a page's items that answer the query, as packing sees them.

`QueryPassages` offers those of found items, `FilePassages` those of a repository's files, chunk by
chunk.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import starmap
from typing import TYPE_CHECKING

from ..packing.packings import PACKINGS
from ..packing.passages import (
    MIN_TOKENS_OF_A_CUT_PASSAGE,
    ChosenPassage,
    PassageRoom,
    PassageSource,
)
from ..packing.types import EMPTY_VARIANT, Variant, content_variant
from ..selection.passage_choice import (
    MIN_DOCUMENTS_OPENED,
    TOKENS_PER_DOCUMENT,
    Facts,
    PassageCosts,
    choose_passages,
)
from ..selection.query import QueryRelevance, Relevance
from ..selection.repository import RankedChunk, RepositoryRelevance
from ..tokenizers.registry import get_tokenizer
from ..trimming.pieces import Pieces

if TYPE_CHECKING:
    from .page import Page

SPARED_TOKENS = 5
"""Passages may come out cheaper than their sum: choose some more, the page decides."""
MAX_SYNTAX_TOKENS = 14
"""Tokens around an item that count where passages are compared, about those of plain text: JSON,
with twice as many, opens as many items."""
GAP_TOKENS = 12
"""About so many tokens has the mark of a gap between two chunks of a program."""
MAX_CHUNKS_IN_VAIN = 32
"""Chunks without room one after the other that end the search for one that has it."""


def passages_of(page: Page, asked: Relevance) -> Passages | None:
    """Return the passages that answer the query; None where whole items are packed."""
    answers = PACKINGS[page.options.packing].answers
    if isinstance(asked, RepositoryRelevance) and "files" in answers:
        return FilePassages(page, asked)
    if isinstance(asked, QueryRelevance) and "items" in answers:
        return QueryPassages(page, asked)
    return None


def _in_unit(tokens: int, unit: int) -> int:
    return (tokens, 4 * tokens)[unit]


class Passages(PassageSource):
    """Passages of the candidates that answer the query."""

    of_files = False

    def __init__(self, page: Page, asked: Relevance) -> None:
        self._page, self._asked = page, asked
        self._known = page.shortener.known
        self._bare: set[int] = set()
        """Items with passages that stand without headings, name and introduction."""

    def _divide(self, index: int) -> Pieces | None:
        divided = self._asked.divide(index)
        return divided and self._page.numbered(index, divided)

    def _answer(self, index: int) -> str | None:
        # What is not made of the text's own lines has no numbers.
        return None if self._page.options.number_lines else self._asked.answer(index)

    def may_grow(self, index: int) -> bool:
        """Return True for an item that is shown with its answer, and with more if there is room."""
        return self._answer(index) is not None

    def divided(self, walk: Sequence[int]) -> list[int]:
        """Return the items of `walk` that were read closely."""
        return [index for index in walk if index in self._asked.number_of]

    def variant(self, index: int, passages: Collection[int]) -> Variant:
        """Return an item with only these passages of its text."""
        # From one page to the next few items change, and from one budget to the next as few.
        known, key = self._known["variant"], (frozenset(passages), index in self._bare)
        last: tuple[object, Variant] | None = known.get((index, not passages))
        if last is None or last[0] != key:
            last = known[index, not passages] = key, self._make_variant(index, *key)
        return last[1]

    def _make_variant(self, index: int, passages: Collection[int], bare: bool) -> Variant:
        divided = self._divide(index)
        if divided is not None:
            kept = divided.without_dear_gaps(passages, bare) if passages else ()
            text: str | None = divided.text(kept, bare=bare)
        else:
            text = self._answer(index) if passages else ""
        whole = content_variant(self._page.variants(index))
        is_whole = text is None or (divided is not None and text == whole.text)
        return whole if is_whole else Variant("trimmed", text or "")

    def cost(self, pick: ChosenPassage, unit: int) -> float:
        """Return the tokens (`unit` 0) or characters (1) of a passage."""
        text = self._text(pick)
        return len(text) if unit else self._page.counter.count(text)

    def least(self, pick: ChosenPassage, unit: int) -> float:
        """Return a lower bound of what a passage costs, which is cheap to tell."""
        known, key = self._known["least"], (*pick, unit)
        if key not in known:
            text = self._text(pick)
            known[key] = len(text) if unit else self._page.counter.at_least(text, len(text))
        found: float = known[key]
        return found

    def _text(self, pick: ChosenPassage) -> str:
        divided = self._asked.divide(pick.item)
        if divided is not None:
            return divided.parts[pick.number].text
        answer = self._answer(pick.item)
        return content_variant(self._page.variants(pick.item)).text if answer is None else answer

    def variant_with_beginning(
        self, pick: ChosenPassage, passages: Collection[int], room: float, unit: int
    ) -> Variant | None:
        """Return an item with these passages and the beginning of one more that fits, if any."""
        divided = self._divide(pick.item)
        if divided is None or not divided.cuttable:
            return None
        counter = (self._page.counter, get_tokenizer("characters"))[unit]
        text = divided.parts[pick.number].text
        if room < math.inf:
            end = int(room) - 1
            text = counter.cut(text, end, "word").rstrip() or counter.cut(text, end, "character")
        if self._page.counter.count(text) < MIN_TOKENS_OF_A_CUT_PASSAGE:
            return None
        return Variant("trimmed", divided.text(passages, (pick.number, text + " ")))


class QueryPassages(Passages):
    """Passages of items by their evidence: the likeliest to answer first, whatever the item."""

    def __init__(self, page: Page, asked: QueryRelevance) -> None:
        super().__init__(page, asked)
        self._evidence = asked.evidence

    def choose(
        self, walk: Sequence[int], room: PassageRoom, most: int | None
    ) -> tuple[list[ChosenPassage], Iterable[ChosenPassage]]:
        """Return the passages to show within `room`, the likeliest first, and those put aside."""
        order, numbers = self._asked.index_of, self._asked.number_of
        unit = room.unit
        # Where name and introduction of a long text would take much of the room, they are passages
        # like others, and the answer comes first.
        share = room.size / (2 + len(walk))

        def pick(number: int, passage: int) -> ChosenPassage:
            return ChosenPassage(order[number], passage)

        @cache
        def header(number: int) -> float:
            index = order[number]
            divided = self._asked.divide(index)
            self._bare.discard(index)
            cost = self._page.item_cost(index, self.variant(index, ()))[unit]
            if cost > share and divided is not None and divided.under_query.loose:
                self._bare.add(index)
                cost = self._page.item_cost(index, self.variant(index, ()))[unit]
            return cost

        def facts(number: int, most: float) -> Facts:
            found, cost = self._facts(order[number], most, unit)
            return Facts(found, cost - header(number)) if found else Facts((), 0.0)

        def opening(number: int) -> Sequence[int]:
            index = order[number]
            divided = self._asked.divide(index) if index in self._bare else None
            return divided.opening if divided is not None else ()

        def spared(number: int) -> float:
            syntax = self._page.item_cost(order[number], EMPTY_VARIANT)[unit] + room.beside
            return max(0.0, syntax - _in_unit(MAX_SYNTAX_TOKENS, unit))

        per_document = _in_unit(TOKENS_PER_DOCUMENT, unit)
        # Without a ceiling the room has no end.
        allowed = max(MIN_DOCUMENTS_OPENED, int(min(room.size / per_document, len(walk))))
        choice = choose_passages(
            self._evidence,
            PassageCosts(
                lambda number: header(number) + room.beside,
                lambda number, passage: self.cost(pick(number, passage), unit),
                facts=facts,
                opening=opening,
                spared=spared,
                least=lambda number, passage: self.least(pick(number, passage), unit),
            ),
            room=room.size + SPARED_TOKENS,
            max_documents=allowed if most is None else min(allowed, most),
            among=[numbers[index] for index in walk],
        )
        return [pick(*each) for each in choice.picks], starmap(pick, choice.aside)

    def _facts(self, index: int, most: float, unit: int) -> tuple[list[int], float]:
        """Return an item's passages that come whatever the query, and its cost with them alone."""
        divided = self._divide(index)
        if divided is None:
            return [], 0.0

        def cost(text: str) -> float:
            return self._page.item_cost(index, Variant("trimmed", text))[unit]

        found = sorted(divided.facts_within(lambda text: cost(text) <= most))
        return found, cost(divided.text(found)) if found else 0.0


class FilePassages(Passages):
    """Passages of a repository's files: the best chunks that have room, chunk by chunk."""

    of_files = True

    def __init__(self, page: Page, asked: RepositoryRelevance) -> None:
        super().__init__(page, asked)
        self._files = asked

    def choose(
        self, walk: Sequence[int], room: PassageRoom, most: int | None
    ) -> tuple[list[ChosenPassage], list[ChosenPassage]]:
        """Return the passages of the best chunks within `room`, and some of those put aside."""
        among, taken, unit = {*walk}, dict[int, set[int]](), room.unit
        picks: list[ChosenPassage] = []
        aside: list[ChosenPassage] = []
        spent = put_aside = 0.0
        in_vain = 0
        for chunk in self._files.chunks:
            is_new = chunk.file not in taken
            if chunk.file not in among or (is_new and most is not None and len(taken) >= most):
                continue
            shown = taken.get(chunk.file, set())
            header = float(_in_unit(GAP_TOKENS, unit))
            if is_new:
                header += self._page.item_cost(chunk.file, self.variant(chunk.file, ()))[unit]
                header += room.beside
            left = room.size - spent - header
            fresh, needed, cost = self._longest(chunk, shown, left, unit, is_best=not picks)
            cost += header
            if spent + cost <= room.size:
                spent += cost
                picks += fresh
                taken.setdefault(chunk.file, set()).update(needed)
                in_vain = 0
                continue
            in_vain += 1
            if put_aside < room.size:
                put_aside += cost
                aside += fresh
            if in_vain == MAX_CHUNKS_IN_VAIN:
                break
        return picks, aside

    def _longest(
        self, chunk: RankedChunk, shown: set[int], room: float, unit: int, *, is_best: bool
    ) -> tuple[list[ChosenPassage], set[int], float]:
        """Return what has room of a chunk, with what it needs and the cost of that.

        Of a chunk without any room, all of it.
        """
        for numbers in self._files.extents_of(chunk):
            fresh = [ChosenPassage(chunk.file, n) for n in numbers if n not in shown]
            needed = self._needed(fresh, shown)
            cost = self._cost_of(chunk.file, needed, unit)
            if cost <= room:
                return fresh, needed, cost
        # Its signatures say where the answer is. Of the best chunk what stands under them follows:
        # else a lesser one that is shorter would take the room. Of either, what
        # holds most of the query's words comes first: of thirty settings, those that answer.
        divided = self._asked.divide(chunk.file)
        signs = {n for n in needed if divided is not None and divided.parts[n].skeleton}
        begun, held, spent = list[ChosenPassage](), set[int](), 0.0

        def place(passage: ChosenPassage) -> tuple[bool, int]:
            text = "" if divided is None else divided.parts[passage.number].text
            return passage.number not in signs, -self._files.count_terms(text)

        for passage in sorted(fresh, key=place):
            more = self._needed([passage], shown | held)
            added = self._cost_of(chunk.file, more, unit)
            if spent + added > room or not (is_best or passage.number in signs):
                break
            begun.append(passage)
            held |= more
            spent += added
        return (begun, held, spent) if begun else (fresh, needed, cost)

    def _cost_of(self, index: int, numbers: Collection[int], unit: int) -> float:
        return sum(self.cost(ChosenPassage(index, n), unit) for n in numbers)

    def _needed(self, fresh: Sequence[ChosenPassage], shown: set[int]) -> set[int]:
        """Return the numbers of passages with the signatures above them that are not shown yet."""
        if not fresh:
            return set()
        divided = self._asked.divide(fresh[0].item)
        numbers = {passage.number for passage in fresh}
        return (numbers if divided is None else divided.closed(numbers)) - shown
