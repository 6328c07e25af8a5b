"""Trimming of programs: bodies go largest first, imports and signatures stay longest.

A program is cut into blocks of whole lines: a header, its body, its end. The blocks come from a
syntax tree where the grammar of the language is installed, else from the depth of the lines.
`python` finds them by Python's own syntax.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..text.format import Marks
from ..text.words import late_pattern
from .pieces import ALWAYS, Piece, Pieces, UnderQuery, count_lines, line_end, split_lines

if TYPE_CHECKING:
    from tree_sitter import Language, Node

NONE, SAYING, IMPORT, SIGNATURE = range(4)
"""Ranks of skeleton: none, a docstring's first line, an import, a signature; high stays long."""
MAX_BLOCK_DEPTH = 60
"""Blocks within blocks that are told apart; anything deeper is one piece."""
_MAX_LINES_OF_TRIVIA = 4
"""Lines up to which comments go with the statement after them; more are a piece."""


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a program as pieces; None for a text with lines of one depth only."""
    blocks = read_syntax(text, language)
    found = blocks.pieces(language, marks) if blocks else None
    if found is None and (blocks := read_indentation(text)):
        return blocks.pieces(language, marks)
    return found


class _Block(NamedTuple):
    """The lines from `first` to the next block's first."""

    first: int
    parent: int = -1
    rank: int = NONE
    closes: int = -1
    body: int = -1
    """The header of its body, with pieces that go one after another from the end; -1: its own."""
    kind: str = ""


