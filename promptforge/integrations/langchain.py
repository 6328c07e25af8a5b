"""LangChain: documents fitted to a budget, and a chat prompt that holds the rendered context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import OptionError, quote
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
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.messages import BaseMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.prompts.chat import BaseChatPromptTemplate
    from pydantic import PrivateAttr
except ImportError as error:
    raise missing_extra("langchain", error) from error

__all__ = ["ContextCompressor", "ContextPrompt", "aretrieve", "embedding", "retrieve"]
_MESSAGES = (("human", "{context}\n\n{question}"),)


class ContextCompressor(BaseDocumentCompressor):
    """Fits documents to a budget: their texts, joined by empty lines, cost at most `max_tokens`.

    Takes every option by its name, and the arguments of `Bridge`. With a `layout`, the budget is
    for the text in that layout.

        compressor = ContextCompressor(max_tokens=2000)
        fitting = compressor.compress_documents(documents, "what does tar do")
    """

    options: Mapping[str, Any]
    """As they were given."""
    _bridge: Bridge = PrivateAttr()

    def __init__(self, *, options: Mapping[str, Any] | None = None, **given: Any) -> None:
        every = {**(options or {}), **given}
        super().__init__(options=every)
        self._bridge = Bridge(**{"alone": True, "score_order": None, **every})

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return the documents that fit: the same objects, but copies of shortened ones.

        The metadata of a copy notes its form and its former length under `promptforge`.
        """
        found = self._bridge.fit_joined(documents, query, copy=_shortened, read=_read)
        return list(map(_document, found))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Do `compress_documents` in a thread; an async `embed` is awaited."""
        return await run_in_thread(lambda: self.compress_documents(documents, query, callbacks))


class ContextPrompt(BaseChatPromptTemplate):
    """A chat prompt that renders the documents in one of its variables.

    `prompt` is a `ChatPromptTemplate` or its messages. The variable `context_key` takes documents,
    pairs with a score, or a text; `query_key` holds the question. Takes every option by its name,
    and the arguments of `Bridge`. The budget is for the context alone.
    """

    prompt: ChatPromptTemplate
    context_key: str
    query_key: str
    options: Mapping[str, Any]
    """As they were given."""
    _bridge: Bridge = PrivateAttr()

    def __init__(
        self,
        prompt: Any = _MESSAGES,
        *,
        context_key: str = "context",
        query_key: str = "question",
        options: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> None:
        chat = prompt
        if not isinstance(prompt, ChatPromptTemplate):
            chat = ChatPromptTemplate.from_messages(list(prompt))
        if context_key not in chat.input_variables:
            message = f"context_key: the prompt has no variable {quote(context_key)}"
            raise OptionError(f"{message}; it has {chat.input_variables}", option="context_key")
        # LangChain's `partial` hands on all attributes of a prompt, this one after it was invoked.
        given.pop("_serialized", None)
        fields = {name: given.pop(name) for name in list(given) if name in type(self).model_fields}
        every = {**(options or {}), **given}
        bridge = Bridge(**{"score_order": None, **every})
        fields = {
            "input_variables": chat.input_variables,
            "optional_variables": chat.optional_variables,
            **fields,
        }
        super().__init__(
            prompt=chat, context_key=context_key, query_key=query_key, options=every, **fields
        )
        self._bridge = bridge

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Return False: an option may be any object of the caller's."""
        return False

    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the messages, with the context in the place of the documents."""
        messages: list[BaseMessage] = self.prompt.format_messages(**self._filled(kwargs))
        return messages

    async def aformat_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Do `format_messages`, rendering in a thread; an async `embed` is awaited."""
        values = await run_in_thread(lambda: self._filled(kwargs))
        messages: list[BaseMessage] = await self.prompt.aformat_messages(**values)
        return messages

    def _filled(self, given: dict[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = self._merge_partial_and_user_variables(**given)
        query = values.get(self.query_key)
        if not isinstance(query, str):
            query = None
        fitted = self._bridge.fit(values[self.context_key], query)
        return {**values, self.context_key: fitted.result.text}

    def pretty_repr(self, html: bool = False) -> str:
        """Return the prompt with its variables unfilled."""
        return str(self.prompt.pretty_repr(html))


def _document(given: Any) -> Document:
    return given[0] if isinstance(given, tuple) else given


def _read(given: Any) -> str:
    return str(_document(given).page_content)


def _shortened(given: Any, kept: KeptDocument) -> Document:
    inner = _document(given)
    metadata = {**inner.metadata, NOTE_KEY: kept.note}
    return inner.model_copy(update={"page_content": kept.text, "metadata": metadata})
