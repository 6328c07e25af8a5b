"""Reading one template without running it: its problems, its variables, and the work it may do."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import jinja2
from jinja2 import nodes

from ..errors import certain_correction, did_you_mean, suggest_name
from ..plugins import plugin_names
from ..templating.autoescape import TemplateReader, template_syntax
from ..templating.failures import blank_tags, locate_node, node_offset, word_after, word_length
from ..templating.language import (
    FILTERS,
    LOOP_FIELDS,
    TEMPLATE_TESTS,
    Environment,
    check_filters,
    locate_mistake,
)

_ENVIRONMENT = Environment(jinja2.DictLoader({}))


class Problem(NamedTuple):
    """One problem at a place of a text."""

    start: int
    length: int
    code: str
    message: str
    new: str | None = None
    """Text that `--fix` writes in its place."""


class ParsedTemplate(NamedTuple):
    """A template's tree, `None` if it cannot be read, and the problems of its language."""

    root: nodes.Template | None
    problems: list[Problem]


def parse_template(text: str, name: str) -> ParsedTemplate:
    """Return the tree of a template's text; never raises."""
    try:
        root = _ENVIRONMENT.tree(text, name)
        return ParsedTemplate(
            root, [*_twice(root, text), *_near_tags(text), *_refusals(root, text, name)]
        )
    except jinja2.TemplateSyntaxError as error:
        start, length, message, new = locate_mistake(text, error)
        return ParsedTemplate(None, [Problem(start, length, "PF801", message, new)])
    except RecursionError:
        return ParsedTemplate(None, [Problem(0, 1, "PF801", "nests too deeply")])
    except Exception as error:  # a parser of hostile text may fail in any way
        return ParsedTemplate(
            None, [Problem(0, 1, "PF801", f"cannot be read: {type(error).__name__}")]
        )


def _twice(root: nodes.Template, text: str) -> Iterator[Problem]:
    """Yield blocks that have the name of an earlier one."""
    seen: set[str] = set()
    for block in root.find_all(nodes.Block):
        if block.name in seen:
            at, length = word_after(text, node_offset(block), r"(?:block)?\s*")
            message = f'the block "{block.name}" is there twice; a name stands for one place'
            yield Problem(at, length, "PF801", message)
        seen.add(block.name)


def _near_tags(text: str) -> Iterator[Problem]:
    """Yield text that was meant as a tag or a value and is printed as it stands."""
    for found in _NEAR_TAG.finditer(blank_tags(text)):
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


