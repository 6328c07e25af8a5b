"""LangChain: documents fitted to a budget, and a prompt with the rendered context in its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import OptionError, quote
from .bridge import NOTE, Bridge, Kept, missing
from .retrieval import aretrieve, retrieve
from .vectors import embedding, in_thread

try:
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.messages import BaseMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.prompts.chat import BaseChatPromptTemplate
    from pydantic import PrivateAttr
except ImportError as error:
    raise missing("langchain", error) from error

__all__ = ["ContextCompressor", "ContextPrompt", "aretrieve", "embedding", "retrieve"]

_MESSAGES = (("human", "{context}\n\n{question}"),)


class ContextCompressor(BaseDocumentCompressor):
    """Fits documents to a budget: their texts, joined with an empty line between, cost at most `max_tokens`.

    Takes every option by its name, and what `bridge.Bridge` takes. With a `layout` of your own choice the budget is
    for the page in that layout.
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
        """Return the documents that fit, in the order of the page: the same objects, shortened ones as copies.

        A copy says in its metadata, under `promptforge`, in which form it is and how many characters it had.
        """
        found = self._bridge.fit_joined(documents, query, copy=_shortened, read=_read)
        return list(map(_document, found))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return what `compress_documents` does, made in a thread; an async `embed` is awaited."""
        return await in_thread(lambda: self.compress_documents(documents, query, callbacks))


class ContextPrompt(BaseChatPromptTemplate):
    """A chat prompt of which one variable takes documents and becomes the context made of them.

    `prompt` is a `ChatPromptTemplate` or a list of messages for one; `context_key` names the variable that takes
    documents (or pairs with a score, or a text), `query_key` the one that holds what is asked. Takes every option by
    its name, and what `bridge.Bridge` takes. The budget is for the context alone.
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
        chat = (
            prompt
            if isinstance(prompt, ChatPromptTemplate)
            else ChatPromptTemplate.from_messages(list(prompt))
        )
        if context_key not in chat.input_variables:
            message = f"context_key: the prompt has no variable {quote(context_key)}; it has {chat.input_variables}"
            raise OptionError(message, option="context_key")
        given.pop("_serialized", None)  # what `partial` hands on of a prompt that was invoked
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
        """Return no: an option may be an object of the caller's."""
        return False

    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the messages, the context in the place of the documents."""
        messages: list[BaseMessage] = self.prompt.format_messages(**self._filled(kwargs))
        return messages

    async def aformat_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return what `format_messages` does, the context made in a thread; an async `embed` is awaited."""
        values = await in_thread(lambda: self._filled(kwargs))
        messages: list[BaseMessage] = await self.prompt.aformat_messages(**values)
        return messages

    def _filled(self, given: dict[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = self._merge_partial_and_user_variables(**given)
        query = values.get(self.query_key)
        fitted = self._bridge.fit(
            values[self.context_key], query if isinstance(query, str) else None
        )
        return {**values, self.context_key: fitted.result.text}

    def pretty_repr(self, html: bool = False) -> str:
        """Return the prompt as it is before anything is put in."""
        return str(self.prompt.pretty_repr(html))


def _document(given: Any) -> Document:
    """Return a document without the score that may be beside it."""
    return given[0] if isinstance(given, tuple) else given


def _read(given: Any) -> str:
    return str(_document(given).page_content)


def _shortened(given: Any, kept: Kept) -> Document:
    inner = _document(given)
    metadata = {**inner.metadata, NOTE: kept.note}
    return inner.model_copy(update={"page_content": kept.text, "metadata": metadata})
