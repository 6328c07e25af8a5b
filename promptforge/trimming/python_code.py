"""Shorter forms of Python: statements leave the largest bodies first, and what is left still parses."""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .blocks import DEEPEST, IMPORT, NONE, SAYING, SIGNATURE, Block, Blocks
from .left_out import BARE, INSIDE
from .pieces import Pieces

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""The lines of Python's own reader: form feeds and U+2028 end none."""
TRIES = 4
"""How often a tree is made of a text before it is said to have none."""
_QUIET = threading.Lock()
_OPEN = 8
"""An `if`, a loop, a `with` or a `try` of fewer lines is one piece."""
_TRIPLE = re.compile(r"[rRuU]{0,2}(\"\"\"|''')")
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def divide(text: str, *, marker: str, language: str | None = "python") -> Pieces | None:
    """Return the statements of a module as pieces; None for what does not parse or is one statement."""
    tree = _parse(text)
    if tree is None:
        return None
    found = _Reader(_LINE.findall(text))
    found.read(tree.body)
    return found.blocks.pieces("python", marker)


def _parse(text: str) -> ast.Module | None:
    for _ in range(TRIES):
        try:
            with _QUIET, warnings.catch_warnings():  # "\d" in somebody's file is no concern of ours
                warnings.simplefilter("ignore")
                return ast.parse(text)
        except SystemError:  # CPython 3.11, when another thread makes a tree at the same time
            continue
        except (
            SyntaxError,
            ValueError,
            RecursionError,
            MemoryError,
        ):  # null bytes; 10,000 minus signs
            break
    return None


class _Place(NamedTuple):
    """Where a statement stands."""

    under: int = -1
    home: int = -1
    """The header whose body goes as one; -1: outside of any."""
    function: bool = False
    """Whether it is in a function."""
    nested: bool = False
    """Whether that function is in a function itself."""
    depth: int = 0

    def enter(self, statement: ast.stmt, head: int, first: int) -> _Place:
        """Return the place of what stands under `head`, a header of `statement`, whose first header is `first`."""
        if isinstance(statement, ast.ClassDef):
            return _Place(head, self.home, self.function, self.function, self.depth + 1)
        if isinstance(statement, _Definition):
            return _Place(head, head, True, self.function, self.depth + 1)
        home = first if self.home < 0 else self.home
        return _Place(head, home, self.function, self.nested, self.depth + 1)


