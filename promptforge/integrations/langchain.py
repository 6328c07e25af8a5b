"""LangChain: documents and messages fitted to a budget, and a chat prompt with a context in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

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
    say_left_out,
    too_small,
)

try:
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.prompts.chat import BaseChatPromptTemplate
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from pydantic import PrivateAttr
except ImportError as error:
    raise missing_extra("langchain", error) from error

__all__ = [
    "ContextCompressor",
    "ContextNode",
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
        meter = MessageMeter(self._bridge)

        def cost(text: str) -> int:
            filled = {**values, self.context_key: text}
            return meter.total(self.prompt.format_messages(**filled))

        text = self._bridge.fit_window(values[self.context_key], query, cost)
        return {**values, self.context_key: text}

    def pretty_repr(self, html: bool = False) -> str:
        """Return the prompt with its variables unfilled."""
        return str(self.prompt.pretty_repr(html))


class ContextNode:
    """A node of a graph: renders the documents in its state into one text.

    Works in LangGraph's `add_node`, and as any function of a mapping. Takes every option by its
    name, and the arguments of `Bridge`.

        graph.add_node("context", ContextNode(max_tokens=2000))
    """

    def __init__(
        self,
        *,
        documents_key: str = "documents",
        query_key: str = "question",
        context_key: str = "context",
        **options: Any,
    ) -> None:
        self._documents, self._query, self._context = documents_key, query_key, context_key
        self._bridge = Bridge(**{"score_order": None, **options})

    def __call__(self, state: Any) -> dict[str, str]:
        """Return the context, under its key, as a change of the state."""
        query = _value(state, self._query)
        documents = _value(state, self._documents)
        if documents is None:
            message = f"documents_key: the state has no {quote(self._documents)}"
            raise OptionError(message, option="documents_key")
        fitted = self._bridge.fit(documents, query if isinstance(query, str) else None)
        return {self._context: fitted.result.text}


def _value(state: Any, name: str) -> Any:
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


# --- messages -------------------------------------------------------------------------------------

_IMAGES = ("image", "image_url", "input_image")
_FILES = ("file", "document", "audio", "video", "input_file", "input_audio", "media")
CUT_STEPS = 4
"""The oldest turns go by fourths of the room, so the cut moves seldom and caches stay warm."""


class MessageMeter:
    """Counts messages of LangChain, rather too many tokens than too few."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        # An agent sends its whole history again with each step.
        self.count = lru_cache(maxsize=4096)(bridge.count)

    def total(self, messages: Iterable[BaseMessage], tools: Iterable[Any] = ()) -> int:
        """Return the tokens of messages and of definitions of tools, with all overhead."""
        plain = (t if isinstance(t, Mapping) else convert_to_openai_tool(t) for t in tools)
        defined = (json.dumps(tool, ensure_ascii=False) for tool in plain)
        overhead: int = self._bridge.setting("prompt_tokens")
        return overhead + sum(map(self.cost, messages)) + sum(map(self.count, defined))

    def cost(self, message: BaseMessage) -> int:
        """Return the tokens of one message."""
        content: Any = message.content
        parts = [content] if isinstance(content, str) else content
        tokens: int = self._bridge.setting("message_tokens") + sum(map(self._part, parts))
        shown = {part.get("id") for part in parts if isinstance(part, dict)}
        each: int = self._bridge.setting("call_tokens")
        for call in getattr(message, "tool_calls", ()):
            tokens += each * (1 + len(call["args"]))
            if call["id"] not in shown:
                tokens += self.count(json.dumps(call, ensure_ascii=False, default=str))
        if isinstance(message, ToolMessage):
            tokens += each + self.count(message.tool_call_id)
        beside = {k: v for k, v in message.additional_kwargs.items() if k not in _CALLS}
        if beside:
            tokens += self.count(json.dumps(beside, ensure_ascii=False, default=str))
        return tokens

    def _part(self, part: Any) -> int:
        if isinstance(part, str):
            return self.count(part)
        kind = part.get("type")
        if kind == "text":
            return 1 + self.count(part.get("text") or "")
        if kind in _IMAGES:
            return self._bridge.media.image(part)
        if kind in _FILES:
            return self._bridge.media.file(part)
        return self.count(json.dumps(part, ensure_ascii=False, default=str))


