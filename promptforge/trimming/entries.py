"""Trim data in lines: deep and late entries go first, keys such as `name` last.

The formats are YAML, XML, settings in sections (INI, TOML, Dockerfiles, properties), tables (CSV)
and listings. The columns of lines nest entries, in XML the tags, so broken files are read too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from math import log2

from ..text.characters import freeze
from ..text.format import Marks
from ..text.words import late_pattern
from .entry_reader import DOCUMENT, FAILURE, HEADER, RECORD, SECTION, DataEntry
from .listing import read_lines
from .pieces import ALWAYS, Piece, Pieces, UnderQuery, split_lines
from .program import IN_STRING, code_gap, comment_line
from .settings import SECTIONS, read_instructions, read_sections
from .table import TABLES, read_rows
from .xml import read_elements
from .yaml import read_yaml

_NAMING = frozenset(["apiVersion", "id", "key", "kind", "name", "title", "type", "uses"])
"""Keys that name their mapping; the first under a head go with it."""
MAX_LINES_OF_A_PIECE = 3
"""Lines of an entry up to which it is one piece: a mark would be as long as what it replaces."""
MAX_LINES_OF_A_RECORD = 6
"""The same of what a program prints: a commit, an address of a network."""
MAX_LINES_OF_A_HEAD = 5
"""Lines of a document up to which its first scalars are its head."""
MANY = 8
"""Entries beside each other up to which they are equals; of twice as many, the last count as one
level deeper, and so on: a list of hundreds leaves room for what else is there."""
MAX_CHARS_OF_A_LINE = 400
"""Characters of a line of XML, on average, up to which elements are told by lines; and of the
longest line of an entry that is one piece: a long value goes alone."""
_BETWEEN_TAGS = late_pattern(r"(?<=>)(?=<)|(?<=\n)")
_NAME_LIFT = 1.0
"""Levels that the name of a thing counts as less deep."""
_KEEP_OF_SECTIONS = 0.75
"""The least `keep` of a section: no query moves these where all of them have room."""
_KEEP_OF_A_FAILURE = 2.0
_DECLARATION = late_pattern(
    r"\ufeff?(?:\s*<\?xml[^\n]*\?>[^\S\n]*\n?|(?i:[#][ \t]*(?:check|escape|syntax)[ \t]*=.*\n)*+)"
)
"""The mark of the byte order and a declaration or directives: nothing may stand before them."""


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return data as pieces, each an entry with what is above it; None for a single entry.

    It is read as YAML where the language is none of the others.
    """
    lines = split_lines(text)
    entries: list[DataEntry] | None
    if language in TABLES:
        entries = read_rows(lines)
    elif language == "xml":
        is_long = len(text) > MAX_CHARS_OF_A_LINE * len(lines)
        entries = None if is_long else read_elements(text, lines)
        if entries is None:  # elements stand on lines together
            lines = _BETWEEN_TAGS.split(text)
            entries = read_elements(text, lines)
    elif language == "dockerfile":
        entries = read_instructions(lines)
    elif language == "listing":
        entries = read_lines(text, lines)
    elif language in SECTIONS:
        entries = read_sections(text, lines, language)
    else:
        entries = read_yaml(lines)
        _name_documents(entries)
    most = MAX_LINES_OF_A_RECORD if language == "listing" else MAX_LINES_OF_A_PIECE
    parts = _make_pieces(lines, entries or [], most)
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
            _KEEP_OF_SECTIONS if language in (*SECTIONS, "dockerfile") else ALWAYS,
            facts_together=True,
            label=lambda part: labels.get(freeze(part.text), ""),
        ),
    )


class _EntryPieces(Pieces):
    """The pieces of data. An outline of it goes from its end."""

    def put_head(self, head: str, text: str) -> str:
        """Return a shortened text with its head; nothing may stand before a declaration."""
        declared = _DECLARATION.match(text)
        place = declared.end() if declared else 0
        return text[:place] + head + text[place:]

    def thin(self, _part: Piece, place: int) -> float:
        """Return the order among equals: the first entries say what the whole is."""
        return -place


def _name_documents(entries: list[DataEntry]) -> None:
    """Put the entries of the first document under its first one, where that says what it is."""
    several = any(entry.kind == DOCUMENT for entry in entries[1:])
    if not entries or entries[0].kind or not (several or entries[0].key in _NAMING):
        return
    for entry in entries[1:]:
        if entry.kind == DOCUMENT:
            break
        if entry.parent < 0:
            entry.parent = 0


def _make_pieces(
    lines: Sequence[str], entries: Sequence[DataEntry], most: int
) -> list[tuple[Piece, DataEntry]]:
    """Return the pieces, each with the entry that it begins with; one of `most` lines is whole."""
    for number, entry in enumerate(entries):
        if entry.parent >= 0:
            beside = entries[entry.parent].children
            entry.place = len(beside)
            beside.append(number)
    for entry in reversed(entries):
        entry.last = entries[entry.children[-1]].last if entry.children else entry.end
    parts: list[tuple[Piece, DataEntry]] = []
    piece_of: dict[int, int] = {}
    rank: list[tuple[float, int]] = []
    """The level of each entry, and how many are above it."""
    for number, entry in enumerate(entries):
        above, depth = rank[entry.parent] if entry.parent >= 0 else (-1.0, -1)
        level = above + (entry.parent < 0 or entries[entry.parent].kind != RECORD)
        if entry.kind not in (DOCUMENT, SECTION):
            level += log2(1 + entry.place / MANY)
        rank.append((level, depth + 1))
        if number in piece_of:
            continue
        held = list(_held_by_head(lines, entries, number, most))
        own = (number, *held)
        end = max([entry.end, *(entries[each].end for each in held)])
        piece_of |= dict.fromkeys(own, len(parts))
        needs = {piece_of[need] for each in own for need in entries[each].needs} - {len(parts)}
        heads = bool(entry.children) and end < entry.last
        names = entry.key in _NAMING
        level = 0.0 if entry.anchored else level - _NAME_LIFT * names
        keep = 1 / (1 + max(0.0, level))
        if any(entries[each].kind == FAILURE for each in own):
            keep = _KEEP_OF_A_FAILURE
        part = Piece(
            "".join(lines[entry.first : end]),
            ALWAYS if entry.kind == HEADER else keep,
            piece_of[entry.parent] if entry.parent >= 0 else -1,
            heads or (entry.kind != IN_STRING and depth < 1 + names and bool(entry.key)),
            entry.kind,
            piece_of[entry.closes] if entry.closes >= 0 else -1,
            tuple(needs),
        )
        parts.append((part, entry))
    return parts


def _held_by_head(
    lines: Sequence[str], entries: Sequence[DataEntry], number: int, most: int
) -> Iterator[int]:
    """Yield the entries that are one piece with the one above them, in the order of their lines."""
    entry = entries[number]
    if entry.children and entries[entry.children[-1]].closes == number:
        most += 2  # `<name>` and `</name>`
    few = lines[entry.first : min(entry.last, entry.first + 2 * most + 1)]
    if entry.kind == HEADER and most == MAX_LINES_OF_A_RECORD:
        return  # it always stays, but what is under it
    is_all = entry.first + len(few) == entry.last and max(map(len, few)) <= MAX_CHARS_OF_A_LINE
    if is_all and sum(not line.isspace() for line in few) <= most:
        # Those under it stand one after another.
        below = range(number + 1, len(entries))
        yield from takewhile(lambda each: entries[each].first < entry.last, below)
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
