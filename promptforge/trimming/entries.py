"""Trimming of data in lines: deep and late entries go first, the names of things stay longest.

That is YAML, XML, settings in sections (INI, TOML, Dockerfiles, properties) and tables (CSV). But
for XML the lines alone tell what is under what, so templates and broken files are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from math import inf, log2
from typing import NamedTuple

from ..text.format import Marks
from ..text.words import late_pattern
from .code import IN_STRING, code_gap, comment_line
from .pieces import ALWAYS, Piece, Pieces, UnderQuery, split_lines

_NAMING = frozenset(["apiVersion", "id", "key", "kind", "name", "title", "type", "uses"])
"""Keys that name their mapping; the first under a head go with it."""
MAX_LINES_OF_A_PIECE = 3
"""Lines of an entry up to which it is one piece: a mark would be as long as what it replaces."""
MAX_LINES_OF_A_HEAD = 5
"""Lines of a document up to which its first scalars are its head."""
MANY = 8
"""Entries beside each other up to which they are equals; of twice as many, the last count as one
level deeper, and so on: a list of hundreds leaves room for what else is there."""
DOCUMENT, SECTION = "document", "section"
"""Kinds of the lines `---` and `[name]`, which all up to the next one is under."""
_NAME_LIFT = 0.5
"""Levels that the name of a thing counts as less deep."""
_KEEP_OF_SECTIONS = 0.75
"""The least `keep` of a section: no query moves these where all of them have room."""
HEADER = "header"
"""The kind of the first row of a table, and of the outermost element: these always stay."""
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
_SECTION = late_pattern(r"\[{1,2}([\w.\"'\t :/-]+)\]{1,2}\s*(?:[#;].*)?$")
_SECTIONS: dict[str | None, re.Pattern[str]] = {
    **dict.fromkeys(("ini", "properties", "toml"), _SECTION),
    "dockerfile": late_pattern(r"(?i)(from\b.*)"),
}
"""Language → the line that all up to the next one is under."""
_ROWS = ("csv", "tsv")
_TAG = late_pattern(r"""<(/?)[\w:.-]++(?:[^<>"'/]|"[^"<]*+"|'[^'<]*+'|/(?!>))*+(/?)>""")
_NO_TAGS = {
    "<!--": late_pattern(r"(?s:.*?)-->"),
    "<![CDATA[": late_pattern(r"(?s:.*?)\]\]>"),
    "<?": late_pattern(r"(?s:.*?)\?>"),
    "<!": late_pattern(r"[^\[>]*+(?:\[[^\]]*+\][^\[>]*+)*+>"),
}
"""The beginnings of comments and the like, and all up to the end of each."""
_TAG_NAME = late_pattern(r"\s*<([\w:.-]++)")
_DECLARATION = late_pattern(r"\s*<\?xml[^\n]*\?>[^\S\n]*\n?")
_SETTING = late_pattern(r"([^\s=:\[{][^=:\n]*+)[=:]")
_NO_BRACKETS = late_pattern(r""""(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|\#.*""")
MAX_LINES_OF_A_VALUE = 1_000
"""Lines that are looked through for the bracket or quote that ends a value."""
_BRACKET = late_pattern(r"[ \t]*[\]}]")


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return data as pieces, each an entry with what is above it; None for a single entry.

    It is read as YAML where the language is none of the others.
    """
    lines = split_lines(text)
    entries: list[_Entry] | None
    if language in _ROWS:
        entries = _read_rows(lines)
    elif language == "xml":
        entries = _read_markup(text, lines)
    elif language in _SECTIONS:
        entries = _read_sections(lines, _SECTIONS[language])
    else:
        entries = _read_yaml(lines)
        _name_documents(entries)
    parts = _make_pieces(lines, entries or [])
    if len(parts) < 2:
        return None
    tag = language or "yaml"
    labels = {part.text: entry.key for part, entry in parts}
    return _EntryPieces(
        [part for part, _ in parts],
        code_gap(tag),
        marks,
        lambda said: comment_line(tag, said) + "\n",
        under_query=UnderQuery(
            _KEEP_OF_SECTIONS if language in _SECTIONS else ALWAYS,
            facts_together=True,
            label=lambda part: labels[part.text],
        ),
    )


class _EntryPieces(Pieces):
    """The pieces of data. An outline of it goes from its end."""

    def put_head(self, head: str, text: str) -> str:
        """Return a shortened text with its head; nothing may stand before a declaration of XML."""
        declared = _DECLARATION.match(text)
        place = declared.end() if declared else 0
        return text[:place] + head + text[place:]

    def thin(self, _part: Piece, place: int) -> float:
        """Return the order among equals: the first entries say what the whole is."""
        return -place


@dataclass(slots=True)
class _Entry:
    """A key, an item of a list, a section, a document, a row, or a line of a text."""

    first: int
    """Its first line, comments above it included."""
    code: int
    end: int
    """The line after its own; its children follow."""
    parent: int = -1
    key: str = ""
    kind: str = ""
    """`DOCUMENT`, `SECTION`, `HEADER`, or `IN_STRING` for a line of a text."""
    closes: int = -1
    """The entry that it ends: a line `</name>`."""
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
        while self.entries and self.next < line and self._lines[self.next].isspace():
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

    def finish(self) -> list[_Entry]:
        """Return all entries; what follows the last goes with it."""
        if self.entries:
            self.entries[-1].end = len(self._lines)
        return self.entries


def _read_yaml(lines: Sequence[str]) -> list[_Entry]:
    """Return the entries of YAML in the order of their lines."""
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
    return reader.finish()


def _read_sections(lines: Sequence[str], section: re.Pattern[str]) -> list[_Entry]:
    """Return the settings under their sections, in the order of their lines."""
    reader = _Reader(lines)
    number = searched = 0
    while number < len(lines):
        line = lines[number]
        bare = line.lstrip(" \t")
        if not bare.strip() or bare[0] in "#;!":
            number += 1  # it goes with the next entry
            continue
        if head := section.match(line):
            reader.add(number, 0.0, head[1], SECTION)
            number += 1
            continue
        depth = len(line) - len(bare)
        key = _SETTING.match(bare)
        value = bare[key.end() :] if key else bare
        entry = reader.add(number, depth + 1.0, key[1].strip() if key else "")
        end = None
        if number >= searched and value.lstrip()[:1] in ("[", "{"):
            end = _end_of_brackets(lines, number + 1, value)
            # Of 10,000 lines `a = [` each would be searched from.
            searched = number + MAX_LINES_OF_A_VALUE if end is None else 0
        number = end or _end_of_setting(lines, number, value, depth)
        entry.end = reader.next = number
    return reader.finish()


def _end_of_setting(lines: Sequence[str], number: int, value: str, depth: int) -> int:
    """Return the line after a key and its value, which may have several lines."""
    line, last = lines[number], len(lines)
    if quote := next((quote for quote in ('"""', "'''") if line.count(quote) % 2), ""):
        following = (each + 1 for each in range(number + 1, last) if quote in lines[each])
        return next(following, number + 1)
    while number < last - 1 and lines[number].rstrip().endswith("\\"):
        number += 1
    number += 1
    return _end_of_deeper(lines, number, depth) if value.strip() else number


def _end_of_brackets(lines: Sequence[str], number: int, value: str) -> int | None:
    """Return the line after a value in brackets that goes on in line `number`; None: no end."""
    left = 0
    for end, line in enumerate(chain([value], lines[number : number + MAX_LINES_OF_A_VALUE])):
        line = _NO_BRACKETS.sub("", line)
        left += sum(map(line.count, "[{")) - sum(map(line.count, "]}"))
        if left <= 0:
            return number + end
    return None


def _read_rows(lines: Sequence[str]) -> list[_Entry]:
    """Return the rows of a table; a field in quotes may go on in the next line."""
    reader = _Reader(lines)
    number = 0
    while number < len(lines):
        if lines[number].isspace():
            number += 1  # it goes with the row before
            continue
        start, quotes = number, lines[number].count('"')
        while quotes % 2 and number - start < MAX_LINES_OF_A_VALUE and number + 1 < len(lines):
            number += 1
            quotes += lines[number].count('"')
        if quotes % 2:  # a lone quote, as in `5" pipe`
            number = start
        number += 1
        entry = reader.add(start, float(bool(start)), kind="" if start else HEADER)
        entry.end = reader.next = number
    return reader.finish()


def _read_markup(text: str, lines: Sequence[str]) -> list[_Entry] | None:
    """Return the elements of XML that begin and end on lines of their own; None if some do not."""
    reader = _Reader(lines)
    around: list[int] = []  # the entries of the elements that are open, the outermost first
    tags = _read_tags(text)
    ends = list(accumulate(map(len, lines)))
    tag = next(tags, None)
    start = number = 0
    while number < len(lines):
        opened = closed = 0
        # What spans lines keeps them together: a comment, a tag with its attributes.
        while tag is not None and tag.start < ends[number]:
            if tag.end is None:
                return None
            while tag.end > ends[number]:
                number += 1
            closed, opened = _count_tag(tag, closed, opened)
            if not (around or opened or text.startswith(("<!", "<?"), tag.start)):
                return None  # all of it is in this line
            tag = next(tags, None)
        number += 1
        if (opened and closed) or closed > 1 or closed > len(around):
            return None
        if lines[start].isspace() and number - start == 1:
            start = number  # it goes with the element before
            continue
        kind = HEADER if opened and not around else ""
        column = len(around) - closed + 0.5 * bool(closed)
        entry = reader.add(start, column, _name_of(lines[start]), kind)
        entry.end = reader.next = number
        if closed:
            entry.closes, entry.key = around.pop(), ""
        around += [len(reader.entries) - 1] * opened
        start = number
    return None if around else reader.finish()


class _Tag(NamedTuple):
    """A tag, a comment or the like in XML; without an `end` it is none."""

    start: int
    end: int | None
    opens: int
    """1 for a tag that opens an element, -1 for one that closes one, else 0."""


def _read_tags(text: str) -> Iterator[_Tag]:
    place = text.find("<")
    while place >= 0:
        end, opens = None, 0
        for begin, stop in _NO_TAGS.items():
            if text.startswith(begin, place):
                found = stop.match(text, place + len(begin))
                end = found.end() if found else None
                break
        else:
            if match := _TAG.match(text, place):
                end = match.end()
                opens = -1 if match[1] else int(not match[2])
        yield _Tag(place, end, opens)
        place = text.find("<", end) if end is not None else -1


def _count_tag(tag: _Tag, closed: int, opened: int) -> tuple[int, int]:
    """Return the elements that a line has closed and opened so far, but those within the line."""
    if tag.opens > 0:
        return closed, opened + 1
    if tag.opens < 0:
        return (closed, opened - 1) if opened else (closed + 1, opened)
    return closed, opened


def _name_of(line: str) -> str:
    found = _TAG_NAME.match(line)
    return found[1] if found else ""


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


def _make_pieces(lines: Sequence[str], entries: Sequence[_Entry]) -> list[tuple[Piece, _Entry]]:
    """Return the pieces, each with the entry that it begins with."""
    for number, entry in enumerate(entries):
        if entry.parent >= 0:
            beside = entries[entry.parent].children
            entry.place = len(beside)
            beside.append(number)
    for entry in reversed(entries):
        entry.last = entries[entry.children[-1]].last if entry.children else entry.end
    parts: list[tuple[Piece, _Entry]] = []
    piece_of: dict[int, int] = {}
    rank: list[tuple[float, int]] = []
    """The level of each entry, and how many are above it."""
    for number, entry in enumerate(entries):
        above, depth = rank[entry.parent] if entry.parent >= 0 else (-1.0, -1)
        level = above + 1
        if entry.kind not in (DOCUMENT, SECTION):
            level += log2(1 + entry.place / MANY)
        rank.append((level, depth + 1))
        if number in piece_of:
            continue
        held = list(_held_by_head(lines, entries, number))
        end = max([entry.end, *(entries[each].end for each in held)])
        piece_of |= dict.fromkeys((number, *held), len(parts))
        heads = bool(entry.children) and end < entry.last
        level = 0.0 if entry.anchored else level - _NAME_LIFT * (entry.key in _NAMING)
        part = Piece(
            "".join(lines[entry.first : end]),
            ALWAYS if entry.kind == HEADER else 1 / (1 + max(0.0, level)),
            piece_of[entry.parent] if entry.parent >= 0 else -1,
            heads or (entry.kind != IN_STRING and depth < 1 and bool(entry.key)),
            entry.kind,
            piece_of[entry.closes] if entry.closes >= 0 else -1,
        )
        parts.append((part, entry))
    return parts


def _held_by_head(lines: Sequence[str], entries: Sequence[_Entry], number: int) -> Iterator[int]:
    """Yield the entries that are one piece with the one above them, in the order of their lines."""
    entry = entries[number]
    most = MAX_LINES_OF_A_PIECE
    if entry.children and entries[entry.children[-1]].closes == number:
        most += 2  # `<name>` and `</name>`
    few = range(entry.first, min(entry.last, entry.first + 2 * most + 1))
    if few.stop == entry.last and sum(not lines[i].isspace() for i in few) <= most:
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
