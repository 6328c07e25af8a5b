"""Trimming of programs by their syntax trees: the lines between braces go, the braces stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import grammars
from .blocks import DEEPEST, IMPORT, NONE, SIGNATURE, Block, Blocks
from .left_out import split_lines
from .pieces import Pieces

if TYPE_CHECKING:
    from tree_sitter import Node

# Parts of the names that the grammars give to nodes.
_FUNCTION = re.compile(
    r"func|method|constructor|destructor|closure|lambda|arrow|getter|setter|accessor|do_block|^init_"
)
_CONTAINER = re.compile(
    r"class|struct|enum|interface|trait|impl|mod_item|module|namespace|object_def|record|protocol|"
    r"extension|union|linkage|preproc_if|template_decl"
)
_IMPORT = re.compile(r"import|include|^use_|_use_|using_|package|require|extern_crate")
_PREFIX = re.compile(r"^(attribute_item|inner_attribute_item|decorator|attribute_list|annotation)$")
_OPAQUE = re.compile(
    r"string|heredoc|interpolation|comment|token_tree|^template_(?:literal|substitution)|expansion|"
    r"substitution|regex"
)
_OPENING = {"}": "{", "done": "do", "end": "do", "#endif": ""}
"""Closing delimiter → the opening one; `end` may have none, `#endif` has a condition instead."""
_WRAPPERS = {"statements", "statement_list", "block", "body_statement", "block_body"}
"""Nodes that hold all between two delimiters."""


class _Span(NamedTuple):
    """A block in a statement."""

    top: int
    """The row of the opening delimiter."""
    bottom: int
    """The row of the closing one."""
    inner: Sequence[Node]
    owner: str
    """The type of the node that the block belongs to."""


class _Place(NamedTuple):
    """The surroundings of a statement: its header, its body, and how deep it is."""

    under: int = -1
    body: int = -1
    function: bool = False
    depth: int = 0

    def enter(self, owner: str, head: int, first: int) -> _Place:
        """Return the place under `head`, in a block of `owner` with its first header at `first`."""
        if _FUNCTION.search(owner):
            return _Place(head, head, True, self.depth + 1)
        body = self.body
        if body < 0 and not _CONTAINER.search(owner):
            body = first
        return _Place(head, body, self.function, self.depth + 1)


class _Unit(NamedTuple):
    """A statement, or several that share a line, as rows from `start` to before `end`."""

    start: int
    end: int
    node: Node | None
    """None for several statements."""


def divide(text: str, *, marker: str, language: str | None) -> Pieces | None:
    """Return the statements of a program as pieces.

    None without a grammar, and for a text that is hardly of that language.
    """
    root = grammars.parse(text, language)
    if root is None or root.type == "ERROR":
        return None
    lines = split_lines(text)
    wrong = sum(_end(node) - node.start_point.row for node in root.children if node.is_error)
    if wrong * 4 > len(lines):
        return None
    reader = _TreeReader(lines)
    reader.read(root.children)
    return reader.blocks.pieces(language, marker)


class _TreeReader:
    """Walks syntax trees, and turns them into blocks of whole lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.blocks = Blocks(lines)
        self.next = 0  # the first line that is in no block yet

    def read(self, nodes: Sequence[Node]) -> None:
        self._statements(nodes, _Place())
        if self.next < len(self.lines):
            self.blocks.add(Block(self.next), self.next)

    def _statements(self, nodes: Sequence[Node], place: _Place) -> None:
        for unit in _units(nodes):
            if not self._open(unit, place):
                rank = NONE if place.function else _rank(unit)
                self._add(place.under, rank, place.body, unit.start, unit.end)

    def _add(self, under: int, rank: int, body: int, code: int, end: int) -> int:
        block = Block(self.next, under, rank, body=body)
        self.next = end
        return self.blocks.add(block, code)

    def _close(self, head: int, rank: int, body: int, end: int) -> int:
        """Add the lines up to `end` as the end of the block with header `head`."""
        block, code = Block(self.next, head, rank, head, body), self.next
        self.next = end
        return self.blocks.add(block, code)

    def _open(self, unit: _Unit, place: _Place) -> bool:
        """Add a statement as a header, bodies and an end.

        False if no block in it has its lines for itself.
        """
        node = unit.node
        if node is None or unit.end - unit.start < 3 or place.depth >= DEEPEST:
            return False
        if _IMPORT.search(node.type):
            return False
        first = head = -1
        for span in _spans(node, unit.start):
            defines = _FUNCTION.search(span.owner) or _CONTAINER.search(span.owner)
            rank = SIGNATURE if defines and not place.function else NONE
            if head < 0:
                first = head = self._add(place.under, rank, place.body, unit.start, span.top + 1)
            else:
                # `} else {`: the end of one body and the header of the next.
                head = self._close(head, rank, place.body, span.top + 1)
            inner = place.enter(span.owner, head, first)
            self._statements(span.inner, inner)
            if self.next < span.bottom:  # comments at the end of a block
                self._add(head, NONE, inner.body, self.next, span.bottom)
        if head < 0:
            return False
        self._close(head, NONE, place.body, unit.end)
        return True


