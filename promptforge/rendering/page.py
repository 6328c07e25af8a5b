"""One page in the making: views of items, their costs, and the text for any choice of them.

Packing asks `Page` for costs. `LowerBounds` refuses items that certainly do not fit, without
rendering or counting them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, NamedTuple

from ..config.options import Options
from ..errors import TemplateError
from ..model import CHANGE_KINDS, MAX_CHANGES_NAMED, Item
from ..packing.pack import Plan
from ..packing.packings import PACKINGS
from ..packing.types import (
    EMPTY_VARIANT,
    MAX_UNUSED_TOKENS,
    UNLIMITED,
    Cost,
    JoinedVariant,
    SectionLimits,
    Variant,
    count_bytes,
    fits_within,
)
from ..reasons import BUDGET_REASONS, DUPLICATE
from ..selection.filter import Candidates, is_file
from ..selection.group import (
    ContainedTexts,
    Section,
    flatten_sections,
    group_entries,
    is_within,
    join_ranges,
    paths_of_same_text,
    section_key_of,
    with_also_in,
    with_paths_of,
    without,
)
from ..templating.language import Fields
from ..templating.limits import FuelTank
from ..text.escape import Content, Safe
from ..text.words import late_property
from .context import (
    CleaningNotes,
    ItemViews,
    Setting,
    change_notes,
    citation,
    control_token_notes,
    first_line,
    shown_score,
)

if TYPE_CHECKING:
    from ..trimming.pieces import Pieces
    from .query_passages import Passages
    from .variants import Shortener

MIN_CHARACTERS_PER_TOKEN = 3
"""Most texts have more: so few characters mostly fit."""
MAX_KINDS = 100
"""Kinds with a measured lower bound; one more takes longer to measure than it saves."""
HUGE_TEXT_CHARACTERS = 4096
"""A longer text is counted no further than there is room."""

# Char.IsWhiteSpace of .NET: the chunks layout follows its TrimEnd. Python's strip would also take
# U+001C to U+001F.
_WHITE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
TOKENS_PER_UNSEEN = 200
"""Tokens of the budget for each line of a tree on files that are not in the text: a twentieth."""
_SENTINEL = "Quzx"
"""No template prints this of its own accord."""


class _MeasuredPage(NamedTuple):
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
        # By the variant too: equal texts of two items cost different tokens under their labels.
        self._costs: dict[tuple[int, Variant], Cost] = {}
        self._refused: dict[tuple[int, Variant], float] = {}
        """Item and variant → the most tokens that a cheap bound found too few."""
        self._last: _MeasuredPage | None = None
        self._order: list[int] = []
        self._in_tokens = self.options.max_tokens is not None
        self.group_by = self.options.group_by
        if self.group_by == "auto":
            self.group_by = self.layout.settings.group_by
        self._categories = self.layout.settings.of_kinds("category")
        self.separator = self.options.separator
        if self.separator is None:
            self.separator = self.layout.settings.separator or ""
        # The caller's own words around the items stay as they are; only in syntaxes where they
        # could break the whole text they are escaped.
        made: Callable[[str], str] = Content if self.layout.syntax.is_parsed else Safe
        header, footer = self.options.header, self.options.footer
        self._around = {
            "separator": made(self.separator),
            "header": (header and made(header)) or None,
            "footer": (footer and made(footer)) or None,
            "query": self.options.query_text,
        }
        titles = []
        if self.layout.prints_titles:
            # An empty section too: its title in a content would begin it.
            titles = [section.title for section in self.sections(candidates)]
            titles += self.layout.settings.titles.values()
        self.views = ItemViews(self._items, setting, self.separator, titles, self.tank)
        self.notes: CleaningNotes = ()
        self._shows_sources = self.options.sources
        self._contained = ContainedTexts(self._items)
        self._bounds = LowerBounds(self)

    @late_property
    def shortener(self) -> Shortener:
        """The shorter variants of its items."""
        from .variants import Shortener

        return Shortener(self)

    # --- one item -----------------------------------------------------------------------------

    def variants(self, index: int) -> Sequence[Variant]:
        """Return the whole variants of an item, the longest first."""
        return self.views.variants(index)

    def whole_variants(
        self, indices: Sequence[int]
    ) -> tuple[Sequence[int], Sequence[str], Sequence[int]]:
        """Return the items, the names and the bytes of their whole variants."""
        columns, options = self.candidates.columns, self.options
        if columns.plain and not options.number_lines and options.item_max_chars is None:
            sizes = [count_bytes(self._items[index].content or "") for index in indices]
            return indices, ["content"] * len(indices), sizes
        rows = [(i, each) for i in indices for each in self.variants(i)]
        sizes = [count_bytes(each.text) for _, each in rows]
        return [i for i, _ in rows], [each.name for _, each in rows], sizes

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

    def cost_within(self, index: int, variant: Variant, room: Cost) -> Cost | None:
        """Return the cost of an item alone; None where it is more than `room`."""
        key = index, variant
        cost = self._costs.get(key)
        if cost is None and room[1] >= 0 and room[0] > self._refused.get(key, -1):
            if self.may_fit(index, variant, room):
                cost = self.item_cost(index, variant)
            else:
                self._refused[key] = room[0]
        return cost if cost is not None and fits_within(cost, room) else None

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

    def may_be_held(self, index: int) -> bool:
        """Return False for an item that is longer than all that are shown whole."""
        return self.options.dedupe and self._contained.may_be_held(index)

    def note_shown(self, index: int, variant: Variant) -> None:
        """Note an item that is shown: `duplicates` looks at no others."""
        self._contained.show(index, variant)

    def is_within(self, index: int, other: int) -> bool:
        """Return True if an item is a range of lines within the range of another."""
        return is_within(self._items[index], self._items[other])

    def join(self, whole: Iterable[int]) -> tuple[Page, Sequence[JoinedVariant]]:
        """Join ranges of one file that touch; return a page where each first one stands for all."""
        if not self.options.merge_overlaps:
            return self, ()
        ranks = self.candidates.ranks
        longest = self.options.item_max_chars
        found = [
            (members, item)
            for members, item in join_ranges(self._items, whole, self.options.score_order)
            # `item_max_chars` may allow less than all of them.
            if longest is None or len(item.content or "") <= longest
        ]
        if not found:
            return self, ()
        page, joined = self.with_items({members[0]: item for members, item in found}), []
        for members, _ in found:
            page.candidates.ranks[members[0]] = max(ranks[index] for index in members)
            joined.append(JoinedVariant(members, page.variants(members[0])[0]))
        return page, joined

    def with_items(self, items: Mapping[int, Item]) -> Page:
        """Return this page with other items in the places of some; what is known stays known."""
        page, pool = copy(self), list(self._items)
        for index, item in items.items():
            pool[index] = item
        ranks = copy(self.candidates.ranks)
        page.candidates = replace(self.candidates, pool=pool, ranks=ranks)
        page._items, page._last = pool, None
        page._costs = without(self._costs, items.keys())
        page._refused = without(self._refused, items.keys())
        page.views = self.views.with_items(pool, items.keys())
        page._contained = self._contained.with_items(pool, items.keys())
        page._bounds = LowerBounds(page)
        for name in ("_every_place", "_tree_paths"):
            page.__dict__.pop(name, None)
        page.__dict__["shortener"] = self.shortener.on(page, items.keys())
        return page

    def note_duplicates(self, packed: Plan, limit: Cost) -> Plan:
        """Note in the metadata of items where their dropped duplicates are from, if that fits."""
        also: dict[int, list[Item]] = {}
        for duplicate, holder in sorted(packed.duplicates.items()):
            if packed.reasons.get(duplicate) == DUPLICATE.name:
                also.setdefault(holder, []).append(self._items[duplicate])
        if not also:
            return packed
        before = {holder: self._items[holder] for holder in also}
        noted = {holder: with_also_in(item, also[holder]) for holder, item in before.items()}
        if limit == (UNLIMITED, UNLIMITED):  # else an item would cost more with a higher budget
            noted = {holder: with_paths_of(item, also[holder]) for holder, item in noted.items()}
        page = self.with_items(noted)
        cost = page.measure(packed.chosen) if packed.chosen else packed.cost
        return packed._replace(page=page, cost=cost) if fits_within(cost, limit) else packed

    def numbered(self, index: int, pieces: Pieces) -> Pieces:
        """Return the pieces of an item's content, with numbers where lines have them."""
        if not self.options.number_lines:
            return pieces
        return pieces.numbered(first_line(self._items[index], "content") or 1)

    def query_passages(self) -> Passages | None:
        """Return the passages that answer the query; None where whole items are packed."""
        asked, options = self.candidates.asked, self.options
        if asked is None or not asked.has_evidence:
            return None
        if options.rerank in ("none", "mmr") or options.trim != "structure":
            return None
        from .query_passages import passages_of

        return passages_of(self, asked)

    # --- the whole page -----------------------------------------------------------------------

    def measure(self, chosen: Mapping[int, Variant]) -> Cost:
        """Return the exact cost of the page with just these items."""
        return self._build(chosen).cost

    def limit_to(self, options: Options) -> None:
        """Hold the page to other limits; all that is known of its items stays known."""
        self.options = options
        if options.tree:  # the larger the budget, the more files it names
            self._last = None
            self.shortener = self.shortener.on(self, ())  # what items cost beside their own

    def with_sources(self, *, shown: bool) -> Page:
        """Return this page with the list of sources, or without it."""
        if shown == self._shows_sources:
            return self
        page = copy(self)
        page._last, page._shows_sources = None, shown
        page.__dict__.pop("shortener", None)
        return page

    def with_blanks(self, packed: Plan, limit: Cost, sections: SectionLimits) -> Plan:
        """Print the blanks of the templates too, where they take no room from any item."""
        if not (self.setting.tight and BUDGET_REASONS.isdisjoint(packed.reasons.values())):
            return packed
        if any(variant != self.variants(i)[0] for i, variant in packed.chosen.items()):
            return packed
        page = Page(self.candidates, replace(self.setting, tight=False))
        page = page.with_sources(shown=self._shows_sources)
        left = dict(sections.most)
        for index in sections.section.keys() & packed.chosen.keys():
            left[sections.section[index]] -= page.item_cost(index, packed.chosen[index])[0]
        cost = page.measure(packed.chosen)
        fits = fits_within(cost, limit) and all(tokens >= 0 for tokens in left.values())
        return packed._replace(page=page, cost=cost) if fits else packed

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
        # What was measured last is mostly what is printed.
        if self._last is not None and self._last.chosen == chosen:
            self.notes = self._last.notes
            return self._last
        parts = self.render(chosen)
        tokens = self.count(parts) if self._in_tokens else 0
        cost = tokens, sum(map(len, parts))
        self._last = _MeasuredPage(dict(chosen), self._order, parts, cost, self.notes)
        return self._last

    def sections(self, indices: Iterable[int], by: str = "", order: str = "") -> list[Section]:
        """Return these items in sections, in the order of the page."""
        by = by or self.group_by
        settings = self.layout.settings
        return group_entries(
            self.candidates.some(indices),
            by,
            order=order or self.options.order,
            first=settings.sections,
            titles=settings.headings if by == "kind" else settings.titles,
            categories=self._categories,
        )

    def order(self, chosen: Mapping[int, Variant]) -> list[int]:
        """Return these items in the order of the page."""
        if self._last is not None and self._last.chosen == chosen:
            return self._last.order
        return self._in_order(chosen)

    def _in_order(self, indices: Iterable[int]) -> list[int]:
        if self.layout.page_uses.isdisjoint(("items", "sections")):
            named = [i for i in indices if self._items[i].origin == "explicit"]
            sections = [*self.sections(named), *self.sections(sorted({*indices}.difference(named)))]
            return [entry.index for entry in flatten_sections(sections)]
        if self.group_by == "none" and self.options.order == "score":
            return sorted(sorted(indices), key=self.candidates.ranks.__getitem__, reverse=True)
        return [entry.index for entry in flatten_sections(self.sections(indices))]

    def section_key_of(self, by: str) -> Callable[[Item], str]:
        """Return the function from an item to its section's key."""
        return section_key_of(by, self._categories)

    def walk(self, indices: Iterable[int]) -> list[int]:
        """Return these items as the layout groups them, the best first in each group.

        That is the order of packing: `order` says how the chosen are shown, not which are chosen.
        """
        return [each.index for each in flatten_sections(self.sections(indices, order="score"))]

    def render(self, chosen: Mapping[int, Variant], *, only: str | None = None) -> list[str]:
        """Return the parts of the page; `only` leaves the items of one origin on it."""
        variables = self.page_variables(chosen, only=only)
        self.notes = ()
        parts, changes = self.layout.render_page(variables, self.tank)
        if self.setting.tight:
            parts = list(filter(None, self.layout.syntax.without_blanks(parts)))
        parts = self.break_up(parts, chosen)
        self.notes += change_notes(changes)
        while parts and self.layout.settings.trim_end and self.layout.syntax.is_trimmable:
            trimmed = parts[-1].rstrip(_WHITE)
            if len(trimmed) < len(parts[-1]):  # else the part stays the item's own text
                parts[-1] = trimmed
            if trimmed:
                break
            parts.pop()
        return parts

    def page_variables(
        self, chosen: Mapping[int, Variant], *, only: str | None = None
    ) -> dict[str, Any]:
        """Return what the template of the page sees."""
        indices = [i for i in chosen if only is None or self._items[i].origin == only]
        variables: dict[str, Any] = dict(self._around)
        if "sections" in self.layout.page_uses:
            sections = self.sections(indices)
            variables["sections"] = self._section_fields(sections, chosen)
            self._order = [entry.index for entry in flatten_sections(sections)]
        else:
            self._order = self._in_order(indices)
        variables["items"] = [self.views.view(index, chosen[index]) for index in self._order]
        variables["total"] = len(self.candidates)
        variables |= dict.fromkeys(("sources", "places", "missing_sources"))
        if self._shows_sources:
            variables["sources"] = self._source_fields(self._order)
            first: dict[str, int] = {}
            for index in self._order:
                first.setdefault(self._place(index), index)
            variables["places"] = self._source_fields(first.values())
            variables["missing_sources"] = len(self._every_place) - len(first)
        variables["tree"] = self._tree_fields(chosen) if self.options.tree else None
        for origin in {"explicit", "similarity"} & self.layout.page_uses:
            these = self.sections([i for i in indices if self._items[i].origin == origin])
            variables[origin] = self._section_fields(these, chosen)
        return variables

    def _place(self, index: int) -> str:
        item = self._items[index]
        return item.path or item.url or item.name or item.id or item.kind

    @late_property
    def _every_place(self) -> frozenset[str]:
        return frozenset(map(self._place, self.candidates.kept))

    def _source_fields(self, indices: Iterable[int]) -> list[Fields]:
        found = []
        for index in indices:
            item = self.views.break_up_labels(self._items[index])[0]
            fields = citation(item) | {"score": shown_score(item, self.options)}
            place = item.path or fields["name"]
            if item.url and place not in (item.path, item.url):
                place = f"{place} ({item.url})"
            found.append(Fields(fields, place=place))
        return found

    def break_up(self, parts: list[str], chosen: Mapping[int, Variant]) -> list[str]:
        """Break up control tokens that two parts of a page make where they meet."""
        if self.views.breaker is None:
            return parts
        settled = {id(self.views.view(index, variant)["text"]) for index, variant in chosen.items()}
        parts, broken, left = self.views.breaker.break_up(parts, settled)
        notes = control_token_notes(broken, left)
        self.notes = tuple((code, f"where texts meet on the page, {said}") for code, said in notes)
        return parts

    def _tree_fields(self, chosen: Mapping[int, Variant]) -> list[Fields] | None:
        """Return the folders and files of the page's items; None where no item has a path.

        What the folders hold besides stands there as well, folded to a part of the budget.
        """
        tokens: dict[str, int] = {}
        same: set[str] = set()
        for index in self._order:
            item = self._items[index]
            path = self.views.break_up_labels(item)[0].path
            if path:
                number = self.item_cost(index, chosen[index])[0]
                if not self._in_tokens:
                    number = self.count([self.text(index, chosen[index])])
                tokens[path] = tokens.get(path, 0) + int(number)
                same.update(paths_of_same_text(item))
        known = self._tree_paths
        same = {known[path] for path in same if path in known}
        limit = min(self.options.max_tokens or math.inf, (self.options.max_chars or math.inf) / 4)
        rows: list[Fields] = []
        from ..selection.file_tree import file_tree

        for entry in file_tree(
            tokens, same=same, unseen=known.values(), max_unseen=limit / TOKENS_PER_UNSEEN
        ):
            row = Fields(entry._asdict())
            row["indent"] = Safe("  " * row.pop("depth"))
            rows.append(row)
        return rows if tokens else None

    @late_property
    def _tree_paths(self) -> dict[str, str]:
        """Path of an item or of a file that was listed beside them → the path as it is shown."""
        paths = {item.path: self.views.break_up_labels(item)[0].path or "" for item in self._items}
        breaker = self.views.breaker
        for path in self.setting.listed:
            paths[path] = path if breaker is None else breaker.controls.break_up(path)[0]
        return {path: shown for path, shown in paths.items() if path}

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
                if self.layout.syntax.marks_lines:
                    key, title = Safe(key), Safe(title)
            elif breaker is not None:
                key, title = (breaker.controls.break_up(text)[0] for text in (key, title))
            items = [self.views.view(e.index, chosen[e.index]) for e in section.entries]
            found.append(Fields(key=key, title=title, items=items))
        return found


