"""JSON as the standard has it; a key that an object has twice is told of: readers differ about which one counts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from ..diagnostics import Diagnostics
from ..errors import quote

SHOWN = 3
"""Keys that a message names."""


def decode(text: str | bytes, twice: dict[str, None]) -> Any:
    """Return the value of a text of JSON; lone surrogates are let through.

    Of two equal keys in one object the last is taken, and the key put into `twice`. Raises `ValueError`, for NaN and
    the infinities too, and `RecursionError`.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice.update(
                {key: None for key, count in Counter(key for key, _ in pairs).items() if count > 1}
            )
        return found

    return json.loads(text, parse_constant=refuse, object_pairs_hook=members)


def refuse(name: str) -> Any:
    """Refuse a number that JSON does not have."""
    raise ValueError(f"{name} is no number of JSON")


def say_twice(twice: dict[str, None], diagnostics: Diagnostics, where: str) -> None:
    """Say which keys there were twice, if any (PF211)."""
    if twice:
        more = f" and {len(twice) - SHOWN} more" if len(twice) > SHOWN else ""
        named = ", ".join(map(quote, list(twice)[:SHOWN]))
        message = f"twice in one object: {named}{more}; the last of the values is taken"
        diagnostics.add("PF211", message, where=where)
