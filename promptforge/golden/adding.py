"""Writing a case that nobody has written yet at the end of a file of cases; what stands there already stays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ItemError, quote
from .cases import VOCABULARY, Case, parse
from .updating import plain, written

_HEAD = "# Cases to be compared by `promptforge test`.\ncases:\n"


def added(source: str, path: Path, keys: Mapping[str, Any]) -> str:
    """Return the file `source` (empty: a new one), which is at `path`, with a case of these keys at its end.

    Raises `ItemError` where it would not be read as it is meant, such as under options that the whole file shares.
    """
    known = parse(source, path) if source.strip() else []
    if any(case.name == keys["name"] for case in known):
        raise ItemError(
            f"there is a case called {quote(keys['name'])}; choose another name", where=str(path)
        )
    margin = "  "
    if known:
        row = source.split("\n")[known[-1].line - 1]
        margin = row[: len(row) - len(row.lstrip(" "))]
    before = source.rstrip("\n") + "\n\n" if source.strip() else _HEAD
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
            rows.append(
                f"{start} {{{', '.join(f'{plain(key)}: {plain(each)}' for key, each in value.items())}}}"
            )
        else:
            rows.append(f"{start} {plain(value)}")
    return rows


def _verify(cases: list[Case], number: int, keys: Mapping[str, Any]) -> None:
    """Raise `ItemError` unless the last case is the one that was to be written."""
    found = cases[-1]
    for name, rule in VOCABULARY.rules.items():
        wanted = keys.get(name, rule.default)
        if name == "text" and wanted is not None:
            same = (found.keys[name] or "").rstrip("\n") == wanted.rstrip("\n")
        else:
            same = found.keys[name] == (
                tuple(wanted) if isinstance(rule.default, tuple) else wanted
            )
        if len(cases) != number + 1 or not same:
            message = f"the case cannot be written here as it is: its {name} would be read otherwise; use another file"
            raise ItemError(message, where=f"{found.path}:{found.line}")
