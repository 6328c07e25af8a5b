"""Read records of any known shape as items. One bad record costs only itself.

A caller's object may do anything when it is looked at: raise, even `SystemExit`'s cousins, never
end, or change. So every look at one is guarded by `except BaseException`; the two exceptions that
belong to the user, `KeyboardInterrupt` and `SystemExit`, are let through.

Build an `Item` of the fields of a native record: read leniently, or refuse.

Codes: PF201 an unknown or missing field, PF202 a value of another type or range, PF203 metadata
that had to be made plain.

Translate records of other systems, known by their shape, into the fields of a native record.

| shape | known by | origin |
| --- | --- | --- |
| search result with an entity | `entity` | similarity |
| knowledge chunk, camelCase or PascalCase | `filePath`, `startLine`, `relevance` … | similarity |
| LangChain document | `page_content` | similarity |
| LlamaIndex node, alone or scored | `node`, or `text` without `content` | similarity |
| Haystack document | `meta` | similarity |
| RAG document | `source_type` in its metadata | explicit |
| Lisp-style item | `type` without `kind` | explicit |

A native record is none of these. All metadata is kept, also where a field was read from it.

Read documents of LangChain, LlamaIndex and Haystack by their attributes: none is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from itertools import islice
from math import isfinite
from numbers import Real
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from ..errors import Diagnostic, Diagnostics, ItemError, did_you_mean, quote
from ..model import MAX_LINE_NUMBER, Item, UnsoundMetadata
from ..plaindata import MAX_DATA_VALUES, copy_plain, exact_str, is_flat, type_name, type_name_of
from .plain import RecordNotes

_MISSING = object()


def read_document_object(document: object, notes: RecordNotes) -> dict[str, Any]:
    """Return a record (see `shapes.native`) of a document object, or of a pair `(document, score)`.

    Raises `ItemError` when the object has none of the attributes of a document.
    """
    kind = type(document)
    if issubclass(kind, tuple) and tuple.__len__(document) == 2:  # type: ignore[arg-type]
        # `tuple`'s own methods: a subclass may have others, which raise or lie.
        inner, score = tuple.__getitem__(document, slice(None))  # type: ignore[call-overload]
        if not issubclass(type(inner), str | bytes | int | float | list | tuple | dict):
            return {**read_document_object(inner, notes), "score": score}
    if not issubclass(kind, str | bytes | int | float | list | tuple | set | type | type(None)):
        thing = _Thing(document, {})
        found = _langchain(thing) or _scored(thing) or _haystack(thing) or _node(thing)
        if found:
            for name, error in thing.failed.items():
                notes.say("PF203", f"{name}: cannot be read, {error} while looking at it; left out")
            return found
    raise notes.refusal(None, _complaint(kind))


def _complaint(kind: type) -> str:
    said = f"expected an object with the fields of an item, found {type_name(kind)}"
    if issubclass(kind, str):
        said += '; write {"content": "…"}'
    return said


class _Thing(NamedTuple):
    """An object that may raise anything at all when it is looked at."""

    is_: object
    failed: dict[str, str]
    """Name of an attribute → type of the exception that it raised."""

    def get(self, name: str) -> Any:
        """Return an attribute, or `_MISSING` where there is none or reading it raises."""
        try:
            return getattr(self.is_, name, _MISSING)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.failed[name] = type_name(type(error))
            return _MISSING

    def first(self, *names: str) -> Any:
        """Return the first of these attributes that is there and not `None`, else `None`."""
        for name in names:
            value = self.get(name)
            if value is not _MISSING and value is not None:
                return value
        return None


def _langchain(thing: _Thing) -> dict[str, Any] | None:
    text = thing.get("page_content")
    if text is _MISSING:
        return None
    return {"page_content": text, "metadata": thing.first("metadata"), "id": thing.first("id")}


def _scored(thing: _Thing) -> dict[str, Any] | None:
    node = thing.first("node")
    if node is None:
        return None
    inner = _node(_Thing(node, thing.failed))
    return inner and {**inner, "score": thing.first("score")}


def _haystack(thing: _Thing) -> dict[str, Any] | None:
    text = thing.get("content")
    about = thing.first("meta", "metadata")
    if text is _MISSING or (about is None and thing.get("meta") is _MISSING):
        return None
    return {
        "page_content": text,
        "metadata": about,
        "id": thing.first("id"),
        "score": thing.first("score"),
    }


def _node(thing: _Thing) -> dict[str, Any] | None:
    if thing.get("metadata") is _MISSING:
        return None
    text = _called(thing.get("get_content"))
    if not isinstance(text, str):
        text = thing.get("text")
    if text is _MISSING:
        return None
    return {
        "page_content": text,
        "metadata": thing.first("metadata"),
        "id": thing.first("node_id", "id_"),
    }


def _called(method: Any) -> object:
    if method is _MISSING:
        return None
    try:
        return method()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None


TEXT_FIELDS = ("content", "expanded", "summary", "id", "name", "path", "language")

FIELD_NAMES = frozenset(Item.__struct_fields__)

# Vector stores keep a hit's text under these keys of its `metadata`, `payload` or `properties`.
_TEXTS_OF_OTHERS = ("content", "text", "page_content", "document", "chunk", "body", "chunk_text")

# Usual names of fields, for hints.
_NAMES_OF_OTHERS = {
    **dict.fromkeys(("text", "body", "document"), "content"),
    **dict.fromkeys(("source", "file", "filename"), "path"),
    **dict.fromkeys(("similarity", "relevance"), "score"),
    **{"title": "name", "lang": "language", "lineno": "start_line"},
}


def build_item(fields: Mapping[str, Any], notes: RecordNotes) -> Item:
    """Return the item of native `fields`; a key that is no field is kept as metadata, and said.

    Raises `ItemError` when a value cannot be read as its field's type, or when there is neither
    `content` nor `summary`.
    """
    texts = {name: _text(fields.get(name), name, notes) for name in TEXT_FIELDS}
    metadata = _metadata(fields.get("metadata"), notes)
    for key in sorted(k for k in fields if k not in FIELD_NAMES):
        notes.say("PF201", f"unknown key {quote(key)}{_hint(key)}; kept as metadata")
        metadata.setdefault(key, copy_plain(fields[key], _saying(notes)))
    if texts["content"] is None and texts["expanded"] is not None:
        notes.say("PF201", "content is missing; expanded is taken for it")
        texts["content"], texts["expanded"] = texts["expanded"], None
    if texts["content"] is None and texts["summary"] is None:
        message = f"missing; an item needs content or summary, as text{_elsewhere(fields)}"
        raise notes.refusal("content", message)
    start = _line(fields.get("start_line"), "start_line", notes)
    end = _line(fields.get("end_line"), "end_line", notes)
    if start is not None and end is not None and start > end:
        notes.say("PF202", f"end_line: {end} lies before start_line {start}; left out")
        end = None
    return Item(
        kind=_kind(fields.get("kind"), notes),
        start_line=start,
        end_line=end,
        score=_score(fields.get("score"), notes),
        origin=_origin(fields.get("origin"), notes),
        required=_flag(fields.get("required"), notes),
        metadata=metadata,
        **texts,
    )


def _silent(change: str) -> None:
    """Say nothing: the caller judges the copy."""


def _saying(notes: RecordNotes) -> Any:
    return lambda change: notes.say("PF203", f"metadata: {change}")


def _elsewhere(fields: Mapping[str, Any]) -> str:
    """Return a hint to a text inside a record of an unknown shape that may be its content."""
    for outer, inside in fields.items():
        if type(inside) is not dict:
            continue
        for inner in _TEXTS_OF_OTHERS:
            if type(inside.get(inner)) is str:
                return f"; there is text under {quote(outer)}, {quote(inner)}: give that as content"
    return ""


def _hint(key: str) -> str:
    if key in _NAMES_OF_OTHERS:
        return f'; did you mean "{_NAMES_OF_OTHERS[key]}"?'
    return did_you_mean(key[:80], FIELD_NAMES)


def _text(value: object, name: str, notes: RecordNotes) -> str | None:
    kind = type(value)
    if value is None or kind is str:
        return value  # type: ignore[return-value]
    if issubclass(kind, str):
        return exact_str(value)  # type: ignore[arg-type]
    if issubclass(kind, bytes | bytearray):
        notes.say("PF202", f"{name}: expected text, found bytes; read as UTF-8")
        return str(copy_plain(value, _silent))
    if kind is int or kind is float:
        message = f"{name}: expected text, found {kind.__name__}; written as text"
        # Every database hands out numbers for ids, so these fail no strict run.
        notes.say("PF202", message, {"id": "info"}.get(name, "warning"))  # type: ignore[arg-type]
        return str(copy_plain(value, _silent))
    raise notes.refusal(name, f"expected text, found {type_name_of(value)}")


def _kind(value: object, notes: RecordNotes) -> str:
    kind = _text(value, "kind", notes)
    return "document" if kind == "markdown" else kind or "text"


def _number(value: object) -> float | None:
    """Return a number, also one in text or of a library's own type; `None` for others."""
    plain = copy_plain(value, _silent)
    if isinstance(plain, bool) or not isinstance(plain, int | float | str) or len(str(plain)) > 100:
        return None
    try:
        return float(plain)
    except (ValueError, OverflowError):
        return None


