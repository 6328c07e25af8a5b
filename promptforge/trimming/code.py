"""A program as blocks of whole lines, each a header, a body or an end, in the order of leaving.

Trimming of programs in any language by the depth of their lines alone.

The one door to tree-sitter: syntax trees of programs, where their grammar is installed.

Trimming of programs by their syntax trees: the lines between braces go, the braces stay.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .pieces import Piece, Pieces, code_gap, code_head, split_lines

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

MAX_BYTES_PARSED = 100_000
"""Bytes above which a text is not parsed: of junk, 50,000 took over a second."""

_CHUNK_BYTES = 8192

# Programs take 2 to 10 reads and 40 to 190 hundreds of steps for each chunk. Junk takes quadratic
# time (`/*` unclosed, 100,000 times) or worse.
_MAX_READS_PER_CHUNK = 24

_MAX_STEPS_PER_CHUNK = 200


@lru_cache(maxsize=64)
def _load_grammar(language: str) -> Language | None:
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


def parse_syntax(text: str, language: str | None) -> Node | None:
    """Return the root of a program's syntax tree.

    None without a grammar, or where parsing takes more than its share.
    """
    grammar = _load_grammar(language or "")
    data = text.encode("utf-8", "replace")  # a lone surrogate becomes "?", also one byte
    if grammar is None or len(data) > MAX_BYTES_PARSED:
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


NONE, SAYING, IMPORT, SIGNATURE = range(4)
"""Ranks of skeleton: none, a docstring's first line, an import, a signature; high stays long."""

MAX_BLOCK_DEPTH = 60
"""Blocks within blocks that are told apart; anything deeper is one piece."""

_TRIVIA = 4
"""Lines up to which comments go with the statement after them; longer ones are a piece."""


class Block(NamedTuple):
    """The lines from `first` to the next block's first."""

    first: int
    under: int = -1
    skeleton: int = NONE
    closes: int = -1
    body: int = -1
    """The header of its body, with pieces that go one after another from the end; -1: its own."""
    kind: str = ""


