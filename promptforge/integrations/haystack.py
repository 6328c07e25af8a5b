"""Haystack: a component that renders documents into one context text, within a budget."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from ..config.options import OPTION_VOCABULARY
from ..errors import OptionError
from .bridge import (
    NOTE_KEY,
    Bridge,
    KeptDocument,
    aretrieve,
    embedding,
    missing_extra,
    retrieve,
    run_in_thread,
)

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.core.errors import SerializationError
    from haystack.utils import deserialize_callable, serialize_callable
except ImportError as error:
    raise missing_extra("haystack", error) from error

__all__ = ["ContextBuilder", "aretrieve", "embedding", "retrieve"]


@component
class ContextBuilder:
    """Renders documents into one text, for a variable of a prompt builder.

    Takes every option by its name, and the arguments of `Bridge`. Load a pipeline that holds it by
    `Pipeline.loads(text, allowed_modules=["promptforge.integrations.haystack"])`.
    """

    def __init__(self, **options: Any) -> None:
        self.options = options
        """The options as given."""
        self._bridge = Bridge(**options)

    @component.output_types(
        context=str, kept=list[Document], dropped=list[Document], tokens=int, warnings=list[str]
    )
    def run(
        self, documents: list[Document], query: str = "", max_tokens: int | None = None
    ) -> dict[str, Any]:
        """Render `documents` for the question `query`; `max_tokens` is for this run alone.

        Output `kept` holds the documents in the text, in its order: the same objects, but copies
        of shortened ones, with a note under `promptforge` in their metadata.
        """
        changes: dict[str, Any] = {}
        if max_tokens is not None:
            changes["max_tokens"] = OPTION_VOCABULARY.check("max_tokens", max_tokens)
        fitted = self._bridge.fit(documents, query, **changes)
        return {
            "context": fitted.result.text,
            "kept": [_handed_back(documents[kept.place], kept) for kept in fitted.kept],
            "dropped": [documents[place] for place in fitted.dropped],
            "tokens": fitted.result.tokens,
            "warnings": list(map(str, fitted.result.warnings)),
        }

    @component.output_types(
        context=str, kept=list[Document], dropped=list[Document], tokens=int, warnings=list[str]
    )
    async def run_async(
        self, documents: list[Document], query: str = "", max_tokens: int | None = None
    ) -> dict[str, Any]:
        """Do `run` in a thread; an async `embed` is awaited."""
        return await run_in_thread(lambda: self.run(documents, query, max_tokens))

    def to_dict(self) -> dict[str, Any]:
        """Write the component as plain data, with functions by their names.

        Raises `OptionError` for an object, or a function without a name, among the options.
        """
        written = {name: _plain(name, value) for name, value in self.options.items()}
        data: dict[str, Any] = default_to_dict(self, **written)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ContextBuilder:
        """Read a component; functions are looked up by name, in the modules Haystack allows."""
        given = dict(data.get("init_parameters", {}))
        for name in _FUNCTIONS:
            written = given.get(name)
            # `rerank` also takes a word, such as "mmr"; a function has its module's name.
            if isinstance(written, str) and "." in written:
                given[name] = deserialize_callable(written)
        made: ContextBuilder = default_from_dict(cls, {**data, "init_parameters": given})
        return made


_FUNCTIONS = ("embed", "on_result", "rerank")


def _plain(name: str, value: Any) -> Any:
    if name in _FUNCTIONS and callable(value):
        try:
            return serialize_callable(value)
        except (SerializationError, AttributeError) as error:
            message = f"{name} cannot be written down: {error}"
            raise OptionError(
                f"{message}; give a function of a module, by its name", option=name
            ) from None

    def write(one: Any) -> str:
        if hasattr(one, "__fspath__"):
            return str(one)
        message = f"{name} cannot be written down: it is an object of type {type(one).__name__}"
        raise OptionError(f"{message}; give its name", option=name)

    return msgspec.to_builtins(value, enc_hook=write, str_keys=True)


def _handed_back(document: Document, kept: KeptDocument) -> Document:
    if kept.whole:
        return document
    return dataclasses.replace(
        document, content=kept.text, meta={**document.meta, NOTE_KEY: kept.note}
    )
