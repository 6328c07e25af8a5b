"""Reading a template before it runs: what it may do, where each value lands, which lines are its own.

Only the nodes named here pass; anything else is refused with its line. Then each printed value is
wrapped in the escape of its place, so an author can neither forget the escape nor get around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from jinja2 import nodes

from ..errors import TemplateError
from ..escaping import syntax_of
from . import excerpts
from .places import SYNTAXES, TITLE, VALUE, Line, RefusedError

_ALLOWED = (
    *(nodes.Template, nodes.Extends, nodes.Output, nodes.TemplateData, nodes.For, nodes.If),
    *(nodes.CondExpr, nodes.Block, nodes.Include, nodes.FromImport, nodes.Macro, nodes.Assign),
    *(nodes.AssignBlock, nodes.Name, nodes.Const, nodes.Tuple, nodes.List, nodes.Dict, nodes.Pair),
    *(nodes.Keyword, nodes.Filter, nodes.Test, nodes.Getattr, nodes.Getitem, nodes.Call),
    *(nodes.Compare, nodes.Operand, nodes.Not, nodes.And, nodes.Or, nodes.Concat, nodes.Add),
    *(nodes.Sub, nodes.Neg),
)
_SECTION_TITLE = nodes.Getattr(nodes.Name("section", "load"), "title", "load")
_TAGS = "if, for, set, block, extends, include, from … import, macro"
LINE_CAP = 400
"""Texts and values in one line of a template."""
DEPTH_CAP = 100
"""Nesting of tags and values."""
LOOPS_CAP = 12
"""Nesting of loops; Python compiles no more than 20."""
STEPS_CAP = 20_000
"""Nodes followed in one template. The body of a loop counts twice, of a loop in it four times."""


class State(NamedTuple):
    """The state of the output between two nodes of a template."""

    mode: str
    """The mode of its syntax; see `places`."""
    line: Line
    """The current line so far."""


class Reading(NamedTuple):
    """The variables, lines and parents of one template."""

    names: frozenset[str]
    """Variables it uses and does not set itself."""
    frame: frozenset[Line]
    """Its own lines, as texts and `VALUE`s."""
    parents: tuple[str, ...]
    """Templates it extends, includes or imports from."""


class Reader:
    """One walk through a parsed template: `check` its language, then `follow` its output."""

    def __init__(self, name: str, syntax: str, source: str) -> None:
        self.name = name
        self.syntax = SYNTAXES[syntax]
        self.prefix = syntax
        self.places: dict[int, list[str]] = {}
        """The places of the children of each `Output`, by its `id`; empty for template text."""
        self.frame: set[Line] = set()
        self.parents: list[str] = []
        self._source = source
        self._steps = 0

    def refuse(self, node: nodes.Node, code: str, message: str) -> None:
        """Raise `TemplateError` at a node. Lint overrides it, notes `code` and goes on."""
        excerpt = excerpts.at(self._source, *excerpts.locate(node, message, self._source))
        raise TemplateError(message, where=f"{self.name}:{excerpt.line}", excerpt=excerpt)

    # --- the language -----------------------------------------------------------------------------

    def check(self, node: nodes.Node, depth: int = 0, loops: int = 0) -> None:
        """Refuse nodes that are not part of the language, in a node and all below it."""
        loops += isinstance(node, nodes.For)
        problem = _too_deep(depth, loops) or _not_allowed(node) or _bad_detail(node)
        if problem is None and isinstance(node, nodes.Include | nodes.Extends | nodes.FromImport):
            problem = self._reference(node)
        if problem is not None:
            self.refuse(node, "PF808", problem)
            return
        for child in node.iter_child_nodes():
            self.check(child, depth + 1, loops)

    def _reference(self, node: nodes.Include | nodes.Extends | nodes.FromImport) -> str | None:
        if not (isinstance(node.template, nodes.Const) and isinstance(node.template.value, str)):
            return "the name of another template must be written out in quotes"
        other = node.template.value
        if syntax_of_name(other) != self.prefix:
            return f'"{other}" is of another syntax than this template, and so escaped otherwise'
        self.parents.append(other)
        if isinstance(node, nodes.FromImport):
            node.with_context = False  # a macro sees its arguments alone
        return None

    # --- the places of values ---------------------------------------------------------------------

    def follow(self, root: nodes.Template) -> None:
        """Find the place of each printed value, or refuse it."""
        extends = any(isinstance(node, nodes.Extends) for node in root.body)
        self._end(self._walk(root.body, self._start(known=not extends)), root)

    def _start(self, known: bool) -> State:
        return State(self.syntax.start(known), ())

    def _ask(self, node: nodes.Node, question: Callable[..., Any], *given: object) -> Any:
        """Ask the syntax; `None` where it refuses and lint goes on."""
        try:
            return question(*given)
        except RefusedError as refusal:
            self.refuse(node, "PF809", str(refusal))
            return None

    def _feed(self, state: State, text: str, node: nodes.Node) -> State:
        """Return the state after the template's own text."""
        mode = self._ask(node, self.syntax.feed, state.mode, state.line, text)
        if mode is None:
            return self._start(known=True)
        first, *rest = text.split("\n")
        line = (*state.line, first) if first else state.line
        for following in rest:
            self.frame.add(line)  # even a line with an unknown beginning: it may be whole
            line = (following,) if following else ()
        return State(mode, line)

    def _join(self, a: State, b: State, node: nodes.Node) -> State:
        """Return the state where two branches meet."""
        if a == b:
            return a
        self._flush(a)  # what follows may begin with a line end, or with a value
        self._flush(b)
        common: list[object] = []
        for x, y in zip(a.line, b.line, strict=False):
            if x != y:
                break
            common.append(x)
        mode = a.mode
        if a.mode != b.mode:
            mode = self._ask(node, self.syntax.join, a.mode, b.mode)
        return a if mode is None else State(mode, (*common, VALUE))

    def _end(self, state: State, node: nodes.Node) -> None:
        """Refuse to end a template or block inside a tag, fence or quotes."""
        self._ask(node, self.syntax.end, state.mode)
        self._flush(state)

    def _flush(self, state: State) -> None:
        """Note the current line as one that may end here, or go on with a value."""
        if state.line:
            self.frame.update((state.line, (*state.line, VALUE)))

    def _unknown(self, state: State) -> State:
        """Return the state after another template's text: same mode, unknown rest of the line."""
        self._flush(state)
        return State(state.mode, (*state.line, VALUE) if state.line else ())

    def _walk(self, body: Iterable[nodes.Node], state: State) -> State:
        for node in body:
            self._steps += 1
            if self._steps > STEPS_CAP:
                if self._steps == STEPS_CAP + 1:  # lint goes on, and says it once
                    self.refuse(node, "PF809", "too many loops in each other to be followed")
                return state
            state = self._step(node, state)
        return state

    def _step(self, node: nodes.Node, state: State) -> State:
        """Return the state after one statement."""
        if isinstance(node, nodes.Output):
            return self._output(node, state)
        if isinstance(node, nodes.If):
            after = self._walk(node.body, state)
            for branch in node.elif_:
                after = self._join(after, self._walk(branch.body, state), node)
            return self._join(after, self._walk(node.else_, state), node)
        if isinstance(node, nodes.For):
            # The second round begins where the first has ended, perhaps amid a line.
            once = self._walk(node.body, state)
            again = self._join(state, once, node)
            after = once if again == state else self._walk(node.body, again)
            return self._join(after, self._walk(node.else_, state), node)
        if isinstance(node, nodes.Block):  # a child's block of the same name may stand here instead
            self._end(state, node)
            self._end(self._walk(node.body, state), node)
            return self._unknown(state)
        if isinstance(node, nodes.Include):
            self._end(state, node)
            return self._unknown(state)
        if isinstance(node, nodes.Macro | nodes.AssignBlock):  # printed elsewhere, by its name
            self._end(self._walk(node.body, self._start(known=False)), node)
        return state

    def _output(self, node: nodes.Output, state: State) -> State:
        places = self.places[id(node)] = []
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                places.append("")
                state = self._feed(state, child.data, child)
                continue
            if isinstance(child, nodes.Name) and child.name in ("self", "loop"):
                self.refuse(child, "PF809", f'"{child.name}" is no value to print')
            parts = _line_parts(child)
            place = self._ask(child, self.syntax.place, state.mode, state.line) or ""
            # In plain text a line that begins with the author's own words is the template's line.
            if self.prefix == "txt" and place == "line" and any(type(p) is str for p in parts):
                place = "own"
            places.append(place)
            if state.line[-1:] != (VALUE,):
                state = state._replace(line=(*state.line, *parts))
            if len(state.line) > LINE_CAP:
                message = f"more than {LINE_CAP} texts and values in one line"
                self.refuse(child, "PF809", message)
                return state
        return state

    def wrap(self, root: nodes.Template) -> None:
        """Wrap each printed value in the escape of its place."""
        for output in root.find_all(nodes.Output):
            places = self.places.get(id(output))
            if places is None:  # a node that no step follows would print raw: never let it pass
                message = "this value stands where the page cannot be followed"
                self.refuse(output, "PF809", message)
                continue
            for number, (child, place) in enumerate(zip(output.nodes, places, strict=True)):
                if not isinstance(child, nodes.TemplateData):
                    output.nodes[number] = _escaped(child, f"{self.prefix}.{place}")