class Blocks:
    """The blocks of a text, added in the order of their lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.found: list[Block] = []

    def add(self, block: Block, code: int) -> int:
        """Add a block with its first line of code at `code`, after comments; return its number.

        A long comment before it, or any before the end of a block, becomes a piece of its own.
        """
        apart = _TRIVIA if block.closes < 0 else 0
        comments = self.lines[block.first : code]
        if len(comments) > apart and any(line.strip() for line in comments):
            self.found.append(Block(block.first, block.under, body=block.body))
            block = block._replace(first=code)
        self.found.append(block)
        return len(self.found) - 1

    def pieces(self, language: str | None, marker: str) -> Pieces | None:
        """Return the pieces; None if there are fewer than two."""
        found = self.found
        if len(found) < 2:
            return None
        # A block with skeleton under it is skeleton itself.
        for block in reversed(found):
            if block.skeleton and block.under >= 0 and not found[block.under].skeleton:
                found[block.under] = found[block.under]._replace(skeleton=SIGNATURE)
        ends = [block.first for block in found[1:]] + [len(self.lines)]
        parts = [
            Piece(
                "".join(self.lines[block.first : end]),
                keep,
                block.under,
                block.skeleton > NONE,
                block.kind,
                block.closes,
            )
            for block, end, keep in zip(found, ends, _keeps(found, ends), strict=True)
        ]
        return Pieces(parts, code_gap(language), code_head(language, marker))


def _keeps(found: Sequence[Block], ends: Sequence[int]) -> list[float]:
    """Return the `keep` of each: bodies go largest first, then docstrings, imports, signatures.

    Of signatures the deepest go first. The pieces of one body are equal, so it goes from its end.
    """
    # By body: its header, and whether the piece is that header's own.
    homes = [(i, True) if block.body < 0 else (block.body, False) for i, block in enumerate(found)]
    sizes: Counter[tuple[int, bool]] = Counter()
    for home, block, end in zip(homes, found, ends, strict=True):
        if not block.skeleton and block.closes < 0:
            sizes[home] += end - block.first
    largest_first = sorted(sizes, key=lambda home: (-sizes[home], -home[0]))
    ranks = {home: rank for rank, home in enumerate(largest_first)}
    depths: list[int] = []
    keeps: list[float] = []
    for home, block in zip(homes, found, strict=True):
        depths.append(depths[block.under] + 1 if block.under >= 0 else 0)
        if block.skeleton:
            keep = len(ranks) + (MAX_BLOCK_DEPTH + 1) * block.skeleton
            if block.skeleton == SIGNATURE:
                keep -= min(depths[-1], MAX_BLOCK_DEPTH)
            keeps.append(keep)
        else:
            keeps.append(ranks.get(home, 0))
    return keeps


# The last line of a block, or the next part of it, begins so.
_BLOCK_END = re.compile(
    r"\s*(?:[)}\]]|</|#\}"
    r"|(?:end|fi|done|esac|else|elif|elsif|elseif|except|finally|catch|rescue|ensure)\b)"
)

_CONTROL = re.compile(
    r"\s*(?:if|else|elif|elsif|for|foreach|while|until|unless|switch|match|case|when|do|loop|try|"
    r"catch|with|begin|return|let|const|var|defer|select|repeat)\b"
)

_IMPORT_LINE = re.compile(
    r"\s*(?:import|from|use|using|include|require|package|#include|#import|extern crate|@import)\b"
)

_COMMENT = re.compile(
    r"\s*(?://|/\*|\*[ /\n]|--|;|%"
    r"|#(?!\s*(?:include|define|undef|if|ifn?def|else|elif|endif|pragma|import)\b))"
)

_SKELETON_DEPTH = 2
"""Headers less deep than this are skeleton: functions, and the methods of classes."""


def divide_by_indentation(text: str, *, marker: str, language: str | None = None) -> Pieces | None:
    """Return the lines of a program as pieces, each under the shallower line before it.

    None if no line is deeper than another. A line with deeper lines below it is a header, and the
    deeper run its body. The next line of the header's depth belongs to it too if it begins as the
    end of a block does (`}`, `end`, `else`).
    """
    lines = split_lines(text)
    depths = [_depth(line) for line in lines]
    if len({depth for depth in depths if depth >= 0}) < 2:
        return None
    reader = _LineReader(lines, depths)
    reader.read()
    return reader.blocks.pieces(language, marker)


def _depth(line: str) -> int:
    """Return the columns before a line, a tab reaching to the next multiple of 8; -1: blank."""
    bare = line.lstrip(" \t")
    if not bare.strip():
        return -1
    return len(line[: len(line) - len(bare)].expandtabs(8))


class _OpenHeader(NamedTuple):
    depth: int
    number: int
    body: int


class _LineReader:
    """Goes through the lines once, with a stack of open headers."""

    def __init__(self, lines: Sequence[str], depths: Sequence[int]) -> None:
        self.lines = lines
        self.depths = depths
        self.blocks = Blocks(lines)
        # Headers with nothing but list items under them, as `import (`: all have one rank.
        self.lists: dict[int, int] = {}
        self.open: list[_OpenHeader] = []

    def read(self) -> None:
        next_depths = self._next_depths()
        next_line = 0
        for line, depth in enumerate(self.depths):
            # A comment or a blank line goes with the next line of code.
            if depth < 0 or _COMMENT.match(self.lines[line]):
                continue
            ended = -1
            while self.open and self.open[-1].depth >= depth:
                header = self.open.pop()
                ended = header.number if header.depth == depth else -1
            self._add(next_line, line, ended, next_depths[line] > depth)
            next_line = line + 1
        if next_line < len(self.lines):
            self.blocks.add(Block(next_line), next_line)

    def _next_depths(self) -> list[int]:
        """Return for each line the depth of the next one that is not blank."""
        found = [-1] * len(self.lines)
        for line in range(len(self.lines) - 2, -1, -1):
            found[line] = self.depths[line + 1] if self.depths[line + 1] >= 0 else found[line + 1]
        return found

    def _add(self, first: int, line: int, ended: int, heads: bool) -> None:
        text = self.lines[line]
        under = body = -1
        if self.open:
            under, body = self.open[-1].number, self.open[-1].body
        heads = heads and len(self.open) < MAX_BLOCK_DEPTH
        if ended >= 0 and _BLOCK_END.match(text):
            number = self.blocks.add(Block(first, ended, closes=ended, body=body), line)
        else:
            rank = self.lists[under] if under in self.lists else self._rank(text, heads)
            number = self.blocks.add(Block(first, under, rank, body=body), line)
            if heads and rank and text.rstrip().endswith("("):
                self.lists[number] = rank
        if heads:
            # Outside of any body, or in the skeleton, a header begins a body of its own.
            if self.blocks.found[number].skeleton or body < 0:
                body = number
            self.open.append(_OpenHeader(self.depths[line], number, body))

    def _rank(self, text: str, heads: bool) -> int:
        if not self.open and _IMPORT_LINE.match(text):
            return IMPORT
        if heads and len(self.open) < _SKELETON_DEPTH and not _CONTROL.match(text):
            return SIGNATURE
        return NONE


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


def divide_by_syntax(text: str, *, marker: str, language: str | None) -> Pieces | None:
    """Return the statements of a program as pieces.

    None without a grammar, and for a text that is hardly of that language.
    """
    root = parse_syntax(text, language)
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
        if node is None or unit.end - unit.start < 3 or place.depth >= MAX_BLOCK_DEPTH:
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
