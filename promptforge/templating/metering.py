"""Rewriting a parsed template so that it pays fuel for its work.

Authors see nothing of it. Operators that make much out of little (`~`, `+`, `==`, lists) become
calls of the functions below, so Jinja cannot work them out for free while it compiles either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import jinja2
from jinja2 import nodes
from jinja2.runtime import Context

from ..errors import TemplateError
from ..escaping import LABEL_CAP, Escape
from ..safe import Content, Safe
from . import fuel

PRICES = {"prose": 80, "capitalize": 50, "code": 20, "md": 50, "other": 5}
"""Fuel for one character of a filter or escape; a copy is 1. Measured on the worst texts known."""
VALUE = 100
"""Units for printing a value, however short: an escape is a call with a regular expression."""
ENTRY = 60
"""Units for entering a template, macro or block, beside those for its nodes."""


def meter(root: nodes.Template, environment: jinja2.Environment) -> None:
    """Insert the payments into a parsed template."""
    # Loops first: the body of an inner loop counts for the outer one as it was written.
    for loop in root.find_all(nodes.For):
        weight = nodes.Const(sum(map(_price, loop.find_all(nodes.Node))), lineno=loop.lineno)
        loop.iter = _call("fuel.rounds", cast(nodes.Expr, loop.iter), weight)
    _rewrite(root)
    places: list[nodes.Template | nodes.Macro | nodes.Block] = [root]
    places += [*root.find_all(nodes.Macro), *root.find_all(nodes.Block)]
    for place in places:
        first = place.body[0].lineno if place.body else place.lineno
        size = nodes.Const(ENTRY + sum(map(_price, _own(place))), lineno=first)
        place.body.insert(0, nodes.ExprStmt(_call("fuel.enter", size), lineno=first))
    root.set_environment(environment)


def _price(node: nodes.Node) -> int:
    # A dot is in the names of escapes and plug-ins alone.
    costly = isinstance(node, nodes.Filter) and ("." in node.name or node.name in PRICES)
    return VALUE if costly else 1


def _own(place: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the nodes that run when a template, macro or block does."""
    for child in place.iter_child_nodes():
        if not isinstance(child, nodes.Macro | nodes.Block):
            yield child
            yield from _own(child)


def _rewrite(node: nodes.Node) -> None:
    for name, value in node.iter_fields():
        if isinstance(value, nodes.Node):
            _rewrite(value)
            setattr(node, name, _metered(value))
        elif isinstance(value, list):
            for place, child in enumerate(value):
                if isinstance(child, nodes.Node):
                    _rewrite(child)
                    value[place] = _metered(child)


def _metered(node: nodes.Node) -> nodes.Node:
    if isinstance(node, nodes.Concat):
        return _call("fuel.concat", nodes.List(node.nodes, lineno=node.lineno))
    if isinstance(node, nodes.Add):
        return _call("fuel.add", node.left, node.right)
    if isinstance(node, nodes.Dict) or (
        isinstance(node, nodes.List | nodes.Tuple) and getattr(node, "ctx", "load") == "load"
    ):
        members = node.items if isinstance(node, nodes.Dict | nodes.List | nodes.Tuple) else ()
        if all(isinstance(member, nodes.Const) for member in members):
            return node
        return _call("fuel.made", node)
    if isinstance(node, nodes.Compare) and not _is_short(node):
        node.expr = _call("fuel.read", node.expr)
        for operand in node.ops:
            operand.expr = _call("fuel.read", operand.expr)
    elif isinstance(node, nodes.Test) and node.args:
        node.node = _call("fuel.read", node.node)
        node.args = [_call("fuel.read", argument) for argument in node.args]
    return node


def _is_short(node: nodes.Compare) -> bool:
    """Tell whether a constant bounds the work: `==` ends with the shorter side, `in` does not."""
    sides = (node.expr, *(operand.expr for operand in node.ops))
    if not any(isinstance(side, nodes.Const) for side in sides):
        return False
    return all(operand.op not in ("in", "notin") for operand in node.ops)


