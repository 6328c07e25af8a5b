"""Reading a template before it runs: what it may do, where each value lands, which lines make the frame.

A template is a guest. Only the nodes named here pass; the rest is refused with the line. Each printed value is then
wrapped in the escape of its place, so that an author can neither forget it nor get around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jinja2 import nodes

from .errors import TemplateError

_ALLOWED = (
    nodes.Template, nodes.Extends, nodes.Output, nodes.TemplateData, nodes.For, nodes.If, nodes.CondExpr, nodes.Block,
    nodes.Include, nodes.FromImport, nodes.Macro, nodes.Assign, nodes.AssignBlock, nodes.Name, nodes.Const, nodes.Tuple,
    nodes.List, nodes.Dict, nodes.Pair, nodes.Keyword, nodes.Filter, nodes.Test, nodes.Getattr, nodes.Getitem,
    nodes.Call, nodes.Compare, nodes.Operand, nodes.Not, nodes.And, nodes.Or, nodes.Concat, nodes.Add, nodes.Sub,
    nodes.Neg,
)  # fmt: skip
_TAGS = "if, for, set, block, extends, include, from … import, macro"

LINE_ENDS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
"""What anybody may take for the end of a line, as the inside of a character class."""

VALUE = object()
"""A printed value, in a line of the frame."""


class State(NamedTuple):
    """Where the page stands between two nodes of a template."""

    mode: str
    """XML: text, tag, attribute, comment, unknown. JSON: value, string. Else empty."""
    line: tuple[object, ...]
    """The current line so far: static texts and `VALUE`."""


class Reading(NamedTuple):
    """What one template was found to be."""

    names: frozenset[str]
    """The variables it uses that it does not set itself."""
    frame: frozenset[tuple[object, ...]]
    """Its lines, as static texts and `VALUE`s."""
    parents: tuple[str, ...]
    """The templates it extends, includes or imports from."""


class _Reader:
    def __init__(self, name: str, syntax: str) -> None:
        self.name = name
        self.syntax = syntax
        self.places: dict[int, list[str]] = {}
        self.frame: set[tuple[object, ...]] = set()
        self.parents: list[str] = []

    def fail(self, node: nodes.Node, message: str) -> TemplateError:
        line = node.lineno or next((n.lineno for n in node.find_all(nodes.Node) if n.lineno), 1)  # autoescape has none
        return TemplateError(message, where=f"{self.name}:{line}")

    # --- what is allowed --------------------------------------------------------------------------------------------

    def check(self, node: nodes.Node) -> None:
        if not isinstance(node, _ALLOWED):
            word = type(node).__name__.lower()
            raise self.fail(node, f'"{word}" is not part of the template language; it has {_TAGS} and filters')
        if isinstance(node, nodes.Call) and not isinstance(node.node, nodes.Name):
            raise self.fail(node, "only macros and super() can be called; use a filter instead")
        if isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
            raise self.fail(node, f'no value has a field "{node.attr}"')
        if isinstance(node, nodes.For) and node.recursive:
            raise self.fail(node, "a recursive loop is not part of the template language")
        if isinstance(node, nodes.Include | nodes.Extends | nodes.FromImport):
            if not (isinstance(node.template, nodes.Const) and isinstance(node.template.value, str)):
                raise self.fail(node, "the name of another template must be written out in quotes")
            self.parents.append(node.template.value)
            if isinstance(node, nodes.FromImport):
                node.with_context = False
        for child in node.iter_child_nodes():
            self.check(child)

    # --- where values land ------------------------------------------------------------------------------------------

    def start(self, known: bool) -> State:
        mode = {"xml": "text" if known else "unknown", "json": "value"}.get(self.syntax, "")
        return State(mode, ())

    def place(self, state: State, node: nodes.Node) -> str:
        if self.syntax == "xml":
            if state.mode in ("tag", "comment"):
                raise self.fail(
                    node, f"a value cannot stand in a {state.mode}; put it in an attribute in double quotes"
                )
            return "attribute" if state.mode in ("attribute", "unknown") else "text"
        if self.syntax == "json":
            return state.mode
        static = "".join(part for part in state.line if isinstance(part, str))
        if self.syntax == "md" and (len(static) - len(static.rstrip("\\"))) % 2:
            raise self.fail(node, "a backslash before a value would undo its escape; write two")
        if self.syntax == "md" and (static.count("`") % 2 or static.lstrip().startswith(("```", "~~~"))):
            raise self.fail(node, "a value cannot stand between backticks; write {{ value | code }} without them")
        if self.syntax == "md":
            if _MD_MARKS.fullmatch(static):
                return "line"
        elif not static.strip() and VALUE not in state.line:
            return "line"
        return "cell" if self.syntax == "md" and static.lstrip().startswith("|") else "inline"

    def feed(self, state: State, text: str, node: nodes.Node) -> State:
        mode = state.mode
        if self.syntax == "xml":
            mode = _xml_mode(mode, text)
            if mode == "single":
                raise self.fail(node, "write attributes in double quotes")
        elif self.syntax == "json":
            mode = _json_mode(mode, text)
        elif self.syntax == "md" and (hidden := _MD_RAW.search(text)):
            raise self.fail(node, f'"{hidden[0].strip()}" opens a block of HTML in which a fence is not one')
        first, *rest = text.split("\n")
        line = (*state.line, first) if first else state.line
        for following in rest:  # also a line whose beginning is not known: it may well be one
            self.frame.add(line)
            line = (following,) if following else ()
        return State(mode, line)

    def join(self, a: State, b: State) -> State:
        if a == b:
            return a
        self.flush(a)  # what follows may begin with a line end
        self.flush(b)
        common = []
        for x, y in zip(a.line, b.line, strict=False):
            if x != y:
                break
            common.append(x)
        mode = a.mode if a.mode == b.mode else {"xml": "unknown", "json": "value"}.get(self.syntax, "")
        return State(mode, (*common, VALUE))

    def walk(self, body: Iterable[nodes.Node], state: State) -> State:
        for node in body:
            state = self.step(node, state)
        return state

    def step(self, node: nodes.Node, state: State) -> State:
        if isinstance(node, nodes.Output):
            places = []
            for child in node.nodes:
                if isinstance(child, nodes.TemplateData):
                    places.append("")
                    state = self.feed(state, child.data, child)
                else:
                    places.append(self.place(state, child))
                    state = state._replace(line=(*state.line, VALUE))
            self.places[id(node)] = places
            return state
        if isinstance(node, nodes.If):
            after = self.walk(node.body, state)
            for branch in node.elif_:
                after = self.join(after, self.walk(branch.body, state))
            return self.join(after, self.walk(node.else_, state))
        if isinstance(node, nodes.For):
            once = self.walk(node.body, state)
            again = self.join(state, once)
            after = self.walk(node.body, again) if again != state else once
            return self.join(after, self.walk(node.else_, state))
        if isinstance(node, nodes.Block):  # a child's block of the same name may stand here instead
            self.flush(self.walk(node.body, state))
            return self.unknown(state)
        if isinstance(node, nodes.Macro | nodes.AssignBlock):
            self.flush(self.walk(node.body, self.start(known=False)))
            return state
        if isinstance(node, nodes.Include):
            return self.unknown(state)
        return state

    def unknown(self, state: State) -> State:
        """Return the state after another template's text, which ends where it likes but stays in its mode."""
        self.flush(state)
        return State(state.mode, (*state.line, VALUE) if state.line else ())

    def flush(self, state: State) -> None:
        if state.line:
            self.frame.add(state.line)

    def wrap(self, root: nodes.Template) -> None:
        for output in root.find_all(nodes.Output):
            places = self.places.get(id(output))
            if places is None:
                raise self.fail(output, "this value stands where the page cannot be followed")
            output.nodes = [
                child if isinstance(child, nodes.TemplateData) else _escaped(child, f"{self.syntax}.{place}")
                for child, place in zip(output.nodes, places, strict=True)
            ]


