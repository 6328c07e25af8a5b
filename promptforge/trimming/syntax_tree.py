"""The blocks of a program by its syntax tree, where the grammar of the language is installed."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..errors import PromptForgeError, call_foreign
from ..text.words import late_pattern, late_patterns
from .pieces import split_lines
from .program import FIELD, IMPORT, MAX_BLOCK_DEPTH, NONE, SIGNATURE, TOP, Blocks, Place, Unit

if TYPE_CHECKING:
    from tree_sitter import Language, Node

# Not among them: tree-sitter-bash 0.25 and tree-sitter-scala 0.26, which end the process on some
# texts (`</a>    \u200b\f+\f` repeated, a campaign of junk found).
GRAMMARS = {
    **{
        name: (f"tree_sitter_{name}", "language")
        for name in ("c", "cpp", "go", "java", "lua", "ruby", "rust", "swift")
    },
    **dict.fromkeys(("javascript", "jsx"), ("tree_sitter_javascript", "language")),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
}
"""Language → the module of its grammar, and the function there that returns it."""
MIN_PARSER = (0, 26, 1)
"""An earlier tree-sitter ends the process where a function is told of the progress of a parse, as
0.25.2 and 0.26.0 do on some tens of kilobytes of Java, or it has no such function."""
MAX_BYTES_PARSED = 100_000
"""A longer text is not parsed: 200,000 bytes of junk took 12 s in as many steps as a program."""
_SLOW_MARKS, _MAX_SLOW_MARKS = {"ruby": b"`", "swift": b"#"}, 1_000
"""Marks above which a text is not parsed: 100,000 backticks took 9 s, in as few steps as a program,
40,000 `#` of Swift 6 s, in one step."""
_CHUNK_BYTES = 8192
# Programs take 2 to 10 reads and 40 to 190 hundreds of steps for each chunk. Junk takes quadratic
# time (`/*` unclosed, 100,000 times) or worse.
_MAX_READS_PER_CHUNK = 24
_MAX_STEPS_PER_CHUNK = 200

_NODES = late_patterns("nodes")
"""Parts of the names that the grammars give to nodes."""
_FUNCTION = _NODES["function"]
_CONTAINER = _NODES["container"]
_TYPE = late_pattern(rf"{_CONTAINER.pattern}|type_(?:spec|item|alias|definition)")
_SHORT_TYPE = _NODES["short type"]
"""Types that are a line or two: without a body they are their own signature."""
_MEMBERS = _NODES["members"]
"""The nodes around the members of a struct or an interface: without them it says nothing."""
_FIELD = _NODES["field"]
"""Statements that declare a value: a field, a constant, a property, a member of an enumeration."""
_HOLDS_FIELDS = _NODES["holds fields"]
_MEMBER_LISTS = _NODES["member lists"]
"""Nodes around members of a type, where a call such as `has_many :lines` declares one, too."""
_STATEMENT = _NODES["statement"]
_MAX_LINES_OF_SIGNATURE, _MAX_LINES_WITHOUT_BODY = 2, 20
_IMPORT = _NODES["import"]
_PREFIX = _NODES["prefix"]
_OPAQUE = _NODES["opaque"]
_MACRO = late_pattern(
    r"\b((?:class|struct) )([A-Z][A-Z0-9_]{2,})(?= \w)|\n[ \t]*(?:[A-Z0-9]+_)+"
    r"(?:API|EXPORTS?|INLINE|EXTERN|PUBLIC|CONSTEXPR\w*|DLL)(?=[ \t]+\w)"
    r"|\n[ \t]*[A-Z][A-Z0-9]*_[A-Z0-9_]+(?:\([^()\n]*\))?(?=[ \t]*\n)"
)
"""Macros that a grammar of C++ takes for a type or a name: `class ACME_API Pool {`."""
_OPENING = {"}": "{", "done": "do", "end": "do", "#endif": "", ")": "("}
"""Closing delimiter → the opening one; `end` may have none, `#endif` has a condition instead."""
_LIST = _NODES["list"]
"""Nodes with declarations between parentheses."""
_WRAPPERS = {"statements", "statement_list", "block", "body_statement", "block_body"}
"""Nodes that hold all between two delimiters."""
_MAX_DECLARATORS = 4
"""Levels of C's declarators around a name."""


class _Span(NamedTuple):
    top: int
    bottom: int
    inner: Sequence[Node]
    owner: str
    """The type of the node that the block belongs to."""


def read_syntax(text: str, language: str | None) -> Blocks | None:
    """Return the blocks of a program by its syntax tree.

    None without a grammar, and for a text that is hardly of that language.
    """
    root = parse_syntax(text, language)
    if root is None or root.type == "ERROR":
        return None
    blocks = Blocks(split_lines(text))
    wrong = sum(_row_after(node) - node.start_point.row for node in root.children if node.is_error)
    if wrong * 4 > len(blocks.lines):
        return None
    _read_statements(blocks, root.children, TOP)
    return blocks


