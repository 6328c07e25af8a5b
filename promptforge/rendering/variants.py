"""Shorter variants of the items of a page.

`Shortener` makes them by the structure of a text, else by a cut. Only the page knows what a variant
costs there, so variants are tried on it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from weakref import proxy

from ..packing.types import (
    CHARACTERS_PER_TOKEN,
    EMPTY_VARIANT,
    MAX_UNUSED_TOKENS,
    STUB_VARIANT,
    UNLIMITED,
    Cost,
    Variant,
    add_costs,
    content_variant,
    fits_within,
    min_cost,
    subtract_costs,
)
from ..selection.group import without
from ..text.words import UNITS, terms_of_text
from ..tokenizers.registry import get_tokenizer
from ..trimming.kinds import is_cut_within_data
from ..trimming.pieces import (
    Pieces,
    Structure,
    TrimmedText,
    TrimmedVariants,
    divide_prose,
    speaks,
    without_long_runs,
)

if TYPE_CHECKING:
    from .page import Page

MIN_CHARACTERS_CUT = 8
"""Characters that are kept at least where a cut is in a word: a letter says nothing."""
MIN_SHARE_USED = 0.5
"""Share of the room below which another way is tried: words alone, or pieces from the end alone,
leave most of it empty before or behind one long stretch."""
MAX_PAGES_PER_ITEM = 12
MIN_PAGES_LEARNED_FROM = 4
"""Pages that tell together what an item costs on a page beyond its own."""
MIN_OUTLINE_CHARACTERS = 480
"""Of a program cut to less than this, and to less than one part in `MAX_TIMES_DIVIDED`, the
beginning says more than a name or two between marks: of 30 megabytes none is then parsed."""
MAX_TIMES_DIVIDED = 16
MAX_TIMES_COMPACTED = 16
"""Times the room for a text that is made compact, at most: few get so much shorter."""
LEAST_TOKENS, LEAST_CONTENT_TOKENS = 60, 30
"""Tokens that an item named by the user is sure of, and those of its content among them."""
MAX_VARIANTS_REMEMBERED = 4096
_VISIBLE = re.compile(r"\S")


P = ParamSpec("P")
T = TypeVar("T")


def _remembered(
    make: Callable[Concatenate[Shortener, int, P], T],
) -> Callable[Concatenate[Shortener, int, P], T]:
    """Let a `Shortener` work something out once for an item and other values."""

    @wraps(make)
    def ask(self: Shortener, index: int, /, *given: P.args, **named: P.kwargs) -> T:
        known, key = self.known[make.__name__], (index, *given)
        if key not in known:
            known[key] = make(self, index, *given, **named)
        found: T = known[key]
        return found

    return ask


class Shortener:
    """Shorter variants of the items of one page."""

    def __init__(self, page: Page) -> None:
        # As a circle the page, and all that it holds, would wait for the garbage collector.
        self._page: Page = proxy(page)
        self._counter = page.counter
        self.known = defaultdict[str, dict[tuple[object, ...], Any]](dict)
        """Name of a method → item, and what else was given → what it returned."""
        self._beside: list[float] = []
        """Tokens that items cost on the page beyond their own, of each page measured."""

    def on(self, page: Page, changed: Collection[int]) -> Shortener:
        """Return the same on a page where the items in `changed` are others."""
        moved = copy(self)
        moved._page = proxy(page)
        if not changed:  # to be packed anew
            moved._beside = []
        moved.known = defaultdict(dict)
        for name, known in self.known.items():
            moved.known[name] = without(known, changed)
        return moved

    def shorten(
        self, index: int, chosen: Mapping[int, Variant], limit: Cost, room: Cost | None = None
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
        whole = self._whole(index, chosen, limit, left)
        if whole:
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
        page = self._page
        content = content_variant(page.variants(index))
        if page.cost_within(index, content, left) is not None:
            cost = page.measure({**chosen, index: content})
            if fits_within(cost, limit):
                return content, cost
        return None

    def _larger(self, bounds: Cost, spare: Cost, limit: Cost, variant: Variant) -> Cost | None:
        for unit in (0, 1):
            if spare[unit] <= (MAX_UNUSED_TOKENS if limit[unit] < UNLIMITED else -1):
                return None
        tokens = self._counter.count(variant.text) if bounds[0] < UNLIMITED else 0
        more = add_costs(spare, (tokens, len(variant.text)))
        if fits_within(more, bounds):
            return None
        return max(more[0], bounds[0]), max(more[1], bounds[1])

    def _smaller(self, bounds: Cost, start: Cost, over: Cost, variant: Variant) -> Cost:
        tokens, chars = bounds
        if over[0] > 0:
            size = self._counter.count(variant.text)
            tokens = min(size - 1, int(size * start[0] / (start[0] + over[0])))
        if over[1] > 0:
            size = len(variant.text)
            chars = min(size - 1, int(size * start[1] / (start[1] + over[1])))
        return tokens, chars

    def least(self, index: int) -> Variant:
        """Return an item whole where it is small, else its heading and about a sentence of it.

        A layout may print less around an outline: no tools and mitigations of a technique.
        """
        page, bounds = self._page, [UNLIMITED, UNLIMITED]
        unit = int(page.options.max_tokens is None)
        if page.options.stubs:
            return STUB_VARIANT
        variants, empty = page.variants(index), page.item_cost(index, EMPTY_VARIANT)
        size = (1, CHARACTERS_PER_TOKEN)[unit]
        bounds[unit] = max(LEAST_TOKENS * size - empty[unit], LEAST_CONTENT_TOKENS * size)
        whole, room = content_variant(variants), add_costs(empty, (bounds[0], bounds[1]))
        if page.cost_within(index, whole, room) is not None:
            return whole
        bare = page.item_cost(index, EMPTY_VARIANT._replace(name="outline"))
        is_shorter = bare[unit] < empty[unit]
        if is_shorter:
            bounds[unit] = max(LEAST_TOKENS * size - bare[unit], LEAST_CONTENT_TOKENS * size)
        found = self.longest_within(index, bounds[0], bounds[1])
        if found is None:
            return variants[-1] if variants[-1].name == "summary" else STUB_VARIANT
        return found._replace(name="outline") if is_shorter else found

    def longest_within(self, index: int, tokens: float, chars: float) -> Variant | None:
        """Return the longest shorter variant found with a text within both bounds, if any."""
        if tokens < 1 or chars < 1:
            return None
        # Shares of a thousand items are tried in turn, and most come to as many whole tokens.
        whole_tokens = math.floor(tokens) if tokens < UNLIMITED else tokens
        if len(self.known["_find_longest"]) >= MAX_VARIANTS_REMEMBERED:
            self.known["_find_longest"].clear()
        return self._find_longest(index, whole_tokens, chars)

    @_remembered
    def _find_longest(self, index: int, tokens: float, chars: float) -> Variant | None:
        whole = content_variant(self._page.variants(index))
        required = self._page.candidates.pool[index].required
        if whole.name == "summary" or required:
            return None
        structure = None
        room = min(chars, CHARACTERS_PER_TOKEN * tokens)
        if not self._page.options.number_lines:
            compact = self.compact(index, room)
            if compact is not None and self._is_within(compact.text, tokens, chars):
                return compact
            whole = whole._replace(text=self._without_long_runs(index))
        reach = self._reach(index, whole, room)
        if self._may_have_structure(index, whole, room):
            structure = self._structure(index, whole, reach)
        if structure is not None and len(structure):
            variant = self._longest_of(structure, tokens, chars)
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

    def compact(self, index: int, chars: float) -> Variant | None:
        """Return an item in fewer characters, before anything of it is cut; None: it has no such.

        None too where it would surely have more than so many characters.
        """
        options = self._page.options
        if not options.compact or options.number_lines:
            return None
        if len(self._without_long_runs(index)) > MAX_TIMES_COMPACTED * chars:
            return None
        return self._find_compact(index)

    @_remembered
    def _find_compact(self, index: int) -> Variant | None:
        setting, item = self._page.setting, self._page.candidates.pool[index]
        whole, legible = content_variant(self._page.variants(index)), self._without_long_runs(index)
        found = setting.trimmers.compact(item.kind, setting.language(item), legible)
        if whole.name == "summary" or whole.cut or item.required:
            return None
        if found is not None and found.lost and not self._says_as_much(found.text, legible):
            found = None
        if found is not None:
            lost = found.lost or legible != whole.text
            return Variant("compact", found.text, lost=lost)
        return Variant("compact", legible, lost=True) if legible != whole.text else None

    def _says_as_much(self, part: str, whole: str) -> bool:
        wanted = {*terms_of_text(self._page.options.query_text or "")}
        return not wanted or wanted & {*terms_of_text(whole)} <= {*terms_of_text(part)}

    @_remembered
    def _without_long_runs(self, index: int) -> str:
        whole = content_variant(self._page.variants(index))
        return without_long_runs(whole.text, self._page.setting.trimmers.marks)

    @_remembered
    def outline_within(self, index: int, tokens: float, chars: float) -> Variant | None:
        """Return as many signatures or headings as are within both bounds, if there are some."""
        outlines = self._skeleton(index)
        if outlines:
            return self._longest_of(outlines, tokens, chars)
        found = self.longest_within(index, tokens, chars)
        # The names of the files that a diff changes, and no change.
        return None if found is not None and found.name == "outline" else found

    @_remembered
    def _skeleton(self, index: int) -> TrimmedVariants | None:
        pieces = self._divided(index)
        if pieces is None:
            return None
        return self._page.numbered(index, pieces).outlines()

    @_remembered
    def _divided(self, index: int) -> Pieces | None:
        whole = content_variant(self._page.variants(index))
        pieces = self._pieces(index, whole) if self._may_divide(index, whole) else None
        return pieces if isinstance(pieces, Pieces) else None

    @_remembered
    def declarations(self, index: int, rank: float = 1.0) -> Sequence[tuple[float, int, int]]:
        """Return the declarations of a program, the best first; see `ShorterVariants`.

        None of a text that is no program.
        """
        return sorted((-rank * worth, index, size) for _, worth, size in self._declared(index))

    @_remembered
    def _declared(self, index: int) -> list[tuple[int, float, int]]:
        """Return the number of each piece with a declaration, with its worth and size, the best
        first.
        """
        setting, item = self._page.setting, self._page.candidates.pool[index]
        is_program = setting.trimmers.is_program(item.kind, setting.language(item))
        pieces = self._divided(index) if item.kind == "code" and is_program else None
        if pieces is None:
            return []
        from ..trimming.declarations import rate_declarations

        worths = rate_declarations(pieces.parts, self._page.candidates.holders)
        found = ((n, each, len(pieces.parts[n].text.strip())) for n, each in worths.items())
        return sorted(found, key=lambda one: -one[1])

    def outline_of_worth(self, index: int, least: float) -> Variant | None:
        """Return the declarations of a program that are worth no less, if there are any."""
        count = bisect_right(self._declared(index), -least, key=lambda one: -one[1])
        return self._outline_of(index, count) if count else None

    @_remembered
    def _outline_of(self, index: int, count: int) -> Variant | None:
        pieces = self._divided(index)
        if pieces is None:
            return None
        kept = [number for number, _, _ in self._declared(index)[:count]]
        return Variant("outline", self._page.numbered(index, pieces).outline_text(kept))

    @_remembered
    def without_shared_comment(self, index: int) -> Variant:
        """Return an item whole, but for a comment that it begins with and another one shows."""
        whole = self._page.variants(index)[0]
        start, end = self._page.candidates.shared_comments.get(index, (0, 0))
        if not end or whole.name != "content" or not self._may_divide(index, whole):
            return whole
        pieces = self._divided(index)
        if pieces is None:
            return whole
        pieces = pieces.with_first_to_go(start, end)
        kept = {n for n, part in enumerate(pieces.parts) if part.keep >= 0}
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
        if is_program:
            return is_cut_within_data(whole.text, int(chars))
        return chars > len(self._page.options.marker)

    def _reach(self, index: int, whole: Variant, chars: float) -> int:
        """Return the characters of a text that are read for a variant of so many; 0: all."""
        setting, item = self._page.setting, self._page.candidates.pool[index]
        language = setting.language(item)
        return setting.trimmers.reach(item.kind, language, len(whole.text), chars)

    @_remembered
    def _structure(self, index: int, whole: Variant, reach: int) -> TrimmedVariants | None:
        """Return the variants by the structure of an item's text; None: it has no structure."""
        if self._page.options.trim != "structure" or whole.cut:
            return None
        asked = self._page.candidates.asked
        match = asked.match(index) if asked else None
        if asked and match is not None and (pieces := asked.divide(index)):
            return self._page.numbered(index, pieces).variants(match)
        find = partial(self._pieces, index, whole, reach)
        found = asked.under_query(whole.text, find) if asked else find()
        worths = None
        if asked and match is not None:
            # A program on one line has no structure, but what answers may stand far from its start.
            sentences = found or divide_prose(whole.text, self._page.setting.trimmers.marks)
            if isinstance(sentences, Pieces):
                worths = asked.match_pieces(sentences)
                found = found or (sentences if worths else None)
        if isinstance(found, Pieces):
            return self._page.numbered(index, found).variants(worths)
        # What is not made of the text's own lines has no numbers.
        return None if self._page.options.number_lines else found

    def _pieces(self, index: int, whole: Variant, reach: int = 0) -> Structure:
        setting, item = self._page.setting, self._page.candidates.pool[index]
        text = (item.content or "") if setting.options.number_lines else whole.text
        return setting.trimmers.find_structure(item.kind, setting.language(item), text, reach)

    def _longest_of(
        self, structure: TrimmedVariants, tokens: float, chars: float
    ) -> Variant | None:
        """Search by halves: each variant is shorter than the one before."""
        if tokens == chars == UNLIMITED:  # a search would make a dozen that all fit
            first = structure[0]
            return Variant(first.name, first.text) if first.text else None
        # A variant with more characters than so many tokens hold is not even made.
        if tokens < UNLIMITED:
            chars = min(chars, self._counter.most_chars(int(tokens)))

        def fits(text: str) -> bool:
            return self._is_within(text, tokens, chars)

        low, high = structure.first_within(chars), len(structure)
        best: TrimmedText | None = None
        while low < high:
            middle = (low + high) // 2
            made = structure[middle]
            if fits(made.text):
                high, best = middle, made
            else:
                low = middle + 1
        if best is None:
            return None
        if not self._fills(best.text, tokens, chars):
            best = structure.refilled(high, fits)
        return Variant(best.name, best.text) if best.text else None

    def _is_within(self, text: str, tokens: float, chars: float) -> bool:
        if len(text) > chars:
            return False
        return tokens == UNLIMITED or self._counter.count_upto(text, int(tokens)) <= tokens

    def _cut(self, text: str, tokens: float, chars: float) -> str:
        """Return the beginning of `text` within both bounds, up to the neatest end."""
        best = ""
        for unit in UNITS:
            # After a long run without blanks, letters fill what words left empty.
            if unit == "character" and best and self._fills(best, tokens, chars):
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

    def _fills(self, text: str, tokens: float, chars: float) -> bool:
        if len(text) >= MIN_SHARE_USED * chars:
            return True
        return self._counter.count(text) >= MIN_SHARE_USED * tokens