def _escaped(node: nodes.Expr, name: str) -> nodes.Filter:
    wrapped = nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
    wrapped.environment = node.environment
    return wrapped


# What lists and quotes put before a line of their own.
_MD_MARKS = re.compile(r"(?:[ \t]*(?:[-+*>]|[0-9]{1,9}[.)]))*[ \t]*")
# Blocks of HTML that a blank line does not end (CommonMark 0.31, §4.6, kinds 1 to 5).
_MD_RAW = re.compile(r"(?im)^ {0,3}<(?:(?:pre|script|style|textarea)\b|!--(?!.*-->)|\?|!\[CDATA\[|![a-z])")


def _xml_mode(mode: str, text: str) -> str:
    i = 0
    while i < len(text):
        char = text[i]
        if mode == "comment":
            end = text.find("-->", i)
            if end < 0:
                return mode
            mode, i = "text", end + 2
        elif mode == "attribute":
            mode = "tag" if char == '"' else mode
        elif mode == "tag":
            mode = {">": "text", '"': "attribute", "'": "single"}.get(char, mode)
            if mode == "single":
                end = text.find("'", i + 1)
                if end < 0:
                    return mode
                mode, i = "tag", end
        elif text.startswith(("<!--", "<![CDATA["), i):
            mode = "comment"
            if text.startswith("<![", i):
                end = text.find("]]>", i)
                mode, i = ("text", end + 2) if end >= 0 else ("comment", len(text))
        elif char in "<>":  # from unknown, the first angle bracket tells
            mode = "tag" if char == "<" else "text"
        i += 1
    return mode


