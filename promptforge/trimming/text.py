"""Shorter forms of any text: a prefix that ends at a line, a sentence or a word, then the marker."""

from __future__ import annotations

from ..boundaries import Unit

UNITS: tuple[Unit, ...] = ("line", "sentence", "word")
"""From the neatest cut to the closest."""


def mark(text: str, marker: str) -> str:
    """Return `text`, then `marker` on a line of its own."""
    if not marker:
        return text
    return f"{text}\n{marker}" if text else marker
