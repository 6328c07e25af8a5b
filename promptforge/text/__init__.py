"""Text alone: escaping, fences, delimiters, control tokens, split points, words."""

from __future__ import annotations

import pkgutil


def table_text(name: str) -> str:
    """Return a table of this package, `NAME.txt`: it comes with the code, as a module does."""
    data = pkgutil.get_data(__name__, f"{name}.txt")
    assert data is not None
    return data.decode()


def table_rows(name: str) -> list[tuple[str, str]]:
    """Return the rows `NAME: VALUE` of a table; a long one stands on several lines."""
    rows = (row.partition(": ") for row in table_text(name).replace("\n  ", "").splitlines())
    return [(key, value) for key, _, value in rows]
