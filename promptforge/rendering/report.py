"""The report of one rendering: each item with its status and reason, and where the budget went.

Everything costly is a cached property, so it is worked out when somebody asks for it and only once.
Status and reason of an item never wait for `fits_at`: only it and `decisions` try other limits.
The end of the module says what a user should know of a rendering, as diagnostics.
"""

from __future__ import annotations

import hashlib
from collections import Counter as Counts
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from .._version import __version__
from ..config.options import PROMPT_OPTIONS
from ..config.profiles import Profile
from ..errors import Diagnostics, Severity, TemplateError, list_names, quote, suggest_name
from ..model import (
    Decision,
    Explanation,
    Gain,
    Item,
    Remedy,
    ResultItem,
    ResultSection,
    SectionCost,
    ShownItem,
    Source,
    Span,
    Status,
    item_id,
    path_with_lines,
)
from ..packing.pack import Plan
from ..packing.types import Variant
from ..reasons import (
    BUDGET,
    BUDGET_REASONS,
    DUPLICATE,
    FITS,
    MAX_ITEMS,
    MERGED,
    REASONS,
    REQUIRED,
    Note,
    Reason,
)
from ..selection.group import MIN_SHARED_CHARACTERS
from ..syntax.syntax import Syntax
from ..templating.loader import Templates
from ..text.escape import MAX_LABEL_CHARACTERS, show_line
from ..text.format import plural
from ..text.words import late_property
from ..tokenizers.counters import Counter
from .context import citation, line_range
from .page import Page, named_indices
from .planning import Printed, trimmed_items, whole_at

if TYPE_CHECKING:
    from .decisions import Decisions

MORE_TOKENS = 500
MAX_GAINED_NAMES = 3
_OF_ITEM = ("kind", "name", "path", "start_line", "end_line", "score", "origin")


class PlacedItem(NamedTuple):
    """An item on a page: its section and its tokens."""

    section: str
    title: str
    tokens: int
    whole: bool


