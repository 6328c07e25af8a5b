"""The folders and files of a text as a tree, with their tokens."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple


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
    same: bool = False
    """True for a file with the text of another one that is shown."""
    unseen: int = 0
    """Number of files that are not in the text and that it stands for; it may have no name."""


MAX_UNSEEN_BESIDE = 10
"""Names of a folder that are not in the text and stand one by one; of more the others are one."""


def file_tree(
    tokens: Mapping[str, int],
    *,
    largest_first: bool = False,
    same: Collection[str] = (),
    unseen: Collection[str] = (),
    max_unseen: float = math.inf,
) -> list[TreeEntry]:
    """Return folders and files, folders first, each with the tokens of all that it holds.

    `tokens` gives the tokens of each path; the text of the `same` paths stands at another one.
    `unseen` paths are not in the text: a folder of such files is one entry, and the last ones of
    many names in a folder are one, so that these entries are at most `max_unseen`, or else one.
    Names stand in order, or with `largest_first` those with the most tokens come first, files and
    folders together.

    >>> [(entry.depth, entry.name, entry.tokens) for entry in file_tree({"a/b/c.py": 7, "d.py": 2})]
    [(0, 'a/b', 7), (1, 'c.py', 7), (0, 'd.py', 2)]
    """
    root = _Folder()
    for path, number in [*dict.fromkeys(same, 0).items(), *tokens.items()]:
        folder, name = root.enter(path, number)
        folder.files[name] = folder.files.get(name, 0) + number
    for path in unseen:
        if path not in tokens and path not in same:
            root.enter(path, None)
    entries: list[TreeEntry] = []
    for beside in (MAX_UNSEEN_BESIDE, 2, 0):
        entries = _list_entries(root, largest_first, beside)
        if sum(entry.unseen > 0 for entry in entries) <= max_unseen:
            break
    else:
        entries = [entry for entry in entries if not entry.unseen]
        entries.append(TreeEntry("", "", 0, 0, folder=False, unseen=root.unseen))
    marked = {*same} - tokens.keys()
    return [entry._replace(same=entry.path in marked) for entry in entries] if marked else entries


def _list_entries(root: _Folder, largest_first: bool, beside: int) -> list[TreeEntry]:
    # A stack, not recursion: a path may have thousands of folders.
    entries: list[TreeEntry] = []
    left: list[tuple[str, str, int, _Folder | int]] = [("", "", -1, root)]
    while left:
        above, name, depth, entry = left.pop()
        if isinstance(entry, int):
            number = max(0, -entry)
            tokens = max(0, entry)
            entries.append(TreeEntry(name, above + name, depth, tokens, False, unseen=number))
            continue
        if depth >= 0:
            names = [name]
            while not entry.files and not entry.others and len(entry.folders) == 1:
                [(below, entry)] = entry.folders.items()
                names.append(below)
            name = "/".join(names)
            above += name + "/"
            number = 0 if entry.seen else entry.unseen
            entries.append(TreeEntry(name, above, depth, entry.tokens, True, unseen=number))
            if number:
                continue
        inside: list[tuple[int, str, int, _Folder | int]]
        inside = [(1, each, number, number) for each, number in entry.files.items()]
        closed = sorted(each for each, below in entry.folders.items() if not below.seen)
        hidden = {*[*closed, *sorted(entry.others)][beside:]}
        inside += [(1, each, 0, -1) for each in entry.others if each not in hidden]
        inside += [
            (0, each, below.tokens, below)
            for each, below in entry.folders.items()
            if below.seen or each not in hidden
        ]
        if largest_first:
            inside.sort(key=lambda row: (row[2], row[1]))
        else:
            inside.sort(key=lambda row: row[:2], reverse=True)
        more = sum(entry.folders[each].unseen for each in closed if each in hidden)
        more += len(hidden & entry.others)
        if more:
            left.append((above, "", depth + 1, -more))
        # What comes last is taken first.
        left += [(above, each, depth + 1, value) for _, each, _, value in inside]
    return entries


class _Folder:
    def __init__(self) -> None:
        self.tokens = 0
        self.seen = False
        """True if a file in it is in the text."""
        self.unseen = 0
        """Files in it that are not."""
        self.folders: dict[str, _Folder] = {}
        self.files: dict[str, int] = {}
        self.others: set[str] = set()
        """Names of files that are not in the text."""

    def enter(self, path: str, tokens: int | None) -> tuple[_Folder, str]:
        """Count a file in all folders above it; return the last of these, and the file's name."""
        *folders, name = path.split("/")
        folder = self
        for part in (None, *folders):
            if part is not None:
                folder = folder.folders.setdefault(part, _Folder())
            folder.tokens += tokens or 0
            folder.seen |= tokens is not None
            folder.unseen += tokens is None
        if tokens is None:
            folder.others.add(name)
        return folder, name
