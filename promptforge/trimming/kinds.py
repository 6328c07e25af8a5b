"""The trimmers: which module shortens texts of which kind or language.

To add one, write a module here with `divide(text, *, marker, language)` and name it in a table.
It returns `Pieces`, or a `Ladder` of its own; None for a text without the structure it knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

from .. import plugins
from ..errors import OptionError
from .pieces import Ladder, Pieces
from .plugged import Texts

BY_KIND = {
    "error": "tracebacks",
    "history": "histories",
    "man_page": "man",
    "mitre_attack": "attack",
    "repl-history": "histories",
    "repl_history": "histories",
    "terminal": "histories",
}
"""Kind of item → the module that shortens its text; this goes before its language."""
BY_LANGUAGE = {
    **dict.fromkeys(("console", "pycon", "shell-session"), "histories"),
    **dict.fromkeys(("json", "jsonl", "ndjson"), "jsontext"),
    "markdown": "markdown",
}
PROGRAMS = frozenset({"class", "code", "function", "interface", "method", "module", "type"})
"""Kinds with programs as texts, unless their language says otherwise."""
NO_PROGRAMS = frozenset(
    {"csv", "diff", "html", "markdown", "none", "plain", "rst", "svg", "text", "txt", "xml"}
)
"""Languages without bodies to leave out."""
_OWN_KINDS = {
    *(*BY_KIND, *PROGRAMS),
    *("conversation", "custom", "decision", "document", "feature", "file", "message"),
    *("requirement", "section", "session", "text"),
}
"""Kinds that no plug-in may shorten."""

LONGEST = 1 << 20
"""Characters above which a text is not shortened by its structure."""
MOST = 20_000
"""Lines, or pieces, above which a text is not either: it would take seconds."""
REMEMBERED = 1 << 14
"""Characters up to which the pieces of a text are remembered."""

_CODE_LINE = re.compile(
    r"^(?:[ \t]{2,}\S.*|.*[{};]"
    r"|[ \t]*(?:def|class|func|function|fn|import|from|const|let|var|public|private|static)\b.*)$",
    re.MULTILINE,
)


def read(kind: str, language: str | None, text: str, marker: str) -> Pieces | Ladder | None:
    """Return the structure by which `text`, of an item of this kind and language, is shortened.

    None if it has no known structure, more than `MOST` lines or pieces, or more than `LONGEST`
    characters. Raises `OptionError` if a plug-in fails.
    """
    if len(text) > LONGEST or max(map(text.count, "\n\r")) > MOST:
        return None
    if kind not in _OWN_KINDS:
        plugin = plugins.find("trimmers", kind, _refusal)
        if plugin is not None:
            return _read_by_plugin(plugin, kind, language, text, marker)
    # A text at the edge of one budget is at the edge of the next budget too.
    reader = _read_once if len(text) <= REMEMBERED else _read
    return reader(kind, language, text, marker)


def _read_by_plugin(
    plugin: plugins.Plugin, kind: str, language: str | None, text: str, marker: str
) -> Texts:
    what = f'trimmer "{kind}"'
    shorter = plugins.guarded(plugin, what, _refusal, text, marker=marker, language=language)
    return Texts(
        text, shorter, marker, lambda error: _refusal(plugins.failure(plugin, what, error))
    )


def _read(kind: str, language: str | None, text: str, marker: str) -> Pieces | Ladder | None:
    modules = [BY_KIND.get(kind), BY_LANGUAGE.get(language or "")]
    if _is_program(kind, language):
        modules.append("source_code")
    for module in filter(None, modules):
        # Loaded when first needed: each has patterns or a parser of its own, and most runs need
        # one or none.
        divide: Callable[..., Pieces | Ladder | None] = import_module(
            f".{module}", __package__
        ).divide
        found = divide(text, marker=marker, language=language)
        if isinstance(found, Pieces) and len(found.parts) > MOST:
            return None
        if found is not None:
            return found
    return None


_read_once = lru_cache(maxsize=256)(_read)


def _refusal(message: str) -> OptionError:
    return OptionError(f"{message}; trim: prefix does without it", option="trim")


def _is_program(kind: str, language: str | None) -> bool:
    if language:
        return language not in NO_PROGRAMS and language not in BY_LANGUAGE
    return kind in PROGRAMS


def looks_like_program(kind: str, language: str | None, text: str) -> bool:
    """Tell whether a text is a program, by its kind and language or by half of its lines."""
    if _is_program(kind, language):
        return True
    lines = sum(1 for line in text.split("\n") if line.strip())
    return lines > 2 and 2 * len(_CODE_LINE.findall(text)) >= lines
