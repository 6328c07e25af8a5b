"""The context of a prompt: its text, or each item as a block that an answer can point at."""

from __future__ import annotations

from ..controls import Controls
from ..escaping import label
from ..results import Result, ResultItem
from .composing import Context
from .messages import Cited

MAX_TITLE_CHARS = 200
"""Characters of a title or a source that are kept."""


def show(result: Result, cited: bool, controls: Controls | None) -> Context | None:
    """Return the context to print; `None` if it holds no item.

    `controls` are broken up in titles and sources; the rendering has done so in the texts.
    """
    if not result.items_included:
        return None
    if not cited:
        text = result.text.strip("\n")
        return Context(text) if text else None
    blocks = tuple(_cited(item, controls) for item in _in_order(result) if item.text.strip())
    return Context("", blocks) if blocks else None


def _in_order(result: Result) -> list[ResultItem]:
    """Return the items of the text in its order; several may share an id."""
    by_id: dict[str, list[ResultItem]] = {}
    for item in result._get("brief"):
        if item.status != "dropped":
            by_id.setdefault(item.id, []).append(item)
    names = [name for section in result.sections for name in section.items]
    return [by_id[name].pop(0) for name in names if by_id.get(name)]


def _cited(item: ResultItem, controls: Controls | None) -> Cited:
    source = item.path or item.name or item.id
    title = item.name or item.path or item.id
    if item.line_range and item.path:
        title = f"{title} ({item.line_range})"
    title, source = label(title), label(source)
    if controls is not None:
        title, source = controls.write_apart(title)[0], controls.write_apart(source)[0]
    found = item.origin == "similarity"
    return Cited(title[:MAX_TITLE_CHARS], source[:MAX_TITLE_CHARS], item.text, found)