_CALLS = ("tool_calls", "function_call")


class FittedMessages(NamedTuple):
    """Messages after fitting."""

    messages: list[BaseMessage]
    """The same objects, but copies of the question with its context and of shortened results."""
    tokens: int
    """Tokens of messages and tools, rather too many than too few."""
    dropped: int
    """Messages left out, the oldest."""


class MessageWindow:
    """Keeps messages of LangChain within the window of an LLM.

    `context_window` less `reserve` is the room; a profile may say both. Takes every option by its
    name, and the arguments of `Bridge`. First the oldest turns go, then the oldest steps of the
    turn that runs (a call of tools with its results), then the longest results are shortened.
    Every system message stays, wherever it stands.

        window = MessageWindow(profile="claude")
        messages = window.fit(state["messages"], tools=tools).messages
    """

    def __init__(self, **options: Any) -> None:
        self._bridge = Bridge(**{"score_order": None, **options})
        if self._bridge.window is None:
            message = "context_window: say it, or name a profile that does"
            raise OptionError(message, option="context_window")
        self._shortener = Bridge(
            **{"alone": True, **options, "on_result": None, "embed": None, "max_items": None}
        )
        self._window: int = self._bridge.window
        self._meter = MessageMeter(self._bridge)

    def fit(
        self, messages: Sequence[BaseMessage], *, tools: Iterable[Any] = (), documents: Any = None
    ) -> FittedMessages:
        """Return the messages that keep the window; what is left out is said in the log (PF116).

        `documents` are rendered before the question, the last message of the user, or without one
        in a message of their own after the system text. Raises `BudgetError` if the system text,
        the tools, the question and the last step do not fit.
        """
        system = list(takewhile(lambda message: isinstance(message, SystemMessage), messages))
        turns = _turns(messages[len(system) :])
        if documents is not None and _asked(turns) is None:
            turns = [[[], *(step for turn in turns for step in turn)]]
        room = self._window - self._meter.total(_systems(messages), tools)
        need = self._cost([_required(turns)])
        text = ""
        if documents is not None:
            promised = int((room - need) * self._bridge.setting("history_share"))
            spent = min(promised, self._cost(turns) - need)
            text = self._context(documents, _asked(turns), room - need - spent)
        if text:
            turns = [*turns[:-1], [_with_context(turns[-1][0], text), *turns[-1][1:]]]
        fitted = self._shortened(self._newest(turns, room), room)
        left_out = sum(map(len, _steps(turns))) - sum(map(len, _steps(fitted)))
        say_left_out(left_out)
        made = [*system, *(message for step in _steps(fitted) for message in step)]
        return FittedMessages(made, self._meter.total(made, tools), left_out)

    def _cost(self, turns: _Turns) -> int:
        """Return the tokens of what may be left out: all but system messages."""
        messages = (message for step in _steps(turns) for message in step)
        return sum(self._meter.cost(one) for one in messages if not isinstance(one, SystemMessage))

    def _context(self, documents: Any, question: HumanMessage | None, room: int) -> str:
        most = self._bridge.setting("max_tokens")
        overhead: int = self._bridge.setting("message_tokens")
        limit = max(0, room - overhead)
        if most is not None:
            limit = min(most, limit)
        query = None if question is None else question.text
        return self._bridge.fit(documents, query, max_tokens=limit).result.text

    def _newest(self, turns: _Turns, room: int) -> _Turns:
        """Drop the oldest turns, then the oldest steps of the last one."""
        if not turns:
            return turns
        # Counted once: a long run has thousands of steps.
        costs = [[self._cost([[step]]) for step in turn] for turn in turns]
        over = sum(map(sum, costs)) - room
        size = max(1, room // CUT_STEPS)
        goal = -(-over // size) * size
        at = 0
        while goal > 0 and at < len(turns) - 1:
            goal -= sum(costs[at])
            over -= sum(costs[at])
            at += 1
        question, *steps = turns[-1]
        lost = 0
        while over > 0 and lost < len(steps) - 1:
            lost += 1
            over -= costs[-1][lost]
        before = [[_systems(step) for step in turn] for turn in turns[:at]]
        within = [_systems(step) for step in steps[:lost]]
        return [*before, *turns[at:-1], [question, *within, *steps[lost:]]]

    def _shortened(self, turns: _Turns, room: int) -> _Turns:
        """Shorten the longest results of tools until the messages fit."""
        tried: set[int] = set()
        while (over := self._cost(turns) - room) > 0:
            results = [
                message
                for step in _steps(turns)
                for message in step
                if isinstance(message, ToolMessage) and isinstance(message.content, str)
                if id(message) not in tried
            ]
            if not results:
                raise too_small(self._window + over, self._window, "what cannot be left out")
            longest = max(results, key=self._meter.cost)
            limit = max(0, self._meter.count(longest.text) - over)
            shown = self._shortener.fit([longest.text], max_tokens=limit).result.text
            short = longest.model_copy(update={"content": shown})
            tried.add(id(short))
            turns = [
                [[short if one is longest else one for one in step] for step in turn]
                for turn in turns
            ]
        return turns


_Turns = list[list[list[BaseMessage]]]


def _turns(messages: Sequence[BaseMessage]) -> _Turns:
    """Split messages into turns of the user, and these into steps: an answer with its results."""
    turns: _Turns = []
    for message in messages:
        human = isinstance(message, HumanMessage)
        begins = not turns or (human and not isinstance(turns[-1][-1][-1], HumanMessage))
        if begins:
            turns.append([[message]])
        elif human or isinstance(message, ToolMessage | SystemMessage) or _answers_before(message):
            turns[-1][-1].append(message)
        else:
            turns[-1].append([message])
    return turns


def _answers_before(message: BaseMessage) -> bool:
    """Return True if an answer begins with the result of a provider's tool that an earlier called.

    So it is where Anthropic calls a tool of its own and one of the agent's at once.
    """
    content: Any = message.content
    called: set[Any] = set()
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and str(part.get("type")).endswith("_tool_result"):
            if part.get("tool_use_id", part.get("tool_call_id")) not in called:
                return True
        elif isinstance(part, dict):
            called.add(part.get("id"))
    return False


def _steps(turns: _Turns) -> list[list[BaseMessage]]:
    return [step for turn in turns for step in turn]


def _systems(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    return [message for message in messages if isinstance(message, SystemMessage)]


def _asked(turns: _Turns) -> HumanMessage | None:
    """Return the last message of the user."""
    question = turns[-1][0] if turns else []
    return next((one for one in reversed(question) if isinstance(one, HumanMessage)), None)


def _required(turns: _Turns) -> list[list[BaseMessage]]:
    """Return the question and the last step."""
    if not turns:
        return []
    return [turns[-1][0], *turns[-1][1:][-1:]]


def _with_context(question: list[BaseMessage], context: str) -> list[BaseMessage]:
    # In a block of its own, so nothing in a document passes for the question.
    last = _asked([[question]])
    if last is None:
        return [HumanMessage(context), *question]
    content: Any = last.content
    said = [{"type": "text", "text": content}] if isinstance(content, str) else content
    made = last.model_copy(update={"content": [{"type": "text", "text": context}, *said]})
    at = max(n for n, one in enumerate(question) if one is last)
    return [*question[:at], made, *question[at + 1 :]]


def _document(given: Any) -> Document:
    return given[0] if isinstance(given, tuple) else given


def _read(given: Any) -> str:
    return str(_document(given).page_content)


def _shortened(given: Any, kept: KeptDocument) -> Document:
    inner = _document(given)
    metadata = {**inner.metadata, NOTE_KEY: kept.note}
    return inner.model_copy(update={"page_content": kept.text, "metadata": metadata})
