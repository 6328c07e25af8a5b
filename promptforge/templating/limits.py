"""Limits of templates: fuel for the work on one text, paid before the work is done.

Even an honest template can run away: eighteen nested loops, a text doubled thirty times. Every
template, macro and block pays for its size when it begins, a loop for its body times its rounds,
and every operation on long text for the characters. No clock is read: equal input ends the same
way on any machine.

The payments are inserted into the parsed template, so authors see nothing of them. Operators that
make much out of little (`~`, `+`, `==`, lists) become calls of functions that pay first.
"""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast

import jinja2
from jinja2 import nodes
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer

from ..errors import PromptForgeError, TemplateError
from ..syntax.syntax import Syntax
from ..text.delimiters import TemplateLines
from ..text.escape import MAX_LABEL_CHARACTERS, Content, Escape, InertUrl, Safe
from ..text.format import to_text

START_FUEL = 3_000_000
"""Units for one rendering beside the allowances below. A unit is about one lookup, 0.1 µs."""
FUEL_PER_RUN = 1_000
FUEL_PER_ITEM = 5_000
FUEL_PER_CHAR = 12
"""Units added for each character of the items: several times the need of the shipped templates."""
CHARS_PER_UNIT = 8
FUEL_PER_MEMBER = 3
MAX_FREE_CHARS = 64
"""Characters of a text that is as cheap as any other value."""


TOO_MUCH_WORK = "too much work for one text"
"""The beginning of the message about a text that has used up its fuel."""


class FuelSpentError(PromptForgeError):
    """The fuel is used up; the message names the operation that needed more."""


class Changes(NamedTuple):
    """Numbers of printed values that were changed beyond their escape."""

    imitations: int = 0
    """Values that would have passed for a line of plain text of the templates."""
    inert_urls: int = 0


NO_CHANGES = Changes()


class FuelTank:
    """The fuel of one rendering, and the lines of plain text that its values must not imitate."""

    __slots__ = ("changes", "left", "own_lines", "spent")

    def __init__(self, left: int = START_FUEL) -> None:
        self.left = left
        self.own_lines: TemplateLines | None = None
        """Lines of plain text that no value may pass for."""
        self.changes = NO_CHANGES
        self.spent: TemplateError | None = None
        """Raised for every later template of the rendering once the fuel is used up."""

    def changes_since(self, before: Changes) -> Changes:
        """Return what was done to values since `changes` was `before`."""
        if self.changes is before:
            return NO_CHANGES
        return Changes(*map(operator.sub, self.changes, before))


# Filters and escapes are called by Jinja, without a word on whose rendering it is. So the tank is
# found by the thread: one template runs in it at a time.
class _Here(threading.local):
    """The tank in use in this thread; an empty one while no template runs."""

    tank = FuelTank(0)


_here = _Here()
# Types of values a template makes itself. The engine gives it subclasses of these, which are
# shared between renderings and so cost nothing.
_MADE = (list, tuple, dict)


def use_tank(tank: FuelTank, items: int, chars: int) -> None:
    """Let the next template of this thread burn from `tank`, after adding the usual allowance.

    The engine decides how often a template is run, so each run brings its own allowance, for
    `items` items with `chars` characters. Raises `TemplateError` if the tank has run out before.
    """
    if tank.spent is not None:
        raise tank.spent
    tank.left += FUEL_PER_RUN + FUEL_PER_ITEM * items + FUEL_PER_CHAR * chars
    _here.tank = tank


def mark_template_lines(text: str) -> str:
    """Return a content with `| ` before each line that looks like one of the template's."""
    tank = _here.tank
    if tank.own_lines is None:
        return text
    marked, count, _ = tank.own_lines.mark(text)
    if count:
        tank.changes = Changes(tank.changes.imitations + count, tank.changes.inert_urls)
    return marked


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
    """Take units out of the tank; raises `FuelSpentError`, naming `what`, if it holds fewer."""
    tank = _here.tank
    tank.left -= units
    if tank.left < 0:
        raise FuelSpentError(f"{TOO_MUCH_WORK}; it ended at {what}")