def _json_mode(mode: str, text: str) -> str:
    for mark in re.findall(r'\\.|"', text):
        if mark == '"':
            mode = "value" if mode == "string" else "string"
    return mode


def read(root: nodes.Template, name: str, syntax: str) -> Reading:
    """Check a parsed template, wrap each value in the escape of its place, and return what was read.

    Raises `TemplateError` with name and line for anything outside the template language.
    """
    reader = _Reader(name, syntax)
    reader.check(root)
    known = not any(isinstance(n, nodes.Extends) for n in root.body)
    reader.flush(reader.walk(root.body, reader.start(known)))
    reader.wrap(root)
    return Reading(frozenset(_free_names(root)), frozenset(reader.frame), tuple(reader.parents))


def _free_names(root: nodes.Template) -> Iterator[str]:
    bound = {n.name for n in root.find_all(nodes.Name) if n.ctx in ("store", "param")} | {"loop", "super"}
    bound |= {macro.name for macro in root.find_all(nodes.Macro)}
    for imported in root.find_all(nodes.FromImport):
        bound |= {name if isinstance(name, str) else name[1] for name in imported.names}
    for node in root.find_all(nodes.Name):
        if node.ctx == "load" and node.name not in bound:
            yield node.name


# --- lines of the frame, as a pattern --------------------------------------------------------------------------------


def frame_pattern(lines: Iterable[tuple[object, ...]]) -> re.Pattern[str] | None:
    """Return a pattern for a whole line that could be taken for one of `lines`, or `None` if none is distinct.

    A line that begins with words is known by them; any other must match as a whole and show at least two visible
    characters of its own. Lines that are nothing but a value cannot be told from content and are left out.
    """
    anywhere: set[str] = set()
    at_margin: set[str] = set()
    for parts in lines:
        merged = [p for p in parts if p != ""]
        visible = "".join("".join(p.split()) for p in merged if isinstance(p, str))
        head = merged[0].lstrip() if merged and isinstance(merged[0], str) else ""
        if len(merged) > 1 and sum(map(str.isalnum, head)) >= 2:
            anywhere.add(re.escape(head.rstrip()))
        elif len(visible) >= 2:
            line = "".join(re.escape(p) if isinstance(p, str) else f"[^{LINE_ENDS}]*" for p in merged)
            whole = re.sub(r"^(?:\\[ \t])+", "", line) + rf"[ \t]*(?=[{LINE_ENDS}]|\Z)"
            (anywhere if head else at_margin).add(whole)
    choices = []
    if anywhere:
        choices.append(rf"[ \t]*(?:{'|'.join(sorted(anywhere))})")
    if at_margin:  # a line that begins with a value begins at the margin, and indented text is not one
        choices.append(rf"(?=\S)(?:{'|'.join(sorted(at_margin))})")
    if not choices:
        return None
    return re.compile(rf"(?:\A|(?<=[{LINE_ENDS}]))(?={'|'.join(choices)})[^{LINE_ENDS}]+")
