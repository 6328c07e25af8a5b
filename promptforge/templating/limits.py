"""Fuel: a limit on the work of templates for one text, paid before the work is done.

Even an honest template can run away: eighteen nested loops, a text doubled thirty times. Every
template, macro and block pays for its size when it begins, a loop for its body times its rounds,
and every operation on long text for the characters. No clock is read: equal input ends the same
way on any machine.

Rewriting a parsed template so that it pays fuel for its work.

Authors see nothing of it. Operators that make much out of little (`~`, `+`, `==`, lists) become
calls of the functions below, so Jinja cannot work them out for free while it compiles either.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import jinja2
from jinja2 import nodes
from jinja2.runtime import Context

from ..errors import PromptForgeError, TemplateError
from ..text.escape import MAX_LABEL_CHARACTERS, Content, Escape, Safe

START_FUEL = 3_000_000
"""Units for one rendering beside the allowances below. A unit is about one lookup, 0.1 µs."""
FUEL_PER_RUN = 1_000
"""Units added each time a template is run."""
FUEL_PER_ITEM = 5_000
"""Units added for each item it shows."""
FUEL_PER_CHAR = 12
"""Units added for each character of the items: several times the need of the shipped templates."""
CHARS_PER_UNIT = 8
"""Characters of text that one unit pays for."""
FUEL_PER_MEMBER = 3
"""Units for one member of a list."""
MAX_FREE_CHARS = 64
"""Characters of a text that is as cheap as any other value."""


class FuelSpentError(PromptForgeError):
    """The fuel is used up; the message names the operation that needed more."""


class FuelTank:
    """The fuel of one rendering, and the lines of plain text that its values must not imitate."""

    __slots__ = ("imitations", "left", "own_lines", "spent")

    def __init__(self, left: int = START_FUEL) -> None:
        self.left = left
        self.own_lines: re.Pattern[str] | None = None
        """Lines of plain text that no value may pass for."""
        self.imitations = 0
        """Values so far that would have passed for one."""
        self.spent: TemplateError | None = None
        """Raised for every later template of the rendering once the fuel is used up."""


class _Here(threading.local):
    """The tank in use in this thread; an empty one while no template runs."""

    tank = FuelTank(0)


_here = _Here()
# Types of values a template makes itself. The engine gives it subclasses of these, which are
# shared between renderings and so cost nothing.
_MADE = (list, tuple, dict)


def use_tank(tank: FuelTank, items: int = 1, chars: int = 0) -> None:
    """Let the next template of this thread burn from `tank`, after adding the usual allowance.

    The engine decides how often a template is run, so each run brings its own allowance, for
    `items` items with `chars` characters. Raises `TemplateError` if the tank has run out before.
    """
    if tank.spent is not None:
        raise tank.spent
    tank.left += FUEL_PER_RUN + FUEL_PER_ITEM * items + FUEL_PER_CHAR * chars
    _here.tank = tank


def imitates_template_line(text: str) -> bool:
    """Tell whether the text of a whole line looks like one of the template's, and count it."""
    tank = _here.tank
    if tank.own_lines is None or tank.own_lines.match(text) is None:
        return False
    tank.imitations += 1
    return True


def count_chars(values: Iterable[Any]) -> int:
    """Return the characters of all texts in an item's fields, however deep."""
    total = 0
    for value in values:
        if isinstance(value, str):
            total += len(value)
        elif value and isinstance(value, dict):
            total += count_chars(value.values())
        elif value and isinstance(value, list | tuple):
            total += count_chars(value)
    return total


def fuel_spent_error(error: FuelSpentError, where: str) -> TemplateError:
    """Return the error of a rendering that ran out of fuel at `where` (name:line), and keep it."""
    found = _here.tank.spent = TemplateError(str(error), where=where)
    return found


def burn_fuel(units: int, what: str) -> None:
    """Take units out of the tank; raises `SpentError`, naming `what`, if it holds fewer."""
    tank = _here.tank
    tank.left -= units
    if tank.left < 0:
        raise FuelSpentError(f"too much work for one text; it ended at {what}")


def burn_for_text(chars: int, price: int = 1) -> None:
    """Pay for a text of so many characters; copying it has the `price` 1."""
    tank = _here.tank
    tank.left -= chars * price // CHARS_PER_UNIT
    if tank.left < 0:
        burn_fuel(0, f"a text of {chars:,} characters")


def burn_for_value(value: Any, *, deep: bool = False) -> None:
    """Pay for a value and all it holds; the engine's own mappings count as one unless `deep`."""
    left = _here.tank.left
    total = 0
    waiting = [value]
    while waiting and total <= left:
        one = waiting.pop()
        total += FUEL_PER_MEMBER
        if isinstance(one, str):
            total += len(one) // CHARS_PER_UNIT
        elif type(one) in _MADE or (deep and isinstance(one, dict)):
            total += FUEL_PER_MEMBER * len(one)
            if total > left:  # too large even to list
                break
            waiting.extend(one.values() if isinstance(one, dict) else one)
    burn_fuel(total, "a list or text of very many parts")


