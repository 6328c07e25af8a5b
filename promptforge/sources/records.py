"""Read records of any known shape as items. One bad record costs only itself.

A record goes through three steps: a caller's object becomes a dict, a dict of another system
becomes the fields of a native record, and these become an `Item`.

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

Codes: PF201 an unknown or missing field, PF202 a value of another type or range, PF203 metadata
that had to be made plain, PF204 a record left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from functools import wraps
from math import isfinite
from numbers import Real
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from ..errors import Diagnostic, Diagnostics, ItemError, Severity, did_you_mean, quote
from ..model import MAX_LINE_NUMBER, Item, UnsoundMetadata
from ..plaindata import MAX_DATA_VALUES, copy_plain, exact_str, is_flat, type_name, type_name_of

MAX_RECORDS = 1_000_000
"""Records that one call reads; the rest is left out, and said (PF204)."""
MAX_UNSIZED_RECORDS = 100_000
"""The same for an iterable without a length, which may have no end."""
_T = TypeVar("_T")
_Fields = dict[str, Any]
_Records = list[Item]
_METADATA = attrgetter("metadata")
_NO_METADATA: _Fields = {}
_TEXT_FIELDS = ("content", "expanded", "summary", "id", "name", "path", "language")
_FIELDS = frozenset(Item.__struct_fields__)


class LoadedItems(list[Item]):
    """Items with the warnings of their loading; a rendering repeats these."""

    warnings: tuple[Diagnostic, ...] = ()


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
    if type(records) is list and (items := _read_flawless(records)) is not None:
        return items
    found: list[Item] = []
    for index, record in enumerate(_each(records, where, diagnostics)):
        item = _read_native(record)
        if item is None:
            place = locate(index) if locate else f"{where}[{index}]"
            try:
                item = to_item(record, where=place, diagnostics=diagnostics)
            except ItemError as exc:
                diagnostics.add("PF204", f"record skipped: {exc.bare}", where=place)
                continue
        found.append(item)
    return found


def to_item(
    record: object, *, where: str | None = None, diagnostics: Diagnostics | None = None
) -> Item:
    """Return the item of one record.

    `record` is an `Item`, a mapping of any shape above, a document of LangChain, LlamaIndex or
    Haystack, or a pair of such a document and its score. `where` names its place in messages.
    Defaults and conversions are said in `diagnostics`.

    Raises `ItemError`, with `where` and `field`, when the record is no item. No other exception
    escapes, however the record behaves.
    """
    try:
        return _read_native(record) or _read(record, _Notes(where, diagnostics))
    except (ItemError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as exc:  # as in `_guarded`
        message = f"a record that cannot be read: {type_name_of(exc)} while looking at it"
        raise ItemError(message, where=where) from None


def _guarded(look: Callable[[Any], _T]) -> Callable[[Any], _T | None]:
    """Let a function that looks at a caller's object return `None` where that raises.

    Such an object may raise anything, also exceptions beside `Exception`, as those of Rust's panics
    are. The two that belong to the user are let through.
    """

    @wraps(look)
    def guarded(given: Any) -> _T | None:
        try:
            return look(given)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return None

    return guarded


class _Notes:
    """The place of one record (`file:line` or `items[3]`), joined to the diagnostics of the run."""

    def __init__(self, where: str | None, diagnostics: Diagnostics | None) -> None:
        self._where = where
        self._diagnostics = diagnostics

    def say(self, code: str, message: str, severity: Severity = "warning") -> None:
        if self._diagnostics is not None:
            self._diagnostics.add(code, message, where=self._where, severity=severity)

    def say_metadata(self, change: str) -> None:
        self.say("PF203", f"metadata: {change}")

    def refusal(self, field: str | None, message: str) -> ItemError:
        """Return (not raise) the error that says why this record is no item."""
        if field:
            message = f"{field}: {message}"
        return ItemError(message, where=self._where, field=field)


def _silent(change: str) -> None:
    """Say nothing of a conversion: the caller judges the copy."""


# ---- many records


# msgspec raises its own error, `ValueError` for an integer too long to print, or that of a bad key.
@_guarded
def _read_flawless(records: list[Any]) -> list[Item] | None:
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


@_guarded
def _read_native(record: object) -> Item | None:
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
        return type(record.get("metadata", _NO_METADATA)) is dict
    return type(record) is Item


def _with_plain(item: Item, metadata: _Fields) -> Item | None:
    if "source_type" in metadata:  # a RAG document
        return None
    if is_flat(metadata):
        return item
    changes: list[str] = []
    copied = copy_plain(metadata, changes.append)
    return None if changes else msgspec.structs.replace(item, metadata=copied)


def _each(records: Any, where: str, diagnostics: Diagnostics) -> Iterable[Any]:
    """Yield the records; an iterable that fails half way ends there, and that is said."""
    records = _listed(records)
    if records is None:
        expected = "a list of items: objects with content or summary, or documents"
        raise ItemError(f"expected {expected}", where=where)
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
    # GeneratorExit: the caller has stopped. It comes at `yield`, and is no failure of the records.
    except (KeyboardInterrupt, SystemExit, GeneratorExit, ItemError):
        raise
    except BaseException as exc:
        end = f"the records ended with {type_name_of(exc)} after {count}"
        message = f"{end}; what came before is kept"
        diagnostics.add("PF204", message, where=where, severity="error")


@_guarded
def _listed(records: Any) -> Iterable[Any] | None:
    """Return an iterable of the records, one alone as a list; `None` if these are none."""
    kind = type(records)
    if issubclass(kind, list | tuple):
        return records  # type: ignore[no-any-return]
    if issubclass(kind, dict) or isinstance(records, Mapping):
        inside = None if "content" in records else records.get("items")
        return inside if isinstance(inside, list | tuple) else [records]
    if kind is Item or hasattr(records, "page_content"):
        return [records]
    if isinstance(records, Iterable) and not issubclass(kind, str | bytes):
        return records
    return None


# ---- one record as a dict


def _read(record: object, notes: _Notes) -> Item:
    if type(record) is Item:
        own = msgspec.structs.asdict(record)
        if type(record.metadata) is UnsoundMetadata:
            own["metadata"] = record.metadata.given
        return _build(own, notes)
    if issubclass(type(record), dict) or isinstance(record, Mapping):
        own = _text_keys(record, notes)
    else:
        own = _read_document(record, notes)
    native = _to_native(own, notes)
    return _read_native(native) or _build(native, notes)


def _text_keys(record: Any, notes: _Notes) -> _Fields:
    """Return an ordinary dict of any mapping's text keys; values are not looked at yet."""
    # The usual case, three times as fast.
    if type(record) is dict and len(record) < MAX_DATA_VALUES and {*map(type, record)} <= {str}:
        return record.copy()
    pairs: Iterable[tuple[Any, Any]] = ((key, record[key]) for key in record)
    if issubclass(type(record), dict):
        pairs = dict.items(record)  # not the methods of a subclass
    own: _Fields = {}
    for number, (key, value) in enumerate(pairs):
        if number == MAX_DATA_VALUES:
            notes.say("PF203", f"more than {MAX_DATA_VALUES} keys; the rest is left out")
            break
        if issubclass(type(key), str):
            own[exact_str(key)] = value
        else:
            message = f"a key of type {type_name_of(key)} is not text; left out with its value"
            notes.say("PF201", message)
    return own


