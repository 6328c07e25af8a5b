"""From a request to a printed plan: select candidates, plan steps, pack, print.

`Planner.make` runs it. The plan says in which steps the candidates are packed: required items
first, then sections that are sure of some room, then the items the user named and those a search
found. `at` packs the same candidates into another budget, on pages that remember costs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import msgspec

from ..config.options import TEMPLATE_OPTIONS, Options
from ..config.profiles import Profile
from ..errors import (
    BudgetError,
    Diagnostics,
    Severity,
    did_you_mean,
    list_names,
    quote,
    suggest_name,
)
from ..model import MAX_CHANGES_NAMED, Item, Language, item_texts
from ..packing.pack import Plan, pack
from ..packing.packings import PACKINGS
from ..packing.types import (
    SHORTENED_VARIANTS,
    UNLIMITED,
    Cost,
    PackingStep,
    SectionLimits,
    add_costs,
    content_variant,
    explicit_share_of,
    fits_within,
    over_budget_error,
    sort_best_first,
    subtract_costs,
)
from ..reasons import COMBINE, MERGED
from ..selection.filter import Candidates, Columns, combine, reduce_items, select
from ..syntax.syntax import TAGGED
from ..syntax.syntaxes import unknown_syntax
from ..templating.limits import START_FUEL
from ..templating.loader import Layout, Templates
from ..text.delimiters import BrokenDelimiterError, pick_nonce
from ..text.words import late_property
from ..tokenizers.registry import get_tokenizer
from .context import LanguageTags, Setting, ViewMemory
from .loops import wait_for
from .page import Page, are_changes, divide_named, is_generated

if TYPE_CHECKING:
    from ..selection.scoring import AnyEmbed, Vectors
    from ..text.control_tokens import ControlTokens

MAX_REQUIRED_NAMED = 3
_DEFAULTS = Options()
_LOG = logging.getLogger("promptforge")


class Request(NamedTuple):
    """Items to be rendered, with the templates and options."""

    templates: Templates
    options: Options
    items: list[Item]
    started: float
    beside: Sequence[str] = ()
    """Texts that will stand beside the result's: no nonce may occur in them."""
    apart: bool = False
    """True where each item is sent apart, so no line of it passes for one of the page."""
    listed: Sequence[str] = ()
    """Paths of files that lie beside the items and were not read, for the tree."""

    def with_options(self, **changes: Any) -> Request:
        """Return the same with other options."""
        return self._replace(options=msgspec.structs.replace(self.options, **changes))


@dataclass(frozen=True, eq=False)
class Printed:
    """A printed plan, and all that it was made of. `at` and `with_options` make others of it."""

    request: Request
    planner: Planner
    given: Sequence[Item]
    pages: Sequence[Page]
    """Pages as they were before any was packed; the next one is used where nothing of one fits."""
    page: Page
    packed: Plan
    text: str
    tokens: int

    @late_property
    def trial_pages(self) -> list[Page]:
        """Pages on which other limits are tried; they remember costs from one to the next."""
        return [page.with_items({}) for page in self.pages]

    def with_options(self, changes: Mapping[str, Any]) -> Self:
        """Select, pack and print the same items with other options."""
        request = self.request.with_options(**changes)
        made = self.planner.make(request, Diagnostics(), self.page.candidates.columns)
        return type(self)(**vars(made))


def at(printed: Printed, limits: Mapping[str, Any]) -> tuple[Page, Plan]:
    """Pack the same candidates within other limits; much quicker than `with_options`.

    Raises `BrokenDelimiterError` where that text would hold the tags of contents outside.
    """
    setting = printed.page.setting
    options = msgspec.structs.replace(setting.options, **limits)
    options = _lower_to_window(options, Diagnostics())
    for page in printed.trial_pages:  # each budget has the fuel of a rendering
        page.tank.left, page.tank.spent = START_FUEL, None
        page.limit_to(options)
    page, packed, _ = _pack_first(printed.trial_pages, options, Diagnostics())
    if setting.nonce is not None:
        page.parts(packed.chosen)
    return page, packed


def whole_at(printed: Printed, limits: Mapping[str, Any]) -> tuple[Page, Plan, frozenset[int]]:
    """Return what `at` does, and the items that are whole then."""
    page, packed = at(printed, limits)
    whole = frozenset(packed.chosen) - trimmed_items(page, packed)
    merged = [i for i in packed.duplicates if packed.reasons.get(i) == MERGED.name]
    return page, packed, whole | {i for i in merged if packed.duplicates[i] in whole}