class Report(Printed):
    """Answers about one rendering, worked out of its printed plan."""

    @property
    def profile(self) -> Profile:
        """The profile in force."""
        return self.planner.profile

    @property
    def templates(self) -> Templates:
        """The templates in force."""
        return self.request.templates

    # --- items --------------------------------------------------------------------------------

    @late_property
    def order(self) -> list[int]:
        """The items of the text, in the order of the page."""
        return self.page.order(self.packed.chosen)

    @late_property
    def trimmed(self) -> frozenset[int]:
        """The items of the text that are shorter than they could be."""
        return trimmed_items(self.page, self.packed)

    @late_property
    def ranked(self) -> list[int]:
        """All items: the candidates in packing order, then the others in the caller's order."""
        others = (index for index in range(len(self.given)) if index not in self._ranks)
        return [*self._ranks, *others]

    @late_property
    def _ranks(self) -> dict[int, int]:
        from .remedies import packing_order

        return {index: rank for rank, index in enumerate(packing_order(self), 1)}

    @late_property
    def _places(self) -> dict[int, int]:
        return {index: place for place, index in enumerate(self.order, 1)}

    def name(self, index: int) -> str:
        """Return the id of an item."""
        return item_id(self._item(index))

    def _item(self, index: int) -> Item:
        # A candidate may have changed on its way: ranges were joined, duplicates noted.
        entries = self.page.candidates
        return entries[index].item if index in entries else self.given[index]

    def reason(self, index: int) -> str:
        """Return why an item is in the text in its variant, or why it was dropped."""
        if index in self.trimmed:
            return BUDGET.name
        if index in self.packed.chosen:
            plain = (REQUIRED if self.given[index].required else FITS).name
            return self.page.candidates.overrides.get(index, plain)
        return self.reasons.get(index, FITS.name)

    @late_property
    def reasons(self) -> Mapping[int, str]:
        """The reason of every dropped item; a range given twice shares the fate of the one kept."""
        candidates, packed = self.page.candidates, self.packed
        reasons = {**candidates.dropped, **packed.reasons}
        for index in candidates.merged:
            kept = self.kept(index)
            if kept in self.trimmed or kept not in packed.chosen:
                reasons[index] = reasons.get(kept, BUDGET.name)
        return reasons

    @late_property
    def counts(self) -> Counts[str]:
        """The number of items dropped, by the reason; quicker than to ask for each."""
        candidates = self.page.candidates
        counts = Counts(candidates.dropped.values())
        counts.update(self.packed.reasons.values())
        for index in candidates.merged:
            counts[candidates.dropped[index]] -= 1
            counts[self.reasons[index]] += 1
        return +counts

    def kept(self, index: int) -> int:
        """Return the item that is kept of a range given twice; any other is its own."""
        merged = self.page.candidates.merged
        while index in merged:
            index = merged[index]
        return index

    def status(self, index: int) -> Status:
        """Return `included`, `trimmed` or `dropped`."""
        if index not in self.packed.chosen:
            return "dropped"
        return "trimmed" if index in self.trimmed else "included"

    def is_whole(self, index: int) -> bool:
        """Return True if the text shows an item whole, alone or as a part of a joined range."""
        return self.status(index) == "included" or self.reason(index) == MERGED.name

    @late_property
    def placed(self) -> dict[int, PlacedItem]:
        """The items of the text by index, in the order of the page."""
        return place_items(self.page, self.packed)

    @late_property
    def items(self) -> tuple[ResultItem, ...]:
        """Every given item with its status and reason."""
        return tuple(map(self.item, range(len(self.given))))

    def item(self, index: int) -> ResultItem:
        """Report one item."""
        item, variant = self._item(index), self.packed.chosen.get(index)
        placed = None
        text = ""
        if variant is not None:
            placed = self.placed[index]
            text = str.__str__(self.page.text(index, variant))
        return ResultItem(
            **{name: getattr(item, name) for name in _OF_ITEM},
            id=item_id(item),
            line_range=line_range(item, self.page.setting.trimmers.marks),
            status=self.status(index),
            form=variant and variant.name,
            text=text,
            chars=len(text),
            tokens=placed.tokens if placed else 0,
            reason=self.reason(index),
            rank=self._ranks.get(index),
            ranking_score=self.page.candidates.ranks[index] if index in self._ranks else None,
            place=self._places.get(index),
            section=placed and placed.section,
            late=partial(self._late_field, index),
        )

    def _late_field(self, index: int, name: str, asked: bool) -> object:
        if name == "tokens_full":
            return self._full_tokens(index, self._item(index))
        if name == "decision":
            return self.decision(index, asked=asked)
        kept = self.kept(index)
        budgets = self.decisions.budgets_of(kept)
        if asked and name == "fits_at":
            return budgets.find(kept)
        for _ in self.decisions.foreseen:
            pass
        return budgets.known(kept) if name == "fits_at" else budgets.too_small(kept)

    def _full_tokens(self, index: int, item: Item) -> int:
        try:
            return item_tokens(self.page, index, self.page.variants(index)[0])
        except TemplateError:
            # Of a dropped item the template may fail, and nobody needs it: count the content.
            if index in self.packed.chosen:
                raise
            return self.page.counter.count(item.expanded or item.content or item.summary or "")

    # --- other limits -------------------------------------------------------------------------

    @late_property
    def decisions(self) -> Decisions:
        """Why items lack room, and the limits that bring them back."""
        from .decisions import Decisions

        lost = {i for i, reason in self.packed.reasons.items() if reason in BUDGET_REASONS}
        lost |= self.trimmed
        ranked = [index for index in self.ranked if index in lost]
        return Decisions(self, ranked)

    def decision(self, index: int, *, asked: bool = True) -> Decision | None:
        """Return why an item lacks room or a place; `None` for any other."""
        return self.decisions.decide(self.kept(index), self.reason(index), asked=asked)

    @late_property
    def next(self) -> tuple[int, int] | None:
        """The smallest larger budget that brings an item back, as far as tried, and the item."""
        return self.decisions.budgets.find_next(self.decisions.lost)

    @late_property
    def next_item(self) -> ResultItem | None:
        """The item that `next` brings back."""
        return None if self.next is None else self.items[self.next[1]]

    @late_property
    def gain(self) -> Gain | None:
        """The gain of 500 tokens more; `None` without a budget in tokens."""
        budget = self.page.options.max_tokens
        if budget is None:
            return None
        page, packed, whole = whole_at(self, {"max_tokens": budget + MORE_TOKENS})
        brought = [i for i in self.ranked if i in whole and not self.is_whole(i)]
        verb = "bring"
        if not brought:
            before = {i: item_tokens(self.page, i, v) for i, v in self.packed.chosen.items()}
            now = {i: item_tokens(page, i, v) for i, v in packed.chosen.items() if i not in whole}
            brought = [i for i in self.ranked if now.get(i, 0) > before.get(i, 0)]
            verb = "show more of" if brought else "bring"
        names = [self._label(index) for index in brought[:MAX_GAINED_NAMES]]
        if len(brought) > MAX_GAINED_NAMES:
            names[-1] = f"{len(brought) + 1 - MAX_GAINED_NAMES:,} more"
        said = " and ".join([", ".join(names[:-1]), *names[-1:]][len(names) < 2 :])
        said = f"+{MORE_TOKENS} tokens would {verb} {said or 'nothing more'}"
        return Gain(tokens=MORE_TOKENS, items=tuple(map(self.name, brought)), says=said)

    def _label(self, index: int) -> str:
        item = self._item(index)
        if item.path:
            return path_with_lines(item.path, item.start_line, item.end_line)
        return item.name or item_id(item)

    def find_remedies(self) -> Iterator[Remedy]:
        """Yield, for each reason of dropped items, options that bring them back."""
        from .remedies import find_remedies

        return find_remedies(self)

    @late_property
    def remedies(self) -> tuple[Remedy, ...]:
        """Options that bring dropped items back, one entry per reason."""
        return tuple(self.find_remedies())

    @late_property
    def explanation(self) -> Explanation:
        """The share of each part in the budget, and what more tokens would bring."""
        budget, overhead = self.page.options.max_tokens, self.page.count(self.page.render({}))
        placed = self.placed if self.text else {}
        between = 0
        if self.text:
            between = self.tokens - overhead - sum(item.tokens for item in placed.values())
        return Explanation(
            tokens=self.tokens,
            max_tokens=budget,
            left=None if budget is None else budget - self.tokens,
            overhead=overhead,
            between=between,
            sections=tuple(
                SectionCost(key=s.key, title=s.title, items=len(s.items), tokens=s.tokens)
                for s in (self.sections if placed else ())
            ),
            gain=self.gain,
        )

    # --- the text -----------------------------------------------------------------------------

    @late_property
    def sections(self) -> tuple[ResultSection, ...]:
        """The sections of the page."""
        return tuple(
            ResultSection(
                key=section.key,
                title=section.title,
                items=tuple(item_id(entry.item) for entry in section.entries),
                tokens=sum(self.placed[entry.index].tokens for entry in section.entries),
            )
            for section in self.page.sections(self.packed.chosen)
        )

    @late_property
    def shown(self) -> tuple[ShownItem, ...]:
        """The contents that the text shows."""
        chosen = self.packed.chosen
        return tuple(
            ShownItem(
                index=index,
                form=chosen[index].name,
                content=str.__str__(self.page.views.view(index, chosen[index])["content"]),
            )
            for index in (self.order if self.text else ())
        )

    @late_property
    def map(self) -> tuple[Span, ...]:
        """The template line that printed each part of the text."""
        if not self.text:
            return ()
        from .source_map import map_text

        ids = {index: self.name(index) for index in self.packed.chosen}
        return tuple(map_text(self.page, self.packed.chosen, ids, self.templates, self.text))

    @late_property
    def sources(self) -> tuple[Source, ...]:
        """The items of the text as sources."""
        items = map(self._item, self.order)
        return tuple(Source(**{**citation(item), "id": item_id(item)}) for item in items)

    def text_of(self, origin: str) -> str:
        """Return the page with the items of one origin alone; "" without any."""
        chosen = self.packed.chosen
        if all(self._item(index).origin != origin for index in chosen):
            return ""
        return "".join(self.page.render(chosen, only=origin))

    @late_property
    def explicit_text(self) -> str:
        """The page with the explicit items alone."""
        return self.text_of("explicit")

    @late_property
    def similarity_text(self) -> str:
        """The page with the similarity items alone."""
        return self.text_of("similarity")

    @late_property
    def explicit_sources(self) -> tuple[str, ...]:
        """Names of the explicit items in the text."""
        items = map(self._item, self.order)
        return tuple(citation(item)["name"] for item in items if item.origin == "explicit")

    @late_property
    def manifest(self) -> dict[str, Any]:
        """Versions and hashes of everything that the text depends on."""
        page = self.page
        own = not isinstance(page.options.tokenizer, str)  # the caller's own object
        options = page.options.plain(page.counter.name if own else None)
        options = {name: value for name, value in options.items() if name not in PROMPT_OPTIONS}
        made_of = manifest_of(self.profile, self.templates, page.layout.files(), page.counter)
        items = [_digest(item) for item in self.given]
        return {**made_of, "options": msgspec.to_builtins(options), "items": items}


