"""A template's text → its syntax tree, in which every node knows the very character it stands at."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from ..errors import TemplateError, nearest
from ..escaping import syntax_of
from ..templating.environment import FILTERS, Environment
from ..templating.placing import STEPS_CAP, Reader, State


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


_ENVIRONMENT = _Located(jinja2.DictLoader({}))
TESTS = frozenset(_ENVIRONMENT.tests)
"""What may stand after `is`."""


class Problem(NamedTuple):
    """Something wrong at a place of a text."""

    start: int
    length: int
    code: str
    message: str
    new: str | None = None
    """What `--fix` writes in its place."""


def sure(word: str, known: Iterable[str]) -> str | None:
    """Return the one word that `word` can only be a misspelling of."""
    close = difflib.get_close_matches(word, sorted(known), n=2, cutoff=0.75)
    ratios = [difflib.SequenceMatcher(None, other, word).ratio() for other in close]
    return close[0] if len(close) == 1 or (len(close) == 2 and ratios[0] - ratios[1] >= 0.1) else None


class Parsed(NamedTuple):
    """A template's tree, or `None` where it has none, and what is wrong with it as a text of the language."""

    root: nodes.Template | None
    problems: list[Problem]


def parse(text: str, name: str) -> Parsed:
    """Return the tree of a template's text; never raises, and runs nothing of it."""
    try:
        root = _ENVIRONMENT._parse(text, name, None)
        return Parsed(root, _refusals(root, text, name))
    except jinja2.TemplateSyntaxError as error:
        return Parsed(None, [_syntax(error, text)])
    except RecursionError:
        return Parsed(None, [Problem(0, 1, "PF801", "nests too deeply")])
    except Exception as error:  # whatever a parser of hostile text comes to
        return Parsed(None, [Problem(0, 1, "PF801", f"cannot be read: {type(error).__name__}")])


def offset(node: nodes.Node) -> int:
    """Return the place of a node in its text."""
    line = node.lineno
    if isinstance(line, At):
        return line.offset
    return next((n.lineno.offset for n in node.find_all(nodes.Node) if isinstance(n.lineno, At)), 0)


def word_after(text: str, start: int, before: str) -> tuple[int, int]:
    """Return place and length of the word that follows the pattern `before` at `start`."""
    match = re.compile(before).match(text, start)
    at = match.end() if match else start
    word = re.compile(r"\w+").match(text, at)
    return at, len(word[0]) if word else 1


def word_at(text: str, start: int) -> int:
    """Return the length of the word, quoted text or tag at a place."""
    match = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\w+|\S").match(text, start)
    return len(match[0]) if match else 1


def _syntax(error: jinja2.TemplateSyntaxError, text: str) -> Problem:
    message = str(error.message or "cannot be read").rstrip(".")
    if found := re.search(r"^(unexpected char .*) at (\d+)$", message, re.DOTALL):
        message, start = found[1], int(found[2])
    elif isinstance(error.lineno, At):
        start = error.lineno.offset
    else:
        lines = text.split("\n")[: max(error.lineno - 1, 0)]
        start = sum(len(line) + 1 for line in lines)
    end = len(text.rstrip())
    if start >= end:  # the end of the file: the last that can be seen
        start = text.rfind("\n", 0, end) + 1
        return Problem(start, end - start, "PF801", message)
    return Problem(start, word_at(text, start), "PF801", message)


class _Collector(Reader):
    """Goes on after what it refuses, so that all of it is said at once."""

    def __init__(self, name: str, syntax: str) -> None:
        super().__init__(name, syntax)
        self.refused: list[tuple[nodes.Node, str]] = []

    def fail(self, node: nodes.Node, message: str) -> TemplateError:
        self.refused.append((node, message))
        return super().fail(node, message)

    def check(self, node: nodes.Node, depth: int = 0, loops: int = 0) -> None:
        try:
            super().check(node, depth, loops)
        except TemplateError:
            return

    def feed(self, state: State, text: str, node: nodes.Node) -> State:
        try:
            return super().feed(state, text, node)
        except TemplateError:
            return self.start(known=True)

    def place(self, state: State, node: nodes.Node) -> str:
        try:
            return super().place(state, node)
        except TemplateError:
            return ""

    def join(self, a: State, b: State, node: nodes.Node) -> State:
        try:
            return super().join(a, b, node)
        except TemplateError:
            return a

    def end(self, state: State, node: nodes.Node) -> None:
        try:
            super().end(state, node)
        except TemplateError:
            return

    def step(self, node: nodes.Node, state: State) -> State:
        if self.steps > STEPS_CAP:
            return state
        try:
            return super().step(node, state)
        except TemplateError:
            return state


_MARKDOWN_ONLY = frozenset({"code", "fence", "prose"})


def _refusals(root: nodes.Template, text: str, name: str) -> list[Problem]:
    """Return what the engine refuses in a template before it runs."""
    syntax = syntax_of(name.removesuffix(".j2").rpartition(".")[2])
    found: list[Problem] = []
    used: Iterator[nodes.Filter | nodes.Test] = root.find_all((nodes.Filter, nodes.Test))
    for node in used:
        if isinstance(node, nodes.Filter):
            at, length = offset(node), len(node.name)
            if node.name not in FILTERS:
                message = f'unknown filter "{node.name}"{nearest(node.name, FILTERS)}'
                found.append(Problem(at, length, "PF803", message, sure(node.name, FILTERS)))
            elif node.name in _MARKDOWN_ONLY and syntax != "md":
                message = f'"{node.name}" makes Markdown, and this template is not: print the value as it is'
                found.append(Problem(at, length, "PF809", message))
        elif node.name not in TESTS:
            at, length = word_after(text, offset(node), r"is\s+(?:not\s+)?")
            message = f'unknown test "{node.name}"{nearest(node.name, TESTS)}'
            found.append(Problem(at, length, "PF804", message, sure(node.name, TESTS)))
    reader = _Collector(name, syntax)
    reader.check(root)
    language = len(reader.refused)
    known = not any(isinstance(node, nodes.Extends) for node in root.body)
    reader.end(reader.walk(root.body, reader.start(known)), root)
    for number, (refused, message) in enumerate(reader.refused):
        at, length = _where(refused, message, text)
        found.append(Problem(at, length, "PF808" if number < language else "PF809", message))
    return found


def _where(node: nodes.Node, message: str, text: str) -> tuple[int, int]:
    at = offset(node)
    if isinstance(node, nodes.Template):  # what is open at the end
        at = text.rfind("\n", 0, len(text.rstrip())) + 1
        return at, len(text.rstrip()) - at
    if isinstance(node, nodes.TemplateData):
        quoted = re.match(r'"(.+?)" ', message)
        found = text.find(quoted[1], at) if quoted else -1
        return (found, len(quoted[1])) if quoted and found >= 0 else (at, 1)
    if isinstance(node, nodes.Getattr):
        return word_after(text, at, r"\.\s*")
    return at, word_at(text, at)
