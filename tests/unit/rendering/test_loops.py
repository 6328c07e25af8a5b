"""A loop goes on while a thread renders for it."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import promptforge as pf

BEATS = 20
ITEMS = [{"content": f"Number {n} is read by tar.", "name": f"note {n}"} for n in range(3)]


class Waiting:
    """A tokenizer whose first count ends when the loop has gone on."""

    name = "waiting"

    def __init__(self) -> None:
        self.beaten = threading.Event()
        self.went_on: list[bool] = []

    def count(self, text: str) -> int:
        self.went_on.append(self.beaten.wait(30 if not self.went_on else 0))
        return len(text)


async def beside_a_heart(waiting: Waiting, work: Awaitable[Any]) -> Any:
    async def beat() -> None:
        for _ in range(BEATS):
            await asyncio.sleep(0)
        waiting.beaten.set()

    heart = asyncio.create_task(beat())
    made = await work
    await heart
    return made


CALLS: dict[str, Callable[[pf.Renderer], Awaitable[Any]]] = {
    "arender": lambda renderer: renderer.arender(ITEMS, query="tar"),
    "aprompt": lambda renderer: renderer.aprompt(ITEMS, user="tar?", to="openai"),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_loop_goes_on_while_a_thread_renders(name: str) -> None:
    waiting = Waiting()
    renderer = pf.Renderer(tokenizer=waiting, max_tokens=500)
    made = asyncio.run(beside_a_heart(waiting, CALLS[name](renderer)))
    assert waiting.went_on and all(waiting.went_on)
    if name == "arender":
        assert made.text == renderer.render(ITEMS, query="tar").text
    else:
        assert made.request == renderer.prompt(ITEMS, user="tar?", to="openai").request


def test_an_embedding_is_awaited_on_the_loop_that_asks() -> None:
    loops = set()

    async def embed(texts: list[str]) -> list[list[float]]:
        loops.add(asyncio.get_running_loop())
        return [[float("Number 2" in text or text == "xyzzy"), 0.1] for text in texts]

    async def ask() -> bool:
        made = await pf.Renderer(embed=embed).arender(ITEMS, query="xyzzy")
        return loops == {asyncio.get_running_loop()} and "Number 2" in made.text

    assert asyncio.run(ask())


def test_help_shows_the_parameters_of_the_plain_call() -> None:
    for name, plain in (("arender", pf.Renderer.render), ("aprompt", pf.Renderer.prompt)):
        assert inspect.signature(getattr(pf.Renderer, name)) == inspect.signature(plain)


def test_an_error_of_the_thread_is_raised() -> None:
    with pytest.raises(pf.OptionError, match="max_tokns"):
        asyncio.run(pf.Renderer().arender(ITEMS, max_tokns=3))  # type: ignore[call-arg]