def item_tokens(page: Page, index: int, variant: Variant) -> int:
    """Return the tokens of an item alone, even where only characters are limited."""
    if page.options.max_tokens is None:
        return page.count([page.text(index, variant)])
    return int(page.item_cost(index, variant)[0])


def place_items(page: Page, packed: Plan) -> dict[int, PlacedItem]:
    """Return the items of a page by index, in its order, with their tokens."""
    trimmed = trimmed_items(page, packed)
    found = {}
    for section in page.sections(packed.chosen):
        for entry in section.entries:
            index = entry.index
            tokens = item_tokens(page, index, packed.chosen[index])
            found[index] = PlacedItem(section.key, section.title, tokens, index not in trimmed)
    return {index: found[index] for index in page.order(packed.chosen)}


def manifest_of(
    profile: Profile, templates: Templates, names: Iterable[str], counter: Counter
) -> dict[str, Any]:
    """Return the part of a manifest about version, profile, the named templates and tokenizer."""
    texts = {name: templates.source(name)[0] for name in names}
    files = {file.name: file.sha256 for file in profile.chain}
    return {
        "promptforge": __version__,
        "profile": {"name": profile.name, "files": files},
        "templates": {
            name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()
        },
        "tokenizer": {
            "name": counter.name,
            "fingerprint": counter.fingerprint,
            "exact": counter.exact,
        },
    }


