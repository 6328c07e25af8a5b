"""Plain text: no syntax tells its own lines from contents, so those alike are marked."""

from __future__ import annotations

from typing import ClassVar

from ..text.escape import Content, Safe, VerbatimContent, code_of, to_label
from .syntax import Syntax


def plain_inline(value: object) -> Safe:
    """Return a value for plain text: a label on one line, content as `clean_content` left it."""
    if isinstance(value, Safe):
        return value
    if type(value) is VerbatimContent:
        return value.delimited()
    return Safe(value if type(value) is Content else to_label(value))


def plain_line(value: object) -> Safe:
    """Return a value that begins its line of plain text.

    Only content begins a line with white space or a bar, so such lines are known to be content.
    """
    text = plain_inline(value)
    if isinstance(value, Safe | Content) or not text:
        return text
    if text[0].isspace():
        return Safe(code_of(text[0]) + text[1:])
    if text[0] == "|":
        return Safe("\\" + text)
    return text


def plain_own(value: object) -> Safe:
    """Return an expression that begins its line with words or blanks of the template's own."""
    text = plain_inline(value)
    if text.startswith("|") and not isinstance(value, Safe | Content):
        return Safe("\\" + text)
    return text


class Plain(Syntax):
    """Plain text; a format with an unknown ending is escaped so, too."""

    name = "plain"
    is_taggable = True
    keeps_returns = False
    is_parsed = False
    marks_lines = True
    places: ClassVar = {"line": plain_line, "own": plain_own, "inline": plain_inline}


PLAIN = Plain()
