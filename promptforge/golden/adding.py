"""Add a new case at the end of a file of cases; the text above it stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ItemError, quote
from .cases import VOCABULARY, Case, parse
from .updating import plain, written

_HEAD = "# Cases to be compared by `promptforge test`.\ncases:\n"


def added(source: str, path: Path, keys: Mapping[str, Any]) -> str:
    """Return the file `source` (empty: a new one) at `path` with a case of these keys added.

    Raises `ItemError` if it would be read otherwise, such as under options of the whole file.
    """
    known, margin, before = [], "  ", _HEAD
    if source.strip():
        known = parse(source, path)
        before = source.rstrip("\n") + "\n\n"
    if any(case.name == keys["name"] for case in known):
        message = f"there is a case called {quote(keys['name'])}; choose another name"
        raise ItemError(message, where=str(path))
    if known:
        row = source.split("\n")[known[-1].line - 1]
        margin = row[: len(row) - len(row.lstrip(" "))]
    result = before + "\n".join(_rows(keys, margin)) + "\n"
    _verify(parse(result, path), len(known), keys)
    return result


def _rows(keys: Mapping[str, Any], margin: str) -> list[str]:
    rows: list[str] = []
    for name, value in keys.items():
        start = f"{margin}{'  ' if rows else '- '}{name}:"
        if name == "text":
            first, *more = written(value.rstrip("\n"), len(margin) + 2)
            rows += [f"{start} {first}", *more]
        elif name == "items" and isinstance(value, list):
            rows += [start, *(f"{margin}    - {plain(record)}" for record in value)]
        elif isinstance(value, Mapping):
            pairs = ", ".join(f"{plain(key)}: {plain(each)}" for key, each in value.items())
            rows.append(f"{start} {{{pairs}}}")
        else:
            rows.append(f"{start} {plain(value)}")
    return rows


def _verify(cases: list[Case], number: int, keys: Mapping[str, Any]) -> None:
    """Raise `ItemError` unless the last case is read with the keys given."""
    found = cases[-1]
    for name, rule in VOCABULARY.rules.items():
        wanted, read = keys.get(name, rule.default), found.keys[name]
        if name == "text" and wanted is not None:
            wanted, read = wanted.rstrip("\n"), (read or "").rstrip("\n")
        elif isinstance(rule.default, tuple):
            wanted = tuple(wanted)
        if len(cases) != number + 1 or read != wanted:
            message = (
                f"the case cannot be written here: its {name} would be read otherwise;"
                " use another file"
            )
            raise ItemError(message, where=f"{found.path}:{found.line}")
