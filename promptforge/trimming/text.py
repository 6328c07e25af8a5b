"""The units of a cut, and the marker after it."""

from __future__ import annotations

from ..boundaries import Unit

UNITS: tuple[Unit, ...] = ("line", "sentence", "word", "character")
"""From the neatest cut to the closest; the last is for base64, or one long word."""


def mark(text: str, marker: str) -> str:
    """Return `text`, then `marker` on a line of its own."""
    return "\n".join(filter(None, (text, marker)))