def trimmed_items(page: Page, packed: Plan) -> frozenset[int]:
    """Return the shown items that are shorter than they could be."""
    # An item of nothing but a summary is whole in it, so the first variant never counts.
    shorter = SHORTENED_VARIANTS | {"summary"}
    return frozenset(
        index
        for index, variant in packed.chosen.items()
        if (variant.name in shorter or variant.lost) and variant is not page.variants(index)[0]
    )


class Planner:
    """The way from items to a printed plan, for one profile. Any thread may use it.

    It remembers views of items from one rendering to the next.
    """

    def __init__(self, profile: Profile, embed: AnyEmbed | None) -> None:
        self.profile = profile
        self._embed = _AwaitedEmbed(embed) if embed else None
        self._views = ViewMemory()
        self._language_tags = LanguageTags(profile.language_tags)
        self._language = _language_by(tuple(sorted(profile.language_tags.items())))
        """Tells the language of an item's text, whatever tag is printed."""

    def make(
        self, request: Request, diagnostics: Diagnostics, last: Columns | None = None
    ) -> Printed:
        """Return the printed plan of a request; `last` are the columns of items rendered before.

        Raises `BudgetError` when a required item does not fit, `TemplateError` when a template
        cannot be used.
        """
        if request.options.framing == TAGGED:
            said = diagnostics.copy()
            try:
                return self._make(request, diagnostics, last)
            except BrokenDelimiterError as error:
                diagnostics.go_back(said)
                _say_broken_delimiter(error, diagnostics)
                request = request.with_options(framing="auto")
        return self._make(request, diagnostics, last)

    def _make(self, request: Request, diagnostics: Diagnostics, last: Columns | None) -> Printed:
        layout = request.templates.layout(request.options.layout, request.options.format)
        _say_ineffective(layout, request.options, diagnostics)
        tagged = _is_tagged(layout, request.options, diagnostics)
        controls = self.controls(request.options, diagnostics)
        options = _lower_to_window(request.options, diagnostics)
        items, every = self._select(request, layout, options, diagnostics, last)
        nonce = pick_nonce(_texts(layout, options, every.pool, request.beside)) if tagged else None
        setting = self._setting(layout, options, controls, nonce, request.listed)
        # JSON has no blanks on a page that lacks room; see `Page.with_blanks`.
        is_limited = _limit(options) != (UNLIMITED, UNLIMITED)
        tight = is_limited and layout.ending.split(".")[-1] == "json"
        setting = replace(setting, apart=request.apart, tight=tight)
        sets = [combine(every, options)]
        if len(sets[0]) < len(every) and options.combine == "explicit_first":
            sets.append(every)  # only named items are packed, and all where none of these fits
        pages = [Page(these, setting) for these in sets]
        page, packed = _pack_sets(pages, options, diagnostics)
        parts = page.parts(packed.chosen) if packed.overhead_fits else []
        text, tokens = "".join(parts), int(packed.cost[0])
        if options.max_tokens is None or not parts:
            tokens = setting.counter.count(text)
        return Printed(request, self, items, pages, page, packed, text, tokens)

    def _select(
        self,
        request: Request,
        layout: Layout,
        options: Options,
        diagnostics: Diagnostics,
        last: Columns | None,
    ) -> tuple[list[Item], Candidates]:
        """Return the items, each reduced as the options ask, and the candidates among them."""
        trimmers = layout.trimmers(options.marker, options.compact)
        items, overrides = request.items, dict[int, str]()
        if options.overrides:
            from ..selection.overrides import apply_overrides, find_overrides

            overrides = find_overrides(items, options.overrides, diagnostics)
            items = apply_overrides(items, overrides)
        items = reduce_items(
            items, options, self._language, trimmers, diagnostics, time.thread_time, overrides
        )
        reranker = None
        if callable(options.rerank):
            from ..selection.scoring import Reranker

            reranker = Reranker(options.rerank, options.queries, diagnostics, wait_for)
        columns = (last and last.updated(items)) or Columns(items)
        columns.overrides = overrides
        every = select(
            columns, options, self._language, trimmers, diagnostics, self._embed, reranker
        )
        _LOG.debug("selected %d of %d items", len(every.kept), len(items))
        return items, every

    def _setting(
        self,
        layout: Layout,
        options: Options,
        controls: ControlTokens | None,
        nonce: str | None,
        listed: Sequence[str] = (),
    ) -> Setting:
        tag = self._language_tags.tags(options, layout.settings)
        counter = get_tokenizer(options.tokenizer)
        about = (counter, tag, self._language, self._views, controls, nonce, listed)
        return Setting(layout, options, *about)

    def alone(self, request: Request, diagnostics: Diagnostics) -> str:
        """Return the text of the request's only item in its longest variant, without a page."""
        options, (item,) = request.options, request.items
        layout = request.templates.layout(options.layout, options.format)
        tagged = _is_tagged(layout, options, diagnostics)
        nonce = pick_nonce(_texts(layout, options, [item])) if tagged else None
        controls = self.controls(options, diagnostics)
        setting = self._setting(layout, options, controls, nonce)
        try:
            return Page(Candidates([item], [item.score], [0], {}), setting).alone(0)
        except BrokenDelimiterError as error:
            _say_broken_delimiter(error, diagnostics)
            return self.alone(request.with_options(framing="auto"), diagnostics)

    def controls(self, options: Options, diagnostics: Diagnostics) -> ControlTokens | None:
        """Return the control tokens to break up; None where they are kept as they are."""
        if options.control_text == "keep":
            return None
        if not self.profile.control_tokens:
            message = f"the profile {self.profile.name} names no control_tokens"
            message = f"control_text: escape changes nothing, since {message}"
            diagnostics.add("PF106", f"{message}; choose the profile of the LLM's family")
            return None
        from ..text.control_tokens import control_tokens_of

        return control_tokens_of(self.profile.control_tokens)


