"""Reading a template before it runs: what it may do, where each value lands, which lines make the frame.

A template is a guest. Only the nodes named here pass; the rest is refused with the line. Each printed value is then
wrapped in the escape of its place, so that an author can neither forget it nor get around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jinja2 import nodes

from ..errors import TemplateError
from ..escaping import syntax_of
from .places import SYNTAXES, TITLE, VALUE, Line, RefusedError

_ALLOWED = (
    nodes.Template, nodes.Extends, nodes.Output, nodes.TemplateData, nodes.For, nodes.If, nodes.CondExpr, nodes.Block,
    nodes.Include, nodes.FromImport, nodes.Macro, nodes.Assign, nodes.AssignBlock, nodes.Name, nodes.Const, nodes.Tuple,
    nodes.List, nodes.Dict, nodes.Pair, nodes.Keyword, nodes.Filter, nodes.Test, nodes.Getattr, nodes.Getitem,
    nodes.Call, nodes.Compare, nodes.Operand, nodes.Not, nodes.And, nodes.Or, nodes.Concat, nodes.Add, nodes.Sub,
    nodes.Neg,
)  # fmt: skip
_TAGS = "if, for, set, block, extends, include, from … import, macro"
SIGNS = {"Mul": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**"}
"""What computes elsewhere, as it is written."""
LINE_CAP = 400
"""Texts and values in a line of a template."""
DEPTH_CAP = 100
"""Tags and values in each other."""
LOOPS_CAP = 12
"""Loops in each other; Python compiles no more than 20."""
STEPS_CAP = 20_000
"""Nodes of a template that are followed; the body of a loop counts twice, that of a loop in it four times."""


class State(NamedTuple):
    """Where the page stands between two nodes of a template."""

    mode: str
    """The mode of its syntax; see `places`."""
    line: Line
    """The current line so far."""


class Reading(NamedTuple):
    """What one template was found to be."""

    names: frozenset[str]
    """The variables it uses that it does not set itself."""
    frame: frozenset[tuple[object, ...]]
    """Its lines, as static texts and `VALUE`s."""
    parents: tuple[str, ...]
    """The templates it extends, includes or imports from."""


class Reader:
    """One walk through a parsed template; `read` is the whole of it."""

    def __init__(self, name: str, syntax: str) -> None:
        self.name = name
        self.syntax = SYNTAXES[syntax]
        self.prefix = syntax
        self.places: dict[int, list[str]] = {}
        self.frame: set[tuple[object, ...]] = set()
        self.parents: list[str] = []
        self.steps = 0

    def fail(self, node: nodes.Node, message: str) -> TemplateError:
        """Return the error for a node, with its line."""
        line = node.lineno or next(
            (n.lineno for n in node.find_all(nodes.Node) if n.lineno), 1
        )  # autoescape has none
        return TemplateError(message, where=f"{self.name}:{line}")

    # --- what is allowed --------------------------------------------------------------------------------------------

    def check(self, node: nodes.Node, depth: int = 0, loops: int = 0) -> None:
        """Refuse what is not part of the language, in a node and all below it."""
        loops += isinstance(node, nodes.For)
        if depth > DEPTH_CAP or loops > LOOPS_CAP:
            raise self.fail(
                node,
                f"nested too deep, over {f'{LOOPS_CAP} loops' if loops > LOOPS_CAP else DEPTH_CAP}",
            )
        if not isinstance(node, _ALLOWED):
            word = SIGNS.get(type(node).__name__, type(node).__name__.lower())
            has = "+ and - alone, and filters" if word in SIGNS.values() else f"{_TAGS} and filters"
            raise self.fail(node, f'"{word}" is not part of the template language; it has {has}')
        if isinstance(node, nodes.Call) and not isinstance(node.node, nodes.Name):
            raise self.fail(
                node,
                "only macros and super() can be called; a filter changes a value: {{ value | upper }}",
            )
        if isinstance(node, nodes.Call | nodes.Filter | nodes.Test) and (
            node.dyn_args or node.dyn_kwargs
        ):
            raise self.fail(
                node, "* and ** are not part of the template language; write the values out"
            )
        if isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
            raise self.fail(node, f'no value has a field "{node.attr}"')
        if isinstance(node, nodes.Pair) and isinstance(node.key, nodes.List | nodes.Dict):
            raise self.fail(node, "the key of a mapping must be a text or a number")
        if isinstance(node, nodes.For) and node.recursive:
            raise self.fail(node, "a recursive loop is not part of the template language")
        if isinstance(node, nodes.Include | nodes.Extends | nodes.FromImport):
            if not (
                isinstance(node.template, nodes.Const) and isinstance(node.template.value, str)
            ):
                raise self.fail(node, "the name of another template must be written out in quotes")
            other = node.template.value
            if syntax_of(other.removesuffix(".j2").rpartition(".")[2]) != self.prefix:
                raise self.fail(
                    node,
                    f'"{other}" is of another syntax than this template, and so escaped otherwise',
                )
            self.parents.append(other)
            if isinstance(node, nodes.FromImport):
                node.with_context = False
        for child in node.iter_child_nodes():
            self.check(child, depth + 1, loops)

    # --- where values land ------------------------------------------------------------------------------------------

    def start(self, known: bool) -> State:
        """Return the state at the beginning."""
        return State(self.syntax.start(known), ())

    def place(self, state: State, node: nodes.Node) -> str:
        """Return the place of a value."""
        try:
            return self.syntax.place(state.mode, state.line)
        except RefusedError as refusal:
            raise self.fail(node, str(refusal)) from None

    def feed(self, state: State, text: str, node: nodes.Node) -> State:
        """Return the state after the template's own text."""
        try:
            mode = self.syntax.feed(state.mode, state.line, text)
        except RefusedError as refusal:
            raise self.fail(node, str(refusal)) from None
        first, *rest = text.split("\n")
        line = (*state.line, first) if first else state.line
        for following in rest:  # also a line whose beginning is not known: it may well be one
            self.frame.add(line)
            line = (following,) if following else ()
        return State(mode, line)

    def join(self, a: State, b: State, node: nodes.Node) -> State:
        """Return the state where two branches meet."""
        if a == b:
            return a
        self.flush(a)  # what follows may begin with a line end, or with a value
        self.flush(b)
        common: list[object] = []
        for x, y in zip(a.line, b.line, strict=False):
            if x != y:
                break
            common.append(x)
        try:
            mode = a.mode if a.mode == b.mode else self.syntax.join(a.mode, b.mode)
        except RefusedError as refusal:
            raise self.fail(node, str(refusal)) from None
        return State(mode, (*common, VALUE))

    def end(self, state: State, node: nodes.Node) -> None:
        """Refuse what must not be open where a template or block ends."""
        try:
            self.syntax.end(state.mode)
        except RefusedError as refusal:
            raise self.fail(node, str(refusal)) from None
        self.flush(state)

    def walk(self, body: Iterable[nodes.Node], state: State) -> State:
        """Return the state after some nodes."""
        for node in body:
            state = self.step(node, state)
        return state

    def step(self, node: nodes.Node, state: State) -> State:
        """Return the state after one node."""
        self.steps += 1
        if self.steps > STEPS_CAP:
            raise self.fail(node, "too many loops in each other to be followed")
        if isinstance(node, nodes.Output):
            places = []
            for child in node.nodes:
                if isinstance(child, nodes.TemplateData):
                    places.append("")
                    state = self.feed(state, child.data, child)
                else:
                    if isinstance(child, nodes.Name) and child.name in ("self", "loop"):
                        raise self.fail(child, f'"{child.name}" is no value to print')
                    texts = _texts(child)
                    place = self.place(state, child)
                    own = (
                        self.prefix == "txt"
                        and place == "line"
                        and any(isinstance(text, str) for text in texts)
                    )
                    places.append("own" if own else place)
                    if state.line[-1:] != (VALUE,):
                        state = state._replace(line=(*state.line, *texts))
                    if len(state.line) > LINE_CAP:
                        raise self.fail(child, f"more than {LINE_CAP} texts and values in one line")
            self.places[id(node)] = places
            return state
        if isinstance(node, nodes.If):
            after = self.walk(node.body, state)
            for branch in node.elif_:
                after = self.join(after, self.walk(branch.body, state), node)
            return self.join(after, self.walk(node.else_, state), node)
        if isinstance(node, nodes.For):
            once = self.walk(node.body, state)
            again = self.join(state, once, node)
            after = self.walk(node.body, again) if again != state else once
            return self.join(after, self.walk(node.else_, state), node)
        if isinstance(node, nodes.Block):  # a child's block of the same name may stand here instead
            self.end(state, node)
            self.end(self.walk(node.body, state), node)
            return self.unknown(state)
        if isinstance(node, nodes.Macro | nodes.AssignBlock):
            self.end(self.walk(node.body, self.start(known=False)), node)
            return state
        if isinstance(node, nodes.Include):
            self.end(state, node)
            return self.unknown(state)
        return state

    def unknown(self, state: State) -> State:
        """Return the state after another template's text, which ends where it likes but stays in its mode."""
        self.flush(state)
        return State(state.mode, (*state.line, VALUE) if state.line else ())

    def flush(self, state: State) -> None:
        """Note the current line as one that may end here."""
        if state.line:
            self.frame.update((state.line, (*state.line, VALUE)))

    def wrap(self, root: nodes.Template) -> None:
        """Wrap each printed value in the escape of its place."""
        for output in root.find_all(nodes.Output):
            places = self.places.get(id(output))
            if places is None:
                raise self.fail(output, "this value stands where the page cannot be followed")
            output.nodes = [
                child
                if isinstance(child, nodes.TemplateData)
                else _escaped(child, f"{self.prefix}.{place}")
                for child, place in zip(output.nodes, places, strict=True)
            ]


