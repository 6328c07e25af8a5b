"""Trimming of programs: bodies go largest first, imports and signatures stay longest.

The blocks come from a syntax tree where the grammar of the language is installed, else from the
depth of the lines. `python` finds them by Python's own syntax.
"""

from __future__ import annotations

from ..text.format import Marks
from .indentation import read_indentation
from .pieces import Pieces
from .syntax_tree import read_syntax


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a program as pieces; None for a text with lines of one depth only."""
    blocks = read_syntax(text, language)
    found = blocks.pieces(language, marks) if blocks else None
    if found is None and (blocks := read_indentation(text, language)):
        return blocks.pieces(language, marks)
    return found
