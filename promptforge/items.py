"""The data that flows: an item going in."""

from typing import Any, Literal

import msgspec

# No postponed annotations here: msgspec resolves them by the module a class says it lives in, which is the public one.
Origin = Literal["explicit", "similarity"]


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
