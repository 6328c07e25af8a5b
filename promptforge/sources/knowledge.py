"""Everything a user can name, gathered: item files, files, documents, man pages and techniques."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..diagnostics import Diagnostics
from ..errors import ItemError
from ..items import Item
from . import attack, documents, files, itemfiles, man, searching
from . import plugged as plugins
from .records import Loaded, load_records
from .searching import Search

Names = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""Names or paths; one alone stands for a list of one."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was named, each in its order."""

    items: Sequence[str] = ()
    """Item files; `-` is standard input."""
    records: Sequence[object] = ()
    """Items written out in a job."""
    files: Sequence[str] = ()
    documents: Sequence[str] = ()
    man_pages: Sequence[str] = ()
    techniques: Sequence[str] = ()
    plugged: Sequence[str] = ()
    """`NAME:ARGUMENT` of sources that plug-ins bring."""
    search: Search | None = None
    """What is looked for in files; what is found comes last, as `similarity` items."""
    attack: str | attack.Index | None = None
    """Where the techniques are looked up, or what was read there before."""
    workspace: str = field(default_factory=os.getcwd)
    context_lines: int = 0


def load(
    *paths: str | os.PathLike[str],
    files: Names = (),
    documents: Names = (),
    man_pages: Names = (),
    techniques: Names = (),
    attack: str | os.PathLike[str] | None = None,
    search: str | None = None,
    within: Names = (".",),
    plugged: Names = (),
    workspace: str | os.PathLike[str] = ".",
    context_lines: int = 0,
) -> Loaded:
    """Return the items of everything that is named, as `promptforge render` takes them.

    `paths` are files of items; `files` (`PATH[:START[-END]]` or patterns, with `context_lines` more lines on either
    side), `documents`, `man_pages`, `techniques` (looked up in `attack`: a STIX bundle, a folder, or JSON) and
    `plugged` (`NAME:ARGUMENT`) are explicit; last come passages of the files `within` that answer `search`, as
    `similarity` items with scores in 0…1. Relative paths stay inside `workspace`.

    What cannot be had is left out and said in `warnings`, which a rendering says again. Raises `ItemError` when that
    leaves nothing at all.
    """
    diagnostics = Diagnostics()
    wanted = Wanted(
        items=_names(paths),
        files=_names(files),
        documents=_names(documents),
        man_pages=_names(man_pages),
        techniques=_names(techniques),
        plugged=_names(plugged),
        search=None if search is None else Search(search, _names(within)),
        attack=None if attack is None else os.fspath(attack),
        workspace=os.fspath(workspace),
        context_lines=context_lines,
    )
    found = Loaded(gather(wanted, diagnostics))
    found.warnings = tuple(diagnostics)
    return found


def _names(given: Names) -> tuple[str, ...]:
    """Return names; one alone stands for a list of one."""
    return tuple(
        os.fspath(name) for name in ([given] if isinstance(given, str | os.PathLike) else given)
    )


def gather(wanted: Wanted, diagnostics: Diagnostics) -> list[Item]:
    """Return the items of everything in `wanted`; what cannot be had is left out and said (PF606).

    Raises `ItemError` when that leaves nothing at all: what went wrong, one thing a line.
    """
    found: list[Item] = []
    failed: list[ItemError] = []

    def attempt(load: Callable[[], list[Item]]) -> None:
        try:
            found.extend(load())
        except ItemError as error:
            failed.append(error)
            diagnostics.add("PF606", f"left out: {error.bare}", where=error.where)

    place = wanted.workspace
    for path in wanted.items:
        attempt(lambda path=path: itemfiles.load(path, diagnostics=diagnostics, workspace=place))  # type: ignore[misc]
    if wanted.records:
        found += load_records(wanted.records, where="items", diagnostics=diagnostics)
    for name in wanted.man_pages:
        attempt(lambda name=name: [man.load(name)])  # type: ignore[misc]
    for path in wanted.documents:
        attempt(lambda path=path: documents.load(path, workspace=place, diagnostics=diagnostics))  # type: ignore[misc]
    if wanted.techniques:
        attempt(lambda: _techniques(wanted, attempt, diagnostics))
    for spec in wanted.files:
        attempt(
            lambda spec=spec: files.load(  # type: ignore[misc]
                spec, workspace=place, diagnostics=diagnostics, context_lines=wanted.context_lines
            )
        )
    for spec in wanted.plugged:
        attempt(lambda spec=spec: plugins.load(spec, diagnostics=diagnostics))  # type: ignore[misc]
    looked_for = wanted.search
    if looked_for is not None:
        attempt(lambda: searching.load(looked_for, workspace=place, diagnostics=diagnostics))
    if failed and not found:
        raise (
            failed[0]
            if len(failed) == 1
            else ItemError("\n".join(["nothing to render:", *map(str, failed)]))
        )
    return found


def _techniques(
    wanted: Wanted, attempt: Callable[[Callable[[], list[Item]]], None], diagnostics: Diagnostics
) -> list[Item]:
    if wanted.attack is None:
        raise ItemError(
            "techniques need --attack PATH: a STIX 2.1 bundle, a folder of STIX objects, or JSON of techniques"
        )
    index = wanted.attack
    if isinstance(index, str):
        index = attack.read(index, workspace=wanted.workspace, diagnostics=diagnostics)
    for name in wanted.techniques:
        attempt(lambda name=name: [attack.find(index, name, diagnostics=diagnostics)])  # type: ignore[misc]
    return []