@lru_cache(maxsize=16)
def _language_by(tags: tuple[tuple[str, str], ...]) -> Language:
    # One for equal tags: what is remembered of items and a query is remembered with it.
    return LanguageTags(dict(tags)).languages


class _AwaitedEmbed:
    """A caller's function from texts to vectors; what an async one makes is waited for."""

    def __init__(self, embed: AnyEmbed) -> None:
        self._embed = embed
        self._embed_queries: AnyEmbed = getattr(embed, "queries", embed)

    def __call__(self, texts: list[str]) -> Vectors:
        vectors: Vectors = wait_for(self._embed(texts))
        return vectors

    def queries(self, texts: list[str]) -> Vectors:
        vectors: Vectors = wait_for(self._embed_queries(texts))
        return vectors


def _pack_sets(
    pages: Sequence[Page], options: Options, diagnostics: Diagnostics
) -> tuple[Page, Plan]:
    page, packed, section_limits = _pack_first(pages, options, diagnostics)
    if packed.duplicates:
        packed = page.note_duplicates(packed, _limit(options))
        page = cast("Page", packed.page)
    packed = page.with_blanks(packed, _limit(options), section_limits)
    page = cast("Page", packed.page)
    number = len(pages[-1].candidates.kept)
    _LOG.debug("packed %d of %d items (%s)", len(packed.chosen), number, options.packing)
    _say_combined(page.candidates, options, diagnostics)
    if not packed.overhead_fits:
        _say_overhead(packed, options, diagnostics)
    return page, packed


def _naming_required(error: BudgetError, required: Sequence[Item]) -> BudgetError:
    found = (item.name or item.path or item.url for item in required)
    names = [quote(name, 60) for name in found if name]
    if not names:
        return error
    others = [""] * (len(required) - len(names))
    listed = list_names([*names, *others], min(MAX_REQUIRED_NAMED, len(names)))
    said = f"{error.bare}: {listed}"
    return BudgetError(said, needed=error.needed, largest=error.largest)


