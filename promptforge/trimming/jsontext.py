"""Shorter forms of JSON and JSON Lines, each valid: without its white space, then with arrays, texts and objects cut.

What is gone is said in texts in its place: `"… 97 more"` between the first elements of an array and its last, at the
end of a text ` … 1,204 characters more`, `"… {12 keys}"` for an object or `"… [12 items]"` for an array that lies too
deep, and `"…":"… 40 more keys"` at the end of an object. Keys keep their order, numbers are written as they were.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, NoReturn

from ..boundaries import last_end
from .pieces import Ladder, Rung

LONGEST = 1 << 22
"""Characters of the longest text that is read: of nothing but small numbers that takes some seconds and 200 MB."""
DEEPEST = 100
"""Arrays and objects within each other."""
DIGITS = 4300
"""Digits of a number; Python reads no longer integers (its `sys.int_info.default_max_str_digits`)."""
SPARED = 40
"""A text is only cut where it is at least so many characters too long: what says so is nearly as long."""
KEPT = 8
"""Rungs that are remembered."""

_BLANKS = re.compile(r'("(?:[^"\\]++|\\.)*+")|[ \t\r\n]++', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARK = "\0"
"""Stands for the marker or `…` in what is written: JSON itself holds no such character."""


class Limits(NamedTuple):
    """How much of a value is written."""

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
"""What is lowered to what, one after the other."""
_STEP = 0.97
"""To what share a limit is lowered from one rung to the next."""


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


def divide(text: str, *, marker: str, language: str | None = None) -> Ladder | None:
    """Return the shorter forms of a JSON array or object, or of lines of them; `None` for anything else.

    `None` as well for what cannot be written again as it was: NaN and Infinity, a key twice in an object, a number of
    more than `DIGITS` digits, more than `DEEPEST` levels; and for a text of more than `LONGEST` characters. The first
    rung may be lossless; in every other one `marker` stands in place of the first `…`, if there is any.
    """
    if len(text) > LONGEST or text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return None
    try:
        values, lines = [_DECODER.decode(text)], False
    except json.JSONDecodeError as exc:
        if exc.msg != "Extra data":
            return None
        try:
            values, lines = (
                [_DECODER.decode(line) for line in text.split("\n") if line.strip(" \t\r")],
                True,
            )
        except (ValueError, RecursionError):
            return None
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(value, (dict, list)) for value in values):
        return None
    most = _extent(values)
    if most is None:
        return None
    pieces = [line for line in text.split("\n") if line.strip(" \t\r")] if lines else [text]
    tidy = _escaped("\n".join(_BLANKS.sub(r"\1", piece) for piece in pieces))
    limits = list(_descent(most._replace(items=max(most.items, len(values)))))
    if limits and _MARK not in _write(
        values, lines, limits[-1]
    ):  # nothing in it is longer than what would say so
        limits = []
    return _Forms(values, lines, marker, tidy if len(tidy) < len(text) else "", limits)


def _number(digits: str) -> _Number:
    if len(digits) > DIGITS:
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
    """Return the most of everything there is in some values, `None` if they lie too deep."""
    string = items = keys = 0
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
        if depth >= DEEPEST:
            return None
        level = below
    return Limits(string, items, keys, depth)


def _descent(most: Limits) -> Iterator[Limits]:
    """Yield limits from the widest down, each one step below the one before."""
    now = most._replace(string=most.string - SPARED, items=most.items - 1)
    for name, target in _STAGES:
        least = 4 if name == "string" else 1
        while (value := getattr(now, name)) > target:
            now = now._replace(**{name: max(target, min(value - least, int(value * _STEP)))})
            yield now


class _Forms:
    """The ladder: limits, and each rung written when it is asked for."""

    def __init__(
        self, values: list[Any], lines: bool, marker: str, tidy: str, limits: list[Limits]
    ) -> None:
        """`tidy`: the text without its white space; empty if it has none."""
        self._values = values
        self._lines = lines
        self._marker = _quote(marker)[1:-1] if marker else "…"
        self._tidy = tidy
        self._limits = limits
        self._known: OrderedDict[int, Rung] = OrderedDict()

    def __len__(self) -> int:
        return len(self._limits) + bool(self._tidy)

    def rung(self, number: int) -> Rung:
        """Return one form: 0 is the longest."""
        if self._tidy and number == 0:
            return Rung(self._tidy)
        if number not in self._known:
            if len(self._known) == KEPT:
                self._known.popitem(last=False)
            self._known[number] = self._form(self._limits[number - bool(self._tidy)])
        return self._known[number]

    def _form(self, limits: Limits) -> Rung:
        text = (
            _write(self._values, self._lines, limits)
            .replace(_MARK, self._marker, 1)
            .replace(_MARK, "…")
        )
        return Rung(text, "outline" if limits.items <= 1 and limits.depth <= 1 else "trimmed")


def _write(values: list[Any], lines: bool, limits: Limits) -> str:
    if lines:
        return "\n".join(part[:-1] for part in _elements(values, limits, -1))
    return _value(values[0], limits, 0)


def _quote(text: str) -> str:
    return _escaped(json.dumps(text, ensure_ascii=False))


def _escaped(written: str) -> str:
    """Return JSON with lone surrogates as escapes: as they are they could not be encoded."""
    return (
        written
        if written.isascii()
        else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
    )


def _value(value: Any, limits: Limits, depth: int) -> str:
    """Return a value as JSON, with `_MARK` where something is gone."""
    if isinstance(value, (dict, list)):
        if depth > limits.depth:
            mark = (
                f'"{_MARK} '
                + (
                    f"{{{len(value):,} keys}}"
                    if isinstance(value, dict)
                    else f"[{len(value):,} items]"
                )
                + '"'
            )
            if _exceeds([value], len(mark)):
                return mark
        if isinstance(value, list):
            return "[" + "".join(_elements(value, limits, depth))[:-1] + "]"
        return "{" + "".join(_members(value, limits, depth))[:-1] + "}"
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        if len(value) <= limits.string + SPARED:
            return _quote(value)
        kept = last_end(value, "character", limits.string) or limits.string
        return f'{_quote(value[:kept])[:-1]} {_MARK} {len(value) - kept:,} characters more"'
    return "null" if value is None else "true" if value else "false"


def _elements(value: list[Any], limits: Limits, depth: int) -> Iterator[str]:
    """Yield the elements of an array, a comma after each, and in place of those left out what says so."""
    count, first = len(value), limits.items
    mark = f'"{_MARK} {count - first - 1:,} more"'
    cut = count > first + 1 and _exceeds(islice(value, first, count - 1), len(mark))
    for element in islice(value, first) if cut else value:
        yield _value(element, limits, depth + 1) + ","
    if cut:
        yield mark + ","
        yield _value(value[-1], limits, depth + 1) + ","


def _members(value: dict[str, Any], limits: Limits, depth: int) -> Iterator[str]:
    """Yield the members of an object, a comma after each, and in place of those left out one that says so."""
    key = "…"
    while key in value:
        key += "…"
    mark = f'{_quote(key)}:"{_MARK} {len(value) - limits.keys:,} more keys"'
    cut = len(value) > limits.keys and _exceeds(islice(value.items(), limits.keys, None), len(mark))
    for name, member in islice(value.items(), limits.keys) if cut else value.items():
        yield f"{_quote(name)}:{_value(member, limits, depth + 1)},"
    if cut:
        yield mark + ","


def _exceeds(values: Iterable[Any], size: int) -> bool:
    """Return whether some values, written out with commas between, have more than `size` characters."""
    left = size + 1
    stack = [iter(values)]
    while stack:
        for value in stack[-1]:
            if isinstance(value, (dict, list, tuple)):  # a tuple: key and value of an object
                left -= 3 * (not isinstance(value, tuple))
                stack.append(iter(value.items() if isinstance(value, dict) else value))
                break
            left -= len(value) + 3 - 2 * isinstance(value, _Number) if isinstance(value, str) else 5
            if left < 0:
                return True
        else:
            stack.pop()
        if left < 0:
            return True
    return False
