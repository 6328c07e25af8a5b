"""The question and the history without control tokens: people and tools wrote them, as others wrote the items.

System text and instructions are the caller's own and stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..controls import Controls
from .messages import Block, Call, Cited, Message, Output, Text


def write_apart(messages: Sequence[Message], controls: Controls) -> tuple[list[Message], int]:
    """Return the messages with every control token in them written apart, and how many places were changed."""
    made, count = [], 0
    for message in messages:
        blocks = []
        for block in message.blocks:
            block, more = _block(block, controls)
            blocks.append(block)
            count += more
        made.append(Message(message.role, tuple(blocks), message.breaks))
    return made, count


def _block(block: Block, controls: Controls) -> tuple[Block, int]:
    if isinstance(block, Text):
        text, count = controls.write_apart(block.text)
        return Text(text), count
    assert not isinstance(block, Cited)  # an item's, treated with the items
    (own, name), named = controls.plain([block.id, block.name])  # a chat template prints these too
    if isinstance(block, Output):
        text, count = controls.write_apart(block.text)
        return Output(own, name, text, block.failed), count + named
    arguments, count = block.arguments, 0
    if "\\" in arguments or controls.holds(arguments):  # a server may read the JSON and its escapes
        read, count = controls.plain(json.loads(arguments))  # in its texts, so that it stays JSON
        if count or controls.holds(arguments):
            arguments = json.dumps(read, ensure_ascii=False)
    return Call(own, name, arguments), count + named
