"""Trimming of Python: statements go with the largest bodies first, and the rest still parses."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..files import fork_safe_lock
from ..text.format import Marks
from .pieces import Pieces
from .program import (
    COMMENT_ONLY,
    FIELD,
    IMPORT,
    IN_STRING,
    MAX_BLOCK_DEPTH,
    NONE,
    SAYING,
    SAYS,
    SIGNATURE,
    TOP,
    Blocks,
    Cut,
    Place,
    Unit,
    program_pieces,
    recall_cut,
)

# The lines of Python's own reader: form feeds and U+2028 end none, a bare CR does.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_MAX_PARSE_TRIES = 4
_MIN_LINES_OPENED = 8
"""An `if`, a loop, a `with` or a `try` of fewer lines is one piece."""
_TRIPLE = re.compile(r"[rRuU]{0,2}(\"\"\"|''')")
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Assignment = (ast.Assign, ast.AnnAssign, getattr(ast, "TypeAlias", ast.AnnAssign))
_quiet = fork_safe_lock()


def divide(text: str, *, marks: Marks, language: str | None = "python") -> Pieces | None:
    """Return the statements of a module as pieces; None if it does not parse or has only one."""
    cut = recall_cut(text, "python", lambda: _cut(text))
    return program_pieces(text, cut, "python", marks)


def _cut(text: str) -> Cut | None:
    tree = parse_python(text)
    if tree is None:
        return None
    reader = _Reader(_LINE.findall(text))
    reader.read_body(tree.body, TOP, says=True)
    return reader.blocks.cut()


def parse_python(text: str) -> ast.Module | None:
    """Return the tree of a module; None for what does not parse."""
    for _ in range(_MAX_PARSE_TRIES):
        try:
            # "\d" in somebody's file is no concern of ours. The filters are the process's own,
            # so two threads must not change them at a time.
            with _quiet, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(text)
        except SystemError:
            continue  # CPython 3.11, when another thread makes a tree at the same time
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            break  # ValueError: null bytes; RecursionError: 10,000 minus signs
    return None


class _Clause(NamedTuple):
    needed: bool
    """True if the statement is none without it, as a `try` without its first `except`."""
    body: Sequence[ast.stmt]


class _Reader:
    """Walks statements, and turns them into blocks of whole lines (numbered from 0)."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.blocks = Blocks(lines)

    def read_body(self, body: Sequence[ast.stmt], place: Place, *, says: bool) -> None:
        """Add the statements of a body; with `says` the first may be a docstring."""
        if says and body:
            body = self._docstring(body, place)
        for unit in self._units(body):
            if not self._open(unit, place):
                rank = NONE if place.function else _rank(unit)
                is_field = place.members and isinstance(unit.node, _Assignment)
                kind = FIELD if is_field else ""
                self.blocks.add(unit.start, unit.end, place, rank=rank, kind=kind)

    def _units(self, body: Sequence[ast.stmt]) -> Iterator[Unit]:
        held: Unit | None = None
        for statement in body:
            start, end = _start(statement), self._end(statement.end_lineno or statement.lineno)
            if held and start < held.end:  # a = 1; b = 2
                held = Unit(held.start, max(end, held.end), None)
                continue
            if held:
                yield held
            held = Unit(start, end, statement)
        if held:
            yield held

    def _end(self, line: int) -> int:
        """Return the line after a statement that ends on `line` (from 1).

        A backslash at its end takes one more line.
        """
        while line < len(self.lines) and self.lines[line - 1].rstrip("\r\n").endswith("\\"):
            if not self._is_trivia(line) and not self.lines[line].lstrip().startswith(";"):
                break  # x = 1  # a comment \
            line += 1
        return line

    def _open(self, unit: Unit, place: Place) -> bool:
        """Add a statement as headers and bodies; False if that is impossible or not worth it."""
        statement = unit.node
        if statement is None or place.depth >= MAX_BLOCK_DEPTH:
            return False
        defines = isinstance(statement, _Definition)
        if not defines and unit.end - unit.start < _MIN_LINES_OPENED:
            return False
        clauses = _clauses(statement)
        heads = self._heads([clause.body for clause in clauses], unit.start)
        if not heads:
            return False
        rank = SIGNATURE if defines and not place.function else NONE
        kind = COMMENT_ONLY if isinstance(statement, ast.Match) else ""
        container = isinstance(statement, ast.ClassDef)
        head = first = -1
        for clause, (code, stop) in zip(clauses, heads, strict=True):
            if head < 0:
                head = first = self.blocks.add(code, stop, place, rank=rank)
            else:
                closes = head if clause.needed else -1
                under = place._replace(parent=head)
                head = self.blocks.add(code, stop, under, closes=closes, kind=kind)
            function = defines and not container
            inner = place.enter(head, first, function=function, container=container)
            self.read_body(clause.body, inner, says=defines)
        return True

    def _heads(
        self, bodies: Sequence[Sequence[ast.stmt]], start: int
    ) -> list[tuple[int, int]] | None:
        """Return the lines of each body's header; None if one shares a line with its body."""
        heads: list[tuple[int, int]] = []
        code = start
        for body in bodies:
            while heads and code < len(self.lines) and self._is_trivia(code):
                code += 1
            stop = _start(body[0])
            while stop > code and self._is_trivia(stop - 1):
                stop -= 1
            line = self.lines[_start(body[0])]
            # Code stands before a statement on its line: `) -> None: ...`.
            shares_line = len(line) - len(line.lstrip()) != body[0].col_offset
            if stop <= code or shares_line:
                return None
            heads.append((code, stop))
            code = self._end(max(s.end_lineno or s.lineno for s in body))
        return heads

    def _is_trivia(self, line: int) -> bool:
        text = self.lines[line].strip()
        return not text or text.startswith("#")

    def _docstring(self, body: Sequence[ast.stmt], place: Place) -> Sequence[ast.stmt]:
        """Add the docstring of a body, its first line apart; return the other statements."""
        first = body[0]
        start, end = first.lineno - 1, self._end(first.end_lineno or first.lineno)
        said = first.value if isinstance(first, ast.Expr) else None
        is_text = isinstance(said, ast.Constant) and isinstance(said.value, str)
        if not is_text or (len(body) > 1 and _start(body[1]) < end):
            return body
        rank = NONE if place.nested else SAYING
        top = self._docstring_top(start, end)
        opening = self.blocks.add(start, top, place, rank=rank, kind=SAYS)
        if top < end:
            # The closing quotes are a piece that stays exactly as long as the opening ones.
            self.blocks.add(top, end - 1, Place(opening, place.parent), kind=IN_STRING)
            self.blocks.add(end - 1, end, Place(opening), rank=rank, closes=opening)
        return body[1:]

    def _docstring_top(self, start: int, end: int) -> int:
        """Return the line after a docstring's first, `end` if it cannot be parted."""
        text = "".join(self.lines[start:end])
        opening = _TRIPLE.match(text.lstrip())
        if not opening or text.count(opening[1]) != 2:  # """a""" "b": two literals
            return end
        top = start + 1
        if self.lines[start].strip() == opening[0] or self.lines[start].rstrip().endswith("\\"):
            top += 1
        return top if top < end - 1 else end


