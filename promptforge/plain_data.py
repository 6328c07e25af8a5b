"""Copies of callers' objects as plain data: dict with str keys, list, str, int, float, bool, None.

A caller's object could open a file in a property, hold itself, or be an endless generator. None
reaches a template: one that is not plain is replaced by its text, or by its type's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from itertools import islice
from math import isfinite
from numbers import Integral, Real
from pathlib import PurePath
from typing import Any
from uuid import UUID

from .errors import type_name_of

MAX_DATA_VALUES = 10_000
"""Values in one copy that a template may see; more are left out."""
MAX_MESSAGE_VALUES = 1_000_000
"""Values in one copy that is only written down: the rows that a tool answered."""
MAX_MESSAGE_CHARACTERS = 1 << 27
"""Characters of more than `MAX_DATA_VALUES` values: a list may hold one long text many times."""
MAX_DATA_DEPTH = 20
"""Deepest nesting of dicts and lists; deeper values are left out."""
MAX_OBJECT_TEXT_CHARACTERS = 10_000
"""Characters taken from the `str()` of an object that is not plain."""
MAX_INTEGER_BITS = 4096
"""Largest integer, in bits. Python refuses to print one past 4,300 digits (some 14,000 bits)."""
_NOTHING = object()


def exact_str(value: str) -> str:
    """Return a `str` proper, without calling any method of a subclass."""
    return str.__str__(value)


def copy_plain(
    value: object, say: Callable[[str], None] = lambda change: None, most: int = MAX_DATA_VALUES
) -> Any:
    """Return `value` as plain data; call `say` once for each sort of change.

    After `most` values the rest is left out, so that what holds itself, or never ends, does end.
    Raises nothing, whatever the object does; `KeyboardInterrupt` and `SystemExit` pass through.
    """
    copier = _Copier(most)
    result = copier.value(value, 0)
    for change in sorted(copier.changes):
        say(change)
    if result is _NOTHING:
        return None
    return result


WRITTEN_AS_TEXT = (date, time, Decimal, PurePath, UUID)
"""Paths and the types of the columns of databases: their text says all of them."""


class _Copier:
    """One copy in progress: the number of its values, and the changes so far."""

    def __init__(self, most: int) -> None:
        self.changes: set[str] = set()
        self._most = most
        self._nodes = 0
        self._characters = 0

    def value(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > MAX_DATA_VALUES and self._characters > MAX_MESSAGE_CHARACTERS:
            self._most = MAX_DATA_VALUES
        if self._nodes > self._most:
            self.changes.add(f"more than {self._most} values; the rest is left out")
            return _NOTHING
        # `type` cannot lie, unlike `isinstance`, which asks the object for its `__class__`.
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, str):
            return self._text(exact_str(value))
        if issubclass(kind, int):
            return self._integer(int.__index__(value))
        if issubclass(kind, float):
            return self._float(float.__float__(value))
        if depth >= MAX_DATA_DEPTH:
            # What holds itself ends here, and would be copied as often as it may.
            self._most = min(self._most, MAX_DATA_VALUES)
            self.changes.add(f"nested deeper than {MAX_DATA_DEPTH}; what lies deeper is left out")
            return _NOTHING
        try:
            return self._container(value, kind, depth)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # from any method of a hostile object
            return self._odd(value, None)

    def _text(self, text: str) -> str:
        self._characters += len(text)
        return text

    def _integer(self, value: int) -> int | str:
        if value.bit_length() <= MAX_INTEGER_BITS:
            return value
        self.changes.add(
            f"an integer of more than {MAX_INTEGER_BITS} bits is replaced by a word about it"
        )
        return f"(integer of {value.bit_length()} bits)"

    def _float(self, value: float) -> float | str:
        if isfinite(value):
            return value
        self.changes.add("a number that is not finite is replaced by its name")
        return repr(value)

    def _container(self, value: Any, kind: type, depth: int) -> Any:
        # The methods of `dict`, `list` and `tuple` themselves: a subclass may have its own.
        if issubclass(kind, dict):
            return self._pairs(dict.items(value), depth)
        if issubclass(kind, list):
            return self._members(list.__iter__(value), depth)
        if issubclass(kind, tuple):
            return self._members(tuple.__iter__(value), depth)
        if issubclass(kind, set | frozenset):
            # Sorted, so that the hash seed does not show in the order.
            members = self._members(iter(value), depth)
            return sorted(members, key=lambda member: (type(member).__name__, str(member)))
        if issubclass(kind, bytes | bytearray):
            self.changes.add("bytes are read as UTF-8")
            return bytes(value[:MAX_OBJECT_TEXT_CHARACTERS]).decode("utf-8", "replace")
        if issubclass(kind, WRITTEN_AS_TEXT) and (text := _own_text(value, kind)) is not None:
            return self._text(text)
        if isinstance(value, Mapping):
            return self._pairs(((key, value[key]) for key in value), depth)
        is_whole, is_number = isinstance(value, Integral), isinstance(value, Real)
        if is_number:
            return self._integer(int(value)) if is_whole else self._float(float(value))
        if hasattr(kind, "tolist") and getattr(value, "ndim", False):  # a list in a cell of pandas
            return self._members(iter(value), depth)
        return self._odd(value, _own_text(value, kind))

    def _members(self, values: Any, depth: int) -> list[Any]:
        found = []
        for value in islice(values, self._most + 1):
            copied = self.value(value, depth + 1)
            if copied is not _NOTHING:
                found.append(copied)
            elif self._nodes > self._most:
                break
        return found

    def _pairs(self, pairs: Any, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        converted: dict[str, Any] = {}
        for key, value in islice(pairs, self._most + 1):
            copied = self.value(value, depth + 1)
            if copied is _NOTHING:
                if self._nodes > self._most:
                    break
                continue
            if issubclass(type(key), str):
                result[self._text(exact_str(key))] = copied
            else:
                self.changes.add("a key that is not text is written as text")
                converted.setdefault(self._key(key), copied)
        for name, copied in converted.items():
            if name in result:  # {1: "a", "1": "b"}: the key that was text wins
                self.changes.add(
                    "two keys are the same when written as text; one value is left out"
                )
            result.setdefault(name, copied)
        return result

    def _key(self, key: object) -> str:
        if key is None:
            return "null"
        plain = self.value(key, MAX_DATA_DEPTH)
        return str(plain) if isinstance(plain, str | int | float) else type_name_of(key)

    def _odd(self, value: object, text: str | None) -> str:
        name = type_name_of(value)
        if text is None:
            self.changes.add(f"a value of type {name} is replaced by the name of its type")
            return name
        self.changes.add(f"a value of type {name} is replaced by its text")
        return self._text(text)


def _own_text(value: object, kind: type) -> str | None:
    # The text of `object` names a place in memory, and so differs from run to run.
    if all(vars(base).keys().isdisjoint(("__str__", "__repr__")) for base in kind.__mro__[:-1]):
        return None
    text = exact_str(str(value))[:MAX_OBJECT_TEXT_CHARACTERS]
    return None if " at 0x" in text else text