class Blocks:
    """The blocks of a text, added in the order of their lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.found: list[_Block] = []
        self.next = 0
        """The first line that is in no block yet."""

    def add(
        self,
        code: int,
        end: int,
        *,
        parent: int = -1,
        rank: int = NONE,
        closes: int = -1,
        body: int = -1,
        kind: str = "",
    ) -> int:
        """Add the lines up to `end` as a block, with code from line `code` on; return its number.

        A long comment before the code, or any before the end of a block, is a piece of its own.
        """
        first, self.next = self.next, end
        comments = self.lines[first:code]
        apart = _MAX_LINES_OF_TRIVIA if closes < 0 else 0
        if len(comments) > apart and any(line.strip() for line in comments):
            self.found.append(_Block(first, parent, body=body))
            first = code
        self.found.append(_Block(first, parent, rank, closes, body, kind))
        return len(self.found) - 1

    def pieces(self, language: str | None, marks: Marks) -> Pieces | None:
        """Return the pieces; None if there are fewer than two."""
        if self.next < len(self.lines):
            self.add(self.next, len(self.lines))
        found = self.found
        if len(found) < 2:
            return None
        # A block with skeleton under it is skeleton itself.
        for block in reversed(found):
            if block.rank and block.parent >= 0 and not found[block.parent].rank:
                found[block.parent] = found[block.parent]._replace(rank=SIGNATURE)
        ends = [block.first for block in found[1:]] + [len(self.lines)]
        keeps = _keeps(found, ends)
        parts = [
            Piece(
                "".join(self.lines[block.first : end]),
                keep,
                block.parent,
                block.rank > NONE,
                block.kind,
                block.closes,
            )
            for block, end, keep in zip(found, ends, keeps, strict=True)
        ]
        outline = [keep for block, keep in zip(found, keeps, strict=True) if block.rank >= IMPORT]
        made = _ProgramPieces(
            parts,
            code_gap(language),
            marks,
            lambda text: comment_line(language, text) + "\n",
            # Half an outline is worth less than the function that answers.
            under_query=UnderQuery(min(outline, default=ALWAYS), facts_together=True),
        )
        made.has_block_comments = (language or "") in _BLOCK_COMMENTS.split()
        return made


class _ProgramPieces(Pieces):
    """The pieces of a program. Its outlines have neither blank lines nor marks between pieces."""

    has_block_comments = False
    """True where `/*…*/` is a comment within a line."""

    def with_parts(self, parts: Sequence[Piece]) -> Self:
        """Return pieces of the same language with other parts."""
        other = super().with_parts(parts)
        other.has_block_comments = self.has_block_comments
        return other

    def keep_in_outline(self, part: Piece) -> float:
        """Return the `keep` of a signature, or of a docstring, which is that of its signature."""
        below = 0.0
        if part.kind == SAYS and part.parent >= 0:
            part = self.parts[part.parent]
            below = _SAYS_DEPTH / (1 + 2 * bool(_CLASS.search(part.text)))
        return part.keep - below - _PRIVATE_DEPTH * bool(_PRIVATE.match(part.text))

    def is_title(self, index: int) -> bool:
        """Tell whether a piece is the first line of a module's docstring."""
        return self.parts[index].kind == SAYS

    def outline_text(self, kept: Collection[int]) -> str:
        """Return the text of an outline: a body that is empty now is a mark beside its header."""
        staying = sorted(self.closed(kept))
        out = [""]
        following = blank = 0
        for index in [*staying, len(self.parts)]:
            run, last = self._run(following, index), following - 1
            part = self.parts[index] if index < len(self.parts) else None
            closes_here = False
            if run and last >= 0 and self._is_emptied(last, run, part):
                closes_here = self._add_mark(out, run, part)
            following = index + 1
            if part is not None:
                text = part.text.lstrip("\r\n")
                if apart := _COMMENTS_APART.match(text):
                    text = text[apart.end() :].lstrip("\r\n")
                skipped = part.text[: len(part.text) - len(text)].count("\n")
                text = text.rstrip("\r\n") + line_end([part])
                blank += part.text.count("\n") - text.count("\n")
                if text.strip() in _QUOTES and run and self._first_line is None:
                    out[-1] = f"{out[-1].rstrip()} {self._marks.gap}{text.lstrip()}"
                elif closes_here:
                    out[-1] += text.lstrip()
                else:
                    out.append(self._numbered(text, index, out, skipped))
        out[0] = self._beginning(staying, also=blank) + out[0]
        return "".join(out).rstrip("\r\n") + line_end(self.parts[-1:])

    def _is_emptied(self, last: int, run: Sequence[Piece], after: Piece | None) -> bool:
        """Tell whether a run was all that the piece before it had under it."""
        if after is not None and after.text.strip() in _QUOTES and self._first_line is None:
            return False
        if all(part.parent != last for part in run):
            return False
        if after is None or after.parent != last or after.closes >= 0:
            return True
        # An `elif` is under its `if`, too. A header may be `else:` and in the next line `if x:`.
        above, below = (_CODE_LINE.findall(text) for text in (self.parts[last].text, after.text))
        return not above or not below or len(below[0]) <= len(above[-1])

    def _add_mark(self, out: list[str], run: Sequence[Piece], after: Piece | None) -> bool:
        """Add the mark of a run: `def f(): ...` and `f() {/*…*/}` have it on the header's line.

        Return true where what closes the body goes on there, too.
        """
        mark = self._gap(run, self._marks)
        header = out[-1].rstrip("\r\n")
        if header.endswith(":") and mark.strip() == _NO_OPS["python"].strip():
            out[-1] = f"{header} {mark.lstrip()}"
            return False
        closes = after is not None and after.closes >= 0 and after.text.lstrip().startswith("}")
        above, _, brace = header.rpartition("\n")
        if brace.strip() == "{" and above:  # as C# and PHP write it
            header = f"{above.rstrip()} {{"
        # Not after `f() // {`: the brace is a comment's.
        is_comment = "//" in header.rpartition("\n")[2]
        if self.has_block_comments and closes and header.endswith("{") and not is_comment:
            out[-1] = f"{header}/*{self._marks.gap.replace('*/', '')}*/"
            return True
        out.append(mark)
        return False


def _keeps(found: Sequence[_Block], ends: Sequence[int]) -> list[float]:
    """Return the `keep` of each: bodies go largest first, then docstrings, imports, signatures.

    Of signatures the deepest go first. The pieces of one body are equal, so it goes from its end.
    """
    # By body: its header, and whether the piece is that header's own.
    homes = [(i, True) if block.body < 0 else (block.body, False) for i, block in enumerate(found)]
    sizes: Counter[tuple[int, bool]] = Counter()
    for home, block, end in zip(homes, found, ends, strict=True):
        if not block.rank and block.closes < 0:
            sizes[home] += end - block.first
    largest_first = sorted(sizes, key=lambda home: (-sizes[home], -home[0]))
    places = {home: place for place, home in enumerate(largest_first)}
    depths: list[int] = []
    keeps: list[float] = []
    for home, block in zip(homes, found, strict=True):
        depths.append(depths[block.parent] + 1 if block.parent >= 0 else 0)
        keep = places.get(home, 0)
        if block.rank:
            keep = len(places) + (MAX_BLOCK_DEPTH + 1) * block.rank
        if block.rank == SIGNATURE:
            keep -= min(depths[-1], MAX_BLOCK_DEPTH)
        keeps.append(keep)
    return keeps