def _pack_first(
    pages: Sequence[Page], options: Options, diagnostics: Diagnostics
) -> tuple[Page, Plan, SectionLimits]:
    """Pack the first of `pages`, or the next where nothing of it fits; return the maxima, too.

    The list of sources is priced with the items. It goes only where no item has room beside it, or
    no required one.
    """
    tries = [(page, shown) for shown in {options.sources: None, False: None} for page in pages]
    for page, shown in tries:
        page = page.with_sources(shown=shown)
        steps, section_limits = plan_packing(page, options, diagnostics)
        try:
            packed = pack(
                steps,
                page,
                _limit(options),
                packing=options.packing,
                trim=options.trim != "none",
                stubs=options.stubs,
                section_limits=section_limits,
                passages=page.query_passages(),
            )
        except BudgetError as error:
            if not shown:
                required = [page.candidates.pool[i] for i in steps[0].walk]
                raise _naming_required(error, required) from None
            continue
        if packed.chosen or not page.candidates.kept:
            break
    if options.sources and not shown:
        message = "the list of sources is not shown: it leaves the items no room; raise the budget"
        diagnostics.add("PF125", message, severity="info")
    return cast("Page", packed.page), packed, section_limits


def _limit(options: Options) -> Cost:
    limits = (options.max_tokens, options.max_chars)
    tokens, chars = (UNLIMITED if limit is None else limit for limit in limits)
    return tokens, chars


def _lower_to_window(options: Options, diagnostics: Diagnostics) -> Options:
    window, most = options.window_room, options.max_tokens
    if window is None or (most is not None and most <= window):
        return options
    given = "none" if most is None else f"{most:,}"
    message = f"max_tokens was lowered from {given} to {window:,}, the window less the reserve"
    diagnostics.add("PF102", message, severity="info")
    return msgspec.structs.replace(options, max_tokens=window)


def _is_tagged(layout: Layout, options: Options, diagnostics: Diagnostics) -> bool:
    """Return True for contents between tags; a framing that the format lacks is said."""
    tagged = options.framing == TAGGED and layout.syntax.is_taggable
    if options.framing == TAGGED and not tagged:
        # A profile may well ask for tags wherever these can stand.
        message = f"framing: tagged does not go with the format {options.format}; auto was used"
        diagnostics.add("PF107", message, severity="info")
    if not layout.is_syntax_known:
        diagnostics.add("PF130", unknown_syntax(layout.ending, layout.name))
    if tagged and not layout.syntax.marks_lines:
        message = "framing: tagged leaves headings, fences and tags of a content to readers of"
        diagnostics.add("PF712", f"{message} {options.format}; auto hides them", severity="info")
    elif options.format == layout.syntax.name and not tagged and layout.has_bare_items:
        message = f"the layout {options.layout} prints contents alone, so in plain text nothing"
        way_out = "tells where one ends; framing: tagged puts tags around each"
        diagnostics.add("PF712", f"{message} {way_out}", severity="info")
    return tagged


def _texts(
    layout: Layout, options: Options, items: Iterable[Item], beside: Sequence[str] = ()
) -> Iterator[str]:
    for item in items:
        yield from item_texts(item)
    around = (options.query_text, options.header, options.footer, options.separator)
    yield from filter(None, (*around, options.marker, options.fence_language))
    settings = layout.settings
    yield from (layout.sources(), settings.separator or "", *settings.titles.values(), *beside)
    yield from (*settings.words.values(), *settings.of_kinds("title").values())


# --- steps ------------------------------------------------------------------------------------


def plan_packing(
    page: Page, options: Options, diagnostics: Diagnostics
) -> tuple[list[PackingStep], SectionLimits]:
    """Return the steps in which the candidates of `page` are packed, and the sections' maxima."""
    candidates, max_items = page.candidates, options.max_items
    way = PACKINGS[options.packing]
    ranks: Sequence[float] = ()
    required, explicit, similar = _sides(candidates.kept, candidates)
    pinned: list[int] = []
    if candidates.overrides:
        pins = candidates.overrides.keys() - {*required}
        pinned = [index for index in candidates.kept if index in pins]
        explicit, similar = ([i for i in side if i not in pins] for side in (explicit, similar))
    named, explicit = divide_named(explicit, candidates, options)
    if way.best_first:
        ranks = candidates.ranks
        required, explicit, similar = (
            sort_best_first(candidates.newest_first(side), ranks)
            for side in (required, explicit, similar)
        )
    elif not way.fixed_set:
        explicit, similar = page.walk(explicit), page.walk(similar)
    limits, sure = _limit_sections(page, options, (named, explicit, similar), diagnostics)
    steps = [PackingStep(required, required=True)]
    if way.best_first and options.trim != "none":
        named = [*pinned, *named]
    else:
        steps.append(PackingStep(pinned))
    in_section = frozenset(limits.section).union(*(members for members, _ in sure))
    if named and in_section:
        steps.append(PackingStep(named, named=True, share=0))
    limited: list[PackingStep] = []
    if way.fixed_set and limits.most:
        # All items of a step give way together, so a section with a maximum is a step of its own
        # and has its room.
        inside, found = limits.section, similar[:max_items]
        sure = [(members, room) for members, room in sure if members[0] not in inside]
        for name, room in limits.most.items():
            these = [i for i in (*explicit, *found) if inside.get(i) == name]
            limited.append(PackingStep(these, room=room, section=name))
        explicit = [i for i in explicit if i not in inside]
        similar = [i for i in similar if i not in inside]
        if max_items is not None:  # those in a step of their own have their places
            max_items -= sum(index in inside for index in found)
    steps += [PackingStep(members, room=room, ranks=ranks) for members, room in sure]
    steps += limited
    searched = PackingStep(similar, ranks=ranks, most=max_items)
    steps += _share_out(page, options, (required, named, explicit), searched, in_section)
    return [step for step in steps if step.walk], limits