class _Collector(TemplateReader):
    """Goes on after a refusal, so that one check says all of them."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, template_syntax(name), text)
        self.text = text
        self.problems: list[Problem] = []

    def refuse(self, node: nodes.Node, code: str, message: str) -> None:
        at, length = locate_node(node, message, self.text)
        new = None
        if code == "PF803" and isinstance(node, nodes.Filter):
            new = certain_correction(node.name, FILTERS)
        elif code == "PF804" and isinstance(node, nodes.Test):
            new = certain_correction(node.name, TEMPLATE_TESTS)
        self.problems.append(Problem(at, length, code, message, new))


def _refusals(root: nodes.Template, text: str, name: str) -> list[Problem]:
    """Return everything that the engine refuses in a template before it runs."""
    found = _Collector(name, text)
    plugins_there = dict(plugin_names("filters"))  # nothing more is known of them before they run
    check_filters(root, found, lambda node: node.name in plugins_there)
    for node in root.find_all(nodes.Filter):
        if node.name in FILTERS and (wrong := _arguments(node)) is not None:
            found.problems.append(Problem(node_offset(node), len(node.name), "PF803", wrong))
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


# --- variables ------------------------------------------------------------------------------------


class Shape(NamedTuple):
    """The known facts about a value."""

    label: str
    """The value in words, for messages."""
    fields: Mapping[str, Shape] | None = None
    """Its fields; `None` for a value that has none."""
    member: Shape | None = None
    """The members of a list."""


ANY_SHAPE = Shape("anything")
"""An unknown value: metadata, or one that a template has made."""
VALUE_SHAPE = Shape("a text or number")
LONG_TEXT_SHAPE = Shape("a long text")
"""Text that prints on one line unless a filter says otherwise."""
FINISHED_TEXT_SHAPE = Shape("a finished text")
"""Text from a template or from the caller, printed as it is."""


def list_of(member: Shape) -> Shape:
    """Return the shape of a list."""
    return Shape("a list", None, member)


def _with_fields(label: str, values: Iterable[str], **others: Shape) -> Shape:
    return Shape(label, {**dict.fromkeys(values, VALUE_SHAPE), **others})


LOOP_SHAPE = _with_fields("a loop", LOOP_FIELDS)
ITEM_SHAPE = _with_fields(
    "an item",
    (
        *("id", "kind", "name", "path", "title", "start_line", "end_line"),
        *("lines", "line_range", "language", "score", "origin", "form"),
    ),
    metadata=ANY_SHAPE,
    content=LONG_TEXT_SHAPE,
    summary=LONG_TEXT_SHAPE,
)
SHOWN_ITEM_SHAPE = Shape("an item", {**(ITEM_SHAPE.fields or {}), "text": FINISHED_TEXT_SHAPE})
"""An item on a page."""
SECTION_SHAPE = _with_fields("a section", ("key", "title"), items=list_of(SHOWN_ITEM_SHAPE))
SOURCE_SHAPE = _with_fields("a source", ("id", "name", "kind", "path", "line", "score"))
_MESSAGE = _with_fields(
    "a message",
    ("role", "text"),
    calls=list_of(_with_fields("a call", ("id", "name", "arguments"))),
    results=list_of(_with_fields("a result", ("id", "name", "text"))),
)
_PART = _with_fields("a part", ("name", "role"), text=FINISHED_TEXT_SHAPE)
PAGE_VARIABLES: Mapping[str, Shape] = {
    "items": list_of(SHOWN_ITEM_SHAPE),
    **dict.fromkeys(("sections", "explicit", "similarity"), list_of(SECTION_SHAPE)),
    "sources": list_of(SOURCE_SHAPE),
    **dict.fromkeys(("header", "footer", "separator"), FINISHED_TEXT_SHAPE),
    **dict.fromkeys(("total", "query"), VALUE_SHAPE),
}
ITEM_VARIABLES: Mapping[str, Shape] = {
    "item": ITEM_SHAPE,
    **dict.fromkeys(("headers", "line_numbers", "scores", "code", "query"), VALUE_SHAPE),
}
PROMPT_VARIABLES: Mapping[str, Mapping[str, Shape]] = {
    **{
        part: {part: FINISHED_TEXT_SHAPE, "boundary": VALUE_SHAPE}
        for part in ("system", "instructions", "question")
    },
    "context": {
        **dict.fromkeys(("context", "citation"), FINISHED_TEXT_SHAPE),
        "boundary": VALUE_SHAPE,
    },
    "history": {"history": list_of(_MESSAGE), "boundary": VALUE_SHAPE},
    "prompt": {"parts": list_of(_PART), "boundary": VALUE_SHAPE},
}
"""The variables of `prompt/SET/PART.EXT.j2`, by the part."""
# --- scopes ---------------------------------------------------------------------------------------
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


class ScopeWalk:
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
                self._root.setdefault(name.name, ANY_SHAPE)
            if isinstance(node.target, nodes.Name):
                self._root.setdefault(node.target.name, ANY_SHAPE)
        elif isinstance(node, nodes.Macro):
            self._root[node.name] = ANY_SHAPE

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
            self._bind(node.target, self.shape(node.node, scope) or ANY_SHAPE, scope)
        elif isinstance(node, nodes.AssignBlock):
            self.walk(node.body, dict(scope))
            self._bind(node.target, FINISHED_TEXT_SHAPE, scope)
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
                scope[name if isinstance(name, str) else name[1]] = ANY_SHAPE

    def _loop(self, node: nodes.For, scope: Scope) -> None:
        given = self.shape(node.iter, scope)
        inner = {**scope, "loop": LOOP_SHAPE}
        self._bind(node.target, (given and given.member) or ANY_SHAPE, inner)
        if node.test is not None:
            self.shape(node.test, inner)
        self.walk(node.body, inner)
        self.walk(node.else_, dict(scope))

    def _macro(self, node: nodes.Macro, scope: Scope) -> None:
        scope[node.name] = ANY_SHAPE
        for default in node.defaults:
            self.shape(default, scope)
        arguments = {argument.name: ANY_SHAPE for argument in node.args}
        self.walk(node.body, {**scope, **arguments, "caller": ANY_SHAPE})

    def _block(self, node: nodes.Block, scope: Scope) -> None:
        inner = dict(scope if node.scoped else self._root)
        inner = {**self._outer.get(node.name, {}), **inner, "super": ANY_SHAPE}
        self.blocks[node.name] = inner
        self.walk(node.body, dict(inner))

    def _bind(self, target: nodes.Node, shape: Shape, scope: Scope) -> None:
        if isinstance(target, nodes.Name):
            scope[target.name] = shape
        for name in target.find_all(nodes.Name):
            scope[name.name] = ANY_SHAPE

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
        if shape is LONG_TEXT_SHAPE:
            message = (
                "a long text without a filter is printed on one line; add | framed, or | prose"
            )
            self._say(child, "PF810", message)
        elif shape is VALUE_SHAPE and before is VALUE_SHAPE:
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
            at, length = word_after(self.text, node_offset(node), r"\.\s*")
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
            return VALUE_SHAPE
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
        return VALUE_SHAPE if isinstance(node, plain) else ANY_SHAPE

    def _shape_of_all(self, parts: Iterable[nodes.Node | None], scope: Scope) -> Shape:
        """Return the shape that is right for every part, `ANY` if they differ."""
        shapes = [self.shape(part, scope) for part in parts if part is not None]
        if not shapes or any(shape is None or shape != shapes[0] for shape in shapes):
            return ANY_SHAPE
        return shapes[0] or ANY_SHAPE

    def _item(self, node: nodes.Getitem, scope: Scope, absent: bool) -> Shape | None:
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            at = node_offset(node.arg)
            length = word_length(self.text, at)
            return self._field(node.node, node.arg.value, at, length, scope, absent)
        shape = self.shape(node.node, scope)
        self.shape(node.arg, scope)
        return (shape.member or ANY_SHAPE) if shape else None

    def _call(self, node: nodes.Call, scope: Scope) -> Shape | None:
        if isinstance(node.node, nodes.Getattr):  # refused already, whatever it is
            self.shape(node.node.node, scope)
            return None
        if not isinstance(node.node, nodes.Name) or node.node.name in (*scope, "super"):
            for child in node.iter_child_nodes():
                self.shape(child, scope)
            return ANY_SHAPE
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
                message = f'unknown variable "{node.name}"{suggest_name(node.name, known)}'
                self._say(node, "PF802", message, certain_correction(node.name, known))
        return shape

    def _field(
        self, of: nodes.Node, name: str, at: int, length: int, scope: Scope, absent: bool
    ) -> Shape | None:
        owner = self.shape(of, scope, absent=absent)
        if owner is None or owner is ANY_SHAPE:
            return owner
        if owner.fields is None:
            if not absent:
                each = "; ask each of its members: {% for one in … %}" if owner.member else ""
                message = f'"{name}" is asked of {owner.label}, which has no fields{each}'
                self.problems.append(Problem(at, length, "PF806", message))
            return None
        shape = owner.fields.get(name)
        if shape is None and not absent:
            hint, new = _hint(owner, name, owner.fields)
            message = f'{owner.label} has no field "{name}"{hint}'
            self.problems.append(Problem(at, length, "PF806", message, new))
        return shape

    def _filter(self, node: nodes.Filter, scope: Scope) -> Shape | None:
        shape = None
        if node.node is not None:
            shape = self.shape(node.node, scope, absent=node.name == "default")
        for argument in (*node.args, *(pair.value for pair in node.kwargs)):
            self.shape(argument, scope)
        if node.name in ("fence", "framed", "prose", "code"):
            return FINISHED_TEXT_SHAPE
        if node.name in ("first", "last"):
            return (shape.member or ANY_SHAPE) if shape else None
        if node.name in ("upper", "lower", "trim"):
            return LONG_TEXT_SHAPE if shape is LONG_TEXT_SHAPE else VALUE_SHAPE
        return (shape or ANY_SHAPE) if node.name == "default" else VALUE_SHAPE

    def _say(self, node: nodes.Node, code: str, message: str, new: str | None = None) -> None:
        at = node_offset(node)
        if isinstance(node, nodes.Getattr):  # the whole of item.content
            inner: nodes.Node = node
            while isinstance(inner, nodes.Getattr):
                inner = inner.node
            start = node_offset(inner)
            end, length = word_after(self.text, at, r"\.\s*")
            self.problems.append(Problem(start, end + length - start, code, message))
        else:
            self.problems.append(Problem(at, word_length(self.text, at), code, message, new))


def _text(row: list[nodes.Expr]) -> str:
    """Return the template's own text in the one node of `row`, if it is text."""
    return "".join(node.data for node in row if isinstance(node, nodes.TemplateData))


