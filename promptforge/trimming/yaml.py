"""Entries of YAML, read by its lines: templates and broken files have entries too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

from ..text.words import late_pattern
from .entry_reader import (
    DOCUMENT,
    DOCUMENT_LINE,
    MAX_LINES_OF_A_VALUE,
    DataEntry,
    EntryReader,
    end_of_brackets,
    end_of_deeper,
)
from .program import IN_STRING

_LINE = late_pattern(r"([ \t]*)((?:-(?:[ \t]+|(?=\r?\n|\Z)))*)")
_KEY = late_pattern(
    r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+'"""
    r"""|:?[^\s:\[{"'|>#](?:[^:#\n]++|(?<=\S)[#]|:(?!\s|\Z))*+)[ \t]*:(?=\s|\Z)"""
)
_COMPLEX_KEY = late_pattern(r"\?(?=\s|\Z)")
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


def read_yaml(lines: Sequence[str]) -> list[DataEntry]:
    """Return the entries of YAML in the order of their lines.

    None of a text with directives, or a key that has lines of its own: `? [a, b]`.
    """
    reader = EntryReader(lines)
    number = 0
    while number < len(lines):
        line = lines[number]
        document = DOCUMENT_LINE.match(line)
        if document:
            before = len(reader.entries) - 1
            entry = reader.add(number, -1.0, kind=DOCUMENT)
            if before >= 0 and line.startswith("..."):
                entry.needs.append(before)
            number = _read_value(reader, entry, lines, document.end(), -1)
            continue
        start = _LINE.match(line)
        rest = line[start.end() :] if start else ""
        is_item = bool(start and start[2])
        if start is None or not (is_item or rest.strip(" \t\r\n")):
            number += 1  # it goes with the next entry
            continue
        if rest.startswith("#") and not is_item:
            number += 1
            continue
        # The items of a list may stand in the column of the key that they are under.
        column = len(start[1]) + 0.5 * is_item
        key, place = _KEY.match(line, start.end()), start.end()
        if _COMPLEX_KEY.match(rest) or line.startswith("%"):
            return []
        inner: float = len(start[0].rstrip()) - 1 if is_item else len(start[1])  # of `- -` the last
        if key:
            inner, place = place, key.end()
        elif not is_item and reader.entries and _PROPERTIES.match(rest):
            number += 1
            reader.entries[-1].end = reader.next = number
            continue
        elif not is_item and not rest.startswith(("{{", "{%")):
            number = _read_bare_value(reader, lines, number, column, start.end())
            continue
        entry = reader.add(number, column, key[0].rstrip(": \t").strip("\"'") if key else "")
        entry.column = inner
        number = _read_value(reader, entry, lines, place, inner)
    entries = reader.finish()
    _link_aliases(lines, entries)
    return entries


def _read_bare_value(
    reader: EntryReader, lines: Sequence[str], number: int, column: float, place: int
) -> int:
    """Add a text, or a list in brackets, that stands below its key; return the next line."""
    inner = -1.0
    if reader.entries and reader.entries[-1].kind != DOCUMENT:
        inner = reader.column_above(column)
    value = lines[number][place:]
    entry = reader.add(number, column)
    if _TEXT_FOLLOWS.match(value) or value.startswith(tuple("\"'[{!&")):
        return _read_value(reader, entry, lines, place, inner)
    # Behind a text without quotes a line `key: …` is an error: this may be no YAML.
    number = entry.end = reader.next = end_of_deeper(lines, number + 1, inner, until=_KEY)
    return number


def _link_aliases(lines: Sequence[str], entries: Sequence[DataEntry]) -> None:
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


def _read_value(
    reader: EntryReader, entry: DataEntry, lines: Sequence[str], place: int, column: float
) -> int:
    """Add the lines of the value that begins at a place of an entry's line; return the next line.

    The lines that go on with it are deeper than `column`.
    """
    value, number = lines[entry.code][place:], entry.code + 1
    entry.anchored = bool(_ANCHOR.match(value))
    text = _TEXT_FOLLOWS.match(value)
    if text:
        if not any(map(str.isdigit, text[1])):
            # The column of its first line: the others of a text are no less deep.
            few = lines[number : number + MAX_LINES_OF_A_VALUE]
            line = next((line for line in few if not line.isspace()), "")
            column = max(column, len(line) - len(line.lstrip(" ")) - 1)
        stop = end_of_deeper(lines, number, column)
        for each in range(number, stop):
            if not lines[each].isspace():
                reader.add(each, inf, kind=IN_STRING)
        return stop
    if not _NO_VALUE.match(value):
        # Behind a value no entry can be under its key: deeper lines go on with it.
        quoted = _end_of_quoted(lines, number, value)
        number = max(quoted, end_of_deeper(lines, number, column))
        if value.lstrip()[:1] in ("[", "{"):
            # The lines of a list in brackets may stand in any column.
            value = _NO_FLOW.sub("", "".join([value, *lines[entry.code + 1 : number]]))
            find = partial(end_of_brackets, lines, number, value, _NO_FLOW)
            number = reader.find_end(entry.code, find) or number
        entry.end = reader.next = number
    return number


def _end_of_quoted(lines: Sequence[str], start: int, value: str) -> int:
    quote = value.lstrip(" \t")[:1]
    if quote not in ('"', "'") or _QUOTED.match(value):
        return start
    reach, escaped = range(start, min(start + MAX_LINES_QUOTED, len(lines))), _ESCAPED[quote]
    return next((line + 1 for line in reach if quote in escaped.sub("", lines[line])), start)
