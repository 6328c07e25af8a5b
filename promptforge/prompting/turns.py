"""Turns of a conversation, and how many of the old ones go when room is short."""

from __future__ import annotations

from collections.abc import Sequence

from .messages import Message

STEPS = 4
"""The cut moves in steps of so much of the room: a fourth."""


def turns_of(messages: Sequence[Message]) -> list[list[Message]]:
    """Return the messages in turns: one begins with each message of the user that says something of its own.

    Results of tools are never the beginning of one, so that a call and its result are always in the same.
    """
    turns: list[list[Message]] = []
    for message in messages:
        if not turns or (message.role == "user" and turns[-1][-1].role != "user"):
            turns.append([])
        turns[-1].append(message)
    return turns


def cut(costs: Sequence[int], room: int) -> int:
    """Return how many turns go from the old end so that what is left costs at most `room`.

    `costs` are the turns' tokens, the oldest first. Where any must go, so many do that their tokens reach a multiple of
    a step: while a conversation grows by less than a step the cut stays where it is, and so does the beginning of the
    prompt, which a provider may have cached. The newest turn stays if it fits at all.
    """
    over = sum(costs) - room
    if over <= 0:
        return 0
    step = _round(room // STEPS)
    goal = -(-over // step) * step
    gone = 0
    for n, cost in enumerate(costs[:-1]):
        if gone >= goal:
            return n
        gone += cost
    return len(costs) - 1 if costs[-1] <= room else len(costs)


def _round(step: int) -> int:
    """Return `step` with its first two binary digits alone: a room that differs by a little has the same step."""
    if step < 1:
        return 1
    low = max(0, step.bit_length() - 2)
    return step >> low << low
