"""Turns of a conversation. The oldest are left out when tokens are short."""

from __future__ import annotations

from collections.abc import Sequence

from .messages import Message

STEPS = 4
"""The number of steps in the room: the cut moves by a fourth of it."""


def turns_of(messages: Sequence[Message]) -> list[list[Message]]:
    """Split messages into turns, each beginning with a message of the user."""
    turns: list[list[Message]] = []
    for message in messages:
        # A tool result is no user message here, so a call and its result share a turn.
        if not turns or (message.role == "user" and turns[-1][-1].role != "user"):
            turns.append([])
        turns[-1].append(message)
    return turns


def cut(costs: Sequence[int], room: int) -> int:
    """Return how many of the oldest turns to leave out so that the others fit into `room` tokens.

    `costs` are the turns' tokens, oldest first. The newest turn stays if it fits at all.
    """
    over = sum(costs) - room
    if over <= 0:
        return 0
    # Cutting a whole step keeps the cut in place while the conversation grows by less than a step.
    # So the prompt begins with the same bytes, and the provider's cache of them stays useful.
    step = _round(room // STEPS)
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
