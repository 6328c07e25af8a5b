"""Tool calls and their results. Providers refuse a call without its result right after it."""

from __future__ import annotations

from typing import NamedTuple

from ..diagnostics import Diagnostics
from ..errors import quote
from .messages import Block, Call, Message, Output


class _Waiting(NamedTuple):
    """A call without a result so far, and its place in the row of kept blocks."""

    call: Call
    row: list[Block | None]
    at: int


def pair(messages: list[Message], where: str, diagnostics: Diagnostics) -> list[Message]:
    """Drop calls without a result and results without a call (PF209); give every call an id."""
    waiting: dict[str, _Waiting] = {}
    rows: list[list[Block | None]] = []
    lost: list[str] = []
    given_ids = {
        block.id
        for message in messages
        for block in message.blocks
        if isinstance(block, Call | Output)
    }
    for index, message in enumerate(messages):
        row: list[Block | None] = []
        rows.append(row)
        if message.role != "tool":
            lost += _give_up(waiting)
        for block in message.blocks:
            if isinstance(block, Call):
                id_ = block.id
                # Gemini's calls may come without an id, and a broken history may use one id twice.
                if not id_ or id_ in waiting:
                    id_ = f"{id_ or 'call'}_{index}_{len(row)}"
                    while id_ in given_ids:
                        id_ += "_"
                call = Call(id_, block.name, block.arguments)
                waiting[id_] = _Waiting(call, row, len(row))
                row.append(call)
            elif isinstance(block, Output):
                answered = waiting.pop(block.id or _first_waiting(waiting, block.name), None)
                if answered is None:
                    lost.append(f"the result of {quote(block.name or block.id)} has no call")
                    row.append(None)
                    continue
                id_, name = answered.call.id, answered.call.name
                row.append(Output(id_, name, block.text, block.failed))
            else:
                row.append(block)
    lost += _give_up(waiting)
    for text in lost:
        diagnostics.add("PF209", f"{text}; it was left out", where=where)
    kept = [tuple(block for block in row if block is not None) for row in rows]
    return [Message(m.role, blocks) for m, blocks in zip(messages, kept, strict=True) if blocks]


def _first_waiting(waiting: dict[str, _Waiting], name: str) -> str:
    """Find the call for a result without an id: the first waiting call of that tool."""
    fitting = (id_ for id_, entry in waiting.items() if name in ("", entry.call.name))
    return next(fitting, "")


def _give_up(waiting: dict[str, _Waiting]) -> list[str]:
    """Drop the calls that still wait; return a sentence for each."""
    lost = []
    for call, row, at in waiting.values():
        lost.append(f"the call of {quote(call.name)} has no result")
        row[at] = None
    waiting.clear()
    return lost