def _digest(item: Item) -> str:
    try:
        data = msgspec.json.encode(item, order="deterministic")
    except (UnicodeEncodeError, TypeError, RecursionError):  # a lone surrogate
        data = repr(item).encode("utf-8", "backslashreplace")
    return hashlib.sha256(data).hexdigest()


# --- diagnostics ------------------------------------------------------------------------------

MAX_DROPPED_NAMED = 5
MAX_NAMED_LEFT_OUT = 50
"""Named items without a place that a message names."""
MAX_NAMED_CHARACTERS = 120
"""Characters of these names together; then fewer of them."""
_GROUPINGS = ("auto", "none", "file", "kind", "category", "origin")
_LABELS = ("name", "path", "kind", "language")
_labels_of = attrgetter(*_LABELS)
_INFO_CODES = frozenset({"PF702", "PF703", "PF707"})


def say_of_report(report: Report, diagnostics: Diagnostics) -> None:
    """Add what a user should know of a rendering."""
    page, packed, items = report.page, report.packed, report.given
    reasons = report.counts
    if not items and "PF115" not in {d.code for d in diagnostics}:  # else a file is named
        diagnostics.add("PF115", "there were no items", severity="info")
    elif items and not packed.chosen:
        _say_all_dropped(report, reasons, diagnostics)
    _say_of_items(page, packed, diagnostics)
    if report.templates.own:
        _say_unprinted(report, diagnostics)
    options = page.options
    if (options.min_score, options.max_items, options.min_worth) != (None, None, None):
        from ..selection.thresholds import say_of_limits

        say_of_limits(items, options, report.profile.options, diagnostics)
    if report.profile.model is not None:
        message = f"the model {quote(report.profile.model)} has the profile {report.profile.name}"
        diagnostics.add("PF129", message, severity="info")
    if not page.counter.exact and page.options.max_tokens is not None:
        message = f"tokens are an estimate by {page.counter.name}"
        diagnostics.add("PF501", message, severity="info")
    _say_dropped(report, reasons, diagnostics)
    _say_group_by(page, packed, diagnostics)
    ids = list(filter(None, map(attrgetter("id"), items)))
    if len(set(ids)) < len(ids):
        twice = [name for name, count in Counts(ids).items() if count > 1]
        message = f"several items have the id {quote(twice[0])}"
        if len(twice) > 1:
            message += f" and {len(twice) - 1} more"
        diagnostics.add("PF207", message, severity="info")