class Place(NamedTuple):
    """The surroundings of a statement: its header, its body, and how deep it is."""

    parent: int = -1
    body: int = -1
    """The header of the body that goes as one; -1: outside of any."""
    function: bool = False
    """True in a function."""
    nested: bool = False
    """True in a function within a function."""
    depth: int = 0

    def enter(self, head: int, first: int, *, function: bool, container: bool) -> Place:
        """Return the place under `head`, a header of a statement with its first at `first`."""
        if function:
            return Place(head, head, True, self.function, self.depth + 1)
        if container:
            return Place(head, self.body, self.function, self.function, self.depth + 1)
        body = first if self.body < 0 else self.body
        return Place(head, body, self.function, self.nested, self.depth + 1)


class Unit(NamedTuple):
    """A statement, or several that share a line, as lines from `start` to before `end`."""

    start: int
    end: int
    node: Any
    """The statement in its syntax tree; None for several."""


# --- marks of gaps --------------------------------------------------------------------------------

_COMMENTS = {
    "// ": "javascript typescript tsx jsx go rust java c cpp objectivec csharp kotlin swift scala "
    "dart groovy php d zig solidity fsharp vala protobuf thrift glsl hlsl wgsl metal verilog "
    "systemverilog jsonnet cue gleam prisma qml odin scss less stylus json5 haxe nushell just",
    "# ": "python ruby bash sh shell zsh fish perl r julia elixir makefile cmake dockerfile yaml "
    "toml nix hcl powershell tcl awk puppet crystal nim coffeescript gdscript meson graphql robot "
    "gherkin csh properties rego yara",
    "-- ": "sql lua luau haskell elm ada vhdl idris lean purescript applescript",
    "; ": "lisp commonlisp clojure scheme racket emacs-lisp asm ini wasm",
    "% ": "erlang latex bibtex prolog postscript matlab",
    "' ": "vbnet basic",
    "! ": "fortran",
    '" ': "vim",
    ":: ": "batch",
    "/* */": "css pascal-c",
    "(* *)": "ocaml sml pascal",
    "<!-- -->": "html xml markdown vue svelte astro",
}
_OPENERS = {name: opener for opener, names in _COMMENTS.items() for name in names.split()}
_BLOCK_COMMENTS = (
    "javascript jsx typescript tsx go rust java c cpp objectivec csharp kotlin swift scala dart"
    " groovy php d solidity css scss less protobuf thrift vala"
)
"""Languages in which `/*…*/` is a comment within a line."""
_NO_OPS = {"python": "...  ", "bash": ": ", "sh": ": ", "shell": ": ", "zsh": ": "}
"""A statement that does nothing: here a body cannot be empty."""
SAYS = "says"
"""The kind of a docstring's first line."""
_PRIVATE = late_pattern(
    r"(?:[ \t]*(?:[@/#*].*)?\r?\n)*+[ \t]*"
    r"(?:(?:\w+[ \t]+){1,3}_(?!_)|(?:file)?private[ \t]+\w)"
)
"""A signature of a name that begins with one underscore, or of what is `private`."""
_PRIVATE_DEPTH, _SAYS_DEPTH = 1.5, 0.75
"""Levels that such a signature counts as deeper in an outline, and those of a function's docstring
below its signature. The docstring of a class counts a third of them."""
_CLASS = late_pattern(r"^[ \t]*class\b", re.MULTILINE)
_CODE_LINE = late_pattern(r"^([ \t]*)[^\s#]", re.MULTILINE)
_COMMENTS_APART = late_pattern(r"(?:[ \t]*(?:#[ #!]|//|--|;|%).*\n|[ \t]*\n)+\n(?=.)")
"""Comments before a blank line: they say nothing of the signature below, as its own do."""
_QUOTES = ('"""', "'''")
IN_STRING = "inside"
"""The kind of a piece inside a string, where a comment would be text."""
COMMENT_ONLY = "bare"
"""The kind of a piece that only a comment may replace: a case of a `match`."""


def comment_line(language: str | None, text: str) -> str:
    """Return `text` as a one-line comment of `language`, without a line end.

    It is bare if the comments of the language are unknown.
    """
    line = " ".join(text.split())
    opener, _, closer = _OPENERS.get(language or "", "").partition(" ")
    if closer == "-->":
        line = line.replace("--", "- -").replace("--", "- -")  # XML has no `--` in a comment
    while closer and closer in line:  # a marker of the caller's may hold `*/`, or `**//`
        line = line.replace(closer, "")
    if closer:
        return f"{opener} {line} {closer}"
    return f"{opener} {line}" if opener else line


