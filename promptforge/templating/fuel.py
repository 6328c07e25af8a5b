"""Fuel: how much templates may do for one text. What they repeat, join and compare is paid for before it is done.

A template is a guest, and even one's own can run away: eighteen loops in each other, a text doubled thirty times. Every
template, macro and block pays for its size when it begins, a loop for its body times its rounds, and whatever makes or
reads long text for the characters. No clock has a say in it: the same input ends the same way on any machine.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from typing import Any

from ..errors import PromptForgeError, TemplateError

START = 3_000_000
"""Units of fuel for one rendering, above what is ordinary; one is roughly a value looked up, 0.1 microseconds."""
ORDINARY = 1_000
"""Units that come in addition each time a template is run, ..."""
PER_ITEM = 5_000
"""... for each item that it shows, ..."""
PER_CHAR = 12
"""... and for each character of their texts: several times what the shipped templates need."""
CHARS = 8
"""Characters for a unit."""
PER_MEMBER = 3
"""Units for a member of a list that is looked at."""
SHORT = 64
"""Characters of a text that costs no more than the value itself."""


class SpentError(PromptForgeError):
    """The fuel is used up; the message says by what."""


class Tank:
    """The fuel of one rendering, and what its templates may not print."""

    __slots__ = ("frame", "left", "spent", "taken")

    def __init__(self, left: int = START) -> None:
        self.left = left
        self.frame: re.Pattern[str] | None = None
        """Lines of plain text that no value may pass for."""
        self.taken = 0
        """How many values would have passed for one, counted by who sets it to 0."""
        self.spent: TemplateError | None = None
        """What is raised for every template of the rendering once the fuel is used up."""


class _Here(threading.local):
    """The tank that is in use in this thread; an empty one where no template runs."""

    tank = Tank(0)


_here = _Here()
_MADE = (list, tuple, dict)  # what a template makes itself; what it is given is of subclasses


def use(tank: Tank, items: int = 1, chars: int = 0) -> None:
    """Let the template that runs next in this thread burn what is in `tank`.

    How often one is run is for the engine to say, so what is ordinary for so many items with so many characters is
    added each time. Raises `TemplateError` where the tank has run out before.
    """
    if tank.spent is not None:
        raise tank.spent
    tank.left += ORDINARY + PER_ITEM * items + PER_CHAR * chars
    _here.tank = tank


def passes_for_frame(text: str) -> bool:
    """Tell whether a text that begins a line would pass for a line of the frame, and count it."""
    tank = _here.tank
    if tank.frame is None or tank.frame.match(text) is None:
        return False
    tank.taken += 1
    return True


def chars_in(values: Iterable[Any]) -> int:
    """Return the characters of all texts in an item's fields: a long name, too, is no work of the template's."""
    total = 0
    for value in values:
        if isinstance(value, str):
            total += len(value)
        elif value and isinstance(value, _MADE):
            total += chars_in(value.values() if isinstance(value, dict) else value)
    return total


def end(error: SpentError, where: str) -> TemplateError:
    """Return the error for the rendering whose fuel was used up at `where`, a template's name and line."""
    found = _here.tank.spent = TemplateError(str(error), where=where)
    return found


def burn(units: int, what: str) -> None:
    """Take units out of the tank; raises `SpentError` where there are not as many, with `what` they were to do."""
    tank = _here.tank
    tank.left -= units
    if tank.left < 0:
        raise SpentError(f"too much work for one text; it ended at {what}")


def burn_text(chars: int, price: int = 1) -> None:
    """Pay for a text of so many characters; `price` is how much more than copying it takes."""
    tank = _here.tank
    tank.left -= chars * price // CHARS
    if tank.left < 0:
        burn(0, f"a text of {chars:,} characters")


def weigh(value: Any, *, deep: bool = False) -> None:
    """Pay for a value by all it holds; an item or other fields of the engine's count as one, unless `deep`."""
    left = _here.tank.left
    total = 0
    waiting = [value]
    while waiting and total <= left:
        one = waiting.pop()
        if isinstance(one, str):
            total += PER_MEMBER + len(one) // CHARS
        elif type(one) in _MADE or (deep and isinstance(one, dict)):
            total += PER_MEMBER * (1 + len(one))
            if total <= left:
                waiting.extend(one.values() if isinstance(one, dict) else one)
        else:
            total += PER_MEMBER
    burn(total, "a list or text of very many parts")
