"""The one door to tree-sitter: syntax trees of programs, where the grammar of their language is installed."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node

# Not among them: tree-sitter-bash 0.25, which ends the process on some texts.
GRAMMARS = {
    "javascript": ("tree_sitter_javascript", "language"),
    "jsx": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "lua": ("tree_sitter_lua", "language"),
    "scala": ("tree_sitter_scala", "language"),
    "swift": ("tree_sitter_swift", "language"),
}
"""By language: the module of its grammar, and the function there that gives it."""
LONGEST = 100_000
"""Texts of more bytes are not parsed: of junk, 50,000 took over a second."""
_CHUNK = 8192
_READS, _STEPS = 24, 200
"""How often a parser may read each chunk, and go a hundred steps in it. Programs take 2 to 10 and 40 to 190; junk
takes quadratic time (`/*` unclosed, 100,000 times) or worse."""


@lru_cache(maxsize=64)
def _grammar(language: str) -> Language | None:
    """Return the grammar of a language, None where it is not installed."""
    if language not in GRAMMARS:
        return None
    module, name = GRAMMARS[language]
    try:
        from tree_sitter import Language

        return Language(getattr(importlib.import_module(module), name)())
    except (
        ImportError,
        AttributeError,
        ValueError,
    ):  # ValueError: made for another version of tree-sitter
        return None


def parse(text: str, language: str | None) -> Node | None:
    """Return the root of a program's tree; None without a grammar, or where parsing takes more than its share.

    The share is counted, not timed, so that equal texts give equal answers.
    """
    grammar = _grammar(language or "")
    data = text.encode("utf-8", "replace")  # a lone surrogate
    if grammar is None or len(data) > LONGEST:
        return None
    from tree_sitter import Parser

    left = _Effort(data)
    try:
        tree = Parser(grammar).parse(left.read, progress_callback=left.is_spent)
    except ValueError:  # given up
        return None
    return None if left.spent else tree.root_node


class _Effort:
    """Hands a parser its text, and counts."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._reads = (len(data) // _CHUNK + 2) * _READS
        self._steps = (len(data) // _CHUNK + 2) * _STEPS
        self.spent = False

    def read(self, offset: int, point: object) -> bytes:
        self._reads -= 1
        if self._reads < 0:
            self.spent = True
            return b""
        return self._data[offset : offset + _CHUNK]

    def is_spent(self, offset: int, failed: bool) -> bool:
        self._steps -= 1
        if self._steps < 0:
            self.spent = True
        return self.spent
