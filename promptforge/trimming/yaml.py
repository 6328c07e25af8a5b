"""Trimming of YAML: deep and late entries go first, the names of things stay longest.

The lines alone tell what is under what, so templates and broken files are read too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, log2

from ..text.format import Marks
from ..text.words import late_pattern
from .code import IN_STRING, code_gap, comment_line
from .pieces import Piece, Pieces, UnderQuery, split_lines

_NAMING = frozenset(["apiVersion", "id", "key", "kind", "name", "title", "type", "uses"])
"""Keys that name their mapping; the first under a head go with it."""
MAX_LINES_OF_A_PIECE = 3
"""Lines of an entry up to which it is one piece: a mark would be as long as what it replaces."""
MAX_LINES_OF_A_HEAD = 5
"""Lines of a document up to which its first scalars are its head."""
MANY = 8
"""Entries beside each other up to which they are equals; of twice as many, the last count as one
level deeper, and so on: a list of hundreds leaves room for what else is there."""
DOCUMENT = "document"
"""The kind of the line `---`, which all up to the next one is under."""
_MAX_LINES_OF_COMMENTS = 4
"""Lines up to which comments go with the entry after them; more are a piece."""

_LINE = late_pattern(r"([ \t]*)((?:-(?:[ \t]+|(?=\r?\n|\Z)))*)")
_KEY = late_pattern(
    r"""(?:"(?:[^"\\]|\\.)*+"|'[^']*+'|[^\s:\[{][^:\n]*+(?::(?!\s|\Z)[^:\n]*+)*+)[ \t]*:(?=\s|\Z)"""
)
_TEXT_FOLLOWS = late_pattern(r"[ \t]*(?:&\S*+[ \t]++)?[|>][-+\d]{0,2}[ \t]*(?:#.*)?\r?$")
_NO_VALUE = late_pattern(r"[ \t]*(?:[!&]\S*+[ \t]*+)*+(?:#.*)?\r?$")
"""A value that is below its key: nothing behind the key but a tag, an anchor, a comment."""
_ANCHOR = late_pattern(r"[ \t]*(?:!\S*[ \t]+)?&\S")
_QUOTED = late_pattern(r"""[ \t]*(?:"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')""")
_ESCAPED = late_pattern(r"\\.|''")
MAX_LINES_QUOTED = 100
"""Lines that are looked through for the end of a quoted text."""
_DOCUMENT = late_pattern(r"(?:---|\.\.\.)(?=\s|\Z)")
_BRACKET = late_pattern(r"[ \t]*[\]}]")


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return YAML as pieces, each an entry with what is above it; None for a single entry."""
    lines = split_lines(text)
    entries = list(_read(lines))
    _name_documents(entries)
    parts = _make_pieces(lines, entries)
    if len(parts) < 2:
        return None
    return Pieces(
        parts,
        code_gap("yaml"),
        marks,
        lambda said: comment_line("yaml", said) + "\n",
        under_query=UnderQuery(label=_label),
    )


@dataclass(slots=True)
class _Entry:
    """A key, an item of a list, a document, or a line of a text."""

    first: int
    """Its first line, comments above it included."""
    code: int
    end: int
    """The line after its own; its children follow."""
    parent: int = -1
    key: str = ""
    kind: str = ""
    """`DOCUMENT`, or `IN_STRING` for a line of a text."""
    anchored: bool = False
    """True if others may say `*name` in the place of its value."""
    place: int = 0
    """Its place among those of one parent."""
    children: list[int] = field(default_factory=list)
    last: int = 0
    """The line after all that is under it."""


class _Reader:
    """The entries so far, and those that the next line may be under."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.entries: list[_Entry] = []
        self._lines = lines
        self.next = 0
        """The first line that is in no entry yet."""
        self._around: list[tuple[float, int]] = []
        """Columns and numbers of entries, the outermost first."""

    @property
    def begins_document(self) -> bool:
        """True if the next entry is the first of its document."""
        return not self.entries or self.entries[-1].kind == DOCUMENT

    def add(self, line: int, column: float, key: str = "", kind: str = "") -> _Entry:
        """Add the entry that begins in a line, with comments above it.

        Blank lines go with the entry before: a mark in the place of this one is as deep as its
        first line.
        """
        while self._around and self._around[-1][0] >= column:
            self._around.pop()
        parent = self._around[-1][1] if self._around else -1
        while self.entries and self._lines[self.next].isspace():
            self.next += 1
            self.entries[-1].end = self.next
        if line - self.next > _MAX_LINES_OF_COMMENTS and kind != IN_STRING:
            self.entries.append(_Entry(self.next, self.next, line, parent))
            self.next = line
        number = len(self.entries)
        entry = _Entry(self.next, line, line + 1, parent, key, kind)
        self.entries.append(entry)
        self._around.append((column, number))
        self.next = line + 1
        return entry


def _read(lines: Sequence[str]) -> Sequence[_Entry]:
    """Return the entries in the order of their lines."""
    reader = _Reader(lines)
    number = 0
    while number < len(lines):
        line = lines[number]
        if document := _DOCUMENT.match(line):
            entry = reader.add(number, -1.0, kind=DOCUMENT)
            number = _read_value(reader, entry, lines, document.end(), -1)
            continue
        start = _LINE.match(line)
        rest = line[start.end() :] if start else ""
        if start is None or rest.startswith("#") or not (rest.strip() or start[2]):
            number += 1  # it goes with the next entry
            continue
        # The items of a list may stand in the column of the key that they are under.
        column = len(start[1]) + 0.5 * bool(start[2])
        inner = len(start[0].rstrip()) - 1 if start[2] else len(start[1])  # of `- -` the last
        key, place = _KEY.match(line, start.end()), start.end()
        if key:
            inner, place = place, key.end()
        elif not start[2] and reader.begins_document and not rest.startswith("{{"):
            inner = -1  # a text or a list in brackets is all that the document holds
        entry = reader.add(number, column, _bare(key[0]) if key else "")
        number = _read_value(reader, entry, lines, place, inner)
    if reader.entries:
        reader.entries[-1].end = len(lines)
    return reader.entries