def _escaped(node: nodes.Expr, name: str) -> nodes.Filter:
    wrapped = nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
    wrapped.environment = node.environment
    return wrapped


def _texts(node: nodes.Expr) -> Line:
    """Return what is known of a printed expression: the texts an author wrote in it, and `VALUE` for the rest."""
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        return (node.value,)
    if isinstance(node, nodes.Concat):
        return tuple(part for child in node.nodes for part in _texts(child))
    if (
        isinstance(node, nodes.Getattr)
        and node.attr == "title"
        and node.node == nodes.Name("section", "load")
    ):
        return (TITLE,)
    return (VALUE,)


def read(root: nodes.Template, name: str, syntax: str) -> Reading:
    """Check a parsed template, wrap each value in the escape of its place, and return what was read.

    Raises `TemplateError` with name and line for anything outside the template language.
    """
    reader = Reader(name, syntax)
    reader.check(root)
    known = not any(isinstance(n, nodes.Extends) for n in root.body)
    reader.end(reader.walk(root.body, reader.start(known)), root)
    reader.wrap(root)
    return Reading(frozenset(_free_names(root)), frozenset(reader.frame), tuple(reader.parents))


def _free_names(root: nodes.Template) -> Iterator[str]:
    bound = {n.name for n in root.find_all(nodes.Name) if n.ctx in ("store", "param")} | {
        "loop",
        "super",
    }
    bound |= {macro.name for macro in root.find_all(nodes.Macro)}
    for imported in root.find_all(nodes.FromImport):
        bound |= {name if isinstance(name, str) else name[1] for name in imported.names}
    for node in root.find_all(nodes.Name):
        if node.ctx == "load" and node.name not in bound:
            yield node.name
