"""Shorter variants of the items of a page.

`Shortener` makes them by the structure of a text, else by a cut. Only the page knows what a variant
costs there, so variants are tried on it. `QueryPassages` offers the passages of found items that
answer a query; `FilePassages` those of a repository's files, chunk by chunk.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from ..packing.pack import CHARACTERS_PER_TOKEN
from ..packing.passages import MIN_TOKENS_OF_A_CUT_PASSAGE, ChosenPassage, PassageRoom
from ..packing.types import (
    UNLIMITED,
    Cost,
    Variant,
    add_costs,
    content_variant,
    fits_within,
    min_cost,
    subtract_costs,
)
from ..selection.passage_choice import (
    MIN_DOCUMENTS_OPENED,
    TOKENS_PER_DOCUMENT,
    Facts,
    PassageCosts,
    choose_passages,
)
from ..selection.query import QueryRelevance, Relevance
from ..selection.repository import RankedChunk, RepositoryRelevance
from ..text.words import UNITS
from ..tokenizers.registry import get_tokenizer
from ..trimming.kinds import Structure
from ..trimming.pieces import Pieces, TrimmedText, TrimmedVariants, speaks

if TYPE_CHECKING:
    from .page import Page

MAX_UNUSED_TOKENS = 8
"""Unused tokens too few to be worth trimming an item for."""
MIN_CHARACTERS_CUT = 8
"""Characters that are kept at least where a cut is in a word: a letter says nothing."""
MAX_PAGES_PER_ITEM = 12
"""Pages measured to shorten one item."""
MIN_PAGES_LEARNED_FROM = 4
"""Pages that tell together what an item costs on a page beyond its own."""
MIN_OUTLINE_CHARACTERS = 480
"""Of a program cut to less than this, and to less than one part in `MAX_TIMES_DIVIDED`, the
beginning says more than a name or two between marks: of 30 megabytes none is then parsed."""
MAX_TIMES_DIVIDED = 16
MAX_VARIANTS_REMEMBERED = 4096
"""Shortened variants remembered by their bounds."""
EMPTY_VARIANT = Variant("trimmed", "", cut=True)
_NO_TEXT = TrimmedText("")
_VISIBLE, _BLANK_LINES = re.compile(r"\S"), re.compile(r"\A(?:[ \t]*\n)+")
SPARED_TOKENS = 5
"""Passages may come out cheaper than their sum: choose some more, the page decides."""
MAX_SYNTAX_TOKENS = 14
"""Tokens around an item that count where passages are compared, about those of plain text: JSON,
with twice as many, opens as many items."""
GAP_TOKENS = 12
"""About so many tokens has the mark of a gap between two chunks of a program."""
MAX_CHUNKS_IN_VAIN = 32
"""Chunks without room one after the other that end the search for one that has it."""


class _Size(NamedTuple):
    """The size of a variant, as far as it is known."""

    tokens: int
    chars: int
    more: bool
    """True where it may have more tokens than these."""


class Shortener:
    """Shorter variants of the items of one page."""

    def __init__(self, page: Page) -> None:
        self._page, self._counter = page, page.counter
        self._structures: dict[tuple[int, int], TrimmedVariants | None] = {}
        self._skeletons: dict[int, TrimmedVariants] = {}
        self._outlines: dict[tuple[int, float, float], Variant | None] = {}
        self._longest: dict[tuple[int, float, float], Variant | None] = {}
        self._without_comment: dict[int, Variant] = {}
        self._beside: list[float] = []
        """Tokens that items cost on the page beyond their own, of each page measured."""
        self._sizes: dict[tuple[int, int], dict[int, _Size]] = {}
        """Item and reach → number of its variant → its size: the texts are made again."""

    def shorten(
        self, index: int, chosen: Mapping[int, Variant], limit: Cost, room: Cost | None
    ) -> tuple[Variant, Cost] | None:
        """Return the longest shorter variant found that fits beside `chosen`, and the page's cost.

        `room` is the most that the item itself may cost, where its section has a maximum.
        """
        page = self._page
        before = page.measure(chosen)
        left = subtract_costs(limit, before)
        if room is not None:
            left = min_cost(left, room)
        empty = page.item_cost(index, EMPTY_VARIANT)
        if not fits_within(empty, left):
            return None
        if whole := self._whole(index, chosen, limit, left):
            return whole
        # The first guess is that content costs on the page what it costs alone. Then the bounds
        # grow by what was left over, or shrink by what was too much.
        bounds = start = subtract_costs(left, empty)
        best: tuple[Variant, Cost] | None = None
        tried: set[str] = set()
        for _ in range(MAX_PAGES_PER_ITEM if self._may_have_room(start[0]) else 0):
            variant = self.longest_within(index, *bounds)
            if variant is None or variant.text in tried:
                break
            tried.add(variant.text)
            cost = page.measure({**chosen, index: variant})
            added, over = subtract_costs(cost, before), subtract_costs(cost, limit)
            self._beside.append(added[0] - page.item_cost(index, variant)[0])
            fits = fits_within(cost, limit)
            if room is not None:
                added = page.item_cost(index, variant)
                over = subtract_costs(added, room)
                fits = fits and fits_within(added, room)
            if not fits and best is None:  # headings or escapes made it longer than it is alone
                bounds = self._smaller(bounds, start, over, variant)
                continue
            if not fits or (best is not None and cost <= best[1]):
                break
            best = variant, cost
            larger = self._larger(bounds, subtract_costs(left, added), limit, variant)
            if larger is None:
                break
            bounds = larger
        return best

    def _may_have_room(self, tokens: float) -> bool:
        """Return False where so few tokens are no more than an item costs beside its own.

        A layout may print a heading for each item.
        """
        return len(self._beside) < MIN_PAGES_LEARNED_FROM or min(self._beside) < tokens

    def _whole(
        self, index: int, chosen: Mapping[int, Variant], limit: Cost, left: Cost
    ) -> tuple[Variant, Cost] | None:
        """Return the content itself if it fits: a packing may have tried a longer variant alone."""
        page = self._page
        content = content_variant(page.variants(index))
        if page.may_fit(index, content, left) and fits_within(page.item_cost(index, content), left):
            cost = page.measure({**chosen, index: content})
            if fits_within(cost, limit):
                return content, cost
        return None

    def _larger(self, bounds: Cost, spare: Cost, limit: Cost, variant: Variant) -> Cost | None:
        """Return larger bounds for what was left over; None where that is too little."""
        for unit in (0, 1):
            if spare[unit] <= (MAX_UNUSED_TOKENS if limit[unit] < UNLIMITED else -1):
                return None
        tokens = self._counter.count(variant.text) if bounds[0] < UNLIMITED else 0
        more = add_costs(spare, (tokens, len(variant.text)))
        if fits_within(more, bounds):
            return None
        return max(more[0], bounds[0]), max(more[1], bounds[1])

    def _smaller(self, bounds: Cost, start: Cost, over: Cost, variant: Variant) -> Cost:
        """Return smaller bounds, by the share that was too much."""
        tokens, chars = bounds
        if over[0] > 0:
            size = self._counter.count(variant.text)
            tokens = min(size - 1, int(size * start[0] / (start[0] + over[0])))
        if over[1] > 0:
            size = len(variant.text)
            chars = min(size - 1, int(size * start[1] / (start[1] + over[1])))
        return tokens, chars

    def longest_within(self, index: int, tokens: float, chars: float) -> Variant | None:
        """Return the longest shorter variant found with a text within both bounds, if any."""
        if tokens < 1 or chars < 1:
            return None
        # Shares of a thousand items are tried in turn, and most come to as many whole tokens.
        key = (index, math.floor(tokens) if tokens < UNLIMITED else tokens, chars)
        if key not in self._longest:
            if len(self._longest) >= MAX_VARIANTS_REMEMBERED:
                self._longest.clear()
            self._longest[key] = self._find_longest(*key)
        return self._longest[key]

    def _find_longest(self, index: int, tokens: float, chars: float) -> Variant | None:
        whole = content_variant(self._page.variants(index))
        required = self._page.candidates.pool[index].required
        if whole.name == "summary" or required:
            return None
        structure = None
        room = min(chars, CHARACTERS_PER_TOKEN * tokens)
        reach = self._reach(index, whole, room)
        if self._may_have_structure(index, whole, room):
            structure = self._structure(index, whole, reach)
        if structure is not None and len(structure):
            sizes = self._sizes.setdefault((index, reach), {})
            variant = self._longest_of(sizes, structure, tokens, chars)
            if variant is not None:
                return variant
        # All of it may be within bounds that only headings make too wide; a shorter variant is
        # shorter all the same.
        if chars < UNLIMITED:
            chars = min(chars, len(whole.text) - 1)
        if tokens < UNLIMITED:
            tokens = min(tokens, self._counter.count_upto(whole.text, int(tokens)) - 1)
        text = self._cut(whole.text, tokens, chars)
        return Variant("trimmed", text, cut=True) if text else None

    def outline_within(self, index: int, tokens: float, chars: float) -> Variant | None:
        """Return as many signatures or headings as are within both bounds, if there are some."""
        key = (index, tokens, chars)
        if key not in self._outlines:
            if index not in self._skeletons:
                whole = content_variant(self._page.variants(index))
                pieces = self._pieces(index, whole) if self._may_divide(index, whole) else None
                self._skeletons[index] = TrimmedVariants(0, lambda _: _NO_TEXT)
                if isinstance(pieces, Pieces):
                    self._skeletons[index] = self._page.numbered(index, pieces).outlines()
            if outlines := self._skeletons[index]:
                self._outlines[key] = self._longest_of({}, outlines, tokens, chars)
            else:
                self._outlines[key] = self.longest_within(index, tokens, chars)
        return self._outlines[key]

    def without_shared_comment(self, index: int) -> Variant:
        """Return an item whole, but for a comment that it begins with and another one shows."""
        if index not in self._without_comment:
            self._without_comment[index] = self._leave_out_comment(index)
        return self._without_comment[index]

    def _leave_out_comment(self, index: int) -> Variant:
        whole = self._page.variants(index)[0]
        start, end = self._page.candidates.shared_comments.get(index, (0, 0))
        if not end or whole.name != "content" or not self._may_divide(index, whole):
            return whole
        pieces = self._pieces(index, whole)
        if not isinstance(pieces, Pieces):
            return whole
        pieces = pieces.with_first_to_go(start, end)
        begins = accumulate((len(part.text) for part in pieces.parts[:-1]), initial=0)
        kept = {n for n, begin in enumerate(begins) if not start <= begin < end}
        text = self._page.numbered(index, pieces).text(pieces.without_dear_gaps(kept))
        return whole if text == whole.text else Variant("trimmed", text)

    def _may_divide(self, index: int, whole: Variant) -> bool:
        if whole.name == "summary" or self._page.candidates.pool[index].required:
            return False
        return self._page.options.trim == "structure" and not whole.cut

    def _may_have_structure(self, index: int, whole: Variant, chars: float) -> bool:
        """Return False where no variant of so many characters by structure is worth reading for."""
        if len(whole.text) < MAX_TIMES_DIVIDED * chars or chars >= MIN_OUTLINE_CHARACTERS:
            return True
        setting, item = self._page.setting, self._page.candidates.pool[index]
        # Each has the marker in it, and of a program as much again of other marks.
        is_program = setting.trimmers.is_program(item.kind, setting.language(item))
        return chars > len(self._page.options.marker) and not is_program

    def _reach(self, index: int, whole: Variant, chars: float) -> int:
        """Return the characters of a text that are read for a variant of so many; 0: all."""
        setting, item = self._page.setting, self._page.candidates.pool[index]
        language = setting.language(item)
        return setting.trimmers.reach(item.kind, language, len(whole.text), chars)

    def _structure(self, index: int, whole: Variant, reach: int) -> TrimmedVariants | None:
        """Return the variants by the structure of an item's text; None: it has no structure."""
        if self._page.options.trim != "structure" or whole.cut:
            return None
        key = index, reach
        if key not in self._structures:
            self._structures[key] = self._read_structure(index, whole, reach)
        return self._structures[key]

    def _read_structure(self, index: int, whole: Variant, reach: int) -> TrimmedVariants | None:
        asked = self._page.candidates.asked
        match = asked.match(index) if asked else None
        if asked and match is not None and (pieces := asked.divide(index)):
            return self._page.numbered(index, pieces).variants(match)
        find = partial(self._pieces, index, whole, reach)
        found = asked.under_query(whole.text, find) if asked else find()
        if isinstance(found, Pieces):
            return self._page.numbered(index, found).variants()
        # What is not made of the text's own lines has no numbers.
        return None if self._page.options.number_lines else found

    def _pieces(self, index: int, whole: Variant, reach: int = 0) -> Structure:
        setting, item = self._page.setting, self._page.candidates.pool[index]
        text = (item.content or "") if setting.options.number_lines else whole.text
        return setting.trimmers.find_structure(item.kind, setting.language(item), text, reach)

    def _longest_of(
        self, sizes: dict[int, _Size], structure: TrimmedVariants, tokens: float, chars: float
    ) -> Variant | None:
        """Search by halves: each variant is shorter than the one before, give or take a mark."""
        # A variant with more characters than so many tokens hold is not even made.
        if tokens < UNLIMITED:
            chars = min(chars, self._counter.most_chars(int(tokens)))
        low, high, best = structure.first_within(chars), len(structure), -1
        made: dict[int, TrimmedText] = {}
        while low < high:
            middle = (low + high) // 2
            size = sizes.get(middle)
            if size is None or (size.more and size.tokens <= tokens and size.chars <= chars):
                text = made[middle] = structure[middle]
                size = sizes[middle] = self._size(text.text, tokens, chars)
            if size.chars > chars or size.tokens > tokens:
                low = middle + 1
            else:
                high, best = middle, middle
        if best < 0:
            return None
        variant = made.get(best) or structure[best]
        return Variant(variant.name, variant.text) if variant.text else None

    def _size(self, text: str, tokens: float, chars: float) -> _Size:
        """Return the size of a variant, its tokens no further than is needed."""
        if tokens == UNLIMITED or len(text) > chars:
            return _Size(0, len(text), more=True)
        counted = self._counter.count_upto(text, int(tokens))
        return _Size(counted, len(text), more=counted > tokens)

    def _cut(self, text: str, tokens: float, chars: float) -> str:
        """Return the beginning of `text` within both bounds, up to the neatest end."""
        best = ""
        for unit in UNITS:
            if unit == "character" and best:
                break
            prefix = text
            if tokens < UNLIMITED:
                prefix = self._counter.cut(prefix, int(tokens), unit)
            if chars < UNLIMITED:
                prefix = get_tokenizer("characters").cut(prefix, int(chars), unit)
            prefix = prefix.rstrip()
            if unit == "character" and len(prefix) < MIN_CHARACTERS_CUT:
                break
            # Searched, not stripped: the whole may be a gigabyte.
            shorter = _VISIBLE.search(text, len(prefix)) is not None
            if len(best) < len(prefix) and shorter and speaks(prefix, text):
                best = prefix
            if not best:
                continue
            if tokens < UNLIMITED and tokens - self._counter.count(best) <= MAX_UNUSED_TOKENS:
                break
            if chars < UNLIMITED and chars - len(best) <= MAX_UNUSED_TOKENS:
                break
        return best


