"""Haystack: a component that makes one context text of documents, within a budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..errors import OptionError
from ..options import VOCABULARY
from .bridge import NOTE, Bridge, Kept, missing
from .retrieval import aretrieve, retrieve
from .vectors import embedding, in_thread

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.core.errors import SerializationError
    from haystack.utils import deserialize_callable, serialize_callable
except ImportError as error:
    raise missing("haystack", error) from error

__all__ = ["ContextBuilder", "aretrieve", "embedding", "retrieve"]


@component
class ContextBuilder:
    """Makes one text of documents, for a prompt builder's variable.

    Takes every option by its name, and what `bridge.Bridge` takes. A pipeline that holds it is loaded with
    `Pipeline.loads(text, allowed_modules=["promptforge.integrations.haystack"])`.
    """

    def __init__(self, **options: Any) -> None:
        self.options = options
        """As they were given."""
        self._bridge = Bridge(**options)

    @component.output_types(
        context=str, kept=list[Document], dropped=list[Document], tokens=int, warnings=list[str]
    )
    def run(
        self, documents: list[Document], query: str = "", max_tokens: int | None = None
    ) -> dict[str, Any]:
        """Return the text and what became of the documents.

        `query` is what is asked. `max_tokens`, where it is given, is the budget of this run. `kept` are the documents
        of the text in its order: the same objects, shortened ones as copies with a note under `promptforge` in their
        metadata. `warnings` are what there is to be said, a line each.
        """
        changes: dict[str, Any] = {}
        if max_tokens is not None:
            changes["max_tokens"] = VOCABULARY.check("max_tokens", max_tokens)
        fitted = self._bridge.fit(documents, query, **changes)
        return {
            "context": fitted.result.text,
            "kept": [
                documents[k.place] if k.whole else _shortened(documents[k.place], k)
                for k in fitted.kept
            ],
            "dropped": [documents[place] for place in fitted.dropped],
            "tokens": fitted.result.tokens,
            "warnings": [str(d) for d in fitted.result.warnings],
        }

    @component.output_types(
        context=str, kept=list[Document], dropped=list[Document], tokens=int, warnings=list[str]
    )
    async def run_async(
        self, documents: list[Document], query: str = "", max_tokens: int | None = None
    ) -> dict[str, Any]:
        """Return what `run` does, made in a thread; an async `embed` is awaited."""
        return await in_thread(lambda: self.run(documents, query, max_tokens))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; functions by their names.

        Raises `OptionError` for an option that cannot be written down: an object, or a function without a name.
        """
        written = {name: _plain(name, value) for name, value in self.options.items()}
        data: dict[str, Any] = default_to_dict(self, **written)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ContextBuilder:
        """Return the component that `to_dict` wrote down; functions are found by their names, where that is allowed."""
        given = dict(data.get("init_parameters", {}))
        for name in _FUNCTIONS:
            if isinstance(given.get(name), str):
                given[name] = deserialize_callable(given[name])
        made: ContextBuilder = default_from_dict(cls, {**data, "init_parameters": given})
        return made


_FUNCTIONS = ("embed", "on_result")


def _plain(name: str, value: Any) -> Any:
    if name in _FUNCTIONS and callable(value):
        try:
            return serialize_callable(value)
        except (SerializationError, AttributeError) as error:
            message = (
                f"{name} cannot be written down: {error}; give a function of a module, by its name"
            )
            raise OptionError(message, option=name) from None
    if isinstance(value, tuple | list | set | frozenset):
        return [_plain(name, one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(name, one) for key, one in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    if hasattr(value, "__fspath__"):
        return str(value)
    if dataclasses.is_dataclass(value) or hasattr(value, "__struct_fields__"):
        return _plain(name, {field: getattr(value, field) for field in value.__struct_fields__})
    message = f"{name} cannot be written down: it is an object of type {type(value).__name__}; give its name"
    raise OptionError(message, option=name)


def _shortened(document: Document, kept: Kept) -> Document:
    return dataclasses.replace(document, content=kept.text, meta={**document.meta, NOTE: kept.note})
