"""Load items from the source of a plug-in: `NAME:ARGUMENT`."""

from __future__ import annotations

from collections.abc import Callable

from .. import plugins
from ..diagnostics import Diagnostics
from ..errors import ItemError, nearest, quote
from ..items import Item
from .records import load_records


def load(spec: str, *, diagnostics: Diagnostics) -> list[Item]:
    """Return the items of `spec`: the name of a plug-in's source, a colon, and its argument.

    Raises `ItemError`, with the distribution, when there is no such source or it fails.
    """
    name, _, argument = spec.partition(":")
    plugin = plugins.find("sources", name, _refusal(spec))
    if plugin is None:
        known = [name for name, _ in plugins.names("sources")]
        hint = nearest(name, known) or "; no plug-in that is installed brings one"
        raise ItemError(f"there is no source {quote(name)}{hint}", where=spec)
    records = plugins.guarded(plugin, f"source {quote(name)}", _refusal(spec), argument)
    return load_records(records, where=spec, diagnostics=diagnostics)


def _refusal(spec: str) -> Callable[[str], ItemError]:
    return lambda message: ItemError(message, where=spec)
