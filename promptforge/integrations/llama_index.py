"""LlamaIndex: nodes fitted to a budget, and a prompt template with the rendered context in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import OptionError, quote
from .bridge import NOTE, Bridge, Kept, missing
from .retrieval import aretrieve, retrieve
from .vectors import embedding, in_thread

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.prompts import PromptTemplate
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ImportError as error:
    raise missing("llama-index", error) from error

__all__ = ["ContextPostprocessor", "ContextPromptTemplate", "aretrieve", "embedding", "retrieve"]


class ContextPostprocessor(BaseNodePostprocessor):
    """Fits nodes to a budget: what a response synthesizer reads of them, joined, costs at most `max_tokens`.

    That is each node's text after those of its metadata that are for the LLM, with an empty line between two nodes.
    Takes every option by its name, and what `bridge.Bridge` takes. With a `layout` of your own choice the budget is
    for the page in that layout.
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
        """Return the name under which LlamaIndex writes it down."""
        return "PromptForgeContextPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """Return the nodes that fit, in the order of the page: the same objects, shortened ones as copies.

        A copy says in its metadata, under `promptforge` and not for the LLM, in which form it is and how many
        characters it had.
        """
        query = query_bundle.query_str if query_bundle is not None else None
        return self._bridge.fit_joined(nodes, query, copy=_shortened, read=_read, before=_before)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """Return what `_postprocess_nodes` does, made in a thread; an async `embed` is awaited."""
        return await in_thread(lambda: self._postprocess_nodes(nodes, query_bundle))


class ContextPromptTemplate(PromptTemplate):
    """A prompt template of which one variable takes nodes, or the text a synthesizer joined, and becomes the context.

    The text of a synthesizer is one text: it is fenced and kept to the budget as a whole. Give nodes where you call
    `format` yourself, or a `ContextPostprocessor` before the synthesizer, to have them chosen and shortened each.
    `context_key` names the variable, `query_key` the one that holds what is asked. Takes every option by its name, and
    what `bridge.Bridge` takes. The budget is for the context alone.
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
            message = f"context_key: the template has no variable {quote(context_key)}; it has {self.template_vars}"
            raise OptionError(message, option="context_key")
        self._bridge = bridge

    def format(self, llm: Any = None, completion_to_prompt: Any = None, **kwargs: Any) -> str:
        """Return the prompt, the context in the place of the nodes or of the joined text."""
        values = {**self.kwargs, **kwargs}
        documents = values.get(self.context_key)
        if documents:
            query = values.get(self.query_key)
            fitted = self._bridge.fit(documents, query if isinstance(query, str) else None)
            values[self.context_key] = fitted.result.text
        elif documents is not None:
            values[self.context_key] = ""
        return str(super().format(llm, completion_to_prompt, **values))


def _read(scored: NodeWithScore) -> str:
    """Return what a response synthesizer reads of a node."""
    return str(scored.node.get_content(metadata_mode=MetadataMode.LLM))


def _before(scored: NodeWithScore) -> list[str]:
    """Return the lines of its metadata that a synthesizer reads before a node's text."""
    text = str(scored.node.get_content(metadata_mode=MetadataMode.NONE))
    head, found, _ = _read(scored).rpartition(text) if text else ("", "", "")
    return head.removesuffix("\n").split("\n") if found and head else []


def _shortened(scored: NodeWithScore, kept: Kept) -> NodeWithScore:
    node = scored.node.model_copy()
    node.metadata = {**node.metadata, NOTE: kept.note}
    node.excluded_llm_metadata_keys = [*node.excluded_llm_metadata_keys, NOTE]
    node.excluded_embed_metadata_keys = [*node.excluded_embed_metadata_keys, NOTE]
    node.set_content(kept.text)
    return NodeWithScore(node=node, score=scored.score)
