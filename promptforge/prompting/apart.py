"""Break up control tokens in the question and the history, because strangers wrote parts of them.

The system text and the instructions are the caller's own and stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..controls import Controls
from .messages import Block, Call, Cited, Message, Output, Text


def write_apart(messages: Sequence[Message], controls: Controls) -> tuple[list[Message], int]:
    """Return the messages with every control token broken up, and the number of changes."""
    made, count = [], 0
    for message in messages:
        blocks = []
        for block in message.blocks:
            block, changes = _block(block, controls)
            blocks.append(block)
            count += changes
        made.append(Message(message.role, tuple(blocks), message.breaks))
    return made, count


def _block(block: Block, controls: Controls) -> tuple[Block, int]:
    if isinstance(block, Text):
        text, count = controls.write_apart(block.text)
        return Text(text), count
    assert not isinstance(block, Cited)  # made from items later, which have been treated
    # A chat template prints ids and names too.
    (id_, name), changes = controls.plain([block.id, block.name])
    if isinstance(block, Output):
        text, count = controls.write_apart(block.text)
        return Output(id_, name, text, block.failed), count + changes
    arguments, count = block.arguments, 0
    # A server may decode the escapes, so "\u003c|im_end|>" is a token too. The change is made in
    # the decoded texts, so that the arguments stay JSON.
    if "\\" in arguments or controls.holds(arguments):
        decoded, count = controls.plain(json.loads(arguments))
        if count or controls.holds(arguments):
            arguments = json.dumps(decoded, ensure_ascii=False)
    return Call(id_, name, arguments), count + changes