def parse_syntax(text: str, language: str | None) -> Node | None:
    """Return the root of a program's syntax tree.

    None without a grammar, or where parsing takes more than its share.
    """
    grammar = _load_grammar(language or "")
    if language == "cpp":
        text = _MACRO.sub(_blank_out, text)
    data = text.encode("utf-8", "replace")  # a lone surrogate becomes "?"
    marks = data.count(_SLOW_MARKS[language]) if language in _SLOW_MARKS else 0
    if grammar is None or len(data) > MAX_BYTES_PARSED or marks > _MAX_SLOW_MARKS:
        return None
    from tree_sitter import Parser

    effort = _Effort(data)

    def parse() -> Node:
        return Parser(grammar).parse(effort.read, progress_callback=effort.is_spent).root_node

    try:
        root = call_foreign(parse, PromptForgeError)
    except PromptForgeError:  # it failed, or was told to stop
        return None
    return None if effort.spent else root


def _blank_out(found: re.Match[str]) -> str:
    if found[1]:
        return found[1] + " " * len(found[2])
    return "\n" + " " * (len(found[0]) - 1)


@lru_cache(maxsize=64)
def _load_grammar(language: str) -> Language | None:
    """Return the grammar of a language, None if it, or a parser for it, is not installed."""
    if language not in GRAMMARS:
        return None
    module, name = GRAMMARS[language]

    def load() -> Language | None:
        from importlib.metadata import version  # a tenth of the start of a small render

        from tree_sitter import Language

        if tuple(map(int, re.findall(r"\d+", version("tree-sitter"))[:3])) < MIN_PARSER:
            return None
        return Language(getattr(importlib.import_module(module), name)())

    try:
        return call_foreign(load, PromptForgeError)
    except PromptForgeError:  # a ValueError if it was made for another version of tree-sitter
        return None


def defined_names(text: str, language: str | None) -> set[str] | None:
    """Return the names of the functions and types of a program, by its syntax tree.

    None without a grammar. Functions within functions are left out.
    """
    root = parse_syntax(text, language)
    if root is None:
        return None
    data = text.encode("utf-8", "replace")  # as `parse_syntax` counts
    names: set[str] = set()
    # By hand: the queries that come with the grammars end the process on some texts.
    stack = [root]
    while stack:
        for node in stack.pop().named_children:
            function = _FUNCTION.search(node.type)
            name = node.child_by_field_name("name")
            for inner in _declarators(node):
                name = inner.child_by_field_name("name")
                if function or "function" in node.type:
                    name = inner
            if name is not None and (function or _TYPE.search(node.type)):
                # Not `name.text`: it reads by the parser's reader, which ends when its effort is
                # spent, and then asks for ever (seen with 35 kB of TypeScript declarations).
                span = data[name.start_byte : name.end_byte]
                names.add(span.decode("utf-8", "replace").rpartition("::")[2])
            if not function and not _OPAQUE.search(node.type):
                stack.append(node)
    return names


class _Effort:
    """Hands a parser its text, and counts: by a clock, equal texts would give unequal answers."""

    def __init__(self, data: bytes) -> None:
        chunks = len(data) // _CHUNK_BYTES + 2
        self._data = data
        self._reads = chunks * _MAX_READS_PER_CHUNK
        self._steps = chunks * _MAX_STEPS_PER_CHUNK
        self.spent = False

    def read(self, offset: int, point: object) -> bytes:
        # An end before the end of the text ends the process in Lua's grammar: `is_spent` stops.
        self._reads -= 1
        self.spent |= self._reads < 0
        return self._data[offset : offset + _CHUNK_BYTES]

    def is_spent(self, offset: int, failed: bool) -> bool:
        self._steps -= 1
        self.spent |= self._steps < 0
        return self.spent


def _read_statements(blocks: Blocks, nodes: Sequence[Node], place: Place) -> None:
    for unit in _units(nodes):
        if not _add_compound(blocks, unit, place):
            rank = NONE if place.function else _rank(unit)
            kind = _kind(unit, place) if rank == NONE else ""
            blocks.add(unit.start, unit.end, place, rank=rank, kind=kind)


def _add_compound(blocks: Blocks, unit: Unit, place: Place) -> bool:
    """Add a statement as a header, bodies and an end.

    False if no block in it has its lines for itself.
    """
    if unit.node is None or unit.end - unit.start < 3 or place.depth >= MAX_BLOCK_DEPTH:
        return False
    if _IMPORT.search(unit.node.type):
        return False
    first = head = -1
    for span in _spans(unit.node, unit.start):
        function = bool(_FUNCTION.search(span.owner))
        container = bool(_CONTAINER.search(span.owner))
        rank = NONE
        if (function or container) and not place.function and "preproc" not in span.owner:
            rank = SIGNATURE
        if head < 0:
            kind = _kind(unit, place) if rank == NONE else ""
            first = head = blocks.add(unit.start, span.top + 1, place, rank=rank, kind=kind)
        else:
            # `} else {`: the end of one body and the header of the next.
            under = place._replace(parent=head)
            head = blocks.add(blocks.next, span.top + 1, under, rank=rank, closes=head)
        inner = place.enter(head, first, function=function, container=container)
        if place.members and not function and _holds_fields(unit.node):
            inner = inner._replace(members=True)
        _read_statements(blocks, span.inner, inner)
        if blocks.next < span.bottom:  # comments at the end of a block
            blocks.add(blocks.next, span.bottom, inner)
    if head < 0:
        return False
    blocks.add(blocks.next, unit.end, place._replace(parent=head), closes=head)
    return True