def _call(name: str, value: nodes.Expr, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(value, name, list(arguments), [], None, None, lineno=value.lineno)


# --- filters and escapes --------------------------------------------------------------------------


def paid(name: str, change: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter `name`, paying for the text it reads and the text it makes."""
    price = PRICES.get(name, 1)

    def filtered(value: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(value, str):
            if len(value) > fuel.SHORT:
                fuel.burn_text(len(value), price)
        elif isinstance(value, list | tuple | dict):
            fuel.weigh(value, deep=True)
        found = change(value, *arguments, **named)
        if isinstance(found, str) and len(found) > fuel.SHORT:
            fuel.burn_text(len(found))
        return found

    return filtered


def paid_escape(name: str, escape: Escape) -> Escape:
    """Return the escape `name`, paying for the text it reads and the text it makes."""
    labels = name.startswith("md.")  # Markdown's escapes are slow, but cut a label first
    price = PRICES["md"] if labels else PRICES["other"]

    def escaped(value: object) -> Safe:
        if isinstance(value, str):
            if isinstance(value, Safe):
                text = escape(value)
                # Safe text passes untouched, but for attributes and quotes.
                if text is not value and len(text) > fuel.SHORT:
                    fuel.burn_text(len(text), price)
                return text
            if len(value) > fuel.SHORT:
                chars = min(len(value), LABEL_CAP) if labels else len(value)
                fuel.burn_text(chars, price)
        elif isinstance(value, list | tuple | dict):
            fuel.weigh(value, deep=True)
        text = escape(value)
        if len(text) > fuel.SHORT:
            fuel.burn_text(len(text))
        return text

    return escaped


def apart_from_frame(escape: Escape) -> Escape:
    """Return the escape of plain text, with a backslash before labels like a template's line."""

    def escaped(value: object) -> Safe:
        text = escape(value)
        if isinstance(value, Safe | Content) or not fuel.passes_for_frame(text):
            return text
        return Safe("\\" + text)

    return escaped


# --- functions that a rewritten template calls ----------------------------------------------------
# `pass_context` keeps Jinja's compiler from calling them beforehand on constants.


@jinja2.pass_context
def _enter(_: Context, units: int) -> None:
    fuel.burn(units, "a template, macro or block that is entered again and again")


@jinja2.pass_context
def _rounds(_: Context, values: Any, weight: int) -> Any:
    if isinstance(values, jinja2.Undefined):
        return values
    if not isinstance(values, list | tuple | dict | str):
        given = "nothing (null)" if values is None else f"a {type(values).__name__}"
        raise TemplateError(f"a loop goes through a list, and this is {given}")
    fuel.burn(len(values) * weight, f"a loop of {len(values):,} rounds")
    return values


@jinja2.pass_context
def _concat(_: Context, values: list[Any]) -> str:
    texts = []
    for value in values:
        if not isinstance(value, str):
            fuel.weigh(value, deep=True)
        text = str(value)
        if len(text) > fuel.SHORT:
            fuel.burn_text(len(text))
        texts.append(text)
    return "".join(texts)


@jinja2.pass_context
def _add(_: Context, left: Any, right: Any) -> Any:
    if isinstance(left, str | list | tuple):
        fuel.weigh((left, right))
    return left + right


@jinja2.pass_context
def _made(_: Context, value: Any) -> Any:
    fuel.weigh(value)
    return value


@jinja2.pass_context
def _read(_: Context, value: Any) -> Any:
    if isinstance(value, str):
        if len(value) > fuel.SHORT:
            fuel.burn_text(len(value))
    elif isinstance(value, list | tuple | dict):
        fuel.weigh(value)
    return value


FUNCTIONS = {
    "fuel.add": _add,
    "fuel.concat": _concat,
    "fuel.enter": _enter,
    "fuel.made": _made,
    "fuel.read": _read,
    "fuel.rounds": _rounds,
}
"""The functions by the filter names of a rewritten template; authors may write no such name."""
