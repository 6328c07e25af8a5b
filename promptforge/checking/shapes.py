"""The variables of templates and their fields, as lint knows them before anything is rendered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..templating.environment import LOOP_FIELDS


class Shape(NamedTuple):
    """The known facts about a value."""

    what: str
    """In words, for messages."""
    fields: Mapping[str, Shape] | None = None
    """Its fields; `None` for a value that has none."""
    member: Shape | None = None
    """The members of a list."""


ANY = Shape("anything")
"""An unknown value: metadata, or one that a template has made."""
VALUE = Shape("a text or number")
LONG = Shape("a long text")
"""Text that prints on one line unless a filter says otherwise."""
FINISHED = Shape("a finished text")
"""Text from a template or from the caller, printed as it is."""
LOOP = Shape("a loop", dict.fromkeys(LOOP_FIELDS, VALUE))


def list_of(member: Shape) -> Shape:
    """Return the shape of a list."""
    return Shape("a list", None, member)


_PLAIN = (
    *("id", "kind", "name", "path", "title", "start_line", "end_line"),
    *("lines", "line_range", "language", "score", "origin", "form"),
)
ITEM = Shape(
    "an item", {**dict.fromkeys(_PLAIN, VALUE), "metadata": ANY, "content": LONG, "summary": LONG}
)
SHOWN = Shape("an item", {**(ITEM.fields or {}), "text": FINISHED})
"""An item on a page."""
SECTION = Shape("a section", {"key": VALUE, "title": VALUE, "items": list_of(SHOWN)})
SOURCE = Shape("a source", dict.fromkeys(("id", "name", "kind", "path", "line", "score"), VALUE))

PAGE: Mapping[str, Shape] = {
    "items": list_of(SHOWN),
    "sections": list_of(SECTION),
    "explicit": list_of(SECTION),
    "similarity": list_of(SECTION),
    "sources": list_of(SOURCE),
    "header": FINISHED,
    "footer": FINISHED,
    "separator": FINISHED,
    "total": VALUE,
    "query": VALUE,
}
"""The variables of a page."""

ONE: Mapping[str, Shape] = {
    "item": ITEM,
    **dict.fromkeys(("headers", "line_numbers", "scores", "code", "query"), VALUE),
}
"""The variables of the template of an item."""

_CALL = Shape("a call", dict.fromkeys(("id", "name", "arguments"), VALUE))
_RESULT = Shape("a result", dict.fromkeys(("id", "name", "text"), VALUE))
_MESSAGE = Shape(
    "a message",
    {"role": VALUE, "text": VALUE, "calls": list_of(_CALL), "results": list_of(_RESULT)},
)
_PART = Shape("a part", {"name": VALUE, "role": VALUE, "text": FINISHED})

PROMPT: Mapping[str, Mapping[str, Shape]] = {
    **{
        part: {part: FINISHED, "boundary": VALUE} for part in ("system", "instructions", "question")
    },
    "context": {"context": FINISHED, "citation": FINISHED, "boundary": VALUE},
    "history": {"history": list_of(_MESSAGE), "boundary": VALUE},
    "prompt": {"parts": list_of(_PART), "boundary": VALUE},
}
"""The variables of `prompt/SET/PART.EXT.j2`, by the part."""
