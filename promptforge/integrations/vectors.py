"""Embeddings of any framework, known by what they can do and not by their class; also those that must be awaited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any, TypeVar

from ..answers.asking import Embed
from ..errors import OptionError, show

T = TypeVar("T")


class _Waiter:
    """The loop that waits for what a thread does, and does the awaiting for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._over = False
        self._asked: set[Future[Any]] = set()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns; the thread waits, unless nobody waits for the thread any more."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        self._asked.add(future)
        if self._over:
            future.cancel()
        return future.result()

    def give_up(self) -> None:
        """Cancel what is awaited for the thread, and what it would yet ask for."""
        self._over = True
        for future in list(self._asked):
            future.cancel()


_WAITER: ContextVar[_Waiter | None] = ContextVar("waiter", default=None)


class Embedding:
    """A function from texts to vectors, with one of its own for queries where the framework tells them apart."""

    def __init__(self, texts: Embed, queries: Embed) -> None:
        self._texts = texts
        self.queries = queries
        """What is asked is embedded by this."""

    def __call__(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""
        return self._texts(texts)


def embedding(embedder: Any) -> Embed:
    """Return what `Renderer(embed=...)` takes, of an embedding of LangChain, LlamaIndex or Haystack, or a function.

    LangChain: `embed_documents` and `embed_query`. LlamaIndex: `get_text_embedding_batch` and `get_query_embedding`.
    Haystack: a text embedder (a component whose `run` takes `text`), which embeds both. A function may be async: under
    a bridge's async method it is awaited on the loop that called it, else on a loop of its own.

    Raises `OptionError` for anything else.
    """
    if hasattr(embedder, "embed_documents") and hasattr(embedder, "embed_query"):
        return Embedding(
            embedder.embed_documents, lambda texts: [embedder.embed_query(text) for text in texts]
        )
    if hasattr(embedder, "get_text_embedding_batch") and hasattr(embedder, "get_query_embedding"):
        return Embedding(
            embedder.get_text_embedding_batch,
            lambda texts: [embedder.get_query_embedding(text) for text in texts],
        )
    if "text" in inputs(embedder):
        warm_up(embedder)
        return lambda texts: [embedder.run(text=text)["embedding"] for text in texts]
    if callable(embedder) and not isinstance(embedder, type):
        function: Callable[[list[str]], Any] = embedder
        return (lambda texts: _awaited(function(texts))) if is_async(embedder) else function
    message = (
        f"embed takes a function from a list of texts to a vector each, or an embedding of LangChain or LlamaIndex, "
        f"or a text embedder of Haystack; got {show(embedder)}"
    )
    raise OptionError(message, option="embed")


async def in_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns, done in a thread while this loop goes on; what it has to await is awaited here.

    Cancelled, what is awaited for the thread is cancelled too; the thread itself ends when its work does.
    """
    waiter = _Waiter(asyncio.get_running_loop())
    token = _WAITER.set(waiter)
    try:
        return await asyncio.to_thread(work)
    except asyncio.CancelledError:
        waiter.give_up()
        raise
    finally:
        _WAITER.reset(token)


def is_async(function: object) -> bool:
    """Return whether a call of `function` gives what must be awaited."""
    return any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004


def inputs(component: Any) -> frozenset[str]:
    """Return the names of what the `run` of a Haystack component takes."""
    run: Callable[..., Any] | None = getattr(component, "run", None)
    try:
        return frozenset(inspect.signature(run).parameters) if callable(run) else frozenset()
    except (TypeError, ValueError):
        return frozenset()


def warm_up(component: Any) -> None:
    """Let a Haystack component load what it needs."""
    if callable(getattr(component, "warm_up", None)):
        component.warm_up()


def _awaited(made: Awaitable[T]) -> T:
    """Return what an awaitable gives, from a thread that no loop runs in."""

    async def wait() -> T:
        return await made

    waiting: Coroutine[Any, Any, T] = wait()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        waiter = _WAITER.get()
        return asyncio.run(waiting) if waiter is None else waiter.wait(waiting)
    for each in (waiting, made):
        close = getattr(each, "close", None)
        if close is not None:
            close()
    message = "embed is async, and a loop runs where it is wanted at once; await the async method of the bridge"
    raise OptionError(message, option="embed")