# --- passages that answer a query -----------------------------------------------------------------


def _in_unit(tokens: int, unit: int) -> int:
    """Return tokens (`unit` 0), or about as many characters (1)."""
    return (tokens, 4 * tokens)[unit]


class Passages(ABC):
    """Passages of the candidates that answer the query; packing sees it as a `PassageSource`."""

    def __init__(self, page: Page, asked: Relevance) -> None:
        self._page, self._asked = page, asked
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

    @abstractmethod
    def choose(
        self, walk: Sequence[int], room: PassageRoom, most: int | None
    ) -> tuple[list[ChosenPassage], list[ChosenPassage]]:
        """Return the passages to show within `room`, the likeliest first, and those put aside."""

    def variant(self, index: int, passages: Collection[int]) -> Variant:
        """Return an item with only these passages of its text."""
        whole, divided = content_variant(self._page.variants(index)), self._divide(index)
        if divided is None:
            answer = self._answer(index)
            if answer is not None and passages:
                return Variant("trimmed", answer)
            return whole if passages else Variant("trimmed", "")
        bare = index in self._bare
        kept = divided.without_dear_gaps(passages, bare) if passages else ()
        text = divided.text(kept, bare=bare)
        if text == whole.text:
            return whole
        return Variant("trimmed", self._without_ends(divided, text))

    def _without_ends(self, divided: Pieces, text: str) -> str:
        """Return sentences without blank lines around them: JSON writes two tokens for each."""
        if not divided.cuttable:
            return text
        gap = self._page.setting.trimmers.marks.gap
        text = _BLANK_LINES.sub("", text.rstrip())
        if text.startswith(f"{gap}\n"):
            text = f"{gap} {text[len(gap) :].lstrip()}"
        if text.endswith(f"\n{gap}"):
            text = f"{text[: -len(gap)].rstrip()} {gap}"
        return text

    def cost(self, pick: ChosenPassage, unit: int) -> float:
        """Return the tokens (`unit` 0) or characters (1) of a passage."""
        text = self._text(pick)
        return len(text) if unit else self._page.counter.count(text)

    def exceeds(self, pick: ChosenPassage, most: float, unit: int) -> bool:
        """Return True where it is cheap to see that a passage costs more than so much."""
        if unit or most < 0:
            return most < 0
        return most < math.inf and self._page.counter.at_least(self._text(pick), int(most)) > most

    def _text(self, pick: ChosenPassage) -> str:
        divided = self._asked.divide(pick.item)
        if divided is None:
            return self.variant(pick.item, (pick.number,)).text
        return divided.parts[pick.number].text

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
            text = counter.cut(text, int(room) - 1, "word").rstrip()
        if self._page.counter.count(text) < MIN_TOKENS_OF_A_CUT_PASSAGE:
            return None
        text = divided.text(passages, (pick.number, text + " "))
        return Variant("trimmed", self._without_ends(divided, text))


