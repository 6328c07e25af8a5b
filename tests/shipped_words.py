"""The words and the categories of `templates/layout.yaml`, as a rendering has them."""

from __future__ import annotations

from promptforge.templating.loader import Templates
from promptforge.text.format import Marks
from promptforge.trimming.kinds import Trimmers

_SETTINGS = Templates().settings("chunks")
CATEGORIES = _SETTINGS.of_kinds("category")
"""Kind → category."""


def marks(marker: str) -> Marks:
    """Return the shipped words with this marker."""
    return _SETTINGS.marks(marker)


TRIMMERS = Trimmers(marks("[Content truncated...]"))
