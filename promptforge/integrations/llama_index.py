"""LlamaIndex: nodes fitted to a budget, and a prompt template with the rendered context in it."""

from __future__ import annotations

from collections.abc import Mapping
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
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.prompts import PromptTemplate
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ImportError as error:
    raise missing_extra("llama-index", error) from error

__all__ = ["ContextPostprocessor", "ContextPromptTemplate", "aretrieve", "embedding", "retrieve"]


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

    A synthesizer joins the nodes into one text, which is fenced and cut as a whole. To choose and
    shorten nodes one by one, call `format` with nodes, or put a `ContextPostprocessor` before the
    synthesizer.

    The variable `context_key` takes nodes or a text; `query_key` holds the question. Takes every
    option by its name, and the arguments of `Bridge`. The budget is for the context alone.
    """

    context_key: str = "context_str"
    query_key: str = "query_str"
    options: Mapping[str, Any] = {}
    """As they were given."""
    _bridge: Bridge = PrivateAttr()

    def __init__(
        self,
        template: str = "{context_str}\n\n{query_str}",
        *,
        context_key: str = "context_str",
        query_key: str = "query_str",
        **options: Any,
    ) -> None:
        bridge = Bridge(**options)
        super().__init__(template)
        self.context_key, self.query_key, self.options = context_key, query_key, options
        if context_key not in self.template_vars:
            message = f"context_key: the template has no variable {quote(context_key)}"
            raise OptionError(f"{message}; it has {self.template_vars}", option="context_key")
        self._bridge = bridge

    def format(self, llm: Any = None, completion_to_prompt: Any = None, **kwargs: Any) -> str:
        """Return the prompt, with the context in the place of the nodes or the joined text."""
        values = {**self.kwargs, **kwargs}
        documents = values.get(self.context_key)
        if documents:
            query = values.get(self.query_key)
            if not isinstance(query, str):
                query = None
            fitted = self._bridge.fit(documents, query)
            values[self.context_key] = fitted.result.text
        elif documents is not None:
            values[self.context_key] = ""
        return str(super().format(llm, completion_to_prompt, **values))


def _read(scored: NodeWithScore) -> str:
    """Return the text that a response synthesizer takes of a node."""
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
