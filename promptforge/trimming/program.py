"""Programs in blocks of whole lines: a header, its body, its end; and the marks of gaps in them.

Bodies go largest first; imports and signatures stay longest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..files.memory import recall
from ..text.format import Marks
from ..text.languages import BLOCK_COMMENTS, COMMENT_SIGNS
from ..text.words import late_pattern
from .pieces import ALWAYS, Piece, Pieces, UnderQuery, line_end

NONE, SAYING, IMPORT, SIGNATURE = range(4)
"""Ranks of skeleton: none, a docstring's first line, an import, a signature; high stays long."""
MAX_BLOCK_DEPTH = 60
"""Blocks within blocks that are told apart; anything deeper is one piece."""
_MAX_LINES_OF_TRIVIA = 4
"""Lines up to which comments go with the statement after them; more are a piece."""
_INSIDE = r"(?:[^*/\n]|\*(?!/)|/(?!\*))*+"
_COMMENTS = late_pattern(
    rf"([ \t]*/\*{_INSIDE}\n)((?:{_INSIDE}\n){{4,}}+)({_INSIDE}\*/{_INSIDE}\n(?:[ \t]*\r?\n)*+)"
    r"|((?:[ \t]*(?:(?://|#(?![\w\[|={])|--(?!\[)|;|%(?!\{)).*(?<!\\)(?<!\\\r))?\r?\n)++)"
    rf"|([ \t]*/\*(?:{_INSIDE}\n)*+{_INSIDE}\*/{_INSIDE}\n(?:[ \t]*\r?\n)*+|(?s:.)++)"
)
"""Finds `/*`, the lines of a long comment and `*/`; or comments of one line each; or what stays
whole: a short `/* … */`, and anything that may go on in lines without a sign."""
_PARAGRAPH = late_pattern(r"(?:[^\w\n]*+\n)*+(?:[^\w\n]*+\w.*\n){0,5}+(?:[^\w\n]*+\n)*+")
"""At most five lines with a word, and lines without one around them."""
_MAX_LINES_OF_FIELD = 4
"""Lines of a field, a constant or a property that an outline shows; a longer one has a mark."""


Gap = Callable[[Sequence[Piece], Marks], str]
"""Returns the mark in place of some pieces."""


class _Block(NamedTuple):
    first: int
    parent: int = -1
    rank: int = NONE
    closes: int = -1
    body: int = -1
    """The header of its body, with pieces that go one after another from the end; -1: its own."""
    kind: str = ""


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
    members: bool = True
    """True at the top, and in types and modules there: what is set here is a field."""

    def enter(self, head: int, first: int, *, function: bool, container: bool) -> Place:
        """Return the place under `head`, a header of a statement with its first at `first`."""
        depth = self.depth + 1
        if function:
            return Place(head, head, True, self.function, depth, False)
        if container:
            return Place(head, self.body, self.function, self.function, depth, self.members)
        body = first if self.body < 0 else self.body
        return Place(head, body, self.function, self.nested, depth, False)


