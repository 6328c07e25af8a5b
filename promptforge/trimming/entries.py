"""Trimming of data in lines: deep and late entries go first, the names of things stay longest.

That is YAML, XML, settings in sections (INI, TOML, Dockerfiles, properties) and tables (CSV). But
for XML the lines alone tell what is under what, so templates and broken files are read too.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
    r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+'"""
    r"""|:?[^\s:\[{"'|>#](?:[^:#\n]++|(?<=\S)[#]|:(?!\s|\Z))*+)[ \t]*:(?=\s|\Z)"""
)
_COMPLEX_KEY = late_pattern(r"\?(?=\s|\Z)")
_ITS_VALUE = late_pattern(r"[ \t]*:(?=\s|\Z)")
_PROPERTIES = late_pattern(r"(?:[!&]\S*+[ \t]*+)++(?:#.*)?\r?$")
"""A line with nothing but the tag or the anchor of the value below it."""
_TEXT_FOLLOWS = late_pattern(r"[ \t]*(?:&\S*+[ \t]++)?[|>]([-+\d]{0,2})[ \t]*(?:#.*)?\r?$")
_NO_VALUE = late_pattern(r"[ \t]*(?:[!&]\S*+[ \t]*+)*+(?:#.*)?\r?$")
"""A value that is below its key: nothing behind the key but a tag, an anchor, a comment."""
_ANCHOR = late_pattern(r"[ \t]*(?:!\S*[ \t]+)?&\S")
_QUOTED = late_pattern(r"""[ \t]*(?:"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')""")
_ESCAPED = {'"': late_pattern(r"\\."), "'": late_pattern("''")}
_NO_FLOW = late_pattern(
    r"""(?<![^\s\[{,:])(?:"(?:[^"\\\n]|\\.)*+"|'(?:[^'\n]|'')*+')|(?<!\S)[#].*"""
)
_NAMED = late_pattern(r"(?<![^\s\[{,:])([&*])([^\s,\[\]{}]++)")
"""An anchor or an alias."""
MAX_LINES_QUOTED = 100
"""Lines that are looked through for the end of a quoted text."""
_DOCUMENT = late_pattern(r"(?:---|\.\.\.)(?=\s|\Z)")
_TOML_KEY = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[\w-]++)"""
_SECTIONS: dict[str | None, re.Pattern[str]] = {
    "ini": late_pattern(r"\[([^\n]+)\]"),
    "properties": late_pattern(r"\[{1,2}([\w.\"'\t :/-]+)\]{1,2}\s*(?:[#;].*)?$"),
    "toml": late_pattern(
        rf"[ \t]*\[{{1,2}}[ \t]*({_TOML_KEY}(?:[ \t]*\.[ \t]*{_TOML_KEY})*+)[ \t]*"
        r"\]{1,2}\s*(?:#.*)?$"
    ),
}
"""Language → the line that all up to the next one is under."""
_STAGE = late_pattern(r"(?i)(from\b.*)")
_KEY_OF_PATH = late_pattern(_TOML_KEY)
MAX_KEYS_OF_A_PATH = 50
"""Keys of `[a.b.c]` that are looked at."""
_TOML_TOKEN = late_pattern(
    r""""{3}(?:[^"\\]|\\.|"(?!""))*+"{3,5}|"(?:[^"\\\n]|\\.)*+"|[#][^\n]*+|[\[\]{}\n]"""
    r"""|'{3}(?:[^']|'(?!''))*+'{3,5}|'[^'\n]*+'""",
    re.DOTALL,
)
_ESCAPE = late_pattern(r"(?i)[#][ \t]*escape[ \t]*=[ \t]*(\S)")
"""The directive of a Dockerfile that names the sign at the end of a line that goes on."""
_HERE_DOCUMENT = late_pattern(r"""<<-?(["']?)(\w++)\1""")
_END_OF_FIELD = late_pattern(r'(?:[^"]|"")*+"')
_ROWS = ("csv", "tsv")
_TAG = late_pattern(r"""<(/?)[\w:.-]++(?:[^<>"'/]|"[^"<]*+"|'[^'<]*+'|/(?!>))*+(/?)>""")
_NO_TAGS = {
    "<!--": late_pattern(r"(?s:.*?)-->"),
    "<![CDATA[": late_pattern(r"(?s:.*?)\]\]>"),
    "<?": late_pattern(r"(?s:.*?)\?>"),
    "<!": late_pattern(
        r"""[^\[>]*+(?:\[(?:[^\]"'<]|"[^"]*+"|'[^']*+'|<!--(?s:.*?)-->|<\?(?s:.*?)\?>|<(?!!--|\?))*+"""
        r"""\][^\[>]*+)*+>"""
    ),
}
"""The beginnings of comments and the like, and all up to the end of each."""
_ENTITY = late_pattern(r"&(?!(?:amp|apos|gt|lt|quot);)[\w:][\w:.-]*+;")
"""A reference to what only the text's own `<!DOCTYPE` tells."""
_TAG_NAME = late_pattern(r"\s*<([\w:.-]++)")
_DECLARATION = late_pattern(
    r"\ufeff?(?:\s*<\?xml[^\n]*\?>[^\S\n]*\n?|(?i:[#][ \t]*(?:check|escape|syntax)[ \t]*=.*\n)*+)"
)
"""The mark of the byte order and a declaration or directives: nothing may stand before them."""
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
    elif language == "dockerfile":
        entries = _read_instructions(lines)
    elif language in _SECTIONS:
        entries = _read_sections(text, lines, language)
    else:
        entries = _read_yaml(lines)
        _link_aliases(lines, entries)
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
            _KEEP_OF_SECTIONS if language in (*_SECTIONS, "dockerfile") else ALWAYS,
            facts_together=True,
            label=lambda part: labels[part.text],
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
    column: float = -1.0
    """The column that the lines of a value below it are deeper than."""
    needs: list[int] = field(default_factory=list)
    """Earlier entries that it says nothing without: anchors, the element of an array it is in."""
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
        self.searched = 0
        """The first line from which the end of brackets is looked for: each of 10,000 lines `a: [`
        would be searched from."""
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
        above = self._lines[self.next : line]
        directive = any(each.startswith("%") for each in above)
        if len(above) > _MAX_LINES_OF_COMMENTS and kind != IN_STRING and not directive:
            self.entries.append(_Entry(self.next, self.next, line, parent))
            self.next = line
        number = len(self.entries)
        entry = _Entry(self.next, line, line + 1, parent, key, kind)
        self.entries.append(entry)
        self._around.append((column, number))
        self.next = line + 1
        return entry

    def column_above(self, column: float) -> float:
        """Return the column that a value which begins in a column is deeper than."""
        around = [number for above, number in self._around if above < column]
        return self.entries[around[-1]].column if around else -1.0

    def extend(self, line: int) -> None:
        """Let the last entry go on through a line."""
        self.entries[-1].end = self.next = line + 1

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
            before = len(reader.entries) - 1
            entry = reader.add(number, -1.0, kind=DOCUMENT)
            # `...` ends what is there; only behind it a directive may follow.
            above = lines[entry.first : number + 1]
            if before >= 0 and any(each.startswith(("%", "...")) for each in above):
                entry.needs.append(before)
            number = _read_value(reader, entry, lines, document.end(), -1)
            continue
        start = _LINE.match(line)
        rest = line[start.end() :] if start else ""
        is_item = bool(start and start[2])
        is_directive = line.startswith("%") and _begins_document(lines, number + 1)
        if start is None or is_directive or not (is_item or rest.strip(" \t\r\n")):
            number += 1  # it goes with the next entry
            continue
        if rest.startswith("#") and not is_item:
            number += 1
            continue
        # The items of a list may stand in the column of the key that they are under.
        column = len(start[1]) + 0.5 * is_item
        key, place = _KEY.match(line, start.end()), start.end()
        if _COMPLEX_KEY.match(rest):
            entry = reader.add(number, column)
            number = _end_of_complex_key(lines, number + 1, int(column))
            entry.end = reader.next = number
            continue
        inner: float = len(start[0].rstrip()) - 1 if is_item else len(start[1])  # of `- -` the last
        if key:
            inner, place = place, key.end()
        elif not is_item and reader.entries and _PROPERTIES.match(rest):
            reader.extend(number)
            number += 1
            continue
        elif not is_item and not rest.startswith(("{{", "{%")):
            number = _read_bare_value(reader, lines, number, column, start.end())
            continue
        entry = reader.add(number, column, _bare(key[0]) if key else "")
        entry.column = inner
        number = _read_value(reader, entry, lines, place, inner)
    return reader.finish()


