"""Plug-ins of other distributions, found by entry points when a name is not built in.

- `promptforge.tokenizers`: an object with `name` and `count(text)`, or a function that returns one;
- `promptforge.sources`: `load(argument)`, returning records of any known shape;
- `promptforge.trimmers`, named as a kind: `shorten(text, *, marker, language)`, returning texts;
- `promptforge.filters`: `change(value, *arguments)`, returning plain data, escaped like any other.

`PROMPTFORGE_PLUGINS`, a variable of the user's, names the distributions that may be loaded, with
commas between. Any other is never imported: it may have come with an unrelated package.
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
PLUGINS_VARIABLE = "PROMPTFORGE_PLUGINS"


class Plugin(NamedTuple):
    """A loaded entry point."""

    value: Any
    distribution: str
    """Name and version of the distribution that brought it."""


def find_plugin(
    group: Group, name: str, refusal: Callable[[str], PromptForgeError]
) -> Plugin | None:
    """Return the plug-in called `name`, or `None`.

    `refusal` makes the error from a message: for a name in several distributions, one that cannot
    be loaded, and a tokenizer or source of a distribution that the user has not listed.
    """
    points = [point for point in _allowed_points(group) if point.name == name]
    if not points:
        others = []
        if group in ("tokenizers", "sources"):  # what lacks another plug-in is done without it
            others = [point for point in _points(f"promptforge.{group}") if point.name == name]
        if others:
            named = others[0].dist.name if others[0].dist else "its distribution"
            message = f"{group[:-1]} {quote(name)} is a plug-in of {_distribution(others[0])}"
            raise refusal(f"{message}, which is not run; {PLUGINS_VARIABLE}={named} allows it")
        return None
    if len({point.value for point in points}) > 1:
        brought = ", ".join(sorted(_distribution(point) for point in points))
        raise refusal(
            f"{group[:-1]} {quote(name)} is in more than one distribution: {brought};"
            f" set {PLUGINS_VARIABLE} to one"
        )
    plugin = Plugin(None, _distribution(points[0]))
    try:
        return plugin._replace(value=points[0].load())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may raise anything at all when it is imported
        raise refusal(failure_message(plugin, f"{group[:-1]} {quote(name)}", error)) from error


def plugin_names(group: Group) -> list[tuple[str, str]]:
    """Return the names of a group with their distributions, sorted; load nothing."""
    return sorted({(point.name, _distribution(point)) for point in _allowed_points(group)})


def call_plugin(
    plugin: Plugin, what: str, refusal: Callable[[str], PromptForgeError], *given: Any, **named: Any
) -> Any:
    """Call a plug-in; whatever it raises becomes the error that `refusal` makes of the message."""
    try:
        return plugin.value(*given, **named)
    except (PromptForgeError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise refusal(failure_message(plugin, what, error)) from error


def failure_message(plugin: Plugin, what: str, error: BaseException) -> str:
    """Return the message for an exception of a plug-in."""
    said = f"{type(error).__name__}: {quote(str(error))}"
    return f"{what}, a plug-in of {plugin.distribution}, failed: {said}"


@functools.cache
def _points(group: str) -> tuple[EntryPoint, ...]:
    # Imported late: it takes 40 ms, and built-in names need none of it.
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


def _allowed_points(group: Group) -> list[EntryPoint]:
    listed = os.environ.get(PLUGINS_VARIABLE, "")
    allowed = {_normalize(name) for name in listed.split(",") if name.strip()}
    points = _points(f"promptforge.{group}") if allowed else ()
    return [point for point in points if point.dist and _normalize(point.dist.name) in allowed]


def _normalize(name: str) -> str:
    """Return the name of a distribution as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"
