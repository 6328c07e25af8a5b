"""Native records as items, each in about a microsecond: the way of all that needs no conversion."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from ..model import Item

MAX_RECORDS = 1_000_000
"""Records that one call reads; the rest is left out, and said (PF204)."""
_Records = list[Item]
_METADATA = attrgetter("metadata")
PLACES = ("kind", "name", "path", "url")
TOLD = frozenset(("source", "url", "path", "file_path", "file_name", "name", "title"))
"""Metadata that tell the place of a text without one of `PLACES`."""
_NO_METADATA: dict[str, Any] = {}
_T = TypeVar("_T")


def guarded(look: Callable[[Any], _T]) -> Callable[[Any], _T | None]:
    """Let a function that looks at a caller's object return `None` where that raises.

    Such an object may raise anything, also exceptions beside `Exception`, as those of Rust's panics
    are. The two that belong to the user are let through.
    """

    @wraps(look)
    def looked(given: Any) -> _T | None:
        try:
            return look(given)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return None

    return looked


# msgspec raises its own error, `ValueError` for an integer too long to print, or that of a bad key.
@guarded
def read_flawless(records: list[Any]) -> list[Item] | None:
    """Return the items of flawless native records, in about a microsecond each, else `None`."""
    if len(records) > MAX_RECORDS:
        return None
    # Each step is one pass in C: of a million records none costs a line of Python.
    if {*map(type, records)} == {Item}:
        items = records
    elif all(map(_is_convertible, records)):
        items = msgspec.convert(records, _Records)
    else:
        return None
    columns = list(map(_METADATA, items))
    if {*map(type, columns)} - {dict}:
        return None
    if any(columns):
        settled = [_with_plain(item, item.metadata) if item.metadata else item for item in items]
        return None if None in settled else settled  # type: ignore[return-value]
    return list(items)


@guarded
def read_native(record: object) -> Item | None:
    """Return the item of a flawless native record, `None` if anything has to be changed or said."""
    if not _is_convertible(record):
        return None
    item = msgspec.convert(record, Item)
    if type(item.metadata) is not dict:
        return None
    return _with_plain(item, item.metadata)


def _is_convertible(record: object) -> bool:
    """Tell whether msgspec may convert it; of other mappings it reads all pairs, maybe endless."""
    if type(record) is dict:
        metadata = record.get("metadata", _NO_METADATA)
        return type(metadata) is dict and not tells_place(record)
    return type(record) is Item


def tells_place(record: dict[str, Any]) -> bool:
    """Tell whether the metadata of a record without a kind, name, path and URL may name its place.

    Most programs write a source by hand so: `{"content": "…", "metadata": {"source": "a.md"}}`.
    """
    metadata = record.get("metadata")
    if type(metadata) is not dict or TOLD.isdisjoint(metadata):
        return False
    return not any(type(place) is str and place for place in map(record.get, PLACES))


def _with_plain(item: Item, metadata: dict[str, Any]) -> Item | None:
    if "source_type" in metadata:  # a RAG document
        return None
    if _is_flat(metadata):
        return item
    changes: list[str] = []
    from ..plain_data import copy_plain

    copied = copy_plain(metadata, changes.append)
    return None if changes else msgspec.structs.replace(item, metadata=copied)


MAX_FLAT_VALUES = 10_000
"""Values of metadata that is taken as it is; more are copied."""


def _is_flat(metadata: dict[str, Any]) -> bool:
    """Return True if all keys are texts and all values plain scalars: no copy is needed."""
    if len(metadata) >= MAX_FLAT_VALUES:
        return False
    for key, value in metadata.items():
        kind = type(value)
        if type(key) is not str or not (
            kind is str
            or value is None
            or kind is bool
            or (kind is int and -(2**63) <= value < 2**63)
            or (kind is float and value - value == 0)  # not so for infinity, NaN
        ):
            return False
    return True
