"""Messages as all families of LLMs have them, in one form that any of their shapes is made from."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..escaping import SURROGATE

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")


def sound(text: str) -> str:
    """Return `text` with U+FFFD for each lone surrogate, which no request can carry."""
    return text if text.isascii() else SURROGATE.sub("\ufffd", text)


class Text(msgspec.Struct, frozen=True):
    """What a message says."""

    text: str


class Call(msgspec.Struct, frozen=True):
    """A tool that the LLM called."""

    id: str
    name: str
    arguments: str
    """A JSON object, as text."""


class Output(msgspec.Struct, frozen=True):
    """What a tool gave back."""

    id: str
    """That of the call."""
    name: str
    """The tool's; empty where it is not known."""
    text: str
    failed: bool = False


class Cited(msgspec.Struct, frozen=True):
    """An item as a block of its own, for providers whose answers point at such blocks."""

    title: str
    source: str
    text: str
    found: bool
    """Whether a search found it, rather than the user named it."""


Block = Text | Call | Output | Cited


class Message(msgspec.Struct, frozen=True):
    """One message. Roles are set here and nowhere else: no text is ever read for them."""

    role: Role
    blocks: tuple[Block, ...]
    breaks: tuple[int, ...] = ()
    """How many blocks there are up to each end of a stable prefix that is to be marked."""

    @property
    def text(self) -> str:
        """What it says, a blank line between blocks."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Text))


def texts_of(block: Block) -> list[str]:
    """Return every text of a block."""
    if isinstance(block, Text):
        return [block.text]
    if isinstance(block, Call):
        return [block.name, block.id, block.arguments]
    if isinstance(block, Output):
        return [block.name, block.id, block.text]
    return [block.title, block.source, block.text]


def join(messages: list[Message]) -> list[Message]:
    """Return the messages with neighbours of the same role as one."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            last = joined.pop()
            moved = tuple(len(last.blocks) + n for n in message.breaks)
            message = Message(message.role, last.blocks + message.blocks, last.breaks + moved)
        joined.append(message)
    return joined
