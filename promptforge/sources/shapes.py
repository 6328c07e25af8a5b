"""Records of other systems, known by their shape → the fields of a native record.

| shape | known by | origin |
| --- | --- | --- |
| search result with an entity | `entity` | similarity |
| knowledge chunk, camelCase or PascalCase | `filePath`, `startLine`, `relevance` … | similarity |
| LangChain document | `page_content` | similarity |
| LlamaIndex node, alone or scored | `node`, or `text` without `content` | similarity |
| Haystack document | `meta` | similarity |
| RAG document | `source_type` in its metadata | explicit |
| Lisp-style item | `type` without `kind` | explicit |

A native record is none of these. All metadata of a record is kept, also where a field was read from it.
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


def native(record: Fields, notes: Notes) -> Fields:
    """Return the native fields of a record of any known shape; a native record comes back as it is.

    `record` is a dict with text keys; its values may be anything. Raises nothing: wrong types are left for
    `fields.build` to judge, under the native name of the field.
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


def place(metadata: Fields) -> Fields:
    """Return the fields that free metadata tells without doubt: path, lines, score, name, language.

    A key of the wrong type is no error here: it is metadata, and stays there.
    """
    found: Fields = {}
    for field, keys in (
        ("path", ("path", "file_path", "source", "file_name")),
        ("name", ("name", "title")),
        ("language", ("language",)),
    ):
        found[field] = next((metadata[k] for k in keys if type(metadata.get(k)) is str), None)
    for field in ("start_line", "end_line"):
        value = metadata.get(field)
        found[field] = value if type(value) is int and value >= 0 else None
    for key in ("score", "relevance_score"):
        value = metadata.get(key)
        if found.get("score") is None and not isinstance(value, bool) and isinstance(value, Real):
            number = plaindata.copy(value, lambda change: None)
            found["score"] = (
                number if isinstance(number, int | float) and isfinite(number) else None
            )
    return {field: value for field, value in found.items() if value is not None}


def texts(value: object) -> list[str]:
    """Return the names in a text, a list of texts or a list of objects with a `name`; nothing for anything else."""
    if isinstance(value, str):
        return [plaindata.text_of(value)]
    if not isinstance(value, list | tuple):
        return []
    named = (v.get("name") if isinstance(v, dict) else v for v in value)
    return [plaindata.text_of(v) for v in named if isinstance(v, str)]


def _mapping(value: object) -> Fields:
    """Return a dict of the text keys of a mapping; an empty one for anything else, or for one that fails."""
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
    except BaseException:  # a mapping whose methods raise, whatever they raise
        return {}


def _rest(record: Fields, used: frozenset[str] | set[str]) -> Fields:
    """Return the native fields that a record of another shape has as well."""
    return {k: v for k, v in record.items() if k in NAMES and k not in used}


def _extra(record: Fields, known: frozenset[str] | set[str]) -> Fields:
    """Return what is neither a native field nor known to the shape: it becomes metadata."""
    return {k: v for k, v in record.items() if k not in NAMES and k not in known}


def _rag(record: Fields, metadata: Fields) -> Fields:
    source_type, source = metadata["source_type"], metadata.get("source")
    kind = _RAG_KINDS.get(source_type, source_type) if isinstance(source_type, str) else None
    fields: Fields = {"kind": kind, "metadata": metadata}
    if "page_content" in record:  # a document of a retrieval library whose metadata has that key
        record = {
            **record,
            "content": record["page_content"],
            "origin": record.get("origin", "similarity"),
        }
    if isinstance(source, str):
        if kind == "mitre_attack":
            metadata = {"technique_id": source, **metadata}
        elif kind == "document":
            filename = metadata.get("filename")
            fields |= {
                "path": source,
                "name": filename if isinstance(filename, str) else source.rpartition("/")[2],
            }
        else:
            fields["name"] = source
    if kind == "mitre_attack":
        fields["name"] = next(
            (metadata[k] for k in ("name", "technique_name", "technique") if k in metadata), None
        )
        for plural, single in (
            ("tactics", "tactic"),
            ("tools", "related_tools"),
            ("mitigations", "mitigation"),
        ):
            names = texts(metadata.get(plural)) or texts(metadata.get(single))
            metadata = {**metadata, **({plural: names} if names else {})}
        fields["metadata"] = metadata
    return fields | _rest(record, {"metadata"}) | _extra(record, {"page_content"})


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
        notes.say(
            "PF201", "entity has neither content nor summary; shown by its name alone", "info"
        )
        fields["content"] = ""
    outer = _extra(record, {"entity", "entityId"}) | _mapping(record.get("metadata"))
    return fields | {
        "metadata": outer | _extra(entity, frozenset(_ENTITY)) | _mapping(entity.get("metadata"))
    }


def _lisp(record: Fields, metadata: Fields) -> Fields:
    """Read `{type: ":code", content, metadata: {filename, start-line, end-line}}`; an empty file name stays empty."""
    plain = {k.lstrip(":").lower().replace("-", "_"): v for k, v in metadata.items()}
    kind = record["type"]
    fields = _rest(record, {"metadata"}) | _extra(record, {"type"})
    fields["kind"] = kind.lstrip(":").lower() if isinstance(kind, str) else kind
    found = {
        "path": plain.get("filename"),
        "start_line": plain.get("start_line"),
        "end_line": plain.get("end_line"),
    }
    return found | fields | {"metadata": record.get("metadata")}


def _retrieved(record: Fields, text: str, about: str) -> Fields:
    """Read a document of a retrieval library: its text under one key, free metadata under another."""
    metadata = _mapping(record.get(about))
    known = {text, about, "type", "id_", "node_id"}
    own = {k: v for k, v in _rest(record, {"metadata", "content"}).items() if v is not None}
    given = record.get("id") or record.get("id_") or record.get("node_id")
    metadata = _extra(record, known) | metadata
    fields: Fields = {"origin": "similarity"} | place(metadata) | own
    return fields | {"content": record.get(text), "id": given, "metadata": metadata}