def _units(nodes: Sequence[Node]) -> Iterator[_Unit]:
    held: _Unit | None = None
    prefix = -1  # the first row of the attributes and decorators before a statement
    for node in nodes:
        start, end = node.start_point.row, _end(node)
        comment = "comment" in node.type
        if held and start < held.end:
            if (node.is_named and not comment) or end > held.end:  # a; b
                held = _Unit(held.start, max(end, held.end), None)
            continue
        if comment:
            continue
        if held:
            yield held
        held = None
        if prefix < 0:
            prefix = start
        if not _PREFIX.match(node.type):
            held = _Unit(prefix, end, node)
            prefix = -1
    if held:
        yield held


def _spans(node: Node, row: int) -> Iterator[_Span]:
    """Yield the outermost blocks in a statement; none begins before `row` or the last one's end."""
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
    """Return a node as a block; None if it is none, or does not have its lines for itself."""
    if len(children) < 3 or children[-1].type not in _OPENING or children[-1].is_missing:
        return None
    opening = _opening(node, children)
    if opening is None or node.type == "jsx_expression":
        return None
    top, inner = opening
    bottom = children[-1].start_point.row
    inner = [n for n in inner if n.type != "\n"]
    while len(inner) == 1 and inner[0].type in _WRAPPERS:
        inner = [n for n in inner[0].children if n.type != "\n"]
    while inner and inner[0].end_point.row == top:  # { |a, b|
        inner = inner[1:]
    if not inner or any(n.start_point.row <= top or _end(n) > bottom for n in inner):
        return None
    if _commas_lead(inner):
        return None
    owner = node.type
    if children[0].type in ("{", "do") and node.parent and not _CONTAINER.search(owner):
        owner = node.parent.type
    return _Span(top, bottom, inner, owner)


def _opening(node: Node, children: Sequence[Node]) -> tuple[int, Sequence[Node]] | None:
    """Return the row where a block begins, and the nodes in it."""
    end = children[-1].type
    if end == "#endif":
        kept = node.child_by_field_name("name") or node.child_by_field_name("condition")
        if kept is None:
            return None
        return kept.start_point.row, [c for c in children[1:-1] if c.start_byte >= kept.end_byte]
    for number, child in enumerate(children[:-1]):
        if child.type == _OPENING[end]:
            return child.start_point.row, children[number + 1 : -1]
    # `def name ... end`: the body begins where the part before it ends.
    body = node.child_by_field_name("body")
    if end == "end" and body is not None:
        for number, child in enumerate(children):
            if child.id == body.id and number:
                return children[number - 1].end_point.row, children[number:-1]
    return None


def _commas_lead(nodes: Sequence[Node]) -> bool:
    """Tell whether a comma begins a line: the text before it could not go alone."""
    ends = -1
    for node in nodes:
        if node.type in (",", ";") and node.start_point.row > ends:
            return True
        ends = node.end_point.row
    return False


def _end(node: Node) -> int:
    """Return the row after a node's last one."""
    row, column = node.end_point
    # A node that takes the line end with it ends in column 0 of the next row.
    if column == 0 and row > node.start_point.row:
        return row
    return row + 1


def _rank(unit: _Unit) -> int:
    if unit.node is None:
        return NONE
    if _IMPORT.search(unit.node.type):
        return IMPORT
    if unit.end - unit.start <= 2 and _FUNCTION.search(unit.node.type):
        return SIGNATURE
    return NONE
