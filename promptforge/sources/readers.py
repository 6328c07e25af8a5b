"""Readers of records: by the table `shapes.yaml`, and of shapes that no row of it can say."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

from ..plain_data import exact_str
from .native import PLACES, TOLD, tells_place
from .objects import Fields, Row, mapping
from .shapes import (
    ITEM_FIELDS,
    KEYS,
    URL_SCHEME,
    RecordShape,
    find_id,
    find_metadata,
    find_number,
    find_shape,
    find_text,
    look,
    name_page,
    place_of,
    plain_values,
    read_hit,
    text_of,
)

CONTENT_FIELDS = frozenset(("content", "summary", "expanded"))
_ROW = RecordShape("row of a table")
_NUMBERED = RecordShape("", numbers=("score", *KEYS["number"]))
_LANGCHAIN = RecordShape("", body=("page_content", "metadata"))


def read_shape(record: Fields, notes: Any) -> Fields:
    """Return the native fields of a record of any shape.

    Raises nothing: the builder of items judges wrong types, under the native name of the field.
    """
    plain = plain_values(record)
    if plain is not None:
        record = Row(plain)
    shape = find_shape(record)
    is_result = type(record) is Row or (shape is None and _has_body(record))
    if is_result and (shape is None or shape.read == "lisp"):
        shape = _ROW
    if shape is None:
        return _rename(record)
    if shape.read == "document":
        return read_document(record, shape)
    if shape.read:
        return _READERS[shape.read](record, notes)
    return read_hit(record, shape, notes)


def _has_body(record: Fields) -> bool:
    """Tell whether a record without a content has its text under another usual key.

    Of `{"summary": "Sales rose.", "document": "q3.pdf"}` the summary is the text: a body is longer,
    unless its key is that of a body alone.
    """
    content = record.get("content")
    if content is not None and not (isinstance(content, str) and not content.strip()):
        return False
    key, text = find_text(record)
    if text is None or key in KEYS["body"]:
        return text is not None
    summary = text_of(record.get("summary"))
    return summary is None or len(text) > len(summary)


def read_document(record: Fields, shape: RecordShape) -> Fields:
    """Read a document of a retrieval library by the keys of its text and its metadata."""
    text, about = shape.body
    own = {k: v for k, v in record.items() if k in ITEM_FIELDS and k != "metadata"}
    consumed = {text, about, "type", "id_", "node_id", "_id", "metadata_", *KEYS["metadata"]}
    extra = {k: v for k, v in record.items() if k not in ITEM_FIELDS and k not in consumed}
    metadata = extra | find_metadata(record)
    known = {k: v for k, v in own.items() if v is not None}
    fields: Fields = {"origin": "similarity", "score_order": "given"} | place_of(metadata)
    told: Fields = {key: metadata[key] for key in ("score", "relevance_score") if key in metadata}
    number = find_number({**record, **told, **known}, _NUMBERED)[0]
    if number is not None:
        fields["score"] = number
        if isfinite(number):
            metadata["score"] = number
    content = record.get(text)
    if isinstance(content, str) and not content.strip():
        content = None  # such as a page without text: it would be an empty block
    return name_page(
        fields | known | {"content": content, "id": find_id(record), "metadata": metadata}
    )


_CHUNK = {
    **{"filePath": "path", "startLine": "start_line", "endLine": "end_line", "relevance": "score"},
    **{"expandedContext": "expanded", "expandedContent": "expanded", "file_path": "path"},
    **{"content": "content", "language": "language"},
}
_ENTITY = {"filePath": "path", "startLine": "start_line", "endLine": "end_line", "type": "kind"}
_RAG_KINDS = {"markdown": "document"}
_TECHNIQUE_NAMES = ("name", "technique_name", "technique")
_TECHNIQUE_LISTS = {"tactics": "tactic", "tools": "related_tools", "mitigations": "mitigation"}


def _split(record: Fields, *known: str) -> tuple[Fields, Fields]:
    own = {k: v for k, v in record.items() if k in ITEM_FIELDS and k != "metadata"}
    return own, {k: v for k, v in record.items() if k not in ITEM_FIELDS and k not in known}


def _read_chunk(record: Fields, notes: Any) -> Fields:
    camel = {k[:1].lower() + k[1:]: v for k, v in record.items()}
    if _has_body(camel):  # `{"text": "…", "file_path": "a.md"}` is any store's
        return read_hit(record, _ROW, notes)
    own, extra = _split(camel, *_CHUNK)
    fields: Fields = {"kind": "code", "origin": "similarity"} | own
    for key, field in _CHUNK.items():
        if camel.get(key) is not None:
            fields[field] = camel[key]
    # This shape says its own language, or has none: it is not looked up by the path.
    if fields.get("language") is None:
        fields["language"] = "none"
    return fields | {"metadata": extra | mapping(camel.get("metadata"))}


def _read_entity(record: Fields, notes: Any) -> Fields:
    entity = mapping(record["entity"])
    own, inner = _split(entity, *_ENTITY)
    _, outer = _split(record, "entity", "entityId")
    fields: Fields = {"origin": "similarity"} | own
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
    outer |= mapping(record.get("metadata"))
    return fields | {"metadata": outer | inner | mapping(entity.get("metadata"))}


def _read_rag(record: Fields, notes: Any) -> Fields:
    metadata = mapping(record.get("metadata"))
    source_type, source = metadata["source_type"], metadata.get("source")
    kind = _RAG_KINDS.get(source_type, source_type) if isinstance(source_type, str) else None
    if not kind:
        notes.say("PF201", "metadata.source_type is no text; the item is of kind text", "info")
    if not isinstance(source, str):
        notes.say("PF201", "metadata.source is missing; the item has no source of its own", "info")
    fields: Fields = {"kind": kind, "metadata": metadata}
    if "page_content" in record:  # a document of a retrieval library with that key in its metadata
        found = {"origin": "similarity", "score_order": "given"}
        record = {**found, **record, "content": record["page_content"]}
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
    found = fields | own | extra
    return name_page(found) if "page_content" in record else found


def _read_technique(metadata: Fields, source: object) -> Fields:
    """Return the name and the metadata of an ATT&CK technique, with its source as its id."""
    names = [metadata[key] for key in _TECHNIQUE_NAMES if key in metadata]
    metadata = dict(metadata)
    if isinstance(source, str):
        metadata = {"technique_id": source, **metadata}
    # Templates show lists of names; exports have one name, a list, or objects with names.
    for plural, single in _TECHNIQUE_LISTS.items():
        found = names_in(metadata.get(plural)) or names_in(metadata.get(single))
        if found or plural in metadata:
            metadata[plural] = found
    return {"name": names[0] if names else None, "metadata": metadata}


def names_in(value: object) -> list[str]:
    """Return the names in a text, a list of texts, or a list of objects with a `name`."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        return []
    named = (v.get("name") if isinstance(v, dict) else v for v in value)
    return [exact_str(v) for v in named if isinstance(v, str) and v.strip()]