def _say_all_dropped(report: Report, reasons: Mapping[str, int], diagnostics: Diagnostics) -> None:
    items = report.given
    counts = ", ".join(f"{count} by {reason}" for reason, count in sorted(reasons.items()))
    subject = f"all {len(items)} were" if len(items) > 1 else "the only one was"
    message = f"no item is in the text: {subject} left out ({counts})"
    if reasons.keys() <= BUDGET_REASONS:
        message += f"; a larger {report.decisions.binding_option()} has room for more"
    field = REASONS[next(iter(reasons))].field if len(reasons) == 1 else None
    # Gathering values takes time with many items, so only where a filter is the only reason.
    values = sorted({getattr(item, field) for item in items} - {None, ""}) if field else None
    if values:
        message += f"; the {field}s there are: {list_names([quote(value) for value in values])}"
    diagnostics.add("PF114", message)


def _say_unprinted(report: Report, diagnostics: Diagnostics) -> None:
    """Name the items that were chosen, and that a template of the user's leaves out."""
    page, chosen = report.page, report.packed.chosen
    parts = set(map(id, page.parts(chosen))) if chosen else set()
    texts = [page.views.view(index, variant)["text"] for index, variant in chosen.items()]
    if all(id(text) in parts and not text.isspace() for text in texts):
        return
    if report.text and _are_in_order(report.text, [each.content for each in report.shown]):
        return  # the page prints their `content`: it need not be printed again to see that
    from .source_map import find_unprinted

    lost = find_unprinted(page, chosen, report.templates)
    if lost:
        message = f"the templates print nothing of {plural(len(lost), 'item', 'items')}"
        message += f" that had room{_named(report, lost)}"
        message += "; print {{ item.text }} of every item, or leave them out by kinds or paths"
        diagnostics.add("PF133", message, where=page.layout.page_name, severity="info")


def _are_in_order(text: str, contents: Iterable[str]) -> bool:
    """Tell whether a text has all of these one after the other, none of them by chance."""
    place = 0
    for content in contents:
        at = text.find(content, place)
        if at < 0 or len(content) < MIN_SHARED_CHARACTERS:
            return False
        place = at + len(content)
    return True


def _say_of_items(page: Page, packed: Plan, diagnostics: Diagnostics) -> None:
    for code, message in page.notes:
        diagnostics.add(code, message)
    notes = page.views.notes
    for index, variant in packed.chosen.items():
        item = page.candidates.pool[index]
        for code, message in notes.get((index, variant), ()) if notes else ():
            severity: Severity = "info" if code in _INFO_CODES else "warning"
            place = _place(item)
            diagnostics.add(code, message, item=item_id(item), where=place, severity=severity)
        _say_of_labels(item, page.layout.syntax, diagnostics)


def _place(item: Item) -> str | None:
    """Return where an item comes from, as its user knows it: a derived id is a hash."""
    if item.path and item.start_line:
        return f"{item.path}:{item.start_line}"
    return item.path or item.name or item.url


