"""Entries of settings in sections: INI, TOML, properties, and the stages of a Dockerfile."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from ..text.words import late_pattern
from .entry_reader import (
    SECTION,
    DataEntry,
    EntryReader,
    end_of_brackets,
    end_of_deeper,
)

_TOML_KEY = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[\w-]++)"""
SECTIONS: dict[str | None, re.Pattern[str]] = {
    "dockerfile": late_pattern(r"(?i)(from\b.*)"),
    "ini": late_pattern(r"\[([^\n]+)\]"),
    "properties": late_pattern(r"\[{1,2}([\w.\"'\t :/-]+)\]{1,2}\s*(?:[#;].*)?$"),
    "toml": late_pattern(
        rf"[ \t]*\[{{1,2}}[ \t]*({_TOML_KEY}(?:[ \t]*\.[ \t]*{_TOML_KEY})*+)[ \t]*"
        r"\]{1,2}\s*(?:#.*)?$"
    ),
}
"""Language → the line that all up to the next one is under."""
_TOML_TOKEN = late_pattern(
    r""""{3}(?:[^"\\]|\\.|"(?!""))*+"{3,5}|"(?:[^"\\\n]|\\.)*+"|[#][^\n]*+|[\[\]{}\n]"""
    r"""|'{3}(?:[^']|'(?!''))*+'{3,5}|'[^'\n]*+'""",
    re.DOTALL,
)
_SETTING = late_pattern(r"([^\s=:\[{][^=:\n]*+)[=:]")


def read_sections(text: str, lines: Sequence[str], language: str | None) -> list[DataEntry]:
    """Return the settings under their sections, in the order of their lines."""
    reader = EntryReader(lines)
    section = SECTIONS[language]
    ends = list(accumulate(map(len, lines))) if language == "toml" else []
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


def _end_of_toml(reader: EntryReader, text: str, ends: Sequence[int], number: int) -> int:
    def find() -> int | None:
        left = 0
        for token in _TOML_TOKEN.finditer(text, ends[number - 1] if number else 0):
            left += (token[0] in "[{") - (token[0] in "]}")
            if token[0] == "\n" and left <= 0:
                return bisect_right(ends, token.start()) + 1
        return None

    return reader.find_end(number, find, reach=len(ends)) or number + 1


def _end_of_setting(
    reader: EntryReader, lines: Sequence[str], number: int, value: str, section: re.Pattern[str]
) -> int:
    line, last = lines[number], len(lines)
    depth = len(line) - len(line.lstrip(" \t"))
    if value.lstrip()[:1] in ("[", "{"):
        end = reader.find_end(number, partial(end_of_brackets, lines, number + 1, value))
        if end is not None:
            return end
    # A folder of Windows ends with `\\` too; a comment between lines of a Dockerfile ends nothing.
    first = number
    while number < last - 1 and not section.match(lines[number + 1]):
        is_comment = number > first and lines[number].lstrip(" \t").startswith("#")
        if not is_comment and not lines[number].rstrip().endswith("\\"):
            break
        number += 1
    number += 1
    return end_of_deeper(lines, number, depth) if value.strip() else number
