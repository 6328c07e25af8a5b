"""What a template may do with a value; `templates/README.md` explains each."""

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
    return other if isinstance(value, jinja2.Undefined) or value is None or value == "" else value


def _text_filter(change: Callable[[str], str]) -> Callable[[Any], str]:
    def filtered(value: Any) -> str:
        text = escaping.to_text(value)
        changed = change(text)
        if isinstance(value, Verbatim):
            return value.like(changed)
        return Content(changed) if isinstance(value, Content) else changed

    return filtered


def plugged(name: str, plugin: plugins.Plugin, syntax: str) -> Callable[..., Any]:
    """Return a filter of a plug-in: what it makes is plain data, cleaned and escaped like what came in."""

    def filtered(value: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(value, jinja2.Undefined):
            str(value)  # says what is missing
        given = str.__str__(value) if isinstance(value, str) else value
        made = plugins.guarded(
            plugin, f'filter "{name}"', TemplateError, given, *arguments, **named
        )
        found = plaindata.copy(made, lambda change: None)
        if isinstance(found, str):
            fuel.burn_text(len(found), metering.PRICES["other"])
        else:
            fuel.weigh(found, deep=True)
        if isinstance(value, Verbatim) and isinstance(found, str):
            return value.like(clean(found, VERBATIM).text)
        if isinstance(value, Content) and isinstance(found, str) and syntax != "txt":
            return clean(found, syntax).text
        return found

    return filtered


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | dict) else 0


FILTERS: dict[str, Callable[..., Any]] = {
    "capitalize": wording.capitalize,
    "code": escaping.md_code,
    "decimals": wording.decimals,
    "default": _default,
    "fence": fencing.fence,
    "first": lambda values: values[0] if values else None,
    "framed": lambda value, language=None: (
        value
    ),  # the escape of its place frames it; in Markdown it is `fence`
    "join": _join,
    "last": lambda values: values[-1] if values else None,
    "length": _length,
    "lower": _text_filter(str.lower),
    "percent": wording.percent,
    "prose": escaping.md_prose,
    "trim": _text_filter(str.strip),
    "upper": _text_filter(str.upper),
}
"""By name."""

MARKDOWN_ONLY = frozenset({"code", "fence", "prose"})
"""Filters that make Markdown."""
NO_MARKDOWN = "makes Markdown, and this template is not: print the value as it is"
TESTS = frozenset(
    {"defined", "undefined", "none", "number", "string", "sequence"}
    | {"odd", "even", "true", "false", "in", "eq"}
)
"""Words that may stand after `is`; Jinja brings them."""
