"""Items → sections: which go together on the page, and in what order they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from .escaping import to_text
from .items import Item
from .wording import capitalize

CATEGORIES = {
    **dict.fromkeys(
        ("function", "method", "class", "interface", "type", "file", "module", "code"), "code"
    ),
    **dict.fromkeys(("document", "section", "requirement", "feature", "man_page"), "documentation"),
    **dict.fromkeys(("session", "message", "decision"), "conversation"),
}
"""The category of a kind; any other is `other`."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One item on its way to the page."""

    index: int
    """Its place in the caller's list."""
    item: Item
    rank: float
    """What orders it: its score, or what a query made of it."""


class Section(NamedTuple):
    """Items that stand together."""

    key: str
    title: str
    """Its heading; empty where there is none."""
    entries: list[Entry]


def key_of(by: str) -> Callable[[Item], str]:
    """Return what tells an item's section, grouped by `file kind category origin` or a metadata key."""
    if by == "file":
        return lambda item: item.path or ""
    if by == "kind":
        return lambda item: item.kind
    if by == "category":
        return lambda item: CATEGORIES.get(item.kind, "other")
    if by == "origin":
        return lambda item: item.origin
    return lambda item: to_text(item.metadata.get(by)) or "other"


def _best_first(entry: Entry) -> tuple[float, int]:
    return -entry.rank, entry.index


def _by_line(entry: Entry) -> tuple[int, int]:
    return entry.item.start_line or 0, entry.index


_ORDERS: dict[str, Callable[[Entry], Any]] = {
    "given": lambda entry: entry.index,
    "file": lambda entry: (entry.item.path or "", *_by_line(entry)),
}
"""How entries are sorted; anything else is the best first."""


def edges(entries: Sequence[Entry]) -> list[Entry]:
    """Return `entries`, best first, as best first, second best last, third second, and so on inwards."""
    return [*entries[::2], *reversed(entries[1::2])]


def group(
    entries: Iterable[Entry],
    by: str = "none",
    *,
    order: str = "score",
    first: Sequence[str] = (),
    titles: dict[str, str] | None = None,
) -> list[Section]:
    """Return the sections of the page.

    `by` is `none file kind category origin` or a metadata key; `order` is `score given file edges`; `first` names the
    sections that come first, in their order, and `titles` their headings.

    By file: the file with the best item first, and within it by line. By anything else: the sections of `first`, then
    the others as they come, the best item first in each. `given` keeps the caller's order everywhere.
    """
    ranked = sorted(entries, key=_ORDERS.get(order, _best_first))
    if by == "none":
        return [Section("all", "", edges(ranked) if order == "edges" else ranked)] if ranked else []
    key = key_of(by)
    groups: dict[str, list[Entry]] = {}
    for entry in ranked:
        groups.setdefault(key(entry.item), []).append(entry)
    names = [name for name in first if name in groups]
    names += [name for name in groups if name not in names] if names else groups
    by_line = by == "file" and order == "score"
    sections = []
    for name in names:
        members = groups[name]
        if by_line and len(members) > 1:
            members.sort(key=_by_line)
        elif order == "edges":
            members = edges(members)
        title = (titles or {}).get(name) or (
            name if by == "file" else capitalize(name.replace("_", " "))
        )
        sections.append(Section(name, title, members))
    return sections


def flatten(sections: Iterable[Section]) -> list[Any]:
    """Return the entries of all sections in the order of the page."""
    return [entry for section in sections for entry in section.entries]
