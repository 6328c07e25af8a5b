"""Every syntax, and what is looked up by the ending of a template or by a format."""

from __future__ import annotations

from .json_syntax import JSON
from .markdown_syntax import MARKDOWN
from .plain_syntax import PLAIN
from .syntax import Syntax
from .toon_syntax import TOON
from .xml_syntax import XML
from .yaml_syntax import YAML

SYNTAXES: tuple[Syntax, ...] = (MARKDOWN, XML, JSON, YAML, TOON, PLAIN)
"""In the order of lists. A new one is one module more, and its name here."""
FORMAT_EXTENSIONS = {syntax.name: syntax.ending for syntax in SYNTAXES}
"""Shipped format → extension of its templates. The extension of any other format is its name."""
BY_NAME = {syntax.name: syntax for syntax in SYNTAXES}
_SHIPPED_FORMATS = {syntax.ending: syntax.name for syntax in SYNTAXES}
_BY_ENDING = {end: syntax for syntax in SYNTAXES for end in (syntax.ending, *syntax.aliases)}


def known_syntax(ending: str) -> Syntax | None:
    """Return the syntax of an ending such as `slides.md`, or of a name; None for an unknown one."""
    return _BY_ENDING.get(ending.removesuffix(".j2").rpartition(".")[2])


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
    way_out = f"write syntax: with one of {', '.join(BY_NAME)} into {layout}/layout.yaml"
    return f'nothing says how values are escaped in "{last}", so it is plain text; {way_out}'
