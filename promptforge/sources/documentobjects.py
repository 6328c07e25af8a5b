"""Read documents of LangChain, LlamaIndex and Haystack by their attributes: none is imported."""

from __future__ import annotations

from typing import Any, NamedTuple

from .notes import Notes
from .plaindata import name_of_type

_MISSING = object()


def read(document: object, notes: Notes) -> dict[str, Any]:
    """Return a record (see `shapes.native`) of a document object, or of a pair `(document, score)`.

    Raises `ItemError` when the object has none of the attributes of a document.
    """
    kind = type(document)
    if issubclass(kind, tuple) and tuple.__len__(document) == 2:  # type: ignore[arg-type]
        # `tuple`'s own methods: a subclass may have others, which raise or lie.
        inner, score = tuple.__getitem__(document, slice(None))  # type: ignore[call-overload]
        if not issubclass(type(inner), str | bytes | int | float | list | tuple | dict):
            return {**read(inner, notes), "score": score}
    if not issubclass(kind, str | bytes | int | float | list | tuple | set | type | type(None)):
        thing = _Thing(document, {})
        found = _langchain(thing) or _scored(thing) or _haystack(thing) or _node(thing)
        if found:
            for name, error in thing.failed.items():
                notes.say("PF203", f"{name}: cannot be read, {error} while looking at it; left out")
            return found
    raise notes.refusal(None, _complaint(kind))


def _complaint(kind: type) -> str:
    said = f"expected an object with the fields of an item, found {name_of_type(kind)}"
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
            self.failed[name] = name_of_type(type(error))
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
