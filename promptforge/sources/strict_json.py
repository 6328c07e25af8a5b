"""Decode JSON strictly; report keys that an object has twice, since readers differ on them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from ..errors import Diagnostics, quote

MAX_KEYS_SHOWN = 3
"""Repeated keys that a message names."""


def decode_json(text: str | bytes, twice: dict[str, None]) -> Any:
    """Return the value of a JSON text; lone surrogates are let through.

    Of two equal keys in one object the last counts, and the key is put into `twice`. Raises
    `ValueError`, also for NaN and the infinities, and `RecursionError`.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice.update((key, None) for key, count in counts.items() if count > 1)
        return found

    return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=members)


def refuse_constant(name: str) -> Any:
    """Refuse NaN and the infinities, which JSON does not have (`parse_constant`)."""
    raise ValueError(f"{name} is no number of JSON")


def report_repeated_keys(twice: dict[str, None], diagnostics: Diagnostics, where: str) -> None:
    """Report the keys that were there twice, if any (PF211)."""
    if twice:
        named = ", ".join(map(quote, list(twice)[:MAX_KEYS_SHOWN]))
        if len(twice) > MAX_KEYS_SHOWN:
            named += f" and {len(twice) - MAX_KEYS_SHOWN} more"
        message = f"twice in one object: {named}; the last of the values is taken"
        diagnostics.add("PF211", message, where=where)
