"""LangChain's agents: a middleware that keeps every call of the model within its window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from .bridge import aretrieve, missing_extra, retrieve, run_in_thread

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
except ImportError as error:
    raise missing_extra("langchain-agents", error) from error

from .langchain import MessageWindow

__all__ = ["WindowMiddleware"]


class WindowMiddleware(AgentMiddleware):
    """Keeps system text, tools, history and context of every model call within the window.

    Takes every option by its name, and the arguments of `Bridge`. `retriever` is asked with the
    user's last message; its documents are rendered before that message, in each call. See
    `MessageWindow` for what is left out first.

        agent = create_agent(model, tools, middleware=[WindowMiddleware(profile="claude")])
    """

    def __init__(self, *, retriever: Any = None, **options: Any) -> None:
        super().__init__()
        self._retriever = retriever
        self._order = options.get("score_order")
        self._window = MessageWindow(**options)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the messages that fit."""
        documents, query = None, _question(request)
        if self._retriever is not None and query:
            documents = retrieve(self._retriever, query, score_order=self._order)
        return handler(self._fitted(request, documents))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model with the messages that fit, rendering in a thread."""
        documents, query = None, _question(request)
        if self._retriever is not None and query:
            documents = await aretrieve(self._retriever, query, score_order=self._order)
        return await handler(await run_in_thread(lambda: self._fitted(request, documents)))

    def _fitted(self, request: ModelRequest[Any], documents: Any) -> ModelRequest[Any]:
        system = [request.system_message] if request.system_message else []
        given = [*system, *request.messages]
        made = self._window.fit(given, tools=request.tools, documents=documents).messages
        return request.override(messages=made[len(system) :])


def _question(request: ModelRequest[Any]) -> str:
    said = [message.text for message in request.messages if message.type == "human"]
    return said[-1] if said else ""