def divide_named(
    explicit: Sequence[int], candidates: Candidates, options: Options
) -> tuple[Sequence[int], Sequence[int]]:
    """Divide explicit items into those that are reserved, and those that compete.

    Where nothing is shortened none is reserved, nor where a packing walks the page or the list.
    Items of a list come after those of named sources, both the best first where a query ranks them.
    Those of a list compete where they are the files of a repository, and so do changes but for the
    first ones: a diff of hundreds of files leaves the others room.
    With a query and nothing beside them all changes compete: the first ones left the answer none.
    """
    if not PACKINGS[options.packing].best_first or options.trim == "none":
        return (), explicit
    if not candidates.columns.names:
        return (), explicit
    items, ranks, asked = candidates.pool, candidates.ranks, candidates.asked
    named = [index for index in explicit if items[index].is_reserved]
    if options.packing == "repository":
        named = [index for index in named if items[index].named or not items[index].path]
    elif asked is not None and asked.of_files and asked.has_evidence:
        named = [index for index in named if items[index].named or not is_file(items[index])]
    by_query = asked is not None and asked.has_evidence
    named.sort(
        key=lambda index: (
            not items[index].named,
            (by_query or not items[index].named) and -ranks[index],
        )
    )
    if by_query and 1 < len(explicit) == len(candidates.kept) and are_changes(explicit, items):
        return (), explicit
    changes = [i for i in named if items[i].named and items[i].kind in CHANGE_KINDS]
    competing = {*changes[MAX_CHANGES_NAMED:]}
    named = [index for index in named if index not in competing]
    return named, [*filterfalse({*named}.__contains__, explicit)]