def _begins_document(lines: Sequence[str], number: int) -> bool:
    """Tell whether a directive or `---` is the next thing in the lines from one on."""
    while number < len(lines) and (lines[number].isspace() or lines[number].startswith("#")):
        number += 1
    return number < len(lines) and lines[number].startswith(("%", "---"))


def _read_bare_value(
    reader: _Reader, lines: Sequence[str], number: int, column: float, place: int
) -> int:
    """Add a text, or a list in brackets, that stands below its key; return the next line."""
    inner = -1.0 if reader.begins_document else reader.column_above(column)
    value = lines[number][place:]
    entry = reader.add(number, column)
    if _TEXT_FOLLOWS.match(value) or value.startswith(tuple("\"'[{!&")):
        return _read_value(reader, entry, lines, place, inner)
    # Behind a text without quotes a line `key: …` is an error: this may be no YAML.
    number = entry.end = reader.next = _end_of_deeper(lines, number + 1, inner, until=_KEY)
    return number


def _end_of_complex_key(lines: Sequence[str], number: int, column: int) -> int:
    """Return the line after `? key` and `: value`, which may be lists of their own."""
    number = _end_of_deeper(lines, number, column)
    following = number
    while following < len(lines) and lines[following].isspace():
        following += 1
    if following < len(lines) and _ITS_VALUE.match(lines[following]):
        number = _end_of_deeper(lines, following + 1, column)
    return number


