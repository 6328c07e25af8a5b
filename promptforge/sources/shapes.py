"""Translate records of other systems, known by their shape, into the fields of a native record.

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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from math import isfinite
from numbers import Real
from typing import Any

from . import plaindata
from .fields import NAMES
from .notes import Notes

Fields = dict[str, Any]

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


def native(record: Fields, notes: Notes) -> Fields:
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


def place(metadata: Fields) -> Fields:
    """Return the fields that free metadata tells without doubt: path, lines, score, name, language.

    A value of the wrong type is no error here: it is metadata, and stays there.
    """
    found: Fields = {}
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
    number = plaindata.copy(value, lambda change: None)
    if isinstance(number, int | float) and isfinite(number):
        return number
    return None


def texts(value: object) -> list[str]:
    """Return the names in a text, a list of texts, or a list of objects with a `name`."""
    if isinstance(value, str):
        return [plaindata.text_of(value)]
    if not isinstance(value, list | tuple):
        return []
    named = (v.get("name") if isinstance(v, dict) else v for v in value)
    return [plaindata.text_of(v) for v in named if isinstance(v, str)]


def _mapping(value: object) -> Fields:
    """Return the text keys of a mapping as a dict; an empty one for others, or if it fails."""
    try:
        pairs: Iterable[tuple[Any, Any]]
        if issubclass(type(value), dict):
            pairs = dict.items(value)  # type: ignore[arg-type]
        elif isinstance(value, Mapping):
            pairs = islice(((key, value[key]) for key in value), plaindata.MAX_NODES)
        else:
            return {}
        return {plaindata.text_of(k): v for k, v in pairs if issubclass(type(k), str)}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a mapping with methods that raise anything
        return {}


def _rest(record: Fields, used: frozenset[str] | set[str]) -> Fields:
    """Return the native fields that a record of another shape has too."""
    return {k: v for k, v in record.items() if k in NAMES and k not in used}


def _extra(record: Fields, known: frozenset[str] | set[str]) -> Fields:
    """Return the keys that become metadata: neither native fields nor known to the shape."""
    return {k: v for k, v in record.items() if k not in NAMES and k not in known}


def _rag(record: Fields, metadata: Fields) -> Fields:
    source_type, source = metadata["source_type"], metadata.get("source")
    kind = None
    if isinstance(source_type, str):
        kind = _RAG_KINDS.get(source_type, source_type)
    fields: Fields = {"kind": kind, "metadata": metadata}
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


def _technique(metadata: Fields, source: object) -> Fields:
    """Return the name and the metadata of an ATT&CK technique, with its source as its id."""
    keys = [k for k in ("name", "technique_name", "technique") if k in metadata]
    name = metadata[keys[0]] if keys else None
    if isinstance(source, str):
        metadata = {"technique_id": source, **metadata}
    metadata = dict(metadata)
    for plural, single in _TECHNIQUE_LISTS.items():
        if found := texts(metadata.get(plural)) or texts(metadata.get(single)):
            metadata[plural] = found
    return {"name": name, "metadata": metadata}


def _chunk(record: Fields) -> Fields:
    camel = {k[:1].lower() + k[1:]: v for k, v in record.items()}
    fields: Fields = {"kind": "code", "origin": "similarity"} | _rest(camel, {"metadata"})
    for key, field in _CHUNK.items():
        if camel.get(key) is not None:
            fields[field] = camel[key]
    if fields.get("language") is None:
        fields["language"] = "none"  # this shape says its own language, or has none
    return fields | {"metadata": _extra(camel, frozenset(_CHUNK)) | _mapping(camel.get("metadata"))}


def _entity(record: Fields, notes: Notes) -> Fields:
    entity = _mapping(record["entity"])
    fields: Fields = {"origin": "similarity"} | _rest(entity, {"metadata"})
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


def _lisp(record: Fields, metadata: Fields) -> Fields:
    """Read `{type: ":code", content, metadata: {filename, start-line, end-line}}`."""
    plain = {k.lstrip(":").lower().replace("-", "_"): v for k, v in metadata.items()}
    kind = record["type"]
    if isinstance(kind, str):
        kind = kind.lstrip(":").lower()
    found = {"path": plain.get("filename")} | {k: plain.get(k) for k in ("start_line", "end_line")}
    found |= _rest(record, {"metadata"}) | _extra(record, {"type"})
    return found | {"kind": kind, "metadata": record.get("metadata")}


def _retrieved(record: Fields, text: str, about: str) -> Fields:
    """Read a document of a retrieval library by the keys of its text and its metadata."""
    metadata = _mapping(record.get(about))
    known = {text, about, "type", "id_", "node_id"}
    own = {k: v for k, v in _rest(record, {"metadata", "content"}).items() if v is not None}
    given = record.get("id") or record.get("id_") or record.get("node_id")
    metadata = _extra(record, known) | metadata
    fields: Fields = {"origin": "similarity"} | place(metadata) | own
    return fields | {"content": record.get(text), "id": given, "metadata": metadata}