def _score(value: object, notes: RecordNotes) -> float:
    if value is None:
        return 1.0
    number = _number(value)
    if number is None:
        raise notes.refusal("score", f"expected a number, found {type_name_of(value)}")
    if not isfinite(number):
        notes.say("PF202", "score: expected a finite number; 0 is taken")
        return 0.0
    if issubclass(type(value), str):
        notes.say("PF202", "score: expected a number, found text; read as a number", "info")
    return number


def _line(value: object, name: str, notes: RecordNotes) -> int | None:
    if value is None:
        return None
    number = _number(value)
    if number is None:
        raise notes.refusal(name, f"expected a line number, found {type_name_of(value)}")
    if not isfinite(number) or number != int(number) or not 0 <= number <= MAX_LINE_NUMBER:
        notes.say("PF202", f"{name}: expected a line number from 1; left out")
        return None
    if type(value) is not int:
        found = type_name_of(value)
        notes.say("PF202", f"{name}: expected an int, found {found}; read as a number", "info")
    return int(number)


def _origin(value: object, notes: RecordNotes) -> Any:
    origin = "explicit" if value is None else _text(value, "origin", notes)
    if origin not in ("explicit", "similarity"):
        raise notes.refusal("origin", f'expected "explicit" or "similarity", found {quote(origin)}')
    return origin


