"""Marks of a cache in a history: the next request must find the last mark of the one before.

Anthropic looks for a cached prefix at each mark and at the 20 blocks before it. A step of 25
parallel calls adds 50 blocks, so marks that other parts leave free stand in the history too.
"""

from __future__ import annotations

from collections.abc import Sequence

from .messages import Message, OpaqueBlock

STEP_BLOCKS = 5
"""Further marks stand at multiples of so many blocks, so that they seldom move."""


def mark_history(messages: Sequence[Message], spare: int, look_back: int) -> list[Message]:
    """Return the messages with a mark at their end, and `spare` marks within `look_back` blocks.

    `look_back` are the blocks before a mark that the provider looks at; 0: at none, so no further
    mark is of use.
    """
    blocks = [block for message in messages for block in message.blocks]
    marks = {len(blocks)}
    at = len(blocks)
    for _ in range(spare if look_back else 0):
        at = -(-(at - look_back) // STEP_BLOCKS) * STEP_BLOCKS  # rounded up
        while at > 0 and isinstance(blocks[at - 1], OpaqueBlock):  # a thought takes no mark
            at += 1
        if at <= 0:
            break
        marks.add(at)
    made = []
    start = 0
    for message in messages:
        end = start + len(message.blocks)
        breaks = tuple(sorted(mark - start for mark in marks if start < mark <= end))
        same = not (breaks or message.breaks)
        made.append(message if same else Message(message.role, message.blocks, breaks))
        start = end
    return made