def _say_dropped(report: Report, reasons: Counts[str], diagnostics: Diagnostics) -> None:
    packed, trimmed = report.packed, len(report.trimmed)
    dropped = sum(reasons[reason] for reason in BUDGET_REASONS)
    if packed.chosen and (dropped or trimmed):
        merged = report.page.candidates.merged
        total = len(packed.chosen) + len(packed.reasons) + len(merged) - reasons[MERGED.name]
        said = []
        for number, verb in ((dropped, "dropped"), (trimmed, "shortened")):
            if number:
                said.append(f"{verb} {number:,}")
        message = f"{' and '.join(said)} of {plural(total, 'item', 'items')} to fit the budget"
        left_out = _named_left_out(report)
        if left_out:
            message += f"; dropped although named: {left_out}"
        diagnostics.add("PF111", message, severity="info")
        asked = report.page.candidates.asked
        if asked is not None and not asked.has_evidence:
            message = "no item matches the query, so the items' own scores ranked them"
            diagnostics.add(
                "PF128", f"{message}; ask with words that the items use", severity="info"
            )
    noted = {reason.name: reason.note for reason in REASONS.values() if reason.note}
    always = [DUPLICATE.name, MAX_ITEMS.name]
    filters = sorted(noted.keys() - set(always), key=lambda name: (noted[name].code, name))
    # With an empty text PF114 has named the filters.
    for name in (*always, *(filters if packed.chosen else ())):
        if reasons[name]:
            _say_of_reason(report, REASONS[name], noted[name], diagnostics)


def _named_left_out(report: Report) -> str:
    """Return the names of the items that were named and have no place on the page."""
    candidates, reasons = report.page.candidates, report.packed.reasons
    named = named_indices(candidates, report.page.options)
    lost = [index for index in named if reasons.get(index) in BUDGET_REASONS]
    labels = [quote(citation(candidates.pool[index])["name"], 60) for index in lost]
    return list_names(labels, MAX_NAMED_LEFT_OUT)


def _say_of_reason(report: Report, reason: Reason, note: Note, diagnostics: Diagnostics) -> None:
    """Add the note of a reason, with the number and the names of the items that it dropped."""
    number = report.counts[reason.name]
    options = msgspec.structs.asdict(report.page.options)
    message = reason.fill(plural(number, note.one, note.many), options)
    message += _named(report, [i for i, why in report.reasons.items() if why == reason.name])
    if note.way_out:
        message += f"; {reason.fill(note.way_out, options)}"
    diagnostics.add(note.code, message, severity="info")


def _named(report: Report, indices: Iterable[int]) -> str:
    """Return the names or paths of items, as far as they have any."""
    found = map(report.page.candidates.pool.__getitem__, indices)
    names = [item.name or item.path or item.url for item in found]
    known = [quote(name, 60) for name in dict.fromkeys(filter(None, names))]
    if not known:
        return ""
    shown = known[:MAX_DROPPED_NAMED]
    while len(shown) > 1 and sum(map(len, shown)) > MAX_NAMED_CHARACTERS:  # long paths
        shown.pop()
    return f": {list_names(known, len(shown))}"


def _say_group_by(page: Page, packed: Plan, diagnostics: Diagnostics) -> None:
    by = page.options.group_by
    if by in _GROUPINGS or not packed.chosen:
        return
    if not any(by in page.candidates[index].item.metadata for index in packed.chosen):
        message = f"group_by: no item has {quote(by)} in its metadata{suggest_name(by, _GROUPINGS)}"
        diagnostics.add("PF104", message)


def _say_of_labels(item: Item, syntax: Syntax, diagnostics: Diagnostics) -> None:
    name, path, kind, language = _labels_of(item)
    together = f"{name or ''}{path or ''}{kind}{language or ''}"
    tagged = not language or syntax.takes_tag(language)
    if tagged and name != "" and together.isprintable() and len(together) <= MAX_LABEL_CHARACTERS:
        return  # as nearly all are
    said: list[tuple[str, str, Severity]] = []
    for field in _LABELS:
        value = getattr(item, field) or ""
        if item.name == "" and field == "name":
            said.append(("PF201", "empty name; another label of the item is its title", "info"))
        if not value.isprintable() and show_line(value) != value:
            message = f"invisible characters were escaped: {quote(value)}"
            said.append(("PF701", f"{field}: {message}", "warning"))
        if len(value) > MAX_LABEL_CHARACTERS:
            message = f"{field}: cut at {MAX_LABEL_CHARACTERS:,} characters: {quote(value)}"
            said.append(("PF206", message, "warning"))
    if item.language and not syntax.takes_tag(item.language):
        message = f"language: {quote(item.language)} is not a fence tag; the fence has none"
        said.append(("PF210", message, "warning"))
    for code, message, severity in said:
        diagnostics.add(code, message, item=item_id(item), severity=severity)