def _flag(value: object, notes: RecordNotes) -> bool:
    if value is None or type(value) is bool:
        return bool(value)
    expected = f"expected true or false, found {type_name_of(value)}"
    known = {"true": True, "false": False, "1": True, "0": False}
    word = str(copy_plain(value, _silent)).lower()
    if word not in known:
        raise notes.refusal("required", expected)
    notes.say("PF202", f"required: {expected}; read as {known[word]}")
    return known[word]


def _metadata(value: object, notes: RecordNotes) -> dict[str, Any]:
    if value is None:
        return {}
    copied = copy_plain(value, _saying(notes))
    if isinstance(copied, dict):
        return copied
    notes.say("PF203", f"metadata: expected an object, found {type_name_of(value)}; left out")
    return {}


RecordFields = dict[str, Any]

_CHUNK = {
    "filePath": "path",
    "file_path": "path",
    "content": "content",
    "startLine": "start_line",
    "endLine": "end_line",
    "relevance": "score",
    "language": "language",
    "expandedContext": "expanded",
    "expandedContent": "expanded",
}

_CHUNK_MARKS = frozenset(_CHUNK) - {"content", "language"}

_PASCAL_MARKS = frozenset(k[0].upper() + k[1:] for k in _CHUNK)

_ENTITY = {"filePath": "path", "startLine": "start_line", "endLine": "end_line", "type": "kind"}

_RAG_KINDS = {"man_page": "man_page", "markdown": "document", "mitre_attack": "mitre_attack"}

_TECHNIQUE_LISTS = {"tactics": "tactic", "tools": "related_tools", "mitigations": "mitigation"}


def to_native_fields(record: RecordFields, notes: RecordNotes) -> RecordFields:
    """Return the native fields of a record of any known shape; a native record comes back as it is.

    `record` is a dict with text keys and any values. Raises nothing: `fields.build` judges wrong
    types, under the native name of the field.
    """
    metadata = _mapping(record.get("metadata"))
    if "source_type" in metadata:
        return _rag(record, metadata)
    if "page_content" in record:
        return _retrieved(record, "page_content", "metadata")
    if record.get("lc") is not None and "page_content" in _mapping(record.get("kwargs")):
        return _retrieved(_mapping(record["kwargs"]), "page_content", "metadata")
    if isinstance(record.get("entity"), dict):
        return _entity(record, notes)
    if not record.keys().isdisjoint(_CHUNK_MARKS) or not record.keys().isdisjoint(_PASCAL_MARKS):
        return _chunk(record)
    if isinstance(record.get("node"), dict):
        return _retrieved({**record["node"], "score": record.get("score")}, "text", "metadata")
    if "meta" in record and "metadata" not in record:
        return _retrieved(record, "content", "meta")
    if "text" in record and record.keys().isdisjoint(("content", "summary", "expanded")):
        return _retrieved(record, "text", "metadata")
    if "type" in record and "kind" not in record:
        return _lisp(record, metadata)
    return record


