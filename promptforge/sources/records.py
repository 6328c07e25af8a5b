"""Records of any known shape → items. One bad record costs only itself."""

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
"""How many records one call reads; what follows is left out, and said (PF204)."""
MAX_UNSIZED = 100_000
"""The same for an iterable that does not tell its length: it may have no end."""

_Records = list[Item]
_NO_METADATA: dict[str, Any] = {}
_METADATA = attrgetter("metadata")


class Loaded(list[Item]):
    """Items, and what there was to say while they were loaded; a rendering of them says it again."""

    warnings: tuple[Diagnostic, ...] = ()


def to_item(
    record: object, *, where: str | None = None, diagnostics: Diagnostics | None = None
) -> Item:
    """Return the item that a record stands for.

    `record` is an `Item`, a mapping of any shape of `shapes`, a document of LangChain, LlamaIndex or Haystack, or a
    pair of such a document and its score. `where` names its place for messages. What had to be defaulted or converted
    is said in `diagnostics` (PF201 keys, PF202 types, PF203 metadata).

    Raises `ItemError` when the record is no item; `where` and `field` say which and why. No other exception escapes,
    whatever the record does when it is looked at.
    """
    try:
        return _clean(record) or _read(record, Notes(where, diagnostics))
    except (ItemError, KeyboardInterrupt, SystemExit):
        raise
    except (
        BaseException
    ) as exc:  # an object that raises when it is merely looked at, whatever it raises
        message = f"a record that cannot be read: {plaindata.name_of(exc)} while looking at it"
        raise ItemError(message, where=where) from None


def load_records(
    records: object,
    *,
    where: str,
    diagnostics: Diagnostics,
    locate: Callable[[int], str] | None = None,
) -> list[Item]:
    """Return the items of many records; a bad one is left out and said (PF204, `where` names it).

    `records` is an iterable of what `to_item` takes, or one such record, or `{"items": […]}`. `where` is the file or
    the name of the argument, so that the fourth record is `items[3]`; `locate` gives a better place for an index
    (`file:line`), and is called only for records that something is said about.

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
    """Return the items of a list in which every record is native and in order, at about a microsecond a record."""
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
    except (
        BaseException
    ):  # msgspec's own error, ValueError for an integer past what Python prints, a key that raises
        return None
    return list(items)


def _clean(record: object) -> Item | None:
    """Return the item of a native record about which nothing has to be changed or said, None otherwise."""
    try:
        return _settled(msgspec.convert(record, Item)) if _is_safe(record) else None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # as in `_all_clean`
        return None


def _is_safe(record: object) -> bool:
    """Tell whether msgspec may convert it: of a mapping that is no dict it takes all pairs, also of an endless one."""
    if type(record) is dict:
        return type(record.get("metadata", _NO_METADATA)) is dict
    return type(record) is Item


def _settled(item: Item) -> Item | None:
    """Return the item, its metadata plain; None if anything about it has to be changed or said."""
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
    """Return an ordinary dict with text keys, of any mapping; values are not looked at yet."""
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
    """Yield the records one by one; an iterable that fails half way ends there, and that is said."""
    records = _listed(records)
    if records is None:
        raise ItemError(
            "expected a list of items: objects with content or summary, or documents", where=where
        )
    count = 0
    try:
        sized = isinstance(records, Sized)
        most = MAX_RECORDS if sized else MAX_UNSIZED
        for record in records:
            if count >= most:
                way_out = "" if sized else "; a list may hold more"
                diagnostics.add(
                    "PF204", f"more than {most} records; the rest is left out{way_out}", where=where
                )
                return
            count += 1
            yield record
    except (KeyboardInterrupt, SystemExit, GeneratorExit, ItemError):
        raise
    except BaseException as exc:
        message = f"the records ended with {plaindata.name_of(exc)} after {count}; what came before is kept"
        diagnostics.add("PF204", message, where=where, severity="error")


def _listed(records: Any) -> Iterable[Any] | None:
    """Return what the records can be taken from one by one: one record alone is a list of one; None for no records."""
    kind = type(records)
    if issubclass(kind, list | tuple):
        return records  # type: ignore[no-any-return]
    try:
        if issubclass(kind, dict) or isinstance(records, Mapping):
            inside = None if "content" in records else records.get("items")
            return inside if isinstance(inside, list | tuple) else [records]
        if kind is Item or hasattr(records, "page_content"):
            return [records]
        return (
            None if issubclass(kind, str | bytes) or not isinstance(records, Iterable) else records
        )
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # an object that raises when it is merely looked at, whatever it raises
        return None