def _share_out(
    page: Page,
    options: Options,
    sides: tuple[Sequence[int], ...],
    searched: PackingStep,
    in_section: frozenset[int],
) -> Iterator[PackingStep]:
    """Yield steps: who comes first takes a share, the others come in, then it uses what is left."""
    required, named, explicit = sides
    limit, share = _limit(options), 1.0
    shares = options.combine == "combined" and len(searched.walk) > 0
    found: Sequence[int] = ()
    if shares and (named or explicit):
        found = searched.walk[: searched.most]  # all of them where `max_items` is None
    named_steps: list[PackingStep] = []
    if named:
        rest = [*explicit, *found] if found else explicit
        if rest:  # a folder's files, say
            share = _explicit_share(page, options, (required, named, rest), limit)
        inside = [index for index in named if index in in_section]
        free = [index for index in named if index not in in_section]
        last = frozenset(i for i in free if is_generated(page.candidates.pool[i]))
        of_all = PackingStep(free, named=True, last=last)
        named_steps = [PackingStep(inside, ranks=searched.ranks), of_all]
    part = 1.0
    if explicit and found:
        part = _explicit_share(page, options, ([*required, *named], explicit, found), limit)
        if share < 1:
            part = share + (1 - share) * part
    shared = min(share, part) < 1
    names = 0
    if len(explicit) > 1 and are_changes(explicit, page.candidates.pool):
        names = MAX_CHANGES_NAMED
    others = PackingStep(explicit, ranks=searched.ranks, shared=shared, names=names)
    yield from (step._replace(share=share, shared=share < 1) for step in named_steps)
    yield from (others._replace(share=part), searched._replace(shared=shared))
    if explicit and found:
        yield others._replace(again=True)
    if share < 1:
        yield from (step._replace(again=True, shared=True) for step in named_steps)


def _sides(
    walk: Sequence[int], candidates: Candidates
) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Divide into required items, other items that the user named, and those a search found."""
    items, origins = candidates.pool, candidates.columns.origins
    if len(origins) < 2 and not candidates.columns.requires:
        return ([], walk, []) if "explicit" in origins else ([], [], walk)
    required = {i for i in walk if items[i].required}
    explicit = [i for i in walk if items[i].origin == "explicit" and i not in required]
    similar = [i for i in walk if items[i].origin != "explicit" and i not in required]
    return [i for i in walk if i in required], explicit, similar


def _explicit_share(
    page: Page, options: Options, sides: tuple[Sequence[int], ...], limit: Cost
) -> float:
    """Return the share of the limit for named items; found ones may leave them more."""
    required, explicit, similar = sides
    named_cost, found_cost = (_sum_costs(page, side, limit) for side in (explicit, similar))
    if fits_within(found_cost, limit):
        # The sum knows no headings. So few items can be measured on a page.
        must = {i: content_variant(page.variants(i)) for i in required}
        found = {i: page.variants(i)[0] for i in similar}
        found_cost = subtract_costs(page.measure({**must, **found}), page.measure(must))
        found_cost = add_costs(found_cost, (page.shared_end_tokens, 0))
    share = explicit_share_of(named_cost, found_cost, limit, options.explicit_share)
    # The sum may be too much and the page not: estimates are rounded up for each item.
    nearly = (2, 1.25)[page.counter.exact]
    if share < 1 and named_cost[0] + found_cost[0] < nearly * limit[0]:
        everything = {i: page.variants(i)[0] for i in (*required, *explicit, *similar)}
        if fits_within(page.measure(everything), limit):
            return 1.0
    return share


def _sum_costs(page: Page, indices: Iterable[int], limit: Cost) -> Cost:
    """Return the sum of these items' costs, or a sum above twice the limit: no more is needed."""
    cost: Cost = (0, 0)
    for index in indices:
        cost = add_costs(cost, page.item_cost(index, page.variants(index)[0]))
        if cost[0] > 2 * limit[0] or cost[1] > 2 * limit[1]:
            break
    return cost