_PLACE_KEYS = {
    "path": ("path", "file_path", "source", "file_name"),
    "name": ("name", "title"),
    "language": ("language",),
}


def place_fields(metadata: RecordFields) -> RecordFields:
    """Return the fields that free metadata tells without doubt: path, lines, score, name, language.

    A value of the wrong type is no error here: it is metadata, and stays there.
    """
    found: RecordFields = {}
    for field, keys in _PLACE_KEYS.items():
        found[field] = next((metadata[k] for k in keys if type(metadata.get(k)) is str), None)
    for field in ("start_line", "end_line"):
        value = metadata.get(field)
        if type(value) is int and value >= 0:
            found[field] = value
    for key in ("relevance_score", "score"):  # the second wins
        number = _finite(metadata.get(key))
        if number is not None:
            found["score"] = number
    return {field: value for field, value in found.items() if value is not None}


def _finite(value: object) -> float | None:
    """Return a finite number, also one of NumPy; `None` for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    number = copy_plain(value, lambda change: None)
    if isinstance(number, int | float) and isfinite(number):
        return number
    return None


def names_in(value: object) -> list[str]:
    """Return the names in a text, a list of texts, or a list of objects with a `name`."""
    if isinstance(value, str):
        return [exact_str(value)]
    if not isinstance(value, list | tuple):
        return []
    named = (v.get("name") if isinstance(v, dict) else v for v in value)
    return [exact_str(v) for v in named if isinstance(v, str)]


def _mapping(value: object) -> RecordFields:
    """Return the text keys of a mapping as a dict; an empty one for others, or if it fails."""
    try:
        pairs: Iterable[tuple[Any, Any]]
        if issubclass(type(value), dict):
            pairs = dict.items(value)  # type: ignore[arg-type]
        elif isinstance(value, Mapping):
            pairs = islice(((key, value[key]) for key in value), MAX_DATA_VALUES)
        else:
            return {}
        return {exact_str(k): v for k, v in pairs if issubclass(type(k), str)}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a mapping with methods that raise anything
        return {}


def _rest(record: RecordFields, used: frozenset[str] | set[str]) -> RecordFields:
    """Return the native fields that a record of another shape has too."""
    return {k: v for k, v in record.items() if k in FIELD_NAMES and k not in used}


def _extra(record: RecordFields, known: frozenset[str] | set[str]) -> RecordFields:
    """Return the keys that become metadata: neither native fields nor known to the shape."""
    return {k: v for k, v in record.items() if k not in FIELD_NAMES and k not in known}


def _rag(record: RecordFields, metadata: RecordFields) -> RecordFields:
    source_type, source = metadata["source_type"], metadata.get("source")
    kind = None
    if isinstance(source_type, str):
        kind = _RAG_KINDS.get(source_type, source_type)
    fields: RecordFields = {"kind": kind, "metadata": metadata}
    if "page_content" in record:  # a document of a retrieval library with that key in its metadata
        record = {"origin": "similarity", **record, "content": record["page_content"]}
    if kind == "mitre_attack":
        fields |= _technique(metadata, source)
    elif isinstance(source, str):
        fields["name"] = source
        if kind == "document":
            filename = metadata.get("filename")
            fields |= {"path": source, "name": source.rpartition("/")[2]}
            if isinstance(filename, str):
                fields["name"] = filename
    return fields | _rest(record, {"metadata"}) | _extra(record, {"page_content"})


def _technique(metadata: RecordFields, source: object) -> RecordFields:
    """Return the name and the metadata of an ATT&CK technique, with its source as its id."""
    keys = [k for k in ("name", "technique_name", "technique") if k in metadata]
    name = metadata[keys[0]] if keys else None
    if isinstance(source, str):
        metadata = {"technique_id": source, **metadata}
    metadata = dict(metadata)
    for plural, single in _TECHNIQUE_LISTS.items():
        if found := names_in(metadata.get(plural)) or names_in(metadata.get(single)):
            metadata[plural] = found
    return {"name": name, "metadata": metadata}


def _chunk(record: RecordFields) -> RecordFields:
    camel = {k[:1].lower() + k[1:]: v for k, v in record.items()}
    fields: RecordFields = {"kind": "code", "origin": "similarity"} | _rest(camel, {"metadata"})
    for key, field in _CHUNK.items():
        if camel.get(key) is not None:
            fields[field] = camel[key]
    if fields.get("language") is None:
        fields["language"] = "none"  # this shape says its own language, or has none
    return fields | {"metadata": _extra(camel, frozenset(_CHUNK)) | _mapping(camel.get("metadata"))}


def _entity(record: RecordFields, notes: RecordNotes) -> RecordFields:
    entity = _mapping(record["entity"])
    fields: RecordFields = {"origin": "similarity"} | _rest(entity, {"metadata"})
    fields |= {_ENTITY[k]: v for k, v in entity.items() if k in _ENTITY}
    for field in ("path", "summary"):
        if fields.get(field) == "":
            fields[field] = None  # to the system this shape comes from, "" is nothing
    fields |= {"id": record.get("entityId", entity.get("id")), "score": record.get("score")}
    if fields.get("content") is None and fields.get("summary") is None:
        message = "entity has neither content nor summary; shown by its name alone"
        notes.say("PF201", message, "info")
        fields["content"] = ""
    metadata = _extra(record, {"entity", "entityId"}) | _mapping(record.get("metadata"))
    metadata |= _extra(entity, frozenset(_ENTITY)) | _mapping(entity.get("metadata"))
    return fields | {"metadata": metadata}


def _lisp(record: RecordFields, metadata: RecordFields) -> RecordFields:
    """Read `{type: ":code", content, metadata: {filename, start-line, end-line}}`."""
    plain = {k.lstrip(":").lower().replace("-", "_"): v for k, v in metadata.items()}
    kind = record["type"]
    if isinstance(kind, str):
        kind = kind.lstrip(":").lower()
    found = {"path": plain.get("filename")} | {k: plain.get(k) for k in ("start_line", "end_line")}
    found |= _rest(record, {"metadata"}) | _extra(record, {"type"})
    return found | {"kind": kind, "metadata": record.get("metadata")}


def _retrieved(record: RecordFields, text: str, about: str) -> RecordFields:
    """Read a document of a retrieval library by the keys of its text and its metadata."""
    metadata = _mapping(record.get(about))
    known = {text, about, "type", "id_", "node_id"}
    own = {k: v for k, v in _rest(record, {"metadata", "content"}).items() if v is not None}
    given = record.get("id") or record.get("id_") or record.get("node_id")
    metadata = _extra(record, known) | metadata
    fields: RecordFields = {"origin": "similarity"} | place_fields(metadata) | own
    return fields | {"content": record.get(text), "id": given, "metadata": metadata}


MAX_RECORDS = 1_000_000
"""Records that one call reads; the rest is left out, and said (PF204)."""

MAX_UNSIZED_RECORDS = 100_000
"""The same for an iterable without a length, which may have no end."""

_Records = list[Item]

_NO_METADATA: dict[str, Any] = {}

_METADATA = attrgetter("metadata")


class LoadedItems(list[Item]):
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
        return _clean(record) or _read(record, RecordNotes(where, diagnostics))
    except (ItemError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as exc:
        message = f"a record that cannot be read: {type_name_of(exc)} while looking at it"
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
    if type(records) is LoadedItems:
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
    if is_flat(metadata):
        return item
    changes: list[str] = []
    copied = copy_plain(metadata, changes.append)
    return None if changes else msgspec.structs.replace(item, metadata=copied)


def _read(record: object, notes: RecordNotes) -> Item:
    if type(record) is Item:
        own = msgspec.structs.asdict(record)
        if type(record.metadata) is UnsoundMetadata:
            own["metadata"] = record.metadata.given
        return build_item(own, notes)
    if issubclass(type(record), dict) or isinstance(record, Mapping):
        own = _own(record, notes)
    else:
        own = read_document_object(record, notes)
    native = to_native_fields(own, notes)
    return _clean(native) or build_item(native, notes)


def _own(record: Any, notes: RecordNotes) -> dict[str, Any]:
    """Return an ordinary dict of any mapping's text keys; values are not looked at yet."""
    pairs = (
        dict.items(record)
        if issubclass(type(record), dict)
        else ((key, record[key]) for key in record)
    )
    own: dict[str, Any] = {}
    for number, (key, value) in enumerate(pairs):
        if number == MAX_DATA_VALUES:
            notes.say("PF203", f"more than {MAX_DATA_VALUES} keys; the rest is left out")
            break
        if issubclass(type(key), str):
            own[exact_str(key)] = value
        else:
            notes.say(
                "PF201",
                f"a key of type {type_name_of(key)} is not text; left out with its value",
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
            most, hint = MAX_UNSIZED_RECORDS, "; a list may hold more"
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
        end = f"the records ended with {type_name_of(exc)} after {count}"
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