TOP = Place()
"""Outside of any block."""


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
        place: Place = TOP,
        *,
        rank: int = NONE,
        closes: int = -1,
        kind: str = "",
    ) -> int:
        """Add the lines up to `end` as a block, with code from line `code` on; return its number.

        A long comment before the code, or any before the end of a block, has pieces of its own.
        """
        if kind == FIELD and end - code > _MAX_LINES_OF_FIELD:
            kind = LONG_FIELD
        if rank == IMPORT:
            kind = IMPORTS
        first, self.next = self.next, end
        comments = self.lines[first:code]
        apart = _MAX_LINES_OF_TRIVIA if closes < 0 else 0
        if len(comments) > apart and any(line.strip() for line in comments):
            self._add_comments("".join(comments), first, place.parent, place.body)
            first = code
        self.found.append(_Block(first, place.parent, rank, closes, place.body, kind))
        return len(self.found) - 1

    def _add_comments(self, text: str, line: int, parent: int, body: int) -> None:
        """Add comments from a line on by paragraphs; those of `/* … */` need its two signs."""
        body = body if body >= 0 else len(self.found)
        for opens, inside, closes, said, other in _COMMENTS.findall(text):
            above, kind = parent, ""
            if opens:
                above, kind = len(self.found), IN_STRING
                self.found.append(_Block(line, parent, body=body))
                line += 1
            for part in filter(None, [*_PARAGRAPH.findall(inside + said), other]):
                self.found.append(_Block(line, above, body=body, kind=kind))
                line += part.count("\n")
            if closes:
                self.found.append(_Block(line, above, closes=above, body=body))
                line += closes.count("\n")

    def texts(self) -> list[str]:
        """Return the text of each block."""
        ends = [*[block.first for block in self.found], self.next][1:]
        return [
            "".join(self.lines[block.first : end])
            for block, end in zip(self.found, ends, strict=True)
        ]

    def extend(self, other: Blocks, parent: int = -1) -> None:
        """Add the blocks of the text that comes next, under a block of this one."""
        top, before = self.next, len(self.found)

        def move(number: int, top: int = -1) -> int:
            return before + number if number >= 0 else top

        for block in other.found:
            self.found.append(
                block._replace(
                    first=top + block.first,
                    parent=move(block.parent, parent),
                    closes=move(block.closes),
                    body=move(block.body),
                )
            )
        self.next = top + other.next

    def cut(self) -> Cut | None:
        """Return the least worth of a signature or import, and the pieces, if there are two."""
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
        rows: list[tuple[int, float, int, bool, str, int]] = [
            (len(text), keep, block.parent, block.rank > NONE, block.kind, block.closes)
            for block, text, keep in zip(found, self.texts(), keeps, strict=True)
        ]
        outline = [keep for block, keep in zip(found, keeps, strict=True) if block.rank >= IMPORT]
        return min(outline, default=ALWAYS), rows


def paragraphs_of_comments(text: str) -> list[str]:
    """Return comments of one line each in paragraphs, and any other as it is."""
    found = _COMMENTS.fullmatch(text)
    return list(filter(None, _PARAGRAPH.findall(text))) if found and found[4] else [text]


Cut = tuple[float, list[tuple[int, float, int, bool, str, int]]]
"""The least worth of an outline's pieces; of each piece the characters, and what `Piece` has."""


def recall_cut(text: str, name: str, read: Callable[[], Cut | None]) -> Cut | None:
    """Return how `read`, known by a name, cuts a text, or did in an earlier run."""
    cut: Cut | None = recall(text, ("cut", name), read, Cut | None)  # type: ignore[arg-type]
    return cut


def program_pieces(
    text: str, cut: Cut | None, language: str | None, marks: Marks, gap: Gap | None = None
) -> Pieces | None:
    """Return the pieces of a program by its cut; None without one. `gap`: marks, if not usual."""
    if cut is None:
        return None
    least, rows = cut
    end, parts = 0, list[Piece]()
    for length, keep, parent, skeleton, kind, closes in rows:
        start, end = end, end + length
        parts.append(Piece(text[start:end], keep, parent, skeleton, kind, closes))
    made = _ProgramPieces(
        parts,
        gap or code_gap(language),
        marks,
        lambda text: comment_line(language, text) + "\n",
        # Half an outline is worth less than the function that answers.
        under_query=UnderQuery(least, facts_together=True),
    )
    if language in BLOCK_COMMENTS:
        made.end = "}"
    elif language == "ruby" and marks.gap and min(marks.gap) > "\x7f":
        made.end = "end"
    return made


