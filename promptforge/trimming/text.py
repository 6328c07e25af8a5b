"""Shorter forms of any text: a prefix that ends at a line, a sentence or a word, then the marker.

A text that has none of these where it must be cut (base64, one long word) is cut at a character.
"""

from __future__ import annotations

from ..boundaries import Unit

UNITS: tuple[Unit, ...] = ("line", "sentence", "word", "character")
"""From the neatest cut to the closest. The last is for texts that the others leave nothing of."""


def mark(text: str, marker: str) -> str:
    """Return `text`, then `marker` on a line of its own."""
    if not marker:
        return text
    return f"{text}\n{marker}" if text else marker
