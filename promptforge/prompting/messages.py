"""Messages in one form of our own. Every provider's shape is read into it and made from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from ..escaping import SURROGATE

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")


def sound(text: str) -> str:
    """Replace each lone surrogate by U+FFFD, because no request can carry one."""
    if text.isascii():
        return text
    return SURROGATE.sub("\ufffd", text)


class Text(msgspec.Struct, frozen=True):
    """Plain text in a message."""

    text: str


class Call(msgspec.Struct, frozen=True):
    """A tool call by the LLM."""

    id: str
    name: str
    arguments: str
    """A JSON object, as text."""


class Output(msgspec.Struct, frozen=True):
    """The result of a tool call."""

    id: str
    """The id of the call."""
    name: str
    """The tool's name; empty if unknown."""
    text: str
    failed: bool = False


class Cited(msgspec.Struct, frozen=True):
    """An item as a block of its own, for providers that let answers point at such blocks."""

    title: str
    source: str
    text: str
    found: bool
    """True if a search found the item, false if the user named it."""


Block = Text | Call | Output | Cited


class Message(msgspec.Struct, frozen=True):
    """One message. Its role is set by code; no text is ever searched for a role."""

    role: Role
    blocks: tuple[Block, ...]
    breaks: tuple[int, ...] = ()
    """Numbers of leading blocks after which a cache mark goes."""

    @property
    def text(self) -> str:
        """The text blocks, joined by blank lines."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Text))


def texts_of(block: Block) -> list[str]:
    """Return every text in a block."""
    if isinstance(block, Text):
        return [block.text]
    if isinstance(block, Call):
        return [block.name, block.id, block.arguments]
    if isinstance(block, Output):
        return [block.name, block.id, block.text]
    return [block.title, block.source, block.text]


def join(messages: Iterable[Message]) -> list[Message]:
    """Merge neighbouring messages of the same role."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            last = joined.pop()
            moved = tuple(len(last.blocks) + n for n in message.breaks)
            message = Message(message.role, last.blocks + message.blocks, last.breaks + moved)
        joined.append(message)
    return joined
