"""Trimming of programs: bodies go largest first, imports and signatures stay longest.

The blocks come from a syntax tree where the grammar of the language is installed, else from the
depth of the lines. `python` finds them by Python's own syntax.
"""

from __future__ import annotations

from ..text.format import Marks
from .indentation import read_indentation
from .pieces import Pieces
from .program import Cut, program_pieces, recall_cut
from .syntax_tree import read_syntax


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a program as pieces; None for a text with lines of one depth only."""
    cut = recall_cut(text, f"code {language}", lambda: _cut(text, language))
    return program_pieces(text, cut, language, marks)


def _cut(text: str, language: str | None) -> Cut | None:
    blocks = read_syntax(text, language)
    found = blocks.cut() if blocks else None
    if found is None and (blocks := read_indentation(text, language)):
        return blocks.cut()
    return found
