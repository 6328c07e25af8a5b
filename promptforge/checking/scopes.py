"""Walking a template as it would run: which names and fields are there, and how values meet on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from jinja2 import nodes

from ..errors import did_you_mean, nearest, sure
from ..templating.excerpts import offset, word_after, word_at
from .parsing import Problem
from .shapes import ANY, FINISHED, LONG, LOOP, VALUE, Shape, list_of

_FILTERS = {
    "len": "length",
    "str": "trim",
    "upper": "upper",
    "lower": "lower",
    "join": "join",
    "round": "decimals(0)",
}
"""What stands for a function that somebody may look for."""
_FIELDS = {
    "file": "path",
    "filename": "path",
    "text": "content",
    "body": "content",
    "type": "kind",
    "lang": "language",
}
"""Words of others for what an item has."""
Scope = dict[str, Shape]
Follow = Callable[[str, Mapping[str, Shape]], None]
"""Called with the name of an included template and what it sees there."""


class Walk:
    """One walk through one template."""

    def __init__(
        self, text: str, syntax: str, follow: Follow, blocks: Mapping[str, Scope] | None = None
    ) -> None:
        """`blocks`: what the parents' blocks see, by name; `None` where the parents are not known or there are none."""
        self.text = text
        self.problems: list[Problem] = []
        self.blocks: dict[str, Scope] = {}
        """The blocks of this template, with what each sees."""
        self._markdown = syntax == "md"
        self._follow = follow
        self._outer = blocks or {}
        self._root: Scope = {}

    def run(self, root: nodes.Template, scope: Mapping[str, Shape]) -> None:
        """Walk the whole template; `scope` is what it is given."""
        self._root = dict(scope)
        if any(
            isinstance(node, nodes.Extends) for node in root.body
        ):  # what it sets is set before its blocks run
            for node in root.body:
                self._bind_ahead(node)
        self.walk(root.body, self._root)

    def _bind_ahead(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.Assign | nodes.AssignBlock):
            for name in node.target.find_all(nodes.Name):
                self._root.setdefault(name.name, ANY)
            if isinstance(node.target, nodes.Name):
                self._root.setdefault(node.target.name, ANY)
        elif isinstance(node, nodes.Macro):
            self._root[node.name] = ANY

    # --- statements -------------------------------------------------------------------------------------------------

    def walk(self, body: Iterable[nodes.Node], scope: Scope) -> None:
        """Walk statements in their order."""
        for node in body:
            self._step(node, scope)

    def _step(self, node: nodes.Node, scope: Scope) -> None:
        if isinstance(node, nodes.Output):
            self._output(node, scope)
        elif isinstance(node, nodes.If):
            self.shape(node.test, scope)
            self.walk(node.body, scope)
            for branch in node.elif_:
                self._step(branch, scope)
            self.walk(node.else_, scope)
        elif isinstance(node, nodes.For):
            given = self.shape(node.iter, scope)
            inner = {**scope, "loop": LOOP}
            self._bind(node.target, (given.member if given and given.member else ANY), inner)
            if node.test is not None:
                self.shape(node.test, inner)
            self.walk(node.body, inner)
            self.walk(node.else_, dict(scope))
        elif isinstance(node, nodes.Assign):
            self._bind(node.target, self.shape(node.node, scope) or ANY, scope)
        elif isinstance(node, nodes.AssignBlock):
            self.walk(node.body, dict(scope))
            self._bind(node.target, FINISHED, scope)
        elif isinstance(node, nodes.Macro):
            scope[node.name] = ANY
            for default in node.defaults:
                self.shape(default, scope)
            self.walk(
                node.body,
                {**scope, **{argument.name: ANY for argument in node.args}, "caller": ANY},
            )
        elif isinstance(node, nodes.Block):
            self._block(node, scope)
        elif isinstance(node, nodes.Include):
            if isinstance(node.template, nodes.Const):
                self._follow(
                    str(node.template.value), {k: v for k, v in scope.items() if k != "loop"}
                )
        elif isinstance(node, nodes.FromImport):
            for name in node.names:
                scope[name if isinstance(name, str) else name[1]] = ANY

    def _block(self, node: nodes.Block, scope: Scope) -> None:
        inner = dict(scope if node.scoped else self._root)
        inner = {**self._outer.get(node.name, {}), **inner, "super": ANY}
        self.blocks[node.name] = inner
        self.walk(node.body, dict(inner))

    def _bind(self, target: nodes.Node, shape: Shape, scope: Scope) -> None:
        if isinstance(target, nodes.Name):
            scope[target.name] = shape
        for name in target.find_all(nodes.Name):
            scope[name.name] = ANY

    # --- values on the page -----------------------------------------------------------------------------------------

    def _output(self, node: nodes.Output, scope: Scope) -> None:
        before: Shape | None = None
        for number, child in enumerate(node.nodes):
            if isinstance(child, nodes.TemplateData):
                before = None
                continue
            shape = self.shape(child, scope)
            if self._markdown:
                self._on_page(node.nodes, number, shape, before)
            before = shape

    def _on_page(
        self, row: list[nodes.Expr], number: int, shape: Shape | None, before: Shape | None
    ) -> None:
        child = row[number]
        if shape is LONG:
            self._say(
                child,
                "PF810",
                "a long text without a filter is printed on one line; add | framed, or | prose",
            )
        elif shape is VALUE and before is VALUE:
            message = "two values beside each other are escaped more than they need; put a blank between them"
            self._say(child, "PF811", message)
        if isinstance(child, nodes.Filter) and child.name in ("fence", "framed"):
            left, right = (row[n] if 0 <= n < len(row) else None for n in (number - 1, number + 1))
            data = [n.data if isinstance(n, nodes.TemplateData) else "" for n in (left, right)]
            if data[0].rpartition("\n")[2].strip() or data[1].partition("\n")[0].strip():
                self._say(
                    child,
                    "PF816",
                    "a fence takes lines of its own; what stands beside it moves to another line",
                )

    # --- expressions ------------------------------------------------------------------------------------------------

    def shape(self, node: nodes.Node, scope: Scope, *, absent: bool = False) -> Shape | None:
        """Return what is known of an expression, `None` where it is wrong; `absent`: it may be missing."""
        if isinstance(node, nodes.Name):
            return self._name(node, scope, absent)
        if isinstance(node, nodes.Getattr):
            at, length = word_after(self.text, offset(node), r"\.\s*")
            return self._field(node.node, node.attr, at, length, scope, absent)
        if isinstance(node, nodes.Getitem):
            if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
                at = offset(node.arg)
                return self._field(
                    node.node, node.arg.value, at, word_at(self.text, at), scope, absent
                )
            shape = self.shape(node.node, scope)
            self.shape(node.arg, scope)
            return (shape.member or ANY) if shape else None
        if isinstance(node, nodes.Filter):
            return self._filter(node, scope)
        if isinstance(node, nodes.Test):
            self.shape(node.node, scope, absent=node.name in ("defined", "undefined"))
            for argument in node.args:
                self.shape(argument, scope)
            return VALUE
        if isinstance(node, nodes.CondExpr):
            self.shape(node.test, scope)
            shapes = [
                self.shape(part, scope) for part in (node.expr1, node.expr2) if part is not None
            ]
            return _common(shapes)
        if isinstance(node, nodes.BinExpr):
            shapes = [self.shape(node.left, scope), self.shape(node.right, scope)]
            return _common(shapes)
        if isinstance(node, nodes.List | nodes.Tuple):
            return list_of(_common([self.shape(part, scope) for part in node.items]) or ANY)
        if isinstance(node, nodes.Const):
            return VALUE
        if (
            isinstance(node, nodes.Call)
            and isinstance(node.node, nodes.Name)
            and node.node.name not in (*scope, "super")
        ):
            name = node.node.name
            hint = (
                f"write | {_FILTERS[name]} after a value"
                if name in _FILTERS
                else "a value is changed by a filter"
            )
            self._say(
                node.node,
                "PF802",
                f'there is no macro "{name}", and templates call nothing else; {hint}',
            )
            for argument in node.args:
                self.shape(argument, scope)
            return None
        if isinstance(node, nodes.Call) and isinstance(
            node.node, nodes.Getattr
        ):  # refused already, whatever it is
            self.shape(node.node.node, scope)
            return None
        for child in node.iter_child_nodes():
            self.shape(child, scope)
        return VALUE if isinstance(node, nodes.Compare | nodes.Not | nodes.Concat) else ANY

    def _name(self, node: nodes.Name, scope: Scope, absent: bool) -> Shape | None:
        shape = scope.get(node.name)
        if shape is None and not absent:
            if node.name == "loop":
                self._say(node, "PF802", 'there is no "loop" outside a for')
            elif node.name == "super":
                self._say(node, "PF802", "super() stands in a block")
            else:
                known = set(scope) - {"super"}
                message = f'unknown variable "{node.name}"{nearest(node.name, known)}'
                self._say(node, "PF802", message, sure(node.name, known))
        return shape

    def _field(
        self, of: nodes.Node, name: str, at: int, length: int, scope: Scope, absent: bool
    ) -> Shape | None:
        owner = self.shape(of, scope, absent=absent)
        if owner is None or owner is ANY:
            return owner
        if owner.fields is None:
            if not absent:
                each = "; ask each of its members: {% for one in … %}" if owner.member else ""
                message = f'"{name}" is asked of {owner.what}, which has no fields{each}'
                self.problems.append(Problem(at, length, "PF806", message))
            return None
        shape = owner.fields.get(name)
        if shape is None and not absent:
            near = did_you_mean(name, owner.fields)
            hint, new = (
                near or nearest(name, owner.fields),
                sure(name, owner.fields) if near else None,
            )
            if name == "text" and owner.what == "an item":
                hint, new = ": only a page has it; here it is item.content", None
            elif "metadata" in owner.fields and name in _FIELDS:
                hint, new = f'; did you mean "{_FIELDS[name]}"?', None
            elif new is None and "metadata" in owner.fields:
                hint = f"; what an item alone knows is in its metadata: item.metadata.{name}"
                hint += f"; or {near.removeprefix('; ')}" if near else ""
            message = f'{owner.what} has no field "{name}"{hint}'
            self.problems.append(Problem(at, length, "PF806", message, new))
        return shape

    def _filter(self, node: nodes.Filter, scope: Scope) -> Shape | None:
        shape = (
            self.shape(node.node, scope, absent=node.name == "default")
            if node.node is not None
            else None
        )
        for argument in (*node.args, *(pair.value for pair in node.kwargs)):
            self.shape(argument, scope)
        if node.name in ("fence", "framed", "prose", "code"):
            return FINISHED
        if node.name in ("first", "last"):
            return (shape.member or ANY) if shape else None
        if node.name in ("upper", "lower", "trim"):
            return LONG if shape is LONG else VALUE
        return (shape or ANY) if node.name == "default" else VALUE

    def _say(self, node: nodes.Node, code: str, message: str, new: str | None = None) -> None:
        at = offset(node)
        if isinstance(node, nodes.Getattr):  # the whole of item.content
            inner: nodes.Node = node
            while isinstance(inner, nodes.Getattr):
                inner = inner.node
            start = offset(inner)
            end, length = word_after(self.text, at, r"\.\s*")
            self.problems.append(Problem(start, end + length - start, code, message))
        else:
            self.problems.append(Problem(at, word_at(self.text, at), code, message, new))


def _common(shapes: list[Shape | None]) -> Shape | None:
    """Return the shape that is right for all of these."""
    if not shapes or None in shapes:
        return ANY
    first = shapes[0]
    return first if all(shape is first or shape == first for shape in shapes) else ANY
