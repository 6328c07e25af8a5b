"""Entries of settings in sections: INI, TOML, properties, and the stages of a Dockerfile."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from ..text.words import late_pattern
from .entry_reader import (
    HEADER,
    MAX_LINES_OF_A_VALUE,
    SECTION,
    DataEntry,
    EntryReader,
    end_of_brackets,
    end_of_deeper,
)

_TOML_KEY = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[\w-]++)"""
SECTIONS: dict[str | None, re.Pattern[str]] = {
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
    # A text that nothing closes is a token, too: it is not read again from its next mark on.
    r""""{3}(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\Z)|"(?:[^"\\\n]|\\.)*+"?"""
    r"""|[#][^\n]*+|[\[\]{}\n]|'{3}(?:[^']|'(?!''))*+(?:'{3,5}|\Z)|'[^'\n]*+'""",
    re.DOTALL,
)
_ESCAPE = late_pattern(r"(?i)[#][ \t]*escape[ \t]*=[ \t]*(\S)")
"""The directive of a Dockerfile that names the sign at the end of a line that goes on."""
_HERE_DOCUMENT = late_pattern(r"""<<-?(["']?)(\w++)\1""")
_SETTING = late_pattern(r"([^\s=:\[{][^=:\n]*+)[=:]")


def read_sections(text: str, lines: Sequence[str], language: str | None) -> list[DataEntry]:
    """Return the settings under their sections, in the order of their lines."""
    reader = EntryReader(lines)
    section = SECTIONS[language]
    ends = list(accumulate(map(len, lines))) if language == "toml" else []
    arrays: dict[tuple[str, ...], int] = {}
    number = 0
    while number < len(lines):
        line = lines[number]
        bare = line.lstrip(" \t")
        if not bare.strip() or bare[0] in "#;!":
            number += 1  # it goes with the next entry
            continue
        head = section.match(line)
        if head:
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


def read_instructions(lines: Sequence[str]) -> list[DataEntry]:
    """Return the instructions of a Dockerfile under their stages, in the order of their lines."""
    reader = EntryReader(lines)
    escape = "\\"
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
        number = entry.end = reader.next = _end_of_instruction(reader, lines, number, escape)
    if escape != "\\" and reader.entries:
        reader.entries[0].kind = HEADER  # the directive is above it
    return reader.finish()


def _link_arrays(
    reader: EntryReader, head: re.Match[str], arrays: dict[tuple[str, ...], int]
) -> None:
    """Let `[a.b]` need the element `[[a]]` that it is in; without it, it is in the one before."""
    path = tuple(key.strip("\"'") for key in _KEY_OF_PATH.findall(head[1]))
    for count in range(1, min(len(path), MAX_KEYS_OF_A_PATH)):
        if path[:count] in arrays:
            reader.entries[-1].needs.append(arrays[path[:count]])
    if head[0].lstrip().startswith("[["):
        arrays[path] = len(reader.entries) - 1


def _end_of_toml(reader: EntryReader, text: str, ends: Sequence[int], number: int) -> int:
    def find() -> int | None:
        left = 0
        for token in _TOML_TOKEN.finditer(text, ends[number - 1] if number else 0):
            left += (token[0] in "[{") - (token[0] in "]}")
            if token[0] == "\n" and left <= 0:
                return bisect_right(ends, token.start()) + 1
        return None

    return reader.find_end(number, find, reach=len(ends)) or number + 1


def _end_of_instruction(reader: EntryReader, lines: Sequence[str], number: int, escape: str) -> int:
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
        number = reader.find_end(number, partial(_end_of_text, lines, number, word)) or number
    return number


def _end_of_text(lines: Sequence[str], start: int, word: str) -> int | None:
    reach = range(start, min(start + MAX_LINES_OF_A_VALUE, len(lines)))
    return next((number + 1 for number in reach if lines[number].strip() == word), None)


def _end_of_setting(
    reader: EntryReader, lines: Sequence[str], number: int, value: str, section: re.Pattern[str]
) -> int:
    line, last = lines[number], len(lines)
    depth = len(line) - len(line.lstrip(" \t"))
    if value.lstrip()[:1] in ("[", "{"):
        end = reader.find_end(number, partial(end_of_brackets, lines, number + 1, value))
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
    return end_of_deeper(lines, number, depth) if value.strip() else number