FILTER_FUEL_PER_CHAR = {"prose": 80, "capitalize": 50, "code": 20, "md": 50, "other": 5}
"""Fuel for one character of a filter or escape; a copy is 1. Measured on the worst texts known."""
FUEL_PER_VALUE = 100
"""Units for printing a value, however short: an escape is a call with a regular expression."""
FUEL_PER_ENTRY = 60
"""Units for entering a template, macro or block, beside those for its nodes."""


def meter_template(root: nodes.Template, environment: jinja2.Environment) -> None:
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
        size = nodes.Const(FUEL_PER_ENTRY + sum(map(_price, _own(place))), lineno=first)
        place.body.insert(0, nodes.ExprStmt(_call("fuel.enter", size), lineno=first))
    root.set_environment(environment)


def _price(node: nodes.Node) -> int:
    # A dot is in the names of escapes and plug-ins alone.
    costly = isinstance(node, nodes.Filter) and (
        "." in node.name or node.name in FILTER_FUEL_PER_CHAR
    )
    return FUEL_PER_VALUE if costly else 1


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


def metered_filter(name: str, change: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter `name`, paying for the text it reads and the text it makes."""
    price = FILTER_FUEL_PER_CHAR.get(name, 1)

    def filtered(value: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(value, str):
            if len(value) > MAX_FREE_CHARS:
                burn_for_text(len(value), price)
        elif isinstance(value, list | tuple | dict):
            burn_for_value(value, deep=True)
        found = change(value, *arguments, **named)
        if isinstance(found, str) and len(found) > MAX_FREE_CHARS:
            burn_for_text(len(found))
        return found

    return filtered


def metered_escape(name: str, escape: Escape) -> Escape:
    """Return the escape `name`, paying for the text it reads and the text it makes."""
    labels = name.startswith("md.")  # Markdown's escapes are slow, but cut a label first
    price = FILTER_FUEL_PER_CHAR["md"] if labels else FILTER_FUEL_PER_CHAR["other"]

    def escaped(value: object) -> Safe:
        if isinstance(value, str):
            if isinstance(value, Safe):
                text = escape(value)
                # Safe text passes untouched, but for attributes and quotes.
                if text is not value and len(text) > MAX_FREE_CHARS:
                    burn_for_text(len(text), price)
                return text
            if len(value) > MAX_FREE_CHARS:
                chars = min(len(value), MAX_LABEL_CHARACTERS) if labels else len(value)
                burn_for_text(chars, price)
        elif isinstance(value, list | tuple | dict):
            burn_for_value(value, deep=True)
        text = escape(value)
        if len(text) > MAX_FREE_CHARS:
            burn_for_text(len(text))
        return text

    return escaped


def mark_imitations(escape: Escape) -> Escape:
    """Return the escape of plain text, with a backslash before labels like a template's line."""

    def escaped(value: object) -> Safe:
        text = escape(value)
        if isinstance(value, Safe | Content) or not imitates_template_line(text):
            return text
        return Safe("\\" + text)

    return escaped


@jinja2.pass_context
def _enter(_: Context, units: int) -> None:
    burn_fuel(units, "a template, macro or block that is entered again and again")


@jinja2.pass_context
def _rounds(_: Context, values: Any, weight: int) -> Any:
    if isinstance(values, jinja2.Undefined):
        return values
    if not isinstance(values, list | tuple | dict | str):
        given = "nothing (null)" if values is None else f"a {type(values).__name__}"
        raise TemplateError(f"a loop goes through a list, and this is {given}")
    burn_fuel(len(values) * weight, f"a loop of {len(values):,} rounds")
    return values


@jinja2.pass_context
def _concat(_: Context, values: list[Any]) -> str:
    texts = []
    for value in values:
        if not isinstance(value, str):
            burn_for_value(value, deep=True)
        text = str(value)
        if len(text) > MAX_FREE_CHARS:
            burn_for_text(len(text))
        texts.append(text)
    return "".join(texts)


@jinja2.pass_context
def _add(_: Context, left: Any, right: Any) -> Any:
    if isinstance(left, str | list | tuple):
        burn_for_value((left, right))
    return left + right


@jinja2.pass_context
def _made(_: Context, value: Any) -> Any:
    burn_for_value(value)
    return value


@jinja2.pass_context
def _read(_: Context, value: Any) -> Any:
    if isinstance(value, str):
        if len(value) > MAX_FREE_CHARS:
            burn_for_text(len(value))
    elif isinstance(value, list | tuple | dict):
        burn_for_value(value)
    return value


METER_FUNCTIONS = {
    "fuel.add": _add,
    "fuel.concat": _concat,
    "fuel.enter": _enter,
    "fuel.made": _made,
    "fuel.read": _read,
    "fuel.rounds": _rounds,
}
"""The functions by the filter names of a rewritten template; authors may write no such name."""