def burn_for_text(chars: int, fuel_per_char: int = 1) -> None:
    """Pay for a text of so many characters; copying it has a `fuel_per_char` of 1."""
    tank = _here.tank
    tank.left -= chars * fuel_per_char // CHARS_PER_UNIT
    if tank.left < 0:
        burn_fuel(0, f"a text of {chars:,} characters")


def _burn_for_long(value: object, fuel_per_char: int = 1) -> None:
    if isinstance(value, str) and len(value) > MAX_FREE_CHARS:
        burn_for_text(len(value), fuel_per_char)


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
            # Of a mapping the values: its keys are names.
            waiting.extend(one.values() if isinstance(one, dict) else one)
    burn_fuel(total, "a list or text of very many parts")


# --- payments in a parsed template ----------------------------------------------------------------

FILTER_FUEL_PER_CHAR = {
    **{"prose": 80, "capitalize": 50, "title": 50, "code": 20},
    **{"truncate": 5, "dateformat": 50, "sort": 10, "other": 5},
}
"""Fuel for one character of a filter or escape; a copy is 1. Measured on the worst texts known."""
FUEL_PER_VALUE = 100
"""Units for printing a value, however short: an escape is a call with a regular expression."""
FUEL_PER_ENTRY = 60
"""Units for entering a template, macro or block, beside those for its nodes."""


def meter_template(root: nodes.Template, environment: jinja2.Environment) -> None:
    """Insert the payments into a parsed template."""
    # Loops first: the body of an inner loop counts for the outer one as it was written.
    for loop in root.find_all(nodes.For):
        weight = nodes.Const(sum(map(_fuel_of, loop.find_all(nodes.Node))), lineno=loop.lineno)
        loop.iter = _call("fuel.rounds", cast(nodes.Expr, loop.iter), weight)
    _Payments().visit(root)
    places: list[nodes.Template | nodes.Macro | nodes.Block] = [root]
    places += [*root.find_all(nodes.Macro), *root.find_all(nodes.Block)]
    for place in places:
        size = FUEL_PER_ENTRY + sum(map(_fuel_of, _own_nodes(place)))
        first = next((node.lineno for node in place.body), place.lineno)
        entry = _call("fuel.enter", nodes.Const(size, lineno=first))
        place.body.insert(0, nodes.ExprStmt(entry, lineno=first))
    root.set_environment(environment)


def _fuel_of(node: nodes.Node) -> int:
    if not isinstance(node, nodes.Filter):
        return 1
    # A dot is in the names of escapes and plug-ins alone.
    return FUEL_PER_VALUE if "." in node.name or node.name in FILTER_FUEL_PER_CHAR else 1


def _own_nodes(place: nodes.Node) -> Iterator[nodes.Node]:
    for child in place.iter_child_nodes():
        if not isinstance(child, nodes.Macro | nodes.Block):
            yield child
            yield from _own_nodes(child)


def _call(name: str, value: nodes.Expr, *arguments: nodes.Expr) -> nodes.Filter:
    # A filter is the one call that every Jinja expression may hold.
    return nodes.Filter(value, name, list(arguments), [], None, None, lineno=value.lineno)


class _Payments(NodeTransformer):
    """Puts calls of `METER_FUNCTIONS` in place of operators, the inner ones first."""

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        self.generic_visit(node)
        if isinstance(node, nodes.Concat):
            return _call("fuel.concat", nodes.List(node.nodes, lineno=node.lineno))
        if isinstance(node, nodes.Add):
            return _call("fuel.add", node.left, node.right)
        if isinstance(node, nodes.Dict | nodes.List) or (
            isinstance(node, nodes.Tuple) and node.ctx == "load"  # not the targets of a loop
        ):
            constant = all(isinstance(member, nodes.Const) for member in node.items)
            return node if constant else _call("fuel.made", node)
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
    if any(operand.op in ("in", "notin") for operand in node.ops):
        return False
    return any(isinstance(side, nodes.Const) for side in sides)