class _ProgramPieces(Pieces):
    """The pieces of a program. Its outlines have no blank lines; a declaration gone has a mark."""

    end = ""
    """The end of a body that a mark leaves on its header's line: `f() {/*…*/}`, and in Ruby, where
    `…` is a name, `def f; … end`. Other languages have a line for the mark."""

    def in_outline(self, part: Piece) -> bool:
        """Tell whether an outline may have a piece: a signature, a docstring, a field."""
        return part.skeleton or part.kind == FIELD

    def thin(self, part: Piece, place: int) -> float:
        """Return the order of a piece among its equals: fields go from the last on."""
        if part.kind == FIELD:
            return -place
        return super().thin(part, place)

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
        following = 0
        for index in [*staying, len(self.parts)]:
            run, last = self.parts[following:index], following - 1
            part = self.parts[index] if index < len(self.parts) else None
            closes_here = False
            if run and last >= 0 and self._is_emptied(last, run, part):
                closes_here = self._add_mark(out, run, part)
            else:
                lost = next(filter(_declares, run), None)
                if lost is not None:
                    out.append(self._gap(run[run.index(lost) :], self._marks))
            following = index + 1
            if part is not None:
                text = part.text.lstrip("\r\n")
                apart = _COMMENTS_APART.match(text)
                if apart:
                    text = text[apart.end() :].lstrip("\r\n")
                skipped = part.text[: len(part.text) - len(text)].count("\n")
                if not self._numbers:
                    text = _SAYS_LITTLE.sub("", text)
                text = text.rstrip("\r\n") + line_end([part])
                if text.strip() in _QUOTES and run and not self._numbers:
                    out[-1] = f"{out[-1].rstrip()} {self._marks.gap}{text.lstrip()}"
                elif closes_here:
                    out[-1] += text.lstrip()
                else:
                    out.append(self._numbered(text, index, out, skipped))
        out[0] = self._beginning(staying) + out[0]
        return "".join(out).rstrip("\r\n") + line_end(self.parts[-1:])

    def _is_emptied(self, last: int, run: Sequence[Piece], after: Piece | None) -> bool:
        """Tell whether a run was all that the piece before it had under it."""
        if after is not None and after.text.strip() in _QUOTES and not self._numbers:
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
        closer = after.text.lstrip() if after is not None and after.closes >= 0 else ""
        above, _, brace = header.rpartition("\n")
        if brace.strip() == "{" and above:  # as C# and PHP write it
            header = f"{above.rstrip()} {{"
        # Not after `f() // {`: the brace is a comment's.
        line = header.rpartition("\n")[2]
        if self.end and closer.startswith(self.end):
            if self.end == "}" and line.endswith("{") and "//" not in line:
                out[-1] = f"{header}/*{self._marks.gap.replace('*/', '')}*/"
                return True
            if self.end == "end" and "#" not in line and not self._numbers:
                out[-1] = f"{header}; {self._marks.gap} "
                return True
        out.append(mark)
        return False


def _declares(part: Piece) -> bool:
    """Tell whether a reader of an outline would miss a piece: it declares something."""
    if part.closes >= 0 or part.kind in (SAYS, IMPORTS) or _OF_NEXT.match(part.text):
        return False
    return part.skeleton or part.kind in (FIELD, LONG_FIELD)


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


class Unit(NamedTuple):
    """A statement, or several that share a line, as lines from `start` to before `end`."""

    start: int
    end: int
    node: Any
    """The statement in its syntax tree; None for several."""


# --- marks of gaps --------------------------------------------------------------------------------