def _link_aliases(lines: Sequence[str], entries: Sequence[_Entry]) -> None:
    """Let each entry need the anchors of its aliases, and each anchor an earlier of its name.

    What looks like an anchor may be a text, so the one before it is needed too.
    """
    if not any("&" in line for line in lines):
        return
    anchors: dict[str, int] = {}
    for number, entry in enumerate(entries):
        if entry.kind == IN_STRING:
            continue
        if entry.kind == DOCUMENT:
            anchors.clear()
        for sign, name in _NAMED.findall("".join(lines[entry.first : entry.end])):
            # `*name:` may be a key.
            for each in (name, name.rstrip(":")):
                if anchors.get(each, number) != number:
                    entry.needs.append(anchors[each])
            if sign == "&":
                anchors[name] = number


def _read_sections(text: str, lines: Sequence[str], language: str | None) -> list[_Entry]:
    """Return the settings under their sections, in the order of their lines."""
    reader = _Reader(lines)
    section = _SECTIONS[language]
    ends = list(accumulate(map(len, lines))) if language == "toml" else []
    arrays: dict[tuple[str, ...], int] = {}
    number = 0
    while number < len(lines):
        line = lines[number]
        bare = line.lstrip(" \t")
        if not bare.strip() or bare[0] in "#;!":
            number += 1  # it goes with the next entry
            continue
        if head := section.match(line):
            # `[[b]]` is under `[a]` in some INI files.
            depth = len(line) - len(line.lstrip("[")) if language == "ini" else 1
            reader.add(number, 1.0 - 0.5 ** (depth - 1), head[1].strip("[] "), SECTION)
            if language == "toml":
                _link_arrays(reader, head, arrays)
            number += 1
            continue
        key = _SETTING.match(bare)
        value = bare[key.end() :] if key else bare
        entry = reader.add(number, len(line) - len(bare) + 1.0, key[1].strip() if key else "")
        if language == "toml":
            number = _end_of_toml(reader, text, ends, number)
        else:
            number = _end_of_setting(reader, lines, number, value, section)
        entry.end = reader.next = number
    return reader.finish()


def _read_instructions(lines: Sequence[str]) -> list[_Entry]:
    """Return the instructions of a Dockerfile under their stages, in the order of their lines."""
    reader = _Reader(lines)
    escape, words = "\\", _Words(lines)
    number = 0
    while number < len(lines):
        bare = lines[number].lstrip(" \t")
        if not bare.strip() or bare[0] == "#":
            found = None if reader.entries else _ESCAPE.match(bare)
            escape = found[1] if found else escape
            number += 1  # it goes with the next entry
            continue
        stage = _STAGE.match(bare)
        entry = reader.add(number, 1.0 - bool(stage), stage[1] if stage else "")
        if stage:
            entry.kind = SECTION
        number = entry.end = reader.next = _end_of_instruction(lines, number, escape, words)
    if escape != "\\" and reader.entries:
        reader.entries[0].kind = HEADER  # the directive is above it
    return reader.finish()


def _link_arrays(reader: _Reader, head: re.Match[str], arrays: dict[tuple[str, ...], int]) -> None:
    """Let `[a.b]` need the element `[[a]]` that it is in; without it, it is in the one before."""
    path = tuple(key.strip("\"'") for key in _KEY_OF_PATH.findall(head[1]))
    for count in range(1, min(len(path), MAX_KEYS_OF_A_PATH)):
        if path[:count] in arrays:
            reader.entries[-1].needs.append(arrays[path[:count]])
    if head[0].lstrip().startswith("[["):
        arrays[path] = len(reader.entries) - 1


