"""The folders that a client of the MCP server may have packed and searched.

An agent wrote the path: it leads into a folder that the operator or the client's user has named,
links resolved, to files that git does not ignore. Their credentials are masked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit
from urllib.request import url2pathname

from msgspec.structs import replace

from ..engine import FolderFilter, Search, SourceRequest, gather
from ..errors import Diagnostics, ItemError, quote
from ..files.access import Access, is_inside
from ..model import Item
from ..sources.text_files import rank_texts

MAX_FOLDER_CHARS, MAX_PATTERN_CHARS = 1 << 26, 1 << 14
"""Characters of all files that one call reads, and of its patterns."""
_SPECIAL_IN_PATTERN = re.compile(r"([\\*?\[\]!# ])")


def open_folders(named: Sequence[str], roots: Iterable[str] | None) -> list[str]:
    """Return the real folders that are open: those `named` by the operator, and the client's roots.

    `roots` are URIs; `None` where the client tells none. Where both are given, what lies in both is
    open. Raises `ItemError` where nothing is.
    """
    mine = [os.path.realpath(folder) for folder in named]
    found = mine
    if roots is not None:
        theirs = list(filter(None, map(_folder_of, roots)))
        found = [a for a in theirs if not mine or any(is_inside(a, b) for b in mine)]
        found += [b for b in mine if any(is_inside(b, a) for a in theirs)]
    if not found:
        message = "no folder is open; start the server with --root FOLDER"
        raise ItemError(message + " that the client's roots hold" * (roots is not None))
    return list(dict.fromkeys(found))


def _folder_of(uri: str) -> str | None:
    """Return the real folder of a `file:` URI of this machine."""
    try:
        parts = urlsplit(uri)
        real = os.path.realpath(url2pathname(parts.path))
    except ValueError:  # a NUL in it, or brackets that are no address
        return None
    # Without a path it would be the working folder.
    is_here = parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path
    return real if is_here and os.path.isdir(real) else None


def gather_within(
    folders: Sequence[str],
    path: str,
    include: Sequence[str],
    exclude: Sequence[str],
    search: str | None = None,
) -> tuple[list[Item], Diagnostics]:
    """Return the files at a path in the `folders`, or their passages for a search.

    Paths of items count from the folder; they are whole where the path is in several, so that they
    can be given back. Raises `ItemError` for a path that leads nowhere there.
    """
    if sum(map(len, (*include, *exclude))) > MAX_PATTERN_CHARS:
        raise ItemError(f"include and exclude take {MAX_PATTERN_CHARS:,} characters at most")
    places = _locate(path, folders)
    wanted = FolderFilter(include, exclude, max_chars=MAX_FOLDER_CHARS // len(places))
    said = Diagnostics()
    if len(places) == 1:
        return _gather_at(*places[0], wanted, search, said), said
    found: dict[tuple[str, int | None, str | None], Item] = {}  # a folder may lie in another
    failed: list[str] = []
    for folder, name in places:
        near = Diagnostics()
        try:
            for item in _gather_at(folder, name, wanted, search, near):
                whole = os.path.join(folder, item.path or "").replace(os.sep, "/")
                found[whole, item.start_line, item.content] = replace(item, path=whole)
        except ItemError as error:
            failed.append(f"{quote(folder)}: {error.bare}")
            near.add("PF606", f"left out: {error.bare}", where=error.where)
        for each in near:
            where = os.path.normpath(os.path.join(folder, each.where or ""))
            said.add(each.code, each.message, where=where, severity=each.severity)
    if not found:
        raise ItemError("; ".join(failed))
    return _ranked(list(found.values()), search), said


def _gather_at(
    folder: str, name: str, wanted: FolderFilter, search: str | None, said: Diagnostics
) -> list[Item]:
    if not wanted.include and os.path.isfile(os.path.join(folder, name)):
        # A lock file, say: it is named.
        wanted = replace(wanted, include=["/" + _SPECIAL_IN_PATTERN.sub(r"\\\1", name)])
    wanted = replace(wanted, below=name)
    request = SourceRequest(workspace=Access(folder, root=folder), wanted=wanted)
    if search is None:
        request = replace(request, files=(".",))
    else:
        request = replace(request, search=Search(search, (".",), wanted))
    return gather(request, said)


def _ranked(items: list[Item], search: str | None) -> list[Item]:
    """Return the passages of several folders, scored anew: the best of each folder had 1."""
    if search is None:
        return items
    worths = rank_texts(search, [f"{item.path}\n{item.content}" for item in items])
    best = max(worths) or 1.0
    scored = [replace(a, score=worth / best) for a, worth in zip(items, worths, strict=True)]
    return sorted(scored, key=lambda item: -(item.score or 0))


def _locate(path: str, folders: Sequence[str]) -> list[tuple[str, str]]:
    """Return each folder in which there is a file or folder of a path, and its name in it."""
    found: dict[str, tuple[str, str]] = {}  # by the real place, for a folder may lie in another
    for folder in folders:
        try:
            real = os.path.realpath(os.path.join(folder, path))
            if is_inside(real, folder) and os.path.exists(real):
                name = os.path.relpath(real, folder).replace(os.sep, "/")
                found.setdefault(real, (folder, "" if name == os.curdir else name))
        except ValueError:  # a NUL in it
            continue
    if not found:
        # The same for what lies outside, whether it is there or not.
        raise ItemError(f"there is no {quote(path)} in {', '.join(map(quote, folders))}")
    return list(found.values())
