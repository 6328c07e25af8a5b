"""Read records of any known shape as items. One bad record costs only itself.

A caller's object may do anything when it is looked at: raise, even `SystemExit`'s cousins, never
end, or change. So every look at one is guarded by `except BaseException`; the two exceptions that
belong to the user, `KeyboardInterrupt` and `SystemExit`, are let through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from operator import attrgetter
from typing import Any

import msgspec

from ..diagnostics import Diagnostic, Diagnostics
from ..errors import ItemError
from ..items import Item, Unsound
from . import documentobjects, fields, plaindata, shapes
from .notes import Notes

MAX_RECORDS = 1_000_000
"""Records that one call reads; the rest is left out, and said (PF204)."""
MAX_UNSIZED = 100_000
"""The same for an iterable without a length, which may have no end."""

_Records = list[Item]
_NO_METADATA: dict[str, Any] = {}
_METADATA = attrgetter("metadata")


class Loaded(list[Item]):
    """Items with the warnings of their loading; a rendering repeats these."""

    warnings: tuple[Diagnostic, ...] = ()


def to_item(
    record: object, *, where: str | None = None, diagnostics: Diagnostics | None = None
) -> Item:
    """Return the item of one record.

    `record` is an `Item`, a mapping of any shape of `shapes`, a document of LangChain, LlamaIndex
    or Haystack, or a pair of such a document and its score. `where` names its place in messages.
    Defaults and conversions are said in `diagnostics` (PF201 keys, PF202 types, PF203 metadata).

    Raises `ItemError`, with `where` and `field`, when the record is no item. No other exception
    escapes, however the record behaves.
    """
    try:
        return _clean(record) or _read(record, Notes(where, diagnostics))
    except (ItemError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as exc:
        message = f"a record that cannot be read: {plaindata.name_of(exc)} while looking at it"
        raise ItemError(message, where=where) from None


def load_records(
    records: object,
    *,
    where: str,
    diagnostics: Diagnostics,
    locate: Callable[[int], str] | None = None,
) -> list[Item]:
    """Return the items of many records; a bad one is left out and said (PF204).

    `records` is an iterable of what `to_item` takes, or one such record, or `{"items": […]}`.
    `where` is a file or the name of an argument, so that the fourth record is `items[3]`. `locate`
    gives a better place (`file:line`) by index, and is called only for records with a message.

    Raises `ItemError` when `records` is no iterable of records at all.
    """
    if type(records) is Loaded:
        diagnostics.extend(records.warnings)
        records = list(records)
    if type(records) is list and (items := _all_clean(records)) is not None:
        return items
    found: list[Item] = []
    for index, record in enumerate(_each(records, where, diagnostics)):
        item = _clean(record)
        if item is None:
            place = locate(index) if locate else f"{where}[{index}]"
            try:
                item = to_item(record, where=place, diagnostics=diagnostics)
            except ItemError as exc:
                diagnostics.add("PF204", f"record skipped: {exc.bare}", where=place)
                continue
        found.append(item)
    return found


def _all_clean(records: list[Any]) -> list[Item] | None:
    """Return the items of flawless native records, in about a microsecond each, else `None`."""
    if len(records) > MAX_RECORDS:
        return None
    try:
        if {*map(type, records)} == {Item}:
            items = records
        elif all(map(_is_safe, records)):
            items = msgspec.convert(records, _Records)
        else:
            return None
        columns = list(map(_METADATA, items))
        if {*map(type, columns)} - {dict}:
            return None
        if any(columns):
            settled = [_plain(item, item.metadata) if item.metadata else item for item in items]
            return None if None in settled else settled  # type: ignore[return-value]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # msgspec's own, `ValueError` for an integer too long to print, a bad key
        return None
    return list(items)


def _clean(record: object) -> Item | None:
    """Return the item of a flawless native record, `None` if anything has to be changed or said."""
    try:
        return _settled(msgspec.convert(record, Item)) if _is_safe(record) else None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # as in `_all_clean`
        return None


def _is_safe(record: object) -> bool:
    """Tell whether msgspec may convert it; of other mappings it reads all pairs, maybe endless."""
    if type(record) is dict:
        return type(record.get("metadata", _NO_METADATA)) is dict
    return type(record) is Item


def _settled(item: Item) -> Item | None:
    """Return the item with plain metadata, or `None` if anything has to be changed or said."""
    metadata = item.metadata
    if type(metadata) is not dict:
        return None
    return _plain(item, metadata) if metadata else item


def _plain(item: Item, metadata: dict[str, Any]) -> Item | None:
    if "source_type" in metadata:
        return None
    if plaindata.is_flat(metadata):
        return item
    changes: list[str] = []
    copied = plaindata.copy(metadata, changes.append)
    return None if changes else msgspec.structs.replace(item, metadata=copied)


def _read(record: object, notes: Notes) -> Item:
    if type(record) is Item:
        own = msgspec.structs.asdict(record)
        if type(record.metadata) is Unsound:
            own["metadata"] = record.metadata.given
        return fields.build(own, notes)
    if issubclass(type(record), dict) or isinstance(record, Mapping):
        own = _own(record, notes)
    else:
        own = documentobjects.read(record, notes)
    native = shapes.native(own, notes)
    return _clean(native) or fields.build(native, notes)


def _own(record: Any, notes: Notes) -> dict[str, Any]:
    """Return an ordinary dict of any mapping's text keys; values are not looked at yet."""
    pairs = (
        dict.items(record)
        if issubclass(type(record), dict)
        else ((key, record[key]) for key in record)
    )
    own: dict[str, Any] = {}
    for number, (key, value) in enumerate(pairs):
        if number == plaindata.MAX_NODES:
            notes.say("PF203", f"more than {plaindata.MAX_NODES} keys; the rest is left out")
            break
        if issubclass(type(key), str):
            own[plaindata.text_of(key)] = value
        else:
            notes.say(
                "PF201",
                f"a key of type {plaindata.name_of(key)} is not text; left out with its value",
            )
    return own


def _each(records: Any, where: str, diagnostics: Diagnostics) -> Iterable[Any]:
    """Yield the records; an iterable that fails half way ends there, and that is said."""
    records = _listed(records)
    if records is None:
        raise ItemError(
            "expected a list of items: objects with content or summary, or documents", where=where
        )
    count = 0
    try:
        most, hint = MAX_RECORDS, ""
        if not isinstance(records, Sized):
            most, hint = MAX_UNSIZED, "; a list may hold more"
        for record in records:
            if count >= most:
                message = f"more than {most} records; the rest is left out{hint}"
                diagnostics.add("PF204", message, where=where)
                return
            count += 1
            yield record
    except (KeyboardInterrupt, SystemExit, GeneratorExit, ItemError):
        raise
    except BaseException as exc:
        end = f"the records ended with {plaindata.name_of(exc)} after {count}"
        message = f"{end}; what came before is kept"
        diagnostics.add("PF204", message, where=where, severity="error")


def _listed(records: Any) -> Iterable[Any] | None:
    """Return an iterable of the records, one alone as a list; `None` if these are none."""
    kind = type(records)
    if issubclass(kind, list | tuple):
        return records  # type: ignore[no-any-return]
    try:
        if issubclass(kind, dict) or isinstance(records, Mapping):
            inside = None if "content" in records else records.get("items")
            return inside if isinstance(inside, list | tuple) else [records]
        if kind is Item or hasattr(records, "page_content"):
            return [records]
        if isinstance(records, Iterable) and not issubclass(kind, str | bytes):
            return records
        return None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None
