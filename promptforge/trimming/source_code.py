"""Trimming of programs by the best means at hand: Python's syntax, a grammar, or indentation."""

from __future__ import annotations

from . import indentation, python_code, syntax
from .pieces import Pieces


def divide(text: str, *, marker: str, language: str | None) -> Pieces | None:
    """Return a program as pieces; None for a text with lines of one depth only.

    Bodies go largest first; imports and signatures stay longest.
    """
    if language == "python":
        found = python_code.divide(text, marker=marker)
    else:
        found = syntax.divide(text, marker=marker, language=language)
    return found or indentation.divide(text, marker=marker, language=language)
