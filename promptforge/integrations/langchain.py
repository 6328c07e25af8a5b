"""LangChain: documents and messages fitted to a budget, and a chat prompt with a context in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from ..errors import OptionError, quote
from . import conversation
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
from .conversation import FittedMessages

try:
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.prompts.chat import BaseChatPromptTemplate
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from pydantic import PrivateAttr
except ImportError as error:
    raise missing_extra("langchain", error) from error

__all__ = [
    "ContextCompressor",
    "ContextPrompt",
    "MessageWindow",
    "aretrieve",
    "embedding",
    "retrieve",
]
# Blocks of their own: nothing that ends the last document reads as the question.
_BLOCKS = [{"type": "text", "text": f"{{{name}}}"} for name in ("context", "question")]
_MESSAGES = (("human", _BLOCKS),)


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
        found = self._bridge.fit_joined(
            documents, query, copy=_shortened, read=lambda one: str(_document(one).page_content)
        )
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
    and the arguments of `Bridge`. `max_tokens` is for the context; with a `context_window`, all
    messages together cost at most this less `reserve`.

        prompt = ContextPrompt([("human", "{context} {question}")], context_window=8000)
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
        """Return True: `dumps` writes the prompt and its options; objects among them it marks."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """Return the place for LangChain's `loads(…, valid_namespaces=["promptforge"])`."""
        return ["promptforge", "integrations", "langchain"]

    def __add__(self, other: Any) -> ContextPrompt:
        """Return this prompt with a message, messages or another prompt after it."""
        given = {"context_key": self.context_key, "query_key": self.query_key}
        more = other.prompt if isinstance(other, ContextPrompt) else other
        return ContextPrompt(self.prompt + more, options=self.options, **given)

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
        overhead: int = self._bridge.setting("prompt_tokens")

        def cost(text: str) -> int:
            filled = {**values, self.context_key: text}
            messages = self.prompt.format_messages(**filled)
            return overhead + conversation.count_messages(self._bridge, messages)

        fitted = self._bridge.fit_window(values[self.context_key], query, cost)
        return {**values, self.context_key: fitted.result.text}

    def pretty_repr(self, html: bool = False) -> str:
        """Return the prompt with its variables unfilled."""
        return str(self.prompt.pretty_repr(html))


# --- messages -------------------------------------------------------------------------------------


class MessageWindow(conversation.ConversationWindow):
    """Keeps messages of LangChain within the window, with documents before the question.

    See `promptforge.integrations.conversation.ConversationWindow`.
    """

    def fit(
        self,
        messages: Sequence[BaseMessage],
        *,
        system: object = None,
        tools: Iterable[Any] = (),
        documents: Any = None,
    ) -> FittedMessages:
        """Return the messages that keep the window; the log says what changed (PF116).

        `documents` are rendered before the question, the last message of the user, or without one
        in a message of their own after the system text. Raises `BudgetError` if the system text,
        the tools, the question and the least of the last step do not fit.
        """
        given = list(messages)
        shown = [t if isinstance(t, Mapping) else convert_to_openai_tool(t) for t in tools]
        if documents is not None:
            given = self._with_context(given, documents, system, shown)
        return super().fit(given, system=system, tools=shown)

    def _with_context(
        self, messages: list[BaseMessage], documents: Any, system: object, tools: list[Any]
    ) -> list[BaseMessage]:
        asked = [n for n, message in enumerate(messages) if isinstance(message, HumanMessage)]
        query = messages[asked[-1]].text if asked else None
        _, history, room = self._prepare(conversation.Conversation(messages), system, tools)
        least = history.fit(0).tokens
        promised = int(max(0, room - least) * self._bridge.setting("history_share"))
        # Two: the context meets the question, and a count of the message is one too many.
        room -= self._bridge.setting("message_tokens") + 2
        limit = max(0, room - min(sum(history.costs), least + promised))
        most = self._bridge.setting("max_tokens")
        if most is not None:
            limit = min(most, limit)
        text = self._bridge.fit(documents, query, max_tokens=limit).result.text
        if not text:
            return messages
        if not asked:
            head = list(takewhile(lambda one: isinstance(one, SystemMessage), messages))
            return [*head, HumanMessage(text), *messages[len(head) :]]
        # In a block of its own, so nothing in a document passes for the question.
        question = messages[asked[-1]]
        content: Any = question.content
        said = [{"type": "text", "text": content}] if isinstance(content, str) else content
        shown = [{"type": "text", "text": text}, *said]
        messages[asked[-1]] = question.model_copy(update={"content": shown})
        return messages


def _document(given: Any) -> Document:
    return given[0] if isinstance(given, tuple) else given


def _shortened(given: Any, kept: KeptDocument) -> Document:
    inner = _document(given)
    metadata = {**inner.metadata, NOTE_KEY: kept.note}
    return inner.model_copy(update={"page_content": kept.text, "metadata": metadata})
