"""Shorter forms of programs by their syntax trees: what stands between braces leaves, the braces stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import grammars
from .blocks import DEEPEST, IMPORT, NONE, SIGNATURE, Block, Blocks
from .pieces import Pieces

if TYPE_CHECKING:
    from tree_sitter import Node

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FUNCTION = re.compile(
    r"func|method|constructor|destructor|closure|lambda|arrow|getter|setter|accessor|do_block|^init_"
)
_CONTAINER = re.compile(
    r"class|struct|enum|interface|trait|impl|mod_item|module|namespace|object_def|record|protocol|extension|union|"
    r"linkage|preproc_if|template_decl"
)
_IMPORT = re.compile(r"import|include|^use_|_use_|using_|package|require|extern_crate")
_PREFIX = re.compile(r"^(attribute_item|inner_attribute_item|decorator|attribute_list|annotation)$")
_OPAQUE = re.compile(
    r"string|heredoc|interpolation|comment|token_tree|^template_(?:literal|substitution)|expansion|substitution|regex"
)
_PAIRS = {"}": "{", "done": "do", "end": "do", "#endif": ""}
_WRAPPERS = {"statements", "statement_list", "block", "body_statement", "block_body"}
"""Nodes that hold all between two delimiters."""


class _Span(NamedTuple):
    """A block: the rows of its delimiters, what is between them, and whose it is."""

    top: int
    bottom: int
    inner: Sequence[Node]
    owner: str


class _Place(NamedTuple):
    under: int = -1
    home: int = -1
    function: bool = False
    depth: int = 0

    def enter(self, owner: str, head: int, first: int) -> _Place:
        """Return the place of what stands under `head` in a block of `owner`."""
        if _FUNCTION.search(owner):
            return _Place(head, head, True, self.depth + 1)
        home = self.home if self.home >= 0 or _CONTAINER.search(owner) else first
        return _Place(head, home, self.function, self.depth + 1)


def divide(text: str, *, marker: str, language: str | None) -> Pieces | None:
    """Return the statements of a program as pieces; None without a grammar, and for what is hardly that language."""
    root = grammars.parse(text, language)
    if root is None or root.type == "ERROR":
        return None
    lines = _LINE.findall(text)
    wrong = sum(_end(node) - node.start_point.row for node in root.children if node.is_error)
    if wrong * 4 > len(lines):
        return None
    found = _Reader(lines)
    found.read(root.children)
    return found.blocks.pieces(language, marker)


class _Reader:
    """Walks syntax trees, and turns them to blocks of whole lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.blocks = Blocks(lines)
        self.next = 0  # the first line that is in no block yet

    def read(self, nodes: Sequence[Node]) -> None:
        self._statements(nodes, _Place())
        if self.next < len(self.lines):
            self.blocks.add(Block(self.next), self.next)

    def _statements(self, nodes: Sequence[Node], place: _Place) -> None:
        for start, end, node in _units(nodes):
            if not self._open(node, start, end, place):
                rank = _rank(node, end - start) if not place.function else NONE
                self._add(Block(self.next, place.under, rank, body=place.home), start, end)

    def _add(self, block: Block, code: int, end: int) -> int:
        self.next = end
        return self.blocks.add(block, code)

    def _open(self, node: Node | None, start: int, end: int, place: _Place) -> bool:
        """Add a statement as a header, bodies and an end; False where nothing in it is a block of whole lines."""
        if node is None or end - start < 3 or place.depth >= DEEPEST or _IMPORT.search(node.type):
            return False
        spans = list(_spans(node, start))
        if not spans:
            return False
        first = head = -1
        for span in spans:
            signs = _FUNCTION.search(span.owner) or _CONTAINER.search(span.owner)
            rank = SIGNATURE if signs and not place.function else NONE
            if head < 0:
                first = head = self._add(
                    Block(self.next, place.under, rank, body=place.home), start, span.top + 1
                )
            else:
                head = self._shut(head, rank, place.home, span.top + 1)
            self._statements(span.inner, place.enter(span.owner, head, first))
            self._rest(head, place.enter(span.owner, head, first).home, span.bottom)
        self._shut(head, NONE, place.home, end)
        return True

    def _shut(self, head: int, rank: int, home: int, end: int) -> int:
        return self._add(Block(self.next, head, rank, head, home), self.next, end)

    def _rest(self, head: int, home: int, bottom: int) -> None:
        """Add the comments at the end of a block."""
        if self.next < bottom:
            self._add(Block(self.next, head, body=home), self.next, bottom)