def _units(nodes: Sequence[Node]) -> Iterator[Unit]:
    held: Unit | None = None
    prefix = -1  # the first row of the attributes and decorators before a statement
    for node in nodes:
        start, end = node.start_point.row, _row_after(node)
        comment = "comment" in node.type
        if held and start < held.end:
            if (node.is_named and not comment) or end > held.end:  # a; b
                held = Unit(held.start, max(end, held.end), None)
            continue
        if comment:
            continue
        if held:
            yield held
        held = None
        if prefix < 0:
            prefix = start
        if not _PREFIX.match(node.type):
            held = Unit(prefix, end, node)
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
    inner = _without_comments(inner)
    while len(inner) == 1 and inner[0].type in _WRAPPERS:
        inner = _without_comments(inner[0].children)
    if inner and inner[-1].type == "enum_body_declarations":  # they begin with the `;`
        inner = [*inner[:-1], *inner[-1].children]
    while inner and inner[0].end_point.row == top:  # { |a, b|
        inner = inner[1:]
    if not inner or any(n.start_point.row <= top or _row_after(n) > bottom for n in inner):
        return None
    # Where a comma begins a line, the text before it could not go alone.
    last_row = -1
    for part in inner:
        if part.type in (",", ";") and part.start_point.row > last_row:
            return None
        last_row = part.end_point.row
    owner = node.type
    if children[0].type in ("{", "do") and node.parent and not _CONTAINER.search(owner):
        owner = node.parent.type
    return _Span(top, bottom, inner, owner)


def _without_comments(nodes: Sequence[Node]) -> Sequence[Node]:
    found = [node for node in nodes if node.type != "\n"]
    return [node for node in found if "comment" not in node.type] or found


def _opening(node: Node, children: Sequence[Node]) -> tuple[int, Sequence[Node]] | None:
    """Return the row where a block begins, and the nodes in it."""
    end = children[-1].type
    if end == ")" and not _LIST.search(node.type):
        return None
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
        before = None
        for number, child in enumerate(children):
            if child.id == body.id and before is not None:
                return before.end_point.row, children[number:-1]
            if "comment" not in child.type:  # one above the first statement is not the header's
                before = child
    return None


def _row_after(node: Node) -> int:
    row, column = node.end_point
    # A node that takes the line end with it ends in column 0 of the next row.
    if column == 0 and row > node.start_point.row:
        return row
    return row + 1


def _rank(unit: Unit) -> int:
    if unit.node is None:
        return NONE
    if _IMPORT.search(unit.node.type):
        return IMPORT
    most = _MAX_LINES_OF_SIGNATURE
    body = unit.node.child_by_field_name("body")
    if _FUNCTION.search(unit.node.type) and (body is None or len(body.children) <= len("{}")):
        most = _MAX_LINES_WITHOUT_BODY
    if unit.end - unit.start <= most and _is_signature(unit.node):
        return SIGNATURE
    return NONE


def _kind(unit: Unit, place: Place) -> str:
    """Return `FIELD` for a statement that declares a value where a reader looks for such."""
    node = unit.node
    if node is None or not place.members or _IMPORT.search(node.type):
        return ""
    parent = node.parent.type if node.parent is not None else ""
    if node.type == "expression_statement":
        node = node.children[0]
    node = node.child_by_field_name("declaration") or node  # `export …`
    is_member = _MEMBER_LISTS.search(parent) and not _STATEMENT.search(node.type)
    if is_member or _FIELD.search(node.type):
        return FIELD
    return ""


def _holds_fields(node: Node) -> bool:
    """Tell whether fields stand in the blocks of a statement: in `export default {`, `const (`."""
    if node.type == "export_statement":
        return any(child.type == "default" for child in node.children)
    return bool(_HOLDS_FIELDS.search(node.type))


def _is_signature(node: Node) -> bool:
    """Tell whether a short statement is a function, a type, a prototype or an exported constant."""
    declared = node.child_by_field_name("declaration")
    if declared is not None:  # `export …`
        return declared.type == "lexical_declaration" or _is_signature(declared)
    if _FUNCTION.search(node.type) or _SHORT_TYPE.search(node.type):
        return True
    if node.parent is not None and _MEMBERS.match(node.parent.type):
        return True
    if _CONTAINER.search(node.type) and node.child_by_field_name("body") is not None:
        return True
    if node.type != "declaration":
        return False
    return any(inner.type == "function_declarator" for inner in _declarators(node))


def _declarators(node: Node) -> Iterator[Node]:
    """Yield what lies around the name in a declaration of C: `*name(void)`, `name(void)`."""
    for _ in range(_MAX_DECLARATORS):
        inner = node.child_by_field_name("declarator")
        if inner is None:
            return
        yield inner
        node = inner
