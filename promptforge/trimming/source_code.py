"""Trimming of programs by the best means at hand: Python's syntax, a grammar, or indentation."""

from __future__ import annotations

from .code import divide_by_indentation, divide_by_syntax
from .pieces import Pieces
from .python import divide as divide_python


def divide(text: str, *, marker: str, language: str | None) -> Pieces | None:
    """Return a program as pieces; None for a text with lines of one depth only.

    Bodies go largest first; imports and signatures stay longest.
    """
    if language == "python":
        found = divide_python(text, marker=marker)
    else:
        found = divide_by_syntax(text, marker=marker, language=language)
    return found or divide_by_indentation(text, marker=marker, language=language)