def _units(nodes: Sequence[Node]) -> Iterator[tuple[int, int, Node | None]]:
    """Yield the lines of each statement and its node; those that share a line are one, and None."""
    held: tuple[int, int, Node | None] | None = None
    prefix = -1
    for node in nodes:
        start, end = node.start_point.row, _end(node)
        if held and start < held[1]:
            if (node.is_named and "comment" not in node.type) or end > held[1]:  # a; b
                held = held[0], max(end, held[1]), None
            continue
        if "comment" in node.type:
            continue
        if held:
            yield held
        held = None
        if _PREFIX.match(node.type):
            prefix = start if prefix < 0 else prefix
            continue
        held = start if prefix < 0 else prefix, end, node
        prefix = -1
    if held:
        yield held


def _spans(node: Node, row: int) -> Iterator[_Span]:
    """Yield the outermost blocks in a statement, one after another; none begins before `row` or the last one's end."""
    stack = [node]
    while stack:
        found = stack.pop()
        if found.start_point.row == found.end_point.row or _OPAQUE.search(found.type):
            continue
        children = found.children
        span = _span(found, children)
        if span and span.top >= row:
            yield span
            row = span.bottom
        else:
            stack.extend(reversed(children))


def _span(node: Node, children: Sequence[Node]) -> _Span | None:
    """Return a node as a block; None for what is none, or does not have its lines for itself."""
    if (
        len(children) < 3
        or children[-1].type not in _PAIRS
        or children[-1].is_missing
        or node.type == "jsx_expression"
    ):
        return None
    opening = _opening(node, children)
    if opening is None:
        return None
    top, inner = opening
    bottom = children[-1].start_point.row
    inner = [n for n in inner if n.type != "\n"]
    while len(inner) == 1 and inner[0].type in _WRAPPERS:
        inner = [n for n in inner[0].children if n.type != "\n"]
    while inner and inner[0].end_point.row == top:  # { |a, b|
        inner = inner[1:]
    if (
        not inner
        or any(n.start_point.row <= top or _end(n) > bottom for n in inner)
        or _commas_lead(inner)
    ):
        return None
    owner = node.parent.type if node.parent and not _CONTAINER.search(node.type) else node.type
    return _Span(top, bottom, inner, node.type if children[0].type not in ("{", "do") else owner)


def _opening(node: Node, children: Sequence[Node]) -> tuple[int, Sequence[Node]] | None:
    """Return the row where a block begins and what is in it."""
    end = children[-1].type
    if end == "#endif":
        kept = node.child_by_field_name("name") or node.child_by_field_name("condition")
        if kept is None:
            return None
        return kept.start_point.row, [c for c in children[1:-1] if c.start_byte >= kept.end_byte]
    for number, child in enumerate(children[:-1]):
        if child.type == _PAIRS[end]:
            return child.start_point.row, children[number + 1 : -1]
    body = node.child_by_field_name("body")
    if end == "end" and body is not None:
        number = next((n for n, c in enumerate(children) if c.id == body.id), 0)
        if number:
            return children[number - 1].end_point.row, children[number:-1]
    return None


def _commas_lead(nodes: Sequence[Node]) -> bool:
    """Tell whether a comma begins a line: what is before it could not leave alone."""
    ends = -1
    for node in nodes:
        if node.type in (",", ";") and node.start_point.row > ends:
            return True
        ends = node.end_point.row
    return False


def _end(node: Node) -> int:
    """Return the row after a node's last: one that takes the line end with it ends on the line before."""
    row, column = node.end_point
    return row if column == 0 and row > node.start_point.row else row + 1


def _rank(node: Node | None, lines: int) -> int:
    if node is None:
        return NONE
    if _IMPORT.search(node.type):
        return IMPORT
    return SIGNATURE if lines <= 2 and _FUNCTION.search(node.type) else NONE
