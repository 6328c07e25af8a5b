"""Texts without what a reader asked to leave out: bodies, comments, empty lines."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..errors import OptionError
from .kinds import Trimmers
from .pieces import Pieces

_KEPT_COMMENTS = ("Hashbang", "Preproc", "PreprocFile")
"""Tokens below `Comment` that a program needs: `#!/bin/sh`, `#include`."""


def outline_of(text: str, kind: str, language: str | None, trimmers: Trimmers) -> str | None:
    """Return the signatures or headings of `text`, with a mark at each gap; None: it has none."""
    marks = trimmers.marks._replace(marker="")
    structure = trimmers._replace(marks=marks).find_structure(kind, language, text)
    if not isinstance(structure, Pieces):
        return None
    skeleton = [index for index, part in enumerate(structure.parts) if part.skeleton]
    return structure.text(skeleton) if skeleton else None


def without_empty_lines(text: str) -> str:
    """Return `text` without lines that hold nothing but blanks."""
    return "".join(line for line in text.splitlines(keepends=True) if line.strip())


def without_comments(text: str, language: str | None) -> str | None:
    """Return a program without its comments; None where its language is not known.

    A line that held a comment alone goes as a whole. Raises `OptionError` without Pygments.
    """
    lexer = _lexer(language or "")
    if lexer is None:
        return None
    spans = []
    for start, token, part in lexer.get_tokens_unprocessed(text):
        names = [str(name) for name in token]  # Comment.Single is ("Comment", "Single")
        if names[:1] == ["Comment"] and names[-1] not in _KEPT_COMMENTS:
            spans.append((start, start + len(part)))
    spans.sort()
    lines: list[str] = []
    start = place = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line.rstrip("\r\n"))
        shown, begin = [], start
        while place < len(spans) and spans[place][0] < end:
            shown.append(text[begin : max(begin, spans[place][0])])
            begin = max(begin, spans[place][1])
            if begin > end:  # it goes on in the next line
                break
            place += 1
        left = "".join(shown) + text[min(begin, end) : end]
        touched = len(left) < end - start
        start += len(line)
        if not touched:
            lines.append(line)
        elif left.strip():
            lines.append(left.rstrip() + text[end:start])
    return "".join(lines)


@lru_cache
def _lexer(language: str) -> Any:
    """Return the lexer of a language, or None."""
    try:
        from pygments.lexers import get_lexer_by_name
        from pygments.util import ClassNotFound
    except ImportError:
        raise OptionError(
            "comments: false needs the package pygments: pip install '.[comments]'",
            option="comments",
        ) from None
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None
