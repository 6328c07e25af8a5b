"""Plug-ins: what other distributions add under a name, found by their entry points when a name is not built in.

- `promptforge.tokenizers`: an object with `name` and `count(text)`, or a function of nothing that returns one;
- `promptforge.sources`: `load(argument)`, returning records of any known shape;
- `promptforge.trimmers`, called as a kind of items: `shorten(text, *, marker, language)`, returning shorter texts;
- `promptforge.filters`: `change(value, *arguments)`, returning plain data, which is escaped like any other.

`PROMPTFORGE_PLUGINS` names the distributions that may be loaded, with commas between; empty: none. Unset: all.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .errors import PromptForgeError, quote

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["tokenizers", "sources", "trimmers", "filters"]
SWITCH = "PROMPTFORGE_PLUGINS"


class Plugin(NamedTuple):
    """What an entry point led to."""

    value: Any
    distribution: str
    """Name and version of what brought it."""


def find(group: Group, name: str, refusal: Callable[[str], PromptForgeError]) -> Plugin | None:
    """Return the plug-in called `name`; `None`: there is none.

    Raises what `refusal` makes of a message that names the distribution: it cannot be loaded, or several have the name.
    """
    points = [
        point
        for point in _points(f"promptforge.{group}")
        if point.name == name and _is_wanted(point)
    ]
    if not points:
        return None
    if len({point.value for point in points}) > 1:
        brought = ", ".join(sorted(_brought(point) for point in points))
        raise refusal(
            f"{group[:-1]} {quote(name)} is in more than one distribution: {brought}; set {SWITCH} to one"
        )
    return _load(points[0], group, refusal)


def names(group: Group) -> list[tuple[str, str]]:
    """Return the names there are and what brings each, sorted; nothing is loaded."""
    points = filter(_is_wanted, _points(f"promptforge.{group}"))
    return sorted({(point.name, _brought(point)) for point in points})


def guarded(
    plugin: Plugin, what: str, refusal: Callable[[str], PromptForgeError], *given: Any, **named: Any
) -> Any:
    """Return what a plug-in returns; raises what `refusal` makes of its failure, whatever it is."""
    try:
        return plugin.value(*given, **named)
    except (PromptForgeError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise refusal(failure(plugin, what, error)) from error


def failure(plugin: Plugin, what: str, error: BaseException) -> str:
    """Return the message for what a plug-in raised."""
    return f"{what}, a plug-in of {plugin.distribution}, failed: {type(error).__name__}: {quote(str(error))}"


@functools.cache
def _points(group: str) -> tuple[EntryPoint, ...]:
    from importlib.metadata import (
        entry_points,
    )  # 40 ms that only a name that is not built in is worth

    return tuple(entry_points(group=group))


def _load(point: EntryPoint, group: Group, refusal: Callable[[str], PromptForgeError]) -> Plugin:
    try:
        return Plugin(point.load(), _brought(point))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a plug-in may raise anything at all when it is imported
        what = f"{group[:-1]} {quote(point.name)}"
        raise refusal(failure(Plugin(None, _brought(point)), what, error)) from error


def _is_wanted(point: EntryPoint) -> bool:
    allowed = os.environ.get(SWITCH)
    if allowed is None:
        return True
    own = _plain(point.dist.name) if point.dist else ""
    return own in {_plain(name) for name in allowed.split(",") if name.strip()}


def _plain(name: str) -> str:
    """Return the name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _brought(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"