_NO_OPS = {"python": "...  ", "bash": ": ", "sh": ": ", "shell": ": ", "zsh": ": "}
"""A statement that does nothing: here a body cannot be empty."""
SAYS = "says"
"""The kind of a docstring's first line."""
FIELD, LONG_FIELD, IMPORTS = "field", "long field", "import"
"""The kinds of a declaration of a value, of one with too many lines for outlines, of an import."""
_PRIVATE = late_pattern(
    r"(?:[ \t]*(?:[@/#*].*)?\r?\n)*+[ \t]*"
    r"(?:(?:\w+[ \t]+){1,3}_(?!_)|(?:file)?private[ \t]+\w)"
)
"""A signature of a name that begins with one underscore, or of what is `private`."""
_PRIVATE_DEPTH, _SAYS_DEPTH = 1.5, 0.75
"""Levels that such a signature counts as deeper in an outline, and those of a function's docstring
below its signature. The docstring of a class counts a third of them."""
_OF_NEXT = late_pattern(r"\s*@(?:spec|impl|doc|deprecated)\b")
"""Attributes of Elixir that describe the function below them, which says more."""
_CLASS = late_pattern(r"^[ \t]*class\b", re.MULTILINE)
_CODE_LINE = late_pattern(r"^([ \t]*)[^\s#]", re.MULTILINE)
_COMMENTS_APART = late_pattern(r"(?:[ \t]*(?:#[ #!]|//|--|;|%).*\n|[ \t]*\n)+\n(?=.)")
"""Comments before a blank line: they say nothing of the signature below, as its own do."""
_SAYS_LITTLE = late_pattern(
    r"^[ \t]*(?:(?://|#|/\*)[ \t]*(?:eslint-|@ts-|prettier-ignore|biome-ignore|tslint:|nolint"
    r"|NOLINT|swiftlint:|rubocop:|pylint:|noqa|(?:istanbul|c8|v8)[ \t]ignore|coverage:ignore).*"
    r"|@(?:Override|Suppress(?:Warnings)?(?:\([^()\n]*\))?)[ \t]*"
    r"|#\[(?:inline|must_use|allow|expect|cfg_attr|doc|track_caller|non_exhaustive)\b.*\][ \t]*"
    r"|#\[derive\((?:(?:Clone|Copy|Debug|Default|Eq|Hash|Ord|PartialEq|PartialOrd)(?:,[ \t]*)?)+"
    r"\)\][ \t]*)\r?\n",
    re.MULTILINE,
)
"""Lines of a signature for a checker or a compiler alone: outlines are without them."""
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
    opener, _, closer = COMMENT_SIGNS.get(language or "", "").partition(" ")
    if closer == "-->":
        line = line.replace("--", "- -").replace("--", "- -")  # XML has no `--` in a comment
    while closer and closer in line:  # a marker of the caller's may hold `*/`, or `**//`
        line = line.replace(closer, "")
    if closer:
        return f"{opener} {line} {closer}"
    return f"{opener} {line}" if opener else line


@lru_cache(maxsize=64)
def code_gap(language: str | None) -> Gap:
    """Return the marks of gaps in a program.

    A mark is as deep as the lines it replaces, and keeps a body that is empty now a body.
    """
    no_op = _NO_OPS.get(language or "", "")
    opener = COMMENT_SIGNS.get(language or "", "").partition(" ")[0]
    code_line = re.compile(rf"^[ \t\f]*(?!{re.escape(opener)})[^\s].*", re.MULTILINE)

    def gap(run: Sequence[Piece], marks: Marks) -> str:
        if run[0].kind == IN_STRING:
            mark = marks.gap.replace("*/", "")
            return f"{_margin(run[0].text)}{mark}{line_end(run)}"
        margin, filler = _margin(run[0].text), ""
        if no_op:
            # Depth has a meaning here, and a comment may stand at any depth: the first line of
            # code tells how deep the mark must be.
            for part in run:
                code = code_line.search(part.text)
                if code:
                    margin = _margin(code[0])
                    if part.parent >= 0 and part.kind != COMMENT_ONLY:
                        filler = no_op
                    break
        mark = filler.rstrip() or comment_line(language, marks.gap)
        return f"{margin}{mark}{line_end(run)}"

    return gap


_FIRST = late_pattern(r"^([ \t\f]*)\S", re.MULTILINE)


def _margin(text: str) -> str:
    found = _FIRST.search(text)
    return found[1] if found else ""