# --- filters and escapes that pay -----------------------------------------------------------------


def metered_filter(name: str, change: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter `name`, paying for the text it reads and the text it makes."""
    fuel_per_char = FILTER_FUEL_PER_CHAR.get(name, 1)

    def filtered(value: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(value, (list, tuple, dict)):  # `|` would make a type each time
            burn_for_value(value, deep=True)
        # `sort(attribute=a)` and `dateformat("%Y", a)` read an `a` of megabytes, each time.
        for given in (value, *arguments, *named.values()):
            _burn_for_long(given, fuel_per_char)
        found = change(value, *arguments, **named)
        _burn_for_long(found)
        return found

    return filtered


def metered_escape(syntax: Syntax, place: str) -> Escape:
    """Return the escape of a place, paying for the text it reads and the text it makes."""
    escape, fuel_per_char = syntax.places[place], syntax.fuel_per_char
    most = sys.maxsize
    if syntax.has_fences and not place.startswith(("url", "autolink")):
        # Markdown's escapes are slow, but cut a label first.
        most = MAX_LABEL_CHARACTERS

    def escaped(value: object) -> Safe:
        if isinstance(value, str):
            if isinstance(value, Safe):
                text = escape(value)
                if text is not value:  # it passes untouched, but for attributes and quotes
                    _burn_for_long(text, fuel_per_char)
                return text
            if len(value) > MAX_FREE_CHARS:
                burn_for_text(min(len(value), most), fuel_per_char)
        elif isinstance(value, list | tuple | dict):
            burn_for_value(value, deep=True)
        text = escape(value)
        _burn_for_long(text)
        return text

    return escaped


def mark_imitations(escape: Escape) -> Escape:
    """Return the escape of plain text, with a backslash before labels like a template's line."""

    def escaped(value: object) -> Safe:
        text, tank = escape(value), _here.tank
        if isinstance(value, Safe | Content):
            return text
        if tank.own_lines is None or not tank.own_lines.match(text):
            return text
        tank.changes = Changes(tank.changes.imitations + 1, tank.changes.inert_urls)
        return Safe("\\" + text)

    return escaped


def count_inert_urls(escape: Escape) -> Escape:
    """Return the escape of an address, with a count of those that were made inert."""

    def escaped(value: object) -> Safe:
        text = escape(value)
        if isinstance(text, InertUrl):
            tank = _here.tank
            tank.changes = Changes(tank.changes.imitations, tank.changes.inert_urls + 1)
        return text

    return escaped


# --- functions that a rewritten template calls ----------------------------------------------------
# `pass_context` keeps Jinja's compiler from calling them beforehand on constants.


@jinja2.pass_context
def _enter(_: Context, units: int) -> None:
    burn_fuel(units, "a template, macro or block that is entered again and again")


@jinja2.pass_context
def _rounds(_: Context, values: Any, weight: int) -> Any:
    if isinstance(values, jinja2.Undefined):
        return values
    if values is None:  # printed it is nothing, too
        return []
    if isinstance(values, str) and not isinstance(values, Content):
        # `tags: one` beside `tags: [one, two]`; letters are no tags. Content is a text in any item.
        values = [values] if values else []
    if not isinstance(values, list | tuple | dict | str):
        kind = "a number" if type(values) in (int, float) else f"a {type(values).__name__}"
        raise TemplateError(f"a loop goes through a list, and this is {kind}")
    burn_fuel(len(values) * weight, f"a loop of {len(values):,} rounds")
    return values


@jinja2.pass_context
def _concat(_: Context, values: list[Any]) -> str:
    texts = []
    for value in values:
        if not isinstance(value, str):
            burn_for_value(value, deep=True)
        text = to_text(value)
        _burn_for_long(text)
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
    _burn_for_long(value)
    if isinstance(value, list | tuple | dict):
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