@_guarded
def _read_mapping(value: object) -> _Fields:
    if issubclass(type(value), dict) or isinstance(value, Mapping):
        return _text_keys(value, _Notes(None, None))
    return {}


def _mapping(value: object) -> _Fields:
    """Return the text keys of a mapping as a dict; an empty one for others, or if it fails."""
    return _read_mapping(value) or {}


_MISSING = object()


class _Document:
    """A document of LangChain, LlamaIndex or Haystack; these are not imported."""

    def __init__(self, given: object) -> None:
        self._given = given
        self.failed: dict[str, str] = {}
        """Name of an attribute → type of the exception that it raised."""

    def get(self, name: str) -> Any:
        """Return an attribute, or `_MISSING` where there is none or reading it raises."""
        try:
            return getattr(self._given, name, _MISSING)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.failed[name] = type_name(type(error))
            return _MISSING

    def first(self, *names: str) -> Any:
        """Return the first of these attributes that is there and not `None`, else `None`."""
        values = (self.get(name) for name in names)
        return next((v for v in values if v is not _MISSING and v is not None), None)

    def read(self) -> _Fields | None:
        """Return the fields of a document, as of LangChain's; `None` if it is none."""
        text = self.get("page_content")
        if text is not _MISSING:
            about = {"metadata": self.first("metadata"), "id": self.first("id")}
            return {"page_content": text, **about}
        node = self.first("node")
        if node is not None:  # LlamaIndex's node with a score
            inner = _Document(node)
            inner.failed = self.failed
            if found := inner.read_node():
                return {**found, "score": self.first("score")}
        text = self.get("content")
        metadata = self.first("meta", "metadata")
        if text is _MISSING or (metadata is None and self.get("meta") is _MISSING):
            return self.read_node()
        about = {"id": self.first("id"), "score": self.first("score")}
        return {"page_content": text, "metadata": metadata, **about}

    def read_node(self) -> _Fields | None:
        """Return the fields of a node of LlamaIndex; its text depends on its kind."""
        if self.get("metadata") is _MISSING:
            return None
        # A scored node raises at `text` if it holds no text node; all have `get_content`.
        text = _call(self.get("get_content"))
        if not isinstance(text, str):
            text = self.get("text")
        if text is _MISSING:
            return None
        about = {"metadata": self.first("metadata"), "id": self.first("node_id", "id_")}
        return {"page_content": text, **about}


