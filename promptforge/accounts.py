"""From what fits to the result: the text, and an account of every item. What is costly waits until it is asked for."""

from __future__ import annotations

import hashlib
import time
from collections import Counter as Counts
from importlib import metadata
from typing import Any

import msgspec

from .counting import Counter
from .diagnostics import Diagnostics
from .errors import nearest, quote
from .escaping import INVISIBLE, LABEL_CAP
from .fencing import TAG
from .fitting import Cost, Fit, Form
from .items import Item
from .options import Options
from .page import Page
from .profiles import Profile
from .results import Result, ResultItem, ResultSection, Source
from .templates import Look, Templates
from .views import line_range, source_of

EXACT = 64
"""Up to so many items left out, the budget that brings each back is measured; above, it is a sum that suffices."""
_LABELS = ("name", "path", "kind", "language")


def identify(item: Item) -> str:
    """Return the item's own id, or one made of what it is: equal items have equal ids."""
    if item.id:
        return item.id
    parts = (item.kind, item.path, item.start_line, item.end_line, item.name, item.content, item.summary)
    text = "\0".join("" if part is None else str(part) for part in parts)
    return f"{item.kind[:40]}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def account(
    page: Page,
    fit: Fit,
    items: list[Item],
    dropped: dict[int, str],
    options: Options,
    profile: Profile,
    look: Look,
    counter: Counter,
    limit: Cost,
    diagnostics: Diagnostics,
    started: float,
    templates: Templates,
) -> Result:
    """Return the result of a rendering; see `Result` for what it says."""
    parts = page.parts(fit.chosen) if fit.frame_fits else []
    text = "".join(parts)
    tokens = int(fit.cost[0]) if options.max_tokens is not None and parts else counter.count(text)
    shown = {index: page.entries[index] for index in fit.chosen}
    reasons = {**dropped, **fit.reasons}
    if items and not fit.chosen:
        why = ", ".join(f"{reason} {count}" for reason, count in sorted(Counts(reasons.values()).items()))
        message = f"no item is in the text: all {len(items)} were left out ({why})"
        diagnostics.add(
            "PF114", message, severity="info" if reasons and set(reasons.values()) == {"budget"} else "warning"
        )
    elif not items:
        diagnostics.add("PF115", "there were no items", severity="info")
    order = [entry.index for section in page.sections(fit.chosen) for entry in section.entries]
    trimmed = [
        i for i, form in fit.chosen.items() if form.name in ("trimmed", "summary") and form is not page.forms(i)[0]
    ]
    _say(page, fit, shown, trimmed, counter, options, diagnostics)
    files = dict.fromkeys(path for i in order if (path := shown[i].item.path) is not None)
    late = _Late(page, fit, items, reasons, order, trimmed, options, profile, counter, limit, templates, look)
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
        counts=(len(fit.chosen), len(trimmed), len(items) - len(fit.chosen)),
        average_score=sum(e.item.score for e in shown.values()) / len(shown) if shown else 0.0,
        truncated=bool(trimmed) or "budget" in fit.reasons.values(),
        files=tuple(files),
        build_seconds=time.perf_counter() - started,
        warnings=tuple(diagnostics),
        late={name: getattr(late, name) for name in LATE},
    )


def _say(
    page: Page,
    fit: Fit,
    shown: dict[int, Any],
    trimmed: list[int],
    counter: Counter,
    options: Options,
    diagnostics: Diagnostics,
) -> None:
    for index, form in fit.chosen.items():
        item = page.entries[index].item
        notes = page.views.notes.get((index, form), ())
        for code, message in notes:
            severity = "info" if code in ("PF702", "PF703") else "warning"
            diagnostics.add(code, message, item=identify(item), severity=severity)  # type: ignore[arg-type]
        _say_labels(item, page.look.syntax, diagnostics)
    if not counter.exact and options.max_tokens is not None:
        diagnostics.add("PF501", f"tokens are an estimate by {counter.name}", severity="info")
    left = sum(reason == "budget" for reason in fit.reasons.values())
    if left or trimmed:
        total = len(fit.chosen) + len(fit.reasons)
        said = [f"{left} of {total} items were left out"] if left else []
        said += [f"{len(trimmed)} of {total} items were shortened"] if trimmed else []
        diagnostics.add("PF111", f"{' and '.join(said)} to keep the budget", severity="info")
    over = sum(reason == "max_items" for reason in fit.reasons.values())
    if over:
        diagnostics.add("PF112", f"{over} found items are past max_items {options.max_items}", severity="info")
    by = options.group_by
    known = ("auto", "none", "file", "kind", "category", "origin")
    if by not in known and shown and not any(by in entry.item.metadata for entry in shown.values()):
        hint = nearest(by, known)
        diagnostics.add("PF104", f"group_by: no item has {quote(by)} in its metadata{hint}")