def syntax_of_name(name: str) -> str:
    """Return the syntax of the template `name`, by its last ending before `.j2`."""
    return syntax_of(name.removesuffix(".j2").rpartition(".")[2])


def _too_deep(depth: int, loops: int) -> str | None:
    if loops > LOOPS_CAP:
        return f"nested too deep, over {LOOPS_CAP} loops"
    return f"nested too deep, over {DEPTH_CAP}" if depth > DEPTH_CAP else None


def _not_allowed(node: nodes.Node) -> str | None:
    if isinstance(node, _ALLOWED):
        return None
    kind = type(node).__name__
    if (sign := excerpts.SIGNS.get(kind)) is not None:
        has = "+ and - alone, and filters"
        return f'"{sign}" is not part of the template language; it has {has}'
    return f'"{kind.lower()}" is not part of the template language; it has {_TAGS} and filters'


def _bad_detail(node: nodes.Node) -> str | None:
    if isinstance(node, nodes.Call) and not isinstance(node.node, nodes.Name):
        return (
            "only macros and super() can be called; a filter changes a value: {{ value | upper }}"
        )
    if isinstance(node, nodes.Call | nodes.Filter | nodes.Test):
        if node.dyn_args or node.dyn_kwargs:
            return "* and ** are not part of the template language; write the values out"
    elif isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
        return f'no value has a field "{node.attr}"'
    elif isinstance(node, nodes.Pair) and isinstance(node.key, nodes.List | nodes.Dict):
        return "the key of a mapping must be a text or a number"
    elif isinstance(node, nodes.For) and node.recursive:
        return "a recursive loop is not part of the template language"
    return None


def _escaped(node: nodes.Expr, name: str) -> nodes.Filter:
    wrapped = nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
    wrapped.environment = node.environment
    return wrapped


def _line_parts(node: nodes.Expr) -> Line:
    """Return the known parts of a printed expression: the author's texts, `VALUE` for the rest."""
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        return (node.value,)
    if isinstance(node, nodes.Concat):
        return tuple(part for child in node.nodes for part in _line_parts(child))
    return (TITLE,) if node == _SECTION_TITLE else (VALUE,)


def references(root: nodes.Template) -> Iterator[tuple[nodes.Node, nodes.Node, str]]:
    """Yield what a template extends, includes or imports from: statement, its name's node, name."""
    statements: Iterator[nodes.Extends | nodes.Include | nodes.FromImport]
    statements = root.find_all((nodes.Extends, nodes.Include, nodes.FromImport))
    for node in statements:
        if isinstance(node.template, nodes.Const) and isinstance(node.template.value, str):
            yield node, node.template, node.template.value
