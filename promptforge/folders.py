"""Where a caller's files are: folders of profiles and templates, and templates as texts by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

YAML = (".yaml", ".yml")
"""How the name of a file in YAML ends."""

Folders = str | Path | Sequence[str | Path] | None
"""One folder of the user's, or several, the first wins."""
Sources = str | Path | Mapping[str, str] | Sequence[str | Path | Mapping[str, str]] | None
"""The same for templates, which may also be texts by their names, such as `chunks/item.md.j2`."""

Source = Path | Mapping[str, str]
"""One of these: a folder, or texts by their names."""


def paths(folders: Folders) -> tuple[Path, ...]:
    """Return folders one by one, whatever they were given as."""
    if folders is None:
        return ()
    if isinstance(folders, str | Path):
        return (Path(folders),)
    return tuple(Path(folder) for folder in folders)


def sources(given: Sources) -> tuple[Source, ...]:
    """Return places of templates one by one, whatever they were given as."""
    if given is None:
        return ()
    listed = (given,) if isinstance(given, str | Path | Mapping) else tuple(given)
    return tuple(each if isinstance(each, Mapping) else Path(each) for each in listed)
