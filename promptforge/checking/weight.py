"""An upper bound on the work of a template, from its tree: endless ones are not tried out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jinja2 import nodes

MOST = 200_000
"""Steps of a template that is still tried out; the shipped ones take some hundreds."""
_ITEMS = 6
"""Rounds of a loop over items or sections; samples are as few."""
_EACH = 45
"""Rounds of any other loop; the text of a sample has as many characters."""
_LISTS = frozenset({"items", "sections", "explicit", "similarity", "sources"})
_GROWING = 12
"""Assignments that join values: each can double the one before, so twelve make 4,096 times."""


def weigh(root: nodes.Template, other: Callable[[str], int]) -> int:
    """Return the steps of a template; `other` returns those of a template that it draws on."""
    macros = {macro.name: macro for macro in root.find_all(nodes.Macro)}
    known: dict[str, int] = {}

    def macro(name: str) -> int:
        if name not in known:
            known[name] = MOST  # found by a macro that calls itself
            known[name] = all_of(macros[name].body)
        return known[name]

    def all_of(body: Iterable[nodes.Node]) -> int:
        return min(MOST, sum(map(one, body)))

    def one(node: nodes.Node) -> int:
        if isinstance(node, nodes.For):
            turns = _turns(node.iter)
            return min(MOST, 1 + turns * (1 + all_of(node.body)) + all_of(node.else_))
        if isinstance(node, nodes.Macro):
            return 1
        if isinstance(node, nodes.Include | nodes.Extends) and isinstance(
            node.template, nodes.Const
        ):
            return min(MOST, 1 + other(str(node.template.value)))
        steps = 1 + all_of(node.iter_child_nodes())
        callee = node.node if isinstance(node, nodes.Call) else None
        if isinstance(callee, nodes.Name) and callee.name in macros:
            steps += macro(callee.name)
        return min(MOST, steps)

    growing = sum(
        sum(1 for name in node.find_all(nodes.Name) if name.ctx == "load") > 1
        for node in root.find_all((nodes.Assign, nodes.AssignBlock))
    )
    return MOST if growing > _GROWING else all_of(root.body)


def _turns(over: nodes.Node) -> int:
    if isinstance(over, nodes.List | nodes.Tuple):
        return len(over.items)
    word = ""
    if isinstance(over, nodes.Name):
        word = over.name
    elif isinstance(over, nodes.Getattr):
        word = over.attr
    return _ITEMS if word in _LISTS else _EACH
