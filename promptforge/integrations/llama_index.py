"""LlamaIndex: nodes fitted to a budget, in templates, query engines and chats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import OptionError, quote
from ..prompts.ladder import FittedHistory, HistoryFitter
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
from .conversation import Conversation, count_messages, say

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.chat_engine import ContextChatEngine
    from llama_index.core.llms.llm import stream_chat_response_to_tokens
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
    from llama_index.core.response_synthesizers import BaseSynthesizer
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ImportError as error:
    raise missing_extra("llama-index", error) from error

__all__ = [
    "ContextPostprocessor",
    "ContextPromptTemplate",
    "ContextSynthesizer",
    "WindowChatEngine",
    "aretrieve",
    "embedding",
    "retrieve",
]
_TEMPLATE = "{context_str}\n\n{query_str}"
"""The context is printed with an end mark here: nothing in a node reads as the question."""


class ContextPostprocessor(BaseNodePostprocessor):
    """Fits nodes to a budget: the text a response synthesizer joins costs at most `max_tokens`.

    This text is that of all nodes, each after its metadata for the LLM, joined by empty lines.
    Takes every option by its name, and the arguments of `Bridge`. With a `layout`, the budget is
    for the text in that layout.
    """

    options: Mapping[str, Any]
    """As they were given."""
    _bridge: Bridge = PrivateAttr()

    def __init__(self, *, options: Mapping[str, Any] | None = None, **given: Any) -> None:
        fields = {name: given.pop(name) for name in list(given) if name in type(self).model_fields}
        every = {**(options or {}), **given}
        super().__init__(options=every, **fields)
        self._bridge = Bridge(**{"alone": True, **every})

    @classmethod
    def class_name(cls) -> str:
        """Return the name for LlamaIndex's serialization."""
        return "PromptForgeContextPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """Return the nodes that fit: the same objects, but copies of shortened ones.

        The metadata of a copy notes its form and its former length under `promptforge`; the LLM
        does not see this note.
        """
        query = getattr(query_bundle, "query_str", None)
        return self._bridge.fit_joined(nodes, query, copy=_shortened, read=_read, before=_before)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """Do `_postprocess_nodes` in a thread; an async `embed` is awaited."""
        return await run_in_thread(lambda: self._postprocess_nodes(nodes, query_bundle))


class ContextPromptTemplate(PromptTemplate):
    """A prompt template that renders the nodes, or the joined text, in one of its variables.

    Query engines and chat engines join the nodes into one text, which is fenced and cut as a whole.
    To choose and shorten nodes one by one, use a `ContextSynthesizer` or a `WindowChatEngine`.

    The variable `context_key` takes nodes or a text; `query_key` holds the question. Takes every
    option by its name, and the arguments of `Bridge`. The budget is for the context alone.
    """

    context_key: str = "context_str"
    query_key: str = "query_str"
    options: Mapping[str, Any] = {}
    """As they were given."""

    def __init__(
        self,
        template: str = _TEMPLATE,
        *,
        context_key: str = "context_str",
        query_key: str = "query_str",
        **options: Any,
    ) -> None:
        # Chat engines take the words of a template and its functions, and never call `format`.
        marks_end = template == _TEMPLATE
        shows = partial(_render, Bridge(**options), context_key, query_key, marks_end)
        super().__init__(template, function_mappings={context_key: shows})
        self.context_key, self.query_key, self.options = context_key, query_key, options
        if context_key not in self.template_vars:
            message = f"context_key: the template has no variable {quote(context_key)}"
            raise OptionError(f"{message}; it has {self.template_vars}", option="context_key")


def _render(
    bridge: Bridge, context_key: str, query_key: str, marks_end: bool, /, **values: Any
) -> str:
    """Return the text of the nodes, or of the joined text, within the budget."""
    documents, query = values.get(context_key), values.get(query_key)
    if not documents:
        return ""
    query = query if isinstance(query, str) else None
    text = bridge.fit(documents, query).result.text
    return bridge.enclose(text, query or "") if marks_end else text


class _Nodes(list[NodeWithScore]):
    """A list of its own, so that the nodes that are not shown can be taken out of it."""


class ContextSynthesizer(BaseSynthesizer):
    """A response synthesizer that renders the nodes themselves, in any layout, in one call.

    `template` has the variables `context_str` and `query_str`. `source_nodes` of a response are
    those that it shows. Takes every option by its name, and the arguments of `Bridge`. With a
    `context_window`, `system`, `history`, context and question
    cost at most this less `reserve`; the history is fitted as by `ConversationWindow`.

        engine = index.as_query_engine(response_synthesizer=ContextSynthesizer(max_tokens=2000))
    """

    def __init__(
        self,
        template: Any = _TEMPLATE,
        *,
        llm: Any = None,
        streaming: bool = False,
        system: Sequence[ChatMessage] = (),
        history: Sequence[ChatMessage] = (),
        **options: Any,
    ) -> None:
        super().__init__(llm=llm, streaming=streaming)
        self._template = template
        self._marks_end = template == _TEMPLATE
        if not isinstance(template, BasePromptTemplate):
            self._template = PromptTemplate(template)
        self._system, self._history = list(system), list(history)
        self._bridge = Bridge(**options)

    def _get_prompts(self) -> dict[str, Any]:
        return {"text_qa_template": self._template}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        if "text_qa_template" in prompts:
            self._template, self._marks_end = prompts["text_qa_template"], False

    def synthesize(
        self, query: Any, nodes: Any, additional_source_nodes: Any = None, **given: Any
    ) -> Any:
        """Answer the query from the nodes."""
        # LlamaIndex hands on texts; the nodes travel beside them. It lists as sources what is left.
        if not isinstance(nodes, _Nodes):
            nodes = _Nodes(nodes)
        given["rendered_nodes"] = nodes
        return super().synthesize(query, nodes, additional_source_nodes, **given)

    async def asynthesize(
        self, query: Any, nodes: Any, additional_source_nodes: Any = None, **given: Any
    ) -> Any:
        """Answer the query from the nodes; the rendering runs in a thread."""
        if not isinstance(nodes, _Nodes):
            nodes = _Nodes(nodes)
        given["rendered_nodes"] = nodes
        return await super().asynthesize(query, nodes, additional_source_nodes, **given)

    def get_response(self, query_str: str, text_chunks: Sequence[str], **given: Any) -> Any:
        """Return the LLM's answer."""
        messages = self.messages(query_str, given.get("rendered_nodes") or text_chunks)
        if self._streaming:
            return stream_chat_response_to_tokens(self._llm.stream_chat(messages))
        return self._llm.chat(messages).message.content or ""

    async def aget_response(self, query_str: str, text_chunks: Sequence[str], **given: Any) -> Any:
        """Return the LLM's answer."""
        documents = given.get("rendered_nodes") or text_chunks
        messages = await run_in_thread(lambda: self.messages(query_str, documents))
        if self._streaming:
            answer = await self._llm.astream_chat(messages)

            async def tokens() -> Any:
                async for part in answer:
                    yield part.delta or ""

            return tokens()
        return (await self._llm.achat(messages)).message.content or ""

    def messages(self, query: str, documents: Any) -> list[ChatMessage]:
        """Return the messages for the LLM; raises `BudgetError` if the fixed ones do not fit."""
        bridge, window = self._bridge, self._bridge.window
        given = Conversation(self._history)
        if window is None:
            context = self._context(documents, query, lambda text: 0)
            return [*self._system, *self._history, self._question(context, query)]
        history = HistoryFitter(given.messages, bridge.composer())
        fixed: int = bridge.setting("prompt_tokens") + count_messages(bridge, self._system)
        bare = count_messages(bridge, [self._question("", query)])
        kept = 0

        def cost(text: str) -> int:
            return fixed + kept + count_messages(bridge, [self._question(text, query)])

        def fit(room: int) -> FittedHistory:
            return history.fit(room + bare, bare)

        room = window - fixed - bare
        least = fit(0).tokens
        kept = fit(least + int(max(0, room - least) * bridge.setting("history_share"))).tokens
        asked = self._question(self._context(documents, query, cost), query)
        fitted = fit(window - fixed - count_messages(bridge, [asked]))
        made = given.restore(fitted)
        say(fitted, len(self._history) - len(made))
        return [*self._system, *made, asked]

    def _context(self, documents: Any, query: str, cost: Callable[[str], int]) -> str:
        fitted = self._bridge.fit_window(documents, query, cost)
        if isinstance(documents, _Nodes):
            documents[:] = [documents[place] for place in sorted(one.place for one in fitted.kept)]
        return fitted.result.text

    def _question(self, context: str, query: str) -> ChatMessage:
        if self._marks_end:
            context = self._bridge.enclose(context, query)
        text = self._template.format(context_str=context, query_str=query)
        return ChatMessage(role="user", content=text)


