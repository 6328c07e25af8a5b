"""Every syntax, and what is looked up by the ending of a template or by a format."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from .plain_syntax import PLAIN
from .syntax import Syntax

_ENDINGS = {
    "markdown": ("md", "markdown"),
    "xml": ("xml", "html", "svg"),
    "json": ("json", "jsonl"),
    "yaml": ("yaml", "yml"),
    "toon": ("toon",),
    "plain": ("txt",),
}
"""Name → endings of templates, that of the shipped format first. The order is that of lists.

A new syntax is one module more, `NAME_syntax.py`, and its row here.
"""
FORMAT_EXTENSIONS = {name: endings[0] for name, endings in _ENDINGS.items()}
"""Shipped format → extension of its templates. The extension of any other format is its name."""
_BY_ENDING = {end: name for name, endings in _ENDINGS.items() for end in endings}
_SHIPPED_FORMATS = {ending: name for name, ending in FORMAT_EXTENSIONS.items()}


@cache
def syntax_named(name: str) -> Syntax:
    """Return a syntax; its module is imported when it is first asked for."""
    syntax: Syntax = getattr(import_module(f".{name}_syntax", __package__), name.upper())
    return syntax


def known_syntax(ending: str) -> Syntax | None:
    """Return the syntax of an ending such as `slides.md`, or of a name; None for an unknown one."""
    name = _BY_ENDING.get(ending.removesuffix(".j2").rpartition(".")[2])
    return None if name is None else syntax_named(name)


def syntax_of(ending: str) -> Syntax:
    """Return the syntax of an ending; an unknown one is plain text.

    >>> syntax_of("slides.md").name, syntax_of("org").name
    ('markdown', 'plain')
    """
    return known_syntax(ending) or PLAIN


def format_of(ending: str) -> str:
    """Return the format of templates with this ending.

    >>> format_of("md"), format_of("slides.md")
    ('markdown', 'slides')
    """
    return _SHIPPED_FORMATS.get(ending, ending.split(".")[0])


def unknown_syntax(ending: str, layout: str) -> str:
    """Return the message about a format with an ending that says no syntax."""
    last = ending.rpartition(".")[2]
    way_out = f"write syntax: with one of {', '.join(_ENDINGS)} into {layout}/layout.yaml"
    return f'nothing says how values are escaped in "{last}", so it is plain text; {way_out}'
