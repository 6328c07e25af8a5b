"""The one door to tree-sitter: syntax trees of programs, where their grammar is installed."""

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
"""Language → the module of its grammar, and the function there that returns it."""
LONGEST = 100_000
"""Bytes above which a text is not parsed: of junk, 50,000 took over a second."""
_CHUNK_BYTES = 8192
# Programs take 2 to 10 reads and 40 to 190 hundreds of steps for each chunk. Junk takes quadratic
# time (`/*` unclosed, 100,000 times) or worse.
_MAX_READS_PER_CHUNK = 24
_MAX_STEPS_PER_CHUNK = 200


@lru_cache(maxsize=64)
def _grammar(language: str) -> Language | None:
    """Return the grammar of a language, None if it is not installed."""
    if language not in GRAMMARS:
        return None
    module, name = GRAMMARS[language]
    try:
        from tree_sitter import Language

        return Language(getattr(importlib.import_module(module), name)())
    except (ImportError, AttributeError, ValueError):
        # ValueError: made for another version of tree-sitter.
        return None


def parse(text: str, language: str | None) -> Node | None:
    """Return the root of a program's syntax tree.

    None without a grammar, or where parsing takes more than its share.
    """
    grammar = _grammar(language or "")
    data = text.encode("utf-8", "replace")  # a lone surrogate becomes "?", also one byte
    if grammar is None or len(data) > LONGEST:
        return None
    from tree_sitter import Parser

    effort = _Effort(data)
    try:
        tree = Parser(grammar).parse(effort.read, progress_callback=effort.is_spent)
    except ValueError:  # tree-sitter was told to stop
        return None
    return None if effort.spent else tree.root_node


class _Effort:
    """Hands a parser its text, and counts: by a clock, equal texts would give unequal answers."""

    def __init__(self, data: bytes) -> None:
        chunks = len(data) // _CHUNK_BYTES + 2
        self._data = data
        self._reads = chunks * _MAX_READS_PER_CHUNK
        self._steps = chunks * _MAX_STEPS_PER_CHUNK
        self.spent = False

    def read(self, offset: int, point: object) -> bytes:
        self._reads -= 1
        if self._reads < 0:
            self.spent = True
            return b""
        return self._data[offset : offset + _CHUNK_BYTES]

    def is_spent(self, offset: int, failed: bool) -> bool:
        self._steps -= 1
        if self._steps < 0:
            self.spent = True
        return self.spent
