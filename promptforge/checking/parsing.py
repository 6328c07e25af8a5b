"""A template's text → its syntax tree, in which every node knows the very character it stands at."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

import jinja2
from jinja2 import nodes

from .. import plugins
from ..errors import TemplateError, nearest, sure
from ..escaping import syntax_of
from ..templating.filters import FILTERS, MARKDOWN_ONLY, NO_MARKDOWN
from ..templating.located import ENVIRONMENT, At, mistake
from ..templating.placing import SIGNS, STEPS_CAP, Reader, State

TESTS = frozenset(ENVIRONMENT.tests)
"""What may stand after `is`."""


class Problem(NamedTuple):
    """Something wrong at a place of a text."""

    start: int
    length: int
    code: str
    message: str
    new: str | None = None
    """What `--fix` writes in its place."""


class Parsed(NamedTuple):
    """A template's tree, or `None` where it has none, and what is wrong with it as a text of the language."""

    root: nodes.Template | None
    problems: list[Problem]


def parse(text: str, name: str) -> Parsed:
    """Return the tree of a template's text; never raises, and runs nothing of it."""
    try:
        root = ENVIRONMENT._parse(text, name, None)
        return Parsed(root, [*_twice(root, text), *_near_tags(text), *_refusals(root, text, name)])
    except jinja2.TemplateSyntaxError as error:
        start, length, message, new = mistake(text, error)
        return Parsed(None, [Problem(start, length, "PF801", message, new)])
    except RecursionError:
        return Parsed(None, [Problem(0, 1, "PF801", "nests too deeply")])
    except Exception as error:  # whatever a parser of hostile text comes to
        return Parsed(None, [Problem(0, 1, "PF801", f"cannot be read: {type(error).__name__}")])


def _twice(root: nodes.Template, text: str) -> Iterator[Problem]:
    """Yield blocks of a name that another has."""
    seen: set[str] = set()
    for block in root.find_all(nodes.Block):
        if block.name in seen:
            at, length = word_after(text, offset(block), r"(?:block)?\s*")
            message = f'the block "{block.name}" is there twice; a name stands for one place'
            yield Problem(at, length, "PF801", message)
        seen.add(block.name)


def _near_tags(text: str) -> Iterator[Problem]:
    """Yield what is printed as it stands, and was meant as a tag or a value."""
    for found in _NEAR_TAG.finditer(_without_tags(text)):
        if found["value"]:
            meant = f"{{{{ {found['value'].strip()} }}}}"
        else:
            meant = re.sub(r"\A\{\s+|\s+\}\Z", lambda end: end[0].strip(), found[0])
        message = f"is no tag and is printed as it stands; write {meant}"
        yield Problem(found.start(), len(found[0]), "PF801", message, meant)


def _without_tags(text: str) -> str:
    """Return a template's own text, each tag, value and comment in it as lines of `_`."""
    return re.sub(
        r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}",
        lambda tag: re.sub(r"[^\n]", "_", tag[0]),
        text,
        flags=re.DOTALL,
    )


_NEAR_TAG = re.compile(
    r"\{[ \t]+%[^{}\n]{1,200}%[ \t]*\}|\{[ \t]+\{[^{}\n]{1,200}\}[ \t]+\}"
    r"|\$?\{(?P<value>[ \t]*(?:item|loop|section|part)\.\w+[^{}\n]{0,200})\}"
)
"""`{ % if x % }`, `{ { item.name } }`, and `{item.name}` or `${item.name}` as other languages write it."""


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


def _opening(message: str, text: str) -> tuple[int, int]:
    """Return place and length of what a template has opened in its own text and left open at its end."""
    own = _without_tags(text)
    for word, pattern in _OPENS.items():
        if word in message and (found := list(re.finditer(pattern, own, re.MULTILINE))):
            return found[-1].start(1), len(found[-1][1])
    at = text.rfind("\n", 0, len(text.rstrip())) + 1
    return at, len(text.rstrip()) - at


_OPENS = {
    "fence": r"^ {0,3}(`{3,}|~{3,})", "quotes": r'(?<!\\)(")', "HTML": r"(?:\A|\n\s*\n) {0,3}(<[^\s>]*)",
    "cannot begin or end": r"(<[^\s>]*)",
}  # fmt: skip
"""By a word of the message: what opens that of which it speaks."""


def _refusals(root: nodes.Template, text: str, name: str) -> list[Problem]:
    """Return what the engine refuses in a template before it runs."""
    syntax = syntax_of(name.removesuffix(".j2").rpartition(".")[2])
    found: list[Problem] = []
    used: Iterator[nodes.Filter | nodes.Test] = root.find_all((nodes.Filter, nodes.Test))
    for node in used:
        if isinstance(node, nodes.Filter):
            at, length = offset(node), len(node.name)
            if node.name not in FILTERS:
                if node.name in dict(plugins.names("filters")):
                    continue  # of which nothing is known before it runs
                message = f'unknown filter "{node.name}"{nearest(node.name, FILTERS)}'
                found.append(Problem(at, length, "PF803", message, sure(node.name, FILTERS)))
            elif (wrong := _arguments(node)) is not None:
                found.append(Problem(at, length, "PF803", wrong))
            elif node.name in MARKDOWN_ONLY and syntax != "md":
                message = f'"{node.name}" {NO_MARKDOWN}'
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


def _arguments(node: nodes.Filter) -> str | None:
    """Return what is wrong with the values that a filter is given in brackets."""
    takes = inspect.signature(FILTERS[node.name])
    try:
        takes.bind(None, *node.args, **{str(pair.key): pair.value for pair in node.kwargs})
    except TypeError:
        most = len(takes.parameters) - 1
        what = (
            f"at most {most} value{'s' if most != 1 else ''} in brackets"
            if most
            else "no values in brackets"
        )
        return f'"{node.name}" takes {what}, and here are {len(node.args) + len(node.kwargs)}'
    return None


def _where(node: nodes.Node, message: str, text: str) -> tuple[int, int]:
    at = offset(node)
    if isinstance(node, nodes.Template):  # what is open at the end
        return _opening(message, text)
    if isinstance(node, nodes.BinExpr):
        sign = SIGNS.get(type(node).__name__, "+")
        return max(text.rfind(sign, at, offset(node.right)), at), len(sign)
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        return word_after(text, offset(node.node), r"\.\s*")
    if isinstance(node, nodes.TemplateData):
        quoted = re.match(r'"(.+?)" ', message)
        if "in double quotes" in message:
            return max(text.find("'", at), at), 1
        found = text.find(quoted[1], at) if quoted else -1
        return (found, len(quoted[1])) if quoted and found >= 0 else (at, 1)
    if isinstance(node, nodes.Getattr):
        return word_after(text, at, r"\.\s*")
    return at, word_at(text, at)