class _Reader:
    """Walks statements, and turns them to blocks of whole lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.blocks = Blocks(lines)
        self.next = 0  # the first line that is in no block yet

    def read(self, body: Sequence[ast.stmt]) -> None:
        self._statements(self._says(body, _Place()) if body else body, _Place())
        if self.next < len(self.lines):
            self.blocks.add(Block(self.next), self.next)

    def _statements(self, body: Sequence[ast.stmt], place: _Place) -> None:
        for start, end, statement in self._units(body):
            if not self._open(statement, start, end, place):
                rank = _rank(statement, end - start) if not place.function else NONE
                self._add(Block(self.next, place.under, rank, body=place.home), start, end)

    def _units(self, body: Sequence[ast.stmt]) -> Iterator[tuple[int, int, ast.stmt | None]]:
        """Yield the lines of each statement and the statement; those that share a line are one, and None."""
        held: tuple[int, int, ast.stmt | None] | None = None
        for statement in body:
            start, end = _start(statement), self._end(statement.end_lineno or statement.lineno)
            if held and start < held[1]:  # a = 1; b = 2
                held = held[0], max(end, held[1]), None
                continue
            if held:
                yield held
            held = start, end, statement
        if held:
            yield held

    def _end(self, line: int) -> int:
        """Return the line after a statement that ends on `line` (from 1): a backslash at its end takes one more."""
        while line < len(self.lines) and self.lines[line - 1].rstrip("\r\n").endswith("\\"):
            if not self._is_trivia(line) and not self.lines[line].lstrip().startswith(";"):
                break  # x = 1  # a comment \
            line += 1
        return line

    def _add(self, block: Block, code: int, end: int) -> int:
        self.next = end
        return self.blocks.add(block, code)

    def _open(self, statement: ast.stmt | None, start: int, end: int, place: _Place) -> bool:
        """Add a statement as headers and bodies; False where that cannot be or is not worth it."""
        if statement is None or place.depth >= DEEPEST:
            return False
        defines = isinstance(statement, _Definition)
        if not defines and end - start < _OPEN:
            return False
        clauses = _clauses(statement)
        heads = self._heads([body for _, body in clauses], start)
        if not heads:
            return False
        rank = SIGNATURE if defines and not place.function else NONE
        kind = BARE if isinstance(statement, ast.Match) else ""
        head = first = self._add(Block(self.next, place.under, rank, body=place.home), *heads[0])
        for number, ((needed, body), (code, stop)) in enumerate(zip(clauses, heads, strict=True)):
            if number:
                block = Block(self.next, head, NONE, head if needed else -1, place.home, kind)
                head = self._add(block, code, stop)
            inner = place.enter(statement, head, first)
            self._statements(self._says(body, inner) if defines else body, inner)
        return True

    def _heads(
        self, bodies: Sequence[Sequence[ast.stmt]], start: int
    ) -> list[tuple[int, int]] | None:
        """Return the lines of each body's header; None where one shares a line with its body."""
        heads: list[tuple[int, int]] = []
        code = start
        for body in bodies:
            while heads and code < len(self.lines) and self._is_trivia(code):
                code += 1
            stop = _start(body[0])
            while stop > code and self._is_trivia(stop - 1):
                stop -= 1
            if stop <= code or self._shares(body[0]):
                return None
            heads.append((code, stop))
            code = self._end(max(s.end_lineno or s.lineno for s in body))
        return heads

    def _shares(self, statement: ast.stmt) -> bool:
        """Tell whether something stands before a statement on its line: `) -> None: ...`."""
        line = self.lines[_start(statement)]
        return len(line) - len(line.lstrip()) != statement.col_offset

    def _is_trivia(self, line: int) -> bool:
        text = self.lines[line].strip()
        return not text or text.startswith("#")

    def _says(self, body: Sequence[ast.stmt], place: _Place) -> Sequence[ast.stmt]:
        """Add the docstring of a body, its first line apart from the rest; return the other statements."""
        first = body[0]
        start, end = first.lineno - 1, self._end(first.end_lineno or first.lineno)
        if not _is_text(first) or (len(body) > 1 and _start(body[1]) < end):
            return body
        rank = NONE if place.nested else SAYING
        top = self._top(start, end)
        says = self._add(Block(self.next, place.under, rank, body=place.home), start, top)
        if top < end:
            self._add(Block(top, says, body=place.under, kind=INSIDE), top, end - 1)
            self._add(Block(end - 1, says, rank, says), end - 1, end)
        return body[1:]

    def _top(self, start: int, end: int) -> int:
        """Return the line after a docstring's first, `end` where it cannot be parted."""
        text = "".join(self.lines[start:end])
        opening = _TRIPLE.match(text.lstrip())
        if not opening or text.count(opening[1]) != 2:  # """a""" "b": two literals
            return end
        top = start + 1
        if self.lines[start].strip() == opening[0] or self.lines[start].rstrip().endswith("\\"):
            top += 1
        return top if top < end - 1 else end


def _start(statement: ast.stmt) -> int:
    """Return a statement's first line (from 0), its decorators' too."""
    if isinstance(statement, _Definition) and statement.decorator_list:
        return statement.decorator_list[0].lineno - 1
    return statement.lineno - 1


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _rank(statement: ast.stmt | None, lines: int) -> int:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return IMPORT
    return SIGNATURE if isinstance(statement, _Definition) and lines <= 2 else NONE  # def f(): ...


def _clauses(statement: ast.stmt) -> list[tuple[bool, Sequence[ast.stmt]]]:
    """Return the bodies of a statement, and of each whether the statement is none without it."""
    match statement:
        case ast.If():
            found: list[tuple[bool, Sequence[ast.stmt]]] = [(True, statement.body)]
            rest = statement.orelse
            while len(rest) == 1 and isinstance(
                branch := rest[0], ast.If
            ):  # elif, or an `if` alone in an `else`
                found.append((False, branch.body))
                rest = branch.orelse
            return [*found, (False, rest)] if rest else found
        case ast.For() | ast.AsyncFor() | ast.While():
            return [
                (True, statement.body),
                *([(False, statement.orelse)] if statement.orelse else []),
            ]
        case ast.Try() | ast.TryStar():
            bodies = [
                statement.body,
                *(h.body for h in statement.handlers),
                statement.orelse,
                statement.finalbody,
            ]
            return [(number == 1, body) for number, body in enumerate(filter(None, bodies))]
        case ast.Match():
            return [(False, case.body) for case in statement.cases]
        case (
            ast.FunctionDef()
            | ast.AsyncFunctionDef()
            | ast.ClassDef()
            | ast.With()
            | ast.AsyncWith()
        ):
            return [(True, statement.body)]
    return []