class WindowChatEngine(ContextChatEngine):
    """A chat engine that keeps the window in every call: system, memory, context and question.

    Takes every option by its name, and the arguments of `Bridge`; a `context_window` must be among
    them or in the profile. The memory keeps all it holds: only the calls are cut.

        chat = WindowChatEngine(index.as_retriever(), llm=llm, profile="claude")
    """

    def __init__(
        self,
        retriever: Any,
        *,
        llm: Any,
        memory: Any = None,
        system_prompt: str = "",
        template: str = _TEMPLATE,
        node_postprocessors: Any = None,
        **options: Any,
    ) -> None:
        if Bridge(**options).window is None:
            message = "context_window: set it, or choose a profile that does"
            raise OptionError(message, option="context_window")
        system = [ChatMessage(role="system", content=system_prompt)] if system_prompt else []
        super().__init__(
            retriever,
            llm=llm,
            # The memory's own limit counts by another tokenizer; ours decides.
            memory=memory or ChatMemoryBuffer.from_defaults(token_limit=10**9),
            prefix_messages=system,
            node_postprocessors=node_postprocessors,
        )
        self._words, self._options = template, options

    def _get_nodes(self, message: str) -> list[NodeWithScore]:
        return _Nodes(super()._get_nodes(message))

    async def _aget_nodes(self, message: str) -> list[NodeWithScore]:
        return _Nodes(await super()._aget_nodes(message))

    def _get_response_synthesizer(
        self, chat_history: list[ChatMessage], streaming: bool = False
    ) -> ContextSynthesizer:
        return ContextSynthesizer(
            self._words,
            llm=self._llm,
            streaming=streaming,
            system=self._prefix_messages,
            history=chat_history,
            **self._options,
        )


def _read(scored: NodeWithScore) -> str:
    return str(scored.node.get_content(metadata_mode=MetadataMode.LLM))


def _before(scored: NodeWithScore) -> list[str]:
    # A synthesizer puts metadata before a node's text, in lines that cost tokens too.
    text = str(scored.node.get_content(metadata_mode=MetadataMode.NONE))
    if not text:
        return []
    # The last place of the text: metadata may quote it. Without any place, a template of the node's
    # own has changed the text, and no line is known to be before it.
    head = _read(scored).rpartition(text)[0]
    return head.removesuffix("\n").split("\n") if head else []


def _shortened(scored: NodeWithScore, kept: KeptDocument) -> NodeWithScore:
    node = scored.node.model_copy()
    node.metadata = {**node.metadata, NOTE_KEY: kept.note}
    node.excluded_llm_metadata_keys = [*node.excluded_llm_metadata_keys, NOTE_KEY]
    node.excluded_embed_metadata_keys = [*node.excluded_embed_metadata_keys, NOTE_KEY]
    node.set_content(kept.text)
    return NodeWithScore(node=node, score=scored.score)