@_guarded
def _call(method: Any) -> object:
    return method()  # a missing one raises too


def _read_document(given: object, notes: _Notes) -> _Fields:
    """Return the record of a document object, or of a pair `(document, score)`."""
    kind = type(given)
    if issubclass(kind, tuple) and tuple.__len__(given) == 2:  # type: ignore[arg-type]
        # `tuple`'s own methods: a subclass may have others, which raise or lie.
        inner, score = tuple.__getitem__(given, slice(None))  # type: ignore[call-overload]
        if not issubclass(type(inner), str | bytes | int | float | list | tuple | dict):
            return {**_read_document(inner, notes), "score": score}
    if not issubclass(kind, str | bytes | int | float | list | tuple | set | type | type(None)):
        document = _Document(given)
        if found := document.read():
            for name, error in document.failed.items():
                notes.say("PF203", f"{name}: cannot be read, {error} while looking at it; left out")
            return found
    message = f"expected an object with the fields of an item, found {type_name(kind)}"
    if issubclass(kind, str):
        message += '; write {"content": "…"}'
    raise notes.refusal(None, message)


# ---- the fields of other systems

_CHUNK = {
    **{"filePath": "path", "startLine": "start_line", "endLine": "end_line", "relevance": "score"},
    **{"expandedContext": "expanded", "expandedContent": "expanded", "file_path": "path"},
    **{"content": "content", "language": "language"},
}
# camelCase without the names of native fields, and all of PascalCase.
_CHUNK_MARKS = (_CHUNK.keys() - {"content", "language"}) | {k[0].upper() + k[1:] for k in _CHUNK}
_ENTITY = {"filePath": "path", "startLine": "start_line", "endLine": "end_line", "type": "kind"}
_RAG_KINDS = {"markdown": "document"}
_TECHNIQUE_NAMES = ("name", "technique_name", "technique")
_TECHNIQUE_LISTS = {"tactics": "tactic", "tools": "related_tools", "mitigations": "mitigation"}
_PLACE_KEYS = {
    "path": ("path", "file_path", "source", "file_name"),
    "name": ("name", "title"),
    "language": ("language",),
}