@lru_cache(maxsize=64)
def code_gap(language: str | None) -> Callable[[Sequence[Piece], Marks], str]:
    """Return the marks of gaps in a program.

    A mark is as deep as the lines it replaces, and keeps a body that is empty now a body.
    """
    no_op = _NO_OPS.get(language or "", "")
    opener = _OPENERS.get(language or "", "").partition(" ")[0]
    code_line = re.compile(rf"^[ \t\f]*(?!{re.escape(opener)})[^\s].*", re.MULTILINE)

    def gap(run: Sequence[Piece], marks: Marks) -> str:
        said = marks.left_out(count_lines(run))
        counts = said != marks.gap  # an outline has the bare mark
        if run[0].kind == IN_STRING:
            said = f"{marks.gap} {said}" if counts else said
            return f"{_margin(run[0].text)}{said}{line_end(run)}"
        if not opener and counts:
            said = f"{marks.gap} {said}"
        margin, filler = _margin(run[0].text), ""
        if no_op:
            # Depth has a meaning here, and a comment may stand at any depth: the first line of
            # code tells how deep the mark must be.
            for part in run:
                if code := code_line.search(part.text):
                    margin = _margin(code[0])
                    if part.parent >= 0 and part.kind != COMMENT_ONLY:
                        filler = no_op
                    break
        if filler and not counts:
            return f"{margin}{filler.rstrip()}{line_end(run)}"
        return f"{margin}{filler}{comment_line(language, said)}{line_end(run)}"

    return gap


_FIRST = late_pattern(r"^([ \t\f]*)\S", re.MULTILINE)


def _margin(text: str) -> str:
    found = _FIRST.search(text)
    return found[1] if found else ""


# --- by a syntax tree -----------------------------------------------------------------------------

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
"""A longer text is not parsed: 50,000 bytes of junk took over a second."""
_CHUNK_BYTES = 8192
# Programs take 2 to 10 reads and 40 to 190 hundreds of steps for each chunk. Junk takes quadratic
# time (`/*` unclosed, 100,000 times) or worse.
_MAX_READS_PER_CHUNK = 24
_MAX_STEPS_PER_CHUNK = 200

# Parts of the names that the grammars give to nodes.
_FUNCTION = late_pattern(
    r"func|method|constructor|destructor|closure|lambda|arrow|getter|setter|accessor|do_block"
    r"|^init_"
)
_CONTAINER = late_pattern(
    r"class|struct|enum|interface|trait|impl|mod_item|module|namespace|object_def|record|protocol|"
    r"extension|union|linkage|preproc_if|template_decl"
)
_TYPE = late_pattern(rf"{_CONTAINER.pattern}|type_(?:spec|item|alias|definition)")
_SHORT_TYPE = late_pattern(r"type_(?:item|alias|declaration)|^(?:struct_item|interface_decl)")
"""Types that are a line or two: without a body they are their own signature."""
_MEMBERS = late_pattern(r"^(?:field_declaration_list|interface_body|object_type)$")
"""The nodes around the members of a struct or an interface: without them it says nothing."""
_MAX_LINES_OF_SIGNATURE = 2
_IMPORT = late_pattern(r"import|include|^use_|_use_|using_|package|require|extern_crate")
_PREFIX = late_pattern(
    r"^(attribute_item|inner_attribute_item|decorator|attribute_list|annotation)$"
)
_OPAQUE = late_pattern(
    r"string|heredoc|interpolation|comment|token_tree|^template_(?:literal|substitution)|expansion|"
    r"substitution|regex"
)
_OPENING = {"}": "{", "done": "do", "end": "do", "#endif": ""}
"""Closing delimiter → the opening one; `end` may have none, `#endif` has a condition instead."""
_WRAPPERS = {"statements", "statement_list", "block", "body_statement", "block_body"}
"""Nodes that hold all between two delimiters."""


_MAX_DECLARATORS = 4
"""Levels of C's declarators around a name."""


class _Span(NamedTuple):
    """A block in a statement: the rows of its delimiters, and the nodes between them."""

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
    _read_statements(blocks, root.children, Place())
    return blocks


