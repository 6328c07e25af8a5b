"""Fuel: a limit on the work of templates for one text, paid before the work is done.

Even an honest template can run away: eighteen nested loops, a text doubled thirty times. Every
template, macro and block pays for its size when it begins, a loop for its body times its rounds,
and every operation on long text for the characters. No clock is read: equal input ends the same
way on any machine.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from typing import Any

from ..errors import PromptForgeError, TemplateError

START = 3_000_000
"""Units for one rendering beside the allowances below. A unit is about one lookup, 0.1 µs."""
ORDINARY = 1_000
"""Units added each time a template is run."""
PER_ITEM = 5_000
"""Units added for each item it shows."""
PER_CHAR = 12
"""Units added for each character of the items: several times the need of the shipped templates."""
CHARS = 8
"""Characters of text that one unit pays for."""
PER_MEMBER = 3
"""Units for one member of a list."""
SHORT = 64
"""Characters of a text that is as cheap as any other value."""


class SpentError(PromptForgeError):
    """The fuel is used up; the message names the operation that needed more."""


class Tank:
    """The fuel of one rendering, and the lines of plain text that its values must not imitate."""

    __slots__ = ("frame", "left", "spent", "taken")

    def __init__(self, left: int = START) -> None:
        self.left = left
        self.frame: re.Pattern[str] | None = None
        """Lines of plain text that no value may pass for."""
        self.taken = 0
        """Values that would have passed for one; the caller sets it to 0."""
        self.spent: TemplateError | None = None
        """Raised for every later template of the rendering once the fuel is used up."""


class _Here(threading.local):
    """The tank in use in this thread; an empty one while no template runs."""

    tank = Tank(0)


_here = _Here()
# Types of values a template makes itself. The engine gives it subclasses of these, which are
# shared between renderings and so cost nothing.
_MADE = (list, tuple, dict)


def use(tank: Tank, items: int = 1, chars: int = 0) -> None:
    """Let the next template of this thread burn from `tank`, after adding the usual allowance.

    The engine decides how often a template is run, so each run brings its own allowance, for
    `items` items with `chars` characters. Raises `TemplateError` if the tank has run out before.
    """
    if tank.spent is not None:
        raise tank.spent
    tank.left += ORDINARY + PER_ITEM * items + PER_CHAR * chars
    _here.tank = tank


def passes_for_frame(text: str) -> bool:
    """Tell whether the text of a whole line looks like one of the template's, and count it."""
    tank = _here.tank
    if tank.frame is None or tank.frame.match(text) is None:
        return False
    tank.taken += 1
    return True


def chars_in(values: Iterable[Any]) -> int:
    """Return the characters of all texts in an item's fields, however deep."""
    total = 0
    for value in values:
        if isinstance(value, str):
            total += len(value)
        elif value and isinstance(value, dict):
            total += chars_in(value.values())
        elif value and isinstance(value, list | tuple):
            total += chars_in(value)
    return total


def end(error: SpentError, where: str) -> TemplateError:
    """Return the error of a rendering that ran out of fuel at `where` (name:line), and keep it."""
    found = _here.tank.spent = TemplateError(str(error), where=where)
    return found


def burn(units: int, what: str) -> None:
    """Take units out of the tank; raises `SpentError`, naming `what`, if it holds fewer."""
    tank = _here.tank
    tank.left -= units
    if tank.left < 0:
        raise SpentError(f"too much work for one text; it ended at {what}")


def burn_text(chars: int, price: int = 1) -> None:
    """Pay for a text of so many characters; copying it has the `price` 1."""
    tank = _here.tank
    tank.left -= chars * price // CHARS
    if tank.left < 0:
        burn(0, f"a text of {chars:,} characters")


def weigh(value: Any, *, deep: bool = False) -> None:
    """Pay for a value and all it holds; the engine's own mappings count as one unless `deep`."""
    left = _here.tank.left
    total = 0
    waiting = [value]
    while waiting and total <= left:
        one = waiting.pop()
        total += PER_MEMBER
        if isinstance(one, str):
            total += len(one) // CHARS
        elif type(one) in _MADE or (deep and isinstance(one, dict)):
            total += PER_MEMBER * len(one)
            if total > left:  # too large even to list
                break
            waiting.extend(one.values() if isinstance(one, dict) else one)
    burn(total, "a list or text of very many parts")
