"""Render a case and compare it with its expectation."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..diagnostics import Diagnostics
from ..errors import ItemError, PromptForgeError, quote
from ..escaping import label
from ..folders import contents
from ..items import Item
from ..rendering import ContextRenderer
from ..results import Result, ResultItem
from ..sources import itemfiles
from ..sources.records import load_records
from .cases import Case


class Outcome(NamedTuple):
    """The outcome of a case."""

    case: Case
    problems: tuple[str, ...]
    """Differences from the expectation, each on some lines; empty if the case holds."""
    text: str | None = None
    """The rendered text; `None` if the rendering failed."""
    tokens: int | None = None
    stale: bool = False
    """True if the rendered text is not the expected one, so `--update` has something to write."""


def judge(case: Case, templates: Sequence[Path] = (), profiles: Sequence[Path] = ()) -> Outcome:
    """Render a case and compare; the folders come after those that the case names.

    Unreadable items or an unreadable expected text are problems of the case.
    """
    if case.problem is not None:
        return Outcome(case, (case.problem,))
    keys = case.keys
    options = dict(keys["options"])
    diagnostics = Diagnostics()
    try:
        items = _items(case, diagnostics)
        wanted = _wanted(case)
    except ItemError as error:
        return Outcome(case, (str(error),))
    try:
        renderer = ContextRenderer(
            profile=options.pop("profile", None),
            templates=[*map(case.near, keys["templates"]), *templates],
            profiles=[*map(case.near, keys["profiles"]), *profiles],
        )
        result = renderer.render(items, before=tuple(diagnostics), **options)
    except PromptForgeError as error:
        return Outcome(case, tuple(_failure(str(error), keys["fails"])))
    problems = []
    if keys["fails"] is not None:
        problems.append(f"did not fail; expected a message with {quote(keys['fails'])}")
    differs = _differences(case, wanted, result.text)
    problems += [*differs, *_bounds(keys, result)]
    problems += [f"the template failed: {w.message}" for w in result.warnings if w.code == "PF401"]
    return Outcome(case, tuple(problems), result.text, result.tokens, stale=bool(differs))


def _failure(message: str, wanted: str | None) -> Iterator[str]:
    if wanted is None:
        yield f"failed: {message}"
    elif wanted not in message:
        yield f"failed: {message}\nexpected a message with {quote(wanted)}"


def _differences(case: Case, wanted: str | None, text: str) -> list[str]:
    """Return a problem if the text is not the wanted one."""
    said = "the text differs"
    if wanted is None:
        return []
    if case.keys["file"] is None:
        # YAML's block of text ends with a line end or without one, by its header.
        wanted, text = wanted.rstrip("\n"), text.rstrip("\n")
    elif not case.near(case.keys["file"]).exists():
        said = f"the file {quote(case.keys['file'])} is not there; --update writes it"
    if wanted == text:
        return []
    return ["\n".join([said, *difference(wanted, text)])]


def _items(case: Case, diagnostics: Diagnostics) -> list[Item]:
    given = case.keys["items"]
    if isinstance(given, str):
        path = case.near(given).absolute()
        return itemfiles.load(str(path), diagnostics=diagnostics, workspace=path.parent)
    return load_records(given, where=f"{case.path}:{case.line}", diagnostics=diagnostics)


def _wanted(case: Case) -> str | None:
    if case.keys["file"] is None:
        text: str | None = case.keys["text"]
        return text
    path = case.near(case.keys["file"])
    if not path.exists():
        return ""
    try:
        return contents(path).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ItemError("cannot be read as UTF-8 text", where=str(path)) from None


def name_of(entry: ResultItem) -> str:
    """Return the name of an item in a case."""
    return entry.name or entry.path or entry.id


def _bounds(keys: dict[str, Any], result: Result) -> Iterator[str]:
    limit = keys["tokens_at_most"]
    if limit is not None and result.tokens > limit:
        yield f"the text costs {result.tokens:,} tokens, at most {limit:,} expected"
    limit = keys["chars_at_most"]
    if limit is not None and result.chars > limit:
        yield f"the text has {result.chars:,} characters, at most {limit:,} expected"
    for part in keys["contains"]:
        if part not in result.text:
            yield f"the text lacks {quote(part)}"
    for part in keys["lacks"]:
        if part in result.text:
            yield f"the text holds {quote(part)}"
    for name, status in keys["statuses"].items():
        found = {
            entry.status for entry in result.items if name in (entry.id, entry.name, entry.path)
        }
        if not found:
            known = list(map(name_of, result.items))
            yield f"there is no item {quote(name)}; there are: {', '.join(map(quote, known[:20]))}"
        elif found != {status}:
            yield f"{quote(name)} is {' and '.join(sorted(found))}, {status} expected"
    if keys["warnings"] is not None:
        said = sorted({w.code for w in result.warnings if w.severity != "info"})
        if said != sorted(set(keys["warnings"])):
            expected = ", ".join(sorted(keys["warnings"])) or "none"
            yield f"warnings: {', '.join(said) or 'none'}; expected: {expected}"


def difference(expected: str, printed: str) -> Iterator[str]:
    """Yield a unified diff with every character visible; blanks at a line's end are `·`."""
    old, new = (text.split("\n") for text in (expected, printed))
    for line in difflib.unified_diff(old, new, "expected", "printed", lineterm="", n=2):
        mark, text = line[:1], line[1:]
        shown = re.sub(r" +$", lambda blanks: "·" * len(blanks[0]), text)
        yield mark + "\t".join(label(part) for part in shown.split("\t"))