def parse_syntax(text: str, language: str | None) -> Node | None:
    """Return the root of a program's syntax tree.

    None without a grammar, or where parsing takes more than its share.
    """
    grammar = _load_grammar(language or "")
    data = text.encode("utf-8", "replace")  # a lone surrogate becomes "?"
    if grammar is None or len(data) > MAX_BYTES_PARSED:
        return None
    from tree_sitter import Parser

    effort = _Effort(data)
    try:
        tree = Parser(grammar).parse(effort.read, progress_callback=effort.is_spent)
    except ValueError:  # tree-sitter was told to stop
        return None
    return None if effort.spent else tree.root_node


@lru_cache(maxsize=64)
def _load_grammar(language: str) -> Language | None:
    """Return the grammar of a language, None if it, or a parser for it, is not installed."""
    if language not in GRAMMARS:
        return None
    module, name = GRAMMARS[language]
    try:
        from importlib.metadata import version  # a tenth of the start of a small render

        from tree_sitter import Language

        if tuple(map(int, re.findall(r"\d+", version("tree-sitter"))[:3])) < MIN_PARSER:
            return None
        return Language(getattr(importlib.import_module(module), name)())
    except (ImportError, AttributeError, ValueError):
        # ValueError: made for another version of tree-sitter.
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
            named: Node | None = node
            for _ in range(_MAX_DECLARATORS):  # `int *pool_take(...)` names it two levels down
                inner = named.child_by_field_name("declarator") if named else None
                if inner is None:
                    break
                named = inner
            name = named.child_by_field_name("name") if named else None
            function = _FUNCTION.search(node.type)
            if named is not node and (function or named is None or "function" in node.type):
                name = named
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
        self._reads -= 1
        self.spent |= self._reads < 0
        return b"" if self._reads < 0 else self._data[offset : offset + _CHUNK_BYTES]

    def is_spent(self, offset: int, failed: bool) -> bool:
        self._steps -= 1
        self.spent |= self._steps < 0
        return self.spent


def _read_statements(blocks: Blocks, nodes: Sequence[Node], place: Place) -> None:
    for unit in _units(nodes):
        if not _add_compound(blocks, unit, place):
            rank = NONE if place.function else _rank(unit)
            blocks.add(unit.start, unit.end, parent=place.parent, rank=rank, body=place.body)


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
        if (function or container) and not place.function:
            rank = SIGNATURE
        if head < 0:
            first = head = blocks.add(
                unit.start, span.top + 1, parent=place.parent, rank=rank, body=place.body
            )
        else:
            # `} else {`: the end of one body and the header of the next.
            head = blocks.add(
                blocks.next, span.top + 1, parent=head, rank=rank, closes=head, body=place.body
            )
        inner = place.enter(head, first, function=function, container=container)
        _read_statements(blocks, span.inner, inner)
        if blocks.next < span.bottom:  # comments at the end of a block
            blocks.add(blocks.next, span.bottom, parent=head, body=inner.body)
    if head < 0:
        return False
    blocks.add(blocks.next, unit.end, parent=head, closes=head, body=place.body)
    return True


def _units(nodes: Sequence[Node]) -> Iterator[Unit]:
    """Yield the statements, each with its attributes and decorators."""
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
    inner = [n for n in inner if n.type != "\n"]
    while len(inner) == 1 and inner[0].type in _WRAPPERS:
        inner = [n for n in inner[0].children if n.type != "\n"]
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
        before = None
        for number, child in enumerate(children):
            if child.id == body.id and before is not None:
                return before.end_point.row, children[number:-1]
            if "comment" not in child.type:  # one above the first statement is not the header's
                before = child
    return None


def _row_after(node: Node) -> int:
    """Return the row after the last one of a node."""
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
    if unit.end - unit.start <= _MAX_LINES_OF_SIGNATURE and _is_signature(unit.node):
        return SIGNATURE
    return NONE


def _is_signature(node: Node) -> bool:
    """Tell whether a short statement is a function, a type, a prototype or an exported constant."""
    declared = node.child_by_field_name("declaration")
    if declared is not None:  # `export …`
        return declared.type == "lexical_declaration" or _is_signature(declared)
    if _FUNCTION.search(node.type) or _SHORT_TYPE.search(node.type):
        return True
    if node.parent is not None and _MEMBERS.match(node.parent.type):
        return True
    if node.type != "declaration":
        return False
    named: Node | None = node
    for _ in range(_MAX_DECLARATORS):  # `char *name(void);` of C
        named = named.child_by_field_name("declarator") if named is not None else None
        if named is not None and named.type == "function_declarator":
            return True
    return False