def _limit_sections(
    page: Page, options: Options, sides: tuple[Sequence[int], ...], diagnostics: Diagnostics
) -> tuple[SectionLimits, list[tuple[list[int], float]]]:
    """Return the maxima of sections, and members and room of those that are sure of some."""
    budgets = options.section_budgets
    if not budgets:
        return SectionLimits({}, {}), []
    key = page.section_key_of("kind" if page.group_by == "none" else page.group_by)
    members: dict[str, list[int]] = {name: [] for name in budgets}
    named, explicit, similar = sides
    for index in (*named, *explicit, *similar[: options.max_items]):
        members.get(key(page.candidates.pool[index]), []).append(index)
    _say_absent_sections(
        {key(page.candidates.pool[i]) for i in page.candidates.kept}, budgets, diagnostics
    )
    most, sure = {}, []
    for name, budget in budgets.items():
        room: float = budget.min_tokens
        if options.max_tokens is not None:
            room = max(room, budget.share * options.max_tokens)
        if budget.max_tokens is not None:
            most[name] = budget.max_tokens
            room = min(room, budget.max_tokens)
        if room and members[name]:
            sure.append((members[name], room))
    return SectionLimits({index: name for name in most for index in members[name]}, most), sure


# --- diagnostics ------------------------------------------------------------------------------


def _say_broken_delimiter(error: BrokenDelimiterError, diagnostics: Diagnostics) -> None:
    held = quote(str(error), 60)
    message = "framing: tagged gave way to the format's own"
    diagnostics.add("PF306", f"{message}: the page holds {held} outside of a content")


def _say_ineffective(layout: Layout, options: Options, diagnostics: Diagnostics) -> None:
    where = f"in the layout {options.layout} as {options.format}"
    for name, variable in TEMPLATE_OPTIONS.items():
        if name == "lines" and options.number_lines:
            continue  # the contents have the numbers, whatever the templates use
        if getattr(options, name) != getattr(_DEFAULTS, name) and not layout.uses(variable):
            message = f"{name} changes nothing {where}: its templates do not use {variable}"
            diagnostics.add("PF105", message, severity="info")


def _say_combined(candidates: Candidates, options: Options, diagnostics: Diagnostics) -> None:
    number = sum(reason == COMBINE.name for reason in candidates.dropped.values())
    if number:
        message = f"{number} found items were dropped by combine: {options.combine}"
        diagnostics.add("PF113", f"{message}; combined shows both kinds", severity="info")


def _say_overhead(packed: Plan, options: Options, diagnostics: Diagnostics) -> None:
    if options.strict:
        subject = "the template's own text needs"
        raise over_budget_error(subject, packed.cost, _limit(options), "raise it")
    message = "the budget is smaller than the text of the templates alone, so the output is empty"
    diagnostics.add("PF110", message)


def _say_absent_sections(
    present: set[str], budgets: Iterable[str], diagnostics: Diagnostics
) -> None:
    known = list(filter(None, present))
    for name in budgets:
        # A page may be planned twice, for named items and for all: say it once.
        said = any(d.code == "PF104" and quote(name) in d.message for d in diagnostics)
        if name not in present and not said:
            message = f"section_budgets: no item is in a section {quote(name)}"
            severity: Severity = "info"
            if did_you_mean(name, known):  # a slip of the pen; else the section is only absent
                severity = "warning"
            message += suggest_name(name, known)
            diagnostics.add("PF104", message, severity=severity)