def _end_of_toml(reader: _Reader, text: str, ends: Sequence[int], number: int) -> int:
    """Return the line after a key of TOML and its value."""
    left = 0
    if number >= reader.searched:
        for token in _TOML_TOKEN.finditer(text, ends[number - 1] if number else 0):
            left += (token[0] in "[{") - (token[0] in "]}")
            if token[0] == "\n" and left <= 0:
                return bisect_right(ends, token.start()) + 1
        reader.searched = len(ends)  # a bracket has no end: this is no TOML
    return number + 1


class _Words:
    """The lines of a Dockerfile that may end a here-document, by their text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for number, line in enumerate(self._lines):
            places.setdefault(line.strip(), []).append(number)
        return places

    def find(self, word: str, start: int) -> int | None:
        """Return the first line from `start` on that is a word."""
        places = self._places.get(word, [])
        place = bisect_left(places, start)
        return places[place] if place < len(places) else None


def _end_of_instruction(lines: Sequence[str], number: int, escape: str, words: _Words) -> int:
    """Return the line after an instruction of a Dockerfile, with its here-documents."""
    held: list[str] = []
    while number < len(lines):
        line, number = lines[number], number + 1
        # Comments and empty lines do not end an instruction.
        if held and (line.isspace() or line.lstrip(" \t").startswith("#")):
            continue
        held.append(line)
        if not line.rstrip().endswith(escape):
            break
    for _, word in _HERE_DOCUMENT.findall("".join(held)):
        end = words.find(word, number)
        number = number if end is None else end + 1
    return number


def _end_of_setting(
    reader: _Reader, lines: Sequence[str], number: int, value: str, section: re.Pattern[str]
) -> int:
    """Return the line after a key and its value, which may have several lines."""
    line, last = lines[number], len(lines)
    depth = len(line) - len(line.lstrip(" \t"))
    end = None
    if number >= reader.searched and value.lstrip()[:1] in ("[", "{"):
        end = _end_of_brackets(lines, number + 1, value)
        reader.searched = number + MAX_LINES_OF_A_VALUE if end is None else 0
    if end is not None:
        return end
    # A folder of Windows ends with `\\` too.
    while (
        number < last - 1
        and lines[number].rstrip().endswith("\\")
        and not section.match(lines[number + 1])
    ):
        number += 1
    number += 1
    return _end_of_deeper(lines, number, depth) if value.strip() else number


def _end_of_brackets(
    lines: Sequence[str], number: int, value: str, aside: re.Pattern[str] = _NO_BRACKETS
) -> int | None:
    """Return the line after a value in brackets that goes on in line `number`; None: no end."""
    left = 0
    for end, line in enumerate(chain([value], lines[number : number + MAX_LINES_OF_A_VALUE])):
        line = aside.sub("", line)
        left += sum(map(line.count, "[{")) - sum(map(line.count, "]}"))
        if left <= 0:
            return number + end
    return None


def _read_rows(lines: Sequence[str]) -> list[_Entry]:
    """Return the rows of a table; a field in quotes may go on in the next line."""
    reader = _Reader(lines)
    delimiter = max(",;\t|", key=lines[0].count) if lines else ","
    # A lone quote within a field, as in `5" pipe`, is a sign as any other.
    opening = re.compile(f'(?:^|{re.escape(delimiter)})"')
    number = searched = 0
    while number < len(lines):
        if lines[number].isspace():
            number += 1  # it goes with the row before
            continue
        start, end = number, None
        if number >= searched:
            end = _end_of_row(lines, number, opening)
            searched = number + MAX_LINES_OF_A_VALUE if end is None else 0
        number = end or number + 1
        entry = reader.add(start, float(bool(start)), kind="" if start else HEADER)
        entry.end = reader.next = number
    return reader.finish()


def _end_of_row(lines: Sequence[str], start: int, opening: re.Pattern[str]) -> int | None:
    """Return the line after a row of a table; None if a field in quotes has no end."""
    is_quoted = False
    for number in range(start, min(start + MAX_LINES_OF_A_VALUE, len(lines))):
        place = 0
        while found := (_END_OF_FIELD.match if is_quoted else opening.search)(lines[number], place):
            is_quoted, place = not is_quoted, found.end()
        if not is_quoted:
            return number + 1
    return None


def _read_markup(text: str, lines: Sequence[str]) -> list[_Entry] | None:
    """Return the elements of XML that begin and end on lines of their own; None if some do not."""
    reader = _Reader(lines)
    around: list[int] = []  # the entries of the elements that are open, the outermost first
    tags = _read_tags(text)
    ends = list(accumulate(map(len, lines)))
    tag = next(tags, None)
    has_entities = bool(_ENTITY.search(text))
    start = number = 0
    while number < len(lines):
        opened = closed = 0
        declares = False
        # What spans lines keeps them together: a comment, a tag with its attributes.
        while tag is not None and tag.start < ends[number]:
            if tag.end is None:
                return None
            while tag.end > ends[number]:
                number += 1
            closed, opened = _count_tag(tag, closed, opened)
            declares = declares or (has_entities and text.startswith("<!DOCTYPE", tag.start))
            if not (around or opened or text.startswith(("<!", "<?"), tag.start)):
                return None  # all of it is in this line
            tag = next(tags, None)
        number += 1
        if (opened and closed) or closed > 1 or closed > len(around):
            return None
        if lines[start].isspace() and number - start == 1:
            start = number  # it goes with the element before
            continue
        kind = HEADER if declares or (opened and not around) else ""
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
    reader: _Reader, entry: _Entry, lines: Sequence[str], place: int, column: float
) -> int:
    """Add the lines of the value that begins at a place of an entry's line; return the next line.

    The lines that go on with it are deeper than `column`.
    """
    value, number = lines[entry.code][place:], entry.code + 1
    entry.anchored = bool(_ANCHOR.match(value))
    if text := _TEXT_FOLLOWS.match(value):
        if not any(map(str.isdigit, text[1])):
            column = max(column, _depth_of_text(lines, number) - 1)
        stop = _end_of_deeper(lines, number, column)
        for each in range(number, stop):
            if not lines[each].isspace():
                reader.add(each, inf, kind=IN_STRING)
        return stop
    if not _NO_VALUE.match(value):
        # Behind a value no entry can be under its key: deeper lines go on with it.
        quoted = _end_of_quoted(lines, number, value)
        number = max(quoted, _end_of_deeper(lines, number, column))
        if value.lstrip()[:1] in ("[", "{") and entry.code >= reader.searched:
            # The lines of a list in brackets may stand in any column.
            value = "".join([value, *lines[entry.code + 1 : number]])
            end = _end_of_brackets(lines, number, _NO_FLOW.sub("", value), _NO_FLOW)
            reader.searched = number + MAX_LINES_OF_A_VALUE if end is None else 0
            number = end or number
        entry.end = reader.next = number
    return number


def _end_of_deeper(
    lines: Sequence[str], start: int, column: float, until: re.Pattern[str] | None = None
) -> int:
    """Return the line after those that are deeper than a column, or close a bracket in it.

    The first one that begins with `until` is the next.
    """
    end = start
    for number in range(start, len(lines)):
        line = lines[number]
        bare = line.lstrip(" \t")
        if not bare.strip():
            continue
        depth = len(line) - len(bare)
        if _DOCUMENT.match(line) or (until and until.match(line, depth)):
            break
        if depth <= column and not (depth == column and _BRACKET.match(line)):
            break
        end = number + 1
    return end


def _depth_of_text(lines: Sequence[str], number: int) -> int:
    """Return the column of the first line with a text from one on: those of a text are no less."""
    for line in lines[number : number + MAX_LINES_OF_A_VALUE]:
        if not line.isspace():
            return len(line) - len(line.lstrip(" "))
    return 0


def _end_of_quoted(lines: Sequence[str], start: int, value: str) -> int:
    """Return the line after the quoted text that a value begins; `start` if it ends there."""
    quote = value.lstrip(" \t")[:1]
    if quote not in ('"', "'") or _QUOTED.match(value):
        return start
    for number in range(start, min(start + MAX_LINES_QUOTED, len(lines))):
        if quote in _ESCAPED[quote].sub("", lines[number]):
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
        own = (number, *held)
        end = max([entry.end, *(entries[each].end for each in held)])
        piece_of |= dict.fromkeys(own, len(parts))
        needs = {piece_of[need] for each in own for need in entries[each].needs} - {len(parts)}
        heads = bool(entry.children) and end < entry.last
        level = 0.0 if entry.anchored else level - _NAME_LIFT * (entry.key in _NAMING)
        part = Piece(
            "".join(lines[entry.first : end]),
            ALWAYS if entry.kind == HEADER else 1 / (1 + max(0.0, level)),
            piece_of[entry.parent] if entry.parent >= 0 else -1,
            heads or (entry.kind != IN_STRING and depth < 1 and bool(entry.key)),
            entry.kind,
            piece_of[entry.closes] if entry.closes >= 0 else -1,
            tuple(needs),
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
