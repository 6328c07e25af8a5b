"""The filters and tests of templates; `templates/README.md` explains each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jinja2

from .. import escaping, fencing, plugins, wording
from ..cleaning import VERBATIM, clean
from ..errors import TemplateError
from ..safe import Content, Verbatim
from ..sources import plaindata
from . import fuel, metering


def _join(values: Any, separator: str = ", ") -> str:
    if values is None:
        return ""
    if not isinstance(values, list | tuple):
        return escaping.to_text(values)
    texts = list(map(escaping.to_text, values))
    fuel.burn_text(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _default(value: Any, other: Any = "") -> Any:
    if isinstance(value, jinja2.Undefined) or value is None or value == "":
        return other
    return value


def _text_filter(change: Callable[[str], str]) -> Callable[[Any], str]:
    def filtered(value: Any) -> str:
        changed = change(escaping.to_text(value))
        if isinstance(value, Verbatim):
            return value.like(changed)
        if isinstance(value, Content):  # still the long text of an item, not a label
            return Content(changed)
        return changed

    return filtered


def plugged(name: str, plugin: plugins.Plugin, syntax: str) -> Callable[..., Any]:
    """Return a plug-in's filter; its result is plain data, cleaned and escaped like its input."""

    def filtered(value: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(value, jinja2.Undefined):
            str(value)  # raises, with the name of what is missing
        # A plug-in gets an ordinary string: no marker class of the engine may leak or come back.
        given = str.__str__(value) if isinstance(value, str) else value
        what = f'filter "{name}"'
        made = plugins.guarded(plugin, what, TemplateError, given, *arguments, **named)
        found = plaindata.copy(made, lambda change: None)
        if not isinstance(found, str):
            fuel.weigh(found, deep=True)
            return found
        fuel.burn_text(len(found), metering.PRICES["other"])
        if isinstance(value, Verbatim):
            return value.like(clean(found, VERBATIM).text)
        if isinstance(value, Content) and syntax != "txt":
            return clean(found, syntax).text
        return found

    return filtered


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | dict) else 0


def _first(values: Any) -> Any:
    return values[0] if values else None


def _last(values: Any) -> Any:
    return values[-1] if values else None


def _framed(value: Any, language: Any = None) -> Any:
    return value  # in Markdown the engine calls `fence` instead; elsewhere the escape frames it


FILTERS: dict[str, Callable[..., Any]] = {
    "capitalize": wording.capitalize,
    "code": escaping.md_code,
    "decimals": wording.decimals,
    "default": _default,
    "fence": fencing.fence,
    "first": _first,
    "framed": _framed,
    "join": _join,
    "last": _last,
    "length": _length,
    "lower": _text_filter(str.lower),
    "percent": wording.percent,
    "prose": escaping.md_prose,
    "trim": _text_filter(str.strip),
    "upper": _text_filter(str.upper),
}
MARKDOWN_ONLY = frozenset({"code", "fence", "prose"})
NO_MARKDOWN = "makes Markdown, and this template is not: print the value as it is"
TESTS = frozenset(
    {"defined", "undefined", "none", "number", "string", "sequence"}
    | {"odd", "even", "true", "false", "in", "eq"}
)
"""Words that may stand after `is`; Jinja brings them."""
