"""One Python function for one template: quicker than Jinja, and equal to it.

A template is mostly text, fields, filters, loops and conditions on options. From its tree, as Jinja
would compile it (checked, escaped, metered), `specialise` writes one Python function: the options
that are yes, no or nothing are folded in, an item's field is one lookup, the fuel of entering is a
constant. Filters, escapes, tests and payments are those of the environment, so nothing has a second
meaning. A node that is not listed here leaves the template to Jinja. So does anything that goes
wrong in the function: Jinja then runs the template again from the start, and says what is wrong and
where.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import jinja2
from jinja2 import nodes

from ..text.escape import MD_HARMLESS, DelimitedBlock, FencedBlock, FenceEnd, FenceStart, Safe
from .limits import MAX_FREE_CHARS

_VALUE, _FENCE = "\0", "\1"
"""A printed value on one line, and a fence, in the end of a printed text."""
_BEFORE_FENCE = re.compile(r"(?s:.*)\n(?:[ \t]*[^<\s\0\1][^\n\1]*)?\n")
"""A text with a fence after it: a blank line, or a line that begins no block of HTML."""
_CONSTANTS = {"True": True, "False": False, "None": False}
"""Expressions with one value, and whether it is yes."""
_PASSING = frozenset(
    {"md.line", "md.joined", "xml.text", "xml.joined", "json.value", "yaml.value", "txt.inline"}
)
"""Escapes that return a safe text itself, and let it burn no fuel."""
_SAFE_TEXTS = frozenset({Safe, FencedBlock, FenceStart, FenceEnd, DelimitedBlock})
_LOOP_FIELDS = {
    "first": "(place{0} == 0)",
    "last": "(place{0} + 1 == len(values{0}))",
    "index": "(place{0} + 1)",
    "index0": "place{0}",
    "length": "len(values{0})",
}
MAX_INCLUDED = 16
"""Templates written out in one function: thirty that include the next one twice are a thousand
million."""
MAX_ENDS = 64
"""Ends of a printed text that are followed; each condition may double them."""
MAX_END_CHARS = 200


class TemplateFunction(NamedTuple):
    """A template as a function."""

    pieces: Callable[[Mapping[str, Any], Mapping[str, Any]], list[str]]
    """From an item's fields and the other variables, the pieces that the template prints."""
    fuel: int
    """Units for entering the template."""
    isolated: bool
    """True where it is proved that each fence has lines of its own."""


class _UnknownNodeError(Exception):
    """The template holds something that only Jinja knows."""


def folded(variables: Mapping[str, Any]) -> tuple[tuple[str, object], ...]:
    """Return the variables that are yes, no or nothing: their values are part of a function."""
    return tuple(pair for pair in variables.items() if isinstance(pair[1], bool | None))


def specialise(
    template: jinja2.Template, options: Mapping[str, Any], tree: Callable[[str], nodes.Template]
) -> TemplateFunction | None:
    """Return the function of `template`; `None` where Jinja has to run it.

    `options` are its variables, but for `item`; `tree` gives what a template was compiled from.
    """
    writer = _Writer(template.environment, options, tree)
    try:
        writer.template(template.name or "")
        source = "\n".join(["def pieces(item, options):", "    out = []", *writer.lines])
        code = compile(f"{source}\n    return out\n", template.name or "<template>", "exec")
        exec(code, writer.scope)
    except (_UnknownNodeError, SyntaxError, RecursionError, MemoryError, ValueError):
        return None
    return TemplateFunction(writer.scope["pieces"], writer.fuel, writer.isolated)


def _is_fence(node: nodes.Node | None) -> bool:
    return isinstance(node, nodes.Filter) and node.name == "fence"


def _check_varies(node: nodes.Expr) -> None:
    """Leave it to Jinja if a value is the same each time: Jinja works that out as it compiles."""
    # By names: `{{ "a" if true else item.name }}` does not vary, and so its test is looked at.
    if not isinstance(node, nodes.Name) and node.find(nodes.Name) is None:
        raise _UnknownNodeError


