"""Build an `Item` of the fields of a native record: read leniently, or refuse.

Codes: PF201 an unknown or missing field, PF202 a value of another type or range, PF203 metadata
that had to be made plain.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from ..errors import did_you_mean, quote
from ..items import MAX_LINE, Item
from . import plaindata
from .notes import Notes

TEXTS = ("content", "expanded", "summary", "id", "name", "path", "language")
NAMES = frozenset(Item.__struct_fields__)
# Vector stores keep a hit's text under these keys of its `metadata`, `payload` or `properties`.
_TEXTS_OF_OTHERS = ("content", "text", "page_content", "document", "chunk", "body", "chunk_text")
# Usual names of fields, for hints.
_NAMES_OF_OTHERS = {
    **dict.fromkeys(("text", "body", "document"), "content"),
    **dict.fromkeys(("source", "file", "filename"), "path"),
    **dict.fromkeys(("similarity", "relevance"), "score"),
    **{"title": "name", "lang": "language", "lineno": "start_line"},
}


def build(fields: Mapping[str, Any], notes: Notes) -> Item:
    """Return the item of native `fields`; a key that is no field is kept as metadata, and said.

    Raises `ItemError` when a value cannot be read as its field's type, or when there is neither
    `content` nor `summary`.
    """
    texts = {name: _text(fields.get(name), name, notes) for name in TEXTS}
    metadata = _metadata(fields.get("metadata"), notes)
    for key in sorted(k for k in fields if k not in NAMES):
        notes.say("PF201", f"unknown key {quote(key)}{_hint(key)}; kept as metadata")
        metadata.setdefault(key, plaindata.copy(fields[key], _saying(notes)))
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


def _saying(notes: Notes) -> Any:
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
    return did_you_mean(key[:80], NAMES)


def _text(value: object, name: str, notes: Notes) -> str | None:
    kind = type(value)
    if value is None or kind is str:
        return value  # type: ignore[return-value]
    if issubclass(kind, str):
        return plaindata.text_of(value)  # type: ignore[arg-type]
    if issubclass(kind, bytes | bytearray):
        notes.say("PF202", f"{name}: expected text, found bytes; read as UTF-8")
        return str(plaindata.copy(value, _silent))
    if kind is int or kind is float:
        message = f"{name}: expected text, found {kind.__name__}; written as text"
        # Every database hands out numbers for ids, so these fail no strict run.
        notes.say("PF202", message, {"id": "info"}.get(name, "warning"))  # type: ignore[arg-type]
        return str(plaindata.copy(value, _silent))
    raise notes.refusal(name, f"expected text, found {plaindata.name_of(value)}")


def _kind(value: object, notes: Notes) -> str:
    kind = _text(value, "kind", notes)
    return "document" if kind == "markdown" else kind or "text"


def _number(value: object) -> float | None:
    """Return a number, also one in text or of a library's own type; `None` for others."""
    plain = plaindata.copy(value, _silent)
    if isinstance(plain, bool) or not isinstance(plain, int | float | str) or len(str(plain)) > 100:
        return None
    try:
        return float(plain)
    except (ValueError, OverflowError):
        return None


def _score(value: object, notes: Notes) -> float:
    if value is None:
        return 1.0
    number = _number(value)
    if number is None:
        raise notes.refusal("score", f"expected a number, found {plaindata.name_of(value)}")
    if not isfinite(number):
        notes.say("PF202", "score: expected a finite number; 0 is taken")
        return 0.0
    if issubclass(type(value), str):
        notes.say("PF202", "score: expected a number, found text; read as a number", "info")
    return number


def _line(value: object, name: str, notes: Notes) -> int | None:
    if value is None:
        return None
    number = _number(value)
    if number is None:
        raise notes.refusal(name, f"expected a line number, found {plaindata.name_of(value)}")
    if not isfinite(number) or number != int(number) or not 0 <= number <= MAX_LINE:
        notes.say("PF202", f"{name}: expected a line number from 1; left out")
        return None
    if type(value) is not int:
        found = plaindata.name_of(value)
        notes.say("PF202", f"{name}: expected an int, found {found}; read as a number", "info")
    return int(number)


def _origin(value: object, notes: Notes) -> Any:
    origin = "explicit" if value is None else _text(value, "origin", notes)
    if origin not in ("explicit", "similarity"):
        raise notes.refusal("origin", f'expected "explicit" or "similarity", found {quote(origin)}')
    return origin


def _flag(value: object, notes: Notes) -> bool:
    if value is None or type(value) is bool:
        return bool(value)
    expected = f"expected true or false, found {plaindata.name_of(value)}"
    known = {"true": True, "false": False, "1": True, "0": False}
    word = str(plaindata.copy(value, _silent)).lower()
    if word not in known:
        raise notes.refusal("required", expected)
    notes.say("PF202", f"required: {expected}; read as {known[word]}")
    return known[word]


def _metadata(value: object, notes: Notes) -> dict[str, Any]:
    if value is None:
        return {}
    copied = plaindata.copy(value, _saying(notes))
    if isinstance(copied, dict):
        return copied
    notes.say("PF203", f"metadata: expected an object, found {plaindata.name_of(value)}; left out")
    return {}
