"""One page in the making: views of items, their costs, and the text for any choice of them.

Packing asks `Page` for costs. `LowerBounds` refuses items that certainly do not fit, without
rendering or counting them. `Shortener` finds the longest shorter variant that has room.
`QueryPassages` offers the passages of an item that answer a query.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, cached_property
from itertools import filterfalse
from json.encoder import encode_basestring
from typing import Any, NamedTuple, cast

from ..errors import TemplateError
from ..model import Item
from ..packing.pack import CHARACTERS_PER_TOKEN, Packed
from ..packing.passages import ChosenPassage
from ..packing.types import (
    UNLIMITED,
    Cost,
    JoinedVariant,
    Variant,
    VariantColumns,
    add_costs,
    content_variant,
    fits_within,
    min_cost,
    subtract_costs,
)
from ..selection.evidence import (
    MIN_DOCUMENTS_OPENED,
    TOKENS_PER_DOCUMENT,
    Facts,
    PassageCosts,
    choose_passages,
)
from ..selection.filter import Candidates, RefusedItems
from ..selection.group import (
    ContainedTexts,
    Entry,
    Section,
    file_tree,
    flatten_sections,
    group_entries,
    is_within,
    join_ranges,
    section_key_of,
    with_also_in,
)
from ..selection.query import QueryRelevance, Relevance
from ..selection.repository import RepositoryRelevance
from ..templating.language import Fields
from ..templating.limits import FuelTank
from ..text.escape import Content, Safe
from ..text.words import UNITS
from ..tokenizers.registry import get_tokenizer
from ..trimming.kinds import Structure
from ..trimming.pieces import Pieces, TrimmedText, TrimmedVariants, speaks
from .context import (
    CleaningNotes,
    ItemViews,
    Setting,
    citation,
    control_token_notes,
    first_line,
    template_line_notes,
)

MIN_CHARACTERS_PER_TOKEN = 3
"""Most texts have more, so fewer items are prepared by it than there is room for."""
MAX_UNUSED_TOKENS = 8
"""Unused tokens too few to be worth trimming an item for."""
MIN_CHARACTERS_CUT = 8
"""Characters that are kept at least where a cut is in a word: a letter says nothing."""
MAX_PAGES_PER_ITEM = 12
"""Pages measured to shorten one item."""
MIN_PAGES_LEARNED_FROM = 4
"""Pages that tell together what an item costs on a page beyond its own."""
MAX_KINDS = 100
"""Kinds with a measured lower bound; one more takes longer to measure than it saves."""
HUGE_TEXT_CHARACTERS = 4096
"""A longer text is counted no further than there is room."""
TEXTS_JOINED = 64
"""Texts that are joined to count their words."""
MIN_INDICES_REMEMBERED = 1000
"""Of so many items looked at together, the refused ones are remembered."""
MIN_OUTLINE_CHARACTERS = 480
"""Of a program cut to less than this, and to less than one part in `MAX_TIMES_DIVIDED`, the
beginning says more than a name or two between marks: of 30 megabytes none is then parsed."""
MAX_TIMES_DIVIDED = 16
MAX_VARIANTS_REMEMBERED = 4096
"""Shortened variants remembered by their bounds."""
PAGES_REMEMBERED = 2
"""Pages measured last: the one that stands, and the one that is tried."""
SPARED_TOKENS = 5
"""Passages may come out cheaper than their sum: choose some more, the page decides."""
GAP_TOKENS = 12
"""About so many tokens has the mark of a gap between two chunks of a program."""
MAX_CHUNKS_IN_VAIN = 32
"""Chunks without room one after the other that end the search for one that has it."""

# Char.IsWhiteSpace of .NET: the chunks layout follows its TrimEnd. Python's strip would also take
# U+001C to U+001F.
_WHITE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_SENTINEL = "Quzx"
"""No template prints this of its own accord."""
_EMPTY = Variant("trimmed", "", cut=True)
_NO_TEXT = TrimmedText("")
_VISIBLE = re.compile(r"\S")


class _MeasuredPage(NamedTuple):
    """A page that was rendered and counted."""

    chosen: dict[int, Variant]
    order: list[int]
    parts: list[str]
    cost: Cost
    notes: CleaningNotes


class Page:
    """A page for one rendering; packing sees it as a `PackablePage`."""

    def __init__(self, candidates: Candidates, setting: Setting) -> None:
        self.setting = setting
        self.layout, self.options, self.counter = setting.layout, setting.options, setting.counter
        self.candidates = candidates
        # Of an estimate the ends of a text may count for more than the pair that they merge into.
        self.shared_end_tokens = (16, 4)[self.counter.exact]
        self._items = candidates.pool
        self.tank = FuelTank()
        """Fuel of all its templates together."""
        # By the variant too: equal texts of two items cost different tokens under their labels.
        self._costs: dict[tuple[int, Variant], Cost] = {}
        self._last: list[_MeasuredPage] = []
        self._order: list[int] = []
        self._in_tokens = self.options.max_tokens is not None
        self.group_by = self.options.group_by
        if self.group_by == "auto":
            self.group_by = self.layout.settings.group_by
        self._categories = self.layout.kind_categories
        self.separator = self.options.separator
        if self.separator is None:
            self.separator = self.layout.settings.separator or ""
        # The caller's own words around the items stay as they are; only in syntaxes where they
        # could break the whole text they are escaped.
        made: Callable[[str], str] = Safe if self.layout.syntax in ("md", "txt") else Content
        header, footer = self.options.header, self.options.footer
        self._around = {
            "separator": made(self.separator),
            "header": (header and made(header)) or None,
            "footer": (footer and made(footer)) or None,
            "query": self.options.query_text,
        }
        titles = []
        if self.layout.prints_titles:
            titles = [section.title for section in self.sections(candidates)]
        self.views = ItemViews(self._items, setting, self.separator, titles, self.tank)
        self.notes: CleaningNotes = ()
        """Notes on the page around its items."""
        self._shows_sources = self.options.sources
        self._contained = ContainedTexts(self._items)
        self._before_join: dict[int, list[tuple[Item, float]]] = {}
        self._bounds = LowerBounds(self)
        self._shortener = Shortener(self)

    # --- one item -----------------------------------------------------------------------------

    def variants(self, index: int) -> Sequence[Variant]:
        """Return the whole variants of an item, the longest first."""
        return self.views.variants(index)

    def whole_variants(self, indices: Sequence[int]) -> VariantColumns:
        """Return the whole variants of these items without their texts."""
        columns, options = self.candidates.columns, self.options
        if columns.plain and not options.number_lines and options.item_max_chars is None:
            lengths = [columns.lengths[index] for index in indices]
            return VariantColumns(indices, ["content"] * len(indices), lengths)
        rows = [(i, each.name, len(each.text)) for i in indices for each in self.variants(i)]
        items, names, sizes = zip(*rows, strict=True) if rows else ((), (), ())
        return VariantColumns(items, names, sizes)

    def text(self, index: int, variant: Variant) -> str:
        """Return the text of an item alone."""
        return str(self.views.view(index, variant)["text"])

    def count(self, parts: Sequence[str]) -> int:
        """Return the tokens of the joined parts."""
        return self.counter.count_parts(parts)

    def item_cost(self, index: int, variant: Variant) -> Cost:
        """Return the cost of an item alone, counted once."""
        cost = self._costs.get((index, variant))
        if cost is None:
            text = self.text(index, variant)
            tokens = self.count([text]) if self._in_tokens else 0
            cost = self._costs[index, variant] = tokens, len(text)
        return cost

    def prepare_costs(self, walk: Sequence[int], room: Cost) -> None:
        """Render the first items of `walk`, then count them.

        One kind of work in a row is quicker: what it works with stays in the processor's caches.
        """
        if not self._in_tokens:
            return
        left = MIN_CHARACTERS_PER_TOKEN * room[0]
        batch = []
        for index in walk:
            variant = self.variants(index)[0]
            around = self._bounds.empty_cost(self._items[index].kind).tokens
            left -= len(variant.text) + around * MIN_CHARACTERS_PER_TOKEN
            if left < 0:
                break
            batch.append((index, variant))
        for index, variant in batch:
            self.views.view(index, variant)
        for index, variant in batch:
            self.item_cost(index, variant)

    def may_fit(self, index: int, variant: Variant, room: Cost) -> bool:
        """Return False where a cheap bound shows that an item needs more than `room`."""
        if room[0] < 0 or room[1] < 0:
            return False
        return not self._in_tokens or self._bounds.may_fit(index, variant, room[0])

    def exceed(self, indices: Collection[int], room: Cost) -> bool:
        """Return True where cheap lower bounds show that these items together need more."""
        return self._in_tokens and self._bounds.exceed(indices, room[0])

    def maybe_fitting(self, indices: Sequence[int], room: Cost, trim: bool) -> Sequence[int]:
        """Drop items that certainly do not fit; with `trim` a shortened variant counts too."""
        if room[0] < 0 or room[1] < 0:
            return ()
        if not self._in_tokens:
            return indices
        return self._bounds.maybe_fitting(indices, room[0], trim)

    def duplicates(
        self, index: int, chosen: Mapping[int, Variant]
    ) -> tuple[int | None, Sequence[int]]:
        """Return the chosen item that contains this one's lines, and those this one contains."""
        if not self.options.dedupe:
            return None, ()
        return self._contained.find(index, chosen)

    def is_within(self, index: int, other: int) -> bool:
        """Return True if an item is a range of lines within the range of another."""
        return is_within(self._items[index], self._items[other])

    def join(self, whole: Iterable[int]) -> Sequence[JoinedVariant]:
        """Join ranges of one file that touch; the first of each stands for all."""
        if not self.options.merge_overlaps:
            return ()
        found = []
        for members, item in join_ranges(self._items, whole):
            first = members[0]
            before = self._before_join.setdefault(first, [])
            before.append((self._items[first], self.candidates.ranks[first]))
            self._replace(first, item, max(self.candidates.ranks[index] for index in members))
            joined = JoinedVariant(members, self.variants(first)[0])
            if joined.variant.cut:  # `item_max_chars` allows less than all of them
                self.separate([joined])
            else:
                found.append(joined)
        return found

    def separate(self, joined: Sequence[JoinedVariant]) -> None:
        """Undo `join`."""
        for each in joined:
            first = each.members[0]
            before = self._before_join[first]
            self._replace(first, *before.pop())
            if not before:
                del self._before_join[first]

    def separate_all(self) -> None:
        """Undo every `join`."""
        for index, before in self._before_join.items():
            self._replace(index, *before[0])
        self._before_join.clear()

    def as_given(self) -> Page:
        """Return a page with all ranges apart: this one where none were joined."""
        if not self._before_join:
            return self
        pool, ranks = list(self._items), copy(self.candidates.ranks)
        for index, before in self._before_join.items():
            pool[index], ranks[index] = before[0]
        return Page(replace(self.candidates, pool=pool, ranks=ranks), self.setting)

    def given_rank(self, index: int) -> float:
        """Return the rank of an item before it was joined with others."""
        before = self._before_join.get(index)
        return before[0][1] if before else self.candidates.ranks[index]

    def _replace(self, index: int, item: Item, rank: float) -> None:
        """Put another item in the place of one."""
        self._items[index], self.candidates.ranks[index] = item, rank
        self.views.forget(index)
        self._contained.forget(index)
        self._costs = {key: cost for key, cost in self._costs.items() if key[0] != index}
        self._last.clear()

    def note_duplicates(self, packed: Packed, limit: Cost) -> Packed:
        """Note in the metadata of items where their dropped duplicates are from, if that fits."""
        also: dict[int, list[Item]] = {}
        for duplicate, holder in sorted(packed.duplicates.items()):
            if packed.reasons.get(duplicate) == "duplicate":
                also.setdefault(holder, []).append(self._items[duplicate])
        if not also:
            return packed
        before = {holder: self._items[holder] for holder in also}
        noted = {holder: with_also_in(item, also[holder]) for holder, item in before.items()}
        cost = packed.cost
        # First with the notes; where these are too much for the limit, back to the items before.
        for items in (noted, before):
            for index, item in items.items():
                self._items[index] = item
                self.views.forget(index)
            self._costs = {key: cost for key, cost in self._costs.items() if key[0] not in also}
            self._last.clear()
            cost = self.measure(packed.chosen) if packed.chosen else packed.cost
            if fits_within(cost, limit):
                break
        return packed._replace(cost=cost)

    def numbered(self, index: int, pieces: Pieces) -> Pieces:
        """Return the pieces of an item's content, with numbers where lines have them."""
        if not self.options.number_lines:
            return pieces
        return pieces.numbered(first_line(self._items[index], "content") or 1)

    def shorten(
        self, index: int, chosen: Mapping[int, Variant], limit: Cost, room: Cost | None = None
    ) -> tuple[Variant, Cost] | None:
        """Return the longest shorter variant that fits beside `chosen`, and the page's cost."""
        return self._shortener.shorten(index, chosen, limit, room)

    def longest_within(self, index: int, tokens: float, chars: float) -> Variant | None:
        """Return the longest shorter variant with a text within both bounds, if there is one."""
        return self._shortener.longest_within(index, tokens, chars)

    def outline_within(self, index: int, tokens: float, chars: float) -> Variant | None:
        """Return as many signatures or headings as are within both bounds, without their texts."""
        return self._shortener.outline_within(index, tokens, chars)

    def query_passages(self) -> Passages | None:
        """Return the passages that answer the query; None where whole items are packed."""
        asked, options = self.candidates.asked, self.options
        if asked is None or not asked.has_evidence:
            return None
        if options.rerank in ("none", "mmr") or options.trim != "structure":
            return None
        if isinstance(asked, RepositoryRelevance) and options.packing in ("score", "repository"):
            return FilePassages(self, asked)
        if isinstance(asked, QueryRelevance) and options.packing == "score":
            return QueryPassages(self, asked)
        return None

    # --- the whole page -----------------------------------------------------------------------

    def measure(self, chosen: Mapping[int, Variant]) -> Cost:
        """Return the exact cost of the page with just these items."""
        return self._build(chosen).cost

    def show_sources(self, *, shown: bool) -> bool:
        """Show the list of sources from now on, or not; return whether it was shown before.

        Items are packed without it: it takes no room of theirs.
        """
        before, self._shows_sources = self._shows_sources, shown
        if shown != before:
            self._last.clear()
        return before

    def parts(self, chosen: Mapping[int, Variant]) -> list[str]:
        """Return the finished page in parts.

        Raises `BrokenDelimiterError` where it holds the tags of contents outside of contents.
        """
        parts = self._build(chosen).parts
        self.views.check(parts, chosen)
        return parts

    def alone(self, index: int) -> str:
        """Return the text of an item in its longest variant, without a page; raises as `parts`."""
        variant = self.variants(index)[0]
        text = str.__str__(self.text(index, variant))
        self.views.check([text], {index: variant})
        return text

    def _build(self, chosen: Mapping[int, Variant]) -> _MeasuredPage:
        # What was measured last is mostly what is printed, and the one before it is what the next
        # item is tried beside.
        for number, known in enumerate(self._last):
            if known.chosen == chosen:
                self._last.insert(0, self._last.pop(number))
                self.notes = known.notes
                return known
        parts = self.render(chosen)
        tokens = self.count(parts) if self._in_tokens else 0
        cost = tokens, sum(map(len, parts))
        self._last.insert(0, _MeasuredPage(dict(chosen), self._order, parts, cost, self.notes))
        del self._last[PAGES_REMEMBERED:]
        return self._last[0]

    def sections(self, indices: Iterable[int], by: str | None = None) -> list[Section]:
        """Return these items in sections, in the order of the page."""
        by = by or self.group_by
        settings = self.layout.settings
        return group_entries(
            self.candidates.some(indices),
            by,
            order=self.options.order,
            first=settings.sections,
            titles=settings.headings if by == "kind" else settings.titles,
            categories=self._categories,
        )

    def order(self, chosen: Mapping[int, Variant]) -> list[int]:
        """Return these items in the order of the page."""
        for known in self._last:
            if known.chosen == chosen:
                return known.order
        return [entry.index for entry in flatten_sections(self.sections(chosen))]

    def section_key_of(self, by: str) -> Callable[[Item], str]:
        """Return the function from an item to its section's key."""
        return section_key_of(by, self._categories)

    def walk(self, indices: Iterable[int]) -> list[int]:
        """Return these items as the layout groups them, the best first in each group.

        That is the order of packing: `order` says how the chosen are shown, not which are chosen.
        """
        sections = group_entries(
            self.candidates.some(indices),
            self.group_by,
            first=self.layout.settings.sections,
            categories=self._categories,
        )
        return [entry.index for entry in flatten_sections(sections)]

    def render(self, chosen: Mapping[int, Variant], *, only: str | None = None) -> list[str]:
        """Return the parts of the page; `only` leaves the items of one origin on it."""
        variables = self.page_variables(chosen, only=only)
        self.notes = ()
        parts, imitations = self.layout.render_page(variables, self.tank)
        parts = self.break_up(parts, chosen)
        self.notes += template_line_notes(imitations)
        # The last line end of YAML may be one of a content: it ends a literal block.
        while parts and self.layout.settings.trim_end and self.layout.syntax != "yaml":
            parts[-1] = parts[-1].rstrip(_WHITE)
            if parts[-1]:
                break
            parts.pop()
        return parts

    def page_variables(
        self, chosen: Mapping[int, Variant], *, only: str | None = None
    ) -> dict[str, Any]:
        """Return what the template of the page sees."""
        indices = [i for i in chosen if only is None or self._items[i].origin == only]
        sections = self.sections(indices)
        entries = flatten_sections(sections)
        variables: dict[str, Any] = dict(self._around)
        self._order = [entry.index for entry in entries]
        variables["items"] = [self.views.view(index, chosen[index]) for index in self._order]
        variables["total"] = len(self.candidates)
        variables["sources"] = None
        if self._shows_sources:
            items = (self.views.break_up_labels(entry.item)[0] for entry in entries)
            variables["sources"] = [Fields(citation(item)) for item in items]
        variables["tree"] = self._tree_fields(entries, chosen) if self.options.tree else None
        if "sections" in self.layout.page_uses:
            variables["sections"] = self._section_fields(sections, chosen)
        for origin in {"explicit", "similarity"} & self.layout.page_uses:
            these = self.sections([i for i in indices if self._items[i].origin == origin])
            variables[origin] = self._section_fields(these, chosen)
        return variables

    def break_up(self, parts: list[str], chosen: Mapping[int, Variant]) -> list[str]:
        """Break up control tokens that two parts of a page make where they meet."""
        if self.views.breaker is None:
            return parts
        settled = {id(self.views.view(index, variant)["text"]) for index, variant in chosen.items()}
        parts, broken, left = self.views.breaker.break_up(parts, settled)
        notes = control_token_notes(broken, left)
        self.notes = tuple((code, f"where texts meet on the page, {said}") for code, said in notes)
        return parts

    def _tree_fields(
        self, entries: Iterable[Entry], chosen: Mapping[int, Variant]
    ) -> list[Fields] | None:
        """Return the folders and files of these items; None where no item has a path."""
        tokens: dict[str, int] = {}
        for entry in entries:
            path = self.views.break_up_labels(entry.item)[0].path
            if path:
                number = self.item_cost(entry.index, chosen[entry.index])[0]
                if not self._in_tokens:
                    number = self.count([self.text(entry.index, chosen[entry.index])])
                tokens[path] = tokens.get(path, 0) + int(number)
        rows = [Fields(each._asdict()) for each in file_tree(tokens)]
        for row in rows:
            row["indent"] = Safe("  " * row.pop("depth"))
        return rows or None

    def _section_fields(
        self, sections: list[Section], chosen: Mapping[int, Variant]
    ) -> list[Fields]:
        breaker = self.views.breaker
        headings = self.layout.settings.headings
        found = []
        for section in sections:
            key, title = section.key, section.title
            # A title out of the layout's own settings is the layout's; any other came with items.
            if headings.get(key) == title:
                if self.layout.syntax == "txt":
                    key, title = Safe(key), Safe(title)
            elif breaker is not None:
                key, title = (breaker.controls.break_up(text)[0] for text in (key, title))
            items = [self.views.view(e.index, chosen[e.index]) for e in section.entries]
            found.append(Fields(key=key, title=title, items=items))
        return found


