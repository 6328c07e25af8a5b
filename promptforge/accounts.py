"""From what fits to the result: the text, and an account of every item. What is costly waits until it is asked for."""

from __future__ import annotations

import time
from collections import Counter as Counts
from collections.abc import Callable, Mapping
from typing import Any

from .diagnostics import Diagnostics
from .errors import listed, nearest, quote
from .escaping import INVISIBLE, LABEL_CAP
from .fencing import TAG
from .fitting.fit import Fit
from .items import Item
from .ledger import LATE, Ledger, identify
from .page import Page
from .profiles import Profile
from .results import Result
from .templates import Templates

_CUT = frozenset({"budget", "section_budget"})
_FILTERED = {"kinds": "kind", "languages": "language", "paths": "path"}
"""Option that leaves items out → their field that it looks at."""
_LABELS = ("name", "path", "kind", "language")


def account(
    page: Page,
    fit: Fit,
    items: list[Item],
    profile: Profile,
    templates: Templates,
    diagnostics: Diagnostics,
    started: float,
    again: Callable[[Mapping[str, Any]], Result],
    refit: Callable[[int], tuple[Page, Fit]],
) -> Result:
    """Return the result of a rendering; see `Result` for what it says.

    `again` makes the result of the same rendering with other options, when somebody asks what these would bring.
    """
    options, counter = page.options, page.counter
    parts = page.parts(fit.chosen) if fit.frame_fits else []
    text = "".join(parts)
    tokens = int(fit.cost[0]) if options.max_tokens is not None and parts else counter.count(text)
    ledger = Ledger(page, fit, items, profile, templates, text, tokens, again, refit)
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
        late={name: getattr(ledger, name) for name in LATE},
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
                f"; the {field}s there are: {listed([quote(value) for value in sorted(there)])}"
            )
        diagnostics.add("PF114", message, severity="info" if set(counts) <= _CUT else "warning")


def _say(page: Page, fit: Fit, trimmed: int, counts: Counts[str], diagnostics: Diagnostics) -> None:
    for code, message in page.notes:
        diagnostics.add(code, message)
    for index, form in fit.chosen.items():
        item = page.entries[index].item
        notes = page.views.notes.get((index, form), ())
        for code, message in notes:
            severity = "info" if code in ("PF702", "PF703", "PF707") else "warning"
            diagnostics.add(code, message, item=identify(item), severity=severity)  # type: ignore[arg-type]
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
        hint = nearest(by, known)
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
                item=identify(item),
                severity="info",
            )
        if not value:
            continue
        if not value.isprintable() and INVISIBLE.search(value):
            message = (
                f"{field}: characters that cannot be seen are shown as escapes: {quote(value)}"
            )
            diagnostics.add("PF701", message, item=identify(item))
        if len(value) > LABEL_CAP:
            diagnostics.add(
                "PF206",
                f"{field}: cut at {LABEL_CAP:,} characters: {quote(value)}",
                item=identify(item),
            )
    if item.language and syntax == "md" and not TAG.fullmatch(item.language):
        message = f"language: {quote(item.language)} is no tag of a fence, so the fence has none"
        diagnostics.add("PF210", message, item=identify(item))
