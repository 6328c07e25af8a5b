"""The account of a rendering, item by item: what is costly to know, worked out when it is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import msgspec

from .fitting import Fit, Form
from .items import Item
from .page import Page
from .profiles import Profile
from .results import ResultItem, ResultSection, Source
from .templates import Templates
from .views import line_range, source_of

EXACT = 64
"""Up to so many items left out, the budget that brings each back is measured; above, it is a sum that suffices."""

LATE = ("items", "sections", "sources", "explicit_text", "similarity_text", "explicit_sources", "manifest")
"""The parts of a result that are here."""


def identify(item: Item) -> str:
    """Return the item's own id, or one made of what it is: equal items have equal ids."""
    if item.id:
        return item.id
    parts = (item.kind, item.path, item.start_line, item.end_line, item.name, item.content, item.summary)
    text = "\0".join("" if part is None else str(part) for part in parts)
    return f"{item.kind[:40]}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a rendering was, for questions about it."""

    page: Page
    fit: Fit
    given: Sequence[Item]
    """The items, in the caller's order."""
    reasons: Mapping[int, str]
    """Index of an item left out → why."""
    order: Sequence[int]
    """The items of the text, in the order of the page."""
    trimmed: frozenset[int]
    profile: Profile
    templates: Templates

    def items(self) -> list[ResultItem]:
        """Return what became of each item."""
        back = self._comes_back()
        return [self._item(index, item, back.get(index)) for index, item in enumerate(self.given)]

    def _item(self, index: int, item: Item, fits_at: int | None) -> ResultItem:
        form = self.fit.chosen.get(index)
        if index in self.page.entries:
            item = self.page.entries[index].item
        text = str.__str__(self.page.text(index, form)) if form else ""
        reason = self.reasons.get(index, "fits")
        if form:
            reason = "budget" if index in self.trimmed else "required" if item.required else "fits"
        return ResultItem(
            id=identify(item),
            kind=item.kind,
            name=item.name,
            path=item.path,
            start_line=item.start_line,
            end_line=item.end_line,
            line_range=line_range(item),
            score=item.score,
            origin=item.origin,
            status="dropped" if form is None else "trimmed" if index in self.trimmed else "included",
            form=form.name if form else None,
            text=text,
            chars=len(text),
            tokens=self.page.counter.count(text) if form else 0,
            tokens_full=self._full(index, item),
            reason=reason,
            fits_at=fits_at,
        )

    def _full(self, index: int, item: Item) -> int:
        if index in self.page.entries:
            return self.page.counter.count(self.page.text(index, self.page.forms(index)[0]))
        return self.page.counter.count(item.expanded or item.content or item.summary or "")

    def _comes_back(self) -> dict[int, int]:
        """Return, for each item the budget shortened or dropped, a budget that holds it and all that rank above it."""
        short = {i for i, reason in self.fit.reasons.items() if reason == "budget"} | self.trimmed
        if not short or self.page.options.max_tokens is None:
            return {}
        walk = [i for i in self._walk() if self.fit.reasons.get(i) not in ("max_items", "duplicate")]
        whole = {i: self.page.forms(i)[0] for i in walk}
        least = self.page.options.max_tokens + 1
        both = {self.page.entries[i].item.origin for i in walk}
        if self.page.options.combine == "combined" and len(both) > 1:  # below the price of everything, shares decide
            everything = max(least, int(self.page.measure(whole)[0]))
            return dict.fromkeys(short, everything)
        if len(short) <= EXACT:
            above: dict[int, Form] = {}
            found = {}
            for index in walk:
                above[index] = whole[index]
                if index in short:
                    found[index] = max(least, int(self.page.measure(above)[0]))
            return found
        # Sums: each item at its price and the most that a page was seen to add for one, its heading included.
        empty = self.page.measure({})[0]
        extra = max(self.page.measure({i: whole[i]})[0] - empty - self.page.price(i, whole[i])[0] for i in walk[:EXACT])
        total, sums = empty, {}
        for index in walk:
            total += self.page.price(index, whole[index])[0] + max(extra, 0) + self.page.joint
            if index in short:
                sums[index] = max(least, int(total))
        return sums

    def _walk(self) -> list[int]:
        """Return the candidates in the order in which they were packed."""
        entries = self.page.entries.values()
        order = [e.index for e in entries if e.item.required]
        for origin in ("explicit", "similarity"):
            side = [e for e in entries if e.item.origin == origin and not e.item.required]
            if self.page.options.packing == "score":
                order += [e.index for e in sorted(side, key=lambda e: -e.rank)]
            else:
                order += self.page.walk(e.index for e in side)
        return order

    def sections(self) -> list[ResultSection]:
        """Return the sections of the page."""
        return [
            ResultSection(
                key=section.key,
                title=section.title,
                items=tuple(identify(entry.item) for entry in section.entries),
                tokens=int(sum(self.page.price(e.index, self.fit.chosen[e.index])[0] for e in section.entries)),
            )
            for section in self.page.sections(self.fit.chosen)
        ]

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
            name: value if not hasattr(value, "count") or isinstance(value, str | tuple) else self.page.counter.name
            for name, value in msgspec.structs.asdict(self.page.options).items()
        }
        return {
            "promptforge": metadata.version("promptforge-engine"),
            "options": msgspec.to_builtins(options),
            "profile": {"name": self.profile.name, "files": {f.name: f.sha256 for f in self.profile.chain}},
            "templates": {
                name: hashlib.sha256(self.templates.source(name)[0].encode()).hexdigest()
                for name in self.page.look.files()
            },
            "tokenizer": {
                "name": self.page.counter.name,
                "fingerprint": self.page.counter.fingerprint,
                "exact": self.page.counter.exact,
            },
            "items": [_digest(item) for item in self.given],
        }


def _digest(item: Item) -> str:
    try:
        data = msgspec.json.encode(item, order="deterministic")
    except (UnicodeEncodeError, TypeError, RecursionError):  # a lone surrogate
        data = repr(item).encode("utf-8", "backslashreplace")
    return hashlib.sha256(data).hexdigest()
