"""The account of a rendering, item by item: what is costly to know, worked out when it is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from . import __version__
from .counting import Counter
from .errors import BudgetError, TemplateError
from .explaining import STEP, Taken, frame, gains, section_costs, taken, tokens_of
from .explanations import Explanation, Way
from .fitting.fit import Fit
from .fitting.scale import SHORTENED
from .items import Item
from .mapping import map_text
from .options import PROMPT
from .page import Page
from .profiles import Profile
from .results import Result, ResultItem, ResultSection, Shown, Source, Span, Status
from .returns import Returns, walk
from .templates import Templates
from .views import line_range, source_of
from .ways import ways

LATE = (
    "items", "sections", "sources", "explicit_text", "similarity_text", "explicit_sources", "manifest",
    "map", "explanation", "shown", "taken", "made_of", "ledger", "ways",
    "brief",
)  # fmt: skip
"""The parts of a result that are here."""


def identify(item: Item) -> str:
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
class Ledger:
    """What a rendering was, for questions about it."""

    page: Page
    fit: Fit
    given: Sequence[Item]
    """The items, in the caller's order."""
    profile: Profile
    templates: Templates
    text: str
    tokens: int
    again: Callable[[Mapping[str, Any]], Result]
    """The same rendering with other options."""
    refit: Callable[[int], tuple[Page, Fit]]
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
        return walk(self.page)

    @cached_property
    def _ranks(self) -> dict[int, int]:
        return {index: rank for rank, index in enumerate(self._line, 1)}

    def name(self, index: int) -> str:
        """Return the id of an item."""
        entries = self.page.entries
        return identify(entries[index].item if index in entries else self.given[index])

    def reason(self, index: int) -> str:
        """Return why an item is in the text as it is, or why it is not."""
        if index in self.fit.chosen:
            if index in self.trimmed:
                return "budget"
            return "required" if self.given[index].required else "fits"
        return self.fit.reasons.get(index) or self.page.entries.dropped.get(index, "fits")

    @cached_property
    def back(self) -> Returns:
        """For items that the budget shortened or left out: budgets that hold them."""
        left = {
            index
            for index, reason in self.fit.reasons.items()
            if reason in ("budget", "section_budget")
        }
        return Returns(self.page, self.fit, self._line, left | self.trimmed, self._whole, STEP)

    def _whole(self, budget: int) -> frozenset[int]:
        try:
            page, fit = self.refit(budget)
        except (BudgetError, TemplateError):  # what that budget shows cannot be shown
            return frozenset()
        return frozenset(fit.chosen) - _trimmed(page, fit)

    @cached_property
    def _taken_ahead(self) -> dict[int, Taken]:
        page, fit = self.refit((self.page.options.max_tokens or 0) + STEP)
        return taken(page, fit.chosen, _trimmed(page, fit))

    @cached_property
    def _taken(self) -> dict[int, Taken]:
        return taken(self.page, self.fit.chosen, self.trimmed)

    def taken(self) -> dict[int, Taken]:
        """Return the items of the text by index, with what each costs and is worth."""
        return self._taken

    def made_of(self) -> tuple[Page, Templates, Profile]:
        """Return what the text was made with."""
        return self.page, self.templates, self.profile

    def ledger(self) -> Ledger:
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
            return tokens_of(self.page, index, self.page.forms(index)[0])
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
                items=tuple(identify(entry.item) for entry in section.entries),
                tokens=sum(self._taken[entry.index].tokens for entry in section.entries),
            )
            for section in self.page.sections(self.fit.chosen)
        ]

    def shown(self) -> list[Shown]:
        """Return what the text shows of its items."""
        if not self.text:
            return []
        forms = {index: self.fit.chosen[index] for index in self.order}
        return [
            Shown(
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
        most, empty = self.page.options.max_tokens, frame(self.page)
        shown = self._taken if self.text else {}
        costs = section_costs(self.page, self.fit.chosen, shown, empty) if shown else []
        more = None if most is None else tuple(gains(shown, self._taken_ahead, self.name))
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
            step=STEP,
            gains=more,
        )

    def ways(self) -> list[Way]:
        """Return what would bring items back that no number of tokens does."""
        return ways(self, lambda changes: self.again(changes)._get("ledger"))

    def sources(self) -> list[Source]:
        """Return the items of the text as sources."""
        items = [self.page.entries[index].item for index in self.order]
        return [Source(**{**source_of(item), "id": identify(item)}) for item in items]

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
        return [source_of(item)["name"] for item in items if item.origin == "explicit"]

    def manifest(self) -> dict[str, Any]:
        """Return versions and hashes of all that the text depends on."""
        options = {
            name: value
            if not hasattr(value, "count") or isinstance(value, str | tuple)
            else self.page.counter.name
            for name, value in msgspec.structs.asdict(self.page.options).items()
            if name not in PROMPT
        }
        return {
            **made_with(self.profile, self.templates, self.page.look.files(), self.page.counter),
            "options": msgspec.to_builtins(options),
            "items": [_digest(item) for item in self.given],
        }


def _trimmed(page: Page, fit: Fit) -> frozenset[int]:
    shorter = SHORTENED | {"summary"}
    return frozenset(
        index
        for index, form in fit.chosen.items()
        if form.name in shorter and form is not page.forms(index)[0]
    )


def made_with(
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
