"""A template's text → its syntax tree, in which every node knows the very character it stands at; or its mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator

import jinja2
from jinja2 import nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from . import mistakes
from .environment import Environment


class At(int):
    """The number of a line that also knows the place in the text."""

    offset: int = 0

    def __new__(cls, line: int, offset: int) -> At:
        """Return the line with its place."""
        new = super().__new__(cls, line)
        new.offset = offset
        return new


class _Located(Environment):
    """The templates' own language, read without running or escaping anything."""

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        tokens = _located(self.lexer.tokeniter(source, name, filename, state), source)
        return TokenStream(self.lexer.wrap(tokens, name, filename), name, filename)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return Parser(self, source, name, filename).parse()


def _located(tokens: Iterator[tuple[int, str, str]], source: str) -> Iterator[tuple[int, str, str]]:
    at = 0
    try:
        for line, kind, value in tokens:
            start = source.find(value, at)  # blanks that a tag takes away are in no token
            start = at if start < 0 else start
            yield At(line, start), kind, value
            at = start + len(value)
    except jinja2.TemplateSyntaxError as error:
        error.lineno = At(error.lineno, at + len(source[at:]) - len(source[at:].lstrip()))
        raise


ENVIRONMENT = _Located(jinja2.DictLoader({}))


def mistake(text: str, error: jinja2.TemplateSyntaxError) -> mistakes.Mistake:
    """Return where and what the mistake is that reading `text` has failed of."""
    message = str(error.message or "cannot be read").rstrip(".")
    if found := re.search(r"^(unexpected char .*) at (\d+)$", message, re.DOTALL):
        return mistakes.find(text, found[1], int(found[2]))
    if isinstance(error.lineno, At):
        return mistakes.find(text, message, error.lineno.offset)
    before = text.split("\n")[: max(error.lineno - 1, 0)]
    return mistakes.find(text, message, sum(len(line) + 1 for line in before))


def reread(text: str, error: jinja2.TemplateSyntaxError) -> mistakes.Mistake:
    """Return the same for an error that only knows its line."""
    try:
        ENVIRONMENT._parse(text, None, None)
    except jinja2.TemplateSyntaxError as located:
        error = located
    return mistake(text, error)