# --- lower bounds -----------------------------------------------------------------------------


class EmptyItemCost(NamedTuple):
    """Tokens of an item of a kind with as good as nothing in it."""

    tokens: int
    """Items of the kind cost no less, but for ends that merge with neighbours."""
    cut: int
    """Tokens with the marker."""
    shows: bool
    """True if its content is shown when it has no summary."""


_NOTHING_KNOWN = EmptyItemCost(0, 0, False)


class LowerBounds:
    """Lower bounds of costs in tokens: refused items cannot fit, the others may not fit either."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._items = page.candidates.pool
        self._columns = page.candidates.columns
        self._counter = page.counter
        self._empty: dict[str, EmptyItemCost] = {}
        self._max_characters = page.options.item_max_chars

    @cached_property
    def _lengths(self) -> array[int]:
        # Characters of each content; 0 where a summary may stand in for it.
        lengths = self._columns.lengths
        if self._columns.summarized:
            lengths = lengths[:]
            for index in self._columns.summarized:
                lengths[index] = 0
        return lengths

    def empty_cost(self, kind: str) -> EmptyItemCost:
        """Return the least that an item of `kind` costs."""
        found = self._empty.get(kind)
        if found is None:
            found = _NOTHING_KNOWN
            if len(self._empty) < MAX_KINDS:
                found = self._remembered_empty(kind)
            self._empty[kind] = found
        return found

    def _remembered_empty(self, kind: str) -> EmptyItemCost:
        """Return the cost from an earlier rendering that had the same templates and options."""
        if not isinstance(self._page.options.tokenizer, str):
            return self._measure_empty(kind)
        known, key = self._page.views.known_of_kinds, (kind, self._counter)
        found = known.get(key)
        if found is None:
            if len(known) > MAX_KINDS:
                known.clear()
            found = known[key] = self._measure_empty(kind)
        return cast(EmptyItemCost, found)

    def _measure_empty(self, kind: str) -> EmptyItemCost:
        # A template may print a fallback for missing labels that is longer than the shortest
        # labels, so both items are measured. A template that prints less for an item with some
        # rare field is not seen through.
        bare = Item(kind=kind, content="")
        labelled = Item(
            kind=kind, content="", name="a", path="a", language="c", start_line=1, end_line=1
        )

        def texts(variant: Variant) -> list[str]:
            return [self._page.views.bare(item, variant) for item in (bare, labelled)]

        try:
            shows = all(_SENTINEL in text for text in texts(Variant("content", _SENTINEL)))
            tokens, cut = (
                min(self._page.count([text]) for text in texts(variant))
                for variant in (Variant("content", ""), _EMPTY)
            )
        except TemplateError:  # a template for items with more fields than these
            return _NOTHING_KNOWN
        return EmptyItemCost(tokens, cut, shows)

    def may_fit(self, index: int, variant: Variant, tokens: float) -> bool:
        """Return False where it is cheap to see that the variant needs more than `tokens`."""
        item, length = self._items[index], len(variant.text)
        if length > 3 * tokens and (item.summary is None or variant.name == "summary"):
            empty = self.empty_cost(item.kind)
            left = int(tokens) + self._page.shared_end_tokens - empty.tokens
            if empty.shows and self._exceeds(variant.text, left):
                return False
        if length > 16 * tokens + HUGE_TEXT_CHARACTERS:
            text = self._page.text(index, variant)
            return self._counter.count_upto(text, int(tokens)) <= tokens
        return True

    def exceed(self, indices: Collection[int], tokens: float) -> bool:
        """Return True if these items together need more, each at its least."""
        shared, items = self._page.shared_end_tokens, self._columns.items
        empty = {kind: self.empty_cost(kind) for kind in self._columns.every_kind}
        if len(indices) > TEXTS_JOINED and self._words_exceed(indices, tokens):
            return True
        for index in indices:
            least = empty[items[index].kind]
            needed = least.tokens
            if least.shows and self._lengths[index]:
                text = self._columns.contents[index]
                needed = max(needed, self._least_tokens(text, int(tokens)))
            tokens -= max(needed - shared, 0)
            if tokens < 0:
                return True
        return False

    def _words_exceed(self, indices: Collection[int], tokens: float) -> bool:
        """Return True if the words of these items together need more."""
        if not all(self.empty_cost(kind).shows for kind in self._columns.every_kind):
            return False
        contents, lengths, indices = self._columns.contents, self._lengths, [*indices]
        for start in range(0, len(indices), TEXTS_JOINED):
            these = indices[start : start + TEXTS_JOINED]
            # No token holds letters of two words, so words of texts in one are those of each.
            text = "\n".join(contents[i][: self._max_characters] for i in these if lengths[i])
            words = self._counter.words_at_least(text, len(text))
            tokens -= max(words - self._page.shared_end_tokens * len(these), 0)
            if tokens < 0:
                return True
        return False

    def maybe_fitting(self, indices: Sequence[int], tokens: float, trim: bool) -> Sequence[int]:
        """Drop items that certainly do not fit; with `trim` a shortened variant counts too.

        Items refused for a room are refused for a smaller one, and in the next rendering too.
        """
        columns, setting = self._columns, self._page.setting
        if len(indices) < MIN_INDICES_REMEMBERED:
            return self._not_refused(indices, tokens, trim)
        key, known = (setting.layout, setting.options, setting.nonce, trim), columns.refused
        if known is not None and known.key == key and tokens <= known.tokens:
            indices = list(filterfalse(known.items.__contains__, indices))
            return self._not_refused(indices, tokens, trim)
        found = self._not_refused(indices, tokens, trim)
        if 4 * len(found) < len(indices) > len(columns.items) // 2:
            columns.refused = RefusedItems(key, tokens, set(indices).difference(found))
        return found

    def _not_refused(self, indices: Sequence[int], tokens: float, trim: bool) -> Sequence[int]:
        kinds = {kind: self.empty_cost(kind) for kind in self._columns.every_kind}
        reach = tokens
        if not trim or tokens > MAX_UNUSED_TOKENS:
            reach += self._page.shared_end_tokens
        left = {kind: int(reach) - e.tokens for kind, e in kinds.items() if e.tokens <= reach}
        cuttable = {kind for kind in left if trim and kinds[kind].cut <= tokens}
        if not left:
            return ()
        if len(cuttable) == len(kinds):
            return indices
        # Characters of a content that cannot fit, by kind. No limit where it can be cut, nor
        # where the template need not show it.
        far: dict[str, float] = dict.fromkeys(left, math.inf)
        for kind in left.keys() - cuttable:
            if kinds[kind].shows:
                far[kind] = self._too_many_characters(left[kind])
        # This runs over all candidates, up to a million: local names, the cheapest test first.
        widest, lengths, contents, items = (
            max(far.values()),
            self._lengths,
            self._columns.contents,
            self._columns.items,
        )
        exceeds = self._exceeds
        # One call in C refuses most of them: 100,000 candidates ask for the last tokens of a page.
        surely_more = self._counter.quick_test(max(left.values()))
        if surely_more and widest < math.inf and self._max_characters is None:
            indices = [
                i
                for i in indices
                if not (length := lengths[i]) or (length <= widest and not surely_more(contents[i]))
            ]
        return [
            i
            for i in indices
            if (length := lengths[i]) <= (most := far.get(kind := items[i].kind, -1))
            and (not length or most == math.inf or not exceeds(contents[i], left[kind]))
        ]

    def _too_many_characters(self, tokens: int) -> float:
        """Return a length above that any text has more than so many tokens."""
        chars = self._counter.most_chars(tokens)
        if self._max_characters is not None and self._max_characters < chars:
            return 2.0**63  # contents are cut before they get so long
        return min(chars, 2.0**63)

    def _exceeds(self, text: str, tokens: int) -> bool:
        return tokens < 0 or self._least_tokens(text, tokens) > tokens

    def _least_tokens(self, text: str, limit: int) -> int:
        """Return a lower bound of the tokens of a content, at most `limit + 1`."""
        text = text[: self._max_characters]
        # The margin of a block in YAML joins blanks of its lines, and so do numbers: there only
        # words tell.
        if self._page.layout.syntax == "yaml" or self._page.options.number_lines:
            return self._counter.words_at_least(text, limit)
        if self._page.layout.syntax == "json":
            # JSON writes line ends as letters, and then runs of blanks are no longer one token.
            text = encode_basestring(text[: 48 * (limit + 1)])
        return self._counter.at_least(text, limit)


# --- shorter variants -------------------------------------------------------------------------


class Passages(ABC):
    """Passages of the candidates that answer the query; packing sees it as a `PassageSource`."""

    def __init__(self, page: Page, asked: Relevance) -> None:
        self._page, self._asked = page, asked
        self._bare: set[int] = set()
        """Items with passages that stand without headings, name and introduction."""

    def _divide(self, index: int) -> Pieces | None:
        divided = self._asked.divide(index)
        return divided and self._page.numbered(index, divided)

    def divided(self, walk: Sequence[int]) -> list[int]:
        """Return the items of `walk` that were read closely."""
        return [index for index in walk if index in self._asked.number_of]

    @abstractmethod
    def choose(
        self, walk: Sequence[int], room: float, unit: int, most: int | None
    ) -> tuple[list[ChosenPassage], list[ChosenPassage]]:
        """Return the passages to show within `room`, the likeliest first, and those put aside."""

    def variant(self, index: int, passages: Collection[int]) -> Variant:
        """Return an item with only these passages of its text."""
        whole, divided = content_variant(self._page.variants(index)), self._divide(index)
        if divided is None:
            return whole if passages else Variant("trimmed", "")
        bare = index in self._bare
        kept = divided.without_dear_gaps(passages, bare) if passages else ()
        text = divided.text(kept, bare=bare)
        return whole if text == whole.text else Variant("trimmed", text)

    def cost(self, pick: ChosenPassage, unit: int) -> float:
        """Return the tokens (`unit` 0) or characters (1) of a passage."""
        text = self._text(pick)
        return len(text) if unit else self._page.counter.count(text)

    def exceeds(self, pick: ChosenPassage, most: float, unit: int) -> bool:
        """Return True where it is cheap to see that a passage costs more than so much."""
        if unit or most < 0:
            return most < 0
        return self._page.counter.at_least(self._text(pick), int(most)) > most

    def _text(self, pick: ChosenPassage) -> str:
        divided = self._asked.divide(pick.item)
        if divided is None:
            return content_variant(self._page.variants(pick.item)).text
        return divided.parts[pick.number].text

    def variant_with_beginning(
        self, pick: ChosenPassage, passages: Collection[int], room: float, unit: int
    ) -> Variant | None:
        """Return an item with these passages and the beginning of one more that fits, if any."""
        divided = self._divide(pick.item)
        if divided is None or not divided.cuttable:
            return None
        counter = (self._page.counter, get_tokenizer("characters"))[unit]
        text = counter.cut(divided.parts[pick.number].text, int(room) - 1, "word").rstrip()
        if not text:
            return None
        return Variant("trimmed", divided.text(passages, (pick.number, text + " ")))


class QueryPassages(Passages):
    """Passages of items by their evidence: the likeliest to answer first, whatever the item."""

    def __init__(self, page: Page, asked: QueryRelevance) -> None:
        super().__init__(page, asked)
        self._evidence = asked.evidence

    def choose(
        self, walk: Sequence[int], room: float, unit: int, most: int | None
    ) -> tuple[list[ChosenPassage], list[ChosenPassage]]:
        """Return the passages to show within `room`, the likeliest first, and those put aside."""
        order, numbers = self._asked.index_of, self._asked.number_of

        # Where name and introduction of a long text would take much of the room, they are passages
        # like others, and the answer comes first.
        share = room / (2 + len(walk))

        @cache
        def header(number: int) -> float:
            index = order[number]
            divided = self._asked.divide(index)
            self._bare.discard(index)
            cost = self._page.item_cost(index, self.variant(index, ()))[unit]
            if cost > share and divided is not None and divided.under_query.loose:
                self._bare.add(index)
            return self._page.item_cost(order[number], self.variant(order[number], ()))[unit]

        def facts(number: int, most: float) -> Facts:
            return self._facts(order[number], header(number), most, unit)

        per_document = (TOKENS_PER_DOCUMENT, 4 * TOKENS_PER_DOCUMENT)[unit]
        allowed = max(MIN_DOCUMENTS_OPENED, int(room / per_document))
        choice = choose_passages(
            self._evidence,
            PassageCosts(
                header,
                lambda number, passage: self.cost(ChosenPassage(order[number], passage), unit),
                facts=facts,
                exceeds=lambda number, passage, most: self.exceeds(
                    ChosenPassage(order[number], passage), most, unit
                ),
            ),
            room=room + SPARED_TOKENS,
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

    def choose(
        self, walk: Sequence[int], room: float, unit: int, most: int | None
    ) -> tuple[list[ChosenPassage], list[ChosenPassage]]:
        """Return the passages of the best chunks within `room`, and some of those put aside."""
        among, taken = {*walk}, dict[int, set[int]]()
        picks: list[ChosenPassage] = []
        aside: list[ChosenPassage] = []
        spent = put_aside = 0.0
        in_vain = 0
        for chunk in self._chunks:
            is_new = chunk.file not in taken
            if chunk.file not in among or (is_new and most is not None and len(taken) >= most):
                continue
            shown = taken.get(chunk.file, set())
            header = self._gap_cost(unit)
            if is_new:
                header += self._page.item_cost(chunk.file, self.variant(chunk.file, ()))[unit]
            for numbers in self._extents_of(chunk):
                fresh = [ChosenPassage(chunk.file, n) for n in numbers if n not in shown]
                needed = self._needed(fresh, shown)
                passages = (ChosenPassage(chunk.file, n) for n in needed)
                cost = header + sum(self.cost(passage, unit) for passage in passages)
                if spent + cost <= room:
                    break
            if spent + cost <= room:
                spent += cost
                picks += fresh
                taken.setdefault(chunk.file, set()).update(needed)
                in_vain = 0
                continue
            in_vain += 1
            if put_aside < room:
                put_aside += cost
                aside += fresh
            if in_vain == MAX_CHUNKS_IN_VAIN:
                break
        return picks, aside

    def _needed(self, fresh: Sequence[ChosenPassage], shown: set[int]) -> set[int]:
        """Return the numbers of passages with the signatures above them that are not shown yet."""
        if not fresh:
            return set()
        divided = self._asked.divide(fresh[0].item)
        numbers = {passage.number for passage in fresh}
        return (numbers if divided is None else divided.closed(numbers)) - shown

    def _gap_cost(self, unit: int) -> float:
        return (GAP_TOKENS, 4 * GAP_TOKENS)[unit]


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
        empty = page.item_cost(index, _EMPTY)
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
        tokens = 0
        if bounds[0] < UNLIMITED:
            tokens = self._counter.count(variant.text)
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
        if not text:
            return None
        return Variant("trimmed", text, cut=True)

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
        found = self._pieces(index, whole, reach)
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