def _to_native(record: _Fields, notes: _Notes) -> _Fields:
    """Return the native fields of a record of any known shape; a native record comes back as it is.

    Raises nothing: `_build` judges wrong types, under the native name of the field.
    """
    # The order matters: the rarer mark goes first. Chunks have `content` as native records have.
    metadata = _mapping(record.get("metadata"))
    if "source_type" in metadata:
        return _read_rag(record, metadata)
    if "page_content" in record:
        return _read_retrieved(record, "page_content", "metadata")
    if record.get("lc") is not None and "page_content" in _mapping(record.get("kwargs")):
        return _read_retrieved(_mapping(record["kwargs"]), "page_content", "metadata")
    if isinstance(record.get("entity"), dict):
        return _read_entity(record, notes)
    if not record.keys().isdisjoint(_CHUNK_MARKS):
        return _read_chunk(record)
    if isinstance(record.get("node"), dict):
        return _read_retrieved({**record["node"], "score": record.get("score")}, "text", "metadata")
    if "meta" in record and "metadata" not in record:
        return _read_retrieved(record, "content", "meta")
    if "text" in record and record.keys().isdisjoint(("content", "summary", "expanded")):
        return _read_retrieved(record, "text", "metadata")
    if "type" in record and "kind" not in record:
        return _read_lisp(record, metadata)
    return record


def _split(record: _Fields, *known: str) -> tuple[_Fields, _Fields]:
    """Split a record into its native fields and the unknown keys, which become metadata."""
    own = {k: v for k, v in record.items() if k in _FIELDS and k != "metadata"}
    return own, {k: v for k, v in record.items() if k not in _FIELDS and k not in known}


def _read_retrieved(record: _Fields, text: str, about: str) -> _Fields:
    """Read a document of a retrieval library by the keys of its text and its metadata."""
    own, extra = _split(record, text, about, "type", "id_", "node_id")
    metadata = extra | _mapping(record.get(about))
    known = {k: v for k, v in own.items() if v is not None}
    fields: _Fields = {"origin": "similarity"} | _place(metadata) | known
    given = record.get("id") or record.get("id_") or record.get("node_id")
    return fields | {"content": record.get(text), "id": given, "metadata": metadata}


def _place(metadata: _Fields) -> _Fields:
    """Return the fields that free metadata tells without doubt: path, lines, score, name, language.

    A value of the wrong type is no error here: it is metadata, and stays there.
    """
    found: _Fields = {}
    for field, keys in _PLACE_KEYS.items():
        texts = [metadata[k] for k in keys if type(metadata.get(k)) is str]
        if texts:
            found[field] = texts[0]
    for field in ("start_line", "end_line"):
        value = metadata.get(field)
        if type(value) is int and value >= 0:
            found[field] = value
    for key in ("relevance_score", "score"):  # the second wins
        value = metadata.get(key)
        if type(value) is not bool and isinstance(value, Real):
            number = copy_plain(value, _silent)  # also one of NumPy
            if isinstance(number, int | float) and isfinite(number):
                found["score"] = number
    return found


def _read_chunk(record: _Fields) -> _Fields:
    camel = {k[:1].lower() + k[1:]: v for k, v in record.items()}
    own, extra = _split(camel, *_CHUNK)
    fields: _Fields = {"kind": "code", "origin": "similarity"} | own
    for key, field in _CHUNK.items():
        if camel.get(key) is not None:
            fields[field] = camel[key]
    # This shape says its own language, or has none: it is not looked up by the path.
    if fields.get("language") is None:
        fields["language"] = "none"
    return fields | {"metadata": extra | _mapping(camel.get("metadata"))}