# --- by the depth of the lines --------------------------------------------------------------------

# The last line of a block, or the next part of it, begins so.
_BLOCK_END = late_pattern(
    r"\s*(?:[)}\]]|</|#\}"
    r"|(?:end|fi|done|esac|else|elif|elsif|elseif|except|finally|catch|rescue|ensure)\b)"
)
_CONTROL = late_pattern(
    r"\s*(?:if|else|elif|elsif|for|foreach|while|until|unless|switch|match|case|when|do|loop|try|"
    r"catch|with|begin|return|let|const|var|defer|select|repeat)\b"
)
_IMPORT_LINE = late_pattern(
    r"\s*(?:import|from|use|using|include|require|package|#include|#import|extern crate|@import)\b"
)
_COMMENT = late_pattern(
    r"\s*(?://|/\*|\*[ /\n]|--|;|%"
    r"|#(?!\s*(?:include|define|undef|if|ifn?def|else|elif|endif|pragma|import)\b))"
)
_HAS_MEMBERS = late_pattern(r"\b(?:struct|interface)\b")
_SKELETON_DEPTH = 2
"""Headers less deep than this are skeleton: functions, and the methods of classes."""


class _Header(NamedTuple):
    """A line with deeper lines below it."""

    depth: int
    number: int
    body: int


def read_indentation(text: str) -> Blocks | None:
    """Return the lines of a program as blocks, each under the shallower line before it.

    None if no line is deeper than another. A line with deeper lines below it is a header, and the
    deeper run its body. The next line of the header's depth belongs to it too if it begins as the
    end of a block does (`}`, `end`, `else`).
    """
    lines = split_lines(text)
    depths = list(map(_depth, lines))
    if len({depth for depth in depths if depth >= 0}) < 2:
        return None
    blocks = Blocks(lines)
    open_headers: list[_Header] = []
    # Headers with a list under them, as `import (` or `type A struct {`: all have one rank.
    lists: dict[int, int] = {}
    for line, (depth, next_depth) in enumerate(zip(depths, _next_depths(depths), strict=True)):
        # A comment or a blank line goes with the next line of code.
        if depth < 0 or line < blocks.next or _COMMENT.match(lines[line]):
            continue
        ended = _close_headers(open_headers, depth)
        parent = body = -1
        if open_headers:
            _, parent, body = open_headers[-1]
        heads = next_depth > depth and len(open_headers) < MAX_BLOCK_DEPTH
        if ended >= 0 and _BLOCK_END.match(lines[line]):
            number = blocks.add(line, line + 1, parent=ended, closes=ended, body=body)
        else:
            rank = lists.get(parent, _rank_of_line(lines[line], heads, len(open_headers)))
            number = blocks.add(line, line + 1, parent=parent, rank=rank, body=body)
            if heads and rank and _heads_list(lines[line]):
                lists[number] = rank
        if heads:
            # Outside of any body, or in the skeleton, a header begins a body of its own.
            if blocks.found[number].rank or body < 0:
                body = number
            open_headers.append(_Header(depth, number, body))
    return blocks


def _depth(line: str) -> int:
    """Return the columns before a line, a tab reaching to the next multiple of 8; -1: blank."""
    bare = line.lstrip(" \t")
    if not bare.strip():
        return -1
    return len(line[: len(line) - len(bare)].expandtabs(8))


def _next_depths(depths: Sequence[int]) -> list[int]:
    """Return for each line the depth of the next one that is not blank."""
    found = [-1]
    for depth in reversed(depths[1:]):
        found.append(depth if depth >= 0 else found[-1])
    return found[::-1]


def _close_headers(open_headers: list[_Header], depth: int) -> int:
    """Close all headers of this depth or deeper; return the one of this depth, else -1."""
    ended = -1
    while open_headers and open_headers[-1].depth >= depth:
        header = open_headers.pop()
        ended = header.number if header.depth == depth else -1
    return ended


def _heads_list(line: str) -> bool:
    """Tell whether a header has a list under it: `import (`, `type Options struct {`."""
    line = line.rstrip()
    if line.endswith("{") and "(" not in line:
        return bool(_HAS_MEMBERS.search(line))
    return line.endswith("(")


def _rank_of_line(text: str, heads: bool, depth: int) -> int:
    if not depth and _IMPORT_LINE.match(text):
        return IMPORT
    if heads and depth < _SKELETON_DEPTH and not _CONTROL.match(text):
        return SIGNATURE
    return NONE