def are_changes(indices: Iterable[int], items: Sequence[Item]) -> bool:
    """Tell whether all of these are changes that git knows.

    A caller's own item may have `changed` in its metadata, but says not whether it is named.
    """
    others = [items[index] for index in indices if items[index].kind not in CHANGE_KINDS]
    return all(i.metadata.get("changed") is True and i.named is not None for i in others)


def is_generated(item: Item) -> bool:
    """Tell whether a program wrote the file, a lock file say, by its name or `.gitattributes`."""
    marked = item.metadata.get("linguist")
    return isinstance(marked, dict) and marked.get("generated") is True


def named_indices(candidates: Candidates, options: Options) -> list[int]:
    """Return the items that come before all that compete: pinned ones, then those reserved."""
    items, pins = candidates.pool, candidates.overrides
    explicit = [
        i
        for i in candidates.kept
        if items[i].origin == "explicit" and not items[i].required and i not in pins
    ]
    return [*sorted(pins), *divide_named(explicit, candidates, options)[0]]


# --- lower bounds -----------------------------------------------------------------------------


class EmptyItemCost(NamedTuple):
    """Tokens of an item of a kind with as good as nothing in it."""

    tokens: int
    """Items of the kind cost no less, but for ends that merge with neighbours."""
    cut: int
    shows: bool
    """True if its content is shown when it has no summary."""


