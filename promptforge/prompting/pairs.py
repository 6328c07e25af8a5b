"""Calls of tools and their results: each call has its result right after it, or both are left out (PF209)."""

from __future__ import annotations

from ..diagnostics import Diagnostics
from ..errors import quote
from .messages import Block, Call, Message, Output


def pair(messages: list[Message], where: str, diagnostics: Diagnostics) -> list[Message]:
    """Return the messages without calls that have no result and results that have no call, and with ids for all."""
    waiting: dict[str, tuple[int, int]] = {}
    named: list[list[Block | None]] = [[] for _ in messages]
    lost: list[str] = []
    given = {
        block.id
        for message in messages
        for block in message.blocks
        if isinstance(block, Call | Output)
    }
    for at, message in enumerate(messages):
        if message.role != "tool" and waiting:  # the results of a call follow it at once
            lost += _forget(waiting, named)
        for block in message.blocks:
            kept: Block | None = block
            if isinstance(block, Call):
                own = block.id
                if not own or own in waiting:
                    own = f"{own or 'call'}_{at}_{len(named[at])}"
                    while own in given:
                        own += "_"
                waiting[own] = (at, len(named[at]))
                kept = Call(own, block.name, block.arguments)
            elif isinstance(block, Output):
                kept = _answer(block, waiting, named)
                if kept is None:
                    lost.append(f"the result of {quote(block.name or block.id)} has no call")
            named[at].append(kept)
    lost += _forget(waiting, named)
    for text in lost:
        diagnostics.add("PF209", f"{text}; it was left out", where=where)
    kept_blocks = (tuple(block for block in blocks if block is not None) for blocks in named)
    return [
        Message(m.role, blocks) for m, blocks in zip(messages, kept_blocks, strict=True) if blocks
    ]


def _answer(
    output: Output, waiting: dict[str, tuple[int, int]], named: list[list[Block | None]]
) -> Output | None:
    own = output.id
    if not own:  # Gemini's may have no id: the first call of that name that still waits
        calls = ((key, named[at][n]) for key, (at, n) in waiting.items())
        own = next(
            (
                key
                for key, call in calls
                if isinstance(call, Call) and output.name in ("", call.name)
            ),
            "",
        )
    if own not in waiting:
        return None
    at, n = waiting.pop(own)
    call = named[at][n]
    return Output(
        own, call.name if isinstance(call, Call) else output.name, output.text, output.failed
    )


def _forget(waiting: dict[str, tuple[int, int]], named: list[list[Block | None]]) -> list[str]:
    """Take out the calls that still wait, and return what there is to say of them."""
    lost = []
    for at, n in waiting.values():
        call = named[at][n]
        lost.append(
            f"the call of {quote(call.name if isinstance(call, Call) else '')} has no result"
        )
        named[at][n] = None
    waiting.clear()
    return lost
