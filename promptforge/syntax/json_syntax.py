"""JSON (RFC 8259)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from json.encoder import encode_basestring
from typing import ClassVar

from ..text.escape import INVISIBLE_CHARACTER, SURROGATE, Content, Safe
from ..text.format import to_text
from ..text.words import late_pattern
from .syntax import (
    BRANCHES,
    Inside,
    LineParts,
    PlacementError,
    Syntax,
    around,
    ends_with_backslash,
    static_text,
)

_STRING = late_pattern(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE = late_pattern(r"\\(?:u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_VALUE, _OBJECT = "\0", "\1"
"""They stand for a printed value, and for one that ends in a brace."""
_BLANK = late_pattern(
    r'"(?:[^"\\]|\\.)*+"'
    # Beside marks of JSON alone: other blanks keep numbers, sentences and fences apart.
    r'|(?P<blank>(?:(?<=[{\[])|(?<=["\0\1}\]\d],)|(?<=["\0\1]:))\s++(?=["\0\1{\[}\]\d-])'
    r'|(?<=["\0\1}\]\d])\s++(?=[}\],:]|\Z))',
    re.DOTALL,
)


def _stand_in(part: str) -> str:
    """Return a part of a template's own text as it is, and a mark in the place of a value."""
    if type(part) is str:
        return part
    return _OBJECT if part.endswith("}") else _VALUE


def finite(value: object) -> object:
    """Return plain data as JSON has it: no NaN, no infinity, keys that are texts.

    An integer of more than 64 bits is a text: some readers refuse the page, others round it.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(value)
    if isinstance(value, dict):
        return {to_text(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return to_text(value)  # raises, with the name of what is missing


def json_value(value: object) -> Safe:
    """Return a value as JSON: text quoted, UTF-8 as it is, NaN and infinities null.

    In labels, invisible characters are escaped by number; the parsed value is the same.
    """
    if isinstance(value, Safe):
        return value
    if isinstance(value, str):
        text = encode_basestring(value)
    else:
        text = json.dumps(finite(value), ensure_ascii=False)
    if text.isascii():
        return Safe(text)
    if type(value) is Content:
        return Safe(SURROGATE.sub("\ufffd", text))
    return Safe(INVISIBLE_CHARACTER.sub(_json_escape, text))


def _json_escape(match: re.Match[str]) -> str:
    # `json.dumps` is ASCII: two escapes for a character past U+FFFF.
    return "\ufffd" if SURROGATE.match(match[0]) else json.dumps(match[0])[1:-1]


def json_string(value: object) -> Safe:
    """Return a value for the inside of a JSON string."""
    return Safe(json_value(str.__str__(to_text(value)))[1:-1])


class Json(Syntax):
    """JSON. Mode: `string` inside quotes that the template has opened."""

    name = "json"
    quotes_values = True
    backslashes = 2  # a backslash in a string is written as two
    places: ClassVar = {"value": json_value, "string": json_string}

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        # `\\"` and `\\\\` are one mark each, so that an escaped quote is none.
        quotes = re.findall(r'\\.|"', text, re.DOTALL).count('"')
        if quotes % 2:
            mode = {"": "string", "string": ""}[mode]
        return mode

    def place(self, mode: str, line: LineParts) -> str:
        before = static_text(line)
        if mode and ends_with_backslash(before):
            raise PlacementError("a backslash before a value would make an escape of it; write two")
        return mode or "value"

    def join(self, a: str, b: str) -> str:
        raise PlacementError(BRANCHES.format("quotes"))

    def end(self, mode: str) -> None:
        if mode:
            raise PlacementError('the quotes are not closed; write " where the text ends')

    def without_blanks(self, parts: Sequence[str]) -> list[str]:
        # The ends of parts make no difference: the source map has other parts than the page.
        texts = [_stand_in(part) for part in parts]
        text = "".join(texts)
        blanks = (match.span() for match in _BLANK.finditer(text) if match["blank"])
        made, start, blank = list[str](), 0, next(blanks, None)
        for part, shown in zip(parts, texts, strict=True):
            end, kept = start + len(shown), ""
            while blank is not None and blank[0] < end:
                first, last = max(blank[0], start), min(blank[1], end)
                kept += text[start:first]
                if first == blank[0] and "\n" in text[slice(*blank)]:
                    # Each item keeps a line of its own.
                    kept += "\n" * text.endswith(("}", "},", _OBJECT, f"{_OBJECT},"), 0, first)
                start = last
                if blank[1] > end:
                    break
                blank = next(blanks, None)
            made.append(kept + text[start:end] if type(part) is str else part)
            start = end
        return made

    def inside(self, text: str) -> Inside:
        strings = list(_STRING.finditer(text))

        def inside(place: int) -> bool:
            string = around(strings, place)
            return (
                string is not None
                and around(list(_ESCAPE.finditer(text, *string.span())), place) is None
            )

        return inside

    def printed_at_least(self, text: str, length: int) -> str:
        # Line ends are letters here, and then runs of blanks are no longer one token.
        return encode_basestring(text[:length])

    def problem(self, text: str, ending: str) -> str | None:
        lines = [text]
        if ending == "jsonl":
            lines = text.splitlines()
        try:
            for line in filter(str.strip, lines):
                json.loads(line)
        except ValueError as error:
            return f"no JSON: {error}"
        return None


JSON = Json()
