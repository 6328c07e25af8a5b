"""Trimming of JSON and JSON Lines: without white space, then with arrays, texts, objects cut.

Each variant is valid JSON. Texts in it tell what is left out: `"… 97 more"` between the first
elements of an array and its last, ` … 1,204 characters more` at the end of a text,
`"… {12 keys}"` or `"… [12 items]"` for an object or array that lies too deep, and
`"…":"… 40 more keys"` at the end of an object. Keys keep their order, numbers their spelling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple, NoReturn

from ..text.escape import SURROGATE
from ..text.format import Marks
from ..text.words import last_unit_end
from .pieces import TrimmedText, TrimmedVariants

MAX_JSON_CHARS = 1 << 22
"""A longer text is not read: one of small numbers takes seconds and 200 MB."""
MAX_JSON_DEPTH = 100
"""Arrays and objects within each other."""
MAX_DIGITS = 4300
"""Digits of a number; Python reads no longer integers (`sys.int_info.default_max_str_digits`)."""
MIN_CHARS_CUT = 40
"""Characters by which a text must be too long to be cut: the note on it is nearly as long."""
VARIANTS_REMEMBERED = 8
_BLANKS = re.compile(r'("(?:[^"\\]++|\\.)*+")|[ \t\r\n]++', re.DOTALL)

# Stands for the marker or `…` until all is written: JSON itself holds no such character.
_MARK = "\0"


class Limits(NamedTuple):
    """Limits for writing a value."""

    string: int
    """Characters of a text."""
    items: int
    """Elements of an array before its last."""
    keys: int
    """Keys of an object."""
    depth: int
    """Arrays and objects around one that is still written; 0: only the outermost is."""


_STAGES: tuple[tuple[str, int], ...] = (
    *(("string", 1000), ("items", 100), ("keys", 200)),
    *(("string", 300), ("items", 30), ("keys", 60)),
    *(("string", 120), ("items", 10), ("keys", 30)),
    *(("string", 60), ("items", 4), ("depth", 5)),
    *(("string", 30), ("items", 2), ("keys", 16), ("depth", 3)),
    *(("items", 1), ("depth", 1), ("keys", 8), ("string", 16), ("depth", 0), ("keys", 4)),
)
"""The limits to lower, one after the other, and the values to reach."""
_STEP = 0.97
"""Share of a limit that is left by one step."""


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


def divide(text: str, *, marks: Marks, language: str | None = None) -> TrimmedVariants | None:
    """Return the variants of a JSON array or object, or of lines of them; None for other text.

    None too for a text that cannot be written again as it was (NaN and Infinity, a key twice in
    an object, a number of too many digits), and for one too deep or too long. The first variant
    may be lossless; in any other one the marker replaces the first `…`.
    """
    if len(text) > MAX_JSON_CHARS or text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return None
    try:
        pieces, values = _decode(text)
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(value, (dict, list)) for value in values):
        return None
    most = _extent(values)
    if most is None:
        return None
    lines = pieces != [text]
    tidy = _escape("\n".join(_BLANKS.sub(r"\1", piece) for piece in pieces))
    limits = list(_descent(most._replace(items=max(most.items, len(values)))))
    # Nothing in it is longer than the note on it would be.
    if limits and _MARK not in _Writer(limits[-1], marks).write(values, lines):
        limits = []
    gap = _quote(marks.gap)[1:-1]
    first_mark = _quote(marks.marker or marks.gap)[1:-1]

    # A search halves its range with each step, and the next search soon asks for the same.
    @lru_cache(maxsize=VARIANTS_REMEMBERED)
    def make(limit: Limits) -> TrimmedText:
        text = _Writer(limit, marks).write(values, lines)
        text = text.replace(_MARK, first_mark, 1).replace(_MARK, gap)
        return TrimmedText(text, "outline" if max(limit.items, limit.depth) <= 1 else "trimmed")

    lossless = [TrimmedText(tidy)] * (len(tidy) < len(text))
    return TrimmedVariants(
        len(lossless) + len(limits),
        lambda number: (
            lossless[number] if number < len(lossless) else make(limits[number - len(lossless)])
        ),
    )


def _decode(text: str) -> tuple[list[str], list[Any]]:
    """Return the JSON texts in `text`, all of it or its lines, and their values."""
    try:
        return [text], [_DECODER.decode(text)]
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
    lines = [line for line in text.split("\n") if line.strip(" \t\r")]
    return lines, [_DECODER.decode(line) for line in lines]


def _number(digits: str) -> _Number:
    if len(digits) > MAX_DIGITS:
        raise ValueError("a number of too many digits")
    return _Number(digits)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


_DECODER = json.JSONDecoder(
    parse_int=_number, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_distinct
)


def _extent(values: Iterable[Any]) -> Limits | None:
    """Return the narrowest limits that cut nothing of some values, None if they lie too deep."""
    string = items = keys = 0
    # Level by level, not by recursion: deep brackets must not exhaust the interpreter's stack.
    level, depth = list(values), -1
    while level:
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                keys = max(keys, len(value))
                below.extend(value.values())
            elif isinstance(value, list):
                items = max(items, len(value))
                below.extend(value)
            elif isinstance(value, str):
                string = max(string, len(value))
        depth += any(isinstance(value, (dict, list)) for value in level)
        if depth >= MAX_JSON_DEPTH:
            return None
        level = below
    return Limits(string, items, keys, depth)


def _descent(most: Limits) -> Iterator[Limits]:
    """Yield limits from the widest down, each one step below the one before."""
    now = most._replace(string=most.string - MIN_CHARS_CUT, items=most.items - 1)
    for name, target in _STAGES:
        least = 4 if name == "string" else 1
        while (value := getattr(now, name)) > target:
            now = now._replace(**{name: max(target, min(value - least, int(value * _STEP)))})
            yield now


def _quote(text: str) -> str:
    return _escape(json.dumps(text, ensure_ascii=False))


def _escape(written: str) -> str:
    """Return JSON with lone surrogates as escapes: as they are they could not be encoded."""
    if written.isascii():
        return written
    return SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


_WORDS = {None: "null", True: "true", False: "false"}


class _Writer:
    """Writes values as JSON within limits, with `_MARK` where something is left out."""

    def __init__(self, limits: Limits, marks: Marks) -> None:
        self._limits, self._marks = limits, marks

    def write(self, values: list[Any], lines: bool) -> str:
        """Return the one value, or all of them on lines."""
        if lines:
            return "\n".join(part[:-1] for part in self._elements(values, -1))
        return self._value(values[0], 0)

    def _say(self, phrase: str, number: int) -> str:
        """Return the mark of a gap, as it stands inside quotes."""
        return f"{_MARK} {_quote(self._marks.counted(number, phrase, phrase))[1:-1]}"

    def _value(self, value: Any, depth: int) -> str:
        if isinstance(value, _Number):
            return str(value)
        if isinstance(value, str):
            most = self._limits.string
            if len(value) <= most + MIN_CHARS_CUT:
                return _quote(value)
            kept = last_unit_end(value, "character", most) or most
            mark = self._say(self._marks.more_characters, len(value) - kept)
            return f'{_quote(value[:kept])[:-1]} {mark}"'
        if isinstance(value, (dict, list)):
            return self._container(value, depth)
        return _WORDS[value]

    def _container(self, value: dict[str, Any] | list[Any], depth: int) -> str:
        if isinstance(value, list):
            phrase, members, ends = self._marks.all_items, self._elements(value, depth), "[]"
        else:
            phrase, members, ends = self._marks.all_keys, self._members(value, depth), "{}"
        if depth > self._limits.depth:
            mark = self._say(f"{ends[0]}{phrase}{ends[1]}", len(value))
            if _exceeds([value], len(mark) + 2):
                return f'"{mark}"'
        return ends[0] + "".join(members)[:-1] + ends[1]

    def _elements(self, value: list[Any], depth: int) -> Iterator[str]:
        """Yield the elements of an array, a comma after each, and a note in place of some."""
        count, first = len(value), self._limits.items
        mark = f'"{self._say(self._marks.more_items, count - first - 1)}"'
        cut = count > first + 1 and _exceeds(islice(value, first, count - 1), len(mark))
        for element in islice(value, first) if cut else value:
            yield self._value(element, depth + 1) + ","
        if cut:
            yield mark + ","
            yield self._value(value[-1], depth + 1) + ","

    def _members(self, value: dict[str, Any], depth: int) -> Iterator[str]:
        """Yield the members of an object, a comma after each, and a note in place of some."""
        # The note stands as a key: one that the object has already would hide its value.
        key = self._marks.gap
        while key in value:
            key += self._marks.gap
        most = self._limits.keys
        mark = f'{_quote(key)}:"{self._say(self._marks.more_keys, len(value) - most)}"'
        cut = len(value) > most and _exceeds(_flat(islice(value.items(), most, None)), len(mark))
        for name, member in islice(value.items(), most) if cut else value.items():
            yield f"{_quote(name)}:{self._value(member, depth + 1)},"
        if cut:
            yield mark + ","


_flat = chain.from_iterable  # keys and values of an object, one after the other


def _exceeds(values: Iterable[Any], size: int) -> bool:
    """Tell whether some values, written with commas between, have more than `size` characters."""
    # Lazily: of a huge value in place of a short mark, only the beginning is looked at.
    left = size + 1
    for part in _sizes(values):
        left -= part
        if left < 0:
            return True
    return False


def _sizes(values: Iterable[Any]) -> Iterator[int]:
    """Yield about the characters of values, and of all in them, with quotes, colons and commas."""
    for value in values:
        if isinstance(value, str):
            yield len(value) + 3 - 2 * isinstance(value, _Number)
        elif isinstance(value, (dict, list)):
            yield 3
            yield from _sizes(value if isinstance(value, list) else _flat(value.items()))
        else:
            yield 5
