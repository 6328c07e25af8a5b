"""A template's text → its syntax tree and the problems found in it, nothing of it run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

import jinja2
from jinja2 import nodes

from .. import plugins
from ..errors import sure
from ..templating.environment import check_filters
from ..templating.excerpts import locate, offset, without_tags, word_after
from ..templating.filters import FILTERS, TESTS
from ..templating.located import ENVIRONMENT, mistake
from ..templating.placing import Reader, syntax_of_name


class Problem(NamedTuple):
    """One problem at a place of a text."""

    start: int
    length: int
    code: str
    message: str
    new: str | None = None
    """Text that `--fix` writes in its place."""


class Parsed(NamedTuple):
    """A template's tree, `None` if it cannot be read, and the problems of its language."""

    root: nodes.Template | None
    problems: list[Problem]


def parse(text: str, name: str) -> Parsed:
    """Return the tree of a template's text; never raises."""
    try:
        root = ENVIRONMENT.tree(text, name)
        return Parsed(root, [*_twice(root, text), *_near_tags(text), *_refusals(root, text, name)])
    except jinja2.TemplateSyntaxError as error:
        start, length, message, new = mistake(text, error)
        return Parsed(None, [Problem(start, length, "PF801", message, new)])
    except RecursionError:
        return Parsed(None, [Problem(0, 1, "PF801", "nests too deeply")])
    except Exception as error:  # a parser of hostile text may fail in any way
        return Parsed(None, [Problem(0, 1, "PF801", f"cannot be read: {type(error).__name__}")])


def _twice(root: nodes.Template, text: str) -> Iterator[Problem]:
    """Yield blocks that have the name of an earlier one."""
    seen: set[str] = set()
    for block in root.find_all(nodes.Block):
        if block.name in seen:
            at, length = word_after(text, offset(block), r"(?:block)?\s*")
            message = f'the block "{block.name}" is there twice; a name stands for one place'
            yield Problem(at, length, "PF801", message)
        seen.add(block.name)


def _near_tags(text: str) -> Iterator[Problem]:
    """Yield text that was meant as a tag or a value and is printed as it stands."""
    for found in _NEAR_TAG.finditer(without_tags(text)):
        if found["value"]:
            meant = f"{{{{ {found['value'].strip()} }}}}"
        else:
            meant = re.sub(r"\A\{\s+|\s+\}\Z", lambda end: end[0].strip(), found[0])
        message = f"is no tag and is printed as it stands; write {meant}"
        yield Problem(found.start(), len(found[0]), "PF801", message, meant)


# `{ % if x % }`, `{ { item.name } }`, and other languages' `{item.name}` and `${item.name}`.
_NEAR_TAG = re.compile(
    r"\{[ \t]+%[^{}\n]{1,200}%[ \t]*\}|\{[ \t]+\{[^{}\n]{1,200}\}[ \t]+\}"
    r"|\$?\{(?P<value>[ \t]*(?:item|loop|section|part)\.\w+[^{}\n]{0,200})\}"
)


class _Collector(Reader):
    """Goes on after a refusal, so that one check says all of them."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, syntax_of_name(name), text)
        self.text = text
        self.problems: list[Problem] = []

    def refuse(self, node: nodes.Node, code: str, message: str) -> None:
        at, length = locate(node, message, self.text)
        new = None
        if code == "PF803" and isinstance(node, nodes.Filter):
            new = sure(node.name, FILTERS)
        elif code == "PF804" and isinstance(node, nodes.Test):
            new = sure(node.name, TESTS)
        self.problems.append(Problem(at, length, code, message, new))


def _refusals(root: nodes.Template, text: str, name: str) -> list[Problem]:
    """Return everything that the engine refuses in a template before it runs."""
    found = _Collector(name, text)
    plugins_there = dict(plugins.names("filters"))  # nothing more is known of them before they run
    check_filters(root, found, lambda node: node.name in plugins_there)
    for node in root.find_all(nodes.Filter):
        if node.name in FILTERS and (wrong := _arguments(node)) is not None:
            found.problems.append(Problem(offset(node), len(node.name), "PF803", wrong))
    found.check(root)
    found.follow(root)
    return found.problems


def _arguments(node: nodes.Filter) -> str | None:
    """Return the message about a filter that takes no such arguments."""
    takes = inspect.signature(FILTERS[node.name])
    try:
        takes.bind(None, *node.args, **{str(pair.key): pair.value for pair in node.kwargs})
    except TypeError:
        most = len(takes.parameters) - 1
        counts = {0: "no values", 1: "at most 1 value"}
        what = counts.get(most, f"at most {most} values")
        given = len(node.args) + len(node.kwargs)
        return f'"{node.name}" takes {what} in brackets, and here are {given}'
    return None