class _Writer:
    """Writes the lines of the function."""

    _signs: ClassVar = {
        **{"eq": "==", "ne": "!=", "gt": ">", "gteq": ">=", "lt": "<", "lteq": "<="},
        **{"in": "in", "notin": "not in"},
    }

    def __init__(
        self,
        environment: jinja2.Environment,
        options: Mapping[str, Any],
        tree: Callable[[str], nodes.Template],
    ) -> None:
        self.lines: list[str] = []
        self.fuel = 0
        self.isolated = True
        # The ends that the printed text may have here. Where nothing is printed yet, a line begins.
        self._ends = {"\n\n"}
        self.scope: dict[str, Any] = {
            "__builtins__": {each.__name__: each for each in (tuple, type, str, len, enumerate)},
            "Safe": Safe,
            "harmless": MD_HARMLESS,
            "safe": _SAFE_TEXTS,
            "field": environment.getattr,
        }
        self._environment, self._options, self._tree = environment, options, tree
        self._blocks: dict[str, nodes.Block] = {}
        # Names of the template → names of the function.
        self._given: Mapping[str, str] = {} if "items" in options else {"item": "item"}
        self._locals: Mapping[str, str] = self._given
        self._loops, self._loop = 0, 0
        self._included = 0

    # --- statements -------------------------------------------------------------------------------

    def template(self, name: str) -> None:
        """Write a template; of one that extends another, the other with its blocks."""
        root = self._tree(name)
        body = root.body
        parents = [node for node in body if isinstance(node, nodes.Extends)]
        if not parents:
            self.block(body, "    ")
            return
        start = body.index(parents[0])
        self.block(body[:start], "    ")
        # Of what follows Jinja runs nothing but the blocks, and those within them.
        if not all(isinstance(node, nodes.Block | nodes.Output) for node in body[start + 1 :]):
            raise _UnknownNodeError
        for block in root.find_all(nodes.Block):
            self._blocks.setdefault(block.name, block)
        self.template(self._name(parents[0].template))

    def _name(self, node: nodes.Expr) -> str:
        """Return the name of a template that another one draws on."""
        if not isinstance(node, nodes.Const) or not isinstance(node.value, str):
            raise _UnknownNodeError
        return node.value

    def _inside(
        self, body: Iterable[nodes.Node], indent: str, names: Mapping[str, str], loop: int = 0
    ) -> None:
        """Write statements that see these names, and the fields of this loop."""
        outside, loop_outside = self._locals, self._loop
        self._locals, self._loop = names, loop
        self.block(body, indent)
        self._locals, self._loop = outside, loop_outside

    def block(self, body: Iterable[nodes.Node], indent: str) -> None:
        """Write the statements of a template or branch."""
        written = len(self.lines)
        for node in body:
            if isinstance(node, nodes.Output):
                printed = ", ".join(map(self._printed, node.nodes))
                self.lines.append(f"{indent}out += ({printed},)")
            elif isinstance(node, nodes.If):
                self._if(node, indent)
            elif isinstance(node, nodes.For):
                self._for(node, indent)
            elif isinstance(node, nodes.Block):
                block = self._blocks.get(node.name, node)
                # Whether it sees the loop is said where it stands, not by what takes its place.
                self._inside(block.body, indent, self._locals if node.scoped else self._given)
            elif isinstance(node, nodes.Include):
                self._include(node, indent)
            elif isinstance(node, nodes.ExprStmt):
                self._enter(node.node, indent)
            else:
                raise _UnknownNodeError
        if len(self.lines) == written:
            self.lines.append(f"{indent}pass")

    def _if(self, node: nodes.If, indent: str) -> None:
        test = self.expression(node.test)
        if test in _CONSTANTS and not node.elif_:
            self.block(node.body if _CONSTANTS[test] else node.else_, indent)
            return
        before, after = self._ends, set[str]()
        heads = [f"if {test}:", *(f"elif {self.expression(each.test)}:" for each in node.elif_)]
        bodies = [node.body, *(each.body for each in node.elif_), node.else_]
        for head, body in zip([*heads, "else:"], bodies, strict=True):
            self._ends = before
            self.lines.append(f"{indent}{head}")
            self.block(body, f"{indent}    ")
            after |= self._ends
        self._ends = after
        if len(after) > MAX_ENDS:
            raise _UnknownNodeError

    def _for(self, node: nodes.For, indent: str) -> None:
        if node.test or node.recursive or not isinstance(node.target, nodes.Name):
            raise _UnknownNodeError
        number = self._loops = self._loops + 1
        values = self.expression(node.iter)
        self.lines.append(f"{indent}values{number} = {values}")
        self.lines.append(f"{indent}for place{number}, value{number} in enumerate(values{number}):")
        # Of what an earlier round printed nothing is known but that it does not end in a fence.
        before = self._ends
        self._ends = before | {_VALUE}
        names = {**self._locals, node.target.name: f"value{number}"}
        self._inside(node.body, f"{indent}    ", names, number)
        if any(end.endswith(_FENCE) for end in self._ends):
            self.isolated = False
        self._ends = before
        if node.else_:
            self.lines.append(f"{indent}if not values{number}:")
            self.block(node.else_, f"{indent}    ")
        self._ends = self._ends | {_VALUE}

    def _include(self, node: nodes.Include, indent: str) -> None:
        root = self._tree(self._name(node.template))
        if root.find(nodes.Block) or root.find(nodes.Extends):
            raise _UnknownNodeError
        if node.ignore_missing or not node.with_context:
            raise _UnknownNodeError
        self._included += 1
        if self._included > MAX_INCLUDED:
            raise _UnknownNodeError
        self._inside(root.body, indent, self._locals)

    def _enter(self, paid: nodes.Node, indent: str) -> None:
        if not isinstance(paid, nodes.Filter) or not isinstance(paid.node, nodes.Const):
            raise _UnknownNodeError
        if len(indent) > 4:  # as often as it is entered
            self.lines.append(f"{indent}{self.expression(paid)}")
        else:
            self.fuel += paid.node.value

    def _printed(self, node: nodes.Expr) -> str:
        if isinstance(node, nodes.TemplateData):
            self._extend(node.data)
            return repr(node.data)
        _check_varies(node)  # `{{ "x" | fence }}` too: Jinja prints what it worked out as its text
        if isinstance(node, nodes.Filter) and _is_fence(node.node):
            self.isolated = self.isolated and all(map(_BEFORE_FENCE.fullmatch, self._ends))
            self._extend(_FENCE)
            return self.expression(node)
        self._extend(_VALUE)
        inside = {each.name for each in node.find_all(nodes.Filter)}
        if "fence" in inside:
            self.isolated = False
        if "prose" in inside:  # it has several lines, and nothing is known of the last
            self._ends = {_VALUE}
        return self.expression(node)

    def _extend(self, text: str) -> None:
        """Note that `text` is printed: the line of a fence must end right behind it."""
        if not text.startswith("\n") and any(end.endswith(_FENCE) for end in self._ends):
            self.isolated = False
        self._ends = {(end + text)[-MAX_END_CHARS:] for end in self._ends}

    # --- expressions ------------------------------------------------------------------------------

    def expression(self, node: nodes.Node | None) -> str:
        """Return an expression of Python with the value of the node."""
        write: Callable[[Any], str] | None = getattr(
            self, f"_write_{type(node).__name__.lower()}", None
        )
        if write is None:
            raise _UnknownNodeError
        return write(node)

    def _write_const(self, node: nodes.Const) -> str:
        if node.value is not None and type(node.value) not in (str, int, float, bool):
            raise _UnknownNodeError
        return repr(node.value)

    def _write_name(self, node: nodes.Name) -> str:
        if node.name in self._locals:
            return self._locals[node.name]
        if node.name not in self._options:
            raise _UnknownNodeError
        if isinstance(self._options[node.name], bool | None):
            return repr(self._options[node.name])
        return f"options[{node.name!r}]"

    def _write_getattr(self, node: nodes.Getattr) -> str:
        if isinstance(node.node, nodes.Name) and node.node.name == "loop" and self._loop:
            if node.attr not in _LOOP_FIELDS:
                raise _UnknownNodeError
            return _LOOP_FIELDS[node.attr].format(self._loop)
        # A field that is not there raises `KeyError`: Jinja says so in the author's words.
        if (owner := self.expression(node.node)) == "item":
            return f"item[{node.attr!r}]"
        return f"field({owner}, {node.attr!r})"

    def _write_and(self, node: nodes.And) -> str:
        _check_varies(node.left)
        left = self.expression(node.left)
        if left in _CONSTANTS:
            return self.expression(node.right) if _CONSTANTS[left] else left
        return f"({left} and {self.expression(node.right)})"

    def _write_or(self, node: nodes.Or) -> str:
        _check_varies(node.left)
        left = self.expression(node.left)
        if left in _CONSTANTS:
            return left if _CONSTANTS[left] else self.expression(node.right)
        return f"({left} or {self.expression(node.right)})"

    def _write_not(self, node: nodes.Not) -> str:
        inner = self.expression(node.node)
        return repr(not _CONSTANTS[inner]) if inner in _CONSTANTS else f"(not {inner})"

    def _write_condexpr(self, node: nodes.CondExpr) -> str:
        _check_varies(node.test)
        test, first, other = map(self.expression, (node.test, node.expr1, node.expr2))
        return f"({first} if {test} else {other})"

    def _write_compare(self, node: nodes.Compare) -> str:
        rest = [f"{self._signs[each.op]} {self.expression(each.expr)}" for each in node.ops]
        return f"({self.expression(node.expr)} {' '.join(rest)})"

    def _write_list(self, node: nodes.List) -> str:
        return f"[{', '.join(map(self.expression, node.items))}]"

    def _write_tuple(self, node: nodes.Tuple) -> str:
        return f"tuple({self._write_list(nodes.List(node.items))})"

    def _write_test(self, node: nodes.Test) -> str:
        return self._call(node, self._environment.tests[node.name], [])

    def _write_filter(self, node: nodes.Filter) -> str:
        if node.name.startswith("md.") and _is_fence(node.node):
            return self.expression(node.node)  # safe text: no escape of Markdown changes it
        change = self._environment.filters[node.name]
        if node.name in ("md.heading", "md.inline") and isinstance(node.node, nodes.Getattr):
            # A short harmless label is safe as it is, and burns no fuel: most labels are.
            called = self._called(node, change)
            value = self.expression(node.node)
            usual = f"type(label := {value}) is str and len(label) <= {MAX_FREE_CHARS}"
            return f"(Safe(label) if {usual} and harmless(label) else {called}(label))"
        if ".plugged." in node.name:  # a stranger's function runs once, whatever it does
            raise _UnknownNodeError
        if node.name in _PASSING and not self._given:
            # A page prints texts of its items and of the caller: most are safe as they are.
            called = self._called(node, change)
            value = self.expression(node.node)
            return f"(text if type(text := {value}) in safe else {called}(text))"
        # The payments take Jinja's context, and do not look at it.
        return self._call(node, change, ["None"] if node.name.startswith("fuel.") else [])

    def _called(self, node: nodes.Test | nodes.Filter, function: Any) -> str:
        """Return the name by which the lines call the function of a filter or test."""
        name = f"call_{node.name.replace('.', '_')}"
        self.scope[name] = function
        return name

    def _call(self, node: nodes.Test | nodes.Filter, called: Any, before: list[str]) -> str:
        name = self._called(node, called)
        given = [*before, self.expression(node.node), *map(self.expression, node.args)]
        given += [f"{each.key}={self.expression(each.value)}" for each in node.kwargs]
        return f"{name}({', '.join(given)})"