def _hint(owner: Shape, name: str, fields: Mapping[str, Shape]) -> tuple[str, str | None]:
    """Return the end of the message about an unknown field, and the name that `--fix` writes."""
    near = did_you_mean(name, fields)
    if name == "text" and owner.label == "an item":
        return ": only a page has it; here it is item.content", None
    if "metadata" not in fields:
        return near or suggest_name(name, fields), certain_correction(
            name, fields
        ) if near else None
    if name in _FIELDS:
        return f'; did you mean "{_FIELDS[name]}"?', None
    new = certain_correction(name, fields) if near else None
    if new is not None:
        return near, new
    hint = f"; what an item alone knows is in its metadata: item.metadata.{name}"
    return hint + (f"; or {near.removeprefix('; ')}" if near else ""), None


# --- work -----------------------------------------------------------------------------------------

MAX_TRIAL_STEPS = 200_000
"""Steps of a template that is still tried out; the shipped ones take some hundreds."""
_ITEMS = 6
"""Rounds of a loop over items or sections; samples are as few."""
_EACH = 45
"""Rounds of any other loop; the text of a sample has as many characters."""
_LISTS = frozenset({"items", "sections", "explicit", "similarity", "sources"})
_GROWING = 12
"""Assignments that join values: each can double the one before, so twelve make 4,096 times."""


