"""Shorter forms of programs: by Python's own syntax, by a grammar that is installed, or by the depth of their lines."""

from __future__ import annotations

from . import indentation, python_code, syntax
from .pieces import Pieces


def divide(text: str, *, marker: str, language: str | None) -> Pieces | None:
    """Return a program as pieces: bodies go largest first, imports and signatures stay longest.

    `language` is a fence's tag, None for unknown. None for a text whose lines have no structure.
    """
    if language == "python":
        found = python_code.divide(text, marker=marker)
    else:
        found = syntax.divide(text, marker=marker, language=language)
    return found or indentation.divide(text, marker=marker, language=language)