class QueryPassages(Passages):
    """Passages of items by their evidence: the likeliest to answer first, whatever the item."""

    def __init__(self, page: Page, asked: QueryRelevance) -> None:
        super().__init__(page, asked)
        self._evidence = asked.evidence

    def choose(
        self, walk: Sequence[int], room: PassageRoom, most: int | None
    ) -> tuple[list[ChosenPassage], list[ChosenPassage]]:
        """Return the passages to show within `room`, the likeliest first, and those put aside."""
        order, numbers = self._asked.index_of, self._asked.number_of
        unit = room.unit

        # Where name and introduction of a long text would take much of the room, they are passages
        # like others, and the answer comes first.
        share = room.size / (2 + len(walk))

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
            return self._facts(order[number], header(number), most, unit)

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
                lambda number, passage: self.cost(ChosenPassage(order[number], passage), unit),
                facts=facts,
                spared=spared,
                exceeds=lambda number, passage, most: self.exceeds(
                    ChosenPassage(order[number], passage), most, unit
                ),
            ),
            room=room.size + SPARED_TOKENS,
            max_documents=allowed if most is None else min(allowed, most),
            among=[numbers[index] for index in walk],
        )
        picks, aside = (
            [ChosenPassage(order[number], passage) for number, passage in found]
            for found in (choice.picks, choice.aside)
        )
        return picks, aside

    def _facts(self, index: int, header: float, most: float, unit: int) -> Facts:
        """Return the facts of an item that cost at most `most` with its header."""
        divided = self._divide(index)
        if divided is None:
            return Facts((), 0.0)

        def cost(text: str) -> float:
            return self._page.item_cost(index, Variant("trimmed", text))[unit]

        found = sorted(divided.facts_within(lambda text: cost(text) <= most))
        return Facts(found, cost(divided.text(found)) - header if found else 0.0)


class FilePassages(Passages):
    """Passages of a repository's files: the best chunks that have room, chunk by chunk."""

    def __init__(self, page: Page, asked: RepositoryRelevance) -> None:
        super().__init__(page, asked)
        self._chunks = asked.chunks
        self._extents_of = asked.extents_of
        self._count_terms = asked.count_terms

    def choose(
        self, walk: Sequence[int], room: PassageRoom, most: int | None
    ) -> tuple[list[ChosenPassage], list[ChosenPassage]]:
        """Return the passages of the best chunks within `room`, and some of those put aside."""
        among, taken, unit = {*walk}, dict[int, set[int]](), room.unit
        picks: list[ChosenPassage] = []
        aside: list[ChosenPassage] = []
        spent = put_aside = 0.0
        in_vain = 0
        for chunk in self._chunks:
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
        for numbers in self._extents_of(chunk):
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
            return passage.number not in signs, -self._count_terms(text)

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