def _start(statement: ast.stmt) -> int:
    if isinstance(statement, _Definition) and statement.decorator_list:
        return statement.decorator_list[0].lineno - 1
    return statement.lineno - 1


def _rank(unit: Unit) -> int:
    if isinstance(unit.node, ast.Import | ast.ImportFrom):
        return IMPORT
    if isinstance(unit.node, _Definition) and unit.end - unit.start <= 2:
        return SIGNATURE  # def f(): ...
    return NONE


def _clauses(statement: ast.stmt) -> list[_Clause]:
    match statement:
        case ast.If():
            found = [_Clause(True, statement.body)]
            rest = statement.orelse
            # elif, or an `if` alone in an `else`
            while len(rest) == 1 and isinstance(branch := rest[0], ast.If):
                found.append(_Clause(False, branch.body))
                rest = branch.orelse
            return found + [_Clause(False, rest)] * bool(rest)
        case ast.Try() | ast.TryStar():
            handlers = [handler.body for handler in statement.handlers]
            bodies = [statement.body, *handlers, statement.orelse, statement.finalbody]
            return [_Clause(number == 1, body) for number, body in enumerate(filter(None, bodies))]
        case ast.Match():
            return [_Clause(False, case.body) for case in statement.cases]
    bodies = [getattr(statement, "body", []), getattr(statement, "orelse", [])]
    return [_Clause(number == 0, body) for number, body in enumerate(filter(None, bodies))]
