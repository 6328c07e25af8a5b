"""From what fits to the result: the text, and an account of every item. What is costly waits until it is asked for.

The account of a rendering, item by item: what is costly to know, worked out when it is asked for.

Where the budget went, and what more of it would bring: sums over a page that is done.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from .._version import __version__
from ..config.options import PROMPT_OPTIONS
from ..config.profiles import Profile
from ..errors import BudgetError, Diagnostics, TemplateError, list_names, quote, suggest_name
from ..model import (
    Explanation,
    Gain,
    Item,
    Remedy,
    Result,
    ResultItem,
    ResultSection,
    SectionCost,
    Source,
    Span,
    Status,
)
from ..model import ShownItem as ShownItem_of_model
from ..packing.pack import Packed
from ..packing.types import SHORTENED_VARIANTS, Variant
from ..templating.loader import Templates
from ..text.escape import INVISIBLE_CHARACTER, MAX_LABEL_CHARACTERS
from ..text.fences import FENCE_TAG
from ..tokenizers.base import Counter
from .budget_hints import BudgetHints, find_remedies, packing_order
from .context import citation, line_range
from .page import Page
from .source_map import map_text

MORE_TOKENS = 1000
"""How much larger the budget is that an explanation looks at, in tokens."""

MAX_SECTIONS_MEASURED = 64
"""With more sections than these, the page is not measured once for each."""


class ShownItem(NamedTuple):
    """An item on a page."""

    section: str
    title: str
    tokens: int
    worth: float
    whole: bool


def item_tokens(page: Page, index: int, form: Variant) -> int:
    """Return the tokens of an item alone, whatever unit the limits are in."""
    in_tokens = page.options.max_tokens is not None
    return int(page.price(index, form)[0]) if in_tokens else page.count([page.text(index, form)])


def shown_items(
    page: Page, chosen: Mapping[int, Variant], trimmed: Iterable[int]
) -> dict[int, ShownItem]:
    """Return the items of the page by index: what each costs and is worth there.

    An item is worth its score (what a query made of it), never less than nothing; shortened, the share of its tokens.
    """
    short = frozenset(trimmed)
    found = {}
    for section in page.sections(chosen):
        for entry in section.entries:
            tokens = item_tokens(page, entry.index, chosen[entry.index])
            share = 1.0
            if entry.index in short:
                share = min(
                    1.0, tokens / max(1, item_tokens(page, entry.index, page.forms(entry.index)[0]))
                )
            worth = max(entry.rank, 0.0) * share
            found[entry.index] = ShownItem(
                section.key, section.title, tokens, worth, entry.index not in short
            )
    return found


def overhead(page: Page) -> int:
    """Return the tokens of the page without any item."""
    return page.count(page.render({}))


def section_costs(
    page: Page, chosen: Mapping[int, Variant], items: Mapping[int, ShownItem], empty: int
) -> list[SectionCost]:
    """Return what each section costs; `empty` is what the page costs without items."""
    sections = page.sections(chosen)
    shown: dict[int, Variant] = {}
    before, found = empty, []
    for section in sections:
        subtotal = None
        if len(sections) <= MAX_SECTIONS_MEASURED:
            shown |= {entry.index: chosen[entry.index] for entry in section.entries}
            cost = page.count(page.render(shown))
            subtotal, before = cost - before, cost
        found.append(
            SectionCost(
                key=section.key,
                title=section.title,
                items=len(section.entries),
                tokens=sum(items[entry.index].tokens for entry in section.entries),
                subtotal=subtotal,
            )
        )
    return found


def gains_of_more(
    before: Mapping[int, ShownItem], after: Mapping[int, ShownItem], name: Callable[[int], str]
) -> list[Gain]:
    """Return, by section, what `after` has more than `before`; `name` gives the id of an item."""
    titles = {item.section: item.title for item in (*after.values(), *before.values())}
    found = []
    for key, title in titles.items():
        old = {i: item for i, item in before.items() if item.section == key}
        new = {i: item for i, item in after.items() if item.section == key}
        if old == new:
            continue
        grown = [i for i, item in new.items() if i not in old or item.worth > old[i].worth]
        found.append(
            Gain(
                key=key,
                title=title,
                items=tuple(map(name, grown)),
                tokens=sum(item.tokens for item in new.values())
                - sum(item.tokens for item in old.values()),
                worth=round(
                    sum(item.worth for item in new.values())
                    - sum(item.worth for item in old.values()),
                    6,
                ),
            )
        )
    return found


REPORT_FIELDS = (
    "items", "sections", "sources", "explicit_text", "similarity_text", "explicit_sources", "manifest",
    "map", "explanation", "shown", "taken", "made_of", "ledger", "ways",
    "brief",
)  # fmt: skip
"""The parts of a result that are here."""


def item_id(item: Item) -> str:
    """Return the item's own id, or one made of what it is: equal items have equal ids."""
    if item.id:
        return item.id
    parts = (
        item.kind,
        item.path,
        item.start_line,
        item.end_line,
        item.name,
        item.content,
        item.summary,
    )
    text = "\0".join("" if part is None else str(part) for part in parts)
    return (
        f"{item.kind[:40]}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    )


@dataclass(frozen=True)
class Report:
    """What a rendering was, for questions about it."""

    page: Page
    fit: Packed
    given: Sequence[Item]
    """The items, in the caller's order."""
    profile: Profile
    templates: Templates
    text: str
    tokens: int
    again: Callable[[Mapping[str, Any]], Result]
    """The same rendering with other options."""
    refit: Callable[[int], tuple[Page, Packed]]
    """The same candidates packed into another budget in tokens."""

    @cached_property
    def order(self) -> list[int]:
        """The items of the text, in the order of the page."""
        return [
            entry.index
            for section in self.page.sections(self.fit.chosen)
            for entry in section.entries
        ]

    @cached_property
    def trimmed(self) -> frozenset[int]:
        """The items of the text that are shorter than they could be."""
        return _trimmed(self.page, self.fit)

    @cached_property
    def ranked(self) -> list[int]:
        """All items: the candidates in the order in which they were packed, then the others in the caller's."""
        there = self._ranks
        return self._line + [index for index in range(len(self.given)) if index not in there]

    @cached_property
    def _line(self) -> list[int]:
        return packing_order(self.page)

    @cached_property
    def _ranks(self) -> dict[int, int]:
        return {index: rank for rank, index in enumerate(self._line, 1)}

    def name(self, index: int) -> str:
        """Return the id of an item."""
        entries = self.page.entries
        return item_id(entries[index].item if index in entries else self.given[index])

    def reason(self, index: int) -> str:
        """Return why an item is in the text as it is, or why it is not."""
        if index in self.fit.chosen:
            if index in self.trimmed:
                return "budget"
            return "required" if self.given[index].required else "fits"
        return self.fit.reasons.get(index) or self.page.entries.dropped.get(index, "fits")

    @cached_property
    def back(self) -> BudgetHints:
        """For items that the budget shortened or left out: budgets that hold them."""
        left = {
            index
            for index, reason in self.fit.reasons.items()
            if reason in ("budget", "section_budget")
        }
        return BudgetHints(
            self.page, self.fit, self._line, left | self.trimmed, self._whole, MORE_TOKENS
        )

    def _whole(self, budget: int) -> frozenset[int]:
        try:
            page, fit = self.refit(budget)
        except (BudgetError, TemplateError):  # what that budget shows cannot be shown
            return frozenset()
        return frozenset(fit.chosen) - _trimmed(page, fit)

    @cached_property
    def _taken_ahead(self) -> dict[int, ShownItem]:
        page, fit = self.refit((self.page.options.max_tokens or 0) + MORE_TOKENS)
        return shown_items(page, fit.chosen, _trimmed(page, fit))

    @cached_property
    def _taken(self) -> dict[int, ShownItem]:
        return shown_items(self.page, self.fit.chosen, self.trimmed)

    def taken(self) -> dict[int, ShownItem]:
        """Return the items of the text by index, with what each costs and is worth."""
        return self._taken

    def made_of(self) -> tuple[Page, Templates, Profile]:
        """Return what the text was made with."""
        return self.page, self.templates, self.profile

    def ledger(self) -> Report:
        """Return all this: a table of few items need not work out the account of all."""
        return self

    def items(self) -> list[ResultItem]:
        """Return what became of each item."""
        return [self.item(index, self.back.at) for index in range(len(self.given))]

    def brief(self) -> list[ResultItem]:
        """Return the same without what those cost that are out, which most of the work is for."""
        return [self.item(index, lambda _: None, full=False) for index in range(len(self.given))]

    def item(
        self, index: int, back: Callable[[int], int | None], *, full: bool = True
    ) -> ResultItem:
        """Return what became of an item; `back` tells the budget that brings it back, `full` asks its whole price."""
        form = self.fit.chosen.get(index)
        item = self.page.entries[index].item if index in self.page.entries else self.given[index]
        text = str.__str__(self.page.text(index, form)) if form else ""
        return ResultItem(
            id=self.name(index),
            kind=item.kind,
            name=item.name,
            path=item.path,
            start_line=item.start_line,
            end_line=item.end_line,
            line_range=line_range(item),
            score=item.score,
            origin=item.origin,
            status=self.status(index),
            form=form.name if form else None,
            text=text,
            chars=len(text),
            tokens=self._taken[index].tokens if form else 0,
            tokens_full=self._full(index, item) if full else 0,
            reason=self.reason(index),
            fits_at=back(index),
            rank=self._ranks.get(index),
            section=self._taken[index].section if form else None,
        )

    def status(self, index: int) -> Status:
        """Return whether an item is in the text, shortened, or not."""
        if index not in self.fit.chosen:
            return "dropped"
        return "trimmed" if index in self.trimmed else "included"

    def _full(self, index: int, item: Item) -> int:
        """Return what an item takes whole; of one whose look fails, and that is not needed, what its content takes."""
        try:
            return item_tokens(self.page, index, self.page.forms(index)[0])
        except TemplateError:
            if index in self.fit.chosen:
                raise
            return self.page.counter.count(item.expanded or item.content or item.summary or "")

    def sections(self) -> list[ResultSection]:
        """Return the sections of the page."""
        return [
            ResultSection(
                key=section.key,
                title=section.title,
                items=tuple(item_id(entry.item) for entry in section.entries),
                tokens=sum(self._taken[entry.index].tokens for entry in section.entries),
            )
            for section in self.page.sections(self.fit.chosen)
        ]

    def shown(self) -> list[ShownItem_of_model]:
        """Return what the text shows of its items."""
        if not self.text:
            return []
        forms = {index: self.fit.chosen[index] for index in self.order}
        return [
            ShownItem_of_model(
                index=index,
                form=form.name,
                content=str.__str__(self.page.views.view(index, form)["content"]),
            )
            for index, form in forms.items()
        ]

    def map(self) -> list[Span]:
        """Return what printed each part of the text."""
        if not self.text:
            return []
        ids = {index: self.name(index) for index in self.fit.chosen}
        return map_text(self.page, self.fit.chosen, ids, self.templates, self.text)

    def explanation(self) -> Explanation:
        """Return where the budget went, and what more of it would bring."""
        most, empty = self.page.options.max_tokens, overhead(self.page)
        shown = self._taken if self.text else {}
        costs = section_costs(self.page, self.fit.chosen, shown, empty) if shown else []
        more = None if most is None else tuple(gains_of_more(shown, self._taken_ahead, self.name))
        first = self.back.first()
        return Explanation(
            tokens=self.tokens,
            max_tokens=most,
            left=None if most is None else most - self.tokens,
            frame=empty,
            between=self.tokens - empty - sum(item.tokens for item in shown.values())
            if self.text
            else 0,
            sections=tuple(costs),
            next_at=None if first is None else first[0],
            next_item=None if first is None else self.name(first[1]),
            step=MORE_TOKENS,
            gains=more,
        )

    def ways(self) -> list[Remedy]:
        """Return what would bring items back that no number of tokens does."""
        return find_remedies(self, lambda changes: self.again(changes)._get("ledger"))

    def sources(self) -> list[Source]:
        """Return the items of the text as sources."""
        items = [self.page.entries[index].item for index in self.order]
        return [Source(**{**citation(item), "id": item_id(item)}) for item in items]

    def _only(self, origin: str) -> str:
        if not any(self.page.entries[i].item.origin == origin for i in self.fit.chosen):
            return ""
        return "".join(self.page.render(self.fit.chosen, only=origin))

    def explicit_text(self) -> str:
        """Return the page with only explicit items."""
        return self._only("explicit")

    def similarity_text(self) -> str:
        """Return the page with only similarity items."""
        return self._only("similarity")

    def explicit_sources(self) -> list[str]:
        """Return the names of the explicit items."""
        items = [self.page.entries[index].item for index in self.order]
        return [citation(item)["name"] for item in items if item.origin == "explicit"]

    def manifest(self) -> dict[str, Any]:
        """Return versions and hashes of all that the text depends on."""
        options = {
            name: value
            if not hasattr(value, "count") or isinstance(value, str | tuple)
            else self.page.counter.name
            for name, value in msgspec.structs.asdict(self.page.options).items()
            if name not in PROMPT_OPTIONS
        }
        return {
            **manifest_of(self.profile, self.templates, self.page.look.files(), self.page.counter),
            "options": msgspec.to_builtins(options),
            "items": [_digest(item) for item in self.given],
        }


def _trimmed(page: Page, fit: Packed) -> frozenset[int]:
    shorter = SHORTENED_VARIANTS | {"summary"}
    return frozenset(
        index
        for index, form in fit.chosen.items()
        if form.name in shorter and form is not page.forms(index)[0]
    )


def manifest_of(
    profile: Profile, templates: Templates, names: Iterable[str], counter: Counter
) -> dict[str, Any]:
    """Return what a manifest says of the version, a profile, the templates of these names and a tokenizer."""
    texts = {name: templates.source(name)[0] for name in names}
    return {
        "promptforge": __version__,
        "profile": {
            "name": profile.name,
            "files": {file.name: file.sha256 for file in profile.chain},
        },
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


_CUT = frozenset({"budget", "section_budget"})

_FILTERED = {"kinds": "kind", "languages": "language", "paths": "path"}
"""Option that leaves items out → their field that it looks at."""

_LABELS = ("name", "path", "kind", "language")


def make_result(
    page: Page,
    fit: Packed,
    items: list[Item],
    profile: Profile,
    templates: Templates,
    diagnostics: Diagnostics,
    started: float,
    again: Callable[[Mapping[str, Any]], Result],
    refit: Callable[[int], tuple[Page, Packed]],
) -> Result:
    """Return the result of a rendering; see `Result` for what it says.

    `again` makes the result of the same rendering with other options, when somebody asks what these would bring.
    """
    options, counter = page.options, page.counter
    parts = page.parts(fit.chosen) if fit.frame_fits else []
    text = "".join(parts)
    tokens = int(fit.cost[0]) if options.max_tokens is not None and parts else counter.count(text)
    ledger = Report(page, fit, items, profile, templates, text, tokens, again, refit)
    shown = [page.entries[index].item for index in ledger.order]
    counts = Counts(fit.reasons.values()) + Counts(page.entries.dropped.values())
    _say_none(items, shown, counts, diagnostics)
    _say(page, fit, len(ledger.trimmed), counts, diagnostics)
    _say_twice([item.id for item in items if item.id], diagnostics)
    return Result(
        text=text,
        tokens=tokens,
        max_tokens=options.max_tokens,
        exact=counter.exact,
        tokenizer=counter.name,
        layout=options.layout,
        format=options.format,
        profile=profile.name,
        mode=options.combine,
        query=options.query,
        counts=(len(shown), len(ledger.trimmed), len(items) - len(shown)),
        average_score=sum(page.entries[index].item.score for index in fit.chosen) / len(shown)
        if shown
        else 0.0,
        truncated=bool(ledger.trimmed) or not _CUT.isdisjoint(counts),
        files=tuple(dict.fromkeys(item.path for item in shown if item.path is not None)),
        build_seconds=time.perf_counter() - started,
        warnings=tuple(diagnostics),
        late={name: getattr(ledger, name) for name in REPORT_FIELDS},
    )


def _say_none(
    items: list[Item], shown: list[Item], counts: Counts[str], diagnostics: Diagnostics
) -> None:
    """Say why nothing is shown."""
    if not items:
        diagnostics.add("PF115", "there were no items", severity="info")
    elif not shown:
        why = ", ".join(f"{reason} {count}" for reason, count in sorted(counts.items()))
        all_of_them = f"all {len(items)} were" if len(items) > 1 else "the one there is was"
        message = f"no item is in the text: {all_of_them} left out ({why})"
        if set(counts) <= _CUT:
            message += "; a larger max_tokens has room for more"
        field = _FILTERED.get(next(iter(counts)), "") if len(counts) == 1 else ""
        if field and (there := {value for item in items if (value := getattr(item, field))}):
            message += (
                f"; the {field}s there are: {list_names([quote(value) for value in sorted(there)])}"
            )
        diagnostics.add("PF114", message, severity="info" if set(counts) <= _CUT else "warning")


def _say(
    page: Page, fit: Packed, trimmed: int, counts: Counts[str], diagnostics: Diagnostics
) -> None:
    for code, message in page.notes:
        diagnostics.add(code, message)
    for index, form in fit.chosen.items():
        item = page.entries[index].item
        notes = page.views.notes.get((index, form), ())
        for code, message in notes:
            severity = "info" if code in ("PF702", "PF703", "PF707") else "warning"
            diagnostics.add(code, message, item=item_id(item), severity=severity)  # type: ignore[arg-type]
        _say_labels(item, page.look.syntax, diagnostics)
    counter, options = page.counter, page.options
    if not counter.exact and options.max_tokens is not None:
        diagnostics.add("PF501", f"tokens are an estimate by {counter.name}", severity="info")
    left = sum(counts[reason] for reason in _CUT)
    if fit.chosen and (left or trimmed):
        total = len(fit.chosen) + len(fit.reasons)
        said = [
            f"{number} of {total} items {'was' if number == 1 else 'were'} {what}"
            if total > 1
            else f"the item was {what}"
            for number, what in ((left, "left out"), (trimmed, "shortened"))
            if number
        ]
        diagnostics.add("PF111", f"{' and '.join(said)} to keep the budget", severity="info")
    if twice := counts["duplicate"]:
        said_once = f"{twice} item{'s hold' if twice > 1 else ' holds'} the text of another and"
        diagnostics.add(
            "PF120", f"{said_once} {'were' if twice > 1 else 'was'} left out", severity="info"
        )
    over = counts["max_items"]
    if over:
        diagnostics.add(
            "PF112", f"{over} found items are past max_items {options.max_items}", severity="info"
        )
    by = options.group_by
    known = ("auto", "none", "file", "kind", "category", "origin")
    if (
        by not in known
        and fit.chosen
        and not any(by in page.entries[index].item.metadata for index in fit.chosen)
    ):
        hint = suggest_name(by, known)
        diagnostics.add("PF104", f"group_by: no item has {quote(by)} in its metadata{hint}")


def _say_twice(ids: list[str], diagnostics: Diagnostics) -> None:
    if len(set(ids)) == len(ids):
        return
    twice = [name for name, count in Counts(ids).items() if count > 1]
    more = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
    message = f"the id {quote(twice[0])}{more}: of several items each"
    diagnostics.add("PF207", message, severity="info")


def _say_labels(item: Item, syntax: str, diagnostics: Diagnostics) -> None:
    for field in _LABELS:
        value = getattr(item, field)
        if value == "" and field == "name":
            diagnostics.add(
                "PF201",
                "name: empty; the item is called by what else it is",
                item=item_id(item),
                severity="info",
            )
        if not value:
            continue
        if not value.isprintable() and INVISIBLE_CHARACTER.search(value):
            message = (
                f"{field}: characters that cannot be seen are shown as escapes: {quote(value)}"
            )
            diagnostics.add("PF701", message, item=item_id(item))
        if len(value) > MAX_LABEL_CHARACTERS:
            diagnostics.add(
                "PF206",
                f"{field}: cut at {MAX_LABEL_CHARACTERS:,} characters: {quote(value)}",
                item=item_id(item),
            )
    if item.language and syntax == "md" and not FENCE_TAG.fullmatch(item.language):
        message = f"language: {quote(item.language)} is no tag of a fence, so the fence has none"
        diagnostics.add("PF210", message, item=item_id(item))
