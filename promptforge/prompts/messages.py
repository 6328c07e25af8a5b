"""Messages in one form of our own. Every provider's shape is read into it and made from it.

Tool calls and their results. Providers refuse a call without its result right after it.

Turns of a conversation. The oldest are left out when tokens are short.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from ..errors import Diagnostics, quote
from ..text.escape import SURROGATE

Role = Literal["system", "developer", "user", "assistant", "tool"]

ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")


def replace_surrogates(text: str) -> str:
    """Replace each lone surrogate by U+FFFD, because no request can carry one."""
    if text.isascii():
        return text
    return SURROGATE.sub("\ufffd", text)


class TextBlock(msgspec.Struct, frozen=True):
    """Plain text in a message."""

    text: str


class ToolCall(msgspec.Struct, frozen=True):
    """A tool call by the LLM."""

    id: str
    name: str
    arguments: str
    """A JSON object, as text."""


class ToolOutput(msgspec.Struct, frozen=True):
    """The result of a tool call."""

    id: str
    """The id of the call."""
    name: str
    """The tool's name; empty if unknown."""
    text: str
    failed: bool = False


class CitedItem(msgspec.Struct, frozen=True):
    """An item as a block of its own, for providers that let answers point at such blocks."""

    title: str
    source: str
    text: str
    found: bool
    """True if a search found the item, false if the user named it."""


MessageBlock = TextBlock | ToolCall | ToolOutput | CitedItem


class Message(msgspec.Struct, frozen=True):
    """One message. Its role is set by code; no text is ever searched for a role."""

    role: Role
    blocks: tuple[MessageBlock, ...]
    breaks: tuple[int, ...] = ()
    """Numbers of leading blocks after which a cache mark goes."""

    @property
    def text(self) -> str:
        """The text blocks, joined by blank lines."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))


def block_texts(block: MessageBlock) -> list[str]:
    """Return every text in a block."""
    if isinstance(block, TextBlock):
        return [block.text]
    if isinstance(block, ToolCall):
        return [block.name, block.id, block.arguments]
    if isinstance(block, ToolOutput):
        return [block.name, block.id, block.text]
    return [block.title, block.source, block.text]


def join_messages(messages: Iterable[Message]) -> list[Message]:
    """Merge neighbouring messages of the same role."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            last = joined.pop()
            moved = tuple(len(last.blocks) + n for n in message.breaks)
            message = Message(message.role, last.blocks + message.blocks, last.breaks + moved)
        joined.append(message)
    return joined


class _Waiting(NamedTuple):
    """A call without a result so far, and its place in the row of kept blocks."""

    call: ToolCall
    row: list[MessageBlock | None]
    at: int


def pair_calls(messages: list[Message], where: str, diagnostics: Diagnostics) -> list[Message]:
    """Drop calls without a result and results without a call (PF209); give every call an id."""
    waiting: dict[str, _Waiting] = {}
    rows: list[list[MessageBlock | None]] = []
    lost: list[str] = []
    given_ids = {
        block.id
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolCall | ToolOutput)
    }
    for index, message in enumerate(messages):
        row: list[MessageBlock | None] = []
        rows.append(row)
        if message.role != "tool":
            lost += _give_up(waiting)
        for block in message.blocks:
            if isinstance(block, ToolCall):
                id_ = block.id
                # Gemini's calls may come without an id, and a broken history may use one id twice.
                if not id_ or id_ in waiting:
                    id_ = f"{id_ or 'call'}_{index}_{len(row)}"
                    while id_ in given_ids:
                        id_ += "_"
                call = ToolCall(id_, block.name, block.arguments)
                waiting[id_] = _Waiting(call, row, len(row))
                row.append(call)
            elif isinstance(block, ToolOutput):
                answered = waiting.pop(block.id or _first_waiting(waiting, block.name), None)
                if answered is None:
                    lost.append(f"the result of {quote(block.name or block.id)} has no call")
                    row.append(None)
                    continue
                id_, name = answered.call.id, answered.call.name
                row.append(ToolOutput(id_, name, block.text, block.failed))
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


CUT_STEPS = 4
"""The number of steps in the room: the cut moves by a fourth of it."""


def split_turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Split messages into turns, each beginning with a message of the user."""
    turns: list[list[Message]] = []
    for message in messages:
        # A tool result is no user message here, so a call and its result share a turn.
        if not turns or (message.role == "user" and turns[-1][-1].role != "user"):
            turns.append([])
        turns[-1].append(message)
    return turns


def count_turns_to_drop(costs: Sequence[int], room: int) -> int:
    """Return how many of the oldest turns to leave out so that the others fit into `room` tokens.

    `costs` are the turns' tokens, oldest first. The newest turn stays if it fits at all.
    """
    over = sum(costs) - room
    if over <= 0:
        return 0
    # Cutting a whole step keeps the cut in place while the conversation grows by less than a step.
    # So the prompt begins with the same bytes, and the provider's cache of them stays useful.
    step = _round(room // CUT_STEPS)
    goal = -(-over // step) * step
    gone = 0
    for n, cost in enumerate(costs[:-1]):
        if gone >= goal:
            return n
        gone += cost
    if costs[-1] <= room:
        return len(costs) - 1
    return len(costs)


def _round(step: int) -> int:
    """Keep the first two binary digits, so that rooms of nearly the same size have one step."""
    if step < 1:
        return 1
    low = max(0, step.bit_length() - 2)
    return step >> low << low
