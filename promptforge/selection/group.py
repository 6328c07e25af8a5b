"""Group items into sections, and order them as they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ..model import Item
from ..text.format import capitalize, to_text

OTHER = "other"
"""The category of a kind without one, and the section of items without the metadata key."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One candidate with its place and rank."""

    index: int
    """Index in the caller's list."""
    item: Item
    rank: float
    """Its score, or its worth by the query."""


class Section(NamedTuple):
    """Items that stand together under one heading."""

    key: str
    title: str
    """The heading; empty where there is none."""
    entries: list[Entry]


def section_key_of(by: str, categories: Mapping[str, str]) -> Callable[[Item], str]:
    """Return the function from an item to its section's key; `categories` are those of kinds."""
    if by == "file":
        return lambda item: item.path or item.url or ""
    if by == "kind":
        return lambda item: item.kind
    if by == "category":
        return lambda item: categories.get(item.kind, OTHER)
    if by == "origin":
        return lambda item: item.origin
    return lambda item: to_text(item.metadata.get(by)) or OTHER


def _best_first(entry: Entry) -> tuple[float, int]:
    return -entry.rank, entry.index


def _by_line(entry: Entry) -> tuple[int, int]:
    return entry.item.start_line or 0, entry.index


_ORDERS: dict[str, Callable[[Entry], Any]] = {
    "given": lambda entry: entry.index,
    "file": lambda entry: (entry.item.path or "", *_by_line(entry)),
}
"""Order → sort key; any other order is the best first."""


def best_at_edges(entries: Sequence[Entry]) -> list[Entry]:
    """Put the best of ranked `entries` at both edges: first, second last, third second, and so on.

    Models read the middle of a long context worst ("lost in the middle").
    """
    return [*entries[::2], *reversed(entries[1::2])]


def group_entries(
    entries: Iterable[Entry],
    by: str = "none",
    *,
    order: str = "score",
    first: Sequence[str] = (),
    titles: Mapping[str, str] | None = None,
    categories: Mapping[str, str] | None = None,
) -> list[Section]:
    """Return the sections of the context.

    `by` is `none file kind category origin` or a metadata key; `order` is `score given file edges`.
    `first` names the sections that come first; `titles` gives headings by section, `categories`
    the category of each kind.

    By file, the file with the best item comes first, and its items stand by line; items without a
    path stand the best first. By anything else,
    the sections of `first` come before the others, the best item first in each. `given` keeps the
    caller's order everywhere.
    """
    # Sorted once: sections come in the order of their first entry, and entries within them.
    ranked = sorted(entries, key=_ORDERS.get(order, _best_first))
    if by == "none":
        if order == "edges":
            ranked = best_at_edges(ranked)
        return [Section("all", "", ranked)] if ranked else []
    key = section_key_of(by, categories or {})
    groups: dict[str, list[Entry]] = {}
    for entry in ranked:
        groups.setdefault(key(entry.item), []).append(entry)
    # Those of `first` that have members, then all others in the order of their best item.
    names = list(dict.fromkeys([*(name for name in first if name in groups), *groups]))
    by_line = by == "file" and order == "score"
    sections = []
    for name in names:
        members = groups[name]
        if by_line and members[0].item.path and len(members) > 1:
            members.sort(key=_by_line)
        elif order == "edges":
            members = best_at_edges(members)
        title = (titles or {}).get(name)
        if not title:
            title = name if by == "file" else capitalize(name.replace("_", " "))
        sections.append(Section(name, title, members))
    return sections


def flatten_sections(sections: Iterable[Section]) -> list[Any]:
    """Return the entries of all sections, in order."""
    return [entry for section in sections for entry in section.entries]


class TreeEntry(NamedTuple):
    """A folder or file of the text."""

    name: str
    """Its last name; of folders that hold one folder alone, their names together: `src/core`."""
    path: str
    """Its path; a folder's ends with `/`."""
    depth: int
    """Folders above it in the tree."""
    tokens: int
    folder: bool


def file_tree(tokens: Mapping[str, int], *, largest_first: bool = False) -> list[TreeEntry]:
    """Return folders and files, folders first, each with the tokens of all that it holds.

    `tokens` gives the tokens of each path. Names stand in order, or with `largest_first` those
    with the most tokens come first, files and folders together.

    >>> [(entry.depth, entry.name, entry.tokens) for entry in file_tree({"a/b/c.py": 7, "d.py": 2})]
    [(0, 'a/b', 7), (1, 'c.py', 7), (0, 'd.py', 2)]
    """
    root = _Folder()
    for path, number in tokens.items():
        *folders, name = path.split("/")
        folder = root
        folder.tokens += number
        for part in folders:
            folder = folder.folders.setdefault(part, _Folder())
            folder.tokens += number
        folder.files[name] = folder.files.get(name, 0) + number
    # A stack, not recursion: a path may have thousands of folders.
    entries: list[TreeEntry] = []
    left: list[tuple[str, str, int, _Folder | int]] = [("", "", -1, root)]
    while left:
        above, name, depth, entry = left.pop()
        if isinstance(entry, int):
            entries.append(TreeEntry(name, above + name, depth, entry, folder=False))
            continue
        if depth >= 0:
            names = [name]
            while not entry.files and len(entry.folders) == 1:
                [(below, entry)] = entry.folders.items()
                names.append(below)
            name = "/".join(names)
            above += name + "/"
            entries.append(TreeEntry(name, above, depth, entry.tokens, folder=True))
        inside: list[tuple[int, str, int, _Folder | int]]
        inside = [(1, each, number, number) for each, number in entry.files.items()]
        inside += [(0, each, below.tokens, below) for each, below in entry.folders.items()]
        if largest_first:
            inside.sort(key=lambda row: (row[2], row[1]))
        else:
            inside.sort(key=lambda row: row[:2], reverse=True)
        # What comes last is taken first.
        left += [(above, each, depth + 1, value) for _, each, _, value in inside]
    return entries


class _Folder:
    """A folder of the tree in the making."""

    def __init__(self) -> None:
        self.tokens = 0
        self.folders: dict[str, _Folder] = {}
        self.files: dict[str, int] = {}