def count_steps(root: nodes.Template, other: Callable[[str], int]) -> int:
    """Return the steps of a template; `other` returns those of a template that it draws on."""
    macros = {macro.name: macro for macro in root.find_all(nodes.Macro)}
    known: dict[str, int] = {}

    def macro(name: str) -> int:
        if name not in known:
            known[name] = MAX_TRIAL_STEPS  # found by a macro that calls itself
            known[name] = all_of(macros[name].body)
        return known[name]

    def all_of(body: Iterable[nodes.Node]) -> int:
        return min(MAX_TRIAL_STEPS, sum(map(one, body)))

    def one(node: nodes.Node) -> int:
        if isinstance(node, nodes.For):
            turns = _turns(node.iter)
            return min(MAX_TRIAL_STEPS, 1 + turns * (1 + all_of(node.body)) + all_of(node.else_))
        if isinstance(node, nodes.Macro):
            return 1
        if isinstance(node, nodes.Include | nodes.Extends) and isinstance(
            node.template, nodes.Const
        ):
            return min(MAX_TRIAL_STEPS, 1 + other(str(node.template.value)))
        steps = 1 + all_of(node.iter_child_nodes())
        callee = node.node if isinstance(node, nodes.Call) else None
        if isinstance(callee, nodes.Name) and callee.name in macros:
            steps += macro(callee.name)
        return min(MAX_TRIAL_STEPS, steps)

    growing = sum(
        sum(1 for name in node.find_all(nodes.Name) if name.ctx == "load") > 1
        for node in root.find_all((nodes.Assign, nodes.AssignBlock))
    )
    return MAX_TRIAL_STEPS if growing > _GROWING else all_of(root.body)


def _turns(over: nodes.Node) -> int:
    if isinstance(over, nodes.List | nodes.Tuple):
        return len(over.items)
    word = ""
    if isinstance(over, nodes.Name):
        word = over.name
    elif isinstance(over, nodes.Getattr):
        word = over.attr
    return _ITEMS if word in _LISTS else _EACH