def _read_lisp(record: Fields, notes: Any) -> Fields:
    """Read `{type: ":code", content, metadata: {filename, start-line, end-line}}`."""
    metadata = mapping(record.get("metadata"))
    plain = {k.lstrip(":").lower().replace("-", "_"): v for k, v in metadata.items()}
    kind = record["type"]
    if isinstance(kind, str):
        kind = kind.lstrip(":").lower()
    own, extra = _split(record, "type")
    found = {"path": plain.get("filename")} | {k: plain.get(k) for k in ("start_line", "end_line")}
    return found | own | extra | {"kind": kind, "metadata": record.get("metadata")}


def _read_ripgrep(record: Fields, notes: Any) -> Fields:
    data = mapping(record["data"])
    start, text = data.get("line_number"), text_of(data.get("lines"))
    text = text.rstrip("\r\n") if isinstance(text, str) else text
    lines = text.count("\n") if isinstance(text, str) else 0
    return {
        **{"kind": "code", "origin": "similarity", "score_order": "given", "content": text},
        **{"path": text_of(data["path"]), "start_line": start},
        **({"end_line": start + lines} if isinstance(start, int) else {}),
    }


def _read_node(record: Fields, notes: Any) -> Fields:
    node = {**mapping(record["node"]), "score": record.get("score")}
    if "text" not in node:  # of a document; the text of a node stands in it
        node["text"] = mapping(node.pop("text_resource", None)).get("text")
    return read_document(node, RecordShape("", body=("text", "metadata")))


