"""The user's word on single items: `overrides` pins one, shows it whole or outlined, or never."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..errors import Diagnostics, did_you_mean, quote
from ..model import Item, item_id, path_with_lines
from ..reasons import NEVER, OUTLINE, WHOLE


def find_overrides(
    items: Sequence[Item], wanted: Mapping[str, str], diagnostics: Diagnostics
) -> dict[int, str]:
    """Return the word on each item that has one, by index; a key that no item has is said.

    A key is an item's id, its path with its lines, or its path; the first of these decides.
    """
    found: dict[int, str] = {}
    known: set[str] = set()
    for index, item in enumerate(items):
        keys = [item_id(item)]
        if item.path:
            keys += path_with_lines(item.path, item.start_line, item.end_line), item.path
        known.update(keys)
        words = [wanted[key] for key in keys if key in wanted]
        if words:
            found[index] = words[0]
    for key in (key for key in wanted if items and key not in known):
        message = f"overrides: no item has the id or path {quote(key)}{did_you_mean(key, known)}"
        diagnostics.add("PF132", message)
    return found


def apply_overrides(items: list[Item], overrides: Mapping[int, str]) -> list[Item]:
    """Return the items; an overridden one says itself that it is named, or required."""
    made = list(items)
    for index, word in overrides.items():
        item = items[index]
        changes: dict[str, Any] = {"required": word == WHOLE.name, "named": True}
        if word == OUTLINE.name:  # its id is made of its text
            changes["id"] = item_id(item)
        made[index] = msgspec.structs.replace(item, **changes)
    return made


def let_in(overrides: Mapping[int, str], dropped: dict[int, str]) -> None:
    """Let the overridden items pass the filters, but for those that are never shown."""
    for index, word in overrides.items():
        dropped.pop(index, None)
        if word == NEVER.name:
            dropped[index] = word
