"""TOON, Token-Oriented Object Notation 4: JSON's data in lines, with the length of each array."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import ClassVar

from ..text.characters import freeze
from ..text.escape import INVISIBLE_CHARACTER, SURROGATE, Content, Safe, code_of
from ..text.format import to_text
from ..text.words import late_pattern
from .json_syntax import Json, finite
from .syntax import IN_QUOTES, PRINTED_VALUE, LineParts, PlacementError, with_marks

# Any reader, whatever its delimiter, takes such a text for itself: no number, no word of JSON.
_BARE = late_pattern(
    r"(?![-#]|(?:true|false|null|[+]?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)\Z)"
    r"[^\s:\"\\\[\]{},|<>](?:[^:\"\\\[\]{},|<>]*[^\s:\"\\\[\]{},|<>])?",
    re.IGNORECASE,
)
_ESCAPED = late_pattern('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')
_ESCAPED_IN_LABEL = late_pattern(rf"[\"\\]|{INVISIBLE_CHARACTER.pattern}")
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    if ord(char) < 0x10000:
        return f"\\u{ord(char):04x}"
    return f"\\{code_of(char)}"  # TOON has no escape for it: a label shows its number


def _text(value: str) -> str:
    if freeze(value).isprintable() and _BARE.fullmatch(value):
        return value
    pattern = _ESCAPED_IN_LABEL
    if type(value) is Content:
        pattern = _ESCAPED
    escaped = pattern.sub(_escape, SURROGATE.sub("\ufffd", value))
    return f'"{escaped}"'


def toon_value(value: object) -> Safe:
    """Return a value as one scalar; a list or mapping is its JSON, in quotes."""
    if isinstance(value, Safe):
        return value
    if isinstance(value, str):
        return Safe(_text(value))
    if isinstance(value, float) and math.isfinite(value) and 1e-6 <= abs(value) < 1e21:
        digits = f"{Decimal(repr(value)):f}"
        return Safe(digits.removesuffix(".0"))
    text = json.dumps(finite(value), ensure_ascii=False)
    if isinstance(value, list | tuple | dict):
        text = _text(text)
    return Safe(text)


def toon_cells(value: object) -> Safe:
    """Return the members of a list with commas, any other value as the only one."""
    if isinstance(value, list | tuple):
        return Safe(",".join(map(toon_value, value)))
    return toon_value(value)


def toon_member(value: object) -> Safe:
    """Return what follows a key: `: scalar`, or `[2]: a,b` of a list."""
    if not isinstance(value, list | tuple):
        return Safe(f": {toon_value(value)}")
    if not value:
        return Safe(": []")
    return Safe(f"[{len(value)}]: {toon_cells(value)}")


def toon_length(value: object) -> Safe:
    """Return the length between the brackets of an array: a number, or that of a list."""
    if isinstance(value, Safe):
        return value
    if isinstance(value, list | tuple | dict):
        value = len(value)
    return Safe(value if isinstance(value, int) else 0)


def toon_string(value: object) -> Safe:
    """Return a value for the inside of quotes."""
    label = SURROGATE.sub("\ufffd", str.__str__(to_text(value)))
    return Safe(_ESCAPED_IN_LABEL.sub(_escape, label))


_QUOTED = late_pattern(r'"(?:[^"\\]|\\.)*"')
_KEY = rf"(?:[A-Za-z_][\w.]*|{_QUOTED.pattern})"
_HEADER = late_pattern(
    rf"(?P<start> *(?:- )?){_KEY}?\[(?P<length>\d+)\](?P<fields>\{{[^{{}}]*\}})?: *(?P<cells>.*)"
)
# Place of a value → the line before it, and what may follow it.
_PLACES = {
    "length": (rf" *(?:- )?{_KEY}?\[", r"\]"),
    "member": (rf" *(?:- )?{_KEY}", r" *(?:\n|\Z)"),
    "cells": (rf" *(?:- )?{_KEY}?\[[^\]\n]*\]: *", r" *(?:\n|\Z|,)"),
    "cell": (rf" *(?:(?:- )?{_KEY}?\[[^\]\n]*\]: *)?[^:\n]*, *", r" *(?:\n|\Z|,)"),
    "key": (r" *(?:- )?", r" *(?:\n|\Z|,|:(?:\s|\Z))"),
    "field": (rf" *(?:- )?(?:{_KEY}|[^,:\"\[\]{{}}\n]+): +", r" *(?:\n|\Z)"),
}
_BEFORE = {place: late_pattern(before).fullmatch for place, (before, _) in _PLACES.items()}
_AFTER = {place: late_pattern(after).match for place, (_, after) in _PLACES.items()}


class Toon(Json):
    """TOON, with the quotes of JSON. Mode: `string` inside quotes that the template has opened."""

    name = "toon"
    sees_each_value = True
    places: ClassVar = {
        "string": toon_string,
        "length": toon_length,
        "member": toon_member,
        "cells": toon_cells,
        **dict.fromkeys(("cell", "key", "field"), toon_value),
    }

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        if line[-1:] == (PRINTED_VALUE,) and not mode:
            before = self._spot(line[:-1])
            if before is not None and not _AFTER[before](text):
                raise PlacementError(IN_QUOTES)
        return super().feed(mode, line, text)

    def place(self, mode: str, line: LineParts) -> str:
        found = super().place(mode, line)
        if not mode:
            found = self._spot(line) or ""
        if not found:
            raise PlacementError(IN_QUOTES)
        return found

    def _spot(self, line: LineParts) -> str | None:
        before = with_marks(line)
        return next((place for place, match in _BEFORE.items() if match(before)), None)

    def printed_at_least(self, text: str, length: int) -> str:
        return _ESCAPED.sub(_escape, text[:length])

    def problem(self, text: str, ending: str) -> str | None:
        # The reader of a test reads all of it; the mistake of templates is a wrong length.
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            header = _HEADER.fullmatch(line)
            if header is None:
                continue
            count = _QUOTED.sub("", header["cells"]).count(",") + 1
            if not header["cells"]:
                count = _count_rows(lines[number:], header.end("start") + 2, header["fields"])
            if count != int(header["length"]):
                said = f"line {number} counts {header['length']} and has {count}"
                return f"no TOON: {said}: {line.strip()[:60]!a}"
        return None


def _count_rows(lines: list[str], depth: int, fields: str | None) -> int:
    """Return the rows or list items at a depth, before a line that is less deep."""
    count = 0
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if indent < depth:
            break
        count += indent == depth and (fields is not None or line.startswith("- ", depth))
    return count


TOON = Toon()
