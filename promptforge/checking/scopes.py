"""Following a template as it would run: the names and fields it uses, and values side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from jinja2 import nodes

from ..errors import did_you_mean, nearest, sure
from ..templating.excerpts import offset, word_after, word_at
from .parsing import Problem
from .shapes import ANY, FINISHED, LONG, LOOP, VALUE, Shape, list_of

_FILTERS = {
    **{"len": "length", "str": "trim", "round": "decimals(0)"},
    **{name: name for name in ("upper", "lower", "join")},
}
"""Functions of other languages → the filter to use."""
_FIELDS = {
    **{"file": "path", "filename": "path", "text": "content", "body": "content"},
    **{"type": "kind", "lang": "language"},
}
"""Fields of other systems → the field of an item."""
Scope = dict[str, Shape]
Follow = Callable[[str, Mapping[str, Shape]], None]
"""Called with the name of an included template and its variables."""


class Walk:
    """One walk through one template."""

    def __init__(
        self, text: str, syntax: str, follow: Follow, blocks: Mapping[str, Scope] | None = None
    ) -> None:
        """`blocks` are the variables of the parents' blocks, by name, if there are known parents."""
        self.text = text
        self.problems: list[Problem] = []
        self.blocks: dict[str, Scope] = {}
        """The blocks of this template, with the variables of each."""
        self._markdown = syntax == "md"
        self._follow = follow
        self._outer = blocks or {}
        self._root: Scope = {}

    def run(self, root: nodes.Template, scope: Mapping[str, Shape]) -> None:
        """Follow the whole template, given the variables of `scope`."""
        self._root = dict(scope)
        if any(isinstance(node, nodes.Extends) for node in root.body):
            # The parent runs its blocks after all that stands outside of them.
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
        """Follow statements in their order."""
        for node in body:
            self._step(node, scope)

    def _step(self, node: nodes.Node, scope: Scope) -> None:
        if isinstance(node, nodes.Output):
            self._output(node, scope)
        elif isinstance(node, nodes.If):
            self.shape(node.test, scope)
            self.walk([*node.body, *node.elif_, *node.else_], scope)
        elif isinstance(node, nodes.For):
            self._loop(node, scope)
        elif isinstance(node, nodes.Assign):
            self._bind(node.target, self.shape(node.node, scope) or ANY, scope)
        elif isinstance(node, nodes.AssignBlock):
            self.walk(node.body, dict(scope))
            self._bind(node.target, FINISHED, scope)
        elif isinstance(node, nodes.Macro):
            self._macro(node, scope)
        elif isinstance(node, nodes.Block):
            self._block(node, scope)
        elif isinstance(node, nodes.Include):
            if isinstance(node.template, nodes.Const):
                seen = {name: shape for name, shape in scope.items() if name != "loop"}
                self._follow(str(node.template.value), seen)
        elif isinstance(node, nodes.FromImport):
            for name in node.names:
                scope[name if isinstance(name, str) else name[1]] = ANY

    def _loop(self, node: nodes.For, scope: Scope) -> None:
        given = self.shape(node.iter, scope)
        inner = {**scope, "loop": LOOP}
        self._bind(node.target, (given and given.member) or ANY, inner)
        if node.test is not None:
            self.shape(node.test, inner)
        self.walk(node.body, inner)
        self.walk(node.else_, dict(scope))

    def _macro(self, node: nodes.Macro, scope: Scope) -> None:
        scope[node.name] = ANY
        for default in node.defaults:
            self.shape(default, scope)
        arguments = {argument.name: ANY for argument in node.args}
        self.walk(node.body, {**scope, **arguments, "caller": ANY})

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
                self._in_markdown(node.nodes, number, shape, before)
            before = shape

    def _in_markdown(
        self, row: list[nodes.Expr], number: int, shape: Shape | None, before: Shape | None
    ) -> None:
        """Warn of a value that prints otherwise than its author may expect."""
        child = row[number]
        if shape is LONG:
            message = (
                "a long text without a filter is printed on one line; add | framed, or | prose"
            )
            self._say(child, "PF810", message)
        elif shape is VALUE and before is VALUE:
            message = "two values beside each other are escaped more than they need; put a blank between them"
            self._say(child, "PF811", message)
        if isinstance(child, nodes.Filter) and child.name in ("fence", "framed"):
            left, right = _text(row[number - 1 : number]), _text(row[number + 1 : number + 2])
            if left.rpartition("\n")[2].strip() or right.partition("\n")[0].strip():
                message = (
                    "a fence takes lines of its own; what stands beside it moves to another line"
                )
                self._say(child, "PF816", message)

    # --- expressions ------------------------------------------------------------------------------------------------

    def shape(self, node: nodes.Node, scope: Scope, *, absent: bool = False) -> Shape | None:
        """Return what is known of an expression, `None` where it is wrong; `absent`: it may be missing."""
        if isinstance(node, nodes.Name):
            return self._name(node, scope, absent)
        if isinstance(node, nodes.Getattr):
            at, length = word_after(self.text, offset(node), r"\.\s*")
            return self._field(node.node, node.attr, at, length, scope, absent)
        if isinstance(node, nodes.Getitem):
            return self._item(node, scope, absent)
        if isinstance(node, nodes.Filter):
            return self._filter(node, scope)
        if isinstance(node, nodes.Call):
            return self._call(node, scope)
        if isinstance(node, nodes.Test):
            self.shape(node.node, scope, absent=node.name in ("defined", "undefined"))
            for argument in node.args:
                self.shape(argument, scope)
            return VALUE
        if isinstance(node, nodes.CondExpr):
            self.shape(node.test, scope)
            return self._shape_of_all([node.expr1, node.expr2], scope)
        if isinstance(node, nodes.BinExpr):
            return self._shape_of_all([node.left, node.right], scope)
        if isinstance(node, nodes.List | nodes.Tuple):
            return list_of(self._shape_of_all(node.items, scope))
        for child in node.iter_child_nodes():
            self.shape(child, scope)
        plain = nodes.Const | nodes.Compare | nodes.Not | nodes.Concat
        return VALUE if isinstance(node, plain) else ANY

    def _shape_of_all(self, parts: Iterable[nodes.Node | None], scope: Scope) -> Shape:
        """Return the shape that is right for every part, `ANY` if they differ."""
        shapes = [self.shape(part, scope) for part in parts if part is not None]
        if not shapes or any(shape is None or shape != shapes[0] for shape in shapes):
            return ANY
        return shapes[0] or ANY

    def _item(self, node: nodes.Getitem, scope: Scope, absent: bool) -> Shape | None:
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            at = offset(node.arg)
            length = word_at(self.text, at)
            return self._field(node.node, node.arg.value, at, length, scope, absent)
        shape = self.shape(node.node, scope)
        self.shape(node.arg, scope)
        return (shape.member or ANY) if shape else None

    def _call(self, node: nodes.Call, scope: Scope) -> Shape | None:
        if isinstance(node.node, nodes.Getattr):  # refused already, whatever it is
            self.shape(node.node.node, scope)
            return None
        if not isinstance(node.node, nodes.Name) or node.node.name in (*scope, "super"):
            for child in node.iter_child_nodes():
                self.shape(child, scope)
            return ANY
        name = node.node.name
        hint = "a value is changed by a filter"
        if name in _FILTERS:
            hint = f"write | {_FILTERS[name]} after a value"
        message = f'there is no macro "{name}", and templates call nothing else; {hint}'
        self._say(node.node, "PF802", message)
        for argument in node.args:
            self.shape(argument, scope)
        return None

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
            hint, new = _hint(owner, name, owner.fields)
            message = f'{owner.what} has no field "{name}"{hint}'
            self.problems.append(Problem(at, length, "PF806", message, new))
        return shape

    def _filter(self, node: nodes.Filter, scope: Scope) -> Shape | None:
        shape = None
        if node.node is not None:
            shape = self.shape(node.node, scope, absent=node.name == "default")
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


def _text(row: list[nodes.Expr]) -> str:
    """Return the template's own text in the one node of `row`, if it is text."""
    return "".join(node.data for node in row if isinstance(node, nodes.TemplateData))


def _hint(owner: Shape, name: str, fields: Mapping[str, Shape]) -> tuple[str, str | None]:
    """Return the end of the message about an unknown field, and the name that `--fix` writes."""
    near = did_you_mean(name, fields)
    if name == "text" and owner.what == "an item":
        return ": only a page has it; here it is item.content", None
    if "metadata" not in fields:
        return near or nearest(name, fields), sure(name, fields) if near else None
    if name in _FIELDS:
        return f'; did you mean "{_FIELDS[name]}"?', None
    new = sure(name, fields) if near else None
    if new is not None:
        return near, new
    hint = f"; what an item alone knows is in its metadata: item.metadata.{name}"
    return hint + (f"; or {near.removeprefix('; ')}" if near else ""), None