_NOTHING_KNOWN = EmptyItemCost(0, 0, False)


class LowerBounds:
    """Lower bounds of costs in tokens: refused items cannot fit, the others may not fit either."""

    def __init__(self, page: Page) -> None:
        # No page: a circle of both, and all that they hold, would wait for the garbage collector.
        self._views, self._layout, self._options = page.views, page.layout, page.options
        self._shared_end_tokens = page.shared_end_tokens
        self._items = page.candidates.pool
        self._columns = page.candidates.columns
        self._counter = page.counter
        self._empty: dict[str, EmptyItemCost] = {}
        self._max_characters = page.options.item_max_chars

    @late_property
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
                found = self._measure_empty(kind)
            self._empty[kind] = found
        return found

    def _measure_empty(self, kind: str) -> EmptyItemCost:
        # A template may print a fallback for missing labels that is longer than the shortest
        # labels, so both items are measured. A template that prints less for an item with some
        # rare field is not seen through.
        bare = Item(kind=kind, content="")
        labelled = Item(
            kind=kind, content="", name="a", path="a", language="c", start_line=1, end_line=1
        )

        def texts(variant: Variant) -> list[str]:
            return [self._views.bare(item, variant) for item in (bare, labelled)]

        try:
            shows = all(_SENTINEL in text for text in texts(Variant("content", _SENTINEL)))
            tokens, cut = (
                min(self._counter.count_parts([text]) for text in texts(variant))
                for variant in (Variant("content", ""), EMPTY_VARIANT)
            )
        except TemplateError:  # a template for items with more fields than these
            return _NOTHING_KNOWN
        return EmptyItemCost(tokens, cut, shows)

    def may_fit(self, index: int, variant: Variant, tokens: float) -> bool:
        """Return False where it is cheap to see that the variant needs more than `tokens`."""
        item, length = self._items[index], len(variant.text)
        # A template may print the summary in the place of the content.
        shown = min(variant.text, item.summary or variant.text, key=len)
        if len(shown) > 3 * tokens:
            empty = self.empty_cost(item.kind)
            left = int(tokens) + self._shared_end_tokens - empty.tokens
            if empty.shows and self._exceeds(shown, left):
                return False
        if length > 16 * tokens + HUGE_TEXT_CHARACTERS:
            text = str(self._views.view(index, variant)["text"])
            return self._counter.count_upto(text, int(tokens)) <= tokens
        return True

    def exceed(self, indices: Collection[int], tokens: float) -> bool:
        """Return True if these items together need more, each at its least."""
        # What mostly fits is counted anyway.
        if sum(map(self._lengths.__getitem__, indices)) <= MIN_CHARACTERS_PER_TOKEN * tokens:
            return False
        shared, items = self._shared_end_tokens, self._columns.items
        empty = {kind: self.empty_cost(kind) for kind in self._columns.every_kind}
        for index in indices:
            least = empty[items[index].kind]
            needed = least.tokens
            if least.shows and self._lengths[index]:
                text = items[index].content or ""
                needed = max(needed, self._least_tokens(text, int(tokens)))
            tokens -= max(needed - shared, 0)
            if tokens < 0:
                return True
        return False

    def maybe_fitting(self, indices: Sequence[int], tokens: float, trim: bool) -> Sequence[int]:
        """Drop items that certainly do not fit; with `trim` a shortened variant counts too."""
        kinds = {kind: self.empty_cost(kind) for kind in self._columns.every_kind}
        reach = tokens
        if not trim or tokens > MAX_UNUSED_TOKENS:
            reach += self._shared_end_tokens
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
        lengths, items, exceeds = self._lengths, self._columns.items, self._exceeds
        return [
            i
            for i in indices
            if (length := lengths[i]) <= (most := far.get(kind := items[i].kind, -1))
            and (not length or most == math.inf or not exceeds(items[i].content or "", left[kind]))
        ]

    def _too_many_characters(self, tokens: int) -> float:
        chars = self._counter.most_chars(tokens)
        if self._max_characters is not None and self._max_characters < chars:
            return 2.0**63  # contents are cut before they get so long
        return min(chars, 2.0**63)

    def _exceeds(self, text: str, tokens: int) -> bool:
        return tokens < 0 or self._least_tokens(text, tokens) > tokens

    def _least_tokens(self, text: str, limit: int) -> int:
        text = text[: self._max_characters]
        printed = None
        if not self._options.number_lines:  # numbers join the blanks of their lines
            printed = self._layout.syntax.printed_at_least(text, 48 * (limit + 1))
        if printed is None:
            return self._counter.words_at_least(text, limit)
        return self._counter.at_least(printed, limit)