def _bare(key: str) -> str:
    return key.rstrip(": \t").strip("\"'")


def _read_value(
    reader: _Reader, entry: _Entry, lines: Sequence[str], place: int, column: int
) -> int:
    """Add the lines of the value that begins at a place of an entry's line; return the next line.

    The lines that go on with it are deeper than `column`.
    """
    value, number = lines[entry.code][place:], entry.code + 1
    entry.anchored = bool(_ANCHOR.match(value))
    if _TEXT_FOLLOWS.match(value):
        stop = _end_of_deeper(lines, number, column)
        for each in range(number, stop):
            if not lines[each].isspace():
                reader.add(each, inf, kind=IN_STRING)
        return stop
    if not _NO_VALUE.match(value):
        # Behind a value no entry can be under its key: deeper lines go on with it.
        number = max(_end_of_quoted(lines, number, value), _end_of_deeper(lines, number, column))
        entry.end = reader.next = number
    return number


def _end_of_deeper(lines: Sequence[str], start: int, column: int) -> int:
    """Return the line after those that are deeper than a column, or close a bracket in it."""
    end = start
    for number in range(start, len(lines)):
        line = lines[number]
        bare = line.lstrip(" \t")
        if not bare.strip():
            continue
        depth = len(line) - len(bare)
        if _DOCUMENT.match(line):
            break
        if depth <= column and not (depth == column and _BRACKET.match(line)):
            break
        end = number + 1
    return end


def _end_of_quoted(lines: Sequence[str], start: int, value: str) -> int:
    """Return the line after the quoted text that a value begins; `start` if it ends there."""
    quote = value.lstrip(" \t")[:1]
    if quote not in ('"', "'") or _QUOTED.match(value):
        return start
    for number in range(start, min(start + MAX_LINES_QUOTED, len(lines))):
        if quote in _ESCAPED.sub("", lines[number]):
            return number + 1
    return start


def _name_documents(entries: list[_Entry]) -> None:
    """Put the entries of the first document under its first one, where that says what it is."""
    several = any(entry.kind == DOCUMENT for entry in entries[1:])
    if not entries or entries[0].kind or not (several or entries[0].key in _NAMING):
        return
    for entry in entries[1:]:
        if entry.kind == DOCUMENT:
            break
        if entry.parent < 0:
            entry.parent = 0


def _make_pieces(lines: Sequence[str], entries: Sequence[_Entry]) -> list[Piece]:
    for number, entry in enumerate(entries):
        if entry.parent >= 0:
            above = entries[entry.parent].children
            entry.place = len(above)
            above.append(number)
    for entry in reversed(entries):
        entry.last = entries[entry.children[-1]].last if entry.children else entry.end
    parts: list[Piece] = []
    piece_of: dict[int, int] = {}
    levels: list[float] = []
    for number, entry in enumerate(entries):
        level = levels[entry.parent] + 1 if entry.parent >= 0 else 0.0
        levels.append(level + log2(1 + entry.place / MANY))
        if number in piece_of:
            continue
        held = list(_held_by_head(entries, number))
        end = max([entry.end, *(entries[each].end for each in held)])
        piece_of |= dict.fromkeys((number, *held), len(parts))
        heads = bool(entry.children) and end < entry.last
        parts.append(
            Piece(
                "".join(lines[entry.first : end]),
                1
                / (
                    1 + max(0.0, 0.0 if entry.anchored else levels[number] - (entry.key in _NAMING))
                ),
                piece_of[entry.parent] if entry.parent >= 0 else -1,
                heads or (entry.kind != IN_STRING and level <= 1 and bool(entry.key)),
                entry.kind,
            )
        )
    return parts


def _held_by_head(entries: Sequence[_Entry], number: int) -> Iterator[int]:
    """Yield the entries that are one piece with the one above them, in the order of their lines."""
    entry = entries[number]
    if entry.last - entry.first <= MAX_LINES_OF_A_PIECE:
        yield from _all_under(entries, number)
        return
    is_document = entry.kind == DOCUMENT or (entry.parent < 0 and entry.key in _NAMING)
    waiting = list(entry.children)
    while waiting:
        child = entries[waiting[0]]
        named = child.key in _NAMING
        first = entries[child.children[0]] if child.children else None
        if child.end - entry.first > MAX_LINES_OF_A_HEAD or child.kind == IN_STRING:
            return
        if first is None and (named or is_document):
            yield waiting.pop(0)
        elif is_document and first is not None and first.key in _NAMING and not first.children:
            yield waiting[0]  # `metadata:` and the name under it
            yield child.children[0]
            return
        else:
            return


def _all_under(entries: Sequence[_Entry], number: int) -> Iterator[int]:
    for child in entries[number].children:
        yield child
        yield from _all_under(entries, child)


def _label(part: Piece) -> str:
    """Return the key of an entry."""
    for line in part.text.split("\n") if part.kind != IN_STRING else ():
        start = _LINE.match(line)
        key = _KEY.match(line, start.end()) if start else None
        if key and not line.lstrip().startswith("#"):
            return _bare(key[0])
    return ""
