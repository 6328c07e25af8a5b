"""The data that flows: an item going in."""

from operator import attrgetter
from typing import Any, Literal

import msgspec

# No postponed annotations here: msgspec resolves them by the module a class says it lives in, which is the public one.
Origin = Literal["explicit", "similarity"]


MAX_LINE = 2**31 - 1
"""Line numbers past this are not believed."""


class Unsound(dict[str, Any]):
    """The metadata of an item made by hand of which a field is not what its type says: loading looks closer."""

    given: object
    """What the metadata was."""


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One retrieved piece. Only `content` or `summary` is needed."""

    kind: str = "text"
    """What it is: `code error text file repl-history custom man_page document mitre_attack function …`, an open set."""
    content: str | None = None
    """The text itself."""
    expanded: str | None = None
    """A longer form, shown in place of `content` when it fits."""
    summary: str | None = None
    """A shorter form."""
    id: str | None = None
    """Given, or derived from the other fields when the item is rendered: equal items have equal ids."""
    name: str | None = None
    """Entity, command or technique name; title."""
    path: str | None = None
    """Where it comes from. The empty string is a path that is known to be empty; `None` is no path."""
    start_line: int | None = None
    """First line in `path`, from 1."""
    end_line: int | None = None
    """Last line in `path`, inclusive."""
    language: str | None = None
    """Language tag. `None`: found from `path`, else from `kind`. `"none"`: has none, look no further."""
    score: float = 1.0
    """Relevance, higher is better."""
    origin: Origin = "explicit"
    """`explicit`: named by the user. `similarity`: found by a search."""
    required: bool = False
    """Must appear whole, or the budget is an error."""
    metadata: dict[str, Any] = {}
    """Anything more; templates see it as plain data."""

    def __post_init__(self) -> None:
        """Look at the fields once, so that whoever is given a million items need not; nothing is refused here."""
        if not _is_sound(self):
            mark = Unsound()
            mark.given = self.metadata
            if isinstance(self.metadata, dict):
                mark.update(self.metadata)
            msgspec.structs.force_setattr(self, "metadata", mark)


_fields = attrgetter(*Item.__struct_fields__)


def _is_sound(item: Item) -> bool:
    """Return whether loading has nothing to convert and nothing to say; only `str` itself is a text here."""
    (
        kind,
        content,
        expanded,
        summary,
        own,
        name,
        path,
        start,
        end,
        language,
        score,
        origin,
        required,
        metadata,
    ) = _fields(item)
    return (
        type(kind) is str
        and (type(content) is str or (content is None and type(summary) is str))
        and (name is None or type(name) is str)
        and (path is None or type(path) is str)
        and (language is None or type(language) is str)
        and (start is None or (type(start) is int and 0 <= start <= MAX_LINE))
        and (end is None or (type(end) is int and (start or 0) <= end <= MAX_LINE))
        and type(score) is float
        and score - score == 0  # neither infinite nor no number
        and type(origin) is str
        and (origin == "explicit" or origin == "similarity")
        and type(required) is bool
        and type(metadata) is dict
        and (summary is None or type(summary) is str)
        and (expanded is None or type(expanded) is str)
        and (own is None or type(own) is str)
        and kind != ""
        and kind != "markdown"  # another word for document
    )


def span(path: str, start: int | None, end: int | None) -> str:
    """Return a path with the lines that are meant, as far as these are known: `a.py:3-9`."""
    last = "" if end is None else f"-{end}"
    return path if start is None else f"{path}:{start}{last}"
