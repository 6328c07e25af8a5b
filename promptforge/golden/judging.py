"""Rendering a case and comparing it with what is expected of it."""

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
    """What came of a case."""

    case: Case
    problems: tuple[str, ...]
    """What is not as expected, each on some lines; empty: the case holds."""
    text: str | None
    """What was printed; `None` where the rendering failed."""
    tokens: int | None
    stale: bool
    """Whether the expected text is another than the printed one, so that `--update` has something to write."""


def judge(case: Case, templates: Sequence[Path] = (), profiles: Sequence[Path] = ()) -> Outcome:
    """Render a case and compare. The folders come after those that the case names itself.

    What cannot be read, items or the expected text, is a problem of the case.
    """
    if case.problem is not None:
        return Outcome(case, (case.problem,), None, None, stale=False)
    keys = case.keys
    options = dict(keys["options"])
    diagnostics = Diagnostics()
    try:
        items = _items(case, diagnostics)
        wanted_text = _wanted(case)
    except ItemError as error:
        return Outcome(case, (str(error),), None, None, stale=False)
    try:
        renderer = ContextRenderer(
            profile=options.pop("profile", None),
            templates=[*map(case.near, keys["templates"]), *templates],
            profiles=[*map(case.near, keys["profiles"]), *profiles],
        )
        result = renderer.render(items, before=tuple(diagnostics), **options)
    except PromptForgeError as error:
        wanted = keys["fails"]
        if wanted is not None and wanted in str(error):
            return Outcome(case, (), None, None, stale=False)
        expected = "" if wanted is None else f"\nexpected a message with {quote(wanted)}"
        return Outcome(case, (f"failed: {error}{expected}",), None, None, stale=False)
    differs = wanted_text is not None and not _same(case, wanted_text, result.text)
    problems = []
    if keys["fails"] is not None:
        problems.append(f"did not fail; expected a message with {quote(keys['fails'])}")
    if differs:
        assert wanted_text is not None
        sides = [wanted_text, result.text]
        if keys["file"] is None:
            sides = [side.rstrip("\n") for side in sides]
        said = "the text differs"
        if keys["file"] is not None and not case.near(keys["file"]).exists():
            said = f"the file {quote(keys['file'])} is not there; --update writes it"
        problems.append("\n".join([said, *difference(*sides)]))
    problems += _bounds(keys, result)
    problems += [f"the template failed: {w.message}" for w in result.warnings if w.code == "PF401"]
    return Outcome(case, tuple(problems), result.text, result.tokens, stale=differs)


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


def _same(case: Case, wanted: str, text: str) -> bool:
    return (
        wanted == text
        if case.keys["file"] is not None
        else wanted.rstrip("\n") == text.rstrip("\n")
    )


def name_of(entry: ResultItem) -> str:
    """Return what a case calls an item."""
    return entry.name or entry.path or entry.id


def _bounds(keys: dict[str, Any], result: Result) -> Iterator[str]:
    if keys["tokens_at_most"] is not None and result.tokens > keys["tokens_at_most"]:
        yield f"the text costs {result.tokens:,} tokens, at most {keys['tokens_at_most']:,} expected"
    if keys["chars_at_most"] is not None and result.chars > keys["chars_at_most"]:
        yield f"the text has {result.chars:,} characters, at most {keys['chars_at_most']:,} expected"
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
            yield f"warnings: {', '.join(said) or 'none'}; expected: {', '.join(sorted(keys['warnings'])) or 'none'}"


def difference(expected: str, printed: str) -> Iterator[str]:
    """Yield the lines of a unified diff on which every character can be seen; a blank at a line's end is a `·`."""
    old, new = (text.split("\n") for text in (expected, printed))
    for line in difflib.unified_diff(old, new, "expected", "printed", lineterm="", n=2):
        mark, text = line[:1], line[1:]
        shown = re.sub(r" +$", lambda blanks: "·" * len(blanks[0]), text)
        yield mark + "\t".join(label(part) for part in shown.split("\t"))