def _read_matches(record: Fields, notes: Any) -> Fields:
    """Read the matched lines of a file, or all of it, as Sourcegraph gives them."""
    file = mapping(record.get("file"))
    found = [
        mapping(each) for each in record.get("lineMatches") or record.get("chunkMatches") or ()
    ]
    lines = [look(each, key) for each in found for key in ("lineNumber", "contentStart.line")]
    numbers = [line for line in lines if type(line) is int]
    texts = filter(None, (text_of(each.get("preview") or each.get("line") or each.get("content"))
                          for each in found))  # fmt: skip
    text = text_of(file.get("content")) or "\n".join(texts) or None
    fields = place_of({**record, **file}) | {"origin": "similarity", "score_order": "given"}
    if numbers and text and not file.get("content"):  # its lines count from 0
        fields["start_line"] = numbers[0] + 1
        if len(numbers) == 1 or numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            fields["end_line"] = numbers[0] + 1 + text.count("\n")
    about = {"repository": record.get("repository"), "commit": record.get("commit")}
    metadata = {k: mapping(v).get("name", v) for k, v in about.items() if v}
    return {"kind": "code", "content": text, **fields, "metadata": metadata}


def _read_media(record: Fields, notes: Any) -> Fields:
    if record["type"] in ("image", "audio"):
        return {"content": None}
    return read_hit(record, _ROW, notes)


def _read_sarif(record: Fields, notes: Any) -> Fields:
    place = mapping(mapping(record["locations"][0]).get("physicalLocation"))
    region = mapping(place.get("region"))
    lines = {"start_line": region.get("startLine"), "end_line": region.get("endLine")}
    path = mapping(place.get("artifactLocation")).get("uri")
    told = {key: value for key, value in {"path": path, **lines}.items() if value is not None}
    return read_hit({**record, **told}, _ROW, notes)


_READERS: dict[str, Callable[[Fields, Any], Fields]] = {
    # The words are an LLM's own, and what it cites is elsewhere.
    **dict.fromkeys(("answer", "frame"), lambda record, notes: {"content": None}),
    "chunk": _read_chunk,
    "entity": _read_entity,
    "langchain": lambda record, notes: read_document(mapping(record["kwargs"]), _LANGCHAIN),
    "lisp": _read_lisp,
    "matches": _read_matches,
    "media": _read_media,
    "node": _read_node,
    "rag": _read_rag,
    "ripgrep": _read_ripgrep,
    "sarif": _read_sarif,
}


def _rename(record: Fields) -> Fields:
    renamed = dict(record)
    if "title" in record and record.get("name") is None and type(record["title"]) is str:
        renamed["name"] = renamed.pop("title")
    for key in ("source", "link"):
        value = record.get(key)
        if type(value) is str:
            field = "url" if URL_SCHEME.match(value) else "path"
            if renamed.get(field) is None:
                renamed[field] = renamed.pop(key)
    if not tells_place(renamed):
        return renamed
    metadata = renamed["metadata"]
    about = {key: metadata[key] for key in (*TOLD, *KEYS["page"]) if key in metadata}
    told = name_page({**place_of(about), "metadata": about})
    own = {field: value for field, value in renamed.items() if value is not None}
    return {field: told[field] for field in PLACES if field in told} | own