def _say_labels(item: Item, syntax: str, diagnostics: Diagnostics) -> None:
    for field in _LABELS:
        value = getattr(item, field)
        if not value:
            continue
        if not value.isprintable() and INVISIBLE.search(value):
            message = f"{field}: characters that cannot be seen are shown as escapes: {quote(value)}"
            diagnostics.add("PF701", message, item=identify(item))
        if len(value) > LABEL_CAP:
            diagnostics.add("PF206", f"{field}: cut at {LABEL_CAP:,} characters: {quote(value)}", item=identify(item))
    if item.language and syntax == "md" and not TAG.fullmatch(item.language):
        message = f"language: {quote(item.language)} is no tag of a fence, so the fence has none"
        diagnostics.add("PF207", message, item=identify(item))


LATE = ("items", "sections", "sources", "explicit_text", "similarity_text", "explicit_sources", "manifest")


class _Late:
    """The parts of a result that are worked out on demand."""

    def __init__(
        self,
        page: Page,
        fit: Fit,
        items: list[Item],
        reasons: dict[int, str],
        order: list[int],
        trimmed: list[int],
        options: Options,
        profile: Profile,
        counter: Counter,
        limit: Cost,
        templates: Templates,
        look: Look,
    ) -> None:
        self.page = page
        self.fit = fit
        self.all = items
        self.reasons = reasons
        self.order = order
        self.trimmed = frozenset(trimmed)
        self.options = options
        self.profile = profile
        self.counter = counter
        self.limit = limit
        self.templates = templates
        self.look = look

    def items(self) -> list[ResultItem]:
        back = self._comes_back()
        return [self._item(index, item, back.get(index)) for index, item in enumerate(self.all)]

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
            tokens=self.counter.count(text) if form else 0,
            tokens_full=self._full(index, item),
            reason=reason,
            fits_at=fits_at,
        )

    def _full(self, index: int, item: Item) -> int:
        if index in self.page.entries:
            return self.counter.count(self.page.text(index, self.page.forms(index)[0]))
        return self.counter.count(item.expanded or item.content or item.summary or "")

    def _comes_back(self) -> dict[int, int]:
        """Return, for each item the budget shortened or dropped, a budget that holds it and all that rank above it."""
        short = {i for i, reason in self.fit.reasons.items() if reason == "budget"} | self.trimmed
        if not short or self.options.max_tokens is None:
            return {}
        walk = [i for i in self._walk() if self.fit.reasons.get(i) not in ("max_items", "duplicate")]
        whole = {i: self.page.forms(i)[0] for i in walk}
        least = self.options.max_tokens + 1
        both = {self.page.entries[i].item.origin for i in walk}
        if self.options.combine == "combined" and len(both) > 1:  # below the price of everything, shares decide
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
            if self.options.packing == "score":
                order += [e.index for e in sorted(side, key=lambda e: -e.rank)]
            else:
                order += self.page.walk(e.index for e in side)
        return order

    def sections(self) -> list[ResultSection]:
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
        items = [self.page.entries[index].item for index in self.order]
        return [Source(**{**source_of(item), "id": identify(item)}) for item in items]

    def _only(self, origin: str) -> str:
        if not any(self.page.entries[i].item.origin == origin for i in self.fit.chosen):
            return ""
        return "".join(self.page.render(self.fit.chosen, only=origin))

    def explicit_text(self) -> str:
        return self._only("explicit")

    def similarity_text(self) -> str:
        return self._only("similarity")

    def explicit_sources(self) -> list[str]:
        items = [self.page.entries[index].item for index in self.order]
        return [source_of(item)["name"] for item in items if item.origin == "explicit"]

    def manifest(self) -> dict[str, Any]:
        options = {
            name: value if not hasattr(value, "count") or isinstance(value, str | tuple) else self.counter.name
            for name, value in msgspec.structs.asdict(self.options).items()
        }
        return {
            "promptforge": metadata.version("promptforge-engine"),
            "options": msgspec.to_builtins(options),
            "profile": {"name": self.profile.name, "files": {f.name: f.sha256 for f in self.profile.chain}},
            "templates": {
                name: hashlib.sha256(self.templates.source(name)[0].encode()).hexdigest() for name in self.look.files()
            },
            "tokenizer": {
                "name": self.counter.name,
                "fingerprint": self.counter.fingerprint,
                "exact": self.counter.exact,
            },
            "items": [_digest(item) for item in self.all],
        }


def _digest(item: Item) -> str:
    try:
        data = msgspec.json.encode(item, order="deterministic")
    except (UnicodeEncodeError, TypeError, RecursionError):  # a lone surrogate
        data = repr(item).encode("utf-8", "backslashreplace")
    return hashlib.sha256(data).hexdigest()
