"""The words and the categories of `templates/layout.yaml`, and texts divided with these words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from promptforge.templating.loader import Templates
from promptforge.text.format import Marks
from promptforge.trimming.kinds import Trimmers
from promptforge.trimming.pieces import Pieces

_SETTINGS = Templates().settings("chunks")
CATEGORIES = _SETTINGS.of_kinds("category")
"""Kind → category."""


def marks(marker: str) -> Marks:
    """Return the shipped words with this marker."""
    return _SETTINGS.marks(marker)


TRIMMERS = Trimmers(marks("[Content truncated...]"))


def divided(divide: Callable[..., Any], text: str, marker: str = "[cut]", **given: Any) -> Pieces:
    """Return the pieces of a text: joined they are the text, and each needs earlier ones alone."""
    found = divide(text, marks=marks(marker), **given)
    assert isinstance(found, Pieces)
    assert "".join(part.text for part in found.parts) == text
    for index, part in enumerate(found.parts):
        assert part.parent < index and part.closes < index
    return found


def assert_lines_fall(pieces: Pieces) -> list[int]:
    """Assert that no variant has more lines of the text than one before; return the order."""
    order = pieces.order({})
    lines = [
        sum(pieces.parts[i].text.count("\n") for i in pieces.closed(order[n:]))
        for n in range(len(order) + 1)
    ]
    assert lines == sorted(lines, reverse=True)
    return order


def every_variant(pieces: Pieces) -> Iterator[str]:
    """Yield the text of each variant, without a query and with one."""
    worth = {index: float(len(part.text) % 7) for index, part in enumerate(pieces.parts)}
    for variants in (pieces.variants(), pieces.variants(worth)):
        yield from (variant.text for variant in variants)
