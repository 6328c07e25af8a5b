"""Event loops of callers: they go on while a thread renders, and run what it has to await."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
P = ParamSpec("P")
LOOP_OF_CALLER: ContextVar[Callable[[Coroutine[Any, Any, Any]], Any] | None] = ContextVar(
    "loop_of_caller", default=None
)
"""Runs a coroutine for a thread on the loop that the thread works for, and returns its result."""


def wait_for(made: Any) -> Any:
    """Return the result of an awaitable, also in a thread that runs a loop; else what is given."""
    if not inspect.isawaitable(made):
        return made
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    async def wait() -> Any:
        return await made

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return (LOOP_OF_CALLER.get() or asyncio.run)(wait())
    # This thread's loop waits for the rendering, so another one has to wait for the function.
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, wait()).result()


async def run_in_thread(work: Callable[[], T]) -> T:
    """Do `work` in a thread; coroutines that it has to await run on this loop.

    Cancelled, it cancels these coroutines; the thread itself ends when its work does.
    """
    import asyncio  # 20 ms that only an async caller is worth

    loop, cancelled = asyncio.get_running_loop(), False
    futures: list[Future[Any]] = []

    def wait(coroutine: Coroutine[Any, Any, Any]) -> Any:
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        futures.append(future)
        if cancelled:  # looked at after the future is in the list: one of the two cancels it
            future.cancel()
        return future.result()

    token = LOOP_OF_CALLER.set(wait)  # `to_thread` copies it into the thread
    try:
        return await asyncio.to_thread(work)
    except asyncio.CancelledError:
        cancelled = True
        for future in list(futures):
            future.cancel()
        raise
    finally:
        LOOP_OF_CALLER.reset(token)


def in_thread(
    plain: Callable[P, T],
) -> Callable[[Callable[..., None]], Callable[P, Coroutine[Any, Any, T]]]:
    """Make an async function, with the name and words of another, that does `plain` in a thread."""

    def make(named: Callable[..., None]) -> Callable[P, Coroutine[Any, Any, T]]:
        async def work(*args: P.args, **options: P.kwargs) -> T:
            return await run_in_thread(lambda: plain(*args, **options))

        vars(update_wrapper(work, named)).pop("__wrapped__")
        work.__signature__ = inspect.signature(plain)  # type: ignore[attr-defined]
        return work

    return make