def _read_entity(record: _Fields, notes: _Notes) -> _Fields:
    entity = _mapping(record["entity"])
    own, inner = _split(entity, *_ENTITY)
    _, outer = _split(record, "entity", "entityId")
    fields: _Fields = {"origin": "similarity"} | own
    fields |= {_ENTITY[k]: v for k, v in entity.items() if k in _ENTITY}
    # To the system of this shape "" is nothing; a native record may have an empty summary.
    for field in ("path", "summary"):
        if fields.get(field) == "":
            fields[field] = None
    fields |= {"id": record.get("entityId", entity.get("id")), "score": record.get("score")}
    if fields.get("content") is None and fields.get("summary") is None:
        message = "entity has neither content nor summary; shown by its name alone"
        notes.say("PF201", message, "info")
        fields["content"] = ""
    outer |= _mapping(record.get("metadata"))
    return fields | {"metadata": outer | inner | _mapping(entity.get("metadata"))}


def _read_rag(record: _Fields, metadata: _Fields) -> _Fields:
    source_type, source = metadata["source_type"], metadata.get("source")
    kind = None
    if isinstance(source_type, str):
        kind = _RAG_KINDS.get(source_type, source_type)
    fields: _Fields = {"kind": kind, "metadata": metadata}
    if "page_content" in record:  # a document of a retrieval library with that key in its metadata
        record = {"origin": "similarity", **record, "content": record["page_content"]}
    if kind == "mitre_attack":
        fields |= _read_technique(metadata, source)
    elif isinstance(source, str):
        fields["name"] = source
        if kind == "document":
            filename = metadata.get("filename")
            fields |= {"path": source, "name": source.rpartition("/")[2]}
            if isinstance(filename, str):
                fields["name"] = filename
    own, extra = _split(record, "page_content")
    return fields | own | extra


def _read_technique(metadata: _Fields, source: object) -> _Fields:
    """Return the name and the metadata of an ATT&CK technique, with its source as its id."""
    names = [metadata[key] for key in _TECHNIQUE_NAMES if key in metadata]
    metadata = dict(metadata)
    if isinstance(source, str):
        metadata = {"technique_id": source, **metadata}
    # Templates show lists of names; exports have one name, a list, or objects with names.
    for plural, single in _TECHNIQUE_LISTS.items():
        if found := names_in(metadata.get(plural)) or names_in(metadata.get(single)):
            metadata[plural] = found
    return {"name": names[0] if names else None, "metadata": metadata}


def names_in(value: object) -> list[str]:
    """Return the names in a text, a list of texts, or a list of objects with a `name`."""
    if isinstance(value, str):
        return [exact_str(value)]
    if not isinstance(value, list | tuple):
        return []
    named = (v.get("name") if isinstance(v, dict) else v for v in value)
    return [exact_str(v) for v in named if isinstance(v, str)]


def _read_lisp(record: _Fields, metadata: _Fields) -> _Fields:
    """Read `{type: ":code", content, metadata: {filename, start-line, end-line}}`."""
    plain = {k.lstrip(":").lower().replace("-", "_"): v for k, v in metadata.items()}
    kind = record["type"]
    if isinstance(kind, str):
        kind = kind.lstrip(":").lower()
    own, extra = _split(record, "type")
    found = {"path": plain.get("filename")} | {k: plain.get(k) for k in ("start_line", "end_line")}
    return found | own | extra | {"kind": kind, "metadata": record.get("metadata")}


# ---- fields as an item

# Vector stores keep a hit's text under these keys of its `metadata`, `payload` or `properties`.
_TEXTS_OF_OTHERS = ("content", "text", "page_content", "document", "chunk", "body", "chunk_text")
# Usual names of fields, for hints.
_NAMES_OF_OTHERS = {
    **dict.fromkeys(("text", "body", "document"), "content"),
    **dict.fromkeys(("source", "file", "filename"), "path"),
    **dict.fromkeys(("similarity", "relevance"), "score"),
    **{"title": "name", "lang": "language", "lineno": "start_line"},
}


