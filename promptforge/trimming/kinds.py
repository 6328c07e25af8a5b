"""Which kind of text is shortened how."""

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
"""An item's kind → the module that shortens its text; this goes before its language."""
BY_LANGUAGE = {
    **dict.fromkeys(("console", "pycon", "shell-session"), "histories"),
    **dict.fromkeys(("json", "jsonl", "ndjson"), "jsontext"),
    "markdown": "markdown",
}
PROGRAMS = frozenset({"class", "code", "function", "interface", "method", "module", "type"})
"""Kinds of which a text is a program unless its language says otherwise."""
NO_PROGRAMS = frozenset(
    {"csv", "diff", "html", "markdown", "none", "plain", "rst", "svg", "text", "txt", "xml"}
)
"""Languages that have no bodies to leave out."""
_SHORTENED_HERE = {
    *BY_KIND, *PROGRAMS, "conversation", "custom", "decision", "document", "feature", "file", "message",
    "requirement", "section", "session", "text",
}  # fmt: skip
"""Kinds that are no plug-in's to shorten."""

LONGEST = 1 << 20
"""Characters of a text that is shortened by its structure, ..."""
MOST = 20_000
"""... and its lines, and pieces: with more it would take seconds."""
REMEMBERED = 1 << 14
"""Characters of a text whose pieces are remembered: what lies at the edge of one budget does so again."""

_CODE_LINE = re.compile(
    r"^(?:[ \t]{2,}\S.*|.*[{};]"
    r"|[ \t]*(?:def|class|func|function|fn|import|from|const|let|var|public|private|static)\b.*)$",
    re.MULTILINE,
)


def read(kind: str, language: str | None, text: str, marker: str) -> Pieces | Ladder | None:
    """Return the shorter forms of `text`, an item's of this kind and language.

    `None`: it has no known structure, or one of more than `MOST` lines or pieces, or is longer than `LONGEST`.
    """
    if len(text) > LONGEST or max(map(text.count, "\n\r")) > MOST:
        return None
    if (
        kind not in _SHORTENED_HERE
        and (plugin := plugins.find("trimmers", kind, _refusal)) is not None
    ):
        what = f'trimmer "{kind}"'
        shorter = plugins.guarded(plugin, what, _refusal, text, marker=marker, language=language)
        return Texts(
            text, shorter, marker, lambda error: _refusal(plugins.failure(plugin, what, error))
        )
    return (_read_once if len(text) <= REMEMBERED else _read)(kind, language, text, marker)


def _read(kind: str, language: str | None, text: str, marker: str) -> Pieces | Ladder | None:
    program = "source_code" if _is_program(kind, language) else None
    for module in (BY_KIND.get(kind), BY_LANGUAGE.get(language or ""), program):
        if module is not None:
            # Loaded when first needed: each brings patterns or a parser of its own, and most runs need one or none.
            reader: Callable[..., Pieces | Ladder | None] = import_module(
                f".{module}", __package__
            ).divide
            found = reader(text, marker=marker, language=language)
            if found is not None:
                return None if isinstance(found, Pieces) and len(found.parts) > MOST else found
    return None


_read_once = lru_cache(maxsize=256)(_read)


def _refusal(message: str) -> OptionError:
    return OptionError(f"{message}; trim: prefix does without it", option="trim")


def _is_program(kind: str, language: str | None) -> bool:
    return (
        language not in NO_PROGRAMS and language not in BY_LANGUAGE
        if language
        else kind in PROGRAMS
    )


def looks_like_program(kind: str, language: str | None, text: str) -> bool:
    """Tell whether a text is a program, by what it is said to be or by half its lines."""
    if _is_program(kind, language):
        return True
    lines = sum(1 for line in text.split("\n") if line.strip())
    return lines > 2 and 2 * len(_CODE_LINE.findall(text)) >= lines
