"""The context of a prompt: its text, or each item as a block that an answer can point at."""

from __future__ import annotations

from ..controls import Controls
from ..escaping import label
from ..results import Result, ResultItem
from .composing import Context
from .messages import Cited

TITLE = 200
"""Characters of a title or source at the most."""


def show(result: Result, cited: bool, controls: Controls | None) -> Context | None:
    """Return what is to be printed of a context; `None` where no item of it is left.

    `controls` come out of no title and no source; out of texts they did not come before.
    """
    if not result.items_included:
        return None
    if not cited:
        text = result.text.strip("\n")
        return Context(text) if text else None
    blocks = tuple(_cited(item, controls) for item in _in_order(result) if item.text.strip())
    return Context("", blocks) if blocks else None


def _in_order(result: Result) -> list[ResultItem]:
    """Return the items that are in the text, in its order; several may have the same id."""
    by_id: dict[str, list[ResultItem]] = {}
    for item in result._get("brief"):
        if item.status != "dropped":
            by_id.setdefault(item.id, []).append(item)
    return [
        by_id[name].pop(0)
        for section in result.sections
        for name in section.items
        if by_id.get(name)
    ]


def _cited(item: ResultItem, controls: Controls | None) -> Cited:
    name = item.path or item.name or item.id
    title = item.name or item.path or item.id
    if item.line_range and item.path:
        title = f"{title} ({item.line_range})"
    shown, source = label(title), label(name)
    if controls is not None:
        shown, source = controls.write_apart(shown)[0], controls.write_apart(source)[0]
    return Cited(shown[:TITLE], source[:TITLE], item.text, item.origin == "similarity")