def _build(fields: Mapping[str, Any], notes: _Notes) -> Item:
    """Return the item of native `fields`; a key that is no field is kept as metadata, and said.

    Raises `ItemError` when a value cannot be read as its field's type, or when there is neither
    `content` nor `summary`.
    """
    texts = {name: _text(fields.get(name), name, notes) for name in _TEXT_FIELDS}
    metadata = _metadata(fields.get("metadata"), notes)
    for key in sorted(fields.keys() - _FIELDS):
        notes.say("PF201", f"unknown key {quote(key)}{_hint(key)}; kept as metadata")
        metadata.setdefault(key, copy_plain(fields[key], notes.say_metadata))
    # Trimming goes from `expanded` to `content`; without the shorter one there is no way down.
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
    kind = _text(fields.get("kind"), "kind", notes) or "text"
    return Item(
        kind={"markdown": "document"}.get(kind, kind),
        start_line=start,
        end_line=end,
        score=_score(fields.get("score"), notes),
        origin=_origin(fields.get("origin"), notes),
        required=_flag(fields.get("required"), notes),
        metadata=metadata,
        **texts,
    )


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
    return did_you_mean(key[:80], _FIELDS)


def _text(value: object, name: str, notes: _Notes) -> str | None:
    kind = type(value)
    if value is None or kind is str:
        return value  # type: ignore[return-value]
    if issubclass(kind, str):
        return exact_str(value)  # type: ignore[arg-type]
    if issubclass(kind, bytes | bytearray):
        notes.say("PF202", f"{name}: expected text, found bytes; read as UTF-8")
    elif kind is int or kind is float:
        message = f"{name}: expected text, found {kind.__name__}; written as text"
        # Every database hands out numbers for ids, so these fail no strict run.
        notes.say("PF202", message, "info" if name == "id" else "warning")
    else:
        raise notes.refusal(name, f"expected text, found {type_name_of(value)}")
    return str(copy_plain(value, _silent))


def _number(value: object, name: str, expected: str, notes: _Notes) -> float:
    """Return a number, also one in text or of a library's own type."""
    plain = copy_plain(value, _silent)
    # To read a text of a million digits takes seconds, and no number needs a hundred.
    try:
        if type(plain) is not bool and len(str(plain)) <= 100:
            return float(plain)
    except (TypeError, ValueError, OverflowError):
        pass
    raise notes.refusal(name, f"expected {expected}, found {type_name_of(value)}")


def _score(value: object, notes: _Notes) -> float:
    if value is None:
        return 1.0
    number = _number(value, "score", "a number", notes)
    if not isfinite(number):
        notes.say("PF202", "score: expected a finite number; 0 is taken")
        return 0.0
    if issubclass(type(value), str):
        notes.say("PF202", "score: expected a number, found text; read as a number", "info")
    return number


def _line(value: object, name: str, notes: _Notes) -> int | None:
    if value is None:
        return None
    number = _number(value, name, "a line number", notes)
    if not isfinite(number) or number != int(number) or not 0 <= number <= MAX_LINE_NUMBER:
        notes.say("PF202", f"{name}: expected a line number from 1; left out")
        return None
    if type(value) is not int:
        found = type_name_of(value)
        notes.say("PF202", f"{name}: expected an int, found {found}; read as a number", "info")
    return int(number)


def _origin(value: object, notes: _Notes) -> Any:
    origin = "explicit" if value is None else _text(value, "origin", notes)
    if origin not in ("explicit", "similarity"):
        raise notes.refusal("origin", f'expected "explicit" or "similarity", found {quote(origin)}')
    return origin


def _flag(value: object, notes: _Notes) -> bool:
    if value is None or type(value) is bool:
        return bool(value)
    expected = f"expected true or false, found {type_name_of(value)}"
    known = {"true": True, "false": False, "1": True, "0": False}
    word = str(copy_plain(value, _silent)).lower()
    if word not in known:
        raise notes.refusal("required", expected)
    notes.say("PF202", f"required: {expected}; read as {known[word]}")
    return known[word]


def _metadata(value: object, notes: _Notes) -> dict[str, Any]:
    if value is None:
        return {}
    copied = copy_plain(value, notes.say_metadata)
    if isinstance(copied, dict):
        return copied
    notes.say("PF203", f"metadata: expected an object, found {type_name_of(value)}; left out")
    return {}
