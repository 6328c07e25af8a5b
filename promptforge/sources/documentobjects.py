"""Documents of LangChain, LlamaIndex and Haystack, known by what they have and not by their class."""

from __future__ import annotations

from typing import Any

from .notes import Notes
from .plaindata import name_of_type

_MISSING = object()


def read(document: object, notes: Notes) -> dict[str, Any]:
    """Return a record (see `shapes.native`) of a document object, or of a pair `(document, score)`.

    Raises `ItemError` when the object has none of the attributes of a document.
    """
    kind = type(document)
    if issubclass(kind, tuple) and tuple.__len__(document) == 2:  # type: ignore[arg-type]
        inner, score = _pair(document)
        if not issubclass(type(inner), str | bytes | int | float | list | tuple | dict):
            return {**read(inner, notes), "score": score}
    if not issubclass(kind, str | bytes | int | float | list | tuple | set | type | type(None)):
        found = _langchain(document) or _scored(document) or _haystack(document) or _node(document)
        if found:
            return found
    raise notes.refusal(None, _complaint(kind))


def _pair(document: Any) -> tuple[object, object]:
    return tuple.__getitem__(document, 0), tuple.__getitem__(document, 1)


def _complaint(kind: type) -> str:
    said = f"expected an object with the fields of an item, found {name_of_type(kind)}"
    return said + '; write {"content": "…"}' if issubclass(kind, str) else said


def _attribute(thing: object, name: str) -> Any:
    """Return an attribute, or `_MISSING` where there is none or reading it raises anything at all."""
    try:
        return getattr(thing, name, _MISSING)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return _MISSING


def _present(thing: object, *names: str) -> Any:
    """Return the first of these attributes that is there and not None, else None."""
    for name in names:
        value = _attribute(thing, name)
        if value is not _MISSING and value is not None:
            return value
    return None


def _langchain(thing: object) -> dict[str, Any] | None:
    text = _attribute(thing, "page_content")
    if text is _MISSING:
        return None
    return {"page_content": text, "metadata": _present(thing, "metadata"), "id": _present(thing, "id")}


def _scored(thing: object) -> dict[str, Any] | None:
    node = _present(thing, "node")
    inner = None if node is None else _node(node)
    return None if inner is None else {**inner, "score": _present(thing, "score")}


def _haystack(thing: object) -> dict[str, Any] | None:
    text = _attribute(thing, "content")
    about = _present(thing, "meta", "metadata")
    if text is _MISSING or (about is None and _attribute(thing, "meta") is _MISSING):
        return None
    return {
        "page_content": text,
        "metadata": about,
        "id": _present(thing, "id"),
        "score": _present(thing, "score"),
    }


def _node(thing: object) -> dict[str, Any] | None:
    if _attribute(thing, "metadata") is _MISSING:
        return None
    text = _called(_attribute(thing, "get_content"))
    if not isinstance(text, str):
        text = _attribute(thing, "text")
    if text is _MISSING:
        return None
    return {
        "page_content": text,
        "metadata": _present(thing, "metadata"),
        "id": _present(thing, "node_id", "id_"),
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
